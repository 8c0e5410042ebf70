// SPDX-License-Identifier: GPL-2.0
#include "lib/rtnl.h"

#include "lib/addr.h"
#include "lib/extack.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fib_rules.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests per batch. A refusal takes 1 kB of the receive buffer. */
#define BATCH		64
#define RECEIVE_BUFFER	(2 * 1024 * BATCH)
#define DUMP_TRIES	5

struct request {
	struct nl_msg *msg;
	char what[OM_PREFIX_LEN + 40];
	struct om_route route;		/* to be added; or its table is 0 */
};

/* A dump's search. Hosts without IPv6 dump other families. */
struct search {
	int family;
	struct om_list *list;
	bool raw;			/* @list holds struct om_route */
	struct om_defaults *defaults;
	const struct om_route *route;	/* a route to find the device of */
	uint32_t oif;			/* device of that or of the default route, or 0 */
	uint32_t found;			/* device of the latest route, */
	uint32_t found_mtu;		/* and its own MTU, or 0 */
	uint32_t mtu;
	bool up;
};

struct om_rtnl {
	struct nl_sock *sk;
	int ifindex;			/* 0 if there is no device */
	struct request requests[BATCH];
	unsigned int n;
	uint32_t first_seq;		/* sequence number of the first request of the batch */
	bool done;			/* the last request is answered */
	int rc;				/* result of the first refused request */
	struct request *refused;	/* that request, in @requests */
	struct om_err *err;
	struct search *search;
};

static int lib_error(struct om_err *err, int error)
{
	return om_err(err, OM_SYSTEM, "rtnetlink: %s", nl_geterror(error));
}

/*
 * Answers
 */

static const struct om_sent unnamed;

/* Handle an answer. @seq: sequence number of the answered request */
static void take_answer(struct om_rtnl *r, const struct nlmsghdr *h, uint32_t seq)
{
	uint32_t i = seq - r->first_seq;

	if (i >= r->n)
		return;
	r->done = i == r->n - 1;
	if (r->rc)
		return;
	r->rc = om_extack_error(h, &unnamed, r->err);
	if (!r->rc)
		return;
	om_err_prefix(r->err, "%s", r->requests[i].what);
	r->refused = &r->requests[i];
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct om_rtnl *r = arg;
	const struct nlmsghdr *h = (const void *)((const char *)e - NLMSG_HDRLEN);

	(void)from;
	take_answer(r, h, e->msg.nlmsg_seq);
	return NL_SKIP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	take_answer(arg, nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_seq);
	return NL_OK;
}

static int on_finish(struct nl_msg *msg, void *arg)
{
	struct om_rtnl *r = arg;

	r->done = true;
	r->rc = om_extack_error(nlmsg_hdr(msg), &unnamed, r->err);
	return NL_STOP;
}

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

static void on_route(const struct om_rtnl *r, struct nlmsghdr *h)
{
	const struct rtmsg *rt = nlmsg_data(h);
	struct om_route route = { .table = get_u32(h, sizeof(*rt), RTA_TABLE) };
	uint32_t oif = get_u32(h, sizeof(*rt), RTA_OIF);
	bool ours = r->ifindex && oif == (uint32_t)r->ifindex;
	struct search *s = r->search;

	s->found = rt->rtm_type == RTN_UNICAST || rt->rtm_type == RTN_LOCAL ? oif : 0;
	s->found_mtu = get_route_mtu(h);
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

/* Return true if a rule has conditions other than a mark. */
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
		.priority = get_u32(h, sizeof(*f), FRA_PRIORITY),
	};

	if (f->family == r->search->family && f->action == FR_ACT_TO_TBL && !is_special(h) &&
	    (rule.not_mark || rule.no_default))
		*(struct om_rule *)om_list_add(r->search->list, sizeof(rule)) = rule;
}

static int on_object(struct nl_msg *msg, void *arg)
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

