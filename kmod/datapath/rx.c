// SPDX-License-Identifier: GPL-2.0
/*
 * Receive path: receive -> open -> commit -> deliver.
 *
 * Receive parses the records of datagrams and collects them in bursts. Open runs on one
 * CPU or several (rx_open.c, queue.c). Commit checks the replay window, and deliver hands
 * packets to the stack (rx_commit.c, rx_deliver.c). Everything but open runs in the NAPI of
 * the channel that a datagram arrived at.
 */
#include "datapath/rx.h"

#include <linux/if_ether.h>
#include <net/ipv6.h>

#include "compat/compat.h"
#include "datapath/buf.h"
#include "datapath/control.h"
#include "datapath/reject.h"
#include "datapath/rx_burst.h"
#include "datapath/trace.h"
#include "datapath/txq.h"
#include "datapath/udp.h"

/* Most bursts of a device that are not delivered; as many are allowed to each channel. */
#define INFLIGHT_MAX	256U
#define INFLIGHT_MIN	32U
/* A longer datagram counts as several units of work. */
#define UNIT_BYTES	2048
/* Units of work that are worth a check of the time. */
#define CHECK_UNITS	16
/* No further datagrams are opened in less time than this, in ns. */
#define OPEN_TIME	(50 * NSEC_PER_USEC)
/* Most records whose burst fits a page. */
#define RECORDS_MAX \
	((PAGE_SIZE - SKB_DATA_ALIGN(sizeof(struct omerta_rx_burst)) - \
	  SKB_HEAD_ALIGN(0)) / \
	 sizeof(struct omerta_rx_record))

/**
 * struct datagram - the datagram of a record
 * @skb: the skb that holds it
 * @from: source
 * @own_port: it came to the channel's own port
 * @dsfield: DSCP and ECN
 * @max_records: length of a burst that starts with it
 */
struct datagram {
	struct sk_buff *skb;
	struct omerta_endpoint from;
	bool own_port;
	u8 dsfield;
	unsigned int max_records;
};

static void open_run(struct omerta_job *job, unsigned int i, unsigned int end)
{
	struct omerta_rx_burst *burst = container_of(job, struct omerta_rx_burst, job);
	u64 since = trace_omerta_rx_open_enabled() ? ktime_get_ns() : 0;

	if (burst->n > 1)
		omerta_rx_open_records(burst, i, end);
	else if (!READ_ONCE(burst->bad) &&
		 !omerta_rx_open_chunks(burst, 0, burst->first_chunk + i,
					burst->first_chunk + end))
		WRITE_ONCE(burst->bad, true);
	trace_omerta_rx_open(burst->peer->tun, burst->key->local_id, burst->rec[0].counter,
			     job, i, end, since);
}

/* Called on the CPU that opened the last chunk. */
static void open_done(struct omerta_job *job)
{
	struct omerta_rx_burst *burst = container_of(job, struct omerta_rx_burst, job);
	struct omerta_channel *ch = burst->ch;

	local_bh_disable();
	llist_add(&burst->done, &ch->rx_done);
	napi_schedule(&ch->napi);
	local_bh_enable();
}

static void burst_free(struct omerta_job *job)
{
	struct omerta_rx_burst *burst = container_of(job, struct omerta_rx_burst, job);

	if (burst->peer)
		omerta_rx_release(burst);
	omerta_burst_free(burst, sizeof(*burst));
}

/*
 * Open the bursts that were received: a lone burst by several CPUs if that pays, each of
 * several bursts by one. Returns how much of @units was done here, but at least the share of
 * one CPU, since the datagrams were parsed here.
 */
