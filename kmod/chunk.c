// SPDX-License-Identifier: GPL-2.0
/*
 * Sealing and opening of lists of chunks: ChaCha20-Poly1305 as in RFC 8439 without
 * associated data. ChaCha20 and Poly1305 are the kernel's; what its AEAD does for each
 * call, above all the making of a one-time key, is done for many chunks at once here.
 */
#include "chunk.h"

#include <crypto/chacha.h>
#include <crypto/chacha20poly1305.h>
#include <crypto/poly1305.h>
#include <linux/export.h>
#include <linux/string.h>

#include "compat.h"

static_assert(OMERTA_SECRET_LEN == CHACHA20POLY1305_KEY_SIZE);
static_assert(OMERTA_TAG_LEN == CHACHA20POLY1305_AUTHTAG_SIZE);
static_assert(OMERTA_TAG_LEN == POLY1305_DIGEST_SIZE);
static_assert(4 * OMERTA_POLYKEY_WORDS == POLY1305_KEY_SIZE);

/**
 * struct cipher - what works on one chunk after the other
 * @chacha: ChaCha20
 * @poly: Poly1305
 * @key: its key for the chunk in hand
 */
struct cipher {
	struct chacha_state chacha;
	struct poly1305_desc_ctx poly;
	u8 key[POLY1305_KEY_SIZE];
};

static void cipher_begin(struct cipher *cipher,
			 const struct omerta_polykeys *keys)
{
	static const u8 no_iv[CHACHA_IV_SIZE];

	chacha_init(&cipher->chacha, keys->secret, no_iv);
}

/* Encrypt or decrypt a chunk, whose one-time key is the @i-th. */
static void crypt(struct cipher *cipher, const struct omerta_polykeys *keys,
		  unsigned int i, u8 *to, const u8 *from, u32 len)
{
	/* Block 0 is the one-time key's. */
	cipher->chacha.x[12] = 1;
	cipher->chacha.x[13] = 0;
	cipher->chacha.x[14] = keys->nonce[0][i];
	cipher->chacha.x[15] = keys->nonce[1][i];
	chacha20_crypt(&cipher->chacha, to, from, len);
}

/* The tag of @len bytes of ciphertext. */
static void make_tag(struct cipher *cipher, const struct omerta_polykeys *keys,
		     unsigned int i, const u8 *sealed, u32 len,
		     u8 tag[OMERTA_TAG_LEN])
{
	unsigned int pad = -len % POLY1305_BLOCK_SIZE, w;
	/* Padding, and the lengths of the associated data and of the ciphertext */
	u8 end[2 * POLY1305_BLOCK_SIZE] = {};

	for (w = 0; w < OMERTA_POLYKEY_WORDS; w++)
		put_unaligned_le32(keys->word[w][i], cipher->key + 4 * w);
	put_unaligned_le64(len, end + pad + 8);
	poly1305_init(&cipher->poly, cipher->key);
	poly1305_update(&cipher->poly, sealed, len);
	poly1305_update(&cipher->poly, end, pad + POLY1305_BLOCK_SIZE);
	/* It wipes what it leaves. */
	poly1305_final(&cipher->poly, tag);
}

/**
 * omerta_chunk_keys_make() - make the one-time keys of several chunks, if that pays
 * @keys: with what omerta_chunk_keys_add() was given; omerta_chunk_keys_wipe() is to
 *	  follow
 * @secret: the key's secret, which must stay
 *
 * Context: any but hard interrupt.
 */
void omerta_chunk_keys_make(struct omerta_chunk_keys *keys,
			    const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i;

	keys->secret = secret;
	keys->made = omerta_polykey_pays(keys->n);
	if (!keys->made)
		return;
	for (i = 0; i < ARRAY_SIZE(keys->poly.secret); i++)
		keys->poly.secret[i] = get_unaligned_le32(secret + 4 * i);
	omerta_polykey_make(&keys->poly, keys->n);
}

/**
 * omerta_chunk_keys_wipe() - forget them
 * @keys: none are wanted any more
 */
void omerta_chunk_keys_wipe(struct omerta_chunk_keys *keys)
{
	keys->n = 0;
	if (!keys->made)
		return;
	memzero_explicit(&keys->poly, sizeof(keys->poly));
	keys->made = false;
}

static void seal_lib(const struct omerta_chunk *list, unsigned int n,
		     const u8 secret[OMERTA_SECRET_LEN])
{
	unsigned int i;

	for (i = 0; i < n; i++)
		chacha20poly1305_encrypt(list[i].sealed, list[i].plain,
					 list[i].len, NULL, 0, list[i].nonce,
					 secret);
}

