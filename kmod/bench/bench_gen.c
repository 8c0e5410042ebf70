// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/omerta-bench.yaml */
/* YNL-GEN kernel source */
/* To regenerate run: Documentation/netlink/regen.sh */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "bench_gen.h"

#include <uapi/linux/omerta_bench.h>

/* Integer value ranges */
static const struct netlink_range_validation omerta_bench_a_bench_chunk_size_range = {
	.min	= 1ULL,
	.max	= OMERTA_BENCH_MAX_BYTES,
};

static const struct netlink_range_validation omerta_bench_a_bench_bytes_range = {
	.min	= 1ULL,
	.max	= OMERTA_BENCH_MAX_BYTES,
};

static const struct netlink_range_validation omerta_bench_a_bench_rounds_range = {
	.min	= 1ULL,
	.max	= OMERTA_BENCH_MAX_ROUNDS,
};

/* OMERTA_BENCH_CMD_RUN - do */
static const struct nla_policy omerta_bench_run_nl_policy[OMERTA_BENCH_A_BENCH_LIST + 1] = {
	[OMERTA_BENCH_A_BENCH_ENGINE] = { .type = NLA_NUL_STRING, .len = OMERTA_BENCH_ENGINE_LEN, },
	[OMERTA_BENCH_A_BENCH_CHUNK_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_bench_a_bench_chunk_size_range),
	[OMERTA_BENCH_A_BENCH_BYTES] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_bench_a_bench_bytes_range),
	[OMERTA_BENCH_A_BENCH_DIRECTION] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_BENCH_A_BENCH_STRATEGY] = NLA_POLICY_MAX(NLA_U32, 5),
	[OMERTA_BENCH_A_BENCH_SCHEDULE] = NLA_POLICY_MAX(NLA_U32, 3),
	[OMERTA_BENCH_A_BENCH_WORKERS] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_BENCH_A_BENCH_ROUNDS] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_bench_a_bench_rounds_range),
	[OMERTA_BENCH_A_BENCH_LIST] = NLA_POLICY_RANGE(NLA_U32, 1, OMERTA_BENCH_MAX_LIST),
};

/* OMERTA_BENCH_CMD_SPLIT - do */
static const struct nla_policy omerta_bench_split_nl_policy[OMERTA_BENCH_A_BENCH_LIST + 1] = {
	[OMERTA_BENCH_A_BENCH_ENGINE] = { .type = NLA_NUL_STRING, .len = OMERTA_BENCH_ENGINE_LEN, },
	[OMERTA_BENCH_A_BENCH_CHUNK_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_bench_a_bench_chunk_size_range),
	[OMERTA_BENCH_A_BENCH_BYTES] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_bench_a_bench_bytes_range),
	[OMERTA_BENCH_A_BENCH_DIRECTION] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_BENCH_A_BENCH_STRATEGY] = NLA_POLICY_MAX(NLA_U32, 5),
	[OMERTA_BENCH_A_BENCH_ROUNDS] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_bench_a_bench_rounds_range),
	[OMERTA_BENCH_A_BENCH_LIST] = NLA_POLICY_RANGE(NLA_U32, 1, OMERTA_BENCH_MAX_LIST),
};

/* Ops table for omerta_bench */
static const struct genl_split_ops omerta_bench_nl_ops[] = {
	{
		.cmd		= OMERTA_BENCH_CMD_RUN,
		.doit		= omerta_bench_nl_run_doit,
		.policy		= omerta_bench_run_nl_policy,
		.maxattr	= OMERTA_BENCH_A_BENCH_LIST,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_BENCH_CMD_SPLIT,
		.doit		= omerta_bench_nl_split_doit,
		.policy		= omerta_bench_split_nl_policy,
		.maxattr	= OMERTA_BENCH_A_BENCH_LIST,
		.flags		= GENL_CMD_CAP_DO,
	},
};

struct genl_family omerta_bench_nl_family __ro_after_init = {
	.name		= OMERTA_BENCH_FAMILY_NAME,
	.version	= OMERTA_BENCH_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= omerta_bench_nl_ops,
	.n_split_ops	= ARRAY_SIZE(omerta_bench_nl_ops),
};
