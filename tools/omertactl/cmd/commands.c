// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
	{ "channels", FIELD(DEVICE, CHANNELS) },
	{ "channel-port", FIELD(DEVICE, CHANNEL_PORT) },
	{ 0 }
};

#define PEER_REF	{ "peer", "id", .kind = OM_OPT_PEER, .required = true }
#define PEER_SETTINGS							\
	{ "name", FIELD(PEER, NAME) },					\
	{ "public-key", FIELD(PEER, PUBLIC_KEY) },			\
	{ "endpoint", FIELD(PEER, ENDPOINT_ADDR) },			\
	{ "keepalive", FIELD(PEER, KEEPALIVE) },				\
	{ "channels", FIELD(PEER, CHANNELS) }

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
	{ "channel", FIELD(KEY, CHANNEL) },
	{ 0 }
};

static const struct om_opt key_ref_opts[] = {
	PEER_REF,
	{ "local-id", FIELD(KEY, LOCAL_ID), .required = true },
	{ 0 }
};

#define INTERVAL							\
	{ "every", .kind = OM_OPT_NUMBER, .slot = OM_EVERY, .max = 86400 },	\
	{ "count", .kind = OM_OPT_NUMBER, .slot = OM_COUNT, .max = UINT32_MAX }

static const struct om_opt stats_opts[] = {
	{ "all", "-a", .kind = OM_OPT_ALL },
	{ "watch", "--watch", .kind = OM_OPT_ALL, .slot = OM_WATCH },
	INTERVAL,
	{ 0 }
};

static const struct om_opt top_opts[] = { INTERVAL, { 0 } };

static const struct om_opt metrics_opts[] = {
	{ "openmetrics", .kind = OM_OPT_ALL },
	{ 0 }
};

