// SPDX-License-Identifier: GPL-2.0
/*
 * Work split over CPUs: every item is processed once, in contiguous runs or whole jobs,
 * by any set of helpers.
 */
#include "datapath/queue.c"

#include <linux/completion.h>
#include <linux/slab.h>

#include "test_util.h"

#define MAX_ITEMS	128
/* More than one CPU's ring takes. */
#define MANY		1100

struct test_job {
	struct omerta_job job;
	struct completion freed;
	atomic_t items[MAX_ITEMS];
	atomic_t runs;
	atomic_t done;
	unsigned int n_runs;
	bool early;
	struct completion *wait;
};

struct deferral {
	struct list_head item;
	atomic_t runs;
	struct completion begun;
	struct completion *wait;
};

static struct omerta_pool pool;

static void run_deferral(struct list_head *item)
{
	struct deferral *d = container_of(item, struct deferral, item);

	atomic_inc(&d->runs);
	complete(&d->begun);
	if (d->wait)
		wait_for_completion(d->wait);
}

static int queue_init(struct kunit *test)
{
	int err = omerta_workers_init();

	if (err)
		return err;
	err = omerta_pool_init(&pool, run_deferral);
	if (err)
		omerta_workers_exit();
	return err;
}

static void queue_exit(struct kunit *test)
{
	omerta_pool_destroy(&pool);
	omerta_workers_exit();
}

/* Runs have preemption off, see omerta_job_work(). The runs of this test have to sleep. */
static void wait_in_run(struct completion *wait)
	__must_hold(RCU)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	rcu_read_unlock();
	wait_for_completion(wait);
	rcu_read_lock();
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
}

static void job_run(struct omerta_job *job, unsigned int first,
		    unsigned int end)
{
	struct test_job *t = container_of(job, struct test_job, job);
	unsigned int i;

	if (t->wait)
		wait_in_run(t->wait);
	for (i = first; i < end; i++)
		atomic_inc(&t->items[i]);
	/* Runs differ by one item at most. */
	if (end - first < job->n_items / job->n_runs ||
	    end - first > DIV_ROUND_UP(job->n_items, job->n_runs))
		t->early = true;
	atomic_inc(&t->runs);
}

static void job_done(struct omerta_job *job)
{
	struct test_job *t = container_of(job, struct test_job, job);

	if (atomic_read(&t->runs) != job->n_runs)
		t->early = true;
	atomic_inc(&t->done);
}

static void job_free(struct omerta_job *job)
{
	complete(&container_of(job, struct test_job, job)->freed);
}

static struct test_job *new_job(struct kunit *test, unsigned int n_items,
				unsigned int n_runs)
{
	struct test_job *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->job.run = job_run;
	t->job.done = job_done;
	t->job.free = job_free;
	init_completion(&t->freed);
	t->n_runs = n_runs;
	omerta_job_init(&t->job, n_items, 1 + n_items);
	return t;
}

/* Have jobs done over so many CPUs, or by runs. */
static void run_jobs(struct omerta_jobs *jobs, unsigned int n_shares)
{
	struct omerta_job *job;

	local_bh_disable();
	omerta_pool_offer(&pool, jobs, n_shares);
	while ((job = omerta_jobs_pop(jobs))) {
		omerta_job_work(job);
		omerta_job_put(job);
	}
	local_bh_enable();
}

static void submit(struct test_job *t)
{
	struct omerta_jobs jobs = {};

	omerta_jobs_add(&jobs, &t->job);
	run_jobs(&jobs, t->n_runs);
}

static void finish(struct kunit *test, struct test_job *t)
{
	unsigned int i;

	omerta_job_put(&t->job);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&t->freed, 30 * HZ),
			0);
	for (i = 0; i < MAX_ITEMS; i++)
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&t->items[i]),
				    i < t->job.n_items, "item %u of %u in %u",
				    i, t->job.n_items, t->job.n_runs);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->runs), t->n_runs);
	KUNIT_EXPECT_EQ(test, t->job.n_runs, t->n_runs);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->done), 1);
	KUNIT_EXPECT_FALSE(test, t->early);
}

