/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_RECORD_H
#define _OMERTA_RECORD_H

#include <linux/minmax.h>
#include <linux/types.h>

#include "crypto/chunk.h"
#include "wire/wire.h"

/**
 * struct omerta_layout - how a record's plaintext is cut into chunks
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
 * struct omerta_inner - one inner packet within a record's plaintext
 * @off: where it starts
 * @len: its length
 */
struct omerta_inner {
	u32 off;
	u32 len;
};

static inline u32 omerta_chunk_size(u8 class)
{
	return OMERTA_CHUNK_MIN << class;
}

u32 omerta_record_fit(u32 room, u8 class);
u32 omerta_record_max_plain(u8 class);
u32 omerta_record_pad(u32 len, u32 mtu, u8 class);
void omerta_record_layout(struct omerta_layout *l, u32 plain_len, u8 class);
int omerta_record_parse(struct omerta_layout *l, const void *wire, u32 len);
void omerta_record_header(const struct omerta_layout *l, void *wire,
			  u32 key_id, u64 counter);
void omerta_record_chunk(const struct omerta_layout *l, u64 counter,
			 unsigned int i, struct omerta_chunk *chunk);
u8 *omerta_record_at(const struct omerta_layout *l, u8 *wire, u32 off,
		     u32 *room);
void omerta_record_put(const struct omerta_layout *l, u8 *wire, u32 off,
		       const void *from, u32 len);
void omerta_record_fill(const struct omerta_layout *l, u8 *wire, u32 off);
u32 omerta_batch_with(u32 len, u32 packet);
int omerta_record_check(const u8 *plain, u32 len);
bool omerta_record_next(const u8 *plain, struct omerta_inner *inner);

#endif /* _OMERTA_RECORD_H */
