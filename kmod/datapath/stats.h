/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_STATS_H
#define _OMERTA_STATS_H

#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

#include <uapi/linux/omerta.h>

/*
 * Drop reasons in the order of the counters in the uapi header: OMERTA_DROP(RX_AUTH) is
 * counted as OMERTA_A_DEVICE_STATS_RX_DROP_AUTH.
 */
#define OMERTA_DROP_ATTR(reason) \
	((reason) - 1 + OMERTA_A_DEVICE_STATS_RX_DROP_MALFORMED)
#define OMERTA_DROP(dir, name) \
	OMERTA_DROP_##dir##_##name = OMERTA_A_DEVICE_STATS_##dir##_DROP_##name - \
				     OMERTA_A_DEVICE_STATS_RX_DROP_MALFORMED + 1

/**
 * enum omerta_drop - why a packet or record is dropped
 */
enum omerta_drop {
	OMERTA_DROP_NONE,
	OMERTA_DROP(RX, MALFORMED),
	OMERTA_DROP(RX, TYPE),
	OMERTA_DROP(RX, CONTROL),
	OMERTA_DROP(RX, KEY_UNKNOWN),
	OMERTA_DROP(RX, KEY_EXPIRED),
	OMERTA_DROP(RX, AUTH),
	OMERTA_DROP(RX, REPLAY),
	OMERTA_DROP(RX, PLAINTEXT),
	OMERTA_DROP(RX, SOURCE),
	OMERTA_DROP(RX, ECN),
	OMERTA_DROP(RX, NOMEM),
	OMERTA_DROP(RX, CONTROL_LIMIT),
	OMERTA_DROP(RX, CONTROL_FULL),
	OMERTA_DROP(RX, CONTROL_INVALID),
	OMERTA_DROP(RX, CONTROL_COOKIE),
	OMERTA_DROP(RX, CONTROL_REPLAY),
	OMERTA_DROP(RX, CONTROL_UNASKED),
	OMERTA_DROP(RX, CHECKSUM),
	OMERTA_DROP(RX, SOCKET),
	OMERTA_DROP(RX, DOWN),
	OMERTA_DROP(TX, PROTO),
	OMERTA_DROP(TX, NO_PEER),
	OMERTA_DROP(TX, NO_ENDPOINT),
	OMERTA_DROP(TX, NO_KEY),
	OMERTA_DROP(TX, NO_ROUTE),
	OMERTA_DROP(TX, TOO_BIG),
	OMERTA_DROP(TX, NOMEM),
	OMERTA_DROP(TX, DOWN),
	OMERTA_DROP(TX, LOOP),
	OMERTA_DROP(TX, QUEUE),
	OMERTA_DROPS,
	OMERTA_DROPS_RX = OMERTA_DROP_TX_PROTO,
};

#undef OMERTA_DROP

/**
 * struct omerta_drops - per-CPU drop counters of a device
 * @count: packets or records by reason
 * @syncp: for readers on 32-bit machines
 */
struct omerta_drops {
	u64_stats_t count[OMERTA_DROPS];
	struct u64_stats_sync syncp;
};

struct omerta_drops __percpu *omerta_drops_alloc(void);
void omerta_drop(struct omerta_drops __percpu *drops, struct sk_buff *skb,
		 enum omerta_drop reason, unsigned int n);
void omerta_drop_free(struct sk_buff *skb, enum omerta_drop reason);
void omerta_drops_read(struct omerta_drops __percpu *drops,
		       u64 sum[OMERTA_DROPS]);
void omerta_dev_stats_rx(struct net_device *dev, unsigned int packets,
			 unsigned int bytes);

#endif /* _OMERTA_STATS_H */
