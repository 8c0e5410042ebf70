// SPDX-License-Identifier: GPL-2.0
#include <sodium.h>
#include <string.h>

#include "peer.h"

static uint8_t secret[PEER_KEY_LEN];

static bool start(const struct peer *peer, const uint8_t key[PEER_KEY_LEN])
{
	memcpy(secret, key, sizeof(secret));
	return sodium_init() >= 0;
}

static bool seal(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];

	peer_nonce(nonce, c);
	return !crypto_aead_chacha20poly1305_ietf_encrypt(c->sealed, NULL, c->plain, c->len,
							  NULL, 0, NULL, nonce, secret);
}

static bool open(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];

	peer_nonce(nonce, c);
	return !crypto_aead_chacha20poly1305_ietf_decrypt(c->plain, NULL, NULL, c->sealed,
							  c->len + PEER_TAG_LEN, NULL, 0,
							  nonce, secret);
}

const struct peer peers[] = {
	{ "libsodium " SODIUM_VERSION_STRING, 1, false, start, seal, open },
	{}
};
