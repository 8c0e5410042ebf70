// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/config.h"
#include "lib/keygen.h"
#include "lib/nl.h"
#include "cmd/print.h"
#include "lib/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef OM_VERSION
#define OM_VERSION	"0.1"
#endif

#define FIELD(o, a)	.kind = OM_OPT_FIELD, .attr = OMERTA_A_##o##_##a

static const struct om_opt link_opts[] = {
	{ "listen-port", FIELD(DEVICE, LISTEN_PORT) },
	{ "fwmark", FIELD(DEVICE, FWMARK) },
	{ "chunk-size", FIELD(DEVICE, CHUNK_SIZE) },
	{ "policy", FIELD(DEVICE, POLICY) },
	{ "percpu-threshold", FIELD(DEVICE, PERCPU_THRESHOLD) },
	{ "cpus", FIELD(DEVICE, CPUS) },
	{ "batch", FIELD(DEVICE, BATCH) },
	{ "df", FIELD(DEVICE, DF) },
	{ "engine", FIELD(DEVICE, ENGINE) },
	{ "control-rate", FIELD(DEVICE, CONTROL_RATE) },
	{ "control-source-rate", FIELD(DEVICE, CONTROL_SOURCE_RATE) },
	{ "control-share", FIELD(DEVICE, CONTROL_SHARE) },
	{ 0 }
};

#define PEER_REF	{ "peer", "id", .kind = OM_OPT_PEER, .required = true }
#define PEER_SETTINGS							\
	{ "name", FIELD(PEER, NAME) },					\
	{ "public-key", FIELD(PEER, PUBLIC_KEY) },			\
	{ "endpoint", FIELD(PEER, ENDPOINT_ADDR) },			\
	{ "keepalive", FIELD(PEER, KEEPALIVE) }

static const struct om_opt peer_add_opts[] = {
	{ "id", FIELD(PEER, ID), .required = true },
	PEER_SETTINGS,
	{ "allowed-ips", .kind = OM_OPT_PREFIXES, .slot = OM_ADD_ONLY },
	{ 0 }
};

static const struct om_opt peer_set_opts[] = {
	PEER_REF,
	PEER_SETTINGS,
	{ "allowed-ips", .kind = OM_OPT_PREFIXES },
	{ 0 }
};

static const struct om_opt peer_ref_opts[] = { PEER_REF, { 0 } };

static const struct om_opt peer_show_opts[] = {
	{ "peer", "id", .kind = OM_OPT_PEER },
	{ 0 }
};

static const struct om_opt key_add_opts[] = {
	PEER_REF,
	{ "local-id", FIELD(KEY, LOCAL_ID), .required = true },
	{ "remote-id", FIELD(KEY, REMOTE_ID), .required = true },
	{ "rx-key-file", .kind = OM_OPT_FILE, .slot = 0, .required = true },
	{ "tx-key-file", .kind = OM_OPT_FILE, .slot = 1, .required = true },
	{ "activate", FIELD(KEY, ACTIVATION) },
	{ "seal-time", FIELD(KEY, SEAL_TIME) },
	{ "open-time", FIELD(KEY, OPEN_TIME) },
	{ "soft-time", FIELD(KEY, SOFT_TIME) },
	{ "soft-records", FIELD(KEY, SOFT_RECORDS) },
	{ "soft-bytes", FIELD(KEY, SOFT_BYTES) },
	{ "hard-records", FIELD(KEY, HARD_RECORDS) },
	{ "hard-bytes", FIELD(KEY, HARD_BYTES) },
	{ "epoch", FIELD(KEY, EPOCH) },
	{ 0 }
};

static const struct om_opt key_ref_opts[] = {
	PEER_REF,
	{ "local-id", FIELD(KEY, LOCAL_ID), .required = true },
	{ 0 }
};

static const struct om_opt stats_opts[] = {
	{ "all", "-a", .kind = OM_OPT_ALL },
	{ 0 }
};

static const struct om_opt agent_opts[] = {
	{ "config", .kind = OM_OPT_FILE, .slot = 0 },
	{ 0 }
};

static const struct om_opt times_opts[] = {
	PEER_REF,
	{ "config", .kind = OM_OPT_FILE, .slot = 0 },
	{ 0 }
};

static const struct om_opt up_opts[] = {
	{ "no-agent", .kind = OM_OPT_ALL },
	{ 0 }
};

#define FIELD_OF_BENCH(a)	\
	.kind = OM_OPT_FIELD, .attr = OMERTA_BENCH_A_BENCH_##a

#define BENCH_WORK							\
	{ "engine", FIELD_OF_BENCH(ENGINE) },				\
	{ "chunk-size", FIELD_OF_BENCH(CHUNK_SIZE) },			\
	{ "bytes", FIELD_OF_BENCH(BYTES) },				\
	{ "direction", FIELD_OF_BENCH(DIRECTION) },			\
	{ "list", FIELD_OF_BENCH(LIST) }

