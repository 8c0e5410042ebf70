/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages of the key agent's handshake, see Documentation/keying.rst: pure
 * functions of what they are given. Times are in milliseconds of a clock that does not
 * stop or jump. Memory that holds secrets is the caller's, who has it locked.
 */
#ifndef OM_HANDSHAKE_H
#define OM_HANDSHAKE_H

#include "agent/kem.h"
#include "lib/times.h"
#include "agent/noise.h"

#define OM_HS_MAC		16
#define OM_HS_TIME		OM_TIME_LEN

#define OM_HS_INITIATION	0x20
#define OM_HS_RESPONSE		0x21
#define OM_HS_COOKIE		0x22
#define OM_HS_TIME_MSG		0x23	/* the answer to an initiation that is too old */

/* What an initiation says that it is */
enum om_hs_mode {
	OM_HS_CLASSIC,
	OM_HS_MLKEM,		/* with a key encapsulation, see kem.h */
	OM_HS_MODES
};

/* Lengths of the datagrams; all but the cookie have one for either mode. */
#define OM_HS_INITIATION_LEN	(8 + OM_NOISE_1 + OM_HS_TIME + 4 + 2 * OM_HS_MAC)
#define OM_HS_RESPONSE_LEN	(8 + OM_NOISE_2 + 4 + 2 * OM_HS_MAC)
#define OM_HS_TIME_MSG_LEN	(8 + OM_NOISE_2 + OM_HS_TIME + 2 * OM_HS_MAC)
#define OM_HS_COOKIE_LEN	(8 + 24 + OM_HS_MAC + OM_NOISE_TAG)
#define OM_HS_INITIATION_LEN_MLKEM	(OM_HS_INITIATION_LEN + OM_KEM_PUBLIC)
#define OM_HS_RESPONSE_LEN_MLKEM	(OM_HS_RESPONSE_LEN + OM_KEM_TEXT)
#define OM_HS_TIME_MSG_LEN_MLKEM	(OM_HS_TIME_MSG_LEN + OM_KEM_TEXT)
#define OM_HS_LEN_MAX		OM_HS_INITIATION_LEN_MLKEM

/* A cookie is good for so long. */
#define OM_HS_COOKIE_MS		120000

/* Keys that anyone can make of a public key: of mac1, and for cookies */
struct om_hs_labels {
	uint8_t mac1[32];
	uint8_t cookie[32];
};

/* This end */
struct om_hs_host {
	struct om_keypair pair;
	struct om_hs_labels labels;
};

/* The other end */
struct om_hs_peer {
	uint8_t public[OM_NOISE_KEY];
	uint8_t psk[OM_NOISE_KEY];	/* zeros for none */
	struct om_hs_labels labels;
	uint8_t cookie[OM_HS_MAC];	/* that it gave us */
	uint64_t cookie_at;		/* 0 for none */
	uint8_t mac1[OM_HS_MAC];	/* of the latest initiation or response to it */
	bool asked;			/* that was no answer to a cookie yet */
};

/* A handshake that is under way; wiped when it ends */
struct om_hs {
	struct om_noise noise;
	enum om_hs_mode mode;
	uint8_t seed[OM_KEM_SEED];		/* the initiator's */
	uint8_t public[OM_KEM_PUBLIC];		/* which that is of */
};

/* What an initiation says once it is read */
struct om_hs_offer {
	uint8_t public[OM_NOISE_KEY];	/* of the initiator */
	uint8_t time[OM_HS_TIME];
	uint32_t key_id;		/* its local one */
};

/* The outcome of a handshake */
struct om_hs_keys {
	uint8_t rx[OM_NOISE_KEY];
	uint8_t tx[OM_NOISE_KEY];
	uint32_t remote_id;
};

/* After the secret or the public key is set; false if it is no key */
bool om_hs_host_init(struct om_hs_host *host);
void om_hs_peer_init(struct om_hs_peer *peer);

/* Bytes of a message of this kind, which is what @msg has; else 0 */
size_t om_hs_length(const uint8_t *msg, size_t len);
void om_hs_wipe(struct om_hs *h);

/* Return true if mac1 is right, of any message but a cookie: its sender knows our key. */
bool om_hs_check(const struct om_hs_host *host, const uint8_t *msg, size_t len);

/*
 * The messages. What writes one returns its length, 0 if a key is no key; what
 * reads one leaves everything as it was if it is not authentic. What is random is made
 * when it is sent.
 */
size_t om_hs_initiate(struct om_hs *h, enum om_hs_mode mode,
		      const struct om_hs_host *host, struct om_hs_peer *peer,
		      const uint8_t *time, uint32_t key_id, uint64_t now,
		      uint8_t *out);
/*
 * In two steps, as only half of the work is needed to see that it is a stranger's: whom it
 * says it is of, then what it says, which proves that.
 */
bool om_hs_read_initiator(struct om_hs *h, const struct om_hs_host *host,
			  const uint8_t *msg, size_t len, uint8_t public[OM_NOISE_KEY]);
bool om_hs_read_offer(struct om_hs *h, const uint8_t *msg, size_t len,
		      struct om_hs_offer *offer);
size_t om_hs_respond(struct om_hs *h, struct om_hs_peer *peer,
		     const struct om_hs_offer *offer, uint32_t key_id,
		     uint64_t now, uint8_t *out, struct om_hs_keys *keys);
bool om_hs_read_response(struct om_hs *h, const struct om_hs_peer *peer,
			 const uint8_t *msg, size_t len,
			 struct om_hs_keys *keys);
/*
 * In the place of a response to an initiation whose time is not newer than @latest. It
 * leaves what is known of the peer as it was.
 */
size_t om_hs_answer_time(struct om_hs *h, const struct om_hs_peer *peer,
			 const struct om_hs_offer *offer, const uint8_t *latest,
			 uint64_t now, uint8_t *out);
/* @h goes on: the true response may follow. */
bool om_hs_read_time(const struct om_hs *h, const struct om_hs_peer *peer,
		     const uint8_t *msg, size_t len, uint8_t time[OM_HS_TIME]);
/* The key id of the initiation that either of these says it answers, to look it up */
uint32_t om_hs_response_id(const uint8_t *msg);

bool om_hs_take_cookie(struct om_hs_peer *peer, uint64_t now,
		       const uint8_t *msg, size_t len);

#endif
