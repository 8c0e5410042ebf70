/* SPDX-License-Identifier: GPL-2.0 */
/* Read an initiation in one step, for tests that know its sender. */
#ifndef OM_INITIATION_H
#define OM_INITIATION_H

#include "agent/handshake.h"

static inline bool read_initiation(struct om_hs *h, const struct om_hs_host *host,
				   const uint8_t *msg, size_t len,
				   struct om_hs_offer *offer)
{
	uint8_t public[OM_NOISE_KEY];

	return om_hs_read_initiator(h, host, msg, len, public) &&
	       om_hs_read_offer(h, msg, len, offer);
}

#endif
