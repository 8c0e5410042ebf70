/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only file that knows about older kernels; everything else is written for the newest
 * one. The tests are for macros of the kernel or for OMERTA_HAVE_*, see the file probes.
 * Versions are no test, as features are backported to stable kernels.
 */
#ifndef _OMERTA_COMPAT_H
#define _OMERTA_COMPAT_H

#ifdef OMERTA_HAVE_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
/* Include <asm/simd.h> only here: older x86 kernels' copy has no include guard. */
#include <asm/simd.h>
#ifdef OMERTA_HAVE_CRYPTO_UTILS_H
#include <crypto/utils.h>
#else
#include <crypto/algapi.h>
#endif
#include <linux/slab.h>

#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp)	kzalloc(sizeof(obj), gfp)
#define kvzalloc_obj(obj, gfp)	kvzalloc(sizeof(obj), gfp)
#endif

/* Leaf modules are also built for user space; they must not use anything below this line. */
#ifdef __KERNEL__

#include <linux/version.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "omerta needs Linux 6.1 or later"
#endif

#if defined(CONFIG_ARM64)
#include <asm/cpufeature.h>
#include <asm/neon.h>
#elif defined(CONFIG_X86_64)
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#endif
#include <linux/local_lock.h>
#include <linux/netdevice.h>
#include <linux/sched/isolation.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include <net/ip6_route.h>
#include <net/ip_tunnels.h>
#include <net/route.h>
#include <net/rtnetlink.h>
#include <net/udp_tunnel.h>

#include <uapi/linux/omerta.h>

#ifndef SKB_HEAD_ALIGN
#define SKB_HEAD_ALIGN(x) \
	(SKB_DATA_ALIGN(x) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))
#endif

#ifndef timer_container_of
#define timer_container_of from_timer
#endif

#ifdef OMERTA_HAVE_PAGE_POOL_REF
#include <net/page_pool/helpers.h>
#define OMERTA_HAVE_POOLS	IS_ENABLED(CONFIG_PAGE_POOL)
#define OMERTA_POOL_NETDEV(device)	.netdev = (device)
#else
/* Packets cannot share a page of a pool. */
#ifdef OMERTA_HAVE_PAGE_POOL_HELPERS_H
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif
#define OMERTA_HAVE_POOLS	false
#define OMERTA_POOL_NETDEV(device)	.dev = NULL
static inline void page_pool_ref_page(struct page *page)
{
}
#endif

/* So far only arm64 defines it. Do not leave the block early (return, break, goto). */
#ifndef scoped_ksimd
#if defined(CONFIG_ARM64)
#define omerta_simd_begin()	kernel_neon_begin()
#define omerta_simd_end()	kernel_neon_end()
#elif defined(CONFIG_X86_64)
#define omerta_simd_begin()	kernel_fpu_begin()
#define omerta_simd_end()	kernel_fpu_end()
#else
#define omerta_simd_begin()	((void)0)
#define omerta_simd_end()	((void)0)
#endif
#define scoped_ksimd()							\
	for (bool once = (omerta_simd_begin(), true); once;		\
	     omerta_simd_end(), once = false)
#endif

/* Return true if two CPUs share their last cache, or their package if the kernel knows no more. */
static inline bool omerta_cpus_share_cache(int a, int b)
{
#if defined(topology_llc_cpumask)
	return cpumask_test_cpu(b, topology_llc_cpumask(a));
#elif defined(CONFIG_X86) && !defined(CONFIG_UML) && defined(OMERTA_HAVE_LLC_ID)
	return per_cpu_llc_id(a) == per_cpu_llc_id(b);
#elif defined(CONFIG_X86) && !defined(CONFIG_UML) && defined(OMERTA_HAVE_GET_LLC_ID)
	return get_llc_id(a) == get_llc_id(b);
#else
	return cpumask_test_cpu(b, topology_core_cpumask(a));
#endif
}

/*
 * Return true if the kernel may run unbound work on a CPU: isolcpus, nohz_full and isolated
 * cpusets keep it off. cpu_is_isolated() alone does not cover all of them in every kernel.
 *
 * Context: RCU read lock or preemption off.
 */
static inline bool cpu_takes_unbound_work(int cpu)
{
	return housekeeping_test_cpu(cpu, HK_TYPE_WQ) &&
	       housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN) && !cpu_is_isolated(cpu);
}

