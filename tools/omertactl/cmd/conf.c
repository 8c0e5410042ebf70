// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"
#include "cmd/target.h"

#include "lib/config.h"
#include "lib/json.h"
#include "lib/keygen.h"
#include "cmd/print.h"
#include "lib/quote.h"
#include "lib/state.h"
#include "lib/sync.h"

#include <stdio.h>
#include <string.h>

/* Read and check the whole file before the first request. */
static int apply(struct om_ctx *ctx, struct om_args *args, bool literal)
{
	struct om_config conf;
	struct om_state state;
	unsigned int done = 0;
	int rc = om_config_read(args->pos[1], 0, &conf, &ctx->err);

	if (rc)
		return rc;
	rc = om_state_load(ctx->nl, args->pos[0], OM_PEERS | OM_PREFIXES,
			   &state, &ctx->err);
	if (!rc) {
		rc = om_sync_apply(ctx->nl, args->pos[0], &conf, &state,
				   literal, &done, &ctx->err);
		om_state_free(&state);
	}
	om_config_free(&conf);
	if (rc || !ctx->json)
		return rc;
	om_print_begin();
	om_json_open(NULL, '{');
	om_json_str("ifname", args->pos[0]);
	om_json_bool("changed", done);
	om_json_close();
	return om_print_end(&ctx->err);
}

int om_setconf(struct om_ctx *ctx, struct om_args *args)
{
	return apply(ctx, args, true);
}

int om_syncconf(struct om_ctx *ctx, struct om_args *args)
{
	return apply(ctx, args, false);
}

int om_showconf(struct om_ctx *ctx, struct om_args *args)
{
	struct om_state s;
	int rc;

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE,
			      "-j: a configuration file is not JSON, see omertactl -j show");
	rc = om_state_load(ctx->nl, args->pos[0], OM_PEERS | OM_PREFIXES, &s,
			   &ctx->err);
	if (rc)
		return rc;
	om_config_print(&s.dev, &s.peers);
	om_state_free(&s);
	return om_print_end(&ctx->err);
}

int om_save(struct om_ctx *ctx, struct om_args *args)
{
	struct om_target t;
	struct om_state s;
	bool changed = false;
	int rc = om_target_find(args->pos[0], &t, &ctx->err);

	if (!rc)
		rc = om_state_load(ctx->nl, t.ifname, OM_PEERS | OM_PREFIXES, &s, &ctx->err);
	if (rc)
		return rc;
	rc = om_config_save(t.path, &s.dev, &s.peers, &changed, &ctx->err);
	om_state_free(&s);
	if (!rc && !changed)
		fprintf(stderr, "omertactl: %s has it all already\n", OM_QUOTE_FILE(t.path));
	return rc;
}

int om_import(struct om_ctx *ctx, struct om_args *args)
{
	struct om_target t;
	char ifname[IFNAMSIZ];
	int rc = args->pos[1] ? OM_OK : om_target_ifname(args->pos[0], ifname, &ctx->err);

	if (!rc)
		rc = om_target_find(args->pos[1] ? args->pos[1] : ifname, &t, &ctx->err);
	if (!rc)
		rc = om_config_import(args->pos[0], t.path, &ctx->err);
	if (!rc)
		printf("%s\n", t.path);
	return rc;
}

/* A mistake is FILE:LINE:COLUMN: TEXT, or about the file as a whole. */
static void json_mistake(const char *said)
{
	unsigned int line, column;
	char copy[sizeof(((struct om_err *)0)->text)], *text = copy;
	int end = 0;

	snprintf(copy, sizeof(copy), "%s", said);
	om_hide_keys(copy);

	om_json_open(NULL, '{');
	for (char *c = text; (c = strchr(c, ':')); c++) {
		if (sscanf(c, ":%u:%u: %n", &line, &column, &end) < 2 || !end)
			continue;
		om_json_uint("line", line);
		om_json_uint("column", column);
		text = c + end;
		break;
	}
	om_json_str("message", text);
	om_json_close();
}

int om_check(struct om_ctx *ctx, struct om_args *args)
{
	void (*mistake)(const char *text) = ctx->json ? json_mistake : om_complain;
	const char *path = args->pos[0], *dot = strrchr(path, '.');
	char ifname[IFNAMSIZ];
	int rc = OM_OK, mistakes;

	/* A name that "up" refuses is a mistake, too. */
	if (dot && !strcmp(dot, ".conf"))
		rc = om_target_ifname(path, ifname, &ctx->err);
	om_print_begin();
	if (ctx->json) {
		om_json_open(NULL, '{');
		om_json_str("file", om_holds_key(path) ? "(not shown)" : path);
		om_json_open("mistakes", '[');
	}
	if (rc)
		mistake(ctx->err.text);
	mistakes = om_config_check(path, !args->all, mistake, &ctx->err);
	rc = mistakes ? mistakes : rc;
	if (ctx->json) {
		om_json_close();
		om_json_bool("valid", !rc);
		om_json_close();
	}
	mistakes = om_print_end(&ctx->err);
	return rc ? rc : mistakes;
}
