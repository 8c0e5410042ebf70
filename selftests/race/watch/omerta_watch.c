// SPDX-License-Identifier: GPL-2.0
/*
 * Lets KCSAN watch omerta more often than the rest of the kernel. It lies between omerta.ko, in
 * which calls of __tsan_* are renamed to watch_*, and KCSAN: every so many accesses it sets KCSAN's
 * own counter so that this access is watched.
 */
#include <linux/module.h>
#include <linux/percpu.h>
#include <asm/msr.h>

static unsigned long skip;
module_param(skip, ulong, 0400);
MODULE_PARM_DESC(skip, "address of kcsan_skip in /proc/kallsyms");
static unsigned int every = 100;
module_param(every, uint, 0600);
MODULE_PARM_DESC(every, "accesses per watched access, about");

static DEFINE_PER_CPU(unsigned int, count);
static DEFINE_PER_CPU(unsigned long, watched);

static __always_inline void watch(void)
{
	if (!skip || this_cpu_inc_return(count) < every)
		return;
	/* Not always the same ones */
	this_cpu_write(count, (rdtsc() & 0xffff) * every >> 17);
	this_cpu_inc(watched);
	this_cpu_write(*(long __percpu *)skip, 0);
}

static int get_watched(char *buf, const struct kernel_param *kp)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(watched, cpu);
	return sprintf(buf, "%lu\n", sum);
}

static const struct kernel_param_ops watched_ops = { .get = get_watched };
module_param_cb(watched, &watched_ops, NULL, 0400);
MODULE_PARM_DESC(watched, "number of watched accesses");

#define ACCESS(op)				\
void __tsan_##op(void *p);			\
void watch_##op(void *p);			\
void watch_##op(void *p)			\
{						\
	watch();				\
	__tsan_##op(p);				\
}						\
EXPORT_SYMBOL_GPL(watch_##op)

#define SIZES(op) ACCESS(op##1); ACCESS(op##2); ACCESS(op##4); ACCESS(op##8)

SIZES(read);
SIZES(write);
SIZES(volatile_read);
SIZES(volatile_write);
ACCESS(read16);
ACCESS(write16);

#define RANGE(op)				\
void __tsan_##op##_range(void *p, size_t n);	\
void watch_##op##_range(void *p, size_t n);	\
void watch_##op##_range(void *p, size_t n)	\
{						\
	watch();				\
	__tsan_##op##_range(p, n);		\
}						\
EXPORT_SYMBOL_GPL(watch_##op##_range)

RANGE(read);
RANGE(write);

/* Never unloaded: another module may be in one of these functions. */
static int __init watch_init(void)
{
	__module_get(THIS_MODULE);
	return 0;
}
module_init(watch_init);

MODULE_DESCRIPTION("KCSAN watches omerta more often");
MODULE_LICENSE("GPL");
