// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses and ports of other ends, and how requests and notifications name them.
 */
#include "peer/endpoint.h"

#include <net/ipv6.h>

#include "compat/compat.h"
#include "netlink/gen.h"

/* All objects have the parts of an endpoint one after the other. */
#define PORT(addr_attr)		((addr_attr) + 1)
#define SCOPE(addr_attr)	((addr_attr) + 2)

static_assert(OMERTA_A_PEER_ENDPOINT_PORT == PORT(OMERTA_A_PEER_ENDPOINT_ADDR));
static_assert(OMERTA_A_PEER_ENDPOINT_SCOPE == SCOPE(OMERTA_A_PEER_ENDPOINT_ADDR));
static_assert(OMERTA_A_CONTROL_ENDPOINT_PORT ==
	      PORT(OMERTA_A_CONTROL_ENDPOINT_ADDR));
static_assert(OMERTA_A_CONTROL_ENDPOINT_SCOPE ==
	      SCOPE(OMERTA_A_CONTROL_ENDPOINT_ADDR));

/**
 * omerta_endpoint_remote_equal() - whether two ends are in the same place
 * @a: one
 * @b: the other
 *
 * Return: true if so, whichever of our addresses they sent to.
 */
bool omerta_endpoint_remote_equal(const struct omerta_endpoint *a,
				  const struct omerta_endpoint *b)
{
	if (a->family != b->family || a->port != b->port ||
	    a->scope != b->scope)
		return false;
	return a->family == AF_INET ? a->addr4 == b->addr4 :
				      ipv6_addr_equal(&a->addr6, &b->addr6);
}

/**
 * omerta_endpoint_equal() - whether two endpoints are the same
 * @a: one
 * @b: the other
 *
 * Return: true if so.
 */
bool omerta_endpoint_equal(const struct omerta_endpoint *a,
			   const struct omerta_endpoint *b)
{
	if (!omerta_endpoint_remote_equal(a, b) || a->src_if != b->src_if)
		return false;
	return a->family == AF_INET ? a->src4 == b->src4 :
				      ipv6_addr_equal(&a->src6, &b->src6);
}

/**
 * omerta_endpoint_hash() - hash of an address and port
 * @ep: the endpoint
 * @key: secret
 *
 * Return: the hash, the same for all that omerta_endpoint_remote_equal() says are.
 */
u32 omerta_endpoint_hash(const struct omerta_endpoint *ep,
			 const siphash_key_t *key)
{
	if (ep->family == AF_INET)
		return siphash_2u32((__force u32)ep->addr4,
				    (__force u32)ep->port, key);
	return siphash_3u64(get_unaligned((const u64 *)&ep->addr6),
			    get_unaligned((const u64 *)&ep->addr6 + 1),
			    (__force u64)ep->port, key);
}

/**
 * omerta_endpoint_site() - hash of what one owner has all of, most likely
 * @ep: the endpoint
 * @key: secret
 *
 * Return: the hash of an IPv4 address or an IPv6 /64.
 */
u32 omerta_endpoint_site(const struct omerta_endpoint *ep,
			 const siphash_key_t *key)
{
	if (ep->family == AF_INET)
		return siphash_1u32((__force u32)ep->addr4, key);
	return siphash_1u64(get_unaligned((const u64 *)&ep->addr6), key);
}

static int parse_addr4(const struct genl_info *info, int attr,
		       struct omerta_endpoint *ep)
{
	struct nlattr *addr = info->attrs[attr];

	ep->family = AF_INET;
	ep->addr4 = nla_get_in_addr(addr);
	if (info->attrs[SCOPE(attr)]) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SCOPE(attr)],
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
	struct nlattr *scope = info->attrs[SCOPE(attr)];
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
 * omerta_endpoint_parse() - take an endpoint from a request
 * @info: the request
 * @attr: of the address
 * @ep: gets it, our own address unknown
 *
 * Return: 1; 0 if the request has none; or a negative errno.
 */
int omerta_endpoint_parse(const struct genl_info *info, int attr,
			  struct omerta_endpoint *ep)
{
	struct nlattr *addr = info->attrs[attr];
	struct nlattr *port = info->attrs[PORT(attr)];

	memset(ep, 0, sizeof(*ep));
	if (!addr && !port && !info->attrs[SCOPE(attr)])
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

/**
 * omerta_endpoint_put() - put an endpoint into a message
 * @msg: the message
 * @attr: of the address
 * @ep: the endpoint; nothing is put if there is none
 *
 * Return: 0 or -EMSGSIZE.
 */
int omerta_endpoint_put(struct sk_buff *msg, int attr,
			const struct omerta_endpoint *ep)
{
	int err;

	switch (ep->family) {
	case AF_INET:
		err = nla_put_in_addr(msg, attr, ep->addr4);
		break;
	case AF_INET6:
		err = nla_put_in6_addr(msg, attr, &ep->addr6);
		if (!err && ep->scope)
			err = nla_put_u32(msg, SCOPE(attr), ep->scope);
		break;
	default:
		return 0;
	}
	return err ?: nla_put_u16(msg, PORT(attr), ntohs(ep->port));
}
