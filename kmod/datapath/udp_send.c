// SPDX-License-Identifier: GPL-2.0
/*
 * The outer side: routes, and what goes out.
 */
#include <linux/udp.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/neighbour.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "compat/compat.h"
#include "datapath/udp.h"

/* Tunnels in tunnels; what is deeper is taken for a circle. */
#define MAX_NESTING	8

/*
 * A route is another way than the peer's datagrams take. The next router may filter sources
 * that are not of this way. Datagrams of a VRF come in by the VRF's device.
 */
static bool leads_elsewhere(const struct dst_entry *dst, const struct omerta_path *path)
{
	const struct net_device *dev = dst_dev(dst);

	return path->to.src_if && path->to.src_if != dev->ifindex &&
	       path->to.src_if != l3mdev_master_ifindex_rcu(dev);
}

/*
 * Not udp_tunnel_dst_lookup(), which refuses a route into the device itself: another peer may
 * be there.
 */
static struct dst_entry *lookup4(struct net *net, u32 mark, struct omerta_path *path,
				 __be32 src)
{
	struct flowi4 fl4 = {
		.flowi4_mark = mark,
		.flowi4_proto = IPPROTO_UDP,
		.daddr = path->to.addr4,
		.saddr = src,
		.fl4_sport = path->sport,
		.fl4_dport = path->to.port,
	};
	struct rtable *rt = ip_route_output_key(net, &fl4);

	if (IS_ERR(rt))
		return ERR_PTR(-ENETUNREACH);
	path->to.src4 = fl4.saddr;
	return &rt->dst;
}

static struct dst_entry *route4(struct sock *sk, u32 mark, struct omerta_path *path,
				struct dst_cache *cache)
{
	struct net *net = sock_net(sk);
	__be32 src = path->to.src4;
	struct dst_entry *dst;
	struct rtable *rt;

	rt = dst_cache_get_ip4(cache, &path->to.src4);
	if (rt)
		return &rt->dst;
	dst = lookup4(net, mark, path, src);
	/* Our address of old may be gone. */
	if (src && (IS_ERR(dst) || leads_elsewhere(dst, path))) {
		if (!IS_ERR(dst))
			dst_release(dst);
		dst = lookup4(net, mark, path, 0);
	}
	if (!IS_ERR(dst))
		dst_cache_set_ip4(cache, dst, path->to.src4);
	return dst;
}

/* As lookup4(). */
static struct dst_entry *lookup6(struct sock *sk, u32 mark, struct omerta_path *path,
				 const struct in6_addr *src)
{
	struct flowi6 fl6 = {
		.flowi6_oif = path->to.scope,
		.flowi6_mark = mark,
		.flowi6_proto = IPPROTO_UDP,
		.daddr = path->to.addr6,
		.saddr = *src,
		.fl6_sport = path->sport,
		.fl6_dport = path->to.port,
	};
	struct dst_entry *dst = omerta_ip6_dst_lookup_flow(sock_net(sk), sk, &fl6, NULL);

	if (IS_ERR(dst))
		return ERR_PTR(-ENETUNREACH);
	path->to.src6 = fl6.saddr;
	return dst;
}

static struct dst_entry *route6(struct sock *sk, u32 mark, struct omerta_path *path,
				struct dst_cache *cache)
{
	struct in6_addr src = in6addr_any;
	struct dst_entry *dst;

	dst = dst_cache_get_ip6(cache, &path->to.src6);
	if (dst)
		return dst;
	/* Unlike IPv4's, this look-up takes any source for ours. */
	if (ipv6_chk_addr(sock_net(sk), &path->to.src6, NULL, 0))
		src = path->to.src6;
	dst = lookup6(sk, mark, path, &src);
	if (!ipv6_addr_any(&src) && !IS_ERR(dst) && leads_elsewhere(dst, path)) {
		dst_release(dst);
		dst = lookup6(sk, mark, path, &in6addr_any);
	}
	if (!IS_ERR(dst))
		dst_cache_set_ip6(cache, dst, &path->to.src6);
	return dst;
}

/*
 * Find the way to @path->to, where a source is replaced that is not ours any more,
 * or not of that way.
 * Returns the socket to send it from.
 */
static struct sock *find_way(struct omerta_tunnel *tun, struct sk_buff *skb,
			     struct omerta_path *path, struct dst_cache *cache)
{
	struct sock *sk;

