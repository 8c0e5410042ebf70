// SPDX-License-Identifier: GPL-2.0
#include "lib/state.h"

#include "lib/addr.h"
#include "lib/keygen.h"
#include "lib/nl.h"
#include "lib/quote.h"
#include "lib/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Most bytes of prefixes in a request: with its settings it stays below 16 KiB. */
#define REQUEST_PREFIXES	(16384 - 512)

static int cmp_owner(const void *a, const void *b)
{
	const struct om_prefix *x = *(const struct om_prefix *const *)a;
	const struct om_prefix *y = *(const struct om_prefix *const *)b;

	if (x->peer_id != y->peer_id)
		return x->peer_id < y->peer_id ? -1 : 1;
	return om_prefix_cmp(x, y);
}

/* Return the index of the first prefix with an owner of at least @id. */
static size_t first_of(const struct om_list *sorted, uint32_t id)
{
	size_t low = 0, high = sorted->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if ((*OM_AT(sorted, struct om_prefix *, mid))->peer_id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void distribute(const struct om_list *sorted, struct om_list *peers)
{
	for (size_t i = 0; i < peers->n; i++) {
		struct om_peer *peer = OM_AT(peers, struct om_peer, i);

		for (size_t k = first_of(sorted, peer->id); k < sorted->n; k++) {
			const struct om_prefix *p = *OM_AT(sorted, struct om_prefix *, k);

			if (p->peer_id != peer->id)
				break;
			*(struct om_prefix *)om_list_add(&peer->allowed_ips,
							 sizeof(*p)) = *p;
			peer->has |= OM_BIT(OMERTA_A_PEER_ALLOWED_IPS);
		}
	}
}

static int load_prefixes(struct om_nl *nl, const struct om_peer *ref,
			 struct om_list *peers, struct om_err *err)
{
	struct om_list messages, sorted = { 0 };
	int rc = om_nl_dump(nl, OMERTA_CMD_ALLOWED_IP_GET, &om_peer_object, ref,
			    &messages, err);

	for (size_t i = 0; i < messages.n; i++) {
		const struct om_list *list =
			&OM_AT(&messages, struct om_peer, i)->allowed_ips;

		for (size_t k = 0; k < list->n; k++)
			*(struct om_prefix **)om_list_add(&sorted, sizeof(void *)) =
				OM_AT(list, struct om_prefix, k);
	}
	if (sorted.n)
		qsort(sorted.v, sorted.n, sizeof(void *), cmp_owner);
	distribute(&sorted, peers);
	om_list_free(&sorted);
	om_peers_free(&messages);
	return rc;
}

static int load_parts(struct om_nl *nl, enum om_parts parts,
		      struct om_state *s, struct om_err *err)
{
	struct om_key key = { 0 };
	struct om_peer peer = { 0 };
	int rc = OM_OK;

	/* By index, as the device may be renamed between two requests */
	peer.has = OM_BIT(OMERTA_A_PEER_IFINDEX);
	peer.ifindex = s->dev.ifindex;
	key.has = OM_BIT(OMERTA_A_KEY_IFINDEX);
	key.ifindex = s->dev.ifindex;
	if (parts & (OM_PEERS | OM_PREFIXES))
		rc = om_nl_dump(nl, OMERTA_CMD_PEER_GET, &om_peer_object, &peer,
				&s->peers, err);
	if (!rc && (parts & OM_PREFIXES))
		rc = load_prefixes(nl, &peer, &s->peers, err);
	if (!rc && (parts & OM_KEYS))
		rc = om_nl_dump(nl, OMERTA_CMD_KEY_GET, &om_key_object, &key,
				&s->keys, err);
	if (rc)
		om_err_prefix(err, "%s", s->dev.ifname);
	return rc;
}

/* Replies about peers and keys only have the device's index. */
static void fill_names(struct om_state *s)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		struct om_peer *peer = OM_AT(&s->peers, struct om_peer, i);

		memcpy(peer->ifname, s->dev.ifname, IFNAMSIZ);
		peer->has |= OM_BIT(OMERTA_A_PEER_IFNAME);
	}
	for (size_t i = 0; i < s->keys.n; i++) {
		struct om_key *key = OM_AT(&s->keys, struct om_key, i);

		memcpy(key->ifname, s->dev.ifname, IFNAMSIZ);
		key->has |= OM_BIT(OMERTA_A_KEY_IFNAME);
	}
}

const struct om_key *om_state_next_key(const struct om_state *state, uint32_t peer_id,
				       const struct om_key *key)
{
	const struct om_key *keys = state->keys.v;
	size_t i = 0, end = state->keys.n;

	if (key)
		i = (size_t)(key - keys) + 1;
	/* The kernel dumps keys by the ids of their peers. */
	while (!key && i < end) {
		size_t mid = (i + end) / 2;

		if (keys[mid].peer_id < peer_id)
			i = mid + 1;
		else
			end = mid;
	}
	return i < state->keys.n && keys[i].peer_id == peer_id ? &keys[i] : NULL;
}

bool om_state_handshake_age(const struct om_state *state, uint32_t peer_id, uint64_t *age)
{
	const struct om_key *key = NULL;
	bool found = false;

	while ((key = om_state_next_key(state, peer_id, key))) {
		if (!key->handshake || key->state == OMERTA_KEY_STATE_INSTALLED ||
		    (found && key->age >= *age))
			continue;
		*age = key->age;
		found = true;
	}
	return found;
}

