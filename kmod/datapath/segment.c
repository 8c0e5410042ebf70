// SPDX-License-Identifier: GPL-2.0
/*
 * The packets that a super-packet of TCP or UDP stands for, written straight
 * to where they are sealed: no skb is made of them, and their payload is read
 * once.
 */
#include "datapath/segment.h"

#include <linux/if_ether.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat/compat.h"
#include "datapath/merge.h"

/**
 * omerta_segments_can() - whether the headers of a super-packet are understood
 * @skb: the packet; its network header is where its data start
 *
 * Return: false if somebody else has to cut it.
 */
bool omerta_segments_can(const struct sk_buff *skb)
{
	u32 known = SKB_GSO_TCPV4 | SKB_GSO_TCPV6 | SKB_GSO_UDP_L4 |
		    SKB_GSO_TCP_ECN | SKB_GSO_TCP_FIXEDID | SKB_GSO_DODGY;

	if (skb_shinfo(skb)->gso_type & ~known)
		return false;
	/* The kernel's helpers do not know extension headers. */
	return skb->protocol == htons(ETH_P_IP) ||
	       skb_network_header_len(skb) == sizeof(struct ipv6hdr);
}

/* The checksum that whoever made the packet left to us. */
static void open_checksum(struct omerta_segments *s)
{
	const struct sk_buff *skb = s->skb;
	u32 start;

	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return;
	start = skb_checksum_start_offset(skb);
	s->csum_at = start + skb->csum_offset;
	s->csum = csum_fold(skb_checksum(skb, start, skb->len - start, 0)) ?:
		  CSUM_MANGLED_0;
}

/* Length of the headers of a super-packet, which are linear then, or 0. */
static u32 headers_len(struct sk_buff *skb)
{
	u32 len = skb_transport_offset(skb);

	if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
		len += sizeof(struct udphdr);
	else if (pskb_may_pull(skb, len + sizeof(struct tcphdr)) &&
		 tcp_hdrlen(skb) >= sizeof(struct tcphdr))
		len += tcp_hdrlen(skb);
	else
		return 0;
	return len <= OMERTA_HEADERS_MAX && pskb_may_pull(skb, len) ? len : 0;
}

/**
 * omerta_segments_init() - see what packets an skb stands for
 * @s: gets it
 * @skb: the skb, its network header where its data start; NULL for one packet
 *	 of no bytes. It stays the caller's and must outlive @s.
 *
 * Context: any but hard interrupt.
 * Return: 0, or -EINVAL if it is no whole super-packet.
 */
int omerta_segments_init(struct omerta_segments *s, struct sk_buff *skb)
{
	memset(s, 0, sizeof(*s));
	s->skb = skb;
	s->n = 1;
	if (!skb)
		return 0;
	if (!skb_is_gso(skb)) {
		open_checksum(s);
		return 0;
	}
	s->hdr_len = headers_len(skb);
	if (!s->hdr_len)
		return -EINVAL;
	s->mss = skb_shinfo(skb)->gso_size;
	s->n = max(1U, DIV_ROUND_UP(skb->len - s->hdr_len, s->mss));
	if (s->n > 1)
		tso_start(skb, &s->tso);
	else
		open_checksum(s);
	return 0;
}

static u32 payload_len(const struct omerta_segments *s, unsigned int i)
{
	return min(s->mss, s->skb->len - s->hdr_len - i * s->mss);
}

/**
 * omerta_segment_len() - length of a packet
 * @s: the packets
 * @i: which, from 0
 *
 * Return: its length with headers.
 */
u32 omerta_segment_len(const struct omerta_segments *s, unsigned int i)
{
	if (s->n > 1)
		return s->hdr_len + payload_len(s, i);
	return s->skb ? s->skb->len : 0;
}

