// SPDX-License-Identifier: GPL-2.0
/*
 * The way in: socket -> parse -> open -> commit -> deliver.
 *
 * All but open runs in the device's NAPI, which so serialises the commit.
 */
#include "datapath/rx.h"

#include "datapath/buf.h"
#include "compat/compat.h"
#include "datapath/control.h"
#include "peer/peer.h"
#include "wire/record.h"
#include "datapath/rx_burst.h"
#include "datapath/tx_reject.h"
#include "datapath/txq.h"
#include "datapath/udp.h"

/* Bursts that are not delivered, for all peers of a device. */
#define INFLIGHT_MAX	256
/* Longer datagrams count as several. */
#define UNIT_BYTES	2048
/* Worth to look at the clock */
#define LOOK_UNITS	16
/* Less time than that is not enough to open some more, in ns. */
#define OPEN_TIME	(50 * NSEC_PER_USEC)
/* Records for which, with all that goes with them, a page is enough. */
#define ROOM_MAX \
	((PAGE_SIZE - SKB_DATA_ALIGN(sizeof(struct omerta_rx_burst)) - \
	  SKB_HEAD_ALIGN(0)) / \
	 sizeof(struct omerta_rx_record))

static struct omerta_rx_burst *burst_of(struct omerta_job *job)
{
	return container_of(job, struct omerta_rx_burst, job);
}

/* Open chunks of the only record of a burst. */
static void open_chunks(struct omerta_rx_burst *burst, unsigned int i,
			unsigned int end)
{
	if (!READ_ONCE(burst->bad) && !omerta_rx_open_chunks(burst, 0, i, end))
		WRITE_ONCE(burst->bad, true);
}

static void open_run(struct omerta_job *job, unsigned int i, unsigned int end)
{
	struct omerta_rx_burst *burst = burst_of(job);

	if (burst->n > 1)
		omerta_rx_open(burst, i, end);
	else
		open_chunks(burst, burst->first + i, burst->first + end);
}

static void burst_free(struct omerta_job *job)
{
	struct omerta_rx_burst *burst = burst_of(job);

	if (burst->peer)
		omerta_rx_release(burst);
	omerta_buf_free(burst, sizeof(*burst));
}

/* By whoever opened the last chunk. */
static void open_done(struct omerta_job *job)
{
	struct omerta_rx_burst *burst = burst_of(job);
	struct omerta_tunnel *tun = burst->peer->tun;

	local_bh_disable();
	llist_add(&burst->done, &tun->rx_done);
	napi_schedule(&tun->napi);
	local_bh_enable();
}

/*
 * Open the first chunk of a lone record that others are to help with: they do not
 * hear of a forged one. Returns how many CPUs the rest is for.
 */
static unsigned int open_first(struct omerta_rx_burst *burst, unsigned int runs)
{
	if (burst->n > 1)
		return runs;
	open_chunks(burst, 0, 1);
	burst->first = 1;
	burst->job.n_items--;
	return burst->bad ? 1 : min(runs, burst->job.n_items);
}

/*
 * Open what has been received: a lone burst, if it is worth it, by several CPUs; of
 * several, each whole by one. Returns how much of @units was done here, at least as if all
 * CPUs had helped, since what came was taken apart here.
 */
static unsigned int open_jobs(struct omerta_tunnel *tun, unsigned int units)
{
	struct omerta_jobs *jobs = &tun->rx_jobs;
	unsigned int runs = jobs->n, n = jobs->n;
	u64 all = jobs->bytes, own = 0;
	struct omerta_job *job;

	if (!n)
		return units;
	if (n == 1)
		runs = jobs->first->n_items;
	runs = omerta_tunnel_split(tun, jobs->bytes, runs);
	if (n == 1 && runs > 1)
		runs = open_first(burst_of(jobs->first), runs);
	omerta_pool_offer(&tun->pool, jobs, runs);
	while ((job = omerta_jobs_pop(jobs))) {
		if (runs > 1) {
			own += div_u64((u64)job->bytes * omerta_job_work(job),
				       job->n_runs);
		} else {
			open_run(job, 0, job->n_items);
			omerta_rx_opened(burst_of(job));
			own += job->bytes;
		}
		omerta_job_put(job);
	}
	return max_t(u64, DIV64_U64_ROUND_UP(units * own, all),
		     DIV_ROUND_UP(units, OMERTA_SHARES_MAX));
}

/* Drop a burst before it is opened. */
static void drop_burst(struct omerta_tunnel *tun,
		       struct omerta_rx_burst *burst, enum omerta_drop why)
{
	unsigned int i;

	omerta_drop_many(tun->drops, NULL, why, burst->n);
	for (i = 0; i < burst->n; i++)
		if (burst->rec[i].outer)
			*omerta_rx_why(burst->rec[i].outer) = why;
	omerta_job_put(&burst->job);
}

