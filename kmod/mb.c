// SPDX-License-Identifier: GPL-2.0
/*
 * The multi-buffer engine: works on the chunks of a list together, with one file for
 * each instruction set (mb_simd.h). What the library does for each chunk alone, and with
 * vectors that a short chunk hardly fills, is done for all at once: one-time keys, blocks
 * of ChaCha20 and tags of Poly1305 have lanes of their own, whatever chunk they are of.
 */
#include "mb.h"

#include <crypto/chacha20poly1305.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"

/* A User-mode Linux without our patch has neither vectors nor these. */
#if defined(CONFIG_X86_64) && defined(XFEATURE_MASK_YMM)
#define MB_X86
#elif defined(CONFIG_ARM64)
#define MB_ARM64
#endif

/* In one go, with preemption off: some 20 us where there is no more than SSE2 */
#define GO_BYTES	8192

/* From here on the library's vectors are full, and tags want few lanes. */
#define LONG_CHUNK	4096

/**
 * struct omerta_engine - an instruction set's
 * @name: its name
 * @has: whether this CPU has it
 * @keys: from mb_simd.h
 * @crypt: from mb_simd.h
 * @tags: from mb_simd.h
 * @wipe: from mb_simd.h
 * @least: with fewer chunks it is not faster than the library
 */
struct omerta_engine {
	const char *name;
	bool (*has)(void);
	void (*keys)(struct omerta_mb *mb, const struct omerta_chunk *list,
		     unsigned int n, bool open);
	void (*crypt)(struct omerta_mb *mb, const struct omerta_chunk *list,
		      unsigned int n, bool open);
	void (*tags)(struct omerta_mb *mb, const struct omerta_chunk *list,
		     unsigned int n);
	void (*wipe)(struct omerta_mb *mb);
	unsigned int least;
};

#ifdef MB_X86
static bool has_avx512vl(void)
{
	return boot_cpu_has(X86_FEATURE_AVX512VL) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM |
				 XFEATURE_MASK_AVX512, NULL);
}

static bool has_avx512ifma(void)
{
#ifdef X86_FEATURE_PREFER_YMM
	/* Where the widest vectors make the CPU slower */
	if (boot_cpu_has(X86_FEATURE_PREFER_YMM))
		return false;
#endif
	return has_avx512vl() && boot_cpu_has(X86_FEATURE_AVX512IFMA);
}

