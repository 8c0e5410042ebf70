// SPDX-License-Identifier: GPL-2.0
#include "lib/rtnl_socket.h"

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

/* A refusal takes 1 kB of the receive buffer. */
#define RECEIVE_BUFFER	(2 * 1024 * OM_RTNL_BATCH)

int om_rtnl_lib_error(struct om_err *err, int error)
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
	/* A request ahead in the batch may have failed. */
	if (!r->rc)
		r->rc = om_extack_error(nlmsg_hdr(msg), &unnamed, r->err);
	return NL_STOP;
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
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, om_rtnl_on_object, r);
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
		om_rtnl_lib_error(err, rc);
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

int om_rtnl_send(struct om_rtnl *r, struct om_err *err)
{
	struct iovec iov[OM_RTNL_BATCH];
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

/* Say whose route is in the way. */
static void blame(struct om_rtnl *r, const struct om_route *route, struct om_err *err)
{
	uint32_t device = om_rtnl_route_device(r, route);
	char name[IF_NAMESIZE];

	if (device && if_indextoname(device, name))
		om_err_append(err, ": it leads into %s, remove it or the prefix in AllowedIPs", name);
}

int om_rtnl_flush(struct om_rtnl *r, struct om_err *err)
{
	int rc = r->n ? om_rtnl_send(r, err) : OM_OK;
	struct om_route route = { 0 };

	if (rc > 0 && r->refused && err->sys == EEXIST)
		route = r->refused->route;
	if (route.table)
		blame(r, &route, err);
	return rc < 0 ? om_rtnl_lib_error(err, rc) : rc;
}

int om_rtnl_put(struct om_rtnl *r, int built, struct nl_msg *msg, struct om_err *err,
		const char *fmt, ...)
{
	char what[sizeof(r->requests[0].what)];
	struct om_rtnl_request *req;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (built < 0) {
		om_rtnl_lib_error(err, built);
		om_err_prefix(err, "%s", what);
		return OM_SYSTEM;
	}
	rc = r->n == OM_RTNL_BATCH ? om_rtnl_flush(r, err) : OM_OK;
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
	return om_rtnl_put(r, rc, msg, err, "address %s", text);
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
	rc = om_rtnl_put(r, rc, msg, err, "route %s", text);
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
	return om_rtnl_put(r, rc, msg, err, "link%s%s", up > 0 ? " up" : up ? " down" : "", text);
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

static int set_qdisc(struct om_rtnl *r, uint32_t parent, uint32_t handle, const char *kind,
		     struct om_err *err)
{
	struct rtnl_qdisc *qdisc = rtnl_qdisc_alloc();
	struct nl_msg *msg = NULL;
	int rc = -NLE_NOMEM;

	if (qdisc) {
		rtnl_tc_set_ifindex(TC_CAST(qdisc), r->ifindex);
		rtnl_tc_set_parent(TC_CAST(qdisc), parent);
		if (handle)
			rtnl_tc_set_handle(TC_CAST(qdisc), handle);
		rc = rtnl_tc_set_kind(TC_CAST(qdisc), kind);
		if (!rc)
			rc = rtnl_qdisc_build_add_request(qdisc, NLM_F_CREATE |
							  NLM_F_REPLACE, &msg);
		rtnl_qdisc_put(qdisc);
	}
	return om_rtnl_put(r, rc, msg, err, "qdisc %s", kind);
}

int om_rtnl_set_qdisc(struct om_rtnl *r, const char *kind, struct om_err *err)
{
	uint32_t mq = TC_H_MAKE(1U << 16, 0), queues = om_rtnl_queues(r->ifindex);
	int rc;

	if (queues < 2)
		return set_qdisc(r, TC_H_ROOT, 0, kind, err);
	/* One qdisc over all queues would have one lock. */
	rc = set_qdisc(r, TC_H_ROOT, mq, "mq", err);
	for (uint32_t i = 1; i <= queues && !rc; i++)
		rc = set_qdisc(r, mq | i, 0, kind, err);
	return rc;
}

/* By hand, as libnl's rules have neither inversion nor a suppressed prefix length. */
static int put_rule(struct nl_msg *msg, const struct om_rule *rule)
{
	const struct fib_rule_hdr h = {
		.family = (uint8_t)rule->family,
		.action = FR_ACT_TO_TBL,
		.flags = rule->not_mark ? FIB_RULE_INVERT : 0,
	};
	struct fib_rule_uid_range users = { rule->uid, rule->uid };
	int rc = nlmsg_append(msg, (void *)&h, sizeof(h), NLMSG_ALIGNTO);

	if (!rc)
		rc = nla_put_u32(msg, FRA_TABLE, rule->table);
	if (!rc && rule->not_mark)
		rc = nla_put_u32(msg, FRA_FWMARK, rule->not_mark);
	if (!rc && rule->no_default)
		rc = nla_put_u32(msg, FRA_SUPPRESS_PREFIXLEN, 0);
	if (!rc && rule->uid)
		rc = nla_put(msg, FRA_UID_RANGE, sizeof(users), &users);
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
	rc = om_rtnl_put(r, rc, msg, err, "%srule of table %" PRIu32,
		 rule->family == AF_INET ? "" : "IPv6 ", rule->table);
	return rc ? rc : om_rtnl_flush(r, err);
}
