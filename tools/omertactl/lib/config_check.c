// SPDX-License-Identifier: GPL-2.0
/* Checks at the end of a section and of the file */
#include "lib/config_parse.h"

#include "lib/cpus.h"
#include "lib/mtu.h"
#include "lib/quote.h"

#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <sys/sysinfo.h>

int om_parser_end_section(struct om_parser *p)
{
	const struct om_peer *peer;

	if (p->lost || p->section != &om_peer_object)
		return OM_OK;
	peer = om_parser_peer(p);
	if (peer->id || !om_key_is_zero(peer->public_key))
		return OM_OK;
	om_err(p->err, OM_USAGE, "[Peer]: PublicKey is missing (or Id, for keys that are installed by hand)");
	om_parser_put_place(p, OM_AT(&p->conf->peer_conf, struct om_peer_conf,
				     p->conf->peer_conf.n - 1)->line, 1);
	return OM_USAGE;
}

static int check_prefixes(struct om_parser *p)
{
	const struct om_place *place;
	const struct om_prefix *twice;
	char buf[OM_PREFIX_LEN];
	size_t nth;

	twice = om_prefixes_duplicate(&p->conf->peers, &nth);
	if (!twice)
		return OM_OK;
	place = OM_AT(&p->places, struct om_place, nth);
	om_prefix_format(buf, sizeof(buf), twice);
	om_err(p->err, OM_USAGE,
	       "AllowedIPs: \"%s\": is in the file twice", buf);
	om_parser_put_place(p, place->line, place->col);
	return OM_USAGE;
}

/* Refuse a peer with our own public key, which would shake hands with itself. */
static int check_own_key(struct om_parser *p)
{
	const uint8_t *private = p->conf->host.private_key;
	uint8_t public[OMERTA_KEY_LEN];

	if (!private || !om_key_public(public, private))
		return OM_OK;
	for (size_t i = 0; i < p->conf->peers.n; i++) {
		const struct om_peer *peer =
			OM_AT(&p->conf->peers, struct om_peer, i);
		const struct om_peer_conf *c =
			OM_AT(&p->conf->peer_conf, struct om_peer_conf, i);

		if (!om_key_equal(peer->public_key, public))
			continue;
		om_err(p->err, OM_USAGE, "[Peer]: PublicKey is this host's own");
		om_parser_put_place(p, c->line, 1);
		return OM_USAGE;
	}
	return OM_OK;
}

/*
 * The default route is in the table with the mark's number, which must not be one of the
 * kernel's tables. A mark is needed, or the device's own packets would be routed into it.
 */
static int check_mark(struct om_parser *p)
{
	const struct om_config *conf = p->conf;
	uint32_t mark = conf->dev.fwmark;

	if (!(p->flags & OM_CONFIG_SECRETS) || !om_config_has_default(conf, 0) ||
	    !(conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK)) ||
	    (mark && (mark < RT_TABLE_DEFAULT || mark > RT_TABLE_LOCAL)))
		return OM_OK;
	om_err(p->err, OM_USAGE,
	       "FwMark: %" PRIu32 " cannot be the table of the default route in AllowedIPs: leave it out, or set Table",
	       mark);
	om_parser_put_place(p, p->mark.line, 1);
	return OM_USAGE;
}

/* The tunnel's own datagrams pass by their mark. */
static int check_kill_switch(struct om_parser *p)
{
	const struct om_device *dev = &p->conf->dev;
	bool given = dev->has & OM_BIT(OMERTA_A_DEVICE_FWMARK);

	if (!p->conf->host.kill_switch ||
	    (given ? dev->fwmark != 0 : om_config_has_default(p->conf, 0)))
		return OM_OK;
	om_err(p->err, OM_USAGE,
	       "KillSwitch: the tunnel's own datagrams would have no mark, by which they pass: set FwMark");
	om_parser_put_place(p, p->kill_switch.line, p->kill_switch.col);
	return OM_USAGE;
}

