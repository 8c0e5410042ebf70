// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about control datagrams.
 */
#include "datapath/admission.h"
#include "compat/compat.h"
#include "datapath/control.h"
#include "datapath/tx.h"
#include "netlink/request.h"
#include "datapath/udp.h"
#include "wire/record.h"

/* Kill keys that were agreed on under another identity, by this agent or an earlier one. */
static void take_identity(struct omerta_tunnel *tun, const u8 *public_key)
{
	u8 *identity = tun->control.identity;
	struct omerta_peer *peer;
	unsigned long id;

	lockdep_assert_held(&tun->lock);

	if (!memcmp(identity, public_key, OMERTA_KEY_LEN))
		return;
	if (memchr_inv(identity, 0, OMERTA_KEY_LEN))
		xa_for_each(&tun->peers.by_id, id, peer)
			omerta_peer_kill_keys(peer, OMERTA_KEY_LIMIT_IDENTITY,
					      OMERTA_KEYS_AGREED);
	memcpy(identity, public_key, OMERTA_KEY_LEN);
}

int omerta_nl_control_bind_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *key = info->attrs[OMERTA_A_CONTROL_PUBLIC_KEY];
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct omerta_peer *peer;
	unsigned long id;
	int err;

	err = omerta_nl_outer_capable(skb, tun, info->extack) ?:
	      omerta_control_bind(tun, NETLINK_CB(skb).sk, info->snd_portid,
				  key ? nla_data(key) : NULL,
				  info->attrs[OMERTA_A_CONTROL_ALL_TYPES],
				  info->extack);
	if (!err && key)
		take_identity(tun, nla_data(key));
	if (!err)
		xa_for_each(&tun->peers.by_id, id, peer)
			omerta_tx_ask_again(peer);
	return err;
}

int omerta_nl_control_unbind_doit(struct sk_buff *skb, struct genl_info *info)
{
	return omerta_control_unbind(info->user_ptr[0], NETLINK_CB(skb).sk, info->extack);
}

/* Parse our own address, if the request has one. */
static int parse_local(const struct genl_info *info, struct omerta_endpoint *to)
{
	struct nlattr *local = info->attrs[OMERTA_A_CONTROL_LOCAL_ADDR];
	int len = to->family == AF_INET ? sizeof(to->src4) : sizeof(to->src6);

	if (!local)
		return 0;
	if (nla_len(local) != len) {
		NL_SET_ERR_MSG_ATTR(info->extack, local,
				    "local-addr must be of the endpoint's family");
		return -EINVAL;
	}
	if (to->family == AF_INET)
		to->src4 = nla_get_in_addr(local);
	else
		to->src6 = nla_get_in6_addr(local);
	return 0;
}

static int parse_datagram(const struct genl_info *info,
			  struct omerta_endpoint *to)
{
	struct nlattr *data = info->attrs[OMERTA_A_CONTROL_DATA];
	int err;

	err = omerta_nl_endpoint_parse(info, OMERTA_A_CONTROL_ENDPOINT_ADDR, to);
	if (err < 0)
		return err;
	if (!err || !data) {
		NL_SET_ERR_MSG(info->extack, "endpoint and data are needed");
		return -EINVAL;
	}
	if (omerta_datagram_type(nla_data(data), nla_len(data)) != OMERTA_DATAGRAM_CONTROL) {
		NL_SET_ERR_MSG_ATTR(info->extack, data,
				    "data must be a datagram of type 0x03 or 0x20 to 0x2f");
		return -EINVAL;
	}
	if (info->attrs[OMERTA_A_CONTROL_LOCAL_ID] &&
	    ((u8 *)nla_data(data))[OMERTA_MAGIC_LEN] != OMERTA_HS_INITIATION) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[OMERTA_A_CONTROL_LOCAL_ID],
				    "local-id goes with an initiation only");
		return -EINVAL;
	}
	if (nla_len(data) > OMERTA_MAX_DATAGRAM) {
		NL_SET_ERR_MSG_ATTR(info->extack, data, "data is too long for a datagram");
		return -EMSGSIZE;
	}
	return parse_local(info, to);
}

static int send_datagram(const struct genl_info *info, struct omerta_tunnel *tun,
			 const struct omerta_endpoint *to)
{
	struct nlattr *data = info->attrs[OMERTA_A_CONTROL_DATA];
	struct nlattr *id = info->attrs[OMERTA_A_CONTROL_LOCAL_ID];
	struct sk_buff *skb;
	int err;

	/* Remember it before it is sent, as the answer may come at once. */
	err = omerta_control_sent(tun, nla_data(data), nla_len(data),
				  id ? nla_get_u32(id) : 0);
	if (err)
		return err;
	skb = alloc_skb(OMERTA_UDP_HEADROOM + nla_len(data), GFP_KERNEL_ACCOUNT);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, OMERTA_UDP_HEADROOM);
	skb_put_data(skb, nla_data(data), nla_len(data));
	local_bh_disable();
	err = omerta_udp_send_to(tun, skb, to);
	local_bh_enable();
	switch (err) {
	case -ENETDOWN:
		NL_SET_ERR_MSG(info->extack, "the device is down, or has no port of that family");
		break;
	case -ENETUNREACH:
		NL_SET_ERR_MSG(info->extack, "there is no route to the endpoint");
		break;
	case -ELOOP:
		NL_SET_ERR_MSG(info->extack, "the route to it leads into the device itself");
		break;
	}
	return err;
}

int omerta_nl_control_send_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct omerta_endpoint to;
	int err;

	err = parse_datagram(info, &to) ?: omerta_nl_outer_capable(skb, tun, info->extack);
	if (err)
		return err;
	if (!omerta_control_bound(tun, NETLINK_CB(skb).sk)) {
		NL_SET_ERR_MSG(info->extack,
			       "only the socket that is bound to the device may send");
		return -ENOTCONN;
	}
	return send_datagram(info, tun, &to);
}
