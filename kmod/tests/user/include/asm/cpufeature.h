/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_CPUFEATURE_H
#define _OMERTA_USER_CPUFEATURE_H

#if defined(__x86_64__)
#define boot_cpu_has(feature)		__builtin_cpu_supports(feature)
/* The former looks at what the system saves, too. */
#define cpu_has_xfeatures(mask, name)	true
#define XFEATURE_MASK_YMM		0
#define X86_FEATURE_AVX512IFMA	"avx512ifma"
#define X86_FEATURE_AVX512VL		"avx512vl"
#define X86_FEATURE_AVX2		"avx2"
#define X86_FEATURE_BMI2		"bmi2"
#define X86_FEATURE_SSSE3		"ssse3"
#define X86_FEATURE_XMM2		"sse2"
#else
#define cpu_have_named_feature(name)	true
#endif

#endif /* _OMERTA_USER_CPUFEATURE_H */
