/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_KTIME_H
#define _OMERTA_USER_KTIME_H

#include <time.h>

#include <linux/types.h>

static inline u64 ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* _OMERTA_USER_KTIME_H */
