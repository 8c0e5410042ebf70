/* SPDX-License-Identifier: GPL-2.0 */
/* Privileges that a process drops before it reads untrusted input. The unit drops more. */
#ifndef OM_SANDBOX_H
#define OM_SANDBOX_H

#include "lib/base.h"

/* Forbid core dumps and tracers; lock the memory where permitted. */
void om_sandbox_hide(void);
/*
 * Drop all capabilities but CAP_NET_ADMIN for good. If the process is root, it becomes the
 * owner of @dir, the agent's folder.
 */
int om_sandbox_enter(const char *dir, struct om_err *err);
/* Drop all capabilities for good. The process exits if it cannot. */
void om_sandbox_powerless(void);

#endif
