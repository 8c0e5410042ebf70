// SPDX-License-Identifier: GPL-2.0
#include "agent/daemon_endpoints.h"

#include "lib/mtu.h"
#include "lib/rtnl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

/* Pause between two lookups of the name of a peer that does not answer, */
#define ASK_MS		15000
/* and of one that has no endpoint: doubled each time */
#define FIRST_MS	1000
#define MOST_MS		60000
/* Changes of the network come in groups. If they go on, they count less and less often. */
#define SETTLE_MS	200
#define CALM_MS		10000
/* A peer that was heard in this time is not looked for elsewhere. */
#define HEARD_MS	15000
/* Most answers that are taken at a time */
#define ANSWERS		16

int om_endpoints_open(struct om_daemon *d, struct om_err *err)
{
	d->routes = om_rtnl_open(d->ifname, err);
	if (d->routes)
		d->network = om_rtnl_watch(err);
	return d->network ? OM_OK : OM_SYSTEM;
}

void om_endpoints_close(struct om_daemon *d)
{
	om_rtnl_close(d->routes);
	om_rtnl_close(d->network);
}

/*
 * Names
 */

static const char *endpoint_of(const struct om_daemon *d, const struct om_agent_peer *peer)
{
	const struct om_peer_conf *c = om_peers_conf(d, peer->hs.public);

	return c ? c->endpoint : NULL;
}

/*
 * One question of a peer is under way at a time, so that slow names do not fill the queue. @at_once:
 * do not wait for the pause after the latest answer
 */
static void ask(struct om_daemon *d, struct om_agent_peer *peer, uint64_t now, bool at_once)
{
	const char *endpoint = endpoint_of(d, peer);
	uint32_t pause = peer->nowhere ? peer->ask_pause : ASK_MS;

	if (!endpoint || peer->asking ||
	    (!at_once && peer->asked_at && now - peer->asked_at < pause) ||
	    !om_resolver_ask(&d->resolver, peer->id, endpoint))
		return;
	peer->asking = true;
	peer->asked_at = now;
	peer->ask_pause = at_once || !pause ? FIRST_MS : 2 * pause < MOST_MS ? 2 * pause : MOST_MS;
}

static void tell(struct om_daemon *d, int level, const struct om_agent_peer *peer,
		 const char *what, const char *why)
{
	struct om_err err;

	om_err(&err, OM_OK, "%s%s", what, why);
	om_peers_log(d, level, peer->id, err.text);
}

static void tell_nowhere(struct om_daemon *d, struct om_agent_peer *peer, int error)
{
	if (peer->nowhere_told || !peer->nowhere)
		return;
	peer->nowhere_told = true;
	tell(d, LOG_WARNING, peer, "it has no endpoint yet: ",
	     error == EAGAIN ? "no name server answers" :
	     error == ENODEV ? "the link of its address does not exist" :
	     error == ENOENT ? "its name is not known" : "its name cannot be resolved");
}

/*
 * Addresses
 */

static bool reaches(struct om_daemon *d, const struct om_addr *addr, uint32_t scope)
{
	return om_rtnl_reaches(d->routes, addr, scope, d->mark);
}

static bool is_current(const struct om_peer *now, const struct om_resolver_addr *a)
{
	return now->endpoint_addr.len == a->addr.len && now->endpoint_port == a->port &&
	       now->endpoint_scope == a->scope &&
	       !memcmp(now->endpoint_addr.b, a->addr.b, a->addr.len);
}

static bool use(struct om_daemon *d, struct om_agent_peer *peer,
		const struct om_resolver_addr *a)
{
	char text[OM_ENDPOINT_LEN];
	struct om_peer req;

	om_peer_ref(&req, d->ifname, peer->id);
	req.has |= OM_BIT(OMERTA_A_PEER_ENDPOINT_ADDR) | OM_BIT(OMERTA_A_PEER_ENDPOINT_PORT) |
		   (a->scope ? OM_BIT(OMERTA_A_PEER_ENDPOINT_SCOPE) : 0);
	req.endpoint_addr = a->addr;
	req.endpoint_port = a->port;
	req.endpoint_scope = a->scope;
	if (om_nl_do(d->nl, OMERTA_CMD_PEER_SET, &om_peer_object, &req, &d->err)) {
		om_complain(d->err.text);
		return false;
	}
	om_endpoint_format(text, sizeof(text), &req);
	/* Not for each of several addresses in turn */
	tell(d, peer->nowhere || d->network_changed ? LOG_NOTICE : LOG_INFO, peer,
	     "it is looked for at ", text);
	peer->nowhere = false;
	peer->nowhere_told = false;
	peer->ask_pause = 0;
	peer->untried = true;
	/* The path may have another MTU. */
	d->mtu_due = true;
	d->adopt |= !d->conf.host.mtu;
	return true;
}

