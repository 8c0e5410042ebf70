// SPDX-License-Identifier: GPL-2.0
/*
 * The header of a record, and its layout; any datagram
 *
 * break: wire/record.c s/class != SINGLE_CLASS(plain_len)/0/
 * break: wire/record.c s/tail == OMERTA_TAG_LEN && full/0/
 * break: wire/record.c s/tail > OMERTA_TAG_LEN ? tail/tail >= OMERTA_TAG_LEN ? 1 + tail/
 */
#include "wire/record.c"

#include "proof.h"

/* unwind: 17 */
void prove_parsed_is_written(void)
{
	struct omerta_layout l, again;
	struct omerta_hdr hdr, written;
	u32 len = nondet_u32();
	u8 *wire = any_bytes(sizeof(hdr));
	unsigned int i;

	assume(len >= OMERTA_HDR_LEN);
	memcpy(&hdr, wire, sizeof(hdr));
	if (omerta_record_parse(&l, wire, len))
		return;
	prove(omerta_datagram_type(wire, sizeof(hdr)) == OMERTA_DATAGRAM_DATA);
	prove(l.wire_len == len && len <= OMERTA_MAX_DATAGRAM);
	prove(l.plain_len <= OMERTA_RECORD_MAX_PLAIN(l.class));
	/* A sender of that class lays it out in the same way. */
	omerta_record_layout(&again, l.plain_len, l.class);
	prove(again.plain_len == l.plain_len && again.wire_len == l.wire_len);
	prove(again.n_chunks == l.n_chunks && again.class == l.class);
	omerta_record_header(&l, &written, le32_to_cpu(hdr.key_id), le64_to_cpu(hdr.counter));
	for (i = 0; i < sizeof(hdr); i++)
		prove(((u8 *)&written)[i] == ((u8 *)&hdr)[i]);
}

/* Chunks are inside the record, one behind the other, and end with it. unwind: 17 */
void prove_chunks_fill_record(void)
{
	struct omerta_chunk chunk, next;
	struct omerta_layout l;
	u32 len = nondet_u32(), i = nondet_u32(), at, plain_at;
	u8 *wire = any_bytes(OMERTA_HDR_LEN), *plain, *record;
	u64 counter = nondet_u64();

	assume(len >= OMERTA_HDR_LEN);
	if (omerta_record_parse(&l, wire, len))
		return;
	assume(i < l.n_chunks && counter < OMERTA_COUNTER_LIMIT);
	plain = any_bytes(l.plain_len);
	record = any_bytes(l.wire_len);
	chunk.plain = plain;
	chunk.sealed = record;
	omerta_record_chunk(&l, counter, i, &chunk);
	at = chunk.sealed - record;
	plain_at = chunk.plain - plain;
	prove(chunk.len <= OMERTA_CHUNK_SIZE(l.class));
	prove(plain_at + chunk.len <= l.plain_len);
	prove(at >= OMERTA_HDR_LEN && at + chunk.len + OMERTA_TAG_LEN <= l.wire_len);
	if (i + 1 == l.n_chunks) {
		prove(at + chunk.len + OMERTA_TAG_LEN == l.wire_len);
		prove(plain_at + chunk.len == l.plain_len);
		return;
	}
	next.plain = plain;
	next.sealed = record;
	omerta_record_chunk(&l, counter, i + 1, &next);
	prove(next.sealed == chunk.sealed + chunk.len + OMERTA_TAG_LEN);
	prove(next.plain == chunk.plain + chunk.len);
	prove(next.nonce != chunk.nonce);
}

/* The longest record that fits does fit, and none that is longer. unwind: 17 */
void prove_fit_is_longest(void)
{
	struct omerta_layout l;
	u32 payload = nondet_u32(), plain;
	u8 class = nondet_u8();

	assume(payload <= OMERTA_MAX_DATAGRAM && class < OMERTA_CHUNK_CLASSES);
	plain = omerta_record_fit(payload, class);
	if (plain) {
		omerta_record_layout(&l, plain, class);
		prove(l.wire_len <= payload);
	}
	omerta_record_layout(&l, plain + 1, class);
	prove(l.wire_len > payload);
}
