/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_SEGMENT_H
#define _OMERTA_SEGMENT_H

#include <linux/skbuff.h>
#include <net/tso.h>

#include "wire/record.h"

/**
 * struct omerta_segments - the packets of an skb
 * @skb: the skb, its headers linear; NULL for one packet of no bytes
 * @n: number of packets
 * @hdr_len: bytes of headers of each packet, if there are several
 * @mss: bytes of payload of each packet but the last, if there are several
 * @tso: state at the first packet, if there are several
 * @csum_at: offset of @csum in a lone packet, 0 for none
 * @csum: checksum that the sender left to us
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
