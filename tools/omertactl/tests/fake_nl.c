// SPDX-License-Identifier: GPL-2.0
#include "fake_nl.h"

#include "lib/addr.h"
#include "lib/nl.h"
#include "lib/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake fake;

struct om_nl {
	int unused;
};

struct om_nl *om_nl_new(void)
{
	return calloc(1, sizeof(struct om_nl));
}

void om_nl_free(struct om_nl *nl)
{
	free(nl);
}

void fake_forget_log(void)
{
	fake.host[0] = '\0';
	free(fake.log);
	fake.log = strdup("");
	fake.requests = 0;
	fake.reads = 0;
	fake.largest = 0;
}

void fake_reset(void)
{
	om_states_free(&fake.states);
	om_list_free(&fake.addresses);
	om_list_free(&fake.routes);
	om_list_free(&fake.rules);
	om_list_free(&fake.reported);
	free(fake.log);
	memset(&fake, 0, sizeof(fake));
	fake_forget_log();
}

size_t om_nl_prefix_size(const struct om_prefix *p)
{
	return 4 + 4 + p->addr.len + 8 +
	       (p->has & OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS) ? 8 : 0);
}

/*
 * The log
 */

static const char *const names[] = {
	[OMERTA_CMD_DEVICE_NEW] = "device-new",
	[OMERTA_CMD_DEVICE_DEL] = "device-del",
	[OMERTA_CMD_DEVICE_SET] = "device-set",
	[OMERTA_CMD_PEER_NEW] = "peer-new",
	[OMERTA_CMD_PEER_SET] = "peer-set",
	[OMERTA_CMD_PEER_DEL] = "peer-del",
	[OMERTA_CMD_KEY_NEW] = "key-new",
	[OMERTA_CMD_KEY_ACTIVATE] = "key-activate",
	[OMERTA_CMD_KEY_RETIRE] = "key-retire",
	[OMERTA_CMD_KEY_DEL] = "key-del",
};

static void log_field(FILE *f, const struct om_field *field, const void *data)
{
	const struct om_list *list = om_field_ptr(field, data);
	char buf[OM_VALUE_LEN];

	fprintf(f, " %s=", field->name);
	if (field->type == OM_MULTI) {
		for (size_t i = 0; i < list->n; i++) {
			const struct om_prefix *p = OM_AT(list, struct om_prefix, i);

			om_prefix_format(buf, sizeof(buf), p);
			fprintf(f, "%s%s%s", i ? "," : "",
				p->has & OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS) &&
				p->flags == OMERTA_ALLOWED_IP_FLAGS_REMOVE ?
				"-" : "", buf);
		}
	} else if (field->type == OM_ADDR) {
		om_addr_format(buf, sizeof(buf), om_field_ptr(field, data));
		fputs(buf, f);
	} else if (field->attr == OMERTA_A_KEY_RX_SECRET &&
		   !strcmp(field->name, "rx-secret")) {
		memcpy(fake.rx_secret, om_field_ptr(field, data), 32);
		fputs("*", f);
	} else if (!strcmp(field->name, "tx-secret")) {
		memcpy(fake.tx_secret, om_field_ptr(field, data), 32);
		fputs("*", f);
	} else {
		fputs(om_value_format(field, data, buf), f);
	}
}

void fake_log(const char *text)
{
	size_t size = strlen(fake.log), added = strlen(text);

	fake.log = realloc(fake.log, size + added + 1);
	memcpy(fake.log + size, text, added + 1);
}

static void log_request(int cmd, const struct om_object *obj, const void *data)
{
	size_t added = 0;
	char *line = NULL;
	FILE *f = open_memstream(&line, &added);

	fputs(names[cmd], f);
	for (size_t i = 0; i < obj->fields; i++)
		if (om_field_has(&obj->field[i], data))
			log_field(f, &obj->field[i], data);
	fputs("\n", f);
	fclose(f);
	fake_log(line);
	free(line);
}

/*
 * Devices
 */

struct om_state *fake_device(const char *name)
{
	for (size_t i = 0; i < fake.states.n; i++) {
		struct om_state *s = OM_AT(&fake.states, struct om_state, i);

		if (!strcmp(s->dev.ifname, name))
			return s;
	}
	return NULL;
}

