// SPDX-License-Identifier: GPL-2.0
/*
 * Measures NAPI polls of the omerta devices that exist when the module is loaded. The
 * parameter "longest" is the longest poll in nanoseconds, and may be reset.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#ifdef CONFIG_UML
#include <asm/unistd.h>
#endif

#define MOST	8

static ulong longest;
module_param(longest, ulong, 0644);
MODULE_PARM_DESC(longest, "nanoseconds of the longest poll yet");

static ulong by_time[16];
module_param_array(by_time, ulong, NULL, 0444);
MODULE_PARM_DESC(by_time, "number of polls, by the power of two of the microseconds that they took");

static ulong polls;
module_param(polls, ulong, 0444);
MODULE_PARM_DESC(polls, "number of polls");

static struct {
	struct napi_struct *napi;
	int (*poll)(struct napi_struct *napi, int budget);
} devices[MOST];

/* On UML the CPU time of the thread that is this CPU: the host may preempt it. */
static u64 now(void)
{
#ifdef CONFIG_UML
	struct { long sec, nsec; } time;
	long ret;

	asm volatile("syscall" : "=a" (ret)
		     : "0" (__NR_clock_gettime), "D" (CLOCK_THREAD_CPUTIME_ID), "S" (&time)
		     : "rcx", "r11", "memory");
	return (u64)time.sec * NSEC_PER_SEC + time.nsec;
#else
	return ktime_get_ns();
#endif
}

static int poll(struct napi_struct *napi, int budget)
{
	ulong took, most = READ_ONCE(longest);
	u64 start;
	int i, n;

	for (i = 0; devices[i].napi != napi; i++)
		;
	start = now();
	n = devices[i].poll(napi, budget);
	took = now() - start;
	while (took > most && !try_cmpxchg(&longest, &most, took))
		;
	WRITE_ONCE(polls, polls + 1);
	by_time[min_t(int, fls64(took / 1000), 15)]++;
	return n;
}

static int __init poll_time_init(void)
{
	struct net_device *dev;
	struct net *net;
	int n = 0;

	rtnl_lock();
	down_read(&net_rwsem);
	for_each_net(net)
		for_each_netdev(net, dev) {
			struct napi_struct *napi;

			if (!dev->rtnl_link_ops || strcmp(dev->rtnl_link_ops->kind, "omerta"))
				continue;
			list_for_each_entry(napi, &dev->napi_list, dev_list) {
				if (n == MOST)
					break;
				devices[n].napi = napi;
				devices[n++].poll = napi->poll;
				smp_wmb(); /* poll() looks it up. */
				WRITE_ONCE(napi->poll, poll);
			}
		}
	up_read(&net_rwsem);
	rtnl_unlock();
	return n ? 0 : -ENODEV;
}

/* The devices are still there. */
static void __exit poll_time_exit(void)
{
	int i;

	for (i = 0; i < MOST && devices[i].napi; i++)
		WRITE_ONCE(devices[i].napi->poll, devices[i].poll);
	synchronize_net();
}

module_init(poll_time_init);
module_exit(poll_time_exit);

MODULE_DESCRIPTION("How long polls of omerta's devices take");
MODULE_LICENSE("GPL");
