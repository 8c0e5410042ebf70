/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ENDPOINT_H
#define _OMERTA_ENDPOINT_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/siphash.h>
#include <linux/socket.h>
#include <net/genetlink.h>

/**
 * struct omerta_endpoint - where a peer's datagrams go and come from
 * @family: AF_INET or AF_INET6, AF_UNSPEC if there is no endpoint
 * @port: the peer's UDP port
 * @addr4: the peer's IPv4 address
 * @addr6: the peer's IPv6 address
 * @src4: our address that the peer sent to, 0 if not known
 * @src6: our address that the peer sent to, :: if not known
 * @src_if: interface on which the peer's datagrams come in, 0 if not known
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

bool omerta_endpoint_remote_equal(const struct omerta_endpoint *a,
				  const struct omerta_endpoint *b);
bool omerta_endpoint_equal(const struct omerta_endpoint *a,
			   const struct omerta_endpoint *b);
u32 omerta_endpoint_hash(const struct omerta_endpoint *ep,
			 const siphash_key_t *key);
u32 omerta_endpoint_site(const struct omerta_endpoint *ep,
			 const siphash_key_t *key);
int omerta_endpoint_parse(const struct genl_info *info, int attr,
			  struct omerta_endpoint *ep);
int omerta_endpoint_put(struct sk_buff *msg, int attr,
			const struct omerta_endpoint *ep);

#endif /* _OMERTA_ENDPOINT_H */
