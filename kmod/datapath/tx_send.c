// SPDX-License-Identifier: GPL-2.0
/*
 * Send the bursts to a peer by one channel once they are sealed, in the order of the fifo.
 */
#include "datapath/tx.h"

#include "compat/compat.h"
#include "datapath/trace.h"
#include "datapath/tx_burst.h"
#include "datapath/udp.h"

/* Most bursts that are sent before other work gets a turn. */
#define SEND_MAX	64

/* Send a sealed burst, or drop it. Puts the fifo's reference to it. */
static void send_burst(struct omerta_tx_burst *burst, bool drop)
{
	struct sk_buff **skbs = burst->n_skbs ? burst->skb : &burst->inner.skb;
	unsigned int n = burst->n_skbs ?: !!burst->inner.skb, i;
	struct omerta_peer_channel *pc = burst->pc;
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	unsigned long now = jiffies;

	for (i = 0; i < n; i++) {
		/* A packet in several bursts is timestamped when the last one leaves. */
		if (likely(!drop) && !skb_shared(skbs[i]))
			skb_tx_timestamp(skbs[i]);
		napi_consume_skb(skbs[i], 1);
	}
	if (burst->packets) {
		dev_sw_netstats_tx_add(tun->dev, burst->packets, burst->bytes);
		/* Expect an answer from now on. */
		if (!READ_ONCE(pc->waiting_since) &&
		    !cmpxchg(&pc->waiting_since, 0, now | 1))
			omerta_peer_due(peer, now + (pc->index ? OMERTA_CHANNEL_SILENCE * HZ :
								 OMERTA_SILENCE));
	}
	atomic_long_add(burst->packets, &burst->ch->tx_packets);
	atomic_long_add(burst->n, &burst->ch->tx_records);
	omerta_peer_stats_tx(peer->stats, burst->packets, burst->bytes,
			     burst->n, burst->wire_len);
	/* Several CPUs may send to the peer. */
	if (READ_ONCE(pc->tx_last) != now)
		WRITE_ONCE(pc->tx_last, now);
	if (READ_ONCE(pc->answer_at))
		WRITE_ONCE(pc->answer_at, 0);
	if (unlikely(drop)) {
		dst_release(burst->path.dst);
		omerta_drop(burst->ch, burst->outer, OMERTA_DROP_TX_DOWN, burst->n);
	} else {
		trace_omerta_tx_send(burst);
		omerta_udp_send(burst->ch, burst->outer, &burst->path,
				burst->n > 1 ? burst->layout.wire_len : 0, burst->n);
	}
	/* A worker may keep the job for long, but needs neither key nor peer any more. */
	omerta_key_put(burst->key);
	omerta_job_put(&burst->job);
}

/**
 * omerta_tx_send_later() - let a worker send bursts, and the peer's waiting packets
 * @fifo: the bursts; the worker gets a reference to the peer
 *
 * Context: any.
 */
void omerta_tx_send_later(struct omerta_tx_fifo *fifo)
{
	struct omerta_peer *peer = fifo->peer;

	if (omerta_peer_get(peer) && !omerta_pool_defer(&peer->tun->pool, &fifo->deferred))
		omerta_peer_put(peer);
}

/*
 * Send sealed bursts from the head of the fifo. Only one CPU sends at a time. A CPU that
 * finds another one sending leaves its burst to it. So the sender checks the fifo again
 * after it has let others in, and leaves the rest to a worker.
 *
 * Once the peer is removed or the device is down, everything is dropped immediately: the
 * device, or its namespace, may be gone before the worker starts.
 *
 * Only a worker sends into another device of this driver. Otherwise the queue locks of the
 * two would nest, and with the tunnels nested the other way round in the opposite order.
 *
 * Context: BH off; the caller has a reference to the peer, or is inside an RCU read-side section in
 * which a burst had one.
 */
