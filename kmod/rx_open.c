// SPDX-License-Identifier: GPL-2.0
/*
 * Opening of a burst's records. Where packets of a TCP stream follow each other,
 * the payload of each is opened to right behind that of the one before, so that
 * a super-packet of them needs no copying: the headers in between, which only
 * repeat the first, lie over the end of the payload before for the moment.
 */
#include "compat.h"
#include "merge.h"
#include "rx_burst.h"

/**
 * omerta_rx_open_chunks() - open some chunks of a record
 * @rec: the record
 * @l: its layout
 * @secret: the key's receive secret
 * @plain: gets the plaintext, as if of all chunks
 * @i: the first chunk
 * @end: the chunk after the last
 *
 * Return: false if one is not authentic.
 */
bool omerta_rx_open_chunks(const struct omerta_rx_record *rec,
			   const struct omerta_layout *l, const u8 *secret,
			   u8 *plain, unsigned int i, unsigned int end)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n;

	for (n = 0; i < end; i++) {
		list[n].plain = plain;
		/* It is not written to. */
		list[n].sealed = (u8 *)rec->wire;
		omerta_record_chunk(l, rec->counter, i, &list[n++]);
		if (n < OMERTA_CHUNK_LIST && i + 1 < end)
			continue;
		if (!omerta_chunk_open(list, n, secret))
			return false;
		n = 0;
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

/**
 * struct place - where the next record goes
 * @m: the packets before it that it may continue
 * @pos: behind the last of them
 * @fresh: at @pos begins a block
 * @merge: packets may continue each other
 */
struct place {
	struct omerta_merge m;
	u8 *pos;
	bool fresh;
	bool merge;
};

/**
 * struct ahead - keys for the chunks of several records
 * @keys: they
 * @at: where those of the record in hand begin
 * @end: the record after the last that has some
 * @secret: the key's receive secret
 */
struct ahead {
	struct omerta_chunk_keys keys;
	unsigned int at;
	unsigned int end;
	const u8 *secret;
};

/* As many records from @i on as have room; none if the first has too many chunks. */
static void look_ahead(struct ahead *ahead, const struct omerta_rx_burst *burst,
		       unsigned int i, unsigned int end)
{
	struct omerta_chunk_keys *keys = &ahead->keys;
	unsigned int c;

	omerta_chunk_keys_wipe(keys);
	for (; i < end; i++) {
		const struct omerta_layout *l = omerta_rx_layout(burst, i);
		u64 counter = burst->rec[i].counter;

		if (keys->n + l->n_chunks > OMERTA_CHUNK_LIST)
			break;
		for (c = 0; c < l->n_chunks; c++)
			omerta_chunk_keys_add(keys,
					      omerta_nonce(counter, c,
							   c + 1 == l->n_chunks));
	}
	omerta_chunk_keys_make(keys, ahead->secret);
	ahead->at = 0;
	ahead->end = i;
}

/* As omerta_rx_open_chunks(), with the keys. */
static noinline_for_stack bool
open_ahead(const struct ahead *ahead, const struct omerta_rx_record *rec,
	   const struct omerta_layout *l, u8 *plain, unsigned int i,
	   unsigned int end)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	unsigned int n, first = ahead->at + i;

	if (!ahead->keys.made)
		return omerta_rx_open_chunks(rec, l, ahead->secret, plain, i,
					     end);
	for (n = 0; i < end; i++, n++) {
		list[n].plain = plain;
		/* It is not written to. */
		list[n].sealed = (u8 *)rec->wire;
		omerta_record_chunk(l, rec->counter, i, &list[n]);
	}
	return omerta_chunk_open_with(&ahead->keys, first, list, n);
}

/* A packet that continues those before: only its payload is of use. */
static void join(struct omerta_rx_record *rec, struct place *p, u32 payload)
{
	omerta_merge_add(&p->m, rec->at, payload);
	rec->flags = omerta_merge_flags(&p->m, rec->at);
	rec->joined = true;
	rec->fixed_id = p->m.fixed_id;
	rec->at += p->m.hdr_len;
	rec->len = payload;
	p->pos = rec->at + payload;
}

/* One that does not. Others may continue it, if it is good. */
static void begin(struct omerta_rx_record *rec, struct place *p)
{
	p->m.open = false;
	if (rec->why >= 0)
		return;
	if (p->merge)
		omerta_merge_start(&p->m, rec->at, rec->len);
	if (p->m.open)
		rec->len = p->m.hdr_len + p->m.mss;
	p->pos = rec->at + rec->len;
}

/* Open the chunks behind the first and see what is in the record. */
static void open_rest(struct omerta_rx_record *rec,
		      const struct omerta_layout *l, const struct ahead *ahead)
{
	if (l->n_chunks == 1 ||
	    open_ahead(ahead, rec, l, rec->at, 1, l->n_chunks))
		omerta_rx_check(rec, l);
}

static void open_record(struct omerta_rx_record *rec,
			const struct omerta_layout *l, struct ahead *ahead,
			struct place *p)
{
	u32 first = min(l->plain_len, omerta_chunk_size(l->class));
	u32 over = p->m.open && !p->fresh ? p->m.hdr_len : 0;
	u8 saved[OMERTA_HEADERS_MAX];
	u8 *at = p->pos - over;
	u32 payload;

	rec->why = OMERTA_DROP_RX_DROP_AUTH;
	memcpy(saved, at, over);
	if (!open_ahead(ahead, rec, l, at, 0, 1)) {
		p->m.open = false;
		return;
	}
	payload = omerta_merge_fits(&p->m, at, first, l->plain_len);
	if (!payload && over) {
		memmove(p->pos, at, first);
		memcpy(at, saved, over);
		at = p->pos;
		over = 0;
	}
	rec->at = at;
	open_rest(rec, l, ahead);
	if (rec->why < 0 && payload)
		join(rec, p, payload);
	else
		begin(rec, p);
	memcpy(at, saved, over);
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
	struct place p = { .fresh = true, .merge = burst->merge };
	struct ahead ahead = { .secret = burst->key->rx_secret, .end = i };

	p.pos = omerta_buf_piece(&burst->buf, i);
	for (; i < end; i++) {
		struct omerta_rx_record *rec = &burst->rec[i];
		const struct omerta_layout *l = omerta_rx_layout(burst, i);
		const u8 *pos = p.pos;

		if (i >= ahead.end)
			look_ahead(&ahead, burst, i, end);
		if (!(i % burst->buf.per_block)) {
			p.pos = omerta_buf_piece(&burst->buf, i);
			pos = p.pos;
			p.fresh = true;
		}
		open_record(rec, l, &ahead, &p);
		ahead.at += l->n_chunks;
		if (p.pos != pos)
			p.fresh = false;
	}
	omerta_chunk_keys_wipe(&ahead.keys);
}
