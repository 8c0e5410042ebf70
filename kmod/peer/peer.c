// SPDX-License-Identifier: GPL-2.0
/*
 * Peers: what a device knows of each other end, from its creation to the last
 * burst that refers to it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "peer/peer.h"

#include <linux/slab.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "compat/compat.h"
#include "peer/event.h"
#include "wire/record.h"
#include "peer/tenant.h"

/* Records may have been on their way for so long. */
#define HOLD_TIME	NSEC_PER_SEC
/* A grace period takes about this long. */
#define REAP_DELAY	DIV_ROUND_UP(HZ, 50)
/* The most that may wait for that */
#define GONE_MAX	1024

/* The seed is random, and a table's own. */
static u32 hash_place(const void *data, u32 len, u32 seed)
{
	const siphash_key_t key = { .key = { seed, ~(u64)seed } };

	return omerta_endpoint_hash(data, &key);
}

static u32 hash_peer(const void *data, u32 len, u32 seed)
{
	const struct omerta_peer *peer = data;

	return hash_place(&peer->place, len, seed);
}

static int compare_place(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct omerta_peer *peer = obj;

	/* A reader may see a place that is being changed: a wrong answer is harmless. */
	return data_race(!omerta_endpoint_remote_equal(&peer->place, arg->key));
}

const struct rhashtable_params omerta_peer_place_params = {
	.head_offset = offsetof(struct omerta_peer, place_node),
	.key_offset = offsetof(struct omerta_peer, place),
	.hashfn = hash_place,
	.obj_hashfn = hash_peer,
	.obj_cmpfn = compare_place,
	.key_len = sizeof(struct omerta_endpoint),
	.automatic_shrinking = true,
};

static struct kmem_cache *peers;

/**
 * omerta_peer_init() - make peers possible
 *
 * Return: 0 or -ENOMEM.
 */
int __init omerta_peer_init(void)
{
	peers = KMEM_CACHE(omerta_peer, SLAB_HWCACHE_ALIGN);
	return peers ? 0 : -ENOMEM;
}

/**
 * omerta_peer_exit() - end what omerta_peer_init() began
 *
 * Context: process context; no peer is left.
 */
void omerta_peer_exit(void)
{
	kmem_cache_destroy(peers);
}

static int peer_link(struct omerta_peer *peer, struct netlink_ext_ack *extack)
{
	struct omerta_tunnel *tun = peer->tun;
	int err;

	err = xa_insert(&tun->peers, peer->id, peer, GFP_KERNEL_ACCOUNT);
	if (err == -EBUSY) {
		NL_SET_ERR_MSG(extack, "a peer with this id exists; use peer-set to change it");
		return -EEXIST;
	}
	if (!err)
		tun->n_peers++;
	return err;
}

/**
 * omerta_peer_create() - add a peer to a device
 * @tun: the device
 * @id: the peer's id, not 0
 * @timer: called when the peer's timer is due
 * @tx_work: work function that sends what is done
 * @extack: says why it is refused
 *
 * Context: process context, the device's lock held.
 * Return: the peer, to be removed with omerta_peer_remove(), or an ERR_PTR().
 */
struct omerta_peer *omerta_peer_create(struct omerta_tunnel *tun, u32 id,
				       void (*timer)(struct timer_list *t),
				       void (*tx_work)(struct work_struct *w),
				       struct netlink_ext_ack *extack)
{
	struct omerta_peer *peer;
	int err = -ENOMEM;

	lockdep_assert_held(&tun->lock);

	peer = kmem_cache_zalloc(peers, GFP_KERNEL_ACCOUNT);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	peer->stats = omerta_peer_stats_alloc();
	if (!peer->stats)
		goto err_peer;
	err = dst_cache_init(&peer->cache, GFP_KERNEL_ACCOUNT);
	if (err)
		goto err_stats;