/* Without it, BH off is a lock of the CPU with PREEMPT_RT. */
#ifndef local_lock_nested_bh
#define local_lock_nested_bh(lock)	((void)0)
#define local_unlock_nested_bh(lock)	((void)0)
#endif

#ifndef OMERTA_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#ifndef OMERTA_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq	system_unbound_wq
#endif

/* Set both limits, if they are still @old. The kernel does not export its own setters. */
static inline void omerta_set_gso_max_size(struct net_device *dev, unsigned int old,
					   unsigned int size)
{
	if (dev->gso_max_size == old)
		WRITE_ONCE(dev->gso_max_size, size);
#ifdef OMERTA_HAVE_GSO_IPV4_MAX_SIZE
	if (dev->gso_ipv4_max_size == old)
		WRITE_ONCE(dev->gso_ipv4_max_size, size);
#endif
}

/*
 * IPv6 packets longer than 64 KiB have an extension header in some kernels until they are
 * segmented. The stack segments them if the kernel has no helper that removes it.
 */
#ifdef OMERTA_HAVE_JUMBO_REMOVE
#define omerta_has_jumbo(skb)		ipv6_has_hopopt_jumbo(skb)
#define omerta_jumbo_remove(skb)	ipv6_hopopt_jumbo_remove(skb)
#else
#define omerta_has_jumbo(skb)		false
#define omerta_jumbo_remove(skb)	0
#endif

#ifndef OMERTA_HAVE_DROP_TUNNEL_ECN
#define SKB_DROP_REASON_IP_TUNNEL_ECN	SKB_DROP_REASON_NOT_SPECIFIED
#endif

#ifndef OMERTA_HAVE_DST_DEV
static inline struct net_device *dst_dev(const struct dst_entry *dst)
{
	return READ_ONCE(dst->dev);
}
#endif

#ifndef OMERTA_HAVE_SK_DROPS_READ
static inline int sk_drops_read(const struct sock *sk)
{
	return atomic_read(&sk->sk_drops);
}
#endif

#ifndef dst_rtable
#define dst_rtable(entry)	container_of(entry, struct rtable, dst)
#endif

#ifndef ns_ref_read
#define ns_ref_read(namespace)	refcount_read(&(namespace)->ns.count)
#endif

#ifndef dst_rt6_info
#define dst_rt6_info(entry)	container_of(entry, struct rt6_info, dst)
#endif

/* Older kernels have one function that creates and starts the worker, named by the CPU. */
#ifndef OMERTA_HAVE_KTHREAD_RUN_WORKER
#define kthread_run_worker_on_cpu(cpu, flags, namefmt)			\
	kthread_create_worker_on_cpu(cpu, flags, namefmt, cpu)
#endif

/*
 * Devices
 */

#ifdef OMERTA_HAVE_NETDEV_DUMMY
#define free_netdev_dummy	free_netdev
#else
static inline struct net_device *alloc_netdev_dummy(int sizeof_priv)
{
	struct net_device *dev = kzalloc(sizeof(*dev) + sizeof_priv, GFP_KERNEL);

	if (dev)
		init_dummy_netdev(dev);
	return dev;
}

static inline void free_netdev_dummy(struct net_device *dev)
{
	kfree(dev);
}
#endif

#ifndef OMERTA_HAVE_KERNEL_TS_INFO
#define kernel_ethtool_ts_info	ethtool_ts_info
#endif

#ifndef OMERTA_HAVE_ETHTOOL_PUTS
#define ethtool_puts(to, text)	ethtool_sprintf(to, "%s", text)
#endif

/* Older kernels do not show queues. */
#ifndef OMERTA_HAVE_QUEUE_SET_NAPI
#define netif_queue_set_napi(dev, queue, type, napi)	((void)0)
#endif

#ifdef OMERTA_HAVE_NEWLINK_PARAMS
#define OMERTA_NEWLINK(name, fn)					\
	static int name(struct net_device *dev,				\
			struct rtnl_newlink_params *p,			\
			struct netlink_ext_ack *extack)			\
	{								\
		return fn(dev, p, extack);				\
	}
#else
/* Before 6.15 newlink had separate parameters. */
struct rtnl_newlink_params {
	struct net *src_net;
	struct nlattr **data;
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
		struct rtnl_newlink_params p = {			\
			.src_net = src_net,				\
			.data = data,					\
		};							\
									\
		return fn(dev, &p, extack);				\
	}
