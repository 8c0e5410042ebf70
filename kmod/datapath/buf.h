/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_BUF_H
#define _OMERTA_BUF_H

#include <linux/skbuff.h>

/* Few enough to be fragments, as many as a burst can need. */
#define OMERTA_BUF_BLOCKS	4
/* Longer contents go into pages of their own. */
#define OMERTA_BUF_LINEAR_MAX	2048U

/**
 * struct omerta_buf - room for pieces of one length, each contiguous
 * @head: memory for the head of the packet, from omerta_buf_new()
 * @head_size: bytes of it
 * @block: memory for @per_block pieces each
 * @per_block: pieces per block
 * @len: of a piece; the last may be shorter
 */
struct omerta_buf {
	void *head;
	unsigned int head_size;
	u8 *block[OMERTA_BUF_BLOCKS];
	unsigned int per_block;
	u32 len;
};

static inline u8 *omerta_buf_piece(const struct omerta_buf *buf, unsigned int i)
{
	return buf->block[i / buf->per_block] + i % buf->per_block * buf->len;
}

int omerta_buf_get(void);
void omerta_buf_put(void);
void omerta_buf_exit(void);
void *omerta_buf_new(struct omerta_buf *buf, size_t size, u32 headroom, u32 len);
void omerta_buf_free(void *mem, size_t size);
u32 omerta_buf_kept(const u8 *data);
void omerta_buf_refer(struct sk_buff *skb, const u8 *data, u32 len);
struct sk_buff *omerta_buf_alloc_up(u32 len);
struct sk_buff *omerta_buf_alloc(struct omerta_buf *buf, unsigned int headroom,
				 unsigned int n, u32 len, u32 last);

#endif /* _OMERTA_BUF_H */
