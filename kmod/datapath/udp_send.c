// SPDX-License-Identifier: GPL-2.0
/*
 * The outer side: routes, and sending of datagrams.
 */
#include "datapath/udp.h"

#include <linux/udp.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/neighbour.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "compat/compat.h"
#include "datapath/trace.h"

/* Deepest nesting of tunnels. Anything deeper is treated as a loop. */
#define MAX_NESTING	8

/*
 * Find the IPv4 route, with our address that the peer knows if that is possible: not if it
 * is not ours any more, nor if the route leaves by another device than the peer's datagrams
 * arrive on, since the next router may filter the address. Datagrams of a VRF arrive on the
 * VRF's device. With @cached_only, return NULL unless the cache has it.
 *
 * udp_tunnel_dst_lookup() is no option: it refuses a route into the device itself, but
 * another peer may be there.
 */
static struct dst_entry *route4(struct sock *sk, u32 mark, struct omerta_path *path,
				struct dst_cache *cache, bool cached_only)
{
	__be32 src = path->to.src4;
	int in = path->to.src_if;
	struct net_device *dev;
	struct flowi4 fl4;
	struct rtable *rt;

	rt = dst_cache_get_ip4(cache, &path->to.src4);
	if (rt)
		return &rt->dst;
	while (!cached_only) {
		fl4 = (struct flowi4) {
			.flowi4_mark = mark,
			.flowi4_proto = IPPROTO_UDP,
			.daddr = path->to.addr4,
			.saddr = src,
			.fl4_sport = path->sport,
			.fl4_dport = path->to.port,
		};
		rt = ip_route_output_key(sock_net(sk), &fl4);
		if (!src)
			break;
		if (!IS_ERR(rt)) {
			dev = dst_dev(&rt->dst);
			if (!in || in == dev->ifindex || in == l3mdev_master_ifindex_rcu(dev))
				break;
			ip_rt_put(rt);
		}
		src = 0;
	}
	if (IS_ERR_OR_NULL(rt))
		return NULL;
	path->to.src4 = fl4.saddr;
	dst_cache_set_ip4(cache, &rt->dst, path->to.src4);
	return &rt->dst;
}

/* As route4(). */
static struct dst_entry *route6(struct sock *sk, u32 mark, struct omerta_path *path,
				struct dst_cache *cache, bool cached_only)
{
	struct in6_addr src = in6addr_any;
	int in = path->to.src_if;
	struct net_device *dev;
	struct dst_entry *dst;
	struct flowi6 fl6;

	dst = dst_cache_get_ip6(cache, &path->to.src6);
	if (dst)
		return dst;
	/* Unlike the lookup of IPv4, this one accepts any source address. */
	if (ipv6_chk_addr(sock_net(sk), &path->to.src6, NULL, 0))
		src = path->to.src6;
	while (!cached_only) {
		fl6 = (struct flowi6) {
			.flowi6_oif = path->to.scope,
			.flowi6_mark = mark,
			.flowi6_proto = IPPROTO_UDP,
			.daddr = path->to.addr6,
			.saddr = src,
			.fl6_sport = path->sport,
			.fl6_dport = path->to.port,
		};
		dst = omerta_ip6_dst_lookup_flow(sock_net(sk), sk, &fl6, NULL);
		if (IS_ERR(dst) || ipv6_addr_any(&src))
			break;
		dev = dst_dev(dst);
		if (!in || in == dev->ifindex || in == l3mdev_master_ifindex_rcu(dev))
			break;
		dst_release(dst);
		src = in6addr_any;
	}
	if (IS_ERR_OR_NULL(dst))
		return NULL;
	path->to.src6 = fl6.saddr;
	dst_cache_set_ip6(cache, dst, &path->to.src6);
	return dst;
}

/*
 * Return true if a datagram would come back to be sent to the same place again, through
 * other peers or other tunnels of this driver, or if no peer takes it. The check follows
 * the routes that the peers have cached for their first channels, so no other channel may lead
 * into a tunnel. In a loop, the last peer to look up its route finds the loop closed.
 */
