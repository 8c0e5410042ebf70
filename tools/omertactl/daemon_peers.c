// SPDX-License-Identifier: GPL-2.0
#include "daemon_peers.h"

#include "keygen.h"
#include "state.h"
#include "sync.h"

#include <string.h>
#include <time.h>

/* Names of those that do not answer are looked up so often. */
#define LOOK_UP_MS		15000

static int read_config(struct om_daemon *d, enum om_config_flags flags,
		       struct om_config *conf, struct om_err *err)
{
	int rc = om_config_read(d->config, OM_CONFIG_SECRETS | flags, conf, err);

	if (!rc && !conf->host.private_key) {
		rc = om_err(err, OM_USAGE,
			    "\"%s\": [Interface]: PrivateKeyFile or PrivateKey is missing",
			    d->config);
		om_config_free(conf);
	}
	return rc;
}

/* Who we are; false for a private key that is none */
static bool set_host(struct om_agent *agent, const uint8_t *private_key)
{
	memset(&agent->host, 0, sizeof(agent->host));
	memcpy(agent->host.pair.secret, private_key, OM_NOISE_KEY);
	return om_hs_host_init(&agent->host);
}

int om_peers_read_config(struct om_daemon *d, struct om_err *err)
{
	int rc = read_config(d, OM_CONFIG_NO_NAMES, &d->conf, err);

	if (!rc && !set_host(d->agent, d->conf.host.private_key))
		rc = om_err(err, OM_USAGE, "\"%s\": not a private key", d->config);
	return rc;
}

/* What the file says of a peer, or NULL */
static const struct om_peer_conf *conf_of(const struct om_config *conf,
					  const uint8_t *public)
{
	for (size_t i = 0; i < conf->peers.n; i++)
		if (om_key_equal(OM_AT(&conf->peers, struct om_peer, i)->public_key,
				 public))
			return OM_AT(&conf->peer_conf, struct om_peer_conf, i);
	return NULL;
}

static const struct om_peer *find_peer(const struct om_state *state, uint32_t id)
{
	for (size_t i = 0; i < state->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&state->peers, struct om_peer, i);

		if (peer->id == id)
			return peer;
	}
	return NULL;
}

/* What of it only the file knows */
static void configure(struct om_daemon *d, struct om_agent_peer *peer)
{
	const struct om_peer_conf *c = conf_of(&d->conf, peer->hs.public);

	if (c && c->psk)
		memcpy(peer->hs.psk, c->psk, sizeof(peer->hs.psk));
	else
		memset(peer->hs.psk, 0, sizeof(peer->hs.psk));
	peer->kem = c ? c->kem : OM_KEM_OFF;
}

static void drop_peers(struct om_daemon *d, const struct om_state *state)
{
	for (size_t i = d->agent->peers; i-- > 0;) {
		const struct om_agent_peer *old = &d->agent->peer[i];
		const struct om_peer *peer = find_peer(state, old->id);

		if (!peer || !om_key_equal(peer->public_key, old->hs.public))
			om_agent_remove(d->agent, old->id);
	}
}

static void add_peers(struct om_daemon *d, const struct om_state *state)
{
	uint8_t key[OM_NOISE_KEY];

	for (size_t i = 0; i < state->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&state->peers, struct om_peer, i);
		struct om_agent_peer *a = om_agent_find(d->agent, peer->id);

		if (!a && !om_key_is_zero(peer->public_key)) {
			a = om_agent_add(d->agent, peer->id);
			memcpy(a->hs.public, peer->public_key, OM_NOISE_KEY);
			om_times_key(d->agent->host.pair.public, peer->public_key,
				     key);
			om_times_get(d->times, key, a->latest);
			om_hs_peer_init(&a->hs);
		}
		if (a)
			configure(d, a);
	}
}

