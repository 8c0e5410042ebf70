// SPDX-License-Identifier: GPL-2.0
/*
 * The multi-buffer engines: which ones there are, and which one is used by default.
 * An engine is used only after it has passed its self-test.
 */
#include "crypto/engines.h"

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "compat/compat.h"
#include "crypto/mb.h"
#include "crypto/selftest.h"

/* User-mode Linux has neither vectors nor these feature bits, unless patched. */
#if defined(CONFIG_X86_64) && defined(XFEATURE_MASK_YMM)
#define MB_X86
#elif defined(CONFIG_ARM64)
#define MB_ARM64
#endif

#ifdef MB_X86
static bool has_avx512vl(void)
{
	return boot_cpu_has(X86_FEATURE_AVX512VL) && boot_cpu_has(X86_FEATURE_BMI2) &&
	       cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM |
				 XFEATURE_MASK_AVX512, NULL);
}

static bool has_avx512ifma(void)
{
#ifdef X86_FEATURE_PREFER_YMM
	/* On these CPUs the widest vectors lower the clock frequency. */
	if (boot_cpu_has(X86_FEATURE_PREFER_YMM))
		return false;
#endif
	return has_avx512vl() && boot_cpu_has(X86_FEATURE_AVX512IFMA);
}

static bool has_avx2(void)
{
	return boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_BMI2) &&
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

enum isa { AVX512IFMA, AVX512VL, AVX2, SSSE3, SSE2, NEON, ISAS };

/* At most so many bytes at once, fewer if they take too long here; see limit_bytes(). */
#define MOST_AT_ONCE	65536

/* Written before the engine of that instruction set is used, later only read */
static struct omerta_engine_limits limits[ISAS] = {
	[0 ... ISAS - 1] = { .at_once = MOST_AT_ONCE, .alone = U32_MAX,
			     .narrow = OMERTA_NARROW_MAX }
};

