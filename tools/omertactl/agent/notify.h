/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OM_NOTIFY_H
#define OM_NOTIFY_H

/*
 * Tell the service manager, if there is one, as sd_notify(3) lays it down: READY=1,
 * RELOADING=1, STOPPING=1.
 */
void om_notify(const char *state);

#endif
