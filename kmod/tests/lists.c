// SPDX-License-Identifier: GPL-2.0
/*
 * Checks in user space what an engine makes of a list of chunks against libsodium.
 * Aborts where they differ, as fuzzers want it.
 */
#include "lists.h"

#include <crypto/chacha20poly1305.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/engines.h"
#include "test_util.h"

#define ALIGN_TO	64

const char *const lists_engines[] = {
#if defined(__x86_64__)
	"mb-avx512ifma", "mb-avx512vl", "mb-avx2", "mb-ssse3", "mb-sse2",
#elif defined(__aarch64__)
	"mb-neon",
#endif
};

const unsigned int lists_n_engines = ARRAY_SIZE(lists_engines);

/* Memory that ends where the sanitizer sees it */
struct piece {
	u8 *base;
	u8 *at;
};

static void expect(bool good, const struct omerta_engine *engine,
		   const struct lists_spec *spec, unsigned int i, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: chunk %u of %u, %u bytes: %s\n",
		omerta_engine_name(engine), i, spec->n, spec->len[i], what);
	abort();
}

static struct piece piece_alloc(u32 shift, u32 len)
{
	struct piece p = {};

	if (posix_memalign((void **)&p.base, ALIGN_TO, shift + len + !len)) {
		perror("lists");
		exit(1);
	}
	p.at = p.base + shift;
	return p;
}

static void seal(const struct omerta_engine *engine, const struct lists_spec *spec,
		 struct omerta_chunk *list, const u8 *secret)
{
	static u8 plain[LISTS_LEN_MAX], want[LISTS_LEN_MAX + OMERTA_TAG_LEN];
	unsigned int i;

	for (i = 0; i < spec->n; i++)
		test_pattern(list[i].plain, spec->len[i], spec->seed + i);
	omerta_chunk_seal(engine, list, spec->n, secret);
	for (i = 0; i < spec->n; i++) {
		test_pattern(plain, spec->len[i], spec->seed + i);
		chacha20poly1305_encrypt(want, plain, spec->len[i], NULL, 0,
					 list[i].nonce, secret);
		expect(!memcmp(want, list[i].sealed, spec->len[i] + OMERTA_TAG_LEN),
		       engine, spec, i, "not sealed as it should be");
		expect(spec->in_place || !memcmp(plain, list[i].plain, spec->len[i]),
		       engine, spec, i, "its plaintext has changed");
	}
}

static void spoil(const struct lists_spec *spec, const struct omerta_chunk *list)
{
	unsigned int i;

	for (i = 0; i < spec->n; i++) {
		u32 bit = spec->wrong % (8 * (spec->len[i] + OMERTA_TAG_LEN));

		if (spec->bad & BIT(i))
			list[i].sealed[bit / 8] ^= 1 << bit % 8;
		if (!spec->in_place)
			memset(list[i].plain, 0, spec->len[i]);
	}
}

static void open_all(const struct omerta_engine *engine, const struct lists_spec *spec,
		     struct omerta_chunk *list, const u8 *secret)
{
	u32 good = omerta_chunk_open(engine, list, spec->n, secret);
	static u8 plain[LISTS_LEN_MAX];
	unsigned int i;

	for (i = 0; i < spec->n; i++) {
		bool bad = spec->bad & BIT(i);
		const char *what = bad ? "opened though it is bad" : "not opened";

		/* Each is a record of its own, so that none is left out. */
		expect(!(good & BIT(i)) == bad, engine, spec, i, what);
		test_pattern(plain, spec->len[i], spec->seed + i);
		if (bad && !spec->in_place)
			memset(plain, 0, spec->len[i]);
		expect((bad && spec->in_place) ||
		       !memcmp(plain, list[i].plain, spec->len[i]),
		       engine, spec, i, bad ? "written though it is bad" :
					      "not opened as it was sealed");
	}
}

/**
 * lists_check() - seal and open a list of chunks; aborts if that goes wrong
 * @engine: the engine
 * @spec: the list
 */
void lists_check(const struct omerta_engine *engine, const struct lists_spec *spec)
{
	struct piece plain[OMERTA_CHUNK_LIST] = {}, sealed[OMERTA_CHUNK_LIST] = {};
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	/* The same lists on each machine, however slow */
	struct omerta_engine unlimited = *engine;
	const struct omerta_engine_limits none = {
		.at_once = U32_MAX,
		.alone = U32_MAX,
		.narrow = spec->seed & 1 ? OMERTA_NARROW_MIN : OMERTA_NARROW_MAX,
	};
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int i;

	unlimited.limits = &none;
	engine = &unlimited;
	test_pattern(secret, sizeof(secret), spec->seed);
	for (i = 0; i < spec->n; i++) {
		sealed[i] = piece_alloc(spec->shift[i], spec->len[i] + OMERTA_TAG_LEN);
		if (!spec->in_place)
			plain[i] = piece_alloc(ALIGN_TO - 1 - spec->shift[i],
					       spec->len[i]);
		list[i].sealed = sealed[i].at;
		list[i].plain = spec->in_place ? sealed[i].at : plain[i].at;
		list[i].len = spec->len[i];
		list[i].nonce = OMERTA_NONCE(spec->seed + i, 0, true);
	}
	seal(engine, spec, list, secret);
	spoil(spec, list);
	open_all(engine, spec, list, secret);
	for (i = 0; i < spec->n; i++) {
		free(sealed[i].base);
		free(plain[i].base);
	}
}
