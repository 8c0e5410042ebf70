// SPDX-License-Identifier: GPL-2.0
/*
 * The netdevice, from its creation to its destruction.
 */
#include "device/device.h"

#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/ip_tunnels.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "compat/compat.h"
#include "crypto/engines.h"
#include "datapath/buf.h"
#include "datapath/control.h"
#include "datapath/rx.h"
#include "datapath/tx.h"
#include "datapath/tx_burst.h"
#include "datapath/reject.h"
#include "datapath/txq.h"
#include "datapath/udp.h"
#include "device/channels.h"
#include "device/ethtool.h"
#include "device/pm.h"
#include "device/timers.h"
#include "peer/event.h"
#include "peer/tenant.h"
#include "wire/record.h"

#define DEFAULT_MTU		1388
#define TX_QUEUE_LEN		1000
/* If the device has so many CPUs and queues */
#define DEFAULT_CHANNELS	8U
/* Handing work to another CPU costs as much as sealing this many bytes. */
#define DEFAULT_THRESHOLD	49152
#define FEATURES		(NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HIGHDMA | \
				 NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6 | \
				 NETIF_F_TSO_ECN | NETIF_F_TSO_MANGLEID | NETIF_F_GSO_UDP_L4)

/* All devices of all namespaces. The lock is taken inside RTNL, outside a device's lock. */
static LIST_HEAD(tunnels);
static DEFINE_MUTEX(tunnels_lock);

/**
 * omerta_device_each_peer() - call a function for each peer of a device
 * @tun: the device
 * @fn: the function
 *
 * Context: process context, the device's lock held.
 */
void omerta_device_each_peer(struct omerta_tunnel *tun,
			     void (*fn)(struct omerta_peer *peer))
{
	struct omerta_peer *peer;
	unsigned long id;

	lockdep_assert_held(&tun->lock);

	xa_for_each(&tun->peers.by_id, id, peer)
		fn(peer);
}

/**
 * omerta_devices_each_peer() - call a function for each peer of every device
 * @fn: the function
 *
 * Context: process context; takes the devices' locks.
 */
void omerta_devices_each_peer(void (*fn)(struct omerta_peer *peer))
{
	struct omerta_tunnel *tun;

	mutex_lock(&tunnels_lock);
	list_for_each_entry(tun, &tunnels, list) {
		mutex_lock(&tun->lock);
		omerta_device_each_peer(tun, fn);
		mutex_unlock(&tun->lock);
	}
	mutex_unlock(&tunnels_lock);
}

/**
 * omerta_device_check_peer() - have a peer's timer look at everything that may be due
 * @peer: the peer
 */
void omerta_device_check_peer(struct omerta_peer *peer)
{
	omerta_peer_due(peer, jiffies);
}

/*
 * A cached route would keep the outer device, and outlive its namespace. Without sockets nothing is
 * sent, but the peers of other devices may look at the cache.
 */
static void peer_forget_route(struct omerta_peer *peer)
{
	struct omerta_peer_channel *pc;

	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		read_seqlock_excl_bh(&pc->way.lock);
		dst_cache_reset_now(&pc->way.cache);
		read_sequnlock_excl_bh(&pc->way.lock);
	}
}

static void peer_forget_traffic(struct omerta_peer *peer)
{
	struct omerta_peer_channel *pc;

	omerta_tx_purge_waiting(peer, OMERTA_DROP_TX_DOWN);
	omerta_peer_forget_path(peer);
	peer_forget_route(peer);
	omerta_peer_stop_waiting(peer);
	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		WRITE_ONCE(pc->answer_at, 0);
		if (pc->index)
			omerta_peer_channel_forget(pc);
	}
}

/**
 * omerta_device_set_gso_limits() - have TCP make super-packets of one burst
 * @tun: the device
 * @mtu: its MTU
 *
 * They may be longer, if the administrator says so, and are then cut into several bursts.
 *
 * Context: process context, RTNL held.
 */
void omerta_device_set_gso_limits(struct omerta_tunnel *tun, u32 mtu)
{
	unsigned int n = omerta_tx_burst_len(mtu, tun->class);
	/* The smallest headers that TCP has here, and what it deducts. */
	u32 headers = sizeof(struct ipv6hdr) + sizeof(struct tcphdr) +
		      TCPOLEN_TSTAMP_ALIGNED;
	struct net_device *dev = tun->dev;
	u32 size = n * (max(mtu, 2 * headers) - headers) + MAX_TCP_HEADER;

	netif_set_tso_max_size(dev, GSO_MAX_SIZE);
	/* Leave limits alone that the administrator has set. */
	omerta_set_gso_max_size(dev, tun->gso_size, size);
	tun->gso_size = size;
}

static const struct omerta_peer_ops peer_ops = {
	.timer = omerta_timers_run,
	.drain = omerta_tx_drain,
};

