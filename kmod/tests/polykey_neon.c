// SPDX-License-Identifier: GPL-2.0
#include "../polykey_neon.c"
