// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/config.h"
#include "lib/keygen.h"
#include "lib/nl.h"
#include "lib/quote.h"
#include "lib/state.h"
#include "lib/times.h"
#include "lib/times_forget.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Resolve user input to a public key: a key, or a peer of the device. */
static int find_public(struct om_ctx *ctx, const char *ifname, const char *text,
		       uint8_t *public)
{
	struct om_peer ref, peer;
	struct om_err unused;
	uint32_t id;
	int rc;

	if (!om_base64_decode(public, text, &unused))
		return OM_OK;
	rc = om_peer_resolve(ctx->nl, ifname, text, &id, &ctx->err);
	if (rc)
		return rc;
	om_peer_ref(&ref, ifname, id);
	rc = om_nl_get(ctx->nl, OMERTA_CMD_PEER_GET, &om_peer_object, &ref, &peer,
		       &ctx->err);
	if (rc) {
		om_err_prefix(&ctx->err, "%s peer %u", ifname, id);
		return rc;
	}
	om_list_free(&peer.allowed_ips);
	om_list_free(&peer.further_channels);
	memcpy(public, peer.public_key, OMERTA_KEY_LEN);
	return om_key_is_zero(public) ?
		       om_err(&ctx->err, OM_SYSTEM, "%s peer %u has no public key",
			      ifname, id) : OM_OK;
}

/* Read our own public key, after which the file of times is named. */
static int read_own(const char *config, uint8_t *public, struct om_err *err)
{
	struct om_config conf;
	int rc = om_config_read(config, OM_CONFIG_SECRETS | OM_CONFIG_AGENT | OM_CONFIG_NO_NAMES,
				&conf, err);

	if (rc)
		return rc;
	if (!om_key_public(public, conf.host.private_key))
		rc = om_err(err, OM_USAGE, "%s: not a private key", OM_QUOTE_FILE(config));
	om_config_free(&conf);
	return rc;
}

/* Become the owner of the folder, like agents, so that it owns new files. */
static int become_owner(const char *dir, struct om_err *err)
{
	struct stat st;

	if (geteuid() || stat(dir, &st) || !st.st_uid)
		return OM_OK;
	if (setegid(st.st_gid) || seteuid(st.st_uid))
		return om_err_sys(err, errno, "the user of %s", OM_QUOTE_FILE(dir));
	return OM_OK;
}

int om_times_forget_command(struct om_ctx *ctx, struct om_args *args)
{
	const char *ifname = args->pos[0], *dir = getenv("STATE_DIRECTORY");
	uint8_t public[OMERTA_KEY_LEN], ours[OMERTA_KEY_LEN], key[OMERTA_KEY_LEN];
	char path[PATH_MAX], config[PATH_MAX];
	struct om_times *times;
	int rc;

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE, "-j: there is nothing to print");
	rc = find_public(ctx, ifname, args->peer, public);
	if (rc)
		return rc;
	snprintf(config, sizeof(config), OM_CONFIG_DIR "/%s.conf", ifname);
	rc = read_own(args->files[0] ? args->files[0] : config, ours, &ctx->err);
	if (rc)
		return rc;
	if (!dir)
		dir = OM_STATE_DIR;
	om_times_path(path, sizeof(path), dir, ours);
	if (access(path, F_OK))
		return om_err_sys(&ctx->err, errno, "%s", OM_QUOTE_FILE(path));
	rc = become_owner(dir, &ctx->err);
	if (rc)
		return rc;
	om_times_key(ours, public, key);
	times = om_times_open(path, &ctx->err);
	if (times)
		rc = om_times_forget(times, key, &ctx->err);
	else if (ctx->err.sys == EBUSY)
		rc = om_times_forget_ask(path, public, &ctx->err);
	else
		rc = OM_SYSTEM;
	om_times_close(times);
	return rc;
}
