// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/keygen.h"

int om_genkey(struct om_ctx *ctx, struct om_args *args)
{
	(void)args;
	return om_keygen_private(&ctx->err);
}

int om_pubkey(struct om_ctx *ctx, struct om_args *args)
{
	(void)args;
	return om_keygen_public(&ctx->err);
}

int om_genpsk(struct om_ctx *ctx, struct om_args *args)
{
	(void)args;
	return om_keygen_psk(&ctx->err);
}

int om_gensession(struct om_ctx *ctx, struct om_args *args)
{
	return om_keygen_session(args->pos[0], &ctx->err);
}
