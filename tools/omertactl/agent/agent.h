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

#include "lib/config.h"
#include "agent/handshake.h"
#include "lib/map.h"

/* A host tries again after so long, and random milliseconds up to the latter */
#define OM_AGENT_RETRY_MS	5000
#define OM_AGENT_JITTER_MS	334
/* until it gives up */
#define OM_AGENT_GIVE_UP_MS	90000
/* Or, as long as no traffic asked, after so long once the other end begins itself */
#define OM_AGENT_AGAIN_MS	250
/* Where both begin, an initiation counts over the other end's for so long. */
#define OM_AGENT_CROSS_MS	2000
/* Who has answered lets the other end do the next one for so long. */
#define OM_AGENT_HOLD_MS	5000
/*
 * A classic key is followed by a try for ML-KEM: of the initiator after OM_AGENT_HOLD_MS,
 * of the responder after so long, and random milliseconds up to the latter.
 */
#define OM_AGENT_BETTER_MS	10000
#define OM_AGENT_BETTER_JITTER_MS 5000
/* After so many in vain there is one in so long. */
#define OM_AGENT_BETTER_TRIES	3
#define OM_AGENT_BETTER_EACH_MS	3600000
/* A key id is not used again for so long. */
#define OM_AGENT_ID_MS		600000
/* An initiator's key is due for another after so long, less up to the jitter */
#define OM_AGENT_SOFT_S		120
#define OM_AGENT_SOFT_JITTER_S	10
/* The responder's, should the initiator have forgotten */
#define OM_AGENT_LATE_S		165
#define OM_AGENT_SEAL_S		180
#define OM_AGENT_OPEN_S		240
/* Trouble is told after so many tries of ours, or of the peer's. */
#define OM_AGENT_FAILED		3
/* News of one kind about a peer's times are told once in so long. */
#define OM_AGENT_TELL_MS	3600000
/*
 * Initiations of one peer closer than this to one that was taken are dropped, and so
 * are answers to old ones.
 */
#define OM_AGENT_GAP_MS		20
/* Our time on disk is up to so many seconds ahead, so that it is written seldom. */
#define OM_AGENT_AHEAD_S	10
/* Our time on disk is raised with others' that are written, once it is so close. */
#define OM_AGENT_NEAR_S		5
/* Initiations that om_agent_receive() takes before they are answered */
#define OM_AGENT_MOMENT		32
/* Peers that om_agent_run() handles before the caller has a turn */
#define OM_AGENT_TURN		16
/* At most so many used key ids are remembered. */
#define OM_AGENT_IDS		65536
/* Keys of a peer that the kernel takes */
#define OM_AGENT_KEYS		8

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

/* A time that is to survive us: the latest one that a peer sent, or ours (peer NULL) */
struct om_agent_memory {
	const uint8_t *public;
	uint8_t time[OM_HS_TIME];
};

/* News about the times in initiations */
enum om_agent_time {
	OM_AGENT_TIME_RAISED,	/* the peer knows a later time of ours than our clock */
	OM_AGENT_TIME_LAST,	/* ... than which no later one can be sent */
	OM_AGENT_TIME_SPENT,	/* the peer sent the last one to an older agent */
	OM_AGENT_TIMES
};

/*
 * Causes that keep a key from being made. All but a refusal can be a forger's work, or a
 * replay, and are not told while there is a key that works.
 */
enum om_agent_trouble {
	OM_AGENT_UNOPENED,	/* a response that does not open: another preshared key? */
	OM_AGENT_OLD,		/* an initiation whose time is not newer than the last */
	OM_AGENT_REFUSED,	/* ... in a mode that is not to be used with the peer */
	OM_AGENT_UNUSED,	/* ... whose answer it did not use: another preshared key? */
	OM_AGENT_TROUBLES
};

struct om_agent_peer;

