// SPDX-License-Identifier: GPL-2.0
/*
 * The way out: xmit -> stage -> seal -> send.
 *
 * stage gives a packet its key, counter and route and puts it at the end of
 * the peer's fifo; seal works outside of all locks, on one CPU or several;
 * send takes from the fifo's head what is sealed.
 */
#include "tx.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/slab.h>
#include <net/icmp.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>

#include "compat.h"
#include "tx_burst.h"
#include "txq.h"
#include "udp.h"

/* Packets that may wait for a key or a route, and for how long. */
#define STAGE_LEN	128
#define STAGE_BYTES	(1 << 20)
#define STAGE_TIME	(5 * HZ)
/* Bursts sent in one go before others get a turn. */
#define SEND_BATCH	64

static u8 outer_ecn(const struct sk_buff *skb)
{
	return ip_tunnel_ecn_encap(0, ip_hdr(skb), skb);
}

/* Send one sealed burst; the fifo's reference to it ends here. */
static void send_burst(struct omerta_tx_burst *burst)
{
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	u32 packets = burst->bytes ? burst->n : 0;

	if (packets) {
		dev_sw_netstats_tx_add(tun->dev, packets, burst->bytes);
		consume_skb(burst->inner.skb);
	}
	omerta_peer_stats_tx(peer->stats, packets, burst->bytes, burst->n,
			     omerta_tx_burst_bytes(burst));
	WRITE_ONCE(peer->tx_last, jiffies);
	if (READ_ONCE(peer->answer_due))
		WRITE_ONCE(peer->answer_due, false);
	omerta_udp_send(tun, burst->outer, &burst->path, burst->ecn,
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
		/* Pairs with seal_done(). */
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
	/* Pairs with seal_done(). */
	sealed = burst && smp_load_acquire(&burst->sealed);
	spin_unlock_bh(&peer->tx_lock);
	return sealed;
}

/*
 * Send a batch of what is sealed, in order. One CPU at a time: another that
 * comes meanwhile leaves its burst to the one at work, which therefore looks
 * again after it has let others in, and has the rest sent by a worker.
 *
 * Context: BH off, the peer is referred to.
 */
static void send_sealed(struct omerta_peer *peer, bool worker)
{
	struct omerta_tx_burst *burst, *tmp;
	LIST_HEAD(ready);

	if (test_and_set_bit(OMERTA_PEER_SENDING, &peer->flags))
		return;
	take_sealed(peer, &ready, worker);
	list_for_each_entry_safe(burst, tmp, &ready, list)
		send_burst(burst);
	clear_bit_unlock(OMERTA_PEER_SENDING, &peer->flags);
	/* Whoever saw the bit has sealed before: look after it is cleared. */
	smp_mb__after_atomic();

	if (head_sealed(peer) && omerta_peer_get(peer) &&
	    !queue_work(peer->tun->pool.wq, &peer->tx_work))
		omerta_peer_put(peer);
}

/**
 * omerta_tx_work() - go on sending what is sealed
 * @work: a peer's; has a reference to the peer, which ends here
 */
void omerta_tx_work(struct work_struct *work)
{
	struct omerta_peer *peer = container_of(work, struct omerta_peer,
						tx_work);

	local_bh_disable();
	send_sealed(peer, true);
	local_bh_enable();
	omerta_peer_put(peer);
}

/* By whoever sealed the last chunk. */
static void seal_done(struct omerta_job *job)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);
	struct omerta_peer *peer = burst->peer;

	local_bh_disable();
	/* Pairs with take_sealed(); the burst may be gone after it. */
	smp_store_release(&burst->sealed, true);
	send_sealed(peer, false);
	local_bh_enable();
}

/*
 * Put a burst of a packet's parts from number @first on, or of none for a
 * keepalive, on the fifo. It has a reference to the packet then; the last takes
 * over the caller's.
 */
static struct omerta_tx_burst *stage_burst(struct omerta_peer *peer,
				    struct sk_buff *skb, unsigned int first)
{
	struct omerta_tx_burst *burst;
	int err;

	lockdep_assert_held(&peer->tx_lock);

	peer->stage_why = OMERTA_DROP_TX_DROP_NO_KEY;
	if (!rcu_access_pointer(peer->ring.active))
		return ERR_PTR(-EAGAIN);
	burst = omerta_tx_burst_alloc(peer, skb, first, seal_done);
	if (IS_ERR(burst))
		return burst;
	err = omerta_udp_route(peer, burst->outer, &burst->path);
	if (err)
		goto err_burst;
	burst->key = omerta_key_seal(&peer->ring, burst->n,
				     omerta_tx_burst_bytes(burst),
				     &burst->counter);
	if (!burst->key) {
		dst_release(burst->path.dst);
		err = -EAGAIN;
		goto err_burst;
	}
	if (burst->inner.n == 1)
		omerta_record_header(&burst->last, burst->buf.block[0],
				     burst->key->remote_id, burst->counter);
	if (skb)
		burst->ecn = outer_ecn(skb);
	if (first + burst->n < burst->inner.n)
		skb_get(skb);
	peer->key_wanted = false;
	list_add_tail(&burst->list, &peer->tx_fifo);
	return burst;

err_burst:
	kfree_skb(burst->outer);
	omerta_job_put(&burst->job);
	if (err == -ENETUNREACH) {
		peer->stage_why = OMERTA_DROP_TX_DROP_NO_ROUTE;
		err = -EAGAIN;
	}
	return ERR_PTR(err);
}

