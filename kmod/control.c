// SPDX-License-Identifier: GPL-2.0
/*
 * Control datagrams on their way to user space: to the netlink socket that bound
 * itself to the device.
 *
 * Whoever can reach the port can send them, so they are limited before they cost
 * more than a look. The endpoint of a peer has a limit of its own, and may use all
 * of the reader's buffer; all others share one limit and half of the buffer. Which
 * of them a flood hits is bounded by limits on their sources, kept in a table by a
 * secret hash: sources that meet there share one.
 */
#include "control.h"

#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "netlink_gen.h"
#include "peer.h"
#include "stats.h"

/* What may come at once is what a limit allows in this time, and one. */
#define BURST_TIME	(NSEC_PER_SEC / 4)

/**
 * struct omerta_binding - a socket that takes control datagrams
 * @list: member of the module's list; lock: bindings_lock
 * @tun: the device
 * @sk: the socket; stays for a grace period after it has been unbound
 * @portid: its address
 * @rcu: for the deferred free
 */
struct omerta_binding {
	struct list_head list;
	struct omerta_tunnel *tun;
	struct sock *sk;
	u32 portid;
	struct rcu_head rcu;
};

/* Of all devices; also of their &omerta_control.bound. */
static LIST_HEAD(bindings);
static DEFINE_SPINLOCK(bindings_lock);
static bool closed;	/* lock: bindings_lock */

/**
 * omerta_control_is() - whether a datagram is for user space
 * @data: UDP payload
 * @len: its length
 *
 * Return: true if its type is one of those.
 */
bool omerta_control_is(const u8 *data, u32 len)
{
	u8 type;

	if (len <= OMERTA_MAGIC_LEN ||
	    memcmp(data, OMERTA_MAGIC, OMERTA_MAGIC_LEN))
		return false;
	type = data[OMERTA_MAGIC_LEN];
	return type == OMERTA_TYPE_MESH || (type >= OMERTA_TYPE_CONTROL &&
					    type <= OMERTA_TYPE_CONTROL_LAST);
}

/*
 * Whether one more keeps to a limit: the generic cell rate algorithm of ITU-T I.371,
 * annex A. @next is when one would come at the very rate.
 */
static bool conforms(u64 *next, u64 now, u32 rate)
{
	u64 due = max(*next, now);

	if (due - now > BURST_TIME)
		return false;
	*next = due + NSEC_PER_SEC / rate;
	return true;
}

static bool admit(struct omerta_control *c, struct omerta_peer *peer, u32 site)
{
	u64 now = ktime_get_coarse_ns();
	u32 rate = READ_ONCE(c->source_rate);

	if (peer)
		return conforms(&peer->control, now, rate);
	return conforms(&c->site[site % OMERTA_CONTROL_SITES], now, rate) &&
	       conforms(&c->others, now, READ_ONCE(c->rate));
}

/*
 * Whether the reader has room. The socket itself takes a message of any size as long
 * as there is any room: so would a stranger's large datagrams take all.
 */
static bool has_room(const struct sock *sk, const struct omerta_peer *peer,
		     u32 share, u32 truesize)
{
	u32 used = sk_rmem_alloc_get(sk);
	u32 room = READ_ONCE(sk->sk_rcvbuf);

	if (!peer)
		room = room / 16 * share;
	return !used || used + truesize <= room;
}

static int put_local(struct sk_buff *msg, const struct omerta_endpoint *from)
{
	if (from->family == AF_INET)
		return nla_put_in_addr(msg, OMERTA_A_CONTROL_LOCAL_ADDR,
				       from->src4);
	return nla_put_in6_addr(msg, OMERTA_A_CONTROL_LOCAL_ADDR, &from->src6);
}

