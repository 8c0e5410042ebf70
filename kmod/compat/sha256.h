/* SPDX-License-Identifier: GPL-2.0 */
/*
 * HMAC-SHA256 of the library, which kernels before 6.17 have no functions for.
 */
#ifndef _OMERTA_COMPAT_SHA256_H
#define _OMERTA_COMPAT_SHA256_H

#include <crypto/sha2.h>
#include <linux/string.h>

#ifndef OMERTA_HAVE_HMAC_SHA256
/* RFC 2104. The states have absorbed one block of padded key each. */
struct hmac_sha256_key {
	struct sha256_state inner;
	struct sha256_state outer;
};

static inline void hmac_sha256_preparekey(struct hmac_sha256_key *key,
					  const u8 *raw_key, size_t raw_key_len)
{
	u8 block[SHA256_BLOCK_SIZE] = {};
	int i;

	if (raw_key_len > sizeof(block))
		sha256(raw_key, raw_key_len, block);
	else
		memcpy(block, raw_key, raw_key_len);
	for (i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	sha256_init(&key->inner);
	sha256_update(&key->inner, block, sizeof(block));
	for (i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	sha256_init(&key->outer);
	sha256_update(&key->outer, block, sizeof(block));
	memzero_explicit(block, sizeof(block));
}

static inline void hmac_sha256(const struct hmac_sha256_key *key,
			       const u8 *data, size_t data_len, u8 *out)
{
	struct sha256_state state = key->inner;

	sha256_update(&state, data, data_len);
	sha256_final(&state, out);
	state = key->outer;
	sha256_update(&state, out, SHA256_DIGEST_SIZE);
	sha256_final(&state, out);
}

static inline void hmac_sha256_usingrawkey(const u8 *raw_key,
					   size_t raw_key_len, const u8 *data,
					   size_t data_len, u8 *out)
{
	struct hmac_sha256_key key;

	hmac_sha256_preparekey(&key, raw_key, raw_key_len);
	hmac_sha256(&key, data, data_len, out);
	memzero_explicit(&key, sizeof(key));
}
#endif

#endif /* _OMERTA_COMPAT_SHA256_H */