static void send_sealed(struct omerta_tx_fifo *fifo, bool worker)
{
	struct omerta_peer *peer = fifo->peer;
	const struct omerta_channel *any = peer->tun->channel[0];
	struct omerta_tx_burst *burst, *tmp;
	unsigned int n;
	LIST_HEAD(ready);
	bool drop, more;

	do {
		if (test_and_set_bit(OMERTA_FIFO_SENDING, &fifo->flags))
			return;
		drop = READ_ONCE(peer->dead) ||
		       (!rcu_access_pointer(any->sk[OMERTA_V4]) &&
			!rcu_access_pointer(any->sk[OMERTA_V6]));
		n = 0;
		spin_lock_bh(&fifo->lock);
		list_for_each_entry_safe(burst, tmp, &fifo->bursts, list) {
			/* Pairs with the release in omerta_tx_sealed(). */
			if (n++ == SEND_MAX || !smp_load_acquire(&burst->sealed) ||
			    (burst->path.nested && !worker && !drop))
				break;
			list_move_tail(&burst->list, &ready);
		}
		spin_unlock_bh(&fifo->lock);
		list_for_each_entry_safe(burst, tmp, &ready, list)
			send_burst(burst, drop);
		INIT_LIST_HEAD(&ready);
		clear_bit_unlock(OMERTA_FIFO_SENDING, &fifo->flags);
		/*
		 * Pairs with test_and_set_bit() above: a CPU that saw the bit set has
		 * marked its burst before, so look at the fifo after the bit is cleared.
		 */
		smp_mb__after_atomic();
		if (list_empty(&fifo->bursts))
			return;
		spin_lock_bh(&fifo->lock);
		burst = list_first_entry_or_null(&fifo->bursts,
						 struct omerta_tx_burst, list);
		/* Pairs with the release in omerta_tx_sealed(). */
		more = burst && smp_load_acquire(&burst->sealed);
		spin_unlock_bh(&fifo->lock);
		if (!more)
			return;
	} while (drop);

	omerta_tx_send_later(fifo);
}

/**
 * omerta_tx_sealed() - note that a burst is sealed, and send what can be sent
 * @job: job of the burst
 *
 * Context: any but hard interrupt, on the CPU that sealed the last chunk, inside the RCU read-side
 * section in which it did: another CPU may send the burst, which then does not keep the peer.
 */
void omerta_tx_sealed(struct omerta_job *job)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);
	struct omerta_tx_fifo *fifo = burst->fifo;

	local_bh_disable();
	/* Pairs with the acquires in send_sealed(). The burst may be gone after it. */
	smp_store_release(&burst->sealed, true);
	send_sealed(fifo, false);
	local_bh_enable();
}

/**
 * omerta_tx_deferred() - send what was left to a worker
 * @item: member of a fifo; puts the worker's reference to the peer
 *
 * If the peer has been removed or the device is down, the device or its namespace may be
 * gone. Then no packet waits.
 */
void omerta_tx_deferred(struct list_head *item)
{
	struct omerta_tx_fifo *fifo = container_of(item, struct omerta_tx_fifo, deferred);
	struct omerta_peer *peer = fifo->peer;

	local_bh_disable();
	rcu_read_lock();
	send_sealed(fifo, true);
	if (!READ_ONCE(peer->dead))
		omerta_tx_flush(peer);
	rcu_read_unlock();
	local_bh_enable();
	omerta_peer_put(peer);
}

/**
 * omerta_tx_drain_fifos() - send on this CPU what was left to a worker
 * @peer: the peer, to which the caller has a reference; bursts that are not sealed stay
 *
 * The worker's CPU may never run it. If it runs later, it finds nothing.
 *
 * Context: process context.
 */
void omerta_tx_drain_fifos(struct omerta_peer *peer)
{
	unsigned int i, n = peer->tx_more ? peer->tx_more->n : 0;

	for (i = 0; i <= n; i++) {
		struct omerta_tx_fifo *fifo = i ? &peer->tx_more->fifo[i - 1] : &peer->tx_fifo;
		/* It puts a reference each time, and may defer the rest again. */
		bool more = omerta_peer_get(peer);

		while (more) {
			omerta_tx_deferred(&fifo->deferred);
			more = omerta_pool_cancel(&peer->tun->pool, &fifo->deferred);
			cond_resched();
		}
	}
}
