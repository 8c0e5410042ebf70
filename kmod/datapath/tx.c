// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit path: take -> assign -> seal -> send.
 *
 * Take collects packets from the qdisc. Assign gives a packet its route, key and counter,
 * and appends it to the fifo of its peer and channel. Seal works outside of all locks, on one
 * CPU or several (tx_burst.c, queue.c). Send takes sealed bursts from the head of the fifo
 * (tx_send.c).
 */
#include "datapath/tx.h"

#include <linux/if_ether.h>
#include <linux/jhash.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>

#include "compat/compat.h"
#include "datapath/reject.h"
#include "datapath/trace.h"
#include "datapath/tx_burst.h"
#include "datapath/txq.h"
#include "datapath/udp.h"
#include "peer/tenant.h"

/* Packets of a peer that may wait for a key or a route. */
#define WAITING_MAX		128
#define WAITING_BYTES		SZ_1M
/* Longest packet that counts as the first one of a peer. */
#define WAITING_BYTES_FIRST	SZ_4K
/*
 * Packets wait this long. Attempts to agree on a key are at most 5.33 s apart: two more of
 * them, and an answer.
 */
#define WAITING_TIME		(12 * HZ)
/* Waiting packets that are sent before a worker sends the rest. */
#define FLUSH_PACKETS		32U
#define FLUSH_BYTES		SZ_64K

/* Fields of the outer header that depend on the packet: the ECN bits, and DF. */
#define OUTER_DF		BIT(2)

static_assert(OUTER_DF > INET_ECN_MASK);

/*
 * Limits for all packets that wait on devices of a tenant: packets that wait are orphaned,
 * so socket limits no longer hold. The first packet to a peer has a higher limit, so that
 * the traffic to one peer cannot keep the first packet to another one from waiting.
 */
static const struct omerta_bounds waiting_bounds = {
	.tenant = SZ_16M,
	.owner = SZ_32M,
	.dead = OMERTA_UNBOUNDED,
};

static const struct omerta_bounds waiting_first_bounds = {
	.tenant = SZ_32M,
	.owner = SZ_64M,
	.dead = OMERTA_UNBOUNDED,
};

/**
 * struct waiting_cb - skb->cb of a packet that waits for a key or a route
 * @since: jiffies at which it began to wait
 * @charge: its truesize at that time, which may grow meanwhile
 */
struct waiting_cb {
	unsigned long since;
	u32 charge;
};

#define WAITING_CB(skb)		((struct waiting_cb *)(skb)->cb)

static_assert(sizeof(struct waiting_cb) <= sizeof_field(struct sk_buff, cb));

/* A packet waits until such a reason has gone. */
#define SHOULD_WAIT(reason) \
	((reason) == OMERTA_DROP_TX_NO_KEY || (reason) == OMERTA_DROP_TX_NO_ROUTE)

/* Fields of the outer header for a packet, NULL for a keepalive. */
static u8 outer_fields(const struct omerta_tunnel *tun, const struct sk_buff *skb)
{
	u8 fields = skb ? ip_tunnel_ecn_encap(0, ip_hdr(skb), skb) : 0;

	switch (READ_ONCE(tun->df)) {
	case OMERTA_DF_SET:
		return fields | OUTER_DF;
	case OMERTA_DF_INHERIT:
		if (skb && (skb->protocol == htons(ETH_P_IPV6) ||
			    ip_hdr(skb)->frag_off & htons(IP_DF)))
			return fields | OUTER_DF;
	}
	return fields;
}

