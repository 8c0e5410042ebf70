/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_STRING_H
#define _OMERTA_USER_STRING_H

#include <string.h>

#include <linux/types.h>

#define memzero_explicit(p, n)	explicit_bzero(p, n)

/* The first byte that is not @c, or NULL. */
static inline void *memchr_inv(const void *p, int c, size_t n)
{
	const u8 *b = p;

	for (; n; n--, b++)
		if (*b != (u8)c)
			return (void *)b;
	return NULL;
}

#endif /* _OMERTA_USER_STRING_H */
