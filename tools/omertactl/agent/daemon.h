/* SPDX-License-Identifier: GPL-2.0 */
/* The key agent of a device as a process: see agent.h for what it decides. */
#ifndef OM_DAEMON_H
#define OM_DAEMON_H

#include "lib/base.h"

struct om_daemon_options {
	const char *ifname;
	const char *config;		/* a file's name */
	void (*ready)(int fd);		/* called when all is set up, unless NULL */
	int ready_fd;			/* what it is given */
};

/* Until a signal ends it or the device is gone */
int om_daemon_run(const struct om_daemon_options *options, struct om_err *err);

#endif
