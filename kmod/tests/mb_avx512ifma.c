// SPDX-License-Identifier: GPL-2.0
#include "crypto/mb_avx512ifma.c"
