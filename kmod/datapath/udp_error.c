// SPDX-License-Identifier: GPL-2.0
/*
 * ICMP errors about our datagrams. An error that quotes a recent record sets the MTU of the
 * path.
 */
#include "datapath/udp_error.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/udp.h>

#include "compat/compat.h"
#include "datapath/tunnel.h"
#include "peer/peer.h"
#include "wire/record.h"

/* An error is believed if it arrives within this time. */
#define ERROR_TIME	(10 * HZ)

/*
 * Return the MTU that an error reports, 0 for none. Its ICMP header is directly in front of
 * the quote.
 */
static u32 told_mtu(const struct sock *sk, const struct sk_buff *skb)
{
	if (sk->sk_family == AF_INET) {
		const struct icmphdr *icmp = (void *)(skb->data - sizeof(*icmp));

		if (icmp->type == ICMP_DEST_UNREACH && icmp->code == ICMP_FRAG_NEEDED &&
		    ntohs(icmp->un.frag.mtu) >= IPV4_MIN_MTU)
			return ntohs(icmp->un.frag.mtu);
	} else {
		const struct icmp6hdr *icmp = (void *)(skb->data - sizeof(*icmp));

		if (icmp->icmp6_type == ICMPV6_PKT_TOOBIG)
			return max(ntohl(icmp->icmp6_mtu), (u32)IPV6_MIN_MTU);
	}
	return 0;
}

/* Get the destination of a quoted datagram. */
static void quoted_endpoint(const struct sock *sk, const struct sk_buff *skb,
			    struct omerta_endpoint *to)
{
	memset(to, 0, sizeof(*to));
	to->family = sk->sk_family;
	to->port = udp_hdr(skb)->dest;
	if (to->family == AF_INET) {
		to->addr4 = ip_hdr(skb)->daddr;
	} else {
		to->addr6 = ipv6_hdr(skb)->daddr;
		to->scope = ipv6_iface_scope_id(&to->addr6, skb->skb_iif);
	}
}

static unsigned long expires_after(const struct sock *sk)
{
	struct net *net = sock_net(sk);

	return sk->sk_family == AF_INET ?
		READ_ONCE(net->ipv4.ip_rt_mtu_expires) :
		READ_ONCE(net->ipv6.sysctl.ip6_rt_mtu_expires);
}

/*
 * Note the MTU in an error that quotes a recent record: an off-path attacker knows neither
 * its key id nor its counter.
 */
static void handle_error(struct omerta_tunnel *tun, const struct sock *sk,
			 const struct sk_buff *skb)
{
	int off = skb_transport_offset(skb) + sizeof(struct udphdr);
	u32 mtu = told_mtu(sk, skb);
	struct rhlist_head *list, *pos;
	struct omerta_peer_channel *pc;
	struct omerta_endpoint to;
	struct omerta_way *way;
	struct omerta_hdr hdr;
	unsigned int n, i;

	if (!mtu || skb_copy_bits(skb, off, &hdr, sizeof(hdr)) ||
	    omerta_datagram_type((const u8 *)&hdr, sizeof(hdr)) != OMERTA_DATAGRAM_DATA)
		return;
	quoted_endpoint(sk, skb, &to);
	for (i = 0; i < 2; i++) {
		list = omerta_ways_at(&tun->peers, &to, i);
		n = 0;
		rhl_for_each_entry_rcu(way, pos, list, place_node) {
			if (n++ == OMERTA_PLACE_MAX)
				break;
			pc = container_of(way, struct omerta_peer_channel, way);
			/* A first channel's endpoint is also that of ways from own ports. */
			for (; pc; pc = i ? NULL : omerta_peer_next_channel(pc)) {
				if (time_after_eq(jiffies, READ_ONCE(pc->tx_last) + ERROR_TIME) ||
				    !omerta_keyring_has_sent(&pc->ring, le32_to_cpu(hdr.key_id),
							     le64_to_cpu(hdr.counter)))
					continue;
				omerta_peer_told_mtu(pc, &to, mtu,
						     get_jiffies_64() + expires_after(sk));
				return;
			}
		}
	}
}

/**
 * omerta_udp_error() - handle an ICMP error about a datagram
 * @sk: a device's socket
 * @skb: the error, with the quoted IP and UDP headers as its network and transport
 *	 headers
 *
 * This is the socket's encap_err_lookup.
 *
 * Context: BH off, inside an RCU read-side section.
 * Return: 0; -ENOENT if the quoted datagram did not leave by @sk.
 */
int omerta_udp_error(struct sock *sk, struct sk_buff *skb)
{
	struct omerta_channel *ch = rcu_dereference_sk_user_data(sk);

	if (udp_hdr(skb)->source != inet_sk(sk)->inet_sport)
		return -ENOENT;
	if (ch)
		handle_error(ch->tun, sk, skb);
	return 0;
}
