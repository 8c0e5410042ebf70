// SPDX-License-Identifier: GPL-2.0
/*
 * Making and sealing of a burst: the records of one packet or super-packet.
 */
#include "tx_burst.h"

#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>

#include "compat.h"

/* Records of a burst: what kernels take in one UDP GSO skb. */
#define BURST_MAX	64

#define HEADROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + \
			 sizeof(struct udphdr))

/* Seal chunks of the only record of a burst, each right after its copy. */
static void seal_chunks(struct omerta_tx_burst *burst, unsigned int i,
			unsigned int end)
{
	u32 size = omerta_chunk_size(burst->last.class);
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n;

	for (n = 0; i < end; i++) {
		struct omerta_chunk *chunk = &list[n++];

		chunk->plain = burst->buf.block[0];
		chunk->sealed = burst->buf.block[0];
		omerta_record_chunk(&burst->last, burst->counter, i, chunk);
		chunk->plain = chunk->sealed;
		omerta_segment_copy_chunk(&burst->inner, i * size,
					  chunk->sealed, chunk->len);
		if (n == OMERTA_CHUNK_LIST || i + 1 == end) {
			omerta_chunk_seal(list, n, burst->key->tx_secret);
			n = 0;
		}
	}
}

static const struct omerta_layout *
layout_of(const struct omerta_tx_burst *burst, unsigned int i)
{
	return i + 1 < burst->n ? &burst->layout : &burst->last;
}

/* Seal whole records of a burst. */
static void seal_records(struct omerta_tx_burst *burst, unsigned int i,
			 unsigned int end)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n = 0;

	for (; i < end; i++) {
		const struct omerta_layout *l = layout_of(burst, i);
		u8 *wire = omerta_buf_piece(&burst->buf, i);
		u64 counter = burst->counter + i;
		unsigned int c;

		omerta_record_header(l, wire, burst->key->remote_id, counter);
		omerta_segment_copy(&burst->inner, burst->first + i, l, wire);
		for (c = 0; c < l->n_chunks; c++) {
			list[n].plain = wire;
			list[n].sealed = wire;
			omerta_record_chunk(l, counter, c, &list[n]);
			list[n].plain = list[n].sealed;
			if (++n == OMERTA_CHUNK_LIST) {
				omerta_chunk_seal(list, n,
						  burst->key->tx_secret);
				n = 0;
			}
		}
	}
	if (n)
		omerta_chunk_seal(list, n, burst->key->tx_secret);
}

static void seal_run(struct omerta_job *job, unsigned int i, unsigned int end)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);

	if (burst->inner.n > 1)
		seal_records(burst, i, end);
	else
		seal_chunks(burst, i, end);
}

static void burst_free(struct omerta_job *job)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);

	omerta_peer_put(burst->peer);
	kfree(burst);
}

/**
 * omerta_tx_burst_bytes() - UDP payload of a burst
 * @burst: the burst
 *
 * Return: bytes of all its records.
 */
u32 omerta_tx_burst_bytes(const struct omerta_tx_burst *burst)
{
	return (burst->n - 1) * burst->layout.wire_len + burst->last.wire_len;
}

static void layout_packet(struct omerta_layout *l,
			  const struct omerta_tx_burst *burst, u32 mtu,
			  u8 class, unsigned int i)
{
	u32 len = omerta_segment_len(&burst->inner, burst->first + i);

	omerta_record_layout(l, len ? omerta_record_pad(len, mtu, class) : 0,
			     class);
}

/* Take as many packets as a burst can carry. */
static void lay_out(struct omerta_tx_burst *burst,
		    const struct omerta_tunnel *tun)
{
	u32 left = burst->inner.n - burst->first, i;
	u32 mtu = READ_ONCE(tun->dev->mtu);

	layout_packet(&burst->layout, burst, mtu, tun->class, 0);
	burst->n = min3(left, (u32)BURST_MAX,
			OMERTA_MAX_DATAGRAM / burst->layout.wire_len);
	layout_packet(&burst->last, burst, mtu, tun->class, burst->n - 1);
	for (i = 0; i < burst->n; i++)
		burst->bytes += omerta_segment_len(&burst->inner,
						   burst->first + i);
}

static void init_job(struct omerta_tx_burst *burst,
		     const struct omerta_tunnel *tun,
		     void (*done)(struct omerta_job *job))
{
	unsigned int items = burst->inner.n > 1 ? burst->n :
						  burst->last.n_chunks;

	burst->job.run = seal_run;
	burst->job.done = done;
	burst->job.free = burst_free;
	omerta_job_init(&burst->job, items,
			omerta_tunnel_split(tun, burst->bytes, items));
}

/**
 * omerta_tx_burst_alloc() - make a burst of packets
 * @peer: the peer
 * @skb: the packets, or NULL for an empty record; stays the caller's
 * @first: number of the first of them that goes into the burst
 * @done: called when all is sealed
 *
 * Context: BH off.
 * Return: the burst with its buffer and a reference to the peer, to be given up
 * by omerta_job_put() after the buffer; or an ERR_PTR.
 */
struct omerta_tx_burst *
omerta_tx_burst_alloc(struct omerta_peer *peer, struct sk_buff *skb,
		      unsigned int first, void (*done)(struct omerta_job *job))
{
	struct omerta_tx_burst *burst;
	int err;

	burst = kzalloc_obj(*burst, GFP_ATOMIC | __GFP_NOWARN);
	if (!burst)
		return ERR_PTR(-ENOMEM);
	err = omerta_segments_init(&burst->inner, skb);
	if (err)
		goto err_burst;
	burst->first = first;
	lay_out(burst, peer->tun);
	err = -ENOMEM;
	burst->outer = omerta_buf_alloc(&burst->buf, HEADROOM, burst->n,
					burst->layout.wire_len,
					burst->last.wire_len);
	if (!burst->outer || !omerta_peer_get(peer))
		goto err_outer;
	burst->peer = peer;
	init_job(burst, peer->tun, done);
	return burst;

err_outer:
	kfree_skb(burst->outer);
err_burst:
	kfree(burst);
	return ERR_PTR(err);
}

/**
 * omerta_tx_burst_len() - how many packets one burst carries
 * @mtu: the device's, all packets of that length
 * @class: chunk class
 *
 * Return: their number.
 */
unsigned int omerta_tx_burst_len(u32 mtu, u8 class)
{
	struct omerta_layout l;

	omerta_record_layout(&l, omerta_record_pad(mtu, mtu, class), class);
	return min_t(u32, BURST_MAX, OMERTA_MAX_DATAGRAM / l.wire_len);
}
