/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_NET_CHECKSUM_H
#define _USER_NET_CHECKSUM_H

#include <linux/types.h>

/* RFC 1071, of a header of @ihl words of 32 bits. */
static inline u16 ip_fast_csum(const void *iph, unsigned int ihl)
{
	const u8 *p = iph;
	u32 sum = 0;
	unsigned int i;

	for (i = 0; i < 4 * ihl; i += 2)
		sum += p[i] | p[i + 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif
