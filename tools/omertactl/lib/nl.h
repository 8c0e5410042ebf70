/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to the kernel. The socket opens with the first one, so that
 * nothing happens before a command line is known to be right.
 */
#ifndef OM_NL_H
#define OM_NL_H

#include "lib/model.h"

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

struct om_event {
	uint8_t cmd;		/* OMERTA_CMD_*_NTF */
	const char *name;
	const struct om_object *obj;
	const void *data;	/* an object of that kind */
};

/* Events and control datagrams have sockets of their own; none of these blocks. */
struct om_nl_events;

/* For whom something arrives; what it returns other than OM_OK ends the reading */
typedef int (*om_on_event)(const struct om_event *ev, void *arg);

struct om_nl_events *om_nl_events_open(struct om_err *err);
void om_nl_events_close(struct om_nl_events *e);
int om_nl_events_fd(const struct om_nl_events *e);
/*
 * Call @fn for each event that is there. *lost: whether some came too fast.
 * Returns OM_OK, an error or what @fn did.
 */
int om_nl_events_read(struct om_nl_events *e, om_on_event fn, void *arg,
		      bool *lost, struct om_err *err);

struct om_nl_control;

typedef void (*om_on_control)(const struct om_control *c, void *arg);

/*
 * Bound to the device with our static public key, by which the kernel tells datagrams
 * that are meant for us. What the reader cannot take any more is lost.
 */
struct om_nl_control *om_nl_control_open(const char *ifname, const uint8_t *public,
					 struct om_err *err);
/* With another public key. Datagrams that are waiting are lost. */
int om_nl_control_rebind(struct om_nl_control *c, const uint8_t *public,
			 struct om_err *err);
void om_nl_control_close(struct om_nl_control *c);
int om_nl_control_fd(const struct om_nl_control *c);
int om_nl_control_read(struct om_nl_control *c, om_on_control fn, void *arg,
		       struct om_err *err);
/*
 * Send a datagram; its ifname is set here. A refusal is read later by
 * om_nl_control_read(), and is no error: datagrams get lost.
 */
int om_nl_control_send(struct om_nl_control *c, struct om_control *datagram,
		       struct om_err *err);

/* Bytes that a prefix takes in a request */
size_t om_nl_prefix_size(const struct om_prefix *p);

#endif