static struct sk_buff *make_message(const struct omerta_tunnel *tun, int iif,
				    const struct omerta_endpoint *from,
				    const struct omerta_peer *peer,
				    const u8 *data, u32 len)
{
	struct net_device *dev = tun->dev;
	struct sk_buff *msg;
	void *hdr;

	msg = genlmsg_new(256 + nla_total_size(len), GFP_ATOMIC | __GFP_NOWARN);
	if (!msg)
		return NULL;
	hdr = genlmsg_put(msg, 0, 0, &omerta_nl_family, 0,
			  OMERTA_CMD_CONTROL_NTF);
	if (!hdr ||
	    nla_put_u32(msg, OMERTA_A_CONTROL_IFINDEX, dev->ifindex) ||
	    nla_put_string(msg, OMERTA_A_CONTROL_IFNAME, dev->name) ||
	    omerta_endpoint_put(msg, OMERTA_A_CONTROL_ENDPOINT_ADDR, from) ||
	    put_local(msg, from) ||
	    nla_put_u32(msg, OMERTA_A_CONTROL_OUTER_IFINDEX, iif) ||
	    (peer && nla_put_u32(msg, OMERTA_A_CONTROL_PEER_ID, peer->id)) ||
	    nla_put(msg, OMERTA_A_CONTROL_DATA, len, data)) {
		nlmsg_free(msg);
		return NULL;
	}
	genlmsg_end(msg, hdr);
	return msg;
}

/**
 * omerta_control_recv() - pass a control datagram to whoever takes it
 * @tun: the device
 * @iif: interface that it came in by
 * @from: where it came from
 * @data: UDP payload
 * @len: its length
 *
 * Context: the device's NAPI, inside an RCU read-side section.
 * Return: OMERTA_NO_DROP or what it is dropped for.
 */
int omerta_control_recv(struct omerta_tunnel *tun, int iif,
			const struct omerta_endpoint *from, const u8 *data,
			u32 len)
{
	struct omerta_binding *b = rcu_dereference(tun->control.bound);
	struct omerta_peer *peer;
	struct sk_buff *msg;

	/* Its address may be another's before the notifier hears that it is dead. */
	if (!b || !net_eq(sock_net(b->sk), dev_net(tun->dev)) ||
	    sock_flag(b->sk, SOCK_DEAD))
		return OMERTA_DROP_RX_DROP_CONTROL;
	peer = omerta_peer_by_endpoint(tun, from);
	if (!admit(&tun->control, peer,
		   omerta_endpoint_site(from, &tun->hash_key)))
		return OMERTA_DROP_RX_DROP_CONTROL_LIMIT;
	msg = make_message(tun, iif, from, peer, data, len);
	if (!msg)
		return OMERTA_DROP_RX_DROP_NOMEM;
	if (!has_room(b->sk, peer, READ_ONCE(tun->control.share),
		      msg->truesize)) {
		nlmsg_free(msg);
		return OMERTA_DROP_RX_DROP_CONTROL_FULL;
	}
	if (genlmsg_unicast(sock_net(b->sk), msg, b->portid))
		return OMERTA_DROP_RX_DROP_CONTROL_FULL;
	return OMERTA_NO_DROP;
}

static struct omerta_binding *binding_of(struct omerta_tunnel *tun)
{
	return rcu_dereference_protected(tun->control.bound,
					 lockdep_is_held(&bindings_lock));
}

static void drop_binding(struct omerta_binding *b)
{
	lockdep_assert_held(&bindings_lock);

	list_del(&b->list);
	RCU_INIT_POINTER(b->tun->control.bound, NULL);
	kfree_rcu(b, rcu);
}

static int add_binding(struct omerta_tunnel *tun, struct omerta_binding *b,
		       struct netlink_ext_ack *extack)
{
	struct omerta_binding *old = binding_of(tun);

	lockdep_assert_held(&bindings_lock);

	if (closed)
		return -ENODEV;
	if (old && old->sk == b->sk) {
		NL_SET_ERR_MSG(extack, "this socket takes the device's control datagrams already");
		return -EALREADY;
	}
	/* One of a namespace that the device has left gets nothing. */
	if (old && !net_eq(sock_net(old->sk), dev_net(tun->dev))) {
		drop_binding(old);
	} else if (old) {
		NL_SET_ERR_MSG(extack, "another socket takes them: is a key agent running?");
		return -EBUSY;
	}
	list_add(&b->list, &bindings);
	rcu_assign_pointer(tun->control.bound, b);
	return 0;
}

