// SPDX-License-Identifier: GPL-2.0
#include "lib/host.h"

#include "lib/mtu.h"
#include "lib/quote.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const int families[] = { AF_INET, AF_INET6 };

/* The wanted state, and the changes so far */
struct apply {
	struct om_rtnl *r;
	const struct om_config *conf;
	struct om_host *before;
	struct om_list *changes;
	struct om_err *err;
};

void om_host_set_mark(struct om_config *conf)
{
	if (conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK) ||
	    !om_config_has_default(conf, 0))
		return;
	conf->dev.has |= OM_BIT(OMERTA_A_DEVICE_FWMARK);
	conf->dev.fwmark = OM_HOST_MARK;
}

/*
 * Changes
 */

void om_host_describe(char *buf, size_t size, const struct om_host_change *c)
{
	const char *how = c->removed ? "removed" : "added";
	char text[OM_PREFIX_LEN];

	om_prefix_format(text, sizeof(text), &c->route.prefix);
	switch (c->kind) {
	case OM_HOST_ADDRESS:
		snprintf(buf, size, "address %s %s", text, how);
		break;
	case OM_HOST_ROUTE:
		snprintf(buf, size, "route %s %s", text, how);
		break;
	case OM_HOST_RULE:
		snprintf(buf, size, "%srule of table %" PRIu32 "%s %s",
			 c->rule.family == AF_INET ? "" : "IPv6 ", c->rule.table,
			 c->rule.uid ? " for names of endpoints" : "", how);
		break;
	default:
		if (c->mtu == c->old_mtu)
			snprintf(buf, size, "link up");
		else
			snprintf(buf, size, "MTU %" PRIu32 " instead of %" PRIu32, c->mtu,
				 c->old_mtu);
	}
}

/* Make a change. Requests about addresses and routes are sent in batches. */
static int make(struct om_rtnl *r, const struct om_host_change *c, struct om_err *err)
{
	switch (c->kind) {
	case OM_HOST_ADDRESS:
		return om_rtnl_address(r, !c->removed, &c->route, err);
	case OM_HOST_ROUTE:
		return om_rtnl_route(r, !c->removed, &c->route, err);
	case OM_HOST_RULE:
		return om_rtnl_rule(r, !c->removed, &c->rule, err);
	default:
		return om_rtnl_set_up(r, c->mtu, err);
	}
}

static void add_change(struct apply *a, const struct om_host_change *c)
{
	*(struct om_host_change *)om_list_add(a->changes, sizeof(*c)) = *c;
}

/* The kernel's message of a change belongs to another list, and is not kept. */
static int change(struct apply *a, const struct om_host_change *c)
{
	struct om_host_change *added;

	add_change(a, c);
	added = OM_AT(a->changes, struct om_host_change, a->changes->n - 1);
	added->route.raw = NULL;
	return make(a->r, c, a->err);
}

/*
 * Addresses
 */

static bool has_address(const struct om_list *list, const struct om_route *address)
{
	for (size_t i = 0; i < list->n; i++)
		if (!om_prefix_cmp(&OM_AT(list, struct om_route, i)->prefix, &address->prefix))
			return true;
	return false;
}

/* IPv6 has an address once, whatever the length of its network. */
static bool is_in_the_way(const struct om_list *want, const struct om_route *address)
{
	for (size_t i = 0; i < want->n; i++) {
		const struct om_addr *a = &OM_AT(want, struct om_route, i)->prefix.addr;

		if (a->len == 16 && address->prefix.addr.len == 16 &&
		    !memcmp(a->b, address->prefix.addr.b, a->len))
			return true;
	}
	return false;
}

/*
 * Remove addresses one by one, as some go with others: secondary ones of IPv4. @early: only those
 * that are in the way of new ones
 */
static int remove_addresses(struct apply *a, const struct om_list *have,
			    const struct om_list *want, bool early)
{
	int rc = OM_OK;

	for (size_t i = 0; i < have->n && !rc; i++) {
		const struct om_route *address = OM_AT(have, struct om_route, i);

		if (has_address(want, address) || (early && !is_in_the_way(want, address)))
			continue;
		rc = change(a, &(struct om_host_change){
			.kind = OM_HOST_ADDRESS, .removed = true, .route = *address
		});
		if (!rc)
			rc = om_rtnl_flush(a->r, a->err);
		if (rc && a->err->sys == EADDRNOTAVAIL)
			rc = OM_OK;
	}
	return rc;
}

