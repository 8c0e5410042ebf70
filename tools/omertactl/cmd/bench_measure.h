/* SPDX-License-Identifier: GPL-2.0 */
/* Measurements by the kernel, repeated in turns, and what came out. */
#ifndef OM_BENCH_H
#define OM_BENCH_H

#include "cmd/cmd.h"

struct om_bench_case {
	struct om_bench req;	/* @rounds are found out */
	int cmd;		/* OMERTA_BENCH_CMD_... */
	/* Nanoseconds for a round; of runs, the medians but for the first and last */
	uint64_t min, median, max;
	uint64_t work;		/* a worker's */
	uint64_t p99;
	uint64_t start_p50, start_p99;
};

/*
 * Measure every case @runs times for about @time milliseconds, all of them in turns,
 * so that what disturbs one disturbs them all. Cases that this machine cannot do leave
 * the list. Shows progress on a terminal.
 */
int om_bench_measure(struct om_ctx *ctx, struct om_list *cases, uint32_t runs,
		     uint32_t time);

/* All that is known of the cases, as an array of objects */
void om_bench_json(const struct om_list *cases);

#endif