static enum omerta_drop drop_reason(int err)
{
	switch (err) {
	case -EINVAL:
		return OMERTA_DROP_TX_DROP_PROTO;
	case -EDESTADDRREQ:
		return OMERTA_DROP_TX_DROP_NO_ENDPOINT;
	case -ENETDOWN:
		return OMERTA_DROP_TX_DROP_DOWN;
	case -ELOOP:
		return OMERTA_DROP_TX_DROP_LOOP;
	default:
		return OMERTA_DROP_TX_DROP_NOMEM;
	}
}

/*
 * Make bursts of a packet, or one of none for a keepalive. Returns 0 with the
 * packet consumed and @bursts to run; or an error with nothing done, -EAGAIN if
 * the packet should wait.
 */
static int stage(struct omerta_peer *peer, struct sk_buff *skb,
		 struct omerta_tx_burst **bursts)
{
	struct omerta_tx_burst **end = bursts;
	unsigned int first = 0;

	*bursts = NULL;
	do {
		struct omerta_tx_burst *burst = stage_burst(peer, skb, first);

		if (IS_ERR(burst)) {
			if (!first)
				return PTR_ERR(burst);
			/* The rest of a packet cannot wait. */
			omerta_drop_many(peer->tun->drops, skb,
					 burst == ERR_PTR(-EAGAIN) ?
					 peer->stage_why :
					 drop_reason(PTR_ERR(burst)),
					 (*bursts)->inner.n - first);
			return 0;
		}
		*end = burst;
		end = &burst->next;
		first += burst->n;
	} while (first < (*bursts)->inner.n);
	return 0;
}

static void run_bursts(struct omerta_tunnel *tun, struct omerta_tx_burst *burst)
{
	while (burst) {
		struct omerta_tx_burst *next = burst->next;

		omerta_pool_run(&tun->pool, &burst->job);
		burst = next;
	}
}

static unsigned int packets_of(const struct sk_buff *skb)
{
	return max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
}

/* Tell the sender that its packet cannot be delivered, and drop it. */
static void reject(struct omerta_tunnel *tun, struct sk_buff *skb,
		   enum omerta_drop reason)
{
	if (reason == OMERTA_DROP_TX_DROP_NOMEM)
		; /* It may get through next time. */
	else if (skb->protocol == htons(ETH_P_IP))
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	else if (skb->protocol == htons(ETH_P_IPV6))
		icmpv6_ndo_send(skb, ICMPV6_DEST_UNREACH, ICMPV6_ADDR_UNREACH,
				0);
	omerta_drop_many(tun->drops, skb, reason, packets_of(skb));
}

/* Let a packet wait; false if there is no room. */
static bool stage_wait(struct omerta_peer *peer, struct sk_buff *skb)
{
	lockdep_assert_held(&peer->tx_lock);

	if (skb_queue_empty(&peer->stage)) {
		peer->stage_since = jiffies;
		peer->stage_bytes = 0;
	}
	if (skb_queue_len(&peer->stage) >= STAGE_LEN ||
	    peer->stage_bytes > STAGE_BYTES)
		return false;
	peer->stage_bytes += skb->len;
	/* Whoever counts what is on its way shall not wait for it. */
	skb_orphan(skb);
	skb_dst_force(skb);
	__skb_queue_tail(&peer->stage, skb);
	omerta_peer_due(peer, jiffies + HZ);
	return true;
}

/* Ask for a key, once, if that is what traffic waits for. */
static bool ask_for_key(struct omerta_peer *peer)
{
	lockdep_assert_held(&peer->tx_lock);

	if (peer->key_wanted || peer->stage_why != OMERTA_DROP_TX_DROP_NO_KEY)
		return false;
	peer->key_wanted = true;
	return true;
}

/* What the bursts of a packet, which are not sent yet, are charged with. */
static u32 charge(const struct omerta_tx_burst *burst)
{
	u32 bytes = 0;

	for (; burst; burst = burst->next)
		bytes += burst->outer->truesize;
	return bytes;
}

/* Returns the bytes that it is charged with once it is on its way. */
static u32 send_packet(struct omerta_peer *peer, struct sk_buff *skb)
{
	struct omerta_tx_burst *bursts = NULL;
	struct omerta_tunnel *tun = peer->tun;
	bool waits = false, ask = false;
	enum omerta_drop why;
	u32 bytes = 0;
	int err = -EAGAIN;

	spin_lock_bh(&peer->tx_lock);
	if (skb_queue_empty(&peer->stage))
		err = stage(peer, skb, &bursts);
	if (!err)
		bytes = charge(bursts);
	if (err == -EAGAIN) {
		waits = stage_wait(peer, skb);
		ask = ask_for_key(peer);
	}
	why = peer->stage_why;
	spin_unlock_bh(&peer->tx_lock);

	if (ask)
		omerta_keyring_needed(&peer->ring);
	if (!err)
		run_bursts(tun, bursts);
	else if (!waits)
		reject(tun, skb, err == -EAGAIN ? why : drop_reason(err));
	return bytes;
}