struct om_agent_ops {
	/* Find where a peer is; false if that is not known */
	bool (*reach)(void *ctx, uint32_t peer_id);
	/* An initiation to the peer that was found last; false if it is not sent */
	bool (*send_peer)(void *ctx, uint32_t peer_id, uint32_t local_id,
			  const uint8_t *msg, size_t len);
	void (*send_source)(void *ctx, const struct om_agent_source *to,
			    const uint8_t *msg, size_t len);
	bool (*install)(void *ctx, const struct om_agent_key *key);
	/* A key that was offered; not one that is in use, of which we were not told */
	void (*forget)(void *ctx, uint32_t peer_id, uint32_t local_id);
	/* Another one once the machine was cloned. False: it cannot be told */
	bool (*epoch)(void *ctx, int64_t *epoch);
	/* TAI64N of now */
	void (*clock)(void *ctx, uint8_t time[OM_HS_TIME]);
	/* All or none, OM_AGENT_MOMENT + 1 at most. It takes as long as a disk does. */
	bool (*remember)(void *ctx, const struct om_agent_memory *m, size_t n);
	/* Somebody with a key that is none of our peers' wants to begin. */
	void (*unknown)(void *ctx);
	/*
	 * Once for a peer until a key is made; a refusal once until it was allowed, or there
	 * was none for long. @mode: of the handshake
	 */
	void (*trouble)(void *ctx, uint32_t peer_id, enum om_agent_trouble trouble,
			enum om_hs_mode mode);
	/* Keys with a peer that may have either mode are in another than before. */
	void (*agreed)(void *ctx, uint32_t peer_id, enum om_hs_mode mode);
	/* Once per change of state, and once in OM_AGENT_TELL_MS at most */
	void (*times)(void *ctx, uint32_t peer_id, enum om_agent_time news);
	/* Another try begins with a peer that does not answer. */
	void (*unanswered)(void *ctx, struct om_agent_peer *peer);
};

/* Keys that were offered and are not confirmed: what is older is forgotten */
#define OM_AGENT_OFFERED	2

struct om_agent_offer {
	uint32_t local_id;		/* 0 for none */
	enum om_hs_mode mode;
};

/* A key that the kernel was given; the caller's, which the agent does not look at */
struct om_agent_known {
	uint32_t local_id;
	bool initiator;			/* active since it was installed */
	bool used;			/* active once, or so it may be */
	bool agreed;			/* on in a handshake */
	uint64_t at;			/* when it was installed, */
	uint64_t used_at;		/* and when it became active, 0 for never */
};

struct om_agent_peer {
	uint32_t id;
	struct om_hs_peer hs;
	enum om_kem_policy kem;
	bool agreed;			/* on keys in @mode, where either would do */
	enum om_hs_mode mode;
	uint64_t better_at;		/* when ML-KEM is tried after such without, or 0 */
	unsigned int better_tries;	/* of those, since a key with it */
	uint64_t better_from;		/* none before, if those were too many */
	uint64_t works_until;		/* the newest key that was in use, as far as we know */
	bool told[OM_AGENT_TROUBLES];	/* since a key was made */
	uint64_t refused_at;		/* the latest, or 0 */

	/* As responder */
	uint8_t latest[OM_HS_TIME];	/* that it sent */
	uint64_t take_from;		/* no initiation is taken before */
	uint64_t time_from;		/* no time message is sent before */
	struct om_agent_offer offered[OM_AGENT_OFFERED];	/* the younger last */
	unsigned int unused;		/* of them, since one was used */

	/* As initiator */
	unsigned int tries;		/* initiations since a key was wanted, or 0 */
	unsigned int vain;		/* and since one was agreed on */
	bool unopened;			/* a response did not open since then */
	struct om_hs begun;		/* while @sent */
	bool sent;			/* the latest of them, to be answered */
	bool cookie_again;		/* this try began anew for a cookie, */
	bool time_again;		/* and for a time message */
	uint32_t sent_id;
	int64_t sent_epoch;		/* before it was made */
	uint8_t sent_time[OM_HS_TIME];
	uint8_t floor[OM_HS_TIME];	/* times sent to it are greater */
	bool raised;			/* @floor is ahead of our own time */
	bool last;			/* no greater time is left */
	uint64_t time_told[OM_AGENT_TIMES];	/* when each was told, or 0 */
	uint64_t retry_at;
	uint64_t counts_until;		/* ours that was sent, if the other end begins, too */
	uint64_t give_up_at;
	bool wanted;			/* a key, once @hold_until is over */
	bool eager;			/* tries that no traffic asked for yet */
	uint64_t hold_until;

