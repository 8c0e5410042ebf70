// SPDX-License-Identifier: GPL-2.0
/*
 * The plaintext of a record: an IP packet, or a batch of them; any bytes up to a bound
 *
 * break: wire/record.c s/n > len - off/n > len - off + 1/
 * break: wire/record.c s/len < OMERTA_PAD/len <= OMERTA_PAD/
 * break: wire/record.c s/ || plain\[off++\]/ || !++off/
 */
#include "wire/record.c"

#include "proof.h"

/* Holds a batch of two packets of IPv4 without payload, or one of IPv6, and padding. */
#define BOUND	52

/*
 * The packets of an accepted plaintext fill it without gaps, as a sender writes them, but for bytes of
 * padding, which are zero.
 *
 * unwind: 4 memchr_inv.0:17
 */
void prove_plaintext(void)
{
	u32 len = nondet_u32(), end = 0, at = nondet_u32();
	struct omerta_inner inner = {};
	u8 *plain;
	bool batch = false;
	int n, i;

	assume(len > 0 && len <= BOUND);
	plain = any_bytes(len);
	n = omerta_record_check(plain, len);
	if (n < 0)
		return;
	prove(n >= 1);
	for (i = 0; i < n; i++) {
		batch = omerta_record_next(plain, &inner);
		prove(batch || n == 1);
		prove(inner.len > 0 && inner.off + inner.len <= len);
		prove(omerta_ip_len(plain + inner.off, inner.len) == inner.len);
		if (batch) {
			prove(inner.off == (end ?: OMERTA_BATCH_HDR_LEN) + OMERTA_BATCH_LEN_LEN);
			end = omerta_batch_with(end, inner.len);
			if (inner.len & 1)
				prove(!plain[end - 1]);
		} else {
			prove(!inner.off);
			end = inner.len;
		}
	}
	prove(end <= len && len - end < OMERTA_PAD);
	if (at >= end && at < len)
		prove(!plain[at]);
}

/* unwind: 2 */
void prove_ip_len(void)
{
	u32 avail = nondet_u32(), len;
	u8 *p;

	assume(avail <= BOUND);
	p = any_bytes(avail);
	len = omerta_ip_len(p, avail);
	prove(len <= avail);
	prove(!len || (p[0] >> 4 == 4 && len >= 20) || (p[0] >> 4 == 6 && len >= 40));
}