	peer->tun = tun;
	peer->id = id;
	refcount_set(&peer->refs, 1);
	INIT_LIST_HEAD(&peer->allowed.prefixes);
	omerta_keyring_init(&peer->ring, &tun->keys, tun->dev, id);
	spin_lock_init(&peer->endpoint_lock);
	spin_lock_init(&peer->tx_lock);
	__skb_queue_head_init(&peer->stage);
	INIT_LIST_HEAD(&peer->tx_fifo);
	INIT_LIST_HEAD(&peer->rx_fifo);
	INIT_LIST_HEAD(&peer->rx_ready);
	INIT_WORK(&peer->tx_work, tx_work);
	timer_setup(&peer->timer, timer, 0);
	peer->tx_last = jiffies;
	peer->tell_moved_at = jiffies;
	peer->path_mtu = OMERTA_PATH_UNKNOWN;

	err = peer_link(peer, extack);
	if (err)
		goto err_cache;
	netdev_dbg(tun->dev, "peer %u created\n", id);
	return peer;

err_cache:
	dst_cache_destroy(&peer->cache);
err_stats:
	free_percpu(peer->stats);
err_peer:
	kmem_cache_free(peers, peer);
	return ERR_PTR(err);
}

static void peer_free(struct rcu_head *rcu)
{
	struct omerta_peer *peer = container_of(rcu, struct omerta_peer, rcu);

	pr_debug("peer %u destroyed\n", peer->id);
	dst_cache_destroy(&peer->cache);
	free_percpu(peer->stats);
	kmem_cache_free(peers, peer);
}

/**
 * omerta_peer_get() - refer to a peer from a burst
 * @peer: a peer found under RCU
 *
 * Return: @peer, or NULL if it is on its way out.
 */
struct omerta_peer *omerta_peer_get(struct omerta_peer *peer)
{
	return refcount_inc_not_zero(&peer->refs) ? peer : NULL;
}

/**
 * omerta_peer_put() - end what omerta_peer_get() began
 * @peer: the peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_put(struct omerta_peer *peer)
{
	if (refcount_dec_and_test(&peer->refs))
		call_rcu(&peer->rcu, peer_free);
}

/**
 * omerta_peer_uncharge_stage() - give back the memory of packets that waited
 * @peer: the peer
 * @bytes: their truesize when they were charged
 *
 * Context: the peer's tx_lock held.
 */
void omerta_peer_uncharge_stage(struct omerta_peer *peer, u32 bytes)
{
	lockdep_assert_held(&peer->tx_lock);

	if (!bytes)
		return;
	peer->stage_bytes -= bytes;
	omerta_tenant_uncharge(peer->tun->tenant, OMERTA_RESOURCE_STAGE, bytes);
}

/**
 * omerta_peer_unstage_all() - take all packets that wait
 * @peer: the peer
 * @list: gets them
 *
 * Context: the peer's tx_lock held.
 */
void omerta_peer_unstage_all(struct omerta_peer *peer, struct sk_buff_head *list)
{
	lockdep_assert_held(&peer->tx_lock);

	omerta_peer_uncharge_stage(peer, peer->stage_bytes);
	skb_queue_splice_tail_init(&peer->stage, list);
	peer->key_wanted = false;
}

/**
 * omerta_peer_purge_stage() - drop what waits for a key or a route
 * @peer: the peer
 * @reason: why
 */
void omerta_peer_purge_stage(struct omerta_peer *peer, enum omerta_drop reason)
{
	struct sk_buff_head purged;
	struct sk_buff *skb;

	__skb_queue_head_init(&purged);
	spin_lock_bh(&peer->tx_lock);
	omerta_peer_unstage_all(peer, &purged);
	spin_unlock_bh(&peer->tx_lock);
	while ((skb = __skb_dequeue(&purged)))
		omerta_drop(peer->tun->drops, skb, reason);
}

/**
 * omerta_peer_send_rest() - send here what waits for a worker to send it
 * @peer: the peer, which the caller refers to; bursts that are not sealed stay
 *
 * The worker's CPU may not come to it. If the worker begins later, it finds nothing.
 *
 * Context: process context.
 */
void omerta_peer_send_rest(struct omerta_peer *peer)
{
	/* The work function gives up a reference each time, and may queue itself. */
	bool more = omerta_peer_get(peer);

	while (more) {
		peer->tx_work.func(&peer->tx_work);
		more = cancel_work(&peer->tx_work);
		cond_resched();
	}
}

/**
 * omerta_peer_see_path() - take note of how much the path to a peer takes
 * @peer: the peer
 * @room: bytes of UDP payload
 *
 * Context: the peer's tx_lock held.
 */
