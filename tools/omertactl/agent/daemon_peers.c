// SPDX-License-Identifier: GPL-2.0
#include "agent/daemon_peers.h"

#include "agent/daemon_endpoints.h"

#include "lib/keygen.h"
#include "lib/quote.h"
#include "lib/state.h"
#include "lib/sync.h"
#include "lib/times_forget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

/* Most peers that are read one by one; if there are more, all are dumped. */
#define STALE_MAX		256
/* Most peers in one report to the kernel */
#define REPORTED		64
/* Time between two reports of counters alone */
#define REPORT_MS		10000

/* Load our own key pair; false if the private key is invalid. */
static bool set_host(struct om_agent *agent, const uint8_t *private_key)
{
	memset(&agent->host, 0, sizeof(agent->host));
	memcpy(agent->host.pair.secret, private_key, OM_NOISE_KEY);
	return om_hs_host_init(&agent->host);
}

/* Index the file's peers by public key. */
static void index_config(struct om_daemon *d)
{
	om_peer_index_init(&d->conf_of);
	for (size_t i = 0; i < d->conf.peers.n; i++)
		om_peer_index_add_key(&d->conf_of,
				      OM_AT(&d->conf.peers, struct om_peer, i)->public_key,
				      i);
}

const struct om_peer_conf *om_peers_conf(const struct om_daemon *d, const uint8_t *public)
{
	size_t at;

	return om_peer_index_key(&d->conf_of, public, &at) ?
	       OM_AT(&d->conf.peer_conf, struct om_peer_conf, at) : NULL;
}

static int read_file(struct om_daemon *d, struct om_config *conf, struct om_err *err)
{
	int rc;

	d->reread = false;
	if (stat(d->config, &d->read))
		d->read = (struct stat){ 0 };
	rc = om_config_read(d->config, OM_CONFIG_SECRETS | OM_CONFIG_AGENT | OM_CONFIG_NO_NAMES,
			    conf, err);
	if (rc && err->sys == EACCES)
		om_err_append(err, " (the agent runs as the owner of %.100s, who has to be able to read it)",
			      OM_QUOTE_FILE(d->state_dir));
	d->unread = rc;
	return rc;
}

/* Return true if the file may have changed since it was read. */
static bool has_newer_file(const struct om_daemon *d)
{
	struct stat st;

	return !stat(d->config, &st) &&
	       (st.st_dev != d->read.st_dev || st.st_ino != d->read.st_ino ||
		st.st_ctim.tv_sec != d->read.st_ctim.tv_sec ||
		st.st_ctim.tv_nsec != d->read.st_ctim.tv_nsec);
}

int om_peers_read_config(struct om_daemon *d, struct om_err *err)
{
	int rc = read_file(d, &d->conf, err);

	if (!rc && !set_host(d->agent, d->conf.host.private_key))
		rc = om_err(err, OM_USAGE, "%s: not a private key", OM_QUOTE_FILE(d->config));
	if (!rc)
		index_config(d);
	return rc;
}

void om_peers_end(struct om_daemon *d)
{
	om_peer_index_free(&d->conf_of);
	om_list_free(&d->stale);
	om_list_free(&d->doomed);
	om_list_free(&d->to_report);
}

uint64_t om_daemon_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool has_other_psk(const struct om_daemon *d, const struct om_agent_peer *peer)
{
	const struct om_peer_conf *c = om_peers_conf(d, peer->hs.public);

	return c && c->psk ? !om_key_equal(c->psk, peer->hs.psk) :
			     !om_key_is_zero(peer->hs.psk);
}

/* Number of channels of a peer for which it wants @channels */
static uint8_t usable_channels(const struct om_daemon *d, uint32_t channels)
{
	if (channels > d->channels)
		channels = d->channels;
	return channels ? (uint8_t)channels : 1;
}

/* Set the properties of a peer: those that are only in the file, and its channels. */
static void configure(struct om_daemon *d, struct om_agent_peer *peer, uint32_t channels)
{
	const struct om_peer_conf *c = om_peers_conf(d, peer->hs.public);

	if (c && c->psk)
		memcpy(peer->hs.psk, c->psk, sizeof(peer->hs.psk));
	else
		memset(peer->hs.psk, 0, sizeof(peer->hs.psk));
	om_agent_configure(d->agent, om_daemon_now(), peer, c ? c->kem : OM_KEM_OFF,
			   usable_channels(d, channels));
}

