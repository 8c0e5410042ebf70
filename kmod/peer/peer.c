// SPDX-License-Identifier: GPL-2.0
/*
 * Peers: the other ends of a device's tunnels. A peer lives until the last burst that
 * refers to it is done.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "peer/peer.h"

#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/dst_metadata.h>
#include <net/ipv6.h>

#include "compat/compat.h"
#include "peer/event.h"
#include "peer/trace.h"

/* Records from the old endpoint may be in flight for this long. */
#define HOLD_TIME	NSEC_PER_SEC
/* A grace period takes about this long. */
#define REAP_DELAY	DIV_ROUND_UP(HZ, 50)
/* Most peers that wait for a grace period. */
#define REMOVED_MAX	1024

/**
 * omerta_endpoint_remote_equal() - compare the remote address and port of endpoints
 * @a: an endpoint
 * @b: another endpoint
 *
 * Return: true if they are equal. Our own address does not matter.
 */
bool omerta_endpoint_remote_equal(const struct omerta_endpoint *a,
				  const struct omerta_endpoint *b)
{
	if (a->family != b->family || a->port != b->port ||
	    a->scope != b->scope)
		return false;
	return a->family == AF_INET ? a->addr4 == b->addr4 :
				      ipv6_addr_equal(&a->addr6, &b->addr6);
}

/* Hash the remote address and port. The seed is random, and differs between tables. */
static u32 hash_place(const void *data, u32 len, u32 seed)
{
	const siphash_key_t key = { .key = { seed, ~(u64)seed } };
	const struct omerta_endpoint *ep = data;

	if (ep->family == AF_INET)
		return siphash_2u32((__force u32)ep->addr4,
				    (__force u32)ep->port, &key);
	return siphash_3u64(get_unaligned((const u64 *)&ep->addr6),
			    get_unaligned((const u64 *)&ep->addr6 + 1),
			    (__force u64)ep->port, &key);
}

static u32 hash_peer(const void *data, u32 len, u32 seed)
{
	const struct omerta_peer *peer = data;

	return hash_place(&peer->place, len, seed);
}

static int compare_place(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct omerta_peer *peer = obj;

	/* A reader may see a place that is being changed. A wrong result is harmless. */
	return data_race(!omerta_endpoint_remote_equal(&peer->place, arg->key));
}

static const struct rhashtable_params place_params = {
	.head_offset = offsetof(struct omerta_peer, place_node),
	.key_offset = offsetof(struct omerta_peer, place),
	.hashfn = hash_place,
	.obj_hashfn = hash_peer,
	.obj_cmpfn = compare_place,
	.key_len = sizeof(struct omerta_endpoint),
	.automatic_shrinking = true,
};

static struct kmem_cache *peer_cache;

/**
 * omerta_peer_init() - set up the allocator of peers, at module load
 *
 * Return: 0 or -ENOMEM.
 */
int __init omerta_peer_init(void)
{
	peer_cache = KMEM_CACHE(omerta_peer, SLAB_HWCACHE_ALIGN);
	return peer_cache ? 0 : -ENOMEM;
}

/**
 * omerta_peer_exit() - undo omerta_peer_init()
 *
 * Context: process context; no peer is left.
 */
void omerta_peer_exit(void)
{
	kmem_cache_destroy(peer_cache);
}

static void reap_work(struct work_struct *work)
{
	struct omerta_peers *peers = container_of(work, struct omerta_peers,
						  reap_work.work);

	mutex_lock(peers->lock);
	omerta_peers_reap(peers, false);
	mutex_unlock(peers->lock);
}

/**
 * omerta_peers_init() - set up the peers of a device
 * @peers: zeroed, except for @dev, @tun, @ops and @lock
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int omerta_peers_init(struct omerta_peers *peers)
{
	int err;

	xa_init(&peers->by_id);
	INIT_LIST_HEAD(&peers->removed);
	INIT_DELAYED_WORK(&peers->reap_work, reap_work);
	omerta_allowedips_init(&peers->allowedips, peers->lock);
	err = rhashtable_init(&peers->keys, &omerta_key_params);
	if (err)
		return err;
	err = rhltable_init(&peers->by_endpoint, &place_params);
	if (err)
		rhashtable_destroy(&peers->keys);
	return err;
}

/**
 * omerta_peers_destroy() - undo omerta_peers_init()
 * @peers: all have been removed
 *
 * Context: process context; the device's lock not held.
 */
void omerta_peers_destroy(struct omerta_peers *peers)
{
	cancel_delayed_work_sync(&peers->reap_work);
	rhltable_destroy(&peers->by_endpoint);
	rhashtable_destroy(&peers->keys);
	xa_destroy(&peers->by_id);
}

