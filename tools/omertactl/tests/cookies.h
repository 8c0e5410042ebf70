/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's part in cookies: it makes them, and looks at mac2. */
#ifndef OM_COOKIES_H
#define OM_COOKIES_H

#include "agent/handshake.h"

/* A cookie message of @host for the sender of @cause */
size_t cookie_message(const struct om_hs_host *host, const uint8_t cookie[OM_HS_MAC],
		      const uint8_t *cause, size_t len, uint8_t *out);
/* Return true if a message's mac2 is made with this cookie. */
bool cookie_is_in(const uint8_t cookie[OM_HS_MAC], const uint8_t *msg, size_t len);

#endif
