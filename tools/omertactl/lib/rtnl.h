/* SPDX-License-Identifier: GPL-2.0 */
/* rtnetlink requests around one device */
#ifndef OM_RTNL_H
#define OM_RTNL_H

#include "lib/model.h"

#include <linux/rtnetlink.h>

struct om_rtnl;

/* A route into the device, or an address of it, for which only the prefix is used */
struct om_route {
	struct om_prefix prefix;
	uint32_t table;
	bool fixed;			/* another program's: its protocol is not "boot" */
	void *raw;			/* the kernel's message, to delete or restore it exactly */
	size_t raw_len;
};

/* Free a list of struct om_route with their messages. */
void om_routes_free(struct om_list *routes);

/* Open a socket. Rules and routes of a table do not need the device to exist. */
struct om_rtnl *om_rtnl_open(const char *ifname, struct om_err *err);
void om_rtnl_close(struct om_rtnl *r);

/*
 * These functions add a request to a batch, and send the batch when it is full. The
 * error is that of the first refused request, and names it. Later requests of the same batch
 * may have been executed. @new: add the object, or else delete it
 */
int om_rtnl_address(struct om_rtnl *r, bool new, const struct om_route *address,
		    struct om_err *err);
int om_rtnl_route(struct om_rtnl *r, bool new, const struct om_route *route,
		  struct om_err *err);
int om_rtnl_set_down(struct om_rtnl *r, struct om_err *err);
/* @mtu: 0 for no change */
int om_rtnl_set_up(struct om_rtnl *r, uint32_t mtu, struct om_err *err);
/* Set the MTU of the device, which may be down. */
int om_rtnl_set_mtu(struct om_rtnl *r, uint32_t mtu, struct om_err *err);
/* Set the queueing discipline of each transmit queue of the device. */
int om_rtnl_set_qdisc(struct om_rtnl *r, const char *kind, struct om_err *err);
/* Get the number of transmit queues of a device, used or not; 0 on errors. */
uint32_t om_rtnl_queues(int ifindex);
/* Get the number of packets that wait in the root queueing discipline of a device; 0 on errors. */
void om_rtnl_backlog(uint32_t ifindex, uint64_t *packets);
/* Send the pending requests. */
int om_rtnl_flush(struct om_rtnl *r, struct om_err *err);

/* A rule that leads into a table */
struct om_rule {
	int family;
	uint32_t table;
	uint32_t not_mark;		/* match packets without this mark; 0: match all */
	bool no_default;		/* ignore the table's default route */
	uint32_t uid;			/* match packets of this user; 0: all */
	uint32_t priority;		/* 0: in front of all others, but for the local table's */
};

/* Sends the batch, too. */
int om_rtnl_rule(struct om_rtnl *r, bool new, const struct om_rule *rule,
		 struct om_err *err);

/*
 * Read what the kernel has. Lists are emptied first, and are the caller's to free. They hold
 * the device's addresses and routes but for those that the kernel has made, struct om_route, or
 * all rules of a family that are of our form and have no other conditions, struct om_rule, in
 * their order.
 */
int om_rtnl_link(struct om_rtnl *r, uint32_t *mtu, bool *up, struct om_err *err);
int om_rtnl_addresses(struct om_rtnl *r, struct om_list *addresses, struct om_err *err);
int om_rtnl_routes(struct om_rtnl *r, struct om_list *routes, struct om_err *err);
int om_rtnl_rules(struct om_rtnl *r, int family, struct om_list *rules, struct om_err *err);

/* Default routes of a table */
struct om_defaults {
	unsigned int all;
	unsigned int ours;		/* routes into the device */
	uint32_t mtu;			/* MTU of another one's link, or 0 */
};

int om_rtnl_defaults(struct om_rtnl *r, int family, uint32_t table,
		     struct om_defaults *found, struct om_err *err);

/*
 * Return the MTU of the route to an address for packets with a mark, as far as the host knows
 * the path; 0 if there is no route, or it leads into the device. @scope: the link of a
 * link-local address, or 0
 */
uint32_t om_rtnl_path_mtu(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope,
			  uint32_t mark);

/* Return true if there is such a route. This takes no lock of the kernel's. */
bool om_rtnl_reaches(struct om_rtnl *r, const struct om_addr *addr, uint32_t scope,
		     uint32_t mark);

/* Get the name of a device of this network namespace; false if there is none. */
bool om_rtnl_name(uint32_t ifindex, char name[IFNAMSIZ]);

/* Get the name of the device with an alternative name; false if there is none. */
bool om_rtnl_own_name(const char *altname, char name[IFNAMSIZ]);

/* Open a socket that tells when links, addresses and routes change; it does not block. */
struct om_rtnl *om_rtnl_watch(struct om_err *err);
int om_rtnl_fd(const struct om_rtnl *r);
/* Forget what has been told. */
void om_rtnl_drain(struct om_rtnl *r);

#endif