/* Return the channel of a peer that carries the packets of a queue. */
static struct omerta_peer_channel *carrier(struct omerta_peer *peer,
					   const struct omerta_channel *ch)
{
	unsigned int n = READ_ONCE(peer->n_channels), index;
	const struct omerta_further *further;
	struct omerta_peer_channel *pc;
	const struct omerta_key *key;

	/* Most peers have one channel. */
	if (likely(n == 1))
		return &peer->first;
	index = ch->index % min(n, ch->tun->n_channels);
	if (!index)
		return &peer->first;
	further = rcu_dereference(peer->further);
	if (!further || index > further->n)
		return &peer->first;
	pc = further->pc[index - 1];
	if (!READ_ONCE(pc->carries))
		return &peer->first;
	/*
	 * Both ends install the keys of a handshake before one of them is used. A key that is
	 * installed by hand may be missing at the other end.
	 */
	key = rcu_dereference(pc->ring.active);
	return key && (key->handshake || READ_ONCE(key->confirmed)) ? pc : &peer->first;
}

/*
 * Give a burst its route, key and counters, and append it to the fifo. On failure the burst
 * is freed; its packets stay the caller's. The packets of a flow come from one CPU at a time: from
 * the one that has its queue, or before, while they wait, from one that has the peer's tx_lock.
 */
static enum omerta_drop assign_burst(struct omerta_peer_channel *pc, struct omerta_channel *ch,
				     struct omerta_tx_burst *burst, u8 outer)
{
	struct omerta_peer *peer = pc->peer;
	enum omerta_drop reason;
	u32 payload, known;
	unsigned int i, k;
	bool first;

	burst->ch = ch;
again:
	burst->pc = pc;
	burst->path.ecn = outer & INET_ECN_MASK;
	burst->path.df = outer & OUTER_DF;
	reason = omerta_udp_route(ch, pc, burst->outer, &burst->path);
	if (reason)
		goto err_burst;
	if (burst->path.df) {
		payload = omerta_udp_max_payload(&burst->path);
		known = READ_ONCE(peer->path_payload);
		first = !pc->index || !known || READ_ONCE(peer->path_channel) == pc->index;
		if (unlikely(first ? payload != known : payload < known)) {
			read_seqlock_excl(&peer->first.way.lock);
			/* After a change of the setting no burst would correct it. */
			if (READ_ONCE(ch->tun->df) != OMERTA_DF_UNSET &&
			    (first || payload < peer->path_payload)) {
				WRITE_ONCE(peer->path_payload, payload);
				WRITE_ONCE(peer->path_channel, pc->index);
				WRITE_ONCE(peer->path_mtu,
					   omerta_record_fit(payload, ch->tun->class));
			}
			read_sequnlock_excl(&peer->first.way.lock);
		}
		if (unlikely(burst->layout.wire_len > payload)) {
			reason = OMERTA_DROP_TX_TOO_BIG;
			if (!burst->must_pass)
				goto err_route;
			burst->path.df = false;
		}
	}
	reason = OMERTA_DROP_TX_NO_KEY;
	burst->key = omerta_key_seal(&pc->ring, burst->n, burst->wire_len,
				     &burst->counter);
	if (!burst->key)
		goto err_route;
	if (burst->inner.n == 1)
		omerta_record_header(&burst->last, burst->buf.block[0],
				     burst->key->remote_id, burst->counter);
	if (unlikely(READ_ONCE(peer->key_wanted)))
		WRITE_ONCE(peer->key_wanted, false);
	trace_omerta_tx_assign(burst);
	if (trace_omerta_tx_packet_enabled() && burst->packets && !burst->n_skbs)
		trace_omerta_tx_packet(burst, burst->inner.skb, 0, burst->n);
	for (i = 0; trace_omerta_tx_packet_enabled() && burst->n_skbs && i < burst->n; i++)
		for (k = burst->start[i]; k < burst->start[i + 1]; k++)
			trace_omerta_tx_packet(burst, burst->skb[k], i, 1);
	/*
	 * Below, each channel is a flow. A burst may have packets of several flows, so their
	 * hashes would let packets of one flow take different ways.
	 */
	if (ch->index)
		skb_set_hash(burst->outer, jhash_2words(peer->id, ch->index, 0), PKT_HASH_TYPE_L4);
	burst->fifo = ch->index ? &peer->tx_more->fifo[ch->index - 1] : &peer->tx_fifo;
	spin_lock(&burst->fifo->lock);
	list_add_tail(&burst->list, &burst->fifo->bursts);
	spin_unlock(&burst->fifo->lock);
	return OMERTA_DROP_NONE;

err_route:
	dst_release(burst->path.dst);
err_burst:
	/* Packets do not wait for a further channel. */
	if (pc->index && burst->packets && reason != OMERTA_DROP_TX_TOO_BIG) {
		pc = &peer->first;
		goto again;
	}
	/* No packet is lost with it. */
	consume_skb(burst->outer);
	omerta_job_put(&burst->job);
	return reason;
}

