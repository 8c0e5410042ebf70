/* SPDX-License-Identifier: GPL-2.0 */
/* rtnetlink requests around one device */
#ifndef OM_RTNL_H
#define OM_RTNL_H

#include "lib/model.h"

#include <linux/rtnetlink.h>

struct om_rtnl;

/* Open a socket. Rules and routes of a table do not need the device to exist. */
struct om_rtnl *om_rtnl_open(const char *ifname, struct om_err *err);
void om_rtnl_close(struct om_rtnl *r);

/*
 * These four functions add a request to a batch, and send the batch when it is full. The
 * error is that of the first refused request, and names it. Later requests of the same batch
 * may have been executed.
 */
int om_rtnl_add_address(struct om_rtnl *r, const struct om_prefix *address,
			struct om_err *err);
int om_rtnl_add_route(struct om_rtnl *r, const struct om_prefix *prefix,
		      uint32_t table, struct om_err *err);
/* @mtu: 0 for no change */
int om_rtnl_set_up(struct om_rtnl *r, uint32_t mtu, struct om_err *err);
/* Set the root queueing discipline of the device. */
int om_rtnl_set_qdisc(struct om_rtnl *r, const char *kind, struct om_err *err);
/* Send the pending requests. */
int om_rtnl_flush(struct om_rtnl *r, struct om_err *err);

/* A rule that leads into a table */
struct om_rule {
	int family;
	uint32_t table;
	uint32_t not_mark;		/* match packets without this mark; 0: match all */
	bool no_default;		/* ignore the table's default route */
};

/* @change: RTM_NEWRULE or RTM_DELRULE. Sends the batch, too. */
int om_rtnl_rule(struct om_rtnl *r, int change, const struct om_rule *rule,
		 struct om_err *err);

/* Default routes of a table */
struct om_defaults {
	unsigned int all;
	unsigned int ours;		/* those into the device */
};

int om_rtnl_defaults(struct om_rtnl *r, int family, uint32_t table,
		     struct om_defaults *found, struct om_err *err);

#endif
