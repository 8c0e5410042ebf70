// SPDX-License-Identifier: GPL-2.0
/*
 * The outer side: sockets, routes, datagrams.
 *
 * Datagrams go through the socket's receive queue instead of an encap_rcv
 * hook: netfilter and socket limits hold as for any UDP socket, and GSO
 * packets are not torn apart once the socket asks for them.
 */
#include "udp.h"

#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "compat.h"
#include "txq.h"

/* Tunnels in tunnels; what is deeper is taken for a circle. */
#define MAX_NESTING	8

struct sockets {
	struct socket *sock[OMERTA_FAMILIES];
};

static void data_ready(struct sock *sk)
{
	struct omerta_tunnel *tun;

	rcu_read_lock();
	tun = rcu_dereference_sk_user_data(sk);
	if (tun)
		napi_schedule(&tun->napi);
	rcu_read_unlock();
}

static void write_space(struct sock *sk)
{
	struct omerta_tunnel *tun;

	rcu_read_lock();
	tun = rcu_dereference_sk_user_data(sk);
	if (tun)
		omerta_txq_room(tun);
	rcu_read_unlock();
}

/* All UDP sockets start with these; neither is exported. */
static void (*core_data_ready)(struct sock *sk);
static void (*core_write_space)(struct sock *sk);

static void sock_attach(struct omerta_tunnel *tun, struct sock *sk)
{
	sk->sk_allocation = GFP_ATOMIC;
	/* Datagrams are charged, but it is the device's queue that stops. */
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	WRITE_ONCE(sk->sk_rcvbuf, OMERTA_SOCKET_BUFFER);
	/* For routes that are changed by ICMP errors; datagrams have their own. */
	WRITE_ONCE(sk->sk_mark, READ_ONCE(tun->fwmark));
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* The queue is drained in softirq, which must not poll. */
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(core_data_ready, sk->sk_data_ready);
	WRITE_ONCE(core_write_space, sk->sk_write_space);
	rcu_assign_sk_user_data(sk, tun);
	WRITE_ONCE(sk->sk_data_ready, data_ready);
	WRITE_ONCE(sk->sk_write_space, write_space);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* The sock lives on while datagrams are charged to it: leave no trace. */
static void sock_detach(struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, core_data_ready);
	WRITE_ONCE(sk->sk_write_space, core_write_space);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void sock_close(struct socket *sock)
{
	if (!sock)
		return;
	kernel_sock_shutdown(sock, SHUT_RDWR);
	sock_release(sock);
}

static void sockets_close(struct sockets *s)
{
	sock_close(s->sock[OMERTA_V4]);
	sock_close(s->sock[OMERTA_V6]);
}

/* One IPv4 and, where there is IPv6, one IPv6 socket of the same port. */
static int sockets_try(struct net *net, __be16 port, struct sockets *s)
{
	struct udp_port_cfg cfg = {
		.family = AF_INET,
		.local_udp_port = port,
		.use_udp_checksums = true,
	};
	int err;

	memset(s, 0, sizeof(*s));
	err = udp_sock_create(net, &cfg, &s->sock[OMERTA_V4]);
	if (err || !ipv6_mod_enabled())
		return err;

	memset(&cfg, 0, sizeof(cfg));
	cfg.family = AF_INET6;
	cfg.local_udp_port = inet_sk(s->sock[OMERTA_V4]->sk)->inet_sport;
	cfg.use_udp6_tx_checksums = true;
	cfg.use_udp6_rx_checksums = true;
	cfg.ipv6_v6only = true;
	err = udp_sock_create(net, &cfg, &s->sock[OMERTA_V6]);
	if (err)
		sock_close(s->sock[OMERTA_V4]);
	return err;
}

/* Have datagrams of one size that came together delivered together. */
static int sock_want_gro(struct socket *sock)
{
	int on = 1;

	if (!sock)
		return 0;
	return sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO,
				     KERNEL_SOCKPTR(&on), sizeof(on));
}

static int sockets_open(struct omerta_tunnel *tun, u16 port, struct sockets *s,
			struct netlink_ext_ack *extack)
{
	int err, tries = 100;

	lockdep_assert_held(&tun->lock);

	if (!tun->birth) {
		NL_SET_ERR_MSG(extack, "the namespace that the device was made in is gone");
		return -ENODEV;
	}
	/* A port that is free for IPv4 may be taken for IPv6. */
	do {
		err = sockets_try(tun->birth, htons(port), s);
	} while (err == -EADDRINUSE && !port && --tries);
	if (err == -EADDRINUSE)
		NL_SET_ERR_MSG(extack, "listen-port is in use; choose another, or 0 for any");
	if (err)
		return err;
	err = sock_want_gro(s->sock[OMERTA_V4]) ?:
	      sock_want_gro(s->sock[OMERTA_V6]);
	if (err)
		sockets_close(s);
	return err;
}