	if (path->to.family == AF_UNSPEC)
		return ERR_PTR(-EDESTADDRREQ);
	path->family = path->to.family == AF_INET ? OMERTA_V4 : OMERTA_V6;
	sk = rcu_dereference(tun->sk[path->family]);
	if (!sk)
		return ERR_PTR(-ENETDOWN);
	path->sport = inet_sk(sk)->inet_sport;
	skb->mark = READ_ONCE(tun->fwmark);
	path->dst = path->family == OMERTA_V4 ?
		route4(sk, skb->mark, path, cache) :
		route6(sk, skb->mark, path, cache);
	return IS_ERR(path->dst) ? ERR_CAST(path->dst) : sk;
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
	return dst_dev(path->dst)->netdev_ops == tun->dev->netdev_ops;
}

/*
 * Return true if a datagram would come back to be sent to the same place again, be it
 * through other peers, or other tunnels of the kind, or if nobody takes it. Those are judged
 * by the routes they have: in a circle the last to look for its route finds the circle
 * closed.
 */
static bool leads_back(const struct omerta_tunnel *tun,
		       const struct omerta_path *path)
{
	struct dst_entry *dst = dst_clone(path->dst);
	struct omerta_endpoint to = path->to;
	struct omerta_peer *peer;
	struct net_device *dev;
	bool back = false, own;
	int i;

	for (i = 0; i < MAX_NESTING; i++) {
		/* A route that ends leads to another device from one moment to the next. */
		dev = dst_dev(dst);
		own = dev == tun->dev;
		if (dev->netdev_ops != tun->dev->netdev_ops)
			goto out;
		peer = omerta_peer_by_addr(netdev_priv(dev),
					   to.family == AF_INET6,
					   to.family == AF_INET6 ?
					   (void *)&to.addr6 :
					   (void *)&to.addr4);
		dst_release(dst);
		if (!peer)
			return own;
		spin_lock_bh(&peer->endpoint_lock);
		to = peer->endpoint;
		dst = dst_cache_get(&peer->cache);
		spin_unlock_bh(&peer->endpoint_lock);
		back = own && omerta_endpoint_remote_equal(&to, &path->to);
		if (back || !dst)
			goto out;
	}
	back = true;
out:
	dst_release(dst);
	return back;
}

/* Take a way that was found, if it does not come back. */
static int take_way(struct omerta_tunnel *tun, struct sk_buff *skb,
		    struct sock *sk, struct omerta_path *path)
{
	/* The administrator wants fragments there. An ICMP error may lock a route, too. */
	if (path->df && path->family == OMERTA_V4 &&
	    dst_metric_locked(path->dst, RTAX_MTU))
		path->df = false;
	/* Even a cached route may have come to lead into the device. */
	if (unlikely(omerta_udp_nested(tun, path) && leads_back(tun, path))) {
		dst_release(path->dst);
		return -ELOOP;
	}
	skb_set_owner_w(skb, sk);
	return 0;
}

/*
 * As the kernel does, keep to no less than net.ipv4.route.min_pmtu: routers that take less
 * are to cut what they get.
 */
static void floor_told_mtu(const struct sock *sk, struct omerta_path *path)
{
	u32 least;

	path->cut = false;
	if (likely(!path->told_mtu) || path->family != OMERTA_V4)
		return;
	least = READ_ONCE(sock_net(sk)->ipv4.ip_rt_min_pmtu);
	if (path->told_mtu >= least)
		return;
	path->told_mtu = least;
	path->cut = true;
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
	struct sock *sk;

	spin_lock_bh(&peer->endpoint_lock);
	if (unlikely(peer->told_mtu) && time_after_eq(jiffies, peer->told_until))
		peer->told_mtu = 0;
	path->told_mtu = peer->told_mtu;
	path->to = peer->endpoint;
	sk = find_way(peer->tun, skb, path, &peer->cache);
	spin_unlock_bh(&peer->endpoint_lock);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	floor_told_mtu(sk, path);
	/* IPv6's routers cut nothing. */
	path->learned = path->told_mtu || READ_ONCE(peer->tun->df) != OMERTA_DF_UNSET;
	return take_way(peer->tun, skb, sk, path);
}

/*
 * The MTU of a path. Anybody may have forged the ICMP errors that the route has learned
 * from, so they lower it to what IPv6 wants of each link and no further. The MTU of
 * IPsec's routes is not learned alone.
 */