static void every_item_once(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(1);
	unsigned int i;

	for (i = 0; i < 300; i++) {
		unsigned int n = 1 + test_below(&rng, MAX_ITEMS);
		struct test_job *t = new_job(test, n, 1 + test_below(&rng, n));

		submit(t);
		finish(test, t);
	}
}

static void no_items(struct kunit *test)
{
	struct test_job *t = new_job(test, 0, 1);

	submit(t);
	finish(test, t);
}

/* Without helpers the submitter does all runs. */
static void no_helpers(struct kunit *test)
{
	struct test_job *t = new_job(test, 64, 8);
	struct cpumask none = {};

	omerta_pool_set_cpus(&pool, &none, false);
	submit(t);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->done), 1);
	finish(test, t);
}

/* Offer a job to all CPUs without working on it here. */
static void offer_only(struct test_job *t)
{
	struct omerta_worker *worker;
	unsigned int cpu;

	t->job.n_runs = t->n_runs;
	atomic_set(&t->job.left, t->n_runs);
	for_each_online_cpu(cpu) {
		worker = per_cpu_ptr(pool.workers, cpu);
		refcount_inc(&t->job.refs);
		if (ptr_ring_produce_bh(&worker->ring, &t->job))
			omerta_job_put(&t->job);
		kthread_queue_work(per_cpu(threads, cpu), &worker->work);
	}
}

static bool all_claimed(const struct test_job *t)
{
	unsigned long end = jiffies + 30 * HZ;

	while (atomic_read(&t->job.next) < t->job.n_runs) {
		if (time_after(jiffies, end))
			return false;
		cond_resched();
	}
	return true;
}

/* Each CPU begins a run before any has ended one. */
static void all_work(struct kunit *test)
{
	unsigned int n = num_online_cpus();
	DECLARE_COMPLETION_ONSTACK(go);
	struct test_job *t;

	if (n < 2)
		kunit_skip(test, "needs two CPUs");
	t = new_job(test, n, n);
	t->wait = &go;
	offer_only(t);
	KUNIT_EXPECT_TRUE(test, all_claimed(t));
	KUNIT_EXPECT_EQ(test, atomic_read(&t->runs), 0);
	complete_all(&go);
	finish(test, t);
}

/* If others have too much to do, nothing is lost. */
static void full_rings(struct kunit *test)
{
	unsigned int i, cpu, full = 0, n = num_online_cpus();
	DECLARE_COMPLETION_ONSTACK(go);
	struct test_job *blocker, **jobs;

	if (n < 2)
		kunit_skip(test, "needs two CPUs");
	jobs = kunit_kzalloc(test, MANY * sizeof(*jobs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, jobs);
	for (i = 0; i < MANY; i++)
		jobs[i] = new_job(test, 2 * n, 2 * n);
	blocker = new_job(test, n, n);
	blocker->wait = &go;
	offer_only(blocker);
	KUNIT_EXPECT_TRUE(test, all_claimed(blocker));

	for (i = 0; i < MANY; i++)
		submit(jobs[i]);
	for_each_online_cpu(cpu)
		full += ptr_ring_full_any(&per_cpu_ptr(pool.workers, cpu)->ring);
	KUNIT_EXPECT_LE(test, n - 1, full);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&jobs[i]->done), 1);
	complete_all(&go);
	finish(test, blocker);
	for (i = 0; i < MANY; i++)
		finish(test, jobs[i]);
}

