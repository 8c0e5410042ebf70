/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PEER_H
#define _OMERTA_PEER_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/seqlock.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/xarray.h>
#include <net/dst_cache.h>

#include <uapi/linux/omerta.h>

#include "peer/allowedips.h"
#include "peer/endpoint.h"
#include "peer/keys.h"
#include "peer/stats.h"

struct omerta_peer;
struct omerta_tunnel;

#define OMERTA_PATH_UNKNOWN	U32_MAX

/* Bit of omerta_tx_fifo.flags: a CPU sends from it. */
#define OMERTA_FIFO_SENDING	0

/* A peer that has not answered for this long is silent. */
#define OMERTA_SILENCE		(15 * HZ)
/* Most ways to an endpoint that datagrams from there, and errors about it, find */
#define OMERTA_PLACE_MAX	8

/* A further channel is silent after this many seconds. */
#define OMERTA_CHANNEL_SILENCE	3
/*
 * A further channel works if so many records came after data. Records that the other end sends
 * anyway are seldom that many, as it sends them 10 s apart.
 */
#define OMERTA_CHANNEL_ANSWERS	8

/**
 * struct omerta_peer_ops - what the layers above do for a peer
 * @timer: timer function of omerta_peer.timer
 * @drain: send or drop every packet of a peer that is being removed
 */
struct omerta_peer_ops {
	void (*timer)(struct timer_list *t);
	void (*drain)(struct omerta_peer *peer);
};

/**
 * struct omerta_handshake - what user space reports of handshakes with a peer
 * @binding: number of the device's binding that it is true for, 0 for none
 * @tries: tries of this end since the latest key
 * @has_kind: @kind is known
 * @kind: &enum omerta_key_kind of the latest key
 * @has_failure: the latest handshake failed
 * @failure: &enum omerta_failure
 */
struct omerta_handshake {
	u32 binding;
	u32 tries;
	bool has_kind;
	u8 kind;
	bool has_failure;
	u8 failure;
};

/**
 * struct omerta_peers - the peers of a device
 * @dev: the device; constant
 * @tun: its private part, for the layers above; constant
 * @ops: constant
 * @lock: the device's configuration lock
 * @by_id: changed under @lock; lookups under @lock or RCU
 * @n: number of peers; lock: @lock
 * @n_channels: number of channels that they are prepared for; lock: @lock
 * @removed: peers whose removal is not finished, oldest first; lock: @lock
 * @n_removed: their number; lock: @lock
 * @reap_work: finishes their removal
 * @keys: by local id; changed under the keyrings' locks
 * @allowedips: by inner address; changed under @lock
 * @by_endpoint: ways of first channels by remote address and port; changed under the ways' locks,
 *		 lookups under RCU
 * @by_further: the same of further channels, but for those from an own port
 */
struct omerta_peers {
	struct net_device *dev;
	struct omerta_tunnel *tun;
	const struct omerta_peer_ops *ops;
	struct mutex *lock; /* serialises the configuration */
	struct xarray by_id;
	unsigned int n;
	unsigned int n_channels;
	struct list_head removed;
	unsigned int n_removed;
	struct delayed_work reap_work;
	struct rhashtable keys;
	struct omerta_allowedips allowedips;
	struct rhltable by_endpoint;
	struct rhltable by_further;
};

/**
 * struct omerta_tx_fifo - bursts that are sent to a peer by one channel
 * @peer: the peer
 * @lock: protects @bursts; BH off
 * @bursts: in the order in which they are sent
 * @flags: OMERTA_FIFO_*
 * @deferred: member of the device's deferred items, when a CPU has sent enough; lock: the
 *	      pool's
 */
struct omerta_tx_fifo {
	struct omerta_peer *peer;
	spinlock_t lock; /* protects @bursts */
	struct list_head bursts;
	unsigned long flags;
	struct list_head deferred;
} ____cacheline_aligned_in_smp;

/**
 * struct omerta_tx_fifos - fifos of a peer for further channels
 * @older: the fifos from before there were more channels; workers may still look at them
 * @n: their number
 * @fifo: the fifos, from the second channel's on
 */
struct omerta_tx_fifos {
	struct omerta_tx_fifos *older;
	unsigned int n;
	struct omerta_tx_fifo fifo[];
};

/**
 * struct omerta_way - where datagrams go
 * @lock: protects the members below, and others of the peer; BH off. Senders read by its
 *	  sequence count, and look into @cache without; they take it to fill @cache.
 * @own_port: they leave by the own port of the peer's channel, not by the listening port
 * @told_mtu: MTU of the path to @endpoint by authentic ICMP errors, 0 for none
 * @told_until: 64-bit jiffies at which @told_mtu expires
 * @endpoint: the other end
 * @cache: route to @endpoint
 * @place: the endpoint as it is in a table of the device, AF_UNSPEC if it is not there
 * @place_node: member of omerta_peers.by_endpoint or omerta_peers.by_further
 */
