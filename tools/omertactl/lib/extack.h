/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's explanation of a refused request. Plain memory, no libnl. */
#ifndef OM_EXTACK_H
#define OM_EXTACK_H

#include "lib/model.h"

#include <linux/netlink.h>

/* A request as sent: its bytes with headers, and the table of its attributes */
struct om_sent {
	const void *data;
	size_t len;
	const struct om_object *object;
};

/*
 * Describe the error in @reply, an NLMSG_ERROR or NLMSG_DONE, in terms of the request.
 * Returns OM_OK if there is no error, else OM_SYSTEM with @err set.
 */
int om_extack_error(const struct nlmsghdr *reply, const struct om_sent *sent,
		    struct om_err *err);

/* Return the message of a successful reply, or NULL. */
const char *om_extack_warning(const struct nlmsghdr *reply);

#endif
