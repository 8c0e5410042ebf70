// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about devices.
 */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/rtnetlink.h>
#include <linux/user_namespace.h>
#include <net/rtnetlink.h>

#include "compat/compat.h"
#include "datapath/control.h"
#include "device/channels.h"
#include "device/device.h"
#include "peer/event.h"
#include "peer/fingerprint.h"
#include "crypto/engines.h"
#include "netlink/request.h"
#include "wire/record.h"

int omerta_nl_device_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_nl_ref ref;
	struct net_device *dev;
	int err;

	rtnl_lock();
	err = omerta_nl_tunnel_get(info, &ref);
	if (!err) {
		err = omerta_nl_configure(skb, ref.tun, info->attrs, info->extack);
		dev = ref.tun->dev;
		omerta_nl_tunnel_put(&ref);
		/* The device stays, since RTNL is held. Its link has the settings, too. */
		if (!err)
			call_netdevice_notifiers(NETDEV_CHANGEINFODATA, dev);
	}
	rtnl_unlock();
	return err;
}

static struct net_device *create(struct sk_buff *skb,
				 const struct genl_info *info)
{
	struct nlattr *name = info->attrs[OMERTA_A_DEVICE_IFNAME];
	struct omerta_tunnel *tun;
	struct net_device *dev;
	int err;

	if (name && strlen(nla_data(name)) >= IFNAMSIZ) {
		NL_SET_ERR_MSG_ATTR(info->extack, name, "a device's name has at most 15 bytes");
		return ERR_PTR(-EINVAL);
	}
	dev = omerta_link_create(genl_info_net(info),
				 name ? nla_data(name) : "omr%d",
				 info->extack);
	if (IS_ERR(dev)) {
		if (dev == ERR_PTR(-EEXIST))
			NL_SET_ERR_MSG_ATTR(info->extack, name,
					    "a device of this name exists");
		return dev;
	}
	tun = netdev_priv(dev);
	mutex_lock(&tun->lock);
	err = omerta_nl_configure(skb, tun, info->attrs, info->extack);
	mutex_unlock(&tun->lock);
	if (!err)
		err = omerta_link_announce(dev);
	if (err) {
		unregister_netdevice(dev);
		return ERR_PTR(err);
	}
	return dev;
}

int omerta_nl_device_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct net_device *dev;
	struct sk_buff *msg;
	int err = -EMSGSIZE;
	void *hdr;

	if (info->attrs[OMERTA_A_DEVICE_IFINDEX]) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[OMERTA_A_DEVICE_IFINDEX],
				    "the kernel chooses the ifindex; leave it out");
		return -EINVAL;
	}
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	hdr = genlmsg_iput(msg, info);
	if (!hdr)
		goto err_msg;

	rtnl_lock();
	dev = create(skb, info);
	err = PTR_ERR_OR_ZERO(dev);
	/* These always fit, so a device that was created is never reported as an error. */
	if (!err)
		omerta_put_device(msg, dev);
	rtnl_unlock();
	if (err)
		goto err_msg;
	genlmsg_end(msg, hdr);
	/* The device exists, whether the reply can be delivered or not. */
	genlmsg_reply(msg, info);
	return 0;

err_msg:
	nlmsg_free(msg);
	return err;
}

int omerta_nl_device_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_nl_ref ref;
	struct net_device *dev;
	int err;

	rtnl_lock();
	err = omerta_nl_tunnel_get(info, &ref);
	if (!err) {
		dev = ref.tun->dev;
		omerta_nl_tunnel_put(&ref);
		/* The device stays, since RTNL is held. */
		unregister_netdevice(dev);
	}
	rtnl_unlock();
	return err;
}

