// SPDX-License-Identifier: GPL-2.0
#include "fake_nl.h"

#include "lib/addr.h"
#include "lib/nft.h"
#include "lib/rtnl.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Add or delete an object of a list that @same finds. */
static int keep(struct om_list *list, bool new, const void *object, size_t size,
		bool (*same)(const void *a, const void *b), struct om_err *err)
{
	char *v = list->v;
	size_t i = 0;

	while (i < list->n && !same(v + i * size, object))
		i++;
	if (new == (i < list->n))
		return om_err_sys(err, new ? EEXIST : ENOENT, "the fake");
	if (new)
		memcpy(om_list_add(list, size), object, size);
	else
		memmove(v + i * size, v + (i + 1) * size, (--list->n - i) * size);
	return OM_OK;
}

void om_routes_free(struct om_list *routes)
{
	om_list_free(routes);
}

static bool same_prefix(const void *a, const void *b)
{
	const struct om_route *x = a, *y = b;

	return !om_prefix_cmp(&x->prefix, &y->prefix);
}

static bool same_route(const void *a, const void *b)
{
	const struct om_route *x = a, *y = b;

	return x->table == y->table && !om_prefix_cmp(&x->prefix, &y->prefix);
}

static bool same_rule(const void *a, const void *b)
{
	const struct om_rule *x = a, *y = b;

	return x->family == y->family && x->table == y->table && x->not_mark == y->not_mark &&
	       x->no_default == y->no_default && x->uid == y->uid;
}

int om_rtnl_address(struct om_rtnl *r, bool new, const struct om_route *address,
		    struct om_err *err)
{
	char text[OM_PREFIX_LEN];
	int rc;

	om_prefix_format(text, sizeof(text), &address->prefix);
	rc = change(err, "%saddress %s dev %s\n", new ? "" : "no ", text, r->ifname);
	return rc ? rc : keep(&fake.addresses, new, address, sizeof(*address), same_prefix, err);
}

int om_rtnl_route(struct om_rtnl *r, bool new, const struct om_route *route,
		  struct om_err *err)
{
	char text[OM_PREFIX_LEN];
	int rc;

	om_prefix_format(text, sizeof(text), &route->prefix);
	rc = change(err, "%sroute %s dev %s table %" PRIu32 "\n", new ? "" : "no ", text,
		    r->ifname, route->table);
	return rc ? rc : keep(&fake.routes, new, route, sizeof(*route), same_route, err);
}

int om_rtnl_set_up(struct om_rtnl *r, uint32_t mtu, struct om_err *err)
{
	int rc = change(err, "up %s mtu %" PRIu32 "\n", r->ifname, mtu);

	fake.up |= !rc;
	fake.mtu = rc ? fake.mtu : mtu;
	return rc;
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

int om_nft_run(const char *commands, char **output, struct om_err *err)
{
	const char *table = strstr(commands, "\ntable ");

	if (fake.no_filter)
		return om_err(err, OM_SYSTEM, "the fake has no nf_tables");
	if (!strcmp(commands, "list tables inet")) {
		*output = strdup(*fake.filter ? "table inet omerta_omr0\n" : "");
		return OM_OK;
	}
	if (!strncmp(commands, "list ", 5)) {
		if (!*fake.filter)
			return om_err(err, OM_SYSTEM, "no such table");
		*output = strdup(fake.filter);
		return OM_OK;
	}
	snprintf(fake.filter, sizeof(fake.filter), "%s", table ? table + 1 : "");
	return OM_OK;
}

/* No test becomes an agent that is installed on this machine. */
int __wrap_execl(const char *path, const char *arg, ...);

int __wrap_execl(const char *path, const char *arg, ...)
{
	char *argv[8] = { (char *)arg };
	va_list args;

	if (strstr(path, "/omerta-agent")) {
		errno = ENOENT;
		return -1;
	}
	va_start(args, arg);
	for (size_t i = 1; i < OM_ARRAY_SIZE(argv) - 1; i++) {
		argv[i] = va_arg(args, char *);
		if (!argv[i])
			break;
	}
	va_end(args);
	return execv(path, argv);
}

struct passwd *__wrap_getpwnam(const char *name);

struct passwd *__wrap_getpwnam(const char *name)
{
	static struct passwd user;

	user.pw_uid = strcmp(name, OM_USER) ? 0 : fake.uid;
	return user.pw_uid ? &user : NULL;
}

int om_rtnl_rule(struct om_rtnl *r, bool new, const struct om_rule *rule,
		 struct om_err *err)
{
	struct om_rule *v;
	int rc;

	(void)r;
	rc = change(err, "rule %s %s table %" PRIu32 "%s%s%s%s\n", new ? "add" : "del",
		    rule->family == AF_INET ? "IPv4" : "IPv6", rule->table,
		    rule->not_mark == rule->table ? " not mark" : "",
		    rule->no_default ? " no default" : "", rule->uid ? " of names" : "",
		    new && rule->priority ? " behind another" : "");
	if (!rc)
		rc = keep(&fake.rules, new, rule, sizeof(*rule), same_rule, err);
	v = fake.rules.v;
	if (rc || !new || rule->priority)
		return rc;
	/* In front of the others */
	memmove(v + 1, v, (fake.rules.n - 1) * sizeof(*v));
	v[0] = *rule;
	v[0].priority = fake.rules.n > 1 ? v[1].priority - 1 : 32765;
	return OM_OK;
}

/*
 * Reading the state
 */

static int copy(struct om_list *to, const struct om_list *from, size_t size)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		memcpy(om_list_add(to, size), (char *)from->v + i * size, size);
	return OM_OK;
}

