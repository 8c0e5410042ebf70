/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OM_NOTIFY_H
#define OM_NOTIFY_H

/*
 * Send a state to the service manager, if there is one: READY=1, RELOADING=1, STOPPING=1,
 * see sd_notify(3).
 */
void om_notify(const char *state);

#endif