void omerta_peer_see_path(struct omerta_peer *peer, u32 room)
{
	lockdep_assert_held(&peer->tx_lock);

	if (likely(room == peer->path_room))
		return;
	peer->path_room = room;
	WRITE_ONCE(peer->path_mtu, omerta_record_fit(room, peer->tun->class));
}

/**
 * omerta_peer_forget_path() - let it not matter how much the path takes
 * @peer: the peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_forget_path(struct omerta_peer *peer)
{
	spin_lock_bh(&peer->tx_lock);
	peer->path_room = 0;
	WRITE_ONCE(peer->path_mtu, OMERTA_PATH_UNKNOWN);
	spin_unlock_bh(&peer->tx_lock);
	spin_lock_bh(&peer->endpoint_lock);
	peer->told_mtu = 0;
	spin_unlock_bh(&peer->endpoint_lock);
}

/**
 * omerta_peer_told_mtu() - take note of what an authentic ICMP error told
 * @peer: the peer
 * @to: the endpoint that the error is about
 * @mtu: how long outer packets may be
 * @until: jiffies until which that is believed
 *
 * A greater MTU than that of an earlier error changes nothing until that one expires.
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_told_mtu(struct omerta_peer *peer, const struct omerta_endpoint *to,
			  u32 mtu, unsigned long until)
{
	spin_lock_bh(&peer->endpoint_lock);
	if (omerta_endpoint_remote_equal(&peer->endpoint, to) &&
	    (!peer->told_mtu || mtu <= peer->told_mtu ||
	     time_after_eq(jiffies, peer->told_until))) {
		peer->told_mtu = mtu;
		peer->told_until = until;
	}
	spin_unlock_bh(&peer->endpoint_lock);
}

/**
 * omerta_peer_forget_source() - let the route say which of our addresses a peer sees
 * @peer: the peer, which does not answer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_forget_source(struct omerta_peer *peer)
{
	struct omerta_endpoint *ep = &peer->endpoint;

	spin_lock_bh(&peer->endpoint_lock);
	if (ep->family == AF_INET)
		ep->src4 = 0;
	else
		ep->src6 = in6addr_any;
	ep->src_if = 0;
	dst_cache_reset(&peer->cache);
	spin_unlock_bh(&peer->endpoint_lock);
}

/* Let the device find a peer where it is now; a dead one nowhere. */
static void rehash(struct omerta_peer *peer)
{
	struct omerta_tunnel *tun = peer->tun;

	lockdep_assert_held(&peer->endpoint_lock);

	if (peer->place.family)
		rhltable_remove(&tun->endpoints, &peer->place_node,
				omerta_peer_place_params);
	peer->place.family = AF_UNSPEC;
	if (READ_ONCE(peer->dead) || !peer->endpoint.family)
		return;
	peer->place = peer->endpoint;
	/* Without memory it is a stranger there until it moves again. */
	if (rhltable_insert(&tun->endpoints, &peer->place_node,
			    omerta_peer_place_params))
		peer->place.family = AF_UNSPEC;
}

/* Unlink: xmit, NAPI, timer and workers may have found the peer before. */
static void peer_unlink(struct omerta_peer *peer)
{
	struct omerta_tunnel *tun = peer->tun;

	lockdep_assert_held(&tun->lock);

	xa_erase(&tun->peers, peer->id);
	tun->n_peers--;
	omerta_allowedips_remove_all(&tun->allowedips, &peer->allowed);
	WRITE_ONCE(peer->dead, true);
	spin_lock_bh(&peer->endpoint_lock);
	rehash(peer);
	spin_unlock_bh(&peer->endpoint_lock);
	omerta_keyring_clear(&peer->ring);
}

/*
 * Finish, after a grace period: neither xmit nor NAPI stages or arms the timer
 * any more. Bursts in flight are left; each has a reference to the peer and
 * finds it dead.
 */
static void peer_finish(struct omerta_peer *peer)
{
	timer_shutdown_sync(&peer->timer);
	/* A worker may keep the peer for longer than a namespace lives. */
	spin_lock_bh(&peer->endpoint_lock);
	dst_cache_reset_now(&peer->cache);
	spin_unlock_bh(&peer->endpoint_lock);
	omerta_peer_send_rest(peer);
	omerta_peer_purge_stage(peer, OMERTA_DROP_TX_DROP_DOWN);
	omerta_peer_put(peer);
}