/*
 * ndo_init: the device has its name by now. device_uninit() and device_destruct() undo it.
 * The device must be in the list before a key can be installed.
 */
static int device_init(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	int err = -ENOMEM;

	tun->dev = dev;
	mutex_init(&tun->lock);
	tun->pool.policy = OMERTA_POLICY_AUTO;
	tun->pool.threshold = DEFAULT_THRESHOLD;
	tun->engine = omerta_engine_default();
	tun->batch = true;
	tun->df = OMERTA_DF_UNSET;
	tun->peers.dev = dev;
	tun->peers.tun = tun;
	tun->peers.ops = &peer_ops;
	tun->peers.lock = &tun->lock;
	get_random_bytes(&tun->hash_key, sizeof(tun->hash_key));
	tun->control.rate = OMERTA_CONTROL_RATE;
	tun->control.source_rate = OMERTA_CONTROL_SOURCE_RATE;
	tun->control.share = OMERTA_CONTROL_SHARE;
	spin_lock_init(&tun->control.lock);
	skb_queue_head_init(&tun->rejects);
	tun->drops = omerta_drops_alloc();
	if (!tun->drops)
		goto err_lock;
	err = omerta_peers_init(&tun->peers);
	if (err)
		goto err_drops;
	err = omerta_buf_get();
	if (err)
		goto err_peers;
	err = omerta_pool_init(&tun->pool, omerta_tx_deferred);
	if (err)
		goto err_buf;
	mutex_lock(&tun->lock);
	err = omerta_channels_set(tun, min3(num_online_cpus(), omerta_channels_max(tun),
					    DEFAULT_CHANNELS));
	mutex_unlock(&tun->lock);
	if (err)
		goto err_channels;
	tun->gso_size = GSO_LEGACY_MAX_SIZE;
	omerta_device_set_gso_limits(tun, dev->mtu);
	mutex_lock(&tunnels_lock);
	list_add_tail(&tun->list, &tunnels);
	mutex_unlock(&tunnels_lock);
	netdev_dbg(dev, "device created\n");
	return 0;

err_channels:
	omerta_pool_destroy(&tun->pool);
	omerta_channels_free(tun);
err_buf:
	omerta_buf_put();
err_peers:
	omerta_peers_destroy(&tun->peers);
err_drops:
	free_percpu(tun->drops);
err_lock:
	mutex_destroy(&tun->lock);
	return err;
}

static int device_open(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	struct omerta_tenant *tenant;
	unsigned int wanted = 1;
	struct omerta_peer *peer;
	unsigned long id;
	int err;

	/* The device may have been moved; nothing waits on one that is down. */
	tenant = omerta_tenant_get(dev);
	if (!tenant)
		return -ENOMEM;
	omerta_tenant_put(tun->tenant);
	tun->tenant = tenant;
	/* Before the sockets exist, or their first wake-up would be lost. */
	omerta_channels_start(tun);
	mutex_lock(&tun->lock);
	xa_for_each(&tun->peers.by_id, id, peer)
		wanted = max(wanted, peer->n_channels);
	err = omerta_udp_open(tun, tun->port, wanted, NULL);
	if (!err)
		omerta_device_each_peer(tun, omerta_device_check_peer);
	mutex_unlock(&tun->lock);
	if (err) {
		omerta_channels_stop(tun);
		return err;
	}
	netif_tx_start_all_queues(dev);
	return 0;
}

static int device_stop(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	unsigned int i;

	mutex_lock(&tun->lock);
	omerta_peers_reap(&tun->peers, true);
	/* No datagram comes or goes: without sockets the datapath drops them. */
	omerta_udp_close(tun);
	for (i = 0; i < tun->n_channels; i++)
		omerta_txq_purge(tun->channel[i]);
	/* For helpers that have started */
	synchronize_net();
	/* Nothing is received any more, so no work is offered to other CPUs. */
	omerta_channels_stop(tun);
	/* Helpers and NAPI may have woken the queues. */
	netif_tx_stop_all_queues(dev);
	for (i = 0; i < tun->n_channels; i++) {
		omerta_tx_purge(tun->channel[i]);
		omerta_txq_reset(tun->channel[i]);
	}
	omerta_pool_drain(&tun->pool);
	omerta_device_each_peer(tun, omerta_tx_drain_fifos);
	for (i = 0; i < tun->n_channels; i++)
		omerta_rx_purge(tun->channel[i]);
	omerta_udp_purge(tun);
	omerta_device_each_peer(tun, peer_forget_traffic);
	omerta_reject_purge(tun);
	mutex_unlock(&tun->lock);
	return 0;
}

/**
 * omerta_device_drops() - sum up the drop counters of a device
 * @tun: the device
 * @sum: set to the sums, by reason
 *
 * Context: any.
 */
