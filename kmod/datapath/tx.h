/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TX_H
#define _OMERTA_TX_H

#include <linux/netdevice.h>

#include "datapath/tunnel.h"
#include "peer/peer.h"

struct omerta_job;

netdev_features_t omerta_tx_features(struct sk_buff *skb,
				     struct net_device *dev,
				     netdev_features_t features);
netdev_tx_t omerta_tx_xmit(struct sk_buff *skb, struct net_device *dev);
void omerta_tx_help(struct work_struct *work);
void omerta_tx_purge(struct omerta_channel *ch);

void omerta_tx_flush(struct omerta_peer *peer);
void omerta_tx_retry(struct omerta_peer *peer);
bool omerta_tx_keepalive(struct omerta_peer_channel *pc);
void omerta_tx_ask_again(struct omerta_peer *peer);
void omerta_tx_purge_waiting(struct omerta_peer *peer, enum omerta_drop reason);
void omerta_tx_drain(struct omerta_peer *peer);

void omerta_tx_sealed(struct omerta_job *job);
void omerta_tx_deferred(struct list_head *item);
void omerta_tx_send_later(struct omerta_tx_fifo *fifo);
void omerta_tx_drain_fifos(struct omerta_peer *peer);

#endif /* _OMERTA_TX_H */
