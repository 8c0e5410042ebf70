// SPDX-License-Identifier: GPL-2.0
#include "crypto/mb_ssse3.c"
