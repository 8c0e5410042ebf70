/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TX_H
#define _OMERTA_TX_H

#include <linux/netdevice.h>

#include "peer/peer.h"

netdev_features_t omerta_tx_features(struct sk_buff *skb,
				     struct net_device *dev,
				     netdev_features_t features);
netdev_tx_t omerta_tx_xmit(struct sk_buff *skb, struct net_device *dev);
void omerta_tx_help(struct work_struct *work);
void omerta_tx_flush(struct omerta_peer *peer);
void omerta_tx_retry(struct omerta_peer *peer);
bool omerta_tx_keepalive(struct omerta_peer *peer);
void omerta_tx_work(struct work_struct *work);
void omerta_tx_purge(struct omerta_tunnel *tun);

#endif /* _OMERTA_TX_H */
