/* SPDX-License-Identifier: GPL-2.0 */
/* The requests that turn a device's state into that of a file. */
#ifndef OM_SYNC_H
#define OM_SYNC_H

#include "lib/config.h"
#include "lib/state.h"

/*
 * @literal: every setting of the file is sent and what it lacks is reset, a
 * learned endpoint included (setconf). Otherwise only differences are sent,
 * and a port or endpoint that the file does not name stays (syncconf).
 */
int om_sync_apply(struct om_nl *nl, const char *ifname, struct om_config *conf,
		  const struct om_state *state, bool literal,
		  struct om_err *err);

#endif