/*
 * Adopt a peer of the kernel. Returns NULL for one to ignore: without a public key, or perhaps from
 * a file that is newer than ours, and may have a preshared key for it.
 */
static struct om_agent_peer *adopt_peer(struct om_daemon *d, const struct om_peer *peer)
{
	struct om_agent_peer *a = om_agent_find(d->agent, peer->id);
	uint8_t key[OM_NOISE_KEY], time[OM_HS_TIME];
	bool anew = false;

	if (a && !om_key_equal(peer->public_key, a->hs.public)) {
		anew = a->knowns || a->tries || a->wanted;
		om_agent_remove(d->agent, peer->id);
		a = NULL;
	}
	if (!a && !om_key_is_zero(peer->public_key) && !om_peers_conf(d, peer->public_key) &&
	    (d->unread || has_newer_file(d))) {
		d->reread = has_newer_file(d);
	} else if (!a && !om_key_is_zero(peer->public_key)) {
		a = om_agent_add(d->agent, peer->id, peer->public_key);
		om_times_key(d->agent->host.pair.public, peer->public_key, key);
		om_times_get(d->times, key, time);
		om_agent_set_time(d->agent, a, om_daemon_now(), time);
		if (anew)
			om_agent_tell(d->agent, om_daemon_now(), a->id, OM_AGENT_ANEW, 0);
	} else if (a) {
		a->other_psk |= has_other_psk(d, a);
	}
	if (a)
		configure(d, a, peer->channels);
	return a;
}

/*
 * The keys of a peer in order of installation, kept here since the kernel can only dump the
 * keys of all peers.
 */

static struct om_agent_known *find_known(struct om_agent_peer *peer, uint32_t local_id)
{
	for (unsigned int i = 0; i < peer->knowns; i++)
		if (peer->known[i].local_id == local_id)
			return &peer->known[i];
	return NULL;
}

static void drop_known(struct om_agent_peer *peer, struct om_agent_known *known)
{
	size_t after = (size_t)(&peer->known[peer->knowns--] - (known + 1));

	memmove(known, known + 1, after * sizeof(*known));
}

static void add_known(struct om_agent_peer *peer, const struct om_agent_known *known)
{
	unsigned int i;

	/* The kernel keeps no more, so the oldest one is gone. */
	if (peer->knowns == OM_AGENT_KEYS)
		drop_known(peer, &peer->known[0]);
	for (i = peer->knowns++; i && peer->known[i - 1].at > known->at; i--)
		peer->known[i] = peer->known[i - 1];
	peer->known[i] = *known;
}

static int delete_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id)
{
	struct om_key ref = {
		.has = OM_BIT(OMERTA_A_KEY_IFNAME) |
		       OM_BIT(OMERTA_A_KEY_PEER_ID) |
		       OM_BIT(OMERTA_A_KEY_LOCAL_ID),
		.peer_id = peer_id,
		.local_id = local_id,
	};

	memcpy(ref.ifname, d->ifname, sizeof(ref.ifname));
	return om_nl_do(d->nl, OMERTA_CMD_KEY_DEL, &om_key_object, &ref, &d->err);
}

static void adopt_keys(struct om_daemon *d, const struct om_state *state, uint64_t now)
{
	for (size_t i = 0; i < state->keys.n; i++) {
		const struct om_key *key = OM_AT(&state->keys, struct om_key, i);
		struct om_agent_peer *a = om_agent_find(d->agent, key->peer_id);
		bool active = key->state == OMERTA_KEY_STATE_ACTIVE;

		if (!a)
			continue;
		if (key->channel) {
			/* It follows the first channel's. */
			struct om_agent_known *known =
				find_known(a, key->local_id - key->channel);

			if (known && known->agreed && key->channel >= known->channels)
				known->channels = (uint8_t)(key->channel + 1);
			/* Otherwise renew() would not find it. */
			else if (!known && key->handshake && a->other_psk)
				delete_key(d, a->id, key->local_id);
			continue;
		}
		add_known(a, &(struct om_agent_known){
			.local_id = key->local_id,
			.agreed = key->handshake,
			.channels = 1,
			.used = key->state != OMERTA_KEY_STATE_INSTALLED,
			.at = now - key->age,
			.used_at = active ? now : 0,
		});
		/* The event may have been lost. */
		if (active || key->state == OMERTA_KEY_STATE_RETIRED)
			om_agent_tell(d->agent, now, a->id, OM_AGENT_KEY_CONFIRMED,
				      key->local_id);
		if (!active)
			continue;
		a->active = d->readings;
		if (key->age >= OM_AGENT_SOFT_S * 1000)
			om_agent_tell(d->agent, now, a->id, OM_AGENT_KEY_SOFT, 0);
	}
}

