// SPDX-License-Identifier: GPL-2.0
#define ISA	avx512vl
#define LANES	8
#define MANY_REGISTERS
#define BATCHES	2
#define WAYS	4
#define FIXED_STEPS	6
#define LEVEL_STEPS	1
#define LONE_MOST	21
#define LITTLE_MOST	32
#define LIMBS	"mb_limbs26.h"
#define IS_NARROW
#include "crypto/mb_simd.h"
