// SPDX-License-Identifier: GPL-2.0
#define ISA	neon
#define LANES	4
#define MANY_REGISTERS
#define BATCHES	1
#define WAYS	2
#define BYTE_SHUFFLES
#define FIXED_STEPS	6
#define LEVEL_STEPS	3
#define LONE_MOST	36
#define LITTLE_MOST	40
#define LIMBS	"mb_limbs26.h"
#include "crypto/mb_simd.h"
