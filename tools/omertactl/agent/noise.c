// SPDX-License-Identifier: GPL-2.0
#include "agent/noise.h"

#include <sodium.h>
#include <string.h>

/* Longer than a hash, hence hashed (Noise, 5.2) */
#define PROTOCOL	"Noise_IKpsk2_25519_ChaChaPoly_SHA256"

_Static_assert(crypto_hash_sha256_BYTES == 32, "hash");
_Static_assert(crypto_auth_hmacsha256_BYTES == 32, "mac");
_Static_assert(crypto_scalarmult_BYTES == OM_NOISE_KEY, "x25519");
_Static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == OM_NOISE_KEY, "aead");
_Static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == OM_NOISE_TAG, "tag");

void om_noise_wipe(struct om_noise *n)
{
	sodium_memzero(n, sizeof(*n));
}

/* Wipe the handshake; return false for the caller to return. */
static bool fail(struct om_noise *n)
{
	om_noise_wipe(n);
	return false;
}

bool om_noise_public(struct om_keypair *pair)
{
	return !crypto_scalarmult_base(pair->public, pair->secret);
}

void om_noise_hmac(const uint8_t *key, const uint8_t *a, size_t a_len, const uint8_t *b,
		   size_t b_len, uint8_t *out)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, 32);
	crypto_auth_hmacsha256_update(&state, a, a_len);
	crypto_auth_hmacsha256_update(&state, b, b_len);
	crypto_auth_hmacsha256_final(&state, out);
	sodium_memzero(&state, sizeof(state));
}

void om_noise_hkdf(const uint8_t *chain, const uint8_t *input, size_t len,
		   uint8_t (*out)[32], int n)
{
	uint8_t temp[32], count = 1;

	om_noise_hmac(chain, input, len, NULL, 0, temp);
	for (int i = 0; i < n; i++, count++)
		om_noise_hmac(temp, i ? out[i - 1] : NULL, i ? 32 : 0, &count, 1,
			      out[i]);
	sodium_memzero(temp, sizeof(temp));
}

/* h = HASH(h || data) */
static void mix_hash(struct om_noise *n, const uint8_t *data, size_t len)
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, n->hash, sizeof(n->hash));
	crypto_hash_sha256_update(&state, data, len);
	crypto_hash_sha256_final(&state, n->hash);
}

static void mix_key(struct om_noise *n, const uint8_t *input)
{
	uint8_t out[2][32];

	om_noise_hkdf(n->chain, input, 32, out, 2);
	memcpy(n->chain, out[0], 32);
	memcpy(n->key, out[1], 32);
	n->counter = 0;
	sodium_memzero(out, sizeof(out));
}

static void mix_psk(struct om_noise *n, const uint8_t *psk)
{
	uint8_t out[3][32];

	om_noise_hkdf(n->chain, psk, 32, out, 3);
	memcpy(n->chain, out[0], 32);
	mix_hash(n, out[1], 32);
	memcpy(n->key, out[2], 32);
	n->counter = 0;
	sodium_memzero(out, sizeof(out));
}

/* Return false if the result is all zeros, as with a public key of small order. */
static bool mix_dh(struct om_noise *n, const struct om_keypair *ours,
		   const uint8_t *theirs)
{
	uint8_t shared[OM_NOISE_KEY];
	bool ok = !crypto_scalarmult(shared, ours->secret, theirs);

	if (ok)
		mix_key(n, shared);
	sodium_memzero(shared, sizeof(shared));
	return ok;
}

/* With a psk an ephemeral public key is mixed into the key, too (Noise, 9.2). */
static void mix_fresh(struct om_noise *n, const uint8_t *public)
{
	mix_hash(n, public, OM_NOISE_KEY);
	mix_key(n, public);
}

static void next_nonce(struct om_noise *n, uint8_t nonce[12])
{
	memset(nonce, 0, 12);
	/* At most two parts are encrypted under a key. */
	nonce[4] = n->counter++;
}