/*
 * Make bursts of a packet or super-packet, or a keepalive in channel @pc if @skb is NULL. Returns
 * 0 with the packet consumed and its bursts appended to @jobs, or a reason with nothing done. Adds
 * the memory that is charged to the socket to @charged.
 */
static enum omerta_drop assign_packet(struct omerta_peer_channel *pc, struct sk_buff *skb,
				      struct omerta_jobs *jobs, u32 *charged)
{
	struct omerta_peer *peer = pc->peer;
	struct omerta_tunnel *tun = peer->tun;
	struct omerta_channel *ch =
		tun->channel[skb ? skb_get_queue_mapping(skb) : pc->index];
	u8 outer = outer_fields(tun, skb);
	unsigned int first = 0, total = 0, n = 0;
	struct omerta_tx_burst *burst;
	enum omerta_drop reason;
	bool again = false;

	if (skb)
		pc = carrier(peer, ch);
	do {
		burst = ERR_PTR(-ENOKEY);
		if (rcu_access_pointer(pc->ring.active))
			burst = omerta_tx_burst_alloc(peer, skb, first, omerta_tx_sealed);
		if (!IS_ERR(burst)) {
			total = burst->inner.n;
			n = burst->n;
			burst->must_pass = !skb ||
					   omerta_fits_mtu(skb, OMERTA_MIN_MTU(skb));
			reason = assign_burst(pc, ch, burst, outer);
		} else if (PTR_ERR(burst) == -ENOKEY) {
			reason = OMERTA_DROP_TX_NO_KEY;
		} else {
			reason = PTR_ERR(burst) == -EINVAL ? OMERTA_DROP_TX_PROTO :
							     OMERTA_DROP_TX_NOMEM;
		}
		/* Perhaps only the padding was for a longer path. */
		again = reason == OMERTA_DROP_TX_TOO_BIG && !again &&
			omerta_fits_mtu(skb, READ_ONCE(peer->path_mtu));
		if (again)
			continue;
		if (reason && !first)
			return reason;
		if (reason) {
			/* The rest of a packet cannot wait. */
			omerta_drop(ch, skb, reason, total - first);
			return OMERTA_DROP_NONE;
		}
		first += n;
		/* Each burst has a reference to the packet; the last takes over the caller's. */
		if (first < total)
			skb_get(skb);
		*charged += burst->outer->truesize;
		omerta_jobs_add(jobs, &burst->job);
	} while (first < total);
	return OMERTA_DROP_NONE;
}

static void uncharge_waiting(struct omerta_peer *peer, u32 bytes)
{
	lockdep_assert_held(&peer->tx_lock);

	peer->waiting_bytes -= bytes;
	if (bytes)
		omerta_tenant_uncharge(peer->tun->tenant, OMERTA_RESOURCE_WAITING, bytes);
}

/**
 * omerta_tx_flush() - send packets that waited for a key or a route
 * @peer: the peer
 *
 * A worker sends what would take long.
 *
 * Context: BH off, inside an RCU read-side section.
 */
