// SPDX-License-Identifier: GPL-2.0
/*
 * The netdevice: from its creation to its end.
 */
#include "device/device.h"

#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/suspend.h>
#include <net/ip_tunnels.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <net/tcp.h>

#include "datapath/buf.h"
#include "compat/compat.h"
#include "datapath/control.h"
#include "peer/event.h"
#include "crypto/engine.h"
#include "peer/peer.h"
#include "wire/record.h"
#include "datapath/rx.h"
#include "peer/tenant.h"
#include "datapath/tx.h"
#include "datapath/tx_burst.h"
#include "datapath/tx_reject.h"
#include "datapath/txq.h"
#include "datapath/udp.h"

#define DEFAULT_MTU		1388
#define TX_QUEUE_LEN		1000
/* Handing work over costs more than sealing this much. */
#define DEFAULT_THRESHOLD	49152
#define FEATURES		(NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HIGHDMA | \
				 NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6 | \
				 NETIF_F_TSO_ECN | NETIF_F_GSO_UDP_L4)

/* All devices of all namespaces. Taken inside RTNL, outside a device's lock. */
static LIST_HEAD(tunnels);
static DEFINE_MUTEX(tunnels_lock);

static void each_peer(struct omerta_tunnel *tun,
		      void (*fn)(struct omerta_peer *peer))
{
	struct omerta_peer *peer;
	unsigned long id;

	lockdep_assert_held(&tun->lock);

	xa_for_each(&tun->peers, id, peer)
		fn(peer);
}

static void each_peer_of_all(void (*fn)(struct omerta_peer *peer))
{
	struct omerta_tunnel *tun;

	mutex_lock(&tunnels_lock);
	list_for_each_entry(tun, &tunnels, list) {
		mutex_lock(&tun->lock);
		each_peer(tun, fn);
		mutex_unlock(&tun->lock);
	}
	mutex_unlock(&tunnels_lock);
}

static void peer_look(struct omerta_peer *peer)
{
	omerta_peer_due(peer, jiffies);
}

static void peer_route_anew(struct omerta_peer *peer)
{
	spin_lock_bh(&peer->endpoint_lock);
	dst_cache_reset(&peer->cache);
	peer->told_mtu = 0;
	spin_unlock_bh(&peer->endpoint_lock);
}

/* A cached route would keep the outer device, and outlive its namespace. */
static void peer_forget_route(struct omerta_peer *peer)
{
	spin_lock_bh(&peer->endpoint_lock);
	dst_cache_reset_now(&peer->cache);
	spin_unlock_bh(&peer->endpoint_lock);
}

static void peer_forget_traffic(struct omerta_peer *peer)
{
	omerta_peer_purge_stage(peer, OMERTA_DROP_TX_DROP_DOWN);
	omerta_peer_forget_path(peer);
	peer_forget_route(peer);
	omerta_peer_stop_waiting(peer);
}

