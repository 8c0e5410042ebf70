// SPDX-License-Identifier: GPL-2.0
#include "crypto/mb_neon.c"
