// SPDX-License-Identifier: GPL-2.0
/*
 * The work that is measured: seal a payload chunk by chunk from one buffer to another,
 * and open it back.
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

/* Bytes of work between two looks at the clock; each chunk counts OMERTA_CHUNK_MIN more. */
#define LOOK_AFTER	(512 * 1024)

/**
 * payload_chunks() - count the chunks of a payload
 * @p: the payload
 *
 * Return: number of chunks.
 */
u32 payload_chunks(const struct payload *p)
{
	return DIV_ROUND_UP(p->task->bytes, p->task->chunk_size);
}

/* Fill @list with the chunks from @first on, and return their number. */
static unsigned int make_list(const struct payload *p, u32 first, u32 end,
			      struct omerta_chunk *list)
{
	const struct payload_task *task = p->task;
	unsigned int i, n = min(end - first, task->list);

	for (i = 0; i < n; i++) {
		size_t at = (size_t)(first + i) * task->chunk_size;

		list[i].plain = p->plain + at;
		list[i].sealed = p->sealed + at +
				 (size_t)(first + i) * OMERTA_TAG_LEN;
		list[i].len = min_t(size_t, task->chunk_size, task->bytes - at);
		/* One record per chunk: a bad chunk does not fail the others. */
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
 * limit_over() - look at the clock
 * @limit: the limit
 * @sleeps: true if the caller may sleep; then this reschedules if needed, and a pending
 *	    signal ends the work, too
 *
 * Return: true if it is time to stop, for all that share the limit.
 */
bool limit_over(struct limit *limit, bool sleeps)
{
	if (sleeps)
		cond_resched();
	if (ktime_get_ns() > limit->deadline || (sleeps && signal_pending(current)))
		WRITE_ONCE(limit->stop, true);
	return limit_reached(limit);
}

/* Account @bytes of work, and look at the clock now and then. */
static void keep_pace(struct pace *pace, size_t bytes)
{
	pace->bytes += bytes;
	if (pace->bytes <= LOOK_AFTER)
		return;
	pace->bytes = 0;
	limit_over(pace->limit, pace->sleeps);
}

/* Seal or open the chunks @first to @end - 1; return how many succeeded. */
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
 * @end: number of the last chunk, plus 1
 * @pace: the caller's progress towards its limit, kept from call to call
 *
 * Context: any but hard interrupt.
 * Return: number of chunks that succeeded; fewer if it is time to stop.
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
 * @p: the payload; it may have no memory
 */
void payload_free(struct payload *p)
{
	kvfree(p->plain);
	kvfree(p->sealed);
	p->plain = NULL;
	p->sealed = NULL;
}

/**
 * payload_alloc() - allocate a payload's memory, and seal it once
 * @p: the payload
 * @task: the work it is for; must stay valid as long as the payload
 * @limit: deadline
 *
 * Context: process context.
 * Return: 0, -ENOMEM, -EINTR after a signal, or -ETIME after the deadline.
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
