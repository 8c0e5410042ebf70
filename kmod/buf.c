// SPDX-License-Identifier: GPL-2.0
/*
 * Packet buffers whose content is one contiguous piece of memory, however
 * long, so that chunks can be sealed and opened in it.
 */
#include "buf.h"

#include <linux/gfp.h>
#include <linux/mm.h>

/* Longer contents go into pages of their own. */
#define LINEAR_MAX	2048

static struct page *content_pages(unsigned int len)
{
	return alloc_pages(GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN |
			   __GFP_NORETRY, get_order(len));
}

/**
 * omerta_buf_alloc() - allocate a packet
 * @headroom: bytes of headroom in the linear part
 * @len: bytes of content
 * @data: gets the content's address
 *
 * Context: any but hard interrupt.
 * Return: an skb of length @len with content not yet written, linear or in
 * one fragment; or NULL.
 */
struct sk_buff *omerta_buf_alloc(unsigned int headroom, unsigned int len,
				 u8 **data)
{
	bool linear = len <= LINEAR_MAX;
	struct sk_buff *skb;
	struct page *page;

	skb = alloc_skb(headroom + (linear ? len : 0), GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, headroom);
	if (linear) {
		*data = skb_put(skb, len);
		return skb;
	}
	page = content_pages(len);
	if (!page) {
		kfree_skb(skb);
		return NULL;
	}
	skb_add_rx_frag(skb, 0, page, 0, len, page_size(page));
	*data = page_address(page);
	return skb;
}