#define ENGINE(ISA, isa)						\
	{ "mb-" #isa, has_##isa, omerta_mb_keys_##isa,			\
	  omerta_mb_crypt_##isa, omerta_mb_tags_##isa,			\
	  omerta_mb_wipe_##isa, &limits[ISA] }

/* Fastest first */
static const struct omerta_engine engines[] = {
#ifdef MB_X86
	ENGINE(AVX512IFMA, avx512ifma),
	ENGINE(AVX512VL, avx512vl),
	ENGINE(AVX2, avx2),
	ENGINE(SSSE3, ssse3),
	ENGINE(SSE2, sse2),
#elif defined(MB_ARM64)
	ENGINE(NEON, neon),
#endif
};

/* Results of the self-tests; written while the module is loaded, later under RTNL. */
static enum verdict { UNTESTED, GOOD, BAD } verdicts[ARRAY_SIZE(engines)];

/* NULL is the library. */
static const struct omerta_engine *default_engine __read_mostly;

/* The longest time with preemption off, and bytes that are processed however slow that is */
#define LONGEST_NS	20000
#define LEAST_AT_ONCE	4096

/* Set the bytes that fit the time, if a list of full chunks takes @ns. */
static void limit_bytes(u32 *bytes, u64 ns)
{
	u64 fit = div64_u64((u64)OMERTA_CHUNK_LIST * OMERTA_CHUNK_MIN * LONGEST_NS,
			    max(ns, 1ULL));

	*bytes = clamp_t(u64, fit, LEAST_AT_ONCE, MOST_AT_ONCE);
}

/* Set the number of blocks for narrow vectors that is faster with 10. Returns 0 or -ENOMEM. */
static int limit_narrow(u32 *narrow, const struct omerta_engine *engine)
{
	u64 ns[2];
	int i, err;

	for (i = 0; i < 2; i++) {
		*narrow = i ? OMERTA_NARROW_MAX : OMERTA_NARROW_MIN;
		/* With the block of the one-time key */
		err = omerta_selftest_time(engine, 1, 9 * 64, &ns[i]);
		if (err)
			return err;
	}
	*narrow = ns[0] < ns[1] ? OMERTA_NARROW_MIN : OMERTA_NARROW_MAX;
	return 0;
}

/* Set the lengths of lone chunks with which @engine is not slower. Returns 0 or -ENOMEM. */
static int limit_alone(u32 *alone, const struct omerta_engine *engine)
{
	u32 bit, good = 0, len;
	u64 ours, other;
	int err;

	for (bit = 1; bit <= 22; bit++) {
		/* One length between two powers of two */
		len = bit <= 16 ? 64 * bit : 96U << (bit - 13);
		if (len > engine->limits->at_once)
			break;
		err = omerta_selftest_time(engine, 1, len, &ours);
		if (!err)
			err = omerta_selftest_time(NULL, 1, len, &other);
		if (err)
			return err;
		if (ours <= other)
			good |= BIT(bit);
	}
	/* An empty chunk is like the shortest. */
	*alone = good | (good & BIT(1)) >> 1;
	return 0;
}

/* Test an engine once. Returns 0, -EOPNOTSUPP or -ENOMEM. */
static int check_engine(const struct omerta_engine *engine)
{
	enum verdict *v = &verdicts[engine - engines];
	u64 ns;
	int err;

	if (!engine->is_supported() || !may_use_simd())
		return -EOPNOTSUPP;
	if (*v == UNTESTED) {
		struct omerta_engine_limits *l = &limits[engine->limits - limits];

		err = omerta_selftest_time(engine, OMERTA_CHUNK_LIST, OMERTA_CHUNK_MIN, &ns);
		if (err)
			return err;
		limit_bytes(&l->at_once, ns);
		err = limit_narrow(&l->narrow, engine) ?: limit_alone(&l->alone, engine);
		if (err)
			return err;
		err = omerta_selftest(engine);
		if (err == -ENOMEM)
			return err;
		*v = err ? BAD : GOOD;
		if (err)
			pr_err("omerta: %s fails its self-test and is not used\n",
			       engine->name);
	}
	return *v == GOOD ? 0 : -EOPNOTSUPP;
}

/**
 * omerta_engine_find() - find an engine by its name
 * @name: its name; "lib" is the library, "auto" the default
 * @engine: set to the engine; NULL is the library
 *
 * An engine other than the default is tested first.
 *
 * Context: process context, RTNL held.
 * Return: 0, -ENOENT if no engine has that name, -EOPNOTSUPP if this CPU does not support
 * it or it fails its self-test, or -ENOMEM.
 */
int omerta_engine_find(const char *name, const struct omerta_engine **engine)
{
	unsigned int i;
	int err;

	if (!strcmp(name, "auto")) {
		*engine = default_engine;
		return 0;
	}
	if (!strcmp(name, "lib")) {
		*engine = NULL;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		if (strcmp(engines[i].name, name))
			continue;
		err = check_engine(&engines[i]);
		if (!err)
			*engine = &engines[i];
		return err;
	}
	return -ENOENT;
}
EXPORT_SYMBOL_GPL(omerta_engine_find); /* for omerta_bench */

/**
 * omerta_engine_init() - test the library and choose the default engine
 *
 * Context: process context, once before anything is sealed or opened.
 * Return: 0 or a negative errno.
 */
int omerta_engine_init(void)
{
	unsigned int i;
	int err;

	err = omerta_mb_init();
	if (err)
		return err;
	err = omerta_selftest(NULL);
	if (err) {
		if (err != -ENOMEM)
			pr_err("omerta: the kernel's ChaCha20-Poly1305 fails RFC 8439's test\n");
		goto err_mb;
	}
	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		err = check_engine(&engines[i]);
		if (err == -ENOMEM)
			goto err_mb;
		if (!err) {
			default_engine = &engines[i];
			break;
		}
	}
	return 0;

err_mb:
	omerta_mb_exit();
	return err;
}

/**
 * omerta_engine_exit() - undo omerta_engine_init()
 *
 * Context: process context; nothing is sealed or opened any more.
 */
void omerta_engine_exit(void)
{
	default_engine = NULL;
	omerta_mb_exit();
}

/**
 * omerta_engine_default() - the fastest engine of this machine
 *
 * Return: the engine; NULL is the library.
 */
const struct omerta_engine *omerta_engine_default(void)
{
	return default_engine;
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
