/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The multi-buffer engine for one instruction set. The file that includes this defines:
 *
 * ISA		its name
 * LANES	words in a vector, and blocks of ChaCha20 in a batch
 * BATCHES	batches that its registers hold
 * WAYS		double words in a vector, and lanes of Poly1305
 * FIXED_STEPS, LEVEL_STEPS	steps of Poly1305 that take as long as to begin and end, and as
 *		twice as many lanes of a chunk
 * MANY_REGISTERS	if there are 32
 * BYTE_SHUFFLES	if vectors' bytes can be shuffled, but not words rotated
 * LIMBS	the file about Poly1305's numbers
 * LONE_MOST	blocks of a lone chunk up to which general registers make its tag faster
 * LITTLE_MOST	the same for several chunks, of which each counts as one block more
 * NARROW	functions of an instruction set with half as many lanes, for few blocks
 * IS_NARROW	if it is that
 */
#include <asm/byteorder.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "crypto/mb.h"

#ifndef __CHECKER__ /* sparse does not support vectors. */
/* Register only: clang always picks memory where the constraint allows it. */
#ifdef __clang__
#define OR_MEMORY
#else
#define OR_MEMORY	"m"
#endif

/*
 * Arrays of vectors stay in registers if only constants index them, and they are __uninitialized:
 * CONFIG_INIT_STACK_ALL_ZERO would keep them on the stack.
 */
#ifdef __clang__
#define UNROLLED	_Pragma("unroll")
#else
#define UNROLLED	_Pragma("GCC unroll 16")
#endif

#include "crypto/mb_chacha.h"
#include "crypto/mb_one.h"
#include "crypto/mb_poly.h"
#include "crypto/mb_lone.h"

static_assert(BLOCKS <= OMERTA_MB_BLOCKS);
static_assert(OMERTA_CHUNK_LIST <= OMERTA_MB_WAYS);
static_assert(OMERTA_MB_WAYS % (2 * WAYS) == 0);
static_assert(OMERTA_MB_WAYS % LANES == 0);

#define MB_NAME(what, isa)	omerta_mb_##what##_##isa
#define MB(what, isa)		MB_NAME(what, isa)

/* Context of all these: this file's instructions may be used. */

/* Generate one-time keys, and key stream in the spare lanes. */
void MB(keys, ISA)(struct omerta_mb *mb, const u8 *secret, const struct omerta_chunk *list,
		   unsigned int n, bool open)
{
	u32 blocks = count_blocks(list, n);
	unsigned int first = 0;

	__builtin_memcpy(mb->secret, secret, sizeof(mb->secret));
	le32_to_cpu_array(mb->secret, ARRAY_SIZE(mb->secret));
	while (first < n)
		first += make_keys(mb, list, n, first, blocks, open);
}

#ifdef IS_NARROW
/*
 * Generate the first @made blocks of @l. The first @keys are one-time keys, those of chunks
 * from @first on; the others are stashed.
 */
void MB(batch, ISA)(struct omerta_mb *mb, const struct omerta_mb_lanes *l,
		    unsigned int made, unsigned int first, unsigned int keys)
{
	if (made <= FEW)
		make_few(mb, l, made, first, keys);
	else if (made <= LANES)
		make_one_batch(mb, l, first, keys, NULL, NULL);
	else if (made <= LANES + SET)
		make_batch_and_set(mb, l, first, keys);
	else
		make_batch_and_more(mb, l, first, keys);
}

/* Transpose the blocks from @at on, which are in lanes. */
void MB(transpose, ISA)(struct omerta_mb *mb, unsigned int at)
{
	transpose_made(mb, at);
}
#endif

/* Encrypt or decrypt, once after keys(). */
void MB(crypt, ISA)(struct omerta_mb *mb, const struct omerta_chunk *list,
		    unsigned int n, bool open)
{
	crypt_list(mb, list, n, open);
}

/* Compute the tags of the ciphertexts. */
void MB(tags, ISA)(struct omerta_mb *mb, const struct omerta_chunk *list,
		   unsigned int n)
{
	unsigned int first, end;
	u32 blocks = 0;

	for (first = 0; first < n; first++)
		blocks += DIV_ROUND_UP(list[first].len, BLOCK16);
	first = 0;
	while (!is_little(n - first, blocks)) {
		if (first == n - 1) {
			tag_alone(mb, &list[first], first);
			return;
		}
		end = first + make_tags(mb, list + first, n - first, first, blocks);
		for (; first < end; first++)
			blocks -= DIV_ROUND_UP(list[first].len, BLOCK16);
	}
	for (; first < n; first++)
		tag_one(mb, &list[first], first);
}

/* wipe() and vectors may write beyond the end of the secrets. */
static_assert(sizeof_field(struct omerta_mb, key[0]) >= 4 * (OMERTA_CHUNK_LIST + 2 * WAYS));
static_assert(sizeof_field(struct omerta_mb, tag[0]) >= 8 * (OMERTA_CHUNK_LIST + 2 * WAYS));

static_assert(sizeof(struct group) <= sizeof_field(struct omerta_mb, group));
static_assert(sizeof(struct lone) <= sizeof(struct group));

/* Records of three chunks spent an eighth of their time in memzero_explicit(). */
static __always_inline void wipe(void *mem, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += sizeof(lanes_t)) {
		store(mem + i, all(0));
		barrier_data(mem); /* neither elided nor turned into memset() */
	}
}

/* Wipe all secrets of a list of @n chunks. */
void MB(wipe, ISA)(struct omerta_mb *mb, unsigned int n)
{
	unsigned int i;

	wipe(mb->secret, sizeof(mb->secret));
	for (i = 0; i < ARRAY_SIZE(mb->key); i++)
		wipe(mb->key[i], 4 * n);
	for (i = 0; i < ARRAY_SIZE(mb->tag); i++)
		wipe(mb->tag[i], 8 * (mb->group_len ? n + WAYS : n));
	wipe(mb->blocks, OMERTA_BLOCK_LEN * mb->made);
	wipe(mb->group, mb->group_len);
	mb->made = 0;
	mb->group_len = 0;
}
#endif
