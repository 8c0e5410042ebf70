// SPDX-License-Identifier: GPL-2.0
#include "cookies.h"

#include <sodium.h>
#include <string.h>

size_t cookie_message(const struct om_hs_host *host, const uint8_t cookie[OM_HS_MAC],
		      const uint8_t *cause, size_t len, uint8_t *out)
{
	const uint8_t *mac1 = cause + len - 2 * OM_HS_MAC;
	uint8_t *nonce = out + 8;

	memcpy(out, "OMR\x22", 4);
	memcpy(out + 4, mac1, 4);
	randombytes_buf(nonce, 24);
	crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + 24, NULL, cookie, OM_HS_MAC,
						   mac1, OM_HS_MAC, NULL, nonce,
						   host->labels.cookie);
	return OM_HS_COOKIE_LEN;
}

bool cookie_is_in(const uint8_t cookie[OM_HS_MAC], const uint8_t *msg, size_t len)
{
	crypto_auth_hmacsha256_state state;
	uint8_t whole[crypto_auth_hmacsha256_BYTES];

	crypto_auth_hmacsha256_init(&state, cookie, OM_HS_MAC);
	crypto_auth_hmacsha256_update(&state, msg, len - OM_HS_MAC);
	crypto_auth_hmacsha256_final(&state, whole);
	return !memcmp(whole, msg + len - OM_HS_MAC, OM_HS_MAC);
}
