// SPDX-License-Identifier: GPL-2.0
#include "cmd/print.h"

#include "lib/addr.h"
#include "lib/json.h"
#include "lib/keygen.h"
#include "lib/state.h"
#include "lib/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct {
	bool json;
	bool colour;
	bool event;		/* the object is an event, which has what it is about only */
} mode;

void om_print_init(bool json, bool colour)
{
	mode.json = json;
	mode.colour = colour;
}

bool om_print_is_json(void)
{
	return mode.json;
}

void om_print_begin(void)
{
	if (mode.json)
		om_json_open(NULL, '[');
}

void om_print_event(const char *name)
{
	struct timespec t;
	char text[32], all[48];

	if (!mode.json)
		return;
	mode.event = true;
	clock_gettime(CLOCK_REALTIME, &t);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime(&t.tv_sec));
	snprintf(all, sizeof(all), "%s.%03ldZ", text, t.tv_nsec / 1000000);
	om_json_str("time", all);
	om_json_str("event", name);
}

int om_print_end(struct om_err *err)
{
	if (mode.json)
		om_json_close();
	return om_print_flush(err);
}

int om_print_flush(struct om_err *err)
{
	if (fflush(stdout) || ferror(stdout))
		return om_err_sys(err, errno, "write");
	return OM_OK;
}

void om_print_open(const char *fmt, ...)
{
	va_list ap;

	if (mode.json) {
		om_json_open(NULL, '{');
		return;
	}
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
}

const char *om_print_name(const char *ifname)
{
	static char buf[4 * IFNAMSIZ + 8];

	return om_escape(buf, sizeof(buf), ifname);
}

void om_print_close(void)
{
	mode.event = false;
	if (mode.json)
		om_json_close();
	else
		putchar('\n');
}

/*
 * One field after another
 */

static void json_prefixes(const char *name, const struct om_list *list)
{
	char buf[OM_PREFIX_LEN];

	om_json_open(name, '[');
	for (size_t i = 0; i < list->n; i++) {
		om_prefix_format(buf, sizeof(buf),
				 OM_AT(list, struct om_prefix, i));
		om_json_str(NULL, buf);
	}
	om_json_close();
}

static void text_prefixes(const char *separator, const struct om_list *list)
{
	char buf[OM_PREFIX_LEN];

	for (size_t i = 0; i < list->n; i++) {
		om_prefix_format(buf, sizeof(buf),
				 OM_AT(list, struct om_prefix, i));
		printf("%s%s", i ? separator : "", buf);
	}
}

static void json_objects(const struct om_field *f, const struct om_list *list)
{
	om_json_open(f->name, '[');
	for (size_t i = 0; i < list->n; i++) {
		om_json_open(NULL, '{');
		om_print_fields(f->nest, (const char *)list->v + i * f->nest->size, 0);
		om_json_close();
	}
	om_json_close();
}

static void json_field(const struct om_field *f, const void *data)
{
	const void *p = om_field_ptr(f, data);
	char buf[OM_VALUE_LEN];

	if (f->nest == &om_prefix_object) {
		json_prefixes(f->name, p);
	} else if (f->type == OM_MULTI) {
		json_objects(f, p);
	} else if (f->type == OM_NEST) {
		om_json_open(f->name, '{');
		om_print_fields(f->nest, p, 0);
		om_json_close();
	} else if (f->type == OM_FLAG) {
		om_json_bool(f->name, om_field_has(f, data));
	} else if (f->type == OM_STR) {
		om_json_str(f->name, p);
	} else if (f->format == OM_ENDPOINT) {
		om_addr_format(buf, sizeof(buf), p);
		om_json_str(f->name, buf);
	} else if (om_value_is_number(f)) {
		om_json_uint(f->name, om_field_uint(f, data));
	} else {
		om_json_str(f->name, om_value_format(f, data, buf));
	}
}

/* Return the name of a field in text, where an endpoint is one value. */
static const char *text_name(const struct om_field *f)
{
	return f->format == OM_ENDPOINT ? "endpoint" : f->name;
}

static void text_field(const struct om_field *f, const void *data)
{
	const void *p = om_field_ptr(f, data);
	char buf[OM_VALUE_LEN];

	if (f->json_only)
		return;
	if (f->type == OM_NEST) {
		printf("\n    %s", f->name);
		om_print_fields(f->nest, p, 0);
	} else if (f->type == OM_MULTI) {
		printf(" %s ", f->name);
		text_prefixes(",", p);
	} else if (f->type == OM_FLAG) {
		printf(" %s", f->name);
	} else {
		printf(" %s %s", text_name(f), om_value_format(f, data, buf));
	}
}

