/* SPDX-License-Identifier: GPL-2.0 */
/* What a process gives up before it listens to strangers. Its unit does more. */
#ifndef OM_SANDBOX_H
#define OM_SANDBOX_H

#include "lib/base.h"

/* No core dumps, no tracers, nothing in swap if there is leave for that */
void om_sandbox_hide(void);
/*
 * No capability but CAP_NET_ADMIN, and no new ones. Root becomes the user that @dir,
 * the agent's folder, belongs to.
 */
int om_sandbox_enter(const char *dir, struct om_err *err);
/* None at all; what cannot be given up ends the process. */
void om_sandbox_powerless(void);

#endif