int om_rtnl_link(struct om_rtnl *r, uint32_t *mtu, bool *up, struct om_err *err)
{
	(void)r;
	(void)err;
	*mtu = fake.mtu ? fake.mtu : 1388;
	*up = fake.up;
	return OM_OK;
}

int om_rtnl_addresses(struct om_rtnl *r, struct om_list *addresses, struct om_err *err)
{
	(void)r;
	(void)err;
	return copy(addresses, &fake.addresses, sizeof(struct om_route));
}

int om_rtnl_routes(struct om_rtnl *r, struct om_list *routes, struct om_err *err)
{
	(void)r;
	(void)err;
	return copy(routes, &fake.routes, sizeof(struct om_route));
}

int om_rtnl_rules(struct om_rtnl *r, int family, struct om_list *rules, struct om_err *err)
{
	(void)r;
	(void)err;
	rules->n = 0;
	for (size_t i = 0; i < fake.rules.n; i++)
		if (OM_AT(&fake.rules, struct om_rule, i)->family == family)
			*(struct om_rule *)om_list_add(rules, sizeof(struct om_rule)) =
				*OM_AT(&fake.rules, struct om_rule, i);
	return OM_OK;
}

int om_rtnl_defaults(struct om_rtnl *r, int family, uint32_t table,
		     struct om_defaults *found, struct om_err *err)
{
	*found = (struct om_defaults){ .all = fake.defaults };
	if (table == RT_TABLE_MAIN)
		return OM_OK;
	return change(err, "look %s table %" PRIu32 " dev %s\n",
		      family == AF_INET ? "IPv4" : "IPv6", table, r->ifname);
}

int om_rtnl_set_down(struct om_rtnl *r, struct om_err *err)
{
	fake.up = false;
	return change(err, "down %s\n", r->ifname);
}

int om_rtnl_set_mtu(struct om_rtnl *r, uint32_t mtu, struct om_err *err)
{
	int rc = change(err, "mtu %" PRIu32 " of %s\n", mtu, r->ifname);

	fake.mtu = rc ? fake.mtu : mtu;
	return rc;
}

uint32_t om_rtnl_path_mtu(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope,
			  uint32_t mark)
{
	(void)r;
	(void)scope;
	(void)mark;
	return addr->len == fake.unreachable ? 0 : fake.path_mtu ? fake.path_mtu : 1500;
}

void om_rtnl_backlog(uint32_t ifindex, uint64_t *packets)
{
	(void)ifindex;
	*packets = 0;
}

bool om_rtnl_reaches(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope, uint32_t mark)
{
	return om_rtnl_path_mtu(r, addr, scope, mark);
}

struct om_rtnl *om_rtnl_watch(struct om_err *err)
{
	return om_rtnl_open("", err);
}

int om_rtnl_fd(const struct om_rtnl *r)
{
	(void)r;
	return -1;
}

void om_rtnl_drain(struct om_rtnl *r)
{
	(void)r;
}

/* Only omr0 has one. */
bool om_rtnl_own_name(const char *altname, char name[IFNAMSIZ])
{
	strcpy(name, "omr0");
	return !strcmp(altname, "an-alternative-name-of-omr0");
}

bool om_rtnl_name(uint32_t ifindex, char name[IFNAMSIZ])
{
	for (size_t i = 0; i < fake.states.n; i++) {
		const struct om_device *dev = &OM_AT(&fake.states, struct om_state, i)->dev;

		if (dev->ifindex != ifindex)
			continue;
		strcpy(name, dev->ifname);
		return true;
	}
	return false;
}