static bool has_avx2(void)
{
	return boot_cpu_has(X86_FEATURE_AVX2) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

static bool has_ssse3(void)
{
	return boot_cpu_has(X86_FEATURE_SSSE3);
}

static bool has_sse2(void)
{
	return boot_cpu_has(X86_FEATURE_XMM2);
}
#elif defined(MB_ARM64)
static bool has_neon(void)
{
	return cpu_have_named_feature(ASIMD);
}
#endif

#define ISA(isa, least)							\
	{ "mb-" #isa, has_##isa, omerta_mb_keys_##isa,			\
	  omerta_mb_crypt_##isa, omerta_mb_tags_##isa,			\
	  omerta_mb_wipe_##isa, least }

/* The best first. */
static const struct omerta_engine isas[] = {
#ifdef MB_X86
	ISA(avx512ifma, 2),
	ISA(avx512vl, 3),
	ISA(avx2, 3),
	ISA(ssse3, 4),
	ISA(sse2, 4),
#elif defined(MB_ARM64)
	ISA(neon, 2),
#endif
};

/* Of their self-tests; changed while the module is loaded, later under RTNL */
static enum verdict { UNTESTED, GOOD, BAD } verdicts[ARRAY_SIZE(isas)];

/* NULL: the library does it all. */
static const struct omerta_engine *chosen __read_mostly;

/* With BH off, since softirqs use it as well */
static struct omerta_mb __percpu *rooms;

static struct omerta_mb *begin(const u8 *secret)
{
	struct omerta_mb *mb;
	unsigned int i;

	local_bh_disable();
	mb = get_cpu_ptr(rooms);
	for (i = 0; i < ARRAY_SIZE(mb->secret); i++)
		mb->secret[i] = get_unaligned_le32(secret + 4 * i);
	return mb;
}

static void end(void)
{
	put_cpu_ptr(rooms);
	local_bh_enable();
}

static void put_tags(const struct omerta_mb *mb, const struct omerta_chunk *list,
		     unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		u8 *tag = list[i].sealed + list[i].len;

		put_unaligned_le64(mb->tag[0][i], tag);
		put_unaligned_le64(mb->tag[1][i], tag + 8);
	}
}

static void seal_with(const struct omerta_engine *isa, const struct omerta_chunk *list,
		      unsigned int n, const u8 *secret)
{
	struct omerta_mb *mb = begin(secret);

	scoped_ksimd() {
		isa->keys(mb, list, n, false);
		isa->crypt(mb, list, n, false);
		isa->tags(mb, list, n);
		put_tags(mb, list, n);
		isa->wipe(mb);
	}
	end();
}

/* A bit for each chunk whose tag is right */
static u32 compare(const struct omerta_mb *mb, const struct omerta_chunk *list,
		   unsigned int n)
{
	unsigned int i;
	u32 good = 0;

	for (i = 0; i < n; i++) {
		const u8 *tag = list[i].sealed + list[i].len;
		u64 a = mb->tag[0][i] ^ get_unaligned_le64(tag);
		u64 b = mb->tag[1][i] ^ get_unaligned_le64(tag + 8);

		good |= (u32)!(a | b) << i;
	}
	return good;
}

/* Decrypt what is good of a list. */
static noinline_for_stack void decrypt_some(const struct omerta_engine *isa,
					    struct omerta_mb *mb,
					    const struct omerta_chunk *list,
					    unsigned int n, u32 good)
{
	struct omerta_chunk some[OMERTA_CHUNK_LIST];
	unsigned int i, m = 0;

	for (i = 0; i < n; i++)
		if (good & BIT(i))
			some[m++] = list[i];
	/* That is of the whole list. */
	mb->stashed = 0;
	isa->crypt(mb, some, m, true);
}

static u32 open_with(const struct omerta_engine *isa, const struct omerta_chunk *list,
		     unsigned int n, const u8 *secret)
{
	struct omerta_mb *mb = begin(secret);
	u32 good = 0;

	scoped_ksimd() {
		isa->keys(mb, list, n, true);
		isa->tags(mb, list, n);
		good = compare(mb, list, n);
		if (good == omerta_chunk_all(n))
			isa->crypt(mb, list, n, true);
		else
			decrypt_some(isa, mb, list, n, good);
		isa->wipe(mb);
	}
	end();
	return good;
}

#define CHECK_LISTS	2000

/**
 * struct check - the self-test of an instruction set
 * @rnd: what its lists are made by
 * @secret: of the list
 * @list: chunks at work
 * @plain: their plaintexts, one behind the other
 * @sealed: the same, sealed
 * @want: as the library does it, or what has to stay as it is
 */
struct check {
	struct rnd_state rnd;
	u8 secret[OMERTA_SECRET_LEN];
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 plain[GO_BYTES];
	u8 sealed[GO_BYTES + OMERTA_CHUNK_LIST * OMERTA_TAG_LEN];
	u8 want[LONG_CHUNK + OMERTA_TAG_LEN];
};

/* Half of them as in long records, few longer than those are */
static u32 make_len(struct check *check)
{
	u32 random = prandom_u32_state(&check->rnd);

	if (random & 1)
		return OMERTA_CHUNK_MIN;
	return (random >> 4) % (random & 14 ? 700 : LONG_CHUNK);
}

static unsigned int make_list(struct check *check)
{
	unsigned int n = 1 + prandom_u32_state(&check->rnd) % OMERTA_CHUNK_LIST;
	unsigned int i;
	u32 at = 0;

	prandom_bytes_state(&check->rnd, check->secret, sizeof(check->secret));
	prandom_bytes_state(&check->rnd, check->plain, sizeof(check->plain));
	for (i = 0; i < n; i++) {
		struct omerta_chunk *c = &check->list[i];

		c->len = make_len(check);
		if (at + c->len > sizeof(check->plain))
			break;
		c->plain = check->plain + at;
		c->sealed = check->sealed + at + i * OMERTA_TAG_LEN;
		c->nonce = (u64)prandom_u32_state(&check->rnd) << 32 |
			   prandom_u32_state(&check->rnd);
		at += c->len;
	}
	return i;
}

/* Whether a list's chunks are sealed as the library would */
static bool sealed_well(struct check *check, unsigned int n)
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

/* Whether a list is opened in place, but for, every other time, one with a wrong bit */
static bool opens_well(const struct omerta_engine *isa, struct check *check, unsigned int n)
{
	unsigned int i, bad = prandom_u32_state(&check->rnd) % (2 * n);
	u32 bit = prandom_u32_state(&check->rnd);
	u32 want = omerta_chunk_all(n);
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
	if (open_with(isa, check->list, n, check->secret) != want)
		return false;
	for (i = 0; i < n; plain += check->list[i++].len)
		if (memcmp(check->list[i].sealed, i == bad ? check->want : plain,
			   check->list[i].len))
			return false;
	return true;
}

/* Whether an instruction set does as the library, with lists of all kinds */
static bool works(const struct omerta_engine *isa, struct check *check)
{
	unsigned int i, n;

	prandom_seed_state(&check->rnd, 1);
	for (i = 0; i < CHECK_LISTS; i++) {
		n = make_list(check);
		seal_with(isa, check->list, n, check->secret);
		if (!sealed_well(check, n) || !opens_well(isa, check, n))
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

/* Whether an instruction set is here, and works; it is tested once. */
static bool usable(const struct omerta_engine *isa, struct check *check)
{
	enum verdict *v = &verdicts[isa - isas];

	if (!isa->has() || !may_use_simd())
		return false;
	if (*v == UNTESTED) {
		*v = works(isa, check) ? GOOD : BAD;
		if (*v == BAD)
			pr_err("omerta: %s fails its self-test and is not used\n",
			       isa->name);
	}
	return *v == GOOD;
}

/* The best that is */
static const struct omerta_engine *choose(struct check *check)
{
	const struct omerta_engine *isa;

	for (isa = isas; isa < isas + ARRAY_SIZE(isas); isa++)
		if (usable(isa, check))
			return isa;
	return NULL;
}

static const struct omerta_engine *by_name(const char *name)
{
	const struct omerta_engine *isa;

	for (isa = isas; isa < isas + ARRAY_SIZE(isas); isa++)
		if (!strcmp(isa->name, name))
			return isa;
	return NULL;
}

/**
 * omerta_engine_find() - an engine by its name
 * @name: its name; "lib" is the library, "auto" the default
 * @engine: gets it; NULL is the library
 *
 * Another than the default is tested before it is found.
 *
 * Context: process context, RTNL held.
 * Return: 0, -ENOENT if there is none of that name, -EOPNOTSUPP if it is not for this
 * CPU or does not work, or -ENOMEM.
 */
int omerta_engine_find(const char *name, const struct omerta_engine **engine)
{
	const struct omerta_engine *isa = NULL;
	struct check *check;
	bool good;

	if (!strcmp(name, "auto")) {
		isa = chosen;
	} else if (strcmp(name, "lib")) {
		isa = by_name(name);
		if (!isa)
			return -ENOENT;
	}
	if (isa != chosen && isa) {
		check = kzalloc_obj(*check, GFP_KERNEL);
		if (!check)
			return -ENOMEM;
		good = usable(isa, check);
		kfree(check);
		if (!good)
			return -EOPNOTSUPP;
	}
	*engine = isa;
	return 0;
}
EXPORT_SYMBOL_GPL(omerta_engine_find); /* for omerta_bench */

/**
 * omerta_mb_unload() - give up what omerta_mb_load() took
 *
 * Context: process context, when nothing is sealed or opened any more.
 */
void omerta_mb_unload(void)
{
	chosen = NULL;
	free_percpu(rooms);
	rooms = NULL;
}

/**
 * omerta_mb_load() - test the ciphers and choose the best of them
 *
 * Context: process context, once before all else.
 * Return: 0 or a negative errno.
 */
int omerta_mb_load(void)
{
	struct check *check = kmalloc(sizeof(*check), GFP_KERNEL);
	int err = -ENOMEM;

	rooms = alloc_percpu(struct omerta_mb);
	if (!check || !rooms)
		goto out;
	err = -EINVAL;
	if (!library_works(check)) {
		pr_err("omerta: the kernel's ChaCha20-Poly1305 fails RFC 8439's test\n");
		goto out;
	}
	chosen = choose(check);
	err = 0;
out:
	kfree(check);
	if (err)
		omerta_mb_unload();
	return err;
}

/* How many chunks of a list to take together; 0 if that does not pay */
static unsigned int take(const struct omerta_engine *engine,
			 const struct omerta_chunk *list, unsigned int n)
{
	unsigned int i;
	u32 bytes = 0;

	if (!engine)
		return 0;
	for (i = 0; i < n && i < OMERTA_CHUNK_LIST; i++) {
		bytes += list[i].len;
		if (list[i].len >= LONG_CHUNK || bytes > GO_BYTES)
			break;
	}
	return i >= engine->least && may_use_simd() ? i : 0;
}

/**
 * omerta_mb_seal() - seal chunks from the beginning of a list
 * @engine: what does it; NULL for the library
 * @list: the list
 * @n: how many there are
 * @secret: the key's secret
 *
 * Context: any but hard interrupt.
 * Return: how many were sealed; 0 if the library should seal the first.
 */
unsigned int omerta_mb_seal(const struct omerta_engine *engine,
			    const struct omerta_chunk *list, unsigned int n,
			    const u8 *secret)
{
	n = take(engine, list, n);
	if (n)
		seal_with(engine, list, n, secret);
	return n;
}

/**
 * omerta_mb_open() - open chunks from the beginning of a list
 * @engine: what does it; NULL for the library
 * @list: the list
 * @n: how many there are
 * @secret: the key's secret
 * @good: gets a bit for each that was authentic
 *
 * All tags are compared, in constant time, before any plaintext is written.
 *
 * Context: any but hard interrupt.
 * Return: how many were tried; 0 if the library should open the first.
 */
unsigned int omerta_mb_open(const struct omerta_engine *engine,
			    const struct omerta_chunk *list, unsigned int n,
			    const u8 *secret, u32 *good)
{
	n = take(engine, list, n);
	if (n)
		*good = open_with(engine, list, n, secret);
	return n;
}

/**
 * omerta_engine_default() - the best engine of this machine
 *
 * Return: the engine; NULL is the library.
 */
const struct omerta_engine *omerta_engine_default(void)
{
	return chosen;
}
EXPORT_SYMBOL_GPL(omerta_engine_default); /* for omerta_cost */

/**
 * omerta_engine_name() - name of an engine
 * @engine: the engine, NULL for the library
 *
 * Return: a constant string: "lib", or "mb-" and an instruction set.
 */
const char *omerta_engine_name(const struct omerta_engine *engine)
{
	return engine ? engine->name : "lib";
}
EXPORT_SYMBOL_GPL(omerta_engine_name);
