/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key agent of one device, without input and output. The caller reports input by calls,
 * and provides the operations for output in struct om_agent_ops. The time is an argument.
 * Documentation/keying.rst has a table of the states.
 *
 * Times are in milliseconds of a clock that keeps running in suspend.
 */
#ifndef OM_AGENT_H
#define OM_AGENT_H

#include "lib/config.h"
#include "agent/handshake.h"
#include "agent/resolver.h"
#include "lib/map.h"

/* Time between two tries of a handshake, plus a random jitter up to the latter */
#define OM_AGENT_RETRY_MS	5000
#define OM_AGENT_JITTER_MS	334
/* The agent stops trying this long after a key was wanted. */
#define OM_AGENT_GIVE_UP_MS	90000
/* Delay of a new first try after an initiation of the peer, unless traffic asked already */
#define OM_AGENT_AGAIN_MS	250
/* If both ends initiate, the greater key's initiation wins for this long. */
#define OM_AGENT_CROSS_MS	2000
/* After an answer the other end is given this long to initiate the next handshake. */
#define OM_AGENT_HOLD_MS	5000
/*
 * After a classic key ML-KEM is tried: by the initiator after OM_AGENT_HOLD_MS, by the
 * responder after this, plus a random jitter up to the latter.
 */
#define OM_AGENT_BETTER_MS	10000
#define OM_AGENT_BETTER_JITTER_MS 5000
/* Number of such tries that fail before they are limited to one in the latter time */
#define OM_AGENT_BETTER_TRIES	3
#define OM_AGENT_BETTER_EACH_MS	3600000
/* A key id is not used again for this long. */
#define OM_AGENT_ID_MS		600000
/* Age at which the initiator replaces a key, less a random jitter up to the latter */
#define OM_AGENT_SOFT_S		120
#define OM_AGENT_SOFT_JITTER_S	10
/* Age at which the responder replaces it, if the initiator has not */
#define OM_AGENT_LATE_S		165
#define OM_AGENT_SEAL_S		180
#define OM_AGENT_OPEN_S		240
/* Trouble is reported after this many tries, of ours or of the peer. */
#define OM_AGENT_FAILED		3
/* News of one kind about a peer's times are reported once in this time. */
#define OM_AGENT_TELL_MS	3600000
/*
 * Initiations of one peer that follow an accepted one within this time are dropped, and so
 * are answers to old ones.
 */
#define OM_AGENT_GAP_MS		20
/* Our time on disk is up to this many seconds ahead, so that it is rarely written. */
#define OM_AGENT_AHEAD_S	10
/* If other times are written, ours is raised if it is closer than this. */
#define OM_AGENT_NEAR_S		5
/* Most initiations that om_agent_receive() accepts before they are answered */
#define OM_AGENT_MOMENT		32
/* Most peers that om_agent_run() handles in one call */
#define OM_AGENT_TURN		16
/* Most used key ids that are remembered */
#define OM_AGENT_IDS		65536
/* Most keys of a peer that the kernel accepts */
#define OM_AGENT_KEYS		8

/* Source of a datagram, where the answer goes. Compared as bytes. */
struct om_agent_source {
	uint8_t addr[16];
	uint8_t local[16];
	uint32_t scope;
	uint16_t port;
	uint8_t len;			/* bytes of each address, 4 or 16 */
};

/* A key to install, and those of the other channels, whose ids follow */
struct om_agent_key {
	uint32_t peer_id;
	uint32_t local_id;
	bool initiator;			/* activate at once, not on the first record */
	int64_t epoch;			/* epoch at the start of the handshake */
	uint32_t soft_s;
	struct om_hs_keys keys;
};

/* A time to store: the latest one that a peer sent, or our own */
struct om_agent_memory {
	const uint8_t *public;		/* the peer's key, NULL for our own time */
	uint8_t time[OM_HS_TIME];
};

