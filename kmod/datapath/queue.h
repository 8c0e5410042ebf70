/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_QUEUE_H
#define _OMERTA_QUEUE_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/ptr_ring.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

/**
 * struct omerta_job - items that several CPUs work on
 * @run: works on the items from first to end, exclusive; from any CPU
 * @done: called once, when all runs are over, by whoever ended the last one
 * @free: called once, when nobody refers to the job any more
 * @after: the job behind it in a list
 * @bytes: how much there is to do, compared with others
 * @n_items: number of items
 * @n_runs: number of contiguous runs they are split into
 * @next: next run to claim
 * @left: runs that are not over
 * @refs: the owner, the list it is in, and CPUs that work on it or may
 *
 * @run and @done are called with BH off or in process context.
 */
struct omerta_job {
	void (*run)(struct omerta_job *job, unsigned int first,
		    unsigned int end);
	void (*done)(struct omerta_job *job);
	void (*free)(struct omerta_job *job);
	struct omerta_job *after;
	u32 bytes;
	unsigned int n_items;
	unsigned int n_runs;
	atomic_t next;
	atomic_t left;
	refcount_t refs;
};

/**
 * struct omerta_jobs - jobs that wait to be done, in this order
 * @first: the first of them
 * @last: the last
 * @n: their number
 * @bytes: of all
 */
struct omerta_jobs {
	struct omerta_job *first;
	struct omerta_job *last;
	unsigned int n;
	u32 bytes;
};

/**
 * struct omerta_worker - one CPU's share of the work
 * @work: takes jobs from @ring
 * @ring: jobs to help with
 */
struct omerta_worker {
	struct work_struct work;
	struct ptr_ring ring;
};

/**
 * struct omerta_pool - the workers of a device
 * @workers: per CPU
 * @cpus: which CPUs may be used; replaced under the device's lock and read
 *	  without, so that for a moment both masks may count
 * @n_cpus: number of @cpus that are there for others
 */
struct omerta_pool {
	struct omerta_worker __percpu *workers;
	cpumask_var_t cpus;
	unsigned int n_cpus;
};

/* Works of all devices run here, each on one CPU. */
extern struct workqueue_struct *omerta_workers;

void omerta_job_init(struct omerta_job *job, unsigned int n_items, u32 bytes);
unsigned int omerta_job_work(struct omerta_job *job);
void omerta_job_put(struct omerta_job *job);

void omerta_jobs_add(struct omerta_jobs *jobs, struct omerta_job *job);
void omerta_jobs_append(struct omerta_jobs *jobs, struct omerta_jobs *more);
struct omerta_job *omerta_jobs_pop(struct omerta_jobs *jobs);

int omerta_workers_load(void);
void omerta_workers_unload(void);

int omerta_pool_init(struct omerta_pool *pool);
void omerta_pool_drain(struct omerta_pool *pool);
void omerta_pool_destroy(struct omerta_pool *pool);
bool omerta_pool_may_use(const struct omerta_pool *pool, unsigned int cpu);
void omerta_pool_set_cpus(struct omerta_pool *pool, const struct cpumask *cpus);
void omerta_pool_offer(struct omerta_pool *pool, const struct omerta_jobs *jobs,
		       unsigned int n_runs);
void omerta_pool_run(struct omerta_pool *pool, struct omerta_jobs *jobs,
		     unsigned int n_runs);

#endif /* _OMERTA_QUEUE_H */
