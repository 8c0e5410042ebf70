// SPDX-License-Identifier: GPL-2.0
/*
 * Merging packets of a TCP stream: any two packets up to a bound
 *
 * break: datapath/merge.c s/hdr_len >= \*total/hdr_len > *total/
 * break: datapath/merge.c s/+ m->n \* m->mss/+ m->mss + 1/
 */
#include "wire/record.c"
#include "datapath/merge.c"

#include "proof.h"

/* IPv6 and TCP without options, or IPv4 and TCP with 20 bytes of them, and a payload */
#define BOUND	64

/* unwind: 22 memcmp.0:64 */
void prove_merge(void)
{
	u32 first = nondet_u32(), second = nondet_u32(), payload;
	struct omerta_merge m;
	u8 hdr[OMERTA_HEADERS_MAX], *a, *b;

	assume(first <= BOUND && second <= BOUND);
	a = any_bytes(first);
	b = any_bytes(second);
	omerta_merge_start(&m, a, first);
	if (!m.active)
		return;
	prove(m.hdr_len <= OMERTA_HEADERS_MAX && m.mss > 0 && m.hdr_len + m.mss <= first);
	payload = omerta_merge_next(&m, b, second);
	if (!payload)
		return;
	prove(payload <= m.mss && m.hdr_len + payload <= second && m.n == 2);
	/* The same ports, and the sequence number that follows */
	prove(!memcmp(a + m.tcp, b + m.tcp, TCP_SEQ));
	prove(get_unaligned_be32(b + m.tcp + TCP_SEQ) ==
	      get_unaligned_be32(a + m.tcp + TCP_SEQ) + first - m.hdr_len ||
	      omerta_ip_len(a, first) < first);
	omerta_merge_headers(&m, 0, m.mss + payload, m.flags, hdr);
}
