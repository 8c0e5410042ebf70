// SPDX-License-Identifier: GPL-2.0
/* The key is set once, and a nonce for each chunk, which is the cheapest way it has. */
#include <openssl/evp.h>
#include <openssl/opensslv.h>

#include "peer.h"

static EVP_CIPHER_CTX *sealing, *opening;

static bool start(const struct peer *peer, const uint8_t key[PEER_KEY_LEN])
{
	const EVP_CIPHER *cipher = EVP_chacha20_poly1305();

	if (!sealing)
		sealing = EVP_CIPHER_CTX_new();
	if (!opening)
		opening = EVP_CIPHER_CTX_new();
	return sealing && opening &&
	       EVP_EncryptInit_ex(sealing, cipher, NULL, key, NULL) == 1 &&
	       EVP_DecryptInit_ex(opening, cipher, NULL, key, NULL) == 1;
}

static bool seal(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];
	int len;

	peer_nonce(nonce, c);
	return EVP_EncryptInit_ex(sealing, NULL, NULL, NULL, nonce) == 1 &&
	       EVP_EncryptUpdate(sealing, c->sealed, &len, c->plain, c->len) == 1 &&
	       EVP_EncryptFinal_ex(sealing, c->sealed + len, &len) == 1 &&
	       EVP_CIPHER_CTX_ctrl(sealing, EVP_CTRL_AEAD_GET_TAG, PEER_TAG_LEN,
				   c->sealed + c->len) == 1;
}

static bool open(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[PEER_NONCE_LEN];
	int len;

	peer_nonce(nonce, c);
	return EVP_DecryptInit_ex(opening, NULL, NULL, NULL, nonce) == 1 &&
	       EVP_CIPHER_CTX_ctrl(opening, EVP_CTRL_AEAD_SET_TAG, PEER_TAG_LEN,
				   c->sealed + c->len) == 1 &&
	       EVP_DecryptUpdate(opening, c->plain, &len, c->sealed, c->len) == 1 &&
	       EVP_DecryptFinal_ex(opening, c->plain + len, &len) == 1;
}

const struct peer peers[] = {
	{ "OpenSSL " OPENSSL_VERSION_STR, 1, false, start, seal, open },
	{}
};