/*
 * Return true if the object would have the flag if it were set: events tell less than requests, and
 * only administrators learn a device's.
 */
static bool is_false(const struct om_field *f, const struct om_object *obj, const void *data)
{
	return f->type == OM_FLAG && mode.json && !mode.event &&
	       (obj != &om_device_object ||
		om_field_has(om_field_get(obj, OMERTA_A_DEVICE_PEERS), data));
}

void om_print_fields(const struct om_object *obj, const void *data,
		     uint64_t skip)
{
	for (size_t i = 0; i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];

		if ((skip & OM_BIT(f->attr)) || f->format == OM_HIDDEN ||
		    (!om_field_has(f, data) && !is_false(f, obj, data)))
			continue;
		if (mode.json)
			json_field(f, data);
		else
			text_field(f, data);
	}
}

/* Print the counters of an object that is nested in a device as @attr. */
static void text_counters(unsigned int attr, const void *stats, const char *prefix, bool all)
{
	const struct om_field *nest = om_field_get(&om_device_object, attr);

	for (size_t i = 0; i < nest->nest->fields; i++) {
		const struct om_field *f = &nest->nest->field[i];
		uint64_t v = om_field_uint(f, stats);

		if (om_field_has(f, stats) && !f->json_only && (v || all))
			printf("    %s%s: %" PRIu64 "\n", prefix, f->name, v);
	}
}

void om_print_counters(const struct om_device *dev, bool all)
{
	uint64_t keep = OM_BIT(OMERTA_A_DEVICE_IFINDEX) |
			OM_BIT(OMERTA_A_DEVICE_IFNAME) |
			OM_BIT(OMERTA_A_DEVICE_STATS) |
			OM_BIT(OMERTA_A_DEVICE_CHANNEL_STATS) |
			OM_BIT(OMERTA_A_DEVICE_AGENT_STATS);
	char prefix[32];

	/* JSON has every counter, as programs look them up by name. */
	if (mode.json) {
		om_print_open(" ");
		om_print_fields(&om_device_object, dev, ~keep);
		om_print_close();
		return;
	}
	printf("%s:\n", om_print_name(dev->ifname));
	text_counters(OMERTA_A_DEVICE_STATS, &dev->stats, "", all);
	text_counters(OMERTA_A_DEVICE_AGENT_STATS, &dev->agent_stats, "handshakes-", all);
	for (size_t i = 0; dev->channel_stats.n > 1 && i < dev->channel_stats.n; i++) {
		snprintf(prefix, sizeof(prefix), "channel-%zu-", i);
		text_counters(OMERTA_A_DEVICE_CHANNEL_STATS,
			      OM_AT(&dev->channel_stats, struct om_channel_stats, i), prefix, all);
	}
}

/*
 * Everything about a device, for people
 */

enum { RED = 31, GREEN, YELLOW, CYAN = 36, BOLD = 1 };

static void paint(int colour, const char *text)
{
	if (mode.colour)
		printf("\033[%dm%s\033[0m", colour, text);
	else
		fputs(text, stdout);
}

static void label(const char *text)
{
	fputs("  ", stdout);
	paint(BOLD, text);
	fputs(": ", stdout);
}

static void show_field(const char *name, const struct om_object *obj,
		       unsigned int attr, const void *data)
{
	const struct om_field *f = om_field_get(obj, attr);
	char buf[OM_VALUE_LEN];

	if (!om_field_has(f, data))
		return;
	label(name);
	puts(om_value_format(f, data, buf));
}

static void put_bytes(uint64_t v)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double d = (double)v;
	size_t i = 0;

	if (v < 1024) {
		printf("%" PRIu64 " B", v);
		return;
	}
	for (d /= 1024; d >= 1024 && i + 1 < OM_ARRAY_SIZE(units); i++)
		d /= 1024;
	printf("%.2f %s", d, units[i]);
}

static void put_age(uint64_t msec)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {
		{ "year", 365 * 24 * 3600 }, { "day", 24 * 3600 },
		{ "hour", 3600 }, { "minute", 60 }, { "second", 1 },
	};
	uint64_t left = msec / 1000;
	const char *comma = "";

	if (!left)
		fputs("less than a second", stdout);
	for (size_t i = 0; i < OM_ARRAY_SIZE(units); i++) {
		uint64_t n = left / units[i].seconds;

		left %= units[i].seconds;
		if (!n)
			continue;
		printf("%s%" PRIu64 " %s%s", comma, n, units[i].name,
		       n == 1 ? "" : "s");
		comma = ", ";
	}
}

