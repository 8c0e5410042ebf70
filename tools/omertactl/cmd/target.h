/* SPDX-License-Identifier: GPL-2.0 */
/* The name of a device and its file. Either gives the other. */
#ifndef OM_TARGET_H
#define OM_TARGET_H

#include "lib/model.h"

#include <limits.h>

struct om_target {
	char ifname[IFNAMSIZ];
	char path[PATH_MAX];
};

/* Find the target of NAME, or of FILE, which contains a slash. */
int om_target_find(const char *arg, struct om_target *t, struct om_err *err);
/* Get the name of a device from DIRECTORY/NAME.conf. */
int om_target_ifname(const char *path, char *ifname, struct om_err *err);

#endif
