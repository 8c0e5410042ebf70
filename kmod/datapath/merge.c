// SPDX-License-Identifier: GPL-2.0
/*
 * Which packets continue the TCP packet before them, so that together they can
 * go up as one: those that differ only by what a cut of one long packet would
 * have made different. The conditions are those of the kernel's GRO.
 */
#include "datapath/merge.h"

#include <linux/in.h>
#include <linux/string.h>
#include <net/checksum.h>

#include "compat/compat.h"

/* Offsets: packets need not be aligned. */
#define IP4_LEN		2
#define IP4_ID		4
#define IP4_FRAG	6
#define IP4_TTL		8
#define IP4_PROTO	9
#define IP4_CHECK	10
#define IP4_ADDRS	12
#define IP4_SIZE	20
#define IP4_DF		0x4000

#define IP6_LEN		4
#define IP6_NEXT	6
#define IP6_SIZE	40

#define TCP_SEQ		4
#define TCP_ACK		8
#define TCP_DOFF	12
#define TCP_FLAGS	13
#define TCP_WINDOW	14
#define TCP_URG		18
#define TCP_SIZE	20

/* Bits of TCP's flags */
#define FIN		0x01
#define PSH		0x08
#define ACK		0x10

static bool is_ip4(const u8 *pkt)
{
	return pkt[0] == 0x45;
}

/* Length of the headers, or 0 if the packet can be part of no super-packet. */
static u32 headers(const u8 *pkt, u32 len, u32 *tcp, u32 *total)
{
	u32 hdr_len;

	if (len < IP4_SIZE + TCP_SIZE)
		return 0;
	if (is_ip4(pkt)) {
		if (pkt[IP4_PROTO] != IPPROTO_TCP || ip_fast_csum(pkt, 5) ||
		    get_unaligned_be16(pkt + IP4_FRAG) & ~IP4_DF)
			return 0;
		*tcp = IP4_SIZE;
		*total = get_unaligned_be16(pkt + IP4_LEN);
	} else {
		if (pkt[0] >> 4 != 6 || pkt[IP6_NEXT] != IPPROTO_TCP ||
		    len < IP6_SIZE + TCP_SIZE)
			return 0;
		*tcp = IP6_SIZE;
		*total = IP6_SIZE + get_unaligned_be16(pkt + IP6_LEN);
	}
	hdr_len = *tcp + (pkt[*tcp + TCP_DOFF] >> 4) * 4;
	if (hdr_len < *tcp + TCP_SIZE || hdr_len > len || hdr_len >= *total)
		return 0;
	return hdr_len;
}

/**
 * omerta_merge_start() - take a packet for the first of several
 * @m: the packets
 * @pkt: the packet
 * @len: its length; its structure has been checked
 */
void omerta_merge_start(struct omerta_merge *m, const u8 *pkt, u32 len)
{
	u32 total;

	m->open = false;
	m->fixed_id = false;
	m->hdr_len = headers(pkt, len, &m->tcp, &total);
	if (!m->hdr_len || pkt[m->tcp + TCP_FLAGS] != ACK)
		return;
	memcpy(m->hdr, pkt, m->hdr_len);
	m->mss = total - m->hdr_len;
	m->n = 1;
	m->open = true;
}

static bool same(const u8 *a, const u8 *b, u32 from, u32 to)
{
	return !memcmp(a + from, b + from, to - from);
}

static bool same_ip4(const struct omerta_merge *m, const u8 *b)
{
	const u8 *a = m->hdr;
	u16 step = get_unaligned_be16(b + IP4_ID) -
		   get_unaligned_be16(a + IP4_ID);
	bool fixed = !step && get_unaligned_be16(a + IP4_FRAG);

	if (m->n > 1 && fixed != m->fixed_id)
		return false;
	return (fixed || step == m->n) && same(a, b, 0, IP4_LEN) &&
	       same(a, b, IP4_FRAG, IP4_CHECK) &&
	       same(a, b, IP4_ADDRS, IP4_SIZE);
}

