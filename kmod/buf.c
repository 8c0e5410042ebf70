// SPDX-License-Identifier: GPL-2.0
/*
 * Packet buffers whose content lies in few pieces of memory, however long, so
 * that chunks can be sealed and opened in them.
 */
#include "buf.h"

#include <linux/gfp.h>
#include <linux/mm.h>

/* Longer contents go into pages of their own. */
#define LINEAR_MAX	2048
/* The largest pages that each CPU has a stock of. */
#define BLOCK_BYTES	(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

static struct page *content_pages(unsigned int len)
{
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
			   __GFP_NORETRY, get_order(len));
}

static int add_blocks(struct sk_buff *skb, struct omerta_buf *buf, u32 total)
{
	u32 size = buf->per_block * buf->len;
	unsigned int i;

	for (i = 0; total; i++) {
		u32 len = min(size, total);
		struct page *page;

		page = content_pages(len);
		if (!page)
			return -ENOMEM;
		skb_add_rx_frag(skb, i, page, 0, len, page_size(page));
		buf->block[i] = page_address(page);
		total -= len;
	}
	return 0;
}

/**
 * omerta_buf_alloc() - allocate a packet for pieces of content
 * @buf: gets where they are
 * @headroom: bytes of headroom in the linear part
 * @n: number of pieces, at least 1
 * @len: length of all pieces but the last; all together not above 65507, and
 *	 more than one only of at most BLOCK_BYTES
 * @last: length of the last
 *
 * Context: any but hard interrupt.
 * Return: an skb with content not yet written, linear or in fragments of whole
 * pieces; or NULL.
 */
struct sk_buff *omerta_buf_alloc(struct omerta_buf *buf, unsigned int headroom,
				 unsigned int n, u32 len, u32 last)
{
	u32 total = (n - 1) * len + last;
	bool linear = total <= LINEAR_MAX && n == 1;
	struct sk_buff *skb;

	skb = alloc_skb(headroom + (linear ? total : 0), GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, headroom);
	buf->len = len;
	buf->per_block = max(1U, (u32)BLOCK_BYTES / max(len, 1U));
	if (linear) {
		buf->block[0] = skb_put(skb, total);
	} else if (add_blocks(skb, buf, total)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}
