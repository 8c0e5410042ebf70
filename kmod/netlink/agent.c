// SPDX-License-Identifier: GPL-2.0
/*
 * The key agent: the process whose socket is bound, and its report about handshakes.
 */
#include <linux/pid.h>

#include "compat/compat.h"
#include "datapath/control.h"
#include "netlink/request.h"

static int parse_handshake(const struct nlattr *nest, struct nlattr **tb,
			   struct netlink_ext_ack *extack)
{
	int err;

	err = nla_parse_nested(tb, OMERTA_A_HANDSHAKE_MAX, nest,
			       omerta_handshake_nl_policy, extack);
	if (err)
		return err;
	if (!tb[OMERTA_A_HANDSHAKE_PEER_ID]) {
		NL_SET_ERR_MSG_ATTR(extack, nest, "a handshake needs peer-id");
		return -EINVAL;
	}
	return 0;
}

static void apply_handshake(struct omerta_tunnel *tun, struct nlattr **tb)
{
	struct nlattr *kind = tb[OMERTA_A_HANDSHAKE_KIND];
	struct nlattr *tries = tb[OMERTA_A_HANDSHAKE_TRIES];
	struct nlattr *failure = tb[OMERTA_A_HANDSHAKE_FAILURE];
	struct omerta_peer *peer;

	peer = xa_load(&tun->peers.by_id, nla_get_u32(tb[OMERTA_A_HANDSHAKE_PEER_ID]));
	if (!peer)
		return;
	peer->handshake = (struct omerta_handshake){
		.binding = tun->control.binding,
		.tries = tries ? nla_get_u32(tries) : 0,
		.has_kind = !!kind,
		.kind = kind ? nla_get_u32(kind) : 0,
		.has_failure = !!failure,
		.failure = failure ? nla_get_u32(failure) : 0,
	};
}

static void apply_stats(struct omerta_control *control, struct nlattr **tb)
{
	int i;

	for (i = 1; i <= OMERTA_A_AGENT_STATS_MAX; i++)
		if (tb[i])
			control->agent_stats[i - 1] = nla_get_uint(tb[i]);
	control->has_stats = true;
}

int omerta_nl_agent_report_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *handshake[OMERTA_A_HANDSHAKE_MAX + 1];
	struct nlattr *counters[OMERTA_A_AGENT_STATS_MAX + 1];
	struct nlattr *stats = info->attrs[OMERTA_A_REPORT_AGENT_STATS];
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct nlattr *attr;
	int rem, err;

	if (!omerta_control_bound(tun, NETLINK_CB(skb).sk)) {
		NL_SET_ERR_MSG(info->extack,
			       "only the socket that is bound to the device may report");
		return -ENOTCONN;
	}
	if (stats) {
		err = nla_parse_nested(counters, OMERTA_A_AGENT_STATS_MAX, stats,
				       omerta_agent_stats_nl_policy, info->extack);
		if (err)
			return err;
	}
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != OMERTA_A_REPORT_HANDSHAKE)
			continue;
		err = parse_handshake(attr, handshake, info->extack);
		if (err)
			return err;
	}
	/* Nothing fails from here on. */
	if (stats)
		apply_stats(&tun->control, counters);
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem)
		if (nla_type(attr) == OMERTA_A_REPORT_HANDSHAKE &&
		    !parse_handshake(attr, handshake, NULL))
			apply_handshake(tun, handshake);
	return 0;
}

/**
 * omerta_nl_put_agent() - add the key agent of a device to a message
 * @msg: the message
 * @tun: the device
 *
 * Context: process context, the device's lock held.
 * Return: 0 or -EMSGSIZE.
 */
int omerta_nl_put_agent(struct sk_buff *msg, const struct omerta_tunnel *tun)
{
	const struct omerta_control *control = &tun->control;
	u64 age = ktime_get_boottime_ns() - control->bound_at;
	pid_t pid = pid_vnr(control->pid);
	struct nlattr *nest;
	int i;

	lockdep_assert_held(&tun->lock);

	if (!omerta_control_bound(tun, NULL))
		return 0;
	if (nla_put_flag(msg, OMERTA_A_DEVICE_CONTROL_BOUND) ||
	    nla_put_uint(msg, OMERTA_A_DEVICE_AGENT_AGE, div_u64(age, NSEC_PER_MSEC)) ||
	    (pid && nla_put_u32(msg, OMERTA_A_DEVICE_AGENT_PID, pid)))
		return -EMSGSIZE;
	if (!control->has_stats)
		return 0;
	nest = nla_nest_start(msg, OMERTA_A_DEVICE_AGENT_STATS);
	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < OMERTA_A_AGENT_STATS_MAX; i++)
		if (nla_put_uint(msg, i + 1, control->agent_stats[i]))
			return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

/**
 * omerta_nl_put_handshake() - add the key agent's report about a peer to a message
 * @msg: the message
 * @peer: the peer
 *
 * Context: process context, the device's lock held.
 * Return: 0 or -EMSGSIZE.
 */
int omerta_nl_put_handshake(struct sk_buff *msg, const struct omerta_peer *peer)
{
	const struct omerta_handshake *h = &peer->handshake;
	const struct omerta_tunnel *tun = peer->tun;
	struct nlattr *nest;

	lockdep_assert_held(&tun->lock);

	if (h->binding != tun->control.binding || !omerta_control_bound(tun, NULL))
		return 0;
	nest = nla_nest_start(msg, OMERTA_A_PEER_HANDSHAKE);
	if (!nest || nla_put_u32(msg, OMERTA_A_HANDSHAKE_TRIES, h->tries) ||
	    (h->has_kind && nla_put_u32(msg, OMERTA_A_HANDSHAKE_KIND, h->kind)) ||
	    (h->has_failure && nla_put_u32(msg, OMERTA_A_HANDSHAKE_FAILURE, h->failure)))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}
