/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_TYPES_H
#define _OMERTA_USER_TYPES_H

/* Stands in for the kernel's header when the leaves are built in user space. */
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/compiler.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

typedef u16 __le16;
typedef u32 __le32;
typedef u64 __le64;
typedef u16 __be16;
typedef u32 __be32;
typedef u16 __sum16;

typedef unsigned int gfp_t;

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#define cpu_to_le32	htole32
#define cpu_to_le64	htole64
#define le32_to_cpu	le32toh
#define le64_to_cpu	le64toh

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))

#endif /* _OMERTA_USER_TYPES_H */
