/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PAYLOAD_H
#define _OMERTA_PAYLOAD_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <uapi/linux/omerta_bench.h>

#include "crypto/chunk.h"

/**
 * struct payload_task - the work on a payload
 * @engine: engine that seals and opens; NULL for the library
 * @copy: only copy, without a cipher
 * @chunk_size: bytes of each chunk but the last, which may be shorter
 * @list: chunks that are sealed or opened at a time, at most OMERTA_CHUNK_LIST
 * @bytes: size of the payload
 * @direction: seal, open or both
 */
struct payload_task {
	const struct omerta_engine *engine;
	bool copy;
	u32 chunk_size;
	u32 list;
	u32 bytes;
	enum omerta_bench_direction direction;
};

/**
 * struct limit - deadline of a benchmark, shared by its workers
 * @deadline: ktime_get_ns() at which they stop
 * @stop: the deadline has passed, or a signal came
 */
struct limit {
	u64 deadline;
	bool stop;
};

/**
 * struct pace - progress of one worker towards a limit
 * @limit: the limit
 * @sleeps: the worker may sleep, and stops at a signal
 * @bytes: work since it last looked at the clock
 */
struct pace {
	struct limit *limit;
	bool sleeps;
	size_t bytes;
};

/**
 * struct payload - memory to work on
 * @task: the work
 * @plain: plaintext
 * @sealed: ciphertexts and tags, chunk by chunk
 * @secret: the key
 */
struct payload {
	const struct payload_task *task;
	u8 *plain;
	u8 *sealed;
	u8 secret[OMERTA_SECRET_LEN];
};

/* Return true if limit_over() has returned true for any worker. */
static inline bool limit_reached(const struct limit *limit)
{
	return READ_ONCE(limit->stop);
}

bool limit_over(struct limit *limit, bool sleeps);
int payload_alloc(struct payload *p, const struct payload_task *task,
		  struct limit *limit);
void payload_free(struct payload *p);
u32 payload_chunks(const struct payload *p);
u32 payload_work(struct payload *p, u32 first, u32 end, struct pace *pace);

#endif /* _OMERTA_PAYLOAD_H */
