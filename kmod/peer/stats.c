// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics of peers: per CPU, summed when they are read.
 */
#include "peer/stats.h"

#include <linux/netdevice.h>
#include <linux/string.h>

#include "compat/compat.h"

/**
 * omerta_peer_stats_alloc() - allocate the statistics of a peer
 *
 * Return: the statistics, to be freed by free_percpu(), or NULL.
 */
struct omerta_peer_stats __percpu *omerta_peer_stats_alloc(void)
{
	return __netdev_alloc_pcpu_stats(struct omerta_peer_stats, GFP_KERNEL_ACCOUNT);
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