/**
 * omerta_peer_reap() - finish the removal of peers
 * @tun: the device
 * @wait: finish all, and wait for a grace period if need be; else those for which one has
 *	  passed
 *
 * Context: process context, the device's lock held.
 */
void omerta_peer_reap(struct omerta_tunnel *tun, bool wait)
{
	struct omerta_peer *peer, *tmp;

	lockdep_assert_held(&tun->lock);

	if (list_empty(&tun->gone))
		return;
	if (wait)
		synchronize_net();
	list_for_each_entry_safe(peer, tmp, &tun->gone, gone) {
		if (!wait && !poll_state_synchronize_rcu(peer->gone_at)) {
			queue_delayed_work(system_dfl_wq, &tun->reap_work, REAP_DELAY);
			return;
		}
		list_del(&peer->gone);
		tun->n_gone--;
		peer_finish(peer);
	}
}

/**
 * omerta_peer_reap_work() - work that finishes the removal of peers
 * @work: the device's
 *
 * Context: process context; takes the device's lock.
 */
void omerta_peer_reap_work(struct work_struct *work)
{
	struct omerta_tunnel *tun = container_of(work, struct omerta_tunnel,
						 reap_work.work);

	mutex_lock(&tun->lock);
	omerta_peer_reap(tun, false);
	mutex_unlock(&tun->lock);
}

static void peer_leave(struct omerta_peer *peer)
{
	struct omerta_tunnel *tun = peer->tun;

	peer_unlink(peer);
	list_add_tail(&peer->gone, &tun->gone);
	tun->n_gone++;
}

/**
 * omerta_peer_remove() - take a peer out of its device
 * @peer: the peer; gone for the caller afterwards
 *
 * A CPU that has found the peer before may still carry a packet of it until a grace
 * period has passed. The rest is done later, so that thousands can be removed one by one.
 *
 * Context: process context, the device's lock held.
 */
void omerta_peer_remove(struct omerta_peer *peer)
{
	struct omerta_tunnel *tun = peer->tun;

	peer_leave(peer);
	peer->gone_at = start_poll_synchronize_rcu();
	if (tun->n_gone < GONE_MAX)
		queue_delayed_work(system_dfl_wq, &tun->reap_work, REAP_DELAY);
	else
		omerta_peer_reap(tun, true);
}

/**
 * omerta_peer_remove_all() - take all peers out of a device
 * @tun: the device
 *
 * Context: process context, the device's lock held.
 */
void omerta_peer_remove_all(struct omerta_tunnel *tun)
{
	struct omerta_peer *peer;
	unsigned long id;

	xa_for_each(&tun->peers, id, peer)
		peer_leave(peer);
	omerta_peer_reap(tun, true);
}

/**
 * omerta_peer_by_addr() - find the peer that an address belongs to
 * @tun: the device
 * @v6: whether it is an IPv6 address
 * @addr: the address
 *
 * Context: inside an RCU read-side section.
 * Return: the peer, valid until the section ends, or NULL.
 */
struct omerta_peer *omerta_peer_by_addr(struct omerta_tunnel *tun, bool v6,
					const void *addr)
{
	const struct omerta_allowedips_owner *owner;

	owner = omerta_allowedips_lookup(&tun->allowedips, v6, addr);
	return owner ? container_of(owner, struct omerta_peer, allowed) : NULL;
}

/**
 * omerta_peer_by_dst() - find the peer that an inner packet goes to
 * @tun: the device
 * @skb: the packet; network header set and complete in the linear part
 *
 * Context: inside an RCU read-side section.
 * Return: the peer, valid until the section ends, or NULL.
 */
struct omerta_peer *omerta_peer_by_dst(struct omerta_tunnel *tun,
				       const struct sk_buff *skb)
{
	bool v6 = skb->protocol == htons(ETH_P_IPV6);

	return omerta_peer_by_addr(tun, v6, v6 ? (void *)&ipv6_hdr(skb)->daddr :
						 (void *)&ip_hdr(skb)->daddr);
}

