// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the suites where there is no KUnit. Each case has a context of its own,
 * a thread in the kernel and a jump buffer in user space, that an assertion
 * can leave from any depth.
 */
#include "kunit_compat.h"

#if !defined(CONFIG_KUNIT) && !defined(CONFIG_KUNIT_MODULE)

#ifdef __KERNEL__
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/task.h>
#else
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#endif

/* Seconds after which user space takes the tests for hanging. */
#define TIME_LIMIT	300

/* Further failures of one case are counted, but not printed. */
#define MAX_MESSAGES	10

struct alloc {
	struct list_head list;
	u8 mem[];
};

static struct {
	unsigned int pass, fail, skip;
} totals;

#ifdef __KERNEL__

static u64 now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

void kunit_compat_print(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	pr_info("omerta_ktap: %pV\n", &vaf);
	va_end(args);
}

struct case_thread {
	struct kunit_case *c;
	struct kunit *test;
	struct completion done;
};

void __noreturn kunit_compat_abort(struct kunit *test)
{
	struct case_thread *thread = test->abort;

	kthread_complete_and_exit(&thread->done, 0);
}

static int case_main(void *data)
{
	struct case_thread *thread = data;

	thread->c->run_case(thread->test);
	kunit_compat_abort(thread->test);
}

/* False if the thread died on the way, as it does after a bad access. */
static bool wait_for_case(struct case_thread *thread, struct task_struct *task)
{
	while (!wait_for_completion_timeout(&thread->done, HZ))
		if (READ_ONCE(task->exit_state))
			return try_wait_for_completion(&thread->done);
	return true;
}

static void run_body(struct kunit_case *c, struct kunit *test)
{
	struct case_thread thread = { .c = c, .test = test };
	struct task_struct *task;

	init_completion(&thread.done);
	test->abort = &thread;
	task = kthread_create(case_main, &thread, "omerta_test");
	if (IS_ERR(task)) {
		kunit_compat_print("    # no thread: %ld", PTR_ERR(task));
		test->failures++;
		return;
	}
	get_task_struct(task);
	wake_up_process(task);
	if (!wait_for_case(&thread, task)) {
		kunit_compat_print("    # %s: crashed", test->name);
		test->failures++;
	}
	put_task_struct(task);
}

#else /* user space */

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

void kunit_compat_print(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

void __noreturn kunit_compat_abort(struct kunit *test)
{
	longjmp(*(jmp_buf *)test->abort, 1);
}

static void run_body(struct kunit_case *c, struct kunit *test)
{
	jmp_buf env;

	test->abort = &env;
	if (!setjmp(env))
		c->run_case(test);
}

#endif /* __KERNEL__ */

void kunit_compat_fail(struct kunit *test, bool fatal, const char *file,
		       int line, const char *fmt, ...)
{
	char msg[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	if (test->failures++ < MAX_MESSAGES)
		kunit_compat_print("    # %s: %s at %s:%d: %s", test->name,
				   fatal ? "ASSERTION FAILED" :
					   "EXPECTATION FAILED",
				   file, line, msg);
	if (fatal)
		kunit_compat_abort(test);
}

void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	struct alloc *alloc = kmalloc(sizeof(*alloc) + size, gfp);

	if (!alloc)
		return NULL;
	list_add(&alloc->list, &test->allocs);
	return alloc->mem;
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	void *mem = kunit_kmalloc(test, size, gfp);

	if (mem)
		memset(mem, 0, size);
	return mem;
}

static void report(struct kunit *test, unsigned int number, u64 ms)
{
	if (ms >= 10)
		kunit_compat_print("    # %s: %llu ms", test->name,
				   (unsigned long long)ms);
	if (test->failures)
		totals.fail++;
	else if (test->skipped)
		totals.skip++;
	else
		totals.pass++;
	kunit_compat_print("    %sok %u %s%s", test->failures ? "not " : "",
			   number, test->name,
			   test->skipped && !test->failures ? " # SKIP" : "");
}

static bool run_case(struct kunit_suite *suite, struct kunit_case *c,
		     unsigned int number)
{
	struct kunit test = { .name = c->name };
	struct alloc *alloc, *tmp;
	u64 start = now_ms();

	INIT_LIST_HEAD(&test.allocs);
	if (suite->init && suite->init(&test))
		test.failures++;
	else
		run_body(c, &test);
	if (suite->exit)
		suite->exit(&test);
	list_for_each_entry_safe(alloc, tmp, &test.allocs, list)
		kfree(alloc);
	report(&test, number, now_ms() - start);
	return !test.failures;
}

static bool run_suite(struct kunit_suite *suite, unsigned int number)
{
	unsigned int n = 0, i;
	bool good = true;

	while (suite->test_cases[n].run_case)
		n++;
	kunit_compat_print("    KTAP version 1");
	kunit_compat_print("    # Subtest: %s", suite->name);
	kunit_compat_print("    1..%u", n);
	for (i = 0; i < n; i++)
		good &= run_case(suite, &suite->test_cases[i], i + 1);
	kunit_compat_print("%sok %u %s", good ? "" : "not ", number,
			   suite->name);
	return good;
}

static int run_all(void)
{
	unsigned int n = 0, i;
	bool good = true;

	while (kunit_compat_suites[n])
		n++;
	kunit_compat_print("KTAP version 1");
	kunit_compat_print("1..%u", n);
	for (i = 0; i < n; i++)
		good &= run_suite(kunit_compat_suites[i], i + 1);
	kunit_compat_print("# Totals: pass:%u fail:%u skip:%u total:%u",
			   totals.pass, totals.fail, totals.skip,
			   totals.pass + totals.fail + totals.skip);
	return good ? 0 : -EINVAL;
}

#ifdef __KERNEL__
static int __init omerta_test_init(void)
{
	return run_all();
}

static void __exit omerta_test_exit(void)
{
}

module_init(omerta_test_init);
module_exit(omerta_test_exit);
#else
int main(void)
{
	alarm(TIME_LIMIT);
	return run_all() ? 1 : 0;
}
#endif

#endif /* CONFIG_KUNIT */