static u32 path_mtu(const struct omerta_path *path)
{
	const struct dst_entry *dst = path->dst;
	u32 mtu = dst_mtu(dst), own;

	if (unlikely(mtu < IPV6_MIN_MTU) && !dst_xfrm(dst)) {
		own = dst_metric_raw(dst, RTAX_MTU) ?: READ_ONCE(dst_dev(dst)->mtu);
		own -= lwtunnel_headroom(dst->lwtstate, own);
		mtu = max(mtu, min_t(u32, own, IPV6_MIN_MTU));
	}
	return unlikely(path->told_mtu) ? min(mtu, path->told_mtu) : mtu;
}

static u32 headers_of(const struct omerta_path *path)
{
	return sizeof(struct udphdr) +
	       (path->family == OMERTA_V4 ? sizeof(struct iphdr) :
					    sizeof(struct ipv6hdr));
}

/**
 * omerta_udp_room() - how much a datagram may carry unfragmented
 * @path: its way, from omerta_udp_route()
 *
 * The path's MTU is the route's, which the kernel learns from ICMP errors and forgets
 * in time, and that of errors that quote our records, see udp_error.c.
 *
 * Context: as omerta_udp_route().
 * Return: bytes of UDP payload.
 */
u32 omerta_udp_room(const struct omerta_path *path)
{
	u32 mtu = path_mtu(path);

	return mtu - min(mtu, headers_of(path));
}

/* Copy what routes of both families have. */
static void copy_route(struct dst_entry *to, const struct dst_entry *from)
{
	to->input = READ_ONCE(from->input);
	to->output = READ_ONCE(from->output);
	to->lwtstate = lwtstate_get(from->lwtstate);
#ifdef CONFIG_IP_ROUTE_CLASSID
	to->tclassid = from->tclassid;
#endif
}

/* Copy a route without the MTU that it has learned; seldom, so out of the way. */
static noinline struct dst_entry *unlearn4(const struct dst_entry *dst)
{
	const struct rtable *rt = dst_rtable(dst);
	struct rtable *copy;

	copy = rt_dst_alloc(dst_dev(dst), rt->rt_flags, rt->rt_type,
			    dst->flags & DST_NOXFRM);
	if (!copy)
		return NULL;
	copy->rt_iif = rt->rt_iif;
	copy->rt_uses_gateway = rt->rt_uses_gateway;
	copy->rt_gw_family = rt->rt_gw_family;
	copy->rt_gw6 = rt->rt_gw6;
	/* IPv4's routes never change their metrics. */
	ip_dst_init_metrics(&copy->dst, (struct dst_metrics *)DST_METRICS_PTR(dst));
	copy_route(&copy->dst, dst);
	return &copy->dst;
}

/* As unlearn4(). */
static noinline struct dst_entry *unlearn6(const struct dst_entry *dst)
{
	const struct rt6_info *rt = dst_rt6_info(dst);
	struct fib6_info *from = rcu_dereference(rt->from);
	struct net_device *dev = dst_dev(dst);
	struct rt6_info *copy;

	if (!from || !fib6_info_hold_safe(from))
		return NULL;
	/* Counted, many at once would be taken for routes that nobody gives back. */
	copy = ip6_dst_alloc(dev_net(dev), dev,
			     DST_NOCOUNT | (dst->flags & DST_NOXFRM));
	if (!copy) {
		fib6_info_release(from);
		return NULL;
	}
	rcu_assign_pointer(copy->from, from);
	ip_dst_init_metrics(&copy->dst, from->fib6_metrics);
	copy->rt6i_dst = rt->rt6i_dst;
	copy->rt6i_src = rt->rt6i_src;
	copy->rt6i_gateway = rt->rt6i_gateway;
	copy->rt6i_flags = rt->rt6i_flags & ~(RTF_CACHE | RTF_EXPIRES | RTF_MODIFIED);
	copy->rt6i_idev = rt->rt6i_idev;
	if (copy->rt6i_idev)
		in6_dev_hold(copy->rt6i_idev);
	copy_route(&copy->dst, dst);
	return &copy->dst;
}

/*
 * Take a copy of a route that has learned from ICMP errors if, for that, the kernel would
 * cut datagrams of @len bytes, or clear their DF, unless it should. The copy is on none of
 * the lists by which the kernel finds a device's routes, so it lives no longer than the
 * datagrams. Without memory for it they go by the route itself.
 *
 * Context: inside an RCU read-side section.
 */