static bool leads_back(const struct omerta_tunnel *tun, const struct omerta_peer_channel *pc,
		       const struct omerta_path *path)
{
	struct omerta_endpoint to = path->to;
	struct omerta_tunnel *inner;
	struct omerta_peer *peer;
	struct net_device *dev;
	bool back = false, own;
	struct dst_entry *dst;
	int i;

	if (pc && pc->index)
		return true;
	dst = dst_clone(path->dst);
	for (i = 0; i < MAX_NESTING; i++) {
		/* The device of a route that expires changes at any moment. */
		dev = dst_dev(dst);
		own = dev == tun->dev;
		if (dev->netdev_ops != tun->dev->netdev_ops)
			goto out;
		inner = netdev_priv(dev);
		peer = omerta_peer_by_addr(&inner->peers,
					   to.family == AF_INET6,
					   to.family == AF_INET6 ?
					   (void *)&to.addr6 :
					   (void *)&to.addr4);
		dst_release(dst);
		if (!peer)
			return own;
		/* The device may be going down, and its peers' caches emptied. */
		read_seqlock_excl(&peer->first.way.lock);
		to = peer->first.way.endpoint;
		dst = dst_cache_get(&peer->first.way.cache);
		read_sequnlock_excl(&peer->first.way.lock);
		/* Other ports, such as those of a peer's channels, have the same route. */
		to.port = path->to.port;
		back = own && omerta_endpoint_remote_equal(&to, &path->to);
		if (back || !dst)
			goto out;
	}
	back = true;
out:
	dst_release(dst);
	return back;
}

/**
 * omerta_udp_route() - find the path of a datagram
 * @ch: the channel
 * @pc: the channel of a peer to send it to; NULL for @path->to
 * @skb: the datagram; marked, and charged to the socket on success
 * @path: set to the path; holds a reference to the route
 *
 * Context: BH off, inside an RCU read-side section.
 * Return: OMERTA_DROP_NONE, or why there is no path: the peer has no endpoint, the device
 * no socket, there is no route, or it leads back into the device.
 */
enum omerta_drop omerta_udp_route(struct omerta_channel *ch, struct omerta_peer_channel *pc,
				  struct sk_buff *skb, struct omerta_path *path)
{
	struct dst_cache none = {}, *cache = pc ? &pc->way.cache : &none;
	struct omerta_tunnel *tun = ch->tun;
	bool v4, own = false, again = false;
	unsigned int seq = 0;
	struct sock *sk;
	u64 until = 0;
	u32 min;

	do {
		if (pc) {
			do {
				seq = read_seqbegin(&pc->way.lock);
				path->to = pc->way.endpoint;
				path->told_mtu = pc->way.told_mtu;
				until = pc->way.told_until;
				own = pc->way.own_port;
			} while (read_seqretry(&pc->way.lock, seq));
		}
		if (unlikely(path->told_mtu) && time_after_eq64(get_jiffies_64(), until))
			path->told_mtu = 0;
		if (path->to.family == AF_UNSPEC)
			return OMERTA_DROP_TX_NO_ENDPOINT;
		v4 = path->to.family == AF_INET;
		path->family = v4 ? OMERTA_V4 : OMERTA_V6;
		sk = rcu_dereference(ch->sk[path->family]);
		path->sport = own ? READ_ONCE(tun->channel[pc->index]->own_port) : 0;
		if (!sk || (own && !path->sport))
			return OMERTA_DROP_TX_DOWN;
		path->sport = path->sport ?: inet_sk(sk)->inet_sport;
		skb->mark = READ_ONCE(tun->fwmark);
		path->dst = v4 ? route4(sk, skb->mark, path, cache, pc) :
				 route6(sk, skb->mark, path, cache, pc);
		if (likely(path->dst) || !pc) {
			/* With PREEMPT_RT a task may have filled the cache since. */
			again = pc && read_seqretry(&pc->way.lock, seq);
			if (unlikely(again))
				dst_release(path->dst);
			continue;
		}
		/* Under the lock, no route enters a cache after another endpoint has emptied it. */
		read_seqlock_excl(&pc->way.lock);
		again = read_seqretry(&pc->way.lock, seq);
		if (!again)
			path->dst = v4 ? route4(sk, skb->mark, path, cache, false) :
					 route6(sk, skb->mark, path, cache, false);
		read_sequnlock_excl(&pc->way.lock);
	} while (unlikely(again));
	if (!path->dst)
		return OMERTA_DROP_TX_NO_ROUTE;

	path->hdr_len = sizeof(struct udphdr) + (v4 ? sizeof(struct iphdr) :
						      sizeof(struct ipv6hdr));
	/*
	 * As the kernel does, go no lower than net.ipv4.route.min_pmtu. Routers that take
	 * less have to fragment. IPv6's routers never fragment.
	 */
	path->fragile = false;
	min = v4 ? READ_ONCE(sock_net(sk)->ipv4.ip_rt_min_pmtu) : 0;
	if (unlikely(path->told_mtu) && path->told_mtu < min) {
		path->told_mtu = min;
		path->fragile = true;
	}
	path->learned = pc && (path->told_mtu || READ_ONCE(tun->df) != OMERTA_DF_UNSET);
	/*
	 * The route's MTU is locked: the administrator wants fragments there, as the
	 * kernel's tunnels know too. An ICMP error may also lock a route.
	 */
	if (path->df && v4 && dst_metric_locked(path->dst, RTAX_MTU))
		path->df = false;
	path->nested = dst_dev(path->dst)->netdev_ops == tun->dev->netdev_ops;
	/* Even a cached route may lead into the device by now. */
	if (unlikely(path->nested && leads_back(tun, pc, path))) {
		dst_release(path->dst);
		return OMERTA_DROP_TX_LOOP;
	}
	skb_set_owner_w(skb, sk);
	return OMERTA_DROP_NONE;
}

