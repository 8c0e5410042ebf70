// SPDX-License-Identifier: GPL-2.0
#define ISA	ssse3
#define LANES	4
#define BATCHES	1
#define WAYS	2
#define BYTE_SHUFFLES
#define FIXED_STEPS	6
#define LEVEL_STEPS	3
#define LONE_MOST	160
#define LITTLE_MOST	160
#define LIMBS	"mb_limbs26.h"
#include "crypto/mb_simd.h"
