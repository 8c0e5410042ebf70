/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_UDP_H
#define _OMERTA_UDP_H

#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

#include "peer/peer.h"
#include "datapath/tunnel.h"

/* Headers of a datagram, and of the devices below the tunnel. */
#define OMERTA_UDP_HEADROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + \
				 sizeof(struct udphdr))

/**
 * struct omerta_path - path of an outer datagram
 * @dst: the route; a reference
 * @family: OMERTA_V4 or OMERTA_V6
 * @sport: our port
 * @to: addresses and the peer's port, with the source address filled in
 * @hdr_len: bytes of the outer IP and UDP headers
 * @ecn: ECN bits of the outer header; set by the caller
 * @df: do not fragment; set by the caller, cleared if the route's MTU is locked
 * @fragile: routers may fragment what fits @told_mtu, as they take less
 * @learned: over IPv6, respect what the route has learned from ICMP errors
 * @nested: the path leads into a device of this driver
 * @told_mtu: MTU of an authentic ICMP error, 0 for none
 */
struct omerta_path {
	struct dst_entry *dst;
	enum omerta_family family;
	__be16 sport;
	struct omerta_endpoint to;
	u32 hdr_len;
	u8 ecn;
	bool df;
	bool fragile;
	bool learned;
	bool nested;
	u32 told_mtu;
};

int omerta_udp_open_own(struct omerta_tunnel *tun, unsigned int n,
			struct netlink_ext_ack *extack);
int omerta_udp_open(struct omerta_tunnel *tun, u16 port, unsigned int n,
		    struct netlink_ext_ack *extack);
int omerta_udp_probe(struct omerta_tunnel *tun, u16 port,
		     struct netlink_ext_ack *extack);
void omerta_udp_close(struct omerta_tunnel *tun);
void omerta_udp_purge(struct omerta_tunnel *tun);
u32 omerta_udp_lost(const struct omerta_channel *ch);
struct sk_buff *omerta_udp_recv(struct omerta_channel *ch);
bool omerta_udp_has_more(const struct omerta_channel *ch);
unsigned int omerta_udp_datagrams(const struct sk_buff *skb, u32 *size);
bool omerta_udp_csum_ok(const struct omerta_channel *ch, struct sk_buff *skb);
void omerta_udp_source(const struct sk_buff *skb, struct omerta_endpoint *from,
		       u8 *dsfield);
enum omerta_drop omerta_udp_route(struct omerta_channel *ch, struct omerta_peer_channel *pc,
				  struct sk_buff *skb, struct omerta_path *path);
u32 omerta_udp_max_payload(const struct omerta_path *path);
void omerta_udp_set_mark(struct omerta_tunnel *tun);
void omerta_udp_send(struct omerta_channel *ch, struct sk_buff *skb,
		     struct omerta_path *path, u32 size, unsigned int n);

int omerta_udp_send_to(struct omerta_tunnel *tun, struct sk_buff *skb,
		       const struct omerta_endpoint *to);

#endif /* _OMERTA_UDP_H */
