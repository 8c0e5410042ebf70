// SPDX-License-Identifier: GPL-2.0
/*
 * The device's queue: how much may be on its way out.
 *
 * A datagram is charged to its UDP socket until the last driver is done with it,
 * so what is charged is what is on its way. Byte queue limits keep that as little
 * as keeps the outer link busy: the rest waits in the device's qdisc, which knows
 * what is urgent.
 *
 * A sender of small packets that spends much of its time in their transmission is
 * relieved of it: another CPU runs the queue, and finds many packets at a time. All go
 * that way until senders are slow again, or they would overtake each other.
 */
#include "datapath/txq.h"

#include <linux/netdevice.h>
#include <linux/timekeeping.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "compat/compat.h"
#include "datapath/tunnel.h"

#define TELL_BYTES	8192
/* A packet comes soon if at most so many times as long has passed as sending took. */
#define SOON		4
/* Packets that come soon until a sender is helped; those that are remembered. */
#define QUICK_ENOUGH	16U
#define QUICK_MAX	64U
/* One that comes late outweighs so many that come soon. */
#define LATE_WEIGHT	4U
/* What has been sent may take so long to be through before another CPU sends more. */
#define LONGEST_WAIT	DIV_ROUND_UP(HZ, 5)
/* So many that come late are helped still, if what was sent before is not through. */
#define LATE_MAX	64U

/* Bytes on the way of both sockets. */
static u32 charged(const struct omerta_tunnel *tun)
{
	u32 bytes = 0;
	int i;

	rcu_read_lock();
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rcu_dereference(tun->sk[i]);

		if (sk)
			bytes += sk_wmem_alloc_get(sk);
	}
	rcu_read_unlock();
	/* Who makes room still holds a byte while he tells of it. */
	return bytes < SKB_TRUESIZE(1) ? 0 : bytes;
}

/* What is through and BQL has not been told so. */
static s32 through(const struct omerta_tunnel *tun)
{
	/* It is charged before it is counted, so read in the other order. */
	u32 sent = smp_load_acquire(&tun->txq.sent);

	/* Charged are also datagrams that BQL does not know, like keepalives. */
	return sent - READ_ONCE(tun->txq.done) - charged(tun);
}

/* Whether the queue has stopped, other than to be handed over. */
static bool waits_for_room(const struct omerta_tunnel *tun)
{
	if (likely(!netif_queue_stopped(tun->dev)))
		return false;
	smp_rmb(); /* It is handed over first, then stopped. */
	return !READ_ONCE(tun->txq.handed);
}

/*
 * Whether BQL should be told what is through: for a few packets that is not worth
 * a run of NAPI, unless the queue waits for them.
 */
static bool worth_telling(const struct omerta_tunnel *tun)
{
	s32 done = through(tun);

	return done >= TELL_BYTES || unlikely(waits_for_room(tun)) ||
	       (done > 0 && test_bit(__QUEUE_STATE_STACK_XOFF,
				     &netdev_get_tx_queue(tun->dev, 0)->state));
}

/* Packets that cannot wait in a qdisc are lost, with an error, where a queue has stopped. */
static bool has_qdisc(const struct omerta_tunnel *tun)
{
	return rcu_dereference_bh(netdev_get_tx_queue(tun->dev, 0)->qdisc)->enqueue;
}

/**
 * omerta_txq_init() - prepare a device's queue
 * @tun: the device
 * @help: run on another CPU to send what omerta_txq_kept() gives, then to call
 *	  omerta_txq_resume()
 */
void omerta_txq_init(struct omerta_tunnel *tun, work_func_t help)
{
	tun->txq.helper = -1;
	tun->txq.cpu = -1;
	__skb_queue_head_init(&tun->txq.kept);
	INIT_DELAYED_WORK(&tun->txq.work, help);
}

static void forget_helper(struct omerta_tunnel *tun)
{
	tun->txq.quick = 0;
	tun->txq.own = 0;
	tun->txq.late = 0;
	tun->txq.helped = false;
	WRITE_ONCE(tun->txq.helper, -1);
}

/**
 * omerta_txq_kept() - take the packets that were kept for another CPU
 * @tun: the device
 * @packets: empty; gets the packets, which are the caller's then, as the queue is until
 *	     omerta_txq_resume(). If there are none, it is not.
 *
 * Context: BH off, the queue's lock not held.
 */