static void peer_kill_keys(struct omerta_peer *peer)
{
	omerta_keyring_kill(&peer->ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
}

static void peer_kill_outlived(struct omerta_peer *peer)
{
	omerta_keyring_kill(&peer->ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_OUTLIVED);
}

static void peer_kill_keys_suspend(struct omerta_peer *peer)
{
	omerta_keyring_kill(&peer->ring, OMERTA_KEY_LIMIT_SUSPEND, OMERTA_KEYS_ALL);
}

/* Super-packets of no more packets than one burst has records. */
static void set_burst_limits(struct omerta_tunnel *tun, u32 mtu)
{
	unsigned int n = omerta_tx_burst_len(mtu, tun->class);
	/* With the smallest headers that TCP has here, and what it deducts. */
	u32 headers = sizeof(struct ipv6hdr) + sizeof(struct tcphdr) +
		      TCPOLEN_TSTAMP_ALIGNED;

	struct net_device *dev = tun->dev;
	/* Unless somebody has lowered them by hand. */
	bool size = dev->gso_max_size == dev->tso_max_size;
	bool segs = dev->gso_max_segs == dev->tso_max_segs;

	netif_set_tso_max_segs(dev, n);
	netif_set_tso_max_size(dev, n * (max(mtu, 2 * headers) - headers) +
				    MAX_TCP_HEADER);
	/* These the calls only lower. */
	if (size)
		netif_gso_max_size_raise(dev, dev->tso_max_size);
	if (segs)
		WRITE_ONCE(dev->gso_max_segs, dev->tso_max_segs);
}

/*
 * The device has its name by now; device_uninit() and device_destruct() undo it. Nobody
 * may install a key before the device is in the list.
 */
static int device_init(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	int err = -ENOMEM;

	tun->dev = dev;
	mutex_init(&tun->lock);
	/* A tunnel may run in a tunnel: each queue has a lock class of its own. */
	lockdep_register_key(&tun->xmit_class);
	lockdep_set_class(&netdev_get_tx_queue(dev, 0)->_xmit_lock,
			  &tun->xmit_class);
	tun->policy = OMERTA_POLICY_AUTO;
	tun->threshold = DEFAULT_THRESHOLD;
	tun->engine = omerta_engine_default();
	tun->batch = true;
	tun->df = OMERTA_DF_UNSET;
	xa_init(&tun->peers);
	INIT_LIST_HEAD(&tun->gone);
	INIT_DELAYED_WORK(&tun->reap_work, omerta_peer_reap_work);
	omerta_allowedips_init(&tun->allowedips, &tun->lock);
	get_random_bytes(&tun->hash_key, sizeof(tun->hash_key));
	tun->control.rate = OMERTA_CONTROL_RATE;
	tun->control.source_rate = OMERTA_CONTROL_SOURCE_RATE;
	tun->control.share = OMERTA_CONTROL_SHARE;
	init_llist_head(&tun->rx_done);
	INIT_LIST_HEAD(&tun->rx_ready);
	skb_queue_head_init(&tun->rx_rest);
	skb_queue_head_init(&tun->rejects);
	omerta_txq_init(tun, omerta_tx_help);
	tun->drops = omerta_drops_alloc();
	if (!tun->drops)
		goto err_class;
	err = rhashtable_init(&tun->keys, &omerta_key_params);
	if (err)
		goto err_drops;
	err = rhltable_init(&tun->endpoints, &omerta_peer_place_params);
	if (err)
		goto err_keys;
	err = omerta_buf_get();
	if (err)
		goto err_endpoints;
	err = omerta_pool_init(&tun->pool);
	if (err)
		goto err_buf;
	/* Who waits for its packets should poll the NIC below. */
	set_bit(NAPI_STATE_NO_BUSY_POLL, &tun->napi.state);
	netif_napi_add(dev, &tun->napi, omerta_rx_poll);
	set_burst_limits(tun, dev->mtu);
	mutex_lock(&tunnels_lock);
	list_add_tail(&tun->list, &tunnels);
	mutex_unlock(&tunnels_lock);
	netdev_dbg(dev, "device created\n");
	return 0;

err_buf:
	omerta_buf_put();
err_endpoints:
	rhltable_destroy(&tun->endpoints);
err_keys:
	rhashtable_destroy(&tun->keys);
err_drops:
	free_percpu(tun->drops);
err_class:
	lockdep_unregister_key(&tun->xmit_class);
	return err;
}

static int device_open(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	struct omerta_tenant *tenant;
	int err;

	/* The device may have been moved; nothing waits on one that is down. */
	tenant = omerta_tenant_get(dev_net(dev));
	if (!tenant)
		return -ENOMEM;
	omerta_tenant_put(tun->tenant);
	tun->tenant = tenant;
	/* Before the sockets are, or their first wake-up would be lost. */
	napi_enable(&tun->napi);
	mutex_lock(&tun->lock);
	err = omerta_udp_open(tun, tun->port, NULL);
	if (!err)
		each_peer(tun, peer_look);
	mutex_unlock(&tun->lock);
	if (err)
		napi_disable(&tun->napi);
	else
		netif_start_queue(dev);
	return err;
}

static int device_stop(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	mutex_lock(&tun->lock);
	omerta_peer_reap(tun, true);
	/* No datagram comes or goes; who finds no sockets drops. */
	omerta_udp_close(tun);
	omerta_txq_purge(tun);
	/* Nobody receives, so nobody gives work to others any more. */
	napi_disable(&tun->napi);
	/* The two before may have woken it. */
	netif_stop_queue(dev);
	omerta_tx_purge(tun);
	omerta_txq_reset(tun);
	omerta_pool_drain(&tun->pool);
	each_peer(tun, omerta_peer_send_rest);
	omerta_rx_purge(tun);
	omerta_udp_purge(tun);
	each_peer(tun, peer_forget_traffic);
	omerta_tx_tell_nobody(tun);
	mutex_unlock(&tun->lock);
	return 0;
}

/**
 * omerta_device_drops() - sum up all that a device has dropped
 * @tun: the device
 * @sum: gets the sums, by reason
 *
 * Context: any.
 */
void omerta_device_drops(const struct omerta_tunnel *tun, u64 sum[OMERTA_DROPS])
{
	omerta_drops_read(tun->drops, sum);
	sum[OMERTA_DROP_RX_DROP_SOCKET] += omerta_udp_lost(tun);
}

static void device_stats(struct net_device *dev,
			 struct rtnl_link_stats64 *stats)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	u64 drops[OMERTA_DROPS];
	int i;

	dev_get_tstats64(dev, stats);
	omerta_device_drops(tun, drops);
	for (i = 0; i < OMERTA_DROPS; i++) {
		if (i == OMERTA_DROP_RX_DROP_SOCKET)
			stats->rx_missed_errors += drops[i];
		else if (i < OMERTA_DROPS_RX)
			stats->rx_dropped += drops[i];
		else
			stats->tx_dropped += drops[i];
	}
}

