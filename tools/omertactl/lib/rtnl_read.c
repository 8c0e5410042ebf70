// SPDX-License-Identifier: GPL-2.0
/* Reading the state of links, addresses, routes and rules */
#include "lib/rtnl_socket.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/qdisc.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_TRIES	5

/*
 * Objects
 */

/* Copy an address or prefix. Returns false if it is of no family that we know. */
static bool get_prefix(struct om_prefix *p, int family, unsigned int len, struct nlattr *a)
{
	p->addr.len = family == AF_INET ? 4 : 16;
	p->len = (uint8_t)len;
	p->has = OM_BIT(OMERTA_A_ALLOWED_IP_ADDR) | OM_BIT(OMERTA_A_ALLOWED_IP_PREFIX_LEN);
	if (a && nla_len(a) != p->addr.len)
		return false;
	if (a)
		memcpy(p->addr.b, nla_data(a), p->addr.len);
	return family == AF_INET || family == AF_INET6;
}

static uint32_t get_u32(struct nlmsghdr *h, int len, int attr)
{
	const struct nlattr *a = nlmsg_find_attr(h, len, attr);

	return a && nla_len(a) == sizeof(uint32_t) ? nla_get_u32(a) : 0;
}

static void add_raw(struct om_list *list, const struct om_route *route, const struct nlmsghdr *h)
{
	struct om_route *new = om_list_add(list, sizeof(*new));

	*new = *route;
	new->raw_len = h->nlmsg_len - NLMSG_HDRLEN;
	new->raw = malloc(new->raw_len);
	if (new->raw)
		memcpy(new->raw, NLMSG_DATA(h), new->raw_len);
}

void om_routes_free(struct om_list *routes)
{
	for (size_t i = 0; i < routes->n; i++)
		free(OM_AT(routes, struct om_route, i)->raw);
	om_list_free(routes);
}

static uint32_t get_route_mtu(struct nlmsghdr *h)
{
	struct nlattr *metrics = nlmsg_find_attr(h, sizeof(struct rtmsg), RTA_METRICS);
	struct nlattr *mtu = metrics ? nla_find(nla_data(metrics), nla_len(metrics),
						RTAX_MTU) : NULL;

	return mtu && nla_len(mtu) == sizeof(uint32_t) ? nla_get_u32(mtu) : 0;
}

/* Return true if the route's MTU is that of an ICMP error, which may be forged. */
static bool has_learnt_mtu(struct nlmsghdr *h)
{
	const struct rtmsg *rt = nlmsg_data(h);
	struct nlattr *a = nlmsg_find_attr(h, sizeof(*rt), RTA_CACHEINFO);
	struct rta_cacheinfo info;

	/* All routes of IPv4 are copies, but only those expire. Other routes of IPv6 may, too. */
	if (rt->rtm_family != AF_INET)
		return rt->rtm_flags & RTM_F_CLONED;
	if (!a || nla_len(a) < (int)sizeof(info))
		return false;
	memcpy(&info, nla_data(a), sizeof(info));
	return info.rta_expires;
}

static void on_route(const struct om_rtnl *r, struct nlmsghdr *h)
{
	const struct rtmsg *rt = nlmsg_data(h);
	struct om_route route = { .table = get_u32(h, sizeof(*rt), RTA_TABLE) };
	uint32_t oif = get_u32(h, sizeof(*rt), RTA_OIF);
	bool ours = r->ifindex && oif == (uint32_t)r->ifindex;
	struct om_rtnl_search *s = r->search;

	s->found = rt->rtm_type == RTN_UNICAST || rt->rtm_type == RTN_LOCAL ? oif : 0;
	s->found_mtu = get_route_mtu(h);
	s->learnt = has_learnt_mtu(h);
	if (rt->rtm_family != s->family || rt->rtm_flags & RTM_F_CLONED ||
	    !get_prefix(&route.prefix, rt->rtm_family, rt->rtm_dst_len,
			nlmsg_find_attr(h, sizeof(*rt), RTA_DST)))
		return;
	if (s->defaults && !rt->rtm_dst_len) {
		s->defaults->all++;
		s->defaults->ours += ours;
		if (!ours)
			s->oif = oif;
	}
	if (s->route && s->route->table == route.table &&
	    !om_prefix_cmp(&s->route->prefix, &route.prefix))
		s->oif = oif;
	if (!s->list || !ours || rt->rtm_protocol == RTPROT_KERNEL)
		return;
	route.fixed = rt->rtm_protocol != RTPROT_BOOT;
	add_raw(s->list, &route, h);
}