/**
 * omerta_peer_owns_src() - whether an inner packet may come from a peer
 * @peer: the peer
 * @skb: the packet; network header set and complete in the linear part
 *
 * Context: inside an RCU read-side section.
 * Return: true if the packet's source is the peer's.
 */
bool omerta_peer_owns_src(struct omerta_peer *peer, const struct sk_buff *skb)
{
	bool v6 = skb->protocol == htons(ETH_P_IPV6);

	return omerta_peer_by_addr(peer->tun, v6,
				   v6 ? (void *)&ipv6_hdr(skb)->saddr :
					(void *)&ip_hdr(skb)->saddr) == peer;
}

/**
 * omerta_peer_by_endpoint() - find a peer that a datagram may come from
 * @tun: the device
 * @endpoint: where it came from; our address does not matter
 *
 * Context: inside an RCU read-side section.
 * Return: the peer, valid until the section ends, or NULL. Of several in one place,
 * any.
 */
struct omerta_peer *omerta_peer_by_endpoint(struct omerta_tunnel *tun,
					    const struct omerta_endpoint *endpoint)
{
	struct rhlist_head *list;

	list = rhltable_lookup(&tun->endpoints, endpoint,
			       omerta_peer_place_params);
	return list ? container_of(list, struct omerta_peer, place_node) : NULL;
}

static void set_endpoint(struct omerta_peer *peer,
			 const struct omerta_endpoint *endpoint, bool by_record)
{
	bool moved, tell = false;
	u64 now;

	/* Changed by few and seldom: look before taking the lock. */
	if (data_race(omerta_endpoint_equal(&peer->endpoint, endpoint)))
		return;
	now = ktime_get_coarse_boottime_ns();
	spin_lock_bh(&peer->endpoint_lock);
	moved = !omerta_endpoint_remote_equal(&peer->endpoint, endpoint);
	if (moved && by_record && now < peer->left_until &&
	    omerta_endpoint_remote_equal(&peer->left, endpoint))
		goto out;
	if (moved) {
		peer->left = peer->endpoint;
		peer->left_until = by_record ? 0 : now + HOLD_TIME;
		tell = by_record;
		WRITE_ONCE(peer->moved, tell);
	}
	peer->endpoint = *endpoint;
	dst_cache_reset(&peer->cache);
	peer->told_mtu = 0;
	if (moved)
		rehash(peer);
out:
	spin_unlock_bh(&peer->endpoint_lock);
	if (tell)
		omerta_peer_due(peer, jiffies);
}

/**
 * omerta_peer_set_endpoint() - say where a peer is
 * @peer: the peer
 * @endpoint: where it is
 *
 * For a second records from where it was do not change that: they may have been on their way.
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_set_endpoint(struct omerta_peer *peer,
			      const struct omerta_endpoint *endpoint)
{
	set_endpoint(peer, endpoint, false);
}

/**
 * omerta_peer_move() - see where a peer is, and have listeners told if that is new
 * @peer: the peer
 * @endpoint: where an authentic record came from
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_move(struct omerta_peer *peer,
		      const struct omerta_endpoint *endpoint)
{
	set_endpoint(peer, endpoint, true);
}

/**
 * omerta_peer_sent() - a peer was sent what it should answer in some way
 * @peer: the peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_sent(struct omerta_peer *peer)
{
	if (READ_ONCE(peer->waiting_since))
		return;
	if (!cmpxchg(&peer->waiting_since, 0, jiffies | 1))
		omerta_peer_due(peer, jiffies + OMERTA_SILENCE);
}

/**
 * omerta_peer_heard() - something authentic came from a peer
 * @peer: the peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_heard(struct omerta_peer *peer)
{
	if (!READ_ONCE(peer->waiting_since))
		return;
	/* A full barrier: the timer writes the one, then looks at the other. */
	xchg(&peer->waiting_since, 0);
	if (unlikely(READ_ONCE(peer->silent_since)))
		omerta_peer_due(peer, jiffies);
}

/**
 * omerta_peer_stop_waiting() - expect no answer from a peer that may still answer
 * @peer: the peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_stop_waiting(struct omerta_peer *peer)
{
	unsigned long since = READ_ONCE(peer->waiting_since);

	/* Who is known to be silent stays so until something comes. */
	if (since != READ_ONCE(peer->silent_since))
		cmpxchg(&peer->waiting_since, since, 0);
}
