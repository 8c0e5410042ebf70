// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration files from a fuzzer. Errors must have a position, accepted files must be
 * usable, and "check" must agree. Names are not looked up.
 */
#include "lib/config.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return sodium_init();
}

static void check_error(const struct om_err *err, const char *path)
{
	const char *place = err->text + strlen(path);
	unsigned int line, col;

	if (err->sys)
		return;
	if (strncmp(err->text, path, strlen(path)) ||
	    sscanf(place, ":%u:%u: ", &line, &col) != 2 || !line || !col)
		abort();
}

static void check_peer(const struct om_peer *peer)
{
	for (size_t i = 0; i < peer->allowed_ips.n; i++) {
		const struct om_prefix *p =
			OM_AT(&peer->allowed_ips, struct om_prefix, i);

		if ((p->addr.len != 4 && p->addr.len != 16) ||
		    p->len > p->addr.len * 8)
			abort();
	}
	for (const char *s = peer->name; *s; s += om_utf8_len(s))
		if (!om_utf8_len(s))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("conf", MFD_CLOEXEC);
	struct om_config conf;
	struct om_err err;
	char path[40];
	bool good;

	/* Others could read its secrets. */
	if (fd < 0 || fchmod(fd, 0600) || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	good = !om_config_check(path, false, om_complain, &err);
	if (om_config_read(path, OM_CONFIG_NO_NAMES, &conf, &err)) {
		check_error(&err, path);
		if (good)
			abort();
	} else {
		if (conf.peers.n != conf.peer_conf.n)
			abort();
		for (size_t i = 0; i < conf.peers.n; i++)
			check_peer(OM_AT(&conf.peers, struct om_peer, i));
		om_config_free(&conf);
	}
	close(fd);
	return 0;
}
