// SPDX-License-Identifier: GPL-2.0
#include "../polykey_sse2.c"