/* Several at once stay whole, whatever their sizes are. */
static void whole_jobs(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(2);
	struct omerta_jobs jobs = {};
	struct test_job *t[32];
	unsigned int i, k, n;

	for (i = 0; i < 100; i++) {
		n = 2 + test_below(&rng, ARRAY_SIZE(t) - 1);
		for (k = 0; k < n; k++) {
			t[k] = new_job(test, test_below(&rng, MAX_ITEMS + 1), 1);
			omerta_jobs_add(&jobs, &t[k]->job);
		}
		run_jobs(&jobs, 1 + test_below(&rng, n));
		KUNIT_EXPECT_EQ(test, jobs.n, 0);
		KUNIT_EXPECT_EQ(test, jobs.bytes, 0);
		KUNIT_EXPECT_PTR_EQ(test, jobs.first, NULL);
		for (k = 0; k < n; k++)
			finish(test, t[k]);
	}
}

/* By the pool's own policy */
static void by_policy(struct kunit *test)
{
	struct omerta_jobs jobs = {};
	struct test_job *t[3];
	unsigned int n, k;
	u8 policy;

	pool.threshold = 1;
	pool.alone = false;
	for (policy = 0; policy <= OMERTA_POLICY_PERCPU; policy++) {
		pool.policy = policy;
		for (n = 0; n <= ARRAY_SIZE(t); n++) {
			for (k = 0; k < n; k++) {
				t[k] = new_job(test, 1 + 7 * k, 1);
				omerta_jobs_add(&jobs, &t[k]->job);
			}
			local_bh_disable();
			omerta_pool_run(&pool, &jobs);
			local_bh_enable();
			KUNIT_EXPECT_EQ(test, jobs.n, 0);
			KUNIT_EXPECT_EQ(test, jobs.bytes, 0);
			KUNIT_EXPECT_PTR_EQ(test, jobs.first, NULL);
			for (k = 0; k < n; k++) {
				t[k]->n_runs = t[k]->job.n_runs;
				finish(test, t[k]);
			}
		}
	}
}

/* Let @n epochs pass, with @bytes in all. */
static void pass(struct omerta_pool *p, unsigned int n, u32 bytes)
{
	per_cpu_ptr(p->workers, p->trial.epoch % 2 ? cpumask_last(cpu_possible_mask) :
		    cpumask_first(cpu_possible_mask))->bytes += bytes;
	next_epoch(p, p->trial.epoch + n, p->trial.since + NSEC_PER_MSEC);
}

/* Let @n epochs pass, with @bytes in each. */
static void pass_epochs(struct omerta_pool *p, unsigned int n, u32 bytes)
{
	while (n--)
		pass(p, 1, bytes);
}

/*
 * Let epochs pass until the pool decides whether a lone job stays on its CPU. The traffic may
 * grow by @growth bytes with each of them.
 */
static bool decide(struct omerta_pool *p, u32 bytes_alone, u32 bytes_shared, u32 growth)
{
	bool tried = false;
	unsigned int i;

	for (i = 0; i < 10000 && (!tried || p->trial.trying); i++) {
		pass(p, 1, (p->alone ? bytes_alone : bytes_shared) + i * growth);
		tried |= p->trial.trying;
	}
	return p->alone;
}

