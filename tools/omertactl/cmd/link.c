// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/host.h"
#include "lib/nl.h"
#include "cmd/print.h"
#include "lib/state.h"

#include <string.h>

static int request(struct om_ctx *ctx, struct om_args *args, int cmd)
{
	struct om_device *dev = &args->data.device;
	int rc;

	strncpy(dev->ifname, args->pos[0], sizeof(dev->ifname) - 1);
	dev->has |= OM_BIT(OMERTA_A_DEVICE_IFNAME);
	rc = om_nl_do(ctx->nl, cmd, &om_device_object, dev, &ctx->err);
	if (rc)
		om_err_prefix(&ctx->err, "%s", dev->ifname);
	return rc;
}

static void roll_back(struct om_ctx *ctx, const char *ifname)
{
	struct om_device dev = { .has = OM_BIT(OMERTA_A_DEVICE_IFNAME) };
	struct om_err err;

	strncpy(dev.ifname, ifname, sizeof(dev.ifname) - 1);
	if (om_nl_do(ctx->nl, OMERTA_CMD_DEVICE_DEL, &om_device_object, &dev,
		     &err))
		om_err_append(&ctx->err, " (the device could not be removed again: %.200s)",
			      err.text);
	else
		om_err_append(&ctx->err, " (the device was removed again)");
}

/* If the queueing discipline cannot be set, the device is deleted again. */
int om_link_add(struct om_ctx *ctx, struct om_args *args)
{
	const struct om_device *dev = &args->data.device;
	int rc = request(ctx, args, OMERTA_CMD_DEVICE_NEW);

	/* The kernel has chosen a name for the pattern, and does not report it. */
	if (rc || strchr(dev->ifname, '%'))
		return rc;
	rc = om_host_set_queue(dev->ifname, &ctx->err);
	if (rc) {
		om_err_prefix(&ctx->err, "%s", dev->ifname);
		roll_back(ctx, dev->ifname);
	}
	return rc;
}

int om_link_set(struct om_ctx *ctx, struct om_args *args)
{
	if (!args->data.has)
		return om_err(&ctx->err, OM_USAGE, "nothing to set");
	return request(ctx, args, OMERTA_CMD_DEVICE_SET);
}

int om_link_del(struct om_ctx *ctx, struct om_args *args)
{
	return request(ctx, args, OMERTA_CMD_DEVICE_DEL);
}

int om_link_show(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	uint64_t skip = OM_BIT(OMERTA_A_DEVICE_STATS) | OM_BIT(OMERTA_A_DEVICE_CHANNEL_STATS);
	int rc = om_states_load(ctx->nl, args->pos[0], 0, &states, &ctx->err);

	if (rc)
		return rc;
	if (!ctx->json)
		skip |= OM_BIT(OMERTA_A_DEVICE_IFINDEX) |
			OM_BIT(OMERTA_A_DEVICE_IFNAME);
	om_print_begin();
	for (size_t i = 0; i < states.n; i++) {
		const struct om_device *d = &OM_AT(&states, struct om_state,
						   i)->dev;

		om_print_open("%u: %s:", d->ifindex,
			      om_print_name(d->ifname));
		om_print_fields(&om_device_object, d, skip);
		om_print_close();
	}
	om_states_free(&states);
	return om_print_end(&ctx->err);
}
