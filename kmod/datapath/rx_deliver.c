// SPDX-License-Identifier: GPL-2.0
/*
 * Deliver the packets of a burst to the stack.
 */
#include "datapath/rx_burst.h"

#include <linux/if_ether.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat/compat.h"
#include "datapath/merge.h"
#include "datapath/trace.h"

/* Longest packet that is copied in any case. */
#define COPY_MAX	2048U
/* Bytes pulled into the linear area of other packets. */
#define LINEAR_LEN	128U
/*
 * Longest packet that is ever copied: longer contiguous memory is not always available.
 */
#define COPY_LONGEST	16384U

/* Deliver a packet or super-packet, of record @i and those after it. */
static void deliver_skb(struct omerta_rx_burst *burst, unsigned int i, struct sk_buff *skb,
			u32 packets, u32 bytes)
{
	struct omerta_peer *peer = burst->peer;
	struct omerta_tunnel *tun = peer->tun;
	u8 inner;
	bool v6;

	/* No link-layer header: let mac_header equal network_header, as packet sockets expect. */
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb->dev = tun->dev;
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* A socket that polls busily finds the NIC's NAPI, not ours. */
	skb->napi_id = burst->outer->napi_id;
#endif
	skb->protocol = ip_tunnel_parse_protocol(skb);
	v6 = skb->protocol == htons(ETH_P_IPV6);
	if (unlikely(omerta_peer_by_addr(&tun->peers, v6,
					 v6 ? (void *)&ipv6_hdr(skb)->saddr :
					      (void *)&ip_hdr(skb)->saddr) != peer)) {
		omerta_drop(burst->ch, skb, OMERTA_DROP_RX_SOURCE, packets);
		return;
	}
	inner = ip_tunnel_get_dsfield(ip_hdr(skb), skb);
	if (unlikely(INET_ECN_decapsulate(skb, burst->dsfield, inner) > 1)) {
		omerta_drop(burst->ch, skb, OMERTA_DROP_RX_ECN, packets);
		return;
	}
	/* Authentic means unchanged, so the inner checksums need no check. */
	if (skb->ip_summed != CHECKSUM_PARTIAL) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = ~0;
	}
	WRITE_ONCE(burst->ch->rx_packets, burst->ch->rx_packets + packets);
	omerta_dev_stats_rx(tun->dev, packets, bytes);
	omerta_peer_stats_rx(peer->stats, packets, bytes, 0, 0);
	trace_omerta_rx_deliver(burst, &burst->rec[i], skb, packets);
	napi_gro_receive(&burst->ch->napi, skb);
}

/* Drop @n packets of the burst, the first of them in record @i, for lack of memory. */
static void drop_nomem(const struct omerta_rx_burst *burst, unsigned int i,
		       unsigned int n)
{
	omerta_drop(burst->ch, NULL, OMERTA_DROP_RX_NOMEM, n);
	while (!burst->rec[i].outer)
		i--;
	OMERTA_RX_CB(burst->rec[i].outer)->reason = OMERTA_DROP_RX_NOMEM;
}

/*
 * A packet refers to its content rather than copies it if that is worth it. The packet may
 * wait in a socket for a long time, charged for all memory that it pins.
 */
#define IS_WORTH_PINNING(len, pinned)	((len) >= min((pinned) / 2, COPY_LONGEST))

/* Make an skb of a packet. A packet of a batch may share its memory with others. */
static struct sk_buff *make_packet(struct omerta_rx_burst *burst, const u8 *data,
				   u32 len, bool batch)
{
	struct sk_buff *skb = burst->inner;
	u32 linear = len;

	/* The only packet of the burst has the buffer to itself. Padding may follow it. */
	if (!batch && !skb_is_nonlinear(skb)) {
		burst->inner = NULL;
		skb_trim(skb, len);
		return skb;
	}
	if (!batch && len > COPY_MAX && IS_WORTH_PINNING(len, omerta_buf_pinned(data)))
		linear = LINEAR_LEN;
	skb = omerta_buf_alloc_linear(linear);
	if (!skb)
		return NULL;
	memcpy(skb->data, data, linear);
	if (linear < len)
		omerta_buf_add_frag(skb, data + linear, len - linear);
	return skb;
}

/* Deliver packets of record @i, at most @budget. Returns their number. */
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
		bool batch = omerta_record_next(rec->at, in);
		struct sk_buff *skb;

		skb = make_packet(burst, rec->at + in->off, in->len, batch);
		if (skb)
			deliver_skb(burst, i, skb, 1, in->len);
		else
			drop_nomem(burst, i, 1);
	}
	return n;
}

