// SPDX-License-Identifier: GPL-2.0
/*
 * Generic netlink: the family, and what all its requests share.
 */
#include "netlink/netlink.h"

#include <linux/netdevice.h>

#include "compat/compat.h"
#include "datapath/control.h"
#include "device/device.h"
#include "peer/event.h"
#include "netlink/request.h"
#include "datapath/tx.h"

/* All objects name their device by the same attributes. */
static_assert((int)OMERTA_A_DEVICE_IFINDEX == (int)OMERTA_A_PEER_IFINDEX);
static_assert((int)OMERTA_A_DEVICE_IFINDEX == (int)OMERTA_A_KEY_IFINDEX);
static_assert((int)OMERTA_A_DEVICE_IFNAME == (int)OMERTA_A_PEER_IFNAME);
static_assert((int)OMERTA_A_DEVICE_IFNAME == (int)OMERTA_A_KEY_IFNAME);
static_assert((int)OMERTA_A_DEVICE_IFINDEX == (int)OMERTA_A_CONTROL_IFINDEX);
static_assert((int)OMERTA_A_DEVICE_IFNAME == (int)OMERTA_A_CONTROL_IFNAME);
static_assert((int)OMERTA_A_DEVICE_IFINDEX == (int)OMERTA_A_REPORT_IFINDEX);
static_assert((int)OMERTA_A_DEVICE_IFNAME == (int)OMERTA_A_REPORT_IFNAME);

/**
 * omerta_nl_tunnel_find() - find the device of a request
 * @info: the request
 * @ref: set to the device, not locked
 *
 * Context: process context.
 * Return: 0, then the caller ends with netdev_put(); or a negative errno.
 */
int omerta_nl_tunnel_find(const struct genl_info *info,
			  struct omerta_nl_ref *ref)
{
	struct nlattr *index = info->attrs[OMERTA_A_DEVICE_IFINDEX];
	struct nlattr *name = info->attrs[OMERTA_A_DEVICE_IFNAME];
	struct net *net = genl_info_net(info);
	struct net_device *dev;

	if (!index == !name) {
		NL_SET_ERR_MSG(info->extack, "name the device by one of ifindex and ifname");
		return -EINVAL;
	}
	if (index)
		dev = netdev_get_by_index(net, nla_get_u32(index),
					  &ref->tracker, GFP_KERNEL);
	else
		dev = netdev_get_by_name(net, nla_data(name), &ref->tracker,
					 GFP_KERNEL);
	if (!dev) {
		NL_SET_ERR_MSG_ATTR(info->extack, index ?: name,
				    "no such device in this namespace");
		return -ENODEV;
	}
	if (!netif_is_omerta(dev)) {
		NL_SET_ERR_MSG_ATTR(info->extack, index ?: name,
				    "the device is not of type omerta");
		netdev_put(dev, &ref->tracker);
		return -EOPNOTSUPP;
	}
	ref->tun = netdev_priv(dev);
	return 0;
}

/**
 * omerta_nl_tunnel_get() - find and lock the device of a request
 * @info: the request
 * @ref: set to the device
 *
 * Context: process context.
 * Return: 0, then the caller ends with omerta_nl_tunnel_put(); or a negative
 * errno.
 */
int omerta_nl_tunnel_get(const struct genl_info *info,
			 struct omerta_nl_ref *ref)
{
	int err = omerta_nl_tunnel_find(info, ref);

	if (err)
		return err;
	mutex_lock(&ref->tun->lock);
	if (!ref->tun->dying)
		return 0;
	NL_SET_ERR_MSG(info->extack, "the device is being deleted");
	omerta_nl_tunnel_put(ref);
	return -ENODEV;
}

/**
 * omerta_nl_tunnel_put() - unlock the device of a request
 * @ref: from omerta_nl_tunnel_get()
 */
void omerta_nl_tunnel_put(struct omerta_nl_ref *ref)
{
	struct net_device *dev = ref->tun->dev;

	mutex_unlock(&ref->tun->lock);
	netdev_put(dev, &ref->tracker);
}

