/* SPDX-License-Identifier: GPL-2.0 */
/* Privileges that a process drops before it reads untrusted input. */
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
/*
 * Allow only the system calls of a running agent; others fail with EPERM. No memory may become
 * executable. Needs om_sandbox_enter() before. A kernel without seccomp causes a warning.
 */
int om_sandbox_filter(struct om_err *err);
/*
 * Drop all capabilities for good, and forbid system calls that resolving names does not need: to
 * execute programs, to trace, to change files, and those for administrators. NSS modules may use
 * many others. The process exits on failure, but not for the lack of seccomp.
 */
void om_sandbox_powerless(void);

#endif
