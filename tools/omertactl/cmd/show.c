// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "cmd/print.h"
#include "lib/state.h"

#include <stdio.h>

int om_show(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	int rc = om_states_load(ctx->nl, args->pos[0], OM_ALL, &states,
				&ctx->err);

	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < states.n; i++) {
		if (i && !ctx->json)
			putchar('\n');
		om_print_state(OM_AT(&states, struct om_state, i));
	}
	om_states_free(&states);
	return om_print_end(&ctx->err);
}

int om_dump(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	int rc = om_states_load(ctx->nl, args->pos[0], OM_ALL, &states,
				&ctx->err);

	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < states.n; i++)
		om_print_dump(OM_AT(&states, struct om_state, i));
	om_states_free(&states);
	return om_print_end(&ctx->err);
}

int om_stats(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list states;
	int rc = om_states_load(ctx->nl, args->pos[0], 0, &states, &ctx->err);

	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < states.n; i++)
		om_print_counters(&OM_AT(&states, struct om_state, i)->dev,
				  args->all);
	om_states_free(&states);
	return om_print_end(&ctx->err);
}
