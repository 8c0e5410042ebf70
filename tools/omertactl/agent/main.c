// SPDX-License-Identifier: GPL-2.0
/*
 * omerta-agent [--verbose] [--ready-fd FD] DEV FILE: the key agent of a device, with its
 * configuration file. It holds secrets, so it has no command parser. "omertactl agent" and "omertactl up"
 * start it, or a service manager does.
 */
#include "agent/daemon.h"
#include "lib/config.h"
#include "lib/keygen.h"
#include "lib/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Detach from the starter's standard error, so that it does not wait for the agent to exit. */
static void ready(int fd)
{
	om_complain_to_syslog();
	if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
		om_complain("standard error stays open: its reader waits for this process");
	if (write(fd, "", 1) != 1)
		om_complain("the process that started the agent has exited");
	close(fd);
}

int main(int argc, char **argv)
{
	struct om_daemon_options options = { 0 };
	struct om_err err;

	om_open_std();
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts(om_have_kem ? "omerta-agent " OM_VERSION " (with ML-KEM-768)" :
				   "omerta-agent " OM_VERSION);
		return fflush(stdout) ? OM_SYSTEM : OM_OK;
	}
	if (argc > 1 && !strcmp(argv[1], "--verbose")) {
		om_log_verbose();
		argv++;
		argc--;
	}
	if (argc == 5 && !strcmp(argv[1], "--ready-fd")) {
		options.ready = ready;
		options.ready_fd = atoi(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (argc != 3) {
		fputs("usage: omerta-agent [--verbose] [--ready-fd FD] DEV FILE, or omertactl agent\n",
		      stderr);
		return OM_USAGE;
	}
	options.ifname = argv[1];
	options.config = argv[2];
	if (om_keygen_init(&err) || om_daemon_run(&options, &err)) {
		om_complain(err.text);
		return OM_SYSTEM;
	}
	return OM_OK;
}