/**
 * omerta_udp_probe() - see whether a port could be had
 * @tun: the device
 * @port: host order, 0 for any
 * @extack: says why not
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno.
 */
int omerta_udp_probe(struct omerta_tunnel *tun, u16 port,
		     struct netlink_ext_ack *extack)
{
	struct sockets s;
	int err;

	err = sockets_open(tun, port, &s, extack);
	if (!err)
		sockets_close(&s);
	return err;
}

/* Put sockets, or none, in the place of those that the device has. */
static void sockets_swap(struct omerta_tunnel *tun, const struct sockets *s)
{
	struct sockets old = {};
	int i;

	ASSERT_RTNL();
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *was = rtnl_dereference(tun->sk[i]);
		struct sock *sk = s && s->sock[i] ? s->sock[i]->sk : NULL;

		if (sk)
			sock_attach(tun, sk);
		rcu_assign_pointer(tun->sk[i], sk);
		if (was) {
			sock_detach(was);
			old.sock[i] = was->sk_socket;
		}
	}
	/* Who still sends or receives through the old ones, does so in RCU. */
	synchronize_net();
	sockets_close(&old);
	if (!s)
		return;
	/*
	 * What fills the old sockets wakes nobody any more, and what came in
	 * before data_ready() was in place has woken nobody.
	 */
	local_bh_disable();
	napi_schedule(&tun->napi);
	local_bh_enable();
}

/**
 * omerta_udp_open() - open sockets, or change to those of another port
 * @tun: the device
 * @port: host order, 0 for any
 * @extack: says why it failed
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno; then the sockets are as before.
 */
int omerta_udp_open(struct omerta_tunnel *tun, u16 port,
		    struct netlink_ext_ack *extack)
{
	struct sockets s;
	int err;

	err = sockets_open(tun, port, &s, extack);
	if (err)
		return err;
	tun->port = ntohs(inet_sk(s.sock[OMERTA_V4]->sk)->inet_sport);
	sockets_swap(tun, &s);
	return 0;
}

/**
 * omerta_udp_close() - close the sockets
 * @tun: the device
 *
 * Context: process context, RTNL held.
 */
void omerta_udp_close(struct omerta_tunnel *tun)
{
	sockets_swap(tun, NULL);
}

/**
 * omerta_udp_set_mark() - tell the sockets of a new fwmark
 * @tun: the device
 *
 * Context: process context, RTNL held.
 */
void omerta_udp_set_mark(struct omerta_tunnel *tun)
{
	int i;

	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rtnl_dereference(tun->sk[i]);

		if (sk)
			sock_set_mark(sk, tun->fwmark);
	}
}

/**
 * omerta_udp_recv() - take the next datagram that came in
 * @tun: the device
 *
 * Context: the device's NAPI, inside an RCU read-side section.
 * Return: the datagram, data at its UDP payload, headers still in place, owned
 * by the caller; or NULL.
 */
struct sk_buff *omerta_udp_recv(struct omerta_tunnel *tun)
{
	int i, off = 0, err;

	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sk_buff *skb;
		struct sock *sk;

		tun->rx_next = (tun->rx_next + 1) % OMERTA_FAMILIES;
		sk = rcu_dereference(tun->sk[tun->rx_next]);
		if (!sk)
			continue;
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		if (!skb)
			continue;
		/* The socket kept something of its own there. */
		skb->dev = tun->dev;
		return skb;
	}
	return NULL;
}

/**
 * omerta_udp_more() - whether more datagrams are likely to have come in
 * @tun: the device
 *
 * Context: as omerta_udp_recv().
 * Return: true if so; without a lock.
 */
bool omerta_udp_more(const struct omerta_tunnel *tun)
{
	int i;

	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rcu_dereference(tun->sk[i]);

		if (sk && (!skb_queue_empty_lockless(&sk->sk_receive_queue) ||
			   !skb_queue_empty_lockless(&udp_sk(sk)->reader_queue)))
			return true;
	}
	return false;
}

/**
 * omerta_udp_source() - where a datagram came from
 * @skb: from omerta_udp_recv()
 * @from: gets it
 */
void omerta_udp_source(const struct sk_buff *skb, struct omerta_endpoint *from)
{
	memset(from, 0, sizeof(*from));
	from->port = udp_hdr(skb)->source;
	if (skb->protocol == htons(ETH_P_IP)) {
		from->family = AF_INET;
		from->addr4 = ip_hdr(skb)->saddr;
		from->src4 = ip_hdr(skb)->daddr;
	} else {
		from->family = AF_INET6;
		from->addr6 = ipv6_hdr(skb)->saddr;
		from->src6 = ipv6_hdr(skb)->daddr;
		from->scope = ipv6_iface_scope_id(&from->addr6, skb->skb_iif);
	}
}

