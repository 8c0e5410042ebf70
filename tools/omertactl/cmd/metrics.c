// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and states for Prometheus, in its text format 0.0.4 or that of OpenMetrics 1.0. They
 * differ in where "_total" stands and in the end.
 */
#include "cmd/cmd.h"

#include "cmd/print.h"
#include "lib/addr.h"
#include "lib/keygen.h"
#include "lib/state.h"
#include "lib/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The family that is being printed */
static struct {
	const char *name;
	bool counter;
	bool open_metrics;
} now;

/* Labels of the next samples but for those of a single one */
static char labels[64 + 8 * IFNAMSIZ + 8 * OMERTA_PEER_NAME_LEN];

/* Append ,NAME="VALUE". Bytes that are no UTF-8 are replaced. */
static void add_label(char *to, size_t size, const char *name, const char *value)
{
	size_t at = strlen(to);

	at += (size_t)snprintf(to + at, size - at, "%s%s=\"", at ? "," : "", name);
	while (*value && at + 8 < size) {
		size_t len = om_utf8_len(value);

		if (*value == '\\' || *value == '"') {
			to[at++] = '\\';
			to[at++] = *value;
		} else if (*value == '\n') {
			to[at++] = '\\';
			to[at++] = 'n';
		} else if (len) {
			memcpy(to + at, value, len);
			at += len;
		} else {
			memcpy(to + at, "\xef\xbf\xbd", 3);
			at += 3;
		}
		value += len ? len : 1;
	}
	snprintf(to + at, size - at, "\"");
}

static void begin(const char *name, bool counter, const char *help)
{
	const char *end = counter && !now.open_metrics ? "_total" : "";

	now.name = name;
	now.counter = counter;
	printf("# HELP omerta_%s%s %s\n# TYPE omerta_%s%s %s\n", name, end, help, name, end,
	       counter ? "counter" : "gauge");
}

/* @more: labels of this sample only, or NULL */
static void sample(const char *more, double value)
{
	printf("omerta_%s%s{%s%s%s} %.17g\n", now.name, now.counter ? "_total" : "", labels,
	       more ? "," : "", more ? more : "", value);
}

static void label_device(const struct om_state *s)
{
	*labels = '\0';
	add_label(labels, sizeof(labels), "device", s->dev.ifname);
}

/* Ids are unique, names are not, and not every peer has one. */
static void label_peer(const struct om_state *s, const struct om_peer *p)
{
	char id[16];

	label_device(s);
	snprintf(id, sizeof(id), "%u", p->id);
	add_label(labels, sizeof(labels), "peer", id);
	if (*p->name)
		add_label(labels, sizeof(labels), "name", p->name);
}

#define EACH(list, type, item)						\
	for (const type *item = (list)->v;				\
	     item && item < (const type *)(list)->v + (list)->n; item++)

/* A single counter of a nested object, if the kernel told it */
static void counter_of(const struct om_object *obj, const void *data, unsigned int attr)
{
	const struct om_field *f = om_field_get(obj, attr);

	if (om_field_has(f, data))
		sample(NULL, (double)om_field_uint(f, data));
}

static const struct om_object *nest_of(const struct om_object *obj, unsigned int attr)
{
	return om_field_get(obj, attr)->nest;
}

struct counter {
	const char *name;
	const char *help;
	unsigned int attr;
};

static void put_device_counters(const struct om_list *states)
{
	static const struct counter counters[] = {
		{ "receive_packets", "Inner packets received.", OMERTA_A_DEVICE_STATS_RX_PACKETS },
		{ "receive_bytes", "Bytes of inner packets received.", OMERTA_A_DEVICE_STATS_RX_BYTES },
		{ "transmit_packets", "Inner packets sent.", OMERTA_A_DEVICE_STATS_TX_PACKETS },
		{ "transmit_bytes", "Bytes of inner packets sent.", OMERTA_A_DEVICE_STATS_TX_BYTES },
	};
	const struct om_object *obj = nest_of(&om_device_object, OMERTA_A_DEVICE_STATS);

	for (size_t i = 0; i < OM_ARRAY_SIZE(counters); i++) {
		begin(counters[i].name, true, counters[i].help);
		EACH(states, struct om_state, s) {
			label_device(s);
			counter_of(obj, &s->dev.stats, counters[i].attr);
		}
	}
}

