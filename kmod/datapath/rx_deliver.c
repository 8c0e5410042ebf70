// SPDX-License-Identifier: GPL-2.0
/*
 * Handing the packets of a burst to the stack.
 */
#include <linux/if_ether.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat/compat.h"
#include "datapath/merge.h"
#include "datapath/rx_burst.h"

/* Packets that are copied rather than referred to. */
#define COPY_MAX	2048U
/* The linear part of the others. */
#define LINEAR_LEN	128U
/* Longer ones are never copied: so much memory in one piece is not always to be had. */
#define COPY_LONGEST	16384U

/* Hand packets to the stack. */
static void deliver(struct omerta_rx_burst *burst, struct sk_buff *skb,
		    u32 packets, u32 bytes)
{
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	u8 inner;

	/* There is no link-layer header, which readers find by being told so. */
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->dev = tun->dev;
	skb->protocol = ip_tunnel_parse_protocol(skb);
	if (unlikely(!omerta_peer_owns_src(peer, skb))) {
		omerta_drop_many(tun->drops, skb, OMERTA_DROP_RX_DROP_SOURCE,
				 packets);
		return;
	}
	inner = ip_tunnel_get_dsfield(ip_hdr(skb), skb);
	if (unlikely(INET_ECN_decapsulate(skb, burst->dsfield, inner) > 1)) {
		omerta_drop_many(tun->drops, skb, OMERTA_DROP_RX_DROP_ECN,
				 packets);
		return;
	}
	/* Authentic means unchanged, whatever checksums there are inside. */
	if (skb->ip_summed != CHECKSUM_PARTIAL) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = ~0;
	}
	omerta_dev_stats_rx(tun->dev, packets, bytes);
	omerta_peer_stats_rx(peer->stats, packets, bytes, 0, 0);
	napi_gro_receive(&tun->napi, skb);
}

/* Drop @n packets of the burst, the first of them of record @i. */
static void no_memory(const struct omerta_rx_burst *burst, unsigned int i,
		      unsigned int n)
{
	omerta_drop_many(burst->peer->tun->drops, NULL,
			 OMERTA_DROP_RX_DROP_NOMEM, n);
	while (!burst->rec[i].outer)
		i--;
	*omerta_rx_why(burst->rec[i].outer) = OMERTA_DROP_RX_DROP_NOMEM;
}

static struct sk_buff *copy_packet(const u8 *data, u32 len)
{
	struct sk_buff *skb = omerta_buf_alloc_up(len);

	if (skb)
		memcpy(skb->data, data, len);
	return skb;
}

/*
 * Return true if a packet should refer to its content. It may wait in a socket for long,
 * charged with all that it keeps from being freed.
 */
static bool worth_keeping(u32 len, u32 kept)
{
	return len >= min(kept / 2, COPY_LONGEST);
}

static struct sk_buff *make_packet(struct omerta_rx_burst *burst,
				   const u8 *data, u32 len)
{
	struct sk_buff *skb = burst->inner;

	/* It is the only one; there may be padding behind it. */
	if (!skb_is_nonlinear(skb)) {
		burst->inner = NULL;
		skb_trim(skb, len);
		return skb;
	}
	if (len <= COPY_MAX || !worth_keeping(len, omerta_buf_kept(data)))
		return copy_packet(data, len);
	skb = copy_packet(data, LINEAR_LEN);
	if (skb)
		omerta_buf_refer(skb, data + LINEAR_LEN, len - LINEAR_LEN);
	return skb;
}

/* Packets of record @i, but no more than @budget; returns their number. */
static int deliver_record(struct omerta_rx_burst *burst, unsigned int i, int budget)
{
	const struct omerta_rx_record *rec = &burst->rec[i];
	struct omerta_inner *in = &burst->packet;
	int n;

	if (!burst->left) {
		burst->left = rec->packets;
		*in = (struct omerta_inner) {};
	}
	for (n = 0; burst->left && n < budget; n++, burst->left--) {
		struct sk_buff *skb;

		if (omerta_record_next(rec->at, in))
			skb = copy_packet(rec->at + in->off, in->len);
		else
			skb = make_packet(burst, rec->at, in->len);
		if (skb)
			deliver(burst, skb, 1, in->len);
		else
			no_memory(burst, i, 1);
	}
	return n;
}

static void set_gso(struct sk_buff *skb, const struct omerta_merge *m,
		    unsigned int n)
{
	bool v4 = ip_hdr(skb)->version == 4;

	skb_shinfo(skb)->gso_type = v4 ? SKB_GSO_TCPV4 : SKB_GSO_TCPV6;
	if (v4 && m->fixed_id)
		skb_shinfo(skb)->gso_type |= SKB_GSO_TCP_FIXEDID;
	skb_shinfo(skb)->gso_size = m->mss;
	skb_shinfo(skb)->gso_segs = n;
}