void omerta_tx_flush(struct omerta_peer *peer)
{
	unsigned int n = FLUSH_PACKETS, len = 0;
	struct omerta_jobs jobs = {};
	u32 bytes, charged = 0;
	enum omerta_drop reason;
	struct sk_buff *skb;

	while (n-- && len < FLUSH_BYTES) {
		reason = OMERTA_DROP_TX_NO_KEY;
		spin_lock_bh(&peer->tx_lock);
		skb = skb_peek(&peer->waiting);
		if (skb) {
			len += skb->len;
			bytes = WAITING_CB(skb)->charge;
			/*
			 * Before it leaves the queue, so that no packet after it overtakes it. Its
			 * bursts hold it: none is sealed before omerta_pool_run() below.
			 */
			reason = assign_packet(&peer->first, skb, &jobs, &charged);
			if (SHOULD_WAIT(reason)) {
				peer->waiting_reason = reason;
			} else {
				__skb_unlink(skb, &peer->waiting);
				uncharge_waiting(peer, bytes);
			}
		}
		spin_unlock_bh(&peer->tx_lock);

		if (SHOULD_WAIT(reason))
			return;
		if (reason)
			omerta_reject(peer->tun, skb, reason, omerta_peer_mtu(peer, NULL));
		else
			omerta_pool_run(&peer->tun->pool, &jobs);
	}
	if (!skb_queue_empty_lockless(&peer->waiting))
		omerta_tx_send_later(&peer->tx_fifo);
}

/*
 * Make bursts of a packet, to be sealed, or let it wait for a key or a route. Returns the memory
 * charged to the socket.
 */
static u32 send_packet(struct omerta_channel *ch, struct omerta_peer *peer,
		       struct sk_buff *skb)
{
	struct omerta_tunnel *tun = ch->tun;
	const struct omerta_bounds *bounds;
	bool waits = false, ask = false;
	enum omerta_drop reason;
	u32 charged = 0, size;

	/* A worker may have begun with the packets that wait, and be slow to go on. */
	if (unlikely(!skb_queue_empty_lockless(&peer->waiting)) &&
	    rcu_access_pointer(peer->first.ring.active))
		omerta_tx_flush(peer);
	reason = OMERTA_DROP_TX_NO_KEY;
	if (likely(skb_queue_empty_lockless(&peer->waiting)))
		reason = assign_packet(&peer->first, skb, &ch->tx_jobs, &charged);
	if (likely(!SHOULD_WAIT(reason)))
		goto out;

	spin_lock_bh(&peer->tx_lock);
	reason = peer->waiting_reason;
	/* A key that was installed since has found no packet here. */
	if (skb_queue_empty(&peer->waiting))
		reason = assign_packet(&peer->first, skb, &ch->tx_jobs, &charged);
	if (SHOULD_WAIT(reason)) {
		size = skb->truesize;
		bounds = skb_queue_empty(&peer->waiting) && size <= WAITING_BYTES_FIRST ?
			 &waiting_first_bounds : &waiting_bounds;
		peer->waiting_reason = reason;
		/* Even if the packet cannot wait, so that a key is asked for again */
		omerta_peer_due(peer, jiffies + HZ);
		waits = skb_queue_len(&peer->waiting) < WAITING_MAX &&
			peer->waiting_bytes <= WAITING_BYTES &&
			!omerta_tenant_charge(tun->tenant, OMERTA_RESOURCE_WAITING, size,
					      bounds);
		if (waits) {
			*WAITING_CB(skb) = (struct waiting_cb) { .since = jiffies, .charge = size };
			peer->waiting_bytes += size;
			/* A sender's socket, or an outer tunnel's queue, must not wait. */
			skb_orphan(skb);
			skb_dst_force(skb);
			__skb_queue_tail(&peer->waiting, skb);
		}
		/* Ask for a key once. */
		ask = reason == OMERTA_DROP_TX_NO_KEY && !READ_ONCE(peer->key_wanted);
		if (ask)
			WRITE_ONCE(peer->key_wanted, true);
	}
	spin_unlock_bh(&peer->tx_lock);
out:
	if (ask)
		omerta_key_needed(&peer->first.ring);
	if (reason && !waits)
		omerta_reject(tun, skb, reason, omerta_peer_mtu(peer, NULL));
	return charged;
}