static void on_address(const struct om_rtnl *r, struct nlmsghdr *h)
{
	const struct ifaddrmsg *ifa = nlmsg_data(h);
	struct nlattr *a = nlmsg_find_attr(h, sizeof(*ifa), IFA_LOCAL);
	struct om_route address = { 0 };

	if (!a)
		a = nlmsg_find_attr(h, sizeof(*ifa), IFA_ADDRESS);
	/* The kernel makes link-local ones. */
	if (a && ifa->ifa_index == (uint32_t)r->ifindex &&
	    !(ifa->ifa_family == AF_INET6 && ifa->ifa_scope == RT_SCOPE_LINK) &&
	    get_prefix(&address.prefix, ifa->ifa_family, ifa->ifa_prefixlen, a))
		add_raw(r->search->list, &address, h);
}

/* Return the user of a rule, 0 if it is not for one user other than root. */
static uint32_t get_uid(struct nlattr *a)
{
	const struct fib_rule_uid_range *range = a ? nla_data(a) : NULL;

	return range && nla_len(a) == sizeof(*range) && range->start == range->end ?
	       range->start : 0;
}

/* Return true if a rule has conditions other than a mark or a user. */
static bool is_special(struct nlmsghdr *h)
{
	const struct fib_rule_hdr *f = nlmsg_data(h);
	struct nlattr *a;
	int rem;

	if (f->src_len || f->dst_len || f->tos)
		return true;
	nlmsg_for_each_attr(a, h, sizeof(*f), rem) {
		switch (nla_type(a)) {
		case FRA_FWMASK:
			if (nla_len(a) != 4 || nla_get_u32(a) != UINT32_MAX)
				return true;
			break;
		case FRA_UID_RANGE:
			if (!get_uid(a))
				return true;
			break;
		case FRA_UNSPEC:
		case FRA_PAD:
		case FRA_TABLE:
		case FRA_FWMARK:
		case FRA_SUPPRESS_PREFIXLEN:
		case FRA_PRIORITY:
		case FRA_PROTOCOL:
			break;
		default:
			return true;
		}
	}
	return false;
}

static void on_rule(const struct om_rtnl *r, struct nlmsghdr *h)
{
	const struct fib_rule_hdr *f = nlmsg_data(h);
	const struct nlattr *suppress = nlmsg_find_attr(h, sizeof(*f), FRA_SUPPRESS_PREFIXLEN);
	struct om_rule rule = {
		.family = f->family,
		.table = get_u32(h, sizeof(*f), FRA_TABLE),
		.not_mark = f->flags & FIB_RULE_INVERT ? get_u32(h, sizeof(*f), FRA_FWMARK) : 0,
		.no_default = suppress && nla_len(suppress) == 4 && !nla_get_u32(suppress),
		.uid = f->flags & FIB_RULE_INVERT || get_u32(h, sizeof(*f), FRA_FWMARK) ? 0 :
		       get_uid(nlmsg_find_attr(h, sizeof(*f), FRA_UID_RANGE)),
		.priority = get_u32(h, sizeof(*f), FRA_PRIORITY),
	};

	if (!rule.uid && nlmsg_find_attr(h, sizeof(*f), FRA_UID_RANGE))
		return;
	if (f->family == r->search->family && f->action == FR_ACT_TO_TBL && !is_special(h) &&
	    (rule.not_mark || rule.no_default || rule.uid))
		*(struct om_rule *)om_list_add(r->search->list, sizeof(rule)) = rule;
}

