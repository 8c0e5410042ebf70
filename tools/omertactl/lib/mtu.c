// SPDX-License-Identifier: GPL-2.0
#include "lib/mtu.h"

/* See "Header" and "Chunks" in protocol.rst. */
#define HEADER	16
#define TAG	16

uint32_t om_mtu_inner(uint32_t payload, uint32_t chunk)
{
	uint32_t rest = payload > HEADER ? payload - HEADER : 0;
	uint32_t tail = rest % (chunk + TAG);

	return rest / (chunk + TAG) * chunk + (tail > TAG ? tail - TAG : 0);
}
