/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ENDPOINT_H
#define _OMERTA_ENDPOINT_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/string.h>

/* Every object has the attributes of an endpoint in this order. */
#define OMERTA_ENDPOINT_PORT(addr_attr)		((addr_attr) + 1)
#define OMERTA_ENDPOINT_SCOPE(addr_attr)	((addr_attr) + 2)

/**
 * struct omerta_endpoint - outer addresses of a peer
 * @family: AF_INET or AF_INET6, AF_UNSPEC for none
 * @port: the peer's UDP port
 * @addr4: the peer's IPv4 address
 * @addr6: the peer's IPv6 address
 * @src4: our address that the peer sends to, 0 if unknown
 * @src6: our address that the peer sends to, :: if unknown
 * @src_if: interface on which the peer's datagrams arrive, 0 if unknown
 * @scope: interface of a link-local @addr6, else 0
 */
struct omerta_endpoint {
	sa_family_t family;
	__be16 port;
	union {
		__be32 addr4;
		struct in6_addr addr6;
	};
	union {
		__be32 src4;
		struct in6_addr src6;
	};
	int src_if;
	int scope;
};

/**
 * omerta_endpoint_sockaddr() - return the remote address and port of an endpoint
 * @ep: the endpoint
 * @sa: set to them, or to zeros
 */
static inline void omerta_endpoint_sockaddr(const struct omerta_endpoint *ep,
					    struct sockaddr_in6 *sa)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)sa;

	memset(sa, 0, sizeof(*sa));
	sa->sin6_family = ep->family;
	if (ep->family == AF_INET6) {
		sa->sin6_port = ep->port;
		sa->sin6_addr = ep->addr6;
		sa->sin6_scope_id = ep->scope;
	} else if (ep->family == AF_INET) {
		sin->sin_port = ep->port;
		sin->sin_addr.s_addr = ep->addr4;
	}
}

bool omerta_endpoint_remote_equal(const struct omerta_endpoint *a,
				  const struct omerta_endpoint *b);

#endif /* _OMERTA_ENDPOINT_H */
