/* SPDX-License-Identifier: GPL-2.0 */
/* The packet filter of a tunnel, a table of nf_tables of its own */
#ifndef OM_GUARD_H
#define OM_GUARD_H

#include "lib/config.h"

/* A character of a device's name takes three at most. */
#define OM_GUARD_NAME	(3 * IFNAMSIZ + 32)

struct om_guard {
	char name[OM_GUARD_NAME];	/* the table's name */
	bool changed;
	bool removed;
	char *before;			/* rules that were there, or NULL */
};

/*
 * Make the filter that a file asks for: with a default route, packets for the tunnel's addresses
 * are dropped if they come from elsewhere, and answers to the tunnel's own datagrams get their
 * mark; with KillSwitch, nothing else leaves the host. The device exists, and its mark is in
 * @conf. A host without nf_tables causes a warning only, unless the file has KillSwitch.
 */
int om_guard_apply(struct om_guard *g, const struct om_config *conf, const char *ifname,
		   struct om_err *err);
/* Restore what om_guard_apply() has changed. */
void om_guard_undo(struct om_guard *g);
/* Find the filter of a device, while it can be told by the device. */
void om_guard_find(struct om_guard *g, const char *ifname);
/* Remove the filter that was found, if any. */
int om_guard_remove(struct om_guard *g, struct om_err *err);
/* Return true if there is a filter of a device that may be gone. */
bool om_guard_exists(const char *ifname);
void om_guard_free(struct om_guard *g);

#endif
