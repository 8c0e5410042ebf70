// SPDX-License-Identifier: GPL-2.0
#include "lib/mtu.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>

/* See "Header" and "Chunks" in protocol.rst. */
#define HEADER	16
#define TAG	16

uint32_t om_mtu_inner(uint32_t payload, uint32_t chunk)
{
	uint32_t rest = payload > HEADER ? payload - HEADER : 0;
	uint32_t tail = rest % (chunk + TAG);

	return rest / (chunk + TAG) * chunk + (tail > TAG ? tail - TAG : 0);
}

#define UDP	8
#define IPV4	20
#define IPV6	40

static void narrow(struct om_mtu *choice, uint32_t outer, uint32_t headers, uint32_t chunk)
{
	uint32_t payload = outer > headers ? outer - headers : 0;
	uint32_t mtu = om_mtu_inner(payload < OM_MAX_DATAGRAM ? payload : OM_MAX_DATAGRAM, chunk);

	if (choice->outer && choice->mtu <= mtu)
		return;
	choice->mtu = mtu;
	choice->outer = outer;
}

/* A peer that is not known yet may have an address of either family. */
static int narrow_defaults(struct om_rtnl *r, struct om_mtu *choice, uint32_t chunk,
			   struct om_err *err)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct om_defaults found = { 0 };
	uint32_t outer = 0;
	int rc = OM_OK;

	for (size_t i = 0; i < OM_ARRAY_SIZE(families) && !rc; i++) {
		rc = om_rtnl_defaults(r, families[i], RT_TABLE_MAIN, &found, err);
		if (!rc && found.mtu && (!outer || found.mtu < outer))
			outer = found.mtu;
	}
	narrow(choice, outer ? outer : OM_MTU_OUTER, IPV6 + UDP, chunk);
	return rc;
}

int om_mtu_choose(struct om_rtnl *r, const struct om_list *peers, uint32_t chunk, bool v6,
		  uint32_t mark, struct om_mtu *choice, struct om_err *err)
{
	bool unknown = !peers->n;
	int rc = OM_OK;

	*choice = (struct om_mtu){ 0 };
	for (size_t i = 0; i < peers->n; i++) {
		const struct om_peer *p = OM_AT(peers, struct om_peer, i);
		uint32_t outer = p->endpoint_addr.len ?
			om_rtnl_path_mtu(r, &p->endpoint_addr, p->endpoint_scope, mark) : 0;

		if (outer)
			narrow(choice, outer, (p->endpoint_addr.len == 4 ? IPV4 : IPV6) + UDP,
			       chunk);
		else
			unknown = true;
	}
	if (unknown)
		rc = narrow_defaults(r, choice, chunk, err);
	choice->fragments = v6 && choice->mtu < OM_MTU_MIN_V6;
	if (choice->fragments)
		choice->mtu = OM_MTU_MIN_V6;
	if (choice->mtu < OM_MTU_MIN_V4)
		choice->mtu = OM_MTU_MIN_V4;
	return rc;
}

void om_mtu_describe(char *buf, size_t size, const struct om_mtu *choice)
{
	snprintf(buf, size, "MTU %" PRIu32 ", as that of the path outside is %" PRIu32 "%s",
		 choice->mtu, choice->outer, choice->fragments ?
		 "; IPv6 needs 1280, so datagrams of full size are fragmented" : "");
}