void om_endpoints_set_mtu(struct om_daemon *d, const struct om_list *peers, uint32_t chunk)
{
	uint32_t before = d->mtu;
	struct om_mtu choice;
	char text[160];

	if (d->conf.host.mtu || (before && !d->mtu_due) ||
	    om_mtu_choose(d->routes, peers, chunk, om_config_has_v6(&d->conf), d->mark, &choice,
			  &d->err))
		return;
	d->mtu = choice.mtu;
	d->mtu_due = false;
	/* The first choice is that of "up", unless an administrator has made another. */
	if (!before || before == choice.mtu)
		return;
	if (om_rtnl_set_mtu(d->routes, choice.mtu, &d->err) || om_rtnl_flush(d->routes, &d->err)) {
		om_complain(d->err.text);
		return;
	}
	om_mtu_describe(text, sizeof(text), &choice);
	om_err(&d->err, OM_OK, "%s: %s", d->ifname, text);
	om_log(LOG_NOTICE, d->err.text);
}

/*
 * Use the next address that has a route, or @any. Returns false if there is none but the current
 * one.
 */
static bool use_next(struct om_daemon *d, struct om_agent_peer *peer, const struct om_peer *now,
		     bool any)
{
	for (uint32_t i = 0; i < peer->addrs; i++) {
		uint32_t k = (peer->next_addr + i) % peer->addrs;
		const struct om_resolver_addr *a = &peer->addr[k];

		if (is_current(now, a) || (!any && !reaches(d, &a->addr, a->scope)))
			continue;
		peer->next_addr = k + 1;
		return use(d, peer, a);
	}
	return false;
}

bool om_endpoints_reach(struct om_daemon *d, uint32_t peer_id, struct om_peer *now)
{
	struct om_agent_peer *peer;

	if (!om_peers_get(d, peer_id, now))
		return false;
	peer = om_agent_find(d->agent, peer_id);
	peer->nowhere = !now->endpoint_addr.len;
	if (endpoint_of(d, peer) &&
	    (peer->nowhere || !reaches(d, &now->endpoint_addr, now->endpoint_scope))) {
		ask(d, peer, om_daemon_now(), false);
		if (use_next(d, peer, now, peer->nowhere) && !om_peers_get(d, peer_id, now))
			return false;
	}
	peer->untried = false;
	return now->endpoint_addr.len;
}

/* Records of the peer still arrive, so it is where the kernel says. */
static bool is_heard(const struct om_peer *now)
{
	return (now->has & OM_BIT(OMERTA_A_PEER_RX_AGE)) && now->rx_age < HEARD_MS;
}

void om_endpoints_unanswered(struct om_daemon *d, struct om_agent_peer *peer)
{
	struct om_peer now;

	if (!endpoint_of(d, peer))
		return;
	ask(d, peer, om_daemon_now(), false);
	if (!peer->addrs || peer->untried || !om_peers_get(d, peer->id, &now) || is_heard(&now))
		return;
	/* Routes may be those of another network namespace than the tunnel's sockets. */
	if (!use_next(d, peer, &now, false) &&
	    !reaches(d, &now.endpoint_addr, now.endpoint_scope))
		use_next(d, peer, &now, true);
}

void om_endpoints_forget(struct om_agent_peer *peer)
{
	peer->addrs = 0;
	peer->next_addr = 0;
	peer->asked_at = 0;
	peer->asking = false;
	peer->ask_pause = 0;
	peer->nowhere_told = false;
}

void om_endpoints_see(struct om_daemon *d, struct om_agent_peer *peer,
		      const struct om_peer *now)
{
	bool changed = d->network_changed;

	peer->nowhere = !now->endpoint_addr.len;
	if (peer->nowhere) {
		if (endpoint_of(d, peer))
			d->nowhere = true;
		ask(d, peer, om_daemon_now(), changed);
	} else if (changed && endpoint_of(d, peer) &&
		   !reaches(d, &now->endpoint_addr, now->endpoint_scope)) {
		ask(d, peer, om_daemon_now(), true);
		use_next(d, peer, now, false);
	}
	if (changed)
		om_agent_tell(d->agent, om_daemon_now(), peer->id, OM_AGENT_NETWORK, 0);
}