static void device_uninit(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	mutex_lock(&tun->lock);
	tun->dying = true;
	omerta_control_cut(tun);
	omerta_control_stop(tun);
	omerta_peer_remove_all(tun);
	/* Timers of peers may have come upon more since the device went down. */
	omerta_tx_tell_nobody(tun);
	mutex_unlock(&tun->lock);
	/* Not before: a suspend has to find the keys. */
	mutex_lock(&tunnels_lock);
	list_del(&tun->list);
	mutex_unlock(&tunnels_lock);
	/* One that could not be registered was never there. */
	if (dev->reg_state == NETREG_UNREGISTERING)
		omerta_event_device(dev, OMERTA_CMD_DEVICE_GONE_NTF);
}

static int device_change_mtu(struct net_device *dev, int mtu)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	set_burst_limits(tun, mtu);
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

static const struct net_device_ops netdev_ops = {
	.ndo_init = device_init,
	.ndo_open = device_open,
	.ndo_stop = device_stop,
	.ndo_uninit = device_uninit,
	.ndo_start_xmit = omerta_tx_xmit,
	.ndo_features_check = omerta_tx_features,
	.ndo_change_mtu = device_change_mtu,
	.ndo_get_stats64 = device_stats,
};

static const struct ethtool_ops ethtool_ops = {
	.get_link = ethtool_op_get_link,
	.get_ts_info = ethtool_op_get_ts_info,
};

static const struct device_type device_type = { .name = KBUILD_MODNAME };

/**
 * omerta_device_is() - whether a device is one of ours
 * @dev: any device
 *
 * Return: true if its private part is a struct omerta_tunnel.
 */
bool omerta_device_is(const struct net_device *dev)
{
	return dev->netdev_ops == &netdev_ops;
}

