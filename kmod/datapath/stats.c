// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: per CPU, summed when read.
 */
#include "datapath/stats.h"

#include <linux/netdevice.h>
#include <net/dropreason.h>

#include "compat/compat.h"

static_assert(OMERTA_DROPS == OMERTA_A_DEVICE_STATS_MAX -
			      OMERTA_A_DEVICE_STATS_RX_DROP_MALFORMED + 1);

/* The core's reason for each of ours, if one means the same, for drop monitors. */
static const enum skb_drop_reason core_reason[OMERTA_DROPS] = {
	[OMERTA_DROP_RX_DROP_MALFORMED] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_TYPE] = SKB_DROP_REASON_UNHANDLED_PROTO,
	[OMERTA_DROP_RX_DROP_CONTROL] = SKB_DROP_REASON_UNHANDLED_PROTO,
	[OMERTA_DROP_RX_DROP_KEY_UNKNOWN] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_KEY_EXPIRED] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_AUTH] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_REPLAY] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_PLAINTEXT] = SKB_DROP_REASON_IP_INHDR,
	[OMERTA_DROP_RX_DROP_SOURCE] = SKB_DROP_REASON_IP_RPFILTER,
	[OMERTA_DROP_RX_DROP_ECN] = SKB_DROP_REASON_IP_TUNNEL_ECN,
	[OMERTA_DROP_RX_DROP_NOMEM] = SKB_DROP_REASON_NOMEM,
	[OMERTA_DROP_RX_DROP_CONTROL_LIMIT] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_CONTROL_FULL] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[OMERTA_DROP_RX_DROP_CONTROL_INVALID] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_CONTROL_COOKIE] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_CONTROL_REPLAY] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_RX_DROP_CONTROL_UNASKED] = SKB_DROP_REASON_UNHANDLED_PROTO,
	[OMERTA_DROP_RX_DROP_CHECKSUM] = SKB_DROP_REASON_UDP_CSUM,
	[OMERTA_DROP_RX_DROP_SOCKET] = SKB_DROP_REASON_SOCKET_RCVBUFF,
	[OMERTA_DROP_RX_DROP_DOWN] = SKB_DROP_REASON_DEV_READY,
	[OMERTA_DROP_TX_DROP_PROTO] = SKB_DROP_REASON_UNHANDLED_PROTO,
	[OMERTA_DROP_TX_DROP_NO_PEER] = SKB_DROP_REASON_IP_OUTNOROUTES,
	[OMERTA_DROP_TX_DROP_NO_ENDPOINT] = SKB_DROP_REASON_IP_OUTNOROUTES,
	[OMERTA_DROP_TX_DROP_NO_KEY] = SKB_DROP_REASON_NOT_SPECIFIED,
	[OMERTA_DROP_TX_DROP_NO_ROUTE] = SKB_DROP_REASON_IP_OUTNOROUTES,
	[OMERTA_DROP_TX_DROP_TOO_BIG] = SKB_DROP_REASON_PKT_TOO_BIG,
	[OMERTA_DROP_TX_DROP_NOMEM] = SKB_DROP_REASON_NOMEM,
	[OMERTA_DROP_TX_DROP_DOWN] = SKB_DROP_REASON_DEV_READY,
	[OMERTA_DROP_TX_DROP_LOOP] = SKB_DROP_REASON_IP_OUTNOROUTES,
	[OMERTA_DROP_TX_DROP_QUEUE] = SKB_DROP_REASON_FULL_RING,
};

struct omerta_drops __percpu *omerta_drops_alloc(void)
{
	return __netdev_alloc_pcpu_stats(struct omerta_drops, GFP_KERNEL_ACCOUNT);
}

struct omerta_peer_stats __percpu *omerta_peer_stats_alloc(void)
{
	return __netdev_alloc_pcpu_stats(struct omerta_peer_stats, GFP_KERNEL_ACCOUNT);
}

/**
 * omerta_drop_free() - free a packet for which drops have been counted
 * @skb: the packet
 * @reason: of one of them
 *
 * Context: any but hard interrupt.
 */
void omerta_drop_free(struct sk_buff *skb, enum omerta_drop reason)
{
	kfree_skb_reason(skb, core_reason[reason]);
}

/**
 * omerta_drop_many() - the one way to drop
 * @drops: counters of the device
 * @skb: what is dropped; freed. May be NULL.
 * @reason: why
 * @n: for how many packets or records it stands
 *
 * Context: any but hard interrupt.
 */
