// SPDX-License-Identifier: GPL-2.0
/*
 * The way out: xmit -> stage -> seal -> send.
 *
 * stage gives a packet its key, counter and route and puts it at the end of
 * the peer's fifo; seal works outside of all locks, on one CPU or several;
 * send takes from the fifo's head what is sealed.
 */
#include "datapath/tx.h"

#include <linux/if_ether.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>

#include "compat/compat.h"
#include "peer/tenant.h"
#include "datapath/tx_burst.h"
#include "datapath/tx_reject.h"
#include "datapath/txq.h"
#include "datapath/udp.h"

/* Packets that may wait for a key or a route, and for how long. */
#define STAGE_LEN		128
#define STAGE_BYTES		SZ_1M
/* The first packet of a peer is short, else it counts as any. */
#define STAGE_BYTES_FIRST	SZ_4K
/* Tries to agree on a key come at most 5.33 s apart: two more of them, and an answer */
#define STAGE_TIME		(12 * HZ)
/* So much of it is sent in one go. */
#define FLUSH_PACKETS		32U
#define FLUSH_BYTES		SZ_64K

/*
 * All packets that wait on devices of a tenant, whose senders' sockets limit nothing any
 * more. Packets of peers that have none waiting reach further: the one peer's traffic
 * then does not keep the first packet to another from waiting.
 */
static const struct omerta_bounds stage_bounds = {
	.tenant = SZ_16M,
	.owner = SZ_32M,
	.dead = OMERTA_UNBOUNDED,
};

static const struct omerta_bounds stage_first_bounds = {
	.tenant = SZ_32M,
	.owner = SZ_64M,
	.dead = OMERTA_UNBOUNDED,
};

static u8 outer_ecn(const struct sk_buff *skb)
{
	return ip_tunnel_ecn_encap(0, ip_hdr(skb), skb);
}

static bool outer_df(const struct omerta_tunnel *tun, const struct sk_buff *skb)
{
	switch (READ_ONCE(tun->df)) {
	case OMERTA_DF_SET:
		return true;
	case OMERTA_DF_INHERIT:
		return skb && (skb->protocol == htons(ETH_P_IPV6) ||
			       ip_hdr(skb)->frag_off & htons(IP_DF));
	}
	return false;
}

/* Whether a burst is not too long for its path, or may be fragmented there. */
static bool fits_path(struct omerta_peer *peer, struct omerta_tx_burst *burst)
{
	lockdep_assert_held(&peer->tx_lock);

	if (!burst->path.df)
		return true;
	omerta_peer_see_path(peer, omerta_udp_room(&burst->path));
	if (likely(burst->layout.wire_len <= peer->path_room))
		return true;
	if (!burst->must_pass)
		return false;
	burst->path.df = false;
	return true;
}

/*
 * Give a burst its way, key and counters, and put it on the fifo. If that fails
 * it is freed; its packets stay the caller's. Returns 0, -EAGAIN if the packets
 * should wait, or another error.
 */
static int stage_burst(struct omerta_peer *peer, struct omerta_tx_burst *burst)
{
	int err;

	lockdep_assert_held(&peer->tx_lock);

	err = omerta_udp_route(peer, burst->outer, &burst->path);
	if (err)
		goto err_burst;
	if (!fits_path(peer, burst)) {
		err = -EMSGSIZE;
		goto err_route;
	}
	burst->key = omerta_key_seal(&peer->ring, burst->n,
				     omerta_tx_burst_bytes(burst),
				     &burst->counter);
	if (!burst->key) {
		err = -EAGAIN;
		goto err_route;
	}
	if (burst->inner.n == 1)
		omerta_record_header(&burst->last, burst->buf.block[0],
				     burst->key->remote_id, burst->counter);
	peer->key_wanted = false;
	list_add_tail(&burst->list, &peer->tx_fifo);
	return 0;

err_route:
	dst_release(burst->path.dst);
err_burst:
	kfree_skb(burst->outer);
	omerta_job_put(&burst->job);
	if (err == -ENETUNREACH) {
		peer->stage_why = OMERTA_DROP_TX_DROP_NO_ROUTE;
		err = -EAGAIN;
	}
	return err;
}

/* Whether there is a key to seal with; if not, that is what is waited for. */
static bool has_key(struct omerta_peer *peer)
{
	lockdep_assert_held(&peer->tx_lock);

	peer->stage_why = OMERTA_DROP_TX_DROP_NO_KEY;
	return rcu_access_pointer(peer->ring.active);
}

