// SPDX-License-Identifier: GPL-2.0
/*
 * Workers that process payloads at the same time, each a payload of its own or all the same
 */
#include "workers.h"

#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat/compat.h"

/* Claim chunks of the shared payload; false if none are left. */
static bool claim(struct worker *worker, u32 *first, u32 *end)
{
	struct workers *w = worker->all;
	u32 chunks = payload_chunks(w->shared), n;
	int next = atomic_read(&w->next);

	switch (w->schedule) {
	case OMERTA_BENCH_SCHEDULE_STATIC:
		/* One share per worker */
		if (*end)
			return false;
		n = chunks - w->first;
		*first = w->first + div_u64((u64)n * worker->index, w->n);
		*end = w->first + div_u64((u64)n * (worker->index + 1), w->n);
		return *first < *end;
	case OMERTA_BENCH_SCHEDULE_DYNAMIC:
		n = OMERTA_CHUNK_LIST;
		next = atomic_fetch_add(n, &w->next);
		break;
	default:
		do {
			if (next >= chunks)
				return false;
			n = max_t(u32, (chunks - next) / (2 * w->n),
				  OMERTA_CHUNK_LIST);
		} while (!atomic_try_cmpxchg(&w->next, &next, next + n));
	}
	*first = next;
	*end = min(next + n, chunks);
	return *first < *end;
}

/**
 * worker_work() - do a worker's share
 * @worker: the worker
 *
 * Context: depends on the strategy; never hard interrupt.
 */
void worker_work(struct worker *worker)
{
	struct workers *w = worker->all;
	struct pace *pace = &worker->pace;
	u32 first = 0, end = 0, i;

	worker->begun = ktime_get_ns();
	if (w->schedule != OMERTA_BENCH_SCHEDULE_OWN) {
		while (!limit_reached(w->limit) && claim(worker, &first, &end))
			worker->chunks += payload_work(w->shared, first, end, pace);
	} else {
		for (i = 0; i < w->rounds && !limit_over(w->limit, pace->sleeps); i++) {
			end = payload_chunks(&worker->own);
			worker->chunks += payload_work(&worker->own, 0, end, pace);
		}
	}
	worker->ns += ktime_get_ns() - worker->begun;
}

/**
 * worker_done() - report that a worker is done
 * @worker: the worker
 *
 * Context: any.
 */
void worker_done(struct worker *worker)
{
	if (atomic_dec_and_test(&worker->all->left))
		complete(&worker->all->done);
}

/**
 * workers_free() - free workers
 * @w: workers from workers_new(), all idle
 *
 * Context: process context, free to migrate, as workers_new().
 */
void workers_free(struct workers *w)
{
	unsigned int i;

	w->strategy->release(w);
	for (i = 0; i < w->n; i++)
		payload_free(&w->worker[i].own);
	kvfree(w);
}

/**
 * workers_new() - allocate workers
 * @strategy: their dispatch
 * @n: number of workers
 * @cpu: CPU of the first; each other gets the next one
 * @limit: their deadline; owned by the caller, and used until they are freed
 *
 * The workers have no payload yet.
 *
 * Context: process context, free to migrate: this waits for CPU hotplug, which waits for
 * tasks that cannot migrate.
 * Return: the workers, or an ERR_PTR().
 */
struct workers *workers_new(const struct strategy *strategy, unsigned int n,
			    unsigned int cpu, struct limit *limit)
{
	struct workers *w = kvzalloc(struct_size(w, worker, n), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!w)
		return ERR_PTR(-ENOMEM);
	w->strategy = strategy;
	w->limit = limit;
	w->n = n;
	init_completion(&w->done);
	for (i = 0; i < n; i++) {
		w->worker[i].all = w;
		w->worker[i].index = i;
		w->worker[i].cpu = cpu;
		w->worker[i].pace.limit = limit;
		w->worker[i].pace.sleeps = strategy->sleeps;
		cpu = cpu_after(cpu);
	}
	err = strategy->prepare(w);
	if (!err)
		return w;
	workers_free(w);
	return ERR_PTR(err);
}

/**
 * workers_begin() - start all workers
 * @w: the workers, all idle
 *
 * Context: process context.
 */
void workers_begin(struct workers *w)
{
	unsigned int i;

	reinit_completion(&w->done);
	atomic_set(&w->next, w->first);
	/* Workers that start see all writes before this. */
	atomic_set_release(&w->left, w->n);
	for (i = 0; i < w->n; i++) {
		int err = w->strategy->start(&w->worker[i]);

		if (!err)
			continue;
		w->err = err;
		worker_done(&w->worker[i]);
	}
}

/**
 * workers_run() - start all workers, and wait for them
 * @w: the workers
 * @wall: the time until all were done is added to it, nanoseconds
 *
 * Context: process context.
 * Return: 0; -EINTR after a signal, which ends the work early; or the error of a worker
 * that could not start.
 */
int workers_run(struct workers *w, u64 *wall)
{
	u64 start = ktime_get_ns();
	bool interrupted;

	workers_begin(w);
	interrupted = wait_for_completion_interruptible(&w->done);
	if (interrupted) {
		WRITE_ONCE(w->limit->stop, true);
		wait_for_completion(&w->done);
	}
	*wall += ktime_get_ns() - start;
	return interrupted ? -EINTR : w->err;
}

/**
 * workers_chunks() - sum up the work
 * @w: the workers, all idle
 *
 * Return: number of chunks that succeeded, over all rounds.
 */
u64 workers_chunks(const struct workers *w)
{
	unsigned int i;
	u64 chunks = 0;

	for (i = 0; i < w->n; i++)
		chunks += w->worker[i].chunks;
	return chunks;
}