static struct om_state *device_of(bool by_index, uint32_t ifindex,
				  const char *name, struct om_err *err)
{
	struct om_state *s = NULL;

	for (size_t i = 0; by_index && i < fake.states.n; i++)
		if (OM_AT(&fake.states, struct om_state, i)->dev.ifindex == ifindex)
			s = OM_AT(&fake.states, struct om_state, i);
	if (!by_index)
		s = fake_device(name);
	if (!s)
		om_err_sys(err, ENODEV, "%s", "");
	return s;
}

/* Every object has its index and its name in these two attributes. */
static struct om_state *target(const struct om_object *obj, const void *data,
			       struct om_err *err)
{
	const struct om_field *index = om_field_get(obj, 1);
	const struct om_field *name = om_field_get(obj, 2);

	return device_of(om_field_has(index, data),
			 (uint32_t)om_field_uint(index, data),
			 om_field_ptr(name, data), err);
}

static void merge(const struct om_object *obj, void *to, const void *from)
{
	for (size_t i = 0; i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];

		if (!om_field_has(f, from) || f->type == OM_MULTI)
			continue;
		memcpy((char *)to + f->offset, om_field_ptr(f, from), f->size);
		om_field_set(f, to);
	}
}

static int new_device(const struct om_device *req, struct om_err *err)
{
	struct om_state *s;

	if (fake_device(req->ifname))
		return om_err_sys(err, EEXIST, "the name is taken");
	s = om_list_add(&fake.states, sizeof(*s));
	s->dev.has = (OM_BIT(OMERTA_A_DEVICE_MAX + 1) - 2) &
		     ~(OM_BIT(OMERTA_A_DEVICE_CONTROL_BOUND) | OM_BIT(OMERTA_A_DEVICE_AGENT_PID) |
		       OM_BIT(OMERTA_A_DEVICE_AGENT_AGE) | OM_BIT(OMERTA_A_DEVICE_AGENT_STATS));
	s->dev.ifindex = 2 + (uint32_t)fake.states.n;
	s->dev.listen_port = 40000;
	s->dev.chunk_size = 512;
	s->dev.percpu_threshold = 16384;
	strcpy(s->dev.cpus, "all");
	s->dev.batch = 1;
	s->dev.df = OMERTA_DF_UNSET;
	s->dev.max_mtu = 63491;
	strcpy(s->dev.engine, "lib");
	s->dev.control_rate = 1000;
	s->dev.control_source_rate = 20;
	s->dev.control_share = 1;
	s->dev.channels = 2;
	s->dev.stats.has = OM_BIT(OMERTA_A_DEVICE_STATS_MAX + 1) - 2;
	merge(&om_device_object, &s->dev, req);
	return OM_OK;
}

static int device_request(int cmd, const struct om_device *req,
			  struct om_err *err)
{
	struct om_state *s;

	if (cmd == OMERTA_CMD_DEVICE_NEW)
		return new_device(req, err);
	s = target(&om_device_object, req, err);
	if (!s)
		return OM_SYSTEM;
	if (cmd == OMERTA_CMD_DEVICE_SET) {
		merge(&om_device_object, &s->dev, req);
		return OM_OK;
	}
	om_state_free(s);
	*s = *OM_AT(&fake.states, struct om_state, --fake.states.n);
	fake.addresses.n = 0;
	fake.routes.n = 0;
	fake.mtu = 0;
	fake.up = false;
	return OM_OK;
}

/*
 * Peers
 */

struct om_peer *fake_peer(struct om_state *s, uint32_t id)
{
	for (size_t i = 0; i < s->peers.n; i++)
		if (OM_AT(&s->peers, struct om_peer, i)->id == id)
			return OM_AT(&s->peers, struct om_peer, i);
	return NULL;
}

static bool remove_prefix(struct om_peer *peer, const struct om_prefix *p)
{
	struct om_list *list = &peer->allowed_ips;

	for (size_t i = 0; i < list->n; i++) {
		struct om_prefix *v = list->v;

		if (om_prefix_cmp(&v[i], p))
			continue;
		memmove(v + i, v + i + 1, (--list->n - i) * sizeof(*v));
		return true;
	}
	return false;
}

