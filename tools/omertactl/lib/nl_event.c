// SPDX-License-Identifier: GPL-2.0
#include "lib/nl.h"

#include "lib/nl_msg.h"

#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <stdlib.h>
#include <string.h>

#define EVENT(c, n, o)	[OMERTA_CMD_##c##_NTF] = { n, &om_##o##_object }

static const struct {
	const char *name;
	const struct om_object *obj;
} events[] = {
	EVENT(KEY_NEEDED, "key-needed", key),
	EVENT(KEY_CONFIRMED, "key-confirmed", key),
	EVENT(KEY_SOFT, "key-soft", key),
	EVENT(KEY_HARD, "key-hard", key),
	EVENT(KEY_DEAD, "key-dead", key),
	EVENT(PEER_ENDPOINT, "peer-endpoint", peer),
	EVENT(PEER_SILENT, "peer-silent", peer),
	EVENT(PEER_ALIVE, "peer-alive", peer),
	EVENT(DEVICE_GONE, "device-gone", device),
};

struct om_nl_events {
	struct om_nl *nl;
	struct nl_sock *sk;
	om_on_event fn;
	void *arg;
	int rc;
	struct om_err *err;
};

/* Events that only newer kernels have are ignored. */
static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct genlmsghdr *g = nlmsg_data(h);
	union {
		struct om_device device;
		struct om_peer peer;
		struct om_key key;
	} data;
	struct om_nl_events *e = arg;
	struct om_event ev = { .data = &data };

	if (!genlmsg_valid_hdr(h, 0) || g->cmd >= OM_ARRAY_SIZE(events) ||
	    !events[g->cmd].name)
		return NL_OK;
	ev.cmd = g->cmd;
	ev.name = events[g->cmd].name;
	ev.obj = events[g->cmd].obj;
	memset(&data, 0, sizeof(data));
	if (om_msg_get(genlmsg_attrdata(g, 0), genlmsg_attrlen(g, 0), ev.obj,
		       &data))
		e->rc = om_err(e->err, OM_SYSTEM,
			       "cannot read an event: do the versions of omertactl and of the module match?");
	else
		e->rc = e->fn(&ev, e->arg);
	return e->rc ? NL_STOP : NL_OK;
}

static int no_sequence(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

static int join(struct nl_sock *sk, struct om_err *err)
{
	int group = genl_ctrl_resolve_grp(sk, OMERTA_FAMILY_NAME,
					  OMERTA_MCGRP_EVENTS);
	int rc = group < 0 ? group : nl_socket_add_membership(sk, group);

	if (rc == -NLE_PERM)
		return om_err(err, OM_SYSTEM, "events are for administrators: needs CAP_NET_ADMIN");
	if (rc < 0)
		return om_err(err, OM_SYSTEM, "events: %s", nl_geterror(rc));
	return OM_OK;
}

#define EVENT_BUFFER	(1 << 20)

struct om_nl_events *om_nl_events_open(struct om_err *err)
{
	struct om_nl_events *e = calloc(1, sizeof(*e));

	if (e)
		e->nl = om_nl_new();
	if (!e || !e->nl) {
		om_err_sys(err, ENOMEM, "events");
		goto fail;
	}
	e->sk = om_nl_socket(e->nl, &om_device_object, err);
	if (!e->sk || join(e->sk, err))
		goto fail;
	nl_socket_set_nonblocking(e->sk);
	/* As large as permitted: events may queue up while the agent waits for the disk. */
	nl_socket_set_buffer_size(e->sk, EVENT_BUFFER, 0);
	/* A bind may be followed by an event for each peer. */
	setsockopt(nl_socket_get_fd(e->sk), SOL_SOCKET, SO_RCVBUFFORCE,
		   &(int){ EVENT_BUFFER }, sizeof(int));
	nl_socket_modify_cb(e->sk, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, no_sequence,
			    NULL);
	nl_socket_modify_cb(e->sk, NL_CB_VALID, NL_CB_CUSTOM, on_event, e);
	return e;
fail:
	om_nl_events_close(e);
	return NULL;
}

void om_nl_events_close(struct om_nl_events *e)
{
	if (e)
		om_nl_free(e->nl);
	free(e);
}

int om_nl_events_fd(const struct om_nl_events *e)
{
	return nl_socket_get_fd(e->sk);
}

int om_nl_events_read(struct om_nl_events *e, om_on_event fn, void *arg,
		      bool *lost, struct om_err *err)
{
	int rc = 0;

	e->fn = fn;
	e->arg = arg;
	e->err = err;
	e->rc = OM_OK;
	*lost = false;
	while (!e->rc) {
		rc = nl_recvmsgs_default(e->sk);
		if (rc == -NLE_AGAIN)
			break;
		/* libnl also returns this for ENOBUFS. */
		if (rc == -NLE_NOMEM)
			*lost = true;
		else if (rc < 0 && !e->rc)
			return om_err(err, OM_SYSTEM, "events: %s",
				      nl_geterror(rc));
	}
	return e->rc;
}
