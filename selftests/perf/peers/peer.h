/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PEER_H
#define _OMERTA_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_KEY_LEN	32
#define PEER_NONCE_LEN	12
#define PEER_TAG_LEN	16
#define PEER_LIST	16

/**
 * struct peer_chunk - a chunk, there and back
 * @plain: plaintext
 * @sealed: ciphertext with tag
 * @len: of the plaintext
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
 * struct peer - somebody's ChaCha20-Poly1305
 * @name: who, with the version
 * @list: how many chunks seal() and open() are given at once, at most PEER_LIST
 * @other_cipher: whether it is another cipher, with other ciphertexts
 * @start: get ready to use a key, as once for a connection; false if it cannot here
 * @seal: seal chunks; false if that fails
 * @open: open chunks; false unless all are authentic
 *
 * Each object that is loaded has an array of them, "peers", which ends with one
 * without a name.
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
