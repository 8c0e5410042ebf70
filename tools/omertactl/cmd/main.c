// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/config.h"
#include "lib/keygen.h"
#include "lib/nl.h"
#include "cmd/print.h"
#include "lib/quote.h"
#include "lib/state.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef OM_VERSION
#define OM_VERSION	"0.1"
#endif

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
			om_print_help(NULL, NULL);
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
	const char *object, *verb, *const *words = (const char *const *)argv;
	const struct om_command *cmd;
	struct om_args args;
	int used, rc;

	if (argc > 1 && om_is_help(argv[1]) && strcmp(argv[0], "help")) {
		rc = om_words_find(om_commands, 1, words, &object, &verb, &ctx->err);
		if (!rc)
			om_print_help(object, NULL);
		return rc;
	}
	rc = om_command_find(om_commands, argc, words, &cmd, &used, &ctx->err);
	if (rc)
		return rc;
	rc = om_args_parse(cmd, argc - used, argv + used, &args, &ctx->err);
	if (!rc && args.help)
		om_print_help(cmd->object, cmd->verb);
	else if (!rc)
		rc = cmd->run(ctx, &args);
	om_args_free(&args);
	if (rc)
		om_err_prefix(&ctx->err, "%s", om_command_name(cmd));
	return rc;
}

/* Names of a kind that __complete asks for in capitals, one per line; none on errors */
static void print_names(struct om_ctx *ctx, const char *kind, const char *ifname)
{
	bool peers = !strcmp(kind, "PEER");
	struct om_list states;
	glob_t files;

	if (!strcmp(kind, "CONF") && !glob(OM_CONFIG_DIR "/*.conf", 0, NULL, &files)) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			printf("%.*s\n", (int)(strlen(files.gl_pathv[i]) - strlen(OM_CONFIG_DIR "/.conf")),
			       files.gl_pathv[i] + strlen(OM_CONFIG_DIR "/"));
		globfree(&files);
	}
	if ((!peers && strcmp(kind, "DEV")) || (peers && !ifname) ||
	    om_states_load(ctx->nl, peers ? ifname : NULL, peers ? OM_PEERS : 0, &states,
			   &ctx->err))
		return;
	for (size_t i = 0; i < states.n; i++) {
		const struct om_state *s = OM_AT(&states, struct om_state, i);

		if (!peers)
			puts(s->dev.ifname);
		for (size_t k = 0; peers && k < s->peers.n; k++) {
			const struct om_peer *p = OM_AT(&s->peers, struct om_peer, k);

			printf("%u\n", p->id);
			if (*p->name)
				puts(p->name);
		}
	}
	om_states_free(&states);
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
	} else if (n >= 0 && argc > 1 && !strcmp(argv[0], "__names")) {
		ctx.nl = om_nl_new();
		print_names(&ctx, argv[1], argv[2]);
		om_nl_free(ctx.nl);
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
