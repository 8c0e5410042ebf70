// SPDX-License-Identifier: GPL-2.0
/*
 * Replaces ML-KEM in tests: same interface, and no security, as the public key and a
 * ciphertext give the secret. A modified ciphertext has another secret.
 */
#include "toy_kem.h"

#include <sodium.h>
#include <string.h>

/* @len bytes of @key and @label */
static void expand(const uint8_t *key, size_t key_len, uint8_t label, uint8_t *out,
		   size_t len)
{
	static const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES];
	uint8_t seed[crypto_stream_chacha20_KEYBYTES];
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, key, key_len);
	crypto_hash_sha256_update(&state, &label, 1);
	crypto_hash_sha256_final(&state, seed);
	crypto_stream_chacha20(out, len, nonce, seed);
}

bool om_kem_public(const uint8_t *seed, uint8_t *public)
{
	expand(seed, OM_KEM_SEED, 'p', public, OM_KEM_PUBLIC);
	return true;
}

bool om_kem_encapsulate(const uint8_t *public, const uint8_t *random, uint8_t *text,
			uint8_t *secret)
{
	uint8_t both[2 * OM_KEM_RANDOM];

	memcpy(both, random, OM_KEM_RANDOM);
	expand(public, OM_KEM_PUBLIC, 'b', both + OM_KEM_RANDOM, OM_KEM_RANDOM);
	for (int i = 0; i < OM_KEM_RANDOM; i++)
		text[i] = random[i] ^ both[OM_KEM_RANDOM + i];
	expand(both, sizeof(both), 't', text + OM_KEM_RANDOM,
	       OM_KEM_TEXT - OM_KEM_RANDOM);
	expand(both, sizeof(both), 's', secret, OM_KEM_SECRET);
	return true;
}

bool om_kem_decapsulate(const uint8_t *seed, const uint8_t *text, uint8_t *secret)
{
	uint8_t public[OM_KEM_PUBLIC], random[OM_KEM_RANDOM], again[OM_KEM_TEXT];

	om_kem_public(seed, public);
	expand(public, OM_KEM_PUBLIC, 'b', random, OM_KEM_RANDOM);
	for (int i = 0; i < OM_KEM_RANDOM; i++)
		random[i] ^= text[i];
	om_kem_encapsulate(public, random, again, secret);
	if (memcmp(again, text, OM_KEM_TEXT))
		expand(text, OM_KEM_TEXT, 'x', secret, OM_KEM_SECRET);
	return true;
}
