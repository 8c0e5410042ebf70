/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_LIMITS_H
#define _OMERTA_USER_LIMITS_H

#include <limits.h>

#include <linux/types.h>

#endif /* _OMERTA_USER_LIMITS_H */
