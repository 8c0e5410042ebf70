// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: per CPU, summed when read.
 */
#include "datapath/stats.h"

#include <linux/netdevice.h>
#include <net/dropreason.h>

#include "compat/compat.h"
#include "datapath/tunnel.h"

#define CREATE_TRACE_POINTS
#include "datapath/trace.h"

static_assert(OMERTA_DROP_ATTR(OMERTA_DROPS - 1) == OMERTA_A_DEVICE_STATS_MAX);

/*
 * The core's reason with the same meaning, for drop monitors. It is left open where a reason would
 * lead elsewhere: the kernel's routes know nothing of allowed-ips.
 */
static const enum skb_drop_reason core_reason[OMERTA_DROPS] = {
	[OMERTA_DROP_RX_MALFORMED] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_TYPE] = SKB_DROP_REASON_UNHANDLED_PROTO,
	[OMERTA_DROP_RX_CONTROL] = SKB_DROP_REASON_NO_SOCKET,
	[OMERTA_DROP_RX_KEY_UNKNOWN] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_KEY_EXPIRED] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_AUTH] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_REPLAY] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_PLAINTEXT] = SKB_DROP_REASON_IP_INHDR,
	[OMERTA_DROP_RX_SOURCE] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_ECN] = SKB_DROP_REASON_IP_TUNNEL_ECN,
	[OMERTA_DROP_RX_NOMEM] = SKB_DROP_REASON_NOMEM,
	[OMERTA_DROP_RX_CONTROL_LIMIT] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_CONTROL_FULL] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[OMERTA_DROP_RX_CONTROL_INVALID] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_CONTROL_COOKIE] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_CONTROL_REPLAY] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_CONTROL_UNASKED] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_CHECKSUM] = SKB_DROP_REASON_UDP_CSUM,
	[OMERTA_DROP_RX_SOCKET] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[OMERTA_DROP_RX_DOWN] = SKB_DROP_REASON_DEV_READY,
	[OMERTA_DROP_TX_PROTO] = SKB_DROP_REASON_UNHANDLED_PROTO,
	[OMERTA_DROP_TX_NO_PEER] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_TX_NO_ENDPOINT] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_TX_NO_KEY] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_TX_NO_ROUTE] = SKB_DROP_REASON_IP_OUTNOROUTES,
	[OMERTA_DROP_TX_TOO_BIG] = SKB_DROP_REASON_PKT_TOO_BIG,
	[OMERTA_DROP_TX_NOMEM] = SKB_DROP_REASON_NOMEM,
	[OMERTA_DROP_TX_DOWN] = SKB_DROP_REASON_DEV_READY,
	[OMERTA_DROP_TX_LOOP] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_TX_QUEUE] = SKB_DROP_REASON_FULL_RING,
};

/**
 * omerta_drops_alloc() - allocate the drop counters of a device
 *
 * Return: the counters, to be freed by free_percpu(), or NULL.
 */
struct omerta_drops __percpu *omerta_drops_alloc(void)
{
	return __netdev_alloc_pcpu_stats(struct omerta_drops, GFP_KERNEL_ACCOUNT);
}

/**
 * omerta_drop_free() - free a packet whose drops have been counted
 * @skb: the packet
 * @reason: reason of one of them
 *
 * Context: any but hard interrupt.
 */
void omerta_drop_free(struct sk_buff *skb, enum omerta_drop reason)
{
	kfree_skb_reason(skb, core_reason[reason]);
}

/**
 * omerta_drop() - drop packets or records
 * @ch: the channel
 * @skb: the packets; freed. NULL to count only.
 * @reason: the reason
 * @n: number of packets or records
 *
 * Context: any but hard interrupt.
 */
void omerta_drop(struct omerta_channel *ch, struct sk_buff *skb, enum omerta_drop reason,
		 unsigned int n)
{
	struct omerta_drops *d;

	trace_omerta_drop(ch, skb, reason, n, __builtin_return_address(0));
	/* Others than the CPU that polls a channel drop its packets as well. */
	atomic_long_add(n, reason < OMERTA_DROPS_RX ? &ch->rx_drops : &ch->tx_drops);
	local_bh_disable();
	d = this_cpu_ptr(ch->tun->drops);
	u64_stats_update_begin(&d->syncp);
	u64_stats_add(&d->count[reason], n);
	u64_stats_update_end(&d->syncp);
	local_bh_enable();
	kfree_skb_reason(skb, core_reason[reason]);
}

/**
 * omerta_drops_read() - sum up the drop counters
 * @drops: counters of a device
 * @sum: set to the sums, by reason
 */
void omerta_drops_read(struct omerta_drops __percpu *drops,
		       u64 sum[OMERTA_DROPS])
{
	int cpu, i;

	memset(sum, 0, OMERTA_DROPS * sizeof(*sum));
	for_each_possible_cpu(cpu) {
		struct omerta_drops *d = per_cpu_ptr(drops, cpu);
		u64 now[OMERTA_DROPS];
		unsigned int start;

		do {
			start = u64_stats_fetch_begin(&d->syncp);
			for (i = 0; i < OMERTA_DROPS; i++)
				now[i] = u64_stats_read(&d->count[i]);
		} while (u64_stats_fetch_retry(&d->syncp, start));
		for (i = 0; i < OMERTA_DROPS; i++)
			sum[i] += now[i];
	}
}

/**
 * omerta_dev_stats_rx() - count packets that a device received
 * @dev: the device
 * @packets: their number
 * @bytes: sum of their lengths
 *
 * Context: BH off. The kernel's dev_sw_netstats_rx_add() counts one packet.
 */
void omerta_dev_stats_rx(struct net_device *dev, unsigned int packets,
			 unsigned int bytes)
{
	struct pcpu_sw_netstats *stats = this_cpu_ptr(dev->tstats);

	u64_stats_update_begin(&stats->syncp);
	u64_stats_add(&stats->rx_packets, packets);
	u64_stats_add(&stats->rx_bytes, bytes);
	u64_stats_update_end(&stats->syncp);
}
