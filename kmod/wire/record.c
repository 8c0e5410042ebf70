// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of records, and the structure of their plaintext. Knows neither devices nor
 * skbs.
 */
#include "wire/record.h"

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/string.h>

#include "compat/compat.h"

#define IPV4_HDR_MIN	20
#define IPV6_HDR_LEN	40

/**
 * omerta_datagram_type() - tell a datagram by its first bytes
 * @data: UDP payload
 * @len: its length
 *
 * Return: its type, whether the rest of it is well-formed or not.
 */
enum omerta_datagram_type omerta_datagram_type(const u8 *data, u32 len)
{
	u8 type;

	if (len <= OMERTA_MAGIC_LEN ||
	    memcmp(data, OMERTA_MAGIC, OMERTA_MAGIC_LEN))
		return OMERTA_DATAGRAM_UNKNOWN;
	type = data[OMERTA_MAGIC_LEN];
	if (type >= OMERTA_TYPE_DATA && type < OMERTA_TYPE_DATA + OMERTA_CHUNK_CLASSES)
		return OMERTA_DATAGRAM_DATA;
	if (type == OMERTA_TYPE_MESH || (type >= OMERTA_TYPE_CONTROL &&
					 type <= OMERTA_TYPE_CONTROL_LAST))
		return OMERTA_DATAGRAM_CONTROL;
	return OMERTA_DATAGRAM_UNKNOWN;
}

/* The only class that a record of one chunk may have: the smallest that fits. */
#define SINGLE_CLASS(plain_len) \
	((plain_len) ? fls(((plain_len) - 1) / OMERTA_CHUNK_MIN) : 0)

/**
 * omerta_record_fit() - plaintext bytes of the longest record that fits
 * @payload: bytes of UDP payload
 * @class: chunk class
 *
 * Return: bytes of plaintext, 0 if none fits.
 */
u32 omerta_record_fit(u32 payload, u8 class)
{
	u32 size = OMERTA_CHUNK_SIZE(class);
	u32 rest = payload - min_t(u32, payload, OMERTA_HDR_LEN);
	u32 full = rest / (size + OMERTA_TAG_LEN);
	u32 tail = rest % (size + OMERTA_TAG_LEN);

	return full * size + (tail > OMERTA_TAG_LEN ? tail - OMERTA_TAG_LEN : 0);
}

/**
 * omerta_record_pad() - plaintext length of a packet with its padding
 * @len: the packet's length
 * @mtu: longest plaintext to pad to
 * @class: chunk class
 *
 * Return: @len, rounded up to a multiple of 16 as far as @mtu allows.
 */
u32 omerta_record_pad(u32 len, u32 mtu, u8 class)
{
	u32 most = min(mtu, OMERTA_RECORD_MAX_PLAIN(class));

	return max(len, min_t(u32, ALIGN(len, OMERTA_PAD), most));
}

/**
 * omerta_record_layout() - lay out a record to be sent
 * @l: the layout to fill
 * @plain_len: bytes of plaintext, at most OMERTA_RECORD_MAX_PLAIN()
 * @class: the sender's chunk class; a record of one chunk gets the smallest class that
 *	   holds it, as the format demands
 */