/* Make bursts of the packets that were collected. Returns the memory charged. */
static u32 send_bunch(struct omerta_channel *ch)
{
	struct omerta_bunch *bunch = &ch->bunch;
	struct omerta_peer *peer = bunch->peer;
	struct omerta_tx_burst *burst;
	u8 outer = bunch->outer;
	unsigned int done = 0;
	u32 charged = 0;

	/* The setting may have changed since the packets were taken. */
	if (READ_ONCE(ch->tun->df) == OMERTA_DF_UNSET)
		outer &= ~OUTER_DF;
	if (bunch->n > 1) {
		while (done < bunch->n && skb_queue_empty_lockless(&peer->waiting) &&
		       rcu_access_pointer(peer->first.ring.active)) {
			burst = omerta_tx_burst_bunch(peer, bunch->skb + done,
						      bunch->n - done, omerta_tx_sealed);
			if (IS_ERR(burst) || assign_burst(carrier(peer, ch), ch, burst, outer))
				break;
			done += burst->n_skbs;
			charged += burst->outer->truesize;
			omerta_jobs_add(&ch->tx_jobs, &burst->job);
		}
	}
	for (; done < bunch->n; done++)
		charged += send_packet(ch, peer, bunch->skb[done]);
	bunch->n = 0;
	return charged;
}

/* Take a packet from the qdisc. Small packets to one peer are collected in a bunch. */
static void take_packet(struct omerta_channel *ch, struct sk_buff *skb)
{
	bool v6 = skb->protocol == htons(ETH_P_IPV6);
	struct omerta_bunch *bunch = &ch->bunch;
	struct omerta_tunnel *tun = ch->tun;
	struct omerta_peer *peer;
	u32 charged = 0;
	u8 outer;

	trace_omerta_tx_take(ch, skb);
	rcu_read_lock();
	if (unlikely(skb_network_offset(skb) || !pskb_inet_may_pull(skb) ||
		     (!v6 && skb->protocol != htons(ETH_P_IP)) ||
		     ip_tunnel_parse_protocol(skb) != skb->protocol ||
		     (skb_is_gso(skb) && !omerta_segments_can(skb)))) {
		omerta_drop(ch, skb, OMERTA_DROP_TX_PROTO, 1);
		goto out;
	}
	/* Only super-packets have that header, not their segments. */
	if (unlikely(omerta_jumbo_remove(skb))) {
		omerta_drop(ch, skb, OMERTA_DROP_TX_NOMEM, 1);
		goto out;
	}
	/* The stack checks no MTU for packets that tc redirects. */
	if (unlikely(!omerta_fits_mtu(skb, READ_ONCE(tun->dev->max_mtu)))) {
		omerta_reject(tun, skb, OMERTA_DROP_TX_TOO_BIG, READ_ONCE(tun->dev->mtu));
		goto out;
	}
	peer = omerta_peer_by_addr(&tun->peers, v6, v6 ? (void *)&ipv6_hdr(skb)->daddr :
							 (void *)&ip_hdr(skb)->daddr);
	if (unlikely(!peer)) {
		omerta_reject(tun, skb, OMERTA_DROP_TX_NO_PEER, 0);
		goto out;
	}
	if (skb_is_gso(skb) || unlikely(skb->len > READ_ONCE(tun->dev->mtu))) {
		charged = send_bunch(ch);
		charged += send_packet(ch, peer, skb);
		goto out;
	}
	outer = outer_fields(tun, skb);
	if (bunch->n && (bunch->peer != peer || bunch->outer != outer))
		charged = send_bunch(ch);
	bunch->peer = peer;
	bunch->outer = outer;
	bunch->skb[bunch->n++] = skb;
	if (bunch->n == ARRAY_SIZE(bunch->skb))
		charged += send_bunch(ch);
out:
	omerta_txq_sent(ch, charged);
	if (omerta_pool_is_enough(&tun->pool, &ch->tx_jobs))
		omerta_pool_run(&tun->pool, &ch->tx_jobs);
	rcu_read_unlock();
}

