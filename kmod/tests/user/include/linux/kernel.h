/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_KERNEL_H
#define _OMERTA_USER_KERNEL_H

#include <stdio.h>

#include <linux/bitops.h>
#include <linux/math.h>

#define pr_err(...)		fprintf(stderr, __VA_ARGS__)
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)((n) >> 32))
#define round_up(n, to)		(((n) + (to) - 1) / (to) * (to))

#endif /* _OMERTA_USER_KERNEL_H */