/* EncryptAndHash: @out gets @len + OM_NOISE_TAG bytes */
static void seal(struct om_noise *n, const uint8_t *in, size_t len, uint8_t *out)
{
	uint8_t nonce[12];

	next_nonce(n, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt(out, NULL, in, len, n->hash,
						  sizeof(n->hash), NULL, nonce,
						  n->key);
	mix_hash(n, out, len + OM_NOISE_TAG);
}

/* DecryptAndHash: @out gets @len - OM_NOISE_TAG bytes */
static bool open(struct om_noise *n, const uint8_t *in, size_t len, uint8_t *out)
{
	uint8_t nonce[12];

	next_nonce(n, nonce);
	if (crypto_aead_chacha20poly1305_ietf_decrypt(out, NULL, NULL, in, len,
						      n->hash, sizeof(n->hash),
						      nonce, n->key))
		return false;
	mix_hash(n, in, len);
	return true;
}

void om_noise_begin(struct om_noise *n, const void *prologue, size_t len,
		    const struct om_keypair *fixed, const uint8_t *responder)
{
	memset(n, 0, sizeof(*n));
	n->fixed = *fixed;
	crypto_hash_sha256(n->hash, (const uint8_t *)PROTOCOL,
			   sizeof(PROTOCOL) - 1);
	memcpy(n->chain, n->hash, sizeof(n->chain));
	mix_hash(n, prologue, len);
	mix_hash(n, responder, OM_NOISE_KEY);
	memcpy(n->remote_fixed, responder, OM_NOISE_KEY);
}

/* Generated only when it is sent, so that clones of the machine generate different ones */
static void put_fresh(struct om_noise *n, uint8_t *out)
{
	if (sodium_is_zero(n->fresh.secret, sizeof(n->fresh.secret))) {
		do
			randombytes_buf(n->fresh.secret, sizeof(n->fresh.secret));
		while (!om_noise_public(&n->fresh));
	}
	memcpy(out, n->fresh.public, OM_NOISE_KEY);
	mix_fresh(n, n->fresh.public);
}

bool om_noise_write_1(struct om_noise *n, const uint8_t *payload, size_t len,
		      uint8_t *out)
{
	put_fresh(n, out);
	out += OM_NOISE_KEY;
	if (!mix_dh(n, &n->fresh, n->remote_fixed))
		return fail(n);
	seal(n, n->fixed.public, OM_NOISE_KEY, out);
	out += OM_NOISE_KEY + OM_NOISE_TAG;
	if (!mix_dh(n, &n->fixed, n->remote_fixed))
		return fail(n);
	seal(n, payload, len, out);
	return true;
}

bool om_noise_read_initiator(struct om_noise *n, const uint8_t *in, size_t len)
{
	if (len < OM_NOISE_1)
		return fail(n);
	memcpy(n->remote_fresh, in, OM_NOISE_KEY);
	mix_fresh(n, n->remote_fresh);
	in += OM_NOISE_KEY;
	if (!mix_dh(n, &n->fixed, n->remote_fresh) ||
	    !open(n, in, OM_NOISE_KEY + OM_NOISE_TAG, n->remote_fixed))
		return fail(n);
	return true;
}

bool om_noise_read_1(struct om_noise *n, const uint8_t *in, size_t len,
		     uint8_t *payload)
{
	in += 2 * OM_NOISE_KEY + OM_NOISE_TAG;
	if (!mix_dh(n, &n->fixed, n->remote_fixed) ||
	    !open(n, in, len - OM_NOISE_1 + OM_NOISE_TAG, payload))
		return fail(n);
	return true;
}

bool om_noise_write_2(struct om_noise *n, const uint8_t *psk,
		      const uint8_t *payload, size_t len, uint8_t *out)
{
	put_fresh(n, out);
	if (!mix_dh(n, &n->fresh, n->remote_fresh) ||
	    !mix_dh(n, &n->fresh, n->remote_fixed))
		return fail(n);
	mix_psk(n, psk);
	seal(n, payload, len, out + OM_NOISE_KEY);
	return true;
}

bool om_noise_read_2(struct om_noise *n, const uint8_t *psk, const uint8_t *in,
		     size_t len, uint8_t *payload)
{
	if (len < OM_NOISE_2)
		return fail(n);
	memcpy(n->remote_fresh, in, OM_NOISE_KEY);
	mix_fresh(n, n->remote_fresh);
	if (!mix_dh(n, &n->fresh, n->remote_fresh) ||
	    !mix_dh(n, &n->fixed, n->remote_fresh))
		return fail(n);
	mix_psk(n, psk);
	if (!open(n, in + OM_NOISE_KEY, len - OM_NOISE_KEY, payload))
		return fail(n);
	return true;
}

void om_noise_split(struct om_noise *n, uint8_t *initiator, uint8_t *responder)
{
	uint8_t out[2][32];

	om_noise_hkdf(n->chain, NULL, 0, out, 2);
	memcpy(initiator, out[0], OM_NOISE_KEY);
	memcpy(responder, out[1], OM_NOISE_KEY);
	sodium_memzero(out, sizeof(out));
	om_noise_wipe(n);
}