/* The kernel's rules: another peer's prefix moves, one's own is refused. */
static int add_prefix(struct om_state *s, struct om_peer *peer,
		      const struct om_prefix *p, struct om_err *err)
{
	struct om_prefix *new;

	/* Not for the long lists: this one is quadratic. */
	for (size_t i = 0; !fake.quiet && i < s->peers.n; i++) {
		struct om_peer *other = OM_AT(&s->peers, struct om_peer, i);

		if (remove_prefix(other, p) && other == peer)
			return om_err(err, OM_SYSTEM, "the peer's already");
	}
	new = om_list_add(&peer->allowed_ips, sizeof(*new));
	*new = *p;
	new->has |= OM_BIT(OMERTA_A_ALLOWED_IP_PEER_ID);
	new->peer_id = peer->id;
	return OM_OK;
}

static int set_peer(struct om_state *s, struct om_peer *peer,
		    const struct om_peer *req, struct om_err *err)
{
	size_t size = 0;
	int rc = OM_OK;

	merge(&om_peer_object, peer, req);
	peer->has &= ~OM_BIT(OMERTA_A_PEER_FLAGS);
	if (req->has & OM_BIT(OMERTA_A_PEER_FLAGS) &&
	    req->flags & OMERTA_PEER_FLAGS_REPLACE_ALLOWED_IPS)
		peer->allowed_ips.n = 0;
	if (!(req->has & OM_BIT(OMERTA_A_PEER_ALLOWED_IPS)))
		return OM_OK;
	for (size_t i = 0; i < req->allowed_ips.n && !rc; i++) {
		const struct om_prefix *p = OM_AT(&req->allowed_ips,
						  struct om_prefix, i);

		size += om_nl_prefix_size(p);
		if (p->has & OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS))
			rc = remove_prefix(peer, p) ? OM_OK :
			     om_err(err, OM_SYSTEM, "not the peer's");
		else
			rc = add_prefix(s, peer, p, err);
	}
	if (size > fake.largest)
		fake.largest = size;
	return rc;
}

static void delete_peer(struct om_state *s, struct om_peer *peer)
{
	struct om_peer *v = s->peers.v;
	size_t i = (size_t)(peer - v);

	for (size_t k = s->keys.n; k-- > 0;) {
		struct om_key *keys = s->keys.v;

		if (keys[k].peer_id == peer->id)
			memmove(keys + k, keys + k + 1,
				(--s->keys.n - k) * sizeof(*keys));
	}
	om_list_free(&peer->allowed_ips);
	om_list_free(&peer->further_channels);
	memmove(v + i, v + i + 1, (--s->peers.n - i) * sizeof(*v));
}

static int peer_request(int cmd, const struct om_peer *req, struct om_err *err)
{
	struct om_state *s = target(&om_peer_object, req, err);
	struct om_peer *peer;

	if (!s)
		return OM_SYSTEM;
	peer = fake_peer(s, req->id);
	if (cmd == OMERTA_CMD_PEER_NEW) {
		if (peer)
			return om_err(err, OM_SYSTEM, "id: peer exists");
		peer = om_list_add(&s->peers, sizeof(*peer));
		peer->has = OM_BIT(OMERTA_A_PEER_STATS) |
			    OM_BIT(OMERTA_A_PEER_KEEPALIVE);
		peer->stats.has = OM_BIT(OMERTA_A_PEER_STATS_MAX + 1) - 2;
		return set_peer(s, peer, req, err);
	}
	if (!peer)
		return om_err(err, OM_SYSTEM, "id: no such peer");
	if (cmd == OMERTA_CMD_PEER_SET)
		return set_peer(s, peer, req, err);
	delete_peer(s, peer);
	return OM_OK;
}

/*
 * Keys
 */

static unsigned int keys_of(const struct om_state *s, uint32_t peer_id, uint32_t channel)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->keys.n; i++)
		n += OM_AT(&s->keys, struct om_key, i)->peer_id == peer_id &&
		     OM_AT(&s->keys, struct om_key, i)->channel == channel;
	return n;
}

