/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_EVENT_H
#define _OMERTA_EVENT_H

#include <linux/netdevice.h>
#include <linux/types.h>

struct omerta_endpoint;

/**
 * struct omerta_key_event - what a notification says about keys
 * @cmd: OMERTA_CMD_KEY_*_NTF
 * @peer_id: the peer
 * @local_id: the key, 0 if the event is about none
 * @remote_id: the other end's id of the key
 * @limit: enum omerta_key_limit, negative if no limit is the cause
 */
struct omerta_key_event {
	u8 cmd;
	u32 peer_id;
	u32 local_id;
	u32 remote_id;
	int limit;
};

int omerta_put_device(struct sk_buff *msg, const struct net_device *dev);
void omerta_event_key(struct net_device *dev, const struct omerta_key_event *ev);
void omerta_event_peer(struct net_device *dev, u8 cmd, u32 peer_id,
		       const struct omerta_endpoint *endpoint);
void omerta_event_device(struct net_device *dev, u8 cmd);
void omerta_event_open(void);
void omerta_event_close(void);

#endif /* _OMERTA_EVENT_H */
