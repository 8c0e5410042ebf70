// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of records and the structure of their plaintext. Knows neither
 * devices nor skbs.
 */
#include "wire/record.h"

#include <linux/align.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/string.h>

#include "compat/compat.h"

#define IPV4_HDR_MIN	20
#define IPV6_HDR_LEN	40

/* Plaintext bytes of chunks that fill @rest bytes of wire, or -EBADMSG. */
static int plain_of_rest(u32 rest, u8 class, u16 *n_chunks)
{
	u32 size = omerta_chunk_size(class);
	u32 full = rest / (size + OMERTA_TAG_LEN);
	u32 tail = rest % (size + OMERTA_TAG_LEN);

	if (!tail) {
		*n_chunks = full;
		return full ? full * size : -EBADMSG;
	}
	if (tail < OMERTA_TAG_LEN || (tail == OMERTA_TAG_LEN && full))
		return -EBADMSG;
	*n_chunks = full + 1;
	return full * size + tail - OMERTA_TAG_LEN;
}

/* The only class that a record of one chunk may have. */
static u8 single_class(u32 plain_len)
{
	u8 class = 0;

	while (omerta_chunk_size(class) < plain_len)
		class++;
	return class;
}

/**
 * omerta_record_fit() - plaintext bytes of the longest record that fits
 * @room: bytes of UDP payload
 * @class: chunk class
 *
 * Return: the largest plaintext, 0 if there is room for none.
 */
u32 omerta_record_fit(u32 room, u8 class)
{
	u32 size = omerta_chunk_size(class);
	u32 rest = room - min_t(u32, room, OMERTA_HDR_LEN);
	u32 full = rest / (size + OMERTA_TAG_LEN);
	u32 tail = rest % (size + OMERTA_TAG_LEN);

	return full * size + (tail > OMERTA_TAG_LEN ? tail - OMERTA_TAG_LEN : 0);
}

/**
 * omerta_record_max_plain() - plaintext bytes of the longest record
 * @class: chunk class
 *
 * Return: the largest plaintext that fits one datagram at this chunk size.
 */
u32 omerta_record_max_plain(u8 class)
{
	return omerta_record_fit(OMERTA_MAX_DATAGRAM, class);
}

/**
 * omerta_record_pad() - plaintext length of a packet with its padding
 * @len: the packet's length
 * @mtu: up to which length to pad
 * @class: chunk class
 *
 * Return: @len, raised to a multiple of 16 as far as @mtu allows.
 */
u32 omerta_record_pad(u32 len, u32 mtu, u8 class)
{
	u32 most = min(mtu, omerta_record_max_plain(class));

	return max(len, min_t(u32, ALIGN(len, OMERTA_PAD), most));
}

/**
 * omerta_record_layout() - lay out a record that is to be sent
 * @l: the layout to fill
 * @plain_len: bytes of plaintext, at most omerta_record_max_plain()
 * @class: the sender's chunk class; a record of one chunk gets the smallest
 *	   class that holds it, as the format demands
 */
void omerta_record_layout(struct omerta_layout *l, u32 plain_len, u8 class)
{
	if (plain_len <= omerta_chunk_size(class)) {
		l->class = single_class(plain_len);
		l->n_chunks = 1;
	} else {
		l->class = class;
		l->n_chunks = DIV_ROUND_UP(plain_len, omerta_chunk_size(class));
	}
	l->plain_len = plain_len;
	l->wire_len = OMERTA_HDR_LEN + plain_len + l->n_chunks * OMERTA_TAG_LEN;
}

/**
 * omerta_record_parse() - check a datagram's header and find its layout
 * @l: the layout to fill
 * @wire: the UDP payload, at least OMERTA_HDR_LEN contiguous bytes
 * @len: its whole length
 *
 * Return: 0; -EPROTONOSUPPORT for what is no data record; -EBADMSG for a data
 * record that is malformed.
 */
int omerta_record_parse(struct omerta_layout *l, const void *wire, u32 len)
{
	const struct omerta_hdr *hdr = wire;
	int plain_len;
	u8 class;

	if (memcmp(hdr->magic, OMERTA_MAGIC, OMERTA_MAGIC_LEN))
		return -EPROTONOSUPPORT;
	class = hdr->type - OMERTA_TYPE_DATA;
	if (class >= OMERTA_CHUNK_CLASSES)
		return -EPROTONOSUPPORT;
	if (len > OMERTA_MAX_DATAGRAM || !hdr->key_id ||
	    le64_to_cpu(hdr->counter) >= OMERTA_COUNTER_LIMIT)
		return -EBADMSG;

	plain_len = plain_of_rest(len - OMERTA_HDR_LEN, class, &l->n_chunks);
	if (plain_len < 0 || l->n_chunks > OMERTA_MAX_CHUNKS)
		return -EBADMSG;
	if (l->n_chunks == 1 && class != single_class(plain_len))
		return -EBADMSG;

	l->plain_len = plain_len;
	l->wire_len = len;
	l->class = class;
	return 0;
}

/**
 * omerta_record_header() - write a record's header
 * @l: its layout
 * @wire: OMERTA_HDR_LEN bytes
 * @key_id: the receiver's key id
 * @counter: the record's counter
 */
void omerta_record_header(const struct omerta_layout *l, void *wire,
			  u32 key_id, u64 counter)
{
	struct omerta_hdr *hdr = wire;

	memcpy(hdr->magic, OMERTA_MAGIC, OMERTA_MAGIC_LEN);
	hdr->type = OMERTA_TYPE_DATA + l->class;
	hdr->key_id = cpu_to_le32(key_id);
	hdr->counter = cpu_to_le64(counter);
}

