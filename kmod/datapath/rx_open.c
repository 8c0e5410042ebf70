// SPDX-License-Identifier: GPL-2.0
/*
 * Opening of a burst's records. Where packets of a TCP stream follow each other, the
 * payload of each is moved to right behind that of the one before, so that a
 * super-packet of them needs no more copying.
 */
#include "compat/compat.h"
#include "datapath/merge.h"
#include "datapath/rx_burst.h"

/* List chunks of a record, from @i on. */
static void list_chunks(struct omerta_chunk *list,
			const struct omerta_rx_burst *burst, unsigned int number,
			unsigned int i, unsigned int n)
{
	const struct omerta_layout *l = omerta_rx_layout(burst, number);
	const struct omerta_rx_record *rec = &burst->rec[number];
	u8 *plain = omerta_buf_piece(&burst->buf, number);
	unsigned int c;

	for (c = 0; c < n; c++) {
		list[c].plain = plain;
		/* It is not written to. */
		list[c].sealed = (u8 *)rec->wire;
		omerta_record_chunk(l, rec->counter, i + c, &list[c]);
	}
}

static u32 open_list(const struct omerta_rx_burst *burst,
		     const struct omerta_chunk *list, unsigned int n)
{
	return omerta_chunk_open(omerta_tunnel_engine(burst->peer->tun), list, n,
				 burst->key->rx_secret);
}

/**
 * omerta_rx_open_chunks() - open some chunks of a record to where its plaintext goes
 * @burst: the burst
 * @number: the record's in the burst
 * @i: the first chunk
 * @end: the chunk after the last
 *
 * Return: false if one is not authentic.
 */
bool omerta_rx_open_chunks(const struct omerta_rx_burst *burst,
			   unsigned int number, unsigned int i, unsigned int end)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n;

	for (; i < end; i += n) {
		n = min_t(unsigned int, end - i, OMERTA_CHUNK_LIST);
		list_chunks(list, burst, number, i, n);
		if (open_list(burst, list, n) != omerta_chunk_all(n))
			return false;
	}
	return true;
}

/**
 * omerta_rx_check() - check the plaintext of an authentic record
 * @rec: the record, its plaintext at @at
 * @l: its layout
 */
void omerta_rx_check(struct omerta_rx_record *rec,
		     const struct omerta_layout *l)
{
	rec->len = l->plain_len;
	rec->packets = l->plain_len ? omerta_record_check(rec->at, rec->len) : 0;
	rec->why = rec->packets < 0 ? OMERTA_DROP_RX_DROP_PLAINTEXT : -1;
}

/* What is authentic goes on, each record to where its piece of memory is. */
static void judge(struct omerta_rx_burst *burst, unsigned int i, bool good)
{
	struct omerta_rx_record *rec = &burst->rec[i];

	rec->at = omerta_buf_piece(&burst->buf, i);
	if (good)
		omerta_rx_check(rec, omerta_rx_layout(burst, i));
	else
		rec->why = OMERTA_DROP_RX_DROP_AUTH;
}

/*
 * Open as many records from @i on as a list has room for, at least one. Return the one
 * after the last.
 */
static unsigned int open_some(struct omerta_rx_burst *burst, unsigned int i,
			      unsigned int end)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n = 0, chunks = 0, j;
	u32 good;

	for (j = i; j < end; j++) {
		chunks = omerta_rx_layout(burst, j)->n_chunks;
		if (n + chunks > OMERTA_CHUNK_LIST)
			break;
		list_chunks(list + n, burst, j, 0, chunks);
		n += chunks;
	}
	if (j == i) {
		judge(burst, i, omerta_rx_open_chunks(burst, i, 0, chunks));
		return i + 1;
	}
	good = open_list(burst, list, n);
	end = j;
	for (j = i; j < end; j++) {
		u32 all;

		chunks = omerta_rx_layout(burst, j)->n_chunks;
		all = omerta_chunk_all(chunks);
		judge(burst, j, (good & all) == all);
		good >>= chunks;
	}
	return end;
}

/**
 * struct place - where a payload goes that continues the one before
 * @m: the packets before it
 * @pos: behind the last of them
 * @block: the block that this is in
 * @merge: packets may continue each other
 */
struct place {
	struct omerta_merge m;
	u8 *pos;
	unsigned int block;
	bool merge;
};

/* A packet that continues those before: only its payload is of use. */
static void join(struct omerta_rx_record *rec, struct place *p,
		 unsigned int block, u32 payload)
{
	u8 *from = rec->at + p->m.hdr_len;

	omerta_merge_add(&p->m, rec->at, payload);
	rec->flags = omerta_merge_flags(&p->m, rec->at);
	rec->joined = true;
	rec->fixed_id = p->m.fixed_id;
	rec->at = from;
	rec->len = payload;
	if (block == p->block) {
		rec->at = p->pos;
		memmove(p->pos, from, payload);
	}
	p->pos = rec->at + payload;
	p->block = block;
}

/* One that does not. Others may continue it, if it is good. */
static void begin(struct omerta_rx_record *rec, struct place *p,
		  unsigned int block)
{
	p->m.open = false;
	if (rec->why >= 0)
		return;
	if (p->merge)
		omerta_merge_start(&p->m, rec->at, rec->len);
	if (p->m.open)
		rec->len = p->m.hdr_len + p->m.mss;
	p->pos = rec->at + rec->len;
	p->block = block;
}

/**
 * omerta_rx_open() - open records of a burst of several
 * @burst: the burst
 * @i: the first
 * @end: the one after the last
 *
 * Context: any but hard interrupt; nobody else has these records.
 */
void omerta_rx_open(struct omerta_rx_burst *burst, unsigned int i,
		    unsigned int end)
{
	struct place p = { .merge = burst->merge };
	unsigned int opened = i;

	for (; i < end; i++) {
		struct omerta_rx_record *rec = &burst->rec[i];
		unsigned int block = i / burst->buf.per_block;
		u32 payload = 0;

		if (i == opened)
			opened = open_some(burst, i, end);
		if (rec->why < 0)
			payload = omerta_merge_fits(&p.m, rec->at, rec->len,
						    rec->len);
		if (payload)
			join(rec, &p, block, payload);
		else
			begin(rec, &p, block);
	}
}
