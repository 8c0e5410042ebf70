// SPDX-License-Identifier: GPL-2.0
/*
 * Random and other numbers that are the same each time.
 */
#include "test_util.h"

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
 * test_pattern() - fill memory with the same bytes as pattern() in gen_vectors.py
 * @mem: the memory
 * @len: its length
 * @seed: number of the pattern
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