static int connect_socket(struct om_rtnl *r)
{
	static const int options[] = {
		NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK
	};
	struct nl_cb *cb = nl_cb_alloc(NL_CB_CUSTOM);
	const int one = 1;
	int rc;

	if (!cb)
		return -NLE_NOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_object, r);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, r);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, r);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, r);
	r->sk = nl_socket_alloc_cb(cb);
	nl_cb_put(cb);
	if (!r->sk)
		return -NLE_NOMEM;
	/* Only the last request of a batch asks for an acknowledgement. */
	nl_socket_disable_auto_ack(r->sk);
	nl_socket_disable_seq_check(r->sk);
	rc = nl_connect(r->sk, NETLINK_ROUTE);
	if (rc < 0)
		return rc;
	rc = nl_socket_set_buffer_size(r->sk, RECEIVE_BUFFER, 0);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < OM_ARRAY_SIZE(options); i++)
		setsockopt(nl_socket_get_fd(r->sk), SOL_NETLINK, options[i],
			   &one, sizeof(one));
	return 0;
}

struct om_rtnl *om_rtnl_open(const char *ifname, struct om_err *err)
{
	struct om_rtnl *r = calloc(1, sizeof(*r));
	int rc = r ? connect_socket(r) : -NLE_NOMEM;

	if (rc < 0) {
		lib_error(err, rc);
		om_rtnl_close(r);
		return NULL;
	}
	r->ifindex = (int)if_nametoindex(ifname);
	if (r->ifindex || errno == ENODEV)
		return r;
	om_err_sys(err, errno, "%s", ifname);
	om_rtnl_close(r);
	return NULL;
}

static void drop_batch(struct om_rtnl *r)
{
	while (r->n)
		nlmsg_free(r->requests[--r->n].msg);
}

void om_rtnl_close(struct om_rtnl *r)
{
	if (!r)
		return;
	drop_batch(r);
	if (r->sk)
		nl_socket_free(r->sk);
	free(r);
}

/*
 * Batches
 */

/* Send the batch. Returns a negative libnl error, or r->rc. */
static int send_batch(struct om_rtnl *r, struct om_err *err)
{
	struct iovec iov[BATCH];
	int rc;

	for (unsigned int i = 0; i < r->n; i++) {
		iov[i].iov_base = nlmsg_hdr(r->requests[i].msg);
		iov[i].iov_len = nlmsg_hdr(r->requests[i].msg)->nlmsg_len;
	}
	r->first_seq = nlmsg_hdr(r->requests[0].msg)->nlmsg_seq;
	nlmsg_hdr(r->requests[r->n - 1].msg)->nlmsg_flags |= NLM_F_ACK;
	r->done = false;
	r->rc = OM_OK;
	r->refused = NULL;
	r->err = err;
	rc = nl_send_iovec(r->sk, r->requests[0].msg, iov, r->n);
	while (rc >= 0 && !r->done)
		rc = nl_recvmsgs_default(r->sk);
	drop_batch(r);
	return r->rc ? r->rc : rc < 0 ? rc : OM_OK;
}

static int run_search(struct om_rtnl *r, struct search *s, int type, int flags, void *header,
		      size_t len, uint32_t table, struct om_err *err);

/* Say whose route is in the way. */
static void blame(struct om_rtnl *r, const struct om_route *route, struct om_err *err)
{
	struct rtmsg rt = { .rtm_family = route->prefix.addr.len == 4 ? AF_INET : AF_INET6 };
	struct search s = { .family = rt.rtm_family, .route = route };
	struct om_err unused;
	char name[IF_NAMESIZE];

	if (!run_search(r, &s, RTM_GETROUTE, NLM_F_DUMP, &rt, sizeof(rt), route->table,
			&unused) && s.oif && if_indextoname(s.oif, name))
		om_err_append(err, ": it leads into %s, remove it or the prefix in AllowedIPs", name);
}

int om_rtnl_flush(struct om_rtnl *r, struct om_err *err)
{
	int rc = r->n ? send_batch(r, err) : OM_OK;
	struct om_route route = { 0 };

	if (rc > 0 && r->refused && err->sys == EEXIST)
		route = r->refused->route;
	if (route.table)
		blame(r, &route, err);
	return rc < 0 ? lib_error(err, rc) : rc;
}

