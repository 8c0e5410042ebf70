// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/nl.h"
#include "cmd/print.h"
#include "lib/state.h"

#include <string.h>

static void set_ifname(struct om_peer *peer, const struct om_args *args)
{
	strncpy(peer->ifname, args->pos[0], sizeof(peer->ifname) - 1);
	peer->has |= OM_BIT(OMERTA_A_PEER_IFNAME);
}

static int resolve(struct om_ctx *ctx, struct om_args *args)
{
	struct om_peer *peer = &args->data.peer;
	int rc = om_peer_resolve(ctx->nl, args->pos[0], args->peer, &peer->id,
				 &ctx->err);

	peer->has |= OM_BIT(OMERTA_A_PEER_ID);
	return rc;
}

static void put_peer(struct om_err *err, const struct om_peer *peer)
{
	om_err_prefix(err, "%s peer %u", peer->ifname, peer->id);
}

/* Delete a peer with only a part of its prefixes. */
static void roll_back(struct om_ctx *ctx, const struct om_peer *peer,
		      size_t done)
{
	struct om_peer ref;
	struct om_err err;

	om_peer_ref(&ref, peer->ifname, peer->id);
	om_err_append(&ctx->err, " (after %zu of %zu prefixes; ", done,
		      peer->allowed_ips.n);
	if (om_nl_do(ctx->nl, OMERTA_CMD_PEER_DEL, &om_peer_object, &ref, &err))
		om_err_append(&ctx->err, "the peer could not be removed again: %.200s)",
			      err.text);
	else
		om_err_append(&ctx->err, "the peer was removed again)");
}

int om_peer_add(struct om_ctx *ctx, struct om_args *args)
{
	struct om_peer *peer = &args->data.peer;
	size_t done;
	int rc;

	set_ifname(peer, args);
	rc = om_peer_send(ctx->nl, OMERTA_CMD_PEER_NEW, peer, &done, &ctx->err);
	if (!rc)
		return OM_OK;
	put_peer(&ctx->err, peer);
	if (done)
		roll_back(ctx, peer, done);
	return rc;
}

int om_peer_set(struct om_ctx *ctx, struct om_args *args)
{
	struct om_peer *peer = &args->data.peer;
	size_t done;
	int rc;

	if (!args->data.has && !args->plain)
		return om_err(&ctx->err, OM_USAGE, "nothing to set");
	rc = resolve(ctx, args);
	if (rc)
		return rc;
	set_ifname(peer, args);
	if (args->plain) {
		peer->flags = OMERTA_PEER_FLAGS_REPLACE_ALLOWED_IPS;
		peer->has |= OM_BIT(OMERTA_A_PEER_FLAGS);
	}
	rc = om_peer_send(ctx->nl, OMERTA_CMD_PEER_SET, peer, &done, &ctx->err);
	if (!rc)
		return OM_OK;
	put_peer(&ctx->err, peer);
	if (done)
		om_err_append(&ctx->err,
			      " (the other settings and the first %zu of %zu prefixes are in effect)",
			      done, peer->allowed_ips.n);
	else
		om_err_append(&ctx->err, " (nothing was changed)");
	return rc;
}

int om_peer_del(struct om_ctx *ctx, struct om_args *args)
{
	struct om_peer *peer = &args->data.peer;
	int rc = resolve(ctx, args);

	if (rc)
		return rc;
	set_ifname(peer, args);
	rc = om_nl_do(ctx->nl, OMERTA_CMD_PEER_DEL, &om_peer_object, peer,
		      &ctx->err);
	if (rc)
		put_peer(&ctx->err, peer);
	return rc;
}

static void print_peer(const struct om_peer *peer, bool json)
{
	uint64_t skip = OM_BIT(OMERTA_A_PEER_IFINDEX) |
			OM_BIT(OMERTA_A_PEER_IFNAME) | OM_BIT(OMERTA_A_PEER_ID);

	om_print_open("%s peer %u:", om_print_name(peer->ifname), peer->id);
	om_print_fields(&om_peer_object, peer, json ? 0 : skip);
	om_print_close();
}

int om_peer_show(struct om_ctx *ctx, struct om_args *args)
{
	struct om_state s;
	bool found = !args->peer;
	uint32_t id = 0;
	int rc = OM_OK;

	if (args->peer) {
		rc = resolve(ctx, args);
		id = args->data.peer.id;
	}
	if (!rc)
		rc = om_state_load(ctx->nl, args->pos[0],
				   OM_PEERS | OM_PREFIXES, &s, &ctx->err);
	if (rc)
		return rc;
	for (size_t i = 0; i < s.peers.n; i++)
		found |= OM_AT(&s.peers, struct om_peer, i)->id == id;
	if (!found) {
		om_state_free(&s);
		return om_err(&ctx->err, OM_SYSTEM, "%s has no peer %u",
			      args->pos[0], id);
	}
	om_print_begin();
	for (size_t i = 0; i < s.peers.n; i++) {
		const struct om_peer *p = OM_AT(&s.peers, struct om_peer, i);

		if (!id || p->id == id)
			print_peer(p, ctx->json);
	}
	om_state_free(&s);
	return om_print_end(&ctx->err);
}
