// SPDX-License-Identifier: GPL-2.0
/*
 * Making and sealing of a burst: the records of one packet or super-packet, or of
 * several packets that are sent at once.
 */
#include "datapath/tx_burst.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/dst_metadata.h>

#include "compat/compat.h"

/* Seal chunks of the only record of a burst, each right after its copy. */
static void seal_chunks(struct omerta_tx_burst *burst, unsigned int i,
			unsigned int end)
{
	const struct omerta_engine *engine = omerta_tunnel_engine(burst->peer->tun);
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
			omerta_chunk_seal(engine, list, n,
					  burst->key->tx_secret);
			n = 0;
		}
	}
}

static const struct omerta_layout *
layout_of(const struct omerta_tx_burst *burst, unsigned int i)
{
	return i + 1 < burst->n ? &burst->layout : &burst->last;
}

/* Write a packet as a part of a plaintext. */
static void copy_packet(struct sk_buff *skb, const struct omerta_layout *l,
			u8 *wire, u32 off)
{
	struct omerta_segments s;
	u32 done = 0, room;

	/* A lone packet is always whole. */
	omerta_segments_init(&s, skb);
	while (done < skb->len) {
		u8 *to = omerta_record_at(l, wire, off + done, &room);

		room = min(room, skb->len - done);
		omerta_segment_copy_chunk(&s, done, to, room);
		done += room;
	}
}

/* Write some packets of several as a record's plaintext. */
static void copy_packets(const struct omerta_tx_burst *burst, unsigned int i,
			 const struct omerta_layout *l, u8 *wire)
{
	u8 hdr[OMERTA_BATCH_HDR_LEN] = { OMERTA_BATCH };
	unsigned int k = burst->start[i], end = burst->start[i + 1];
	u32 off = 0;

	if (end - k == 1) {
		copy_packet(burst->skb[k], l, wire, 0);
		omerta_record_fill(l, wire, burst->skb[k]->len);
		return;
	}
	put_unaligned_be16(end - k, hdr + 2);
	omerta_record_put(l, wire, 0, hdr, sizeof(hdr));
	for (off = sizeof(hdr); k < end; k++) {
		struct sk_buff *skb = burst->skb[k];
		__be16 len = htons(skb->len);

		omerta_record_put(l, wire, off, &len, sizeof(len));
		copy_packet(skb, l, wire, off + sizeof(len));
		off += sizeof(len) + skb->len;
		omerta_record_put(l, wire, off, NULL, skb->len & 1);
		off += skb->len & 1;
	}
	omerta_record_fill(l, wire, off);
}

/* Seal whole records of a burst. */
static void seal_records(struct omerta_tx_burst *burst, unsigned int i,
			 unsigned int end)
{
	const struct omerta_engine *engine = omerta_tunnel_engine(burst->peer->tun);
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n = 0;

	for (; i < end; i++) {
		const struct omerta_layout *l = layout_of(burst, i);
		u8 *wire = omerta_buf_piece(&burst->buf, i);
		u64 counter = burst->counter + i;
		unsigned int c;

		omerta_record_header(l, wire, burst->key->remote_id, counter);
		if (burst->n_skbs)
			copy_packets(burst, i, l, wire);
		else
			omerta_segment_copy(&burst->inner, burst->first + i, l,
					    wire);
		for (c = 0; c < l->n_chunks; c++) {
			list[n].plain = wire;
			list[n].sealed = wire;
			omerta_record_chunk(l, counter, c, &list[n]);
			list[n].plain = list[n].sealed;
			if (++n == OMERTA_CHUNK_LIST) {
				omerta_chunk_seal(engine, list, n,
						  burst->key->tx_secret);
				n = 0;
			}
		}
	}
	if (n)
		omerta_chunk_seal(engine, list, n, burst->key->tx_secret);
}

/* What CPUs share: records, or the chunks of one. */
static bool by_records(const struct omerta_tx_burst *burst)
{
	return burst->n_skbs || burst->inner.n > 1;
}

static void seal_run(struct omerta_job *job, unsigned int i, unsigned int end)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);

	if (by_records(burst))
		seal_records(burst, i, end);
	else
		seal_chunks(burst, i, end);
}

