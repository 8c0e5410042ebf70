// SPDX-License-Identifier: GPL-2.0
/*
 * Sending what is sealed, in the order in which it was staged.
 */
#include <linux/sched/isolation.h>

#include "compat/compat.h"
#include "datapath/tx.h"
#include "datapath/tx_burst.h"
#include "datapath/udp.h"

/* Bursts sent in one go before others get a turn. */
#define SEND_BATCH	64

/* Its burst leaves. Of a packet that has several the last one tells the socket so. */
static void packet_leaves(struct sk_buff *skb)
{
	if (skb && !skb_shared(skb))
		skb_tx_timestamp(skb);
}

/* Send one sealed burst, or drop it; the fifo's reference to it ends here. */
static void send_burst(struct omerta_tx_burst *burst, bool drop)
{
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	unsigned int i;

	if (likely(!drop)) {
		packet_leaves(burst->inner.skb);
		for (i = 0; i < burst->n_skbs; i++)
			packet_leaves(burst->skb[i]);
	}
	if (burst->packets)
		dev_sw_netstats_tx_add(tun->dev, burst->packets, burst->bytes);
	consume_skb(burst->inner.skb);
	for (i = 0; i < burst->n_skbs; i++)
		consume_skb(burst->skb[i]);
	omerta_peer_stats_tx(peer->stats, burst->packets, burst->bytes,
			     burst->n, omerta_tx_burst_bytes(burst));
	WRITE_ONCE(peer->tx_last, jiffies);
	if (READ_ONCE(peer->answer_at))
		WRITE_ONCE(peer->answer_at, 0);
	if (burst->packets)
		omerta_peer_sent(peer);
	if (unlikely(drop))
		omerta_udp_drop(tun, burst->outer, &burst->path, burst->n);
	else
		omerta_udp_send(tun, burst->outer, &burst->path,
				burst->n > 1 ? burst->layout.wire_len : 0, burst->n);
	omerta_key_put(burst->key);
	omerta_job_put(&burst->job);
}

/*
 * Move what is sealed at the fifo's head to @ready, up to a batch. What goes into
 * another device of our kind is left to a worker: it would take that one's queue
 * lock under this one's, and tunnels that are turned round in the other order.
 */
static void take_sealed(struct omerta_peer *peer, struct list_head *ready,
			bool worker)
{
	struct omerta_tx_burst *burst, *tmp;
	unsigned int n = 0;

	spin_lock_bh(&peer->tx_lock);
	list_for_each_entry_safe(burst, tmp, &peer->tx_fifo, list) {
		/* Pairs with omerta_tx_sealed(). */
		if (n++ == SEND_BATCH || !smp_load_acquire(&burst->sealed))
			break;
		if (!worker && omerta_udp_nested(peer->tun, &burst->path))
			break;
		list_move_tail(&burst->list, ready);
	}
	spin_unlock_bh(&peer->tx_lock);
}

static bool head_sealed(struct omerta_peer *peer)
{
	struct omerta_tx_burst *burst;
	bool sealed;

	if (list_empty_careful(&peer->tx_fifo))
		return false;
	spin_lock_bh(&peer->tx_lock);
	burst = list_first_entry_or_null(&peer->tx_fifo, struct omerta_tx_burst, list);
	/* Pairs with omerta_tx_sealed(). */
	sealed = burst && smp_load_acquire(&burst->sealed);
	spin_unlock_bh(&peer->tx_lock);
	return sealed;
}

/* Not on a CPU that is isolated, which may never come to it. */
static int work_cpu(void)
{
	int cpu;

	rcu_read_lock();
	cpu = raw_smp_processor_id();
	if (!housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN))
		cpu = housekeeping_any_cpu(HK_TYPE_DOMAIN);
	rcu_read_unlock();
	return cpu;
}

/**
 * omerta_tx_send_later() - have a worker go on
 * @peer: the peer; the work gets a reference
 *
 * Context: any.
 */
void omerta_tx_send_later(struct omerta_peer *peer)
{
	if (omerta_peer_get(peer) &&
	    !queue_work_on(work_cpu(), omerta_workers, &peer->tx_work))
		omerta_peer_put(peer);
}

/*
 * Send a batch of what is sealed, in order. One CPU at a time: another that
 * comes meanwhile leaves its burst to the one at work, which therefore looks
 * again after it has let others in, and has the rest sent by a worker. Once the peer is
 * removed or the device down, all is dropped at once: the device, or its namespace, may
 * go away before the worker begins.
 *
 * Context: BH off, the peer is referred to.
 */
static void send_sealed(struct omerta_peer *peer, bool worker)
{
	struct omerta_tx_burst *burst, *tmp;
	LIST_HEAD(ready);
	bool drop;

	do {
		if (test_and_set_bit(OMERTA_PEER_SENDING, &peer->flags))
			return;
		drop = READ_ONCE(peer->dead) || !omerta_udp_is_open(peer->tun);
		take_sealed(peer, &ready, worker || drop);
		list_for_each_entry_safe(burst, tmp, &ready, list)
			send_burst(burst, drop);
		INIT_LIST_HEAD(&ready);
		clear_bit_unlock(OMERTA_PEER_SENDING, &peer->flags);
		/* Whoever saw the bit has sealed before: look after it is cleared. */
		smp_mb__after_atomic();
		if (!head_sealed(peer))
			return;
	} while (drop);

	omerta_tx_send_later(peer);
}

/**
 * omerta_tx_send_rest() - go on sending what is sealed
 * @peer: the peer, referred to
 *
 * Context: process context, BH off.
 */
void omerta_tx_send_rest(struct omerta_peer *peer)
{
	send_sealed(peer, true);
}

/**
 * omerta_tx_sealed() - a burst may be sent
 * @job: the burst's
 *
 * Context: any but hard interrupt; by whoever sealed the last chunk.
 */
void omerta_tx_sealed(struct omerta_job *job)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);
	struct omerta_peer *peer = burst->peer;

	local_bh_disable();
	/* Pairs with take_sealed(); the burst may be gone after it. */
	smp_store_release(&burst->sealed, true);
	send_sealed(peer, false);
	local_bh_enable();
}
