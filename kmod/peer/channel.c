// SPDX-License-Identifier: GPL-2.0
/*
 * Channels of a peer: keys and ways beside each other. A way is where the datagrams of a channel
 * go, and is found by its endpoint.
 */
#include "peer/peer.h"

#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <net/ipv6.h>

#include "compat/compat.h"
#include "peer/trace.h"

/* Records from the old endpoint may be in flight for this long. */
#define HOLD_TIME	NSEC_PER_SEC
/* After this time without a record another way is taken. */
#define SILENCE		((u64)OMERTA_CHANNEL_SILENCE * NSEC_PER_SEC)
/* The same for one that leads away from the first channel's address; more than an idle one has */
#define SILENCE_KNOWN	(15 * (u64)NSEC_PER_SEC)
/* A further channel that did not work twice rests for twice this time, then four times, ... */
#define SETBACK		(10 * (u64)NSEC_PER_SEC)
#define SETBACKS_MAX	7

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

static u32 hash_way(const void *data, u32 len, u32 seed)
{
	const struct omerta_way *way = data;

	return hash_place(&way->place, len, seed);
}

static int compare_place(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct omerta_way *way = obj;

	/* A reader may see a place that is being changed. A wrong result is harmless. */
	return data_race(!omerta_endpoint_remote_equal(&way->place, arg->key));
}

static const struct rhashtable_params place_params = {
	.head_offset = offsetof(struct omerta_way, place_node),
	.key_offset = offsetof(struct omerta_way, place),
	.hashfn = hash_place,
	.obj_hashfn = hash_way,
	.obj_cmpfn = compare_place,
	.key_len = sizeof(struct omerta_endpoint),
	.automatic_shrinking = true,
};

/**
 * omerta_ways_init() - set up the tables of ways of a device
 * @peers: the device's peers
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int omerta_ways_init(struct omerta_peers *peers)
{
	int err = rhltable_init(&peers->by_endpoint, &place_params);

	if (err)
		return err;
	err = rhltable_init(&peers->by_further, &place_params);
	if (err)
		rhltable_destroy(&peers->by_endpoint);
	return err;
}

/**
 * omerta_ways_destroy() - undo omerta_ways_init()
 * @peers: the device's peers, of which none is left
 *
 * Context: process context.
 */
void omerta_ways_destroy(struct omerta_peers *peers)
{
	rhltable_destroy(&peers->by_further);
	rhltable_destroy(&peers->by_endpoint);
}

static struct omerta_peer *ring_peer(struct omerta_keyring *ring)
{
	return container_of(ring, struct omerta_peer_channel, ring)->peer;
}

static void ring_due(struct omerta_keyring *ring)
{
	omerta_peer_due(ring_peer(ring), jiffies);
}

static void ring_get(struct omerta_keyring *ring)
{
	refcount_inc(&ring_peer(ring)->refs);
}

static void ring_put(struct omerta_keyring *ring)
{
	omerta_peer_put(ring_peer(ring));
}

static const struct omerta_keyring_ops ring_ops = {
	.due = ring_due,
	.get = ring_get,
	.put = ring_put,
};

/**
 * omerta_peer_channel_init() - set up a channel of a peer
 * @pc: zeroed
 * @peer: the peer
 * @index: number of the channel
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int omerta_peer_channel_init(struct omerta_peer_channel *pc, struct omerta_peer *peer,
			     unsigned int index)
{
	struct omerta_peers *peers = peer->peers;

	pc->peer = peer;
	pc->index = index;
	omerta_keyring_init(&pc->ring, &peers->keys, peers->dev, peer->id, index, &ring_ops);
	pc->tx_last = jiffies;
	seqlock_init(&pc->way.lock);
	return dst_cache_init(&pc->way.cache, GFP_KERNEL_ACCOUNT);
}

static struct omerta_peer_channel *channel_alloc(struct omerta_peer *peer, unsigned int index)
{
	struct omerta_peer_channel *pc = kzalloc_obj(*pc, GFP_KERNEL_ACCOUNT);

	if (pc && omerta_peer_channel_init(pc, peer, index)) {
		kfree(pc);
		return NULL;
	}
	return pc;
}

/**
 * omerta_peer_set_channels() - have a peer want a number of channels
 * @peer: the peer
 * @n: the number, at least 1
 *
 * Channels above it stay, as records may still arrive in them.
 *
 * Context: process context, the device's lock held.
 * Return: 0; or -ENOMEM, then nothing has changed. Fewer than ever before can always be set.
 */
