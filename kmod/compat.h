/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All that knows older kernels; the sources are written for the newest.
 * Functions whose parameters changed are told apart by their type.
 */
#ifndef _OMERTA_COMPAT_H
#define _OMERTA_COMPAT_H

#include <linux/timer.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <net/rtnetlink.h>
#include <net/udp_tunnel.h>

#ifndef timer_container_of
#define timer_container_of from_timer
#endif

#ifndef NL_ASSERT_CTX_FITS
#define NL_ASSERT_CTX_FITS NL_ASSERT_DUMP_CTX_FITS
#endif

/* Before 6.15 newlink had its parameters one by one. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
struct rtnl_newlink_params {
	struct net *src_net;
};

static inline struct net *rtnl_newlink_link_net(struct rtnl_newlink_params *p)
{
	return p->src_net;
}

#define OMERTA_NEWLINK(name, fn)					\
	static int name(struct net *src_net, struct net_device *dev,	\
			struct nlattr *tb[], struct nlattr *data[],	\
			struct netlink_ext_ack *extack)			\
	{								\
		struct rtnl_newlink_params p = { .src_net = src_net };	\
									\
		return fn(dev, &p, extack);				\
	}
#else
#define OMERTA_NEWLINK(name, fn)					\
	static int name(struct net_device *dev,				\
			struct rtnl_newlink_params *p,			\
			struct netlink_ext_ack *extack)			\
	{								\
		return fn(dev, p, extack);				\
	}
#endif

/*
 * udp_tunnel_xmit_skb() and its IPv6 sister got their flags in 6.17;
 * udp_tunnel6_dst_lookup() took the struct socket before 7.2. The type of the
 * function chooses among helpers, which get it as a pointer; a helper of the
 * wrong type is compiled, but not called.
 */
#define OMERTA_XMIT4_ARGS						\
	struct rtable *, struct sock *, struct sk_buff *, __be32, __be32, \
	__u8, __u8, __be16, __be16, __be16, bool, bool
#define OMERTA_XMIT6_ARGS						\
	struct dst_entry *, struct sock *, struct sk_buff *,		\
	struct net_device *, const struct in6_addr *,			\
	const struct in6_addr *, __u8, __u8, __be32, __be16, __be16, bool
#define OMERTA_LOOKUP6_ARGS(socket_type)				\
	struct sk_buff *, struct net_device *, struct net *,		\
	socket_type *, int, struct in6_addr *,				\
	const struct ip_tunnel_key *, __be16, __be16, u8,		\
	struct dst_cache *

typedef void (*omerta_xmit4_old)(OMERTA_XMIT4_ARGS);
typedef void (*omerta_xmit4_new)(OMERTA_XMIT4_ARGS, u16);
typedef void (*omerta_xmit6_old)(OMERTA_XMIT6_ARGS);
typedef void (*omerta_xmit6_new)(OMERTA_XMIT6_ARGS, u16);
typedef struct dst_entry *
(*omerta_lookup6_old)(OMERTA_LOOKUP6_ARGS(struct socket));
typedef struct dst_entry *
(*omerta_lookup6_new)(OMERTA_LOOKUP6_ARGS(struct sock));

static inline void
omerta_call_xmit4_old(void *fn, struct rtable *rt, struct sock *sk,
		      struct sk_buff *skb, __be32 src, __be32 dst, u8 tos,
		      u8 ttl, __be16 df, __be16 sport, __be16 dport, bool xnet,
		      bool nocheck, u16 flags)
{
	((omerta_xmit4_old)fn)(rt, sk, skb, src, dst, tos, ttl, df, sport,
			       dport, xnet, nocheck);
}

static inline void
omerta_call_xmit4_new(void *fn, struct rtable *rt, struct sock *sk,
		      struct sk_buff *skb, __be32 src, __be32 dst, u8 tos,
		      u8 ttl, __be16 df, __be16 sport, __be16 dport, bool xnet,
		      bool nocheck, u16 flags)
{
	((omerta_xmit4_new)fn)(rt, sk, skb, src, dst, tos, ttl, df, sport,
			       dport, xnet, nocheck, flags);
}

static inline void
omerta_call_xmit6_old(void *fn, struct dst_entry *dst, struct sock *sk,
		      struct sk_buff *skb, struct net_device *dev,
		      const struct in6_addr *saddr,
		      const struct in6_addr *daddr, u8 prio, u8 ttl,
		      __be32 label, __be16 sport, __be16 dport, bool nocheck,
		      u16 flags)
{
	((omerta_xmit6_old)fn)(dst, sk, skb, dev, saddr, daddr, prio, ttl,
			       label, sport, dport, nocheck);
}

static inline void
omerta_call_xmit6_new(void *fn, struct dst_entry *dst, struct sock *sk,
		      struct sk_buff *skb, struct net_device *dev,
		      const struct in6_addr *saddr,
		      const struct in6_addr *daddr, u8 prio, u8 ttl,
		      __be32 label, __be16 sport, __be16 dport, bool nocheck,
		      u16 flags)
{
	((omerta_xmit6_new)fn)(dst, sk, skb, dev, saddr, daddr, prio, ttl,
			       label, sport, dport, nocheck, flags);
}

static inline struct dst_entry *
omerta_call_lookup6_old(void *fn, struct sk_buff *skb, struct net_device *dev,
			struct net *net, struct sock *sk, int oif,
			struct in6_addr *saddr,
			const struct ip_tunnel_key *key, __be16 sport,
			__be16 dport, u8 dsfield, struct dst_cache *cache)
{
	return ((omerta_lookup6_old)fn)(skb, dev, net, sk->sk_socket, oif,
					saddr, key, sport, dport, dsfield,
					cache);
}

static inline struct dst_entry *
omerta_call_lookup6_new(void *fn, struct sk_buff *skb, struct net_device *dev,
			struct net *net, struct sock *sk, int oif,
			struct in6_addr *saddr,
			const struct ip_tunnel_key *key, __be16 sport,
			__be16 dport, u8 dsfield, struct dst_cache *cache)
{
	return ((omerta_lookup6_new)fn)(skb, dev, net, sk, oif, saddr, key,
					sport, dport, dsfield, cache);
}

#define udp_tunnel_xmit_skb(...)					\
	_Generic(&(udp_tunnel_xmit_skb),				\
		 omerta_xmit4_new: omerta_call_xmit4_new,		\
		 omerta_xmit4_old: omerta_call_xmit4_old)		\
		(udp_tunnel_xmit_skb, __VA_ARGS__)
#define udp_tunnel6_xmit_skb(...)					\
	_Generic(&(udp_tunnel6_xmit_skb),				\
		 omerta_xmit6_new: omerta_call_xmit6_new,		\
		 omerta_xmit6_old: omerta_call_xmit6_old)		\
		(udp_tunnel6_xmit_skb, __VA_ARGS__)
#define udp_tunnel6_dst_lookup(...)					\
	_Generic(&(udp_tunnel6_dst_lookup),				\
		 omerta_lookup6_new: omerta_call_lookup6_new,		\
		 omerta_lookup6_old: omerta_call_lookup6_old)		\
		(udp_tunnel6_dst_lookup, __VA_ARGS__)

#endif /* _OMERTA_COMPAT_H */