/* Send all packets that were taken. The queue is ours, see txq.h. */
static void send_taken(struct omerta_channel *ch)
{
	rcu_read_lock();
	omerta_txq_sent(ch, send_bunch(ch));
	omerta_pool_run(&ch->tun->pool, &ch->tx_jobs);
	omerta_txq_end(ch);
	rcu_read_unlock();
}

/**
 * omerta_tx_xmit() - ndo_start_xmit
 * @skb: an inner packet; consumed
 * @dev: the device
 *
 * Context: BH off from the first packet to the last one that xmit_more announces; the
 * queue's lock held.
 * Return: NETDEV_TX_OK.
 */
netdev_tx_t omerta_tx_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	struct omerta_channel *ch = tun->channel[skb_get_queue_mapping(skb)];
	/* Read this first: transmitting through another device overwrites the flag. */
	bool more = netdev_xmit_more();

	if (unlikely(omerta_txq_is_full(ch)))
		omerta_drop(ch, skb, OMERTA_DROP_TX_QUEUE, 1);
	else if (ch->bunch.n || ch->tx_jobs.n || !omerta_txq_begin(ch, skb, more))
		take_packet(ch, skb);
	else
		return NETDEV_TX_OK;
	/* A stopped queue will not deliver the packet that xmit_more announced. */
	if (!more || netif_tx_queue_stopped(ch->queue))
		send_taken(ch);
	return NETDEV_TX_OK;
}

/**
 * omerta_tx_features() - ndo_features_check
 * @skb: an inner packet
 * @dev: the device
 * @features: features that the stack would use
 *
 * Return: the features, without segmentation if the stack has to segment the packet.
 */
netdev_features_t omerta_tx_features(struct sk_buff *skb,
				     struct net_device *dev,
				     netdev_features_t features)
{
	if (skb_is_gso(skb) && !omerta_segments_can(skb))
		features &= ~NETIF_F_GSO_MASK;
	return features;
}

/**
 * omerta_tx_help() - send packets on behalf of a busy sender
 * @work: work of a channel's queue
 */
void omerta_tx_help(struct work_struct *work)
{
	struct omerta_channel *ch = container_of(work, struct omerta_channel,
						 txq.work.work);
	struct sk_buff_head packets;
	struct sk_buff *skb;

	__skb_queue_head_init(&packets);
	local_bh_disable();
	omerta_txq_take_deferred(ch, &packets);
	if (!skb_queue_empty(&packets)) {
		/* Without the queue's lock: the packets may lead to this queue again. */
		while ((skb = __skb_dequeue(&packets)))
			take_packet(ch, skb);
		send_taken(ch);
		omerta_txq_resume(ch);
	}
	local_bh_enable();
}

/**
 * omerta_tx_purge() - drop packets that were taken but not sent
 * @ch: the channel
 *
 * Context: process context; the queue is stopped for good.
 */
void omerta_tx_purge(struct omerta_channel *ch)
{
	unsigned int i;

	__netif_tx_lock_bh(ch->queue);
	for (i = 0; i < ch->bunch.n; i++)
		omerta_drop(ch, ch->bunch.skb[i], OMERTA_DROP_TX_DOWN, 1);
	ch->bunch.n = 0;
	/* Without sockets these are dropped. */
	omerta_pool_run(&ch->tun->pool, &ch->tx_jobs);
	__netif_tx_unlock_bh(ch->queue);
}

