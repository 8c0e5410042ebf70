/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_UNALIGNED_H
#define _OMERTA_USER_UNALIGNED_H

#include <endian.h>
#include <linux/types.h>

#define OMERTA_UNALIGNED(order, bits)					\
static inline u##bits get_unaligned_##order##bits(const void *p)	\
{									\
	u##bits v;							\
									\
	__builtin_memcpy(&v, p, sizeof(v));				\
	return order##bits##toh(v);					\
}									\
									\
static inline void put_unaligned_##order##bits(u##bits v, void *p)	\
{									\
	v = hto##order##bits(v);					\
	__builtin_memcpy(p, &v, sizeof(v));				\
}

OMERTA_UNALIGNED(le, 32)
OMERTA_UNALIGNED(le, 64)
OMERTA_UNALIGNED(be, 16)
OMERTA_UNALIGNED(be, 32)
OMERTA_UNALIGNED(be, 64)

#undef OMERTA_UNALIGNED

#endif /* _OMERTA_USER_UNALIGNED_H */
