// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about devices.
 */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "compat/compat.h"
#include "datapath/control.h"
#include "device/device.h"
#include "peer/event.h"
#include "peer/fingerprint.h"
#include "crypto/engines.h"
#include "netlink/request.h"
#include "wire/record.h"

#define OUTER_SETTINGS	(BIT(OMERTA_A_DEVICE_LISTEN_PORT) | \
			 BIT(OMERTA_A_DEVICE_FWMARK) | \
			 BIT(OMERTA_A_DEVICE_CONTROL_RATE) | \
			 BIT(OMERTA_A_DEVICE_CONTROL_SOURCE_RATE) | \
			 BIT(OMERTA_A_DEVICE_CONTROL_SHARE))

static int parse_class(const struct genl_info *info, u8 *class)
{
	struct nlattr *attr = info->attrs[OMERTA_A_DEVICE_CHUNK_SIZE];
	u32 size = nla_get_u32(attr);

	if (!is_power_of_2(size)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "chunk-size must be a power of two, 512 to 65536");
		return -EINVAL;
	}
	*class = ilog2(size / OMERTA_CHUNK_MIN);
	return 0;
}

static int parse_cpus(const struct genl_info *info, struct cpumask *cpus)
{
	struct nlattr *attr = info->attrs[OMERTA_A_DEVICE_CPUS];

	if (!strcmp(nla_data(attr), "all")) {
		cpumask_copy(cpus, cpu_possible_mask);
		return 0;
	}
	if (cpulist_parse(nla_data(attr), cpus) ||
	    !cpumask_intersects(cpus, cpu_online_mask)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "cpus must be a list like 0-3,8 with an online CPU in it, or all");
		return -EINVAL;
	}
	return 0;
}

static int parse_engine(const struct genl_info *info,
			struct omerta_device_config *config)
{
	struct nlattr *attr = info->attrs[OMERTA_A_DEVICE_ENGINE];
	int err;

	ASSERT_RTNL();
	err = omerta_engine_find(nla_data(attr), &config->engine);
	if (err == -ENOENT) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "engine must be auto, lib or one of this architecture, like mb-avx2 or mb-neon");
		return -EINVAL;
	}
	if (err == -EOPNOTSUPP)
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "this CPU does not support that engine, or it failed its self-test");
	if (!err)
		config->has |= BIT(OMERTA_A_DEVICE_ENGINE);
	return err;
}

static void parse_control(struct nlattr **attrs,
			  struct omerta_device_config *config)
{
	struct nlattr *all = attrs[OMERTA_A_DEVICE_CONTROL_RATE];
	struct nlattr *source = attrs[OMERTA_A_DEVICE_CONTROL_SOURCE_RATE];
	struct nlattr *share = attrs[OMERTA_A_DEVICE_CONTROL_SHARE];

	if (all) {
		config->has |= BIT(OMERTA_A_DEVICE_CONTROL_RATE);
		config->control_rate = nla_get_u32(all);
	}
	if (source) {
		config->has |= BIT(OMERTA_A_DEVICE_CONTROL_SOURCE_RATE);
		config->control_source_rate = nla_get_u32(source);
	}
	if (share) {
		config->has |= BIT(OMERTA_A_DEVICE_CONTROL_SHARE);
		config->control_share = nla_get_u32(share);
	}
}

/* @config->cpus is allocated by the caller. */
static int parse_config(const struct genl_info *info,
			struct omerta_device_config *config)
{
	struct nlattr **attrs = info->attrs;
	int i, err;

	for (i = OMERTA_A_DEVICE_LISTEN_PORT; i <= OMERTA_A_DEVICE_DF; i++)
		if (attrs[i])
			config->has |= BIT(i);

