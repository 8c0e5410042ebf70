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
 * struct worker - one of several who work at the same time
 * @all: he and the others
 * @index: his number
 * @cpu: where he works, as far as the strategy says so
 * @own: his payload, if each has one
 * @pace: how he keeps to the limit of all
 * @begun: when he began
 * @ns: how long he worked
 * @chunks: that he was well done with
 * @work: of a workqueue
 * @kwork: of @kthread
 * @kthread: the thread
 * @padata: for padata
 * @csd: an interrupt
 * @napi: that is scheduled by it
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
 * struct strategy - how workers get to work
 * @prepare: once, before all others; returns 0 or a negative errno, then @release is
 *	     called nevertheless
 * @start: let a worker work, by calling worker_work() and worker_done(); returns 0, or
 *	   a negative errno if that cannot be now, and neither is called
 * @release: when nobody works any more
 * @sleeps: whether workers may be scheduled away
 */
struct strategy {
	int (*prepare)(struct workers *w);
	int (*start)(struct worker *worker);
	void (*release)(struct workers *w);
	bool sleeps;
};

/**
 * struct workers - those who work together, and on what
 * @schedule: who does what
 * @strategy: how they get to work
 * @n: their number
 * @rounds: of each with a payload of his own
 * @shared: the payload of all
 * @first: the first chunk of @shared that is theirs
 * @next: the first chunk that nobody has claimed
 * @left: those who are not done
 * @done: that nobody is left
 * @limit: when they are to stop
 * @err: why a worker did not start
 * @wq: of strategies with a workqueue
 * @pinst: of padata
 * @shell: of padata
 * @dev: of NAPI
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

/* The CPU that follows @cpu, after the last the first */
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