int om_rtnl_on_object(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	const struct ifinfomsg *link = nlmsg_data(h);
	struct om_rtnl *r = arg;

	if (h->nlmsg_type == RTM_NEWROUTE && nlmsg_valid_hdr(h, sizeof(struct rtmsg)))
		on_route(r, h);
	if (h->nlmsg_type == RTM_NEWADDR && nlmsg_valid_hdr(h, sizeof(struct ifaddrmsg)))
		on_address(r, h);
	if (h->nlmsg_type == RTM_NEWRULE && nlmsg_valid_hdr(h, sizeof(struct fib_rule_hdr)))
		on_rule(r, h);
	if (h->nlmsg_type == RTM_NEWLINK && nlmsg_valid_hdr(h, sizeof(*link))) {
		r->search->mtu = get_u32(h, sizeof(*link), IFLA_MTU);
		r->search->up = link->ifi_flags & IFF_UP;
	}
	return NL_OK;
}

/*
 * Dumps
 */

/* Send one request. @table: a table of routes, or 0 for routes of the device */
static int ask(struct om_rtnl *r, int type, int flags, void *header, size_t len,
	       uint32_t table, struct om_err *err)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);
	int rc = msg ? nlmsg_append(msg, header, len, NLMSG_ALIGNTO) : -NLE_NOMEM;

	if (!rc && type == RTM_GETROUTE)
		rc = table ? nla_put_u32(msg, RTA_TABLE, table) :
			     nla_put_u32(msg, RTA_OIF, (uint32_t)r->ifindex);
	if (msg && rc)
		nlmsg_free(msg);
	rc = om_rtnl_put(r, rc, msg, err, "reading routes, addresses and rules");
	return rc ? rc : om_rtnl_send(r, err);
}

static int run_search(struct om_rtnl *r, struct om_rtnl_search *s, int type, int flags, void *header,
		      size_t len, uint32_t table, struct om_err *err)
{
	int rc, tries = DUMP_TRIES;

	r->search = s;
	do {
		for (size_t i = 0; s->list && s->raw && i < s->list->n; i++)
			free(OM_AT(s->list, struct om_route, i)->raw);
		if (s->list)
			s->list->n = 0;
		if (s->defaults)
			*s->defaults = (struct om_defaults){ 0 };
		rc = ask(r, type, flags, header, len, table, err);
	} while (rc == -NLE_DUMP_INTR && --tries);
	if (rc < 0)
		return om_rtnl_lib_error(err, rc);
	/* A table without routes does not exist; a host may lack IPv6. */
	return rc && (err->sys == ENOENT || err->sys == EAFNOSUPPORT ||
		      err->sys == EOPNOTSUPP) ? OM_OK : rc;
}

uint32_t om_rtnl_route_device(struct om_rtnl *r, const struct om_route *route)
{
	struct rtmsg rt = { .rtm_family = route->prefix.addr.len == 4 ? AF_INET : AF_INET6 };
	struct om_rtnl_search s = { .family = rt.rtm_family, .route = route };
	struct om_err unused;

	return run_search(r, &s, RTM_GETROUTE, NLM_F_DUMP, &rt, sizeof(rt), route->table,
			  &unused) ? 0 : s.oif;
}

static int get_link(struct om_rtnl *r, int ifindex, struct om_rtnl_search *s, struct om_err *err)
{
	struct ifinfomsg link = { .ifi_index = ifindex };

	return run_search(r, s, RTM_GETLINK, 0, &link, sizeof(link), 0, err);
}

int om_rtnl_link(struct om_rtnl *r, uint32_t *mtu, bool *up, struct om_err *err)
{
	struct om_rtnl_search s = { 0 };
	int rc = get_link(r, r->ifindex, &s, err);

	*mtu = s.mtu;
	*up = s.up;
	return rc;
}

int om_rtnl_addresses(struct om_rtnl *r, struct om_list *addresses, struct om_err *err)
{
	struct ifaddrmsg ifa = { .ifa_index = (uint32_t)r->ifindex };
	struct om_rtnl_search s = { .list = addresses, .raw = true };

	return run_search(r, &s, RTM_GETADDR, NLM_F_DUMP, &ifa, sizeof(ifa), 0, err);
}