/**
 * omerta_tx_retry() - try to send packets that wait, and drop old ones
 * @peer: the peer
 *
 * Context: BH off, inside an RCU read-side section.
 */
void omerta_tx_retry(struct omerta_peer *peer)
{
	enum omerta_drop reason;
	struct sk_buff_head old;
	struct sk_buff *skb;

	omerta_tx_flush(peer);

	__skb_queue_head_init(&old);
	spin_lock_bh(&peer->tx_lock);
	while ((skb = skb_peek(&peer->waiting)) &&
	       time_after_eq(jiffies, WAITING_CB(skb)->since + WAITING_TIME)) {
		__skb_unlink(skb, &peer->waiting);
		uncharge_waiting(peer, WAITING_CB(skb)->charge);
		__skb_queue_tail(&old, skb);
	}
	/* The next packet asks for a key again. */
	if (!skb || !skb_queue_empty(&old))
		WRITE_ONCE(peer->key_wanted, false);
	if (skb)
		omerta_peer_due(peer, jiffies + HZ);
	reason = peer->waiting_reason;
	spin_unlock_bh(&peer->tx_lock);

	while ((skb = __skb_dequeue(&old)))
		omerta_reject(peer->tun, skb, reason, 0);
}

/**
 * omerta_tx_keepalive() - send an empty record
 * @pc: the channel of the peer
 *
 * Context: BH off, inside an RCU read-side section.
 * Return: false if there is no key for it.
 */
bool omerta_tx_keepalive(struct omerta_peer_channel *pc)
{
	struct omerta_peer *peer = pc->peer;
	struct omerta_jobs jobs = {};
	enum omerta_drop reason;
	u32 charged = 0;

	reason = assign_packet(pc, NULL, &jobs, &charged);
	omerta_pool_run(&peer->tun->pool, &jobs);
	return reason != OMERTA_DROP_TX_NO_KEY;
}

/**
 * omerta_tx_ask_again() - ask for a key again, if packets wait for one
 * @peer: the peer
 *
 * For a listener that was not there when the first of them came.
 *
 * Context: any but hard interrupt.
 */
void omerta_tx_ask_again(struct omerta_peer *peer)
{
	bool ask;

	spin_lock_bh(&peer->tx_lock);
	/* A burst that took its key before may have reset the former. */
	ask = READ_ONCE(peer->key_wanted) ||
	      (!skb_queue_empty(&peer->waiting) &&
	       peer->waiting_reason == OMERTA_DROP_TX_NO_KEY);
	spin_unlock_bh(&peer->tx_lock);
	if (ask)
		omerta_key_needed(&peer->first.ring);
}

/**
 * omerta_tx_purge_waiting() - drop the packets that wait for a key or a route
 * @peer: the peer
 * @reason: why
 *
 * Context: any but hard interrupt.
 */
void omerta_tx_purge_waiting(struct omerta_peer *peer, enum omerta_drop reason)
{
	struct sk_buff_head purged;
	struct sk_buff *skb;

	__skb_queue_head_init(&purged);
	spin_lock_bh(&peer->tx_lock);
	uncharge_waiting(peer, peer->waiting_bytes);
	skb_queue_splice_tail_init(&peer->waiting, &purged);
	WRITE_ONCE(peer->key_wanted, false);
	spin_unlock_bh(&peer->tx_lock);
	while ((skb = __skb_dequeue(&purged)))
		omerta_drop(peer->tun->channel[skb_get_queue_mapping(skb)], skb, reason, 1);
}

/**
 * omerta_tx_drain() - send or drop every packet of a peer that is being removed
 * @peer: the peer
 *
 * Context: process context; nothing is sent to the peer any more.
 */
void omerta_tx_drain(struct omerta_peer *peer)
{
	omerta_tx_drain_fifos(peer);
	omerta_tx_purge_waiting(peer, OMERTA_DROP_TX_DOWN);
}
