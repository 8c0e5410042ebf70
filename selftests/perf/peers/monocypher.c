// SPDX-License-Identifier: GPL-2.0
/* OPTION and VERSION are strings: the compiler's options, and the library's version. */
#include <monocypher.h>
#include <string.h>

#include "peer.h"

static uint8_t secret[PEER_KEY_LEN];

static bool start(const struct peer *peer, const uint8_t key[PEER_KEY_LEN])
{
	memcpy(secret, key, sizeof(secret));
	return true;
}

static bool seal(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];
	crypto_aead_ctx ctx;

	peer_nonce(nonce, c);
	crypto_aead_init_ietf(&ctx, secret, nonce);
	crypto_aead_write(&ctx, c->sealed, c->sealed + c->len, NULL, 0, c->plain, c->len);
	return true;
}

static bool open(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];
	crypto_aead_ctx ctx;

	peer_nonce(nonce, c);
	crypto_aead_init_ietf(&ctx, secret, nonce);
	return !crypto_aead_read(&ctx, c->plain, c->sealed + c->len, NULL, 0, c->sealed, c->len);
}

const struct peer peers[] = {
	{ "Monocypher " VERSION " " OPTION, 1, false, start, seal, open },
	{}
};
