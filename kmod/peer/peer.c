// SPDX-License-Identifier: GPL-2.0
/*
 * Peers: the other ends of a device's tunnels. A peer lives until the last burst that
 * refers to it is done.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "peer/peer.h"

#include <linux/slab.h>
#include <net/dst_metadata.h>

#include "compat/compat.h"

/* A grace period takes about this long. */
#define REAP_DELAY	DIV_ROUND_UP(HZ, 50)
/* Most peers that wait for a grace period. */
#define REMOVED_MAX	1024

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
	err = omerta_ways_init(peers);
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
	omerta_ways_destroy(peers);
	rhashtable_destroy(&peers->keys);
	xa_destroy(&peers->by_id);
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
	peer->peers = peers;
	peer->tun = peers->tun;
	peer->id = id;
	peer->n_channels = 1;
	err = omerta_peer_channel_init(&peer->first, peer, 0);
	if (err)
		goto err_stats;

	err = add_fifos(peer, peers->n_channels);
	if (err)
		goto err_cache;
	refcount_set(&peer->refs, 1);
	INIT_LIST_HEAD(&peer->allowed.prefixes);
	spin_lock_init(&peer->tx_lock);
	__skb_queue_head_init(&peer->waiting);
	init_fifo(&peer->tx_fifo, peer);
	timer_setup(&peer->timer, peers->ops->timer, 0);
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
	dst_cache_destroy(&peer->first.way.cache);
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
	omerta_peer_free_channels(peer);
	while ((more = peer->tx_more)) {
		peer->tx_more = more->older;
		kfree(more);
	}
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
	struct omerta_peer_channel *pc;

	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		write_seqlock_bh(&pc->way.lock);
		if (!pc->index) {
			WRITE_ONCE(peer->path_payload, 0);
			WRITE_ONCE(peer->path_mtu, OMERTA_PATH_UNKNOWN);
		}
		pc->way.told_mtu = 0;
		write_sequnlock_bh(&pc->way.lock);
	}
}

/* Phase 1, unlink: xmit, NAPI, the timer and workers may have found the peer before. */
static void peer_unlink(struct omerta_peer *peer)
{
	struct omerta_peers *peers = peer->peers;
	struct omerta_peer_channel *pc;

	lockdep_assert_held(peers->lock);

	xa_erase(&peers->by_id, peer->id);
	peers->n--;
	omerta_allowedips_remove_all(&peers->allowedips, &peer->allowed);
	WRITE_ONCE(peer->dead, true);
	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		omerta_peer_channel_unlink(pc);
		omerta_keyring_clear(&pc->ring);
	}
	list_add_tail(&peer->removed, &peers->removed);
	peers->n_removed++;
}

/*
 * Phase 2, after a grace period: neither xmit nor NAPI queues packets or arms the timer
 * any more. Bursts in flight remain: their keys have references to the peer, and they find it dead.
 */
static void peer_finish(struct omerta_peer *peer)
{
	struct omerta_peer_channel *pc;

	timer_shutdown_sync(&peer->timer);
	/* A worker may keep the peer for longer than a namespace lives. */
	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		read_seqlock_excl_bh(&pc->way.lock);
		dst_cache_reset_now(&pc->way.cache);
		read_sequnlock_excl_bh(&pc->way.lock);
	}
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

	xa_for_each(&peers->by_id, id, peer) {
		peer_unlink(peer);
		cond_resched();
	}
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
 * omerta_peer_kill_keys() - kill keys of a peer
 * @peer: the peer
 * @limit: why
 * @which: the keys
 *
 * Context: the device's lock held.
 */
void omerta_peer_kill_keys(struct omerta_peer *peer, enum omerta_key_limit limit,
			   enum omerta_keys_which which)
{
	struct omerta_peer_channel *pc;

	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		omerta_keyring_kill(&pc->ring, limit, which);
		/* The ways lead to another host. */
		if (pc->index && limit == OMERTA_KEY_LIMIT_IDENTITY)
			omerta_peer_channel_forget(pc);
	}
}

/**
 * omerta_peer_stop_waiting() - expect no answer to what was sent so far
 * @peer: the peer; one that is silent stays so
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_stop_waiting(struct omerta_peer *peer)
{
	unsigned long since = READ_ONCE(peer->first.waiting_since);

	if (since != READ_ONCE(peer->silent_since))
		cmpxchg(&peer->first.waiting_since, since, 0);
}