/**
 * omerta_udp_max_payload() - longest datagram that needs no fragments
 * @path: its path, from omerta_udp_route()
 *
 * The MTU of the path is the route's, which the kernel learns from ICMP errors and forgets
 * in time, and that of errors that quote our records, see udp_error.c. Anyone may have
 * forged the former, so they lower the MTU no further than to IPv6's minimum. The MTU of an
 * IPsec route consists of more than learned values.
 *
 * Context: as omerta_udp_route().
 * Return: bytes of UDP payload.
 */
u32 omerta_udp_max_payload(const struct omerta_path *path)
{
	const struct dst_entry *dst = path->dst;
	u32 mtu = dst_mtu(dst), own;

	if (unlikely(mtu < IPV6_MIN_MTU) && !dst_xfrm(dst)) {
		own = dst_metric_raw(dst, RTAX_MTU) ?: READ_ONCE(dst_dev(dst)->mtu);
		own -= lwtunnel_headroom(dst->lwtstate, own);
		mtu = max(mtu, min_t(u32, own, IPV6_MIN_MTU));
	}
	if (unlikely(path->told_mtu))
		mtu = min(mtu, path->told_mtu);
	return mtu - min(mtu, path->hdr_len);
}

/* Copy a route without the MTU that it has learned. Rare, so not inline. */
static noinline struct dst_entry *copy_unlearned(const struct dst_entry *dst, bool v4)
{
	struct net_device *dev = dst_dev(dst);
	const struct rt6_info *rt6;
	struct fib6_info *from;
	struct rt6_info *copy6;

	if (v4) {
		const struct rtable *rt = dst_rtable(dst);
		struct rtable *copy = rt_dst_alloc(dev, rt->rt_flags, rt->rt_type,
						   dst->flags & DST_NOXFRM);

		if (!copy)
			return NULL;
		copy->rt_iif = rt->rt_iif;
		copy->rt_uses_gateway = rt->rt_uses_gateway;
		copy->rt_gw_family = rt->rt_gw_family;
		copy->rt_gw6 = rt->rt_gw6;
		/* IPv4's routes never change their metrics. */
		ip_dst_init_metrics(&copy->dst, (struct dst_metrics *)DST_METRICS_PTR(dst));
		return &copy->dst;
	}
	rt6 = dst_rt6_info(dst);
	from = rcu_dereference(rt6->from);
	if (!from || !fib6_info_hold_safe(from))
		return NULL;
	/* Not counted: the kernel takes many counted routes for a leak. */
	copy6 = ip6_dst_alloc(dev_net(dev), dev, DST_NOCOUNT | (dst->flags & DST_NOXFRM));
	if (!copy6) {
		fib6_info_release(from);
		return NULL;
	}
	rcu_assign_pointer(copy6->from, from);
	ip_dst_init_metrics(&copy6->dst, from->fib6_metrics);
	copy6->rt6i_dst = rt6->rt6i_dst;
	copy6->rt6i_src = rt6->rt6i_src;
	copy6->rt6i_gateway = rt6->rt6i_gateway;
	copy6->rt6i_flags = rt6->rt6i_flags & ~(RTF_CACHE | RTF_EXPIRES | RTF_MODIFIED);
	copy6->rt6i_idev = rt6->rt6i_idev;
	if (copy6->rt6i_idev)
		in6_dev_hold(copy6->rt6i_idev);
	return &copy6->dst;
}

/*
 * Copy a route that has learned from ICMP errors if the kernel would fragment datagrams of
 * @len bytes for that, or clear their DF, and should not. The copy is on none of the lists
 * by which the kernel finds the routes of a device, so it lives no longer than the
 * datagrams. Without memory for it the route itself is used.
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
	if (dst_xfrm(dst) || (!locked && len + path->hdr_len <= dst_mtu(dst)))
		return;
	copy = copy_unlearned(dst, path->family == OMERTA_V4);
	if (!copy)
		return;
	copy->input = READ_ONCE(dst->input);
	copy->output = READ_ONCE(dst->output);
	copy->lwtstate = lwtstate_get(dst->lwtstate);
#ifdef CONFIG_IP_ROUTE_CLASSID
	copy->tclassid = dst->tclassid;
#endif
	dst_release(dst);
	path->dst = copy;
}

/**
 * omerta_udp_send() - send datagrams
 * @ch: the channel
 * @skb: UDP payload with %OMERTA_UDP_HEADROOM; consumed
 * @path: its path, from omerta_udp_route(); the reference to the route is put
 * @size: bytes of each datagram but the last if @skb holds several, or 0
 * @n: number of datagrams
 *
 * Context: BH off.
 */
