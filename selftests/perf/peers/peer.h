/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PEER_H
#define _OMERTA_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_KEY_LEN	32
#define PEER_NONCE_LEN	12
#define PEER_TAG_LEN	16
#define PEER_LIST	64

/**
 * struct peer_chunk - a chunk to seal or open
 * @plain: plaintext
 * @sealed: ciphertext with tag
 * @len: bytes of plaintext
 * @nonce: the last eight bytes of RFC 8439's nonce as a little-endian number, the
 *	first four being zero
 */
struct peer_chunk {
	uint8_t *plain;
	uint8_t *sealed;
	size_t len;
	uint64_t nonce;
};

/**
 * struct peer - an implementation of ChaCha20-Poly1305
 * @name: name and version
 * @list: number of chunks per call of seal() and open(), at most PEER_LIST
 * @other_cipher: it is another cipher, with different ciphertexts
 * @start: prepare the use of a key, once per connection; returns false if it cannot run here
 * @seal: seal chunks; returns false on failure
 * @open: open chunks; returns false unless all are authentic
 *
 * Each loaded object has an array of them, "peers", which ends with one without a name.
 */
struct peer {
	const char *name;
	unsigned int list;
	bool other_cipher;
	bool (*start)(const struct peer *peer, const uint8_t key[PEER_KEY_LEN]);
	bool (*seal)(const struct peer_chunk *list, unsigned int n);
	bool (*open)(const struct peer_chunk *list, unsigned int n);
};

extern const struct peer peers[];

static inline void peer_nonce(uint8_t nonce[PEER_NONCE_LEN], const struct peer_chunk *c)
{
	unsigned int i;

	for (i = 0; i < PEER_NONCE_LEN; i++)
		nonce[i] = i < 4 ? 0 : c->nonce >> 8 * (i - 4);
}

#endif /* _OMERTA_PEER_H */
