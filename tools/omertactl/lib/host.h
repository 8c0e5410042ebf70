/* SPDX-License-Identifier: GPL-2.0 */
/* The host's configuration around a device: addresses, MTU, routes and rules */
#ifndef OM_HOST_H
#define OM_HOST_H

#include "lib/config.h"
#include "lib/rtnl.h"

/*
 * With a default route all packets go into the device, except those with the device's mark,
 * which it sends itself. This is the default mark, and the number of the route's table.
 */
#define OM_HOST_MARK	51900

/* Set the default mark, if the routes of the file need one and the file sets none. */
void om_host_set_mark(struct om_config *conf);

enum om_host_kind {
	OM_HOST_ADDRESS,
	OM_HOST_LINK,
	OM_HOST_ROUTE,
	OM_HOST_RULE,
};

/* A change, with what undoes it */
struct om_host_change {
	enum om_host_kind kind;
	bool removed;
	struct om_route route;		/* or an address, in its prefix */
	struct om_rule rule;
	uint32_t mtu, old_mtu;
};

#define OM_HOST_TEXT	(OM_PREFIX_LEN + 40)

/* Describe a change. */
void om_host_describe(char *buf, size_t size, const struct om_host_change *change);

/* The host's part of a device, as it was */
struct om_host {
	uint32_t mtu;
	bool up;
	struct om_list addresses;	/* struct om_route */
	struct om_list routes;		/* struct om_route */
};

void om_host_free(struct om_host *host);

/* Return true if a device is set up, which is the last thing that is done to it. */
bool om_host_is_up(const char *ifname);

/*
 * Make the host's part of a device that exists that of a file, whatever it is now, and bring
 * the device up. Addresses and routes that other programs added are removed, but for routes
 * whose protocol is not "boot", and addresses that the kernel made. @made: the device was
 * made for this, so the rules of its mark are not its own. @before gets the previous state, and
 * @changes the changes, struct om_host_change, even after an error; the caller frees both.
 */
int om_host_apply(const char *ifname, const struct om_config *conf, bool made,
		  struct om_host *before, struct om_list *changes, struct om_err *err);
/* Return to @before; @rules: only undo the changes of rules. */
int om_host_undo(const char *ifname, struct om_host *before, const struct om_list *changes,
		 bool rules, struct om_err *err);

/*
 * Give a device a queueing discipline that keeps the backlog short. Without fq_codel in the
 * kernel the device keeps the one it has.
 */
int om_host_set_queue(const char *ifname, struct om_err *err);

/*
 * Find the rules that lead into the table of a device's default routes, unless the table
 * leads into other devices. @rules: struct om_rule, in the order to remove them; the caller
 * frees it
 */
int om_host_find_rules(const char *ifname, uint32_t mark, struct om_list *rules,
		       struct om_err *err);
/* Remove rules. After an error the others are removed all the same. */
int om_host_drop_rules(const struct om_list *rules, struct om_err *err);

#endif
