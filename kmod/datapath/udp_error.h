/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_UDP_ERROR_H
#define _OMERTA_UDP_ERROR_H

struct sk_buff;
struct sock;

int omerta_udp_error(struct sock *sk, struct sk_buff *skb);

#endif /* _OMERTA_UDP_ERROR_H */
