// SPDX-License-Identifier: GPL-2.0
/*
 * What the suites share.
 */
#include "test_util.h"

#ifdef __KERNEL__
#include <linux/vmalloc.h>
#endif

static void *edge_mem[TEST_EDGE_SLOTS];

/**
 * test_rnd() - next random number (xorshift64*)
 * @rng: the generator
 *
 * Return: 64 bits, of which the upper are the better ones.
 */
u64 test_rnd(struct test_rng *rng)
{
	rng->state ^= rng->state >> 12;
	rng->state ^= rng->state << 25;
	rng->state ^= rng->state >> 27;
	return rng->state * 0x2545f4914f6cdd1dULL;
}

/**
 * test_below() - random number in a range
 * @rng: the generator
 * @n: not zero
 *
 * Return: a number from 0 to @n - 1.
 */
u32 test_below(struct test_rng *rng, u32 n)
{
	return (test_rnd(rng) >> 32) * n >> 32;
}

void test_random(struct test_rng *rng, void *mem, u32 len)
{
	u8 *p = mem;

	while (len--)
		*p++ = test_rnd(rng) >> 56;
}

/**
 * test_pattern() - fill memory as pattern() in gen_vectors.py does
 * @mem: what to fill
 * @len: its length
 * @seed: which pattern
 */
void test_pattern(void *mem, u32 len, u8 seed)
{
	u8 *p = mem;
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = i * 7 + i / 256 * 13 + seed;
}

u64 test_fnv1a(const void *mem, u32 len)
{
	u64 digest = 0xcbf29ce484222325ULL;
	const u8 *p = mem;

	while (len--)
		digest = (digest ^ *p++) * 0x100000001b3ULL;
	return digest;
}

/**
 * test_edge() - buffer whose end is guarded
 * @test: the running case
 * @slot: which one; its former buffer is gone
 * @len: its length, at most TEST_EDGE_MAX
 *
 * One byte too far is a fault: in the kernel the buffer ends where the guard
 * page of a vmalloc area starts, in user space the address sanitizer watches.
 *
 * Return: the buffer, with arbitrary contents.
 */
u8 *test_edge(struct kunit *test, unsigned int slot, u32 len)
{
#ifdef __KERNEL__
	if (!edge_mem[slot])
		edge_mem[slot] = vmalloc(TEST_EDGE_MAX);
	KUNIT_ASSERT_NOT_NULL(test, edge_mem[slot]);
	return (u8 *)edge_mem[slot] + TEST_EDGE_MAX - len;
#else
	free(edge_mem[slot]);
	edge_mem[slot] = malloc(len);
	KUNIT_ASSERT_TRUE(test, edge_mem[slot] && len <= TEST_EDGE_MAX);
	return edge_mem[slot];
#endif
}

/**
 * test_exit() - free the buffers of test_edge(); every suite's exit function
 * @test: the case that ran
 */
void test_exit(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < TEST_EDGE_SLOTS; i++) {
#ifdef __KERNEL__
		vfree(edge_mem[i]);
#else
		free(edge_mem[i]);
#endif
		edge_mem[i] = NULL;
	}
}
