// SPDX-License-Identifier: GPL-2.0
/*
 * A channel's transmit queue: how much may be in flight.
 *
 * A datagram is charged to its UDP socket until the last driver is done with it. So the
 * bytes that are charged are those in flight. Byte queue limits (BQL) keep them as few as
 * keep the outer link busy. The rest waits in the device's qdisc, which knows what is
 * urgent.
 *
 * If a sender of small packets spends much of its time in their transmission, another CPU,
 * the helper, runs the queue in its place, and finds many packets at a time. All packets go
 * that way until senders are slow again, or they would overtake each other.
 */
#include "datapath/txq.h"

#include <linux/netdevice.h>
#include <linux/timekeeping.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "compat/compat.h"
#include "datapath/trace.h"
#include "datapath/tunnel.h"

/* Completed bytes that are worth a run of NAPI. */
#define COMPLETE_BYTES	8192
/* A packet comes soon if it follows within this multiple of the time that sending took. */
#define SOON		4
/* Packets that come soon before a sender is helped; highest score. */
#define FAST_ENOUGH	16U
#define FAST_MAX	64U
/* Reduction of the score for a packet that comes late. */
#define LATE_WEIGHT	4U
/* Most bytes in flight. All channels may feed the same outer queue, so they share them. */
#define INFLIGHT_MAX(ch)	(OMERTA_SOCKET_BUFFER / (ch)->tun->n_channels)
/* The helper waits this long for earlier datagrams to complete. */
#define INFLIGHT_WAIT	DIV_ROUND_UP(HZ, 5)
/* Late packets before help ends while earlier datagrams are in flight. */
#define LATE_MAX	64U

/* State of the queue while senders are not helped. */
static const struct omerta_txq_help no_help;

/* Bytes in flight on both sockets. */
static u32 inflight(const struct omerta_channel *ch)
{
	u32 bytes = 0;
	int i;

	rcu_read_lock();
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rcu_dereference(ch->sk[i]);

		if (sk)
			bytes += sk_wmem_alloc_get(sk);
	}
	rcu_read_unlock();
	/* sock_wfree() still holds one byte while it calls sk_write_space(). */
	return bytes < SKB_TRUESIZE(1) ? 0 : bytes;
}

/*
 * Return true if NAPI should report completed bytes to BQL, or wake the queue. A few packets
 * are not worth a run of NAPI unless the queue waits for them. Sets @bytes to those that
 * have completed and are not reported, and @waits to true if the queue has stopped because
 * too many are in flight.
 */
static bool should_report(const struct omerta_channel *ch, s32 *bytes, bool *waits)
{
	/*
	 * Pairs with the release in omerta_txq_sent(): bytes are charged before they are
	 * counted, so read in the opposite order.
	 */
	u32 sent = smp_load_acquire(&ch->txq.sent);

	/* Datagrams that BQL does not count, like keepalives, are charged as well. */
	*bytes = sent - READ_ONCE(ch->txq.completed) - inflight(ch);
	*waits = false;
	if (unlikely(netif_tx_queue_stopped(ch->queue))) {
		/* Pairs with the barrier in hand_over(), which stops the queue last. */
		smp_rmb();
		*waits = !READ_ONCE(ch->txq.handed_over);
	}
	return *bytes >= COMPLETE_BYTES || *waits ||
	       (*bytes > 0 && test_bit(__QUEUE_STATE_STACK_XOFF,
				       &ch->queue->state));
}

/* Without a qdisc to wait in, packets for a stopped queue are lost, with an error. */
static bool has_qdisc(const struct omerta_channel *ch)
{
	return rcu_dereference_bh(ch->queue->qdisc)->enqueue;
}

/**
 * omerta_txq_init() - initialise a channel's queue
 * @ch: the channel
 * @help: work function of the helper: takes the packets by omerta_txq_take_deferred(),
 *	  sends them, and calls omerta_txq_resume()
 */
void omerta_txq_init(struct omerta_channel *ch, work_func_t help)
{
	ch->txq.help = no_help;
	WRITE_ONCE(ch->txq.help_cpu, -1);
	WRITE_ONCE(ch->txq.tx_cpu, -1);
	__skb_queue_head_init(&ch->txq.deferred);
	INIT_DELAYED_WORK(&ch->txq.work, help);
}

/**
 * omerta_txq_take_deferred() - take the packets that were left to the helper
 * @ch: the channel
 * @packets: empty; set to the packets. If there are any, the caller owns the queue until
 *	     omerta_txq_resume().
 *
 * Context: BH off, the queue's lock not held.
 */
