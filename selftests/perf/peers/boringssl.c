// SPDX-License-Identifier: GPL-2.0
/* BoringSSL, and aws-lc, which has the same functions. */
#include <openssl/aead.h>
#include <openssl/base.h>

#include "peer.h"

#ifdef OPENSSL_IS_AWSLC
#define NAME	"aws-lc " AWSLC_VERSION_NUMBER_STRING
#else
#define NAME	"BoringSSL of Android"
#endif

static EVP_AEAD_CTX *ctx;

static bool start(const struct peer *peer, const uint8_t key[PEER_KEY_LEN])
{
	EVP_AEAD_CTX_free(ctx);
	ctx = EVP_AEAD_CTX_new(EVP_aead_chacha20_poly1305(), key, PEER_KEY_LEN, PEER_TAG_LEN);
	return ctx;
}

static bool seal(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];
	size_t len;

	peer_nonce(nonce, c);
	return EVP_AEAD_CTX_seal(ctx, c->sealed, &len, c->len + PEER_TAG_LEN, nonce,
				 sizeof(nonce), c->plain, c->len, NULL, 0);
}

static bool open(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];
	size_t len;

	peer_nonce(nonce, c);
	return EVP_AEAD_CTX_open(ctx, c->plain, &len, c->len, nonce, sizeof(nonce), c->sealed,
				 c->len + PEER_TAG_LEN, NULL, 0);
}

const struct peer peers[] = {
	{ NAME, 1, false, start, seal, open },
	{}
};
