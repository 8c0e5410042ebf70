/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _USER_NET_CHECKSUM_H
#define _USER_NET_CHECKSUM_H

#include <linux/types.h>

/* RFC 1071, of a header of @ihl words of 32 bits. */
static inline u16 ip_fast_csum(const void *iph, unsigned int ihl)
{
	unsigned int i;
	u32 sum = 0;
	u16 word;

	for (i = 0; i < 4 * ihl; i += sizeof(word)) {
		__builtin_memcpy(&word, iph + i, sizeof(word));
		sum += word;
	}
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif
