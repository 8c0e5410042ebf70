/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_EVENT_H
#define _OMERTA_EVENT_H

#include <linux/types.h>

struct genl_family;
struct net_device;
struct omerta_endpoint;
struct sk_buff;

/**
 * struct omerta_key_event - a notification about keys
 * @cmd: OMERTA_CMD_KEY_*_NTF
 * @peer_id: the peer
 * @channel: the peer's channel
 * @local_id: the key, 0 if the event is about no key
 * @remote_id: the other end's id of the key
 * @limit: enum omerta_key_limit, negative if no limit is the cause
 */
struct omerta_key_event {
	u8 cmd;
	u32 peer_id;
	u32 channel;
	u32 local_id;
	u32 remote_id;
	int limit;
};

int omerta_put_device(struct sk_buff *msg, const struct net_device *dev);
int omerta_put_endpoint(struct sk_buff *msg, int attr, const struct omerta_endpoint *ep);
struct sk_buff *omerta_event_new(const struct net_device *dev, u8 cmd, size_t size,
				 bool multicast, void **hdr);
void omerta_event_key(struct net_device *dev, const struct omerta_key_event *ev);
void omerta_event_peer(struct net_device *dev, u8 cmd, u32 peer_id,
		       const struct omerta_endpoint *endpoint);
void omerta_event_device(struct net_device *dev, u8 cmd);
void omerta_event_enable(const struct genl_family *family, unsigned int group);
void omerta_event_disable(void);

#endif /* _OMERTA_EVENT_H */
