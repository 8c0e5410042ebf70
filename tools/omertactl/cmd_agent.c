// SPDX-License-Identifier: GPL-2.0
#include "cmd.h"

#include "config.h"
#include "daemon.h"

#include <limits.h>
#include <stdio.h>

int om_agent_command(struct om_ctx *ctx, struct om_args *args)
{
	struct om_daemon_options options = {
		.ifname = args->pos[0],
		.config = args->files[0],
	};
	char path[PATH_MAX];

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE, "-j: there is nothing to print");
	snprintf(path, sizeof(path), OM_CONFIG_DIR "/%s.conf", args->pos[0]);
	if (!options.config)
		options.config = path;
	return om_daemon_run(&options, &ctx->err);
}
