/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/omerta-bench.yaml */
/* YNL-GEN kernel header */
/* To regenerate run: Documentation/netlink/regen.sh */

#ifndef _LINUX_OMERTA_BENCH_GEN_H
#define _LINUX_OMERTA_BENCH_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/omerta_bench.h>

int omerta_bench_nl_run_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_bench_nl_split_doit(struct sk_buff *skb, struct genl_info *info);

extern struct genl_family omerta_bench_nl_family;

#endif /* _LINUX_OMERTA_BENCH_GEN_H */
