// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that cannot be sent. They are dropped, and their senders get an ICMP error.
 */
#include "datapath/reject.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <net/dst_metadata.h>
#include <net/icmp.h>
#include <net/ipv6.h>

#include "compat/compat.h"

/* Packets that may wait for their ICMP error. Others are dropped without one. */
#define REJECTS_MAX		64
/* Most ICMP errors per run of NAPI. */
#define ERRORS_MAX		16

/**
 * struct reject_cb - skb->cb of a rejected packet
 * @ch: channel whose queue brought it
 * @reason: why it is dropped
 * @mtu: longest packet that can be delivered, 0 if none can
 */
struct reject_cb {
	struct omerta_channel *ch;
	enum omerta_drop reason;
	u32 mtu;
};

#define REJECT_CB(skb)		((struct reject_cb *)(skb)->cb)

#define PACKETS(skb)		max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1)

static_assert(sizeof(struct reject_cb) <= sizeof_field(struct sk_buff, cb));

/**
 * omerta_fits_mtu() - check the length of a packet
 * @skb: an inner packet or super-packet
 * @mtu: longest packet
 *
 * Return: true if no packet is longer.
 */
bool omerta_fits_mtu(const struct sk_buff *skb, u32 mtu)
{
	return skb_is_gso(skb) ? skb_gso_validate_network_len(skb, mtu) :
				 skb->len <= mtu;
}

/**
 * omerta_reject() - drop a packet and send its sender an ICMP error
 * @tun: the device
 * @skb: the packet or super-packet; consumed
 * @reason: why it cannot be delivered. Packets that are dropped for lack of memory cause
 *	    no error, since they may succeed next time.
 * @mtu: longest packet that can be delivered, for OMERTA_DROP_TX_TOO_BIG
 *
 * The error is left to NAPI. The caller holds the queue lock, and the error may be routed
 * through another device of this driver that is sending into this one.
 *
 * Context: BH off.
 */
void omerta_reject(struct omerta_tunnel *tun, struct sk_buff *skb,
		   enum omerta_drop reason, u32 mtu)
{
	struct omerta_channel *ch = tun->channel[skb_get_queue_mapping(skb)];

	*REJECT_CB(skb) = (struct reject_cb) {
		.ch = ch,
		.reason = reason,
		.mtu = reason == OMERTA_DROP_TX_TOO_BIG ?
		       max(mtu, (u32)OMERTA_MIN_MTU(skb)) : 0,
	};
	/* After the device went down, no NAPI would send the error. */
	if (reason == OMERTA_DROP_TX_NOMEM || !netif_running(tun->dev) ||
	    skb_queue_len_lockless(&tun->rejects) >= REJECTS_MAX) {
		omerta_drop(ch, skb, reason, PACKETS(skb));
		return;
	}
	skb_dst_force(skb);
	skb_queue_tail(&tun->rejects, skb);
	napi_schedule(&tun->channel[0]->napi);
}

/*
 * Find the route that ICMP needs for a packet that was redirected to the device and has none.
 * If there is no route to its destination, take the one to its source.
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
		/* The error would come from the packet's destination. */
		if (rt->rt_flags & RTCF_LOCAL) {
			ip_rt_put(rt);
			continue;
		}
		skb_dst_set(skb, &rt->dst);
		break;
	}
}

static void send_error(struct sk_buff *skb)
{
	u32 mtu = REJECT_CB(skb)->mtu;

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
 * omerta_reject_send() - drop rejected packets and send their ICMP errors
 * @tun: the device
 *
 * Rejects that the errors cause, and those beyond a limit, are left to the next call.
 *
 * Context: the NAPI of the device's first channel, inside an RCU read-side section.
 * Return: true if packets are left.
 */
bool omerta_reject_send(struct omerta_tunnel *tun)
{
	int n = min(skb_queue_len_lockless(&tun->rejects), ERRORS_MAX);
	struct sk_buff *skb;

	while (n-- && (skb = skb_dequeue(&tun->rejects))) {
		send_error(skb);
		omerta_drop(REJECT_CB(skb)->ch, skb, REJECT_CB(skb)->reason, PACKETS(skb));
	}
	return !skb_queue_empty_lockless(&tun->rejects);
}

/**
 * omerta_reject_purge() - drop rejected packets without ICMP errors
 * @tun: the device
 *
 * Context: process context.
 */
void omerta_reject_purge(struct omerta_tunnel *tun)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&tun->rejects)))
		omerta_drop(REJECT_CB(skb)->ch, skb, REJECT_CB(skb)->reason, PACKETS(skb));
}