static unsigned int open_bursts(struct omerta_channel *ch, unsigned int units)
{
	struct omerta_jobs *jobs = &ch->rx_jobs;
	struct omerta_pool *pool = &ch->tun->pool;
	unsigned int shares, n = jobs->n;
	u64 total = jobs->bytes, own = 0;
	struct omerta_rx_burst *burst;
	struct omerta_job *job;

	if (!n)
		return units;
	job = jobs->first;
	shares = omerta_pool_split(pool, jobs);
	burst = container_of(job, struct omerta_rx_burst, job);
	if (n == 1 && burst->n == 1 && shares > 1) {
		/* Open a chunk first: a forged record must not occupy other CPUs. */
		open_run(job, 0, 1);
		burst->first_chunk = 1;
		job->n_items--;
		shares = burst->bad ? 1 : min(shares, job->n_items);
	}
	omerta_pool_offer(pool, jobs, shares);
	while ((job = omerta_jobs_pop(jobs))) {
		if (shares > 1) {
			own += div_u64((u64)job->bytes * omerta_job_work(job),
				       job->n_runs);
		} else {
			open_run(job, 0, job->n_items);
			omerta_rx_opened(container_of(job, struct omerta_rx_burst, job));
			own += job->bytes;
		}
		omerta_job_put(job);
	}
	return max_t(u64, DIV64_U64_ROUND_UP(units * own, total),
		     DIV_ROUND_UP(units, OMERTA_SHARES_MAX));
}

/* Finish the collection of a burst, to be opened by open_bursts(). */
static void close_burst(struct omerta_channel *ch, struct omerta_rx_burst *burst)
{
	enum omerta_drop reason = OMERTA_DROP_NONE;
	struct omerta_rx_burst *first;
	u32 len = burst->last.plain_len;
	unsigned int i;

	/* Empty: its only record was dropped as too old. */
	if (!burst->n) {
		omerta_job_put(&burst->job);
		return;
	}
	if (!omerta_key_can_open(burst->key)) {
		reason = OMERTA_DROP_RX_KEY_EXPIRED;
	} else if (burst->n > 1 || len > OMERTA_BUF_LINEAR_MAX) {
		burst->inner = omerta_buf_alloc_skb(&burst->buf, 0, burst->n,
						    burst->layout.plain_len, len);
	} else {
		/* A lone packet is delivered in its buffer. */
		burst->inner = omerta_buf_alloc_linear(len);
		if (burst->inner) {
			burst->buf.per_block = 1;
			burst->buf.block[0] = burst->inner->data;
		}
	}
	if (!burst->inner) {
		reason = reason ?: OMERTA_DROP_RX_NOMEM;
		omerta_drop(ch, NULL, reason, burst->n);
		for (i = 0; i < burst->n; i++)
			if (burst->rec[i].outer)
				OMERTA_RX_CB(burst->rec[i].outer)->reason = reason;
		omerta_job_put(&burst->job);
		return;
	}
	trace_omerta_rx_receive(burst);
	WRITE_ONCE(ch->rx_bursts, ch->rx_bursts + 1);
	burst->merge = !netif_elide_gro(ch->tun->dev);
	INIT_LIST_HEAD(&burst->list);
	INIT_LIST_HEAD(&burst->ready);
	hash_for_each_possible(ch->rx_peers, first, by_peer, (unsigned long)burst->peer)
		if (first->peer == burst->peer)
			break;
	if (first)
		list_add_tail(&burst->list, &first->list);
	else
		hash_add(ch->rx_peers, &burst->by_peer, (unsigned long)burst->peer);
	ch->rx_inflight++;
	omerta_job_init(&burst->job,
			burst->n > 1 ? burst->n : burst->last.n_chunks,
			burst->n * max(burst->layout.plain_len, OMERTA_CHUNK_COST));
	burst->job.payload = burst->n * burst->layout.plain_len;
	omerta_jobs_add(&ch->rx_jobs, &burst->job);
}

/* Start a burst. Returns NULL with the reason to drop its first record. */
static struct omerta_rx_burst *begin_burst(struct omerta_channel *ch,
					   const struct datagram *d, u32 key_id,
					   enum omerta_drop *reason)
{
	struct omerta_rx_burst *burst;
	struct omerta_buf buf;

