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

#include "compat.h"
#include "merge.h"
#include "rx_burst.h"

/* Packets that are copied rather than referred to. */
#define COPY_MAX	2048U

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

static void no_memory(const struct omerta_rx_burst *burst, unsigned int n)
{
	omerta_drop_many(burst->peer->tun->drops, NULL,
			 OMERTA_DROP_RX_DROP_NOMEM, n);
}

static struct sk_buff *copy_packet(struct omerta_tunnel *tun, const u8 *data,
				   u32 len)
{
	struct sk_buff *skb = napi_alloc_skb(&tun->napi, len);

	if (skb)
		skb_put_data(skb, data, len);
	return skb;
}

/* The packet of the only record, without padding, its IP header linear. */
static struct sk_buff *take_inner(struct omerta_rx_burst *burst, u32 len)
{
	struct sk_buff *skb = burst->inner;

	burst->inner = NULL;
	if (pskb_trim(skb, len) ||
	    !pskb_may_pull(skb, min(len, OMERTA_RX_PULL_LEN))) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

static struct sk_buff *make_packet(struct omerta_rx_burst *burst,
				   const u8 *data, u32 len)
{
	struct omerta_tunnel *tun = burst->peer->tun;
	const u32 pull = OMERTA_RX_PULL_LEN;
	struct sk_buff *skb;

	if (burst->n == 1)
		return take_inner(burst, len);
	if (len <= COPY_MAX)
		return copy_packet(tun, data, len);
	skb = copy_packet(tun, data, pull);
	if (skb)
		omerta_buf_refer(skb, data + pull, len - pull);
	return skb;
}

/* The packets of one record. */
static void deliver_record(struct omerta_rx_burst *burst,
			   struct omerta_rx_record *rec)
{
	struct omerta_tunnel *tun = burst->peer->tun;
	struct omerta_inner in = {};
	int n;

	for (n = rec->packets; n > 0; n--) {
		struct sk_buff *skb;

		if (omerta_record_next(rec->at, &in))
			skb = copy_packet(tun, rec->at + in.off, in.len);
		else
			skb = make_packet(burst, rec->at, in.len);
		if (skb)
			deliver(burst, skb, 1, in.len);
		else
			no_memory(burst, 1);
	}
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

/*
 * One super-packet of the records from @i to @end, exclusive, of the group that
 * starts with @first.
 */
static void deliver_super(struct omerta_rx_burst *burst, unsigned int first,
			  unsigned int i, unsigned int end)
{
	struct omerta_tunnel *tun = burst->peer->tun;
	unsigned int n = end - i, skip = i - first;
	u8 hdr[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	struct sk_buff *skb;
	u32 len = 0;

	omerta_merge_start(&m, burst->rec[first].at, burst->rec[first].len);
	m.fixed_id = burst->rec[first + 1].fixed_id;
	skb = napi_alloc_skb(&tun->napi, m.hdr_len);
	if (!skb) {
		no_memory(burst, n);
		return;
	}
	skb_put(skb, m.hdr_len);
	for (; i < end; i++) {
		const struct omerta_rx_record *rec = &burst->rec[i];
		u32 off = rec->joined ? 0 : m.hdr_len;

		omerta_buf_refer(skb, rec->at + off, rec->len - off);
		len += rec->len - off;
	}
	omerta_merge_headers(&m, skip, len, burst->rec[end - 1].flags, hdr);
	memcpy(skb->data, hdr, m.hdr_len);
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

/* The records of one group, in as few packets as what was dropped allows. */
static void deliver_group(struct omerta_rx_burst *burst, unsigned int first,
			  unsigned int end)
{
	unsigned int i, from = first;

	for (i = first; i <= end; i++) {
		if (i < end && usable(&burst->rec[i]))
			continue;
		if (from < i)
			deliver_super(burst, first, from, i);
		from = i + 1;
	}
}

/**
 * omerta_rx_deliver() - hand the packets of good records to the stack
 * @burst: the burst, committed
 *
 * Context: the device's NAPI.
 */
void omerta_rx_deliver(struct omerta_rx_burst *burst)
{
	unsigned int i, end;

	for (i = 0; i < burst->n; i = end) {
		for (end = i + 1; end < burst->n && burst->rec[end].joined;)
			end++;
		if (end > i + 1)
			deliver_group(burst, i, end);
		else if (usable(&burst->rec[i]))
			deliver_record(burst, &burst->rec[i]);
	}
}
