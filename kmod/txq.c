// SPDX-License-Identifier: GPL-2.0
/*
 * The device's queue: how much may be on its way out.
 *
 * A datagram is charged to its UDP socket until the last driver is done with it,
 * so what is charged is what is on its way. Byte queue limits keep that as little
 * as keeps the outer link busy: the rest waits in the device's qdisc, which knows
 * what is urgent.
 */
#include "txq.h"

#include <linux/netdevice.h>
#include <net/sock.h>

#define TELL_BYTES	8192

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
	u32 sent = smp_load_acquire(&tun->txq_sent);

	/* Charged are also datagrams that BQL does not know, like keepalives. */
	return sent - READ_ONCE(tun->txq_done) - charged(tun);
}

/*
 * Whether BQL should be told what is through: for a few packets that is not worth
 * a run of NAPI, unless the queue waits for them.
 */
static bool worth_telling(const struct omerta_tunnel *tun)
{
	s32 done = through(tun);

	return done >= TELL_BYTES || unlikely(netif_queue_stopped(tun->dev)) ||
	       (done > 0 && netif_xmit_stopped(netdev_get_tx_queue(tun->dev, 0)));
}

/**
 * omerta_txq_sent() - stop the queue if too much is on its way
 * @tun: the device
 * @bytes: what an inner packet has been charged with, perhaps through already
 *
 * Context: BH off, the queue's lock held.
 */
void omerta_txq_sent(struct omerta_tunnel *tun, u32 bytes)
{
	if (!bytes)
		return;
	netdev_tx_sent_queue(netdev_get_tx_queue(tun->dev, 0), bytes);
	/* Pairs with through(). */
	smp_store_release(&tun->txq_sent, tun->txq_sent + bytes);
	if (unlikely(charged(tun) > OMERTA_SOCKET_BUFFER))
		netif_stop_queue(tun->dev);
	/*
	 * Either we see that it is through, or omerta_txq_room() that it was sent,
	 * and that the queue has stopped.
	 */
	smp_mb();
	if (worth_telling(tun))
		napi_schedule(&tun->napi);
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
	smp_mb(); /* Pairs with omerta_txq_sent(). */
	if (worth_telling(tun))
		napi_schedule(&tun->napi);
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
		WRITE_ONCE(tun->txq_done, tun->txq_done + done);
		netdev_tx_completed_queue(netdev_get_tx_queue(tun->dev, 0), 1,
					  done);
	}
	if (unlikely(netif_queue_stopped(tun->dev)) &&
	    charged(tun) <= OMERTA_SOCKET_BUFFER / 2)
		netif_wake_queue(tun->dev);
}

/**
 * omerta_txq_reset() - forget what is on its way
 * @tun: the device
 *
 * Context: process context; nothing is sent, and NAPI is off.
 */
void omerta_txq_reset(struct omerta_tunnel *tun)
{
	tun->txq_sent = 0;
	tun->txq_done = 0;
	netdev_tx_reset_queue(netdev_get_tx_queue(tun->dev, 0));
}
