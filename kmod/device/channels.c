// SPDX-License-Identifier: GPL-2.0
/*
 * The channels of a device: their number, and their memory.
 */
#include "device/channels.h"

#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "datapath/rx.h"
#include "datapath/tx.h"
#include "datapath/txq.h"
#include "datapath/udp.h"

static struct omerta_channel *channel_alloc(struct omerta_tunnel *tun, unsigned int index)
{
	struct omerta_channel *ch = kvzalloc_obj(*ch, GFP_KERNEL_ACCOUNT);

	if (!ch)
		return NULL;
	ch->tun = tun;
	ch->index = index;
	ch->queue = netdev_get_tx_queue(tun->dev, index);
	/* A tunnel may run in a tunnel: each queue has a lock class of its own. */
	lockdep_register_key(&ch->xmit_class);
	lockdep_set_class(&ch->queue->_xmit_lock, &ch->xmit_class);
	omerta_txq_init(ch, omerta_tx_help);
	init_llist_head(&ch->rx_done);
	INIT_LIST_HEAD(&ch->rx_ready);
	hash_init(ch->rx_peers);
	skb_queue_head_init(&ch->rx_rest);
	ch->rx_cpu = -1;
	/* Until it is enabled, nothing is scheduled. */
	set_bit(NAPI_STATE_SCHED, &ch->napi.state);
	return ch;
}

/**
 * omerta_channels_max() - most channels that a device may have
 * @tun: the device
 *
 * Return: their number.
 */
unsigned int omerta_channels_max(const struct omerta_tunnel *tun)
{
	return min3(tun->dev->num_tx_queues, tun->dev->num_rx_queues,
		    (unsigned int)OMERTA_CHANNELS_MAX);
}

/**
 * omerta_channels_set() - set the number of channels
 * @tun: the device, which is down
 * @n: their number, 1 to omerta_channels_max()
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0; or -ENOMEM, then the number is as before.
 */
int omerta_channels_set(struct omerta_tunnel *tun, unsigned int n)
{
	unsigned int i;
	int err;

	ASSERT_RTNL();
	lockdep_assert_held(&tun->lock);

	for (i = 0; i < n; i++) {
		if (!tun->channel[i])
			tun->channel[i] = channel_alloc(tun, i);
		if (!tun->channel[i])
			return -ENOMEM;
	}
	err = omerta_peers_set_channels(&tun->peers, n);
	if (!err)
		err = netif_set_real_num_queues(tun->dev, n, n);
	if (err)
		return err;
	/* Pairs with the acquire in omerta_channels(): they exist. */
	smp_store_release(&tun->n_channels, n);
	return 0;
}

/**
 * omerta_channels_start() - enable the NAPIs of all channels in use
 * @tun: the device
 *
 * Only these exist: a NAPI that stayed disabled would let the kernel wait for it for ever when its
 * thread is to end.
 *
 * Context: process context, RTNL held.
 */
void omerta_channels_start(struct omerta_tunnel *tun)
{
	unsigned int i;

	for (i = 0; i < tun->n_channels; i++) {
		struct napi_struct *napi = &tun->channel[i]->napi;

		netif_napi_add(tun->dev, napi, omerta_rx_poll);
		napi_enable(napi);
		netif_queue_set_napi(tun->dev, i, NETDEV_QUEUE_TYPE_RX, napi);
		netif_queue_set_napi(tun->dev, i, NETDEV_QUEUE_TYPE_TX, napi);
	}
}

/**
 * omerta_channels_stop() - undo omerta_channels_start()
 * @tun: the device
 *
 * Context: process context, RTNL held. Waits for a grace period.
 */
void omerta_channels_stop(struct omerta_tunnel *tun)
{
	unsigned int i;

	for (i = 0; i < tun->n_channels; i++) {
		struct napi_struct *napi = &tun->channel[i]->napi;

		netif_queue_set_napi(tun->dev, i, NETDEV_QUEUE_TYPE_RX, NULL);
		netif_queue_set_napi(tun->dev, i, NETDEV_QUEUE_TYPE_TX, NULL);
		napi_disable(napi);
		__netif_napi_del(napi);
	}
	synchronize_net();
}

/**
 * omerta_channels_free() - free all channels of a device
 * @tun: the device; down for good, its workers destroyed
 *
 * Context: process context; RTNL not held, as this waits for the helpers' CPUs.
 */
void omerta_channels_free(struct omerta_tunnel *tun)
{
	unsigned int i;

	for (i = 0; i < OMERTA_CHANNELS_MAX; i++) {
		struct omerta_channel *ch = tun->channel[i];

		if (!ch)
			continue;
		omerta_txq_destroy(ch);
		lockdep_unregister_key(&ch->xmit_class);
		kvfree(ch);
		tun->channel[i] = NULL;
	}
}

/**
 * omerta_channel_stats() - read what a channel has done
 * @ch: the channel
 * @stats: set, by attribute
 *
 * Context: any.
 */
void omerta_channel_stats(const struct omerta_channel *ch, u64 stats[OMERTA_CHANNEL_STATS])
{
	stats[OMERTA_A_CHANNEL_STATS_CHANNEL] = ch->index;
	stats[OMERTA_A_CHANNEL_STATS_RX_PACKETS] = READ_ONCE(ch->rx_packets);
	stats[OMERTA_A_CHANNEL_STATS_RX_RECORDS] = READ_ONCE(ch->rx_records);
	stats[OMERTA_A_CHANNEL_STATS_RX_BURSTS] = READ_ONCE(ch->rx_bursts);
	stats[OMERTA_A_CHANNEL_STATS_RX_POLLS] = READ_ONCE(ch->rx_polls);
	stats[OMERTA_A_CHANNEL_STATS_RX_DROPS] =
		(unsigned long)atomic_long_read(&ch->rx_drops) + omerta_udp_lost(ch);
	stats[OMERTA_A_CHANNEL_STATS_TX_DROPS] = (unsigned long)atomic_long_read(&ch->tx_drops);
	stats[OMERTA_A_CHANNEL_STATS_RX_CPU] = (s64)READ_ONCE(ch->rx_cpu);
	stats[OMERTA_A_CHANNEL_STATS_TX_PACKETS] = (unsigned long)atomic_long_read(&ch->tx_packets);
	stats[OMERTA_A_CHANNEL_STATS_TX_RECORDS] = (unsigned long)atomic_long_read(&ch->tx_records);
	stats[OMERTA_A_CHANNEL_STATS_TX_CPU] = (s64)READ_ONCE(ch->txq.tx_cpu);
	stats[OMERTA_A_CHANNEL_STATS_STOPPED_BQL] =
		READ_ONCE(ch->txq.stops[OMERTA_QUEUE_BQL]);
	stats[OMERTA_A_CHANNEL_STATS_STOPPED_IN_FLIGHT] =
		READ_ONCE(ch->txq.stops[OMERTA_QUEUE_IN_FLIGHT]);
	stats[OMERTA_A_CHANNEL_STATS_HANDED_OVER] =
		READ_ONCE(ch->txq.stops[OMERTA_QUEUE_HELPER]);
}
