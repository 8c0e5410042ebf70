// SPDX-License-Identifier: GPL-2.0
/*
 * Split work over CPUs. The items of a lone job are split into contiguous runs of equal
 * size, several jobs into contiguous groups of about equal cost. The submitter offers them
 * to the workers of other CPUs, then processes whatever they have not claimed. It never
 * waits for them.
 */
#include "datapath/queue.h"

#include <linux/bitops.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>
#include <linux/string.h>

#include <uapi/linux/omerta.h>

#include "compat/compat.h"
#include "wire/wire.h"

/* Most jobs that may be offered to a CPU at a time. */
#define RING_SIZE	1024
/* Interval at which the usable CPUs are counted */
#define COUNT_INTERVAL	(HZ / 2)
/* An epoch: at least 4 ms */
#define EPOCH_TICKS	DIV_ROUND_UP(HZ, 250)
/*
 * Epochs of a trial, and from the beginning of one to that of the next one: powers of two, so
 * that trials coincide
 */
#define TRIAL_EPOCHS	16U
#define AHEAD_NOW	1U
#define AHEAD_MIN	32U
#define AHEAD_MAX	64U
/* With a clear result: a trial then costs most. */
#define AHEAD_CLEAR	1024U
/* A pause, and epochs before a trial may follow it */
#define PAUSE_EPOCHS	8U
#define START_EPOCHS	8U
/* A trial ends as early as after so many epochs if the result is clear: see next_epoch(). */
#define TRIAL_EPOCHS_MIN	4U
#define CLEAR_PERCENT	160U
/* Percent that other CPUs have to gain */
#define LEAST_GAIN	5

/*
 * Threads of the workers, not the kernel's kworkers, so that they can be given priorities. A
 * CPU that has been online keeps its thread.
 */
static DEFINE_PER_CPU(struct kthread_worker *, threads);
static int hotplug_state;

/* CPUs by their distance to one: the same last cache, the same node, all */
enum { LEVELS = 3 };

/**
 * struct omerta_near - CPUs near another one
 * @cpus: CPUs within each distance, also those that are nearer, and itself; read at any time
 */
struct omerta_near {
	cpumask_var_t cpus[LEVELS];
};

static DEFINE_PER_CPU(struct omerta_near, nearness);

struct workqueue_struct *omerta_helpers;

/**
 * omerta_job_init() - initialise a job
 * @job: the job; the caller sets @run, @done and @free, and @payload unless it is @bytes
 * @n_items: number of items
 * @bytes: estimated cost
 *
 * The caller owns a reference afterwards, see omerta_job_put().
 */
void omerta_job_init(struct omerta_job *job, unsigned int n_items, u32 bytes)
{
	job->next_job = NULL;
	job->bytes = bytes;
	job->payload = bytes;
	job->n_items = n_items;
	job->n_runs = 1;
	atomic_set(&job->next, 0);
	atomic_set(&job->left, 1);
	refcount_set(&job->refs, 1);
}

/**
 * omerta_job_put() - put a reference to a job
 * @job: the job; freed with the last reference
 */
void omerta_job_put(struct omerta_job *job)
{
	if (refcount_dec_and_test(&job->refs))
		job->free(job);
}

/**
 * omerta_job_work() - claim and process runs of a job until none is left
 * @job: the job; the caller has a reference
 *
 * A run that has been claimed cannot be preempted, so that real-time tasks do not delay a
 * job, and ends within a grace period.
 *
 * Context: BH off, or process context.
 * Return: number of runs that were processed here.
 */