/**
 * omerta_tx_flush() - send what waited for a key or a route
 * @peer: the peer
 *
 * Context: BH off, inside an RCU read-side section.
 */
void omerta_tx_flush(struct omerta_peer *peer)
{
	struct omerta_tx_burst *bursts;
	struct sk_buff *skb;
	int err;

	for (;;) {
		err = -EAGAIN;
		spin_lock_bh(&peer->tx_lock);
		skb = __skb_dequeue(&peer->stage);
		if (skb)
			err = stage(peer, skb, &bursts);
		if (skb && err == -EAGAIN)
			__skb_queue_head(&peer->stage, skb);
		spin_unlock_bh(&peer->tx_lock);

		if (err == -EAGAIN)
			return;
		if (err)
			reject(peer->tun, skb, drop_reason(err));
		else
			run_bursts(peer->tun, bursts);
	}
}

/**
 * omerta_tx_retry() - try again to send what waits, and give up on old
 * @peer: the peer
 *
 * Context: BH off, inside an RCU read-side section.
 */
void omerta_tx_retry(struct omerta_peer *peer)
{
	struct sk_buff_head old;
	enum omerta_drop why;
	struct sk_buff *skb;

	omerta_tx_flush(peer);

	__skb_queue_head_init(&old);
	spin_lock_bh(&peer->tx_lock);
	if (!skb_queue_empty(&peer->stage)) {
		if (time_before(jiffies, peer->stage_since + STAGE_TIME)) {
			omerta_peer_due(peer, jiffies + HZ);
		} else {
			skb_queue_splice_init(&peer->stage, &old);
			peer->key_wanted = false;
		}
	}
	why = peer->stage_why;
	spin_unlock_bh(&peer->tx_lock);

	while ((skb = __skb_dequeue(&old)))
		reject(peer->tun, skb, why);
}

/**
 * omerta_tx_keepalive() - send an empty record
 * @peer: the peer
 *
 * Context: BH off, inside an RCU read-side section.
 */
void omerta_tx_keepalive(struct omerta_peer *peer)
{
	struct omerta_tx_burst *burst;
	int err;

	spin_lock_bh(&peer->tx_lock);
	err = stage(peer, NULL, &burst);
	spin_unlock_bh(&peer->tx_lock);
	if (!err)
		run_bursts(peer->tun, burst);
}

static bool valid_ip(struct sk_buff *skb)
{
	return !skb_network_offset(skb) && pskb_inet_may_pull(skb) &&
	       ip_tunnel_parse_protocol(skb) == skb->protocol &&
	       (skb->protocol == htons(ETH_P_IP) ||
		skb->protocol == htons(ETH_P_IPV6)) &&
	       (!skb_is_gso(skb) || omerta_segments_can(skb));
}

static bool fits(const struct sk_buff *skb, u32 mtu)
{
	return skb_is_gso(skb) ? skb_gso_validate_network_len(skb, mtu) :
				 skb->len <= mtu;
}

static void too_big(struct omerta_tunnel *tun, struct sk_buff *skb)
{
	u32 mtu = READ_ONCE(tun->dev->mtu);

	if (skb->protocol == htons(ETH_P_IP))
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
			      htonl(mtu));
	else
		icmpv6_ndo_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
	omerta_drop_many(tun->drops, skb, OMERTA_DROP_TX_DROP_TOO_BIG,
			 packets_of(skb));
}

/**
 * omerta_tx_features() - ndo_features_check
 * @skb: an inner packet
 * @dev: the device
 * @features: that the packet would meet
 *
 * Return: those that it meets; what is too special is cut before it comes.
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
 * omerta_tx_xmit() - ndo_start_xmit
 * @skb: an inner packet; consumed
 * @dev: the device
 *
 * Context: BH off, the queue's lock held.
 * Return: NETDEV_TX_OK.
 */
netdev_tx_t omerta_tx_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	struct omerta_peer *peer;
	u32 bytes = 0;

	if (unlikely(!valid_ip(skb))) {
		omerta_drop(tun->drops, skb, OMERTA_DROP_TX_DROP_PROTO);
		return NETDEV_TX_OK;
	}
	if (unlikely(!fits(skb, READ_ONCE(dev->mtu)))) {
		too_big(tun, skb);
		return NETDEV_TX_OK;
	}
	rcu_read_lock();
	peer = omerta_peer_by_dst(tun, skb);
	if (likely(peer))
		bytes = send_packet(peer, skb);
	else
		reject(tun, skb, OMERTA_DROP_TX_DROP_NO_PEER);
	rcu_read_unlock();
	omerta_txq_sent(tun, bytes);
	return NETDEV_TX_OK;
}
