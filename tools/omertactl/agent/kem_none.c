// SPDX-License-Identifier: GPL-2.0
/* Replaces kem_openssl.c without OpenSSL 3.5. */
#include "agent/kem.h"

bool om_kem_public(const uint8_t *seed, uint8_t *public)
{
	(void)seed;
	(void)public;
	return false;
}

bool om_kem_encapsulate(const uint8_t *public, const uint8_t *random, uint8_t *text,
			uint8_t *secret)
{
	(void)public;
	(void)random;
	(void)text;
	(void)secret;
	return false;
}

bool om_kem_decapsulate(const uint8_t *seed, const uint8_t *text, uint8_t *secret)
{
	(void)seed;
	(void)text;
	(void)secret;
	return false;
}
