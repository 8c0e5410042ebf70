// SPDX-License-Identifier: GPL-2.0
#include "../mb_avx512vl.c"
