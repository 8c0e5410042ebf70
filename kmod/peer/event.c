// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications to the multicast group "events".
 *
 * One that cannot be delivered is lost: listeners see the state in a dump.
 */
#include "peer/event.h"

#include <net/genetlink.h>

#include "peer/endpoint.h"
#include "netlink/gen.h"

/* Whether the family is registered. */
static bool is_open;

/**
 * struct event - a notification in the making
 * @dev: the device that it is about
 * @msg: the message, NULL if nobody wants it
 * @hdr: its header
 */
struct event {
	struct net_device *dev;
	struct sk_buff *msg;
	void *hdr;
};

/**
 * omerta_put_device() - put the device that a message is about into it
 * @msg: the message, of any object: all name it by the same attributes
 * @dev: the device, which may be renamed meanwhile
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int omerta_put_device(struct sk_buff *msg, const struct net_device *dev)
{
	char name[IFNAMSIZ];

	/* The kernel's lock of names is not for modules. */
	do {
		strscpy(name, dev->name, IFNAMSIZ);
		barrier();
	} while (unlikely(strncmp(name, dev->name, IFNAMSIZ)));
	if (nla_put_u32(msg, OMERTA_A_DEVICE_IFINDEX, dev->ifindex) ||
	    nla_put_string(msg, OMERTA_A_DEVICE_IFNAME, name))
		return -EMSGSIZE;
	return 0;
}

static void begin(struct event *ev, struct net_device *dev, u8 cmd)
{
	ev->dev = dev;
	ev->msg = NULL;
	if (!READ_ONCE(is_open) ||
	    !genl_has_listeners(&omerta_nl_family, dev_net(dev),
				OMERTA_NLGRP_EVENTS))
		return;
	ev->msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!ev->msg) {
		/* Listeners learn that they missed something. */
		genl_set_err(&omerta_nl_family, dev_net(dev), 0, OMERTA_NLGRP_EVENTS,
			     -ENOBUFS);
		return;
	}
	ev->hdr = genlmsg_put(ev->msg, 0, 0, &omerta_nl_family, 0, cmd);
	if (ev->hdr && !omerta_put_device(ev->msg, dev))
		return;
	nlmsg_free(ev->msg);
	ev->msg = NULL;
}

/* Send it, unless something did not fit, or there is nothing. */
static void end(struct event *ev, int err)
{
	if (!ev->msg)
		return;
	if (err) {
		nlmsg_free(ev->msg);
		return;
	}
	genlmsg_end(ev->msg, ev->hdr);
	genlmsg_multicast_netns(&omerta_nl_family, dev_net(ev->dev), ev->msg, 0,
				OMERTA_NLGRP_EVENTS, GFP_ATOMIC);
}

static int put_key(struct sk_buff *msg, const struct omerta_key_event *ev)
{
	if (nla_put_u32(msg, OMERTA_A_KEY_PEER_ID, ev->peer_id))
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
 * omerta_event_key() - tell of a key, or of the want of one
 * @dev: the device
 * @ev: what there is to tell
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_key(struct net_device *dev, const struct omerta_key_event *ev)
{
	struct event event;

	rcu_read_lock();
	begin(&event, dev, ev->cmd);
	end(&event, event.msg ? put_key(event.msg, ev) : 0);
	rcu_read_unlock();
}

static int put_peer(struct sk_buff *msg, u32 peer_id,
		    const struct omerta_endpoint *endpoint)
{
	int err = nla_put_u32(msg, OMERTA_A_PEER_ID, peer_id);

	if (!err && endpoint)
		err = omerta_endpoint_put(msg, OMERTA_A_PEER_ENDPOINT_ADDR,
					  endpoint);
	return err;
}

/**
 * omerta_event_peer() - tell of a peer
 * @dev: the device
 * @cmd: OMERTA_CMD_PEER_*_NTF
 * @peer_id: the peer
 * @endpoint: where it is, or NULL
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_peer(struct net_device *dev, u8 cmd, u32 peer_id,
		       const struct omerta_endpoint *endpoint)
{
	struct event event;

	rcu_read_lock();
	begin(&event, dev, cmd);
	end(&event, event.msg ? put_peer(event.msg, peer_id, endpoint) : 0);
	rcu_read_unlock();
}

/**
 * omerta_event_device() - tell of a device
 * @dev: the device
 * @cmd: OMERTA_CMD_DEVICE_*_NTF
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_device(struct net_device *dev, u8 cmd)
{
	struct event event;

	rcu_read_lock();
	begin(&event, dev, cmd);
	end(&event, 0);
	rcu_read_unlock();
}

/**
 * omerta_event_open() - begin to tell; the family is registered
 */
void omerta_event_open(void)
{
	WRITE_ONCE(is_open, true);
}

/**
 * omerta_event_close() - tell nothing after the next grace period
 */
void omerta_event_close(void)
{
	WRITE_ONCE(is_open, false);
}