static const struct om_opt bench_run_opts[] = {
	BENCH_WORK,
	{ "strategy", FIELD_OF_BENCH(STRATEGY) },
	{ "schedule", FIELD_OF_BENCH(SCHEDULE) },
	{ "workers", FIELD_OF_BENCH(WORKERS) },
	{ "rounds", FIELD_OF_BENCH(ROUNDS) },
	{ 0 }
};

static const struct om_opt bench_opts[] = {
	BENCH_WORK,
	{ "runs", .kind = OM_OPT_NUMBER, .slot = OM_BENCH_RUNS,
	  .max = 1000 },
	{ "time", .kind = OM_OPT_NUMBER, .slot = OM_BENCH_TIME,
	  .max = 1000 },
	{ 0 }
};

static int help(struct om_ctx *ctx, struct om_args *args);

#define LINK_USAGE \
	"[listen-port P] [fwmark M|off] [chunk-size N] [policy auto|inline|percpu] [percpu-threshold BYTES] [cpus LIST|all] [batch on|off] [df unset|set|inherit] [engine auto|lib|NAME] [control-rate N] [control-source-rate N] [control-share N]"
#define PEER_USAGE \
	"[name S] [public-key BASE64|none] [endpoint HOST:PORT] [allowed-ips LIST|@FILE] [keepalive SECS|off]"
#define LIMITS_USAGE \
	"[activate manual|now|on-first-record] [seal-time S] [open-time S] [soft-time S] [soft-records N] [soft-bytes N] [hard-records N] [hard-bytes N] [epoch N]"

#define BENCH_WORK_USAGE \
	"[engine NAME] [chunk-size N] [bytes N] [direction seal|open|both] [list N]"
#define BENCH_USAGE \
	BENCH_WORK_USAGE " [runs N] [time MS]"

const struct om_command om_commands[] = {
	{ "link", "add", { "NAME" }, &om_device_object, link_opts,
	  om_link_add, "NAME " LINK_USAGE },
	{ "link", "set", { "DEV" }, &om_device_object, link_opts,
	  om_link_set, "DEV " LINK_USAGE },
	{ "link", "del", { "DEV" }, &om_device_object, NULL,
	  om_link_del, "DEV" },
	{ "link", "show", { "[DEV]" }, &om_device_object, NULL,
	  om_link_show, "[DEV]" },
	{ "peer", "add", { "DEV" }, &om_peer_object, peer_add_opts,
	  om_peer_add, "DEV id N " PEER_USAGE },
	{ "peer", "set", { "DEV" }, &om_peer_object, peer_set_opts,
	  om_peer_set, "DEV peer N|NAME " PEER_USAGE },
	{ "peer", "del", { "DEV" }, &om_peer_object, peer_ref_opts,
	  om_peer_del, "DEV peer N|NAME" },
	{ "peer", "show", { "DEV" }, &om_peer_object, peer_show_opts,
	  om_peer_show, "DEV [peer N|NAME]" },
	{ "key", "add", { "DEV" }, &om_key_object, key_add_opts,
	  om_key_add,
	  "DEV peer N|NAME local-id X remote-id Y rx-key-file F|- tx-key-file F|- "
	  LIMITS_USAGE },
	{ "key", "activate", { "DEV" }, &om_key_object, key_ref_opts,
	  om_key_activate, "DEV peer N|NAME local-id X" },
	{ "key", "retire", { "DEV" }, &om_key_object, key_ref_opts,
	  om_key_retire, "DEV peer N|NAME local-id X" },
	{ "key", "del", { "DEV" }, &om_key_object, key_ref_opts,
	  om_key_del, "DEV peer N|NAME local-id X" },
	{ "key", "show", { "DEV" }, &om_key_object, peer_show_opts,
	  om_key_show, "DEV [peer N|NAME]" },
	{ "show", NULL, { "[DEV]" }, NULL, NULL, om_show, "[DEV]" },
	{ "dump", NULL, { "[DEV]" }, NULL, NULL, om_dump, "[DEV]" },
	{ "stats", NULL, { "[DEV]" }, NULL, stats_opts, om_stats,
	  "[DEV] [all|-a]" },
	{ "monitor", NULL, { "[DEV]" }, NULL, NULL, om_monitor, "[DEV]" },
	{ "setconf", NULL, { "DEV", "FILE" }, NULL, NULL, om_setconf,
	  "DEV FILE|-" },
	{ "syncconf", NULL, { "DEV", "FILE" }, NULL, NULL, om_syncconf,
	  "DEV FILE|-" },
	{ "showconf", NULL, { "DEV" }, NULL, NULL, om_showconf, "DEV" },
	{ "check", NULL, { "FILE" }, NULL, NULL, om_check, "FILE|-" },
	{ "up", NULL, { "CONF" }, NULL, up_opts, om_up,
	  "NAME|FILE [no-agent]" },
	{ "down", NULL, { "CONF" }, NULL, NULL, om_down, "NAME|FILE" },
	{ "agent", NULL, { "DEV" }, NULL, agent_opts, om_agent_command,
	  "DEV [config FILE]" },
	{ "times", "forget", { "DEV" }, NULL, times_opts, om_times_forget_command,
	  "DEV peer N|NAME|PUBLIC-KEY [config FILE]" },
	{ "bench", "run", { NULL }, &om_bench_object, bench_run_opts,
	  om_bench_run, BENCH_WORK_USAGE " [strategy inline|percpu|unbound|kthread|padata|napi] [schedule own|static|dynamic|guided] [workers N] [rounds N]" },
	{ "bench", "chunks", { NULL }, &om_bench_object, bench_opts,
	  om_bench_chunks, BENCH_USAGE },
	{ "bench", "curves", { NULL }, &om_bench_object, bench_opts,
	  om_bench_curves, BENCH_USAGE },
	{ "bench", "dispatch", { NULL }, &om_bench_object, bench_opts,
	  om_bench_dispatch, BENCH_USAGE },
	{ "bench", "split", { NULL }, &om_bench_object, bench_opts,
	  om_bench_split, BENCH_USAGE },
	{ "bench", "scaling", { NULL }, &om_bench_object, bench_opts,
	  om_bench_scaling, BENCH_USAGE },
	{ "genkey", NULL, { NULL }, NULL, NULL, om_genkey, "> PRIVATE" },
	{ "pubkey", NULL, { NULL }, NULL, NULL, om_pubkey,
	  "< PRIVATE > PUBLIC" },
	{ "genpsk", NULL, { NULL }, NULL, NULL, om_genpsk, "> PSK" },
	{ "gensession", NULL, { "PREFIX" }, NULL, NULL, om_gensession,
	  "PREFIX" },
	{ "help", NULL, { "[OBJECT]" }, NULL, NULL, help, "[OBJECT]" },
	{ 0 }
};

