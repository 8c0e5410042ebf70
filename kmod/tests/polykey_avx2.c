// SPDX-License-Identifier: GPL-2.0
#include "../polykey_avx2.c"