/* When the last reference to the device is gone. */
static void device_destruct(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	cancel_delayed_work_sync(&tun->reap_work);
	omerta_txq_destroy(tun);
	omerta_pool_destroy(&tun->pool);
	omerta_buf_put();
	omerta_control_free(tun);
	rhltable_destroy(&tun->endpoints);
	rhashtable_destroy(&tun->keys);
	xa_destroy(&tun->peers);
	free_percpu(tun->drops);
	omerta_tenant_put(tun->tenant);
	mutex_destroy(&tun->lock);
	lockdep_unregister_key(&tun->xmit_class);
	netdev_dbg(dev, "device destroyed\n");
}

static void device_setup(struct net_device *dev)
{
	dev->netdev_ops = &netdev_ops;
	dev->ethtool_ops = &ethtool_ops;
	dev->header_ops = &ip_tunnel_header_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->hard_header_len = 0;
	dev->addr_len = 0;
	dev->tx_queue_len = TX_QUEUE_LEN;
	dev->features |= FEATURES;
	dev->hw_features |= FEATURES;
	dev->mtu = DEFAULT_MTU;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = omerta_record_max_plain(0);
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->priv_destructor = device_destruct;
	dev->needs_free_netdev = true;
	SET_NETDEV_DEVTYPE(dev, &device_type);
	/* ICMP errors are answered along the packet's route. */
	netif_keep_dst(dev);
	/* NAPI takes the queue's lock. */
	dev->priv_flags |= IFF_DISABLE_NETPOLL;
}

static int tunnel_register(struct net_device *dev, struct net *birth)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	tun->birth = birth;
	return register_netdevice(dev);
}

static int link_new(struct net_device *dev, struct rtnl_newlink_params *params,
		    struct netlink_ext_ack *extack)
{
	/* What goes out is serial for each peer anyway. */
	if (dev->num_tx_queues > 1) {
		NL_SET_ERR_MSG(extack, "a device has one queue: leave out numtxqueues");
		return -EINVAL;
	}
	return tunnel_register(dev, rtnl_newlink_link_net(params));
}

OMERTA_NEWLINK(link_newlink, link_new)

static struct rtnl_link_ops link_ops __read_mostly = {
	.kind = KBUILD_MODNAME,
	.priv_size = sizeof(struct omerta_tunnel),
	.setup = device_setup,
	.newlink = link_newlink,
};

/**
 * omerta_device_create() - make a device otherwise than by rtnetlink
 * @net: its namespace
 * @name: its name, may contain "%d"
 * @extack: says why it failed
 *
 * Context: process context, RTNL held.
 * Return: the device, to be deleted by rtnl_link_ops, or an ERR_PTR().
 */
struct net_device *omerta_device_create(struct net *net, const char *name,
					struct netlink_ext_ack *extack)
{
	struct nlattr *tb[IFLA_MAX + 1] = {};
	struct net_device *dev;
	int err;

	dev = rtnl_create_link(net, name, NET_NAME_USER, &link_ops, tb, extack);
	if (IS_ERR(dev))
		return dev;
	err = tunnel_register(dev, net);
	if (err) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
	err = rtnl_configure_link(dev, NULL, 0, NULL);
	if (err) {
		unregister_netdevice(dev);
		return ERR_PTR(err);
	}
	return dev;
}

static int check_class(struct omerta_tunnel *tun, u8 class,
		       struct netlink_ext_ack *extack)
{
	if (class == tun->class)
		return 0;
	if (netif_running(tun->dev)) {
		NL_SET_ERR_MSG(extack,
			       "chunk-size changes only while the device is down; use ip link set down");
		return -EBUSY;
	}
	if (tun->dev->mtu > omerta_record_max_plain(class)) {
		NL_SET_ERR_MSG(extack,
			       "the device's mtu is too large for this chunk-size; lower it first");
		return -ERANGE;
	}
	return 0;
}

