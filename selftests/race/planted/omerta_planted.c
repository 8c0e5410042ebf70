// SPDX-License-Identifier: GPL-2.0
/* Two deliberate data races, which KCSAN must report: plain accesses, and a missing release. */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

static unsigned long plain, copy, message, ready;
static struct task_struct *task[4];

static noinline void planted_write(void)
{
	plain++;
}

static noinline void planted_read(void)
{
	WRITE_ONCE(copy, plain);
}

static noinline void planted_send(void)
{
	if (READ_ONCE(ready))
		return;
	message++;
	WRITE_ONCE(ready, 1); /* no release */
	/* KCSAN delays the write to @message until here. */
	READ_ONCE(copy);
}

static noinline void planted_receive(void)
{
	if (!smp_load_acquire(&ready))
		return;
	message++;
	smp_store_release(&ready, 0);
}

static int repeat(void *step)
{
	while (!kthread_should_stop()) {
		((void (*)(void))step)();
		cond_resched();
	}
	return 0;
}

static void stop_tasks(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(task); i++)
		if (!IS_ERR_OR_NULL(task[i]))
			kthread_stop(task[i]);
}

static int __init planted_init(void)
{
	void (*const step[])(void) = {
		planted_write, planted_read, planted_send, planted_receive,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(task); i++) {
		task[i] = kthread_run(repeat, step[i], "planted/%d", i);
		if (IS_ERR(task[i])) {
			stop_tasks();
			return PTR_ERR(task[i]);
		}
	}
	return 0;
}
module_init(planted_init);

static void __exit planted_exit(void)
{
	stop_tasks();
}
module_exit(planted_exit);

MODULE_DESCRIPTION("Deliberate data races");
MODULE_LICENSE("GPL");
