// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/keygen.h"
#include "lib/nl.h"
#include "cmd/print.h"
#include "lib/quote.h"
#include "lib/state.h"

#include <string.h>

static int name_key(struct om_ctx *ctx, struct om_args *args)
{
	struct om_key *key = &args->data.key;

	strncpy(key->ifname, args->pos[0], sizeof(key->ifname) - 1);
	key->has |= OM_BIT(OMERTA_A_KEY_IFNAME) | OM_BIT(OMERTA_A_KEY_PEER_ID);
	return om_peer_resolve(ctx->nl, args->pos[0], args->peer, &key->peer_id,
			       &ctx->err);
}

static int request(struct om_ctx *ctx, const struct om_key *key, int cmd)
{
	int rc = om_nl_do(ctx->nl, cmd, &om_key_object, key, &ctx->err);

	if (rc)
		om_err_prefix(&ctx->err, "%s peer %u key 0x%x", key->ifname,
			      key->peer_id, key->local_id);
	return rc;
}

/* Both may come from standard input: the receive key is the first line. */
static int read_secrets(struct om_args *args, struct om_err *err)
{
	struct om_key *key = &args->data.key;
	bool tx_too = !strcmp(args->files[1], "-");
	int rc;

	rc = om_secret_read(key->rx_secret, args->files[0], !tx_too, err);
	if (rc) {
		om_err_prefix(err, "rx-key-file");
		return rc;
	}
	rc = om_secret_read(key->tx_secret, args->files[1], true, err);
	if (rc) {
		om_err_prefix(err, "tx-key-file");
		return rc;
	}
	if (om_key_equal(key->rx_secret, key->tx_secret))
		return om_err(err, OM_USAGE,
			      "tx-key-file: %s: the same key as in rx-key-file",
			      OM_QUOTE_FILE(args->files[1]));
	key->has |= OM_BIT(OMERTA_A_KEY_RX_SECRET) |
		    OM_BIT(OMERTA_A_KEY_TX_SECRET);
	return OM_OK;
}

int om_key_add(struct om_ctx *ctx, struct om_args *args)
{
	struct om_key *key = &args->data.key;
	int rc = name_key(ctx, args);

	if (rc)
		return rc;
	if (!(key->has & OM_BIT(OMERTA_A_KEY_ACTIVATION))) {
		key->activation = OMERTA_ACTIVATION_MANUAL;
		key->has |= OM_BIT(OMERTA_A_KEY_ACTIVATION);
	}
	om_secret_lock(key, sizeof(*key));
	rc = read_secrets(args, &ctx->err);
	if (!rc)
		rc = request(ctx, key, OMERTA_CMD_KEY_NEW);
	om_secret_wipe(key, sizeof(*key));
	return rc;
}

static int change(struct om_ctx *ctx, struct om_args *args, int cmd)
{
	int rc = name_key(ctx, args);

	return rc ? rc : request(ctx, &args->data.key, cmd);
}

int om_key_activate(struct om_ctx *ctx, struct om_args *args)
{
	return change(ctx, args, OMERTA_CMD_KEY_ACTIVATE);
}

int om_key_retire(struct om_ctx *ctx, struct om_args *args)
{
	return change(ctx, args, OMERTA_CMD_KEY_RETIRE);
}

int om_key_del(struct om_ctx *ctx, struct om_args *args)
{
	return change(ctx, args, OMERTA_CMD_KEY_DEL);
}

static void print_key(const struct om_key *key, bool json)
{
	uint64_t skip = OM_BIT(OMERTA_A_KEY_IFINDEX) |
			OM_BIT(OMERTA_A_KEY_IFNAME) |
			OM_BIT(OMERTA_A_KEY_PEER_ID) |
			OM_BIT(OMERTA_A_KEY_LOCAL_ID);

	om_print_open("%s peer %u key 0x%x:", om_print_name(key->ifname),
		      key->peer_id, key->local_id);
	om_print_fields(&om_key_object, key, json ? 0 : skip);
	om_print_close();
}

int om_key_show(struct om_ctx *ctx, struct om_args *args)
{
	struct om_state s;
	uint32_t id = 0;
	int rc = OM_OK;

	if (args->peer)
		rc = om_peer_resolve(ctx->nl, args->pos[0], args->peer, &id,
				     &ctx->err);
	if (!rc)
		rc = om_state_load(ctx->nl, args->pos[0], OM_KEYS, &s,
				   &ctx->err);
	if (rc)
		return rc;
	om_print_begin();
	for (size_t i = 0; i < s.keys.n; i++) {
		const struct om_key *k = OM_AT(&s.keys, struct om_key, i);

		if (!id || k->peer_id == id)
			print_key(k, ctx->json);
	}
	om_state_free(&s);
	return om_print_end(&ctx->err);
}
