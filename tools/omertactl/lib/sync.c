// SPDX-License-Identifier: GPL-2.0
#include "lib/sync.h"

#include "lib/addr.h"
#include "lib/keygen.h"
#include "lib/nl.h"

#include <stdlib.h>
#include <string.h>

/* Lists of pointers: copying the data of 10,000 peers takes long. */
struct sync {
	struct om_nl *nl;
	const char *ifname;
	const struct om_config *conf;
	const struct om_state *state;
	struct om_list owners;		/* prefixes of the file, with peer_id, sorted */
	struct om_list file_peers;	/* sorted by id */
	struct om_list now_peers;
	bool literal;
	unsigned int done;		/* number of requests that succeeded */
	struct om_err *err;
};

static void add_pointer(struct om_list *list, const void *item)
{
	*(const void **)om_list_add(list, sizeof(item)) = item;
}

static void sort_pointers(struct om_list *list, int (*cmp)(const void *, const void *))
{
	if (list->n)
		qsort(list->v, list->n, sizeof(void *), cmp);
}

/* Return the item of a sorted list of pointers that equals @ref, or NULL. */
static const void *find_pointer(const struct om_list *list, const void *ref,
				int (*cmp)(const void *, const void *))
{
	const void **found = NULL;

	if (list->n)
		found = bsearch(&ref, list->v, list->n, sizeof(void *), cmp);
	return found ? *found : NULL;
}

static int cmp_prefix(const void *a, const void *b)
{
	return om_prefix_cmp(a, b);
}

static int cmp_prefix_pointer(const void *a, const void *b)
{
	return om_prefix_cmp(*(const void *const *)a, *(const void *const *)b);
}

