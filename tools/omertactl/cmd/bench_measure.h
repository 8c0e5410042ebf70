/* SPDX-License-Identifier: GPL-2.0 */
/* Measurements by the kernel, interleaved, and their results */
#ifndef OM_BENCH_H
#define OM_BENCH_H

#include "cmd/cmd.h"

struct om_bench_case {
	struct om_bench req;	/* @rounds is chosen by om_bench_measure() */
	int cmd;		/* OMERTA_BENCH_CMD_... */
	/* Nanoseconds per round; median over all runs, except @min and @max */
	uint64_t min, median, max;
	uint64_t work;		/* time of one worker */
	uint64_t p99;
	uint64_t start_p50, start_p99;
};

/*
 * Measure every case @runs times for about @time milliseconds. The cases are interleaved, so
 * that disturbances affect all. Cases that this machine does not support are removed from
 * the list. Shows progress on a terminal.
 */
int om_bench_measure(struct om_ctx *ctx, struct om_list *cases, uint32_t runs,
		     uint32_t time);

/* Print all results as a JSON array of objects. */
void om_bench_json(const struct om_list *cases);

#endif