/* Delete the keys of @n channels, the first channel's last. */
static int delete_keys(struct om_daemon *d, uint32_t peer_id, uint32_t local_id, uint8_t n)
{
	int rc = OM_OK;

	while (n--) {
		rc = delete_key(d, peer_id, local_id + n);
		if (rc && d->err.sys != ENOENT)
			break;
	}
	return rc;
}

static int delete_known(struct om_daemon *d, uint32_t peer_id, const struct om_agent_known *known)
{
	return delete_keys(d, peer_id, known->local_id, known->channels);
}

/* Delete the keys that were agreed on with another preshared key. */
static void renew(struct om_daemon *d, struct om_agent_peer *peer)
{
	bool wanted = peer->tries || peer->wanted;

	if (!peer->other_psk)
		return;
	for (unsigned int i = peer->knowns; i-- > 0;) {
		struct om_agent_known *known = &peer->known[i];

		if (!known->agreed)
			continue;
		if (delete_known(d, peer->id, known) && d->err.sys != ENOENT) {
			d->adopt = true;
			return;
		}
		drop_known(peer, known);
		wanted = true;
	}
	peer->other_psk = false;
	if (wanted)
		om_agent_tell(d->agent, om_daemon_now(), peer->id, OM_AGENT_ANEW, 0);
}

/* Adopt a dump of all peers, and act on the events that preceded this agent. */
static void adopt_state(struct om_daemon *d, const struct om_state *state)
{
	struct om_agent_peer *a, *next;
	uint64_t now = om_daemon_now();

	d->readings++;
	for (size_t i = 0; i < state->peers.n; i++) {
		a = adopt_peer(d, OM_AT(&state->peers, struct om_peer, i));
		if (!a)
			continue;
		a->seen = d->readings;
		a->knowns = 0;
	}
	for (a = d->agent->first; a; a = next) {
		next = a->next;
		if (a->seen != d->readings)
			om_agent_remove(d->agent, a->id);
	}
	adopt_keys(d, state, now);
	for (size_t i = 0; i < state->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&state->peers, struct om_peer, i);

		a = om_agent_find(d->agent, peer->id);
		if (!a)
			continue;
		om_endpoints_see(d, a, peer);
		renew(d, a);
		if (a->active != d->readings && peer->keepalive && peer->endpoint_addr.len)
			om_agent_tell(d->agent, now, a->id, OM_AGENT_EARLY, 0);
	}
}

static void know_own_time(struct om_daemon *d)
{
	uint8_t time[OM_HS_TIME];

	om_times_get(d->times, d->agent->host.pair.public, time);
	om_agent_set_own_time(d->agent, time);
}

bool om_peers_find_device(struct om_daemon *d)
{
	char name[IF_NAMESIZE] = "";
	struct om_err err;

	if (!d->ifindex)
		return true;
	if (!om_rtnl_name(d->ifindex, name))
		return false;
	if (!strcmp(name, d->ifname))
		return true;
	om_err(&err, OM_OK, "%s is called %s now", d->ifname, name);
	om_log(LOG_NOTICE, err.text);
	strcpy(d->ifname, name);
	om_nl_control_rename(d->control, name);
	return true;
}

int om_peers_adopt(struct om_daemon *d)
{
	struct om_state state;
	int rc;

	om_peers_find_device(d);
	rc = om_state_load(d->nl, d->ifname, OM_PEERS | OM_KEYS, &state, &d->err);
	if (rc)
		return rc;
	/* The name may have been an alternative one. */
	d->ifindex = state.dev.ifindex;
	om_peers_find_device(d);
	know_own_time(d);
	d->mark = state.dev.fwmark;
	d->channels = state.dev.channels;
	adopt_state(d, &state);
	d->mtu_due |= d->network_changed;
	d->network_changed = false;
	om_endpoints_set_mtu(d, &state.peers, state.dev.chunk_size);
	om_state_free(&state);
	for (size_t i = 0; i < d->stale.n; i++) {
		const struct om_stale_peer *p = OM_AT(&d->stale, struct om_stale_peer, i);

		if (p->wanted)
			om_agent_tell(d->agent, om_daemon_now(), p->id, OM_AGENT_KEY_NEEDED, 0);
	}
	d->stale.n = 0;
	d->lost = false;
	return OM_OK;
}