	*reason = OMERTA_DROP_RX_NOMEM;
	burst = omerta_burst_alloc(struct_size(burst, rec, d->max_records), &buf, 0, 0);
	if (!burst)
		return NULL;
	memset(burst, 0, sizeof(*burst));
	burst->buf = buf;
	*reason = OMERTA_DROP_RX_KEY_UNKNOWN;
	burst->key = omerta_key_get(&ch->tun->peers.keys, key_id);
	if (!burst->key)
		goto err_burst;
	burst->pc = container_of(burst->key->ring, struct omerta_peer_channel, ring);
	burst->peer = burst->pc->peer;
	burst->ch = ch;
	burst->max_records = d->max_records;
	burst->from = d->from;
	burst->own_port = d->own_port;
	burst->dsfield = d->dsfield;
	burst->job.run = open_run;
	burst->job.done = open_done;
	burst->job.free = burst_free;
	omerta_job_init(&burst->job, 0, 0);
	return burst;

err_burst:
	omerta_burst_free(burst, sizeof(*burst));
	return NULL;
}

/*
 * Add a record to the current burst, or to a new one, after all checks that are possible
 * before it is opened. Returns the reason to drop it.
 */
static enum omerta_drop receive_record(struct omerta_channel *ch,
				       struct omerta_rx_burst **cur_burst,
				       const struct datagram *d, const u8 *wire, u32 len)
{
	struct omerta_rx_burst *burst = *cur_burst;
	const struct omerta_hdr *hdr = (const void *)wire;
	struct omerta_rx_record *rec;
	enum omerta_drop reason;
	struct omerta_layout l;
	u64 counter;

	if (len < OMERTA_HDR_LEN || omerta_record_parse(&l, wire, len)) {
		switch (omerta_datagram_type(wire, len)) {
		case OMERTA_DATAGRAM_CONTROL:
			return omerta_control_recv(ch, d->skb->skb_iif, &d->from, wire,
						   len);
		case OMERTA_DATAGRAM_DATA:
			return OMERTA_DROP_RX_MALFORMED;
		default:
			return OMERTA_DROP_RX_TYPE;
		}
	}

	counter = le64_to_cpu(hdr->counter);
	/* All records but the last have the same layout, and nothing differs but counters. */
	if (!burst || burst->ended || burst->n == burst->max_records ||
	    burst->key->local_id != le32_to_cpu(hdr->key_id) ||
	    burst->dsfield != d->dsfield || burst->own_port != d->own_port ||
	    memcmp(&burst->from, &d->from, sizeof(d->from)) ||
	    l.wire_len > burst->layout.wire_len || l.class > burst->layout.class ||
	    (l.wire_len == burst->layout.wire_len && l.class != burst->layout.class) ||
	    (burst->n + 1) * burst->layout.wire_len > OMERTA_MAX_DATAGRAM) {
		if (burst)
			close_burst(ch, burst);
		burst = begin_burst(ch, d, le32_to_cpu(hdr->key_id), &reason);
		*cur_burst = burst;
		if (!burst)
			return reason;
	}
	if (omerta_replay_too_old(&burst->key->replay, counter))
		return OMERTA_DROP_RX_REPLAY;

	rec = &burst->rec[burst->n];
	memset(rec, 0, sizeof(*rec));
	rec->wire = wire;
	rec->counter = counter;
	/* The burst needs the datagrams until it is opened. */
	if (!burst->n || burst->outer != d->skb) {
		rec->outer = skb_get(d->skb);
		burst->outer = d->skb;
	}
	if (!burst->n)
		burst->layout = l;
	burst->last = l;
	burst->ended = l.wire_len < burst->layout.wire_len;
	burst->n++;
	return OMERTA_DROP_NONE;
}

/*
 * Make each datagram of an skb contiguous, and private: a sender that may still write to a
 * datagram could change it after its tag is checked. Records are stored by their addresses, so
 * they must be in low memory. Returns the skb, or a copy with the skb freed, or NULL with nothing
 * done.
 */
static struct sk_buff *make_contiguous(struct sk_buff *skb, u32 size)
{
	unsigned int n = DIV_ROUND_UP(skb->len, size), i;
	u32 last = skb->len - (n - 1) * size, done = 0, len;
	bool contiguous = !skb_has_shared_frag(skb);
	struct skb_seq_state st;
	struct omerta_buf buf;
	struct sk_buff *copy;
	const u8 *data;
	void *mem;