#endif

#ifndef OMERTA_HAVE_NETDEV_GET_BY_INDEX
static inline struct net_device *
netdev_get_by_index(struct net *net, int ifindex, netdevice_tracker *tracker,
		    gfp_t gfp)
{
	struct net_device *dev = dev_get_by_index(net, ifindex);

	if (dev)
		netdev_tracker_alloc(dev, tracker, gfp);
	return dev;
}

static inline struct net_device *
netdev_get_by_name(struct net *net, const char *name,
		   netdevice_tracker *tracker, gfp_t gfp)
{
	struct net_device *dev = dev_get_by_name(net, name);

	if (dev)
		netdev_tracker_alloc(dev, tracker, gfp);
	return dev;
}
#endif

#ifndef for_each_netdev_dump
/* The device with the smallest index from @ifindex on; under RCU. */
static inline struct net_device *omerta_netdev_from(struct net *net,
						    unsigned long *ifindex)
{
	struct net_device *dev, *found = NULL;

	for_each_netdev_rcu(net, dev)
		if (dev->ifindex >= *ifindex &&
		    (!found || dev->ifindex < found->ifindex))
			found = dev;
	if (found)
		*ifindex = found->ifindex;
	return found;
}

#define for_each_netdev_dump(net, d, ifindex)				\
	for (; ((d) = omerta_netdev_from(net, &(ifindex))); (ifindex)++)
#endif

/*
 * Generic netlink
 */

#ifndef NL_ASSERT_CTX_FITS
#define NL_ASSERT_CTX_FITS(type)					\
	BUILD_BUG_ON(sizeof(type) > sizeof_field(struct netlink_callback, ctx))
#endif

#ifndef OMERTA_HAVE_NLA_CONST_RANGE
#undef NLA_POLICY_FULL_RANGE
#define NLA_POLICY_FULL_RANGE(tp, _range) {				\
	.type = NLA_ENSURE_UINT_OR_BINARY_TYPE(tp),			\
	.validation_type = NLA_VALIDATE_RANGE_PTR,			\
	.range = (struct netlink_range_validation *)(_range),		\
}
#endif

#ifndef OMERTA_HAVE_NLA_UINT
/* Both widths may be sent, but these kernels accept only the 64-bit form. */
#define NLA_UINT	NLA_U64

static inline int nla_put_uint(struct sk_buff *skb, int attr, u64 value)
{
	if (value == (u32)value)
		return nla_put_u32(skb, attr, value);
	return nla_put(skb, attr, sizeof(value), &value);
}

static inline u64 nla_get_uint(const struct nlattr *nla)
{
	return nla_get_u64(nla);
}
#endif

#ifndef OMERTA_HAVE_GENL_INFO_DUMP
static inline struct net *omerta_genl_info_net(const struct genl_info *info)
{
	return read_pnet(&info->_net);
}

#define genl_info_net	omerta_genl_info_net

/* Valid until the end of the block that it is used in. */
#define genl_info_dump(cb)						\
	(&(const struct genl_info) {					\
		.snd_seq = (cb)->nlh->nlmsg_seq,			\
		.snd_portid = NETLINK_CB((cb)->skb).portid,		\
		.genlhdr = nlmsg_data((cb)->nlh),			\
		.attrs = genl_dumpit_info(cb)->attrs,			\
		._net = { .net = sock_net((cb)->skb->sk) },		\
		.extack = (cb)->extack,					\
	})

#define genlmsg_iput(skb, info)						\
	genlmsg_put(skb, (info)->snd_portid, (info)->snd_seq,		\
		    &omerta_nl_family, 0, (info)->genlhdr->cmd)
#endif

/* Before 6.9 a dump continues only if it returns its length. */
static inline int omerta_dumped(const struct sk_buff *skb, int err)
{
	return err == -EMSGSIZE && skb->len ? skb->len : err;
}

#ifndef OMERTA_HAVE_GENL_SPLIT_OPS
/*
 * The generated table has an entry for each of "do" and "dump" of a command, with hooks of
 * its own. These kernels have one entry for both with one policy, hooks of the family only,
 * and expect a dump to return the length of its message.
 */