void om_peers_look(struct om_daemon *d, uint32_t id, bool wanted)
{
	if (d->stale.n >= STALE_MAX) {
		d->adopt = true;
		return;
	}
	*(struct om_stale_peer *)om_list_add(&d->stale, sizeof(struct om_stale_peer)) =
		(struct om_stale_peer){ id, wanted };
}

static int get_peer(struct om_daemon *d, uint32_t id, struct om_peer *peer)
{
	struct om_peer ref;
	int rc;

	om_peer_ref(&ref, d->ifname, id);
	rc = om_nl_get(d->nl, OMERTA_CMD_PEER_GET, &om_peer_object, &ref, peer,
		       &d->err);
	if (!rc) {
		om_list_free(&peer->allowed_ips);
		om_list_free(&peer->further_channels);
	}
	return rc;
}

static void look(struct om_daemon *d, const struct om_stale_peer *stale)
{
	struct om_agent_peer *a;
	struct om_peer peer;

	if (get_peer(d, stale->id, &peer)) {
		/* Any other error will also fail the dump, which reports it. */
		if (d->err.sys == ENOENT)
			om_agent_remove(d->agent, stale->id);
		else
			d->adopt = true;
		return;
	}
	a = adopt_peer(d, &peer);
	/* Once the file has been read */
	if (!a && d->reread)
		om_peers_look(d, stale->id, stale->wanted);
	if (!a)
		return;
	renew(d, a);
	if (stale->wanted && !a->wanted)
		om_agent_tell(d->agent, om_daemon_now(), stale->id, OM_AGENT_KEY_NEEDED, 0);
}

bool om_peers_get(struct om_daemon *d, uint32_t id, struct om_peer *peer)
{
	const struct om_agent_peer *known = om_agent_find(d->agent, id);

	if (known && !get_peer(d, id, peer) &&
	    om_key_equal(peer->public_key, known->hs.public)) {
		/* There is no event for this change. */
		if (usable_channels(d, peer->channels) != known->channels)
			om_peers_look(d, id, false);
		return true;
	}
	om_peers_look(d, id, known && (known->tries || known->wanted));
	return false;
}

void om_peers_log(struct om_daemon *d, int level, uint32_t peer_id, const char *text)
{
	struct om_peer peer;
	struct om_err err;
	bool named;

	if (!om_logs(level))
		return;
	named = om_peers_get(d, peer_id, &peer) && *peer.name;
	om_err(&err, OM_OK, "%s: peer %" PRIu32 "%s%s: %s", d->ifname, peer_id, named ? " " : "",
	       named ? OM_QUOTE(peer.name) : "", text);
	om_log(level, err.text);
}

/* Return the key that became active last, as far as we know. */
static const struct om_agent_known *latest_used(const struct om_agent_peer *peer)
{
	const struct om_agent_known *found = NULL;

	for (unsigned int i = 0; i < peer->knowns; i++)
		if (peer->known[i].used_at && (!found ||
					       peer->known[i].used_at >= found->used_at))
			found = &peer->known[i];
	return found;
}

/*
 * Return the newest key that we installed as initiator. It is active, even if a late event
 * reports the activation of an older one.
 */
static const struct om_agent_known *latest_own(const struct om_agent_peer *peer)
{
	for (unsigned int i = peer->knowns; i-- > 0;)
		if (peer->known[i].initiator)
			return &peer->known[i];
	return NULL;
}

/* Delete the oldest inactive key of a peer, of those that have one for @channel. */
static bool make_space(struct om_daemon *d, struct om_agent_peer *peer, uint32_t channel)
{
	for (unsigned int i = 0; i < peer->knowns;) {
		struct om_agent_known *known = &peer->known[i];
		int rc;

		if (known == latest_used(peer) || known == latest_own(peer) ||
		    (channel && channel >= known->channels)) {
			i++;
			continue;
		}
		rc = delete_known(d, peer->id, known);
		if (rc && d->err.sys != ENOENT)
			return false;
		drop_known(peer, known);
		if (!rc)
			return true;
	}
	/* Other programs have installed keys for this peer. */
	d->adopt = true;
	return false;
}