static void burst_free(struct omerta_job *job)
{
	struct omerta_tx_burst *burst = container_of(job, struct omerta_tx_burst, job);

	omerta_peer_put(burst->peer);
	omerta_buf_free(burst, sizeof(*burst));
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

static void layout_len(struct omerta_layout *l, u32 len, u32 mtu, u8 class)
{
	omerta_record_layout(l, len ? omerta_record_pad(len, mtu, class) : 0,
			     class);
}

/*
 * How long a packet of its route may be, padding and others in its record included, as far
 * as is known. A route may take less than the device does.
 */
static u32 mtu_of(const struct omerta_peer *peer, const struct sk_buff *skb)
{
	u32 mtu = omerta_peer_mtu(peer);

	return skb && skb_valid_dst(skb) ? min(mtu, dst_mtu(skb_dst(skb))) : mtu;
}

static void layout_packet(struct omerta_layout *l,
			  const struct omerta_tx_burst *burst, u32 mtu,
			  u8 class, unsigned int i)
{
	layout_len(l, omerta_segment_len(&burst->inner, burst->first + i), mtu,
		   class);
}

/* Take as many packets as a burst can carry. */
static void lay_out(struct omerta_tx_burst *burst,
		    const struct omerta_peer *peer)
{
	u32 left = burst->inner.n - burst->first, i;
	u32 mtu = mtu_of(peer, burst->inner.skb);
	u8 class = peer->tun->class;

	layout_packet(&burst->layout, burst, mtu, class, 0);
	burst->n = min3(left, (u32)OMERTA_TX_BURST_MAX,
			OMERTA_MAX_DATAGRAM / burst->layout.wire_len);
	layout_packet(&burst->last, burst, mtu, class, burst->n - 1);
	for (i = 0; i < burst->n; i++)
		burst->bytes += omerta_segment_len(&burst->inner,
						   burst->first + i);
	burst->packets = burst->bytes ? burst->n : 0;
}

static void init_job(struct omerta_tx_burst *burst,
		     void (*done)(struct omerta_job *job))
{
	burst->job.run = seal_run;
	burst->job.done = done;
	burst->job.free = burst_free;
	omerta_job_init(&burst->job,
			by_records(burst) ? burst->n : burst->last.n_chunks,
			max(burst->bytes, burst->n * OMERTA_CHUNK_COST));
}

/*
 * A burst with room for @n packets, and with room in the head of its buffer for one
 * record of so many bytes.
 */
static struct omerta_tx_burst *new_burst(const struct omerta_peer *peer,
					 unsigned int n, u32 len)
{
	struct omerta_tx_burst *burst;
	struct omerta_layout lone;
	struct omerta_buf buf;

	BUILD_BUG_ON(sizeof(*burst) + OMERTA_TX_BURST_MAX * sizeof(*burst->skb) +
		     SKB_HEAD_ALIGN(OMERTA_UDP_HEADROOM + OMERTA_BUF_LINEAR_MAX) >
		     PAGE_SIZE);
	layout_len(&lone, len, omerta_peer_mtu(peer), peer->tun->class);
	burst = omerta_buf_new(&buf, struct_size(burst, skb, n),
			       OMERTA_UDP_HEADROOM, lone.wire_len);
	if (!burst)
		return NULL;
	memset(burst, 0, sizeof(*burst));
	burst->buf = buf;
	return burst;
}

/* Give a burst that is laid out all that it needs; frees it if that fails. */
static struct omerta_tx_burst *finish(struct omerta_tx_burst *burst,
				      struct omerta_peer *peer,
				      void (*done)(struct omerta_job *job))
{
	burst->outer = omerta_buf_alloc(&burst->buf, OMERTA_UDP_HEADROOM, burst->n,
					burst->layout.wire_len,
					burst->last.wire_len);
	if (!burst->outer || !omerta_peer_get(peer)) {
		kfree_skb(burst->outer);
		omerta_buf_free(burst, sizeof(*burst));
		return ERR_PTR(-ENOMEM);
	}
	burst->peer = peer;
	init_job(burst, done);
	return burst;
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
	u32 room = 0;

	/* The last part of a super-packet may be a single packet. */
	if (skb)
		room = skb_is_gso(skb) ? min(skb->len, omerta_peer_mtu(peer)) : skb->len;
	burst = new_burst(peer, 0, room);
	if (!burst)
		return ERR_PTR(-ENOMEM);
	if (omerta_segments_init(&burst->inner, skb)) {
		omerta_buf_free(burst, sizeof(*burst));
		return ERR_PTR(-EINVAL);
	}
	burst->first = first;
	lay_out(burst, peer);
	return finish(burst, peer, done);
}

/*
 * Whether a packet is as long as it says: some have a link layer's padding. The
 * receiver takes such a one alone for a padded record, but no batch with it.
 */
static bool whole(const struct sk_buff *skb)
{
	const struct iphdr *ip4 = ip_hdr(skb);

	if (skb->protocol == htons(ETH_P_IPV6))
		return skb->len == sizeof(struct ipv6hdr) +
				   ntohs(ipv6_hdr(skb)->payload_len);
	return skb->len == ntohs(ip4->tot_len) && ip4->ihl >= 5 &&
	       skb->len >= ip4->ihl * 4;
}

/*
 * Take as many packets as fit the next record; returns the length of its
 * plaintext, with padding. A packet that has no other to go with is no batch.
 */
static u32 fill_record(const struct omerta_peer *peer,
		       struct sk_buff *const *skb, unsigned int n,
		       unsigned int *taken)
{
	u32 mtu = mtu_of(peer, skb[0]), len = skb[0]->len;
	u32 batch = omerta_batch_with(0, len), next = mtu;
	unsigned int i;

	if (!READ_ONCE(peer->tun->batch) || !whole(skb[0]))
		n = 1;
	for (i = 1; i < n; i++) {
		if (skb_dst(skb[i]) != skb_dst(skb[i - 1]))
			next = min(mtu, mtu_of(peer, skb[i]));
		batch = omerta_batch_with(batch, skb[i]->len);
		if (batch > next || !whole(skb[i]))
			break;
		mtu = next;
		len = batch;
	}
	*taken = i;
	return omerta_record_pad(len, mtu, peer->tun->class);
}

/* Take as many packets as a burst can carry. */
static void lay_out_bunch(struct omerta_tx_burst *burst,
			  const struct omerta_peer *peer,
			  struct sk_buff *const *skb, unsigned int n)
{
	unsigned int taken;
	u32 total = 0;

	while (burst->n < OMERTA_TX_BURST_MAX && burst->n_skbs < n) {
		u32 len = fill_record(peer, skb + burst->n_skbs,
				      n - burst->n_skbs, &taken);
		struct omerta_layout l;

		omerta_record_layout(&l, len, peer->tun->class);
		if (!burst->n)
			burst->layout = l;
		total += l.wire_len;
		/* All but the last are of one length. */
		if (burst->n && (burst->last.wire_len < burst->layout.wire_len ||
				 l.wire_len > burst->layout.wire_len ||
				 total > OMERTA_MAX_DATAGRAM))
			break;
		burst->last = l;
		burst->n_skbs += taken;
		burst->start[++burst->n] = burst->n_skbs;
	}
	burst->packets = burst->n_skbs;
}

/**
 * omerta_tx_burst_bunch() - make a burst of several packets
 * @peer: the peer
 * @skb: the packets, none of them a super-packet, each of which fits the MTU;
 *	 they stay the caller's
 * @n: their number, at most OMERTA_TX_BURST_MAX
 * @done: called when all is sealed
 *
 * Small ones share records, as a batch.
 *
 * Context: BH off.
 * Return: as omerta_tx_burst_alloc(); of the first @n_skbs packets.
 */
struct omerta_tx_burst *
omerta_tx_burst_bunch(struct omerta_peer *peer, struct sk_buff *const *skb,
		      unsigned int n, void (*done)(struct omerta_job *job))
{
	struct omerta_tx_burst *burst;
	unsigned int i;

	/* They may turn out to fit one record. */
	burst = new_burst(peer, n, omerta_peer_mtu(peer));
	if (!burst)
		return ERR_PTR(-ENOMEM);
	lay_out_bunch(burst, peer, skb, n);
	for (i = 0; i < burst->n_skbs; i++) {
		burst->skb[i] = skb[i];
		burst->bytes += skb[i]->len;
	}
	return finish(burst, peer, done);
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
	return min_t(u32, OMERTA_TX_BURST_MAX, OMERTA_MAX_DATAGRAM / l.wire_len);
}