/* Add @msg to the batch, and take ownership. @built: libnl's result of building it */
OM_PRINTF(5, 6)
static int put(struct om_rtnl *r, int built, struct nl_msg *msg,
	       struct om_err *err, const char *fmt, ...)
{
	char what[sizeof(r->requests[0].what)];
	struct request *req;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (built < 0) {
		lib_error(err, built);
		om_err_prefix(err, "%s", what);
		return OM_SYSTEM;
	}
	rc = r->n == BATCH ? om_rtnl_flush(r, err) : OM_OK;
	if (rc) {
		nlmsg_free(msg);
		return rc;
	}
	req = &r->requests[r->n++];
	req->msg = msg;
	strcpy(req->what, what);
	req->route.table = 0;
	nl_complete_msg(r->sk, msg);
	return OM_OK;
}

static struct nl_addr *make_addr(const struct om_prefix *p)
{
	struct nl_addr *a = nl_addr_build(p->addr.len == 4 ? AF_INET : AF_INET6,
					  p->addr.b, p->addr.len);

	if (a)
		nl_addr_set_prefixlen(a, p->len);
	return a;
}

/* Make a request of the kernel's own message, which has all that tells an object from others. */
static struct nl_msg *from_raw(int type, int flags, const struct om_route *o)
{
	struct nl_msg *msg = nlmsg_alloc_size(o->raw_len + NLMSG_HDRLEN + NLMSG_ALIGNTO);
	struct rtmsg *rt;

	if (!msg)
		return NULL;
	nlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, NLM_F_REQUEST | flags);
	if (nlmsg_append(msg, o->raw, o->raw_len, NLMSG_ALIGNTO)) {
		nlmsg_free(msg);
		return NULL;
	}
	/* The others tell of the state, and are refused in requests. */
	rt = nlmsg_data(nlmsg_hdr(msg));
	if (type == RTM_NEWROUTE || type == RTM_DELROUTE)
		rt->rtm_flags &= RTNH_F_ONLINK;
	return msg;
}

int om_rtnl_address(struct om_rtnl *r, bool new, const struct om_route *address,
		    struct om_err *err)
{
	struct nl_addr *local = make_addr(&address->prefix);
	struct rtnl_addr *a = rtnl_addr_alloc();
	char text[OM_PREFIX_LEN];
	struct nl_msg *msg = NULL;
	int rc = -NLE_NOMEM;

	if (address->raw) {
		msg = new ? from_raw(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, address) :
			    from_raw(RTM_DELADDR, 0, address);
		rc = msg ? 0 : -NLE_NOMEM;
	} else if (local && a) {
		rtnl_addr_set_ifindex(a, r->ifindex);
		rc = rtnl_addr_set_local(a, local);
		if (!rc && new)
			rc = rtnl_addr_build_add_request(a, NLM_F_EXCL, &msg);
		else if (!rc)
			rc = rtnl_addr_build_delete_request(a, 0, &msg);
	}
	if (a)
		rtnl_addr_put(a);
	if (local)
		nl_addr_put(local);
	om_prefix_format(text, sizeof(text), &address->prefix);
	return put(r, rc, msg, err, "address %s", text);
}

int om_rtnl_route(struct om_rtnl *r, bool new, const struct om_route *route,
		  struct om_err *err)
{
	struct nl_addr *dst = make_addr(&route->prefix);
	struct rtnl_route *msg_route = rtnl_route_alloc();
	struct rtnl_nexthop *nh = rtnl_route_nh_alloc();
	char text[OM_PREFIX_LEN];
	struct nl_msg *msg = NULL;
	int rc = -NLE_NOMEM;

