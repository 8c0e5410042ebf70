// SPDX-License-Identifier: GPL-2.0
/*
 * Work split over CPUs. A job's items are cut into contiguous runs of equal
 * size, or several jobs into contiguous groups of about equal size; the CPU that
 * submits them offers them to others and then works itself, so that all is done
 * even if nobody comes to help. Nobody waits.
 */
#include "datapath/queue.h"

#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/string.h>

#include "compat/compat.h"

struct workqueue_struct *omerta_workers;

/* Jobs of one CPU that others may have offered to it. */
#define RING_SIZE	1024

/**
 * omerta_job_init() - prepare a job
 * @job: @run, @done and @free are set by the caller
 * @n_items: number of items
 * @bytes: how much there is to do
 *
 * The caller owns one reference afterwards, see omerta_job_put().
 */
void omerta_job_init(struct omerta_job *job, unsigned int n_items, u32 bytes)
{
	job->after = NULL;
	job->bytes = bytes;
	job->n_items = n_items;
	job->n_runs = 1;
	atomic_set(&job->next, 0);
	atomic_set(&job->left, 1);
	refcount_set(&job->refs, 1);
}

/* Into how many runs, before it is offered; times its items it must not overflow. */
static void job_split(struct omerta_job *job, unsigned int n_runs)
{
	job->n_runs = n_runs;
	atomic_set(&job->left, n_runs);
}

/**
 * omerta_job_put() - give up a reference to a job
 * @job: the job; freed with the last one
 */
void omerta_job_put(struct omerta_job *job)
{
	if (refcount_dec_and_test(&job->refs))
		job->free(job);
}

/**
 * omerta_job_work() - work on runs of a job until none is left to claim
 * @job: the job; the caller has a reference
 *
 * A run that is claimed cannot be preempted, so that real-time processes do not hold up
 * a job, and ends within a grace period.
 *
 * Context: BH off, or process context.
 * Return: the number of runs that were done here.
 */
unsigned int omerta_job_work(struct omerta_job *job)
{
	unsigned int run, n = 0;

	for (;;) {
		/* With PREEMPT_RT it may have to sleep. */
		rcu_read_lock();
		if (!IS_ENABLED(CONFIG_PREEMPT_RT))
			preempt_disable();
		run = atomic_fetch_inc_relaxed(&job->next);
		if (run < job->n_runs) {
			job->run(job, run * job->n_items / job->n_runs,
				 (run + 1) * job->n_items / job->n_runs);
			n++;
			/* Orders all that the runs wrote before @done reads it. */
			if (atomic_dec_and_test(&job->left))
				job->done(job);
		}
		if (!IS_ENABLED(CONFIG_PREEMPT_RT))
			preempt_enable();
		rcu_read_unlock();
		if (run >= job->n_runs)
			return n;
	}
}

/**
 * omerta_jobs_add() - put a job at the end of a list
 * @jobs: the list; gets a reference of its own
 * @job: the job, in no list
 */
void omerta_jobs_add(struct omerta_jobs *jobs, struct omerta_job *job)
{
	refcount_inc(&job->refs);
	if (jobs->n)
		jobs->last->after = job;
	else
		jobs->first = job;
	jobs->last = job;
	jobs->bytes += job->bytes;
	jobs->n++;
}

/**
 * omerta_jobs_append() - put jobs at the end of a list
 * @jobs: the list
 * @more: another, empty afterwards
 */
void omerta_jobs_append(struct omerta_jobs *jobs, struct omerta_jobs *more)
{
	if (!more->n)
		return;
	if (jobs->n)
		jobs->last->after = more->first;
	else
		jobs->first = more->first;
	jobs->last = more->last;
	jobs->bytes += more->bytes;
	jobs->n += more->n;
	memset(more, 0, sizeof(*more));
}

/**
 * omerta_jobs_pop() - take the first job off a list
 * @jobs: the list
 *
 * Return: the job, the list's reference to which is the caller's now; or NULL.
 */