int omerta_peer_set_channels(struct omerta_peer *peer, unsigned int n)
{
	struct omerta_further *was, *further;
	unsigned int i;

	lockdep_assert_held(peer->peers->lock);

	was = rcu_dereference_protected(peer->further, lockdep_is_held(peer->peers->lock));
	i = was ? was->n : 0;
	if (n - 1 > i) {
		further = kzalloc(struct_size(further, pc, n - 1), GFP_KERNEL_ACCOUNT);
		if (!further)
			return -ENOMEM;
		if (i)
			memcpy(further->pc, was->pc, i * sizeof(*further->pc));
		for (further->n = i; further->n < n - 1; further->n++) {
			further->pc[further->n] = channel_alloc(peer, further->n + 1);
			if (!further->pc[further->n])
				goto err;
		}
		rcu_assign_pointer(peer->further, further);
		if (was)
			kfree_rcu(was, rcu);
	}
	WRITE_ONCE(peer->n_channels, n);
	omerta_peer_due(peer, jiffies);
	return 0;

err:
	while (further->n-- > i) {
		dst_cache_destroy(&further->pc[further->n]->way.cache);
		kfree(further->pc[further->n]);
	}
	kfree(further);
	return -ENOMEM;
}

/**
 * omerta_peer_free_channels() - free the channels of a peer
 * @peer: the peer, without references
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_free_channels(struct omerta_peer *peer)
{
	struct omerta_further *further =
		rcu_dereference_protected(peer->further, !refcount_read(&peer->refs));

	while (further && further->n--) {
		dst_cache_destroy(&further->pc[further->n]->way.cache);
		kfree(further->pc[further->n]);
	}
	kfree(further);
	dst_cache_destroy(&peer->first.way.cache);
}

/**
 * omerta_peer_channel_at() - find a channel of a peer
 * @peer: the peer
 * @index: its number
 *
 * Context: inside an RCU read-side section, or the device's lock held.
 * Return: the channel, which stays as long as the peer, or NULL.
 */
struct omerta_peer_channel *omerta_peer_channel_at(struct omerta_peer *peer, unsigned int index)
{
	const struct omerta_further *further;

	if (!index)
		return &peer->first;
	further = rcu_dereference_check(peer->further, lockdep_is_held(peer->peers->lock));
	return further && index <= further->n ? further->pc[index - 1] : NULL;
}

/**
 * omerta_peer_next_channel() - go through the channels of a peer, from its first one on
 * @pc: a channel
 *
 * Context: as omerta_peer_channel_at().
 * Return: the next one, or NULL.
 */
struct omerta_peer_channel *omerta_peer_next_channel(struct omerta_peer_channel *pc)
{
	return omerta_peer_channel_at(pc->peer, pc->index + 1);
}

/*
 * Enter a channel's way into the device's table by its current endpoint. The ways of a dead
 * peer leave it. A way from an own port leads where the first channel leads, or did.
 */
