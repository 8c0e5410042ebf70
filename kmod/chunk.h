/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_CHUNK_H
#define _OMERTA_CHUNK_H

#include <linux/types.h>

#include "wire.h"

/* As many as callers put into one list, so that it fits the stack. */
#define OMERTA_CHUNK_LIST	16

/**
 * struct omerta_chunk - one chunk to seal or to open
 * @plain: the plaintext, @len bytes
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
 * omerta_chunk_all() - what omerta_chunk_open() returns when all is well
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
