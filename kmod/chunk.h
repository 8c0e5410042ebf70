/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_CHUNK_H
#define _OMERTA_CHUNK_H

#include <linux/types.h>

#include "polykey.h"
#include "wire.h"

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
 * struct omerta_chunk_keys - one-time keys of several chunks, made in advance; at
 *			      first zero, then until omerta_chunk_keys_wipe()
 * @secret: the key's secret
 * @n: number of chunks
 * @made: they are in @poly; if not, the library makes one for each chunk
 * @poly: the one-time keys
 */
struct omerta_chunk_keys {
	const u8 *secret;
	unsigned int n;
	bool made;
	struct omerta_polykeys poly;
};

/**
 * omerta_chunk_keys_add() - want a chunk's one-time key
 * @keys: with less than OMERTA_CHUNK_LIST
 * @nonce: the chunk's
 */
static inline void omerta_chunk_keys_add(struct omerta_chunk_keys *keys,
					 u64 nonce)
{
	keys->poly.nonce[0][keys->n] = nonce;
	keys->poly.nonce[1][keys->n++] = nonce >> 32;
}

void omerta_chunk_seal(const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN]);
bool omerta_chunk_open(const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN]);
void omerta_chunk_keys_make(struct omerta_chunk_keys *keys,
			    const u8 secret[OMERTA_SECRET_LEN]);
bool omerta_chunk_open_with(const struct omerta_chunk_keys *keys,
			    unsigned int first, const struct omerta_chunk *list,
			    unsigned int n);
void omerta_chunk_keys_wipe(struct omerta_chunk_keys *keys);
const char *omerta_chunk_engine(void);

#endif /* _OMERTA_CHUNK_H */
