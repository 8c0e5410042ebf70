# SPDX-License-Identifier: GPL-2.0
# Which files use vector registers, and their flags: no more than each needs, as a
# kernel may be built for the CPU that builds it. None of their functions runs without
# scoped_ksimd().
simd-objs-$(CONFIG_X86_64) := polykey_avx512vl.o polykey_avx2.o polykey_sse2.o
simd-objs-$(CONFIG_ARM64) := polykey_neon.o
simd-objs := $(simd-objs-y)

CFLAGS_REMOVE_polykey_sse2.o := -mno-sse -mno-sse2 -msoft-float
CFLAGS_polykey_sse2.o := -msse2
CFLAGS_REMOVE_polykey_avx2.o := -mno-sse -mno-sse2 -mno-avx -msoft-float
CFLAGS_polykey_avx2.o := -mavx2 -mno-avx512f
CFLAGS_REMOVE_polykey_avx512vl.o := -mno-sse -mno-sse2 -mno-avx -msoft-float
CFLAGS_polykey_avx512vl.o := -mavx512f -mavx512vl -mprefer-vector-width=256
CFLAGS_REMOVE_polykey_neon.o := -mgeneral-regs-only