/**
 * omerta_nl_pre_doit() - find and lock the device of a request
 * @ops: the operation
 * @skb: the request
 * @info: the request; the device is its user_ptr[0] until omerta_nl_post_doit()
 *
 * Return: 0 or a negative errno.
 */
int omerta_nl_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
		       struct genl_info *info)
{
	struct omerta_nl_ref ref;
	int err;

	static_assert(sizeof(ref.tracker) <= sizeof(info->user_ptr[1]));
	err = omerta_nl_tunnel_get(info, &ref);
	if (err)
		return err;
	info->user_ptr[0] = ref.tun;
	memcpy(&info->user_ptr[1], &ref.tracker, sizeof(ref.tracker));
	return 0;
}

/**
 * omerta_nl_post_doit() - unlock the device of a request
 * @ops: the operation
 * @skb: the request
 * @info: the request, after omerta_nl_pre_doit()
 */
void omerta_nl_post_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			 struct genl_info *info)
{
	struct omerta_nl_ref ref = { .tun = info->user_ptr[0] };

	memcpy(&ref.tracker, &info->user_ptr[1], sizeof(ref.tracker));
	omerta_nl_tunnel_put(&ref);
}

/**
 * omerta_nl_outer_capable() - check whether a request may use the outer network
 * @skb: the request
 * @tun: the device, locked
 * @extack: gets the reason of a refusal
 *
 * Return: 0 or -EPERM.
 */
int omerta_nl_outer_capable(struct sk_buff *skb, const struct omerta_tunnel *tun,
			    struct netlink_ext_ack *extack)
{
	if (!tun->birth ||
	    netlink_ns_capable(skb, tun->birth->user_ns, CAP_NET_ADMIN))
		return 0;
	NL_SET_ERR_MSG(extack,
		       "needs CAP_NET_ADMIN in the namespace where the device was created");
	return -EPERM;
}

/**
 * omerta_nl_peer_find() - find the peer of a request
 * @info: the request
 * @tun: the device, locked
 * @attr: attribute with the peer's id
 *
 * Return: the peer, valid while the device is locked, or an ERR_PTR().
 */
struct omerta_peer *omerta_nl_peer_find(const struct genl_info *info,
					struct omerta_tunnel *tun, int attr)
{
	struct omerta_peer *peer;

	if (!info->attrs[attr]) {
		NL_SET_ERR_MSG(info->extack, "the peer's id is missing");
		return ERR_PTR(-EINVAL);
	}
	peer = xa_load(&tun->peers.by_id, nla_get_u32(info->attrs[attr]));
	if (!peer) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attr],
				    "the device has no peer with this id");
		return ERR_PTR(-ENOENT);
	}
	return peer;
}

/**
 * omerta_nl_flush() - send packets that waited for a key or an endpoint
 * @peer: the peer; its device is locked
 */
void omerta_nl_flush(struct omerta_peer *peer)
{
	if (!netif_running(peer->tun->dev))
		return;
	local_bh_disable();
	rcu_read_lock();
	omerta_tx_flush(peer);
	rcu_read_unlock();
	local_bh_enable();
}

/* The generator does not support flags of groups: events are for administrators. */
static const struct genl_multicast_group mcgrps[] = {
	[OMERTA_NLGRP_EVENTS] = {
		.name = OMERTA_MCGRP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

/**
 * omerta_netlink_init() - register the link type and the family
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_netlink_init(void)
{
	int err;

	err = omerta_link_init();
	if (err)
		return err;
	omerta_nl_family.mcgrps = mcgrps;
	err = genl_register_family(&omerta_nl_family);
	if (err)
		omerta_link_exit();
	else
		omerta_event_enable(&omerta_nl_family, OMERTA_NLGRP_EVENTS);
	return err;
}

/**
 * omerta_netlink_exit() - unregister the family, and delete all devices
 *
 * After that no notification about devices is sent: the family's number may be reused.
 */
void omerta_netlink_exit(void)
{
	omerta_event_disable();
	omerta_control_close();
	synchronize_net();
	genl_unregister_family(&omerta_nl_family);
	omerta_link_exit();
}
