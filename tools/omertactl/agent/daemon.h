/* SPDX-License-Identifier: GPL-2.0 */
/* The process of the key agent of a device; agent.h makes the decisions. */
#ifndef OM_DAEMON_H
#define OM_DAEMON_H

#include "lib/base.h"

struct om_daemon_options {
	const char *ifname;
	const char *config;		/* file name */
	void (*ready)(int fd);		/* called when the set-up is complete, unless NULL */
	int ready_fd;			/* argument of @ready */
};

/* Run until a signal ends the agent or the device is deleted. */
int om_daemon_run(const struct om_daemon_options *options, struct om_err *err);

#endif