/* Catches: an automatic policy that keeps what processes less. */
static void kept_if_better(struct kunit *test)
{
	static struct omerta_pool measured;
	struct omerta_job job = { .n_items = 2 };
	struct omerta_jobs jobs = { .first = &job, .last = &job, .n = 1, .bytes = 2 };
	struct omerta_trial *trial = &measured.trial;
	unsigned long epoch;
	unsigned int i, cpu;
	bool was_alone;

	memset(&measured, 0, sizeof(measured));
	KUNIT_ASSERT_EQ(test, omerta_pool_init(&measured, NULL), 0);
	measured.policy = OMERTA_POLICY_AUTO;
	measured.threshold = 1;
	KUNIT_EXPECT_TRUE(test, measured.alone);
	KUNIT_EXPECT_EQ(test, omerta_pool_split(&measured, &jobs), 1);
	/* The payload of all CPUs counts. */
	jobs.payload = 1000;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(measured.workers, cpu)->bytes += 500;
	trial->epoch -= PAUSE_EPOCHS;
	local_bh_disable();
	omerta_pool_split(&measured, &jobs);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, trial->total, 1000UL + 500 * num_possible_cpus());
	/* A CPU that comes late changes nothing. */
	epoch = trial->epoch;
	next_epoch(&measured, trial->epoch - 1, trial->since);
	KUNIT_EXPECT_EQ(test, trial->epoch, epoch);
	/* A decision holds for a while. */
	KUNIT_EXPECT_TRUE(test, decide(&measured, 1000000, 1000000, 0));
	KUNIT_EXPECT_EQ(test, trial->ahead, AHEAD_MIN);
	/* A stream that begins gains nothing from others. */
	KUNIT_EXPECT_TRUE(test, decide(&measured, 1000000, 1000000, 1000000));
	KUNIT_EXPECT_EQ(test, trial->ahead, AHEAD_MAX);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_FALSE(test, decide(&measured, 1000000, 1500000, 0));
	/* A clear one holds longer. */
	KUNIT_EXPECT_EQ(test, trial->ahead, 4 * AHEAD_MIN);
	KUNIT_EXPECT_LE(test, trial->epoch - trial->begun, TRIAL_EPOCHS / 2);
	if (num_online_cpus() > 1)
		KUNIT_EXPECT_EQ(test, omerta_pool_split(&measured, &jobs), 2);
	/* Little traffic, too, tells which is better. */
	KUNIT_EXPECT_TRUE(test, decide(&measured, 1500, 1000, 0));
	KUNIT_EXPECT_EQ(test, omerta_pool_split(&measured, &jobs), 1);
	KUNIT_EXPECT_FALSE(test, decide(&measured, 1000, 1500, 0));
	/* A trial ends with the traffic, by the decision that was there. */
	for (i = 0; i < 1000 && !(trial->trying && measured.alone); i++)
		pass(&measured, 1, 1000);
	KUNIT_EXPECT_TRUE(test, trial->trying);
	pass(&measured, PAUSE_EPOCHS + 1, 1000);
	KUNIT_EXPECT_FALSE(test, trial->trying);
	KUNIT_EXPECT_FALSE(test, measured.alone);
	/* The next one is soon, but not sooner than after some epochs. */
	pass_epochs(&measured, START_EPOCHS - 1, 1000);
	KUNIT_EXPECT_FALSE(test, trial->trying);
	pass(&measured, 1, 1000);
	KUNIT_EXPECT_TRUE(test, trial->trying);
	while (trial->trying)
		pass(&measured, 1, 1000);
	/* Without an epoch of each way there is no result. */
	while ((trial->epoch + 1) % trial->ahead)
		pass(&measured, 1, 1000);
	KUNIT_EXPECT_FALSE(test, trial->trying);
	pass(&measured, 2, 1000);
	KUNIT_EXPECT_TRUE(test, trial->trying);
	was_alone = !measured.alone;
	trial->was_alone = was_alone;
	pass(&measured, 7, 1000);
	KUNIT_EXPECT_NE(test, measured.alone, was_alone);
	pass(&measured, 8, 1000);
	pass(&measured, 1, 1000);
	KUNIT_EXPECT_FALSE(test, trial->trying);
	KUNIT_EXPECT_EQ(test, measured.alone, was_alone);
	omerta_pool_destroy(&measured);
}

/* Catches: devices whose turns are independent, so that neither finds what both gain. */
static void found_together(struct kunit *test)
{
	static struct omerta_pool measured[2];
	unsigned int i, k;
	u32 bytes;

	memset(measured, 0, sizeof(measured));
	for (k = 0; k < 2; k++) {
		KUNIT_ASSERT_EQ(test, omerta_pool_init(&measured[k], NULL), 0);
		/* Their traffic begins at different times, and so do their decisions. */
		measured[k].trial.ahead = k ? AHEAD_MAX : AHEAD_MIN;
	}
	pass_epochs(&measured[1], 3, 1000);
	measured[0].trial.epoch = measured[1].trial.epoch;
	for (i = 0; i < 3 * AHEAD_MAX; i++) {
		/* A device that shares loses unless the other one shares, too. */
		for (k = 0, bytes = 1000; k < 2; k++)
			bytes += measured[k].alone ? 0 : 200;
		if (measured[0].alone != measured[1].alone)
			bytes = 900;
		for (k = 0; k < 2; k++)
			pass(&measured[k], 1, bytes);
	}
	for (k = 0; k < 2; k++) {
		KUNIT_EXPECT_FALSE(test, measured[k].trial.was_alone);
		omerta_pool_destroy(&measured[k]);
	}
}