	if (route->raw) {
		msg = new ? from_raw(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route) :
			    from_raw(RTM_DELROUTE, 0, route);
		rc = msg ? 0 : -NLE_NOMEM;
	} else if (dst && msg_route && nh) {
		rtnl_route_set_protocol(msg_route, RTPROT_BOOT);
		rtnl_route_set_table(msg_route, route->table);
		rtnl_route_nh_set_ifindex(nh, r->ifindex);
		rtnl_route_add_nexthop(msg_route, nh);
		nh = NULL;
		rc = rtnl_route_set_dst(msg_route, dst);
		if (!rc && new)
			rc = rtnl_route_build_add_request(msg_route, NLM_F_EXCL, &msg);
		else if (!rc)
			rc = rtnl_route_build_del_request(msg_route, 0, &msg);
	}
	if (nh)
		rtnl_route_nh_free(nh);
	if (msg_route)
		rtnl_route_put(msg_route);
	if (dst)
		nl_addr_put(dst);
	om_prefix_format(text, sizeof(text), &route->prefix);
	rc = put(r, rc, msg, err, "route %s", text);
	if (!rc && new)
		r->requests[r->n - 1].route = *route;
	return rc;
}

/* @up: 1 or -1 to set the link up or down */
static int set_link(struct om_rtnl *r, int up, uint32_t mtu, struct om_err *err)
{
	struct rtnl_link *link = rtnl_link_alloc(), *change = rtnl_link_alloc();
	struct nl_msg *msg = NULL;
	int rc = -NLE_NOMEM;
	char text[24] = "";

	if (link && change) {
		rtnl_link_set_ifindex(link, r->ifindex);
		if (up > 0)
			rtnl_link_set_flags(change, IFF_UP);
		else if (up)
			rtnl_link_unset_flags(change, IFF_UP);
		if (mtu)
			rtnl_link_set_mtu(change, mtu);
		rc = rtnl_link_build_change_request(link, change, 0, &msg);
	}
	if (change)
		rtnl_link_put(change);
	if (link)
		rtnl_link_put(link);
	if (mtu)
		snprintf(text, sizeof(text), " with MTU %" PRIu32, mtu);
	return put(r, rc, msg, err, "link%s%s", up > 0 ? " up" : up ? " down" : "", text);
}

int om_rtnl_set_up(struct om_rtnl *r, uint32_t mtu, struct om_err *err)
{
	return set_link(r, 1, mtu, err);
}

int om_rtnl_set_mtu(struct om_rtnl *r, uint32_t mtu, struct om_err *err)
{
	return set_link(r, 0, mtu, err);
}

int om_rtnl_set_down(struct om_rtnl *r, struct om_err *err)
{
	return set_link(r, -1, 0, err);
}

int om_rtnl_set_qdisc(struct om_rtnl *r, const char *kind, struct om_err *err)
{
	struct rtnl_qdisc *qdisc = rtnl_qdisc_alloc();
	struct nl_msg *msg = NULL;
	int rc = -NLE_NOMEM;

	if (qdisc) {
		rtnl_tc_set_ifindex(TC_CAST(qdisc), r->ifindex);
		rtnl_tc_set_parent(TC_CAST(qdisc), TC_H_ROOT);
		rc = rtnl_tc_set_kind(TC_CAST(qdisc), kind);
		if (!rc)
			rc = rtnl_qdisc_build_add_request(qdisc, NLM_F_CREATE |
							  NLM_F_REPLACE, &msg);
		rtnl_qdisc_put(qdisc);
	}
	return put(r, rc, msg, err, "qdisc %s", kind);
}

/* By hand, as libnl's rules have neither inversion nor a suppressed prefix length. */
static int put_rule(struct nl_msg *msg, const struct om_rule *rule)
{
	const struct fib_rule_hdr h = {
		.family = (uint8_t)rule->family,
		.action = FR_ACT_TO_TBL,
		.flags = rule->not_mark ? FIB_RULE_INVERT : 0,
	};
	int rc = nlmsg_append(msg, (void *)&h, sizeof(h), NLMSG_ALIGNTO);

	if (!rc)
		rc = nla_put_u32(msg, FRA_TABLE, rule->table);
	if (!rc && rule->not_mark)
		rc = nla_put_u32(msg, FRA_FWMARK, rule->not_mark);
	if (!rc && rule->no_default)
		rc = nla_put_u32(msg, FRA_SUPPRESS_PREFIXLEN, 0);
	if (!rc && rule->priority)
		rc = nla_put_u32(msg, FRA_PRIORITY, rule->priority);
	return rc;
}