static int key_request(int cmd, const struct om_key *req, struct om_err *err)
{
	struct om_state *s = target(&om_key_object, req, err);
	struct om_key *key;

	if (!s)
		return OM_SYSTEM;
	for (size_t i = 0; cmd == OMERTA_CMD_KEY_DEL && i < s->keys.n; i++) {
		key = OM_AT(&s->keys, struct om_key, i);
		if (key->peer_id != req->peer_id || key->local_id != req->local_id)
			continue;
		*key = *OM_AT(&s->keys, struct om_key, --s->keys.n);
		return OM_OK;
	}
	if (cmd == OMERTA_CMD_KEY_DEL && fake.strict)
		return om_err_sys(err, ENOENT, "%s", "");
	if (cmd != OMERTA_CMD_KEY_NEW)
		return OM_OK;
	if (fake.strict && keys_of(s, req->peer_id, req->channel) >= 8)
		return om_err_sys(err, ENOSPC, "the peer has 8 keys");
	key = om_list_add(&s->keys, sizeof(*key));
	merge(&om_key_object, key, req);
	key->has &= ~(OM_BIT(OMERTA_A_KEY_RX_SECRET) |
		      OM_BIT(OMERTA_A_KEY_TX_SECRET) |
		      OM_BIT(OMERTA_A_KEY_ACTIVATION));
	memset(key->rx_secret, 0, sizeof(key->rx_secret));
	memset(key->tx_secret, 0, sizeof(key->tx_secret));
	return OM_OK;
}

int om_nl_do(struct om_nl *nl, int cmd, const struct om_object *obj,
	     const void *data, struct om_err *err)
{
	(void)nl;
	fake.requests++;
	if (!fake.quiet)
		log_request(cmd, obj, data);
	if (fake.requests == fake.fail_at || fake.requests == fake.fail_also) {
		om_err(err, OM_SYSTEM, "%s",
		       *fake.fail_text ? fake.fail_text : "the fake says no");
		err->sys = fake.fail_with;
		return OM_SYSTEM;
	}
	if (obj == &om_device_object)
		return device_request(cmd, data, err);
	if (obj == &om_peer_object)
		return peer_request(cmd, data, err);
	return key_request(cmd, data, err);
}

static void copy_list(struct om_list *to, const struct om_list *from,
		      size_t size)
{
	for (size_t i = 0; i < from->n; i++)
		memcpy(om_list_add(to, size), (char *)from->v + i * size, size);
}

/* Prefixes come in messages of their own. */
static void copy_peer(struct om_peer *to, const struct om_peer *from)
{
	*to = *from;
	memset(&to->allowed_ips, 0, sizeof(to->allowed_ips));
	memset(&to->further_channels, 0, sizeof(to->further_channels));
	copy_list(&to->further_channels, &from->further_channels, sizeof(struct om_peer_channel));
}

static int get_peer(const struct om_state *s, uint32_t id, struct om_peer *reply,
		    struct om_err *err)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&s->peers, struct om_peer, i);

		if (peer->id != id)
			continue;
		copy_peer(reply, peer);
		return OM_OK;
	}
	return om_err_sys(err, ENOENT, "%s", "");
}

int om_nl_get(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, void *reply, struct om_err *err)
{
	const struct om_state *s = target(obj, data, err);

	(void)nl;
	(void)cmd;
	fake.reads++;
	if (!s)
		return OM_SYSTEM;
	if (obj == &om_peer_object)
		return get_peer(s, ((const struct om_peer *)data)->id, reply, err);
	*(struct om_device *)reply = s->dev;
	((struct om_device *)reply)->peers = (uint32_t)s->peers.n;
	return OM_OK;
}

static void dump_peers(const struct om_state *s, struct om_list *list)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		struct om_peer *p = om_list_add(list, sizeof(*p));

		copy_peer(p, OM_AT(&s->peers, struct om_peer, i));
		p->has &= ~(OM_BIT(OMERTA_A_PEER_IFNAME) |
			    OM_BIT(OMERTA_A_PEER_ALLOWED_IPS));
		p->has |= OM_BIT(OMERTA_A_PEER_IFINDEX);
		p->ifindex = s->dev.ifindex;
		memset(p->ifname, 0, sizeof(p->ifname));
	}
}