int om_state_load(struct om_nl *nl, const char *ifname, enum om_parts parts,
		  struct om_state *state, struct om_err *err)
{
	struct om_device ref;
	int rc;

	memset(state, 0, sizeof(*state));
	om_device_ref(&ref, ifname);
	rc = om_nl_get(nl, OMERTA_CMD_DEVICE_GET, &om_device_object, &ref,
		       &state->dev, err);
	if (rc) {
		om_list_free(&state->dev.channel_stats);
		om_err_prefix(err, "%s", ifname);
		return rc;
	}
	rc = load_parts(nl, parts, state, err);
	fill_names(state);
	if (rc)
		om_state_free(state);
	return rc;
}

void om_state_free(struct om_state *state)
{
	om_peers_free(&state->peers);
	om_list_free(&state->keys);
	om_list_free(&state->dev.channel_stats);
}

static int load_all(struct om_nl *nl, enum om_parts parts,
		    struct om_list *states, struct om_err *err)
{
	struct om_list devices;
	int rc = om_nl_dump(nl, OMERTA_CMD_DEVICE_GET, &om_device_object, NULL,
			    &devices, err);

	for (size_t i = 0; i < devices.n && !rc; i++) {
		struct om_state *s = om_list_add(states, sizeof(*s));

		s->dev = *OM_AT(&devices, struct om_device, i);
		rc = load_parts(nl, parts, s, err);
		fill_names(s);
		if (rc && err->sys == ENODEV) {
			/* The device was deleted after the dump. */
			om_state_free(s);
			states->n--;
			rc = OM_OK;
		}
	}
	om_list_free(&devices);
	return rc;
}

int om_states_load(struct om_nl *nl, const char *ifname, enum om_parts parts,
		   struct om_list *states, struct om_err *err)
{
	int rc;

	memset(states, 0, sizeof(*states));
	if (ifname)
		rc = om_state_load(nl, ifname, parts,
				   om_list_add(states, sizeof(struct om_state)),
				   err);
	else
		rc = load_all(nl, parts, states, err);
	if (rc)
		om_states_free(states);
	return rc;
}

void om_states_free(struct om_list *states)
{
	for (size_t i = 0; i < states->n; i++)
		om_state_free(OM_AT(states, struct om_state, i));
	om_list_free(states);
}

static int resolve_name(const struct om_list *peers, const char *ifname,
			const char *name, uint32_t *id, struct om_err *err)
{
	uint8_t key[OMERTA_KEY_LEN];
	bool is_key = !om_base64_decode(key, name, &(struct om_err){ 0 });

	*id = 0;
	for (size_t i = 0; i < peers->n; i++) {
		const struct om_peer *p = OM_AT(peers, struct om_peer, i);

		if (is_key ? !om_key_equal(p->public_key, key) : strcmp(p->name, name))
			continue;
		if (*id)
			return om_err(err, OM_SYSTEM,
				      "peer: %s: the name of peers %u and %u: use the id",
				      OM_QUOTE(name), *id, p->id);
		*id = p->id;
	}
	if (!*id)
		return om_err(err, OM_SYSTEM, "peer: %s: no peer of %s has this %s",
			      OM_QUOTE(name), ifname, is_key ? "public key" : "name");
	return OM_OK;
}

int om_peer_resolve(struct om_nl *nl, const char *ifname, const char *text,
		    uint32_t *id, struct om_err *err)
{
	struct om_list peers;
	struct om_peer ref;
	uint64_t v;
	int rc;

	if (!om_uint_parse(text, &v)) {
		if (!v || v > UINT32_MAX)
			return om_err(err, OM_USAGE,
				      "peer: %s: must be a number 1..%u",
				      OM_QUOTE(text), UINT32_MAX);
		*id = (uint32_t)v;
		return OM_OK;
	}
	om_peer_ref(&ref, ifname, 0);
	rc = om_nl_dump(nl, OMERTA_CMD_PEER_GET, &om_peer_object, &ref, &peers,
			err);
	if (rc)
		om_err_prefix(err, "%s", ifname);
	else
		rc = resolve_name(&peers, ifname, text, id, err);
	om_peers_free(&peers);
	return rc;
}

/* Return the part of the list from @from on that fits one request; not a copy. */
static struct om_list slice(const struct om_list *all, size_t from)
{
	struct om_list part = { 0 };
	size_t size = 0, n = from;

	for (; n < all->n; n++) {
		size += om_nl_prefix_size(OM_AT(all, struct om_prefix, n));
		if (size > REQUEST_PREFIXES)
			break;
	}
	part.v = n > from ? OM_AT(all, struct om_prefix, from) : NULL;
	part.n = n - from;
	return part;
}

int om_peer_send(struct om_nl *nl, int cmd, const struct om_peer *peer,
		 size_t *done, struct om_err *err)
{
	struct om_peer part = *peer;
	int rc;

	*done = 0;
	do {
		part.allowed_ips = slice(&peer->allowed_ips, *done);
		if (part.allowed_ips.n)
			part.has |= OM_BIT(OMERTA_A_PEER_ALLOWED_IPS);
		else
			part.has &= ~OM_BIT(OMERTA_A_PEER_ALLOWED_IPS);
		rc = om_nl_do(nl, cmd, &om_peer_object, &part, err);
		if (rc)
			return rc;
		*done += part.allowed_ips.n;
		om_peer_ref(&part, peer->ifname, peer->id);
		cmd = OMERTA_CMD_PEER_SET;
	} while (*done < peer->allowed_ips.n);
	return OM_OK;
}
