/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PAYLOAD_H
#define _OMERTA_PAYLOAD_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <uapi/linux/omerta_bench.h>

#include "crypto/chunk.h"

/**
 * struct payload_task - what is to be done with a payload
 * @engine: seals and opens; NULL for the library
 * @copy: only copy, without a cipher
 * @chunk_size: bytes of a chunk; the last may have fewer
 * @bytes: of the payload
 * @direction: whether it is sealed, opened or both
 */
struct payload_task {
	const struct omerta_engine *engine;
	bool copy;
	u32 chunk_size;
	u32 bytes;
	enum omerta_bench_direction direction;
};

/**
 * struct limit - when those at work are to stop
 * @deadline: in the nanoseconds of ktime_get_ns()
 * @stop: now
 */
struct limit {
	u64 deadline;
	bool stop;
};

/**
 * struct pace - how someone keeps to a limit
 * @limit: the limit
 * @sleeps: whether he may be scheduled away, and should stop at a signal
 * @bytes: that he has worked on since he looked
 */
struct pace {
	struct limit *limit;
	bool sleeps;
	size_t bytes;
};

/**
 * struct payload - memory to work on
 * @task: what is to be done
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

/* Whether somebody has found it to be over */
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
