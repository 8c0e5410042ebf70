/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_MERGE_H
#define _OMERTA_MERGE_H

#include <linux/types.h>

/* Headers of IPv4 or IPv6 and TCP, with all options. */
#define OMERTA_HEADERS_MAX	120

/**
 * struct omerta_merge - packets of a TCP stream that continue each other
 * @hdr: the headers of the first
 * @hdr_len: their length
 * @tcp: where in them TCP's begin
 * @mss: bytes of payload of each packet but the last
 * @n: number of packets so far
 * @fixed_id: the IPv4 id is the same in all of them
 * @open: another may continue them
 */
struct omerta_merge {
	u8 hdr[OMERTA_HEADERS_MAX];
	u32 hdr_len;
	u32 tcp;
	u32 mss;
	u32 n;
	bool fixed_id;
	bool open;
};

void omerta_merge_start(struct omerta_merge *m, const u8 *pkt, u32 len);
u32 omerta_merge_fits(const struct omerta_merge *m, const u8 *pkt, u32 len,
		      u32 max);
void omerta_merge_add(struct omerta_merge *m, const u8 *pkt, u32 payload);
u8 omerta_merge_flags(const struct omerta_merge *m, const u8 *pkt);
void omerta_merge_headers(const struct omerta_merge *m, u32 skip, u32 len,
			  u8 flags, u8 *hdr);

#endif /* _OMERTA_MERGE_H */