static void set_checksum(__sum16 *check, const u8 *hdr, const void *l4,
			 u32 l4_hdr_len, u32 len, u8 proto, __wsum csum)
{
	const struct ipv6hdr *ip6 = (const void *)hdr;
	const struct iphdr *ip4 = (const void *)hdr;

	*check = 0;
	csum = csum_partial(l4, l4_hdr_len, csum);
	if (ip4->version == 4)
		*check = csum_tcpudp_magic(ip4->saddr, ip4->daddr, len, proto,
					   csum);
	else
		*check = csum_ipv6_magic(&ip6->saddr, &ip6->daddr, len, proto,
					 csum);
}

/* Finish the headers of packet @i, whose payload has the checksum @csum. */
static void build_headers(const struct omerta_segments *s, unsigned int i,
			  u8 *hdr, u32 len, __wsum csum)
{
	u32 l4 = skb_transport_offset(s->skb);
	struct iphdr *ip4 = (void *)hdr;
	struct tso_t tso = s->tso;

	if (!(skb_shinfo(s->skb)->gso_type & SKB_GSO_TCP_FIXEDID))
		tso.ip_id += i;
	tso.tcp_seq += i * s->mss;
	tso_build_hdr(s->skb, hdr, &tso, len, i + 1 == s->n);
	if (ip4->version == 4)
		ip_send_check(ip4);
	if (tso.tlen == sizeof(struct udphdr)) {
		struct udphdr *uh = (void *)(hdr + l4);

		set_checksum(&uh->check, hdr, uh, sizeof(*uh),
			     sizeof(*uh) + len, IPPROTO_UDP, csum);
		uh->check = uh->check ?: CSUM_MANGLED_0;
	} else {
		struct tcphdr *th = (void *)(hdr + l4);

		/* Congestion is answered once. */
		if (i)
			th->cwr = 0;
		set_checksum(&th->check, hdr, th, tso.tlen, tso.tlen + len,
			     IPPROTO_TCP, csum);
	}
}

/**
 * omerta_segment_copy() - write one of several packets as a record's plaintext
 * @s: the packets, more than one
 * @i: which, from 0
 * @l: the record's layout
 * @wire: the record; gets the plaintext where the ciphertext will be, padded
 */
void omerta_segment_copy(const struct omerta_segments *s, unsigned int i,
			 const struct omerta_layout *l, u8 *wire)
{
	u32 end = s->hdr_len + payload_len(s, i);
	u32 from = s->hdr_len + i * s->mss;
	u32 off = s->hdr_len, room, len;
	__wsum csum = 0;

	static_assert(OMERTA_HEADERS_MAX <= OMERTA_CHUNK_MIN);
	while (off < end) {
		u8 *to = omerta_record_at(l, wire, off, &room);

		len = min(room, end - off);
		/* Chunks and headers are even, so are all pieces but the last. */
		csum = csum_add(csum, skb_copy_and_csum_bits(s->skb, from, to,
							     len));
		off += len;
		from += len;
	}
	build_headers(s, i, wire + OMERTA_HDR_LEN, end - s->hdr_len, csum);
	omerta_record_fill(l, wire, end);
}

static void patch_checksum(const struct omerta_segments *s, u32 off, u8 *to,
			   u32 len)
{
	const u8 *csum = (const u8 *)&s->csum;
	u32 i;

	if (!s->csum_at)
		return;
	for (i = 0; i < sizeof(s->csum); i++)
		if (s->csum_at + i >= off && s->csum_at + i < off + len)
			to[s->csum_at + i - off] = csum[i];
}

/**
 * omerta_segment_copy_chunk() - write a part of a lone packet's plaintext
 * @s: the packet
 * @off: where in the plaintext
 * @to: where to
 * @len: bytes; beyond the packet they are zero
 */
void omerta_segment_copy_chunk(const struct omerta_segments *s, u32 off,
			       u8 *to, u32 len)
{
	u32 all = s->skb ? s->skb->len : 0;
	u32 n = off < all ? min(len, all - off) : 0;

	/* Cannot fail: the range lies within the packet. */
	WARN_ON_ONCE(n && skb_copy_bits(s->skb, off, to, n));
	patch_checksum(s, off, to, n);
	memset(to + n, 0, len - n);
}