void omerta_device_drops(const struct omerta_tunnel *tun, u64 sum[OMERTA_DROPS])
{
	unsigned int c;

	omerta_drops_read(tun->drops, sum);
	for (c = 0; c < omerta_channels(tun); c++)
		sum[OMERTA_DROP_RX_SOCKET] += omerta_udp_lost(tun->channel[c]);
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
		if (i == OMERTA_DROP_RX_SOCKET)
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
	omerta_control_unbind_all(tun);
	omerta_control_stop(tun);
	omerta_peers_remove_all(&tun->peers);
	/* A peer's timer may have queued further rejects after ndo_stop(). */
	omerta_reject_purge(tun);
	mutex_unlock(&tun->lock);
	/* Not earlier: a suspend has to find the keys. */
	mutex_lock(&tunnels_lock);
	list_del(&tun->list);
	mutex_unlock(&tunnels_lock);
	/* Do not announce a device whose registration failed. */
	if (dev->reg_state == NETREG_UNREGISTERING)
		omerta_event_device(dev, OMERTA_CMD_DEVICE_GONE_NTF);
}

static int device_change_mtu(struct net_device *dev, int mtu)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	omerta_device_set_gso_limits(tun, mtu);
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

static const struct device_type device_type = { .name = KBUILD_MODNAME };

/**
 * netif_is_omerta() - tell a device of this driver
 * @dev: any device
 *
 * Return: true if its private part is a struct omerta_tunnel.
 */
bool netif_is_omerta(const struct net_device *dev)
{
	return dev->netdev_ops == &netdev_ops;
}

/* priv_destructor: the last reference to the device is gone. */
static void device_destruct(struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	/* A worker that was late may still look at the channels. */
	omerta_pool_destroy(&tun->pool);
	omerta_channels_free(tun);
	omerta_buf_put();
	omerta_control_free(tun);
	omerta_peers_destroy(&tun->peers);
	free_percpu(tun->drops);
	omerta_tenant_put(tun->tenant);
	mutex_destroy(&tun->lock);
	netdev_dbg(dev, "device destroyed\n");
}

/**
 * omerta_device_setup() - prepare a device for its registration
 * @dev: the device, whose private part is a struct omerta_tunnel
 */
void omerta_device_setup(struct net_device *dev)
{
	dev->netdev_ops = &netdev_ops;
	dev->ethtool_ops = &omerta_ethtool_ops;
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
	dev->max_mtu = OMERTA_RECORD_MAX_PLAIN(0);
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	dev->priv_destructor = device_destruct;
	dev->needs_free_netdev = true;
	SET_NETDEV_DEVTYPE(dev, &device_type);
	/* icmp_ndo_send() needs the route of the packet. */
	netif_keep_dst(dev);
	/* netpoll would take the queue's lock inside NAPI. */
	dev->priv_flags |= IFF_DISABLE_NETPOLL;
}

/**
 * omerta_device_register() - register a device
 * @dev: from omerta_device_setup()
 * @birth: namespace of its sockets
 *
 * Context: process context, RTNL held.
 * Return: 0 or a negative errno.
 */
int omerta_device_register(struct net_device *dev, struct net *birth)
{
	struct omerta_tunnel *tun = netdev_priv(dev);

	tun->birth = birth;
	return register_netdevice(dev);
}

/*
 * The namespace of the sockets goes away. The device stays where it is, without sockets
 * for good.
 */
static void __net_exit netns_pre_exit(struct net *net)
{
	struct omerta_tunnel *tun;

	rtnl_lock();
	mutex_lock(&tunnels_lock);
	list_for_each_entry(tun, &tunnels, list) {
		if (tun->birth != net)
			continue;
		mutex_lock(&tun->lock);
		omerta_peers_reap(&tun->peers, true);
		tun->birth = NULL;
		omerta_udp_close(tun);
		/* Bursts in flight find no socket, and release their routes. */
		omerta_pool_drain(&tun->pool);
		omerta_device_each_peer(tun, omerta_tx_drain_fifos);
		omerta_device_each_peer(tun, peer_forget_route);
		mutex_unlock(&tun->lock);
		netif_carrier_off(tun->dev);
	}
	mutex_unlock(&tunnels_lock);
	rtnl_unlock();
}

static struct pernet_operations pernet_ops = {
	.pre_exit = netns_pre_exit,
};

/**
 * omerta_device_init() - set up what devices need, at module load
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_device_init(void)
{
	int err;

	err = omerta_pm_init();
	if (err)
		return err;
	err = omerta_control_init();
	if (err)
		goto err_pm;
	err = register_pernet_device(&pernet_ops);
	if (err)
		goto err_control;
	return 0;

err_control:
	omerta_control_exit();
err_pm:
	omerta_pm_exit();
	return err;
}

/**
 * omerta_device_exit() - undo omerta_device_init()
 *
 * No device is left.
 */
void omerta_device_exit(void)
{
	unregister_pernet_device(&pernet_ops);
	omerta_control_exit();
	omerta_pm_exit();
}