/**
 * omerta_udp_dsfield() - a datagram's DSCP and ECN
 * @skb: from omerta_udp_recv()
 *
 * Return: the outer header's field.
 */
u8 omerta_udp_dsfield(const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return ip_hdr(skb)->tos;
	return ipv6_get_dsfield(ipv6_hdr(skb));
}

static struct dst_entry *route4(struct omerta_peer *peer, struct sk_buff *skb,
				struct net *net, struct omerta_path *path)
{
	struct ip_tunnel_key key = {
		.u.ipv4.dst = path->to.addr4,
		.u.ipv4.src = path->to.src4,
	};
	struct rtable *rt;

	rt = udp_tunnel_dst_lookup(skb, peer->tun->dev, net, 0, &path->to.src4,
				   &key, path->sport, path->to.port, 0,
				   &peer->cache);
	if (rt == ERR_PTR(-ENETUNREACH) && key.u.ipv4.src) {
		/* Our address of old may be gone. */
		key.u.ipv4.src = 0;
		peer->endpoint.src4 = 0;
		rt = udp_tunnel_dst_lookup(skb, peer->tun->dev, net, 0,
					   &path->to.src4, &key, path->sport,
					   path->to.port, 0, &peer->cache);
	}
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

static struct dst_entry *route6(struct omerta_peer *peer, struct sk_buff *skb,
				struct sock *sk, struct omerta_path *path)
{
	struct ip_tunnel_key key = { .u.ipv6.dst = path->to.addr6 };
	struct net *net = sock_net(sk);
	struct dst_entry *dst;

	dst = dst_cache_get_ip6(&peer->cache, &path->to.src6);
	if (dst)
		return dst;
	/* Unlike IPv4's, this look-up takes any source for ours. */
	if (ipv6_chk_addr(net, &path->to.src6, NULL, 0))
		key.u.ipv6.src = path->to.src6;
	else
		peer->endpoint.src6 = in6addr_any;
	return udp_tunnel6_dst_lookup(skb, peer->tun->dev, net, sk,
				      path->to.scope, &path->to.src6, &key,
				      path->sport, path->to.port, 0,
				      &peer->cache);
}

/**
 * omerta_udp_nested() - whether a datagram goes into a device of our kind
 * @tun: the device
 * @path: its way, from omerta_udp_route()
 *
 * Return: true if the tunnel runs in another.
 */
bool omerta_udp_nested(const struct omerta_tunnel *tun,
		       const struct omerta_path *path)
{
	return path->dst->dev->netdev_ops == tun->dev->netdev_ops;
}

/*
 * Whether a route leads into the device itself, be it through other tunnels of
 * its kind. Those are judged by the routes they have: in a circle of tunnels
 * the last to look for its route finds the circle closed.
 */
static bool leads_back(const struct omerta_tunnel *tun,
		       const struct omerta_path *path)
{
	struct dst_entry *dst = dst_clone(path->dst);
	struct omerta_endpoint to = path->to;
	struct omerta_peer *peer;
	bool back;
	int i;

	for (i = 0; i < MAX_NESTING; i++) {
		back = dst->dev == tun->dev;
		if (back || dst->dev->netdev_ops != tun->dev->netdev_ops)
			goto out;
		peer = omerta_peer_by_addr(netdev_priv(dst->dev),
					   to.family == AF_INET6,
					   to.family == AF_INET6 ?
					   (void *)&to.addr6 :
					   (void *)&to.addr4);
		dst_release(dst);
		if (!peer)
			return false;
		spin_lock_bh(&peer->endpoint_lock);
		to = peer->endpoint;
		dst = dst_cache_get(&peer->cache);
		spin_unlock_bh(&peer->endpoint_lock);
		if (!dst)
			return false;
	}
	back = true;
out:
	dst_release(dst);
	return back;
}

/**
 * omerta_udp_route() - find the way of a datagram to a peer
 * @peer: the peer
 * @skb: the datagram; marked and charged to the socket on success
 * @path: gets the way; holds a reference to the route
 *
 * Context: BH off, inside an RCU read-side section.
 * Return: 0; -EDESTADDRREQ without endpoint; -ENETDOWN without socket;
 * -ELOOP if the route leads back into the device; -ENETUNREACH.
 */
int omerta_udp_route(struct omerta_peer *peer, struct sk_buff *skb,
		     struct omerta_path *path)
{
	struct omerta_tunnel *tun = peer->tun;
	struct sock *sk;