void omerta_txq_take_deferred(struct omerta_channel *ch, struct sk_buff_head *packets)
{
	struct netdev_queue *txq = ch->queue;

	__netif_tx_lock(txq, smp_processor_id());
	skb_queue_splice_init(&ch->txq.deferred, packets);
	WRITE_ONCE(ch->txq.wait_inflight, false);
	if (!skb_queue_empty(packets)) {
		/* It is stopped already, unless an announced packet did not come. */
		netif_tx_stop_queue(ch->queue);
		ch->txq.tx_stamp = ktime_get_ns();
	}
	__netif_tx_unlock(txq);
}

/**
 * omerta_txq_resume() - run the queue here, with the packets that have come meanwhile
 * @ch: the channel
 *
 * Context: BH off; the deferred packets are sent.
 */
void omerta_txq_resume(struct omerta_channel *ch)
{
	struct netdev_queue *txq = ch->queue;

	__netif_tx_lock(txq, smp_processor_id());
	WRITE_ONCE(ch->txq.handed_over, false);
	trace_omerta_queue(ch, OMERTA_QUEUE_HELPER, false);
	netif_tx_wake_queue(txq);
	__netif_tx_unlock(txq);
}

/*
 * Let another CPU send a packet and run the queue. If that CPU has not sent the previous
 * packet, it waits until that has completed, so as not to overtake it; but not for long,
 * since a link may be stalled. Returns false if there is no such CPU.
 */
static bool hand_over(struct omerta_channel *ch, struct sk_buff *skb, bool more)
{
	int self = smp_processor_id(), helper = ch->txq.help_cpu;
	bool wait;

	/* Tolerate a few packets from the helper's own CPU. */
	if (helper == self && ++ch->txq.help.own < FAST_ENOUGH)
		return false;
	/* Keep the helper while it may be used. */
	helper = omerta_pool_next_cpu(&ch->tun->pool, helper < 0 ? self : helper, true);
	if (helper == self) {
		WRITE_ONCE(ch->txq.help_cpu, -1);
		return false;
	}
	WRITE_ONCE(ch->txq.help_cpu, helper);
	wait = ch->txq.tx_cpu != helper;
	ch->txq.help.own = 0;
	/* Pairs with the acquire in omerta_txq_write_space(), which wants this helper. */
	smp_store_release(&ch->txq.wait_inflight, wait);
	WRITE_ONCE(ch->txq.handed_over, true);
	/* Pairs with the barriers in should_report() and omerta_txq_write_space(). */
	smp_mb();
	__skb_queue_tail(&ch->txq.deferred, skb);
	/* A stopped queue would bring each announced packet separately. */
	if (!more)
		netif_tx_stop_queue(ch->queue);
	WRITE_ONCE(ch->txq.stops[OMERTA_QUEUE_HELPER], ch->txq.stops[OMERTA_QUEUE_HELPER] + 1);
	trace_omerta_queue(ch, OMERTA_QUEUE_HELPER, true);
	if (wait && inflight(ch))
		queue_delayed_work_on(helper, omerta_helpers, &ch->txq.work,
				      INFLIGHT_WAIT);
	else
		mod_delayed_work_on(helper, omerta_helpers, &ch->txq.work, 0);
	return true;
}

/**
 * omerta_txq_begin() - let another CPU send if senders do little but wait for us
 * @ch: the channel
 * @skb: the first packet of several that are sent together, or one that follows a packet
 *	 which was left to another CPU
 * @more: another packet follows immediately
 *
 * Super-packets do not count, since they are split over CPUs themselves.
 *
 * Context: BH off, the queue's lock held.
 * Return: true if another CPU sends the packet. Then the queue owns it.
 */