/* News about the times in initiations */
enum om_agent_time {
	OM_AGENT_TIME_RAISED,	/* the peer knows a time of ours that is ahead of our clock */
	OM_AGENT_TIME_LAST,	/* ... the last possible one: we cannot send a later one */
	OM_AGENT_TIME_SPENT,	/* the peer sent the last possible time to an older agent */
	OM_AGENT_TIMES
};

/*
 * Causes of failing handshakes. All but a refusal can be caused by forgery or replay, and
 * are not reported while a key works.
 */
enum om_agent_trouble {
	OM_AGENT_UNOPENED,	/* a response that does not open: another preshared key? */
	OM_AGENT_OLD,		/* an initiation with a time that is not newer than the last */
	OM_AGENT_REFUSED,	/* an initiation in a mode that must not be used with the peer */
	OM_AGENT_UNUSED,	/* our answer was not used: another preshared key? */
	OM_AGENT_TROUBLES
};

struct om_agent_peer;

struct om_agent_ops {
	/* Look up the endpoint of a peer; false if it is unknown, with the reason in *why. */
	bool (*reach)(void *ctx, uint32_t peer_id, enum omerta_failure *why);
	/* Send an initiation to the peer of the latest reach(); false if it is not sent. */
	bool (*send_peer)(void *ctx, uint32_t peer_id, uint32_t local_id,
			  const uint8_t *msg, size_t len);
	void (*send_source)(void *ctx, const struct om_agent_source *to,
			    const uint8_t *msg, size_t len);
	/*
	 * Install a key, and those of the other channels; false if it is refused, with the reason
	 * in *why.
	 */
	bool (*install)(void *ctx, const struct om_agent_key *key, enum omerta_failure *why);
	/*
	 * Delete an offered key with those of the other channels, unless it is in use already and
	 * the confirmation was lost.
	 */
	void (*forget)(void *ctx, uint32_t peer_id, uint32_t local_id);
	/*
	 * Read the epoch of the machine, which changes when the machine is cloned; false if it
	 * is unknown.
	 */
	bool (*epoch)(void *ctx, int64_t *epoch);
	/* Read the clock, as TAI64N. */
	void (*clock)(void *ctx, uint8_t time[OM_HS_TIME]);
	/*
	 * Store times, OM_AGENT_MOMENT + 1 at most; false if none is stored. This waits for
	 * the disk.
	 */
	bool (*remember)(void *ctx, const struct om_agent_memory *m, size_t n);
	/* An initiation came from a host that is no peer. */
	void (*unknown)(void *ctx);
	/*
	 * Report trouble with a handshake in @mode. Called once per peer and kind until a key
	 * is made; a refusal once until the mode is allowed, or after a long pause.
	 */
	void (*trouble)(void *ctx, uint32_t peer_id, enum om_agent_trouble trouble,
			uint8_t mode);
	/* The mode of the keys with a peer has changed. Called only if several are tried. */
	void (*agreed)(void *ctx, uint32_t peer_id, uint8_t mode);
	/* Report news. Called once per change of state, at most once in OM_AGENT_TELL_MS. */
	void (*times)(void *ctx, uint32_t peer_id, enum om_agent_time news);
	/* Another try begins with a peer that does not answer. */
	void (*unanswered)(void *ctx, struct om_agent_peer *peer);
	/* The peer's @since, @kind or @failure have been set. */
	void (*changed)(void *ctx, struct om_agent_peer *peer);
};

/* Number of offered keys that may be unconfirmed; older ones are deleted */
#define OM_AGENT_OFFERED	2

struct om_agent_offer {
	uint32_t local_id;		/* 0 for none */
	uint8_t mode;
};

/* A key that is in the kernel. Owned by the caller; the agent does not use it. */
struct om_agent_known {
	uint32_t local_id;
	bool initiator;			/* active since it was installed */
	bool used;			/* was active once, or may have been */
	bool agreed;			/* result of a handshake */
	uint8_t channels;		/* further ones have the next ids */
	uint64_t at;			/* time of the installation */
	uint64_t used_at;		/* time of the activation, 0 for none */
};

