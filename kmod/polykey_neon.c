// SPDX-License-Identifier: GPL-2.0
#define LANES	4
#include "polykey_simd.h"

void omerta_polykey_neon(struct omerta_polykeys *keys, unsigned int first)
{
	polykeys(keys, first);
}
