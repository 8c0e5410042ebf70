// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/config.h"
#include "lib/host.h"
#include "lib/nl.h"
#include "lib/quote.h"
#include "cmd/runner.h"
#include "cmd/target.h"
#include "lib/state.h"
#include "lib/sync.h"

#include <errno.h>

static int make_device(struct om_ctx *ctx, const char *ifname)
{
	struct om_device dev;
	int rc;

	om_device_ref(&dev, ifname);
	rc = om_nl_do(ctx->nl, OMERTA_CMD_DEVICE_NEW, &om_device_object, &dev,
		      &ctx->err);
	if (rc && ctx->err.sys == EEXIST)
		om_err_append(&ctx->err, " (omertactl down %s)", ifname);
	return rc;
}

static int set_device(struct om_ctx *ctx, const char *ifname,
		      struct om_config *conf)
{
	struct om_state state;
	int rc = om_host_set_queue(ifname, &ctx->err);

	if (rc)
		return rc;
	rc = om_state_load(ctx->nl, ifname, OM_PEERS | OM_PREFIXES, &state,
			   &ctx->err);
	if (rc)
		return rc;
	rc = om_sync_apply(ctx->nl, ifname, conf, &state, true, &ctx->err);
	om_state_free(&state);
	return rc;
}

static int delete_device(struct om_ctx *ctx, const char *ifname,
			 struct om_err *err)
{
	struct om_device dev;

	om_device_ref(&dev, ifname);
	return om_nl_do(ctx->nl, OMERTA_CMD_DEVICE_DEL, &om_device_object, &dev,
			err);
}

/* Create and configure a device; after an error nothing is left. */
static int bring_up(struct om_ctx *ctx, const struct om_target *t, bool agent,
		    struct om_config *conf)
{
	struct om_host_rules rules = { 0 };
	struct om_err unused;
	int rc;

	om_host_set_mark(conf);
	rc = make_device(ctx, t->ifname);
	if (rc)
		return rc;
	rc = set_device(ctx, t->ifname, conf);
	if (!rc)
		rc = om_host_configure(t->ifname, conf, &rules, &ctx->err);
	if (!rc && agent)
		rc = om_runner_start(t->ifname, t->path, &ctx->err);
	if (!rc)
		return OM_OK;
	if (om_host_drop_rules(&rules, &unused))
		om_err_append(&ctx->err, " (a rule could not be removed again: %.200s)",
			      unused.text);
	if (delete_device(ctx, t->ifname, &unused))
		om_err_append(&ctx->err, " (the device could not be removed again: %.200s)",
			      unused.text);
	return rc;
}

int om_up(struct om_ctx *ctx, struct om_args *args)
{
	struct om_config conf;
	struct om_target t;
	int rc = om_target_find(args->pos[0], &t, &ctx->err);

	if (rc)
		return rc;
	rc = om_config_read(t.path, OM_CONFIG_SECRETS | OM_CONFIG_UP |
			    (args->all ? 0 : OM_CONFIG_AGENT), &conf, &ctx->err);
	if (rc)
		return rc;
	/* The agent reads the secrets itself, after it has forked its resolver. */
	om_config_forget(&conf);
	rc = bring_up(ctx, &t, !args->all, &conf);
	om_config_free(&conf);
	return rc;
}

/* Clean up after a device that was deleted behind our back, from its file. */
static void clean_up(const struct om_target *t, struct om_err *err)
{
	struct om_host_rules rules;
	struct om_config conf;
	struct om_err unused;

	if (om_config_read(t->path, OM_CONFIG_NO_NAMES, &conf, &unused))
		return;
	om_host_set_mark(&conf);
	if (om_host_find_rules(t->ifname, conf.dev.fwmark, &rules, &unused) ||
	    om_host_drop_rules(&rules, &unused))
		om_err_append(err, " (its rules could not be removed: %.200s)",
			      unused.text);
	om_config_free(&conf);
}

int om_down(struct om_ctx *ctx, struct om_args *args)
{
	struct om_host_rules rules;
	struct om_state state;
	struct om_target t;
	int rc = om_target_find(args->pos[0], &t, &ctx->err);

	if (rc)
		return rc;
	rc = om_state_load(ctx->nl, t.ifname, 0, &state, &ctx->err);
	if (rc) {
		if (ctx->err.sys == ENODEV)
			clean_up(&t, &ctx->err);
		return rc;
	}
	rc = om_host_find_rules(t.ifname, state.dev.fwmark, &rules, &ctx->err);
	om_state_free(&state);
	if (!rc)
		rc = om_runner_stop(t.ifname, &ctx->err);
	if (!rc)
		rc = delete_device(ctx, t.ifname, &ctx->err);
	if (!rc)
		rc = om_host_drop_rules(&rules, &ctx->err);
	return rc;
}