void omerta_txq_kept(struct omerta_tunnel *tun, struct sk_buff_head *packets)
{
	struct netdev_queue *txq = netdev_get_tx_queue(tun->dev, 0);

	__netif_tx_lock(txq, smp_processor_id());
	skb_queue_splice_init(&tun->txq.kept, packets);
	WRITE_ONCE(tun->txq.waits, false);
	if (!skb_queue_empty(packets)) {
		/* It stands already, unless one was to follow that has not. */
		netif_stop_queue(tun->dev);
		tun->txq.last = ktime_get_ns();
	}
	__netif_tx_unlock(txq);
}

/**
 * omerta_txq_resume() - run the queue here, with all that has come meanwhile
 * @tun: the device
 *
 * Context: BH off; the packets that were kept are sent.
 */
void omerta_txq_resume(struct omerta_tunnel *tun)
{
	struct netdev_queue *txq = netdev_get_tx_queue(tun->dev, 0);

	__netif_tx_lock(txq, smp_processor_id());
	WRITE_ONCE(tun->txq.handed, false);
	netif_tx_wake_queue(txq);
	__netif_tx_unlock(txq);
}

/* Whether we are the one who helps: then we run the queue, in all likelihood. */
static bool is_helper(const struct omerta_tunnel *tun)
{
	return in_serving_softirq() && smp_processor_id() == tun->txq.helper;
}

/* Who could run the queue in our place, or -1. */
static int other_cpu(const struct omerta_tunnel *tun)
{
	int self = smp_processor_id(), cpu;

	for_each_cpu_wrap(cpu, tun->pool.cpus, self)
		if (cpu != self && omerta_pool_may_use(&tun->pool, cpu))
			return cpu;
	return -1;
}

/*
 * Keep a packet that has left the queue for another CPU, and stop the queue until that
 * runs it. The queue would bring each of @more that are on their way already on its own
 * then, so they are let out first.
 */
static void keep(struct omerta_tunnel *tun, struct sk_buff *skb, bool more)
{
	__skb_queue_tail(&tun->txq.kept, skb);
	if (!more)
		netif_stop_queue(tun->dev);
}

/*
 * Have another CPU send and run the queue. If it has not sent the packet before, it
 * waits until that is through, lest it overtake; but not for ever, since there may be
 * links that stand still.
 */
static void hand_over(struct omerta_tunnel *tun, struct sk_buff *skb, bool more)
{
	int helper = tun->txq.helper;
	bool waits = tun->txq.cpu != helper;

	tun->txq.own = 0;
	WRITE_ONCE(tun->txq.waits, waits);
	WRITE_ONCE(tun->txq.handed, true);
	smp_mb(); /* Pairs with waits_for_room() and omerta_txq_room(). */
	keep(tun, skb, more);
	if (waits && charged(tun))
		queue_delayed_work_on(helper, omerta_workers, &tun->txq.work,
				      LONGEST_WAIT);
	else
		mod_delayed_work_on(helper, omerta_workers, &tun->txq.work, 0);
}

/* Begin or cease to help senders. */
static void update_helped(struct omerta_tunnel *tun)
{
	if (tun->txq.quick)
		tun->txq.late = 0;
	if (tun->txq.quick >= QUICK_ENOUGH)
		tun->txq.helped = true;
	/* Lest senders overtake the helper. */
	else if (!tun->txq.quick && tun->txq.helped &&
		 (tun->txq.late++ >= LATE_MAX || !charged(tun)))
		forget_helper(tun);
}

/* Whether packets come so quickly that senders are helped. */
static bool is_helped(struct omerta_tunnel *tun)
{
	struct netdev_queue *txq = netdev_get_tx_queue(tun->dev, 0);

	update_helped(tun);
	if (!tun->txq.helped || READ_ONCE(tun->policy) == OMERTA_POLICY_INLINE)
		return false;
	/* What comes past the qdisc could not wait there. */
	return netif_running(tun->dev) && has_qdisc(tun) &&
	       qdisc_is_running(rcu_dereference_bh(txq->qdisc));
}