static void print_help(FILE *f, const char *object)
{
	fputs("Usage: omertactl [-j|--json] [-h] [-V] OBJECT COMMAND ...\n", f);
	for (const struct om_command *c = om_commands; c->object; c++)
		if (!object || !strncmp(c->object, object, strlen(object)))
			fprintf(f, "  omertactl %s %s\n", om_command_name(c),
				c->usage);
}

static int help(struct om_ctx *ctx, struct om_args *args)
{
	(void)ctx;
	print_help(stdout, args->pos[0]);
	return OM_OK;
}

static bool want_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) &&
	       !(term && !strcmp(term, "dumb"));
}

/* Parse the options before the object. Returns their number, or -1 if nothing is left to do. */
static int global_options(int argc, char **argv, struct om_ctx *ctx, int *rc)
{
	int n = 0;

	*rc = OM_OK;
	for (; n < argc && argv[n][0] == '-'; n++) {
		if (!strcmp(argv[n], "-j") || !strcmp(argv[n], "--json")) {
			ctx->json = true;
		} else if (!strcmp(argv[n], "-h") ||
			   !strcmp(argv[n], "--help")) {
			print_help(stdout, NULL);
			return -1;
		} else if (!strcmp(argv[n], "-V") ||
			   !strcmp(argv[n], "--version")) {
			puts(om_have_kem ? "omertactl " OM_VERSION " (with ML-KEM-768)" :
					     "omertactl " OM_VERSION);
			return -1;
		} else {
			*rc = om_err(&ctx->err, OM_USAGE,
				     "%s: unknown option, see omertactl -h",
				     OM_QUOTE(argv[n]));
			return -1;
		}
	}
	return n;
}

static int run(struct om_ctx *ctx, int argc, char **argv)
{
	const struct om_command *cmd;
	struct om_args args;
	int used, rc;

	rc = om_command_find(om_commands, argc, argv, &cmd, &used, &ctx->err);
	if (rc)
		return rc;
	rc = om_args_parse(cmd, argc - used, argv + used, &args, &ctx->err);
	if (!rc) {
		rc = cmd->run(ctx, &args);
		om_args_free(&args);
	}
	if (rc)
		om_err_prefix(&ctx->err, "%s", om_command_name(cmd));
	return rc;
}

int om_main(int argc, char **argv)
{
	struct om_ctx ctx = { 0 };
	int n, rc;

	n = global_options(argc - 1, argv + 1, &ctx, &rc);
	argc -= n + 1;
	argv += n + 1;
	if (n >= 0 && argc && !strcmp(argv[0], "__complete")) {
		om_args_complete(om_commands, argc - 1, argv + 1);
	} else if (n >= 0) {
		om_print_init(ctx.json, !ctx.json && want_colour());
		ctx.nl = om_nl_new();
		rc = om_keygen_init(&ctx.err);
		if (!rc)
			rc = run(&ctx, argc, argv);
		om_nl_free(ctx.nl);
	}
	if (rc)
		om_complain(ctx.err.text);
	if (fflush(stdout) && !rc)
		rc = OM_SYSTEM;
	return rc;
}
