// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/addr.h"
#include "lib/keygen.h"
#include "cmd/print.h"
#include "lib/quote.h"
#include "lib/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/*
 * Single fields for scripts, as "wg show" prints them: a line for each device or peer, with tabs
 */

struct field {
	const char *name;
	/* Either is NULL. Prints after the name of the device and the peer. */
	void (*device)(const struct om_device *dev);
	void (*peer)(const struct om_state *s, const struct om_peer *peer);
};

static void print_port(const struct om_device *dev)
{
	printf("%u", dev->listen_port);
}

static void print_mark(const struct om_device *dev)
{
	printf(dev->fwmark ? "0x%x" : "off", dev->fwmark);
}

static void print_endpoint(const struct om_state *s, const struct om_peer *peer)
{
	char text[OM_ENDPOINT_LEN] = "(none)";

	(void)s;
	if (peer->endpoint_addr.len)
		om_endpoint_format(text, sizeof(text), peer);
	printf("\t%s", text);
}

static void print_allowed_ips(const struct om_state *s, const struct om_peer *peer)
{
	char text[OM_PREFIX_LEN];

	(void)s;
	if (!peer->allowed_ips.n)
		fputs("\t(none)", stdout);
	for (size_t i = 0; i < peer->allowed_ips.n; i++) {
		om_prefix_format(text, sizeof(text),
				 OM_AT(&peer->allowed_ips, struct om_prefix, i));
		printf("%c%s", i ? ' ' : '\t', text);
	}
}

/* Seconds since 1970, 0 for none */
static void print_handshake(const struct om_state *s, const struct om_peer *peer)
{
	uint64_t age;
	bool found = om_state_handshake_age(s, peer->id, &age);

	printf("\t%lld", found ? (long long)time(NULL) - (long long)(age / 1000) : 0LL);
}

static void print_transfer(const struct om_state *s, const struct om_peer *peer)
{
	(void)s;
	printf("\t%" PRIu64 "\t%" PRIu64, peer->stats.v[OMERTA_A_PEER_STATS_RX_BYTES],
	       peer->stats.v[OMERTA_A_PEER_STATS_TX_BYTES]);
}

static void print_keepalive(const struct om_state *s, const struct om_peer *peer)
{
	(void)s;
	printf(peer->keepalive ? "\t%u" : "\toff", peer->keepalive);
}

static void print_nothing(const struct om_state *s, const struct om_peer *peer)
{
	(void)s;
	(void)peer;
}

static const struct field fields[] = {
	{ "listen-port", print_port, NULL },
	{ "fwmark", print_mark, NULL },
	{ "peers", NULL, print_nothing },
	{ "endpoints", NULL, print_endpoint },
	{ "allowed-ips", NULL, print_allowed_ips },
	{ "latest-handshakes", NULL, print_handshake },
	{ "transfer", NULL, print_transfer },
	{ "persistent-keepalive", NULL, print_keepalive },
};

static const struct field *find_field(const char *name, struct om_err *err)
{
	for (size_t i = 0; i < OM_ARRAY_SIZE(fields); i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	if (!strcmp(name, "private-key") || !strcmp(name, "preshared-keys") ||
	    !strcmp(name, "public-key"))
		om_err(err, OM_USAGE, "%s: only the key agent has it", OM_QUOTE(name));
	else
		om_err(err, OM_USAGE, "%s: must be one of %s", OM_QUOTE(name), OM_SHOW_FIELDS);
	return NULL;
}

/* @named: begin each line with the name of the device. A peer without a key has its id. */
static void print_field(const struct om_state *s, const struct field *f, bool named)
{
	char key[OM_BASE64_LEN];

	if (f->device) {
		if (named)
			printf("%s\t", om_print_name(s->dev.ifname));
		f->device(&s->dev);
		putchar('\n');
		return;
	}
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *peer = OM_AT(&s->peers, struct om_peer, i);

		snprintf(key, sizeof(key), "%u", peer->id);
		if (!om_key_is_zero(peer->public_key))
			om_base64_encode(key, peer->public_key);
		if (named)
			printf("%s\t", om_print_name(s->dev.ifname));
		fputs(key, stdout);
		f->peer(s, peer);
		putchar('\n');
	}
}

int om_show(struct om_ctx *ctx, struct om_args *args)
{
	const char *dev = args->pos[0], *name = args->pos[1];
	bool all = dev && !strcmp(dev, "all"), names = dev && !strcmp(dev, "interfaces");
	const struct field *f = name ? find_field(name, &ctx->err) : NULL;
	struct om_list states;
	int rc;

	if (name && !f)
		return OM_USAGE;
	if ((name || names) && ctx->json)
		return om_err(&ctx->err, OM_USAGE, "-j: this is not JSON, see omertactl -j show");
	if (name && names)
		return om_err(&ctx->err, OM_USAGE, "interfaces: nothing may follow it");
	rc = om_states_load(ctx->nl, all || names ? NULL : dev, names ? 0 : OM_ALL, &states,
			    &ctx->err);
	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < states.n; i++) {
		const struct om_state *s = OM_AT(&states, struct om_state, i);

		if (i && !ctx->json && !f)
			putchar(names ? ' ' : '\n');
		if (names)
			fputs(om_print_name(s->dev.ifname), stdout);
		else if (f)
			print_field(s, f, all);
		else
			om_print_state(s);
	}
	if (names && states.n)
		putchar('\n');
	om_states_free(&states);
	return om_print_end(&ctx->err);
}

int om_dump(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	int rc = om_states_load(ctx->nl, args->pos[0], OM_ALL, &states,
				&ctx->err);

	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < states.n; i++)
		om_print_dump(OM_AT(&states, struct om_state, i));
	om_states_free(&states);
	return om_print_end(&ctx->err);
}

int om_stats(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	int rc;

	if (args->watch)
		return om_stats_watch(ctx, args);
	if (args->numbers[OM_EVERY] || args->numbers[OM_COUNT])
		return om_err(&ctx->err, OM_USAGE, "every and count: only with watch");
	rc = om_states_load(ctx->nl, args->pos[0], 0, &states, &ctx->err);

	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < states.n; i++)
		om_print_counters(&OM_AT(&states, struct om_state, i)->dev,
				  args->all);
	om_states_free(&states);
	return om_print_end(&ctx->err);
}