struct om_agent_peer {
	uint32_t id;
	struct om_hs_peer hs;
	enum om_kem_policy kem;
	uint8_t channels;		/* number that this end wants */
	bool agreed;			/* keys are in @mode; only if several are tried */
	uint8_t mode;
	uint64_t better_at;		/* time of the next try for the fullest mode, 0 for none */
	unsigned int better_tries;	/* such tries since the last key in it */
	uint64_t better_from;		/* earliest time of the next, if there were too many */
	uint64_t works_until;		/* end of the newest key that was in use */
	bool told[OM_AGENT_TROUBLES];	/* reported since a key was made */
	uint64_t refused_at;		/* time of the latest refusal, or 0 */

	/* As responder */
	uint8_t latest[OM_HS_TIME];	/* latest time that the peer sent */
	uint64_t take_from;		/* no initiation is accepted before */
	uint64_t time_from;		/* no time message is sent before */
	struct om_agent_offer offered[OM_AGENT_OFFERED];	/* newest last */
	unsigned int unused;		/* offers since the last one that was used */

	/* As initiator */
	unsigned int tries;		/* initiations since a key was wanted, or 0 */
	unsigned int vain;		/* initiations since the last key */
	bool unopened;			/* a response failed to open since then */
	bool unopened_now;		/* ... since the latest one */
	struct om_hs begun;		/* the handshake, while @sent */
	bool sent;			/* the latest initiation may be answered */
	bool cookie_again;		/* this try was restarted for a cookie */
	bool time_again;		/* this try was restarted for a time message */
	uint32_t sent_id;
	int64_t sent_epoch;		/* epoch before the handshake was begun */
	uint8_t sent_time[OM_HS_TIME];
	uint8_t floor[OM_HS_TIME];	/* times sent to the peer are greater */
	bool raised;			/* @floor is ahead of our own time */
	bool last;			/* no greater time exists */
	uint64_t time_told[OM_AGENT_TIMES];	/* time of each report, 0 for none */
	uint64_t retry_at;
	uint64_t counts_until;		/* our initiation wins until then, if both ends begin */
	uint64_t give_up_at;
	bool wanted;			/* a key is wanted, after @hold_until */
	bool eager;			/* no traffic has asked for these tries yet */
	uint64_t hold_until;

	/* For others to see */
	uint32_t since;			/* tries since the latest key */
	int kind;			/* its enum omerta_key_kind, -1 for none */
	int failure;			/* enum omerta_failure since then, -1 for none */

	/* Owned by the caller */
	bool to_report;			/* the kernel does not know of changes yet */
	uint32_t told_failures;		/* bits of those that were logged since a key was made */
	struct om_agent_known known[OM_AGENT_KEYS];	/* oldest first */
	unsigned int knowns;
	uint64_t asked_at;		/* time of the latest name lookup, or 0 */
	bool asking;			/* it is not answered yet */
	uint32_t ask_pause;		/* until the next one, while there is no endpoint */
	bool nowhere;			/* the kernel has no endpoint */
	bool nowhere_told;
	struct om_resolver_addr addr[OM_RESOLVER_ADDRS];	/* addresses of the name */
	uint32_t addrs;
	uint32_t next_addr;		/* the first one to try next */
	bool untried;			/* nothing was sent to the current one yet */
	uint64_t seen;			/* number of the latest dump with this peer */
	uint64_t active;		/* number of the latest dump with an active key of it */
	bool other_psk;			/* the preshared key has changed since its keys */

	/* Indexes */
	struct om_agent_block *block;
	struct om_agent_peer *next, **prev;	/* in the list of all, or of free ones */
	struct om_map_node by_id, by_public;
	struct om_map_node by_sent;		/* by @sent_id, while @sent */
	struct om_map_node by_mac1;		/* while a cookie may come */
	size_t place;				/* in the heap, from 1; 0 for none */
	uint64_t due;
};