static const struct om_opt agent_opts[] = {
	{ "config", .kind = OM_OPT_FILE, .slot = 0 },
	{ "verbose", "--verbose", .kind = OM_OPT_ALL },
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

#define PEER_WORD	"N|NAME|PUBLIC-KEY"
#define LINK_USAGE \
	"[listen-port P] [fwmark M|off] [chunk-size N] [policy auto|inline|percpu] [percpu-threshold BYTES] [cpus LIST|all] [batch on|off] [df unset|set|inherit] [engine auto|lib|NAME] [control-rate N] [control-source-rate N] [control-share N] [channels N] [channel-port P]"
#define PEER_USAGE \
	"[name S] [public-key BASE64|none] [endpoint HOST:PORT] [allowed-ips LIST|@FILE] [keepalive SECS|off] [channels N]"
#define LIMITS_USAGE \
	"[activate manual|now|on-first-record] [seal-time S] [open-time S] [soft-time S] [soft-records N] [soft-bytes N] [hard-records N] [hard-bytes N] [epoch N] [channel N]"

#define BENCH_WORK_USAGE \
	"[engine NAME] [chunk-size N] [bytes N] [direction seal|open|both] [list N]"
#define BENCH_USAGE \
	BENCH_WORK_USAGE " [runs N] [time MS]"

const struct om_command om_commands[] = {
	{ "link", "add", { "NAME" }, &om_device_object, link_opts, om_link_add,
	  "NAME " LINK_USAGE, .summary = "create a device",
	  .example = "omr0 listen-port 51900" },
	{ "link", "set", { "DEV" }, &om_device_object, link_opts, om_link_set,
	  "DEV " LINK_USAGE, .summary = "change settings of a device",
	  .example = "omr0 policy inline" },
	{ "link", "del", { "DEV" }, &om_device_object, NULL, om_link_del,
	  "DEV", .summary = "delete a device with its peers and keys",
	  .example = "omr0" },
	{ "link", "show", { "[DEV]" }, &om_device_object, NULL, om_link_show,
	  "[DEV]", .summary = "print the settings of devices",
	  .example = "omr0", .reads = true },
	{ "peer", "add", { "DEV" }, &om_peer_object, peer_add_opts, om_peer_add,
	  "DEV id N " PEER_USAGE, .summary = "add a peer",
	  .example = "omr0 id 1 name b endpoint 192.0.2.2:51900 allowed-ips 10.9.0.2/32" },
	{ "peer", "set", { "DEV" }, &om_peer_object, peer_set_opts, om_peer_set,
	  "DEV peer " PEER_WORD " " PEER_USAGE, .summary = "change settings of a peer",
	  .example = "omr0 peer b keepalive 25" },
	{ "peer", "del", { "DEV" }, &om_peer_object, peer_ref_opts, om_peer_del,
	  "DEV peer " PEER_WORD, .summary = "delete a peer with its prefixes and keys",
	  .example = "omr0 peer b" },
	{ "peer", "show", { "DEV" }, &om_peer_object, peer_show_opts, om_peer_show,
	  "DEV [peer " PEER_WORD "]", .summary = "print the settings of peers",
	  .example = "omr0 peer b", .reads = true },
	{ "key", "add", { "DEV" }, &om_key_object, key_add_opts, om_key_add,
	  "DEV peer " PEER_WORD
	  " local-id X remote-id Y rx-key-file F|- tx-key-file F|- " LIMITS_USAGE,
	  .summary = "install a session key by hand",
	  .example = "omr0 peer b local-id 0x11 remote-id 0x22 rx-key-file key-a.rx tx-key-file key-a.tx" },
	{ "key", "activate", { "DEV" }, &om_key_object, key_ref_opts, om_key_activate,
	  "DEV peer " PEER_WORD " local-id X", .summary = "send with a key from now on",
	  .example = "omr0 peer b local-id 0x11" },
	{ "key", "retire", { "DEV" }, &om_key_object, key_ref_opts, om_key_retire,
	  "DEV peer " PEER_WORD " local-id X", .summary = "never send with a key again",
	  .example = "omr0 peer b local-id 0x11" },
	{ "key", "del", { "DEV" }, &om_key_object, key_ref_opts, om_key_del,
	  "DEV peer " PEER_WORD " local-id X", .summary = "delete a key",
	  .example = "omr0 peer b local-id 0x11" },
	{ "key", "show", { "DEV" }, &om_key_object, peer_show_opts, om_key_show,
	  "DEV [peer " PEER_WORD "]", .summary = "print keys without their secrets",
	  .example = "omr0", .reads = true },
	{ "show", NULL, { "[DEV]", "[FIELD]" }, NULL, NULL, om_show,
	  "[DEV|all|interfaces [" OM_SHOW_FIELDS "]]",
	  .summary = "print devices with peers, keys and counters",
	  .example = "omr0", .reads = true },
	{ "dump", NULL, { "[DEV]" }, NULL, NULL, om_dump,
	  "[DEV]", .summary = "print one line with tabs for each device, peer and key",
	  .example = "omr0", .reads = true },
	{ "stats", NULL, { "[DEV]" }, NULL, stats_opts, om_stats,
	  "[DEV] [all|-a] [watch|--watch [every SECS] [count N]]",
	  .summary = "print counters of devices, or how they grow",
	  .example = "omr0 all", .reads = true },
	{ "top", NULL, { "[DEV]" }, NULL, top_opts, om_top,
	  "[DEV] [every SECS] [count N]", .summary = "show rates of peers until interrupted",
	  .example = "omr0", .reads = true },
	{ "metrics", NULL, { "[DEV]" }, NULL, metrics_opts, om_metrics,
	  "[DEV] [openmetrics]", .summary = "print counters and states for Prometheus",
	  .example = "omr0", .reads = true },
	{ "monitor", NULL, { "[DEV]" }, NULL, NULL, om_monitor,
	  "[DEV]", .summary = "print events until interrupted",
	  .example = "omr0", .reads = true },
	{ "setconf", NULL, { "DEV", "FILE" }, NULL, NULL, om_setconf,
	  "DEV FILE|-", .summary = "replace a device's settings and peers by those of a file",
	  .example = "omr0 /etc/omerta/omr0.conf" },
	{ "syncconf", NULL, { "DEV", "FILE" }, NULL, NULL, om_syncconf,
	  "DEV FILE|-", .summary = "the same, but leave unchanged peers alone",
	  .example = "omr0 /etc/omerta/omr0.conf" },
	{ "showconf", NULL, { "DEV" }, NULL, NULL, om_showconf,
	  "DEV", .summary = "print a device's settings and peers as a file",
	  .example = "omr0", .reads = true },
	{ "save", NULL, { "CONF" }, NULL, NULL, om_save,
	  "NAME|FILE", .summary = "write the running state of a tunnel into its file",
	  .example = "omr0" },
	{ "import", NULL, { "FILE", "[CONF]" }, NULL, NULL, om_import,
	  "WG-QUICK-FILE [NAME|FILE]",
	  .summary = "make a new file of a tunnel from one of wg-quick",
	  .example = "/etc/wireguard/wg0.conf omr0" },
	{ "check", NULL, { "FILE" }, NULL, up_opts, om_check,
	  "FILE|- [no-agent]", .summary = "print all mistakes of a file for \"up\"",
	  .example = "/etc/omerta/omr0.conf", .reads = true },
	{ "up", NULL, { "CONF" }, NULL, up_opts, om_up,
	  "NAME|FILE [no-agent]", .summary = "bring up a tunnel from its file",
	  .example = "omr0" },
	{ "down", NULL, { "CONF" }, NULL, NULL, om_down,
	  "NAME|FILE", .summary = "take down a tunnel",
	  .example = "omr0" },
	{ "reload", NULL, { "CONF" }, NULL, NULL, om_reload,
	  "NAME|FILE", .summary = "bring a tunnel that is up in line with its file",
	  .example = "omr0" },
	{ "agent", NULL, { "DEV" }, NULL, agent_opts, om_agent_command,
	  "DEV [config FILE] [verbose]", .summary = "agree on keys with the peers of a device",
	  .example = "omr0" },
	{ "times", "forget", { "DEV" }, NULL, times_opts, om_times_forget_command,
	  "DEV peer " PEER_WORD " [config FILE]",
	  .summary = "accept any time in a peer's next handshake",
	  .example = "omr0 peer b" },
	{ "bench", "run", { NULL }, &om_bench_object, bench_run_opts, om_bench_run,
	  BENCH_WORK_USAGE " [strategy inline|percpu|unbound|kthread|padata|napi] [schedule own|static|dynamic|guided] [workers N] [rounds N]",
	  .summary = "measure one way of work",
	  .example = "engine lib bytes 65536", .reads = true },
	{ "bench", "chunks", { NULL }, &om_bench_object, bench_opts, om_bench_chunks,
	  BENCH_USAGE, .summary = "compare chunk sizes and engines",
	  .example = "time 50", .reads = true },
	{ "bench", "curves", { NULL }, &om_bench_object, bench_opts, om_bench_curves,
	  BENCH_USAGE, .summary = "measure speed over length and list length",
	  .example = "engine mb-avx2", .reads = true },
	{ "bench", "dispatch", { NULL }, &om_bench_object, bench_opts, om_bench_dispatch,
	  BENCH_USAGE, .summary = "compare ways to hand work to other CPUs",
	  .example = "bytes 65536", .reads = true },
	{ "bench", "split", { NULL }, &om_bench_object, bench_opts, om_bench_split,
	  BENCH_USAGE, .summary = "compare ways to split work",
	  .example = "bytes 65536", .reads = true },
	{ "bench", "scaling", { NULL }, &om_bench_object, bench_opts, om_bench_scaling,
	  BENCH_USAGE, .summary = "measure speed over the number of CPUs",
	  .example = "bytes 65536", .reads = true },
	{ "genkey", NULL, { NULL }, NULL, NULL, om_genkey,
	  "> PRIVATE", .summary = "print a new private key",
	  .example = "> omr0.key", .reads = true },
	{ "pubkey", NULL, { NULL }, NULL, NULL, om_pubkey,
	  "< PRIVATE > PUBLIC", .summary = "print the public key of a private one",
	  .example = "< omr0.key", .reads = true },
	{ "genpsk", NULL, { NULL }, NULL, NULL, om_genpsk,
	  "> PSK", .summary = "print a new preshared key",
	  .example = "> omr0.psk", .reads = true },
	{ "gensession", NULL, { "PREFIX" }, NULL, NULL, om_gensession,
	  "PREFIX", .summary = "write secrets of session keys for two hosts",
	  .example = "key" },
	{ "help", NULL, { "[OBJECT]", "[COMMAND]" }, NULL, NULL, om_help,
	  "[OBJECT [COMMAND]]", .summary = "explain commands",
	  .example = "link add", .reads = true },
	{ 0 }
};

static void print_command(const struct om_command *c)
{
	printf("Usage: omertactl %s %s\n\n%c%s.\n\nExample: omertactl %s %s\n",
	       om_command_name(c), c->usage, toupper(c->summary[0]), c->summary + 1,
	       om_command_name(c), c->example);
}

/* Explain a command, or list those of an object or all. The words are those of the table. */
void om_print_help(const char *object, const char *verb)
{
	const struct om_command *c;

	for (c = om_commands; object && c->object; c++) {
		if (!strcmp(c->object, object) &&
		    (!c->verb || (verb && !strcmp(c->verb, verb)))) {
			print_command(c);
			return;
		}
	}
	printf("Usage: omertactl [-j|--json] %s\n\n",
	       object ? object : "[-h|--help] [-V|--version] OBJECT");
	for (c = om_commands; c->object; c++)
		if (!object || !strcmp(c->object, object))
			printf("  %-15s %s\n", om_command_name(c), c->summary);
	printf("\n\"help\" after any of these words explains it.\n");
}

int om_help(struct om_ctx *ctx, struct om_args *args)
{
	const char *object, *verb;
	int n = args->pos[1] ? 2 : 1;
	int rc = args->pos[0] ? om_words_find(om_commands, n, args->pos, &object, &verb,
					      &ctx->err) : OM_OK;

	if (!rc)
		om_print_help(args->pos[0] ? object : NULL, args->pos[0] ? verb : NULL);
	return rc;
}