void omerta_udp_send(struct omerta_channel *ch, struct sk_buff *skb,
		     struct omerta_path *path, u32 size, unsigned int n)
{
	const struct omerta_endpoint *to = &path->to;
	bool v4 = path->family == OMERTA_V4, orphan;
	struct neighbour *neigh;
	struct sock *sk;

	rcu_read_lock();
	sk = rcu_dereference(ch->sk[path->family]);
	if (unlikely(!sk)) {
		dst_release(path->dst);
		omerta_drop(ch, skb, OMERTA_DROP_TX_DOWN, n);
		goto out;
	}
	unlearn(path, size ?: skb->len);
	/* Keep udp_tunnel_xmit_skb() from counting for skb->dev; we count ourselves. */
	skb->dev = NULL;
	skb->ignore_df = !path->df;
	if (size) {
		/* The tunnel helpers leave this to the caller. */
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = size;
		skb_shinfo(skb)->gso_segs = n;
		skb->ip_summed = CHECKSUM_PARTIAL;
		/* The UDP header will be put in front of the data. */
		skb->csum_start = skb_headroom(skb) - sizeof(struct udphdr);
		skb->csum_offset = offsetof(struct udphdr, check);
	}
	/*
	 * Neighbour resolution can take seconds, and the queue is shared with the other
	 * peers: it must not wait. Neither must it wait for another device of this driver,
	 * which may wait for us. The next hop of an encapsulating route is not a neighbour.
	 */
	orphan = path->nested;
	if (!orphan && !path->dst->lwtstate) {
		neigh = dst_neigh_lookup(path->dst, v4 ? (const void *)&to->addr4 :
							 (const void *)&to->addr6);
		if (!IS_ERR_OR_NULL(neigh)) {
			orphan = !(READ_ONCE(neigh->nud_state) & NUD_VALID);
			neigh_release(neigh);
		}
	}
	if (unlikely(orphan))
		skb_orphan(skb);
	if (v4)
		udp_tunnel_xmit_skb(dst_rtable(path->dst), sk, skb, to->src4,
				    to->addr4, path->ecn,
				    ip4_dst_hoplimit(path->dst),
				    path->df && !path->fragile ? htons(IP_DF) : 0,
				    path->sport, to->port, false, false, 0);
	else
		udp_tunnel6_xmit_skb(path->dst, sk, skb, NULL, &to->src6,
				     &to->addr6, path->ecn,
				     ip6_dst_hoplimit(path->dst), 0,
				     path->sport, to->port, false, 0);
out:
	rcu_read_unlock();
}

/**
 * omerta_udp_send_to() - send a datagram to any address
 * @tun: the device
 * @skb: UDP payload with %OMERTA_UDP_HEADROOM; consumed
 * @to: its destination, and its source address if that matters
 *
 * Over IPv6 it is unknown whether an ICMP error about the path was authentic. So a datagram
 * that is longer than such an error says is sent whole, and once more in fragments.
 *
 * Context: BH off.
 * Return: 0; -EDESTADDRREQ without a destination; -ENETDOWN without a socket; -ELOOP if the
 * route leads back into the device; -ENETUNREACH.
 */
int omerta_udp_send_to(struct omerta_tunnel *tun, struct sk_buff *skb,
		       const struct omerta_endpoint *to)
{
	struct omerta_path path = { .to = *to }, cut;
	struct omerta_channel *ch = tun->channel[0];
	struct sk_buff *copy;
	int err = 0;

	rcu_read_lock();
	switch (omerta_udp_route(ch, NULL, skb, &path)) {
	case OMERTA_DROP_NONE:
		break;
	case OMERTA_DROP_TX_NO_ENDPOINT:
		err = -EDESTADDRREQ;
		break;
	case OMERTA_DROP_TX_DOWN:
		err = -ENETDOWN;
		break;
	case OMERTA_DROP_TX_LOOP:
		err = -ELOOP;
		break;
	default:
		err = -ENETUNREACH;
	}
	if (err) {
		kfree_skb(skb);
		goto out;
	}
	/* Data must not wait for datagrams that strangers cause. */
	skb_orphan(skb);
	if (path.family == OMERTA_V6 && dst_rt6_info(path.dst)->rt6i_flags & RTF_CACHE &&
	    skb->len + path.hdr_len > dst_mtu(path.dst)) {
		copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (copy) {
			dst_hold(path.dst);
			cut = path;
			cut.learned = true;
			omerta_udp_send(ch, copy, &cut, 0, 1);
		}
	}
	trace_omerta_control_tx(tun, skb->data, skb->len, to);
	omerta_udp_send(ch, skb, &path, 0, 1);
out:
	rcu_read_unlock();
	return err;
}