static void update_place(struct omerta_peer_channel *pc)
{
	struct omerta_peers *peers = pc->peer->peers;
	struct rhltable *table = pc->index ? &peers->by_further : &peers->by_endpoint;
	struct omerta_way *way = &pc->way;
	struct rhlist_head *list;
	unsigned int n = 0;

	lockdep_assert_held(&way->lock.lock);

	if (way->place.family)
		rhltable_remove(table, &way->place_node, place_params);
	way->place.family = AF_UNSPEC;
	if (READ_ONCE(pc->peer->dead) || !way->endpoint.family || way->own_port)
		return;
	/* The list of all ways to an endpoint is gone through, so it is short. */
	rcu_read_lock();
	for (list = rhltable_lookup(table, &way->endpoint, place_params);
	     list && n < OMERTA_PLACE_MAX; n++)
		list = rcu_dereference(list->next);
	rcu_read_unlock();
	/* Beyond that, and without memory, it counts as a stranger there until it moves again. */
	if (n == OMERTA_PLACE_MAX)
		return;
	way->place = way->endpoint;
	if (rhltable_insert(table, &way->place_node, place_params))
		way->place.family = AF_UNSPEC;
}

/**
 * omerta_peer_channel_unlink() - take a channel's way out of the device's tables
 * @pc: a channel of a dead peer
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_channel_unlink(struct omerta_peer_channel *pc)
{
	read_seqlock_excl_bh(&pc->way.lock);
	update_place(pc);
	read_sequnlock_excl_bh(&pc->way.lock);
}

/**
 * omerta_ways_at() - find the ways to an endpoint
 * @peers: the device's peers
 * @endpoint: the endpoint; our address does not matter
 * @further: search the ways of further channels instead of those of first channels
 *
 * Context: inside an RCU read-side section.
 * Return: list of the ways by their place_node, or NULL.
 */
struct rhlist_head *omerta_ways_at(struct omerta_peers *peers,
				   const struct omerta_endpoint *endpoint, bool further)
{
	return rhltable_lookup(further ? &peers->by_further : &peers->by_endpoint, endpoint,
			       place_params);
}

/**
 * omerta_peer_by_endpoint() - find a peer at an endpoint
 * @peers: the device's peers
 * @endpoint: the endpoint; our address does not matter
 *
 * Context: inside an RCU read-side section.
 * Return: any peer whose first channel leads there, valid until the section ends, or NULL.
 */
struct omerta_peer *omerta_peer_by_endpoint(struct omerta_peers *peers,
					    const struct omerta_endpoint *endpoint)
{
	struct rhlist_head *list = omerta_ways_at(peers, endpoint, false);

	return list ? container_of(list, struct omerta_peer, first.way.place_node) : NULL;
}

/**
 * omerta_peer_told_mtu() - note the MTU of an authentic ICMP error
 * @pc: the channel of the peer whose record it quotes
 * @to: the endpoint that the error is about
 * @mtu: longest outer packet
 * @until: 64-bit jiffies at which the MTU expires
 *
 * Until then a greater MTU in another error changes nothing.
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_told_mtu(struct omerta_peer_channel *pc, const struct omerta_endpoint *to,
			  u32 mtu, u64 until)
{
	struct omerta_way *way = &pc->way;

	write_seqlock_bh(&way->lock);
	if (omerta_endpoint_remote_equal(&way->endpoint, to) &&
	    (!way->told_mtu || mtu <= way->told_mtu ||
	     time_after_eq64(get_jiffies_64(), way->told_until))) {
		way->told_mtu = mtu;
		way->told_until = until;
	}
	write_sequnlock_bh(&way->lock);
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
	struct omerta_endpoint *ep = &peer->first.way.endpoint;

	write_seqlock_bh(&peer->first.way.lock);
	if (ep->family == AF_INET)
		ep->src4 = 0;
	else
		ep->src6 = in6addr_any;
	ep->src_if = 0;
	dst_cache_reset(&peer->first.way.cache);
	write_sequnlock_bh(&peer->first.way.lock);
}

/* Have a channel send from its own port to the peer's endpoint; see omerta_peer_channel_heard(). */
static void open_way(struct omerta_peer_channel *pc, u64 heard_at)
{
	struct omerta_way *way = &pc->way, *first = &pc->peer->first.way;
	struct omerta_endpoint to;

	read_seqlock_excl_bh(&first->lock);
	to = first->endpoint;
	read_sequnlock_excl_bh(&first->lock);
	write_seqlock_bh(&way->lock);
	way->endpoint = to;
	way->own_port = true;
	way->told_mtu = 0;
	dst_cache_reset(&way->cache);
	update_place(pc);
	pc->way_heard_at = heard_at;
	write_sequnlock_bh(&way->lock);
}