unsigned int omerta_job_work(struct omerta_job *job)
{
	unsigned int run, n = 0;

	for (;;) {
		/* With PREEMPT_RT a run may sleep. */
		rcu_read_lock();
		if (!IS_ENABLED(CONFIG_PREEMPT_RT))
			preempt_disable();
		run = atomic_fetch_inc_relaxed(&job->next);
		if (run < job->n_runs) {
			job->run(job, run * job->n_items / job->n_runs,
				 (run + 1) * job->n_items / job->n_runs);
			n++;
			/* Orders the writes of all runs before the reads of @done. */
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
 * omerta_jobs_add() - append a job to a list
 * @jobs: the list; takes a reference of its own
 * @job: the job, in no list
 */
void omerta_jobs_add(struct omerta_jobs *jobs, struct omerta_job *job)
{
	refcount_inc(&job->refs);
	if (jobs->n)
		jobs->last->next_job = job;
	else
		jobs->first = job;
	jobs->last = job;
	jobs->bytes += job->bytes;
	jobs->payload += job->payload;
	jobs->n++;
}

/**
 * omerta_jobs_pop() - remove the first job from a list
 * @jobs: the list
 *
 * Return: the job with the list's reference, or NULL if the list is empty.
 */
struct omerta_job *omerta_jobs_pop(struct omerta_jobs *jobs)
{
	struct omerta_job *job = jobs->first;

	if (!job)
		return NULL;
	jobs->first = job->next_job;
	jobs->bytes -= job->bytes;
	jobs->payload -= job->payload;
	jobs->n--;
	return job;
}

static void worker_work(struct kthread_work *work)
{
	struct omerta_worker *worker = container_of(work, struct omerta_worker,
						    work);
	struct omerta_pool *pool = worker->pool;
	struct list_head *item;
	struct omerta_job *job;

	/* Pairs with offer_job(): we see what comes now, or are queued again. */
	atomic_xchg(&worker->queued, 0);
	for (;;) {
		/* A worker is queued after an item was deferred, so it sees the item. */
		while (!list_empty(&pool->deferred)) {
			spin_lock_bh(&pool->deferred_lock);
			item = pool->deferred.next;
			if (item != &pool->deferred)
				list_del_init(item);
			spin_unlock_bh(&pool->deferred_lock);
			if (item == &pool->deferred)
				break;
			pool->run_deferred(item);
			cond_resched();
		}
		job = ptr_ring_consume_bh(&worker->ring);
		if (!job)
			return;
		omerta_job_work(job);
		omerta_job_put(job);
		cond_resched();
	}
}

/*
 * Number of CPUs that may process work, at least 1: if there is none but isolated ones, the
 * submitter works alone. Nothing tells when CPUs are isolated by cpusets or come online, so
 * they are counted again from time to time.
 */
static unsigned int count_cpus(struct omerta_pool *pool)
{
	unsigned int cpu, n = 0;

	if (likely(jiffies - READ_ONCE(pool->counted) < COUNT_INTERVAL))
		return READ_ONCE(pool->n_cpus);
	rcu_read_lock();
	for_each_cpu_and(cpu, rcu_dereference(pool->cpus), cpu_online_mask)
		n += READ_ONCE(pool->listed) || cpu_takes_unbound_work(cpu);
	rcu_read_unlock();
	WRITE_ONCE(pool->n_cpus, max(n, 1U));
	WRITE_ONCE(pool->counted, jiffies);
	return max(n, 1U);
}

/**
 * omerta_pool_shares() - number of CPUs that work is sized for
 * @pool: the workers
 *
 * Context: any.
 * Return: the number, at most OMERTA_SHARES_MAX.
 */
unsigned int omerta_pool_shares(struct omerta_pool *pool)
{
	return min(count_cpus(pool), OMERTA_SHARES_MAX);
}

/*
 * At the end of an epoch, decide on the next one, which began at @now.
 *
 * It depends on the traffic, the engine and the machine whether a lone burst, or a quick
 * sender's packets, are processed sooner with the help of other CPUs: these have to be woken,
 * and may have better things to do. So both ways take turns now and then, and the one that
 * processes more bytes is kept for a while. Where that is not clear, other CPUs are left in
 * peace.
 *
 * A stream that grows must not favour the way that comes second. The Thue-Morse sequence gives
 * both ways the same number of early and late epochs, in a trial that begins at a multiple of
 * its length.
 *
 * Devices of one machine share its CPUs, so each one's gain depends on what the others do. If
 * their turns were independent, two devices that gain together, but neither alone, would
 * never find out. So the clock says whose turn it is, and when a trial begins; soon after a
 * pause, though.
 */
static void next_epoch(struct omerta_pool *pool, unsigned long epoch, u64 now)
{
	unsigned int done, most, cpu;
	bool alone, had_both, turn_alone = !(hweight_long(epoch) & 1);
	struct omerta_trial *t = &pool->trial;
	unsigned long total = 0;
	u64 rate[2];
	s64 gain;

	if (!spin_trylock(&t->lock))
		return;
	/* Another CPU was here since @epoch was read. */
	if (t->epoch - epoch < PAUSE_EPOCHS)
		goto out;
	for_each_possible_cpu(cpu)
		total += READ_ONCE(per_cpu_ptr(pool->workers, cpu)->bytes);
	alone = pool->alone;
	/* There was a pause. Other traffic may follow, and a stream grows fast at first. */
	if (epoch - t->epoch > PAUSE_EPOCHS) {
		alone = t->was_alone;
		t->wait = START_EPOCHS;
		if (t->ahead <= AHEAD_MAX)
			t->ahead = AHEAD_NOW;
		t->trying = false;
		goto next;
	}
	if (!t->trying) {
		if (t->wait && --t->wait)
			goto next;
		/* There may have been no traffic in the first epoch. */
		if (epoch % t->ahead > 1)
			goto next;
		memset(t->sum, 0, sizeof(t->sum));
		memset(t->ns, 0, sizeof(t->ns));
		t->begun = epoch;
		t->trying = true;
		alone = turn_alone;
		goto next;
	}
	t->sum[!alone] += total - t->total;
	t->ns[!alone] += now - t->since;
	alone = turn_alone;
	done = epoch - t->begun;
	if (done < TRIAL_EPOCHS && (!is_power_of_2(done) || done < TRIAL_EPOCHS_MIN))
		goto next;
	/* Bytes per ms, since there may be few */
	rate[0] = div64_u64(t->sum[0] * NSEC_PER_MSEC, t->ns[0] + 1);
	rate[1] = div64_u64(t->sum[1] * NSEC_PER_MSEC, t->ns[1] + 1);
	gain = (s64)div64_u64(rate[1] * 100, rate[0] + 1) - (100 + LEAST_GAIN);
	/* Little traffic may have missed all turns of a way. */
	had_both = t->ns[0] && t->ns[1];
	if (done < TRIAL_EPOCHS && (!had_both || abs(gain) < CLEAR_PERCENT / done))
		goto next;
	t->trying = false;
	alone = had_both ? gain < 0 : t->was_alone;
	most = done < TRIAL_EPOCHS ? AHEAD_CLEAR : AHEAD_MAX;
	t->ahead = alone == t->was_alone ? clamp(2 * t->ahead, AHEAD_MIN, most) : AHEAD_MIN;
	t->was_alone = alone;
next:
	WRITE_ONCE(pool->alone, alone);
	WRITE_ONCE(t->epoch, epoch);
	t->total = total;
	t->since = now;
out:
	spin_unlock(&t->lock);
}

/**
 * omerta_pool_split() - number of shares to split work into
 * @pool: the workers
 * @jobs: the work: a lone job is split by its items
 *
 * Context: BH off.
 * Return: number of shares; 1 to process everything on this CPU.
 */
unsigned int omerta_pool_split(struct omerta_pool *pool, const struct omerta_jobs *jobs)
{
	unsigned int n_parts = jobs->n > 1 ? jobs->n : jobs->first->n_items;
	unsigned int most = min(n_parts, count_cpus(pool));
	unsigned long epoch;

	switch (READ_ONCE(pool->policy)) {
	case OMERTA_POLICY_INLINE:
		return 1;
	case OMERTA_POLICY_AUTO:
		this_cpu_add(pool->workers->bytes, jobs->payload);
		epoch = jiffies / EPOCH_TICKS;
		if (unlikely(epoch != READ_ONCE(pool->trial.epoch)))
			next_epoch(pool, epoch, ktime_get_ns());
		if (jobs->n == 1 && READ_ONCE(pool->alone))
			return 1;
		/* No share is smaller than half of the threshold. */
		return clamp_t(u32, DIV_ROUND_UP(jobs->bytes, READ_ONCE(pool->threshold)), 1,
			       most);
	}
	return most;
}

/**
 * omerta_pool_is_enough() - check whether to process jobs rather than to collect more
 * @pool: the workers
 * @jobs: the jobs
 *
 * Return: true if there is work for every CPU already.
 */
bool omerta_pool_is_enough(struct omerta_pool *pool, const struct omerta_jobs *jobs)
{
	u32 shares = min(count_cpus(pool), OMERTA_SHARES_MAX);
	u32 least = min_t(u32, READ_ONCE(pool->threshold), OMERTA_MAX_DATAGRAM);

	if (READ_ONCE(pool->policy) != OMERTA_POLICY_AUTO || shares == 1)
		return jobs->n;
	return jobs->bytes >= shares * least;
}

/**
 * omerta_pool_next_cpu() - find a CPU that work may be offered to
 * @pool: the workers
 * @cpu: the CPU to start after; this CPU for the first one
 * @keep: return @cpu itself if it is another CPU, and work may be offered to it
 *
 * CPUs that share the last cache with this one come first, then others of its node. The search
 * skips excluded and offline CPUs. Unless the administrator has listed them, it also skips isolated
 * CPUs, and those that nohz_full keeps for a task: they may never run the worker.
 *
 * Context: BH or preemption off.
 * Return: the next such CPU, after the last one the first; this CPU if there is no other.
 */
unsigned int omerta_pool_next_cpu(const struct omerta_pool *pool, unsigned int cpu, bool keep)
{
	unsigned int self = raw_smp_processor_id(), next, from, level = 0;
	const struct omerta_near *near = per_cpu_ptr(&nearness, self);
	const struct cpumask *cpus;
	bool again = cpu != self;

	rcu_read_lock();
	cpus = rcu_dereference(pool->cpus);
	if (again)
		while (level < LEVELS - 1 && !cpumask_test_cpu(cpu, near->cpus[level]))
			level++;
	from = keep && again ? cpu : cpu + 1;
	for (;;) {
		for_each_cpu_wrap(next, near->cpus[level], from) {
			if (next == self)
				break;
			if ((!level || !cpumask_test_cpu(next, near->cpus[level - 1])) &&
			    cpumask_test_cpu(next, cpus) && cpu_online(next) &&
			    (READ_ONCE(pool->listed) || cpu_takes_unbound_work(next)))
				goto out;
		}
		from = self + 1;
		if (++level < LEVELS)
			continue;
		if (!again)
			break;
		again = false;
		level = 0;
	}
	next = self;
out:
	rcu_read_unlock();
	return next;
}

static void offer_job(struct omerta_pool *pool, unsigned int cpu,
		      struct omerta_job *job)
{
	struct omerta_worker *worker = per_cpu_ptr(pool->workers, cpu);
	struct kthread_worker *thread = READ_ONCE(per_cpu(threads, cpu));

	refcount_inc(&job->refs);
	if (!thread || ptr_ring_produce_bh(&worker->ring, job))
		/* The CPU is only just online, or the ring full: it is busy already. */
		refcount_dec(&job->refs);
	/* Pairs with worker_work(). The thread's lock is contended: do without it. */
	else if (!atomic_xchg(&worker->queued, 1))
		kthread_queue_work(thread, &worker->work);
}

/**
 * omerta_pool_offer() - offer jobs to other CPUs
 * @pool: the workers
 * @jobs: the jobs, none of which has been offered. The caller keeps them, and processes
 *	  each of them in order.
 * @n_shares: number of CPUs to spread the work over, at least 1: a lone job by runs, at
 *	      most as many as it has items; several jobs as a whole
 *
 * Context: BH or preemption off.
 */
void omerta_pool_offer(struct omerta_pool *pool, const struct omerta_jobs *jobs,
		       unsigned int n_shares)
{
	/* Start with the nearest CPUs, or all devices would choose the same few. */
	unsigned int self = raw_smp_processor_id(), cpu = self, share = 0;
	struct omerta_job *job = jobs->first;
	u64 bytes = 0;

	if (n_shares < 2)
		return;
	if (jobs->n == 1) {
		unsigned int first = omerta_pool_next_cpu(pool, self, false);

		job->n_runs = n_shares;
		atomic_set(&job->left, n_shares);
		for (cpu = first; --n_shares && cpu != self;) {
			offer_job(pool, cpu, job);
			cpu = omerta_pool_next_cpu(pool, cpu, false);
			if (cpu == first)
				break;
		}
		return;
	}
	/* The first share is our own. */
	for (; job; job = job->next_job) {
		unsigned int s = div_u64(bytes * n_shares, jobs->bytes);

		bytes += job->bytes;
		if (s != share) {
			share = s;
			cpu = omerta_pool_next_cpu(pool, cpu, false);
		}
		if (cpu != self)
			offer_job(pool, cpu, job);
	}
}

/**
 * omerta_pool_run() - process jobs, with the help of other CPUs where that pays
 * @pool: the workers
 * @jobs: the jobs; empty afterwards
 *
 * Context: BH off.
 */
void omerta_pool_run(struct omerta_pool *pool, struct omerta_jobs *jobs)
{
	struct omerta_job *job;

	if (!jobs->n)
		return;
	omerta_pool_offer(pool, jobs, omerta_pool_split(pool, jobs));
	while ((job = jobs->first)) {
		jobs->first = job->next_job;
		omerta_job_work(job);
		omerta_job_put(job);
	}
	memset(jobs, 0, sizeof(*jobs));
}

/**
 * omerta_pool_defer() - have a worker process an item
 * @pool: the workers
 * @item: in no list, or deferred already
 *
 * Context: any but hard interrupt.
 * Return: true if the pool's run_deferred() will be called for the item once more than it would
 * be otherwise.
 */
bool omerta_pool_defer(struct omerta_pool *pool, struct list_head *item)
{
	int self = raw_smp_processor_id(), chosen = self, cpu;
	bool is_new;

	spin_lock_bh(&pool->deferred_lock);
	is_new = list_empty(item);
	if (is_new)
		list_add_tail(item, &pool->deferred);
	spin_unlock_bh(&pool->deferred_lock);
	if (!is_new)
		return false;
	/* An isolated CPU may never run it: use this one or the next that is not, if any. */
	rcu_read_lock();
	for_each_cpu_wrap(cpu, cpu_online_mask, self) {
		if (!READ_ONCE(per_cpu(threads, cpu)))
			continue;
		chosen = cpu;
		if (cpu_takes_unbound_work(cpu))
			break;
	}
	rcu_read_unlock();
	kthread_queue_work(per_cpu(threads, chosen), &per_cpu_ptr(pool->workers, chosen)->work);
	return true;
}

/**
 * omerta_pool_cancel() - take an item back from the workers
 * @pool: the workers
 * @item: the item
 *
 * Context: any but hard interrupt.
 * Return: true if it was deferred, and its processing had not started.
 */
bool omerta_pool_cancel(struct omerta_pool *pool, struct list_head *item)
{
	bool was_deferred;

	spin_lock_bh(&pool->deferred_lock);
	was_deferred = !list_empty(item);
	list_del_init(item);
	spin_unlock_bh(&pool->deferred_lock);
	return was_deferred;
}

/**
 * omerta_pool_set_cpus() - set the CPUs that may be used
 * @pool: the workers
 * @cpus: the CPUs, at least one
 * @isolated: use isolated ones as well, unless @cpus are all possible CPUs
 *
 * Context: process context; the caller serialises calls. Waits for a grace period.
 */
void omerta_pool_set_cpus(struct omerta_pool *pool, const struct cpumask *cpus, bool isolated)
{
	struct cpumask *next = pool->masks[0];

	if (rcu_access_pointer(pool->cpus)) {
		if (rcu_access_pointer(pool->cpus) == next)
			next = pool->masks[1];
		/* Readers may still have it from before the latest change. */
		synchronize_net();
	}
	cpumask_copy(next, cpus);
	WRITE_ONCE(pool->listed, isolated && !cpumask_equal(cpus, cpu_possible_mask));
	rcu_assign_pointer(pool->cpus, next);
	/* Count them next time. */
	WRITE_ONCE(pool->counted, jiffies - COUNT_INTERVAL);
}

static void free_rings(struct omerta_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu)
		ptr_ring_cleanup(&per_cpu_ptr(pool->workers, cpu)->ring, NULL);
}

/**
 * omerta_pool_init() - allocate the workers of a device, on all CPUs
 * @pool: the workers
 * @run_deferred: processes an item of omerta_pool_defer()
 *
 * Context: process context.
 * Return: 0 or -ENOMEM.
 */
int omerta_pool_init(struct omerta_pool *pool, void (*run_deferred)(struct list_head *item))
{
	int cpu;

	if (!zalloc_cpumask_var(&pool->masks[0], GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	if (!zalloc_cpumask_var(&pool->masks[1], GFP_KERNEL_ACCOUNT))
		goto err_mask;
	omerta_pool_set_cpus(pool, cpu_possible_mask, false);
	spin_lock_init(&pool->trial.lock);
	pool->alone = true;
	pool->trial.was_alone = true;
	pool->trial.ahead = AHEAD_NOW;
	pool->run_deferred = run_deferred;
	INIT_LIST_HEAD(&pool->deferred);
	spin_lock_init(&pool->deferred_lock);

	pool->workers = alloc_percpu_gfp(struct omerta_worker, GFP_KERNEL_ACCOUNT);
	if (!pool->workers)
		goto err_cpus;
	for_each_possible_cpu(cpu) {
		struct omerta_worker *worker = per_cpu_ptr(pool->workers, cpu);

		worker->pool = pool;
		kthread_init_work(&worker->work, worker_work);
		if (ptr_ring_init(&worker->ring, RING_SIZE, GFP_KERNEL_ACCOUNT))
			goto err_rings;
	}
	return 0;

err_rings:
	free_rings(pool);
	free_percpu(pool->workers);
err_cpus:
	free_cpumask_var(pool->masks[1]);
err_mask:
	free_cpumask_var(pool->masks[0]);
	return -ENOMEM;
}

/**
 * omerta_pool_drain() - wait until all jobs are done
 * @pool: the workers
 *
 * The submitter of a job claims every run that no worker has claimed. So a worker that a
 * busy CPU never runs delays no job, and is not waited for. Later it finds the jobs done.
 *
 * Context: process context; no job is submitted meanwhile.
 */
void omerta_pool_drain(struct omerta_pool *pool)
{
	int cpu;

	for_each_possible_cpu(cpu)
		worker_work(&per_cpu_ptr(pool->workers, cpu)->work);
	/* Runs end within a grace period, see omerta_job_work(). */
	synchronize_net();
}

/**
 * omerta_pool_destroy() - free the workers
 * @pool: the workers; no job is submitted any more
 *
 * Context: process context; RTNL not held, as this waits for running workers.
 */
void omerta_pool_destroy(struct omerta_pool *pool)
{
	int cpu;

	/* A busy CPU may never start its worker: cancel it. */
	for_each_possible_cpu(cpu)
		kthread_cancel_work_sync(&per_cpu_ptr(pool->workers, cpu)->work);
	/* Items hold references. */
	worker_work(&per_cpu_ptr(pool->workers, cpumask_first(cpu_possible_mask))->work);
	free_rings(pool);
	free_percpu(pool->workers);
	free_cpumask_var(pool->masks[1]);
	free_cpumask_var(pool->masks[0]);
}

static void destroy_threads(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (per_cpu(threads, cpu))
			kthread_destroy_worker(per_cpu(threads, cpu));
		per_cpu(threads, cpu) = NULL;
	}
}

static void free_nearness(void)
{
	int cpu, level;

	for_each_possible_cpu(cpu)
		for (level = 0; level < LEVELS; level++)
			free_cpumask_var(per_cpu(nearness, cpu).cpus[level]);
}

/* Before place_cpu() a CPU is near itself only. The last distance is that of all CPUs. */
static int alloc_nearness(void)
{
	struct omerta_near *near;
	int cpu, level;

	for_each_possible_cpu(cpu) {
		near = per_cpu_ptr(&nearness, cpu);
		for (level = 0; level < LEVELS; level++) {
			if (!zalloc_cpumask_var(&near->cpus[level], GFP_KERNEL)) {
				free_nearness();
				return -ENOMEM;
			}
			cpumask_set_cpu(cpu, near->cpus[level]);
		}
		cpumask_copy(near->cpus[LEVELS - 1], cpu_possible_mask);
	}
	return 0;
}

/* The kernel knows where a CPU is when it is online. */
static void place_cpu(unsigned int cpu)
{
	struct omerta_near *near = per_cpu_ptr(&nearness, cpu), *others;
	unsigned int other;

	for_each_online_cpu(other) {
		others = per_cpu_ptr(&nearness, other);
		if (omerta_cpus_share_cache(cpu, other)) {
			cpumask_set_cpu(other, near->cpus[0]);
			cpumask_set_cpu(cpu, others->cpus[0]);
		} else if (cpu_to_node(cpu) != cpu_to_node(other)) {
			continue;
		}
		/* A cache may belong to several nodes. */
		cpumask_set_cpu(other, near->cpus[1]);
		cpumask_set_cpu(cpu, others->cpus[1]);
	}
}

static int thread_online(unsigned int cpu)
{
	struct kthread_worker *thread = per_cpu(threads, cpu);

	place_cpu(cpu);
	/* It was moved to another CPU when this one went offline. */
	if (thread)
		return set_cpus_allowed_ptr(thread->task, cpumask_of(cpu));
	thread = kthread_run_worker_on_cpu(cpu, 0, "omerta/%u");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	WRITE_ONCE(per_cpu(threads, cpu), thread);
	return 0;
}

/**
 * omerta_workers_init() - create the threads of all devices, at module load
 *
 * Return: 0 or a negative errno.
 */
int omerta_workers_init(void)
{
	int err;

	/*
	 * WQ_MEM_RECLAIM: the transmit queue waits for its helper, and memory reclaim may
	 * wait for packets in that queue. No WQ_HIGHPRI: it would starve a receiver on the
	 * same CPU.
	 */
	omerta_helpers = alloc_workqueue("omerta", WQ_CPU_INTENSIVE |
					 WQ_MEM_RECLAIM | WQ_PERCPU, 0);
	if (!omerta_helpers)
		return -ENOMEM;
	err = alloc_nearness();
	if (err)
		goto err_helpers;
	hotplug_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "net/omerta:worker",
					  thread_online, NULL);
	if (hotplug_state > 0)
		return 0;
	err = hotplug_state;
	destroy_threads();
	free_nearness();
err_helpers:
	destroy_workqueue(omerta_helpers);
	return err;
}

/**
 * omerta_workers_exit() - destroy the threads
 *
 * Context: process context; no device is left.
 */
void omerta_workers_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	destroy_threads();
	free_nearness();
	destroy_workqueue(omerta_helpers);
}
