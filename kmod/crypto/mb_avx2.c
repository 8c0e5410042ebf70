// SPDX-License-Identifier: GPL-2.0
#define ISA	avx2
#define LANES	8
#define BATCHES	1
#define WAYS	4
#define BYTE_SHUFFLES
#define FIXED_STEPS	6
#define LEVEL_STEPS	1
#define LONE_MOST	23
#define LITTLE_MOST	34
#define LIMBS	"mb_limbs26.h"
#include "crypto/mb_simd.h"