/**
 * omerta_peer_channel_open() - send by a new way in a further channel
 * @pc: the channel
 *
 * It leads from the channel's own port to the peer's endpoint.
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_channel_open(struct omerta_peer_channel *pc)
{
	open_way(pc, 0);
}

/**
 * omerta_peer_set_endpoint() - set a peer's endpoint
 * @peer: the peer
 * @endpoint: the endpoint
 * @by_record: it is the source of an authentic record; else the administrator sets it
 *
 * Listeners are told if a record moves the peer. For a second after the administrator has
 * moved it, records from the previous endpoint do not move it back: they may have been in
 * flight. The administrator's holds for further channels as well.
 *
 * Context: any but hard interrupt; the device's lock held unless @by_record.
 */
void omerta_peer_set_endpoint(struct omerta_peer *peer,
			      const struct omerta_endpoint *endpoint, bool by_record)
{
	bool moved, tell = false;
	struct omerta_peer_channel *pc;
	u64 now;

	/* It rarely changes: compare before taking the lock. */
	if (data_race(!memcmp(&peer->first.way.endpoint, endpoint, sizeof(*endpoint))))
		return;
	now = ktime_get_coarse_boottime_ns();
	write_seqlock_bh(&peer->first.way.lock);
	moved = !omerta_endpoint_remote_equal(&peer->first.way.endpoint, endpoint);
	if (moved && by_record && now < peer->left_until &&
	    omerta_endpoint_remote_equal(&peer->left, endpoint))
		goto out;
	if (moved) {
		peer->left = peer->first.way.endpoint;
		peer->left_until = by_record ? 0 : now + HOLD_TIME;
		tell = by_record;
		WRITE_ONCE(peer->moved, tell);
	}
	peer->first.way.endpoint = *endpoint;
	dst_cache_reset(&peer->first.way.cache);
	peer->first.way.told_mtu = 0;
	if (moved) {
		trace_omerta_endpoint(peer->peers->dev, peer->id, endpoint, by_record);
		update_place(&peer->first);
	}
out:
	write_sequnlock_bh(&peer->first.way.lock);
	if (tell)
		omerta_peer_due(peer, jiffies);
	if (!moved || by_record)
		return;
	lockdep_assert_held(peer->peers->lock);
	/*
	 * The administrator wants no datagrams at the previous one. A channel without a way is
	 * opened when it has a key; any other way is replaced. So no lock is needed to look.
	 */
	for (pc = omerta_peer_next_channel(&peer->first); pc; pc = omerta_peer_next_channel(pc)) {
		/* see above */
		if (!data_race(pc->way.endpoint.family))
			continue;
		open_way(pc, now);
		WRITE_ONCE(pc->open_now, 1);
	}
	omerta_peer_due(peer, jiffies);
}

/* Return true if both have the same address, whatever the port. */
static bool is_host(const struct omerta_endpoint *a, const struct omerta_endpoint *b)
{
	struct omerta_endpoint c = *a;

	c.port = b->port;
	return omerta_endpoint_remote_equal(&c, b);
}