/* Whether there is another CPU to help us. */
static bool find_helper(struct omerta_tunnel *tun)
{
	int helper = tun->txq.helper;

	/* A sender on the same CPU is in nobody's way, unless he stays there. */
	if (helper == smp_processor_id() && ++tun->txq.own < QUICK_ENOUGH)
		return false;
	if (helper < 0 || helper == smp_processor_id() ||
	    !omerta_pool_may_use(&tun->pool, helper))
		WRITE_ONCE(tun->txq.helper, other_cpu(tun));
	return tun->txq.helper >= 0;
}

/* Leave a packet to another CPU, if there is reason to; false if not. */
static bool leave_to_other(struct omerta_tunnel *tun, struct sk_buff *skb, bool more)
{
	bool left;

	if (!is_helped(tun))
		return false;
	/* Lest the CPU goes away. */
	preempt_disable();
	left = find_helper(tun);
	if (left)
		hand_over(tun, skb, more);
	preempt_enable();
	return left;
}

/**
 * omerta_txq_begin() - have another CPU send if senders do little but wait for us
 * @tun: the device
 * @skb: a packet, the first of several that are to be sent in one go, or one that follows
 *	 a packet which another CPU sends
 * @more: others follow at once
 *
 * Super-packets are split over CPUs themselves, so that they do not count.
 *
 * Context: BH off, the queue's lock held.
 * Return: true if another CPU sends the packet, which is the queue's then.
 */
bool omerta_txq_begin(struct omerta_tunnel *tun, struct sk_buff *skb, bool more)
{
	u64 now = ktime_get_ns(), gap = now - tun->txq.last;

	if (unlikely(!skb_queue_empty(&tun->txq.kept))) {
		keep(tun, skb, more);
		return true;
	}
	if (!is_helper(tun)) {
		if (!skb_is_gso(skb) && gap < SOON * tun->txq.took)
			tun->txq.quick = min(tun->txq.quick + 1, QUICK_MAX);
		else
			tun->txq.quick -= min(tun->txq.quick, LATE_WEIGHT);
		if (leave_to_other(tun, skb, more))
			return true;
	}
	tun->txq.last = now;
	tun->txq.cpu = smp_processor_id();
	return false;
}

/**
 * omerta_txq_end() - note that packets have been sent
 * @tun: the device
 *
 * Context: BH off, the queue's lock held or the queue handed over.
 */
void omerta_txq_end(struct omerta_tunnel *tun)
{
	u64 now = ktime_get_ns();

	tun->txq.took = now - tun->txq.last;
	tun->txq.last = now;
	tun->txq.cpu = smp_processor_id();
}

/**
 * omerta_txq_sent() - stop the queue if too much is on its way
 * @tun: the device
 * @bytes: what an inner packet has been charged with, perhaps through already
 *
 * Context: BH off, the queue's lock held or the queue handed over.
 */
void omerta_txq_sent(struct omerta_tunnel *tun, u32 bytes)
{
	struct netdev_queue *txq = netdev_get_tx_queue(tun->dev, 0);

	if (!bytes)
		return;
	netdev_tx_sent_queue(txq, bytes);
	if (test_bit(__QUEUE_STATE_STACK_XOFF, &txq->state)) {
		/* It is the outer link that is slow: a helper would wait for it, too. */
		tun->txq.quick = 0;
		if (unlikely(!has_qdisc(tun)))
			clear_bit(__QUEUE_STATE_STACK_XOFF, &txq->state);
	}
	/* Pairs with through(). */
	smp_store_release(&tun->txq.sent, tun->txq.sent + bytes);
	if (unlikely(charged(tun) > OMERTA_SOCKET_BUFFER)) {
		if (has_qdisc(tun))
			netif_stop_queue(tun->dev);
		else
			tun->txq.full = true;
	}
	/*
	 * Either we see that it is through, or omerta_txq_room() that it was sent,
	 * and that the queue has stopped.
	 */
	smp_mb();
	if (worth_telling(tun))
		napi_schedule(&tun->napi);
}

/**
 * omerta_txq_is_full() - whether a packet has no place to wait in
 * @tun: the device
 *
 * Context: BH off, the queue's lock held.
 * Return: true if it is to be dropped: there is no qdisc, and too much on its way.
 */
