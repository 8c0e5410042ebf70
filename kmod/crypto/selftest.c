// SPDX-License-Identifier: GPL-2.0
/*
 * Self-tests: the library against RFC 8439, then each engine against the library.
 */
#include "crypto/selftest.h"

#include <crypto/chacha20poly1305.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat/compat.h"
#include "crypto/engines.h"
#include "crypto/mb.h"

#define CHECK_LISTS	2000

/* Bytes of a list, unless it is to be as long as the engine allows */
#define CHECK_BYTES	(OMERTA_CHUNK_LIST * OMERTA_CHUNK_MIN)
#define CHECK_LONG	20

/* The shortest of so many times is taken: others use the CPU, too. */
#define CHECK_TIMES	10

/**
 * struct check - memory of a self-test
 * @rnd: generator of the lists
 * @secret: secret of the current list
 * @list: the current list
 * @plain: its plaintexts, one after the other
 * @sealed: its sealed chunks
 * @want: expected bytes of one chunk
 */
struct check {
	struct rnd_state rnd;
	u8 secret[OMERTA_SECRET_LEN];
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 *plain;
	u8 *sealed;
	u8 *want;
};

/* Half of the chunks are full ones, and few are much longer. */
static u32 make_len(struct check *check, u32 bytes)
{
	u32 random = prandom_u32_state(&check->rnd);

	if (random & 1)
		return OMERTA_CHUNK_MIN;
	return (random >> 4) % (random & 14 ? 700 : bytes + 1);
}

/* Chunks of @bytes at most in total */
static unsigned int make_list(struct check *check, u32 bytes)
{
	unsigned int n = 1 + prandom_u32_state(&check->rnd) % OMERTA_CHUNK_LIST;
	unsigned int i;
	u32 at = 0;

	prandom_bytes_state(&check->rnd, check->secret, sizeof(check->secret));
	prandom_bytes_state(&check->rnd, check->plain, bytes);
	for (i = 0; i < n; i++) {
		struct omerta_chunk *c = &check->list[i];

		c->len = make_len(check, bytes);
		if (at + c->len > bytes)
			break;
		c->plain = check->plain + at;
		c->sealed = check->sealed + at + i * OMERTA_TAG_LEN;
		c->nonce = (u64)prandom_u32_state(&check->rnd) << 32 |
			   prandom_u32_state(&check->rnd);
		at += c->len;
	}
	return i;
}

/* Return true if the library seals the list's chunks alike. */
static bool is_sealed_well(struct check *check, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct omerta_chunk *c = &check->list[i];

		chacha20poly1305_encrypt(check->want, c->plain, c->len, NULL, 0,
					 c->nonce, check->secret);
		if (memcmp(check->want, c->sealed, c->len + OMERTA_TAG_LEN))
			return false;
	}
	return true;
}

/*
 * Open the sealed list in place. Every other time one chunk has a wrong bit: it must be
 * refused and stay as it is.
 */
static bool opens_well(const struct omerta_engine *engine, struct check *check, unsigned int n)
{
	unsigned int i, bad = prandom_u32_state(&check->rnd) % (2 * n);
	u32 bit = prandom_u32_state(&check->rnd);
	u32 want = OMERTA_CHUNK_ALL(n);
	const u8 *plain = check->plain;

	if (bad < n) {
		const struct omerta_chunk *c = &check->list[bad];
		u32 len = c->len + OMERTA_TAG_LEN;

		c->sealed[(bit >> 3) % len] ^= 1 << (bit & 7);
		memcpy(check->want, c->sealed, len);
		want &= ~BIT(bad);
	}
	for (i = 0; i < n; i++)
		check->list[i].plain = check->list[i].sealed;
	if (omerta_mb_open(engine, check->list, n, check->secret) != want)
		return false;
	for (i = 0; i < n; plain += check->list[i++].len)
		if (memcmp(check->list[i].sealed, i == bad ? check->want : plain,
			   check->list[i].len))
			return false;
	return true;
}

/* Compare an engine with the library on lists of all kinds. */
static bool engine_works(const struct omerta_engine *engine, struct check *check)
{
	unsigned int i, n;

	prandom_seed_state(&check->rnd, 1);
	for (i = 0; i < CHECK_LISTS; i++) {
		u32 bytes = i < CHECK_LONG ? engine->limits->at_once : CHECK_BYTES;

		n = make_list(check, min(bytes, engine->limits->at_once));
		omerta_mb_seal(engine, check->list, n, check->secret);
		if (!is_sealed_well(check, n) || !opens_well(engine, check, n))
			return false;
		cond_resched();
	}
	return true;
}

