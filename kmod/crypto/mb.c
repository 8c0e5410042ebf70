// SPDX-License-Identifier: GPL-2.0
/*
 * Multi-buffer sealing and opening: process the chunks of a list together. The library
 * processes each chunk alone, with vectors that a short chunk hardly fills. Here the
 * one-time keys, the blocks of ChaCha20 and the tags of Poly1305 have lanes of their own,
 * whatever chunk they belong to. mb_simd.h does the arithmetic; it is compiled once for
 * each instruction set.
 */
#include "crypto/mb.h"

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/percpu.h>

#include "compat/compat.h"
#include "crypto/engines.h"

/* Used with BH off, since softirqs use it as well. */
static struct omerta_mb __percpu *scratch;

/*
 * Take this CPU's scratch area; the caller ends with put_cpu_ptr() and local_bh_enable().
 * If the lengths of @list differ much, it becomes a list with the longest chunk first: lanes
 * of Poly1305 have to wait for the longest chunk beside them. @from: positions in the list
 * that was given
 */
static struct omerta_mb *mb_enter(const struct omerta_engine *engine,
				  const struct omerta_chunk **list, unsigned int n, u8 *from)
{
	const struct omerta_chunk *given = *list;
	u64 longest = 0, total = 0;
	struct omerta_mb *mb;
	unsigned int i, at;

	local_bh_disable();
	mb = get_cpu_ptr(scratch);
	mb->narrow = engine->limits->narrow;
	from[0] = 0;
	if (n == 1)
		return mb;
	for (i = 0; i < n; i++) {
		longest = max_t(u64, longest, given[i].len);
		total += given[i].len;
		from[i] = i;
	}
	if (4 * total >= 3 * longest * n)
		return mb;
	for (i = 0; i < n; i++) {
		for (at = i; at && given[from[at - 1]].len < given[i].len; at--)
			from[at] = from[at - 1];
		from[at] = i;
	}
	for (i = 0; i < n; i++)
		mb->sorted[i] = given[from[i]];
	*list = mb->sorted;
	return mb;
}

/**
 * omerta_mb_seal() - seal a list of chunks together
 * @engine: the engine, not the library
 * @list: the chunks, 64 KiB at most in total
 * @n: their number, at most OMERTA_CHUNK_LIST
 * @secret: the key's send secret
 *
 * Context: any but hard interrupt; may_use_simd().
 */
void omerta_mb_seal(const struct omerta_engine *engine,
		    const struct omerta_chunk *list, unsigned int n,
		    const u8 *secret)
{
	u8 from[OMERTA_CHUNK_LIST];
	struct omerta_mb *mb = mb_enter(engine, &list, n, from);
	unsigned int i;

	scoped_ksimd() {
		engine->keys(mb, secret, list, n, false);
		engine->crypt(mb, list, n, false);
		engine->tags(mb, list, n);
		for (i = 0; i < n; i++) {
			u8 *tag = list[i].sealed + list[i].len;

			put_unaligned_le64(mb->tag[0][i], tag);
			put_unaligned_le64(mb->tag[1][i], tag + 8);
		}
		engine->wipe(mb, n);
	}
	put_cpu_ptr(scratch);
	local_bh_enable();
}

/* Decrypt only the good chunks of a list. */
static noinline_for_stack void decrypt_good(const struct omerta_engine *engine,
					    struct omerta_mb *mb,
					    const struct omerta_chunk *list,
					    unsigned int n, u32 good)
{
	struct omerta_chunk some[OMERTA_CHUNK_LIST];
	unsigned int i, m = 0;

	for (i = 0; i < n; i++)
		if (good & BIT(i))
			some[m++] = list[i];
	/* The stashed key stream is for the whole list. */
	mb->stashed = 0;
	engine->crypt(mb, some, m, true);
}

/**
 * omerta_mb_open() - open a list of chunks together
 * @engine: the engine, not the library
 * @list: the chunks, 64 KiB at most in total
 * @n: their number, at most OMERTA_CHUNK_LIST
 * @secret: the key's receive secret
 *
 * All tags are compared, in constant time, before any plaintext is written.
 *
 * Context: any but hard interrupt; may_use_simd().
 * Return: a bit for each chunk, set if it is authentic.
 */
u32 omerta_mb_open(const struct omerta_engine *engine,
		   const struct omerta_chunk *list, unsigned int n,
		   const u8 *secret)
{
	u8 from[OMERTA_CHUNK_LIST];
	struct omerta_mb *mb = mb_enter(engine, &list, n, from);
	u32 good = 0, sorted_good = 0;
	unsigned int i;

	scoped_ksimd() {
		engine->keys(mb, secret, list, n, true);
		engine->tags(mb, list, n);
		for (i = 0; i < n; i++) {
			const u8 *tag = list[i].sealed + list[i].len;
			u64 a = mb->tag[0][i] ^ get_unaligned_le64(tag);
			u64 b = mb->tag[1][i] ^ get_unaligned_le64(tag + 8);

			sorted_good |= (u32)!(a | b) << i;
			good |= (u32)!(a | b) << from[i];
		}
		if (good == OMERTA_CHUNK_ALL(n))
			engine->crypt(mb, list, n, true);
		else
			decrypt_good(engine, mb, list, n, sorted_good);
		engine->wipe(mb, n);
	}
	put_cpu_ptr(scratch);
	local_bh_enable();
	return good;
}

/**
 * omerta_mb_init() - allocate the scratch areas
 *
 * Return: 0 or -ENOMEM.
 */
int omerta_mb_init(void)
{
	scratch = alloc_percpu(struct omerta_mb);
	return scratch ? 0 : -ENOMEM;
}

/**
 * omerta_mb_exit() - free the scratch areas
 */
void omerta_mb_exit(void)
{
	free_percpu(scratch);
	scratch = NULL;
}
