/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_UDP_H
#define _OMERTA_UDP_H

#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

#include "peer/peer.h"
#include "datapath/tunnel.h"

/* For the headers of a datagram and of what it goes through. */
#define OMERTA_UDP_HEADROOM	(LL_MAX_HEADER + sizeof(struct ipv6hdr) + \
				 sizeof(struct udphdr))

/**
 * struct omerta_path - the way of one outer datagram
 * @dst: route; a reference
 * @family: OMERTA_V4 or OMERTA_V6
 * @sport: our port
 * @to: addresses and the peer's port, sources filled in
 * @ecn: ECN bits of the outer header; the caller's
 * @df: not to be fragmented; the caller's, unless the route says no
 * @told_mtu: MTU that an authentic ICMP error told of, 0 if there was none
 * @cut: routers may fragment what fits @told_mtu, as they take less
 * @learned: over IPv6, what the route has learned from errors counts
 */
struct omerta_path {
	struct dst_entry *dst;
	enum omerta_family family;
	__be16 sport;
	struct omerta_endpoint to;
	u8 ecn;
	bool df;
	bool cut;
	bool learned;
	u32 told_mtu;
};

int omerta_udp_open(struct omerta_tunnel *tun, u16 port,
		    struct netlink_ext_ack *extack);
int omerta_udp_probe(struct omerta_tunnel *tun, u16 port,
		     struct netlink_ext_ack *extack);
void omerta_udp_close(struct omerta_tunnel *tun);
void omerta_udp_purge(struct omerta_tunnel *tun);
u32 omerta_udp_lost(const struct omerta_tunnel *tun);
struct sk_buff *omerta_udp_recv(struct omerta_tunnel *tun);
bool omerta_udp_intact(const struct omerta_tunnel *tun, struct sk_buff *skb);
bool omerta_udp_more(const struct omerta_tunnel *tun);
void omerta_udp_source(const struct sk_buff *skb,
		       struct omerta_endpoint *from);
u8 omerta_udp_dsfield(const struct sk_buff *skb);
int omerta_udp_route(struct omerta_peer *peer, struct sk_buff *skb,
		     struct omerta_path *path);
u32 omerta_udp_room(const struct omerta_path *path);
void omerta_udp_set_mark(struct omerta_tunnel *tun);
bool omerta_udp_nested(const struct omerta_tunnel *tun,
		       const struct omerta_path *path);
void omerta_udp_send(struct omerta_tunnel *tun, struct sk_buff *skb,
		     struct omerta_path *path, u32 size, unsigned int n);

/**
 * omerta_udp_size() - how long the datagrams are that a packet stands for
 * @skb: from omerta_udp_recv()
 *
 * Return: bytes of UDP payload, of all but the last, which may be shorter; at least 1.
 */
static inline u32 omerta_udp_size(const struct sk_buff *skb)
{
	if (skb_is_gso(skb) && skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
		return skb_shinfo(skb)->gso_size;
	return max(skb->len, 1U);
}

/* How many those are. */
static inline unsigned int omerta_udp_datagrams(const struct sk_buff *skb)
{
	return max(1U, DIV_ROUND_UP(skb->len, omerta_udp_size(skb)));
}

/* Whether a device has sockets. Without them all that it sends is dropped. */
static inline bool omerta_udp_is_open(const struct omerta_tunnel *tun)
{
	return rcu_access_pointer(tun->sk[OMERTA_V4]) ||
	       rcu_access_pointer(tun->sk[OMERTA_V6]);
}

void omerta_udp_drop(struct omerta_tunnel *tun, struct sk_buff *skb,
		     struct omerta_path *path, unsigned int n);
int omerta_udp_send_to(struct omerta_tunnel *tun, struct sk_buff *skb,
		       const struct omerta_endpoint *to);

#endif /* _OMERTA_UDP_H */