static void put_channels(const struct om_list *states)
{
	static const struct counter counters[] = {
		{ "channel_receive_packets", "Inner packets received.",
		  OMERTA_A_CHANNEL_STATS_RX_PACKETS },
		{ "channel_receive_records", "Records accepted.",
		  OMERTA_A_CHANNEL_STATS_RX_RECORDS },
		{ "channel_receive_drops", "Packets, records and datagrams dropped on receiving.",
		  OMERTA_A_CHANNEL_STATS_RX_DROPS },
		{ "channel_transmit_packets", "Inner packets sent.",
		  OMERTA_A_CHANNEL_STATS_TX_PACKETS },
		{ "channel_transmit_records", "Records sent.",
		  OMERTA_A_CHANNEL_STATS_TX_RECORDS },
		{ "channel_transmit_drops", "Packets dropped on sending.",
		  OMERTA_A_CHANNEL_STATS_TX_DROPS },
		{ "channel_receive_cpu", "CPU that received last.", OMERTA_A_CHANNEL_STATS_RX_CPU },
		{ "channel_transmit_cpu", "CPU that sent last.", OMERTA_A_CHANNEL_STATS_TX_CPU },
	};
	char more[32];

	for (size_t i = 0; i < OM_ARRAY_SIZE(counters); i++) {
		unsigned int attr = counters[i].attr;

		begin(counters[i].name, attr != OMERTA_A_CHANNEL_STATS_RX_CPU &&
		      attr != OMERTA_A_CHANNEL_STATS_TX_CPU, counters[i].help);
		EACH(states, struct om_state, s) {
			label_device(s);
			EACH(&s->dev.channel_stats, struct om_channel_stats, c) {
				if (!(c->has & OM_BIT(attr)))
					continue;
				snprintf(more, sizeof(more), "channel=\"%" PRIu64 "\"",
					 c->v[OMERTA_A_CHANNEL_STATS_CHANNEL]);
				sample(more, (double)c->v[attr]);
			}
		}
	}
}

/* Counters whose names begin with @prefix, with the rest as a label */
static void put_reasons(const struct om_object *obj, const void *data, const char *prefix,
			const char *first)
{
	char more[128], reason[64];

	for (size_t i = 0; i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];
		size_t len = strlen(prefix);

		if (strncmp(f->name, prefix, len) || !om_field_has(f, data))
			continue;
		snprintf(reason, sizeof(reason), "%s", f->name + len);
		for (char *c = reason; (c = strchr(c, '-'));)
			*c = '_';
		snprintf(more, sizeof(more), "%sreason=\"%s\"", first, reason);
		sample(more, (double)om_field_uint(f, data));
	}
}

static void put_drops(const struct om_list *states)
{
	const struct om_object *obj = nest_of(&om_device_object, OMERTA_A_DEVICE_STATS);

	begin("drops", true, "Packets, records and datagrams dropped.");
	EACH(states, struct om_state, s) {
		label_device(s);
		put_reasons(obj, &s->dev.stats, "rx-drop-", "direction=\"receive\",");
		put_reasons(obj, &s->dev.stats, "tx-drop-", "direction=\"transmit\",");
	}
}

static void put_device_info(const struct om_list *states)
{
	static const uint8_t attrs[] = {
		OMERTA_A_DEVICE_LISTEN_PORT, OMERTA_A_DEVICE_ENGINE, OMERTA_A_DEVICE_POLICY,
		OMERTA_A_DEVICE_CHUNK_SIZE, OMERTA_A_DEVICE_DF,
	};

	begin("device_info", false, "Settings of a device.");
	EACH(states, struct om_state, s) {
		char more[256] = "", name[32], text[OM_VALUE_LEN];

		for (size_t i = 0; i < OM_ARRAY_SIZE(attrs); i++) {
			const struct om_field *f = om_field_get(&om_device_object, attrs[i]);

			if (!om_field_has(f, &s->dev))
				continue;
			snprintf(name, sizeof(name), "%s", f->name);
			for (char *c = name; (c = strchr(c, '-'));)
				*c = '_';
			add_label(more, sizeof(more), name, om_value_format(f, &s->dev, text));
		}
		label_device(s);
		sample(more, 1);
	}
	begin("peers", false, "Peers of a device.");
	EACH(states, struct om_state, s) {
		label_device(s);
		sample(NULL, s->dev.peers);
	}
}

static void put_agent(const struct om_list *states)
{
	static const struct counter counters[] = {
		{ "handshakes_begun", "Handshakes that this end began.",
		  OMERTA_A_AGENT_STATS_BEGUN },
		{ "handshakes_done", "Handshakes that made a key.", OMERTA_A_AGENT_STATS_DONE },
		{ "handshakes_rate_limited", "Initiations left alone because of a limit.",
		  OMERTA_A_AGENT_STATS_RATE_LIMITED },
	};
	const struct om_object *obj = nest_of(&om_device_object, OMERTA_A_DEVICE_AGENT_STATS);

	begin("agent_running", false, "1 if a key agent is there, else 0.");
	EACH(states, struct om_state, s) {
		label_device(s);
		sample(NULL, s->dev.control_bound);
	}
	for (size_t i = 0; i < OM_ARRAY_SIZE(counters); i++) {
		begin(counters[i].name, true, counters[i].help);
		EACH(states, struct om_state, s) {
			label_device(s);
			counter_of(obj, &s->dev.agent_stats, counters[i].attr);
		}
	}
	begin("handshakes_failed", true, "Handshakes that made no key.");
	EACH(states, struct om_state, s) {
		label_device(s);
		put_reasons(obj, &s->dev.agent_stats, "failed-", "");
	}
}

/* Call @put for each peer, with the labels set. */
static void each_peer(const struct om_list *states,
		      void (*put)(const struct om_state *s, const struct om_peer *p))
{
	EACH(states, struct om_state, s) {
		EACH(&s->peers, struct om_peer, p) {
			label_peer(s, p);
			put(s, p);
		}
	}
}

