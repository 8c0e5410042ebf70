/* SPDX-License-Identifier: GPL-2.0 */
/* The longest packet that fits into a datagram */
#ifndef OM_MTU_H
#define OM_MTU_H

#include <stdint.h>

#define OM_CHUNK_DEFAULT	512
/* Longest payload of a datagram over IPv4 */
#define OM_MAX_DATAGRAM		65507
/* IPv6 wants no link with less (RFC 8200, section 5). */
#define OM_MTU_MIN_V6		1280

/* Return the longest packet that fits into @payload bytes, in chunks of @chunk bytes. */
uint32_t om_mtu_inner(uint32_t payload, uint32_t chunk);

#endif
