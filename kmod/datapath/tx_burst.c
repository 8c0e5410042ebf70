// SPDX-License-Identifier: GPL-2.0
/*
 * Allocate and seal bursts. A burst holds the records of one packet or super-packet, or of
 * several packets that are sent together.
 */
#include "datapath/tx_burst.h"

#include <linux/if_ether.h>

#include "compat/compat.h"
#include "datapath/trace.h"

/* Write the packets of record @i, which are skbs of their own, as its plaintext. */
static void copy_packets(const struct omerta_tx_burst *burst, unsigned int i,
			 const struct omerta_layout *l, u8 *wire)
{
	u8 hdr[OMERTA_BATCH_HDR_LEN] = { OMERTA_BATCH };
	unsigned int k = burst->start[i], end = burst->start[i + 1];
	bool batch = end - k > 1;
	u32 off = 0;

	if (batch) {
		put_unaligned_be16(end - k, hdr + 2);
		omerta_record_put(l, wire, 0, hdr, sizeof(hdr));
		off = sizeof(hdr);
	}
	for (; k < end; k++) {
		struct sk_buff *skb = burst->skb[k];
		__be16 len = htons(skb->len);
		struct omerta_segments s;
		u32 done, n;

		if (batch) {
			omerta_record_put(l, wire, off, &len, sizeof(len));
			off += sizeof(len);
		}
		/* Cannot fail for a single packet. */
		omerta_segments_init(&s, skb);
		for (done = 0; done < skb->len; done += n) {
			u8 *to = omerta_record_at(l, wire, off + done, &n);

			n = min(n, skb->len - done);
			omerta_segment_copy_chunk(&s, done, to, n);
		}
		off += skb->len;
		if (batch && skb->len & 1)
			omerta_record_put(l, wire, off++, NULL, 1);
	}
	omerta_record_put(l, wire, off, NULL, l->plain_len - off);
}

/* Copy and seal records of a burst from @i to @end, or chunks of its only record. */
static void seal_run(struct omerta_job *job, unsigned int i, unsigned int end)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);
	const struct omerta_engine *engine = READ_ONCE(burst->peer->tun->engine);
	bool is_only = !burst->n_skbs && burst->inner.n <= 1;
	u64 since = trace_omerta_tx_seal_enabled() ? ktime_get_ns() : 0;
	struct omerta_chunk list[OMERTA_CHUNK_LIST] __uninitialized;
	unsigned int first = i, n = 0, c;

	/* Copy each chunk directly before it is sealed. */
	for (; i < end && is_only; i++) {
		struct omerta_chunk *chunk = &list[n++];

		chunk->plain = burst->buf.block[0];
		chunk->sealed = burst->buf.block[0];
		omerta_record_chunk(&burst->last, burst->counter, i, chunk);
		chunk->plain = chunk->sealed;
		omerta_segment_copy_chunk(&burst->inner,
					  i * OMERTA_CHUNK_SIZE(burst->last.class),
					  chunk->sealed, chunk->len);
		if (n == OMERTA_CHUNK_LIST) {
			omerta_chunk_seal(engine, list, n, burst->key->tx_secret);
			n = 0;
		}
	}
	for (; i < end; i++) {
		const struct omerta_layout *l = i + 1 < burst->n ? &burst->layout :
								   &burst->last;
		u8 *wire = omerta_buf_piece(&burst->buf, i);
		u64 counter = burst->counter + i;

		omerta_record_header(l, wire, burst->key->remote_id, counter);
		if (burst->n_skbs)
			copy_packets(burst, i, l, wire);
		else
			omerta_segment_copy(&burst->inner, burst->first + i, l, wire);
		for (c = 0; c < l->n_chunks; c++) {
			list[n].plain = wire;
			list[n].sealed = wire;
			omerta_record_chunk(l, counter, c, &list[n]);
			list[n].plain = list[n].sealed;
			if (++n == OMERTA_CHUNK_LIST) {
				omerta_chunk_seal(engine, list, n, burst->key->tx_secret);
				n = 0;
			}
		}
	}
	if (n)
		omerta_chunk_seal(engine, list, n, burst->key->tx_secret);
	trace_omerta_tx_seal(burst->peer->tun, burst->key->remote_id, burst->counter, job,
			     first, end, since);
}

static void burst_free(struct omerta_job *job)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);

	omerta_burst_free(burst, sizeof(*burst));
}

/* Allocate a burst of up to @n skbs. The head of its buffer holds @len bytes. */
static struct omerta_tx_burst *new_burst(unsigned int n, u32 len)
{
	struct omerta_tx_burst *burst;
	struct omerta_buf buf;

	BUILD_BUG_ON(sizeof(*burst) + OMERTA_TX_BURST_MAX * sizeof(*burst->skb) +
		     SKB_HEAD_ALIGN(OMERTA_UDP_HEADROOM + OMERTA_BUF_LINEAR_MAX) >
		     PAGE_SIZE);
	burst = omerta_burst_alloc(struct_size(burst, skb, n), &buf, OMERTA_UDP_HEADROOM, len);
	if (!burst)
		return NULL;
	memset(burst, 0, sizeof(*burst));
	burst->buf = buf;
	return burst;
}

/* Give a burst that is laid out everything else that it needs. Frees it on failure. */
static struct omerta_tx_burst *
finish_burst(struct omerta_tx_burst *burst, struct omerta_peer *peer,
	     void (*run)(struct omerta_job *job, unsigned int first, unsigned int end),
	     void (*done)(struct omerta_job *job))
{
	bool by_records = burst->n_skbs || burst->inner.n > 1;

	burst->wire_len = (burst->n - 1) * burst->layout.wire_len + burst->last.wire_len;
	burst->outer = omerta_buf_alloc_skb(&burst->buf, OMERTA_UDP_HEADROOM, burst->n,
					    burst->layout.wire_len,
					    burst->last.wire_len);
	if (!burst->outer) {
		omerta_burst_free(burst, sizeof(*burst));
		return ERR_PTR(-ENOMEM);
	}
	burst->peer = peer;
	burst->job.run = run;
	burst->job.done = done;
	burst->job.free = burst_free;
	omerta_job_init(&burst->job, by_records ? burst->n : burst->last.n_chunks,
			max(burst->bytes, burst->n * OMERTA_CHUNK_COST));
	burst->job.payload = burst->bytes;
	return burst;
}

/**
 * omerta_tx_burst_alloc() - allocate a burst for packets of one skb
 * @peer: the peer
 * @skb: the packets, or NULL for an empty record; stays the caller's
 * @first: number of the first packet of the burst
 * @done: called when the burst is sealed
 *
 * Takes as many packets as a burst can hold.
 *
 * Context: BH off, inside the RCU read-side section in which the burst gets its key.
 * Return: the burst with its buffer; the caller frees the buffer, then calls omerta_job_put(). The
 * burst has no reference to the peer: its key has. -EINVAL if the headers of a super-packet are not
 * complete; -ENOMEM.
 */
struct omerta_tx_burst *
omerta_tx_burst_alloc(struct omerta_peer *peer, struct sk_buff *skb,
		      unsigned int first, void (*done)(struct omerta_job *job))
{
	u32 mtu = omerta_peer_mtu(peer, skb), len = 0, i;
	u8 class = peer->tun->class;
	bool super = skb && skb_is_gso(skb);
	struct omerta_tx_burst *burst;
	struct omerta_segments *s;
	struct omerta_layout lone;

	/* The last part of a super-packet may be a single packet. */
	if (skb)
		len = super ? min(skb->len, mtu) : skb->len;
	omerta_record_layout(&lone, omerta_record_pad(len, mtu, class), class);
	burst = new_burst(0, lone.wire_len);
	if (!burst)
		return ERR_PTR(-ENOMEM);
	s = &burst->inner;
	if (omerta_segments_init(s, skb)) {
		omerta_burst_free(burst, sizeof(*burst));
		return ERR_PTR(-EINVAL);
	}
	burst->first = first;
	burst->layout = lone;
	burst->last = lone;
	burst->n = 1;
	burst->bytes = len;
	if (super) {
		len = omerta_segment_len(s, first);
		omerta_record_layout(&burst->layout, omerta_record_pad(len, mtu, class), class);
		burst->n = min3(s->n - first, (u32)OMERTA_TX_BURST_MAX,
				OMERTA_MAX_DATAGRAM / burst->layout.wire_len);
		len = omerta_segment_len(s, first + burst->n - 1);
		omerta_record_layout(&burst->last, omerta_record_pad(len, mtu, class), class);
		burst->bytes = 0;
		for (i = 0; i < burst->n; i++)
			burst->bytes += omerta_segment_len(s, first + i);
	}
	burst->packets = skb ? burst->n : 0;
	return finish_burst(burst, peer, seal_run, done);
}