static int fill_stats(struct sk_buff *msg, struct omerta_tunnel *tun)
{
	struct rtnl_link_stats64 link = {};
	u64 drops[OMERTA_DROPS];
	struct nlattr *nest;
	int i;

	nest = nla_nest_start(msg, OMERTA_A_DEVICE_STATS);
	if (!nest)
		return -EMSGSIZE;
	dev_get_tstats64(tun->dev, &link);
	if (nla_put_uint(msg, OMERTA_A_DEVICE_STATS_RX_PACKETS, link.rx_packets) ||
	    nla_put_uint(msg, OMERTA_A_DEVICE_STATS_RX_BYTES, link.rx_bytes) ||
	    nla_put_uint(msg, OMERTA_A_DEVICE_STATS_TX_PACKETS, link.tx_packets) ||
	    nla_put_uint(msg, OMERTA_A_DEVICE_STATS_TX_BYTES, link.tx_bytes))
		return -EMSGSIZE;
	omerta_device_drops(tun, drops);
	for (i = OMERTA_DROP_NONE + 1; i < OMERTA_DROPS; i++)
		if (nla_put_uint(msg, OMERTA_DROP_ATTR(i), drops[i]))
			return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

/* Most bytes of a device in a message */
#define DEVICE_SIZE \
	(NLMSG_GOODSIZE + omerta_nl_cpus_size() + \
	 OMERTA_CHANNELS_MAX * (nla_total_size(0) + \
				OMERTA_A_CHANNEL_STATS_MAX * nla_total_size(sizeof(u64))))

static int fill_channels(struct sk_buff *msg, struct omerta_tunnel *tun)
{
	u64 stats[OMERTA_CHANNEL_STATS];
	struct nlattr *nest;
	unsigned int c, i;

	for (c = 0; c < omerta_channels(tun); c++) {
		omerta_channel_stats(tun->channel[c], stats);
		nest = nla_nest_start(msg, OMERTA_A_DEVICE_CHANNEL_STATS);
		if (!nest)
			return -EMSGSIZE;
		for (i = 1; i < OMERTA_CHANNEL_STATS; i++)
			if (stats[i] != OMERTA_NO_CPU && nla_put_uint(msg, i, stats[i]))
				return -EMSGSIZE;
		nla_nest_end(msg, nest);
	}
	return 0;
}

/* Settings and counts for administrators only */
static int fill_settings(struct sk_buff *msg, const struct omerta_tunnel *tun)
{
	struct omerta_fingerprint_usage usage;

	lockdep_assert_held(&tun->lock);

	omerta_fingerprint_usage(tun->dev, &usage);
	if (nla_put_u32(msg, OMERTA_A_DEVICE_FWMARK, tun->fwmark) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_PEERS, tun->peers.n) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_USED_SECRETS, usage.used) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_USED_SECRETS_MAX, usage.max) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_EPOCH,
			atomic_read(&omerta_keys_epoch)) ||
	    omerta_nl_put_settings(msg, tun))
		return -EMSGSIZE;
	return omerta_nl_put_agent(msg, tun);
}

/*
 * Everyone may see what other tools show to everyone, without a lock that changes of the
 * device wait for. The sender of @request needs capabilities for the settings.
 */
static int fill_device(struct sk_buff *msg, struct omerta_tunnel *tun,
		       struct sk_buff *request)
{
	struct net_device *dev = tun->dev;
	struct user_namespace *ns;
	bool capable;
	int err;

	if (omerta_put_device(msg, dev) ||
	    nla_put_u16(msg, OMERTA_A_DEVICE_LISTEN_PORT, READ_ONCE(tun->port)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_MAX_MTU, dev->max_mtu) ||
	    fill_stats(msg, tun) || fill_channels(msg, tun))
		return -EMSGSIZE;
	/* As in omerta_tenant_get() */
	rcu_read_lock();
	ns = get_user_ns(dev_net(dev)->user_ns);
	rcu_read_unlock();
	capable = netlink_ns_capable(request, ns, CAP_NET_ADMIN);
	put_user_ns(ns);
	if (!capable)
		return 0;
	mutex_lock(&tun->lock);
	err = tun->dying ? -ENODEV : fill_settings(msg, tun);
	mutex_unlock(&tun->lock);
	return err;
}

int omerta_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_nl_ref ref;
	struct sk_buff *msg;
	void *hdr;
	int err;

	msg = genlmsg_new(DEVICE_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	err = omerta_nl_tunnel_find(info, &ref);
	if (err)
		goto err_msg;
	hdr = genlmsg_iput(msg, info);
	err = hdr ? fill_device(msg, ref.tun, skb) : -EMSGSIZE;
	netdev_put(ref.tun->dev, &ref.tracker);
	if (err == -ENODEV)
		NL_SET_ERR_MSG(info->extack, "the device is being deleted");
	if (err)
		goto err_msg;
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);

err_msg:
	nlmsg_free(msg);
	return err;
}

static int dump_device(struct sk_buff *skb, struct netlink_callback *cb,
		       struct omerta_tunnel *tun)
{
	void *hdr = genlmsg_iput(skb, genl_info_dump(cb));
	int err;

	if (!hdr)
		return -EMSGSIZE;
	err = fill_device(skb, tun, cb->skb);
	if (err)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return err == -ENODEV ? 0 : err;
}

/* Take a reference to our first device from @ifindex on, or return NULL. */
static struct net_device *next_device(struct net *net, unsigned long *ifindex,
				      netdevice_tracker *tracker)
{
	unsigned long index = *ifindex;
	struct net_device *dev;

	rcu_read_lock();
	for_each_netdev_dump(net, dev, index)
		if (netif_is_omerta(dev)) {
			netdev_hold(dev, tracker, GFP_ATOMIC);
			break;
		}
	rcu_read_unlock();
	*ifindex = index;
	return dev;
}

int omerta_nl_device_get_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = DEVICE_SIZE;
	return 0;
}

int omerta_nl_device_get_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb)
{
	struct {
		unsigned long ifindex;
	} *ctx = (void *)cb->ctx;
	struct net *net = sock_net(skb->sk);
	netdevice_tracker tracker;
	struct net_device *dev;
	int err = 0;

	NL_ASSERT_CTX_FITS(typeof(*ctx));
	while (!err && (dev = next_device(net, &ctx->ifindex, &tracker))) {
		err = dump_device(skb, cb, netdev_priv(dev));
		netdev_put(dev, &tracker);
		if (!err)
			ctx->ifindex++;
	}
	return omerta_dumped(skb, err);
}
