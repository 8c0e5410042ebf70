/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests to the kernel. The first request opens the socket, so nothing happens before the
 * command line is checked.
 */
#ifndef OM_NL_H
#define OM_NL_H

#include "lib/model.h"

struct om_nl;

struct om_nl *om_nl_new(void);
void om_nl_free(struct om_nl *nl);

/*
 * Send a request with the attributes of @data, an object of kind @obj. The message is wiped,
 * as it may hold secrets.
 */
int om_nl_do(struct om_nl *nl, int cmd, const struct om_object *obj,
	     const void *data, struct om_err *err);

/* The same for a request that is answered by one object, which @reply gets. */
int om_nl_get(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, void *reply, struct om_err *err);

/*
 * Dump all objects into @list, which is empty after an error. A dump interrupted by changes
 * is repeated a few times.
 */
int om_nl_dump(struct om_nl *nl, int cmd, const struct om_object *obj,
	       const void *data, struct om_list *list, struct om_err *err);

struct om_event {
	uint8_t cmd;		/* OMERTA_CMD_*_NTF */
	const char *name;
	const struct om_object *obj;
	const void *data;	/* an object of that kind */
};

/* Events and control datagrams have sockets of their own. These functions do not block. */
struct om_nl_events;

/* Called for each event. A return value other than OM_OK ends the reading. */
typedef int (*om_on_event)(const struct om_event *ev, void *arg);

struct om_nl_events *om_nl_events_open(struct om_err *err);
void om_nl_events_close(struct om_nl_events *e);
int om_nl_events_fd(const struct om_nl_events *e);
/*
 * Call @fn for each pending event. *lost is set if the buffer overflowed. Returns OM_OK, an
 * error, or the value of @fn that ended the reading.
 */
int om_nl_events_read(struct om_nl_events *e, om_on_event fn, void *arg,
		      bool *lost, struct om_err *err);

struct om_nl_control;

typedef void (*om_on_control)(const struct om_control *c, void *arg);
/* The kernel refused the request with this sequence number; @error is an errno. */
typedef void (*om_on_refused)(uint32_t seq, int error, void *arg);

/*
 * Open a socket bound to the device, with our static public key, by which the kernel admits
 * datagrams for us. Datagrams that do not fit into the socket's buffer are lost.
 */
struct om_nl_control *om_nl_control_open(const char *ifname, const uint8_t *public,
					 struct om_err *err);
/* Bind with another public key. Pending datagrams are lost. */
int om_nl_control_rebind(struct om_nl_control *c, const uint8_t *public,
			 struct om_err *err);
/* The device has another name. */
void om_nl_control_rename(struct om_nl_control *c, const char *ifname);
void om_nl_control_close(struct om_nl_control *c);
int om_nl_control_fd(const struct om_nl_control *c);
int om_nl_control_read(struct om_nl_control *c, om_on_control fn, om_on_refused refused,
		       void *arg, struct om_err *err);
/*
 * Send a datagram; this sets its ifname. *seq gets the number by which om_nl_control_read()
 * tells of a refusal.
 */
int om_nl_control_send(struct om_nl_control *c, struct om_control *datagram, uint32_t *seq,
		       struct om_err *err);

/*
 * Show others how handshakes fare, which older modules refuse; this sets the report's ifname.
 * Refusals are ignored.
 */
int om_nl_control_report(struct om_nl_control *c, struct om_report *report, struct om_err *err);

/* Return the size of a prefix in a request. */
size_t om_nl_prefix_size(const struct om_prefix *p);

#endif
