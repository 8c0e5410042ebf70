/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The agent of a device in the background, for hosts without a service manager. Its process
 * holds a lock on a file as long as it runs.
 */
#ifndef OM_RUNNER_H
#define OM_RUNNER_H

#include "lib/base.h"
#include "lib/model.h"

#include <net/if.h>

/* Become the agent. Returns only on an error. @ready_fd: see om_runner_start(); or -1 */
int om_runner_exec(const char *ifname, const char *config, int ready_fd, bool verbose,
		   struct om_err *err);
/*
 * Start the agent of @dev. Returns when it is ready, or could not start; with *running if one runs
 * already.
 */
int om_runner_start(const char *ifname, const char *config, const struct om_device *dev,
		    bool *running, struct om_err *err);
/*
 * Stop the agent, and kill it if it does not exit within 5 s. Returns when it has exited;
 * *ran is false if there was none.
 */
int om_runner_stop(const char *ifname, bool *ran, struct om_err *err);
/*
 * Return true if the device of the agent that was started as @ifname has another name now, which
 * @name gets.
 */
bool om_runner_renamed(const char *ifname, char name[IFNAMSIZ]);
/* Return true if @dev has an agent, or this is a command of its service. */
bool om_runner_runs(const char *ifname, const struct om_device *dev);
/* Have the agent of @dev read its file again, if there is one. */
int om_runner_reload(const char *ifname, const struct om_device *dev, struct om_err *err);

#endif
