// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that no branch and no address depends on a secret. Secret and plaintext are marked
 * as uninitialised; valgrind (for gcc's code) or clang's memory sanitizer reports every
 * branch and address that depends on them. Ciphertexts and verdicts are public. With an
 * argument the program only branches on the secret, which must be reported. The program
 * also checks that an engine leaves no secret in its scratch area.
 */
#include "crypto/engines.c"
#include "crypto/mb.c"

#include <stdio.h>

#include "test_util.h"

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define HAVE_MSAN
#endif
#endif
#ifdef HAVE_MSAN
#define make_secret(p, len)	__msan_poison(p, len)
#define make_public(p, len)	__msan_unpoison(p, len)
#else
#include <valgrind/memcheck.h>
#define make_secret(p, len)	((void)VALGRIND_MAKE_MEM_UNDEFINED(p, len))
#define make_public(p, len)	((void)VALGRIND_MAKE_MEM_DEFINED(p, len))
#endif

#define LISTS	40
#define LEN_MAX	3000

static u8 secret[OMERTA_SECRET_LEN];
static u8 plain[OMERTA_CHUNK_LIST][LEN_MAX];
static u8 sealed[OMERTA_CHUNK_LIST][LEN_MAX + OMERTA_TAG_LEN];

static void (*real_tags)(struct omerta_mb *mb, const struct omerta_chunk *list,
			 unsigned int n);

/* Tags are sent, or compared with such: all may know whether they are right. */
static void public_tags(struct omerta_mb *mb, const struct omerta_chunk *list,
			unsigned int n)
{
	real_tags(mb, list, n);
	make_public(mb->tag, sizeof(mb->tag));
}

static void expect_wiped(const struct omerta_engine *isa)
{
	const u8 *at = (u8 *)scratch->secret, *end = (u8 *)(scratch + 1);

	/* The sanitizer does not know what explicit_bzero() does. */
	make_public(scratch, sizeof(*scratch));
	while (at < end && !*at)
		at++;
	if (at == end)
		return;
	fprintf(stderr, "const_time: %s: byte %zu of its memory is not wiped\n", isa->name,
		(size_t)(at - (u8 *)scratch));
	exit(3);
}

static void check_list(const struct omerta_engine *isa, struct omerta_chunk *list,
		       unsigned int n, bool spoil)
{
	make_secret(secret, sizeof(secret));
	make_secret(plain, sizeof(plain));
	omerta_mb_seal(isa, list, n, secret);
	expect_wiped(isa);
	make_public(sealed, sizeof(sealed));
	if (spoil)
		list[0].sealed[list[0].len]++;
	if (omerta_mb_open(isa, list, n, secret) != (OMERTA_CHUNK_ALL(n) & ~(u32)spoil)) {
		fprintf(stderr, "const_time: %s: wrong verdicts\n", isa->name);
		exit(2);
	}
	expect_wiped(isa);
}

static void check_isa(const struct omerta_engine *real)
{
	/* For each way to process few blocks, and a short list of others */
	static const u32 few[] = { 0, 1, 16, 60, 64, 65, 128, 200, 256, 320, 400,
				    2561, 2900 };
	struct omerta_engine isa = *real;
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	struct test_rng rng = TEST_RNG(1);
	unsigned int i, k, n;

	isa.tags = public_tags;
	real_tags = real->tags;
	for (i = 0; i < OMERTA_CHUNK_LIST; i++) {
		list[i].plain = plain[i];
		list[i].sealed = sealed[i];
		list[i].nonce = i;
	}
	for (k = 0; k < LISTS; k++) {
		n = 1 + test_below(&rng, OMERTA_CHUNK_LIST);
		for (i = 0; i < n; i++)
			list[i].len = test_below(&rng, 2) ? OMERTA_CHUNK_MIN :
							   test_below(&rng, LEN_MAX / 3);
		check_list(&isa, list, n, k % 4 == 3);
	}
	for (n = 1; n <= 3; n++) {
		for (k = 0; k < ARRAY_SIZE(few); k++) {
			for (i = 0; i < n; i++)
				list[i].len = few[k] >> i;
			check_list(&isa, list, n, k % 4 == 3);
		}
	}
}

int main(int argc, char **argv)
{
	const struct omerta_engine *isa;

	if (omerta_mb_init())
		return 1;
	memset(scratch, 0, sizeof(*scratch));
	if (argc > 1) {
		make_secret(secret, 1);
		if (secret[0])
			puts("a leak");
		return 0;
	}
	for (isa = engines; isa < engines + ARRAY_SIZE(engines); isa++)
		if (isa->is_supported()) {
			check_isa(isa);
			printf("%s\n", isa->name);
		}
	return 0;
}
