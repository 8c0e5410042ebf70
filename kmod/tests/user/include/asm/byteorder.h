/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_BYTEORDER_H
#define _OMERTA_USER_BYTEORDER_H

#include <endian.h>
#include <linux/types.h>

static inline void le32_to_cpu_array(u32 *words, unsigned int n)
{
	for (; n--; words++)
		*words = le32toh(*words);
}

#endif /* _OMERTA_USER_BYTEORDER_H */
