# SPDX-License-Identifier: GPL-2.0
# The files that use vector registers, and their flags: no more than each needs, as the kernel
# may be built for the CPU of the build machine. Their functions only run inside of
# scoped_ksimd(). simd-prefix: their folder, relative to the Kbuild that includes this.
simd-$(CONFIG_X86_64) := avx512ifma avx512vl avx2 ssse3 sse2
simd-$(CONFIG_ARM64) := neon
simd-objs := $(simd-y:%=$(simd-prefix)mb_%.o)

simd-off := -mno-sse -mno-sse2 -mno-avx -msoft-float
simd-avx512 := -mavx512f -mavx512vl -mbmi2

CFLAGS_REMOVE_$(simd-prefix)mb_sse2.o := $(simd-off)
CFLAGS_$(simd-prefix)mb_sse2.o := -msse2 -mno-ssse3
CFLAGS_REMOVE_$(simd-prefix)mb_ssse3.o := $(simd-off)
CFLAGS_$(simd-prefix)mb_ssse3.o := -mssse3 -mno-avx
CFLAGS_REMOVE_$(simd-prefix)mb_avx2.o := $(simd-off)
CFLAGS_$(simd-prefix)mb_avx2.o := -mavx2 -mbmi2 -mno-avx512f
CFLAGS_REMOVE_$(simd-prefix)mb_avx512vl.o := $(simd-off)
CFLAGS_$(simd-prefix)mb_avx512vl.o := $(simd-avx512) -mprefer-vector-width=256
CFLAGS_REMOVE_$(simd-prefix)mb_avx512ifma.o := $(simd-off)
CFLAGS_$(simd-prefix)mb_avx512ifma.o := $(simd-avx512) -mavx512ifma
CFLAGS_REMOVE_$(simd-prefix)mb_neon.o := -mgeneral-regs-only

# Checks would keep vectors in memory, and their guards need more stack than there is.
# Indices and shifts have constant bounds; addresses are checked in user space, by the leaf
# tests with the address sanitizer. Older kernels look for the file without its directory.
$(foreach o,$(simd-objs) $(notdir $(simd-objs)),$(eval UBSAN_SANITIZE_$(o) := n))
$(foreach o,$(simd-objs) $(notdir $(simd-objs)),$(eval KASAN_SANITIZE_$(o) := n))
