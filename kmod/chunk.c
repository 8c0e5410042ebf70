// SPDX-License-Identifier: GPL-2.0
/*
 * Sealing and opening of lists of chunks: ChaCha20-Poly1305 as in RFC 8439 without
 * associated data, by the multi-buffer engine as far as that is faster, else by the
 * kernel's library one by one.
 */
#include "chunk.h"

#include <crypto/chacha20poly1305.h>
#include <linux/bits.h>
#include <linux/export.h>
#include <linux/string.h>

#include "compat.h"
#include "mb.h"

static_assert(OMERTA_SECRET_LEN == CHACHA20POLY1305_KEY_SIZE);
static_assert(OMERTA_TAG_LEN == CHACHA20POLY1305_AUTHTAG_SIZE);

/**
 * omerta_chunk_seal() - seal every chunk of a list
 * @engine: from omerta_engine_default() or omerta_engine_find()
 * @list: chunks, of one or of several records of the same key
 * @n: their number, at most OMERTA_CHUNK_LIST
 * @secret: the key's send secret
 *
 * Context: any but hard interrupt.
 */
void omerta_chunk_seal(const struct omerta_engine *engine,
		       const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i, done;

	for (i = 0; i < n; i += done) {
		const struct omerta_chunk *c = &list[i];

		done = omerta_mb_seal(engine, c, n - i, secret);
		if (done)
			continue;
		chacha20poly1305_encrypt(c->sealed, c->plain, c->len, NULL, 0,
					 c->nonce, secret);
		done = 1;
	}
}
EXPORT_SYMBOL_GPL(omerta_chunk_seal); /* for omerta_cost */

/* Behind a bad chunk of its record, whose others are of no use */
static bool is_lost(const struct omerta_chunk *list, unsigned int i, u32 good)
{
	return i && !(good & BIT(i - 1)) && omerta_nonce_index(list[i].nonce);
}

/**
 * omerta_chunk_open() - open the chunks of a list
 * @engine: from omerta_engine_default() or omerta_engine_find()
 * @list: chunks, of one or of several records of the same key
 * @n: their number, at most OMERTA_CHUNK_LIST
 * @secret: the key's receive secret
 *
 * A chunk's tag is compared in constant time before its plaintext is written.
 *
 * Context: any but hard interrupt.
 * Return: a bit for each chunk, set if it is authentic. Behind a chunk that is not,
 * others of its record may be left out.
 */
u32 omerta_chunk_open(const struct omerta_engine *engine,
		      const struct omerta_chunk *list, unsigned int n,
		      const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i, done;
	u32 good = 0, some;

	for (i = 0; i < n; i += done) {
		const struct omerta_chunk *c = &list[i];

		done = omerta_mb_open(engine, c, n - i, secret, &some);
		if (!done) {
			some = !is_lost(list, i, good) &&
			       chacha20poly1305_decrypt(c->plain, c->sealed,
							c->len + OMERTA_TAG_LEN,
							NULL, 0, c->nonce,
							secret);
			done = 1;
		}
		good |= some << i;
	}
	return good;
}
EXPORT_SYMBOL_GPL(omerta_chunk_open);
