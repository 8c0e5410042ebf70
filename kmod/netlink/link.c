// SPDX-License-Identifier: GPL-2.0
/*
 * The link type of rtnetlink: "ip link add type omerta". IFLA_INFO_DATA has the attributes of
 * a device in the driver's own family, by the same policy.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "compat/compat.h"
#include "device/device.h"
#include "netlink/request.h"

#define MAX_ATTR	OMERTA_A_DEVICE_CHANNEL_PORT

static struct rtnl_link_ops link_ops;

static int link_validate(struct nlattr *tb[], struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	int attr;

	for (attr = 1; data && attr <= MAX_ATTR; attr++) {
		if (!data[attr])
			continue;
		if (attr == OMERTA_A_DEVICE_IFINDEX || attr == OMERTA_A_DEVICE_IFNAME) {
			NL_SET_ERR_MSG_ATTR(extack, data[attr],
					    "the link itself has the index and the name");
			return -EINVAL;
		}
		/* The core ignores attributes without a policy. */
		if (link_ops.policy[attr].type == NLA_UNSPEC) {
			NL_SET_ERR_MSG_ATTR(extack, data[attr], "not a setting");
			return -EINVAL;
		}
	}
	return 0;
}

static int configure(struct net_device *dev, struct nlattr *data[],
		     struct netlink_ext_ack *extack)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	int err;

	if (!data)
		return 0;
	mutex_lock(&tun->lock);
	err = omerta_nl_configure(NULL, tun, data, extack);
	mutex_unlock(&tun->lock);
	return err;
}

static int link_new(struct net_device *dev, struct rtnl_newlink_params *params,
		    struct netlink_ext_ack *extack)
{
	int err;

	err = omerta_device_register(dev, rtnl_newlink_link_net(params));
	if (err)
		return err;
	err = configure(dev, params->data, extack);
	/* The caller's free_netdev() leaves a device that is being unregistered alone. */
	if (err)
		unregister_netdevice(dev);
	return err;
}

OMERTA_NEWLINK(link_newlink, link_new)

/*
 * The core has checked the sender's rights in the device's namespace only, and does not tell who
 * the sender is.
 */
static int link_changelink(struct net_device *dev, struct nlattr *tb[], struct nlattr *data[],
			   struct netlink_ext_ack *extack)
{
	const struct omerta_tunnel *tun = netdev_priv(dev);
	bool outer = false;
	int attr;

	for (attr = 1; data && attr <= MAX_ATTR; attr++)
		outer |= data[attr] && (BIT(attr) & OMERTA_OUTER_SETTINGS);
	if (outer && tun->birth && !net_eq(tun->birth, dev_net(dev))) {
		NL_SET_ERR_MSG(extack,
			       "the sockets are in another namespace; use omertactl link set");
		return -EPERM;
	}
	return configure(dev, data, extack);
}

static size_t link_get_size(const struct net_device *dev)
{
	return nla_total_size(sizeof(u16)) * 2 +	/* ports */
	       nla_total_size(sizeof(u32)) * 10 +	/* max-mtu and numbers */
	       omerta_nl_cpus_size() +			/* OMERTA_A_DEVICE_CPUS */
	       nla_total_size(OMERTA_ENGINE_LEN + 1);	/* OMERTA_A_DEVICE_ENGINE */
}

/* Anyone may ask, so neither mark nor peers are shown. */
static int link_fill_info(struct sk_buff *msg, const struct net_device *dev)
{
	const struct omerta_tunnel *tun = netdev_priv(dev);

	if (nla_put_u16(msg, OMERTA_A_DEVICE_LISTEN_PORT, READ_ONCE(tun->port)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_MAX_MTU, dev->max_mtu))
		return -EMSGSIZE;
	return omerta_nl_put_settings(msg, tun);
}

/* The namespace of the sockets. Once it is gone, the device has none. */
static struct net *link_get_net(const struct net_device *dev)
{
	const struct omerta_tunnel *tun = netdev_priv(dev);

	return READ_ONCE(tun->birth) ?: dev_net(dev);
}

/* The qdisc "mq" has one for each queue, also for those that are not used. */
static unsigned int link_num_queues(void)
{
	return min_t(unsigned int, nr_cpu_ids, OMERTA_CHANNELS_MAX);
}

static struct rtnl_link_ops link_ops __read_mostly = {
	.kind = KBUILD_MODNAME,
	.priv_size = sizeof(struct omerta_tunnel),
	.maxtype = MAX_ATTR,
	.setup = omerta_device_setup,
	.validate = link_validate,
	.newlink = link_newlink,
	.changelink = link_changelink,
	.get_size = link_get_size,
	.fill_info = link_fill_info,
	.get_link_net = link_get_net,
	.get_num_tx_queues = link_num_queues,
	.get_num_rx_queues = link_num_queues,
};

/**
 * omerta_link_create() - create a device on behalf of the driver's own netlink family
 * @net: its namespace
 * @name: its name, may contain "%d"
 * @extack: gets the reason of a failure
 *
 * Context: process context, RTNL held.
 * Return: the device, to be configured and given to omerta_link_announce(), or to be deleted by
 * unregister_netdevice(); or an ERR_PTR().
 */
struct net_device *omerta_link_create(struct net *net, const char *name,
				      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[IFLA_MAX + 1] = {};
	struct net_device *dev;
	int err;

	dev = rtnl_create_link(net, name, NET_NAME_USER, &link_ops, tb, extack);
	if (IS_ERR(dev))
		return dev;
	err = omerta_device_register(dev, net);
	if (err) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
	return dev;
}

/**
 * omerta_link_announce() - tell listeners of a new device
 * @dev: from omerta_link_create(), with its settings
 *
 * Context: process context, RTNL held.
 * Return: 0 or a negative errno.
 */
int omerta_link_announce(struct net_device *dev)
{
	return rtnl_configure_link(dev, NULL, 0, NULL);
}

/**
 * omerta_link_init() - register the link type
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_link_init(void)
{
	const struct genl_split_ops *op = (const void *)omerta_nl_family.split_ops;

	/* The generator gives each policy to its request only. */
	while (op->cmd != OMERTA_CMD_DEVICE_SET)
		op++;
	if (WARN_ON(op->maxattr != MAX_ATTR))
		return -EINVAL;
	link_ops.policy = op->policy;
	return rtnl_link_register(&link_ops);
}

/**
 * omerta_link_exit() - delete all devices and unregister the link type
 */
void omerta_link_exit(void)
{
	rtnl_link_unregister(&link_ops);
}