bool omerta_txq_begin(struct omerta_channel *ch, struct sk_buff *skb, bool more)
{
	struct netdev_queue *txq = ch->queue;
	struct omerta_txq_help *help = &ch->txq.help;
	u8 policy = READ_ONCE(ch->tun->pool.policy);
	bool left, may_help;
	u64 now = 0;

	if (unlikely(!skb_queue_empty(&ch->txq.deferred))) {
		__skb_queue_tail(&ch->txq.deferred, skb);
		if (!more)
			netif_tx_stop_queue(ch->queue);
		return true;
	}
	/* Under policy auto help may have been tried and not pay. */
	may_help = policy != OMERTA_POLICY_INLINE &&
		   (policy != OMERTA_POLICY_AUTO || !READ_ONCE(ch->tun->pool.alone));
	if (may_help)
		now = ktime_get_ns();
	/* The helper in softirq is most likely running the queue. */
	if (in_serving_softirq() && smp_processor_id() == ch->txq.help_cpu)
		goto send;
	if (!may_help)
		help->fast_score = 0;
	else if (!skb_is_gso(skb) && now - ch->txq.tx_stamp < SOON * ch->txq.tx_time)
		help->fast_score = min(help->fast_score + 1, FAST_MAX);
	else
		help->fast_score -= min(help->fast_score, LATE_WEIGHT);
	if (help->fast_score)
		help->slow_count = 0;
	if (help->fast_score >= FAST_ENOUGH)
		help->active = true;
	/* While datagrams are in flight, senders would overtake the helper. */
	else if (!help->fast_score && help->active &&
		 (help->slow_count++ >= LATE_MAX || !inflight(ch))) {
		*help = no_help;
		WRITE_ONCE(ch->txq.help_cpu, -1);
	}
	/* Packets that bypass the qdisc could not wait in it. */
	if (help->active && policy != OMERTA_POLICY_INLINE &&
	    netif_running(ch->tun->dev) && has_qdisc(ch) &&
	    qdisc_is_running(rcu_dereference_bh(txq->qdisc))) {
		/* Keep the helper's CPU from going offline. */
		preempt_disable();
		left = hand_over(ch, skb, more);
		preempt_enable();
		if (left)
			return true;
	}
send:
	ch->txq.tx_stamp = now;
	WRITE_ONCE(ch->txq.tx_cpu, smp_processor_id());
	return false;
}

/**
 * omerta_txq_end() - note the end of a transmission
 * @ch: the channel
 *
 * Context: BH off, the queue's lock held or the queue handed over.
 */
void omerta_txq_end(struct omerta_channel *ch)
{
	u64 now;

	if (ch->txq.tx_stamp) {
		now = ktime_get_ns();
		ch->txq.tx_time = now - ch->txq.tx_stamp;
		ch->txq.tx_stamp = now;
	}
	WRITE_ONCE(ch->txq.tx_cpu, smp_processor_id());
}

/**
 * omerta_txq_sent() - count bytes, and stop the queue if too many are in flight
 * @ch: the channel
 * @bytes: memory of datagrams that was charged to the socket; it may have completed already
 *
 * Context: BH off, the queue's lock held or the queue handed over.
 */
void omerta_txq_sent(struct omerta_channel *ch, u32 bytes)
{
	struct netdev_queue *txq = ch->queue;
	bool waits;
	s32 done;

	if (!bytes)
		return;
	netdev_tx_sent_queue(txq, bytes);
	if (test_bit(__QUEUE_STATE_STACK_XOFF, &txq->state)) {
		/* The outer link is the bottleneck: a helper would wait for it as well. */
		ch->txq.help.fast_score = 0;
		if (likely(has_qdisc(ch))) {
			WRITE_ONCE(ch->txq.stops[OMERTA_QUEUE_BQL],
				   ch->txq.stops[OMERTA_QUEUE_BQL] + 1);
			trace_omerta_queue(ch, OMERTA_QUEUE_BQL, true);
		} else {
			clear_bit(__QUEUE_STATE_STACK_XOFF, &txq->state);
		}
	}
	/* Pairs with the acquire in should_report(). */
	smp_store_release(&ch->txq.sent, ch->txq.sent + bytes);
	if (unlikely(inflight(ch) > INFLIGHT_MAX(ch))) {
		if (has_qdisc(ch)) {
			WRITE_ONCE(ch->txq.stops[OMERTA_QUEUE_IN_FLIGHT],
				   ch->txq.stops[OMERTA_QUEUE_IN_FLIGHT] + 1);
			trace_omerta_queue(ch, OMERTA_QUEUE_IN_FLIGHT, true);
			netif_tx_stop_queue(ch->queue);
		} else {
			ch->txq.is_full = true;
		}
	}
	/*
	 * Pairs with the barrier in omerta_txq_write_space(): either we see that the bytes
	 * have completed, or it sees that they were sent and the queue has stopped.
	 */
	smp_mb();
	if (should_report(ch, &done, &waits))
		napi_schedule(&ch->napi);
}

/**
 * omerta_txq_is_full() - check whether a packet has to be dropped
 * @ch: the channel
 *
 * Context: BH off, the queue's lock held.
 * Return: true if too many bytes are in flight, and there is no qdisc to wait in.
 */
bool omerta_txq_is_full(struct omerta_channel *ch)
{
	if (likely(!ch->txq.is_full))
		return false;
	ch->txq.is_full = !has_qdisc(ch) && inflight(ch) > INFLIGHT_MAX(ch);
	return ch->txq.is_full;
}

