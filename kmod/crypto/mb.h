/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_MB_H
#define _OMERTA_MB_H

#include <linux/stddef.h>
#include <linux/types.h>

#include "crypto/chunk.h"

#define OMERTA_BLOCK_LEN	64

/* Lanes of the widest instruction set for blocks, and columns of a list */
#define OMERTA_MB_BLOCKS	32
#define OMERTA_MB_WAYS		16

/**
 * struct omerta_mb_lanes - key stream blocks that are made at once; nothing secret
 * @counter: number of the block in its chunk
 * @nonce: low and high word of the chunk's nonce
 * @len: bytes of the chunk from this block on; 0 if the lane has no block. Not maintained
 *	 while one-time keys are made, like @from and @to.
 * @from: input that the block is added to
 * @to: output
 */
struct omerta_mb_lanes {
	u32 counter[2 * OMERTA_MB_BLOCKS];
	u32 nonce[2][2 * OMERTA_MB_BLOCKS];
	u32 len[OMERTA_MB_BLOCKS];
	const u8 *from[OMERTA_MB_BLOCKS];
	u8 *to[OMERTA_MB_BLOCKS];
};

/**
 * struct omerta_mb_cursor - position of the next block in a list of chunks
 * @list: chunks that remain
 * @end: end of the list
 * @open: decrypt rather than encrypt
 * @from: input of the block
 * @to: output of the block
 * @left: bytes from @from to the end of its chunk; 0 before the next chunk
 * @counter: number of the block in its chunk
 * @nonce: the chunk's nonce
 */
struct omerta_mb_cursor {
	const struct omerta_chunk *list;
	const struct omerta_chunk *end;
	bool open;
	const u8 *from;
	u8 *to;
	u32 left;
	u32 counter;
	u64 nonce;
};

/**
 * struct omerta_mb - scratch area of a CPU
 * @lanes: the current blocks and the next ones
 * @cursor: position after the blocks that were made together with the one-time keys
 * @sorted: the list, if its lengths differ
 * @words: ciphertext, for steps in which some lanes have fewer bytes than others
 * @stash: the first of the key stream blocks that were left over from making the one-time
 *	keys
 * @stashed: number of those blocks
 * @made: number of @blocks that were written
 * @narrow: see struct omerta_engine_limits
 * @group_len: bytes of @group that were written; everything after this member is secret
 * @secret: the ChaCha20 key, as words in the CPU's byte order
 * @key: one-time Poly1305 keys in the CPU's byte order, word w of chunk i at [w][i]
 * @tag: tags, words of chunk i at [0][i] and [1][i]
 * @blocks: key stream, in the engine's lanes, or the stashed blocks in the order of use; while it
 *	is made, what registers do not hold
 * @group: state of the chunks whose tags are made
 */
struct omerta_mb {
	struct omerta_mb_lanes lanes[2];
	struct omerta_mb_cursor cursor;
	struct omerta_chunk sorted[OMERTA_CHUNK_LIST];
	u8 words[512] __aligned(64);
	unsigned int stash;
	unsigned int stashed;
	unsigned int made;
	unsigned int narrow;
	u32 group_len;
	u32 secret[8] __aligned(64);
	u32 key[8][2 * OMERTA_MB_WAYS] __aligned(64);
	u64 tag[2][2 * OMERTA_MB_WAYS] __aligned(64);
	u8 blocks[OMERTA_MB_BLOCKS][OMERTA_BLOCK_LEN] __aligned(64);
	u8 group[1536] __aligned(64);
};

/* Functions that mb_simd.h defines for each instruction set. */
#define OMERTA_MB_PROTOTYPES(isa)						\
	void omerta_mb_keys_##isa(struct omerta_mb *mb, const u8 *secret,	\
				  const struct omerta_chunk *list,		\
				  unsigned int n, bool open);			\
	void omerta_mb_crypt_##isa(struct omerta_mb *mb,			\
				   const struct omerta_chunk *list,		\
				   unsigned int n, bool open);			\
	void omerta_mb_tags_##isa(struct omerta_mb *mb,				\
				  const struct omerta_chunk *list,		\
				  unsigned int n);				\
	void omerta_mb_wipe_##isa(struct omerta_mb *mb, unsigned int n)

OMERTA_MB_PROTOTYPES(avx512ifma);
OMERTA_MB_PROTOTYPES(avx512vl);
OMERTA_MB_PROTOTYPES(avx2);
OMERTA_MB_PROTOTYPES(ssse3);
OMERTA_MB_PROTOTYPES(sse2);
OMERTA_MB_PROTOTYPES(neon);

/* And for one that helps another */
void omerta_mb_batch_avx512vl(struct omerta_mb *mb, const struct omerta_mb_lanes *l,
			      unsigned int made, unsigned int first, unsigned int keys);
void omerta_mb_transpose_avx512vl(struct omerta_mb *mb, unsigned int at);

struct omerta_engine;

void omerta_mb_seal(const struct omerta_engine *engine,
		    const struct omerta_chunk *list, unsigned int n,
		    const u8 *secret);
u32 omerta_mb_open(const struct omerta_engine *engine,
		   const struct omerta_chunk *list, unsigned int n,
		   const u8 *secret);
int omerta_mb_init(void);
void omerta_mb_exit(void);

#endif /* _OMERTA_MB_H */