/* RFC 8439, A.5; the tag is right only if the ciphertext is. */
static bool library_works(struct check *check)
{
	static const u8 key[] = {
		0x1c, 0x92, 0x40, 0xa5, 0xeb, 0x55, 0xd3, 0x8a,
		0xf3, 0x33, 0x88, 0x86, 0x04, 0xf6, 0xb5, 0xf0,
		0x47, 0x39, 0x17, 0xc1, 0x40, 0x2b, 0x80, 0x09,
		0x9d, 0xca, 0x5c, 0xbc, 0x20, 0x70, 0x75, 0xc0
	};
	static const u8 ad[] = {
		0xf3, 0x33, 0x88, 0x86, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x4e, 0x91
	};
	static const u8 plain[] =
		"Internet-Drafts are draft documents valid for a maximum of "
		"six months and may be updated, replaced, or obsoleted by "
		"other documents at any time. It is inappropriate to use "
		"Internet-Drafts as reference material or to cite them other "
		"than as /\xe2\x80\x9cwork in progress./\xe2\x80\x9d";
	static const u8 tag[OMERTA_TAG_LEN] = {
		0xee, 0xad, 0x9d, 0x67, 0x89, 0x0c, 0xbb, 0x22,
		0x39, 0x23, 0x36, 0xfe, 0xa1, 0x85, 0x1f, 0x38
	};
	const u64 nonce = 0x0807060504030201;
	u32 len = sizeof(plain) - 1;

	chacha20poly1305_encrypt(check->want, plain, len, ad, sizeof(ad), nonce,
				 key);
	if (memcmp(check->want + len, tag, sizeof(tag)) ||
	    !chacha20poly1305_decrypt(check->want, check->want, len + sizeof(tag),
				      ad, sizeof(ad), nonce, key))
		return false;
	return !memcmp(check->want, plain, len);
}

static void free_check(struct check *check)
{
	kvfree(check->plain);
	kvfree(check->sealed);
	kvfree(check->want);
	kfree(check);
}

/* Allocate memory for lists of @bytes. */
static struct check *alloc_check(u32 bytes)
{
	struct check *check = kzalloc(sizeof(*check), GFP_KERNEL);

	if (!check)
		return NULL;
	check->plain = kvmalloc(bytes, GFP_KERNEL);
	check->sealed = kvmalloc(bytes + OMERTA_CHUNK_LIST * OMERTA_TAG_LEN, GFP_KERNEL);
	check->want = kvmalloc(bytes + OMERTA_TAG_LEN, GFP_KERNEL);
	if (check->plain && check->sealed && check->want)
		return check;
	free_check(check);
	return NULL;
}

/**
 * omerta_selftest() - test an engine
 * @engine: the engine; NULL for the library
 *
 * Context: process context; the scratch areas of mb.c exist.
 * Return: 0, -ENOMEM, or -EBADMSG if the engine does not work.
 */
int omerta_selftest(const struct omerta_engine *engine)
{
	u32 bytes = engine ? engine->limits->at_once : 0;
	struct check *check = alloc_check(max_t(u32, bytes, CHECK_BYTES));
	bool works;

	if (!check)
		return -ENOMEM;
	works = engine ? engine_works(engine, check) : library_works(check);
	free_check(check);
	return works ? 0 : -EBADMSG;
}

/**
 * omerta_selftest_time() - measure how long lists take to seal
 * @engine: the engine; NULL for the library
 * @n: number of chunks of a list
 * @len: length of each chunk, in bytes
 * @ns: set to the shortest of several times, in nanoseconds, on the current CPU, of as many lists
 *	as fit into OMERTA_CHUNK_LIST full chunks, at least one
 *
 * Context: process context; the scratch areas of mb.c exist.
 * Return: 0 or -ENOMEM.
 */
int omerta_selftest_time(const struct omerta_engine *engine, unsigned int n, u32 len, u64 *ns)
{
	/* Clocks can have steps that are longer than the time of a short chunk. */
	unsigned int lists = max(1U, CHECK_BYTES / (n * len));
	struct check *check = alloc_check(max(CHECK_BYTES, n * len));
	unsigned int i, j;
	u64 start;

	if (!check)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		struct omerta_chunk *c = &check->list[i];

		c->plain = check->plain + i * len;
		c->sealed = check->sealed + i * (len + OMERTA_TAG_LEN);
		c->nonce = i;
		c->len = len;
	}
	*ns = U64_MAX;
	for (i = 0; i < CHECK_TIMES; i++) {
		start = ktime_get_ns();
		for (j = 0; j < lists; j++) {
			const struct omerta_chunk *c = check->list;

			if (engine)
				omerta_mb_seal(engine, c, n, check->secret);
			for (; !engine && c < check->list + n; c++)
				chacha20poly1305_encrypt(c->sealed, c->plain, c->len, NULL, 0,
							 c->nonce, check->secret);
		}
		*ns = min(*ns, ktime_get_ns() - start);
		cond_resched();
	}
	free_check(check);
	return 0;
}
