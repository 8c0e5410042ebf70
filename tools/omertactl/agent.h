/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key agent of one device, without the world around it: what comes in is told by
 * calls, what goes out is done by those that the caller provides, and the time is an
 * argument. Documentation/keying.rst has its states as a table.
 *
 * Times are in milliseconds of a clock that goes on in suspend.
 */
#ifndef OM_AGENT_H
#define OM_AGENT_H

#include "handshake.h"

/* A host tries again after so long, and random milliseconds up to the latter */
#define OM_AGENT_RETRY_MS	5000
#define OM_AGENT_JITTER_MS	334
/* until it gives up */
#define OM_AGENT_GIVE_UP_MS	90000
/* Who has answered lets the other end do the next one for so long. */
#define OM_AGENT_HOLD_MS	5000
/* A key id is not used again for so long. */
#define OM_AGENT_ID_MS		600000
/* An initiator's key is due for another after so long, less up to the jitter */
#define OM_AGENT_SOFT_S		120
#define OM_AGENT_SOFT_JITTER_S	10
/* The responder's, should the initiator have forgotten */
#define OM_AGENT_LATE_S		165
#define OM_AGENT_SEAL_S		180
#define OM_AGENT_OPEN_S		240
/* That a peer's mode is refused is told once in so long. */
#define OM_AGENT_TELL_MS	3600000
/* Initiations a second, above which the agent wants cookies */
#define OM_AGENT_BUSY		50

/* Where a datagram came from; to be answered there. Compared as bytes. */
struct om_agent_source {
	uint8_t addr[16];
	uint8_t local[16];
	uint32_t scope;
	uint16_t port;
	uint8_t len;			/* of the addresses: 4 or 16 */
};

/* A key to install */
struct om_agent_key {
	uint32_t peer_id;
	uint32_t local_id;
	bool initiator;			/* activate at once, not on the first record */
	int64_t epoch;			/* in which the handshake began */
	uint32_t soft_s;
	struct om_hs_keys keys;
};

struct om_agent_ops {
	/* To a peer, wherever it is; false if that is not known */
	bool (*send_peer)(void *ctx, uint32_t peer_id, const uint8_t *msg,
			  size_t len);
	void (*send_source)(void *ctx, const struct om_agent_source *to,
			    const uint8_t *msg, size_t len);
	bool (*install)(void *ctx, const struct om_agent_key *key);
	/* A key that was offered; not one that is in use, of which we were not told */
	void (*forget)(void *ctx, uint32_t peer_id, uint32_t local_id);
	/* Another one once the machine was cloned. False: it cannot be told */
	bool (*epoch)(void *ctx, int64_t *epoch);
	/* TAI64N of now */
	void (*clock)(void *ctx, uint8_t time[OM_HS_TIME]);
	/* A peer's latest time, or our own (peer NULL), is to survive us. False: no */
	bool (*remember)(void *ctx, const uint8_t *public,
			 const uint8_t time[OM_HS_TIME]);
	/* Somebody with a key that is none of our peers' wants to begin. */
	void (*unknown)(void *ctx);
	/* A peer wants to begin in a mode that is not to be used with it. */
	void (*refused)(void *ctx, uint32_t peer_id, enum om_hs_mode mode);
	/* Keys with a peer that may have either mode are in another than before. */
	void (*agreed)(void *ctx, uint32_t peer_id, enum om_hs_mode mode);
};

/* Keys that were offered and are not confirmed: what is older is forgotten */
#define OM_AGENT_OFFERED	2

struct om_agent_offer {
	uint32_t local_id;		/* 0 for none */
	enum om_hs_mode mode;
};

struct om_agent_peer {
	uint32_t id;
	struct om_hs_peer hs;
	enum om_kem_policy kem;
	bool agreed;			/* on keys in @mode, where either would do */
	enum om_hs_mode mode;
	uint64_t better_at;		/* when ML-KEM is tried after such without, or 0 */
	uint64_t refused_at;		/* when a refusal was told, or 0 */
	uint8_t latest[OM_HS_TIME];	/* that it sent */
	unsigned int tries;		/* initiations since a key was wanted, or 0 */
	unsigned int vain;		/* and since one was agreed on */
	struct om_hs begun;		/* while @sent */
	bool sent;			/* the latest of them, to be answered */
	uint32_t sent_id;
	int64_t sent_epoch;		/* before it was made */
	uint64_t retry_at;
	uint64_t give_up_at;
	bool wanted;			/* a key, once @hold_until is over */
	uint64_t hold_until;
	struct om_agent_offer offered[OM_AGENT_OFFERED];	/* the younger last */
};

struct om_agent {
	struct om_hs_host host;
	const struct om_agent_ops *ops;
	void *ctx;
	struct om_agent_peer *peer;
	size_t peers;
	struct om_list ids;		/* that were used, see agent.c */
	uint8_t latest[OM_HS_TIME];	/* that we sent */
	uint64_t second;		/* initiations in this one */
	unsigned int count;
};

/* What the kernel tells of a peer */
enum om_agent_event {
	OM_AGENT_KEY_NEEDED,
	OM_AGENT_KEY_SOFT,
	OM_AGENT_KEY_CONFIRMED,
	OM_AGENT_SILENT,
};

void om_agent_init(struct om_agent *agent, const struct om_agent_ops *ops,
		   void *ctx);
void om_agent_free(struct om_agent *agent);

/* A peer, its hs.public, hs.psk and kem set by the caller; pointers to others move. */
struct om_agent_peer *om_agent_add(struct om_agent *agent, uint32_t id);
void om_agent_remove(struct om_agent *agent, uint32_t id);
struct om_agent_peer *om_agent_find(struct om_agent *agent, uint32_t id);

/* Whether it does not answer, in whatever mode */
bool om_agent_unanswered(const struct om_agent_peer *peer);

void om_agent_tell(struct om_agent *agent, uint64_t now, uint32_t peer_id,
		   enum om_agent_event event, uint32_t local_id);
void om_agent_receive(struct om_agent *agent, uint64_t now,
		      const struct om_agent_source *from, const uint8_t *msg,
		      size_t len);
/* Do what is due. Returns when to be called next, UINT64_MAX for never. */
uint64_t om_agent_run(struct om_agent *agent, uint64_t now);

#endif