/* Memory for the plaintexts. A lone packet goes up in it. */
static bool make_room(struct omerta_rx_burst *burst)
{
	u32 len = burst->last.plain_len;

	if (burst->n > 1 || len > OMERTA_BUF_LINEAR_MAX) {
		burst->inner = omerta_buf_alloc(&burst->buf, 0, burst->n,
						burst->layout.plain_len, len);
		return burst->inner;
	}
	burst->inner = omerta_buf_alloc_up(len);
	if (!burst->inner)
		return false;
	burst->buf.per_block = 1;
	burst->buf.block[0] = burst->inner->data;
	return true;
}

/* No more records come: have them opened with others, see open_jobs(). */
static void close_burst(struct omerta_tunnel *tun,
			struct omerta_rx_burst *burst)
{
	/* What would have been its first was too old. */
	if (!burst->n) {
		omerta_job_put(&burst->job);
		return;
	}
	if (!omerta_key_opens(burst->key)) {
		drop_burst(tun, burst, OMERTA_DROP_RX_DROP_KEY_EXPIRED);
		return;
	}
	if (!make_room(burst)) {
		drop_burst(tun, burst, OMERTA_DROP_RX_DROP_NOMEM);
		return;
	}
	burst->merge = !netif_elide_gro(tun->dev);
	list_add_tail(&burst->list, &burst->peer->rx_fifo);
	tun->rx_inflight++;
	omerta_job_init(&burst->job,
			burst->n > 1 ? burst->n : burst->last.n_chunks,
			burst->n * max(burst->layout.plain_len, OMERTA_CHUNK_COST));
	omerta_jobs_add(&tun->rx_jobs, &burst->job);
}

/**
 * struct datagram - where and how a record came
 * @skb: what it lies in
 * @from: source
 * @iif: interface that it came in by
 * @dsfield: DSCP and ECN
 * @room: how many records a burst that begins with it should have room for
 */
struct datagram {
	struct sk_buff *skb;
	struct omerta_endpoint from;
	int iif;
	u8 dsfield;
	unsigned int room;
};

static struct omerta_rx_burst *begin_burst(struct omerta_tunnel *tun,
					   const struct datagram *d, u32 key_id,
					   int *why)
{
	struct omerta_rx_burst *burst;
	struct omerta_buf buf;

	*why = OMERTA_DROP_RX_DROP_NOMEM;
	burst = omerta_buf_new(&buf, struct_size(burst, rec, d->room), 0, 0);
	if (!burst)
		return NULL;
	memset(burst, 0, sizeof(*burst));
	burst->buf = buf;
	*why = OMERTA_DROP_RX_DROP_KEY_UNKNOWN;
	burst->key = omerta_key_get(&tun->keys, key_id);
	if (!burst->key)
		goto err_burst;
	burst->peer = omerta_peer_get(container_of(burst->key->ring,
						   struct omerta_peer, ring));
	if (!burst->peer)
		goto err_key;
	burst->room = d->room;
	burst->from = d->from;
	burst->dsfield = d->dsfield;
	burst->job.run = open_run;
	burst->job.done = open_done;
	burst->job.free = burst_free;
	omerta_job_init(&burst->job, 0, 0);
	return burst;

err_key:
	omerta_key_put(burst->key);
err_burst:
	omerta_buf_free(burst, sizeof(*burst));
	return NULL;
}

