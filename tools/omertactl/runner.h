/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device's agent in the background, for hosts where no service manager runs it. Its
 * process has a lock on a file as long as it lives.
 */
#ifndef OM_RUNNER_H
#define OM_RUNNER_H

#include "base.h"

/* Returns when the agent has begun, or could not. */
int om_runner_start(const char *ifname, const char *config, struct om_err *err);
/* Returns when it has ended, at once if there is none. */
int om_runner_stop(const char *ifname, struct om_err *err);

#endif
