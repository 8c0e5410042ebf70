/* SPDX-License-Identifier: GPL-2.0 */
/* Requests that make a device's state that of a file */
#ifndef OM_SYNC_H
#define OM_SYNC_H

#include "lib/config.h"
#include "lib/state.h"

/*
 * @literal: send every setting of the file, and reset all others, including learned
 * endpoints (setconf). Otherwise send only differences, and keep a port or an endpoint that
 * the file does not set (syncconf). @done: set to the number of changes, or NULL
 */
int om_sync_apply(struct om_nl *nl, const char *ifname, struct om_config *conf,
		  const struct om_state *state, bool literal, unsigned int *done,
		  struct om_err *err);

/* Set the default settings of a device, as far as they are the same on all machines. */
void om_device_defaults(struct om_device *d);
/* Compare a field that is not a list. */
bool om_field_same(const struct om_field *f, const void *a, const void *b);

#endif
