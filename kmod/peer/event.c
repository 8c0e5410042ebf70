// SPDX-License-Identifier: GPL-2.0
/*
 * Notifications to the multicast group "events".
 *
 * A notification that cannot be delivered is lost. Listeners find the state in a dump.
 */
#include "peer/event.h"

#include <linux/netdevice.h>
#include <net/genetlink.h>

#include <uapi/linux/omerta.h>

#include "peer/endpoint.h"

#define CREATE_TRACE_POINTS
#include "peer/trace.h"

/* The family that messages belong to, and its group; constant while @event_enabled. */
static const struct genl_family *event_family;
static unsigned int event_group;
/* The family is registered. */
static bool event_enabled;

/**
 * omerta_put_device() - add the device that a message is about
 * @msg: the message, of any object: all name the device by the same attributes
 * @dev: the device, which may be renamed meanwhile
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int omerta_put_device(struct sk_buff *msg, const struct net_device *dev)
{
	char name[IFNAMSIZ];

	/* The kernel does not export the lock of device names. */
	do {
		strscpy(name, dev->name, IFNAMSIZ);
		barrier();
	} while (unlikely(strncmp(name, dev->name, IFNAMSIZ)));
	if (nla_put_u32(msg, OMERTA_A_DEVICE_IFINDEX, dev->ifindex) ||
	    nla_put_string(msg, OMERTA_A_DEVICE_IFNAME, name))
		return -EMSGSIZE;
	return 0;
}

/**
 * omerta_put_endpoint() - add an endpoint to a netlink message
 * @msg: the message
 * @attr: attribute of the address
 * @ep: the endpoint; nothing is added if it is unset
 *
 * Return: 0 or -EMSGSIZE.
 */
int omerta_put_endpoint(struct sk_buff *msg, int attr,
			const struct omerta_endpoint *ep)
{
	int err;

	switch (ep->family) {
	case AF_INET:
		err = nla_put_in_addr(msg, attr, ep->addr4);
		break;
	case AF_INET6:
		err = nla_put_in6_addr(msg, attr, &ep->addr6);
		if (!err && ep->scope)
			err = nla_put_u32(msg, OMERTA_ENDPOINT_SCOPE(attr), ep->scope);
		break;
	default:
		return 0;
	}
	return err ?: nla_put_u16(msg, OMERTA_ENDPOINT_PORT(attr), ntohs(ep->port));
}

/**
 * omerta_event_new() - begin a message to user space
 * @dev: the device that it is about
 * @cmd: its command
 * @size: bytes of its attributes
 * @multicast: for listeners, which get an error if it cannot be allocated
 * @hdr: set to its header, for genlmsg_end()
 *
 * Context: any but hard interrupt, inside an RCU read-side section.
 * Return: the message, or NULL if there is no memory, no listener, or the family is not
 * registered.
 */
struct sk_buff *omerta_event_new(const struct net_device *dev, u8 cmd, size_t size,
				 bool multicast, void **hdr)
{
	struct net *net = dev_net(dev);
	struct sk_buff *msg;

	/* Pairs with the release in omerta_event_enable(). */
	if (!smp_load_acquire(&event_enabled) ||
	    (multicast && !genl_has_listeners(event_family, net, event_group)))
		return NULL;
	msg = genlmsg_new(size, GFP_ATOMIC | __GFP_NOWARN);
	if (msg) {
		*hdr = genlmsg_put(msg, 0, 0, event_family, 0, cmd);
		if (*hdr && !omerta_put_device(msg, dev))
			return msg;
		nlmsg_free(msg);
	}
	if (multicast)
		genl_set_err(event_family, net, 0, event_group, -ENOBUFS);
	return NULL;
}

/* Finish and send a notification, or free it on an error. */
static void send_event(const struct net_device *dev, struct sk_buff *msg, void *hdr,
		       int err)
{
	if (err) {
		nlmsg_free(msg);
		return;
	}
	genlmsg_end(msg, hdr);
	genlmsg_multicast_netns(event_family, dev_net(dev), msg, 0, event_group,
				GFP_ATOMIC);
}

/**
 * omerta_event_key() - notify listeners about a key, or about the lack of one
 * @dev: the device
 * @ev: the event
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_key(struct net_device *dev, const struct omerta_key_event *ev)
{
	struct sk_buff *msg;
	void *hdr;
	int err;

	rcu_read_lock();
	msg = omerta_event_new(dev, ev->cmd, GENLMSG_DEFAULT_SIZE, true, &hdr);
	if (msg) {
		err = nla_put_u32(msg, OMERTA_A_KEY_PEER_ID, ev->peer_id);
		if (!err && ev->local_id)
			err = nla_put_u32(msg, OMERTA_A_KEY_LOCAL_ID, ev->local_id) ?:
			      nla_put_u32(msg, OMERTA_A_KEY_REMOTE_ID, ev->remote_id);
		if (!err && ev->channel)
			err = nla_put_u32(msg, OMERTA_A_KEY_CHANNEL, ev->channel);
		if (!err && ev->local_id && ev->limit >= 0)
			err = nla_put_u32(msg, OMERTA_A_KEY_LIMIT, ev->limit);
		send_event(dev, msg, hdr, err);
	}
	rcu_read_unlock();
}

/**
 * omerta_event_peer() - notify listeners about a peer
 * @dev: the device
 * @cmd: OMERTA_CMD_PEER_*_NTF
 * @peer_id: the peer
 * @endpoint: its endpoint, or NULL
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_peer(struct net_device *dev, u8 cmd, u32 peer_id,
		       const struct omerta_endpoint *endpoint)
{
	struct sk_buff *msg;
	void *hdr;
	int err;

	rcu_read_lock();
	msg = omerta_event_new(dev, cmd, GENLMSG_DEFAULT_SIZE, true, &hdr);
	if (msg) {
		err = nla_put_u32(msg, OMERTA_A_PEER_ID, peer_id);
		if (!err && endpoint)
			err = omerta_put_endpoint(msg, OMERTA_A_PEER_ENDPOINT_ADDR,
						  endpoint);
		send_event(dev, msg, hdr, err);
	}
	rcu_read_unlock();
}

/**
 * omerta_event_device() - notify listeners about a device
 * @dev: the device
 * @cmd: OMERTA_CMD_DEVICE_*_NTF
 *
 * Context: any but hard interrupt; does not sleep.
 */
void omerta_event_device(struct net_device *dev, u8 cmd)
{
	struct sk_buff *msg;
	void *hdr;

	rcu_read_lock();
	msg = omerta_event_new(dev, cmd, GENLMSG_DEFAULT_SIZE, true, &hdr);
	if (msg)
		send_event(dev, msg, hdr, 0);
	rcu_read_unlock();
}

/**
 * omerta_event_enable() - send notifications from now on
 * @family: the registered family
 * @group: index of its multicast group
 */
void omerta_event_enable(const struct genl_family *family, unsigned int group)
{
	event_family = family;
	event_group = group;
	/* Pairs with the acquire in omerta_event_new(). */
	smp_store_release(&event_enabled, true);
}

/**
 * omerta_event_disable() - send no notification after the next grace period
 */
void omerta_event_disable(void)
{
	WRITE_ONCE(event_enabled, false);
}