static int cmp_id(const void *a, const void *b)
{
	const struct om_peer *x = *(const struct om_peer *const *)a;
	const struct om_peer *y = *(const struct om_peer *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int cmp_key(const void *a, const void *b)
{
	const struct om_peer *x = *(const struct om_peer *const *)a;
	const struct om_peer *y = *(const struct om_peer *const *)b;

	return memcmp(x->public_key, y->public_key, sizeof(x->public_key));
}

static void index_owners(struct om_list *owners, const struct om_list *peers)
{
	for (size_t i = 0; i < peers->n; i++) {
		const struct om_peer *peer = OM_AT(peers, struct om_peer, i);

		for (size_t k = 0; k < peer->allowed_ips.n; k++) {
			struct om_prefix *p = OM_AT(&peer->allowed_ips, struct om_prefix, k);

			p->peer_id = peer->id;
			add_pointer(owners, p);
		}
	}
	sort_pointers(owners, cmp_prefix_pointer);
}

/* Return the id of the peer that has a prefix in the file, or 0. */
static uint32_t owner_of(const struct sync *s, const struct om_prefix *p)
{
	const struct om_prefix *found = find_pointer(&s->owners, p, cmp_prefix_pointer);

	return found ? found->peer_id : 0;
}

/* Index the peers that have an id. */
static void index_peers(struct om_list *index, const struct om_list *peers)
{
	for (size_t i = 0; i < peers->n; i++)
		if (OM_AT(peers, struct om_peer, i)->id)
			add_pointer(index, OM_AT(peers, struct om_peer, i));
	sort_pointers(index, cmp_id);
}

static const struct om_peer *find_peer(const struct om_list *index, uint32_t id)
{
	const struct om_peer ref = { .id = id };

	return find_pointer(index, &ref, cmp_id);
}

static int request(struct sync *s, int cmd, const struct om_peer *peer)
{
	size_t sent;
	int rc = om_peer_send(s->nl, cmd, peer, &sent, s->err);

	if (rc) {
		om_err_prefix(s->err, "peer %u", peer->id);
		s->done += sent > 0;
	} else {
		s->done++;
	}
	return rc;
}

static int delete_peer(struct sync *s, uint32_t id)
{
	struct om_peer ref;

	om_peer_ref(&ref, s->ifname, id);
	return request(s, OMERTA_CMD_PEER_DEL, &ref);
}

/*
 * Number the peers without an id: with the id of a device's peer with the same key, or a
 * free one. No two peers of a file have the same key; two peers of a device may.
 */
static void number_peers(struct om_config *conf, const struct om_state *state,
			 const struct om_list *now)
{
	struct om_list given = { 0 }, keys = { 0 };
	uint32_t next = 1;

	index_peers(&given, &conf->peers);
	for (size_t i = 0; i < state->peers.n; i++)
		if (!om_key_is_zero(OM_AT(&state->peers, struct om_peer, i)->public_key))
			add_pointer(&keys, OM_AT(&state->peers, struct om_peer, i));
	sort_pointers(&keys, cmp_key);
	for (size_t i = 0; i < conf->peers.n; i++) {
		struct om_peer *peer = OM_AT(&conf->peers, struct om_peer, i);
		const struct om_peer *same;

		if (peer->id)
			continue;
		same = find_pointer(&keys, peer, cmp_key);
		if (same && !find_peer(&given, same->id)) {
			peer->id = same->id;
		} else {
			while (find_peer(&given, next) || find_peer(now, next))
				next++;
			peer->id = next++;
		}
		peer->has |= OM_BIT(OMERTA_A_PEER_ID);
	}
	om_list_free(&given);
	om_list_free(&keys);
}

/*
 * Phase 1: the device
 */

bool om_field_same(const struct om_field *f, const void *a, const void *b)
{
	const void *x = om_field_ptr(f, a), *y = om_field_ptr(f, b);

	if (f->format == OM_ENDPOINT)
		return om_endpoint_equal(a, b);
	return !memcmp(x, y, f->size);
}

void om_device_defaults(struct om_device *d)
{
	memset(d, 0, sizeof(*d));
	d->has = OM_BIT(OMERTA_A_DEVICE_LISTEN_PORT) |
		 OM_BIT(OMERTA_A_DEVICE_FWMARK) |
		 OM_BIT(OMERTA_A_DEVICE_CHUNK_SIZE) |
		 OM_BIT(OMERTA_A_DEVICE_POLICY) |
		 OM_BIT(OMERTA_A_DEVICE_CPUS) |
		 OM_BIT(OMERTA_A_DEVICE_BATCH) |
		 OM_BIT(OMERTA_A_DEVICE_DF);
	d->chunk_size = 512;
	d->policy = OMERTA_POLICY_AUTO;
	strcpy(d->cpus, "all");
	d->batch = 1;
	d->df = OMERTA_DF_UNSET;
}

static void copy_field(const struct om_field *f, void *to, const void *from)
{
	memcpy((char *)to + f->offset, om_field_ptr(f, from), f->size);
	om_field_set(f, to);
}

static int sync_device(struct sync *s)
{
	const struct om_device *file = &s->conf->dev, *now = &s->state->dev;
	struct om_device want, req;
	uint64_t ref;
	int rc;

	om_device_defaults(&want);
	/* Keep the port, which the kernel chose, and the mark, which the routes of "up" use. */
	if (!s->literal)
		want.has &= ~(OM_BIT(OMERTA_A_DEVICE_LISTEN_PORT) |
			      OM_BIT(OMERTA_A_DEVICE_FWMARK));
	om_device_ref(&req, s->ifname);
	ref = req.has;
	for (size_t i = 0; i < om_device_object.fields; i++) {
		const struct om_field *f = &om_device_object.field[i];

		if (!f->conf)
			continue;
		if (om_field_has(f, file))
			copy_field(f, &want, file);
		if (om_field_has(f, &want) &&
		    (s->literal || !om_field_same(f, &want, now)))
			copy_field(f, &req, &want);
	}
	if (req.has == ref)
		return OM_OK;
	rc = om_nl_do(s->nl, OMERTA_CMD_DEVICE_SET, &om_device_object, &req,
		      s->err);
	s->done += !rc;
	return rc;
}

/*
 * Phase 2: delete peers. No request clears an endpoint. So setconf deletes a peer that must
 * have none, and adds it again, without its keys. A peer with another public key is another
 * peer, which must not get the keys.
 */

static bool must_go(const struct sync *s, const struct om_peer *now)
{
	const struct om_peer *file = find_peer(&s->file_peers, now->id);

	if (!file || (s->literal && now->endpoint_addr.len &&
		      !file->endpoint_addr.len))
		return true;
	return !om_key_is_zero(now->public_key) &&
	       !om_key_is_zero(file->public_key) &&
	       !om_key_equal(now->public_key, file->public_key);
}

static int delete_peers(struct sync *s)
{
	int rc = OM_OK;

	for (size_t i = 0; i < s->state->peers.n && !rc; i++) {
		const struct om_peer *now = OM_AT(&s->state->peers,
						  struct om_peer, i);

		if (must_go(s, now))
			rc = delete_peer(s, now->id);
	}
	return rc;
}

/*
 * Phase 3: add and change peers. A prefix that moves between peers of the file is not removed
 * first: the kernel moves it, so that it always has an owner.
 */

static bool has_prefix(const struct om_list *sorted, const struct om_prefix *p)
{
	return sorted->n && bsearch(p, sorted->v, sorted->n,
				    sizeof(struct om_prefix), cmp_prefix);
}

static void remove_prefixes(const struct sync *s, struct om_peer *req,
			    const struct om_peer *now)
{
	for (size_t i = 0; i < now->allowed_ips.n; i++) {
		struct om_prefix *p = OM_AT(&now->allowed_ips, struct om_prefix,
					    i), *gone;

		if (owner_of(s, p))
			continue;
		gone = om_list_add(&req->allowed_ips, sizeof(*gone));
		*gone = *p;
		gone->flags = OMERTA_ALLOWED_IP_FLAGS_REMOVE;
		gone->has = OM_BIT(OMERTA_A_ALLOWED_IP_ADDR) |
			    OM_BIT(OMERTA_A_ALLOWED_IP_PREFIX_LEN) |
			    OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS);
	}
}

static void add_prefixes(struct om_peer *req, const struct om_peer *file,
			  const struct om_list *except)
{
	for (size_t i = 0; i < file->allowed_ips.n; i++) {
		const struct om_prefix *p = OM_AT(&file->allowed_ips,
						  struct om_prefix, i);

		if (!except || !has_prefix(except, p))
			*(struct om_prefix *)om_list_add(&req->allowed_ips,
							 sizeof(*p)) = *p;
	}
}

/* Return true if a field of an existing peer must be sent. */
static bool send_field(const struct sync *s, const struct om_field *f,
		       const struct om_peer *file, const struct om_peer *now)
{
	if (f->format == OM_ENDPOINT && !file->endpoint_addr.len)
		return false;
	/* Fields that are zero in both are not sent. */
	if (!om_field_has(f, file) || !s->literal)
		return !om_field_same(f, file, now);
	return true;
}

/* Copy the three attributes of an endpoint, which belong together. */
static void copy_endpoint(struct om_peer *req, const struct om_peer *file)
{
	const uint64_t bits = OM_BIT(OMERTA_A_PEER_ENDPOINT_ADDR) |
			      OM_BIT(OMERTA_A_PEER_ENDPOINT_PORT) |
			      OM_BIT(OMERTA_A_PEER_ENDPOINT_SCOPE);

	req->endpoint_addr = file->endpoint_addr;
	req->endpoint_port = file->endpoint_port;
	req->endpoint_scope = file->endpoint_scope;
	req->has |= file->has & bits;
}

static int change_peer(struct sync *s, const struct om_peer *file,
		       const struct om_peer *now)
{
	struct om_peer req;
	uint64_t ref;
	int rc = OM_OK;

	om_peer_ref(&req, s->ifname, file->id);
	ref = req.has;
	for (size_t i = 0; i < om_peer_object.fields; i++) {
		const struct om_field *f = &om_peer_object.field[i];

		if (!f->conf || f->type == OM_MULTI ||
		    f->attr == OMERTA_A_PEER_ID || !send_field(s, f, file, now))
			continue;
		if (f->format == OM_ENDPOINT)
			copy_endpoint(&req, file);
		else
			copy_field(f, &req, file);
	}
	if (s->literal) {
		req.flags = OMERTA_PEER_FLAGS_REPLACE_ALLOWED_IPS;
		req.has |= OM_BIT(OMERTA_A_PEER_FLAGS);
		add_prefixes(&req, file, NULL);
	} else {
		remove_prefixes(s, &req, now);
		add_prefixes(&req, file, &now->allowed_ips);
	}
	if (req.has != ref || req.allowed_ips.n)
		rc = request(s, OMERTA_CMD_PEER_SET, &req);
	om_list_free(&req.allowed_ips);
	return rc;
}

static int add_peer(struct sync *s, const struct om_peer *file)
{
	struct om_peer req = *file;

	req.has |= OM_BIT(OMERTA_A_PEER_IFNAME);
	strncpy(req.ifname, s->ifname, sizeof(req.ifname) - 1);
	return request(s, OMERTA_CMD_PEER_NEW, &req);
}

static int set_peers(struct sync *s)
{
	int rc = OM_OK;

	for (size_t i = 0; i < s->conf->peers.n && !rc; i++) {
		const struct om_peer *file = OM_AT(&s->conf->peers,
						   struct om_peer, i);
		const struct om_peer *now = find_peer(&s->now_peers, file->id);

		if (now && !must_go(s, now))
			rc = change_peer(s, file, now);
		else
			rc = add_peer(s, file);
	}
	return rc;
}

int om_sync_apply(struct om_nl *nl, const char *ifname, struct om_config *conf,
		  const struct om_state *state, bool literal, unsigned int *done,
		  struct om_err *err)
{
	struct sync s = {
		.nl = nl,
		.ifname = ifname,
		.conf = conf,
		.state = state,
		.literal = literal,
		.err = err,
	};
	int rc;

	index_peers(&s.now_peers, &state->peers);
	number_peers(conf, state, &s.now_peers);
	index_peers(&s.file_peers, &conf->peers);
	index_owners(&s.owners, &conf->peers);
	rc = sync_device(&s);
	if (!rc)
		rc = delete_peers(&s);
	if (!rc)
		rc = set_peers(&s);
	om_list_free(&s.owners);
	om_list_free(&s.file_peers);
	om_list_free(&s.now_peers);
	if (done)
		*done = s.done;
	if (rc)
		om_err_prefix(err, "%s", ifname);
	if (rc && s.done)
		om_err_append(err, " (%u earlier change%s in effect)", s.done,
			      s.done == 1 ? " is" : "s are");
	return rc;
}