bool omerta_txq_is_full(struct omerta_tunnel *tun)
{
	if (likely(!tun->txq.full))
		return false;
	tun->txq.full = !has_qdisc(tun) && charged(tun) > OMERTA_SOCKET_BUFFER;
	return tun->txq.full;
}

/* It waits no longer for what has been sent. */
static void kick_helper(struct omerta_tunnel *tun)
{
	int helper = READ_ONCE(tun->txq.helper);

	/* It may be too late: then it has begun. */
	if (helper >= 0)
		mod_delayed_work_on(helper, omerta_workers, &tun->txq.work, 0);
}

/**
 * omerta_txq_room() - have it looked at how much is on its way
 * @tun: the device
 *
 * Not done at once: drivers are done with many datagrams in a row, and BQL learns
 * from what is through at a time.
 *
 * Context: any.
 */
void omerta_txq_room(struct omerta_tunnel *tun)
{
	smp_mb(); /* Pairs with omerta_txq_sent() and hand_over(). */
	if (worth_telling(tun))
		napi_schedule(&tun->napi);
	if (unlikely(READ_ONCE(tun->txq.waits)) && !charged(tun))
		kick_helper(tun);
}

/* Wake the queue, unless it has been handed over meanwhile. */
static void wake(struct omerta_tunnel *tun)
{
	struct netdev_queue *txq = netdev_get_tx_queue(tun->dev, 0);

	__netif_tx_lock(txq, smp_processor_id());
	if (!tun->txq.handed)
		netif_tx_wake_queue(txq);
	__netif_tx_unlock(txq);
}

/**
 * omerta_txq_poll() - tell BQL what is through, and wake the queue
 * @tun: the device
 *
 * Context: the device's NAPI.
 */
void omerta_txq_poll(struct omerta_tunnel *tun)
{
	s32 done = through(tun);

	if (done > 0) {
		WRITE_ONCE(tun->txq.done, tun->txq.done + done);
		netdev_tx_completed_queue(netdev_get_tx_queue(tun->dev, 0), 1,
					  done);
	}
	if (unlikely(waits_for_room(tun)) &&
	    charged(tun) <= OMERTA_SOCKET_BUFFER / 2)
		wake(tun);
}

/**
 * omerta_txq_purge() - drop what is kept, and wait until the helper sends nothing
 * @tun: the device
 *
 * A helper that has begun has BH off and ends within a grace period. Another CPU may not
 * come to one that has not begun: that one is not waited for, and finds nothing to send.
 *
 * Context: process context; the qdisc is not run any more.
 */
void omerta_txq_purge(struct omerta_tunnel *tun)
{
	struct sk_buff_head packets;
	struct sk_buff *skb;

	__skb_queue_head_init(&packets);
	cancel_delayed_work(&tun->txq.work);
	local_bh_disable();
	omerta_txq_kept(tun, &packets);
	local_bh_enable();
	while ((skb = __skb_dequeue(&packets)))
		omerta_drop(tun->drops, skb, OMERTA_DROP_TX_DROP_DOWN);
	synchronize_net();
}

/**
 * omerta_txq_destroy() - wait until the helper needs the device no more
 * @tun: the device; down for good
 *
 * Context: process context; RTNL not held, as this waits for the helper's CPU.
 */
void omerta_txq_destroy(struct omerta_tunnel *tun)
{
	cancel_delayed_work_sync(&tun->txq.work);
}

/**
 * omerta_txq_reset() - forget what is on its way
 * @tun: the device
 *
 * Context: process context; nothing is sent, and NAPI is off.
 */
void omerta_txq_reset(struct omerta_tunnel *tun)
{
	struct netdev_queue *txq = netdev_get_tx_queue(tun->dev, 0);

	forget_helper(tun);
	tun->txq.cpu = -1;
	/* The packets that were kept are dropped. */
	WRITE_ONCE(tun->txq.handed, false);
	tun->txq.sent = 0;
	tun->txq.done = 0;
	netdev_tx_reset_queue(txq);
#ifdef CONFIG_BQL
	/* Its counts begin anew, but not yet how far they may go. */
	dql_completed(&txq->dql, 0);
#endif
}