static const struct om_key *active_key(const struct om_state *state, uint32_t id)
{
	for (size_t i = 0; i < state->keys.n; i++) {
		const struct om_key *key = OM_AT(&state->keys, struct om_key, i);

		if (key->peer_id == id && key->state == OMERTA_KEY_STATE_ACTIVE)
			return key;
	}
	return NULL;
}

/* Events that came before us: what they asked for is done now. */
static void catch_up(struct om_daemon *d, const struct om_state *state,
		     uint64_t now)
{
	for (size_t i = 0; i < d->agent->peers; i++) {
		uint32_t id = d->agent->peer[i].id;
		const struct om_peer *peer = find_peer(state, id);
		const struct om_key *key = active_key(state, id);

		if (key ? key->age >= OM_AGENT_SOFT_S * 1000 :
			  peer->keepalive && peer->endpoint_addr.len)
			om_agent_tell(d->agent, now, id,
				      key ? OM_AGENT_KEY_SOFT :
					    OM_AGENT_KEY_NEEDED, 0);
	}
}

int om_peers_adopt(struct om_daemon *d)
{
	struct om_state state;
	struct timespec ts;
	uint64_t now;
	int rc = om_state_load(d->nl, d->ifname, OM_PEERS | OM_KEYS, &state,
			       &d->err);

	if (rc)
		return rc;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	om_times_get(d->times, d->agent->host.pair.public, d->agent->latest);
	drop_peers(d, &state);
	add_peers(d, &state);
	catch_up(d, &state, now);
	om_state_free(&state);
	return OM_OK;
}

bool om_peers_get(struct om_daemon *d, uint32_t id, struct om_peer *peer)
{
	const struct om_agent_peer *known = om_agent_find(d->agent, id);
	struct om_peer ref;

	om_peer_ref(&ref, d->ifname, id);
	if (known && !om_nl_get(d->nl, OMERTA_CMD_PEER_GET, &om_peer_object, &ref,
				peer, &d->err)) {
		om_list_free(&peer->allowed_ips);
		if (om_key_equal(peer->public_key, known->hs.public))
			return true;
	}
	d->adopt = true;
	return false;
}

int om_peers_delete_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id)
{
	struct om_key ref = {
		.has = OM_BIT(OMERTA_A_KEY_IFNAME) |
		       OM_BIT(OMERTA_A_KEY_PEER_ID) |
		       OM_BIT(OMERTA_A_KEY_LOCAL_ID),
		.peer_id = peer_id,
		.local_id = local_id,
	};

	strncpy(ref.ifname, d->ifname, sizeof(ref.ifname) - 1);
	return om_nl_do(d->nl, OMERTA_CMD_KEY_DEL, &om_key_object, &ref, &d->err);
}

int om_peers_forget_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id)
{
	struct om_state state;
	int rc = om_state_load(d->nl, d->ifname, OM_KEYS, &state, &d->err);

	if (rc)
		return rc;
	for (size_t i = 0; i < state.keys.n && !rc; i++) {
		const struct om_key *key = OM_AT(&state.keys, struct om_key, i);

		/* The event that tells of its use may have been lost. */
		if (key->peer_id == peer_id && key->local_id == local_id &&
		    key->state == OMERTA_KEY_STATE_INSTALLED)
			rc = om_peers_delete_key(d, peer_id, local_id);
	}
	om_state_free(&state);
	return rc;
}

bool om_peers_drop_key(struct om_daemon *d, uint32_t peer_id)
{
	const struct om_key *oldest = NULL;
	struct om_state state;
	bool dropped;

	if (om_state_load(d->nl, d->ifname, OM_KEYS, &state, &d->err))
		return false;
	for (size_t i = 0; i < state.keys.n; i++) {
		const struct om_key *key = OM_AT(&state.keys, struct om_key, i);

		if (key->peer_id == peer_id &&
		    key->state != OMERTA_KEY_STATE_ACTIVE &&
		    (!oldest || key->age > oldest->age))
			oldest = key;
	}
	dropped = oldest && !om_peers_delete_key(d, peer_id, oldest->local_id);
	om_state_free(&state);
	return dropped;
}

