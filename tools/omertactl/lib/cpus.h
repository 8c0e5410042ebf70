/* SPDX-License-Identifier: GPL-2.0 */
/* Lists of CPUs, as in the kernel: "all", or numbers and ranges like 0-3,8,16-31:2/4 */
#ifndef OM_CPUS_H
#define OM_CPUS_H

#include "lib/base.h"

int om_cpus_check(const char *text, struct om_err *err);
/* Check a valid list against the CPUs of this machine, as the kernel does. */
int om_cpus_check_here(const char *text, struct om_err *err);

#endif
