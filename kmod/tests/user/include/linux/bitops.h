/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_BITOPS_H
#define _OMERTA_USER_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

static inline unsigned int fls(u32 x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

/* Position of the highest set bit, from 1; 0 if there is none. */
static inline unsigned int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

#endif /* _OMERTA_USER_BITOPS_H */