/**
 * omerta_peer_channel_heard() - note an authentic record in a further channel
 * @pc: the channel
 * @key: its key
 * @from: source of the record
 * @own_port: it came to the channel's own port
 *
 * The channel's datagrams go back by the way that it came, unless another way had a record in the
 * last seconds. If both ends opened the channel at the same time, one of them waits longer for
 * that, so that they do not change ways for ever. A way to the first channel's address is
 * preferred, as another one may be that of a copy of a record, which came first.
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_channel_heard(struct omerta_peer_channel *pc, const struct omerta_key *key,
			       const struct omerta_endpoint *from, bool own_port)
{
	struct omerta_way *way = &pc->way, *first = &pc->peer->first.way;
	u64 now = ktime_get_coarse_boottime_ns(), wait;
	struct omerta_endpoint at = {};
	bool same;

	/* Once a tick is enough. */
	if (data_race(pc->heard_at == now && (pc->carries || now < pc->carry_after) &&
		      !pc->waiting_since && !memcmp(&way->endpoint, from, sizeof(*from))))
		return;
	/* All channels share the first one's lock, so it is taken only if the way may change. */
	if (data_race(way->own_port != own_port ||
		      !omerta_endpoint_remote_equal(&way->endpoint, from))) {
		read_seqlock_excl_bh(&first->lock);
		at = first->endpoint;
		read_sequnlock_excl_bh(&first->lock);
	}
	write_seqlock_bh(&way->lock);
	same = way->own_port == own_port && omerta_endpoint_remote_equal(&way->endpoint, from);
	if (is_host(&at, from) == is_host(&at, &way->endpoint))
		wait = SILENCE + (key->local_id < key->remote_id ? NSEC_PER_SEC : 0);
	else
		wait = is_host(&at, from) ? 0 : SILENCE_KNOWN;
	if (same || !pc->way_heard_at || now >= pc->way_heard_at + wait) {
		if (!same || memcmp(&way->endpoint, from, sizeof(*from))) {
			way->endpoint = *from;
			way->own_port = own_port;
			way->told_mtu = 0;
			dst_cache_reset(&way->cache);
		}
		if (!same)
			update_place(pc);
		pc->way_heard_at = now;
	}
	pc->heard_at = now;
	if (READ_ONCE(pc->waiting_since)) {
		WRITE_ONCE(pc->waiting_since, 0);
		pc->answers = min(pc->answers + 1, OMERTA_CHANNEL_ANSWERS);
	}
	if (!pc->carries && now >= pc->carry_after) {
		pc->answers = 0;
		WRITE_ONCE(pc->carries, true);
	}
	write_sequnlock_bh(&way->lock);
}

/**
 * omerta_peer_channel_silent() - have a further channel carry nothing, as nothing was heard in it
 * @pc: the channel
 * @since: its waiting_since
 *
 * A record that comes does not tell that ours arrive. So a channel that did not work twice does
 * not carry again with the next record, but 20 s later, then 40 s, and so on.
 *
 * Context: any but hard interrupt.
 * Return: true if the other end opened the channel by a way that did not work. We try another one.
 */
bool omerta_peer_channel_silent(struct omerta_peer_channel *pc, unsigned long since)
{
	u64 now = ktime_get_coarse_boottime_ns();
	bool other_way = false;

	read_seqlock_excl_bh(&pc->way.lock);
	if (pc->carries && READ_ONCE(pc->waiting_since) == since) {
		WRITE_ONCE(pc->carries, false);
		if (pc->answers >= OMERTA_CHANNEL_ANSWERS)
			pc->setbacks = 0;
		else if (pc->setbacks < SETBACKS_MAX)
			pc->setbacks++;
		pc->carry_after = pc->setbacks > 1 ? now + (SETBACK << (pc->setbacks - 1)) : 0;
		other_way = pc->setbacks && !pc->way.own_port;
	}
	read_sequnlock_excl_bh(&pc->way.lock);
	return other_way;
}

/**
 * omerta_peer_channel_forget() - have a further channel carry nothing until it is heard again
 * @pc: the channel
 *
 * Context: any but hard interrupt.
 */
void omerta_peer_channel_forget(struct omerta_peer_channel *pc)
{
	read_seqlock_excl_bh(&pc->way.lock);
	WRITE_ONCE(pc->carries, false);
	WRITE_ONCE(pc->waiting_since, 0);
	pc->heard_at = 0;
	pc->setbacks = 0;
	pc->carry_after = 0;
	pc->way_heard_at = 0;
	read_sequnlock_excl_bh(&pc->way.lock);
}