/**
 * omerta_control_bind() - have a socket take the control datagrams of a device
 * @tun: the device
 * @sk: the socket, in use by the request at hand
 * @portid: its address
 * @extack: says why it is refused
 *
 * Context: process context, the device's lock held.
 * Return: 0 or a negative errno.
 */
int omerta_control_bind(struct omerta_tunnel *tun, struct sock *sk, u32 portid,
			struct netlink_ext_ack *extack)
{
	struct omerta_binding *b;
	int err;

	lockdep_assert_held(&tun->lock);

	b = kzalloc_obj(*b, GFP_KERNEL_ACCOUNT);
	if (!b)
		return -ENOMEM;
	b->tun = tun;
	b->sk = sk;
	b->portid = portid;
	spin_lock(&bindings_lock);
	err = add_binding(tun, b, extack);
	spin_unlock(&bindings_lock);
	if (err)
		kfree(b);
	return err;
}

/**
 * omerta_control_bound() - whether a socket takes the control datagrams of a device
 * @tun: the device
 * @sk: the socket, NULL for any
 *
 * Return: true if so.
 */
bool omerta_control_bound(const struct omerta_tunnel *tun, const struct sock *sk)
{
	const struct omerta_binding *b;
	bool bound;

	rcu_read_lock();
	b = rcu_dereference(tun->control.bound);
	bound = b && (!sk || b->sk == sk);
	rcu_read_unlock();
	return bound;
}

/**
 * omerta_control_unbind() - end what omerta_control_bind() began
 * @tun: the device
 * @sk: the socket
 * @extack: says why it is refused
 *
 * Context: process context.
 * Return: 0 or -ENOTCONN.
 */
int omerta_control_unbind(struct omerta_tunnel *tun, const struct sock *sk,
			  struct netlink_ext_ack *extack)
{
	struct omerta_binding *b;
	int err = -ENOTCONN;

	spin_lock(&bindings_lock);
	b = binding_of(tun);
	if (b && b->sk == sk) {
		drop_binding(b);
		err = 0;
	}
	spin_unlock(&bindings_lock);
	if (err)
		NL_SET_ERR_MSG(extack, "this socket does not take the device's control datagrams");
	return err;
}

/**
 * omerta_control_cut() - let nobody take the control datagrams of a device
 * @tun: the device
 *
 * Context: process context.
 */
void omerta_control_cut(struct omerta_tunnel *tun)
{
	struct omerta_binding *b;

	spin_lock(&bindings_lock);
	b = binding_of(tun);
	if (b)
		drop_binding(b);
	spin_unlock(&bindings_lock);
}

/*
 * A socket is closed; it is freed after a grace period only. Another may have its
 * address by now.
 */
static int netlink_notify(struct notifier_block *nb, unsigned long event,
			  void *data)
{
	const struct netlink_notify *n = data;
	struct omerta_binding *b, *tmp;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC)
		return NOTIFY_DONE;
	spin_lock(&bindings_lock);
	list_for_each_entry_safe(b, tmp, &bindings, list)
		if (b->portid == n->portid &&
		    net_eq(sock_net(b->sk), n->net) &&
		    sock_flag(b->sk, SOCK_DEAD))
			drop_binding(b);
	spin_unlock(&bindings_lock);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = netlink_notify };

/**
 * omerta_control_close() - bind no more sockets, and let go of those that are
 *
 * Nothing is delivered after the next grace period.
 */
void omerta_control_close(void)
{
	struct omerta_binding *b, *tmp;

	spin_lock(&bindings_lock);
	closed = true;
	list_for_each_entry_safe(b, tmp, &bindings, list)
		drop_binding(b);
	spin_unlock(&bindings_lock);
}

/**
 * omerta_control_init() - make bindings possible
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_control_init(void)
{
	return netlink_register_notifier(&notifier);
}

/**
 * omerta_control_exit() - end what omerta_control_init() began; no device is left
 */
void omerta_control_exit(void)
{
	netlink_unregister_notifier(&notifier);
}