static bool eventually_done(struct test_job *t)
{
	unsigned long end = jiffies + 30 * HZ;

	while (!atomic_read(&t->done)) {
		if (time_after(jiffies, end))
			return false;
		cond_resched();
	}
	return true;
}

/* Each helper processes its own group and nothing else, while the submitter does nothing. */
static void offer_groups_of(struct kunit *test, unsigned int n_groups)
{
	/* The first two are one group of two, or two of four. */
	static const unsigned int items[] = { 40, 60, 10, 50, 1, 39 };
	struct test_job *t[ARRAY_SIZE(items)];
	struct omerta_jobs jobs = {};
	struct omerta_job *job;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(items); i++) {
		t[i] = new_job(test, items[i], 1);
		t[i]->job.bytes = items[i];
		omerta_jobs_add(&jobs, &t[i]->job);
	}
	local_bh_disable();
	omerta_pool_offer(&pool, &jobs, n_groups);
	local_bh_enable();
	for (i = 2; i < ARRAY_SIZE(items); i++)
		KUNIT_EXPECT_TRUE(test, eventually_done(t[i]));
	KUNIT_EXPECT_EQ(test, atomic_read(&t[0]->job.next), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t[1]->job.next), 0);
	while ((job = omerta_jobs_pop(&jobs))) {
		omerta_job_work(job);
		omerta_job_put(job);
	}
	for (i = 0; i < ARRAY_SIZE(items); i++)
		finish(test, t[i]);
}

static void others_work(struct kunit *test)
{
	unsigned int n_groups;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (n_groups = 2; n_groups <= 4; n_groups += 2)
		offer_groups_of(test, n_groups);
}

static void lists(struct kunit *test)
{
	struct omerta_jobs a = {};
	struct test_job *t[4];
	struct omerta_job *job;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = new_job(test, i, 1);
	KUNIT_EXPECT_PTR_EQ(test, omerta_jobs_pop(&a), NULL);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		omerta_jobs_add(&a, &t[i]->job);
	KUNIT_EXPECT_EQ(test, a.n, 4);
	KUNIT_EXPECT_EQ(test, a.bytes, 1 + 2 + 3 + 4);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		job = omerta_jobs_pop(&a);
		KUNIT_EXPECT_PTR_EQ(test, job, &t[i]->job);
		omerta_job_put(&t[i]->job);
		omerta_job_put(&t[i]->job);
		KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&t[i]->freed));
	}
	KUNIT_EXPECT_PTR_EQ(test, omerta_jobs_pop(&a), NULL);
}

/* Put a CPU among those at a distance from this one, and no nearer. */
static void put_at(struct omerta_near *near, unsigned int cpu, int level)
{
	int i;

	for (i = 0; i < LEVELS; i++) {
		if (i >= level)
			cpumask_set_cpu(cpu, near->cpus[i]);
		else
			cpumask_clear_cpu(cpu, near->cpus[i]);
	}
}

