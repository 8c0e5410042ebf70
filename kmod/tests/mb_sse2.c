// SPDX-License-Identifier: GPL-2.0
#include "crypto/mb_sse2.c"
