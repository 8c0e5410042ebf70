// SPDX-License-Identifier: GPL-2.0
#include "lib/nft.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* libnftables(3): most hosts do not need it, and it brings many other libraries. */
#define LIBRARY		"libnftables.so.1"

struct nft_ctx;

static struct {
	struct nft_ctx *(*new)(uint32_t flags);
	void (*free)(struct nft_ctx *ctx);
	int (*buffer_output)(struct nft_ctx *ctx);
	int (*buffer_error)(struct nft_ctx *ctx);
	const char *(*output)(struct nft_ctx *ctx);
	const char *(*error)(struct nft_ctx *ctx);
	int (*run)(struct nft_ctx *ctx, const char *commands);
} nft;

static int load(struct om_err *err)
{
	static const struct {
		const char *name;
		void **function;
	} functions[] = {
		{ "nft_ctx_new", (void **)&nft.new },
		{ "nft_ctx_free", (void **)&nft.free },
		{ "nft_ctx_buffer_output", (void **)&nft.buffer_output },
		{ "nft_ctx_buffer_error", (void **)&nft.buffer_error },
		{ "nft_ctx_get_output_buffer", (void **)&nft.output },
		{ "nft_ctx_get_error_buffer", (void **)&nft.error },
		{ "nft_run_cmd_from_buffer", (void **)&nft.run },
	};
	static void *library;

	if (!library)
		library = dlopen(LIBRARY, RTLD_NOW);
	if (!library)
		return om_err(err, OM_SYSTEM, LIBRARY " is not installed");
	for (size_t i = 0; i < OM_ARRAY_SIZE(functions); i++) {
		*functions[i].function = dlsym(library, functions[i].name);
		if (!*functions[i].function)
			return om_err(err, OM_SYSTEM, LIBRARY " lacks %s", functions[i].name);
	}
	return OM_OK;
}

/* The library ends the process if the kernel lacks this. */
static int probe(struct om_err *err)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

	if (fd < 0)
		return om_err_sys(err, errno, "nf_tables");
	close(fd);
	return OM_OK;
}

int om_nft_run(const char *commands, char **output, struct om_err *err)
{
	int rc = probe(err) ?: load(err);
	struct nft_ctx *ctx;
	const char *text;

	if (output)
		*output = NULL;
	if (rc)
		return rc;
	ctx = nft.new(0);
	if (!ctx || nft.buffer_output(ctx) || nft.buffer_error(ctx)) {
		rc = om_err_sys(err, ENOMEM, "nf_tables");
	} else if (nft.run(ctx, commands)) {
		text = nft.error(ctx);
		/* Its other lines quote the command. */
		rc = om_err(err, OM_SYSTEM, "nf_tables: %.*s", (int)strcspn(text, "\n"), text);
	} else if (output) {
		*output = strdup(nft.output(ctx));
		rc = *output ? OM_OK : om_err_sys(err, ENOMEM, "nf_tables");
	}
	if (ctx)
		nft.free(ctx);
	return rc;
}
