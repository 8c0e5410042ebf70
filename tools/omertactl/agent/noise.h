/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Noise_IKpsk2_25519_ChaChaPoly_SHA256, The Noise Protocol Framework, revision 34.
 *
 *	<- s
 *	...
 *	-> e, es, s, ss
 *	<- e, ee, se, psk
 *
 * A handshake begins, takes one message in each direction, and is split into the two keys.
 * A failure ends and wipes it. The caller provides locked memory.
 */
#ifndef OM_NOISE_H
#define OM_NOISE_H

#include "lib/base.h"

#include <linux/omerta.h>

#define OM_NOISE_KEY	OMERTA_KEY_LEN
#define OM_NOISE_TAG	16

/* Bytes of the messages beyond their payloads */
#define OM_NOISE_1	(OM_NOISE_KEY + OM_NOISE_KEY + 2 * OM_NOISE_TAG)
#define OM_NOISE_2	(OM_NOISE_KEY + OM_NOISE_TAG)

struct om_keypair {
	uint8_t secret[OM_NOISE_KEY];
	uint8_t public[OM_NOISE_KEY];
};

struct om_noise {
	uint8_t hash[32];		/* h */
	uint8_t chain[32];		/* ck */
	uint8_t key[OM_NOISE_KEY];	/* k of the next message part */
	uint8_t counter;		/* n */
	struct om_keypair fixed;	/* s */
	struct om_keypair fresh;	/* e */
	uint8_t remote_fixed[OM_NOISE_KEY];	/* rs */
	uint8_t remote_fresh[OM_NOISE_KEY];	/* re */
};

/* Derive pair->public from pair->secret; false if that is impossible. */
bool om_noise_public(struct om_keypair *pair);

/*
 * Begin a handshake. @responder: public key of the responder, known to both ends. The
 * ephemeral key pair is generated when it is sent, unless a test has set one.
 */
void om_noise_begin(struct om_noise *n, const void *prologue, size_t len,
		    const struct om_keypair *fixed, const uint8_t *responder);

/* The initiator's part. @out gets OM_NOISE_1 + @len bytes. */
bool om_noise_write_1(struct om_noise *n, const uint8_t *payload, size_t len,
		      uint8_t *out);
bool om_noise_read_2(struct om_noise *n, const uint8_t *psk, const uint8_t *in,
		     size_t len, uint8_t *payload);

/*
 * The responder's part. om_noise_read_initiator() reads n->remote_fixed, the claimed and not
 * yet proven identity of the initiator; om_noise_read_1() reads the rest of the same
 * message, with @len - OM_NOISE_1 bytes of payload. The answer has OM_NOISE_2 + @len bytes.
 */
bool om_noise_read_initiator(struct om_noise *n, const uint8_t *in, size_t len);
bool om_noise_read_1(struct om_noise *n, const uint8_t *in, size_t len,
		     uint8_t *payload);
bool om_noise_write_2(struct om_noise *n, const uint8_t *psk,
		      const uint8_t *payload, size_t len, uint8_t *out);

/* End the handshake; return the keys under which initiator and responder send. */
void om_noise_split(struct om_noise *n, uint8_t *initiator, uint8_t *responder);

void om_noise_wipe(struct om_noise *n);

/* HMAC-SHA256 with a key of 32 bytes over two pieces; the second may be empty. */
void om_noise_hmac(const uint8_t *key, const uint8_t *a, size_t a_len, const uint8_t *b,
		   size_t b_len, uint8_t *out);
/* HKDF of the Noise framework (RFC 5869 without info), with 2 or 3 outputs */
void om_noise_hkdf(const uint8_t *chain, const uint8_t *input, size_t len,
		   uint8_t (*out)[32], int n);

#endif
