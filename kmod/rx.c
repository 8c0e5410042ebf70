// SPDX-License-Identifier: GPL-2.0
/*
 * The way in: socket -> parse -> open -> commit -> deliver.
 *
 * All but open runs in the device's NAPI, which so serialises the commit.
 * Records of a peer are committed in the order of their arrival, whichever
 * CPU opens them.
 */
#include "rx.h"

#include <linux/if_ether.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>

#include "buf.h"
#include "compat.h"
#include "peer.h"
#include "record.h"
#include "tx.h"
#include "udp.h"

/* A host that accepted data answers within this time, if by nothing else. */
#define ANSWER_TIME	(10 * HZ)
/* Bursts that are not committed, for all peers of a device. */
#define INFLIGHT_MAX	256
/* What of a packet is made linear before it goes up. */
#define PULL_LEN	128U

/**
 * struct rx_burst - records on their way in
 * @job: for the opening of all chunks but the first
 * @list: member of the peer's fifo; NAPI only
 * @done: member of the device's list of what is opened
 * @peer: the peer; a reference
 * @key: the key; a reference
 * @outer: the datagram, linear
 * @inner: gets the plaintext
 * @data: its content
 * @layout: of the record
 * @counter: of the record
 * @bad: a chunk is not authentic
 * @opened: all chunks are through
 */
struct rx_burst {
	struct omerta_job job;
	struct list_head list;
	struct llist_node done;
	struct omerta_peer *peer;
	struct omerta_key *key;
	struct sk_buff *outer;
	struct sk_buff *inner;
	u8 *data;
	struct omerta_layout layout;
	u64 counter;
	bool bad;
	bool opened;
};

static bool open_chunks(struct rx_burst *burst, unsigned int i,
			unsigned int end)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n;

	for (n = 0; i < end; i++) {
		list[n].plain = burst->data;
		list[n].sealed = burst->outer->data;
		omerta_record_chunk(&burst->layout, burst->counter, i,
				    &list[n++]);
		if (n < OMERTA_CHUNK_LIST && i + 1 < end)
			continue;
		if (!omerta_chunk_open(list, n, burst->key->rx_secret))
			return false;
		n = 0;
	}
	return true;
}

/* Of the chunks but the first. */
static void open_run(struct omerta_job *job, unsigned int first,
		     unsigned int end)
{
	struct rx_burst *burst = container_of(job, struct rx_burst, job);

	if (!READ_ONCE(burst->bad) && !open_chunks(burst, first + 1, end + 1))
		WRITE_ONCE(burst->bad, true);
}

static void burst_free(struct omerta_job *job)
{
	struct rx_burst *burst = container_of(job, struct rx_burst, job);

	kfree_skb(burst->outer);
	kfree_skb(burst->inner);
	omerta_key_put(burst->key);
	omerta_peer_put(burst->peer);
	kfree(burst);
}

/* By whoever opened the last chunk. */
static void open_done(struct omerta_job *job)
{
	struct rx_burst *burst = container_of(job, struct rx_burst, job);
	struct omerta_tunnel *tun = burst->peer->tun;

	local_bh_disable();
	llist_add(&burst->done, &tun->rx_done);
	napi_schedule(&tun->napi);
	local_bh_enable();
}

