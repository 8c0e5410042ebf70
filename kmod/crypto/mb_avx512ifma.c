// SPDX-License-Identifier: GPL-2.0
#define ISA	avx512ifma
#define LANES	16
#define BATCHES	2
#define WAYS	8
#define LIMBS	"mb_limbs44.h"
#include "crypto/mb_simd.h"