static bool same_ip6(const struct omerta_merge *m, const u8 *b)
{
	return same(m->hdr, b, 0, IP6_LEN) &&
	       same(m->hdr, b, IP6_NEXT, IP6_SIZE);
}

static bool same_tcp(const struct omerta_merge *m, const u8 *pkt)
{
	const u8 *a = m->hdr + m->tcp, *b = pkt + m->tcp;

	return same(a, b, 0, TCP_SEQ) &&
	       get_unaligned_be32(b + TCP_SEQ) ==
			get_unaligned_be32(a + TCP_SEQ) + m->n * m->mss &&
	       same(a, b, TCP_ACK, TCP_FLAGS) &&
	       (b[TCP_FLAGS] & ~(PSH | FIN)) == ACK &&
	       same(a, b, TCP_WINDOW, TCP_WINDOW + 2) &&
	       same(a, b, TCP_URG, m->hdr_len - m->tcp);
}

/**
 * omerta_merge_fits() - whether a packet continues those before
 * @m: the packets
 * @pkt: the packet's begin
 * @len: so much of it
 * @max: what its length may be
 *
 * Return: bytes of its payload, or 0 if it does not.
 */
u32 omerta_merge_fits(const struct omerta_merge *m, const u8 *pkt, u32 len,
		      u32 max)
{
	u32 tcp, total;

	if (!m->open || headers(pkt, len, &tcp, &total) != m->hdr_len ||
	    tcp != m->tcp || total > max || total - m->hdr_len > m->mss)
		return 0;
	if (is_ip4(m->hdr) ? !same_ip4(m, pkt) : !same_ip6(m, pkt))
		return 0;
	if (!same_tcp(m, pkt))
		return 0;
	return total - m->hdr_len;
}

/**
 * omerta_merge_add() - take a packet that fits
 * @m: the packets
 * @pkt: its headers
 * @payload: bytes of its payload
 */
void omerta_merge_add(struct omerta_merge *m, const u8 *pkt, u32 payload)
{
	if (m->n == 1 && is_ip4(pkt))
		m->fixed_id = same(m->hdr, pkt, IP4_ID, IP4_ID + 2);
	m->n++;
	m->open = payload == m->mss && !(pkt[m->tcp + TCP_FLAGS] & (PSH | FIN));
}

/**
 * omerta_merge_flags() - TCP's flags of a packet that was added
 * @m: the packets
 * @pkt: its headers
 *
 * Return: the flags' byte.
 */
u8 omerta_merge_flags(const struct omerta_merge *m, const u8 *pkt)
{
	return pkt[m->tcp + TCP_FLAGS];
}

/**
 * omerta_merge_headers() - make the headers of a super-packet
 * @m: the packets
 * @skip: how many of them it does not begin with
 * @len: bytes of its payload
 * @flags: TCP's flags of its last packet
 * @hdr: gets @m's hdr_len bytes; without TCP's checksum
 */
void omerta_merge_headers(const struct omerta_merge *m, u32 skip, u32 len,
			  u8 flags, u8 *hdr)
{
	u8 *tcp = hdr + m->tcp;
	__sum16 check;

	memcpy(hdr, m->hdr, m->hdr_len);
	if (is_ip4(hdr)) {
		put_unaligned_be16(m->hdr_len + len, hdr + IP4_LEN);
		if (!m->fixed_id)
			put_unaligned_be16(get_unaligned_be16(hdr + IP4_ID) +
					   skip, hdr + IP4_ID);
		memset(hdr + IP4_CHECK, 0, sizeof(check));
		check = ip_fast_csum(hdr, 5);
		memcpy(hdr + IP4_CHECK, &check, sizeof(check));
	} else {
		put_unaligned_be16(m->hdr_len - m->tcp + len, hdr + IP6_LEN);
	}
	put_unaligned_be32(get_unaligned_be32(tcp + TCP_SEQ) + skip * m->mss,
			   tcp + TCP_SEQ);
	tcp[TCP_FLAGS] |= flags & (PSH | FIN);
}
