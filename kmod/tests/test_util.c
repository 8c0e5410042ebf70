// SPDX-License-Identifier: GPL-2.0
/*
 * Helpers that several suites use
 */
#include "test_util.h"

#ifdef __KERNEL__
#include <linux/vmalloc.h>
#endif

static void *edge_mem[TEST_EDGE_SLOTS];

/**
 * test_edge() - allocate a buffer with a guarded end
 * @test: the running case
 * @slot: number of the buffer; the previous buffer of this number is freed
 * @len: its length, at most TEST_EDGE_MAX
 *
 * An access after the end faults: in the kernel the buffer ends at the guard page of a
 * vmalloc area, in user space the address sanitizer reports it.
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