static void put_transfer(uint64_t rx, uint64_t tx)
{
	put_bytes(rx);
	fputs(" received, ", stdout);
	put_bytes(tx);
	fputs(" sent", stdout);
}

static void show_channel(const struct om_channel_stats *c)
{
	static const struct {
		const char *what;
		uint8_t packets, records, cpu, drops;
	} ways[] = {
		{ "received", OMERTA_A_CHANNEL_STATS_RX_PACKETS, OMERTA_A_CHANNEL_STATS_RX_RECORDS,
		  OMERTA_A_CHANNEL_STATS_RX_CPU, OMERTA_A_CHANNEL_STATS_RX_DROPS },
		{ "sent", OMERTA_A_CHANNEL_STATS_TX_PACKETS, OMERTA_A_CHANNEL_STATS_TX_RECORDS,
		  OMERTA_A_CHANNEL_STATS_TX_CPU, OMERTA_A_CHANNEL_STATS_TX_DROPS },
	};
	char name[32];

	snprintf(name, sizeof(name), "channel %" PRIu64, c->v[OMERTA_A_CHANNEL_STATS_CHANNEL]);
	label(name);
	for (size_t i = 0; i < OM_ARRAY_SIZE(ways); i++) {
		printf("%s%" PRIu64 " packets in %" PRIu64 " records %s", i ? ", " : "",
		       c->v[ways[i].packets], c->v[ways[i].records], ways[i].what);
		if (c->has & OM_BIT(ways[i].cpu))
			printf(" (CPU %" PRIu64 ")", c->v[ways[i].cpu]);
		if (c->v[ways[i].drops])
			printf(", %" PRIu64 " dropped", c->v[ways[i].drops]);
	}
	putchar('\n');
}

static void show_device(const struct om_device *d)
{
	static const struct {
		const char *name;
		uint8_t attr;
	} rows[] = {
		{ "listening port", OMERTA_A_DEVICE_LISTEN_PORT },
		{ "fwmark", OMERTA_A_DEVICE_FWMARK },
		{ "chunk size", OMERTA_A_DEVICE_CHUNK_SIZE },
		{ "policy", OMERTA_A_DEVICE_POLICY },
		{ "percpu threshold", OMERTA_A_DEVICE_PERCPU_THRESHOLD },
		{ "cpus", OMERTA_A_DEVICE_CPUS },
		{ "channels", OMERTA_A_DEVICE_CHANNELS },
		{ "batch", OMERTA_A_DEVICE_BATCH },
		{ "df", OMERTA_A_DEVICE_DF },
		{ "largest mtu", OMERTA_A_DEVICE_MAX_MTU },
		{ "engine", OMERTA_A_DEVICE_ENGINE },
	};

	paint(GREEN, "device");
	fputs(": ", stdout);
	paint(GREEN, om_print_name(d->ifname));
	putchar('\n');
	for (size_t i = 0; i < OM_ARRAY_SIZE(rows); i++)
		if (rows[i].attr != OMERTA_A_DEVICE_FWMARK || d->fwmark)
			show_field(rows[i].name, &om_device_object,
				   rows[i].attr, d);
	for (size_t i = 0; d->channel_stats.n > 1 && i < d->channel_stats.n; i++)
		show_channel(OM_AT(&d->channel_stats, struct om_channel_stats, i));
	if (d->used_secrets) {
		label("used keys");
		printf("%" PRIu32 " of %" PRIu32 " remembered%s\n",
		       d->used_secrets, d->used_secrets_max,
		       d->used_secrets < d->used_secrets_max ? "" :
		       "; no more keys can be installed by hand");
	}
}

/* Without an agent, the last keys of handshakes expire. */
static void show_agent(const struct om_state *s)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		if (om_key_is_zero(OM_AT(&s->peers, struct om_peer, i)->public_key))
			continue;
		label("key agent");
		if (!s->dev.control_bound) {
			puts("none, so keys are not renewed");
			return;
		}
		fputs("running", stdout);
		if (s->dev.agent_pid)
			printf(", process %" PRIu32, s->dev.agent_pid);
		if (s->dev.has & OM_BIT(OMERTA_A_DEVICE_AGENT_AGE)) {
			fputs(", since ", stdout);
			put_age(s->dev.agent_age);
		}
		putchar('\n');
		return;
	}
}