struct omerta_way {
	seqlock_t lock; /* protects the members below */
	bool own_port;
	u32 told_mtu;
	u64 told_until;
	struct omerta_endpoint endpoint;
	struct dst_cache cache;
	struct omerta_endpoint place;
	struct rhlist_head place_node;
};

/**
 * struct omerta_peer_channel - one of the keys and 4-tuples that a peer's records use at a time
 * @peer: the peer; constant
 * @index: 0 for the one that every peer has; constant
 * @ring: its keys
 *
 * @tx_last: jiffies of the latest record sent
 * @answer_at: jiffies | 1 at which a keepalive answers a record, unless another record is sent
 *	       before; 0 for none
 * @waiting_since: jiffies | 1 of the first data sent since a record was heard, else 0
 *
 * @way: the way of its datagrams
 *
 * In a further channel only:
 * @carries: it was heard, and is not silent; lock: the @way's, read without
 * @heard_at: boot time in ns of the latest authentic record, 0 for never; lock: the @way's
 * @way_heard_at: the same of those that came by @way; lock: the @way's
 * @answers: records heard after data was sent, since it began to carry; at most
 *	     OMERTA_CHANNEL_ANSWERS; lock: the @way's
 * @carry_after: boot time in ns before which it does not carry, though heard; lock: the @way's
 * @setbacks: number of times in a row that it became silent after fewer answers; lock: the @way's
 * @open_now: a key has become active, or the way has changed, so a record is to be sent
 * @probe_at: 64-bit jiffies at which it is to be opened or kept open; timer only
 * @answered_at: 64-bit jiffies of the latest answer; timer only
 */
struct omerta_peer_channel {
	struct omerta_peer *peer;
	unsigned int index;
	struct omerta_keyring ring;

	/* Transmit side */
	unsigned long tx_last ____cacheline_aligned_in_smp;
	unsigned long answer_at;
	unsigned long waiting_since;

	/* Both sides; changed when the endpoint or the route changes */
	struct omerta_way way ____cacheline_aligned_in_smp;
	bool carries;
	int open_now;
	u8 answers;
	u8 setbacks;
	u64 carry_after;
	u64 heard_at;
	u64 way_heard_at;
	u64 probe_at;
	u64 answered_at;
};

/**
 * struct omerta_further - further channels of a peer
 * @rcu: for the deferred free
 * @n: their number
 * @pc: channel 1 and those that follow; they stay as long as the peer
 */
struct omerta_further {
	struct rcu_head rcu;
	unsigned int n;
	struct omerta_peer_channel *pc[];
};

/**
 * struct omerta_peer - the other end of a tunnel
 * @peers: the device's peers; constant
 * @tun: the device's private part, for the layers above; constant
 * @stats: constant
 * @id: constant
 * @keepalive: seconds between persistent keepalives, 0 for none
 * @dead: the peer has been removed from the device
 * @first: its first channel
 * @n_channels: number of channels that are wanted; lock: the device's, read without
 * @further: further channels, NULL before there were any; changed under the device's lock
 * @name: lock: the device's
 * @public_key: opaque; lock: the device's
 * @handshake: lock: the device's
 * @allowed: its allowed IPs; lock: the device's
 * @removed: member of omerta_peers.removed; lock: the device's
 * @removed_at: grace period after which the removal can be finished; lock: the device's
 * @rcu: for the deferred free
 * @timer: runs whenever something may be due
 * @refs: one of the device, one of each worker that is to send, and one of each key that is not
 *	  dead or has bursts in flight
 *
 * @tx_lock: protects @waiting; BH off
 * @waiting: packets that wait for a key or a route; lock: @tx_lock, read without. A packet
 *	     leaves it after its bursts are in a fifo, so a CPU that finds it empty overtakes
 *	     none.
 * @waiting_bytes: memory of @waiting, charged to the tenant; lock: @tx_lock
 * @waiting_reason: enum omerta_drop, used if @waiting is dropped; lock: @tx_lock
 * @key_wanted: a key was asked for, and none has sealed since; set under @tx_lock, cleared
 *		without
 * @path_payload: UDP payload that the path takes, 0 if unknown; lock: the first channel's
 *		  way's, read without
 * @path_mtu: longest inner packet that fits @path_payload, OMERTA_PATH_UNKNOWN if no
 *	      limit is known; as @path_payload
 * @path_channel: the channel whose path @path_payload is of; as @path_payload
 * @tx_fifo: bursts by the first channel
 * @tx_more: bursts by other channels, NULL if there are none; changed while the device is down
 *
 * The endpoint is that of the first channel's way, whose lock protects:
 * @moved: listeners have not been told about the endpoint; read without the lock
 * @left: the endpoint before the administrator changed it
 * @left_until: boot time in ns until which no record moves the peer back to @left
 * @tell_moved_at: jiffies at which listeners may be told again; timer only
 *
 * @rx_last: boot time in ns of the latest authentic record, 0 for never
 * @silent_since: the first channel's waiting_since of the silence that listeners were told
 *		  about, 0 if they were told that the peer is alive; written by the timer
 * @initiation_at: theoretical arrival time of the limit on initiations from @endpoint;
 *		   used by the worker of control.c only
 */