static void ring_due(struct omerta_keyring *ring)
{
	omerta_peer_due(container_of(ring, struct omerta_peer, ring), jiffies);
}

static void init_fifo(struct omerta_tx_fifo *fifo, struct omerta_peer *peer)
{
	fifo->peer = peer;
	spin_lock_init(&fifo->lock);
	INIT_LIST_HEAD(&fifo->bursts);
	INIT_LIST_HEAD(&fifo->deferred);
}

/* Have fifos for a number of channels. Earlier ones stay, as a worker may look at them. */
static int add_fifos(struct omerta_peer *peer, unsigned int n_channels)
{
	unsigned int n = n_channels - 1, i;
	struct omerta_tx_fifos *more;

	if (n <= (peer->tx_more ? peer->tx_more->n : 0))
		return 0;
	more = kzalloc(struct_size(more, fifo, n), GFP_KERNEL_ACCOUNT);
	if (!more)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		init_fifo(&more->fifo[i], peer);
	more->n = n;
	more->older = peer->tx_more;
	peer->tx_more = more;
	return 0;
}

/**
 * omerta_peers_set_channels() - prepare all peers for a number of channels
 * @peers: the peers of a device that is down
 * @n: the number, at least 1
 *
 * Context: process context, the device's lock held.
 * Return: 0 or -ENOMEM. In both cases they are also prepared for as many as before.
 */
int omerta_peers_set_channels(struct omerta_peers *peers, unsigned int n)
{
	struct omerta_peer *peer;
	unsigned long id;
	int err;

	lockdep_assert_held(peers->lock);

	xa_for_each(&peers->by_id, id, peer) {
		err = add_fifos(peer, n);
		if (err)
			return err;
	}
	peers->n_channels = n;
	return 0;
}

/**
 * omerta_peer_create() - add a peer to a device
 * @peers: the device's peers
 * @id: the peer's id, not 0
 * @extack: gets the reason of a refusal
 *
 * Context: process context, the device's lock held.
 * Return: the peer, to be removed with omerta_peer_remove(), or an ERR_PTR().
 */
struct omerta_peer *omerta_peer_create(struct omerta_peers *peers, u32 id,
				       struct netlink_ext_ack *extack)
{
	struct omerta_peer *peer;
	int err = -ENOMEM;

	lockdep_assert_held(peers->lock);

	peer = kmem_cache_zalloc(peer_cache, GFP_KERNEL_ACCOUNT);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	peer->stats = omerta_peer_stats_alloc();
	if (!peer->stats)
		goto err_peer;
	err = dst_cache_init(&peer->cache, GFP_KERNEL_ACCOUNT);
	if (err)
		goto err_stats;

	err = add_fifos(peer, peers->n_channels);
	if (err)
		goto err_cache;
	peer->peers = peers;
	peer->tun = peers->tun;
	peer->id = id;
	refcount_set(&peer->refs, 1);
	INIT_LIST_HEAD(&peer->allowed.prefixes);
	omerta_keyring_init(&peer->ring, &peers->keys, peers->dev, id, ring_due);
	spin_lock_init(&peer->endpoint_lock);
	spin_lock_init(&peer->tx_lock);
	__skb_queue_head_init(&peer->waiting);
	init_fifo(&peer->tx_fifo, peer);
	timer_setup(&peer->timer, peers->ops->timer, 0);
	peer->tx_last = jiffies;
	peer->tell_moved_at = jiffies;
	peer->path_mtu = OMERTA_PATH_UNKNOWN;

	err = xa_insert(&peers->by_id, id, peer, GFP_KERNEL_ACCOUNT);
	if (err == -EBUSY) {
		NL_SET_ERR_MSG(extack, "a peer with this id exists; use peer-set to change it");
		err = -EEXIST;
	}
	if (err)
		goto err_fifos;
	peers->n++;
	netdev_dbg(peers->dev, "peer %u created\n", id);
	return peer;

err_fifos:
	kfree(peer->tx_more);
err_cache:
	dst_cache_destroy(&peer->cache);
err_stats:
	free_percpu(peer->stats);
err_peer:
	kmem_cache_free(peer_cache, peer);
	return ERR_PTR(err);
}

static void peer_free(struct rcu_head *rcu)
{
	struct omerta_peer *peer = container_of(rcu, struct omerta_peer, rcu);
	struct omerta_tx_fifos *more;

	pr_debug("peer %u destroyed\n", peer->id);
	while ((more = peer->tx_more)) {
		peer->tx_more = more->older;
		kfree(more);
	}
	dst_cache_destroy(&peer->cache);
	free_percpu(peer->stats);
	kmem_cache_free(peer_cache, peer);
}

/**
 * omerta_peer_get() - take a reference to a peer
 * @peer: a peer found under RCU
 *
 * Return: @peer, or NULL if it is being freed.
 */
