/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_STATS_H
#define _OMERTA_STATS_H

#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

#include <uapi/linux/omerta.h>

#define OMERTA_DROP(name) \
	OMERTA_DROP_##name = OMERTA_A_DEVICE_STATS_##name - \
			     OMERTA_A_DEVICE_STATS_RX_DROP_MALFORMED

/**
 * enum omerta_drop - why a packet or record was dropped, in the uapi's order
 */
enum omerta_drop {
	OMERTA_DROP(RX_DROP_MALFORMED),
	OMERTA_DROP(RX_DROP_TYPE),
	OMERTA_DROP(RX_DROP_CONTROL),
	OMERTA_DROP(RX_DROP_KEY_UNKNOWN),
	OMERTA_DROP(RX_DROP_KEY_EXPIRED),
	OMERTA_DROP(RX_DROP_AUTH),
	OMERTA_DROP(RX_DROP_REPLAY),
	OMERTA_DROP(RX_DROP_PLAINTEXT),
	OMERTA_DROP(RX_DROP_SOURCE),
	OMERTA_DROP(RX_DROP_ECN),
	OMERTA_DROP(RX_DROP_NOMEM),
	OMERTA_DROP(RX_DROP_CONTROL_LIMIT),
	OMERTA_DROP(RX_DROP_CONTROL_FULL),
	OMERTA_DROP(RX_DROP_CONTROL_INVALID),
	OMERTA_DROP(RX_DROP_CONTROL_COOKIE),
	OMERTA_DROP(RX_DROP_CONTROL_REPLAY),
	OMERTA_DROP(RX_DROP_CONTROL_UNASKED),
	OMERTA_DROP(RX_DROP_CHECKSUM),
	OMERTA_DROP(RX_DROP_SOCKET),
	OMERTA_DROP(RX_DROP_DOWN),
	OMERTA_DROP(TX_DROP_PROTO),
	OMERTA_DROP(TX_DROP_NO_PEER),
	OMERTA_DROP(TX_DROP_NO_ENDPOINT),
	OMERTA_DROP(TX_DROP_NO_KEY),
	OMERTA_DROP(TX_DROP_NO_ROUTE),
	OMERTA_DROP(TX_DROP_TOO_BIG),
	OMERTA_DROP(TX_DROP_NOMEM),
	OMERTA_DROP(TX_DROP_DOWN),
	OMERTA_DROP(TX_DROP_LOOP),
	OMERTA_DROP(TX_DROP_QUEUE),
	OMERTA_DROPS,
	OMERTA_DROPS_RX = OMERTA_DROP_TX_DROP_PROTO,
};

/* In the place of a reason: it is not dropped. */
#define OMERTA_NO_DROP		(-1)

#undef OMERTA_DROP

/**
 * struct omerta_drops - per-CPU drop counters of a device
 * @count: by reason
 * @syncp: for readers on 32-bit machines
 */
struct omerta_drops {
	u64_stats_t count[OMERTA_DROPS];
	struct u64_stats_sync syncp;
};

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

struct omerta_drops __percpu *omerta_drops_alloc(void);
struct omerta_peer_stats __percpu *omerta_peer_stats_alloc(void);
void omerta_drop_free(struct sk_buff *skb, enum omerta_drop reason);
void omerta_drop_many(struct omerta_drops __percpu *drops, struct sk_buff *skb,
		      enum omerta_drop reason, unsigned int n);
void omerta_drops_read(struct omerta_drops __percpu *drops,
		       u64 sum[OMERTA_DROPS]);
void omerta_peer_stats_read(struct omerta_peer_stats __percpu *stats,
			    u64 sum[OMERTA_PEER_STATS]);
void omerta_dev_stats_rx(struct net_device *dev, unsigned int packets,
			 unsigned int bytes);
void omerta_peer_stats_rx(struct omerta_peer_stats __percpu *stats,
			  unsigned int packets, unsigned int bytes,
			  unsigned int records, unsigned int outer_bytes);
void omerta_peer_stats_tx(struct omerta_peer_stats __percpu *stats,
			  unsigned int packets, unsigned int bytes,
			  unsigned int records, unsigned int outer_bytes);

/* One packet or record, see omerta_drop_many(). */
static inline void omerta_drop(struct omerta_drops __percpu *drops,
			       struct sk_buff *skb, enum omerta_drop reason)
{
	omerta_drop_many(drops, skb, reason, 1);
}

#endif /* _OMERTA_STATS_H */
