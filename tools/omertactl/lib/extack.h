/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel says about a request it refuses. Plain memory, no libnl. */
#ifndef OM_EXTACK_H
#define OM_EXTACK_H

#include "lib/model.h"

#include <linux/netlink.h>

/* A request as it was sent: its bytes, headers included, and its attributes' table */
struct om_sent {
	const void *data;
	size_t len;
	const struct om_object *object;
};

/*
 * Describe the error of @reply, an NLMSG_ERROR or NLMSG_DONE, in terms of what
 * was sent. OM_OK if it carries no error, else OM_SYSTEM and @err.
 */
int om_extack_error(const struct nlmsghdr *reply, const struct om_sent *sent,
		    struct om_err *err);

/* The message that comes with a success, or NULL */
const char *om_extack_warning(const struct nlmsghdr *reply);

#endif
