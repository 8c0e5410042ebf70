/* SPDX-License-Identifier: GPL-2.0 */
/* The state of the agent's process, and its peers, which come from the kernel and a file */
#ifndef OM_DAEMON_PEERS_H
#define OM_DAEMON_PEERS_H

#include "agent/agent.h"
#include "lib/config.h"
#include "lib/nl.h"
#include "lib/peer_index.h"
#include "lib/rtnl.h"
#include "agent/resolver.h"
#include "lib/times.h"

#include <limits.h>
#include <sys/stat.h>

/* Number of initiations whose refusal is understood; refusals are read soon. */
#define OM_DAEMON_SENT		64

struct om_daemon {
	char ifname[IFNAMSIZ];		/* current name */
	uint32_t ifindex;		/* 0 until the first dump */
	bool left;			/* the device is not in this network namespace any more */
	const char *config;
	struct om_nl *nl;		/* requests */
	struct om_nl_control *control;
	struct om_nl_events *events;
	struct om_resolver resolver;
	struct om_rtnl *routes;
	struct om_rtnl *network;	/* tells of changes */
	uint64_t network_at;		/* when to look at a change, 0 for none */
	uint64_t network_seen;		/* when the latest change was looked at */
	uint32_t network_pause;		/* time to wait for more changes */
	bool network_changed;		/* since the latest dump */
	bool nowhere;			/* peers with a name have no endpoint */
	uint64_t nowhere_at;		/* when to look for them */
	uint32_t mark;			/* mark of outgoing datagrams */
	uint32_t channels;		/* number of the device's */
	uint32_t mtu;			/* latest choice of the device's MTU, or 0 */
	bool mtu_due;			/* paths may have changed since */
	struct om_times *times;
	const char *state_dir;		/* folder of @times_path */
	char times_path[PATH_MAX];
	struct om_agent *agent;		/* in guarded memory */
	struct om_config conf;
	struct om_peer_index conf_of;	/* the peers of @conf */
	struct stat read;		/* the file, at the time */
	bool unread;			/* in vain, so @conf is that of an older one */
	bool reread;			/* a peer may be in a newer file */
	int signals;
	int timer;
	uint64_t timer_at;		/* expiry of @timer, UINT64_MAX for never */
	bool end;
	bool adopt;			/* the kernel's peers may have changed */
	bool lost;			/* events were lost: confirmations may be missing */
	bool rebind;			/* the kernel does not know our public key yet */
	uint64_t adopt_at;		/* earliest time of the next dump */
	uint64_t readings;		/* number of dumps of all peers */
	struct {
		uint32_t id;		/* peer of the latest lookup, and its endpoint */
		struct om_addr addr;
		uint16_t port;
		uint32_t scope;
	} reached;
	struct {
		uint32_t seq;		/* a request to send an initiation */
		uint32_t id;		/* its peer */
		uint32_t local_id;	/* its key id */
	} sent[OM_DAEMON_SENT];
	unsigned int next_sent;		/* the oldest of @sent */
	struct om_list to_report;	/* uint32_t, peers that have changed */
	uint64_t reported[OMERTA_A_AGENT_STATS_MAX + 1];	/* counters that were reported */
	uint64_t report_at;		/* earliest time of the next report of counters alone */
	struct om_list stale;		/* struct om_stale_peer */
	struct om_list doomed;		/* struct om_doomed_key */
	struct om_err err;		/* latest error that does not end the agent */
	uint64_t shown[OM_AGENT_TROUBLES];	/* counters in the service's status */
	uint64_t show_at;		/* earliest time of the next status */
	char told[sizeof(((struct om_err *)0)->text)];	/* latest message */
	uint64_t told_at;
};

/* A peer that differs between the kernel and the agent, or that the agent does not know */
struct om_stale_peer {
	uint32_t id;
	bool wanted;			/* a key is wanted */
};

/* An offered key to delete, unless the other end has used it */
struct om_doomed_key {
	uint32_t peer_id;
	uint32_t local_id;
};

/* Return the time in milliseconds of a clock that runs in suspend, like the ages of keys. */
uint64_t om_daemon_now(void);

/* Read the configuration file for the first time. */
int om_peers_read_config(struct om_daemon *d, struct om_err *err);
/* Open the file with the times of the configuration's private key. */
int om_peers_open_times(struct om_daemon *d, struct om_err *err);
/* Free all memory of these functions, but not the agent. */
void om_peers_end(struct om_daemon *d);
/* Follow a new name of the device. Returns false if it is not here any more. */
bool om_peers_find_device(struct om_daemon *d);
/* Adopt the kernel's peers and keys. This and the functions below put errors into d->err. */
int om_peers_adopt(struct om_daemon *d);
/* Have om_peers_tidy() look at a peer again. @wanted: and ask for a key */
void om_peers_look(struct om_daemon *d, uint32_t id, bool wanted);
/*
 * Read a peer from the kernel, without its prefixes. Returns false if it does not exist, or
 * if another peer has got its id, with which its keys must not be mixed up.
 */
bool om_peers_get(struct om_daemon *d, uint32_t id, struct om_peer *peer);
/*
 * Install a key, in place of an old one if the peer has too many. Returns false if the key
 * is not installed; d->err then has a text if that is an error.
 */
bool om_peers_install(struct om_daemon *d, const struct om_agent_key *key);
/* The other end has used a key. */
void om_peers_key_used(struct om_daemon *d, uint32_t peer_id, uint32_t local_id);
/* Have om_peers_tidy() delete an offered key, unless the other end has used it. */
void om_peers_forget_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id);
/* Do the work deferred until all events are read. Returns true for an error in d->err. */
bool om_peers_tidy(struct om_daemon *d);
/* Read the file again, and apply it to the kernel's device and peers. */
int om_peers_reload(struct om_daemon *d);
/*
 * Read the file again, but take only the secrets of peers that it lacked: whether the rest of it is
 * to be in effect yet is unknown.
 */
int om_peers_reread(struct om_daemon *d);
/* Report our public key to the kernel, if it has changed. */
int om_peers_bind(struct om_daemon *d);

/* Log d->err, unless it is empty: the same error once a minute, as strangers can cause many. */
void om_daemon_note(struct om_daemon *d);
/* Log something about a peer, with the device, and the peer's name if it has one. */
void om_peers_log(struct om_daemon *d, int level, uint32_t peer_id, const char *text);
/* Have om_peers_report() show a peer's handshakes. */
void om_peers_changed(struct om_daemon *d, struct om_agent_peer *peer);
/*
 * Log changes of peers' handshakes, and show them to readers of the kernel's state. Returns the
 * time of the next call, UINT64_MAX for any.
 */
uint64_t om_peers_report(struct om_daemon *d);

/* Forget the time of the peer that "omertactl times forget" names. */
int om_peers_forget_time(struct om_daemon *d);

/* Return the file's settings of a peer, or NULL. */
const struct om_peer_conf *om_peers_conf(const struct om_daemon *d, const uint8_t *public);

#endif