static int check_port(struct omerta_tunnel *tun, u16 port,
		      struct netlink_ext_ack *extack)
{
	int err;

	if (!netif_running(tun->dev))
		return omerta_udp_probe(tun, port, extack);
	if (port && port == tun->port)
		return 0;
	err = omerta_udp_open(tun, port, extack);
	/* Routes may depend on the port that datagrams come from. */
	if (!err)
		each_peer(tun, peer_route_anew);
	return err;
}

/**
 * omerta_device_configure() - change settings of a device
 * @tun: the device
 * @config: the settings; checked except for what depends on the device
 * @extack: says why they are refused
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int omerta_device_configure(struct omerta_tunnel *tun,
			    const struct omerta_device_config *config,
			    struct netlink_ext_ack *extack)
{
	unsigned long has = config->has;
	int err;

	ASSERT_RTNL();
	lockdep_assert_held(&tun->lock);

	if (has & BIT(OMERTA_A_DEVICE_CHUNK_SIZE)) {
		err = check_class(tun, config->class, extack);
		if (err)
			return err;
	}
	/* The last that may fail, for it changes sockets if the device is up. */
	if (has & BIT(OMERTA_A_DEVICE_LISTEN_PORT)) {
		err = check_port(tun, config->port, extack);
		if (err)
			return err;
		if (!netif_running(tun->dev))
			tun->port = config->port;
	}
	if (has & BIT(OMERTA_A_DEVICE_CHUNK_SIZE)) {
		tun->class = config->class;
		tun->dev->max_mtu = omerta_record_max_plain(config->class);
		set_burst_limits(tun, tun->dev->mtu);
	}
	if (has & BIT(OMERTA_A_DEVICE_FWMARK)) {
		WRITE_ONCE(tun->fwmark, config->fwmark);
		omerta_udp_set_mark(tun);
		each_peer(tun, peer_route_anew);
	}
	if (has & BIT(OMERTA_A_DEVICE_POLICY))
		WRITE_ONCE(tun->policy, config->policy);
	if (has & BIT(OMERTA_A_DEVICE_PERCPU_THRESHOLD))
		WRITE_ONCE(tun->threshold, config->threshold);
	if (has & BIT(OMERTA_A_DEVICE_ENGINE))
		WRITE_ONCE(tun->engine, config->engine);
	if (has & BIT(OMERTA_A_DEVICE_CPUS))
		omerta_pool_set_cpus(&tun->pool, config->cpus);
	if (has & BIT(OMERTA_A_DEVICE_CONTROL_RATE))
		WRITE_ONCE(tun->control.rate, config->control_rate);
	if (has & BIT(OMERTA_A_DEVICE_CONTROL_SOURCE_RATE))
		WRITE_ONCE(tun->control.source_rate, config->control_source_rate);
	if (has & BIT(OMERTA_A_DEVICE_CONTROL_SHARE))
		WRITE_ONCE(tun->control.share, config->control_share);
	if (has & BIT(OMERTA_A_DEVICE_BATCH))
		WRITE_ONCE(tun->batch, config->batch);
	if (has & BIT(OMERTA_A_DEVICE_DF)) {
		WRITE_ONCE(tun->df, config->df);
		each_peer(tun, omerta_peer_forget_path);
	}
	return 0;
}

/* The sockets' namespace goes away: the device stays where it is, mute. */
static void __net_exit netns_pre_exit(struct net *net)
{
	struct omerta_tunnel *tun;

	rtnl_lock();
	mutex_lock(&tunnels_lock);
	list_for_each_entry(tun, &tunnels, list) {
		if (tun->birth != net)
			continue;
		mutex_lock(&tun->lock);
		omerta_peer_reap(tun, true);
		tun->birth = NULL;
		omerta_udp_close(tun);
		/* What is on its way finds no socket, and lets go of its route. */
		omerta_pool_drain(&tun->pool);
		each_peer(tun, omerta_peer_send_rest);
		each_peer(tun, peer_forget_route);
		mutex_unlock(&tun->lock);
		netif_carrier_off(tun->dev);
	}
	mutex_unlock(&tunnels_lock);
	rtnl_unlock();
}