struct omerta_peer {
	struct omerta_peers *peers;
	struct omerta_tunnel *tun;
	struct omerta_peer_stats __percpu *stats;
	u32 id;
	u16 keepalive;
	bool dead;
	unsigned int n_channels;
	struct omerta_further __rcu *further;
	char name[OMERTA_PEER_NAME_LEN + 1];
	u8 public_key[OMERTA_KEY_LEN];
	struct omerta_handshake handshake;
	struct omerta_allowedips_owner allowed;
	struct list_head removed;
	unsigned long removed_at;
	struct rcu_head rcu;
	struct timer_list timer;
	refcount_t refs;

	/* Transmit side */
	spinlock_t tx_lock ____cacheline_aligned_in_smp; /* protects @waiting */
	bool key_wanted;
	u8 waiting_reason;
	u32 waiting_bytes;
	struct sk_buff_head waiting;
	u32 path_payload;
	u32 path_mtu;
	unsigned int path_channel;
	struct omerta_tx_fifos *tx_more;
	struct omerta_tx_fifo tx_fifo;
	struct omerta_peer_channel first;

	/* Both sides; changed when the endpoint or the route changes */
	bool moved;
	struct omerta_endpoint left;
	u64 left_until;
	unsigned long tell_moved_at;

	/* Receive side */
	u64 rx_last ____cacheline_aligned_in_smp;
	unsigned long silent_since;
	u64 initiation_at;
};

int omerta_peers_init(struct omerta_peers *peers);
void omerta_peers_destroy(struct omerta_peers *peers);
void omerta_peers_remove_all(struct omerta_peers *peers);
void omerta_peers_reap(struct omerta_peers *peers, bool wait);

int omerta_peers_set_channels(struct omerta_peers *peers, unsigned int n);
int omerta_ways_init(struct omerta_peers *peers);
void omerta_ways_destroy(struct omerta_peers *peers);

int omerta_peer_init(void);
void omerta_peer_exit(void);
struct omerta_peer *omerta_peer_create(struct omerta_peers *peers, u32 id,
				       struct netlink_ext_ack *extack);
int omerta_peer_set_channels(struct omerta_peer *peer, unsigned int n);
void omerta_peer_free_channels(struct omerta_peer *peer);
void omerta_peer_remove(struct omerta_peer *peer);
struct omerta_peer *omerta_peer_get(struct omerta_peer *peer);
void omerta_peer_put(struct omerta_peer *peer);
struct omerta_peer *omerta_peer_by_addr(struct omerta_peers *peers, bool v6,
					const void *addr);
struct omerta_peer *omerta_peer_by_endpoint(struct omerta_peers *peers,
					    const struct omerta_endpoint *endpoint);
struct rhlist_head *omerta_ways_at(struct omerta_peers *peers,
				   const struct omerta_endpoint *endpoint, bool further);
void omerta_peer_set_endpoint(struct omerta_peer *peer,
			      const struct omerta_endpoint *endpoint, bool by_record);
void omerta_peer_forget_source(struct omerta_peer *peer);
void omerta_peer_stop_waiting(struct omerta_peer *peer);
void omerta_peer_forget_path(struct omerta_peer *peer);
void omerta_peer_told_mtu(struct omerta_peer_channel *pc, const struct omerta_endpoint *to,
			  u32 mtu, u64 until);
struct omerta_peer_channel *omerta_peer_channel_at(struct omerta_peer *peer, unsigned int index);
struct omerta_peer_channel *omerta_peer_next_channel(struct omerta_peer_channel *pc);
void omerta_peer_kill_keys(struct omerta_peer *peer, enum omerta_key_limit limit,
			   enum omerta_keys_which which);
void omerta_peer_due(struct omerta_peer *peer, unsigned long when);
int omerta_peer_channel_init(struct omerta_peer_channel *pc, struct omerta_peer *peer,
			     unsigned int index);
void omerta_peer_channel_unlink(struct omerta_peer_channel *pc);
void omerta_peer_channel_heard(struct omerta_peer_channel *pc, const struct omerta_key *key,
			       const struct omerta_endpoint *from, bool own_port);
bool omerta_peer_channel_silent(struct omerta_peer_channel *pc, unsigned long since);
void omerta_peer_channel_forget(struct omerta_peer_channel *pc);
void omerta_peer_channel_open(struct omerta_peer_channel *pc);
u32 omerta_peer_mtu(const struct omerta_peer *peer, const struct sk_buff *skb);

#endif /* _OMERTA_PEER_H */
