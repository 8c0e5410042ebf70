/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ML-KEM-768 (FIPS 203), for handshakes that withstand quantum computers: from OpenSSL 3.5
 * or later, if omertactl was built with it. These are pure functions. The caller provides
 * the random numbers and the memory of the secrets.
 */
#ifndef OM_KEM_H
#define OM_KEM_H

#include "lib/base.h"

#define OM_KEM_SEED	64	/* seed of a key pair: d and z */
#define OM_KEM_PUBLIC	1184
#define OM_KEM_TEXT	1088
#define OM_KEM_RANDOM	32
#define OM_KEM_SECRET	32

/* Derive the public key of a seed. */
bool om_kem_public(const uint8_t *seed, uint8_t *public);
/*
 * Make a secret, and the ciphertext that carries it to the owner of @public. Returns false
 * if @public is no valid key.
 */
bool om_kem_encapsulate(const uint8_t *public, const uint8_t *random, uint8_t *text,
			uint8_t *secret);
/* Recover the secret of a ciphertext. A modified one gives another, unpredictable secret. */
bool om_kem_decapsulate(const uint8_t *seed, const uint8_t *text, uint8_t *secret);

#endif
