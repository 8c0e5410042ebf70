/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PEER_H
#define _OMERTA_PEER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/dst_cache.h>

#include "peer/endpoint.h"
#include "peer/keys.h"
#include "datapath/tunnel.h"

#define OMERTA_PATH_UNKNOWN	U32_MAX

/* In struct omerta_peer's flags: somebody sends what is done. */
#define OMERTA_PEER_SENDING	0

/* After so long without an answer a peer is silent. */
#define OMERTA_SILENCE		(15 * HZ)

/**
 * struct omerta_peer - the other end
 * @tun: the device; constant
 * @id: constant
 * @name: lock: the device's
 * @public_key: opaque; lock: the device's
 * @refs: the device's table, and one per burst in flight
 * @dead: it has been taken out of the device
 * @allowed: its prefixes; lock: the device's
 * @ring: its keys
 * @endpoint_lock: protects @endpoint and what @cache and @told_mtu hold for it; BH off
 * @endpoint: where it is; lock: @endpoint_lock
 * @left: where the administrator has moved it from; lock: @endpoint_lock
 * @left_until: boot time in ns until which no record moves it back there; lock:
 *		@endpoint_lock
 * @cache: route to @endpoint; lock: @endpoint_lock
 * @told_mtu: MTU of the path to @endpoint by authentic ICMP errors, 0 if there was none;
 *	      lock: @endpoint_lock
 * @told_until: jiffies at which @told_mtu is forgotten; lock: @endpoint_lock
 * @tx_lock: makes staging serial; BH off
 * @stage: packets that wait for a key or a route; lock: @tx_lock
 * @stage_bytes: memory of what is in @stage, charged to the tenant; lock: @tx_lock
 * @stage_why: what it will be dropped for, if it comes to that; lock: @tx_lock
 * @key_wanted: a key was asked for and none has sealed since; lock: @tx_lock
 * @path_room: UDP payload that the path was seen to take; lock: @tx_lock
 * @path_mtu: longest packet that fits that, OMERTA_PATH_UNKNOWN if it does not
 *	      matter; lock: @tx_lock, read without
 * @tx_fifo: bursts in counter order; lock: @tx_lock
 * @flags: OMERTA_PEER_*
 * @tx_work: goes on sending where a CPU sent enough
 * @rx_fifo: bursts in the order of arrival; the device's NAPI only
 * @rx_ready: member of the device's list if the first of them is open
 * @timer: for all that is due at some time
 * @keepalive: seconds between persistent keepalives, 0 for none
 * @tx_last: jiffies of the last record sent
 * @answer_at: jiffies, and 1, at which an empty record answers a non-empty one, unless
 *	       another is sent before; else 0
 * @rx_last: boot time in ns of the last authentic record, 0 for never
 * @waiting_since: jiffies, and 1, of the first data that it was sent since something
 *		   authentic came from it, else 0; see omerta_peer_sent()
 * @silent_since: @waiting_since of the silence that listeners know of, 0 if they know
 *		  that it is alive; written by the timer
 * @initiation_at: of the limit on initiations from @endpoint; see control.c, whose worker
 *		   alone uses it
 * @moved: listeners do not know @endpoint yet; lock: @endpoint_lock, read without
 * @tell_moved_at: jiffies at which they are told next; the timer's
 * @place: where the device's table has it, no place if it has not; lock:
 *	   @endpoint_lock
 * @place_node: member of that table
 * @stats: statistics
 * @gone: while it is being removed; lock: the device's
 * @gone_at: the grace period that has to pass before the rest of the removal
 * @rcu: for the deferred free
 */
