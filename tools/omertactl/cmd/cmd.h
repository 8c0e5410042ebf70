/* SPDX-License-Identifier: GPL-2.0 */
/* The commands. Each returns an exit status and leaves its error in the context. */
#ifndef OM_CMD_H
#define OM_CMD_H

#include "cmd/args.h"

struct om_nl;

struct om_ctx {
	struct om_nl *nl;
	bool json;
	struct om_err err;
};

extern const struct om_command om_commands[];

/*
 * Print the arguments of a command and an example; without @verb or @object, a list of the
 * commands of the object, or of all.
 */
void om_print_help(const char *object, const char *verb);

/* The whole tool, as a function for tests */
int om_main(int argc, char **argv);

int om_link_add(struct om_ctx *ctx, struct om_args *args);
int om_link_set(struct om_ctx *ctx, struct om_args *args);
int om_link_del(struct om_ctx *ctx, struct om_args *args);
int om_link_show(struct om_ctx *ctx, struct om_args *args);

int om_peer_add(struct om_ctx *ctx, struct om_args *args);
int om_peer_set(struct om_ctx *ctx, struct om_args *args);
int om_peer_del(struct om_ctx *ctx, struct om_args *args);
int om_peer_show(struct om_ctx *ctx, struct om_args *args);

int om_key_add(struct om_ctx *ctx, struct om_args *args);
int om_key_activate(struct om_ctx *ctx, struct om_args *args);
int om_key_retire(struct om_ctx *ctx, struct om_args *args);
int om_key_del(struct om_ctx *ctx, struct om_args *args);
int om_key_show(struct om_ctx *ctx, struct om_args *args);

/* Fields of "show" for scripts */
#define OM_SHOW_FIELDS \
	"listen-port|fwmark|peers|endpoints|allowed-ips|latest-handshakes|transfer|persistent-keepalive"

/* Numbers of the options "every", in seconds, and "count" */
#define OM_EVERY	0
#define OM_COUNT	1

int om_show(struct om_ctx *ctx, struct om_args *args);
int om_dump(struct om_ctx *ctx, struct om_args *args);
int om_stats(struct om_ctx *ctx, struct om_args *args);
int om_top(struct om_ctx *ctx, struct om_args *args);
/* "stats" with the word "watch" */
int om_stats_watch(struct om_ctx *ctx, struct om_args *args);
int om_metrics(struct om_ctx *ctx, struct om_args *args);
int om_monitor(struct om_ctx *ctx, struct om_args *args);

int om_setconf(struct om_ctx *ctx, struct om_args *args);
int om_syncconf(struct om_ctx *ctx, struct om_args *args);
int om_showconf(struct om_ctx *ctx, struct om_args *args);
int om_save(struct om_ctx *ctx, struct om_args *args);
int om_import(struct om_ctx *ctx, struct om_args *args);
int om_check(struct om_ctx *ctx, struct om_args *args);

/* Folder of configuration files, for devices given by name only */
#define OM_CONFIG_DIR	"/etc/omerta"

int om_up(struct om_ctx *ctx, struct om_args *args);
int om_down(struct om_ctx *ctx, struct om_args *args);
int om_reload(struct om_ctx *ctx, struct om_args *args);
int om_agent_command(struct om_ctx *ctx, struct om_args *args);
int om_times_forget_command(struct om_ctx *ctx, struct om_args *args);

/* Numbers of the options "runs" and "time" */
#define OM_BENCH_RUNS	0
#define OM_BENCH_TIME	1

int om_bench_run(struct om_ctx *ctx, struct om_args *args);
int om_bench_chunks(struct om_ctx *ctx, struct om_args *args);
int om_bench_curves(struct om_ctx *ctx, struct om_args *args);
int om_bench_dispatch(struct om_ctx *ctx, struct om_args *args);
int om_bench_split(struct om_ctx *ctx, struct om_args *args);
int om_bench_scaling(struct om_ctx *ctx, struct om_args *args);

int om_genkey(struct om_ctx *ctx, struct om_args *args);
int om_pubkey(struct om_ctx *ctx, struct om_args *args);
int om_genpsk(struct om_ctx *ctx, struct om_args *args);
int om_gensession(struct om_ctx *ctx, struct om_args *args);

int om_help(struct om_ctx *ctx, struct om_args *args);

#endif