/* A burst of a packet's parts from number @first on, or of none. */
static struct omerta_tx_burst *try_part(struct omerta_peer *peer,
					struct sk_buff *skb,
					unsigned int first)
{
	struct omerta_tx_burst *burst;
	int err;

	burst = omerta_tx_burst_alloc(peer, skb, first, omerta_tx_sealed);
	if (IS_ERR(burst))
		return burst;
	burst->path.df = outer_df(peer->tun, skb);
	burst->must_pass = !skb || omerta_tx_fits(skb, omerta_tx_least(skb));
	if (skb)
		burst->path.ecn = outer_ecn(skb);
	err = stage_burst(peer, burst);
	return err ? ERR_PTR(err) : burst;
}

/*
 * A burst of a packet's parts from number @first on, or of none for a keepalive.
 * It has a reference to the packet; the last takes over the caller's.
 */
static struct omerta_tx_burst *stage_part(struct omerta_peer *peer,
					  struct sk_buff *skb,
					  unsigned int first)
{
	struct omerta_tx_burst *burst;

	if (!has_key(peer))
		return ERR_PTR(-EAGAIN);
	burst = try_part(peer, skb, first);
	/* Perhaps only its padding was for a longer path. */
	if (burst == ERR_PTR(-EMSGSIZE) && omerta_tx_fits(skb, peer->path_mtu))
		burst = try_part(peer, skb, first);
	if (IS_ERR(burst))
		return burst;
	if (first + burst->n < burst->inner.n)
		skb_get(skb);
	return burst;
}

/*
 * Make bursts of a packet, or one of none for a keepalive. Returns 0 with the
 * packet consumed and its bursts in @jobs, which was empty; or an error with nothing
 * done, -EAGAIN if the packet should wait.
 */
static int stage(struct omerta_peer *peer, struct sk_buff *skb,
		 struct omerta_jobs *jobs)
{
	unsigned int first = 0, all = 0;

	do {
		struct omerta_tx_burst *burst = stage_part(peer, skb, first);

		if (IS_ERR(burst)) {
			if (!first)
				return PTR_ERR(burst);
			/* The rest of a packet cannot wait. */
			omerta_drop_many(peer->tun->drops, skb,
					 burst == ERR_PTR(-EAGAIN) ?
					 peer->stage_why :
					 omerta_tx_drop_reason(PTR_ERR(burst)),
					 all - first);
			return 0;
		}
		omerta_jobs_add(jobs, &burst->job);
		all = burst->inner.n;
		first += burst->n;
	} while (first < all);
	return 0;
}

/* Have bursts sealed, each on its own or all together. */
static void seal(struct omerta_tunnel *tun, struct omerta_jobs *jobs)
{
	unsigned int n = jobs->n;

	if (!n)
		return;
	if (n == 1)
		n = jobs->first->n_items;
	omerta_pool_run(&tun->pool, jobs,
			omerta_tunnel_split(tun, jobs->bytes, n));
}

/*
 * State of a packet that waits.
 * @since: jiffies at which that began
 * @charge: its truesize at that time, which may grow meanwhile
 */
struct stage_cb {
	unsigned long since;
	u32 charge;
};

static struct stage_cb *stage_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct stage_cb) > sizeof(skb->cb));
	return (struct stage_cb *)skb->cb;
}

