/* SPDX-License-Identifier: GPL-2.0 */
/* What the daemon knows, and where its peers come from: the kernel and a file. */
#ifndef OM_DAEMON_PEERS_H
#define OM_DAEMON_PEERS_H

#include "agent/agent.h"
#include "lib/config.h"
#include "lib/nl.h"
#include "lib/peer_index.h"
#include "agent/resolver.h"
#include "lib/times.h"

#include <limits.h>

struct om_daemon {
	const char *ifname;
	const char *config;
	struct om_nl *nl;		/* requests */
	struct om_nl_control *control;
	struct om_nl_events *events;
	struct om_resolver resolver;
	struct om_times *times;
	const char *state_dir;		/* of @times_path */
	char times_path[PATH_MAX];
	struct om_agent *agent;		/* in guarded memory */
	struct om_config conf;
	struct om_peer_index conf_of;	/* its peers */
	int signals;
	int timer;
	uint64_t timer_at;		/* when it expires, UINT64_MAX for never */
	bool end;
	bool adopt;			/* the kernel may have other peers now */
	bool lost;			/* events, so keys may be used of which we know nothing */
	bool rebind;			/* the kernel does not know our public key yet */
	uint64_t adopt_at;		/* not before */
	uint64_t readings;		/* of all peers */
	struct {
		uint32_t id;		/* of the peer that was found last */
		struct om_addr addr;
		uint16_t port;
		uint32_t scope;
	} reached;
	struct om_list stale;		/* of struct om_stale_peer */
	struct om_list doomed;		/* of struct om_doomed_key */
	struct om_err err;		/* of what does not end the agent */
	uint64_t shown[OM_AGENT_TROUBLES];	/* in the status, */
	uint64_t show_at;		/* which is not renewed before */
	char told[sizeof(((struct om_err *)0)->text)];
	uint64_t told_at;
};

/* A peer that the kernel has, or had, and we know otherwise or not at all */
struct om_stale_peer {
	uint32_t id;
	bool wanted;			/* a key of it */
};

/* A key that was offered and is to go, unless the other end has used it */
struct om_doomed_key {
	uint32_t peer_id;
	uint32_t local_id;
};

/* The file for the first time */
int om_peers_read_config(struct om_daemon *d, struct om_err *err);
/* The file of the times of the configuration's key */
int om_peers_open_times(struct om_daemon *d, struct om_err *err);
/* Frees what this and the other calls made, not the agent. */
void om_peers_end(struct om_daemon *d);
/* Take the peers that the kernel has. Errors of this and the others are in d->err. */
int om_peers_adopt(struct om_daemon *d);
/* Look at a peer again, once nothing else is being done. @wanted: a key of it */
void om_peers_look(struct om_daemon *d, uint32_t id, bool wanted);
/*
 * A peer as the kernel has it now, without its prefixes; false if it is not there, or
 * its id is another's meanwhile, whose keys must not be mixed up.
 */
bool om_peers_get(struct om_daemon *d, uint32_t id, struct om_peer *peer);
/*
 * Install a key, in the place of an old one if the peer has too many. False: it is not
 * there, for an error if there is a text in d->err
 */
bool om_peers_install(struct om_daemon *d, const struct om_agent_key *key);
/* The other end has used a key. */
void om_peers_key_used(struct om_daemon *d, uint32_t peer_id, uint32_t local_id);
/* Delete a key that was offered, unless the other end has used it: see om_peers_tidy(). */
void om_peers_forget_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id);
/* Do the work that waits until all events are read. True: an error is in d->err. */
bool om_peers_tidy(struct om_daemon *d);
/* The file again: the kernel's device and peers become what it says. */
int om_peers_reload(struct om_daemon *d);
/* The kernel is told of another public key of ours. */
int om_peers_bind(struct om_daemon *d);

/* Give up the time of the peer that "omertactl times forget" names. */
int om_peers_forget_time(struct om_daemon *d);

/* Have the name of a peer that does not answer looked up. */
void om_peers_ask(struct om_daemon *d, struct om_agent_peer *peer, uint64_t now);
void om_peers_resolved(struct om_daemon *d);

#endif
