/* SPDX-License-Identifier: GPL-2.0 */
/* The host's configuration around a device: addresses, MTU, routes and rules */
#ifndef OM_HOST_H
#define OM_HOST_H

#include "lib/config.h"

/*
 * With a default route all packets go into the device, except those with the device's mark,
 * which it sends itself. This is the default mark, and the number of the route's table.
 */
#define OM_HOST_MARK	51900

/* Set the default mark, if the routes of the file need one and the file sets none. */
void om_host_set_mark(struct om_config *conf);

#define OM_FAMILIES	2	/* IPv4 and IPv6 */
#define OM_RULES	2

/* Rules that lead into the table of a default route, for IPv4 and IPv6 */
struct om_host_rules {
	uint32_t mark;			/* the mark, and number of the table */
	bool there[OM_FAMILIES][OM_RULES];
};

/*
 * Apply a file's host part to a device that is created and configured, and bring it up.
 * @rules gets the rules that were added. After an error, deleting the device and @rules
 * removes everything.
 */
int om_host_configure(const char *ifname, const struct om_config *conf,
		      struct om_host_rules *rules, struct om_err *err);
/*
 * Give a device a queueing discipline that keeps the backlog short. Without fq_codel in the
 * kernel the device keeps the one it has.
 */
int om_host_set_queue(const char *ifname, struct om_err *err);
/* Find the rules of a device's default routes, unless the table leads into other devices. */
int om_host_find_rules(const char *ifname, uint32_t mark,
		       struct om_host_rules *rules, struct om_err *err);
/* Remove the rules that exist. After an error the others are removed all the same. */
int om_host_drop_rules(const struct om_host_rules *rules, struct om_err *err);

#endif
