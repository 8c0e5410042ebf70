/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two key agents, each with the keys of a kernel in memory, on a network that loses,
 * repeats and reorders, at the speed of a loop.
 */
#ifndef OM_WORLD_H
#define OM_WORLD_H

#include "agent/agent.h"

#define WORLD_STEP_MS	10
#define WORLD_KEYS	8
#define WORLD_ASKED	64
#define WORLD_MESSAGES	4096
#define A		0
#define B		1

struct world_key {
	struct om_agent_key k;
	uint64_t at;
	bool active, retired, confirmed, told;
};

struct world_end {
	struct om_agent agent;
	struct world_key key[WORLD_KEYS];
	size_t keys, installed;
	uint64_t confirm_at;
	unsigned int confirm_left;
	struct om_agent_source where;	/* known endpoint of the other end */
	uint8_t remembered[OM_HS_TIME], own[OM_HS_TIME];
	int64_t clock;			/* error of the clock, in seconds */
	int64_t epoch;
	bool cloned_soon;		/* right after the next question */
	bool fork_soon;			/* while it remembers a time */
	uint64_t sent, got, waited, needed_at;
	enum om_kem_policy kem;
	uint8_t channels;
	unsigned int unanswered;	/* for so many steps */
	unsigned int agreed[OM_HS_MODES], refused[OM_HS_MODES];
	unsigned int times[OM_AGENT_TIMES];
	unsigned int trouble[OM_AGENT_TROUBLES];
	bool busy;			/* its kernel wants cookies */
	unsigned int cookies;		/* that it gave */
	unsigned int writes;		/* peer's times that were stored */
	unsigned int own_writes;	/* own times that were stored */
	unsigned int syncs;		/* writes to disk */
	struct {
		uint32_t id;
		uint64_t at;
	} asked[WORLD_ASKED];		/* initiations that its kernel sent */
	unsigned int asks;
	unsigned int changes;		/* changes of the state shown to others */
};

struct world_message {
	uint64_t due;
	int to;
	struct om_agent_source from;	/* as the receiver sees it */
	size_t len;
	uint8_t data[OM_HS_LEN_MAX];
};

extern struct world {
	struct world_end end[2];
	struct om_agent_source place[2];	/* endpoints of the ends */
	struct world_message message[WORLD_MESSAGES];
	size_t messages, sent;
	unsigned int loss, twice, latest;	/* percent; ms */
	unsigned int delay;		/* ms, of all */
	bool cut[2];			/* nothing gets to it */
	size_t longest;			/* longest message that is delivered; 0 for any */
	bool before_channels;		/* no initiation is delivered that has them */
	struct world_message old[WORLD_MESSAGES];	/* all that ever was sent */
	size_t olds;
	uint64_t now;
	uint32_t seed;
	bool quiet;			/* no data */
	bool down;			/* nothing can be sent */
	bool full;			/* nothing can be remembered */
	int clone;			/* end that the clone sends as */
	bool is_clone;
	unsigned int strangers;
} world;

/* The one peer of an end */
struct om_agent_peer *world_peer(int n);
/* The cookie that its kernel gives */
extern const uint8_t world_cookie[OM_HS_MAC];

void world_configure(int n, enum om_kem_policy kem, uint8_t channels);
void world_set_up(void);
/* The same with ends that use ML-KEM, or not */
void world_set_up_with(enum om_kem_policy a, enum om_kem_policy b);
void world_tear_down(void);
/* An end's agent, with what was remembered */
void world_start(int n);
/* An end goes elsewhere. */
void world_move(int n, uint16_t port);
void world_run(unsigned int seconds);
/* A datagram comes alone. */
void world_receive(struct om_agent *agent, uint64_t now, const struct om_agent_source *from,
		   const uint8_t *msg, size_t len);
/* Deliver the messages that are due. */
void world_deliver(void);

void world_tell(struct world_end *e, enum om_agent_event event, uint32_t id);
struct world_key *world_active(struct world_end *e);

void world_forget_counts(void);
/* Return true if all that was sent was opened, and nothing had to wait. */
bool world_nothing_lost(void);
/* As a text that stays until the next call */
const char *world_counts(void);

#endif