/*
 * Choose the skbs that share the next record. Returns the length of its plaintext, padding
 * included. A lone packet is no batch.
 */
static u32 fill_record(const struct omerta_peer *peer,
		       struct sk_buff *const *skb, unsigned int n,
		       unsigned int *taken)
{
	u32 mtu = omerta_peer_mtu(peer, skb[0]), len = skb[0]->len;
	u32 batch = omerta_batch_with(0, len), next = mtu;
	unsigned int i;

	/*
	 * A packet that is padded by a link layer is longer than its header says. The
	 * receiver accepts it as a padded record, but refuses a batch with it.
	 */
	if (!READ_ONCE(peer->tun->batch) || omerta_ip_len(skb[0]->data, len) != len)
		n = 1;
	for (i = 1; i < n; i++) {
		if (skb_dst(skb[i]) != skb_dst(skb[i - 1]))
			next = min(mtu, omerta_peer_mtu(peer, skb[i]));
		batch = omerta_batch_with(batch, skb[i]->len);
		if (batch > next ||
		    omerta_ip_len(skb[i]->data, skb[i]->len) != skb[i]->len)
			break;
		mtu = next;
		len = batch;
	}
	*taken = i;
	return omerta_record_pad(len, mtu, peer->tun->class);
}

/**
 * omerta_tx_burst_bunch() - allocate a burst for several packets
 * @peer: the peer
 * @skb: the packets, none of them a super-packet, each within the MTU; they stay the
 *	 caller's
 * @n: their number, at most OMERTA_TX_BURST_MAX
 * @done: called when the burst is sealed
 *
 * Takes as many packets as a burst can hold. Small packets share records, as a batch.
 *
 * Context: as omerta_tx_burst_alloc().
 * Return: as omerta_tx_burst_alloc(), for the first @n_skbs packets.
 */
struct omerta_tx_burst *
omerta_tx_burst_bunch(struct omerta_peer *peer, struct sk_buff *const *skb,
		      unsigned int n, void (*done)(struct omerta_job *job))
{
	u32 total = 0, mtu = omerta_peer_mtu(peer, NULL);
	struct omerta_tx_burst *burst;
	struct omerta_layout lone;
	unsigned int taken, i;

	/* All packets may fit one record. */
	omerta_record_layout(&lone, omerta_record_pad(mtu, mtu, peer->tun->class),
			     peer->tun->class);
	burst = new_burst(n, lone.wire_len);
	if (!burst)
		return ERR_PTR(-ENOMEM);
	while (burst->n < OMERTA_TX_BURST_MAX && burst->n_skbs < n) {
		u32 len = fill_record(peer, skb + burst->n_skbs,
				      n - burst->n_skbs, &taken);
		struct omerta_layout l;

		omerta_record_layout(&l, len, peer->tun->class);
		if (!burst->n)
			burst->layout = l;
		total += l.wire_len;
		/* All records but the last have the same length. */
		if (burst->n && (burst->last.wire_len < burst->layout.wire_len ||
				 l.wire_len > burst->layout.wire_len ||
				 total > OMERTA_MAX_DATAGRAM))
			break;
		burst->last = l;
		for (i = 0; i < taken; i++) {
			burst->bytes += skb[burst->n_skbs]->len;
			burst->skb[burst->n_skbs] = skb[burst->n_skbs];
			burst->n_skbs++;
		}
		burst->start[++burst->n] = burst->n_skbs;
	}
	burst->packets = burst->n_skbs;
	return finish_burst(burst, peer, seal_run, done);
}

/**
 * omerta_tx_burst_len() - number of packets that one burst holds
 * @mtu: length of the packets
 * @class: chunk class
 *
 * Return: their number.
 */
unsigned int omerta_tx_burst_len(u32 mtu, u8 class)
{
	struct omerta_layout l;

	omerta_record_layout(&l, omerta_record_pad(mtu, mtu, class), class);
	return min_t(u32, OMERTA_TX_BURST_MAX, OMERTA_MAX_DATAGRAM / l.wire_len);
}
