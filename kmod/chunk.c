// SPDX-License-Identifier: GPL-2.0
/*
 * Sealing and opening of lists of chunks.
 */
#include "chunk.h"

#include <crypto/chacha20poly1305.h>

static_assert(OMERTA_SECRET_LEN == CHACHA20POLY1305_KEY_SIZE);
static_assert(OMERTA_TAG_LEN == CHACHA20POLY1305_AUTHTAG_SIZE);

/**
 * omerta_chunk_seal() - seal every chunk of a list
 * @list: chunks, of one or of several records of the same key
 * @n: their number
 * @secret: the key's send secret
 *
 * ChaCha20-Poly1305 as in RFC 8439 without associated data.
 *
 * Context: any but hard interrupt.
 */
void omerta_chunk_seal(const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i;

	for (i = 0; i < n; i++)
		chacha20poly1305_encrypt(list[i].sealed, list[i].plain,
					 list[i].len, NULL, 0, list[i].nonce,
					 secret);
}

/**
 * omerta_chunk_open() - open the chunks of a list up to the first bad one
 * @list: chunks, of one or of several records of the same key
 * @n: their number
 * @secret: the key's receive secret
 *
 * A chunk's tag is compared in constant time before its plaintext is written.
 *
 * Context: any but hard interrupt.
 * Return: true when all are authentic; otherwise no plaintext of the list may
 * be used.
 */
bool omerta_chunk_open(const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!chacha20poly1305_decrypt(list[i].plain, list[i].sealed,
					      list[i].len + OMERTA_TAG_LEN,
					      NULL, 0, list[i].nonce, secret))
			return false;
	return true;
}

/**
 * omerta_chunk_engine() - name of the AEAD engine in use
 *
 * Return: a constant string.
 */
const char *omerta_chunk_engine(void)
{
	return "lib";
}