struct omerta_peer *omerta_peer_get(struct omerta_peer *peer)
{
	return refcount_inc_not_zero(&peer->refs) ? peer : NULL;
}

/**
 * omerta_peer_put() - put a reference to a peer
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
 * omerta_peer_due() - have the timer look at a peer
 * @peer: the peer
 * @when: jiffies; an earlier expiry stays
 *
 * The timer sees everything that the caller wrote before.
 *
 * Context: any.
 */
void omerta_peer_due(struct omerta_peer *peer, unsigned long when)
{
	/*
	 * Pairs with the barrier in omerta_timers_run(): timer_reduce() checks without a
	 * lock whether the timer is pending.
	 */
	smp_mb();
	if (!READ_ONCE(peer->dead))
		timer_reduce(&peer->timer, when);
}

/**
 * omerta_peer_mtu() - longest inner packet to a peer
 * @peer: the peer
 * @skb: packet whose route may take less, or NULL
 *
 * Return: bytes, as far as the path is known; other packets of the same record and padding
 * included.
 */
u32 omerta_peer_mtu(const struct omerta_peer *peer, const struct sk_buff *skb)
{
	u32 mtu = min(READ_ONCE(peer->peers->dev->mtu), READ_ONCE(peer->path_mtu));

	return skb && skb_valid_dst(skb) ? min(mtu, dst_mtu(skb_dst(skb))) : mtu;
}

/**
 * omerta_peer_forget_path() - forget how much the path to a peer takes
 * @peer: the peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_forget_path(struct omerta_peer *peer)
{
	spin_lock_bh(&peer->tx_lock);
	peer->path_payload = 0;
	WRITE_ONCE(peer->path_mtu, OMERTA_PATH_UNKNOWN);
	spin_unlock_bh(&peer->tx_lock);
	spin_lock_bh(&peer->endpoint_lock);
	peer->told_mtu = 0;
	spin_unlock_bh(&peer->endpoint_lock);
}

/**
 * omerta_peer_told_mtu() - note the MTU of an authentic ICMP error
 * @peer: the peer
 * @to: the endpoint that the error is about
 * @mtu: longest outer packet
 * @until: jiffies at which the MTU expires
 *
 * Until then a greater MTU in another error changes nothing.
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
 * omerta_peer_forget_source() - forget which of our addresses a peer sends to
 * @peer: a peer that does not answer
 *
 * The route then chooses the source address.
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

/* Enter a peer into the device's table by its current endpoint. A dead peer leaves it. */
static void update_place(struct omerta_peer *peer)
{
	struct rhltable *table = &peer->peers->by_endpoint;

	lockdep_assert_held(&peer->endpoint_lock);

	if (peer->place.family)
		rhltable_remove(table, &peer->place_node, place_params);
	peer->place.family = AF_UNSPEC;
	if (READ_ONCE(peer->dead) || !peer->endpoint.family)
		return;
	peer->place = peer->endpoint;
	/* Without memory it counts as a stranger there until it moves again. */
	if (rhltable_insert(table, &peer->place_node, place_params))
		peer->place.family = AF_UNSPEC;
}

/* Phase 1, unlink: xmit, NAPI, the timer and workers may have found the peer before. */
static void peer_unlink(struct omerta_peer *peer)
{
	struct omerta_peers *peers = peer->peers;

	lockdep_assert_held(peers->lock);

	xa_erase(&peers->by_id, peer->id);
	peers->n--;
	omerta_allowedips_remove_all(&peers->allowedips, &peer->allowed);
	WRITE_ONCE(peer->dead, true);
	spin_lock_bh(&peer->endpoint_lock);
	update_place(peer);
	spin_unlock_bh(&peer->endpoint_lock);
	omerta_keyring_clear(&peer->ring);
	list_add_tail(&peer->removed, &peers->removed);
	peers->n_removed++;
}

/*
 * Phase 2, after a grace period: neither xmit nor NAPI queues packets or arms the timer
 * any more. Bursts in flight remain; each has a reference to the peer and finds it dead.
 */
static void peer_finish(struct omerta_peer *peer)
{
	timer_shutdown_sync(&peer->timer);
	/* A worker may keep the peer for longer than a namespace lives. */
	spin_lock_bh(&peer->endpoint_lock);
	dst_cache_reset_now(&peer->cache);
	spin_unlock_bh(&peer->endpoint_lock);
	peer->peers->ops->drain(peer);
	omerta_peer_put(peer);
}

/**
 * omerta_peers_reap() - finish the removal of peers
 * @peers: the device's peers
 * @wait: finish all of them, and wait for a grace period if needed; else only those whose
 *	  grace period has passed
 *
 * Context: process context, the device's lock held.
 */