/**
 * omerta_txq_write_space() - note that bytes have completed
 * @ch: the channel
 *
 * NAPI reports them to BQL: drivers complete many datagrams in a row, and BQL learns from
 * the bytes that complete at a time.
 *
 * Context: any.
 */
void omerta_txq_write_space(struct omerta_channel *ch)
{
	bool waits;
	int helper;
	s32 bytes;

	/* Pairs with the barriers in omerta_txq_sent() and hand_over(). */
	smp_mb();
	if (should_report(ch, &bytes, &waits)) {
		/* A driver may free datagrams with BH on: then nothing would run NAPI soon. */
		bool bh_on = !softirq_count() && !irqs_disabled();

		if (bh_on)
			local_bh_disable();
		napi_schedule(&ch->napi);
		if (bh_on)
			local_bh_enable();
	}
	/* Pairs with the release in hand_over(). */
	if (likely(!smp_load_acquire(&ch->txq.wait_inflight)) || inflight(ch))
		return;
	/* The helper need not wait any longer. It may have started already. */
	helper = READ_ONCE(ch->txq.help_cpu);
	if (helper >= 0)
		mod_delayed_work_on(helper, omerta_helpers, &ch->txq.work, 0);
}

/**
 * omerta_txq_poll() - report completed bytes to BQL, and wake the queue
 * @ch: the channel
 *
 * Context: the channel's NAPI.
 */
void omerta_txq_poll(struct omerta_channel *ch)
{
	struct netdev_queue *txq = ch->queue;
	bool waits, stopped = trace_omerta_queue_enabled() && netif_xmit_stopped(txq);
	s32 bytes;

	should_report(ch, &bytes, &waits);
	if (bytes > 0) {
		WRITE_ONCE(ch->txq.completed, ch->txq.completed + bytes);
		netdev_tx_completed_queue(txq, 1, bytes);
		if (stopped && !netif_xmit_stopped(txq))
			trace_omerta_queue(ch, OMERTA_QUEUE_BQL, false);
	}
	if (likely(!waits) || inflight(ch) > INFLIGHT_MAX(ch) / 2)
		return;
	/* Before waking the queue, check under its lock that it was not handed over. */
	__netif_tx_lock(txq, smp_processor_id());
	if (!ch->txq.handed_over) {
		trace_omerta_queue(ch, OMERTA_QUEUE_IN_FLIGHT, false);
		netif_tx_wake_queue(txq);
	}
	__netif_tx_unlock(txq);
}

/**
 * omerta_txq_purge() - drop the deferred packets
 * @ch: the channel
 *
 * A helper that has started has BH off, and ends within a grace period, for which the caller
 * waits. One that has not started may never run on a busy CPU. It finds nothing to send.
 *
 * Context: process context; the qdisc is not run any more.
 */
void omerta_txq_purge(struct omerta_channel *ch)
{
	struct sk_buff_head packets;
	struct sk_buff *skb;

	__skb_queue_head_init(&packets);
	cancel_delayed_work(&ch->txq.work);
	local_bh_disable();
	omerta_txq_take_deferred(ch, &packets);
	local_bh_enable();
	while ((skb = __skb_dequeue(&packets)))
		omerta_drop(ch, skb, OMERTA_DROP_TX_DOWN, 1);
}

/**
 * omerta_txq_destroy() - wait until the helper does not use the device any more
 * @ch: the channel; down for good
 *
 * Context: process context; RTNL not held, as this waits for the helper's CPU.
 */
void omerta_txq_destroy(struct omerta_channel *ch)
{
	cancel_delayed_work_sync(&ch->txq.work);
}

/**
 * omerta_txq_reset() - reset the queue of a channel whose device goes down
 * @ch: the channel
 *
 * Context: process context; nothing is sent, and NAPI is disabled.
 */
void omerta_txq_reset(struct omerta_channel *ch)
{
	struct netdev_queue *txq = ch->queue;

	ch->txq.help = no_help;
	WRITE_ONCE(ch->txq.help_cpu, -1);
	WRITE_ONCE(ch->txq.tx_cpu, -1);
	/* The deferred packets have been dropped. */
	WRITE_ONCE(ch->txq.handed_over, false);
	ch->txq.sent = 0;
	ch->txq.completed = 0;
	netdev_tx_reset_queue(txq);
#ifdef CONFIG_BQL
	/* The reset clears the counts, but not the limit of what may be sent. */
	dql_completed(&txq->dql, 0);
#endif
}
