/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/omerta-bench.yaml */
/* YNL-GEN uapi header */
/* To regenerate run: Documentation/netlink/regen.sh */

#ifndef _UAPI_LINUX_OMERTA_BENCH_H
#define _UAPI_LINUX_OMERTA_BENCH_H

#define OMERTA_BENCH_FAMILY_NAME	"omerta-bench"
#define OMERTA_BENCH_FAMILY_VERSION	1

#define OMERTA_BENCH_ENGINE_LEN	63
#define OMERTA_BENCH_MAX_BYTES	67108864
#define OMERTA_BENCH_MAX_ROUNDS	100000
#define OMERTA_BENCH_MAX_LIST	16

/**
 * enum omerta_bench_direction
 * @OMERTA_BENCH_DIRECTION_BOTH: All of the payload is sealed, then opened.
 */
enum omerta_bench_direction {
	OMERTA_BENCH_DIRECTION_SEAL,
	OMERTA_BENCH_DIRECTION_OPEN,
	OMERTA_BENCH_DIRECTION_BOTH,
};

/**
 * enum omerta_bench_strategy - How workers get to work.
 * @OMERTA_BENCH_STRATEGY_INLINE: One worker, the caller.
 * @OMERTA_BENCH_STRATEGY_PERCPU: A workqueue bound to each worker's CPU.
 * @OMERTA_BENCH_STRATEGY_UNBOUND: An unbound workqueue.
 * @OMERTA_BENCH_STRATEGY_KTHREAD: A kthread worker on each worker's CPU.
 * @OMERTA_BENCH_STRATEGY_PADATA: The kernel's padata.
 * @OMERTA_BENCH_STRATEGY_NAPI: NAPI on each worker's CPU, by an interrupt.
 */
enum omerta_bench_strategy {
	OMERTA_BENCH_STRATEGY_INLINE,
	OMERTA_BENCH_STRATEGY_PERCPU,
	OMERTA_BENCH_STRATEGY_UNBOUND,
	OMERTA_BENCH_STRATEGY_KTHREAD,
	OMERTA_BENCH_STRATEGY_PADATA,
	OMERTA_BENCH_STRATEGY_NAPI,
};

/**
 * enum omerta_bench_schedule - Who does what.
 * @OMERTA_BENCH_SCHEDULE_OWN: Each worker has a payload of its own.
 * @OMERTA_BENCH_SCHEDULE_STATIC: Workers share a payload in equal parts.
 * @OMERTA_BENCH_SCHEDULE_DYNAMIC: Workers claim lists of chunks, one after the
 *   other.
 * @OMERTA_BENCH_SCHEDULE_GUIDED: Workers claim half their share of what is
 *   left.
 */
enum omerta_bench_schedule {
	OMERTA_BENCH_SCHEDULE_OWN,
	OMERTA_BENCH_SCHEDULE_STATIC,
	OMERTA_BENCH_SCHEDULE_DYNAMIC,
	OMERTA_BENCH_SCHEDULE_GUIDED,
};

enum {
	OMERTA_BENCH_A_BENCH_ENGINE = 1,
	OMERTA_BENCH_A_BENCH_CHUNK_SIZE,
	OMERTA_BENCH_A_BENCH_BYTES,
	OMERTA_BENCH_A_BENCH_DIRECTION,
	OMERTA_BENCH_A_BENCH_STRATEGY,
	OMERTA_BENCH_A_BENCH_SCHEDULE,
	OMERTA_BENCH_A_BENCH_WORKERS,
	OMERTA_BENCH_A_BENCH_ROUNDS,
	OMERTA_BENCH_A_BENCH_CPUS,
	OMERTA_BENCH_A_BENCH_WALL_NS,
	OMERTA_BENCH_A_BENCH_WORK_NS,
	OMERTA_BENCH_A_BENCH_P50_NS,
	OMERTA_BENCH_A_BENCH_P99_NS,
	OMERTA_BENCH_A_BENCH_START_P50_NS,
	OMERTA_BENCH_A_BENCH_START_P99_NS,
	OMERTA_BENCH_A_BENCH_LIST,

	__OMERTA_BENCH_A_BENCH_MAX,
	OMERTA_BENCH_A_BENCH_MAX = (__OMERTA_BENCH_A_BENCH_MAX - 1)
};

enum {
	OMERTA_BENCH_CMD_RUN = 1,
	OMERTA_BENCH_CMD_SPLIT,

	__OMERTA_BENCH_CMD_MAX,
	OMERTA_BENCH_CMD_MAX = (__OMERTA_BENCH_CMD_MAX - 1)
};

#endif /* _UAPI_LINUX_OMERTA_BENCH_H */
