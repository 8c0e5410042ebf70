/* SPDX-License-Identifier: GPL-2.0 */
/* A host's part of a tunnel around the device: addresses, MTU, routes and rules. */
#ifndef OM_HOST_H
#define OM_HOST_H

#include "lib/config.h"

/*
 * A default route leads everything into the device but what the device sends, which has
 * a mark. Unless the file has one, this is it, and the table that the route is in.
 */
#define OM_HOST_MARK	51900

/* Set the mark that the file leaves to us, if its routes need one. */
void om_host_set_mark(struct om_config *conf);

#define OM_FAMILIES	2	/* IPv4 and IPv6 */
#define OM_RULES	2

/* Rules that lead into the table of a default route, of IPv4 and of IPv6 */
struct om_host_rules {
	uint32_t mark;			/* and the table */
	bool there[OM_FAMILIES][OM_RULES];
};

/*
 * Give a device, made and set, all that the file says, and set it up. What is there
 * after an error goes with the device and with @rules, those that were added.
 */
int om_host_configure(const char *ifname, const struct om_config *conf,
		      struct om_host_rules *rules, struct om_err *err);
/*
 * Give a device a queue that stays short when the device stops it. Where the kernel has
 * no fq_codel, the device keeps the queue that it has.
 */
int om_host_set_queue(const char *ifname, struct om_err *err);
/* Those of a device's default routes: of a table that leads into no other device */
int om_host_find_rules(const char *ifname, uint32_t mark,
		       struct om_host_rules *rules, struct om_err *err);
/* Remove those that are there. After an error the rest is tried, too. */
int om_host_drop_rules(const struct om_host_rules *rules, struct om_err *err);

#endif
