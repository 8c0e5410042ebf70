/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_STATS_H
#define _OMERTA_STATS_H

#include <linux/skbuff.h>
#include <linux/u64_stats_sync.h>

#include <uapi/linux/omerta.h>

struct omerta_channel;

/*
 * Drop reasons in the order of the counters in the uapi header: OMERTA_DROP(RX_AUTH) is
 * counted as OMERTA_A_DEVICE_STATS_RX_DROP_AUTH.
 */
#define OMERTA_DROP_ATTR(reason) \
	((reason) - 1 + OMERTA_A_DEVICE_STATS_RX_DROP_MALFORMED)
#define OMERTA_DROP(dir, name) \
	OMERTA_DROP_##dir##_##name = OMERTA_A_DEVICE_STATS_##dir##_DROP_##name - \
				     OMERTA_A_DEVICE_STATS_RX_DROP_MALFORMED + 1,

/* Calls @each with the direction and the name of each reason. */
#define OMERTA_EACH_DROP(each)		\
	each(RX, MALFORMED)		\
	each(RX, TYPE)			\
	each(RX, CONTROL)		\
	each(RX, KEY_UNKNOWN)		\
	each(RX, KEY_EXPIRED)		\
	each(RX, AUTH)			\
	each(RX, REPLAY)		\
	each(RX, PLAINTEXT)		\
	each(RX, SOURCE)		\
	each(RX, ECN)			\
	each(RX, NOMEM)			\
	each(RX, CONTROL_LIMIT)		\
	each(RX, CONTROL_FULL)		\
	each(RX, CONTROL_INVALID)	\
	each(RX, CONTROL_COOKIE)	\
	each(RX, CONTROL_REPLAY)	\
	each(RX, CONTROL_UNASKED)	\
	each(RX, CHECKSUM)		\
	each(RX, SOCKET)		\
	each(RX, DOWN)			\
	each(TX, PROTO)			\
	each(TX, NO_PEER)		\
	each(TX, NO_ENDPOINT)		\
	each(TX, NO_KEY)		\
	each(TX, NO_ROUTE)		\
	each(TX, TOO_BIG)		\
	each(TX, NOMEM)			\
	each(TX, DOWN)			\
	each(TX, LOOP)			\
	each(TX, QUEUE)

/**
 * enum omerta_drop - why a packet or record is dropped
 */
enum omerta_drop {
	OMERTA_DROP_NONE,
	OMERTA_EACH_DROP(OMERTA_DROP)
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
void omerta_drop(struct omerta_channel *ch, struct sk_buff *skb, enum omerta_drop reason,
		 unsigned int n);
void omerta_drop_free(struct sk_buff *skb, enum omerta_drop reason);
void omerta_drops_read(struct omerta_drops __percpu *drops,
		       u64 sum[OMERTA_DROPS]);
void omerta_dev_stats_rx(struct net_device *dev, unsigned int packets,
			 unsigned int bytes);

#endif /* _OMERTA_STATS_H */