void omerta_drop_many(struct omerta_drops __percpu *drops, struct sk_buff *skb,
		      enum omerta_drop reason, unsigned int n)
{
	struct omerta_drops *d;

	local_bh_disable();
	d = this_cpu_ptr(drops);
	u64_stats_update_begin(&d->syncp);
	u64_stats_add(&d->count[reason], n);
	u64_stats_update_end(&d->syncp);
	local_bh_enable();
	omerta_drop_free(skb, reason);
}

/**
 * omerta_drops_read() - sum up the drop counters
 * @drops: counters of a device
 * @sum: gets the sums, by reason
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
 * omerta_peer_stats_read() - sum up a peer's statistics
 * @stats: the peer's
 * @sum: gets the sums, by OMERTA_A_PEER_STATS_* less 1
 */
void omerta_peer_stats_read(struct omerta_peer_stats __percpu *stats,
			    u64 sum[OMERTA_PEER_STATS])
{
	int cpu, i;

	memset(sum, 0, OMERTA_PEER_STATS * sizeof(*sum));
	for_each_possible_cpu(cpu) {
		struct omerta_peer_stats *s = per_cpu_ptr(stats, cpu);
		u64 now[OMERTA_PEER_STATS];
		unsigned int start;

		do {
			start = u64_stats_fetch_begin(&s->syncp);
			now[OMERTA_A_PEER_STATS_RX_PACKETS - 1] =
				u64_stats_read(&s->rx_packets);
			now[OMERTA_A_PEER_STATS_RX_BYTES - 1] =
				u64_stats_read(&s->rx_bytes);
			now[OMERTA_A_PEER_STATS_TX_PACKETS - 1] =
				u64_stats_read(&s->tx_packets);
			now[OMERTA_A_PEER_STATS_TX_BYTES - 1] =
				u64_stats_read(&s->tx_bytes);
			now[OMERTA_A_PEER_STATS_RX_RECORDS - 1] =
				u64_stats_read(&s->rx_records);
			now[OMERTA_A_PEER_STATS_RX_OUTER_BYTES - 1] =
				u64_stats_read(&s->rx_outer_bytes);
			now[OMERTA_A_PEER_STATS_TX_RECORDS - 1] =
				u64_stats_read(&s->tx_records);
			now[OMERTA_A_PEER_STATS_TX_OUTER_BYTES - 1] =
				u64_stats_read(&s->tx_outer_bytes);
		} while (u64_stats_fetch_retry(&s->syncp, start));
		for (i = 0; i < OMERTA_PEER_STATS; i++)
			sum[i] += now[i];
	}
}

/**
 * omerta_dev_stats_rx() - count packets that a device received
 * @dev: the device
 * @packets: their number
 * @bytes: of all
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

/**
 * omerta_peer_stats_rx() - count what was received from a peer
 * @stats: the peer's
 * @packets: inner packets
 * @bytes: their bytes
 * @records: records
 * @outer_bytes: their UDP payload
 *
 * Context: BH off.
 */
void omerta_peer_stats_rx(struct omerta_peer_stats __percpu *stats,
			  unsigned int packets, unsigned int bytes,
			  unsigned int records, unsigned int outer_bytes)
{
	struct omerta_peer_stats *s = this_cpu_ptr(stats);

	u64_stats_update_begin(&s->syncp);
	u64_stats_add(&s->rx_packets, packets);
	u64_stats_add(&s->rx_bytes, bytes);
	u64_stats_add(&s->rx_records, records);
	u64_stats_add(&s->rx_outer_bytes, outer_bytes);
	u64_stats_update_end(&s->syncp);
}

/**
 * omerta_peer_stats_tx() - count what was sent to a peer
 * @stats: the peer's
 * @packets: inner packets
 * @bytes: their bytes
 * @records: records
 * @outer_bytes: their UDP payload
 *
 * Context: BH off.
 */
void omerta_peer_stats_tx(struct omerta_peer_stats __percpu *stats,
			  unsigned int packets, unsigned int bytes,
			  unsigned int records, unsigned int outer_bytes)
{
	struct omerta_peer_stats *s = this_cpu_ptr(stats);

	u64_stats_update_begin(&s->syncp);
	u64_stats_add(&s->tx_packets, packets);
	u64_stats_add(&s->tx_bytes, bytes);
	u64_stats_add(&s->tx_records, records);
	u64_stats_add(&s->tx_outer_bytes, outer_bytes);
	u64_stats_update_end(&s->syncp);
}
