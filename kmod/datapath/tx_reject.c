// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that cannot be sent, and what their senders are told.
 */
#include "datapath/tx_reject.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <net/dst_metadata.h>
#include <net/icmp.h>
#include <net/ipv6.h>

#include "compat/compat.h"

/* What every host has to take. */
#define IPV4_LEAST	576
/* Packets whose senders wait to be told; others are not. */
#define REJECTS_MAX	64
/* The most that senders are told of in one go. */
#define TELL_MAX	16

/**
 * struct reject - what is remembered of a packet that is to be dropped
 * @reason: why
 * @mtu: how long it may be, 0 if it cannot be delivered at all
 */
struct reject {
	enum omerta_drop reason;
	u32 mtu;
};

static struct reject *reject_of(struct sk_buff *skb)
{
	return (struct reject *)skb->cb;
}

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

static void drop(struct omerta_tunnel *tun, struct sk_buff *skb)
{
	omerta_drop_many(tun->drops, skb, reject_of(skb)->reason, packets_of(skb));
}

/*
 * Not here: who sends holds the queue's lock, and an error may go out by another
 * device of our kind, from which one comes here at the same time.
 */
static void tell_later(struct omerta_tunnel *tun, struct sk_buff *skb,
		       enum omerta_drop reason, u32 mtu)
{
	BUILD_BUG_ON(sizeof(struct reject) > sizeof(skb->cb));
	*reject_of(skb) = (struct reject){ .reason = reason, .mtu = mtu };
	if (skb_queue_len_lockless(&tun->rejects) >= REJECTS_MAX) {
		drop(tun, skb);
		return;
	}
	skb_dst_force(skb);
	skb_queue_tail(&tun->rejects, skb);
	napi_schedule(&tun->napi);
}

/**
 * omerta_tx_reject() - have a packet dropped, and its sender told so
 * @tun: the device
 * @skb: the packet, or super-packet; consumed
 * @reason: why it cannot be delivered
 *
 * Context: BH off.
 */
void omerta_tx_reject(struct omerta_tunnel *tun, struct sk_buff *skb,
		      enum omerta_drop reason)
{
	/* Without memory it may get through next time. */
	if (reason == OMERTA_DROP_TX_DROP_NOMEM)
		omerta_drop_many(tun->drops, skb, reason, packets_of(skb));
	else
		tell_later(tun, skb, reason, 0);
}

/**
 * omerta_tx_too_big() - have a packet dropped, and its sender told how long it may be
 * @tun: the device
 * @skb: the packet, or super-packet; consumed
 * @mtu: how long it may be
 *
 * Context: BH off.
 */
void omerta_tx_too_big(struct omerta_tunnel *tun, struct sk_buff *skb, u32 mtu)
{
	tell_later(tun, skb, OMERTA_DROP_TX_DROP_TOO_BIG,
		   max(mtu, omerta_tx_least(skb)));
}

/*
 * ICMP wants to know the route that a packet took. One that was redirected to the device has
 * taken none; if there is none to where it is for, that to where it is from says as much.
 */
static void find_route4(struct sk_buff *skb)
{
	const struct iphdr *iph = ip_hdr(skb);
	__be32 to[] = { iph->daddr, iph->saddr };
	struct rtable *rt;
	int i;

	if (skb_valid_dst(skb))
		return;
	skb_dst_drop(skb);
	for (i = 0; i < ARRAY_SIZE(to); i++) {
		struct flowi4 fl4 = { .daddr = to[i], .flowi4_mark = skb->mark };

		rt = ip_route_output_key(dev_net(skb->dev), &fl4);
		if (IS_ERR(rt))
			continue;
		/* The error would come from where the packet was for. */
		if (rt->rt_flags & RTCF_LOCAL) {
			ip_rt_put(rt);
			continue;
		}
		skb_dst_set(skb, &rt->dst);
		break;
	}
}

static void tell(struct sk_buff *skb)
{
	u32 mtu = reject_of(skb)->mtu;

	if (skb->protocol == htons(ETH_P_IP)) {
		find_route4(skb);
		icmp_ndo_send(skb, ICMP_DEST_UNREACH,
			      mtu ? ICMP_FRAG_NEEDED : ICMP_HOST_UNREACH, htonl(mtu));
	} else if (skb->protocol == htons(ETH_P_IPV6)) {
		if (!skb_valid_dst(skb))
			skb_dst_drop(skb);
		icmpv6_ndo_send(skb, mtu ? ICMPV6_PKT_TOOBIG : ICMPV6_DEST_UNREACH,
				mtu ? 0 : ICMPV6_ADDR_UNREACH, mtu);
	}
}

/**
 * omerta_tx_tell() - drop rejected packets, and tell their senders
 * @tun: the device
 *
 * The next call sees to what this leads to, and to the rest.
 *
 * Context: the device's NAPI, inside an RCU read-side section.
 * Return: true if others are left.
 */
bool omerta_tx_tell(struct omerta_tunnel *tun)
{
	int n = min(skb_queue_len_lockless(&tun->rejects), TELL_MAX);
	struct sk_buff *skb;

	while (n-- && (skb = skb_dequeue(&tun->rejects))) {
		tell(skb);
		drop(tun, skb);
	}
	return !skb_queue_empty_lockless(&tun->rejects);
}

/**
 * omerta_tx_tell_nobody() - drop rejected packets, and no more
 * @tun: the device
 *
 * Context: process context.
 */
void omerta_tx_tell_nobody(struct omerta_tunnel *tun)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&tun->rejects)))
		drop(tun, skb);
}