/* Take the addresses of a name. Others than before begin with the first. */
static void take_addrs(struct om_agent_peer *peer, const struct om_resolver_answer *a)
{
	struct om_resolver_addr old[OM_RESOLVER_ADDRS];
	uint32_t n = peer->addrs;

	memcpy(old, peer->addr, sizeof(old));
	peer->addrs = 0;
	memset(peer->addr, 0, sizeof(peer->addr));
	for (uint32_t i = 0; i < a->n && i < OM_RESOLVER_ADDRS; i++)
		if (a->addr[i].addr.len == 4 || a->addr[i].addr.len == 16)
			peer->addr[peer->addrs++] = a->addr[i];
	if (peer->addrs != n || memcmp(old, peer->addr, sizeof(old)))
		peer->next_addr = 0;
}

static bool has_current(const struct om_agent_peer *peer, const struct om_peer *now)
{
	for (uint32_t i = 0; i < peer->addrs; i++)
		if (is_current(now, &peer->addr[i]))
			return true;
	return false;
}

/* The answer comes from a process that is not trusted. */
static void take(struct om_daemon *d, struct om_agent_peer *peer,
		 const struct om_resolver_answer *a)
{
	bool there, reached;
	struct om_peer now;

	/* The pause begins with the answer, which may take long. */
	peer->asked_at = om_daemon_now();
	if (!a->n) {
		/* Known addresses stay. */
		tell_nowhere(d, peer, a->error);
		return;
	}
	take_addrs(peer, a);
	if (!peer->addrs || !om_peers_get(d, peer->id, &now))
		return;
	there = now.endpoint_addr.len;
	reached = there && reaches(d, &now.endpoint_addr, now.endpoint_scope);
	if (reached && (!om_agent_unanswered(peer) || has_current(peer, &now) || is_heard(&now)))
		return;
	if (!use_next(d, peer, &now, false) && (there || !use_next(d, peer, &now, true)))
		return;
	/* Packets or keepalives may wait for it. */
	om_agent_tell(d->agent, om_daemon_now(), peer->id, OM_AGENT_NETWORK, 0);
	if (!there && now.keepalive)
		om_agent_tell(d->agent, om_daemon_now(), peer->id, OM_AGENT_EARLY, 0);
}

void om_endpoints_resolved(struct om_daemon *d)
{
	struct om_resolver_answer a;
	struct om_agent_peer *peer;
	const char *endpoint;

	/* Bounded, whatever the other process sends. */
	for (int i = 0; i < ANSWERS && om_resolver_answer(&d->resolver, &a); i++) {
		peer = om_agent_find(d->agent, a.id);
		endpoint = peer ? endpoint_of(d, peer) : NULL;
		/* The file may have changed since the question. */
		if (!endpoint || !peer->asking || strncmp(endpoint, a.endpoint, sizeof(a.endpoint)))
			continue;
		peer->asking = false;
		take(d, peer, &a);
	}
}

/*
 * Time
 */

void om_endpoints_network(struct om_daemon *d)
{
	uint64_t now = om_daemon_now();

	if (d->network_at)
		return;
	/* On a router routes change all the time. */
	if (!d->network_pause || now - d->network_seen > CALM_MS + d->network_pause)
		d->network_pause = SETTLE_MS;
	else
		d->network_pause = 2 * d->network_pause < MOST_MS ? 2 * d->network_pause : MOST_MS;
	d->network_at = now + d->network_pause;
}

uint64_t om_endpoints_run(struct om_daemon *d, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	if (d->network_at && now >= d->network_at) {
		om_rtnl_drain(d->network);
		d->network_at = 0;
		d->network_seen = now;
		d->network_changed = true;
		d->adopt = true;
		d->left |= !om_peers_find_device(d);
	}
	if (d->network_at)
		next = d->network_at;
	if (!d->nowhere)
		return next;
	if (now >= d->nowhere_at) {
		d->nowhere = false;
		d->nowhere_at = now + FIRST_MS;
		for (struct om_agent_peer *p = d->agent->first; p; p = p->next) {
			if (!p->nowhere || !endpoint_of(d, p))
				continue;
			ask(d, p, now, false);
			d->nowhere = true;
		}
	}
	return d->nowhere && d->nowhere_at < next ? d->nowhere_at : next;
}