/* Not for EDQUOT: the memory of used secrets is full, and deleting keys does not help. */
static int new_key(struct om_daemon *d, const struct om_key *req, uint32_t peer_id)
{
	struct om_agent_peer *peer = om_agent_find(d->agent, peer_id);
	int rc = om_nl_do(d->nl, OMERTA_CMD_KEY_NEW, &om_key_object, req, &d->err);

	if (rc && d->err.sys == ENOSPC && peer && make_space(d, peer, req->channel))
		rc = om_nl_do(d->nl, OMERTA_CMD_KEY_NEW, &om_key_object, req, &d->err);
	return rc;
}

/* Delete the keys of the first @n channels, but of the very first one, and keep d->err. */
static void take_back(struct om_daemon *d, const struct om_agent_key *key, uint8_t n)
{
	struct om_err why = d->err;

	delete_keys(d, key->peer_id, key->local_id + 1, n - 1);
	d->err = why;
}

/*
 * Install the keys of the channels but the first, like @req: all of them, since the other end seals
 * on each channel for which it has a key.
 */
static int install_further(struct om_daemon *d, const struct om_key *req,
			   const struct om_agent_key *key)
{
	struct om_hs_keys keys;
	struct om_key further;
	uint8_t i = 1;
	int rc = OM_OK;

	om_secret_lock(&keys, sizeof(keys));
	om_secret_lock(&further, sizeof(further));
	for (; i < key->keys.channels; i++) {
		om_hs_channel_keys(&key->keys, i, &keys);
		further = *req;
		further.has |= OM_BIT(OMERTA_A_KEY_CHANNEL);
		/* The first channel's key tells when a new one is wanted. */
		further.has &= ~OM_BIT(OMERTA_A_KEY_SOFT_TIME);
		further.channel = i;
		further.local_id = req->local_id + i;
		further.remote_id = keys.remote_id;
		memcpy(further.rx_secret, keys.rx, sizeof(further.rx_secret));
		memcpy(further.tx_secret, keys.tx, sizeof(further.tx_secret));
		rc = new_key(d, &further, key->peer_id);
		if (rc)
			break;
	}
	om_secret_wipe(&further, sizeof(further));
	om_secret_wipe(&keys, sizeof(keys));
	if (rc)
		take_back(d, key, i);
	return rc;
}

bool om_peers_install(struct om_daemon *d, const struct om_agent_key *key)
{
	struct om_key req = {
		.has = OM_BIT(OMERTA_A_KEY_IFNAME) |
		       OM_BIT(OMERTA_A_KEY_PEER_ID) |
		       OM_BIT(OMERTA_A_KEY_LOCAL_ID) |
		       OM_BIT(OMERTA_A_KEY_REMOTE_ID) |
		       OM_BIT(OMERTA_A_KEY_RX_SECRET) |
		       OM_BIT(OMERTA_A_KEY_TX_SECRET) |
		       OM_BIT(OMERTA_A_KEY_ACTIVATION) |
		       OM_BIT(OMERTA_A_KEY_SEAL_TIME) |
		       OM_BIT(OMERTA_A_KEY_OPEN_TIME) |
		       OM_BIT(OMERTA_A_KEY_SOFT_TIME) |
		       OM_BIT(OMERTA_A_KEY_HANDSHAKE),
		.peer_id = key->peer_id,
		.local_id = key->local_id,
		.remote_id = key->keys.remote_id,
		.activation = key->initiator ? OMERTA_ACTIVATION_NOW :
					       OMERTA_ACTIVATION_ON_FIRST_RECORD,
		.seal_time = OM_AGENT_SEAL_S,
		.open_time = OM_AGENT_OPEN_S,
		.soft_time = key->soft_s,
		.handshake = 1,
	};
	uint64_t now = om_daemon_now();
	struct om_agent_known known = {
		.local_id = key->local_id,
		.agreed = true,
		.initiator = key->initiator,
		.channels = key->keys.channels,
		.used = key->initiator,
		.at = now,
		.used_at = key->initiator ? now : 0,
	};
	struct om_peer peer;
	int rc;

	/* The number of channels may be lower than when the handshake began: another one follows. */
	if (!om_peers_get(d, key->peer_id, &peer) ||
	    usable_channels(d, peer.channels) < key->keys.channels) {
		d->err.text[0] = '\0';
		return false;
	}
	if (key->epoch >= 0) {
		req.has |= OM_BIT(OMERTA_A_KEY_EPOCH);
		req.epoch = (uint32_t)key->epoch;
	}
	memcpy(req.ifname, d->ifname, sizeof(req.ifname));
	if (install_further(d, &req, key))
		return false;
	om_secret_lock(&req, sizeof(req));
	memcpy(req.rx_secret, key->keys.rx, sizeof(req.rx_secret));
	memcpy(req.tx_secret, key->keys.tx, sizeof(req.tx_secret));
	rc = new_key(d, &req, key->peer_id);
	om_secret_wipe(&req, sizeof(req));
	if (rc) {
		take_back(d, key, known.channels);
		return false;
	}
	/* The id may have passed to another peer in between. */
	if (!om_peers_get(d, key->peer_id, &peer)) {
		delete_known(d, key->peer_id, &known);
		d->err.text[0] = '\0';
		return false;
	}
	add_known(om_agent_find(d->agent, key->peer_id), &known);
	return true;
}