/* Turn a packet with a transport header into a super-packet of @n packets. */
static void set_offload(struct sk_buff *skb, const struct omerta_merge *m,
			u32 payload, unsigned int n)
{
	u32 len = m->hdr_len - m->tcp + payload;
	bool v4 = ip_hdr(skb)->version == 4;
	struct tcphdr *th = tcp_hdr(skb);

	/* If the packet is forwarded, the sender completes the checksum. */
	th->check = v4 ? ~tcp_v4_check(len, ip_hdr(skb)->saddr,
				       ip_hdr(skb)->daddr, 0) :
			 ~tcp_v6_check(len, &ipv6_hdr(skb)->saddr,
				       &ipv6_hdr(skb)->daddr, 0);
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
	if (n < 2)
		return;
	skb_shinfo(skb)->gso_type = v4 ? SKB_GSO_TCPV4 : SKB_GSO_TCPV6;
	if (v4 && m->fixed_id)
		skb_shinfo(skb)->gso_type |= SKB_GSO_TCP_FIXEDID;
	skb_shinfo(skb)->gso_size = m->mss;
	skb_shinfo(skb)->gso_segs = n;
}

/**
 * struct piece - contiguous payload of the records in one block
 * @at: first byte
 * @len: its length
 */
struct piece {
	const u8 *at;
	u32 len;
};

/*
 * Deliver the records from @i to @end, exclusive, as one super-packet. They belong to the
 * merged packets that start with record @first.
 */
static void deliver_super(struct omerta_rx_burst *burst, unsigned int first,
			  unsigned int i, unsigned int end)
{
	unsigned int n = end - i, skip = i - first, pieces = 0, p, k;
	unsigned int block = i / burst->buf.per_block;
	struct piece piece[OMERTA_BUF_BLOCKS];
	u8 hdr[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	u32 len = 0, pinned = 0;
	struct sk_buff *skb;
	bool copy;

	omerta_merge_start(&m, burst->rec[first].at, burst->rec[first].len);
	m.fixed_id = burst->rec[first + 1].fixed_id;
	for (k = i; k < end; k++) {
		const struct omerta_rx_record *rec = &burst->rec[k];
		u32 off = rec->merged ? 0 : m.hdr_len;

		if (pieces == k / burst->buf.per_block - block)
			piece[pieces++] = (struct piece) { .at = rec->at + off };
		piece[pieces - 1].len += rec->len - off;
	}
	for (p = 0; p < pieces; p++) {
		len += piece[p].len;
		pinned += omerta_buf_pinned(piece[p].at);
	}
	copy = !IS_WORTH_PINNING(len, pinned);
	skb = omerta_buf_alloc_linear(m.hdr_len + (copy ? len : 0));
	if (!skb) {
		drop_nomem(burst, i, n);
		return;
	}
	omerta_merge_headers(&m, skip, len, burst->rec[end - 1].flags, hdr);
	memcpy(skb->data, hdr, m.hdr_len);
	skb_trim(skb, m.hdr_len);
	for (p = 0; p < pieces; p++) {
		if (copy)
			skb_put_data(skb, piece[p].at, piece[p].len);
		else
			omerta_buf_add_frag(skb, piece[p].at, piece[p].len);
	}
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, m.tcp);
	set_offload(skb, &m, len, n);
	deliver_skb(burst, i, skb, n, len + n * m.hdr_len);
}

/**
 * omerta_rx_deliver_burst() - deliver packets of accepted records to the stack
 * @burst: the burst, committed; its @next is set to the number of records once all are
 *	   delivered
 * @budget: most packets, approximately
 *
 * Context: the channel's NAPI.
 * Return: number of packets.
 */
int omerta_rx_deliver_burst(struct omerta_rx_burst *burst, int budget)
{
	unsigned int i = burst->next, end, from, k;
	int n = 0;

	for (; i < burst->n && n < budget; i = end) {
		for (end = i + 1; end < burst->n && burst->rec[end].merged;)
			end++;
		if (end == i + 1) {
			if (!burst->rec[i].reason)
				n += deliver_record(burst, i, budget - n);
			/* The rest of a batch is left to the next call. */
			if (burst->left)
				break;
			continue;
		}
		/* As few super-packets as the records that were dropped allow. */
		for (k = i, from = i; k <= end; k++) {
			if (k < end && !burst->rec[k].reason)
				continue;
			if (from < k) {
				deliver_super(burst, i, from, k);
				n++;
			}
			from = k + 1;
		}
	}
	burst->next = i;
	return n;
}
