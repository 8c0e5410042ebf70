// SPDX-License-Identifier: GPL-2.0
/*
 * Seal and open lists of chunks: ChaCha20-Poly1305 as in RFC 8439, without associated
 * data. A multi-buffer engine processes as many chunks of the list as it can at once.
 * The kernel's library processes the others one by one.
 */
#include "crypto/chunk.h"

#include <crypto/chacha20poly1305.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/math.h>

#include "compat/compat.h"
#include "crypto/engines.h"
#include "crypto/mb.h"

static_assert(OMERTA_SECRET_LEN == CHACHA20POLY1305_KEY_SIZE);
static_assert(OMERTA_TAG_LEN == CHACHA20POLY1305_AUTHTAG_SIZE);

/* Number of chunks at the beginning of a list to give to the engine; 0 for the library. */
static unsigned int count_mb(const struct omerta_engine *engine,
			     const struct omerta_chunk *list, unsigned int n)
{
	u32 bytes = 0, blocks;
	unsigned int i;

	if (!engine)
		return 0;
	for (i = 0; i < n && i < OMERTA_CHUNK_LIST; i++) {
		bytes += list[i].len;
		if (bytes > engine->limits->at_once)
			break;
	}
	if (i == 1) {
		blocks = DIV_ROUND_UP(list[0].len, 64);
		if (!(engine->limits->alone & BIT(blocks <= 16 ? blocks : 12 + fls(blocks - 1))))
			return 0;
	}
	return i && may_use_simd() ? i : 0;
}

/**
 * omerta_chunk_seal() - seal every chunk of a list
 * @engine: from omerta_engine_default() or omerta_engine_find()
 * @list: chunks of one or of several records of the same key
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

		done = count_mb(engine, c, n - i);
		if (done) {
			omerta_mb_seal(engine, c, done, secret);
			continue;
		}
		chacha20poly1305_encrypt(c->sealed, c->plain, c->len, NULL, 0,
					 c->nonce, secret);
		done = 1;
	}
}
EXPORT_SYMBOL_GPL(omerta_chunk_seal); /* for omerta_cost */

/**
 * omerta_chunk_open() - open the chunks of a list
 * @engine: from omerta_engine_default() or omerta_engine_find()
 * @list: chunks of one or of several records of the same key
 * @n: their number, at most OMERTA_CHUNK_LIST
 * @secret: the key's receive secret
 *
 * Each tag is compared in constant time before the chunk's plaintext is written.
 *
 * Context: any but hard interrupt.
 * Return: a bit for each chunk, set if it is authentic. After a chunk that is not
 * authentic, the rest of its record may be skipped.
 */
u32 omerta_chunk_open(const struct omerta_engine *engine,
		      const struct omerta_chunk *list, unsigned int n,
		      const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i, done;
	u32 good = 0, some;

	for (i = 0; i < n; i += done) {
		const struct omerta_chunk *c = &list[i];

		done = count_mb(engine, c, n - i);
		if (done) {
			some = omerta_mb_open(engine, c, done, secret);
		} else {
			/* The record is lost already if the chunk before this one is bad. */
			bool lost = i && !(good & BIT(i - 1)) &&
				    OMERTA_NONCE_INDEX(c->nonce);

			some = !lost &&
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