static struct pernet_operations pernet_ops = {
	.pre_exit = netns_pre_exit,
};

/*
 * A cloned machine, or one woken from an image, would seal under counters that
 * were used already. Neither an image nor the memory of a machine that sleeps is a
 * place for secrets, so keys die before.
 */
static void kill_outlived(struct work_struct *work)
{
	each_peer_of_all(peer_kill_outlived);
}

static DECLARE_WORK(kill_work, kill_outlived);

static int vm_notify(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	/* The epoch needs no lock. This may be a hard interrupt. */
	atomic_inc(&omerta_keys_epoch);
	queue_work(system_dfl_wq, &kill_work);
	return NOTIFY_DONE;
}

static int pm_notify(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	/* Machines that sleep all the time would never have a key. */
	bool naps = IS_ENABLED(CONFIG_PM_AUTOSLEEP) ||
		    IS_ENABLED(CONFIG_PM_USERSPACE_AUTOSLEEP);

	switch (action) {
	case PM_SUSPEND_PREPARE:
		if (naps)
			break;
		/* An install that runs has the device's lock. */
		set_bit(OMERTA_FREEZE_SUSPEND, &omerta_keys_frozen);
		each_peer_of_all(peer_kill_keys_suspend);
		break;
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		/* An install that runs has the device's lock. */
		set_bit(OMERTA_FREEZE_HIBERNATION, &omerta_keys_frozen);
		each_peer_of_all(peer_kill_keys);
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		/* What the image had of secrets to be may be there again some day. */
		atomic_inc(&omerta_keys_epoch);
		/* Pairs with omerta_keyring_install(). */
		clear_bit_unlock(OMERTA_FREEZE_HIBERNATION, &omerta_keys_frozen);
		break;
	case PM_POST_SUSPEND:
		/* Timers stood still while keys grew old. */
		each_peer_of_all(peer_look);
		if (naps)
			break;
		/* Secrets of a handshake under way were in memory meanwhile. */
		atomic_inc(&omerta_keys_epoch);
		/* Pairs with omerta_keyring_install(). */
		clear_bit_unlock(OMERTA_FREEZE_SUSPEND, &omerta_keys_frozen);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block vm_notifier = { .notifier_call = vm_notify };
static struct notifier_block pm_notifier = { .notifier_call = pm_notify };

/**
 * omerta_device_init() - make devices possible
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_device_init(void)
{
	int err;

	err = register_pm_notifier(&pm_notifier);
	if (err)
		return err;
	err = register_random_vmfork_notifier(&vm_notifier);
	if (err)
		goto err_pm;
	err = omerta_control_init();
	if (err)
		goto err_vm;
	err = register_pernet_device(&pernet_ops);
	if (err)
		goto err_control;
	err = rtnl_link_register(&link_ops);
	if (err)
		goto err_pernet;
	return 0;

err_pernet:
	unregister_pernet_device(&pernet_ops);
err_control:
	omerta_control_exit();
err_vm:
	unregister_random_vmfork_notifier(&vm_notifier);
	cancel_work_sync(&kill_work);
err_pm:
	unregister_pm_notifier(&pm_notifier);
	return err;
}

/**
 * omerta_device_exit() - delete all devices and make none possible
 */
void omerta_device_exit(void)
{
	rtnl_link_unregister(&link_ops);
	unregister_pernet_device(&pernet_ops);
	omerta_control_exit();
	unregister_random_vmfork_notifier(&vm_notifier);
	cancel_work_sync(&kill_work);
	unregister_pm_notifier(&pm_notifier);
}