void om_peers_key_used(struct om_daemon *d, uint32_t peer_id, uint32_t local_id)
{
	struct om_agent_peer *peer = om_agent_find(d->agent, peer_id);
	struct om_agent_known *known = peer ? find_known(peer, local_id) : NULL;

	if (!known || known->used)
		return;
	known->used = true;
	known->used_at = om_daemon_now();
}

void om_peers_forget_key(struct om_daemon *d, uint32_t peer_id, uint32_t local_id)
{
	*(struct om_doomed_key *)om_list_add(&d->doomed, sizeof(struct om_doomed_key)) =
		(struct om_doomed_key){ peer_id, local_id };
}

/* Delete a key, if it is unused. Returns false for errors other than ENOENT. */
static bool forget(struct om_daemon *d, const struct om_doomed_key *doomed)
{
	struct om_agent_peer *peer = om_agent_find(d->agent, doomed->peer_id);
	struct om_agent_known *known = peer ? find_known(peer, doomed->local_id) : NULL;
	int rc;

	if (!known || known->used)
		return true;
	rc = delete_known(d, peer->id, known);
	drop_known(peer, known);
	return !rc || d->err.sys == ENOENT;
}

bool om_peers_tidy(struct om_daemon *d)
{
	struct om_list stale = d->stale;
	bool ok = true;

	/* look() may add peers to the list; those wait for the next call. */
	memset(&d->stale, 0, sizeof(d->stale));
	for (size_t i = 0; i < stale.n; i++)
		look(d, OM_AT(&stale, struct om_stale_peer, i));
	om_list_free(&stale);
	/* Confirmations may have been lost: delete no keys before the dump. */
	if (d->lost)
		return false;
	for (size_t i = 0; i < d->doomed.n && ok; i++)
		ok = forget(d, OM_AT(&d->doomed, struct om_doomed_key, i));
	d->doomed.n = 0;
	return !ok;
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
			    "%s: FwMark: routes may depend on the current mark: run down and up to change it",
			    OM_QUOTE_FILE(d->config));
	/* It changes only while the device is down, and may be more than there are CPUs. */
	conf->dev.has &= ~OM_BIT(OMERTA_A_DEVICE_CHANNELS);
	if (!rc)
		rc = om_sync_apply(d->nl, d->ifname, conf, &state, false, NULL,
				   &d->err);
	om_state_free(&state);
	return rc;
}

/* Open the file with the times of a private key; @path gets its name. NULL on errors. */
static struct om_times *open_times(const struct om_daemon *d, const uint8_t *private,
				   char path[PATH_MAX], struct om_err *err)
{
	uint8_t public[OM_NOISE_KEY];

	if (!om_key_public(public, private)) {
		om_err(err, OM_USAGE, "%s: not a private key", OM_QUOTE_FILE(d->config));
		return NULL;
	}
	om_times_path(path, PATH_MAX, d->state_dir, public);
	/* Private keys that differ only in clamped bits have the same public key. */
	if (d->times && !strcmp(path, d->times_path))
		return d->times;
	return om_times_open(path, err);
}

int om_peers_open_times(struct om_daemon *d, struct om_err *err)
{
	d->times = open_times(d, d->conf.host.private_key, d->times_path, err);
	return d->times ? OM_OK : OM_SYSTEM;
}

/* Take another private key: a new identity, which has no handshakes yet. */
static void take_key(struct om_daemon *d, const uint8_t *private, struct om_times *times,
		     const char path[PATH_MAX])
{
	om_agent_remove_all(d->agent);
	set_host(d->agent, private);
	if (times != d->times)
		om_times_close(d->times);
	d->times = times;
	memcpy(d->times_path, path, PATH_MAX);
	know_own_time(d);
	d->rebind = true;
}