/* CPUs that are nearer are asked first, whatever their numbers are. */
static void near_first(struct kunit *test)
{
	unsigned int self, cpu, cpus[3], n = 0, i;
	struct omerta_near *near;

	if (num_online_cpus() < 4)
		kunit_skip(test, "fewer than 4 CPUs");
	migrate_disable();
	self = smp_processor_id();
	near = per_cpu_ptr(&nearness, self);
	for_each_online_cpu(cpu)
		put_at(near, cpu, LEVELS);
	put_at(near, self, 0);
	for_each_cpu_wrap(cpu, cpu_online_mask, self + 1)
		if (n < 3)
			cpus[n++] = cpu;
	/* The nearest are behind the others. */
	put_at(near, cpus[0], 2);
	put_at(near, cpus[1], 1);
	put_at(near, cpus[2], 0);
	cpu = self;
	for (i = 0; i < 4; i++) {
		cpu = omerta_pool_next_cpu(&pool, cpu, false);
		KUNIT_EXPECT_EQ(test, cpu, cpus[2 - i % 3]);
	}
	KUNIT_EXPECT_EQ(test, omerta_pool_next_cpu(&pool, cpus[1], true), cpus[1]);
	/* Two at the same distance */
	put_at(near, cpus[0], 0);
	KUNIT_EXPECT_EQ(test, omerta_pool_next_cpu(&pool, self, false), cpus[0]);
	KUNIT_EXPECT_EQ(test, omerta_pool_next_cpu(&pool, cpus[0], false), cpus[2]);
	KUNIT_EXPECT_EQ(test, omerta_pool_next_cpu(&pool, cpus[2], false), cpus[1]);
	KUNIT_EXPECT_EQ(test, omerta_pool_next_cpu(&pool, cpus[1], false), cpus[0]);
	migrate_enable();
}

/* An item is processed as often as it was newly deferred, unless it is taken back before. */
static void deferrals(struct kunit *test)
{
	/* The worker may look at them after the last wait here, but not after queue_exit(). */
	struct deferral *d = kunit_kzalloc(test, 2 * sizeof(*d), GFP_KERNEL);
	struct completion *go = kunit_kzalloc(test, sizeof(*go), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, d && go);
	init_completion(go);
	for (i = 0; i < 2; i++) {
		INIT_LIST_HEAD(&d[i].item);
		init_completion(&d[i].begun);
	}
	d[0].wait = go;
	/* All go to the worker of this CPU. */
	migrate_disable();
	KUNIT_EXPECT_TRUE(test, omerta_pool_defer(&pool, &d[0].item));
	wait_for_completion(&d[0].begun);
	/* It is being processed, and can be deferred again, but not taken back. */
	KUNIT_EXPECT_FALSE(test, omerta_pool_cancel(&pool, &d[0].item));
	KUNIT_EXPECT_TRUE(test, omerta_pool_defer(&pool, &d[0].item));
	KUNIT_EXPECT_FALSE(test, omerta_pool_defer(&pool, &d[0].item));
	KUNIT_EXPECT_TRUE(test, omerta_pool_defer(&pool, &d[1].item));
	KUNIT_EXPECT_TRUE(test, omerta_pool_cancel(&pool, &d[1].item));
	KUNIT_EXPECT_FALSE(test, omerta_pool_cancel(&pool, &d[1].item));
	KUNIT_EXPECT_EQ(test, atomic_read(&d[1].runs), 0);
	KUNIT_EXPECT_TRUE(test, omerta_pool_defer(&pool, &d[1].item));
	migrate_enable();
	complete_all(go);
	wait_for_completion(&d[0].begun);
	wait_for_completion(&d[1].begun);
	/* Nothing is left. */
	omerta_pool_drain(&pool);
	KUNIT_EXPECT_EQ(test, atomic_read(&d[0].runs), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&d[1].runs), 1);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(deferrals),
	KUNIT_CASE(lists),
	KUNIT_CASE(every_item_once),
	KUNIT_CASE(no_items),
	KUNIT_CASE(no_helpers),
	KUNIT_CASE(near_first),
	KUNIT_CASE(whole_jobs),
	KUNIT_CASE(by_policy),
	KUNIT_CASE(kept_if_better),
	KUNIT_CASE(found_together),
	KUNIT_CASE(others_work),
	KUNIT_CASE(all_work),
	KUNIT_CASE(full_rings),
	{}
};

struct kunit_suite omerta_queue_suite = {
	.name = "omerta_queue",
	.init = queue_init,
	.exit = queue_exit,
	.test_cases = queue_cases,
};