static int add_addresses(struct apply *a, const struct om_list *have,
			 const struct om_list *want)
{
	int rc = OM_OK;

	for (size_t i = 0; i < want->n && !rc; i++) {
		const struct om_route *address = OM_AT(want, struct om_route, i);

		if (!has_address(have, address))
			rc = change(a, &(struct om_host_change){
				.kind = OM_HOST_ADDRESS, .route = *address
			});
	}
	return rc ? rc : om_rtnl_flush(a->r, a->err);
}

/*
 * New ones come first: with the last address of IPv4 all its routes would go. Wanted addresses that
 * the kernel removed with others are added again.
 */
static int reach_addresses(struct apply *a, const struct om_list *want)
{
	struct om_list have = { 0 };
	int rc = om_rtnl_addresses(a->r, &have, a->err);
	size_t before = a->changes->n;

	if (!rc)
		rc = remove_addresses(a, &have, want, true);
	if (!rc && a->changes->n != before)
		rc = om_rtnl_addresses(a->r, &have, a->err);
	if (!rc)
		rc = add_addresses(a, &have, want);
	before = a->changes->n;
	if (!rc)
		rc = remove_addresses(a, &have, want, false);
	if (!rc && a->changes->n != before)
		rc = om_rtnl_addresses(a->r, &have, a->err);
	if (!rc && a->changes->n != before)
		rc = add_addresses(a, &have, want);
	om_routes_free(&have);
	return rc;
}

static int apply_addresses(struct apply *a)
{
	const struct om_list *addresses = &a->conf->host.addresses;
	struct om_list want = { 0 };
	int rc;

	/* They are another program's, such as systemd-networkd. */
	if (!addresses->n)
		return OM_OK;
	for (size_t i = 0; i < addresses->n; i++)
		*(struct om_route *)om_list_add(&want, sizeof(struct om_route)) =
			(struct om_route){ .prefix = *OM_AT(addresses, struct om_prefix, i) };
	rc = reach_addresses(a, &want);
	om_list_free(&want);
	return rc;
}

/* IPv6 cannot be added to a link that is too narrow for it. */
static int widen_link(struct apply *a)
{
	uint32_t want = a->conf->host.mtu;
	int rc = OM_OK;

	if (a->before->mtu < OM_MTU_MIN_V6 && want >= OM_MTU_MIN_V6)
		rc = om_rtnl_set_mtu(a->r, want, a->err);
	return rc ? rc : om_rtnl_flush(a->r, a->err);
}

static int apply_link(struct apply *a)
{
	uint32_t want = a->conf->host.mtu, mtu = a->before->mtu;
	int rc;

	if (a->before->up && (!want || want == mtu))
		return OM_OK;
	rc = change(a, &(struct om_host_change){
		.kind = OM_HOST_LINK, .mtu = want ? want : mtu, .old_mtu = mtu
	});
	return rc ? rc : om_rtnl_flush(a->r, a->err);
}

/*
 * Routes
 */

static int cmp_route(const void *x, const void *y)
{
	const struct om_route *a = x, *b = y;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return om_prefix_cmp(&a->prefix, &b->prefix);
}

static void sort_routes(struct om_list *routes)
{
	if (routes->n)
		qsort(routes->v, routes->n, sizeof(struct om_route), cmp_route);
}

static bool has_route(const struct om_list *sorted, const struct om_route *route)
{
	return sorted->n && bsearch(route, sorted->v, sorted->n, sizeof(*route), cmp_route);
}

static uint32_t table_of(const struct om_config *conf, const struct om_prefix *p)
{
	if (conf->host.table != OM_TABLE_AUTO)
		return conf->host.table;
	return p->len ? RT_TABLE_MAIN : conf->dev.fwmark;
}

/*
 * The networks of our addresses, which the kernel itself routes into the device, in the main
 * table. A single IPv4 address has no network.
 */
static void find_networks(const struct om_config *conf, struct om_list *networks)
{
	for (size_t i = 0; i < conf->host.addresses.n; i++) {
		struct om_route network = {
			.prefix = *OM_AT(&conf->host.addresses, struct om_prefix, i),
			.table = RT_TABLE_MAIN,
		};

		om_prefix_mask(&network.prefix);
		if (network.prefix.addr.len == 16 || network.prefix.len < 32)
			*(struct om_route *)om_list_add(networks, sizeof(network)) = network;
	}
	sort_routes(networks);
}

