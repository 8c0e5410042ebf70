/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_REJECT_H
#define _OMERTA_REJECT_H

#include <linux/if_ether.h>
#include <linux/ipv6.h>

#include "datapath/tunnel.h"

/*
 * Length that every path must take, RFC 791 and RFC 8200: senders do not go below it,
 * whatever MTU an ICMP error reports.
 */
#define OMERTA_MIN_MTU(skb) \
	((skb)->protocol == htons(ETH_P_IPV6) ? IPV6_MIN_MTU : 576)

bool omerta_fits_mtu(const struct sk_buff *skb, u32 mtu);
void omerta_reject(struct omerta_tunnel *tun, struct sk_buff *skb,
		   enum omerta_drop reason, u32 mtu);
bool omerta_reject_send(struct omerta_tunnel *tun);
void omerta_reject_purge(struct omerta_tunnel *tun);

#endif /* _OMERTA_REJECT_H */