static void add_all(struct omerta_chunk_keys *keys,
		    const struct omerta_chunk *list, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		omerta_chunk_keys_add(keys, list[i].nonce);
}

/* Not inlined, since a kernel may zero what is on the stack: not for one chunk. */
static noinline_for_stack void
seal_many(const struct omerta_chunk *list, unsigned int n,
	  const u8 secret[OMERTA_SECRET_LEN])
{
	struct omerta_chunk_keys keys = {};
	struct cipher cipher;
	unsigned int i;

	add_all(&keys, list, n);
	omerta_chunk_keys_make(&keys, secret);
	if (!keys.made) {
		seal_lib(list, n, secret);
		return;
	}
	cipher_begin(&cipher, &keys.poly);
	for (i = 0; i < n; i++) {
		const struct omerta_chunk *c = &list[i];

		crypt(&cipher, &keys.poly, i, c->sealed, c->plain, c->len);
		make_tag(&cipher, &keys.poly, i, c->sealed, c->len,
			 c->sealed + c->len);
	}
	memzero_explicit(&cipher, sizeof(cipher));
	omerta_chunk_keys_wipe(&keys);
}

/**
 * omerta_chunk_seal() - seal every chunk of a list
 * @list: chunks, of one or of several records of the same key
 * @n: their number; up to OMERTA_CHUNK_LIST it is faster
 * @secret: the key's send secret
 *
 * Context: any but hard interrupt.
 */
void omerta_chunk_seal(const struct omerta_chunk *list, unsigned int n,
		       const u8 secret[OMERTA_SECRET_LEN])
{
	if (omerta_polykey_pays(n))
		seal_many(list, n, secret);
	else
		seal_lib(list, n, secret);
}
EXPORT_SYMBOL_GPL(omerta_chunk_seal); /* for omerta_cost */

static bool open_lib(const struct omerta_chunk *list, unsigned int n,
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
 * omerta_chunk_open_with() - omerta_chunk_open() with keys made before
 * @keys: from omerta_chunk_keys_make()
 * @first: how many were added before the first of @list
 * @list: chunks that were added in this order
 * @n: their number
 *
 * Context: any but hard interrupt.
 * Return: as omerta_chunk_open().
 */
bool omerta_chunk_open_with(const struct omerta_chunk_keys *keys,
			    unsigned int first, const struct omerta_chunk *list,
			    unsigned int n)
{
	u8 tag[OMERTA_TAG_LEN];
	struct cipher cipher;
	unsigned int i;

	if (!keys->made)
		return open_lib(list, n, keys->secret);
	cipher_begin(&cipher, &keys->poly);
	for (i = 0; i < n; i++) {
		const struct omerta_chunk *c = &list[i];

		make_tag(&cipher, &keys->poly, first + i, c->sealed, c->len,
			 tag);
		if (crypto_memneq(tag, c->sealed + c->len, sizeof(tag)))
			break;
		crypt(&cipher, &keys->poly, first + i, c->plain, c->sealed,
		      c->len);
	}
	memzero_explicit(&cipher, sizeof(cipher));
	/* It would be the right one for a forged chunk. */
	memzero_explicit(tag, sizeof(tag));
	return i == n;
}

static noinline_for_stack bool
open_many(const struct omerta_chunk *list, unsigned int n,
	  const u8 secret[OMERTA_SECRET_LEN])
{
	struct omerta_chunk_keys keys = {};
	bool good;

	add_all(&keys, list, n);
	omerta_chunk_keys_make(&keys, secret);
	good = omerta_chunk_open_with(&keys, 0, list, n);
	omerta_chunk_keys_wipe(&keys);
	return good;
}

/**
 * omerta_chunk_open() - open the chunks of a list up to the first bad one
 * @list: chunks, of one or of several records of the same key
 * @n: their number; up to OMERTA_CHUNK_LIST it is faster
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
	return omerta_polykey_pays(n) ? open_many(list, n, secret) :
					open_lib(list, n, secret);
}
EXPORT_SYMBOL_GPL(omerta_chunk_open);

/**
 * omerta_chunk_engine() - name of the AEAD engine in use
 *
 * Return: a constant string: "lib", or "lib+" and the instruction set by which
 * one-time keys are made.
 */
const char *omerta_chunk_engine(void)
{
	return omerta_polykey_engine();
}
