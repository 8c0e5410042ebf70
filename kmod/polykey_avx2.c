// SPDX-License-Identifier: GPL-2.0
#define LANES	8
#include "polykey_simd.h"

void omerta_polykey_avx2(struct omerta_polykeys *keys, unsigned int first)
{
	polykeys(keys, first);
}
