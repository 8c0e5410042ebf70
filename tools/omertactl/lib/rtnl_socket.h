/* SPDX-License-Identifier: GPL-2.0 */
/* The socket and the batch of requests, shared by rtnl.c and rtnl_read.c */
#ifndef OM_RTNL_SOCKET_H
#define OM_RTNL_SOCKET_H

#include "lib/addr.h"
#include "lib/rtnl.h"

struct nl_msg;
struct nl_sock;

/* Most requests of a batch */
#define OM_RTNL_BATCH	64

struct om_rtnl_request {
	struct nl_msg *msg;
	char what[OM_PREFIX_LEN + 40];
	struct om_route route;		/* to be added; or its table is 0 */
};

/* A dump's search. Hosts without IPv6 dump other families. */
struct om_rtnl_search {
	int family;
	struct om_list *list;
	bool raw;			/* @list holds struct om_route */
	struct om_defaults *defaults;
	const struct om_route *route;	/* a route to find the device of */
	uint32_t oif;			/* device of that or of the default route, or 0 */
	uint32_t found;			/* device of the latest route, */
	uint32_t found_mtu;		/* and its own MTU, or 0 */
	bool learnt;			/* that MTU is from an ICMP error */
	uint32_t mtu;
	bool up;
};

struct om_rtnl {
	struct nl_sock *sk;
	int ifindex;			/* 0 if there is no device */
	struct om_rtnl_request requests[OM_RTNL_BATCH];
	unsigned int n;
	uint32_t first_seq;		/* sequence number of the first request of the batch */
	bool done;			/* the last request is answered */
	int rc;				/* result of the first refused request */
	struct om_rtnl_request *refused;	/* that request, in @requests */
	struct om_err *err;
	struct om_rtnl_search *search;
};

int om_rtnl_lib_error(struct om_err *err, int error);
/* Add @msg to the batch, and take ownership. @built: libnl's result of building it */
int om_rtnl_put(struct om_rtnl *r, int built, struct nl_msg *msg, struct om_err *err,
		const char *fmt, ...) OM_PRINTF(5, 6);
/* Send the batch. Returns a negative libnl error, or r->rc. */
int om_rtnl_send(struct om_rtnl *r, struct om_err *err);

/* Handle an object of a dump, or the answer to a query; @arg is the socket. */
int om_rtnl_on_object(struct nl_msg *msg, void *arg);
/* Find a device into which a table has this very route, 0 if there is none. */
uint32_t om_rtnl_route_device(struct om_rtnl *r, const struct om_route *route);

#endif