static void want_routes(const struct om_config *conf, struct om_list *want)
{
	const struct om_peer *peers = conf->peers.v;
	struct om_list networks = { 0 };

	if (conf->host.table == OM_TABLE_OFF)
		return;
	find_networks(conf, &networks);
	for (size_t i = 0; i < conf->peers.n; i++) {
		const struct om_list *ips = &peers[i].allowed_ips;

		for (size_t k = 0; k < ips->n; k++) {
			const struct om_prefix *p = OM_AT(ips, struct om_prefix, k);
			struct om_route route = { .prefix = *p, .table = table_of(conf, p) };

			if (!has_route(&networks, &route))
				*(struct om_route *)om_list_add(want, sizeof(route)) = route;
		}
	}
	om_list_free(&networks);
}

/* Add or remove those of @routes that are not in @sorted. @fixed: also other programs' */
static int change_routes(struct apply *a, const struct om_list *routes,
			 const struct om_list *sorted, bool removed, bool fixed)
{
	int rc = OM_OK;

	for (size_t i = 0; i < routes->n && !rc; i++) {
		const struct om_route *route = OM_AT(routes, struct om_route, i);

		if (!has_route(sorted, route) && (fixed || !route->fixed))
			rc = change(a, &(struct om_host_change){
				.kind = OM_HOST_ROUTE, .removed = removed, .route = *route
			});
	}
	return rc ? rc : om_rtnl_flush(a->r, a->err);
}

/* New routes come first, so that packets have a way all the time. */
static int reach_routes(struct apply *a, struct om_list *want, bool fixed)
{
	struct om_list have = { 0 };
	int rc = om_rtnl_routes(a->r, &have, a->err);

	sort_routes(&have);
	if (!rc)
		rc = change_routes(a, want, &have, false, true);
	sort_routes(want);
	if (!rc)
		rc = change_routes(a, &have, want, true, fixed);
	om_routes_free(&have);
	return rc;
}

static int apply_routes(struct apply *a)
{
	struct om_list want = { 0 };
	int rc;

	want_routes(a->conf, &want);
	/* The kernel may have dropped other programs' routes together with addresses. */
	for (size_t i = 0; i < a->before->routes.n; i++) {
		const struct om_route *route = OM_AT(&a->before->routes, struct om_route, i);

		if (route->fixed)
			*(struct om_route *)om_list_add(&want, sizeof(*route)) = *route;
	}
	rc = reach_routes(a, &want, false);
	om_list_free(&want);
	return rc;
}

/*
 * Rules: two for each family with a default route, and one for names, if they are looked up by a
 * user of their own. The main table's routes take precedence, except for its default route. They
 * are removed in the other order, so that the first one always tells whose the second one is.
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

/*
 * Names of endpoints are looked up outside of the tunnel, which needs the result. The agent's
 * resolver has a user of its own.
 */
static struct om_rule rule_of_names(int family)
{
	const struct passwd *user = getpwnam(OM_USER);

	return (struct om_rule){
		.family = family, .table = RT_TABLE_MAIN, .uid = user ? user->pw_uid : 0
	};
}

static bool same_rule(const struct om_rule *a, const struct om_rule *b)
{
	return a->family == b->family && a->table == b->table && a->not_mark == b->not_mark &&
	       a->no_default == b->no_default && a->uid == b->uid;
}

/* Return the last rule like @rule, whatever its priority, or NULL. */
static const struct om_rule *last_rule(const struct om_list *rules, const struct om_rule *rule)
{
	const struct om_rule *last = NULL;

	for (size_t i = 0; i < rules->n; i++)
		if (same_rule(OM_AT(rules, struct om_rule, i), rule))
			last = OM_AT(rules, struct om_rule, i);
	return last;
}

/* Return true if another tunnel has such rules: the one of the main table may be its own. */
static bool is_shared(const struct om_list *rules, uint32_t mark)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct om_rule *r = OM_AT(rules, struct om_rule, i);

		if (r->not_mark && r->not_mark != mark)
			return true;
	}
	return false;
}

