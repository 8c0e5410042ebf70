// SPDX-License-Identifier: GPL-2.0
/*
 * Segment super-packets of TCP and UDP. Each packet is written directly to where it is
 * sealed: no skb is allocated for it, and its payload is read once.
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
 * omerta_segments_can() - check whether a super-packet can be segmented here
 * @skb: the packet; its network header is at its data
 *
 * Return: false if the stack has to segment it.
 */
bool omerta_segments_can(const struct sk_buff *skb)
{
	u32 known = SKB_GSO_TCPV4 | SKB_GSO_TCPV6 | SKB_GSO_UDP_L4 |
		    SKB_GSO_TCP_ECN | SKB_GSO_TCP_FIXEDID | SKB_GSO_DODGY;

	if (skb_shinfo(skb)->gso_type & ~known)
		return false;
	/* The kernel's helpers do not support extension headers, but the jumbogram's is removed. */
	return skb->protocol == htons(ETH_P_IP) ||
	       skb_network_header_len(skb) == sizeof(struct ipv6hdr) ||
	       omerta_has_jumbo(skb);
}

/**
 * omerta_segments_init() - prepare to read the packets of an skb
 * @s: set to the packets
 * @skb: the skb, its network header at its data; NULL for one packet of no bytes. It stays
 *	 the caller's and must outlive @s.
 *
 * Context: any but hard interrupt.
 * Return: 0, or -EINVAL if the headers of a super-packet are not complete.
 */
int omerta_segments_init(struct omerta_segments *s, struct sk_buff *skb)
{
	u32 start;

	memset(s, 0, sizeof(*s));
	s->skb = skb;
	s->n = 1;
	if (!skb)
		return 0;
	if (skb_is_gso(skb)) {
		s->hdr_len = skb_transport_offset(skb);
		if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
			s->hdr_len += sizeof(struct udphdr);
		else if (pskb_may_pull(skb, s->hdr_len + sizeof(struct tcphdr)) &&
			 tcp_hdrlen(skb) >= sizeof(struct tcphdr))
			s->hdr_len += tcp_hdrlen(skb);
		else
			return -EINVAL;
		if (s->hdr_len > OMERTA_HEADERS_MAX || !pskb_may_pull(skb, s->hdr_len))
			return -EINVAL;
		s->mss = skb_shinfo(skb)->gso_size;
		s->n = max(1U, DIV_ROUND_UP(skb->len - s->hdr_len, s->mss));
	}
	if (s->n > 1) {
		tso_start(skb, &s->tso);
	} else if (skb->ip_summed == CHECKSUM_PARTIAL) {
		start = skb_checksum_start_offset(skb);
		s->csum_at = start + skb->csum_offset;
		s->csum = csum_fold(skb_checksum(skb, start, skb->len - start, 0)) ?:
			  CSUM_MANGLED_0;
	}
	return 0;
}

/**
 * omerta_segment_len() - length of a packet
 * @s: the packets
 * @i: number of the packet, from 0
 *
 * Return: its length with headers.
 */
u32 omerta_segment_len(const struct omerta_segments *s, unsigned int i)
{
	if (s->n > 1)
		return s->hdr_len + min(s->mss, s->skb->len - s->hdr_len - i * s->mss);
	return s->skb ? s->skb->len : 0;
}

/* Write the headers of packet @i, with @len bytes of payload whose checksum is @csum. */
static void build_headers(const struct omerta_segments *s, unsigned int i,
			  u8 *hdr, u32 len, __wsum csum)
{
	void *l4 = hdr + skb_transport_offset(s->skb);
	struct ipv6hdr *ip6 = (void *)hdr;
	struct iphdr *ip4 = (void *)hdr;
	struct tso_t tso = s->tso;
	bool udp = tso.tlen == sizeof(struct udphdr);
	u8 proto = udp ? IPPROTO_UDP : IPPROTO_TCP;
	struct udphdr *uh = l4;
	struct tcphdr *th = l4;
	__sum16 *check = udp ? &uh->check : &th->check;

	if (!(skb_shinfo(s->skb)->gso_type & SKB_GSO_TCP_FIXEDID))
		tso.ip_id += i;
	tso.tcp_seq += i * s->mss;
	tso_build_hdr(s->skb, hdr, &tso, len, i + 1 == s->n);
	/* CWR belongs to the first segment only. */
	if (!udp && i)
		th->cwr = 0;
	*check = 0;
	csum = csum_partial(l4, tso.tlen, csum);
	len += tso.tlen;
	if (ip4->version == 4) {
		ip_send_check(ip4);
		*check = csum_tcpudp_magic(ip4->saddr, ip4->daddr, len, proto, csum);
	} else {
		*check = csum_ipv6_magic(&ip6->saddr, &ip6->daddr, len, proto, csum);
	}
	if (udp && !*check)
		*check = CSUM_MANGLED_0;
}

/**
 * omerta_segment_copy() - write one of several packets as a record's plaintext
 * @s: the packets, more than one
 * @i: number of the packet, from 0
 * @l: the record's layout
 * @wire: the record; the plaintext is written in place of the ciphertext, padded
 */
void omerta_segment_copy(const struct omerta_segments *s, unsigned int i,
			 const struct omerta_layout *l, u8 *wire)
{
	u32 end = omerta_segment_len(s, i);
	u32 from = s->hdr_len + i * s->mss;
	u32 off = s->hdr_len, avail, len;
	__wsum csum = 0;

	static_assert(OMERTA_HEADERS_MAX <= OMERTA_CHUNK_MIN);
	while (off < end) {
		u8 *to = omerta_record_at(l, wire, off, &avail);

		len = min(avail, end - off);
		/* Chunks and headers are even, so all pieces but the last are. */
		csum = csum_add(csum, skb_copy_and_csum_bits(s->skb, from, to,
							     len));
		off += len;
		from += len;
	}
	build_headers(s, i, wire + OMERTA_HDR_LEN, end - s->hdr_len, csum);
	omerta_record_put(l, wire, end, NULL, l->plain_len - end);
}

/**
 * omerta_segment_copy_chunk() - write a part of a lone packet's plaintext
 * @s: the packet
 * @off: offset of the part in the plaintext
 * @to: destination
 * @len: bytes; bytes after the packet's end are zeroed
 */
void omerta_segment_copy_chunk(const struct omerta_segments *s, u32 off,
			       u8 *to, u32 len)
{
	u32 total = s->skb ? s->skb->len : 0;
	u32 n = off < total ? min(len, total - off) : 0;
	u32 i;

	/* Cannot fail: the range lies within the packet. */
	WARN_ON_ONCE(n && skb_copy_bits(s->skb, off, to, n));
	if (s->csum_at) {
		const u8 *csum = (const u8 *)&s->csum;

		for (i = 0; i < sizeof(s->csum); i++)
			if (s->csum_at + i >= off && s->csum_at + i < off + n)
				to[s->csum_at + i - off] = csum[i];
	}
	memset(to + n, 0, len - n);
}