/* Several messages with several prefixes each, as the kernel may send them */
static void dump_prefixes(const struct om_state *s, struct om_list *list)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&s->peers, struct om_peer, i);

		for (size_t k = 0; k < peer->allowed_ips.n; k++) {
			struct om_list *last;

			if (k % 3 == 0)
				om_list_add(list, sizeof(*peer));
			last = &OM_AT(list, struct om_peer,
				      list->n - 1)->allowed_ips;
			*(struct om_prefix *)om_list_add(last,
						sizeof(struct om_prefix)) =
				*OM_AT(&peer->allowed_ips, struct om_prefix, k);
		}
	}
}

int om_nl_dump(struct om_nl *nl, int cmd, const struct om_object *obj,
	       const void *data, struct om_list *list, struct om_err *err)
{
	const struct om_state *s = NULL;

	(void)nl;
	fake.reads++;
	memset(list, 0, sizeof(*list));
	if (cmd == OMERTA_CMD_DEVICE_GET) {
		for (size_t i = 0; i < fake.states.n; i++) {
			struct om_device *d = om_list_add(list, sizeof(*d));

			s = OM_AT(&fake.states, struct om_state, i);
			*d = s->dev;
			d->peers = (uint32_t)s->peers.n;
		}
		return OM_OK;
	}
	if (fake.denied)
		return om_err_sys(err, EPERM, "%s", "");
	s = target(obj, data, err);
	if (!s)
		return OM_SYSTEM;
	if (cmd == OMERTA_CMD_PEER_GET)
		dump_peers(s, list);
	else if (cmd == OMERTA_CMD_ALLOWED_IP_GET)
		dump_prefixes(s, list);
	else
		copy_list(list, &s->keys, sizeof(struct om_key));
	return OM_OK;
}

/* Tested with the sockets' code, and the agent in a kernel of its own */
struct om_nl_events *om_nl_events_open(struct om_err *err)
{
	om_err(err, OM_SYSTEM, "the fake has no events");
	return NULL;
}

void om_nl_events_close(struct om_nl_events *e)
{
	(void)e;
}

int om_nl_events_fd(const struct om_nl_events *e)
{
	(void)e;
	return -1;
}

int om_nl_events_read(struct om_nl_events *e, om_on_event fn, void *arg,
		      bool *lost, struct om_err *err)
{
	(void)e;
	(void)fn;
	(void)arg;
	(void)lost;
	(void)err;
	return OM_SYSTEM;
}

struct om_nl_control *om_nl_control_open(const char *ifname, const uint8_t *public,
					 struct om_err *err)
{
	(void)ifname;
	(void)public;
	om_err(err, OM_SYSTEM, "the fake has no control datagrams");
	return NULL;
}

int om_nl_control_rebind(struct om_nl_control *c, const uint8_t *public,
			 struct om_err *err)
{
	(void)c;
	memcpy(fake.bound, public, sizeof(fake.bound));
	return ++fake.binds == fake.fail_bind ? om_err(err, OM_SYSTEM, "the fake says no") :
						OM_OK;
}

void om_nl_control_rename(struct om_nl_control *c, const char *ifname)
{
	(void)c;
	(void)ifname;
}

void om_nl_control_close(struct om_nl_control *c)
{
	(void)c;
}

int om_nl_control_fd(const struct om_nl_control *c)
{
	(void)c;
	return -1;
}

int om_nl_control_read(struct om_nl_control *c, om_on_control fn, om_on_refused refused,
		       void *arg, struct om_err *err)
{
	(void)c;
	(void)fn;
	(void)refused;
	(void)arg;
	(void)err;
	return OM_SYSTEM;
}

int om_nl_control_send(struct om_nl_control *c, struct om_control *datagram, uint32_t *seq,
		       struct om_err *err)
{
	(void)c;
	(void)datagram;
	(void)seq;
	(void)err;
	return OM_SYSTEM;
}

int om_nl_control_report(struct om_nl_control *c, struct om_report *report, struct om_err *err)
{
	(void)c;
	(void)err;
	for (size_t i = 0; i < report->handshakes.n; i++)
		*(struct om_handshake *)om_list_add(&fake.reported, sizeof(struct om_handshake)) =
			*OM_AT(&report->handshakes, struct om_handshake, i);
	fake.counted = report->stats;
	return OM_OK;
}