bool om_config_has_v6(const struct om_config *conf)
{
	for (size_t i = 0; i < conf->host.addresses.n; i++)
		if (OM_AT(&conf->host.addresses, struct om_prefix, i)->addr.len == 16)
			return true;
	for (size_t i = 0; i < conf->peers.n && conf->host.table != OM_TABLE_OFF; i++) {
		const struct om_list *ips =
			&OM_AT(&conf->peers, struct om_peer, i)->allowed_ips;

		for (size_t k = 0; k < ips->n; k++)
			if (OM_AT(ips, struct om_prefix, k)->addr.len == 16)
				return true;
	}
	return false;
}

/* The longest packet depends on ChunkSize, and Linux has no IPv6 on a link below 1280. */
static int check_mtu(struct om_parser *p)
{
	const struct om_device *dev = &p->conf->dev;
	bool has_chunk = dev->has & OM_BIT(OMERTA_A_DEVICE_CHUNK_SIZE);
	uint32_t chunk = has_chunk ? dev->chunk_size : OM_CHUNK_DEFAULT;
	uint32_t max = om_mtu_inner(OM_MAX_DATAGRAM, chunk), mtu = p->conf->host.mtu;

	if (!mtu)
		return OM_OK;
	if (mtu > max)
		om_err(p->err, OM_USAGE,
		       "MTU: %" PRIu32 ": with ChunkSize %" PRIu32 " it is at most %" PRIu32,
		       mtu, chunk, max);
	else if (mtu < OM_MTU_MIN_V6 && om_config_has_v6(p->conf))
		om_err(p->err, OM_USAGE,
		       "MTU: %" PRIu32 ": IPv6 in Address or AllowedIPs needs at least %d",
		       mtu, OM_MTU_MIN_V6);
	else
		return OM_OK;
	om_parser_put_place(p, p->mtu.line, p->mtu.col);
	return OM_USAGE;
}

static int check_cpus(struct om_parser *p)
{
	const struct om_device *dev = &p->conf->dev;

	if (!(p->flags & OM_CONFIG_UP) || !(dev->has & OM_BIT(OMERTA_A_DEVICE_CPUS)) ||
	    !om_cpus_check_here(dev->cpus, p->err))
		return OM_OK;
	om_err_prefix(p->err, "Cpus: %s", OM_QUOTE(dev->cpus));
	om_parser_put_place(p, p->cpus.line, p->cpus.col);
	return OM_USAGE;
}

/* A file may be for another machine, or this one has fewer CPUs than before. */
static int fit_channels(struct om_parser *p)
{
	struct om_device *dev = &p->conf->dev;
	uint32_t most = (uint32_t)get_nprocs_conf();

	if (!(p->flags & OM_CONFIG_UP) || !(dev->has & OM_BIT(OMERTA_A_DEVICE_CHANNELS)) ||
	    dev->channels <= most)
		return OM_OK;
	om_warn("Channels: %" PRIu32 " are wanted, but there are no more than CPUs, %" PRIu32,
		dev->channels, most);
	dev->channels = most;
	return OM_OK;
}

static int check_private_key(struct om_parser *p)
{
	if (!(p->flags & OM_CONFIG_AGENT) || p->private_key_seen)
		return OM_OK;
	om_err(p->err, OM_USAGE, "[Interface]: PrivateKeyFile or PrivateKey is missing");
	om_parser_put_place(p, p->interface_line ? p->interface_line : 1, 1);
	return OM_USAGE;
}

int om_parser_end(struct om_parser *p)
{
	static int (*const checks[])(struct om_parser *p) = {
		check_private_key, check_mtu, check_cpus, fit_channels, check_prefixes,
		check_mark, check_kill_switch, check_own_key,
	};
	int rc = OM_OK;

	for (size_t i = 0; i < OM_ARRAY_SIZE(checks) && !rc; i++)
		rc = om_parser_told(p, checks[i](p));
	return rc;
}
