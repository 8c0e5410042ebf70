// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that cannot be sent, and what their senders are told.
 */
#include "tx_reject.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <net/icmp.h>
#include <net/ipv6.h>

#include "compat.h"

/* What every host has to take. */
#define IPV4_LEAST	576

static unsigned int packets_of(const struct sk_buff *skb)
{
	return max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
}

/**
 * omerta_tx_fits() - whether a packet is short enough
 * @skb: an inner packet or super-packet
 * @mtu: bytes that each packet may have
 *
 * Return: true if so.
 */
bool omerta_tx_fits(const struct sk_buff *skb, u32 mtu)
{
	return skb_is_gso(skb) ? skb_gso_validate_network_len(skb, mtu) :
				 skb->len <= mtu;
}

/**
 * omerta_tx_least() - how long a packet may be on any path
 * @skb: an inner packet or super-packet
 *
 * Senders will not go below that, whatever they are told.
 *
 * Return: bytes of each packet (RFC 791, RFC 8200).
 */
u32 omerta_tx_least(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ? IPV6_MIN_MTU : IPV4_LEAST;
}

/**
 * omerta_tx_drop_reason() - what a packet that cannot be staged is dropped for
 * @err: why it cannot
 *
 * Return: the reason.
 */
enum omerta_drop omerta_tx_drop_reason(int err)
{
	switch (err) {
	case -EINVAL:
		return OMERTA_DROP_TX_DROP_PROTO;
	case -EDESTADDRREQ:
		return OMERTA_DROP_TX_DROP_NO_ENDPOINT;
	case -ENETDOWN:
		return OMERTA_DROP_TX_DROP_DOWN;
	case -ELOOP:
		return OMERTA_DROP_TX_DROP_LOOP;
	case -EMSGSIZE:
		return OMERTA_DROP_TX_DROP_TOO_BIG;
	default:
		return OMERTA_DROP_TX_DROP_NOMEM;
	}
}

/**
 * omerta_tx_reject() - drop a packet, and tell its sender so
 * @tun: the device
 * @skb: the packet, or super-packet; consumed
 * @reason: why it cannot be delivered
 *
 * Context: BH off, none of the peer's locks held.
 */
void omerta_tx_reject(struct omerta_tunnel *tun, struct sk_buff *skb,
		      enum omerta_drop reason)
{
	if (reason == OMERTA_DROP_TX_DROP_NOMEM)
		; /* It may get through next time. */
	else if (skb->protocol == htons(ETH_P_IP))
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, 0);
	else if (skb->protocol == htons(ETH_P_IPV6))
		icmpv6_ndo_send(skb, ICMPV6_DEST_UNREACH, ICMPV6_ADDR_UNREACH,
				0);
	omerta_drop_many(tun->drops, skb, reason, packets_of(skb));
}

/**
 * omerta_tx_too_big() - drop a packet that is too long, and tell its sender so
 * @tun: the device
 * @skb: the packet, or super-packet; consumed
 * @mtu: how long it may be
 *
 * Context: BH off, none of the peer's locks held.
 */
void omerta_tx_too_big(struct omerta_tunnel *tun, struct sk_buff *skb, u32 mtu)
{
	mtu = max(mtu, omerta_tx_least(skb));
	if (skb->protocol == htons(ETH_P_IP))
		icmp_ndo_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED,
			      htonl(mtu));
	else
		icmpv6_ndo_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
	omerta_drop_many(tun->drops, skb, OMERTA_DROP_TX_DROP_TOO_BIG,
			 packets_of(skb));
}
