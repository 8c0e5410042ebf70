/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_SEGMENT_H
#define _OMERTA_SEGMENT_H

#include <linux/skbuff.h>
#include <net/tso.h>

#include "wire/record.h"

/**
 * struct omerta_segments - the packets that an skb stands for
 * @skb: the skb, its headers linear; NULL for one packet of no bytes
 * @n: their number
 * @hdr_len: bytes of headers of each, if there are several
 * @mss: bytes of payload of each but the last, if there are several
 * @tso: state at the first, if there are several
 * @csum_at: where to put @csum, if there is one packet; 0 for nowhere
 * @csum: the checksum that was left open
 */
struct omerta_segments {
	struct sk_buff *skb;
	unsigned int n;
	u32 hdr_len;
	u32 mss;
	union {
		struct tso_t tso;
		struct {
			u32 csum_at;
			__sum16 csum;
		};
	};
};

bool omerta_segments_can(const struct sk_buff *skb);
int omerta_segments_init(struct omerta_segments *s, struct sk_buff *skb);
u32 omerta_segment_len(const struct omerta_segments *s, unsigned int i);
void omerta_segment_copy(const struct omerta_segments *s, unsigned int i,
			 const struct omerta_layout *l, u8 *wire);
void omerta_segment_copy_chunk(const struct omerta_segments *s, u32 off,
			       u8 *to, u32 len);

#endif /* _OMERTA_SEGMENT_H */
