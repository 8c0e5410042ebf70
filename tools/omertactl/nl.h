/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to the kernel. The socket opens with the first one, so that
 * nothing happens before a command line is known to be right.
 */
#ifndef OM_NL_H
#define OM_NL_H

#include "model.h"

struct om_nl;

struct om_nl *om_nl_new(void);
void om_nl_free(struct om_nl *nl);

/*
 * @cmd with the attributes that @data, an object of kind @obj, has. The
 * message is wiped: it may hold secrets.
 */
int om_nl_do(struct om_nl *nl, int cmd, const struct om_object *obj,
	     const void *data, struct om_err *err);

/* The same for a request that one object, put into @reply, answers */
int om_nl_get(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, void *reply, struct om_err *err);

/*
 * All objects, put into @list, which is empty on failure. A dump that changes
 * interrupted is repeated a few times.
 */
int om_nl_dump(struct om_nl *nl, int cmd, const struct om_object *obj,
	       const void *data, struct om_list *list, struct om_err *err);

/*
 * Give a device a root qdisc of this kind. Where the kernel has no such kind, the
 * device keeps what it has.
 */
int om_nl_qdisc(struct om_nl *nl, const char *ifname, const char *kind,
		struct om_err *err);

struct om_event {
	const char *name;
	const struct om_object *obj;
	const void *data;	/* an object of that kind */
};

/*
 * Call @fn for each event until it returns other than OM_OK, which is returned.
 * That some were lost is said on standard error.
 */
int om_nl_monitor(struct om_nl *nl,
		  int (*fn)(const struct om_event *ev, void *arg), void *arg,
		  struct om_err *err);

/* Bytes that a prefix takes in a request */
size_t om_nl_prefix_size(const struct om_prefix *p);

#endif