int om_rtnl_rule(struct om_rtnl *r, bool new, const struct om_rule *rule,
		 struct om_err *err)
{
	struct nl_msg *msg = new ?
		nlmsg_alloc_simple(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL) :
		nlmsg_alloc_simple(RTM_DELRULE, 0);
	int rc = msg ? put_rule(msg, rule) : -NLE_NOMEM;

	if (rc && msg)
		nlmsg_free(msg);
	rc = put(r, rc, msg, err, "%srule of table %" PRIu32,
		 rule->family == AF_INET ? "" : "IPv6 ", rule->table);
	return rc ? rc : om_rtnl_flush(r, err);
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
	rc = put(r, rc, msg, err, "reading routes, addresses and rules");
	return rc ? rc : send_batch(r, err);
}

static int run_search(struct om_rtnl *r, struct search *s, int type, int flags, void *header,
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
		return lib_error(err, rc);
	/* A table without routes does not exist; a host may lack IPv6. */
	return rc && (err->sys == ENOENT || err->sys == EAFNOSUPPORT ||
		      err->sys == EOPNOTSUPP) ? OM_OK : rc;
}

static int get_link(struct om_rtnl *r, int ifindex, struct search *s, struct om_err *err)
{
	struct ifinfomsg link = { .ifi_index = ifindex };

	return run_search(r, s, RTM_GETLINK, 0, &link, sizeof(link), 0, err);
}

int om_rtnl_link(struct om_rtnl *r, uint32_t *mtu, bool *up, struct om_err *err)
{
	struct search s = { 0 };
	int rc = get_link(r, r->ifindex, &s, err);

	*mtu = s.mtu;
	*up = s.up;
	return rc;
}

int om_rtnl_addresses(struct om_rtnl *r, struct om_list *addresses, struct om_err *err)
{
	struct ifaddrmsg ifa = { .ifa_index = (uint32_t)r->ifindex };
	struct search s = { .list = addresses, .raw = true };

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
		struct search s = { .family = families[i], .list = &part, .raw = true };

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
	struct search s = { .family = family, .list = rules };

	return run_search(r, &s, RTM_GETRULE, NLM_F_DUMP, &h, sizeof(h), 0, err);
}

int om_rtnl_defaults(struct om_rtnl *r, int family, uint32_t table,
		     struct om_defaults *found, struct om_err *err)
{
	struct rtmsg rt = { .rtm_family = (uint8_t)family };
	struct search s = { .family = family, .defaults = found }, link = { 0 };
	int rc = run_search(r, &s, RTM_GETROUTE, NLM_F_DUMP, &rt, sizeof(rt), table, err);

	if (!rc && s.oif && !get_link(r, (int)s.oif, &link, err))
		found->mtu = link.mtu;
	return rc;
}

uint32_t om_rtnl_path_mtu(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope,
			  uint32_t mark)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	struct rtmsg rt = {
		.rtm_family = addr->len == 4 ? AF_INET : AF_INET6,
		.rtm_dst_len = (uint8_t)(addr->len * 8),
	};
	struct search s = { .family = rt.rtm_family }, link = { 0 };
	struct om_err unused;
	int rc = msg ? nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO) : -NLE_NOMEM;

	if (!rc)
		rc = nla_put(msg, RTA_DST, addr->len, addr->b);
	if (!rc && mark)
		rc = nla_put_u32(msg, RTA_MARK, mark);
	if (!rc && scope)
		rc = nla_put_u32(msg, RTA_OIF, scope);
	if (msg && rc)
		nlmsg_free(msg);
	r->search = &s;
	rc = put(r, rc, msg, &unused, "route");
	if (!rc)
		rc = send_batch(r, &unused);
	if (rc || !s.found || s.found == (uint32_t)r->ifindex ||
	    get_link(r, (int)s.found, &link, &unused))
		return 0;
	return s.found_mtu && s.found_mtu < link.mtu ? s.found_mtu : link.mtu;
}

bool om_rtnl_name(uint32_t ifindex, char name[IFNAMSIZ])
{
	return if_indextoname(ifindex, name);
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
	lib_error(err, rc);
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
