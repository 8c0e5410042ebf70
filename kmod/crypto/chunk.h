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
 * @nonce: from omerta_nonce()
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

/**
 * omerta_nonce() - make the nonce of a chunk
 * @counter: the record's counter, below OMERTA_COUNTER_LIMIT
 * @index: position of the chunk in its record, from 0
 * @last: the chunk is the record's last one
 *
 * Return: the low 64 bits of RFC 8439's nonce in host order. Its upper 32 bits, which
 * come first in memory, are zero.
 */
static inline u64 omerta_nonce(u64 counter, unsigned int index, bool last)
{
	return counter << 8 | (u64)last << 7 | index;
}

/**
 * omerta_nonce_index() - position of a chunk in its record
 * @nonce: from omerta_nonce()
 *
 * Return: the position, from 0.
 */
static inline unsigned int omerta_nonce_index(u64 nonce)
{
	return nonce & 0x7f;
}

/**
 * omerta_chunk_all() - result of omerta_chunk_open() if every chunk is authentic
 * @n: number of chunks
 *
 * Return: a bit for each chunk.
 */
static inline u32 omerta_chunk_all(unsigned int n)
{
	return (1U << n) - 1;
}

struct omerta_engine;

void omerta_chunk_seal(const struct omerta_engine *engine,
		       const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN]);
u32 omerta_chunk_open(const struct omerta_engine *engine,
		      const struct omerta_chunk *list, unsigned int n,
		      const u8 secret[OMERTA_SECRET_LEN]);

#endif /* _OMERTA_CHUNK_H */
