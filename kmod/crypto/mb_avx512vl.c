// SPDX-License-Identifier: GPL-2.0
#define ISA	avx512vl
#define LANES	8
#define BATCHES	2
#define WAYS	4
#define LIMBS	"mb_limbs26.h"
#include "crypto/mb_simd.h"
