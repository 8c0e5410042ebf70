/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_BUF_H
#define _OMERTA_BUF_H

#include <linux/skbuff.h>

/* Blocks per buffer: enough for the longest burst, fewer than MAX_SKB_FRAGS. */
#define OMERTA_BUF_BLOCKS	4
/* Longest content of an skb's linear head; longer content goes into pages of its own. */
#define OMERTA_BUF_LINEAR_MAX	2048U

/**
 * struct omerta_buf - pieces of memory of one length, each contiguous
 * @head: memory for the skb's head, from omerta_burst_alloc()
 * @head_size: bytes of @head
 * @block: memory of @per_block pieces each
 * @per_block: pieces per block
 * @len: length of a piece; the last one may be shorter
 */
struct omerta_buf {
	void *head;
	unsigned int head_size;
	u8 *block[OMERTA_BUF_BLOCKS];
	unsigned int per_block;
	u32 len;
};

int omerta_buf_get(void);
void omerta_buf_put(void);
void omerta_buf_exit(void);
void *omerta_burst_alloc(size_t size, struct omerta_buf *buf, u32 headroom, u32 len);
void omerta_burst_free(void *mem, size_t size);
struct sk_buff *omerta_buf_alloc_skb(struct omerta_buf *buf, unsigned int headroom,
				     unsigned int n, u32 len, u32 last);
struct sk_buff *omerta_buf_alloc_linear(u32 len);
u8 *omerta_buf_piece(const struct omerta_buf *buf, unsigned int i);
u32 omerta_buf_pinned(const u8 *data);
void omerta_buf_add_frag(struct sk_buff *skb, const u8 *data, u32 len);

#endif /* _OMERTA_BUF_H */
