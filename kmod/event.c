// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications to the multicast group "events".
 */
#include "event.h"

#include <net/genetlink.h>

#include "netlink_gen.h"

static int event_fill(struct sk_buff *msg, struct net_device *dev,
		      const struct omerta_event *ev)
{
	if (nla_put_u32(msg, OMERTA_A_KEY_IFINDEX, dev->ifindex) ||
	    nla_put_string(msg, OMERTA_A_KEY_IFNAME, dev->name) ||
	    nla_put_u32(msg, OMERTA_A_KEY_PEER_ID, ev->peer_id))
		return -EMSGSIZE;
	if (!ev->local_id)
		return 0;
	if (nla_put_u32(msg, OMERTA_A_KEY_LOCAL_ID, ev->local_id) ||
	    nla_put_u32(msg, OMERTA_A_KEY_REMOTE_ID, ev->remote_id))
		return -EMSGSIZE;
	if (ev->limit >= 0 &&
	    nla_put_u32(msg, OMERTA_A_KEY_LIMIT, ev->limit))
		return -EMSGSIZE;
	return 0;
}

/**
 * omerta_event_send() - notify whoever listens in the device's namespace
 * @dev: the device
 * @ev: the event
 *
 * A notification that cannot be delivered is lost: listeners see the state
 * in a dump.
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_send(struct net_device *dev, const struct omerta_event *ev)
{
	struct sk_buff *msg;
	void *hdr;

	if (!genl_has_listeners(&omerta_nl_family, dev_net(dev),
				OMERTA_NLGRP_EVENTS))
		return;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!msg)
		return;
	hdr = genlmsg_put(msg, 0, 0, &omerta_nl_family, 0, ev->cmd);
	if (!hdr || event_fill(msg, dev, ev)) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_multicast_netns(&omerta_nl_family, dev_net(dev), msg, 0,
				OMERTA_NLGRP_EVENTS, GFP_ATOMIC);
}
