// SPDX-License-Identifier: GPL-2.0
/*
 * Open the records of a burst. If packets of a TCP stream follow each other, the payload of
 * each is moved to the end of the one before, so that a super-packet of them needs no
 * further copy.
 */
#include "datapath/rx_burst.h"

#include "compat/compat.h"
#include "datapath/merge.h"

/* List @n chunks of a record, from chunk @i on. */
static void list_chunks(struct omerta_chunk *list,
			const struct omerta_rx_burst *burst, unsigned int number,
			unsigned int i, unsigned int n)
{
	const struct omerta_layout *l = OMERTA_RX_LAYOUT(burst, number);
	const struct omerta_rx_record *rec = &burst->rec[number];
	u8 *plain = omerta_buf_piece(&burst->buf, number);
	unsigned int c;

	for (c = 0; c < n; c++) {
		list[c].plain = plain;
		/* Opening does not write to it. */
		list[c].sealed = (u8 *)rec->wire;
		omerta_record_chunk(l, rec->counter, i + c, &list[c]);
	}
}

/**
 * omerta_rx_open_chunks() - open some chunks of a record
 * @burst: the burst
 * @number: number of the record in the burst
 * @i: first chunk
 * @end: end of the chunks, exclusive
 *
 * Context: any but hard interrupt.
 * Return: false if a chunk is not authentic.
 */
bool omerta_rx_open_chunks(const struct omerta_rx_burst *burst,
			   unsigned int number, unsigned int i, unsigned int end)
{
	const struct omerta_engine *engine = READ_ONCE(burst->peer->tun->engine);
	struct omerta_chunk list[OMERTA_CHUNK_LIST] __uninitialized;
	unsigned int n;

	for (; i < end; i += n) {
		n = min_t(unsigned int, end - i, OMERTA_CHUNK_LIST);
		list_chunks(list, burst, number, i, n);
		if (omerta_chunk_open(engine, list, n, burst->key->rx_secret) !=
		    OMERTA_CHUNK_ALL(n))
			return false;
	}
	return true;
}

/**
 * omerta_rx_check() - check the plaintext of an opened record
 * @burst: the burst
 * @i: number of the record
 * @authentic: all of its chunks are authentic
 */
void omerta_rx_check(struct omerta_rx_burst *burst, unsigned int i, bool authentic)
{
	struct omerta_rx_record *rec = &burst->rec[i];

	rec->at = omerta_buf_piece(&burst->buf, i);
	rec->len = OMERTA_RX_LAYOUT(burst, i)->plain_len;
	if (!authentic) {
		rec->reason = OMERTA_DROP_RX_AUTH;
		return;
	}
	rec->packets = rec->len ? omerta_record_check(rec->at, rec->len) : 0;
	if (rec->packets < 0)
		rec->reason = OMERTA_DROP_RX_PLAINTEXT;
}

/*
 * Open records from @i on, as many as fit a list of chunks, but at least one. Returns the
 * end of the opened records.
 */
static unsigned int open_list(struct omerta_rx_burst *burst, unsigned int i,
			      unsigned int end)
{
	const struct omerta_engine *engine = READ_ONCE(burst->peer->tun->engine);
	struct omerta_chunk list[OMERTA_CHUNK_LIST] __uninitialized;
	unsigned int n = 0, chunks = 0, j;
	u32 good;

	for (j = i; j < end; j++) {
		chunks = OMERTA_RX_LAYOUT(burst, j)->n_chunks;
		if (n + chunks > OMERTA_CHUNK_LIST)
			break;
		list_chunks(list + n, burst, j, 0, chunks);
		n += chunks;
	}
	if (j == i) {
		omerta_rx_check(burst, i, omerta_rx_open_chunks(burst, i, 0, chunks));
		return i + 1;
	}
	good = omerta_chunk_open(engine, list, n, burst->key->rx_secret);
	end = j;
	for (j = i; j < end; j++) {
		u32 mask;

		chunks = OMERTA_RX_LAYOUT(burst, j)->n_chunks;
		mask = OMERTA_CHUNK_ALL(chunks);
		omerta_rx_check(burst, j, (good & mask) == mask);
		good >>= chunks;
	}
	return end;
}

/**
 * omerta_rx_open_records() - open records of a burst of several
 * @burst: the burst
 * @i: first record
 * @end: end of the records, exclusive
 *
 * Context: any but hard interrupt; no other CPU has these records.
 */
void omerta_rx_open_records(struct omerta_rx_burst *burst, unsigned int i,
			    unsigned int end)
{
	struct omerta_merge m = { .active = false };
	unsigned int opened = i, last_block = 0;
	u8 *pos = NULL;

	for (; i < end; i++) {
		struct omerta_rx_record *rec = &burst->rec[i];
		unsigned int block = i / burst->buf.per_block;
		u32 payload = 0;

		if (i == opened)
			opened = open_list(burst, i, end);
		if (!rec->reason)
			payload = omerta_merge_next(&m, rec->at, rec->len);
		if (payload) {
			rec->flags = m.flags;
			rec->merged = true;
			rec->fixed_id = m.fixed_id;
			rec->at += m.hdr_len;
			rec->len = payload;
			if (block == last_block) {
				memmove(pos, rec->at, payload);
				rec->at = pos;
			}
		} else {
			m.active = false;
			if (!rec->reason && burst->merge)
				omerta_merge_start(&m, rec->at, rec->len);
			/* Without padding */
			if (m.active)
				rec->len = m.hdr_len + m.mss;
		}
		pos = rec->at + rec->len;
		last_block = block;
	}
}