/* Whoever sends it on sums it up. */
static void leave_checksum(struct sk_buff *skb, const struct omerta_merge *m,
			   u32 len)
{
	bool v4 = ip_hdr(skb)->version == 4;
	struct tcphdr *th = tcp_hdr(skb);

	len += m->hdr_len - m->tcp;
	th->check = v4 ? ~tcp_v4_check(len, ip_hdr(skb)->saddr,
				       ip_hdr(skb)->daddr, 0) :
			 ~tcp_v6_check(len, &ipv6_hdr(skb)->saddr,
				       &ipv6_hdr(skb)->daddr, 0);
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
}

/**
 * struct piece - payload of records of one block; they lie behind one another
 * @at: where
 * @len: its length
 */
struct piece {
	const u8 *at;
	u32 len;
};

/* The payload of the records from @i to @end, exclusive; returns the number of pieces. */
static unsigned int find_pieces(const struct omerta_rx_burst *burst,
				unsigned int i, unsigned int end, u32 hdr_len,
				struct piece piece[OMERTA_BUF_BLOCKS])
{
	unsigned int first = i / burst->buf.per_block, n = 0;

	for (; i < end; i++) {
		const struct omerta_rx_record *rec = &burst->rec[i];
		u32 off = rec->joined ? 0 : hdr_len;

		if (n == i / burst->buf.per_block - first)
			piece[n++] = (struct piece) { .at = rec->at + off };
		piece[n - 1].len += rec->len - off;
	}
	return n;
}

/*
 * One super-packet of the records from @i to @end, exclusive, of the group that
 * starts with @first.
 */
static void deliver_super(struct omerta_rx_burst *burst, unsigned int first,
			  unsigned int i, unsigned int end)
{
	unsigned int n = end - i, skip = i - first, pieces, p;
	struct piece piece[OMERTA_BUF_BLOCKS];
	u8 hdr[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	u32 len = 0, kept = 0;
	struct sk_buff *skb;
	bool copy;

	omerta_merge_start(&m, burst->rec[first].at, burst->rec[first].len);
	m.fixed_id = burst->rec[first + 1].fixed_id;
	pieces = find_pieces(burst, i, end, m.hdr_len, piece);
	for (p = 0; p < pieces; p++) {
		len += piece[p].len;
		kept += omerta_buf_kept(piece[p].at);
	}
	copy = !worth_keeping(len, kept);
	skb = omerta_buf_alloc_up(m.hdr_len + (copy ? len : 0));
	if (!skb) {
		no_memory(burst, i, n);
		return;
	}
	omerta_merge_headers(&m, skip, len, burst->rec[end - 1].flags, hdr);
	memcpy(skb->data, hdr, m.hdr_len);
	skb_trim(skb, m.hdr_len);
	for (p = 0; p < pieces; p++) {
		if (copy)
			skb_put_data(skb, piece[p].at, piece[p].len);
		else
			omerta_buf_refer(skb, piece[p].at, piece[p].len);
	}
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, m.tcp);
	leave_checksum(skb, &m, len);
	if (n > 1)
		set_gso(skb, &m, n);
	deliver(burst, skb, n, len + n * m.hdr_len);
}

static bool usable(const struct omerta_rx_record *rec)
{
	return rec->why < 0;
}

/*
 * The records of one group, in as few packets as what was dropped allows; returns the
 * number of packets.
 */
static int deliver_group(struct omerta_rx_burst *burst, unsigned int first,
			 unsigned int end)
{
	unsigned int i, from = first;
	int n = 0;

	for (i = first; i <= end; i++) {
		if (i < end && usable(&burst->rec[i]))
			continue;
		if (from < i) {
			deliver_super(burst, first, from, i);
			n++;
		}
		from = i + 1;
	}
	return n;
}

/**
 * omerta_rx_deliver_burst() - hand packets of good records to the stack
 * @burst: the burst, committed; @next is its number of records once all are through
 * @budget: about how many packets at most
 *
 * Context: the device's NAPI.
 * Return: how many packets there were.
 */
int omerta_rx_deliver_burst(struct omerta_rx_burst *burst, int budget)
{
	unsigned int i = burst->next, end;
	int n = 0;

	for (; i < burst->n && n < budget; i = end) {
		for (end = i + 1; end < burst->n && burst->rec[end].joined;)
			end++;
		if (end > i + 1)
			n += deliver_group(burst, i, end);
		else if (usable(&burst->rec[i]))
			n += deliver_record(burst, i, budget - n);
		/* The rest of it is for the next time. */
		if (burst->left)
			break;
	}
	burst->next = i;
	return n;
}
