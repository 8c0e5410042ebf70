/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_SIMD_H
#define _OMERTA_USER_SIMD_H

#include <stdbool.h>

#include <asm/cpufeature.h>

#if defined(__x86_64__)
#define CONFIG_X86_64	1
#elif defined(__aarch64__)
#define CONFIG_ARM64	1
#endif

#define may_use_simd()		true
#define scoped_ksimd()		if (true)

#endif /* _OMERTA_USER_SIMD_H */
