// SPDX-License-Identifier: GPL-2.0
#include "cmd/print.h"

#include "lib/addr.h"
#include "lib/json.h"
#include "lib/state.h"
#include "lib/value.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Columns of a line, after its kind. They are documented in omertactl(8), and new ones are
 * only appended, so they are not in the order of the netlink attributes.
 */
struct column {
	uint8_t attr;
	uint8_t sub;		/* attribute of the nest, or 0 */
};

#define C(obj, a)		{ OMERTA_A_##obj##_##a, 0 }
#define S(obj, a)		{ OMERTA_A_##obj##_STATS, OMERTA_A_##obj##_STATS_##a }

static const struct column device_columns[] = {
	C(DEVICE, IFNAME), C(DEVICE, IFINDEX), C(DEVICE, LISTEN_PORT),
	C(DEVICE, FWMARK), C(DEVICE, CHUNK_SIZE), C(DEVICE, POLICY),
	C(DEVICE, PERCPU_THRESHOLD), C(DEVICE, CPUS), C(DEVICE, PEERS),
	C(DEVICE, MAX_MTU), C(DEVICE, ENGINE),
	S(DEVICE, RX_PACKETS), S(DEVICE, RX_BYTES),
	S(DEVICE, TX_PACKETS), S(DEVICE, TX_BYTES), C(DEVICE, BATCH),
	C(DEVICE, DF), C(DEVICE, CONTROL_RATE), C(DEVICE, CONTROL_SOURCE_RATE),
	C(DEVICE, CONTROL_SHARE), C(DEVICE, CHANNELS), C(DEVICE, CHANNEL_PORT),
};

static const struct column peer_columns[] = {
	C(PEER, IFNAME), C(PEER, ID), C(PEER, NAME), C(PEER, PUBLIC_KEY),
	C(PEER, ENDPOINT_ADDR), C(PEER, KEEPALIVE), C(PEER, RX_AGE),
	S(PEER, RX_PACKETS), S(PEER, RX_BYTES),
	S(PEER, TX_PACKETS), S(PEER, TX_BYTES),
	S(PEER, RX_RECORDS), S(PEER, RX_OUTER_BYTES),
	S(PEER, TX_RECORDS), S(PEER, TX_OUTER_BYTES), C(PEER, PATH_MTU),
	C(PEER, SILENT), C(PEER, CHANNELS),
};

static const struct column key_columns[] = {
	C(KEY, IFNAME), C(KEY, PEER_ID), C(KEY, LOCAL_ID), C(KEY, REMOTE_ID),
	C(KEY, STATE), C(KEY, LIMIT), C(KEY, CONFIRMED), C(KEY, AGE),
	C(KEY, SEAL_TIME), C(KEY, OPEN_TIME), C(KEY, SOFT_TIME),
	C(KEY, SOFT_RECORDS), C(KEY, SOFT_BYTES),
	C(KEY, HARD_RECORDS), C(KEY, HARD_BYTES),
	C(KEY, RX_RECORDS), C(KEY, RX_BYTES),
	C(KEY, TX_RECORDS), C(KEY, TX_BYTES),
	C(KEY, AUTH_FAILURES), C(KEY, REPLAYS), C(KEY, CHANNEL),
};

static void put_value(const struct om_field *f, const void *data)
{
	char buf[OM_VALUE_LEN];

	if (!om_field_has(f, data) ||
	    (f->type == OM_STR && !*(const char *)om_field_ptr(f, data)))
		fputs(f->type == OM_FLAG ? "\tno" : "\t(none)", stdout);
	else if (f->format == OM_MSEC)
		printf("\t%" PRIu64, om_field_uint(f, data));
	else
		printf("\t%s", om_value_format(f, data, buf));
}

static void put_line(const char *kind, const struct om_object *obj,
		     const void *data, const struct column *c, size_t n)
{
	om_print_open("%s", kind);
	for (size_t i = 0; i < n; i++) {
		const struct om_field *f = om_field_get(obj, c[i].attr);

		if (c[i].sub)
			put_value(om_field_get(f->nest, c[i].sub),
				  om_field_ptr(f, data));
		else
			put_value(f, data);
	}
	om_print_close();
}