/* Let a packet wait; false if a bound keeps it from that. */
static bool stage_wait(struct omerta_peer *peer, struct sk_buff *skb)
{
	bool first = skb_queue_empty(&peer->stage);

	lockdep_assert_held(&peer->tx_lock);

	/* Also if it does not: to ask for a key again some day */
	omerta_peer_due(peer, jiffies + HZ);
	if (skb_queue_len(&peer->stage) >= STAGE_LEN || peer->stage_bytes > STAGE_BYTES)
		return false;
	if (omerta_tenant_charge(peer->tun->tenant, OMERTA_RESOURCE_STAGE,
				 skb->truesize,
				 first && skb->truesize <= STAGE_BYTES_FIRST ?
				 &stage_first_bounds : &stage_bounds))
		return false;
	stage_cb(skb)->since = jiffies;
	stage_cb(skb)->charge = skb->truesize;
	peer->stage_bytes += skb->truesize;
	/* Whoever counts what is on its way shall not wait for it. */
	skb_orphan(skb);
	skb_dst_force(skb);
	__skb_queue_tail(&peer->stage, skb);
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

/* Drop a packet that cannot be staged. */
static void refuse(struct omerta_peer *peer, struct sk_buff *skb,
		   enum omerta_drop reason)
{
	if (reason == OMERTA_DROP_TX_DROP_TOO_BIG)
		omerta_tx_too_big(peer->tun, skb, omerta_peer_mtu(peer));
	else
		omerta_tx_reject(peer->tun, skb, reason);
}

/* Send some of what waited for a key or a route; returns true if others can be sent. */
static bool flush_some(struct omerta_peer *peer)
{
	unsigned int n = FLUSH_PACKETS, len = 0;
	struct omerta_jobs jobs = {};
	struct sk_buff *skb;
	u32 bytes;
	int err;

	while (n-- && len < FLUSH_BYTES) {
		err = -EAGAIN;
		spin_lock_bh(&peer->tx_lock);
		skb = __skb_dequeue(&peer->stage);
		if (skb) {
			len += skb->len;
			bytes = stage_cb(skb)->charge;
			err = stage(peer, skb, &jobs);
			if (err == -EAGAIN)
				__skb_queue_head(&peer->stage, skb);
			else
				omerta_peer_uncharge_stage(peer, bytes);
		}
		spin_unlock_bh(&peer->tx_lock);

		if (err == -EAGAIN)
			return false;
		if (err)
			refuse(peer, skb, omerta_tx_drop_reason(err));
		else
			seal(peer->tun, &jobs);
	}
	return !skb_queue_empty_lockless(&peer->stage);
}

/**
 * omerta_tx_flush() - send what waited for a key or a route
 * @peer: the peer
 *
 * A worker sends what would take long.
 *
 * Context: BH off, inside an RCU read-side section.
 */
void omerta_tx_flush(struct omerta_peer *peer)
{
	if (flush_some(peer))
		omerta_tx_send_later(peer);
}

/* What bursts that are not sent yet are charged with. */
static u32 charge(const struct omerta_jobs *jobs)
{
	const struct omerta_job *job;
	u32 bytes = 0;

	for (job = jobs->first; job; job = job->after)
		bytes += container_of(job, struct omerta_tx_burst,
				      job)->outer->truesize;
	return bytes;
}

/* Make bursts of a packet, to be sealed. Returns the bytes that they are charged with. */
static u32 send_packet(struct omerta_peer *peer, struct sk_buff *skb)
{
	struct omerta_tunnel *tun = peer->tun;
	struct omerta_jobs jobs = {};
	bool waits = false, ask = false;
	enum omerta_drop why;
	u32 bytes = 0;
	int err = -EAGAIN;

	/* A worker may have begun on it, and come to the rest late. */
	if (unlikely(!skb_queue_empty_lockless(&peer->stage)) &&
	    rcu_access_pointer(peer->ring.active))
		omerta_tx_flush(peer);
	spin_lock_bh(&peer->tx_lock);
	if (skb_queue_empty(&peer->stage))
		err = stage(peer, skb, &jobs);
	if (!err)
		bytes = charge(&jobs);
	if (err == -EAGAIN) {
		waits = stage_wait(peer, skb);
		ask = ask_for_key(peer);
	}
	why = peer->stage_why;
	spin_unlock_bh(&peer->tx_lock);

	if (ask)
		omerta_keyring_needed(&peer->ring);
	if (!err)
		omerta_jobs_append(&tun->tx_jobs, &jobs);
	else if (!waits)
		refuse(peer, skb, err == -EAGAIN ? why :
			     omerta_tx_drop_reason(err));
	return bytes;
}

/* Bursts of several packets; returns how many of them, from the first on. */
static unsigned int stage_bunch(struct omerta_peer *peer,
				const struct omerta_bunch *bunch,
				struct omerta_jobs *jobs)
{
	unsigned int done = 0;

	if (!skb_queue_empty(&peer->stage) || !has_key(peer))
		return 0;
	while (done < bunch->n) {
		struct omerta_tx_burst *burst;

		burst = omerta_tx_burst_bunch(peer, bunch->skb + done,
					      bunch->n - done, omerta_tx_sealed);
		if (IS_ERR(burst))
			break;
		burst->path.ecn = bunch->ecn;
		/* The setting may have changed since the packets came. */
		burst->path.df = bunch->df &&
				 READ_ONCE(peer->tun->df) != OMERTA_DF_UNSET;
		if (stage_burst(peer, burst))
			break;
		omerta_jobs_add(jobs, &burst->job);
		done += burst->n_skbs;
	}
	return done;
}

/* Make bursts of packets that came one right after the other; as send_packet(). */
static u32 send_bunch(struct omerta_tunnel *tun)
{
	struct omerta_bunch *bunch = &tun->bunch;
	struct omerta_jobs jobs = {};
	unsigned int done = 0;
	u32 bytes = 0;

	if (bunch->n > 1) {
		spin_lock_bh(&bunch->peer->tx_lock);
		done = stage_bunch(bunch->peer, bunch, &jobs);
		bytes = charge(&jobs);
		spin_unlock_bh(&bunch->peer->tx_lock);
		omerta_jobs_append(&tun->tx_jobs, &jobs);
	}
	for (; done < bunch->n; done++)
		bytes += send_packet(bunch->peer, bunch->skb[done]);
	bunch->n = 0;
	return bytes;
}

/* Let a packet go with those before it; as send_packet(). */
static u32 add_to_bunch(struct omerta_tunnel *tun, struct omerta_peer *peer,
			struct sk_buff *skb)
{
	struct omerta_bunch *bunch = &tun->bunch;
	u8 ecn = outer_ecn(skb);
	bool df = outer_df(tun, skb);
	u32 bytes = 0;

	if (bunch->n && (bunch->peer != peer || bunch->ecn != ecn ||
			 bunch->df != df))
		bytes = send_bunch(tun);
	bunch->peer = peer;
	bunch->ecn = ecn;
	bunch->df = df;
	bunch->skb[bunch->n++] = skb;
	if (bunch->n == ARRAY_SIZE(bunch->skb))
		bytes += send_bunch(tun);
	return bytes;
}

/**
 * omerta_tx_work() - go on sending what is sealed, and what waited
 * @work: a peer's; has a reference to the peer, which ends here
 *
 * The device, or its namespace, may be gone if the peer is removed or the device down.
 * Then nothing waits.
 */
void omerta_tx_work(struct work_struct *work)
{
	struct omerta_peer *peer = container_of(work, struct omerta_peer,
						tx_work);
	bool more;

	do {
		local_bh_disable();
		rcu_read_lock();
		omerta_tx_send_rest(peer);
		more = !READ_ONCE(peer->dead) && flush_some(peer);
		rcu_read_unlock();
		local_bh_enable();
		cond_resched();
	} while (more);
	omerta_peer_put(peer);
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
	while ((skb = skb_peek(&peer->stage)) &&
	       time_after_eq(jiffies, stage_cb(skb)->since + STAGE_TIME)) {
		__skb_unlink(skb, &peer->stage);
		omerta_peer_uncharge_stage(peer, stage_cb(skb)->charge);
		__skb_queue_tail(&old, skb);
	}
	/* The next packet asks again. */
	if (!skb || !skb_queue_empty(&old))
		peer->key_wanted = false;
	if (skb)
		omerta_peer_due(peer, jiffies + HZ);
	why = peer->stage_why;
	spin_unlock_bh(&peer->tx_lock);

	while ((skb = __skb_dequeue(&old)))
		omerta_tx_reject(peer->tun, skb, why);
}

/**
 * omerta_tx_keepalive() - send an empty record
 * @peer: the peer
 *
 * Context: BH off, inside an RCU read-side section.
 * Return: false if there is no key to send it under.
 */
bool omerta_tx_keepalive(struct omerta_peer *peer)
{
	struct omerta_jobs jobs = {};
	bool no_key;
	int err;

	spin_lock_bh(&peer->tx_lock);
	err = stage(peer, NULL, &jobs);
	no_key = err == -EAGAIN &&
		 peer->stage_why == OMERTA_DROP_TX_DROP_NO_KEY;
	spin_unlock_bh(&peer->tx_lock);
	if (!err)
		seal(peer->tun, &jobs);
	return !no_key;
}

static bool valid_ip(struct sk_buff *skb)
{
	return !skb_network_offset(skb) && pskb_inet_may_pull(skb) &&
	       ip_tunnel_parse_protocol(skb) == skb->protocol &&
	       (skb->protocol == htons(ETH_P_IP) ||
		skb->protocol == htons(ETH_P_IPV6)) &&
	       (!skb_is_gso(skb) || omerta_segments_can(skb));
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

/* As send_packet(); some packets wait for those that follow at once. */
static u32 take_packet(struct omerta_tunnel *tun, struct sk_buff *skb)
{
	struct omerta_peer *peer;
	u32 bytes;

	if (unlikely(!valid_ip(skb))) {
		omerta_drop(tun->drops, skb, OMERTA_DROP_TX_DROP_PROTO);
		return 0;
	}
	/* Packets that tc redirects have not met the device's MTU. */
	if (unlikely(!omerta_tx_fits(skb, READ_ONCE(tun->dev->max_mtu)))) {
		omerta_tx_too_big(tun, skb, READ_ONCE(tun->dev->mtu));
		return 0;
	}
	peer = omerta_peer_by_dst(tun, skb);
	if (unlikely(!peer)) {
		omerta_tx_reject(tun, skb, OMERTA_DROP_TX_DROP_NO_PEER);
		return 0;
	}
	if (!skb_is_gso(skb) && likely(skb->len <= READ_ONCE(tun->dev->mtu)))
		return add_to_bunch(tun, peer, skb);
	bytes = send_bunch(tun);
	return bytes + send_packet(peer, skb);
}

/* Take a packet to send, and seal all that have been taken if that is enough. */
static void send_later(struct omerta_tunnel *tun, struct sk_buff *skb)
{
	rcu_read_lock();
	omerta_txq_sent(tun, take_packet(tun, skb));
	if (omerta_tunnel_enough(tun, &tun->tx_jobs))
		seal(tun, &tun->tx_jobs);
	rcu_read_unlock();
}

/* Send what has been taken. The queue is ours, see txq.h. */
static void send_now(struct omerta_tunnel *tun)
{
	rcu_read_lock();
	omerta_txq_sent(tun, send_bunch(tun));
	seal(tun, &tun->tx_jobs);
	omerta_txq_end(tun);
	rcu_read_unlock();
}

/**
 * omerta_tx_xmit() - ndo_start_xmit
 * @skb: an inner packet; consumed
 * @dev: the device
 *
 * Context: BH off, from the first packet to the last that is sent in one go; the
 * queue's lock held.
 * Return: NETDEV_TX_OK.
 */
netdev_tx_t omerta_tx_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct omerta_tunnel *tun = netdev_priv(dev);
	/* Other devices, which we may send into, change what it says. */
	bool more = netdev_xmit_more();

	if (unlikely(omerta_txq_is_full(tun))) {
		omerta_drop(tun->drops, skb, OMERTA_DROP_TX_DROP_QUEUE);
	} else {
		if (!tun->bunch.n && !tun->tx_jobs.n && omerta_txq_begin(tun, skb, more))
			return NETDEV_TX_OK;
		send_later(tun, skb);
	}
	/* A queue that stopped will not bring the one that is to follow. */
	if (!more || netif_queue_stopped(dev))
		send_now(tun);
	return NETDEV_TX_OK;
}

/**
 * omerta_tx_help() - send in the place of a busy sender
 * @work: a device queue's
 */
void omerta_tx_help(struct work_struct *work)
{
	struct omerta_tunnel *tun = container_of(work, struct omerta_tunnel,
						 txq.work.work);
	struct sk_buff_head packets;
	struct sk_buff *skb;

	__skb_queue_head_init(&packets);
	local_bh_disable();
	omerta_txq_kept(tun, &packets);
	if (!skb_queue_empty(&packets)) {
		/* Without the queue's lock: it may lead to this queue again. */
		while ((skb = __skb_dequeue(&packets)))
			send_later(tun, skb);
		send_now(tun);
		omerta_txq_resume(tun);
	}
	local_bh_enable();
}

/**
 * omerta_tx_purge() - drop packets that wait for others to follow
 * @tun: the device
 *
 * Context: process context, nothing is sent any more.
 */
void omerta_tx_purge(struct omerta_tunnel *tun)
{
	unsigned int i;

	netif_tx_lock_bh(tun->dev);
	for (i = 0; i < tun->bunch.n; i++)
		omerta_drop(tun->drops, tun->bunch.skb[i],
			    OMERTA_DROP_TX_DROP_DOWN);
	tun->bunch.n = 0;
	/* They find no socket. */
	seal(tun, &tun->tx_jobs);
	netif_tx_unlock_bh(tun->dev);
}
