/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_UNALIGNED_H
#define _OMERTA_USER_UNALIGNED_H

#include <linux/types.h>

static inline u64 be_load(const u8 *p, unsigned int n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

static inline void be_store(u8 *p, u64 v, unsigned int n)
{
	for (; n; v >>= 8)
		p[--n] = v;
}

static inline u32 le32_load(const u8 *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
}

static inline void le_store(u8 *p, u64 v, unsigned int n)
{
	for (; n--; v >>= 8)
		*p++ = v;
}

#define get_unaligned_le32(p)		le32_load((const u8 *)(p))
#define get_unaligned_le64(p) \
	(get_unaligned_le32(p) | \
	 (u64)get_unaligned_le32((const u8 *)(p) + 4) << 32)
#define put_unaligned_le32(v, p)	le_store((u8 *)(p), v, 4)
#define put_unaligned_le64(v, p)	le_store((u8 *)(p), v, 8)
#define get_unaligned_be16(p)		((u16)be_load((const u8 *)(p), 2))
#define get_unaligned_be32(p)		((u32)be_load((const u8 *)(p), 4))
#define get_unaligned_be64(p)		be_load((const u8 *)(p), 8)
#define put_unaligned_be16(v, p)	be_store((u8 *)(p), v, 2)
#define put_unaligned_be32(v, p)	be_store((u8 *)(p), v, 4)
#define put_unaligned_be64(v, p)	be_store((u8 *)(p), v, 8)

#endif /* _OMERTA_USER_UNALIGNED_H */