static void unlearn(struct omerta_path *path, u32 len)
{
	struct dst_entry *dst = path->dst, *copy;
	bool locked = false;

	if (path->family == OMERTA_V4) {
		if (likely(!dst_rtable(dst)->rt_pmtu && !dst_rtable(dst)->rt_mtu_locked))
			return;
		locked = dst_rtable(dst)->rt_mtu_locked;
	} else if (likely(!(dst_rt6_info(dst)->rt6i_flags & RTF_CACHE)) || path->learned) {
		return;
	}
	if (dst_xfrm(dst) || (!locked && len + headers_of(path) <= dst_mtu(dst)))
		return;
	copy = path->family == OMERTA_V4 ? unlearn4(dst) : unlearn6(dst);
	if (!copy)
		return;
	dst_release(dst);
	path->dst = copy;
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
 * omerta_udp_drop() - drop datagrams in place of omerta_udp_send()
 * @tun: the device
 * @skb: UDP payload; consumed
 * @path: its way, from omerta_udp_route(); the reference is consumed
 * @n: how many datagrams it stands for
 *
 * Context: any but hard interrupt.
 */
void omerta_udp_drop(struct omerta_tunnel *tun, struct sk_buff *skb,
		     struct omerta_path *path, unsigned int n)
{
	dst_release(path->dst);
	omerta_drop_many(tun->drops, skb, OMERTA_DROP_TX_DROP_DOWN, n);
}

/**
 * omerta_udp_send() - send datagrams
 * @tun: the device
 * @skb: UDP payload with %OMERTA_UDP_HEADROOM; consumed
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
		omerta_udp_drop(tun, skb, path, n);
		goto out;
	}
	unlearn(path, size ?: skb->len);
	/* We count ourselves. */
	skb->dev = NULL;
	skb->ignore_df = !path->df;
	if (size)
		set_gso(skb, size, n);
	/*
	 * For seconds perhaps, and the queue is also that of other peers; or in a queue that
	 * may be our own, which would wait for it.
	 */
	if (unlikely(omerta_udp_nested(tun, path) || !next_hop_known(path)))
		skb_orphan(skb);
	if (path->family == OMERTA_V4)
		udp_tunnel_xmit_skb(dst_rtable(path->dst), sk, skb, to->src4,
				    to->addr4, path->ecn,
				    ip4_dst_hoplimit(path->dst),
				    path->df && !path->cut ? htons(IP_DF) : 0,
				    path->sport, to->port, false, false, 0);
	else
		udp_tunnel6_xmit_skb(path->dst, sk, skb, NULL, &to->src6,
				     &to->addr6, path->ecn,
				     ip6_dst_hoplimit(path->dst), 0,
				     path->sport, to->port, false, 0);
out:
	rcu_read_unlock();
}

/* Whether IPv6 would fragment a datagram for what its route learned from errors. */
static bool would_be_cut(const struct omerta_path *path, u32 len)
{
	return path->family == OMERTA_V6 &&
	       dst_rt6_info(path->dst)->rt6i_flags & RTF_CACHE &&
	       len + headers_of(path) > dst_mtu(path->dst);
}

/* Send a copy of a datagram in fragments. */
static void send_cut(struct omerta_tunnel *tun, const struct sk_buff *skb,
		     struct omerta_path path)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return;
	dst_hold(path.dst);
	path.learned = true;
	omerta_udp_send(tun, copy, &path, 0, 1);
}

/**
 * omerta_udp_send_to() - send a datagram to anywhere
 * @tun: the device
 * @skb: UDP payload with %OMERTA_UDP_HEADROOM; consumed
 * @to: where to, from where if that matters
 *
 * Over IPv6 nobody knows whether an ICMP error about the path was true, so a datagram that
 * is longer than that goes whole and, once more, in fragments.
 *
 * Context: BH off.
 * Return: as omerta_udp_route().
 */
int omerta_udp_send_to(struct omerta_tunnel *tun, struct sk_buff *skb,
		       const struct omerta_endpoint *to)
{
	struct omerta_path path = { .to = *to };
	struct dst_cache none = {};
	struct sock *sk;
	int err;

	rcu_read_lock();
	sk = find_way(tun, skb, &path, &none);
	err = IS_ERR(sk) ? PTR_ERR(sk) : take_way(tun, skb, sk, &path);
	if (err) {
		kfree_skb(skb);
		goto out;
	}
	/* Data does not wait for what strangers cause. */
	skb_orphan(skb);
	if (would_be_cut(&path, skb->len))
		send_cut(tun, skb, path);
	omerta_udp_send(tun, skb, &path, 0, 1);
out:
	rcu_read_unlock();
	return err;
}
