/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_QUEUE_H
#define _OMERTA_QUEUE_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/ptr_ring.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/* A chunk, however short, costs as much as this many bytes. */
#define OMERTA_CHUNK_COST	512U

/*
 * Upper bound for the CPUs that one list of jobs is sized for: the submitter may have to
 * do it all.
 */
#define OMERTA_SHARES_MAX	8U

/**
 * struct omerta_job - items that several CPUs process
 * @run: processes the items from first to end, exclusive; called on any CPU
 * @done: called once after all runs, by the CPU that finished the last one
 * @free: called with the last reference
 * @next_job: next job in a list
 * @bytes: estimated cost, for balancing jobs over CPUs
 * @payload: bytes of packets, the same however many of them share a record
 * @n_items: number of items
 * @n_runs: number of contiguous runs that the items are split into
 * @next: next run to claim
 * @left: runs that are not finished
 * @refs: one of the owner, one of the list that the job is in, and one of each CPU that it
 *	  was offered to
 *
 * @run and @done are called with BH off or in process context, inside an RCU read-side section that
 * began before the run was claimed.
 */
struct omerta_job {
	void (*run)(struct omerta_job *job, unsigned int first,
		    unsigned int end);
	void (*done)(struct omerta_job *job);
	void (*free)(struct omerta_job *job);
	struct omerta_job *next_job;
	u32 bytes;
	u32 payload;
	unsigned int n_items;
	unsigned int n_runs;
	atomic_t next;
	atomic_t left;
	refcount_t refs;
};

/**
 * struct omerta_jobs - list of jobs, in order
 * @first: the first job
 * @last: the last job
 * @n: number of jobs
 * @bytes: sum of their costs
 * @payload: sum of their payloads
 */
struct omerta_jobs {
	struct omerta_job *first;
	struct omerta_job *last;
	unsigned int n;
	u32 bytes;
	u32 payload;
};

struct omerta_pool;

/**
 * struct omerta_worker - worker of one CPU
 * @pool: the device's workers
 * @work: processes the jobs in @ring, and what is deferred
 * @queued: @work will look at @ring after this was set
 * @bytes: payload submitted on this CPU under OMERTA_POLICY_AUTO, of all time; read by any CPU
 * @ring: jobs offered by other CPUs
 */
struct omerta_worker {
	struct omerta_pool *pool;
	struct kthread_work work;
	atomic_t queued;
	unsigned long bytes;
	struct ptr_ring ring;
};

/**
 * struct omerta_trial - measurement of whether several CPUs process more than one
 * @lock: held for the following
 * @epoch: the current epoch, of a clock that all devices share; also read without the lock
 * @since: time when its traffic began, ns
 * @total: payload until then
 * @wait: epochs that have to pass before a trial
 * @ahead: a trial begins at multiples of this many epochs
 * @begun: first epoch of the trial
 * @trying: both ways take turns
 * @was_alone: the latest decision
 * @sum: bytes of all epochs of a trial, alone and with others
 * @ns: their time
 */
struct omerta_trial {
	spinlock_t lock; /* for the members below */
	unsigned long epoch;
	u64 since;
	unsigned long total;
	unsigned int wait;
	unsigned int ahead;
	unsigned long begun;
	bool trying;
	bool was_alone;
	u64 sum[2];
	u64 ns[2];
};

/**
 * struct omerta_pool - the workers of a device
 * @workers: per CPU
 * @cpus: CPUs that may be used: one of @masks; changed under the device's lock, read under RCU
 * @masks: @cpus, and the next ones; lock: the device's
 * @listed: @cpus are some that the administrator chose, so isolated ones among them may be used;
 *	    as @cpus, read without RCU
 * @n_cpus: number of @cpus that are online and may be used, at least 1; read without a lock
 * @counted: jiffies when @n_cpus were counted; read without a lock
 * @policy: enum omerta_policy; changed under the device's lock, read without
 * @threshold: bytes that are worth a share of their own under OMERTA_POLICY_AUTO; changed
 *	       under the device's lock, read without
 * @alone: lone bursts, and packets of quick senders, stay on their CPU under
 *	   OMERTA_POLICY_AUTO; read without a lock
 * @trial: decides on @alone
 * @run_deferred: called for each item of @deferred, which it may defer again, in process context
 * @deferred: items that any worker may take; lock: @deferred_lock
 * @deferred_lock: taken with BH off
 */
struct omerta_pool {
	struct omerta_worker __percpu *workers;
	const struct cpumask __rcu *cpus;
	cpumask_var_t masks[2];
	bool listed;
	unsigned int n_cpus;
	unsigned long counted;
	u8 policy;
	u32 threshold;
	bool alone;
	struct omerta_trial trial;
	void (*run_deferred)(struct list_head *item);
	struct list_head deferred;
	spinlock_t deferred_lock; /* for @deferred */
};

/* Runs the helpers of all devices. */
extern struct workqueue_struct *omerta_helpers;

void omerta_job_init(struct omerta_job *job, unsigned int n_items, u32 bytes);
unsigned int omerta_job_work(struct omerta_job *job);
void omerta_job_put(struct omerta_job *job);

void omerta_jobs_add(struct omerta_jobs *jobs, struct omerta_job *job);
struct omerta_job *omerta_jobs_pop(struct omerta_jobs *jobs);

int omerta_workers_init(void);
void omerta_workers_exit(void);

int omerta_pool_init(struct omerta_pool *pool, void (*run_deferred)(struct list_head *item));
void omerta_pool_drain(struct omerta_pool *pool);
void omerta_pool_destroy(struct omerta_pool *pool);
void omerta_pool_set_cpus(struct omerta_pool *pool, const struct cpumask *cpus, bool isolated);
unsigned int omerta_pool_next_cpu(const struct omerta_pool *pool, unsigned int cpu, bool keep);
unsigned int omerta_pool_shares(struct omerta_pool *pool);
unsigned int omerta_pool_split(struct omerta_pool *pool, const struct omerta_jobs *jobs);
bool omerta_pool_is_enough(struct omerta_pool *pool, const struct omerta_jobs *jobs);
void omerta_pool_offer(struct omerta_pool *pool, const struct omerta_jobs *jobs,
		       unsigned int n_shares);
void omerta_pool_run(struct omerta_pool *pool, struct omerta_jobs *jobs);
bool omerta_pool_defer(struct omerta_pool *pool, struct list_head *item);
bool omerta_pool_cancel(struct omerta_pool *pool, struct list_head *item);

#endif /* _OMERTA_QUEUE_H */
