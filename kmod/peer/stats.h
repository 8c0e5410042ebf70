/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PEER_STATS_H
#define _OMERTA_PEER_STATS_H

#include <linux/types.h>
#include <linux/u64_stats_sync.h>

#include <uapi/linux/omerta.h>

/**
 * struct omerta_peer_stats - per-CPU statistics of a peer
 * @rx_packets: inner packets delivered
 * @rx_bytes: their bytes
 * @tx_packets: inner packets sent
 * @tx_bytes: their bytes
 * @rx_records: fresh authentic records, keepalives too
 * @rx_outer_bytes: their UDP payload
 * @tx_records: records sent, keepalives too
 * @tx_outer_bytes: their UDP payload
 * @syncp: for readers on 32-bit machines
 *
 * In the order of OMERTA_A_PEER_STATS_*.
 */
struct omerta_peer_stats {
	u64_stats_t rx_packets;
	u64_stats_t rx_bytes;
	u64_stats_t tx_packets;
	u64_stats_t tx_bytes;
	u64_stats_t rx_records;
	u64_stats_t rx_outer_bytes;
	u64_stats_t tx_records;
	u64_stats_t tx_outer_bytes;
	struct u64_stats_sync syncp;
};

#define OMERTA_PEER_STATS	OMERTA_A_PEER_STATS_MAX

struct omerta_peer_stats __percpu *omerta_peer_stats_alloc(void);
void omerta_peer_stats_read(struct omerta_peer_stats __percpu *stats,
			    u64 sum[OMERTA_PEER_STATS]);
void omerta_peer_stats_rx(struct omerta_peer_stats __percpu *stats,
			  unsigned int packets, unsigned int bytes,
			  unsigned int records, unsigned int outer_bytes);
void omerta_peer_stats_tx(struct omerta_peer_stats __percpu *stats,
			  unsigned int packets, unsigned int bytes,
			  unsigned int records, unsigned int outer_bytes);

#endif /* _OMERTA_PEER_STATS_H */