	if (likely(!skb_is_nonlinear(skb)))
		return skb;
	skb_prepare_seq_read(skb, 0, skb->len, &st);
	while (contiguous && (len = skb_seq_read(done, &data, &st))) {
		done += len;
		contiguous = (done == skb->len || done % size == 0) &&
			     (!IS_ENABLED(CONFIG_HIGHMEM) || virt_addr_valid(data));
	}
	if (contiguous)
		return skb;
	skb_abort_seq_read(&st);
	mem = omerta_burst_alloc(0, &buf, 0, n == 1 ? last : 0);
	if (!mem)
		return NULL;
	copy = omerta_buf_alloc_skb(&buf, 0, n, size, last);
	omerta_burst_free(mem, 0);
	if (!copy)
		return NULL;
	for (i = 0; i < n; i++)
		WARN_ON_ONCE(skb_copy_bits(skb, i * size,
					   omerta_buf_piece(&buf, i),
					   i + 1 < n ? size : last));
	copy->skb_iif = skb->skb_iif;
#ifdef CONFIG_NET_RX_BUSY_POLL
	copy->napi_id = skb->napi_id;
#endif
	consume_skb(skb);
	return copy;
}

/*
 * Sockets of all channels get a datagram to everyone. The first channel takes it. A frame to
 * everyone may have a datagram for one.
 */
static bool is_copy(const struct omerta_channel *ch, const struct sk_buff *skb)
{
	const struct sock *sk;
	bool broadcast;

	/* Its own port is its alone. */
	if (likely(!ch->index) || udp_hdr(skb)->dest == READ_ONCE(ch->own_port))
		return false;
	if (skb->protocol != htons(ETH_P_IP))
		return ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr);
	if (ipv4_is_multicast(ip_hdr(skb)->daddr) || ipv4_is_lbcast(ip_hdr(skb)->daddr))
		return true;
	if (likely(skb->pkt_type == PACKET_HOST))
		return false;
	rcu_read_lock();
	sk = rcu_dereference(ch->sk[OMERTA_V4]);
	broadcast = sk && inet_addr_type_dev_table(sock_net(sk),
						   dev_get_by_index_rcu(sock_net(sk), skb->skb_iif),
						   ip_hdr(skb)->daddr) == RTN_BROADCAST;
	rcu_read_unlock();
	return broadcast;
}

/* Receive the datagrams of an skb. Returns the units of work, at least 1. */
static unsigned int receive_skb(struct omerta_channel *ch,
				struct omerta_rx_burst **cur_burst,
				struct sk_buff *skb, bool more)
{
	u32 size, done = 0, len, n;
	unsigned int datagrams = omerta_udp_datagrams(skb, &size);
	enum omerta_drop reason;
	struct skb_seq_state st;
	struct datagram d;
	const u8 *data;

	if (unlikely(is_copy(ch, skb))) {
		consume_skb(skb);
		return datagrams;
	}
	/* Tags do not cover the addresses, so the UDP checksum has to be right. */
	if (unlikely(!omerta_udp_csum_ok(ch, skb))) {
		omerta_drop(ch, skb, OMERTA_DROP_RX_CHECKSUM, datagrams);
		return datagrams;
	}
	if (unlikely(!skb->len)) {
		omerta_drop(ch, skb, OMERTA_DROP_RX_TYPE, 1);
		return 1;
	}
	omerta_udp_source(skb, &d.from, &d.dsfield);
	d.own_port = udp_hdr(skb)->dest == READ_ONCE(ch->own_port);
	d.max_records = min3(more ? OMERTA_RX_BURST_MAX : datagrams,
			     (unsigned int)OMERTA_RX_BURST_MAX,
			     (unsigned int)RECORDS_MAX);
	d.skb = make_contiguous(skb, size);
	if (!d.skb) {
		omerta_drop(ch, skb, OMERTA_DROP_RX_NOMEM, datagrams);
		return datagrams;
	}
	OMERTA_RX_CB(d.skb)->reason = OMERTA_DROP_NONE;
	skb_prepare_seq_read(d.skb, 0, d.skb->len, &st);
	while ((len = skb_seq_read(done, &data, &st))) {
		for (; len; len -= n, data += n, done += n) {
			n = min(len, size);
			reason = receive_record(ch, cur_burst, &d, data, n);
			if (likely(!reason))
				continue;
			omerta_drop(ch, NULL, reason, 1);
			OMERTA_RX_CB(d.skb)->reason = reason;
		}
	}
	n = max(datagrams, d.skb->len / UNIT_BYTES);
	omerta_rx_free_outer(d.skb);
	return n;
}