struct omerta_job *omerta_jobs_pop(struct omerta_jobs *jobs)
{
	struct omerta_job *job = jobs->first;

	if (!job)
		return NULL;
	jobs->first = job->after;
	jobs->bytes -= job->bytes;
	jobs->n--;
	return job;
}

static void worker_work(struct work_struct *work)
{
	struct omerta_worker *worker = container_of(work, struct omerta_worker,
						    work);
	struct omerta_job *job;

	while ((job = ptr_ring_consume_bh(&worker->ring))) {
		omerta_job_work(job);
		omerta_job_put(job);
		cond_resched();
	}
}

/**
 * omerta_pool_may_use() - whether a CPU is there for others
 * @pool: the workers
 * @cpu: the CPU
 *
 * Context: inside an RCU read-side section of any kind.
 * Return: true if so; one that is isolated may never come to it.
 */
bool omerta_pool_may_use(const struct omerta_pool *pool, unsigned int cpu)
{
	return cpumask_test_cpu(cpu, pool->cpus) && cpu_online(cpu) &&
	       housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN);
}

/* The next that may help, after @cpu; none if that is ourselves. */
static unsigned int next_cpu(const struct omerta_pool *pool, unsigned int cpu)
{
	unsigned int self = raw_smp_processor_id(), next;

	for_each_cpu_wrap(next, pool->cpus, cpu + 1)
		if (next != self && omerta_pool_may_use(pool, next))
			return next;
	return self;
}

static void offer(struct omerta_pool *pool, unsigned int cpu,
		  struct omerta_job *job)
{
	struct omerta_worker *worker = per_cpu_ptr(pool->workers, cpu);

	refcount_inc(&job->refs);
	if (ptr_ring_produce_bh(&worker->ring, job))
		/* It has enough to do. */
		refcount_dec(&job->refs);
	else
		queue_work_on(cpu, omerta_workers, &worker->work);
}

/* Offer all runs of a job but the one that is ours. */
static void offer_runs(struct omerta_pool *pool, struct omerta_job *job,
		       unsigned int n_runs)
{
	/* From here on, lest all devices choose the same few. */
	unsigned int self = raw_smp_processor_id();
	unsigned int first = next_cpu(pool, self), cpu = first;

	job_split(job, n_runs);
	while (--n_runs && cpu != self) {
		offer(pool, cpu, job);
		cpu = next_cpu(pool, cpu);
		if (cpu == first)
			return;
	}
}

/* Offer all groups of jobs but the first. */
static void offer_groups(struct omerta_pool *pool,
			 const struct omerta_jobs *jobs, unsigned int n_groups)
{
	unsigned int self = raw_smp_processor_id(), cpu = self, group = 0;
	struct omerta_job *job;
	u64 bytes = 0;

	for (job = jobs->first; job; job = job->after) {
		unsigned int g = div_u64(bytes * n_groups, jobs->bytes);

		bytes += job->bytes;
		if (g != group) {
			group = g;
			cpu = next_cpu(pool, cpu);
		}
		if (cpu != self)
			offer(pool, cpu, job);
	}
}

/**
 * omerta_pool_offer() - have others help with jobs
 * @pool: the workers
 * @jobs: the jobs, nothing of which has been offered; stay the caller's, who is to
 *	  work on each of them, in their order
 * @n_runs: over how many CPUs to spread them, at least 1: a lone job in runs, at
 *	    most as many as it has items; several by whole jobs
 *
 * Context: BH off, or preemption.
 */
void omerta_pool_offer(struct omerta_pool *pool, const struct omerta_jobs *jobs,
		       unsigned int n_runs)
{
	if (n_runs < 2)
		return;
	if (jobs->n == 1)
		offer_runs(pool, jobs->first, n_runs);
	else
		offer_groups(pool, jobs, n_runs);
}

/**
 * omerta_pool_run() - have jobs done
 * @pool: the workers
 * @jobs: the jobs; empty afterwards
 * @n_runs: as for omerta_pool_offer()
 *
 * Context: BH off.
 */
