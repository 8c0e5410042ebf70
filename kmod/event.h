/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_EVENT_H
#define _OMERTA_EVENT_H

#include <linux/netdevice.h>
#include <linux/types.h>

/**
 * struct omerta_event - what a notification says
 * @cmd: OMERTA_CMD_KEY_*_NTF
 * @peer_id: the peer
 * @local_id: the key, 0 if the event is about none
 * @remote_id: the other end's id of the key
 * @limit: enum omerta_key_limit, negative if no limit is the cause
 */
struct omerta_event {
	u8 cmd;
	u32 peer_id;
	u32 local_id;
	u32 remote_id;
	int limit;
};

void omerta_event_send(struct net_device *dev, const struct omerta_event *ev);

#endif /* _OMERTA_EVENT_H */
