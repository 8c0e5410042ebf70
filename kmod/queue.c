// SPDX-License-Identifier: GPL-2.0
/*
 * Work split over CPUs. A job's items are cut into contiguous runs of equal
 * size; the CPU that submits it offers it to others and then works itself, so
 * that a job ends even if nobody comes to help. Nobody waits.
 */
#include "queue.h"

#include <linux/percpu.h>

#include "compat.h"

/* Jobs of one CPU that others may have offered to it. */
#define RING_SIZE	1024

/**
 * omerta_job_init() - prepare a job
 * @job: @run, @done and @free are set by the caller
 * @n_items: number of items
 * @n_runs: number of runs to split them into, at least 1; @n_items * @n_runs
 *	    must not overflow
 *
 * The caller owns one reference afterwards, see omerta_job_put().
 */
void omerta_job_init(struct omerta_job *job, unsigned int n_items,
		     unsigned int n_runs)
{
	job->n_items = n_items;
	job->n_runs = n_runs;
	atomic_set(&job->next, 0);
	atomic_set(&job->left, n_runs);
	refcount_set(&job->refs, 1);
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

/* Work on runs of a job until none is left to claim. */
static void job_work(struct omerta_job *job)
{
	unsigned int run;

	for (;;) {
		run = atomic_fetch_inc_relaxed(&job->next);
		if (run >= job->n_runs)
			return;
		job->run(job, run * job->n_items / job->n_runs,
			 (run + 1) * job->n_items / job->n_runs);
		/* Orders all that the runs wrote before @done reads it. */
		if (atomic_dec_and_test(&job->left))
			job->done(job);
	}
}

static void worker_work(struct work_struct *work)
{
	struct omerta_worker *worker = container_of(work, struct omerta_worker,
						    work);
	struct omerta_job *job;

	while ((job = ptr_ring_consume_bh(&worker->ring))) {
		job_work(job);
		omerta_job_put(job);
		cond_resched();
	}
}

/**
 * omerta_pool_run() - have a job done
 * @pool: the workers
 * @job: from omerta_job_init(); the owner keeps its reference
 *
 * Context: BH off, or process context.
 */
void omerta_pool_run(struct omerta_pool *pool, struct omerta_job *job)
{
	unsigned int offers = job->n_runs - 1;
	unsigned int cpu, self;

	/* The owner may be done with the job before we are. */
	refcount_inc(&job->refs);
	if (!offers)
		goto work;
	self = raw_smp_processor_id();
	/* From here on, lest all devices choose the same few. */
	for_each_cpu_wrap(cpu, pool->cpus, self) {
		struct omerta_worker *worker = per_cpu_ptr(pool->workers, cpu);

		if (!offers)
			break;
		if (cpu == self || !cpu_online(cpu))
			continue;
		refcount_inc(&job->refs);
		if (ptr_ring_produce_bh(&worker->ring, job)) {
			/* It has enough to do. */
			refcount_dec(&job->refs);
			continue;
		}
		queue_work_on(cpu, pool->wq, &worker->work);
		offers--;
	}
work:
	job_work(job);
	omerta_job_put(job);
}

/**
 * omerta_pool_set_cpus() - choose the CPUs that may work
 * @pool: the workers
 * @cpus: not empty
 */
void omerta_pool_set_cpus(struct omerta_pool *pool, const struct cpumask *cpus)
{
	cpumask_copy(pool->cpus, cpus);
	WRITE_ONCE(pool->n_cpus, cpumask_weight(cpus));
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
 * @name: of the device
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int omerta_pool_init(struct omerta_pool *pool, const char *name)
{
	int cpu;

	if (!zalloc_cpumask_var(&pool->cpus, GFP_KERNEL))
		return -ENOMEM;
	omerta_pool_set_cpus(pool, cpu_possible_mask);

	pool->workers = alloc_percpu(struct omerta_worker);
	if (!pool->workers)
		goto err_cpus;
	for_each_possible_cpu(cpu) {
		struct omerta_worker *worker = per_cpu_ptr(pool->workers, cpu);

		INIT_WORK(&worker->work, worker_work);
		if (ptr_ring_init(&worker->ring, RING_SIZE, GFP_KERNEL))
			goto err_rings;
	}
	pool->wq = alloc_workqueue("omerta-%s", WQ_CPU_INTENSIVE |
				   WQ_MEM_RECLAIM | WQ_PERCPU, 0, name);
	if (!pool->wq)
		goto err_rings;
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
 * Context: process context; nobody but the workers submits meanwhile.
 */
void omerta_pool_drain(struct omerta_pool *pool)
{
	drain_workqueue(pool->wq);
}

/**
 * omerta_pool_destroy() - end the workers
 * @pool: the workers; nobody submits any more
 *
 * Context: process context.
 */
void omerta_pool_destroy(struct omerta_pool *pool)
{
	destroy_workqueue(pool->wq);
	free_rings(pool);
	free_percpu(pool->workers);
	free_cpumask_var(pool->cpus);
}