static void put_peer_info(const struct om_state *s, const struct om_peer *p)
{
	char more[512] = "", text[OM_ENDPOINT_LEN];

	(void)s;
	if (!om_key_is_zero(p->public_key)) {
		om_base64_encode(text, p->public_key);
		add_label(more, sizeof(more), "public_key", text);
	}
	if (p->endpoint_addr.len) {
		om_endpoint_format(text, sizeof(text), p);
		add_label(more, sizeof(more), "endpoint", text);
	}
	sample(*more ? more : NULL, 1);
}

/* Seconds since 1970 of what was so many milliseconds ago */
static double when(uint64_t age)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec - (double)(age / 1000);
}

static void put_handshake(const struct om_state *s, const struct om_peer *p)
{
	uint64_t age;

	if (om_state_handshake_age(s, p->id, &age))
		sample(NULL, when(age));
}

static void put_receive(const struct om_state *s, const struct om_peer *p)
{
	(void)s;
	if (p->has & OM_BIT(OMERTA_A_PEER_RX_AGE))
		sample(NULL, when(p->rx_age));
}

static void put_silent(const struct om_state *s, const struct om_peer *p)
{
	(void)s;
	sample(NULL, p->silent);
}

static void put_path_mtu(const struct om_state *s, const struct om_peer *p)
{
	(void)s;
	if (p->has & OM_BIT(OMERTA_A_PEER_PATH_MTU))
		sample(NULL, p->path_mtu);
}

static void put_key_age(const struct om_state *s, const struct om_peer *p)
{
	const struct om_key *k = NULL;

	/* The dump may have caught the key before it retired, and the next one. */
	while ((k = om_state_next_key(s, p->id, k)))
		if (k->state == OMERTA_KEY_STATE_ACTIVE && !k->channel &&
		    (k->has & OM_BIT(OMERTA_A_KEY_AGE))) {
			sample(NULL, (double)k->age / 1000);
			return;
		}
}

static void put_peers(const struct om_list *states)
{
	static const struct counter counters[] = {
		{ "peer_receive_packets", "Inner packets received.",
		  OMERTA_A_PEER_STATS_RX_PACKETS },
		{ "peer_receive_bytes", "Bytes of inner packets received.", OMERTA_A_PEER_STATS_RX_BYTES },
		{ "peer_transmit_packets", "Inner packets sent.", OMERTA_A_PEER_STATS_TX_PACKETS },
		{ "peer_transmit_bytes", "Bytes of inner packets sent.",
		  OMERTA_A_PEER_STATS_TX_BYTES },
		{ "peer_receive_records", "Records accepted.", OMERTA_A_PEER_STATS_RX_RECORDS },
		{ "peer_receive_record_bytes", "Bytes of records accepted.",
		  OMERTA_A_PEER_STATS_RX_OUTER_BYTES },
		{ "peer_transmit_records", "Records sent.", OMERTA_A_PEER_STATS_TX_RECORDS },
		{ "peer_transmit_record_bytes", "Bytes of records sent.",
		  OMERTA_A_PEER_STATS_TX_OUTER_BYTES },
	};
	static const struct {
		const char *name;
		const char *help;
		void (*put)(const struct om_state *s, const struct om_peer *p);
	} gauges[] = {
		{ "peer_info", "Public key and endpoint of a peer.", put_peer_info },
		{ "peer_latest_handshake_timestamp_seconds",
		  "When the newest key of a handshake was installed.", put_handshake },
		{ "peer_latest_receive_timestamp_seconds",
		  "When the latest authentic record came.", put_receive },
		{ "peer_key_age_seconds", "Age of the key that seals.", put_key_age },
		{ "peer_silent", "1 if the peer does not answer, else 0.", put_silent },
		{ "peer_path_mtu_bytes", "Longest packet that the path takes whole.",
		  put_path_mtu },
	};
	const struct om_object *obj = nest_of(&om_peer_object, OMERTA_A_PEER_STATS);

	for (size_t i = 0; i < OM_ARRAY_SIZE(counters); i++) {
		begin(counters[i].name, true, counters[i].help);
		EACH(states, struct om_state, s) {
			EACH(&s->peers, struct om_peer, p) {
				label_peer(s, p);
				counter_of(obj, &p->stats, counters[i].attr);
			}
		}
	}
	for (size_t i = 0; i < OM_ARRAY_SIZE(gauges); i++) {
		begin(gauges[i].name, false, gauges[i].help);
		each_peer(states, gauges[i].put);
	}
}

int om_metrics(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	int rc;

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE, "-j: this is not JSON, see omertactl -j show");
	rc = om_states_load(ctx->nl, args->pos[0], OM_PEERS | OM_KEYS, &states, &ctx->err);
	if (rc)
		return rc;
	now.open_metrics = args->all;
	put_device_info(&states);
	put_device_counters(&states);
	put_channels(&states);
	put_drops(&states);
	put_agent(&states);
	put_peers(&states);
	if (now.open_metrics)
		puts("# EOF");
	om_states_free(&states);
	return om_print_flush(&ctx->err);
}
