/* SPDX-License-Identifier: GPL-2.0 */
/* Other programs that "up" and "down" run: commands of the file, and those that set name servers */
#ifndef OM_HOOKS_H
#define OM_HOOKS_H

#include "lib/config.h"

/*
 * Run the commands of a file in a shell, one after the other, with %i replaced by the name of the
 * device. Returns an error if one fails; the others are not run then.
 */
int om_hooks_run(const struct om_config *conf, enum om_hook hook, const char *ifname,
		 struct om_err *err);

/*
 * Have the names of the file's domains, or all if it has none, looked up by its name servers:
 * by resolvectl(1) where systemd-resolved runs, or else by resolvconf(8).
 */
int om_dns_set(const struct om_config *conf, const char *ifname, struct om_err *err);
/* Undo an earlier om_dns_set(), if there was one; the device may be gone. */
int om_dns_unset(const struct om_config *conf, const char *ifname, struct om_err *err);

#endif
