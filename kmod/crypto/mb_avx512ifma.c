// SPDX-License-Identifier: GPL-2.0
#define ISA	avx512ifma
#define LANES	16
#define MANY_REGISTERS
#define BATCHES	2
#define WAYS	8
#define FIXED_STEPS	7
#define LEVEL_STEPS	1
#define LONE_MOST	24
#define LITTLE_MOST	35
#define LIMBS	"mb_limbs44.h"
#define NARROW(what)	omerta_mb_##what##_avx512vl
#include "crypto/mb_simd.h"
