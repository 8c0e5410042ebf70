// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints in requests.
 */
#include <net/ipv6.h>

#include "compat/compat.h"
#include "netlink/request.h"

static_assert(OMERTA_A_PEER_ENDPOINT_PORT == OMERTA_ENDPOINT_PORT(OMERTA_A_PEER_ENDPOINT_ADDR));
static_assert(OMERTA_A_PEER_ENDPOINT_SCOPE == OMERTA_ENDPOINT_SCOPE(OMERTA_A_PEER_ENDPOINT_ADDR));
static_assert(OMERTA_A_CONTROL_ENDPOINT_PORT ==
	      OMERTA_ENDPOINT_PORT(OMERTA_A_CONTROL_ENDPOINT_ADDR));
static_assert(OMERTA_A_CONTROL_ENDPOINT_SCOPE ==
	      OMERTA_ENDPOINT_SCOPE(OMERTA_A_CONTROL_ENDPOINT_ADDR));

static int parse_addr4(const struct genl_info *info, int attr,
		       struct omerta_endpoint *ep)
{
	struct nlattr *addr = info->attrs[attr];

	ep->family = AF_INET;
	ep->addr4 = nla_get_in_addr(addr);
	if (info->attrs[OMERTA_ENDPOINT_SCOPE(attr)]) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[OMERTA_ENDPOINT_SCOPE(attr)],
				    "endpoint-scope goes with a link-local IPv6 address only");
		return -EINVAL;
	}
	if (ipv4_is_zeronet(ep->addr4) || ipv4_is_multicast(ep->addr4) ||
	    ipv4_is_lbcast(ep->addr4)) {
		NL_SET_ERR_MSG_ATTR(info->extack, addr,
				    "endpoint-addr must be a unicast address");
		return -EINVAL;
	}
	return 0;
}

static int parse_addr6(const struct genl_info *info, int attr,
		       struct omerta_endpoint *ep)
{
	struct nlattr *addr = info->attrs[attr];
	struct nlattr *scope = info->attrs[OMERTA_ENDPOINT_SCOPE(attr)];
	bool local;

	ep->family = AF_INET6;
	ep->addr6 = nla_get_in6_addr(addr);
	if (ipv6_addr_any(&ep->addr6) || ipv6_addr_is_multicast(&ep->addr6) ||
	    ipv6_addr_v4mapped(&ep->addr6)) {
		NL_SET_ERR_MSG_ATTR(info->extack, addr,
				    "endpoint-addr must be a unicast address, IPv4 ones as 4 bytes");
		return -EINVAL;
	}
	local = ipv6_addr_type(&ep->addr6) & IPV6_ADDR_LINKLOCAL;
	if (local != !!scope) {
		NL_SET_ERR_MSG_ATTR(info->extack, addr,
				    "endpoint-scope goes with a link-local IPv6 address, and with no other");
		return -EINVAL;
	}
	ep->scope = scope ? nla_get_u32(scope) : 0;
	return 0;
}

/**
 * omerta_nl_endpoint_parse() - parse the endpoint in a request
 * @info: the request
 * @attr: attribute of the address
 * @ep: set to the endpoint; our own address is unknown
 *
 * Return: 1; 0 if the request has no endpoint; or a negative errno.
 */
int omerta_nl_endpoint_parse(const struct genl_info *info, int attr,
			     struct omerta_endpoint *ep)
{
	struct nlattr *addr = info->attrs[attr];
	struct nlattr *port = info->attrs[OMERTA_ENDPOINT_PORT(attr)];

	memset(ep, 0, sizeof(*ep));
	if (!addr && !port && !info->attrs[OMERTA_ENDPOINT_SCOPE(attr)])
		return 0;
	if (!addr || !port) {
		NL_SET_ERR_MSG(info->extack, "endpoint-addr and endpoint-port go together");
		return -EINVAL;
	}
	ep->port = htons(nla_get_u16(port));
	switch (nla_len(addr)) {
	case sizeof(struct in_addr):
		return parse_addr4(info, attr, ep) ?: 1;
	case sizeof(struct in6_addr):
		return parse_addr6(info, attr, ep) ?: 1;
	}
	NL_SET_ERR_MSG_ATTR(info->extack, addr,
			    "endpoint-addr must have 4 or 16 bytes");
	return -EINVAL;
}
