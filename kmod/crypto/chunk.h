/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_CHUNK_H
#define _OMERTA_CHUNK_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define OMERTA_SECRET_LEN		32
#define OMERTA_TAG_LEN			16

/* Plaintext bytes of a full chunk of class 0, and the chunks of the longest record. */
#define OMERTA_CHUNK_MIN		512
#define OMERTA_MAX_CHUNKS		128

/* Longest list that callers make, so that it fits the stack. */
#define OMERTA_CHUNK_LIST		16

/**
 * struct omerta_chunk - a chunk to seal or to open
 * @plain: plaintext, @len bytes
 * @sealed: ciphertext and tag, @len + OMERTA_TAG_LEN bytes
 * @nonce: from OMERTA_NONCE()
 * @len: bytes of plaintext
 *
 * @plain and @sealed may be the same address, but must not overlap otherwise.
 */
struct omerta_chunk {
	u8 *plain;
	u8 *sealed;
	u64 nonce;
	u32 len;
};

/*
 * Nonce of a chunk: the low 64 bits of RFC 8439's nonce in host order. Its upper 32 bits,
 * which come first in memory, are zero. @counter is the record's counter, below
 * OMERTA_COUNTER_LIMIT, @index the position of the chunk in the record, and @last is true
 * for the record's last chunk.
 */
#define OMERTA_NONCE(counter, index, last) \
	((u64)(counter) << 8 | (u64)(last) << 7 | (index))
#define OMERTA_NONCE_INDEX(nonce)	((nonce) & 0x7f)

/* Result of omerta_chunk_open() if all @n chunks are authentic. */
#define OMERTA_CHUNK_ALL(n)		((1U << (n)) - 1)

struct omerta_engine;

void omerta_chunk_seal(const struct omerta_engine *engine,
		       const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN]);
u32 omerta_chunk_open(const struct omerta_engine *engine,
		      const struct omerta_chunk *list, unsigned int n,
		      const u8 secret[OMERTA_SECRET_LEN]);

#endif /* _OMERTA_CHUNK_H */
