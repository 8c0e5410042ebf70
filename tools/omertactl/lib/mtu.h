/* SPDX-License-Identifier: GPL-2.0 */
/* The longest packet that fits into a datagram */
#ifndef OM_MTU_H
#define OM_MTU_H

#include "lib/rtnl.h"

#define OM_CHUNK_DEFAULT	512
/* Longest payload of a datagram over IPv4 */
#define OM_MAX_DATAGRAM		65507
/* Outer MTU if no route tells it */
#define OM_MTU_OUTER		1500
/* Smallest MTU for IPv4 alone: every host takes such datagrams (RFC 791). */
#define OM_MTU_MIN_V4		576
/* IPv6 wants no link with less (RFC 8200, section 5). */
#define OM_MTU_MIN_V6		1280

/* Return the longest packet that fits into @payload bytes, in chunks of @chunk bytes. */
uint32_t om_mtu_inner(uint32_t payload, uint32_t chunk);

/* The MTU of a device, from the paths to its peers */
struct om_mtu {
	uint32_t mtu;
	uint32_t outer;			/* MTU of the path that it comes from */
	bool fragments;			/* the path is too narrow for IPv6 in the tunnel */
};

/*
 * Choose the MTU of a device, the smallest over @peers, struct om_peer. A peer without an
 * endpoint may come by any default route. @v6: IPv6 is used in the tunnel. @mark: mark of
 * outgoing datagrams
 */
int om_mtu_choose(struct om_rtnl *r, const struct om_list *peers, uint32_t chunk, bool v6,
		  uint32_t mark, struct om_mtu *choice, struct om_err *err);
/* Describe a choice: MTU 1388, ... */
void om_mtu_describe(char *buf, size_t size, const struct om_mtu *choice);

#endif