/* Forget the addresses of names that have changed. */
static void forget_endpoints(struct om_daemon *d, const struct om_config *old,
			     const struct om_peer_index *old_of)
{
	for (struct om_agent_peer *p = d->agent->first; p; p = p->next) {
		const struct om_peer_conf *now = om_peers_conf(d, p->hs.public);
		const char *was = NULL, *is = now ? now->endpoint : NULL;
		size_t at;

		if (om_peer_index_key(old_of, p->hs.public, &at))
			was = OM_AT(&old->peer_conf, struct om_peer_conf, at)->endpoint;
		if (was && is ? strcmp(was, is) : was != is)
			om_endpoints_forget(p);
	}
}

int om_peers_reload(struct om_daemon *d)
{
	struct om_times *times = NULL;
	struct om_config conf, old;
	struct om_peer_index old_of;
	char path[PATH_MAX];
	int rc = read_file(d, &conf, &d->err);

	if (rc)
		return rc;
	/* Until all of it is taken */
	d->unread = true;
	/* It may have been renamed just now. */
	om_peers_find_device(d);
	if (!om_key_equal(conf.host.private_key, d->conf.host.private_key)) {
		times = open_times(d, conf.host.private_key, path, &d->err);
		if (!times) {
			om_config_free(&conf);
			return OM_SYSTEM;
		}
	}
	rc = sync_kernel(d, &conf);
	if (rc) {
		/* Some of the changes may be in effect. */
		d->adopt = true;
		if (times != d->times)
			om_times_close(times);
		om_config_free(&conf);
		return rc;
	}
	if (times)
		take_key(d, conf.host.private_key, times, path);
	old = d->conf;
	old_of = d->conf_of;
	d->conf = conf;
	d->unread = false;
	index_config(d);
	forget_endpoints(d, &old, &old_of);
	om_config_free(&old);
	om_peer_index_free(&old_of);
	/* First: the kernel kills the keys of the previous identity. */
	rc = om_peers_bind(d);
	if (!rc)
		rc = om_peers_adopt(d);
	/* On errors try again later. */
	d->adopt |= rc != OM_OK;
	return rc;
}

int om_peers_reread(struct om_daemon *d)
{
	struct om_config conf;
	int rc = read_file(d, &conf, &d->err);

	if (rc)
		return rc;
	d->unread = !om_key_equal(conf.host.private_key, d->conf.host.private_key);
	for (size_t i = 0; i < conf.peers.n && !d->unread; i++) {
		struct om_peer *peer = OM_AT(&conf.peers, struct om_peer, i);
		struct om_peer_conf *c = OM_AT(&conf.peer_conf, struct om_peer_conf, i);

		if (om_key_is_zero(peer->public_key) || om_peers_conf(d, peer->public_key))
			continue;
		om_peer_index_add_key(&d->conf_of, peer->public_key, d->conf.peers.n);
		if (c->psk)
			c->psk = memcpy(om_secrets_add(&d->conf.secrets), c->psk, OM_NOISE_KEY);
		/* The other things that they point to move. */
		*(struct om_peer *)om_list_add(&d->conf.peers, sizeof(*peer)) = *peer;
		*(struct om_peer_conf *)om_list_add(&d->conf.peer_conf, sizeof(*c)) = *c;
		memset(peer, 0, sizeof(*peer));
		memset(c, 0, sizeof(*c));
	}
	om_config_free(&conf);
	rc = om_peers_adopt(d);
	/* On errors try again later. */
	d->adopt |= rc != OM_OK;
	return rc;
}

void om_peers_changed(struct om_daemon *d, struct om_agent_peer *peer)
{
	if (peer->to_report)
		return;
	peer->to_report = true;
	*(uint32_t *)om_list_add(&d->to_report, sizeof(uint32_t)) = peer->id;
}