/* Let reverse path filters look up marked packets by their mark, too. */
static int allow_marks(struct om_err *err)
{
	static const char path[] = "/proc/sys/net/ipv4/conf/all/src_valid_mark";
	FILE *f = fopen(path, "re");
	int c = f ? getc(f) : EOF;

	if (f)
		fclose(f);
	if (c == '1')
		return OM_OK;
	f = fopen(path, "we");
	if (!f || fputs("1\n", f) < 0 || fclose(f))
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	return OM_OK;
}

static int change_rule(struct apply *a, const struct om_rule *rule, bool removed)
{
	const struct om_host_change c = {
		.kind = OM_HOST_RULE, .removed = removed, .rule = *rule
	};
	int rc = make(a->r, &c, a->err);

	if (!rc)
		add_change(a, &c);
	return rc;
}

/* A rule without a priority is put in front of the others, so the main table's comes last. */
static int add_rules(struct apply *a, int family)
{
	struct om_rule of_mark = rule_of(family, 0, a->conf->dev.fwmark);
	struct om_rule of_main = rule_of(family, 1, a->conf->dev.fwmark);
	struct om_rule of_names = rule_of_names(family);
	const struct om_rule *mark = NULL, *main = NULL, *names = NULL;
	struct om_list have = { 0 };
	int rc = family == AF_INET ? allow_marks(a->err) : OM_OK;

	if (!rc)
		rc = om_rtnl_rules(a->r, family, &have, a->err);
	if (!rc) {
		mark = last_rule(&have, &of_mark);
		main = last_rule(&have, &of_main);
		names = of_names.uid ? last_rule(&have, &of_names) : NULL;
	}
	if (main)
		of_mark.priority = main->priority;
	if (!rc && main && mark && main > mark) {
		rc = change_rule(a, mark, true);
		mark = NULL;
	}
	if (!rc && !mark)
		rc = change_rule(a, &of_mark, false);
	if (!rc && !main)
		rc = change_rule(a, &of_main, false);
	/* The new ones are in front of it. */
	if (!rc && names && (!main || !mark || names > mark)) {
		rc = change_rule(a, names, true);
		names = NULL;
	}
	if (!rc && of_names.uid && !names)
		rc = change_rule(a, &of_names, false);
	om_list_free(&have);
	return rc;
}

/* Add the rules of a family to remove. The device may be down or deleted, without routes. */
static int find_rules(struct om_rtnl *r, int family, uint32_t mark, struct om_list *rules,
		      struct om_err *err)
{
	struct om_rule of_mark = rule_of(family, 0, mark), of_main = rule_of(family, 1, mark);
	struct om_rule of_names = rule_of_names(family);
	const struct om_rule *main = NULL, *names = NULL;
	struct om_list have = { 0 };
	struct om_defaults found;
	int rc = om_rtnl_defaults(r, family, mark, &found, err);
	bool ours = !rc && found.all == found.ours;

	if (!rc)
		rc = om_rtnl_rules(r, family, &have, err);
	ours = ours && !rc && last_rule(&have, &of_mark);
	if (ours && !is_shared(&have, mark)) {
		main = last_rule(&have, &of_main);
		names = of_names.uid ? last_rule(&have, &of_names) : NULL;
	}
	if (names)
		*(struct om_rule *)om_list_add(rules, sizeof(*names)) = *names;
	if (main)
		*(struct om_rule *)om_list_add(rules, sizeof(*main)) = *main;
	for (size_t i = 0; ours && i < have.n; i++) {
		const struct om_rule *rule = OM_AT(&have, struct om_rule, i);

		if (same_rule(rule, &of_mark))
			*(struct om_rule *)om_list_add(rules, sizeof(*rule)) = *rule;
	}
	om_list_free(&have);
	return rc;
}

static int remove_rules(struct apply *a, int family)
{
	struct om_list rules = { 0 };
	int rc = find_rules(a->r, family, a->conf->dev.fwmark, &rules, a->err);

	for (size_t i = 0; i < rules.n && !rc; i++)
		rc = change_rule(a, OM_AT(&rules, struct om_rule, i), true);
	om_list_free(&rules);
	return rc;
}

int om_host_find_rules(const char *ifname, uint32_t mark, struct om_list *rules,
		       struct om_err *err)
{
	struct om_rtnl *r = mark ? om_rtnl_open(ifname, err) : NULL;
	int rc = r || !mark ? OM_OK : OM_SYSTEM;