	if (attrs[OMERTA_A_DEVICE_LISTEN_PORT])
		config->port = nla_get_u16(attrs[OMERTA_A_DEVICE_LISTEN_PORT]);
	if (attrs[OMERTA_A_DEVICE_FWMARK])
		config->fwmark = nla_get_u32(attrs[OMERTA_A_DEVICE_FWMARK]);
	if (attrs[OMERTA_A_DEVICE_POLICY])
		config->policy = nla_get_u32(attrs[OMERTA_A_DEVICE_POLICY]);
	if (attrs[OMERTA_A_DEVICE_PERCPU_THRESHOLD])
		config->threshold =
			nla_get_u32(attrs[OMERTA_A_DEVICE_PERCPU_THRESHOLD]);
	if (attrs[OMERTA_A_DEVICE_BATCH])
		config->batch = nla_get_u32(attrs[OMERTA_A_DEVICE_BATCH]);
	if (attrs[OMERTA_A_DEVICE_DF])
		config->df = nla_get_u32(attrs[OMERTA_A_DEVICE_DF]);
	parse_control(attrs, config);
	if (attrs[OMERTA_A_DEVICE_CHUNK_SIZE]) {
		err = parse_class(info, &config->class);
		if (err)
			return err;
	}
	if (attrs[OMERTA_A_DEVICE_ENGINE]) {
		err = parse_engine(info, config);
		if (err)
			return err;
	}
	return attrs[OMERTA_A_DEVICE_CPUS] ? parse_cpus(info, config->cpus) : 0;
}

static int set_config(struct sk_buff *skb, const struct genl_info *info,
		      struct omerta_tunnel *tun)
{
	struct omerta_device_config config = {};
	int err;

	if (!zalloc_cpumask_var(&config.cpus, GFP_KERNEL))
		return -ENOMEM;
	err = parse_config(info, &config);
	if (!err && config.has & OUTER_SETTINGS)
		err = omerta_nl_outer_capable(skb, info, tun);
	if (!err)
		err = omerta_device_configure(tun, &config, info->extack);
	if (!err)
		tun->generation++;
	free_cpumask_var(config.cpus);
	return err;
}

int omerta_nl_device_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_nl_ref ref;
	int err;

	rtnl_lock();
	err = omerta_nl_tunnel_get(info, &ref);
	if (!err) {
		err = set_config(skb, info, ref.tun);
		omerta_nl_tunnel_put(&ref);
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

	dev = omerta_device_create(genl_info_net(info),
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
	err = set_config(skb, info, tun);
	mutex_unlock(&tun->lock);
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

static int put_cpus(struct sk_buff *msg, const struct cpumask *cpus)
{
	char list[OMERTA_CPULIST_LEN + 1];

	if (cpumask_equal(cpus, cpu_possible_mask))
		return nla_put_string(msg, OMERTA_A_DEVICE_CPUS, "all");
	snprintf(list, sizeof(list), "%*pbl", cpumask_pr_args(cpus));
	return nla_put_string(msg, OMERTA_A_DEVICE_CPUS, list);
}

/* Settings, for administrators only. */
static int fill_settings(struct sk_buff *msg, const struct omerta_tunnel *tun)
{
	struct omerta_fingerprint_usage usage;

	lockdep_assert_held(&tun->lock);

	omerta_fingerprint_usage(dev_net(tun->dev), &usage);
	if (nla_put_u32(msg, OMERTA_A_DEVICE_FWMARK, tun->fwmark) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CHUNK_SIZE,
			OMERTA_CHUNK_SIZE(tun->class)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_POLICY, tun->pool.policy) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_PERCPU_THRESHOLD,
			tun->pool.threshold) ||
	    put_cpus(msg, tun->pool.cpus) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_BATCH, tun->batch) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_DF, tun->df) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_PEERS, tun->peers.n) ||
	    nla_put_string(msg, OMERTA_A_DEVICE_ENGINE,
			   omerta_engine_name(tun->engine)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CONTROL_RATE, tun->control.rate) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CONTROL_SOURCE_RATE,
			tun->control.source_rate) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CONTROL_SHARE,
			tun->control.share) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_USED_SECRETS, usage.used) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_USED_SECRETS_MAX, usage.max) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_EPOCH,
			atomic_read(&omerta_keys_epoch)))
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
	int err;

	if (omerta_put_device(msg, dev) ||
	    nla_put_u16(msg, OMERTA_A_DEVICE_LISTEN_PORT, READ_ONCE(tun->port)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_MAX_MTU, dev->max_mtu) ||
	    fill_stats(msg, tun))
		return -EMSGSIZE;
	if (!netlink_ns_capable(request, dev_net(dev)->user_ns, CAP_NET_ADMIN))
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

	msg = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
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
