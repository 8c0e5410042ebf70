/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages of the key agent's handshake, see Documentation/keying.rst. Times are in
 * milliseconds of a clock that does not stop or jump. The caller provides locked memory for
 * secrets.
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

/* The mode of a handshake is a sum of these; the initiation says which. */
#define OM_HS_CLASSIC	0
#define OM_HS_MLKEM	1		/* with a key encapsulation, see kem.h */
#define OM_HS_CHANNELS	2		/* both ends say how many channels they want */
#define OM_HS_MODES	4

/* Most channels of a peer */
#define OM_HS_CHANNELS_MAX	64

/*
 * Lengths of the datagrams in the classic mode, and with a key encapsulation. With channels, the
 * initiation and the response are longer by 1.
 */
#define OM_HS_INITIATION_LEN	(8 + OM_NOISE_1 + OM_HS_TIME + 4 + 2 * OM_HS_MAC)
#define OM_HS_RESPONSE_LEN	(8 + OM_NOISE_2 + 4 + 2 * OM_HS_MAC)
#define OM_HS_TIME_MSG_LEN	(8 + OM_NOISE_2 + OM_HS_TIME + 2 * OM_HS_MAC)
#define OM_HS_COOKIE_LEN	(8 + 24 + OM_HS_MAC + OM_NOISE_TAG)
#define OM_HS_INITIATION_LEN_MLKEM	(OM_HS_INITIATION_LEN + OM_KEM_PUBLIC)
#define OM_HS_RESPONSE_LEN_MLKEM	(OM_HS_RESPONSE_LEN + OM_KEM_TEXT)
#define OM_HS_TIME_MSG_LEN_MLKEM	(OM_HS_TIME_MSG_LEN + OM_KEM_TEXT)
#define OM_HS_LEN_MAX		(OM_HS_INITIATION_LEN_MLKEM + 1)

/* Lifetime of a cookie */
#define OM_HS_COOKIE_MS		120000

/* Keys that anyone can derive from a public key: of mac1, and of cookies */
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
	uint8_t cookie[OM_HS_MAC];	/* latest cookie from it */
	uint64_t cookie_at;		/* 0 for none */
	uint8_t mac1[OM_HS_MAC];	/* mac1 of the latest initiation or response to it */
	bool asked;			/* @mac1 was not answered by a cookie yet */
};

/* A handshake in progress; wiped when it ends */
struct om_hs {
	struct om_noise noise;
	uint8_t mode;
	uint8_t channels;			/* number that this end wants */
	uint8_t seed[OM_KEM_SEED];		/* the initiator's */
	uint8_t public[OM_KEM_PUBLIC];		/* its public key */
};

/* Contents of an initiation */
struct om_hs_offer {
	uint8_t public[OM_NOISE_KEY];	/* the initiator's static key */
	uint8_t time[OM_HS_TIME];
	uint32_t key_id;		/* the initiator's local key id */
	uint8_t channels;		/* number that it wants, 1 in other modes */
};

/* The outcome of a handshake */
struct om_hs_keys {
	uint8_t rx[OM_NOISE_KEY];
	uint8_t tx[OM_NOISE_KEY];
	uint32_t remote_id;
	uint8_t channels;		/* number that both ends want */
};

/* Complete a host after its secret key is set; false if that is no valid key. */
bool om_hs_host_init(struct om_hs_host *host);
void om_hs_peer_init(struct om_hs_peer *peer);

/* Return @len if that is right for a message of its type and mode; else 0. */
size_t om_hs_length(const uint8_t *msg, size_t len);
void om_hs_wipe(struct om_hs *h);

/* Return true if mac1 is valid. Cookies have none. The sender then knows our public key. */
bool om_hs_check(const struct om_hs_host *host, const uint8_t *msg, size_t len);

/*
 * The messages. Writers return the length of the message, 0 if a key is invalid. Readers
 * change nothing if the message is not authentic. Random values are generated when they are
 * sent.
 */
size_t om_hs_initiate(struct om_hs *h, uint8_t mode, uint8_t channels,
		      const struct om_hs_host *host, struct om_hs_peer *peer,
		      const uint8_t *time, uint32_t key_id, uint64_t now,
		      uint8_t *out);
/*
 * Read an initiation in two steps: half of the work shows that a sender is no peer. The first
 * step reads the claimed identity; the second one reads the contents, and proves it.
 */
bool om_hs_read_initiator(struct om_hs *h, const struct om_hs_host *host,
			  const uint8_t *msg, size_t len, uint8_t public[OM_NOISE_KEY]);
bool om_hs_read_offer(struct om_hs *h, const uint8_t *msg, size_t len,
		      struct om_hs_offer *offer);
size_t om_hs_respond(struct om_hs *h, struct om_hs_peer *peer,
		     const struct om_hs_offer *offer, uint8_t channels, uint32_t key_id,
		     uint64_t now, uint8_t *out, struct om_hs_keys *keys);
bool om_hs_read_response(struct om_hs *h, const struct om_hs_peer *peer,
			 const uint8_t *msg, size_t len,
			 struct om_hs_keys *keys);
/*
 * Write the answer to an initiation whose time is not newer than @latest, instead of a
 * response. The state of the peer does not change.
 */
size_t om_hs_answer_time(struct om_hs *h, const struct om_hs_peer *peer,
			 const struct om_hs_offer *offer, const uint8_t *latest,
			 uint64_t now, uint8_t *out);
/* Read a time message. @h stays open, as the real response may follow. */
bool om_hs_read_time(const struct om_hs *h, const struct om_hs_peer *peer,
		     const uint8_t *msg, size_t len, uint8_t time[OM_HS_TIME]);
/* Return the key id of the initiation that a response or time message claims to answer. */
uint32_t om_hs_response_id(const uint8_t *msg);

/* Derive the keys of channel @channel, from 1 on, from those of a handshake. */
void om_hs_channel_keys(const struct om_hs_keys *keys, uint8_t channel, struct om_hs_keys *out);

bool om_hs_take_cookie(struct om_hs_peer *peer, uint64_t now,
		       const uint8_t *msg, size_t len);

#endif