static int sync_kernel(struct om_daemon *d, struct om_config *conf)
{
	struct om_state state;
	int rc = om_state_load(d->nl, d->ifname, OM_PEERS | OM_PREFIXES, &state,
			       &d->err);

	if (rc)
		return rc;
	if ((conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK)) &&
	    conf->dev.fwmark != state.dev.fwmark)
		rc = om_err(&d->err, OM_USAGE,
			    "\"%s\": FwMark: routes may go by the mark of now: down and up changes it",
			    d->config);
	else
		rc = om_sync_apply(d->nl, d->ifname, conf, &state, false,
				   &d->err);
	om_state_free(&state);
	return rc;
}

int om_peers_reload(struct om_daemon *d)
{
	struct om_config conf;
	int rc = read_config(d, OM_CONFIG_NO_NAMES, &conf, &d->err);

	if (rc)
		return rc;
	rc = sync_kernel(d, &conf);
	if (rc) {
		/* Some of it may have been done. */
		d->adopt = true;
		om_config_free(&conf);
		return rc;
	}
	/* With another key we are somebody else, to whom nobody has answered. */
	if (!om_key_equal(conf.host.private_key, d->conf.host.private_key)) {
		while (d->agent->peers)
			om_agent_remove(d->agent, d->agent->peer[0].id);
		if (!set_host(d->agent, conf.host.private_key))
			rc = om_err(&d->err, OM_USAGE,
				    "\"%s\": not a private key", d->config);
	}
	om_config_free(&d->conf);
	d->conf = conf;
	return rc ? rc : om_peers_adopt(d);
}

void om_peers_ask(struct om_daemon *d, uint64_t now)
{
	if (now - d->asked_at < LOOK_UP_MS)
		return;
	for (size_t i = 0; i < d->agent->peers; i++) {
		const struct om_agent_peer *peer = &d->agent->peer[i];
		const struct om_peer_conf *c = conf_of(&d->conf, peer->hs.public);

		if (!om_agent_unanswered(peer) || !c || !*c->endpoint)
			continue;
		om_resolver_ask(&d->resolver, c->endpoint);
		d->asked_at = now;
	}
}

/* A peer whose name means another address now */
static void move_peer(struct om_daemon *d, const struct om_agent_peer *peer,
		      const struct om_peer *to)
{
	struct om_peer req, now;

	if (!om_peers_get(d, peer->id, &now) || om_endpoint_equal(&now, to))
		return;
	om_peer_ref(&req, d->ifname, peer->id);
	req.has |= to->has & (OM_BIT(OMERTA_A_PEER_ENDPOINT_ADDR) |
			      OM_BIT(OMERTA_A_PEER_ENDPOINT_PORT) |
			      OM_BIT(OMERTA_A_PEER_ENDPOINT_SCOPE));
	req.endpoint_addr = to->endpoint_addr;
	req.endpoint_port = to->endpoint_port;
	req.endpoint_scope = to->endpoint_scope;
	if (om_nl_do(d->nl, OMERTA_CMD_PEER_SET, &om_peer_object, &req, &d->err))
		om_complain(d->err.text);
}

void om_peers_resolved(struct om_daemon *d)
{
	struct om_resolver_answer a;

	while (om_resolver_answer(&d->resolver, &a)) {
		if (!a.found || (a.peer.endpoint_addr.len != 4 &&
				 a.peer.endpoint_addr.len != 16))
			continue;
		for (size_t i = 0; i < d->agent->peers; i++) {
			const struct om_agent_peer *peer = &d->agent->peer[i];
			const struct om_peer_conf *c =
				conf_of(&d->conf, peer->hs.public);

			if (om_agent_unanswered(peer) && c &&
			    !strcmp(c->endpoint, a.endpoint))
				move_peer(d, peer, &a.peer);
		}
	}
}
