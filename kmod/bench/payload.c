// SPDX-License-Identifier: GPL-2.0
/*
 * What is measured: a payload in memory, chunk by chunk sealed from one place to
 * another and opened back.
 */
#include "payload.h"

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

/* Bytes of work, a chunk as one of twice its size at least */
#define LOOK_AFTER	(512 * 1024)

/**
 * payload_chunks() - how many chunks a payload has
 * @p: the payload
 *
 * Return: their number.
 */
u32 payload_chunks(const struct payload *p)
{
	return DIV_ROUND_UP(p->task->bytes, p->task->chunk_size);
}

/* The chunks from @first on; returns how many, as the list has room. */
static unsigned int make_list(const struct payload *p, u32 first, u32 end,
			      struct omerta_chunk *list)
{
	const struct payload_task *task = p->task;
	unsigned int i, n = min_t(u32, end - first, OMERTA_CHUNK_LIST);

	for (i = 0; i < n; i++) {
		size_t at = (size_t)(first + i) * task->chunk_size;

		list[i].plain = p->plain + at;
		list[i].sealed = p->sealed + at +
				 (size_t)(first + i) * OMERTA_TAG_LEN;
		list[i].len = min_t(size_t, task->chunk_size, task->bytes - at);
		/* Each a record: what one is worth does not depend on others. */
		list[i].nonce = OMERTA_NONCE(first + i, 0, true);
	}
	return n;
}

static void copy(const struct omerta_chunk *list, unsigned int n, bool back)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		memcpy(back ? list[i].plain : list[i].sealed,
		       back ? list[i].sealed : list[i].plain, list[i].len);
}

/**
 * limit_over() - whether it is time to stop
 * @limit: the limit
 * @sleeps: whether we may be scheduled away, which this does, and stop at a signal
 *
 * Return: true if it is, for all that have the limit.
 */
bool limit_over(struct limit *limit, bool sleeps)
{
	if (sleeps)
		cond_resched();
	if (ktime_get_ns() > limit->deadline || (sleeps && signal_pending(current)))
		WRITE_ONCE(limit->stop, true);
	return limit_reached(limit);
}

/* So much has been worked on: perhaps it is time to look at the clock. */
static void keep_pace(struct pace *pace, size_t bytes)
{
	pace->bytes += bytes;
	if (pace->bytes <= LOOK_AFTER)
		return;
	pace->bytes = 0;
	limit_over(pace->limit, pace->sleeps);
}

/* Returns how many chunks that was well done with. */
static u32 work_one_way(struct payload *p, u32 first, u32 end, bool open,
			struct pace *pace)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	const struct payload_task *task = p->task;
	unsigned int n;
	u32 done = 0;

	for (; first < end && !limit_reached(pace->limit); first += n) {
		n = make_list(p, first, end, list);
		if (task->copy)
			copy(list, n, open);
		else if (!open)
			omerta_chunk_seal(task->engine, list, n, p->secret);
		else if (omerta_chunk_open(task->engine, list, n, p->secret) !=
			 OMERTA_CHUNK_ALL(n))
			break;
		done += n;
		keep_pace(pace, (size_t)n * (task->chunk_size + OMERTA_CHUNK_MIN));
	}
	return done;
}

/**
 * payload_work() - work on chunks of a payload
 * @p: the payload
 * @first: number of the first chunk
 * @end: number of the one behind the last
 * @pace: how the caller keeps to a limit; with him from one call to the next
 *
 * Context: any but hard interrupt.
 * Return: how many chunks that was well done with; fewer if it is time to stop.
 */
u32 payload_work(struct payload *p, u32 first, u32 end, struct pace *pace)
{
	u32 done = end - first;

	if (p->task->direction != OMERTA_BENCH_DIRECTION_OPEN)
		done = work_one_way(p, first, end, false, pace);
	if (p->task->direction != OMERTA_BENCH_DIRECTION_SEAL)
		done = min(done, work_one_way(p, first, end, true, pace));
	return done;
}

/**
 * payload_free() - free a payload's memory
 * @p: the payload, perhaps without memory
 */
void payload_free(struct payload *p)
{
	kvfree(p->plain);
	kvfree(p->sealed);
	p->plain = NULL;
	p->sealed = NULL;
}

/**
 * payload_alloc() - give a payload memory, and seal it
 * @p: the payload
 * @task: what is to be done with it
 * @limit: when to stop
 *
 * Context: process context.
 * Return: 0, -ENOMEM, or, if it was time to stop, -EINTR or -ETIME.
 */
int payload_alloc(struct payload *p, const struct payload_task *task,
		  struct limit *limit)
{
	struct pace pace = { .limit = limit, .sleeps = true };
	size_t tags;

	p->task = task;
	tags = (size_t)payload_chunks(p) * OMERTA_TAG_LEN;
	p->plain = kvzalloc(task->bytes, GFP_KERNEL);
	p->sealed = kvzalloc(task->bytes + tags, GFP_KERNEL);
	if (!p->plain || !p->sealed) {
		payload_free(p);
		return -ENOMEM;
	}
	memset(p->secret, 1, sizeof(p->secret));
	if (work_one_way(p, 0, payload_chunks(p), false, &pace) == payload_chunks(p))
		return 0;
	payload_free(p);
	return signal_pending(current) ? -EINTR : -ETIME;
}