void omerta_record_layout(struct omerta_layout *l, u32 plain_len, u8 class)
{
	if (plain_len <= OMERTA_CHUNK_SIZE(class)) {
		l->class = SINGLE_CLASS(plain_len);
		l->n_chunks = 1;
	} else {
		l->class = class;
		l->n_chunks = DIV_ROUND_UP(plain_len, OMERTA_CHUNK_SIZE(class));
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
 * Return: 0; -EPROTONOSUPPORT if it is not a data record; -EBADMSG if it is a malformed
 * data record.
 */
int omerta_record_parse(struct omerta_layout *l, const void *wire, u32 len)
{
	const struct omerta_hdr *hdr = wire;
	u32 size, full, tail, plain_len;
	u8 class;

	if (memcmp(hdr->magic, OMERTA_MAGIC, OMERTA_MAGIC_LEN))
		return -EPROTONOSUPPORT;
	class = hdr->type - OMERTA_TYPE_DATA;
	if (class >= OMERTA_CHUNK_CLASSES)
		return -EPROTONOSUPPORT;
	if (len > OMERTA_MAX_DATAGRAM || !hdr->key_id ||
	    le64_to_cpu(hdr->counter) >= OMERTA_COUNTER_LIMIT)
		return -EBADMSG;

	size = OMERTA_CHUNK_SIZE(class);
	full = (len - OMERTA_HDR_LEN) / (size + OMERTA_TAG_LEN);
	tail = (len - OMERTA_HDR_LEN) % (size + OMERTA_TAG_LEN);
	plain_len = full * size;
	l->n_chunks = full;
	/* Only the lone chunk of an empty record has no plaintext. */
	if (tail < OMERTA_TAG_LEN ? tail || !full : tail == OMERTA_TAG_LEN && full)
		return -EBADMSG;
	if (tail) {
		plain_len += tail - OMERTA_TAG_LEN;
		l->n_chunks++;
	}
	if (l->n_chunks > OMERTA_MAX_CHUNKS ||
	    (l->n_chunks == 1 && class != SINGLE_CLASS(plain_len)))
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
 * omerta_record_chunk() - locate a chunk of a record
 * @l: the record's layout
 * @counter: the record's counter
 * @i: number of the chunk, from 0
 * @chunk: on entry @plain and @sealed point to the record's plaintext and to its UDP
 *	   payload, header included; on return to those of the chunk
 */
void omerta_record_chunk(const struct omerta_layout *l, u64 counter,
			 unsigned int i, struct omerta_chunk *chunk)
{
	u32 size = OMERTA_CHUNK_SIZE(l->class);

	chunk->plain += i * size;
	chunk->sealed += OMERTA_HDR_LEN + i * (size + OMERTA_TAG_LEN);
	chunk->len = min(size, l->plain_len - i * size);
	chunk->nonce = OMERTA_NONCE(counter, i, i + 1 == l->n_chunks);
}

/**
 * omerta_record_at() - locate a byte of a plaintext that is sealed in place
 * @l: the record's layout
 * @wire: the record
 * @off: offset of the byte in the plaintext
 * @avail: set to the number of plaintext bytes that are contiguous from there on
 *
 * Return: address of the byte.
 */
u8 *omerta_record_at(const struct omerta_layout *l, u8 *wire, u32 off, u32 *avail)
{
	u32 size = OMERTA_CHUNK_SIZE(l->class);
	u32 i = off / size;

	*avail = size - off % size;
	return wire + OMERTA_HDR_LEN + off + i * OMERTA_TAG_LEN;
}

/**
 * omerta_record_put() - write a part of a plaintext that is sealed in place
 * @l: the record's layout
 * @wire: the record
 * @off: offset of the part in the plaintext
 * @from: the part, NULL for zero bytes
 * @len: its length
 */
void omerta_record_put(const struct omerta_layout *l, u8 *wire, u32 off,
		       const void *from, u32 len)
{
	u32 size = OMERTA_CHUNK_SIZE(l->class), n;

	for (; len; off += n, len -= n) {
		/* As omerta_record_at() */
		u8 *to = wire + OMERTA_HDR_LEN + off + off / size * OMERTA_TAG_LEN;

		n = min(len, size - off % size);
		if (from) {
			memcpy(to, from, n);
			from += n;
		} else {
			memset(to, 0, n);
		}
	}
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

/**
 * omerta_ip_len() - length of an IP packet by its own header
 * @p: the packet
 * @avail: bytes at @p
 *
 * Return: the length, at most @avail; 0 if the packet is malformed or longer.
 */
u32 omerta_ip_len(const u8 *p, u32 avail)
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

/**
 * omerta_record_check() - check the whole structure of a record's plaintext
 * @plain: the plaintext
 * @len: its length, not 0
 *
 * Return: the number of inner packets, at least 1, or -EBADMSG.
 */
int omerta_record_check(const u8 *plain, u32 len)
{
	u32 off = OMERTA_BATCH_HDR_LEN, n;
	unsigned int count = 1, i;

	if (plain[0] != OMERTA_BATCH) {
		off = omerta_ip_len(plain, len);
		if (!off)
			return -EBADMSG;
		goto padding;
	}
	if (len < OMERTA_BATCH_HDR_LEN || plain[1])
		return -EBADMSG;
	count = get_unaligned_be16(plain + 2);
	if (!count)
		return -EBADMSG;
	for (i = 0; i < count; i++) {
		if (len - off < OMERTA_BATCH_LEN_LEN)
			return -EBADMSG;
		n = get_unaligned_be16(plain + off);
		off += OMERTA_BATCH_LEN_LEN;
		if (!n || n > len - off || omerta_ip_len(plain + off, n) != n)
			return -EBADMSG;
		off += n;
		if (n & 1 && (off == len || plain[off++]))
			return -EBADMSG;
	}
padding:
	len -= off;
	return len < OMERTA_PAD && (!len || !memchr_inv(plain + off, 0, len)) ? count :
										-EBADMSG;
}

/**
 * omerta_record_next() - step through the packets of a plaintext
 * @plain: a plaintext that omerta_record_check() has accepted; the caller stops after the
 *	   number of packets that it returned
 * @inner: zeroed before the first call; set to the next packet
 *
 * Return: true if the packet is part of a batch, so that others may share the plaintext.
 */
bool omerta_record_next(const u8 *plain, struct omerta_inner *inner)
{
	if (plain[0] != OMERTA_BATCH) {
		inner->len = omerta_ip_len(plain, U16_MAX + IPV6_HDR_LEN);
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
