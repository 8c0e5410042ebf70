/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_MB_H
#define _OMERTA_MB_H

#include <linux/stddef.h>
#include <linux/types.h>

#include "crypto/chunk.h"

#define OMERTA_BLOCK_LEN	64

/*
 * Most bytes that are processed with preemption off: some 20 us on a CPU with no more
 * than SSE2.
 */
#define OMERTA_MB_LIST_BYTES	8192

/* From this length on the library fills its vectors as well, with fewer tags to make. */
#define OMERTA_MB_LONG_CHUNK	4096

/* Lanes of the widest instruction set, for blocks and for chunks. */
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
	u32 counter[OMERTA_MB_BLOCKS];
	u32 nonce[2][OMERTA_MB_BLOCKS];
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
 * @words: ciphertext words, for steps in which some lanes have fewer bytes than others
 * @stashed: number of key stream blocks left over from making the one-time keys;
 *	everything after this member is secret
 * @secret: the ChaCha20 key, as words in the CPU's byte order
 * @key: one-time Poly1305 keys in the CPU's byte order, word w of chunk i at [w][i]
 * @tag: tags, words of chunk i at [0][i] and [1][i]
 * @part: key stream block of a chunk's last, partial block
 * @blocks: key stream, in the engine's lanes, or the stashed blocks in the order of use
 * @groups: state of the groups of chunks whose tags are made
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

/* Functions that mb_simd.h defines for each instruction set. */
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