static void put_prefix(const struct om_peer *peer, const struct om_prefix *p)
{
	char buf[OM_PREFIX_LEN];

	om_prefix_format(buf, sizeof(buf), p);
	printf("allowed-ip\t%s\t%u\t%s\n", om_print_name(peer->ifname),
	       peer->id, buf);
}

static void put_channel(const struct om_peer *peer, const struct om_peer_channel *c)
{
	const struct om_object *obj = &om_peer_channel_object;
	char endpoint[OM_VALUE_LEN] = "(none)";

	if (c->has & OM_BIT(OMERTA_A_PEER_CHANNEL_ENDPOINT_ADDR))
		om_channel_endpoint_format(endpoint, sizeof(endpoint), c);
	om_print_open("channel\t%s\t%" PRIu32, om_print_name(peer->ifname), peer->id);
	put_value(om_field_get(obj, OMERTA_A_PEER_CHANNEL_CHANNEL), c);
	put_value(om_field_get(obj, OMERTA_A_PEER_CHANNEL_STATE), c);
	printf("\t%s", endpoint);
	put_value(om_field_get(obj, OMERTA_A_PEER_CHANNEL_LOCAL_PORT), c);
	put_value(om_field_get(obj, OMERTA_A_PEER_CHANNEL_RX_AGE), c);
	om_print_close();
}

static void dump_text(const struct om_state *s)
{
	put_line("device", &om_device_object, &s->dev, device_columns,
		 OM_ARRAY_SIZE(device_columns));
	for (size_t i = 0; i < s->peers.n; i++)
		put_line("peer", &om_peer_object,
			 OM_AT(&s->peers, struct om_peer, i), peer_columns,
			 OM_ARRAY_SIZE(peer_columns));
	for (size_t i = 0; i < s->keys.n; i++)
		put_line("key", &om_key_object,
			 OM_AT(&s->keys, struct om_key, i), key_columns,
			 OM_ARRAY_SIZE(key_columns));
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&s->peers, struct om_peer, i);

		for (size_t k = 0; k < peer->allowed_ips.n; k++)
			put_prefix(peer, OM_AT(&peer->allowed_ips,
					       struct om_prefix, k));
	}
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&s->peers, struct om_peer, i);

		for (size_t k = 0; k < peer->further_channels.n; k++)
			put_channel(peer, OM_AT(&peer->further_channels,
						struct om_peer_channel, k));
	}
}

static void json_object(const char *kind, const struct om_object *obj,
			const void *data, uint64_t skip)
{
	om_json_open(NULL, '{');
	om_json_str("kind", kind);
	om_print_fields(obj, data, skip);
	om_json_close();
}

static void json_prefixes(const struct om_peer *peer)
{
	char buf[OM_PREFIX_LEN];

	for (size_t i = 0; i < peer->allowed_ips.n; i++) {
		om_prefix_format(buf, sizeof(buf), OM_AT(&peer->allowed_ips, struct om_prefix, i));
		om_json_open(NULL, '{');
		om_json_str("kind", "allowed-ip");
		om_json_str("ifname", peer->ifname);
		om_json_uint("peer-id", peer->id);
		om_json_str("prefix", buf);
		om_json_close();
	}
}

static void dump_json(const struct om_state *s)
{
	json_object("device", &om_device_object, &s->dev, 0);
	for (size_t i = 0; i < s->peers.n; i++)
		json_object("peer", &om_peer_object,
			    OM_AT(&s->peers, struct om_peer, i),
			    OM_BIT(OMERTA_A_PEER_ALLOWED_IPS));
	for (size_t i = 0; i < s->keys.n; i++)
		json_object("key", &om_key_object,
			    OM_AT(&s->keys, struct om_key, i), 0);
	for (size_t i = 0; i < s->peers.n; i++)
		json_prefixes(OM_AT(&s->peers, struct om_peer, i));
}

void om_print_dump(const struct om_state *s)
{
	if (om_print_is_json())
		dump_json(s);
	else
		dump_text(s);
}
