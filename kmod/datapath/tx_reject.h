/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TX_REJECT_H
#define _OMERTA_TX_REJECT_H

#include "peer/peer.h"

bool omerta_tx_fits(const struct sk_buff *skb, u32 mtu);
u32 omerta_tx_least(const struct sk_buff *skb);
enum omerta_drop omerta_tx_drop_reason(int err);
void omerta_tx_reject(struct omerta_tunnel *tun, struct sk_buff *skb,
		      enum omerta_drop reason);
void omerta_tx_too_big(struct omerta_tunnel *tun, struct sk_buff *skb, u32 mtu);
bool omerta_tx_tell(struct omerta_tunnel *tun);
void omerta_tx_tell_nobody(struct omerta_tunnel *tun);

#endif /* _OMERTA_TX_REJECT_H */