int om_rtnl_routes(struct om_rtnl *r, struct om_list *routes, struct om_err *err)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct om_list part = { 0 };
	int rc = OM_OK;

	om_routes_free(routes);
	for (size_t i = 0; i < OM_ARRAY_SIZE(families) && !rc; i++) {
		struct rtmsg rt = { .rtm_family = (uint8_t)families[i] };
		struct om_rtnl_search s = { .family = families[i], .list = &part, .raw = true };

		rc = run_search(r, &s, RTM_GETROUTE, NLM_F_DUMP, &rt, sizeof(rt), 0, err);
		for (size_t k = 0; k < part.n && !rc; k++)
			*(struct om_route *)om_list_add(routes, sizeof(struct om_route)) =
				*OM_AT(&part, struct om_route, k);
		if (!rc)
			part.n = 0;
	}
	om_routes_free(&part);
	return rc;
}

int om_rtnl_rules(struct om_rtnl *r, int family, struct om_list *rules, struct om_err *err)
{
	struct fib_rule_hdr h = { .family = (uint8_t)family };
	struct om_rtnl_search s = { .family = family, .list = rules };

	return run_search(r, &s, RTM_GETRULE, NLM_F_DUMP, &h, sizeof(h), 0, err);
}

int om_rtnl_defaults(struct om_rtnl *r, int family, uint32_t table,
		     struct om_defaults *found, struct om_err *err)
{
	struct rtmsg rt = { .rtm_family = (uint8_t)family };
	struct om_rtnl_search s = { .family = family, .defaults = found }, link = { 0 };
	int rc = run_search(r, &s, RTM_GETROUTE, NLM_F_DUMP, &rt, sizeof(rt), table, err);

	if (!rc && s.oif && !get_link(r, (int)s.oif, &link, err))
		found->mtu = link.mtu;
	return rc;
}

/*
 * Look up the route to an address. Returns false if there is none outside of the device.
 * @flags: RTM_F_FIB_MATCH for the route as it was configured
 */
static bool find_route(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope,
		       uint32_t mark, uint32_t flags, struct om_rtnl_search *s)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	struct rtmsg rt = {
		.rtm_family = addr->len == 4 ? AF_INET : AF_INET6,
		.rtm_dst_len = (uint8_t)(addr->len * 8),
		.rtm_flags = flags,
	};
	struct om_err unused;
	int rc = msg ? nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO) : -NLE_NOMEM;

	if (!rc)
		rc = nla_put(msg, RTA_DST, addr->len, addr->b);
	if (!rc && mark)
		rc = nla_put_u32(msg, RTA_MARK, mark);
	/* The tunnel's socket belongs to root, and we may be the user of a rule. */
	if (!rc)
		rc = nla_put_u32(msg, RTA_UID, 0);
	if (!rc && scope)
		rc = nla_put_u32(msg, RTA_OIF, scope);
	if (msg && rc)
		nlmsg_free(msg);
	*s = (struct om_rtnl_search){ .family = rt.rtm_family };
	r->search = s;
	rc = om_rtnl_put(r, rc, msg, &unused, "route");
	if (!rc)
		rc = om_rtnl_send(r, &unused);
	return !rc && s->found && s->found != (uint32_t)r->ifindex;
}

bool om_rtnl_reaches(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope, uint32_t mark)
{
	struct om_rtnl_search s;

	return find_route(r, addr, scope, mark, 0, &s);
}

uint32_t om_rtnl_path_mtu(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope,
			  uint32_t mark)
{
	struct om_rtnl_search s, link = { 0 };
	struct om_err unused;

	if (!find_route(r, addr, scope, mark, 0, &s) ||
	    get_link(r, (int)s.found, &link, &unused))
		return 0;
	if (s.learnt)
		find_route(r, addr, scope, mark, RTM_F_FIB_MATCH, &s);
	return s.found_mtu && s.found_mtu < link.mtu ? s.found_mtu : link.mtu;
}

