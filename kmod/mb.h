/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_MB_H
#define _OMERTA_MB_H

#include <linux/stddef.h>
#include <linux/types.h>

#include "chunk.h"

#define OMERTA_BLOCK_LEN	64

/* Lanes of the widest instruction set, for blocks and for chunks */
#define OMERTA_MB_BLOCKS	32
#define OMERTA_MB_WAYS		16

/**
 * struct omerta_mb_lanes - blocks that are made at once; nothing secret
 * @counter: the block's number in the chunk
 * @nonce: low and high word of the chunk's
 * @len: how much of the chunk is left, from this block on; 0 without a block. Like what
 *	 follows it is not kept up where one-time keys are made.
 * @from: what it is to be added to
 * @to: where that goes
 */
struct omerta_mb_lanes {
	u32 counter[OMERTA_MB_BLOCKS];
	u32 nonce[2][OMERTA_MB_BLOCKS];
	u32 len[OMERTA_MB_BLOCKS];
	const u8 *from[OMERTA_MB_BLOCKS];
	u8 *to[OMERTA_MB_BLOCKS];
};

/**
 * struct omerta_mb_cursor - the next block of a list of chunks
 * @list: the chunks that are left
 * @end: behind the last of them
 * @open: ciphertext becomes plaintext
 * @from: the block
 * @to: where it goes
 * @left: bytes from there to the end of its chunk; 0 if the next chunk is to be begun
 * @counter: the block's number in the chunk
 * @nonce: the chunk's
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
 * struct omerta_mb - a CPU's room for a list of chunks at work
 * @lanes: blocks at work and those after them
 * @cursor: behind the lanes that were found together with the one-time keys
 * @words: of ciphertexts, for steps of which some lanes have less than others
 * @stashed: number of blocks of key stream that are left over from making the keys;
 *	all that follows is secret
 * @secret: the ChaCha20 key, as words in the CPU's byte order
 * @key: word w of chunk i's one-time Poly1305 key is at [w][i], in the CPU's byte order
 * @tag: chunk i's tag is made of the words at [0][i] and [1][i]
 * @part: the key stream's block of a chunk's end
 * @blocks: of key stream, in lanes of whatever instruction set, or those of the list's
 *	first blocks as they are used
 * @groups: of chunks whose tags are made
 */
struct omerta_mb {
	struct omerta_mb_lanes lanes[2];
	struct omerta_mb_cursor cursor;
	u8 words[1024] __aligned(64);
	unsigned int stashed;
	u32 secret[8];
	u32 key[8][OMERTA_MB_WAYS] __aligned(64);
	u64 tag[2][OMERTA_MB_WAYS] __aligned(64);
	u8 part[OMERTA_BLOCK_LEN];
	u8 blocks[OMERTA_MB_BLOCKS][OMERTA_BLOCK_LEN] __aligned(64);
	u8 groups[2048] __aligned(64);
};

/* One file for each instruction set has these, made from mb_simd.h. */
#define OMERTA_MB_PROTOTYPES(isa)						\
	void omerta_mb_keys_##isa(struct omerta_mb *mb,				\
				  const struct omerta_chunk *list,		\
				  unsigned int n, bool open);			\
	void omerta_mb_crypt_##isa(struct omerta_mb *mb,			\
				   const struct omerta_chunk *list,		\
				   unsigned int n, bool open);			\
	void omerta_mb_tags_##isa(struct omerta_mb *mb,				\
				  const struct omerta_chunk *list,		\
				  unsigned int n);				\
	void omerta_mb_wipe_##isa(struct omerta_mb *mb)

OMERTA_MB_PROTOTYPES(avx512ifma);
OMERTA_MB_PROTOTYPES(avx512vl);
OMERTA_MB_PROTOTYPES(avx2);
OMERTA_MB_PROTOTYPES(ssse3);
OMERTA_MB_PROTOTYPES(sse2);
OMERTA_MB_PROTOTYPES(neon);

int omerta_mb_load(void);
void omerta_mb_unload(void);
const struct omerta_engine *omerta_engine_default(void);
int omerta_engine_find(const char *name, const struct omerta_engine **engine);
const char *omerta_engine_name(const struct omerta_engine *engine);
unsigned int omerta_mb_seal(const struct omerta_engine *engine,
			    const struct omerta_chunk *list, unsigned int n,
			    const u8 *secret);
unsigned int omerta_mb_open(const struct omerta_engine *engine,
			    const struct omerta_chunk *list, unsigned int n,
			    const u8 *secret, u32 *good);

#endif /* _OMERTA_MB_H */