	skb->mark = READ_ONCE(tun->fwmark);
	spin_lock_bh(&peer->endpoint_lock);
	path->to = peer->endpoint;
	path->family = path->to.family == AF_INET ? OMERTA_V4 : OMERTA_V6;
	sk = rcu_dereference(tun->sk[path->family]);
	if (path->to.family == AF_UNSPEC) {
		path->dst = ERR_PTR(-EDESTADDRREQ);
	} else if (!sk) {
		path->dst = ERR_PTR(-ENETDOWN);
	} else {
		path->sport = inet_sk(sk)->inet_sport;
		path->dst = path->family == OMERTA_V4 ?
			route4(peer, skb, sock_net(sk), path) :
			route6(peer, skb, sk, path);
	}
	spin_unlock_bh(&peer->endpoint_lock);

	if (IS_ERR(path->dst))
		return PTR_ERR(path->dst);
	/* Somebody wants fragments there, as the kernel's tunnels know too. */
	if (path->df && path->family == OMERTA_V4 && ip_mtu_locked(path->dst))
		path->df = false;
	/* Even a cached route may have come to lead into the device. */
	if (unlikely(omerta_udp_nested(tun, path) && leads_back(tun, path))) {
		dst_release(path->dst);
		return -ELOOP;
	}
	skb_set_owner_w(skb, sk);
	return 0;
}

/**
 * omerta_udp_room() - how much a datagram may carry unfragmented
 * @path: its way, from omerta_udp_route()
 *
 * The kernel learns the path's MTU from the ICMP errors that the sockets get, as
 * for any UDP socket, and forgets it in time.
 *
 * Context: as omerta_udp_route().
 * Return: bytes of UDP payload.
 */
u32 omerta_udp_room(const struct omerta_path *path)
{
	u32 headers = sizeof(struct udphdr) +
		      (path->family == OMERTA_V4 ? sizeof(struct iphdr) :
						   sizeof(struct ipv6hdr));
	u32 mtu = dst_mtu(path->dst);

	return mtu - min(mtu, headers);
}

/* The tunnel helpers leave this to whoever makes such an skb. */
static void set_gso(struct sk_buff *skb, u32 size, unsigned int n)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	info->gso_type = SKB_GSO_UDP_L4;
	info->gso_size = size;
	info->gso_segs = n;
	skb->ip_summed = CHECKSUM_PARTIAL;
	/* The UDP header will be put before the data. */
	skb->csum_start = skb_headroom(skb) - sizeof(struct udphdr);
	skb->csum_offset = offsetof(struct udphdr, check);
}

/* Whether datagrams would not wait for the next hop's address. */
static bool next_hop_known(const struct omerta_path *path)
{
	const void *to = path->family == OMERTA_V4 ?
				(const void *)&path->to.addr4 :
				(const void *)&path->to.addr6;
	struct neighbour *neigh;
	bool known;

	/* Encapsulated, it goes to somebody else first. */
	if (path->dst->lwtstate)
		return true;
	neigh = dst_neigh_lookup(path->dst, to);
	if (IS_ERR_OR_NULL(neigh))
		return true;
	known = READ_ONCE(neigh->nud_state) & NUD_VALID;
	neigh_release(neigh);
	return known;
}

/**
 * omerta_udp_send() - send datagrams
 * @tun: the device
 * @skb: UDP payload with room for headers; consumed
 * @path: its way, from omerta_udp_route(); the reference is consumed
 * @size: bytes of each datagram but the last if @skb stands for several, or 0
 * @n: how many it stands for
 *
 * Context: BH off.
 */
void omerta_udp_send(struct omerta_tunnel *tun, struct sk_buff *skb,
		     struct omerta_path *path, u32 size, unsigned int n)
{
	const struct omerta_endpoint *to = &path->to;
	struct sock *sk;

	rcu_read_lock();
	sk = rcu_dereference(tun->sk[path->family]);
	if (unlikely(!sk)) {
		dst_release(path->dst);
		omerta_drop_many(tun->drops, skb, OMERTA_DROP_TX_DROP_DOWN, n);
		goto out;
	}
	/* We count ourselves. */
	skb->dev = NULL;
	skb->ignore_df = !path->df;
	if (size)
		set_gso(skb, size, n);
	/* For seconds perhaps, and the queue is also that of other peers. */
	if (unlikely(!next_hop_known(path)))
		skb_orphan(skb);
	if (path->family == OMERTA_V4)
		udp_tunnel_xmit_skb(dst_rtable(path->dst), sk, skb, to->src4,
				    to->addr4, path->ecn,
				    ip4_dst_hoplimit(path->dst),
				    path->df ? htons(IP_DF) : 0,
				    path->sport, to->port, false, false, 0);
	else
		udp_tunnel6_xmit_skb(path->dst, sk, skb, NULL, &to->src6,
				     &to->addr6, path->ecn,
				     ip6_dst_hoplimit(path->dst), 0,
				     path->sport, to->port, false, 0);
out:
	rcu_read_unlock();
}