/**
 * omerta_record_chunk() - find one chunk of a record
 * @l: the record's layout
 * @counter: the record's counter
 * @i: which chunk, from 0
 * @chunk: on entry @plain and @sealed point to the record's plaintext and to
 *	   its UDP payload, header included; on return to the chunk's
 */
void omerta_record_chunk(const struct omerta_layout *l, u64 counter,
			 unsigned int i, struct omerta_chunk *chunk)
{
	u32 size = omerta_chunk_size(l->class);

	chunk->plain += i * size;
	chunk->sealed += OMERTA_HDR_LEN + i * (size + OMERTA_TAG_LEN);
	chunk->len = min(size, l->plain_len - i * size);
	chunk->nonce = omerta_nonce(counter, i, i + 1 == l->n_chunks);
}

/**
 * omerta_record_at() - find one byte of a plaintext
 * @l: the record's layout
 * @wire: the record
 * @off: which byte
 * @room: gets how many of the plaintext lie from there on in one piece
 *
 * Return: where it is sealed in place.
 */
u8 *omerta_record_at(const struct omerta_layout *l, u8 *wire, u32 off, u32 *room)
{
	u32 size = omerta_chunk_size(l->class);
	u32 i = off / size;

	*room = size - off % size;
	return wire + OMERTA_HDR_LEN + off + i * OMERTA_TAG_LEN;
}

/**
 * omerta_record_put() - write a part of a plaintext to where it is sealed
 * @l: the record's layout
 * @wire: the record
 * @off: of the part
 * @from: the part, NULL for zero bytes
 * @len: its length
 */
void omerta_record_put(const struct omerta_layout *l, u8 *wire, u32 off,
		       const void *from, u32 len)
{
	while (len) {
		u32 room, n;
		u8 *to = omerta_record_at(l, wire, off, &room);

		n = min(room, len);
		if (from) {
			memcpy(to, from, n);
			from += n;
		} else {
			memset(to, 0, n);
		}
		off += n;
		len -= n;
	}
}

/**
 * omerta_record_fill() - pad a plaintext
 * @l: the record's layout
 * @wire: the record
 * @off: where its content ends
 */
void omerta_record_fill(const struct omerta_layout *l, u8 *wire, u32 off)
{
	omerta_record_put(l, wire, off, NULL, l->plain_len - off);
}

/**
 * omerta_batch_with() - length of a batch with one more packet
 * @len: length without it, 0 if there is none yet
 * @packet: the packet's length
 *
 * Return: the length.
 */
u32 omerta_batch_with(u32 len, u32 packet)
{
	return (len ?: OMERTA_BATCH_HDR_LEN) + OMERTA_BATCH_LEN_LEN + packet +
	       (packet & 1);
}

/* Length of the IP packet at @p by its own header, or 0 if it is not legal. */
static u32 ip_len(const u8 *p, u32 avail)
{
	u32 len;

	if (!avail)
		return 0;
	switch (p[0] >> 4) {
	case 4:
		if (avail < IPV4_HDR_MIN)
			return 0;
		len = get_unaligned_be16(p + 2);
		if ((p[0] & 0xf) * 4 < IPV4_HDR_MIN || (p[0] & 0xf) * 4 > len)
			return 0;
		break;
	case 6:
		if (avail < IPV6_HDR_LEN)
			return 0;
		len = IPV6_HDR_LEN + get_unaligned_be16(p + 4);
		break;
	default:
		return 0;
	}
	return len <= avail ? len : 0;
}

static bool is_padding(const u8 *p, u32 len)
{
	return len < OMERTA_PAD && (!len || !memchr_inv(p, 0, len));
}

static int check_batch(const u8 *plain, u32 len)
{
	u32 off = OMERTA_BATCH_HDR_LEN;
	unsigned int count, i;

	if (len < OMERTA_BATCH_HDR_LEN || plain[1])
		return -EBADMSG;
	count = get_unaligned_be16(plain + 2);
	for (i = 0; i < count; i++) {
		u32 n;

		if (len - off < 2)
			return -EBADMSG;
		n = get_unaligned_be16(plain + off);
		off += 2;
		if (!n || n > len - off || ip_len(plain + off, n) != n)
			return -EBADMSG;
		off += n;
		if (n & 1 && (off == len || plain[off++]))
			return -EBADMSG;
	}
	if (!count || !is_padding(plain + off, len - off))
		return -EBADMSG;
	return count;
}

/**
 * omerta_record_check() - check the whole structure of a record's plaintext
 * @plain: the plaintext
 * @len: its length, not 0
 *
 * Return: the number of inner packets, at least 1, or -EBADMSG.
 */
int omerta_record_check(const u8 *plain, u32 len)
{
	u32 n;

	if (plain[0] == OMERTA_BATCH)
		return check_batch(plain, len);
	n = ip_len(plain, len);
	if (!n || !is_padding(plain + n, len - n))
		return -EBADMSG;
	return 1;
}

/**
 * omerta_record_next() - step through the packets of a plaintext
 * @plain: a plaintext that omerta_record_check() found good; the caller stops
 *	   after the number of packets that it returned
 * @inner: zeroed before the first call; gets the packet
 *
 * Return: true when the packet is part of a batch, so that others may share
 * the plaintext.
 */
bool omerta_record_next(const u8 *plain, struct omerta_inner *inner)
{
	if (plain[0] != OMERTA_BATCH) {
		inner->len = ip_len(plain, U16_MAX + IPV6_HDR_LEN);
		return false;
	}
	if (inner->off)
		inner->off += inner->len + (inner->len & 1);
	else
		inner->off = OMERTA_BATCH_HDR_LEN;
	inner->len = get_unaligned_be16(plain + inner->off);
	inner->off += 2;
	return true;
}