void omerta_pool_run(struct omerta_pool *pool, struct omerta_jobs *jobs,
		     unsigned int n_runs)
{
	struct omerta_job *job;

	omerta_pool_offer(pool, jobs, n_runs);
	while ((job = omerta_jobs_pop(jobs))) {
		omerta_job_work(job);
		omerta_job_put(job);
	}
}

/**
 * omerta_pool_set_cpus() - choose the CPUs that may work
 * @pool: the workers
 * @cpus: not empty
 */
void omerta_pool_set_cpus(struct omerta_pool *pool, const struct cpumask *cpus)
{
	unsigned int cpu, n = 0;

	cpumask_copy(pool->cpus, cpus);
	rcu_read_lock();
	for_each_cpu(cpu, cpus)
		n += housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN);
	rcu_read_unlock();
	/* Who is isolated works alone. */
	WRITE_ONCE(pool->n_cpus, max(n, 1U));
}

static void free_rings(struct omerta_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu)
		ptr_ring_cleanup(&per_cpu_ptr(pool->workers, cpu)->ring, NULL);
}

/**
 * omerta_pool_init() - make the workers of a device, on all CPUs
 * @pool: the workers
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int omerta_pool_init(struct omerta_pool *pool)
{
	int cpu;

	if (!zalloc_cpumask_var(&pool->cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	omerta_pool_set_cpus(pool, cpu_possible_mask);

	pool->workers = alloc_percpu_gfp(struct omerta_worker, GFP_KERNEL_ACCOUNT);
	if (!pool->workers)
		goto err_cpus;
	for_each_possible_cpu(cpu) {
		struct omerta_worker *worker = per_cpu_ptr(pool->workers, cpu);

		INIT_WORK(&worker->work, worker_work);
		if (ptr_ring_init(&worker->ring, RING_SIZE, GFP_KERNEL_ACCOUNT))
			goto err_rings;
	}
	return 0;

err_rings:
	free_rings(pool);
	free_percpu(pool->workers);
err_cpus:
	free_cpumask_var(pool->cpus);
	return -ENOMEM;
}

/**
 * omerta_pool_drain() - wait until all jobs are done
 * @pool: the workers
 *
 * The submitter of a job claims what workers have not. So a worker that a busy CPU does
 * not run holds up no job, and is not waited for. It may find jobs done later.
 *
 * Context: process context; nobody submits meanwhile.
 */
void omerta_pool_drain(struct omerta_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu)
		worker_work(&per_cpu_ptr(pool->workers, cpu)->work);
	/* See omerta_job_work(). */
	synchronize_net();
}

/**
 * omerta_pool_destroy() - end the workers
 * @pool: the workers; nobody submits any more
 *
 * Context: process context; RTNL not held, as this waits for workers that have begun.
 */
void omerta_pool_destroy(struct omerta_pool *pool)
{
	int cpu;

	/* A busy CPU may never begin one. */
	for_each_possible_cpu(cpu)
		cancel_work_sync(&per_cpu_ptr(pool->workers, cpu)->work);
	free_rings(pool);
	free_percpu(pool->workers);
	free_cpumask_var(pool->cpus);
}

/**
 * omerta_workers_load() - make the workqueue of all devices
 *
 * Return: 0 or -ENOMEM.
 */
int omerta_workers_load(void)
{
	/*
	 * Queues wait for its works, and memory may wait for packets in queues. A receiver
	 * may be on the same CPU, and a higher priority would leave it no time.
	 */
	omerta_workers = alloc_workqueue("omerta", WQ_CPU_INTENSIVE |
					 WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	return omerta_workers ? 0 : -ENOMEM;
}

/**
 * omerta_workers_unload() - end the workqueue of all devices
 *
 * Context: process context; there are no devices.
 */
void omerta_workers_unload(void)
{
	destroy_workqueue(omerta_workers);
}
