/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_ERRNO_H
#define _OMERTA_USER_ERRNO_H

/* glibc's errno.h comes here for the numbers. */
#include_next <linux/errno.h>

#endif /* _OMERTA_USER_ERRNO_H */
