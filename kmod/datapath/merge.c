// SPDX-License-Identifier: GPL-2.0
/*
 * Merge consecutive packets of a TCP stream into a super-packet for the stack. A packet
 * continues those before it if it differs from the first only as the segments of one long
 * packet do. The conditions are those of the kernel's GRO.
 */
#include "datapath/merge.h"

#include <linux/in.h>
#include <linux/string.h>
#include <net/checksum.h>

#include "compat/compat.h"
#include "wire/record.h"

/* Offsets, since packets need not be aligned. */
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

/* An IPv4 header without options. */
#define IS_IP4(pkt)	((pkt)[0] == 0x45)

/* Equal bytes of two headers from one offset to another. */
#define SAME(a, b, from, to)	(!memcmp((a) + (from), (b) + (from), (to) - (from)))

/* Length of the headers, or 0 if the packet cannot be part of a super-packet. */
static u32 parse_headers(const u8 *pkt, u32 len, u32 *tcp, u32 *total)
{
	u32 hdr_len;

	*total = omerta_ip_len(pkt, len);
	if (!*total)
		return 0;
	if (IS_IP4(pkt)) {
		if (pkt[IP4_PROTO] != IPPROTO_TCP || ip_fast_csum(pkt, 5) ||
		    get_unaligned_be16(pkt + IP4_FRAG) & ~IP4_DF)
			return 0;
		*tcp = IP4_SIZE;
	} else {
		if (pkt[0] >> 4 != 6 || pkt[IP6_NEXT] != IPPROTO_TCP)
			return 0;
		*tcp = IP6_SIZE;
	}
	if (*total < *tcp + TCP_SIZE)
		return 0;
	hdr_len = *tcp + (pkt[*tcp + TCP_DOFF] >> 4) * 4;
	return hdr_len < *tcp + TCP_SIZE || hdr_len >= *total ? 0 : hdr_len;
}

/**
 * omerta_merge_start() - start with a packet that may be the first of several
 * @m: set to the packet; not active if no other packet can continue it
 * @pkt: the packet
 * @len: its length
 */
void omerta_merge_start(struct omerta_merge *m, const u8 *pkt, u32 len)
{
	u32 total;

	m->active = false;
	m->fixed_id = false;
	m->hdr_len = parse_headers(pkt, len, &m->tcp, &total);
	if (!m->hdr_len || pkt[m->tcp + TCP_FLAGS] != ACK)
		return;
	memcpy(m->hdr, pkt, m->hdr_len);
	m->mss = total - m->hdr_len;
	m->n = 1;
	m->active = true;
}

/* Return true if the headers of a packet continue those of the packets before it. */
static bool headers_continue(const struct omerta_merge *m, const u8 *pkt)
{
	const u8 *a = m->hdr, *b = pkt;

	if (IS_IP4(a)) {
		u16 step = get_unaligned_be16(b + IP4_ID) - get_unaligned_be16(a + IP4_ID);
		bool fixed = !step && get_unaligned_be16(a + IP4_FRAG);

		if ((m->n > 1 && fixed != m->fixed_id) || (!fixed && step != m->n) ||
		    !SAME(a, b, 0, IP4_LEN) || !SAME(a, b, IP4_FRAG, IP4_CHECK) ||
		    !SAME(a, b, IP4_ADDRS, IP4_SIZE))
			return false;
	} else if (!SAME(a, b, 0, IP6_LEN) || !SAME(a, b, IP6_NEXT, IP6_SIZE)) {
		return false;
	}
	a += m->tcp;
	b += m->tcp;
	return SAME(a, b, 0, TCP_SEQ) &&
	       get_unaligned_be32(b + TCP_SEQ) ==
			get_unaligned_be32(a + TCP_SEQ) + m->n * m->mss &&
	       SAME(a, b, TCP_ACK, TCP_FLAGS) &&
	       (b[TCP_FLAGS] & ~(PSH | FIN)) == ACK &&
	       SAME(a, b, TCP_WINDOW, TCP_WINDOW + 2) &&
	       SAME(a, b, TCP_URG, m->hdr_len - m->tcp);
}

/**
 * omerta_merge_next() - add a packet if it continues those before it
 * @m: the packets
 * @pkt: the packet
 * @len: its length
 *
 * Return: bytes of its payload, or 0 if it does not continue them.
 */
u32 omerta_merge_next(struct omerta_merge *m, const u8 *pkt, u32 len)
{
	u32 tcp, total, payload;

	if (!m->active || parse_headers(pkt, len, &tcp, &total) != m->hdr_len ||
	    tcp != m->tcp)
		return 0;
	payload = total - m->hdr_len;
	if (payload > m->mss || !headers_continue(m, pkt))
		return 0;
	if (m->n == 1 && IS_IP4(pkt))
		m->fixed_id = SAME(m->hdr, pkt, IP4_ID, IP4_ID + 2);
	m->n++;
	m->flags = pkt[m->tcp + TCP_FLAGS];
	m->active = payload == m->mss && !(m->flags & (PSH | FIN));
	return payload;
}

/**
 * omerta_merge_headers() - make the headers of a super-packet
 * @m: the packets
 * @skip: number of packets before the first one of the super-packet
 * @len: bytes of its payload
 * @flags: TCP flags of its last packet
 * @hdr: set to @m's hdr_len bytes, without the TCP checksum
 */
void omerta_merge_headers(const struct omerta_merge *m, u32 skip, u32 len,
			  u8 flags, u8 *hdr)
{
	u8 *tcp = hdr + m->tcp;
	__sum16 check;

	memcpy(hdr, m->hdr, m->hdr_len);
	if (IS_IP4(hdr)) {
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
