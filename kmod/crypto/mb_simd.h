/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The multi-buffer engine for one instruction set. The file that includes this defines:
 *
 * ISA		its name
 * LANES	words in a vector, blocks of ChaCha20 in a batch
 * BATCHES	batches that its registers hold
 * WAYS		double words in a vector, chunks in a group of Poly1305
 * BYTE_SHUFFLES	if vectors' bytes can be shuffled, but not words rotated
 * LIMBS	the file about Poly1305's numbers
 */
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

/* For arrays of vectors: CONFIG_INIT_STACK_ALL_ZERO would keep them on the stack. */
#ifndef __uninitialized
#define __uninitialized	__attribute__((__uninitialized__))
#endif

/* Arrays of vectors stay in registers if only constants index them. */
#ifdef __clang__
#define UNROLLED	_Pragma("unroll")
#else
#define UNROLLED	_Pragma("GCC unroll 16")
#endif

#include "crypto/mb_chacha.h"
#include "crypto/mb_poly.h"

static_assert(BLOCKS <= OMERTA_MB_BLOCKS);
static_assert(OMERTA_CHUNK_LIST <= OMERTA_MB_WAYS);
static_assert(OMERTA_MB_WAYS % (2 * WAYS) == 0);
static_assert(OMERTA_MB_WAYS % LANES == 0);

#define MB_NAME(what, isa)	omerta_mb_##what##_##isa
#define MB(what, isa)		MB_NAME(what, isa)

/* Context of all these: this file's instructions may be used. */

/* Generate one-time keys, and key stream in the spare lanes. */
void MB(keys, ISA)(struct omerta_mb *mb, const struct omerta_chunk *list,
		   unsigned int n, bool open)
{
	unsigned int first;

	for (first = 0; first < n; first += BLOCKS)
		make_keys(mb, list, n, first, open);
}

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
	unsigned int first = 0;

	while (first < n)
		first += make_tags(mb, list, n, first);
}

#define WIPE_STEP	(4 * sizeof(lanes_t))

static_assert(sizeof_field(struct omerta_mb, key) % WIPE_STEP == 0);
static_assert(sizeof_field(struct omerta_mb, tag) % WIPE_STEP == 0);
static_assert(sizeof_field(struct omerta_mb, groups) % WIPE_STEP == 0);

/* Records of three chunks spent an eighth of their time in memzero_explicit(). */
static void wipe(void *mem, u32 len)
{
	lanes_t zero = all(0);
	u32 i;

	for (i = 0; i < len; i += WIPE_STEP) {
		store(mem + i, zero);
		store(mem + i + sizeof(lanes_t), zero);
		store(mem + i + 2 * sizeof(lanes_t), zero);
		store(mem + i + 3 * sizeof(lanes_t), zero);
		barrier_data(mem); /* neither elided nor turned into memset() */
	}
}

/* Wipe all secrets. */
void MB(wipe, ISA)(struct omerta_mb *mb)
{
	memzero_explicit(mb->secret, sizeof(mb->secret));
	wipe(mb->key, sizeof(mb->key));
	wipe(mb->tag, sizeof(mb->tag));
	wipe(mb->blocks, BATCHES * sizeof(state_t));
	wipe(mb->groups, round_up(GROUPS * sizeof(struct group), WIPE_STEP));
	memzero_explicit(mb->part, sizeof(mb->part));
}
#endif
