// SPDX-License-Identifier: GPL-2.0
/*
 * XSalsa20-Poly1305, as TweetNaCl has no ChaCha20. It needs zero bytes before its input and
 * output, so there is an additional copy. OPTION is a string: the compiler's options.
 */
#include <tweetnacl.h>
#include <string.h>

#include "peer.h"

#define MAX	(128 * 1024 + crypto_secretbox_ZEROBYTES)

static uint8_t secret[PEER_KEY_LEN], from[MAX], to[MAX];

static bool start(const struct peer *peer, const uint8_t key[PEER_KEY_LEN])
{
	memcpy(secret, key, sizeof(secret));
	return true;
}

static void make_nonce(uint8_t nonce[crypto_secretbox_NONCEBYTES], const struct peer_chunk *c)
{
	memset(nonce, 0, crypto_secretbox_NONCEBYTES);
	peer_nonce(nonce, c);
}

static bool seal(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[crypto_secretbox_NONCEBYTES];
	size_t len = crypto_secretbox_ZEROBYTES + c->len;

	if (len > MAX)
		return false;
	make_nonce(nonce, c);
	memset(from, 0, crypto_secretbox_ZEROBYTES);
	memcpy(from + crypto_secretbox_ZEROBYTES, c->plain, c->len);
	if (crypto_secretbox(to, from, len, nonce, secret))
		return false;
	memcpy(c->sealed, to + crypto_secretbox_BOXZEROBYTES,
	       len - crypto_secretbox_BOXZEROBYTES);
	return true;
}

static bool open(const struct peer_chunk *c, unsigned int n)
{
	uint8_t nonce[crypto_secretbox_NONCEBYTES];
	size_t len = crypto_secretbox_ZEROBYTES + c->len;

	if (len > MAX)
		return false;
	make_nonce(nonce, c);
	memset(from, 0, crypto_secretbox_BOXZEROBYTES);
	memcpy(from + crypto_secretbox_BOXZEROBYTES, c->sealed,
	       len - crypto_secretbox_BOXZEROBYTES);
	if (crypto_secretbox_open(to, from, len, nonce, secret))
		return false;
	memcpy(c->plain, to + crypto_secretbox_ZEROBYTES, c->len);
	return true;
}

const struct peer peers[] = {
	{ "TweetNaCl (XSalsa20) " OPTION, 1, true, start, seal, open },
	{}
};
