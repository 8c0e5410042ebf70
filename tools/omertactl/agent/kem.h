/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ML-KEM-768 (FIPS 203), for handshakes that shall withstand quantum computers: of
 * OpenSSL 3.5 or later, where omertactl was built with it. All are functions of what
 * they are given; what is random is the caller's, and so is the memory of secrets.
 */
#ifndef OM_KEM_H
#define OM_KEM_H

#include "lib/base.h"

#define OM_KEM_SEED	64	/* that a pair of keys is made of: d and z */
#define OM_KEM_PUBLIC	1184
#define OM_KEM_TEXT	1088
#define OM_KEM_RANDOM	32
#define OM_KEM_SECRET	32

/* The public key of a seed */
bool om_kem_public(const uint8_t *seed, uint8_t *public);
/* A secret, and the text that tells it to whom a public key belongs, if it is one */
bool om_kem_encapsulate(const uint8_t *public, const uint8_t *random, uint8_t *text,
			uint8_t *secret);
/* The secret of a text; of one that was changed another, which nobody knows */
bool om_kem_decapsulate(const uint8_t *seed, const uint8_t *text, uint8_t *secret);

#endif