	for (size_t i = 0; i < OM_ARRAY_SIZE(families) && r && !rc; i++)
		rc = find_rules(r, families[i], mark, rules, err);
	om_rtnl_close(r);
	return rc;
}

int om_host_drop_rules(const struct om_list *rules, struct om_err *err)
{
	struct om_rtnl *r = rules->n ? om_rtnl_open("", err) : NULL;
	int rc = r || !rules->n ? OM_OK : OM_SYSTEM;
	struct om_err later;

	for (size_t i = 0; i < rules->n && r; i++) {
		struct om_err *e = rc ? &later : err;

		if (om_rtnl_rule(r, false, OM_AT(rules, struct om_rule, i), e) &&
		    e->sys != ENOENT)
			rc = OM_SYSTEM;
	}
	om_rtnl_close(r);
	return rc;
}

/*
 * All of it
 */

static int read_host(struct om_rtnl *r, struct om_host *host, struct om_err *err)
{
	int rc = om_rtnl_link(r, &host->mtu, &host->up, err);

	if (!rc)
		rc = om_rtnl_addresses(r, &host->addresses, err);
	return rc ? rc : om_rtnl_routes(r, &host->routes, err);
}

bool om_host_is_up(const char *ifname)
{
	struct om_err unused;
	struct om_rtnl *r = om_rtnl_open(ifname, &unused);
	uint32_t mtu;
	bool up = false;

	if (r && om_rtnl_link(r, &mtu, &up, &unused))
		up = false;
	om_rtnl_close(r);
	return up;
}

void om_host_free(struct om_host *host)
{
	om_routes_free(&host->addresses);
	om_routes_free(&host->routes);
}

int om_host_apply(const char *ifname, const struct om_config *conf, bool made,
		  struct om_host *before, struct om_list *changes, struct om_err *err)
{
	struct apply a = { om_rtnl_open(ifname, err), conf, before, changes, err };
	int rc = OM_SYSTEM;

	if (a.r)
		rc = read_host(a.r, before, err);
	if (!rc)
		rc = widen_link(&a);
	if (!rc)
		rc = apply_addresses(&a);
	if (!rc)
		rc = apply_link(&a);
	if (!rc)
		rc = apply_routes(&a);
	for (size_t i = 0; i < OM_ARRAY_SIZE(families) && !rc; i++) {
		if (om_config_has_default(conf, families[i] == AF_INET ? 4 : 16))
			rc = add_rules(&a, families[i]);
		else if (!made && conf->dev.fwmark &&
			 (conf->host.table == OM_TABLE_AUTO || conf->dev.fwmark == OM_HOST_MARK))
			rc = remove_rules(&a, families[i]);
	}
	om_rtnl_close(a.r);
	return rc;
}

int om_host_undo(const char *ifname, struct om_host *before, const struct om_list *changes,
		 bool rules, struct om_err *err)
{
	struct om_list done = { 0 };
	struct apply a = { om_rtnl_open(ifname, err), NULL, before, &done, err };
	struct om_err unused;
	uint32_t mtu = 0;
	bool up = false;
	int rc = a.r ? OM_OK : OM_SYSTEM;

	for (size_t i = changes->n; a.r && i-- > 0;) {
		struct om_host_change c = *OM_AT(changes, struct om_host_change, i);

		c.removed = !c.removed;
		if (c.kind == OM_HOST_RULE)
			make(a.r, &c, &unused);
	}
	/* Without an MTU, nothing was read, and nothing changed. */
	if (!rc && !rules && before->mtu) {
		rc = om_rtnl_link(a.r, &mtu, &up, err);
		if (!rc && before->mtu > mtu)
			rc = om_rtnl_set_mtu(a.r, before->mtu, err);
		if (!rc)
			rc = reach_addresses(&a, &before->addresses);
		if (!rc)
			rc = reach_routes(&a, &before->routes, true);
		if (!rc && before->mtu < mtu)
			rc = om_rtnl_set_mtu(a.r, before->mtu, err);
		if (!rc && up && !before->up)
			rc = om_rtnl_set_down(a.r, err);
		if (!rc)
			rc = om_rtnl_flush(a.r, err);
	}
	om_rtnl_close(a.r);
	om_list_free(&done);
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
