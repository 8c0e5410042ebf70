// SPDX-License-Identifier: GPL-2.0
#define ISA	ssse3
#define LANES	4
#define BATCHES	1
#define WAYS	2
#define BYTE_SHUFFLES
#define LIMBS	"mb_limbs26.h"
#include "crypto/mb_simd.h"