/**
 * omerta_rx_poll() - NAPI's poll function
 * @napi: a channel's
 * @budget: most work: datagrams to open, where one of several KiB counts as several units, and
 *	    also as many packets to deliver; fewer if they take long
 *
 * Takes datagrams from the sockets and opened bursts from other CPUs, reports completed
 * datagrams to the transmit queue, and sends ICMP errors for rejected packets.
 *
 * Only datagrams that are opened here count. A burst is opened as a whole, so the first
 * limit may be exceeded by one.
 *
 * Return: work done; @budget to be called again.
 */
int omerta_rx_poll(struct napi_struct *napi, int budget)
{
	struct omerta_channel *ch = container_of(napi, struct omerta_channel, napi);
	struct omerta_tunnel *tun = ch->tun;
	unsigned int shares = omerta_pool_shares(&tun->pool), limit;
	unsigned int inflight_max = max(INFLIGHT_MAX / tun->n_channels, INFLIGHT_MIN);
	int opened = 0, delivered, units = 0, n;
	struct omerta_rx_burst *burst = NULL;
	struct sk_buff *skb;
	bool rejects, is_long;
	u64 until = 0;

	WRITE_ONCE(ch->rx_polls, ch->rx_polls + 1);
	WRITE_ONCE(ch->rx_cpu, smp_processor_id());
	omerta_txq_poll(ch);
	rcu_read_lock();
	rejects = !ch->index && omerta_reject_send(tun);
	omerta_rx_take_done(ch);
	delivered = omerta_rx_deliver(ch, budget, &until);
	/*
	 * If too many bursts are in flight, other CPUs have some of them: open_done()
	 * schedules NAPI, and meanwhile datagrams wait in the socket's buffer.
	 */
	while (opened < budget && delivered < budget &&
	       ch->rx_inflight < inflight_max) {
		if (until && omerta_rx_time_left(&until) < OPEN_TIME) {
			opened = budget;
			break;
		}
		skb = omerta_udp_recv(ch);
		if (!skb)
			break;
		n = receive_skb(ch, &burst, skb, omerta_udp_has_more(ch));
		units += n;
		/* A long datagram fills all lanes by itself, and may take all the time. */
		is_long = n >= CHECK_UNITS && units >= CHECK_UNITS * shares;
		if (is_long && burst) {
			close_burst(ch, burst);
			burst = NULL;
		}
		/* Dropped datagrams cannot be shared with other CPUs: count them in full. */
		limit = budget - opened;
		if (ch->rx_jobs.n || (burst && burst->n))
			limit *= shares;
		if (!is_long && units < limit && ch->rx_inflight < inflight_max &&
		    !omerta_pool_is_enough(&tun->pool, &ch->rx_jobs))
			continue;
		/* Opening so much may take long. */
		if (units >= CHECK_UNITS)
			omerta_rx_time_left(&until);
		opened += open_bursts(ch, units);
		units = 0;
		omerta_rx_take_done(ch);
		delivered += omerta_rx_deliver(ch, budget - delivered, &until);
	}
	if (burst)
		close_burst(ch, burst);
	opened += open_bursts(ch, units);
	omerta_rx_take_done(ch);
	if (delivered < budget)
		delivered += omerta_rx_deliver(ch, budget - delivered, &until);
	rcu_read_unlock();

	if (opened >= budget || delivered >= budget || rejects)
		return budget;
	napi_complete_done(napi, max(opened, delivered));
	return max(opened, delivered);
}