/* Log a failure that is not logged elsewhere, each once until there is a key. */
static void log_change(struct om_daemon *d, struct om_agent_peer *peer)
{
	uint32_t told = peer->told_failures;
	const char *text;

	if (peer->failure < 0) {
		peer->told_failures = 0;
		if (told && peer->kind >= 0)
			om_peers_log(d, LOG_NOTICE, peer->id, "keys are agreed on again");
		return;
	}
	if (peer->failure == OMERTA_FAILURE_NO_ANSWER)
		text = "no answer: look at its endpoint, at both public keys, at PostQuantum, and at firewalls";
	else if (peer->failure == OMERTA_FAILURE_NO_ENDPOINT)
		text = "it has no endpoint, so only it can begin: set Endpoint, or wait for it";
	else if (peer->failure == OMERTA_FAILURE_NOT_SENT)
		text = "no route to its endpoint, or the device is down";
	else
		return;
	if (peer->since <= OM_AGENT_FAILED || told & (1U << peer->failure))
		return;
	peer->told_failures |= 1U << peer->failure;
	om_peers_log(d, LOG_WARNING, peer->id, text);
}

static void put_handshake(struct om_report *report, const struct om_agent_peer *peer)
{
	struct om_handshake *h = om_list_add(&report->handshakes, sizeof(*h));

	report->has |= OM_BIT(OMERTA_A_REPORT_HANDSHAKE);
	h->has = OM_BIT(OMERTA_A_HANDSHAKE_PEER_ID) | OM_BIT(OMERTA_A_HANDSHAKE_TRIES);
	h->peer_id = peer->id;
	h->tries = peer->since;
	if (peer->kind >= 0)
		h->has |= OM_BIT(OMERTA_A_HANDSHAKE_KIND);
	h->kind = (uint32_t)peer->kind;
	if (peer->failure >= 0)
		h->has |= OM_BIT(OMERTA_A_HANDSHAKE_FAILURE);
	h->failure = (uint32_t)peer->failure;
}

uint64_t om_peers_report(struct om_daemon *d)
{
	const uint64_t *count = d->agent->count;
	struct om_report report = { 0 };
	size_t i = 0;

	if (!d->to_report.n && !memcmp(d->reported, count, sizeof(d->reported)))
		return UINT64_MAX;
	if (!d->to_report.n && om_daemon_now() < d->report_at)
		return d->report_at;
	do {
		for (; i < d->to_report.n && report.handshakes.n < REPORTED; i++) {
			struct om_agent_peer *peer =
				om_agent_find(d->agent, *OM_AT(&d->to_report, uint32_t, i));

			if (!peer)
				continue;
			peer->to_report = false;
			log_change(d, peer);
			put_handshake(&report, peer);
		}
		report.has |= OM_BIT(OMERTA_A_REPORT_AGENT_STATS);
		for (unsigned int k = 1; k <= OMERTA_A_AGENT_STATS_MAX; k++) {
			report.stats.has |= OM_BIT(k);
			report.stats.v[k] = count[k];
		}
		/* The next report is complete again, as all values are absolute. */
		if (om_nl_control_report(d->control, &report, &d->err))
			om_daemon_note(d);
		report.handshakes.n = 0;
	} while (i < d->to_report.n);
	om_list_free(&report.handshakes);
	d->to_report.n = 0;
	memcpy(d->reported, count, sizeof(d->reported));
	d->report_at = om_daemon_now() + REPORT_MS;
	return UINT64_MAX;
}

/* Reports end with the binding that they were made under. */
static void report_anew(struct om_daemon *d)
{
	for (struct om_agent_peer *p = d->agent->first; p; p = p->next)
		if (p->since || p->kind >= 0 || p->failure >= 0)
			om_peers_changed(d, p);
	memset(d->reported, 0, sizeof(d->reported));
}

int om_peers_bind(struct om_daemon *d)
{
	int rc = OM_OK;

	if (d->rebind)
		rc = om_nl_control_rebind(d->control, d->agent->host.pair.public,
					  &d->err);
	if (d->rebind && !rc)
		report_anew(d);
	d->rebind = rc;
	/* On errors try again later. */
	d->adopt |= d->rebind;
	return rc;
}

int om_peers_forget_time(struct om_daemon *d)
{
	uint8_t public[OM_NOISE_KEY], key[OM_NOISE_KEY];
	struct om_agent_peer *peer;
	int rc = om_times_forget_asked(d->times_path, public, &d->err);

	if (rc)
		return rc;
	om_times_key(d->agent->host.pair.public, public, key);
	rc = om_times_forget(d->times, key, &d->err);
	if (rc)
		return rc;
	peer = om_agent_find_public(d->agent, public);
	if (peer)
		om_agent_forget_time(peer);
	om_times_forget_done(d->times_path);
	return OM_OK;
}
