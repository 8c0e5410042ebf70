/* SPDX-License-Identifier: GPL-2.0 */
/* Objects in netlink messages, by their field tables. Private to nl*.c. */
#ifndef OM_NL_MSG_H
#define OM_NL_MSG_H

#include "lib/model.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

struct om_nl;

/* Return the socket, opened for requests about objects of this kind; NULL on errors. */
struct nl_sock *om_nl_socket(struct om_nl *nl, const struct om_object *obj,
			     struct om_err *err);

/* Send a request on an open socket. The caller reads the answer, an error. */
int om_nl_post(struct om_nl *nl, int cmd, const struct om_object *obj, const void *data,
	       uint32_t *seq, struct om_err *err);

/* The same, but success is acknowledged, too. *seq gets the request's number. */
int om_nl_ask(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, uint32_t *seq, struct om_err *err);

/* Put the fields that @data has. Returns 0 or libnl's error. */
int om_msg_put(struct nl_msg *msg, const struct om_object *obj,
	       const void *data);

/* Return the size of a message with every field at its longest, and the current lists. */
size_t om_msg_size(const struct om_object *obj, const void *data);

/* Decode the attributes that are in the table. Returns 0 or -EPROTO. */
int om_msg_get(struct nlattr *first, int len, const struct om_object *obj,
	       void *data);

#endif
