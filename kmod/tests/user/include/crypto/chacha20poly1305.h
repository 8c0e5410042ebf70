/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_CHACHA20POLY1305_H
#define _OMERTA_USER_CHACHA20POLY1305_H

/*
 * The kernel's ChaCha20-Poly1305 library over libsodium. The 64-bit nonce is
 * little-endian on RFC 8439's wire, behind four zero bytes.
 */
#include <sodium.h>
#include <string.h>

#include <linux/types.h>

#define CHACHA20POLY1305_KEY_SIZE	32
#define CHACHA20POLY1305_AUTHTAG_SIZE	16

static inline void chacha20poly1305_npub(u8 npub[12], u64 nonce)
{
	unsigned int i;

	memset(npub, 0, 4);
	for (i = 0; i < 8; i++)
		npub[4 + i] = nonce >> 8 * i;
}

static inline void chacha20poly1305_encrypt(u8 *dst, const u8 *src,
					    size_t src_len, const u8 *ad,
					    size_t ad_len, u64 nonce,
					    const u8 *key)
{
	u8 npub[12];

	chacha20poly1305_npub(npub, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt(dst, NULL, src, src_len, ad,
						  ad_len, NULL, npub, key);
}

/* Two calls, because libsodium clears @dst where the kernel leaves it alone. */
static inline bool __must_check
chacha20poly1305_decrypt(u8 *dst, const u8 *src, size_t src_len, const u8 *ad,
			 size_t ad_len, u64 nonce, const u8 *key)
{
	u8 npub[12];

	chacha20poly1305_npub(npub, nonce);
	if (crypto_aead_chacha20poly1305_ietf_decrypt(NULL, NULL, NULL, src,
						      src_len, ad, ad_len, npub,
						      key))
		return false;
	return !crypto_aead_chacha20poly1305_ietf_decrypt(dst, NULL, NULL, src,
							  src_len, ad, ad_len,
							  npub, key);
}

#endif /* _OMERTA_USER_CHACHA20POLY1305_H */
