/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_MERGE_H
#define _OMERTA_MERGE_H

#include <linux/types.h>

/* Headers of IPv4 or IPv6 and TCP, with all options. */
#define OMERTA_HEADERS_MAX	120

/**
 * struct omerta_merge - consecutive packets of a TCP stream that can be merged
 * @hdr: headers of the first packet
 * @hdr_len: their length
 * @tcp: offset of the TCP header
 * @mss: payload bytes of each packet but the last
 * @n: number of packets so far
 * @flags: TCP flags of the latest packet
 * @fixed_id: all packets have the same IPv4 id
 * @active: another packet may continue them
 */
struct omerta_merge {
	u8 hdr[OMERTA_HEADERS_MAX];
	u32 hdr_len;
	u32 tcp;
	u32 mss;
	u32 n;
	u8 flags;
	bool fixed_id;
	bool active;
};

void omerta_merge_start(struct omerta_merge *m, const u8 *pkt, u32 len);
u32 omerta_merge_next(struct omerta_merge *m, const u8 *pkt, u32 len);
void omerta_merge_headers(const struct omerta_merge *m, u32 skip, u32 len,
			  u8 flags, u8 *hdr);

#endif /* _OMERTA_MERGE_H */
