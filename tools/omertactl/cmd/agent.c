// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "cmd/runner.h"

#include <limits.h>
#include <stdio.h>

int om_agent_command(struct om_ctx *ctx, struct om_args *args)
{
	const char *config = args->files[0];
	char path[PATH_MAX];

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE, "-j: there is nothing to print");
	snprintf(path, sizeof(path), OM_CONFIG_DIR "/%s.conf", args->pos[0]);
	return om_runner_exec(args->pos[0], config ? config : path, -1, args->all, &ctx->err);
}