/* Hand one inner packet to the stack; returns its length, 0 if dropped. */
static u32 deliver(struct omerta_peer *peer, struct sk_buff *skb, u8 dsfield)
{
	struct omerta_tunnel *tun = peer->tun;
	u32 len = skb->len;
	u8 inner;

	/* There is no link-layer header, which readers find by being told so. */
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->dev = tun->dev;
	skb->protocol = ip_tunnel_parse_protocol(skb);
	if (unlikely(!omerta_peer_owns_src(peer, skb))) {
		omerta_drop(tun->drops, skb, OMERTA_DROP_RX_DROP_SOURCE);
		return 0;
	}
	inner = ip_tunnel_get_dsfield(ip_hdr(skb), skb);
	if (unlikely(INET_ECN_decapsulate(skb, dsfield, inner) > 1)) {
		omerta_drop(tun->drops, skb, OMERTA_DROP_RX_DROP_ECN);
		return 0;
	}
	/* Authentic means unchanged, whatever checksums there are inside. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = ~0;
	dev_sw_netstats_rx_add(tun->dev, len);
	napi_gro_receive(&tun->napi, skb);
	return len;
}

/* Copy one packet of a batch out of the plaintext. */
static struct sk_buff *copy_inner(struct omerta_tunnel *tun, const u8 *data,
				  const struct omerta_inner *in)
{
	struct sk_buff *skb = napi_alloc_skb(&tun->napi, in->len);

	if (skb)
		skb_put_data(skb, data + in->off, in->len);
	return skb;
}

/* The record's only packet, without padding, its IP header linear. */
static struct sk_buff *take_inner(struct rx_burst *burst,
				  const struct omerta_inner *in)
{
	struct sk_buff *skb = burst->inner;

	burst->inner = NULL;
	if (pskb_trim(skb, in->len) ||
	    !pskb_may_pull(skb, min(in->len, PULL_LEN))) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

/* Deliver the packets of a fresh record; counts them. */
static void deliver_record(struct rx_burst *burst, int n)
{
	u8 dsfield = omerta_udp_dsfield(burst->outer);
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	struct omerta_inner in = {};
	u32 packets = 0, bytes = 0;

	while (n--) {
		bool batch = omerta_record_next(burst->data, &in);
		struct sk_buff *skb;
		u32 len;

		skb = batch ? copy_inner(tun, burst->data, &in) :
			      take_inner(burst, &in);
		if (!skb) {
			omerta_drop(tun->drops, NULL,
				    OMERTA_DROP_RX_DROP_NOMEM);
			continue;
		}
		len = deliver(peer, skb, dsfield);
		packets += !!len;
		bytes += len;
	}
	if (packets)
		omerta_peer_stats_rx(peer->stats, packets, bytes, 0, 0);
}

/* What a fresh record does to its peer, whatever it carries. */
static void note_record(struct rx_burst *burst, enum omerta_fresh fresh,
			bool activated)
{
	struct omerta_peer *peer = burst->peer;
	struct omerta_endpoint from;

	omerta_peer_stats_rx(peer->stats, 0, 0, 1, burst->layout.wire_len);
	WRITE_ONCE(peer->rx_last, ktime_get_coarse_boottime_ns());
	if (fresh == OMERTA_FRESH_NEWEST) {
		omerta_udp_source(burst->outer, &from);
		omerta_peer_set_endpoint(peer, &from);
	}
	if (unlikely(READ_ONCE(peer->confirm_left) &&
		     rcu_access_pointer(peer->ring.active) == burst->key))
		WRITE_ONCE(peer->confirm_left, 0);
	if (unlikely(activated))
		omerta_tx_flush(peer);
	if (burst->layout.plain_len && !READ_ONCE(peer->answer_due)) {
		WRITE_ONCE(peer->answer_at, jiffies + ANSWER_TIME);
		WRITE_ONCE(peer->answer_due, true);
		omerta_peer_due(peer, jiffies + ANSWER_TIME);
	}
}

/* Judge an opened record and deliver what it carries. */
static void commit(struct rx_burst *burst)
{
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	enum omerta_fresh fresh;
	bool activated;
	int n;

	if (unlikely(burst->bad)) {
		omerta_key_auth_failed(burst->key);
		omerta_drop(tun->drops, NULL, OMERTA_DROP_RX_DROP_AUTH);
		return;
	}
	if (unlikely(READ_ONCE(peer->dead) || !omerta_key_opens(burst->key))) {
		omerta_drop(tun->drops, NULL, OMERTA_DROP_RX_DROP_KEY_EXPIRED);
		return;
	}
	fresh = omerta_key_commit(burst->key, burst->counter,
				  burst->layout.wire_len, &activated);
	if (unlikely(fresh == OMERTA_FRESH_NOT)) {
		omerta_drop(tun->drops, NULL, OMERTA_DROP_RX_DROP_REPLAY);
		return;
	}
	note_record(burst, fresh, activated);
	if (!burst->layout.plain_len)
		return;
	n = omerta_record_check(burst->data, burst->layout.plain_len);
	if (unlikely(n < 0)) {
		omerta_drop(tun->drops, NULL, OMERTA_DROP_RX_DROP_PLAINTEXT);
		return;
	}
	deliver_record(burst, n);
}

/* Commit, or only drop, what is opened at the head of a peer's fifo. */
static void commit_opened(struct omerta_peer *peer, bool drop)
{
	struct rx_burst *burst, *tmp;

	list_for_each_entry_safe(burst, tmp, &peer->rx_fifo, list) {
		if (!burst->opened)
			return;
		list_del(&burst->list);
		peer->tun->rx_inflight--;
		if (!drop)
			commit(burst);
		omerta_job_put(&burst->job);
	}
}

/* Take back what other CPUs have opened; returns the number of bursts. */
static int take_done(struct omerta_tunnel *tun, bool drop)
{
	struct llist_node *done = llist_del_all(&tun->rx_done);
	struct rx_burst *burst, *tmp;
	int n = 0;

	/*
	 * A burst stays at least until it is marked here. The peer stays to the
	 * end of the RCU section, though its last reference may go before.
	 */
	done = llist_reverse_order(done);
	llist_for_each_entry_safe(burst, tmp, done, done) {
		burst->opened = true;
		commit_opened(burst->peer, drop);
		n++;
	}
	return n;
}

/* Why a datagram that is no data record is dropped. */
static enum omerta_drop no_record(const struct sk_buff *skb)
{
	u8 buf[OMERTA_MAGIC_LEN + 1];
	const u8 *p = skb_header_pointer(skb, 0, sizeof(buf), buf);
	u8 type;

	if (!p || memcmp(p, OMERTA_MAGIC, OMERTA_MAGIC_LEN))
		return OMERTA_DROP_RX_DROP_TYPE;
	type = p[OMERTA_MAGIC_LEN];
	if (type == OMERTA_TYPE_MESH || (type >= OMERTA_TYPE_CONTROL &&
					 type <= OMERTA_TYPE_CONTROL_LAST))
		return OMERTA_DROP_RX_DROP_CONTROL;
	if (type >= OMERTA_TYPE_DATA &&
	    type < OMERTA_TYPE_DATA + OMERTA_CHUNK_CLASSES)
		return OMERTA_DROP_RX_DROP_MALFORMED;
	return OMERTA_DROP_RX_DROP_TYPE;
}

/*
 * Make a burst of a datagram: checks all that needs no key, then the key.
 * Returns NULL if it cannot be opened; @why says for what to drop it.
 */
static struct rx_burst *parse(struct omerta_tunnel *tun, struct sk_buff *skb,
			      enum omerta_drop *why)
{
	const struct omerta_hdr *hdr;
	struct rx_burst *burst;

	*why = no_record(skb);
	if (*why != OMERTA_DROP_RX_DROP_MALFORMED ||
	    skb->len < OMERTA_HDR_LEN)
		return NULL;
	*why = OMERTA_DROP_RX_DROP_NOMEM;
	if (skb_linearize(skb))
		return NULL;
	burst = kzalloc_obj(*burst, GFP_ATOMIC | __GFP_NOWARN);
	if (!burst)
		return NULL;
	*why = OMERTA_DROP_RX_DROP_MALFORMED;
	if (omerta_record_parse(&burst->layout, skb->data, skb->len))
		goto err_burst;

	hdr = (const struct omerta_hdr *)skb->data;
	burst->counter = le64_to_cpu(hdr->counter);
	*why = OMERTA_DROP_RX_DROP_KEY_UNKNOWN;
	burst->key = omerta_key_get(&tun->keys, le32_to_cpu(hdr->key_id));
	if (!burst->key)
		goto err_burst;
	burst->peer = omerta_peer_get(container_of(burst->key->ring,
						   struct omerta_peer, ring));
	if (!burst->peer)
		goto err_key;
	burst->outer = skb;
	burst->job.run = open_run;
	burst->job.done = open_done;
	burst->job.free = burst_free;
	return burst;

err_key:
	omerta_key_put(burst->key);
err_burst:
	kfree(burst);
	return NULL;
}

/*
 * Open a burst here, or begin to open it elsewhere. The first chunk is opened
 * here in any case, so that a forged record costs no more than that.
 */
static bool open_burst(struct omerta_tunnel *tun, struct rx_burst *burst,
		       enum omerta_drop *why)
{
	unsigned int rest = burst->layout.n_chunks - 1;
	unsigned int runs = 1;

	*why = OMERTA_DROP_RX_DROP_KEY_EXPIRED;
	if (!omerta_key_opens(burst->key))
		return false;
	*why = OMERTA_DROP_RX_DROP_REPLAY;
	if (omerta_replay_too_old(&burst->key->replay, burst->counter))
		return false;
	*why = OMERTA_DROP_RX_DROP_NOMEM;
	burst->inner = omerta_buf_alloc(NET_SKB_PAD, burst->layout.plain_len,
					&burst->data);
	if (!burst->inner)
		return false;
	*why = OMERTA_DROP_RX_DROP_AUTH;
	if (!open_chunks(burst, 0, 1)) {
		omerta_key_auth_failed(burst->key);
		return false;
	}

	if (rest)
		runs = omerta_tunnel_split(tun, burst->layout.plain_len, rest);
	list_add_tail(&burst->list, &burst->peer->rx_fifo);
	tun->rx_inflight++;
	if (runs > 1) {
		omerta_job_init(&burst->job, rest, runs);
		omerta_pool_run(&tun->pool, &burst->job);
		return true;
	}
	burst->bad = !open_chunks(burst, 1, rest + 1);
	burst->opened = true;
	commit_opened(burst->peer, false);
	return true;
}

static void receive(struct omerta_tunnel *tun, struct sk_buff *skb)
{
	struct rx_burst *burst;
	enum omerta_drop why;

	burst = parse(tun, skb, &why);
	if (!burst) {
		omerta_drop(tun->drops, skb, why);
		return;
	}
	omerta_job_init(&burst->job, 0, 1);
	if (!open_burst(tun, burst, &why)) {
		burst->outer = NULL;
		omerta_drop(tun->drops, skb, why);
		omerta_job_put(&burst->job);
	}
}

/**
 * omerta_rx_poll() - take what came in on the sockets and from other CPUs
 * @napi: the device's
 * @budget: number of bursts to handle at most
 *
 * Return: number of bursts handled, @budget to be called again.
 */
int omerta_rx_poll(struct napi_struct *napi, int budget)
{
	struct omerta_tunnel *tun = container_of(napi, struct omerta_tunnel,
						 napi);
	struct sk_buff *skb;
	int work;

	rcu_read_lock();
	work = take_done(tun, false);
	/*
	 * If too many wait, some are with other CPUs: open_done() has us called
	 * again, and meanwhile the socket's buffer is the limit.
	 */
	while (work < budget && tun->rx_inflight < INFLIGHT_MAX &&
	       (skb = omerta_udp_recv(tun))) {
		receive(tun, skb);
		work++;
	}
	rcu_read_unlock();

	if (work >= budget)
		return budget;
	napi_complete_done(napi, work);
	return work;
}

/**
 * omerta_rx_purge() - drop what has been opened but not committed
 * @tun: the device; its NAPI is disabled, its workers are idle
 *
 * Context: process context.
 */
void omerta_rx_purge(struct omerta_tunnel *tun)
{
	rcu_read_lock();
	take_done(tun, true);
	rcu_read_unlock();
}