	/* The caller's */
	struct om_agent_known known[OM_AGENT_KEYS];	/* the oldest first */
	unsigned int knowns;
	uint64_t asked_at;		/* for its name's address, or 0 */
	uint64_t seen;			/* number of the latest reading that had it, */
	uint64_t active;		/* and that which had an active key of it */
	bool other_psk;			/* than that with which its keys were agreed on */

	/* Where it is found */
	struct om_agent_block *block;
	struct om_agent_peer *next, **prev;	/* in the list of all, or free */
	struct om_map_node by_id, by_public;
	struct om_map_node by_sent;		/* by @sent_id, while @sent */
	struct om_map_node by_mac1;		/* while a cookie may come */
	size_t place;				/* in the heap, from 1; 0 for none */
	uint64_t due;
};

/* An initiation that was taken, and is answered once its time is remembered */
struct om_agent_taken {
	struct om_hs h;
	struct om_hs_offer offer;
	struct om_agent_source from;
};

struct om_agent {
	struct om_hs_host host;
	const struct om_agent_ops *ops;
	void *ctx;
	struct om_agent_peer *first;
	size_t peers;
	struct om_agent_block *room;	/* blocks with free peers in them */
	struct om_map by_id, by_public, by_sent, by_mac1;
	struct om_list heap;		/* of peers, that which is due first on top */
	struct om_map used;		/* key ids, see agent.c */
	struct om_agent_used *oldest, **youngest;
	uint8_t latest[OM_HS_TIME];	/* that we sent, or may have sent */
	uint8_t ahead[OM_HS_TIME];	/* that is remembered: not to be passed before it is raised */
	uint64_t trouble[OM_AGENT_TROUBLES];	/* how often there was each, with any peer */
	struct om_agent_taken taken[OM_AGENT_MOMENT];
	unsigned int takens;
};

/* What the kernel tells of a peer */
enum om_agent_event {
	OM_AGENT_KEY_NEEDED,
	OM_AGENT_KEY_SOFT,
	OM_AGENT_KEY_CONFIRMED,
	OM_AGENT_SILENT,
	OM_AGENT_EARLY,		/* a key will be needed, as the peer has keepalives */
	OM_AGENT_ANEW,		/* its keys have ended, as one of us is somebody else now */
};

void om_agent_init(struct om_agent *agent, const struct om_agent_ops *ops,
		   void *ctx);
void om_agent_free(struct om_agent *agent);

/* Tries in vain with another setting do not count for this one. */
void om_agent_set_kem(struct om_agent_peer *peer, enum om_kem_policy kem);
/* A new peer; its hs.psk and kem are set by the caller. It stays where it is. */
struct om_agent_peer *om_agent_add(struct om_agent *agent, uint32_t id,
				   const uint8_t *public);
/* Not from within the agent's calls; nothing if there is no such peer */
void om_agent_remove(struct om_agent *agent, uint32_t id);
void om_agent_remove_all(struct om_agent *agent);
struct om_agent_peer *om_agent_find(const struct om_agent *agent, uint32_t id);
struct om_agent_peer *om_agent_find_public(const struct om_agent *agent,
					   const uint8_t *public);
/* The latest time that was remembered of our own; nothing if it was us who did that */
void om_agent_set_own_time(struct om_agent *agent, const uint8_t time[OM_HS_TIME]);
/* The latest time that was remembered of a peer */
void om_agent_set_time(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now,
		       const uint8_t time[OM_HS_TIME]);
/* Take whatever time the peer sends next. */
void om_agent_forget_time(struct om_agent_peer *peer);

/* Whether it does not answer, in whatever mode */
bool om_agent_unanswered(const struct om_agent_peer *peer);

void om_agent_tell(struct om_agent *agent, uint64_t now, uint32_t peer_id,
		   enum om_agent_event event, uint32_t local_id);
/* The answer to an initiation waits for om_agent_settle(), so that many are written at once. */
void om_agent_receive(struct om_agent *agent, uint64_t now,
		      const struct om_agent_source *from, const uint8_t *msg,
		      size_t len);
/* Answer the initiations that were received. */
void om_agent_settle(struct om_agent *agent, uint64_t now);
/* Do some of what is due. Return when to be called next, UINT64_MAX for never. */
uint64_t om_agent_run(struct om_agent *agent, uint64_t now);

#endif
