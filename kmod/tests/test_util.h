/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TEST_UTIL_H
#define _OMERTA_TEST_UTIL_H

#include <linux/sched.h>
#include <linux/types.h>

#include "kunit_compat.h"

/* Kernels are tested under emulation, some thirty times slower. */
#ifdef __KERNEL__
#define TEST_SCALE(user, kernel)	(kernel)
#else
#define TEST_SCALE(user, kernel)	(user)
#endif

/* Longest buffer of test_edge(), and how many there are. */
#define TEST_EDGE_MAX	(128 * 1024)
#define TEST_EDGE_SLOTS	4

/**
 * struct test_rng - repeatable random numbers
 * @state: not zero
 */
struct test_rng {
	u64 state;
};

#define TEST_RNG(seed)	{ .state = 0x9e3779b97f4a7c15ULL ^ (seed) }

u64 test_rnd(struct test_rng *rng);
u32 test_below(struct test_rng *rng, u32 n);
void test_random(struct test_rng *rng, void *mem, u32 len);
void test_pattern(void *mem, u32 len, u8 seed);
u64 test_fnv1a(const void *mem, u32 len);
u8 *test_edge(struct kunit *test, unsigned int slot, u32 len);
void test_exit(struct kunit *test);

extern struct kunit_suite omerta_chunk_suite;
extern struct kunit_suite omerta_record_suite;
extern struct kunit_suite omerta_plain_suite;
extern struct kunit_suite omerta_tamper_suite;
extern struct kunit_suite omerta_replay_suite;
extern struct kunit_suite omerta_allowedips_suite;
extern struct kunit_suite omerta_merge_suite;
/* Need a kernel. */
extern struct kunit_suite omerta_keys_suite;
extern struct kunit_suite omerta_queue_suite;
extern struct kunit_suite omerta_admission_suite;

#endif /* _OMERTA_TEST_UTIL_H */