static const char *kind_text(const struct om_handshake *h)
{
	static const char *const kinds[] = {
		" (X25519)", " (X25519, preshared key)", " (X25519, ML-KEM-768)",
		" (X25519, preshared key, ML-KEM-768)",
	};

	return (h->has & OM_BIT(OMERTA_A_HANDSHAKE_KIND)) && h->kind < OM_ARRAY_SIZE(kinds) ?
	       kinds[h->kind] : "";
}

/* Tries of this end are in vain until there is a key. */
static void show_failure(const struct om_handshake *h)
{
	static const char *const texts[] = {
		[OMERTA_FAILURE_NO_ANSWER] =
			"no answer: endpoint, public keys, PostQuantum or a firewall?",
		[OMERTA_FAILURE_NO_ENDPOINT] = "the peer has no endpoint",
		[OMERTA_FAILURE_NAME_UNKNOWN] = "the name of its endpoint is not known",
		[OMERTA_FAILURE_NOT_SENT] = "no route to its endpoint, or the device is down",
		[OMERTA_FAILURE_NOT_OPENED] =
			"its responses do not open: another preshared key?",
		[OMERTA_FAILURE_NOT_USED] =
			"it uses no key of ours: another preshared key, or responses lost?",
		[OMERTA_FAILURE_MODE] = "it wants keys that PostQuantum rules out here",
		[OMERTA_FAILURE_OLD_TIME] =
			"the time in its initiation is not newer than its latest",
		[OMERTA_FAILURE_LAST_TIME] =
			"the last possible time was sent: run omertactl times forget on its host",
		[OMERTA_FAILURE_LIMIT] = "the kernel refused the key because of a limit",
		[OMERTA_FAILURE_SYSTEM] = "the key agent could not go on: see its log",
	};

	if (h->failure >= OM_ARRAY_SIZE(texts) || !(h->has & OM_BIT(OMERTA_A_HANDSHAKE_FAILURE)))
		return;
	label("no new key");
	if (h->tries)
		printf("%" PRIu32 " tr%s since, ", h->tries, h->tries == 1 ? "y" : "ies");
	puts(texts[h->failure]);
}

static void show_peer_traffic(const struct om_state *s, const struct om_peer *p)
{
	const uint64_t *v = p->stats.v;
	uint64_t age;

	if (om_state_handshake_age(s, p->id, &age)) {
		label("latest handshake");
		put_age(age);
		printf(" ago%s\n", kind_text(&p->handshake));
	}
	show_failure(&p->handshake);
	if (p->has & OM_BIT(OMERTA_A_PEER_RX_AGE)) {
		label("latest record");
		put_age(p->rx_age);
		puts(" ago");
	}
	if (v[OMERTA_A_PEER_STATS_RX_OUTER_BYTES] ||
	    v[OMERTA_A_PEER_STATS_TX_OUTER_BYTES]) {
		label("transfer");
		put_transfer(v[OMERTA_A_PEER_STATS_RX_BYTES],
			     v[OMERTA_A_PEER_STATS_TX_BYTES]);
		putchar('\n');
	}
	if (p->keepalive) {
		label("persistent keepalive");
		printf("every %u second%s\n", p->keepalive,
		       p->keepalive == 1 ? "" : "s");
	}
}

static void show_peer_channels(const struct om_peer *p)
{
	char buf[OM_VALUE_LEN];

	for (size_t i = 0; i < p->further_channels.n; i++) {
		const struct om_peer_channel *c =
			OM_AT(&p->further_channels, struct om_peer_channel, i);
		const struct om_field *f = om_field_get(&om_peer_channel_object,
							OMERTA_A_PEER_CHANNEL_STATE);

		label("channel");
		printf("%" PRIu32 ": %s", c->channel, om_value_format(f, c, buf));
		if (c->has & OM_BIT(OMERTA_A_PEER_CHANNEL_ENDPOINT_ADDR)) {
			om_channel_endpoint_format(buf, sizeof(buf), c);
			printf(", from port %u to %s", c->local_port, buf);
		}
		if (c->has & OM_BIT(OMERTA_A_PEER_CHANNEL_RX_AGE)) {
			fputs(", latest record ", stdout);
			put_age(c->rx_age);
			fputs(" ago", stdout);
		}
		putchar('\n');
	}
}