/* An accepted initiation. It is answered once its time is stored. */
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
	struct om_agent_block *partial;	/* blocks with free peers */
	struct om_map by_id, by_public, by_sent, by_mac1;
	struct om_list heap;		/* peers, the first to be due on top */
	struct om_map used;		/* key ids, see agent.c */
	struct om_agent_used *oldest, **youngest;
	uint8_t latest[OM_HS_TIME];	/* latest time that we sent, or may have sent */
	uint8_t ahead[OM_HS_TIME];	/* our stored time; raised before a later one is sent */
	uint64_t trouble[OM_AGENT_TROUBLES];	/* counters, over all peers */
	uint64_t count[OMERTA_A_AGENT_STATS_MAX + 1];	/* by attribute */
	struct om_agent_taken taken[OM_AGENT_MOMENT];
	unsigned int takens;
};

/* Events about a peer, from the kernel */
enum om_agent_event {
	OM_AGENT_KEY_NEEDED,
	OM_AGENT_KEY_SOFT,
	OM_AGENT_KEY_CONFIRMED,
	OM_AGENT_SILENT,
	OM_AGENT_EARLY,		/* a key will be needed, as the peer has keepalives */
	OM_AGENT_NETWORK,	/* the network, or the endpoint, has changed: try again at once */
	OM_AGENT_NOT_SENT,	/* the kernel has not sent the latest initiation */
	OM_AGENT_ANEW,		/* its keys have ended, as one end has another identity now */
};

void om_agent_init(struct om_agent *agent, const struct om_agent_ops *ops,
		   void *ctx);
void om_agent_free(struct om_agent *agent);

/*
 * Set a peer's PostQuantum and Channels. Failed tries with other settings no longer count. If there
 * are more channels than before, a new key is wanted.
 */
void om_agent_configure(struct om_agent *agent, uint64_t now, struct om_agent_peer *peer,
			enum om_kem_policy kem, uint8_t channels);
/* Add a peer; the caller sets its hs.psk, and configures it. It does not move. */
struct om_agent_peer *om_agent_add(struct om_agent *agent, uint32_t id,
				   const uint8_t *public);
/* Remove a peer, if it exists. Not to be called from om_agent_ops. */
void om_agent_remove(struct om_agent *agent, uint32_t id);
void om_agent_remove_all(struct om_agent *agent);
struct om_agent_peer *om_agent_find(const struct om_agent *agent, uint32_t id);
struct om_agent_peer *om_agent_find_public(const struct om_agent *agent,
					   const uint8_t *public);
/* Set our own time from the disk. No effect if this agent stored it. */
void om_agent_set_own_time(struct om_agent *agent, const uint8_t time[OM_HS_TIME]);
/* Set the latest time of a peer from the disk. */
void om_agent_set_time(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now,
		       const uint8_t time[OM_HS_TIME]);
/* Accept any time that the peer sends next. */
void om_agent_forget_time(struct om_agent_peer *peer);

/* Return true if the peer has not answered in any allowed mode. */
bool om_agent_unanswered(const struct om_agent_peer *peer);

void om_agent_tell(struct om_agent *agent, uint64_t now, uint32_t peer_id,
		   enum om_agent_event event, uint32_t local_id);
/* Handle a datagram. om_agent_settle() answers initiations, many with one write to disk. */
void om_agent_receive(struct om_agent *agent, uint64_t now,
		      const struct om_agent_source *from, const uint8_t *msg,
		      size_t len);
/* Answer the initiations that were received. */
void om_agent_settle(struct om_agent *agent, uint64_t now);
/* Do some of the work that is due. Returns the time of the next call, UINT64_MAX for never. */
uint64_t om_agent_run(struct om_agent *agent, uint64_t now);

#endif
