// SPDX-License-Identifier: GPL-2.0
#include "lib/host.h"

#include "lib/quote.h"
#include "lib/rtnl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void om_host_set_mark(struct om_config *conf)
{
	if (conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK) ||
	    !om_config_has_default(conf, 0))
		return;
	conf->dev.has |= OM_BIT(OMERTA_A_DEVICE_FWMARK);
	conf->dev.fwmark = OM_HOST_MARK;
}

/* Let reverse path filters look up marked packets by their mark, too. */
static int allow_marks(struct om_err *err)
{
	static const char path[] = "/proc/sys/net/ipv4/conf/all/src_valid_mark";
	FILE *f = fopen(path, "we");

	if (!f || fputs("1\n", f) < 0 || fclose(f))
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	return OM_OK;
}

/*
 * The two rules of a default route. One can exist without the other. The main table's routes
 * take precedence, except for its default route.
 */
static struct om_rule rule_of(int family, size_t rule, uint32_t mark)
{
	const struct om_rule of_mark = {
		.family = family, .table = mark, .not_mark = mark
	};
	const struct om_rule of_main = {
		.family = family, .table = RT_TABLE_MAIN, .no_default = true
	};

	return rule ? of_main : of_mark;
}

static const int families[OM_FAMILIES] = { AF_INET, AF_INET6 };

static int add_rules(struct om_rtnl *r, size_t family, const struct om_config *conf,
		     struct om_host_rules *rules, struct om_err *err)
{
	bool v4 = families[family] == AF_INET;
	int rc = OM_OK;

	if (!om_config_has_default(conf, v4 ? 4 : 16))
		return OM_OK;
	rules->mark = conf->dev.fwmark;
	if (v4)
		rc = allow_marks(err);
	for (size_t i = 0; i < OM_RULES && !rc; i++) {
		struct om_rule rule = rule_of(families[family], i, rules->mark);

		rc = om_rtnl_rule(r, RTM_NEWRULE, &rule, err);
		rules->there[family][i] = !rc;
	}
	return rc;
}

/* Another program may have added the second rule: it is ours only with the first one. */
int om_host_drop_rules(const struct om_host_rules *rules, struct om_err *err)
{
	struct om_rtnl *r = om_rtnl_open("", err);
	struct om_err later;
	int rc = r ? OM_OK : OM_SYSTEM;

	for (size_t family = 0; family < OM_FAMILIES && r; family++) {
		for (size_t i = 0; i < OM_RULES && rules->there[family][i]; i++) {
			struct om_rule rule = rule_of(families[family], i,
						      rules->mark);
			struct om_err *e = rc ? &later : err;

			if (!om_rtnl_rule(r, RTM_DELRULE, &rule, e))
				continue;
			/* A host without IPv6 has no IPv6 rules. */
			if (e->sys != ENOENT && e->sys != EAFNOSUPPORT)
				rc = OM_SYSTEM;
			break;
		}
	}
	om_rtnl_close(r);
	return rc;
}

/* The device's routes may be gone, as it is down or was deleted. */
int om_host_find_rules(const char *ifname, uint32_t mark,
		       struct om_host_rules *rules, struct om_err *err)
{
	struct om_defaults found;
	struct om_rtnl *r;
	int rc = OM_OK;

	memset(rules, 0, sizeof(*rules));
	rules->mark = mark;
	if (!mark)
		return OM_OK;
	r = om_rtnl_open(ifname, err);
	if (!r)
		return OM_SYSTEM;
	for (size_t family = 0; family < OM_FAMILIES && !rc; family++) {
		rc = om_rtnl_defaults(r, families[family], mark, &found, err);
		for (size_t i = 0; i < OM_RULES && !rc; i++)
			rules->there[family][i] = found.all == found.ours;
	}
	om_rtnl_close(r);
	return rc;
}

static int add_addresses(struct om_rtnl *r, const struct om_config *conf,
			 struct om_err *err)
{
	const struct om_list *list = &conf->host.addresses;
	int rc = OM_OK;

	for (size_t i = 0; i < list->n && !rc; i++)
		rc = om_rtnl_add_address(r, OM_AT(list, struct om_prefix, i), err);
	return rc;
}

static uint32_t table_of(const struct om_config *conf, const struct om_prefix *p)
{
	if (conf->host.table != OM_TABLE_AUTO)
		return conf->host.table;
	return p->len ? RT_TABLE_MAIN : conf->dev.fwmark;
}

static int add_routes(struct om_rtnl *r, const struct om_config *conf,
		      struct om_err *err)
{
	const struct om_peer *peers = conf->peers.v;
	int rc = OM_OK;

	if (conf->host.table == OM_TABLE_OFF)
		return OM_OK;
	for (size_t i = 0; i < conf->peers.n; i++) {
		const struct om_list *ips = &peers[i].allowed_ips;

		for (size_t k = 0; k < ips->n && !rc; k++) {
			const struct om_prefix *p = OM_AT(ips, struct om_prefix, k);

			rc = om_rtnl_add_route(r, p, table_of(conf, p), err);
		}
	}
	return rc;
}

int om_host_configure(const char *ifname, const struct om_config *conf,
		      struct om_host_rules *rules, struct om_err *err)
{
	struct om_rtnl *r = om_rtnl_open(ifname, err);
	int rc = OM_SYSTEM;

	memset(rules, 0, sizeof(*rules));
	if (r)
		rc = add_addresses(r, conf, err);
	if (!rc)
		rc = om_rtnl_set_up(r, conf->host.mtu, err);
	if (!rc)
		rc = add_routes(r, conf, err);
	if (!rc)
		rc = om_rtnl_flush(r, err);
	for (size_t family = 0; family < OM_FAMILIES && !rc; family++)
		rc = add_rules(r, family, conf, rules, err);
	om_rtnl_close(r);
	return rc;
}

int om_host_set_queue(const char *ifname, struct om_err *err)
{
	struct om_rtnl *r = om_rtnl_open(ifname, err);
	int rc = OM_SYSTEM;

	if (r)
		rc = om_rtnl_set_qdisc(r, "fq_codel", err);
	if (!rc)
		rc = om_rtnl_flush(r, err);
	om_rtnl_close(r);
	return rc && err->sys == ENOENT ? OM_OK : rc;
}
