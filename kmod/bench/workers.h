/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_WORKERS_H
#define _OMERTA_WORKERS_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/padata.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "payload.h"

struct workers;

/**
 * struct worker - one of several workers that run at the same time
 * @all: all workers
 * @index: its number, from 0
 * @cpu: the CPU it runs on, unless the strategy chooses another
 * @own: its payload, if each worker has one
 * @pace: its progress towards the limit of all
 * @begun: ktime_get_ns() at which it last began
 * @ns: time that it worked, over all rounds
 * @chunks: chunks that succeeded, over all rounds
 * @work: its work item, for workqueues
 * @kwork: its work item for @kthread
 * @kthread: its thread
 * @padata: its job, for padata
 * @csd: the call to @cpu that schedules @napi
 * @napi: its NAPI instance
 */
struct worker {
	struct workers *all;
	unsigned int index;
	unsigned int cpu;
	struct payload own;
	struct pace pace;
	u64 begun;
	u64 ns;
	u64 chunks;
	struct work_struct work;
	struct kthread_work kwork;
	struct kthread_worker *kthread;
	struct padata_priv padata;
	call_single_data_t csd;
	struct napi_struct napi;
};

/**
 * struct strategy - a way to dispatch workers
 * @prepare: called once, before the others; returns 0 or a negative errno, and @release
 *	     is called in either case
 * @start: dispatch a worker, which calls worker_work() and worker_done(); returns 0, or
 *	   a negative errno, and then neither is called
 * @release: called once, when all workers are idle
 * @sleeps: workers may sleep
 */
struct strategy {
	int (*prepare)(struct workers *w);
	int (*start)(struct worker *worker);
	void (*release)(struct workers *w);
	bool sleeps;
};

/**
 * struct workers - workers, and the work they share
 * @schedule: distribution of the chunks over the workers
 * @strategy: their dispatch
 * @n: number of workers
 * @rounds: rounds of each worker, if each has a payload of its own
 * @shared: the payload of all, otherwise
 * @first: first chunk of @shared that is for the workers
 * @next: first chunk that no worker has claimed
 * @left: number of workers still at work
 * @done: completed by the last of them
 * @limit: their deadline
 * @err: error of a worker that did not start, or 0
 * @wq: the workqueue of strategies that use one
 * @pinst: padata's instance
 * @shell: padata's shell
 * @dev: the device that NAPI needs
 * @worker: the workers
 */
struct workers {
	enum omerta_bench_schedule schedule;
	const struct strategy *strategy;
	unsigned int n;
	u32 rounds;
	struct payload *shared;
	u32 first;
	atomic_t next;
	atomic_t left;
	struct completion done;
	struct limit *limit;
	int err;
	struct workqueue_struct *wq;
	struct padata_instance *pinst;
	struct padata_shell *shell;
	struct net_device *dev;
	struct worker worker[];
};

/* Return the online CPU after @cpu, or the first one after the last. */
static inline unsigned int cpu_after(unsigned int cpu)
{
	cpu = cpumask_next(cpu, cpu_online_mask);
	return cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
}

const struct strategy *strategy_find(enum omerta_bench_strategy number);

void worker_work(struct worker *worker);
void worker_done(struct worker *worker);

struct workers *workers_new(const struct strategy *strategy, unsigned int n,
			    unsigned int cpu, struct limit *limit);
void workers_free(struct workers *w);
void workers_begin(struct workers *w);
int workers_run(struct workers *w, u64 *wall);
u64 workers_chunks(const struct workers *w);

#endif /* _OMERTA_WORKERS_H */
