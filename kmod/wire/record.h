/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_RECORD_H
#define _OMERTA_RECORD_H

#include <linux/minmax.h>
#include <linux/types.h>

#include "crypto/chunk.h"
#include "wire/wire.h"

/**
 * enum omerta_datagram_type - destination of a datagram
 * @OMERTA_DATAGRAM_UNKNOWN: it is dropped
 * @OMERTA_DATAGRAM_DATA: a data record, for the datapath
 * @OMERTA_DATAGRAM_CONTROL: a control datagram, for user space
 */
enum omerta_datagram_type {
	OMERTA_DATAGRAM_UNKNOWN,
	OMERTA_DATAGRAM_DATA,
	OMERTA_DATAGRAM_CONTROL,
};

/**
 * struct omerta_layout - how a record's plaintext is split into chunks
 * @plain_len: bytes of plaintext, padding included
 * @wire_len: bytes of UDP payload
 * @n_chunks: number of chunks, at least 1
 * @class: chunk class c, a full chunk carries 512 << c bytes
 */
struct omerta_layout {
	u32 plain_len;
	u32 wire_len;
	u16 n_chunks;
	u8 class;
};

/**
 * struct omerta_inner - an inner packet in a record's plaintext
 * @off: its offset
 * @len: its length
 */
struct omerta_inner {
	u32 off;
	u32 len;
};

/* Plaintext bytes of a full chunk of a class, and of the longest record. */
#define OMERTA_CHUNK_SIZE(class)	((u32)OMERTA_CHUNK_MIN << (class))
#define OMERTA_RECORD_MAX_PLAIN(class)	omerta_record_fit(OMERTA_MAX_DATAGRAM, class)

enum omerta_datagram_type omerta_datagram_type(const u8 *data, u32 len);
u32 omerta_record_fit(u32 payload, u8 class);
u32 omerta_record_pad(u32 len, u32 mtu, u8 class);
void omerta_record_layout(struct omerta_layout *l, u32 plain_len, u8 class);
int omerta_record_parse(struct omerta_layout *l, const void *wire, u32 len);
void omerta_record_header(const struct omerta_layout *l, void *wire,
			  u32 key_id, u64 counter);
void omerta_record_chunk(const struct omerta_layout *l, u64 counter,
			 unsigned int i, struct omerta_chunk *chunk);
u8 *omerta_record_at(const struct omerta_layout *l, u8 *wire, u32 off,
		     u32 *avail);
void omerta_record_put(const struct omerta_layout *l, u8 *wire, u32 off,
		       const void *from, u32 len);
u32 omerta_ip_len(const u8 *p, u32 avail);
u32 omerta_batch_with(u32 len, u32 packet);
int omerta_record_check(const u8 *plain, u32 len);
bool omerta_record_next(const u8 *plain, struct omerta_inner *inner);

#endif /* _OMERTA_RECORD_H */