struct omerta_split_ops {
	u8 cmd;
	u8 flags;
	u8 validate;
	int (*pre_doit)(const struct omerta_split_ops *ops, struct sk_buff *skb,
			struct genl_info *info);
	int (*doit)(struct sk_buff *skb, struct genl_info *info);
	void (*post_doit)(const struct omerta_split_ops *ops, struct sk_buff *skb,
			  struct genl_info *info);
	int (*start)(struct netlink_callback *cb);
	int (*dumpit)(struct sk_buff *skb, struct netlink_callback *cb);
	const struct nla_policy *policy;
	unsigned int maxattr;
};

#define genl_split_ops	omerta_split_ops
/* In the generated family, a pointer to the table above. */
#define split_ops	ops
#define n_split_ops	n_ops
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types"

#define OMERTA_CMDS	(OMERTA_CMD_MAX + 1)

/* Entries of the generated table by command: "do" first, then "dump". */
static inline const struct omerta_split_ops *(*omerta_ops_by_cmd(void))[2]
{
	static const struct omerta_split_ops *by_cmd[OMERTA_CMDS][2];

	return by_cmd;
}

static inline int omerta_pre_doit(const struct genl_ops *ops, struct sk_buff *skb,
				  struct genl_info *info)
{
	const struct omerta_split_ops *op = omerta_ops_by_cmd()[ops->cmd][0];

	return op->pre_doit ? op->pre_doit(op, skb, info) : 0;
}

static inline void omerta_post_doit(const struct genl_ops *ops, struct sk_buff *skb,
				    struct genl_info *info)
{
	const struct omerta_split_ops *op = omerta_ops_by_cmd()[ops->cmd][0];

	if (op->post_doit)
		op->post_doit(op, skb, info);
}

static inline int omerta_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb)
{
	const struct genlmsghdr *hdr = nlmsg_data(cb->nlh);
	int err = omerta_ops_by_cmd()[hdr->cmd][1]->dumpit(skb, cb);

	return err ?: skb->len;
}

static inline int omerta_genl_register(struct genl_family *family)
{
	const struct omerta_split_ops *op = (const void *)family->ops;
	static struct genl_ops merged[OMERTA_CMDS];
	unsigned int i, n = 0;

	for (i = 0; i < family->n_ops; i++, op++) {
		struct genl_ops *to = &merged[n];

		omerta_ops_by_cmd()[op->cmd][!op->doit] = op;
		/* The other entry of the previous command. */
		if (n && merged[n - 1].cmd == op->cmd)
			to--;
		else
			n++;
		to->cmd = op->cmd;
		/* The core finds out which of "do" and "dump" there are. */
		to->flags = op->flags & ~(GENL_CMD_CAP_DO | GENL_CMD_CAP_DUMP);
		to->validate |= op->validate;
		if (op->doit || !to->policy) {
			to->policy = op->policy;
			to->maxattr = op->maxattr;
		}
		if (op->doit) {
			to->doit = op->doit;
		} else {
			to->start = op->start;
			to->dumpit = omerta_dumpit;
		}
	}
	family->ops = merged;
	family->n_ops = n;
	family->pre_doit = omerta_pre_doit;
	family->post_doit = omerta_post_doit;
	return genl_register_family(family);
}

#define genl_register_family	omerta_genl_register
#endif

/*
 * Outer routes and datagrams
 */

#ifdef OMERTA_HAVE_IPV6_STUBS_H
#include <net/ipv6_stubs.h>
#define omerta_ip6_dst_lookup_flow	ipv6_stub->ipv6_dst_lookup_flow
#else
#define omerta_ip6_dst_lookup_flow	ip6_dst_lookup_flow
#endif

/* Before 6.17 these functions had no flags of the control block. */
#ifndef OMERTA_HAVE_UDP_TUNNEL_FLAGS
#define udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport,	\
			    dport, xnet, nocheck, flags)			\
	udp_tunnel_xmit_skb(rt, sk, skb, src, dst, tos, ttl, df, sport,	\
			    dport, xnet, nocheck)
/* Before 6.10 the addresses were not const, but they were not changed either. */
#define udp_tunnel6_xmit_skb(dst, sk, skb, dev, saddr, daddr, prio, ttl,	\
			     label, sport, dport, nocheck, flags)		\
	udp_tunnel6_xmit_skb(dst, sk, skb, dev, (struct in6_addr *)(saddr),	\
			     (struct in6_addr *)(daddr), prio, ttl, label,	\
			     sport, dport, nocheck)
#endif

#endif /* __KERNEL__ */

#endif /* _OMERTA_COMPAT_H */