void omerta_peers_reap(struct omerta_peers *peers, bool wait)
{
	struct omerta_peer *peer, *tmp;

	lockdep_assert_held(peers->lock);

	if (list_empty(&peers->removed))
		return;
	if (wait)
		synchronize_net();
	list_for_each_entry_safe(peer, tmp, &peers->removed, removed) {
		if (!wait && !poll_state_synchronize_rcu(peer->removed_at)) {
			queue_delayed_work(system_dfl_wq, &peers->reap_work, REAP_DELAY);
			return;
		}
		list_del(&peer->removed);
		peers->n_removed--;
		peer_finish(peer);
	}
}

/**
 * omerta_peer_remove() - remove a peer from its device
 * @peer: the peer; not the caller's any more
 *
 * A CPU that has found the peer before may use it until a grace period has passed. The
 * removal is finished after that, so that thousands can be removed one by one.
 *
 * Context: process context, the device's lock held.
 */
void omerta_peer_remove(struct omerta_peer *peer)
{
	struct omerta_peers *peers = peer->peers;

	peer_unlink(peer);
	peer->removed_at = start_poll_synchronize_rcu();
	if (peers->n_removed < REMOVED_MAX)
		queue_delayed_work(system_dfl_wq, &peers->reap_work, REAP_DELAY);
	else
		omerta_peers_reap(peers, true);
}

/**
 * omerta_peers_remove_all() - remove all peers of a device
 * @peers: the device's peers
 *
 * Context: process context, the device's lock held.
 */
void omerta_peers_remove_all(struct omerta_peers *peers)
{
	struct omerta_peer *peer;
	unsigned long id;

	xa_for_each(&peers->by_id, id, peer)
		peer_unlink(peer);
	omerta_peers_reap(peers, true);
}

/**
 * omerta_peer_by_addr() - find the peer that has an inner address
 * @peers: the device's peers
 * @v6: the address is an IPv6 address
 * @addr: the address, in network order
 *
 * Context: inside an RCU read-side section.
 * Return: the peer, valid until the section ends, or NULL.
 */
struct omerta_peer *omerta_peer_by_addr(struct omerta_peers *peers, bool v6,
					const void *addr)
{
	const struct omerta_allowedips_owner *owner;

	owner = omerta_allowedips_lookup(&peers->allowedips, v6, addr);
	return owner ? container_of(owner, struct omerta_peer, allowed) : NULL;
}

/**
 * omerta_peers_at() - find the peers at an endpoint
 * @peers: the device's peers
 * @endpoint: the endpoint; our address does not matter
 *
 * Context: inside an RCU read-side section.
 * Return: list of the peers by their place_node, or NULL.
 */
struct rhlist_head *omerta_peers_at(struct omerta_peers *peers,
				    const struct omerta_endpoint *endpoint)
{
	return rhltable_lookup(&peers->by_endpoint, endpoint, place_params);
}

/**
 * omerta_peer_by_endpoint() - find a peer at an endpoint
 * @peers: the device's peers
 * @endpoint: the endpoint; our address does not matter
 *
 * Context: inside an RCU read-side section.
 * Return: any peer at that endpoint, valid until the section ends, or NULL.
 */
struct omerta_peer *omerta_peer_by_endpoint(struct omerta_peers *peers,
					    const struct omerta_endpoint *endpoint)
{
	struct rhlist_head *list = omerta_peers_at(peers, endpoint);

	return list ? container_of(list, struct omerta_peer, place_node) : NULL;
}

/**
 * omerta_peer_set_endpoint() - set a peer's endpoint
 * @peer: the peer
 * @endpoint: the endpoint
 * @by_record: it is the source of an authentic record; else the administrator sets it
 *
 * Listeners are told if a record moves the peer. For a second after the administrator has
 * moved it, records from the previous endpoint do not move it back: they may have been in
 * flight.
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_set_endpoint(struct omerta_peer *peer,
			      const struct omerta_endpoint *endpoint, bool by_record)
{
	bool moved, tell = false;
	u64 now;

	/* It rarely changes: compare before taking the lock. */
	if (data_race(!memcmp(&peer->endpoint, endpoint, sizeof(*endpoint))))
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
	if (moved) {
		trace_omerta_endpoint(peer->peers->dev, peer->id, endpoint, by_record);
		update_place(peer);
	}
out:
	spin_unlock_bh(&peer->endpoint_lock);
	if (tell)
		omerta_peer_due(peer, jiffies);
}

/**
 * omerta_peer_stop_waiting() - expect no answer to what was sent so far
 * @peer: the peer; one that is silent stays so
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_stop_waiting(struct omerta_peer *peer)
{
	unsigned long since = READ_ONCE(peer->waiting_since);

	if (since != READ_ONCE(peer->silent_since))
		cmpxchg(&peer->waiting_since, since, 0);
}