static bool same_source(const struct omerta_endpoint *a,
			const struct omerta_endpoint *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Whether a record may follow those of a burst. */
static bool may_follow(const struct omerta_rx_burst *burst,
		       const struct datagram *d, const struct omerta_layout *l,
		       u32 key_id)
{
	return burst && !burst->ended && burst->n < burst->room &&
	       burst->key->local_id == key_id &&
	       burst->dsfield == d->dsfield &&
	       l->wire_len <= burst->layout.wire_len &&
	       l->class <= burst->layout.class &&
	       (l->wire_len < burst->layout.wire_len ||
		l->class == burst->layout.class) &&
	       (burst->n + 1) * burst->layout.wire_len <= OMERTA_MAX_DATAGRAM &&
	       same_source(&burst->from, &d->from);
}

static void add_record(struct omerta_rx_burst *burst, const struct datagram *d,
		       const struct omerta_layout *l, const u8 *wire,
		       u64 counter)
{
	unsigned int n = burst->n++;
	struct omerta_rx_record *rec = &burst->rec[n];

	memset(rec, 0, sizeof(*rec));
	rec->wire = wire;
	rec->counter = counter;
	rec->why = OMERTA_NO_DROP;
	/* The burst needs the datagrams until it is opened. */
	if (!n || burst->outer != d->skb) {
		rec->outer = skb_get(d->skb);
		burst->outer = d->skb;
	}
	if (!n)
		burst->layout = *l;
	burst->last = *l;
	burst->ended = l->wire_len < burst->layout.wire_len;
}

/* What becomes of a datagram that is no good data record: what it is dropped for. */
static int no_record(struct omerta_tunnel *tun, const struct datagram *d,
		     const u8 *p, u32 len)
{
	if (omerta_control_is(p, len))
		return omerta_control_recv(tun, d->iif, &d->from, p, len);
	if (len > OMERTA_MAGIC_LEN && !memcmp(p, OMERTA_MAGIC, OMERTA_MAGIC_LEN) &&
	    p[OMERTA_MAGIC_LEN] >= OMERTA_TYPE_DATA &&
	    p[OMERTA_MAGIC_LEN] < OMERTA_TYPE_DATA + OMERTA_CHUNK_CLASSES)
		return OMERTA_DROP_RX_DROP_MALFORMED;
	return OMERTA_DROP_RX_DROP_TYPE;
}

/*
 * Add a record to the burst that is open, or to a new one. Checks all that can
 * be without opening it; returns what to drop it for.
 */
static int receive_record(struct omerta_tunnel *tun,
			  struct omerta_rx_burst **open,
			  const struct datagram *d, const u8 *wire, u32 len)
{
	const struct omerta_hdr *hdr = (const void *)wire;
	struct omerta_layout l;
	u32 key_id;
	u64 counter;
	int why;

	if (len < OMERTA_HDR_LEN || omerta_record_parse(&l, wire, len))
		return no_record(tun, d, wire, len);
	key_id = le32_to_cpu(hdr->key_id);
	counter = le64_to_cpu(hdr->counter);
	if (!may_follow(*open, d, &l, key_id)) {
		if (*open)
			close_burst(tun, *open);
		*open = begin_burst(tun, d, key_id, &why);
		if (!*open)
			return why;
	}
	if (omerta_replay_too_old(&(*open)->key->replay, counter))
		return OMERTA_DROP_RX_DROP_REPLAY;
	add_record(*open, d, &l, wire, counter);
	return OMERTA_NO_DROP;
}

/* Whether each datagram that an skb stands for is contiguous in memory. */
static bool in_pieces(struct sk_buff *skb, u32 size)
{
	struct skb_seq_state st;
	u32 done = 0, len;
	const u8 *data;

	skb_prepare_seq_read(skb, 0, skb->len, &st);
	while ((len = skb_seq_read(done, &data, &st))) {
		done += len;
		if (done < skb->len && done % size) {
			skb_abort_seq_read(&st);
			return false;
		}
	}
	return true;
}

/* The same datagrams, each contiguous and nobody else's. */
static struct sk_buff *copy_pieces(const struct sk_buff *skb, u32 size)
{
	unsigned int n = DIV_ROUND_UP(skb->len, size), i;
	u32 last = skb->len - (n - 1) * size;
	struct omerta_buf buf;
	struct sk_buff *copy;
	void *mem;

	mem = omerta_buf_new(&buf, 0, 0, n == 1 ? last : 0);
	if (!mem)
		return NULL;
	copy = omerta_buf_alloc(&buf, 0, n, size, last);
	omerta_buf_free(mem, 0);
	for (i = 0; copy && i < n; i++)
		WARN_ON_ONCE(skb_copy_bits(skb, i * size,
					   omerta_buf_piece(&buf, i),
					   i + 1 < n ? size : last));
	return copy;
}

/* Take apart datagrams that are contiguous each. */
static void receive_pieces(struct omerta_tunnel *tun,
			   struct omerta_rx_burst **open,
			   const struct datagram *d, u32 size)
{
	struct skb_seq_state st;
	u32 done = 0, len, n;
	const u8 *data;
	int why;

	skb_prepare_seq_read(d->skb, 0, d->skb->len, &st);
	while ((len = skb_seq_read(done, &data, &st))) {
		for (; len; len -= n, data += n, done += n) {
			n = min(len, size);
			why = receive_record(tun, open, d, data, n);
			if (likely(why == OMERTA_NO_DROP))
				continue;
			omerta_drop(tun->drops, NULL, why);
			*omerta_rx_why(d->skb) = why;
		}
	}
}

/* The datagrams that an skb stands for; returns how much work they are, at least 1. */
static unsigned int receive(struct omerta_tunnel *tun,
			    struct omerta_rx_burst **open, struct sk_buff *skb,
			    bool more)
{
	u32 size = omerta_udp_size(skb);
	unsigned int n = omerta_udp_datagrams(skb);
	struct datagram d = {
		.skb = skb,
		.iif = skb->skb_iif,
		.dsfield = omerta_udp_dsfield(skb),
		.room = min_t(u32, more ? OMERTA_RX_BURST_MAX : n,
			      min_t(u32, OMERTA_RX_BURST_MAX, ROOM_MAX)),
	};

	/* Pieces of memory are remembered by their addresses. */
	BUILD_BUG_ON(IS_ENABLED(CONFIG_HIGHMEM));
	/* Tags do not cover where it came from. */
	if (unlikely(!omerta_udp_intact(tun, skb))) {
		omerta_drop_many(tun->drops, skb, OMERTA_DROP_RX_DROP_CHECKSUM, n);
		return n;
	}
	if (unlikely(!skb->len)) {
		omerta_drop(tun->drops, skb, OMERTA_DROP_RX_DROP_TYPE);
		return 1;
	}
	omerta_udp_source(skb, &d.from);
	/* What its sender may still write to could change after its tag is seen. */
	if (skb_has_shared_frag(skb) || !in_pieces(skb, size)) {
		d.skb = copy_pieces(skb, size);
		if (!d.skb) {
			omerta_drop_many(tun->drops, skb,
					 OMERTA_DROP_RX_DROP_NOMEM, n);
			return n;
		}
		consume_skb(skb);
	}
	*omerta_rx_why(d.skb) = OMERTA_NO_DROP;
	receive_pieces(tun, open, &d, size);
	n = max(n, d.skb->len / UNIT_BYTES);
	omerta_rx_free_outer(d.skb);
	return n;
}

/* Return true if what came, @units of work, should be opened before more is taken. */
static bool enough(const struct omerta_tunnel *tun,
		   const struct omerta_rx_burst *open, unsigned int units,
		   unsigned int budget)
{
	/* What is dropped is nobody else's work. */
	bool useless = !tun->rx_jobs.n && (!open || !open->n);

	return units >= budget * (useless ? 1 : omerta_tunnel_shares(tun)) ||
	       tun->rx_inflight >= INFLIGHT_MAX ||
	       omerta_tunnel_enough(tun, &tun->rx_jobs);
}

/**
 * omerta_rx_poll() - take what came in on the sockets and from other CPUs; see
 * what has left, and what could not
 * @napi: the device's
 * @budget: how much to do at most: datagrams to open, of which one of some KiB counts as
 *	    several, and as many packets to hand to the stack besides, fewer if those take it
 *	    long
 *
 * Only what is opened here counts. A burst is opened whole, so the first bound may be passed
 * by one.
 *
 * Return: how much was done, @budget to be called again.
 */
int omerta_rx_poll(struct napi_struct *napi, int budget)
{
	struct omerta_tunnel *tun = container_of(napi, struct omerta_tunnel,
						 napi);
	int opened = 0, delivered, units = 0, n;
	struct omerta_rx_burst *open = NULL;
	struct sk_buff *skb;
	bool rejects, long_one;
	u64 until = 0;

	omerta_txq_poll(tun);
	rcu_read_lock();
	rejects = omerta_tx_tell(tun);
	omerta_rx_take_done(tun);
	delivered = omerta_rx_deliver(tun, budget, &until);
	/*
	 * If too many wait, some are with other CPUs: open_done() has us called
	 * again, and meanwhile the socket's buffer is the limit.
	 */
	while (opened < budget && delivered < budget &&
	       tun->rx_inflight < INFLIGHT_MAX) {
		if (until && omerta_rx_time_left(&until) < OPEN_TIME) {
			opened = budget;
			break;
		}
		skb = omerta_udp_recv(tun);
		if (!skb)
			break;
		n = receive(tun, &open, skb, omerta_udp_more(tun));
		units += n;
		/* A long one takes all lanes by itself, and may be all that there is time for. */
		long_one = n >= LOOK_UNITS &&
			   units >= LOOK_UNITS * omerta_tunnel_shares(tun);
		if (long_one && open) {
			close_burst(tun, open);
			open = NULL;
		}
		if (long_one || enough(tun, open, units, budget - opened)) {
			/* To open so much may take long. */
			if (units >= LOOK_UNITS)
				omerta_rx_time_left(&until);
			opened += open_jobs(tun, units);
			units = 0;
			omerta_rx_take_done(tun);
			delivered += omerta_rx_deliver(tun, budget - delivered, &until);
		}
	}
	if (open)
		close_burst(tun, open);
	opened += open_jobs(tun, units);
	omerta_rx_take_done(tun);
	if (delivered < budget)
		delivered += omerta_rx_deliver(tun, budget - delivered, &until);
	rcu_read_unlock();

	if (opened >= budget || delivered >= budget || rejects)
		return budget;
	napi_complete_done(napi, max(opened, delivered));
	return max(opened, delivered);
}
