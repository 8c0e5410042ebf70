// SPDX-License-Identifier: GPL-2.0
/*
 * One-time keys for Poly1305, for many chunks at once.
 *
 * Each chunk has one of its own, half a ChaCha20 block. The kernel's library makes
 * such a block without vector instructions, for a chunk of 512 bytes about as much
 * work as all the rest.
 */
#include "polykey.h"

#include <crypto/chacha.h>
#include <linux/kernel.h>

#include "compat.h"

/* A User-mode Linux without our patch has neither vectors nor these. */
#if defined(CONFIG_X86_64) && defined(XFEATURE_MASK_YMM)
#define POLYKEY_X86
#elif defined(CONFIG_ARM64)
#define POLYKEY_ARM64
#endif

struct isa {
	const char *name;
	bool (*has)(void);
	void (*make)(struct omerta_polykeys *keys, unsigned int first);
	unsigned int lanes;
	/* With fewer chunks it is not faster than the library. */
	unsigned int least;
};

#ifdef POLYKEY_X86
static bool has_avx512vl(void)
{
	return boot_cpu_has(X86_FEATURE_AVX512VL) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM |
				 XFEATURE_MASK_AVX512, NULL);
}

static bool has_avx2(void)
{
	return boot_cpu_has(X86_FEATURE_AVX2) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
}

static bool has_sse2(void)
{
	return boot_cpu_has(X86_FEATURE_XMM2);
}
#elif defined(POLYKEY_ARM64)
static bool has_neon(void)
{
	return cpu_have_named_feature(ASIMD);
}
#endif

/* The best first. */
static const struct isa isas[] = {
#ifdef POLYKEY_X86
	{ "lib+avx512vl", has_avx512vl, omerta_polykey_avx512vl, 8, 2 },
	{ "lib+avx2", has_avx2, omerta_polykey_avx2, 8, 2 },
	{ "lib+sse2", has_sse2, omerta_polykey_sse2, 4, 3 },
#elif defined(POLYKEY_ARM64)
	{ "lib+neon", has_neon, omerta_polykey_neon, 4, 3 },
#endif
};

/* NULL: the library makes them. */
static const struct isa *chosen __read_mostly;

/* Whether an instruction set's keys are those of the library. */
static bool works(const struct isa *isa)
{
	struct omerta_polykeys keys = {};
	unsigned int i, w;
	bool good = true;

	for (w = 0; w < ARRAY_SIZE(keys.secret); w++)
		keys.secret[w] = 0x9e3779b9 * (w + 1);
	for (i = 0; i < OMERTA_CHUNK_LIST; i++) {
		keys.nonce[0][i] = 0x85ebca6b * (i + 1);
		keys.nonce[1][i] = 0xc2b2ae35 * (i + 1);
	}
	scoped_ksimd()
		for (i = 0; i < OMERTA_CHUNK_LIST; i += isa->lanes)
			isa->make(&keys, i);

	for (i = 0; i < OMERTA_CHUNK_LIST; i++) {
		__le32 block[OMERTA_POLYKEY_WORDS] = {};
		struct chacha_state state;
		const u8 iv[CHACHA_IV_SIZE] = {};

		chacha_init(&state, keys.secret, iv);
		state.x[14] = keys.nonce[0][i];
		state.x[15] = keys.nonce[1][i];
		chacha20_crypt(&state, (u8 *)block, (u8 *)block, sizeof(block));
		for (w = 0; w < OMERTA_POLYKEY_WORDS; w++)
			good &= le32_to_cpu(block[w]) == keys.word[w][i];
	}
	return good;
}

/**
 * omerta_polykey_load() - choose the best instruction set that works here
 *
 * Context: process context, once.
 */
void omerta_polykey_load(void)
{
	const struct isa *isa;

	chosen = NULL;
	for (isa = isas; isa < isas + ARRAY_SIZE(isas); isa++) {
		if (!isa->has() || !may_use_simd())
			continue;
		if (works(isa)) {
			chosen = isa;
			return;
		}
		pr_err("omerta: %s makes wrong keys and is not used\n",
		       isa->name);
	}
}

/**
 * omerta_polykey_pays() - whether keys of chunks should be made together, here and now
 * @n: number of chunks
 *
 * Context: any but hard interrupt.
 * Return: false if the library should make each.
 */
bool omerta_polykey_pays(unsigned int n)
{
	return chosen && n >= chosen->least && n <= OMERTA_CHUNK_LIST &&
	       may_use_simd();
}

/**
 * omerta_polykey_make() - make the one-time keys of chunks
 * @keys: @secret and the first @n of @nonce are set; gets the first @n of @word
 * @n: number of chunks, 1 to OMERTA_CHUNK_LIST
 *
 * Context: where omerta_polykey_pays() was true.
 */
void omerta_polykey_make(struct omerta_polykeys *keys, unsigned int n)
{
	unsigned int i;

	/* Lanes without a chunk make keys that nobody uses. */
	for (i = n; i < round_up(n, chosen->lanes); i++) {
		keys->nonce[0][i] = 0;
		keys->nonce[1][i] = 0;
	}
	scoped_ksimd()
		for (i = 0; i < n; i += chosen->lanes)
			chosen->make(keys, i);
}

/**
 * omerta_polykey_engine() - name of what makes one-time keys
 *
 * Return: a constant string.
 */
const char *omerta_polykey_engine(void)
{
	return chosen ? chosen->name : "lib";
}
