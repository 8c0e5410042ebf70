/* SPDX-License-Identifier: GPL-2.0 */
/* Objects in netlink messages, by their field tables; of nl.c and its kin. */
#ifndef OM_NL_MSG_H
#define OM_NL_MSG_H

#include "lib/model.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/socket.h>

struct om_nl;

/* The socket, opened for requests about such objects; NULL after an error */
struct nl_sock *om_nl_socket(struct om_nl *nl, const struct om_object *obj,
			     struct om_err *err);

/* A request whose socket is open, and whose answer, an error, is left to be read */
int om_nl_post(struct om_nl *nl, int cmd, const struct om_object *obj,
	       const void *data, struct om_err *err);

/* The same, but an answer comes in any case, under the number in *seq */
int om_nl_ask(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, uint32_t *seq, struct om_err *err);

/* Put the fields that @data has. Returns 0 or libnl's error. */
int om_msg_put(struct nl_msg *msg, const struct om_object *obj,
	       const void *data);

/* Room for every field at its longest, and for the lists as they are */
size_t om_msg_size(const struct om_object *obj, const void *data);

/* Take what the table knows. Returns 0 or -EPROTO. */
int om_msg_get(struct nlattr *first, int len, const struct om_object *obj,
	       void *data);

#endif