struct omerta_peer {
	struct omerta_tunnel *tun;
	u32 id;
	char name[OMERTA_PEER_NAME_LEN + 1];
	u8 public_key[OMERTA_KEY_LEN];
	refcount_t refs;
	bool dead;
	struct omerta_allowedips_owner allowed;
	struct omerta_keyring ring;
	spinlock_t endpoint_lock; /* of @endpoint and @cache */
	struct omerta_endpoint endpoint;
	struct omerta_endpoint left;
	u64 left_until;
	struct dst_cache cache;
	u32 told_mtu;
	unsigned long told_until;
	spinlock_t tx_lock; /* of all that stages */
	struct sk_buff_head stage;
	u32 stage_bytes;
	enum omerta_drop stage_why;
	bool key_wanted;
	u32 path_room;
	u32 path_mtu;
	struct list_head tx_fifo;
	unsigned long flags;
	struct work_struct tx_work;
	struct list_head rx_fifo;
	struct list_head rx_ready;
	struct timer_list timer;
	u16 keepalive;
	unsigned long tx_last;
	unsigned long answer_at;
	u64 rx_last;
	unsigned long waiting_since;
	unsigned long silent_since;
	u64 initiation_at;
	bool moved;
	unsigned long tell_moved_at;
	struct omerta_endpoint place;
	struct rhlist_head place_node;
	struct omerta_peer_stats __percpu *stats;
	struct list_head gone;
	unsigned long gone_at;
	struct rcu_head rcu;
};

extern const struct rhashtable_params omerta_peer_place_params;

struct omerta_peer *omerta_peer_create(struct omerta_tunnel *tun, u32 id,
				       void (*timer)(struct timer_list *t),
				       void (*tx_work)(struct work_struct *w),
				       struct netlink_ext_ack *extack);
int omerta_peer_init(void);
void omerta_peer_exit(void);
void omerta_peer_remove(struct omerta_peer *peer);
void omerta_peer_remove_all(struct omerta_tunnel *tun);
void omerta_peer_reap(struct omerta_tunnel *tun, bool wait);
void omerta_peer_reap_work(struct work_struct *work);
struct omerta_peer *omerta_peer_get(struct omerta_peer *peer);
void omerta_peer_put(struct omerta_peer *peer);
struct omerta_peer *omerta_peer_by_addr(struct omerta_tunnel *tun, bool v6,
					const void *addr);
struct omerta_peer *omerta_peer_by_dst(struct omerta_tunnel *tun,
				       const struct sk_buff *skb);
bool omerta_peer_owns_src(struct omerta_peer *peer, const struct sk_buff *skb);
struct omerta_peer *omerta_peer_by_endpoint(struct omerta_tunnel *tun,
					    const struct omerta_endpoint *endpoint);
void omerta_peer_set_endpoint(struct omerta_peer *peer,
			      const struct omerta_endpoint *endpoint);
void omerta_peer_move(struct omerta_peer *peer,
		      const struct omerta_endpoint *endpoint);
void omerta_peer_sent(struct omerta_peer *peer);
void omerta_peer_heard(struct omerta_peer *peer);
void omerta_peer_stop_waiting(struct omerta_peer *peer);
void omerta_peer_see_path(struct omerta_peer *peer, u32 room);
void omerta_peer_forget_source(struct omerta_peer *peer);
void omerta_peer_forget_path(struct omerta_peer *peer);
void omerta_peer_uncharge_stage(struct omerta_peer *peer, u32 bytes);
void omerta_peer_told_mtu(struct omerta_peer *peer, const struct omerta_endpoint *to,
			  u32 mtu, unsigned long until);
void omerta_peer_unstage_all(struct omerta_peer *peer, struct sk_buff_head *list);
void omerta_peer_send_rest(struct omerta_peer *peer);
void omerta_peer_purge_stage(struct omerta_peer *peer, enum omerta_drop reason);

/**
 * omerta_peer_mtu() - how long packets to a peer may be, as far as is known
 * @peer: the peer
 *
 * Return: bytes.
 */
static inline u32 omerta_peer_mtu(const struct omerta_peer *peer)
{
	return min(READ_ONCE(peer->tun->dev->mtu), READ_ONCE(peer->path_mtu));
}

/**
 * omerta_peer_due() - have the timer look at a peer soon enough
 * @peer: the peer
 * @when: jiffies; an earlier appointment stays
 *
 * The timer sees all that the caller wrote before, then or earlier.
 */
static inline void omerta_peer_due(struct omerta_peer *peer, unsigned long when)
{
	/*
	 * Pairs with omerta_timers_run(): timer_reduce() looks without a lock whether the
	 * timer is pending.
	 */
	smp_mb();
	if (!READ_ONCE(peer->dead))
		timer_reduce(&peer->timer, when);
}

#endif /* _OMERTA_PEER_H */