bool om_rtnl_name(uint32_t ifindex, char name[IFNAMSIZ])
{
	return if_indextoname(ifindex, name);
}

static int get_own_name(struct nl_msg *msg, void *arg)
{
	struct nlattr *a = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct ifinfomsg), IFLA_IFNAME);

	if (a)
		nla_strlcpy(arg, a, IFNAMSIZ);
	return NL_OK;
}

bool om_rtnl_own_name(const char *altname, char name[IFNAMSIZ])
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETLINK, 0);
	struct ifinfomsg link = { 0 };
	struct nl_sock *sk = nl_socket_alloc();
	int rc = -NLE_NOMEM;

	*name = '\0';
	if (msg && sk)
		rc = nlmsg_append(msg, &link, sizeof(link), NLMSG_ALIGNTO);
	if (!rc)
		rc = nla_put_string(msg, IFLA_ALT_IFNAME, altname);
	if (!rc)
		rc = nl_connect(sk, NETLINK_ROUTE);
	if (!rc)
		rc = nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, get_own_name, name);
	if (!rc && nl_send_auto(sk, msg) >= 0)
		nl_recvmsgs_default(sk);
	nlmsg_free(msg);
	nl_socket_free(sk);
	return *name;
}

/*
 * Changes
 */

/* The contents of messages do not matter. */
#define WATCH_BUFFER	32768

struct om_rtnl *om_rtnl_watch(struct om_err *err)
{
	static const int groups[] = {
		RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
		RTNLGRP_IPV6_ROUTE
	};
	struct om_rtnl *r = calloc(1, sizeof(*r));
	int rc = -NLE_NOMEM;

	if (r)
		r->sk = nl_socket_alloc();
	if (r && r->sk)
		rc = nl_connect(r->sk, NETLINK_ROUTE);
	for (size_t i = 0; i < OM_ARRAY_SIZE(groups) && rc >= 0; i++)
		rc = nl_socket_add_membership(r->sk, groups[i]);
	if (rc >= 0)
		rc = nl_socket_set_buffer_size(r->sk, WATCH_BUFFER, 0);
	if (rc >= 0)
		rc = nl_socket_set_nonblocking(r->sk);
	if (rc >= 0)
		return r;
	om_rtnl_lib_error(err, rc);
	om_rtnl_close(r);
	return NULL;
}

int om_rtnl_fd(const struct om_rtnl *r)
{
	return nl_socket_get_fd(r->sk);
}

void om_rtnl_drain(struct om_rtnl *r)
{
	char unused;

	while (recv(om_rtnl_fd(r), &unused, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0 || errno == ENOBUFS)
		;
}

uint32_t om_rtnl_queues(int ifindex)
{
	struct nl_sock *sk = nl_socket_alloc();
	struct rtnl_link *link = NULL;
	uint32_t n = 0;

	if (sk && !nl_connect(sk, NETLINK_ROUTE) &&
	    !rtnl_link_get_kernel(sk, ifindex, NULL, &link))
		n = rtnl_link_get_num_tx_queues(link);
	if (link)
		rtnl_link_put(link);
	nl_socket_free(sk);
	return n;
}

void om_rtnl_backlog(uint32_t ifindex, uint64_t *packets)
{
	struct nl_sock *sk = nl_socket_alloc();
	struct nl_cache *cache;

	*packets = 0;
	if (!sk || nl_connect(sk, NETLINK_ROUTE) || rtnl_qdisc_alloc_cache(sk, &cache)) {
		nl_socket_free(sk);
		return;
	}
	for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
		struct rtnl_tc *tc = TC_CAST(o);

		if ((uint32_t)rtnl_tc_get_ifindex(tc) == ifindex &&
		    rtnl_tc_get_parent(tc) == TC_H_ROOT)
			*packets = rtnl_tc_get_stat(tc, RTNL_TC_QLEN);
	}
	nl_cache_free(cache);
	nl_socket_free(sk);
}
