/* SPDX-License-Identifier: GPL-2.0 */
/* What the daemon knows, and where its peers come from: the kernel and a file. */
#ifndef OM_DAEMON_PEERS_H
#define OM_DAEMON_PEERS_H

#include "agent.h"
#include "config.h"
#include "nl.h"
#include "resolver.h"
#include "times.h"

struct om_daemon {
	const char *ifname;
	const char *config;
	struct om_nl *nl;		/* requests */
	struct om_nl_control *control;
	struct om_nl_events *events;
	struct om_resolver resolver;
	struct om_times *times;
	struct om_agent *agent;		/* in guarded memory */
	struct om_config conf;
	int signals;
	int timer;
	bool end;
	bool adopt;			/* the kernel may have other peers now */
	uint64_t adopt_at;		/* not before */
	uint64_t asked_at;		/* for names */
	struct om_err err;		/* of what does not end the agent */
	char told[sizeof(((struct om_err *)0)->text)];
	uint64_t told_at;
};

/* The file for the first time */
int om_peers_read_config(struct om_daemon *d, struct om_err *err);
/* Take the peers that the kernel has. Errors of this and the others are in d->err. */
int om_peers_adopt(struct om_daemon *d);
/*
 * A peer as the kernel has it now, without its prefixes; false if it is not there, or
 * its id is another's meanwhile, whose keys must not be mixed up.
 */
bool om_peers_get(struct om_daemon *d, uint32_t id, struct om_peer *peer);
/* Delete a key that was offered, unless the other end has used it. */
int om_peers_forget_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id);
/* Delete a key, or that which a peer is the least likely to use any more. */
int om_peers_delete_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id);
bool om_peers_drop_key(struct om_daemon *d, uint32_t peer_id);
/* The file again: the kernel's device and peers become what it says. */
int om_peers_reload(struct om_daemon *d);

/* Have the names looked up of those that do not answer. */
void om_peers_ask(struct om_daemon *d, uint64_t now);
void om_peers_resolved(struct om_daemon *d);

#endif
