// SPDX-License-Identifier: GPL-2.0
#include "fake_nl.h"

#include "lib/addr.h"
#include "lib/rtnl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct om_rtnl {
	char ifname[IFNAMSIZ];
};

struct om_rtnl *om_rtnl_open(const char *ifname, struct om_err *err)
{
	struct om_rtnl *r = calloc(1, sizeof(*r));

	(void)err;
	snprintf(r->ifname, sizeof(r->ifname), "%s", ifname);
	return r;
}

void om_rtnl_close(struct om_rtnl *r)
{
	free(r);
}

OM_PRINTF(2, 3)
static int change(struct om_err *err, const char *fmt, ...)
{
	size_t n = strlen(fake.host);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake.host + n, sizeof(fake.host) - n, fmt, ap);
	va_end(ap);
	if (!fake.refused || strncmp(fake.host + n, fake.refused, strlen(fake.refused)))
		return OM_OK;
	return om_err_sys(err, fake.fail_with, "%s", fake.refused);
}

int om_rtnl_add_address(struct om_rtnl *r, const struct om_prefix *address,
			struct om_err *err)
{
	char text[OM_PREFIX_LEN];

	om_prefix_format(text, sizeof(text), address);
	return change(err, "address %s dev %s\n", text, r->ifname);
}

int om_rtnl_add_route(struct om_rtnl *r, const struct om_prefix *prefix,
		      uint32_t table, struct om_err *err)
{
	char text[OM_PREFIX_LEN];

	om_prefix_format(text, sizeof(text), prefix);
	return change(err, "route %s dev %s table %" PRIu32 "\n", text, r->ifname,
		      table);
}

int om_rtnl_set_up(struct om_rtnl *r, uint32_t mtu, struct om_err *err)
{
	return change(err, "up %s mtu %" PRIu32 "\n", r->ifname, mtu);
}

int om_rtnl_set_qdisc(struct om_rtnl *r, const char *kind, struct om_err *err)
{
	char line[64];

	snprintf(line, sizeof(line), "qdisc ifname=%s kind=%s\n", r->ifname, kind);
	fake_log(line);
	return ++fake.requests == fake.fail_at ?
	       om_err(err, OM_SYSTEM, "the fake says no") : OM_OK;
}

int om_rtnl_flush(struct om_rtnl *r, struct om_err *err)
{
	(void)r;
	(void)err;
	return OM_OK;
}

int om_rtnl_rule(struct om_rtnl *r, int type, const struct om_rule *rule,
		 struct om_err *err)
{
	(void)r;
	return change(err, "rule %s %s table %" PRIu32 "%s%s\n",
		      type == RTM_NEWRULE ? "add" : "del",
		      rule->family == AF_INET ? "IPv4" : "IPv6", rule->table,
		      rule->not_mark == rule->table ? " not mark" : "",
		      rule->no_default ? " no default" : "");
}

int om_rtnl_defaults(struct om_rtnl *r, int family, uint32_t table,
		     struct om_defaults *found, struct om_err *err)
{
	found->all = fake.defaults;
	found->ours = 0;
	return change(err, "look %s table %" PRIu32 " dev %s\n",
		      family == AF_INET ? "IPv4" : "IPv6", table, r->ifname);
}