static void show_peer(const struct om_state *s, const struct om_peer *p)
{
	char buf[4 * sizeof(p->name) + 32];
	int n = snprintf(buf, sizeof(buf), "%u", p->id);

	if (*p->name) {
		n += snprintf(buf + n, sizeof(buf) - (size_t)n, " (");
		om_escape(buf + n, sizeof(buf) - (size_t)n - 1, p->name);
		strcat(buf, ")");
	}
	putchar('\n');
	paint(YELLOW, "peer");
	fputs(": ", stdout);
	paint(YELLOW, buf);
	putchar('\n');
	show_field("public key", &om_peer_object, OMERTA_A_PEER_PUBLIC_KEY, p);
	show_field("endpoint", &om_peer_object, OMERTA_A_PEER_ENDPOINT_ADDR, p);
	label("allowed ips");
	if (!p->allowed_ips.n)
		fputs("(none)", stdout);
	text_prefixes(", ", &p->allowed_ips);
	putchar('\n');
	show_field("path mtu", &om_peer_object, OMERTA_A_PEER_PATH_MTU, p);
	if (p->silent) {
		label("state");
		puts("silent");
	}
	show_peer_traffic(s, p);
	show_peer_channels(p);
}

static void show_key_limits(const struct om_key *k)
{
	if (k->has & OM_BIT(OMERTA_A_KEY_LIMIT)) {
		const struct om_field *f =
			om_field_get(&om_key_object, OMERTA_A_KEY_LIMIT);
		char buf[OM_VALUE_LEN];

		printf(" (limit: %s)", om_value_format(f, k, buf));
	}
	if (k->confirmed)
		fputs(", confirmed", stdout);
}

static void show_key(const struct om_key *k)
{
	const struct om_field *f = om_field_get(&om_key_object,
						OMERTA_A_KEY_STATE);
	char buf[OM_VALUE_LEN];

	label("key");
	if (k->channel)
		printf("channel %" PRIu32 ", ", k->channel);
	printf("local 0x%x, remote 0x%x, ", k->local_id, k->remote_id);
	paint(k->state == OMERTA_KEY_STATE_ACTIVE ? CYAN :
	      k->state == OMERTA_KEY_STATE_DEAD ? RED : BOLD,
	      om_value_format(f, k, buf));
	show_key_limits(k);
	if (k->has & OM_BIT(OMERTA_A_KEY_AGE)) {
		fputs(", installed ", stdout);
		put_age(k->age);
		fputs(" ago", stdout);
	}
	fputs(", ", stdout);
	put_transfer(k->rx_bytes, k->tx_bytes);
	if (k->auth_failures)
		printf(", %" PRIu64 " forgeries", k->auth_failures);
	if (k->replays)
		printf(", %" PRIu64 " replays", k->replays);
	putchar('\n');
}

static void show_keys_of(const struct om_state *s, uint32_t peer_id)
{
	const struct om_key *k = NULL;

	while ((k = om_state_next_key(s, peer_id, k)))
		show_key(k);
}

static void json_keys_of(const struct om_state *s, uint32_t peer_id)
{
	const struct om_key *k = NULL;

	om_json_open("key", '[');
	while ((k = om_state_next_key(s, peer_id, k))) {
		om_json_open(NULL, '{');
		om_print_fields(&om_key_object, k,
				OM_BIT(OMERTA_A_KEY_IFINDEX) |
				OM_BIT(OMERTA_A_KEY_IFNAME) |
				OM_BIT(OMERTA_A_KEY_PEER_ID));
		om_json_close();
	}
	om_json_close();
}

static void json_state(const struct om_state *s)
{
	om_json_open(NULL, '{');
	om_print_fields(&om_device_object, &s->dev, 0);
	om_json_open("peer", '[');
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *p = OM_AT(&s->peers, struct om_peer, i);

		om_json_open(NULL, '{');
		om_print_fields(&om_peer_object, p,
				OM_BIT(OMERTA_A_PEER_IFINDEX) |
				OM_BIT(OMERTA_A_PEER_IFNAME));
		json_keys_of(s, p->id);
		om_json_close();
	}
	om_json_close();
	om_json_close();
}

void om_print_state(const struct om_state *s)
{
	if (mode.json) {
		json_state(s);
		return;
	}
	show_device(&s->dev);
	show_agent(s);
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *p = OM_AT(&s->peers, struct om_peer, i);

		show_peer(s, p);
		show_keys_of(s, p->id);
	}
}
