// SPDX-License-Identifier: GPL-2.0
#include "nl.h"

#include "nl_msg.h"

#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
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

struct monitor {
	int (*fn)(const struct om_event *ev, void *arg);
	void *arg;
	int rc;
	struct om_err *err;
};

/* Events of a newer kernel are none of ours. */
static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct genlmsghdr *g = nlmsg_data(h);
	union {
		struct om_device device;
		struct om_peer peer;
		struct om_key key;
	} data;
	struct monitor *m = arg;
	struct om_event ev = { .data = &data };

	if (!genlmsg_valid_hdr(h, 0) || g->cmd >= OM_ARRAY_SIZE(events) ||
	    !events[g->cmd].name)
		return NL_OK;
	ev.name = events[g->cmd].name;
	ev.obj = events[g->cmd].obj;
	memset(&data, 0, sizeof(data));
	if (om_msg_get(genlmsg_attrdata(g, 0), genlmsg_attrlen(g, 0), ev.obj,
		       &data))
		m->rc = om_err(m->err, OM_SYSTEM,
			       "cannot read an event: do omertactl and the module fit each other?");
	else
		m->rc = m->fn(&ev, m->arg);
	return m->rc ? NL_STOP : NL_OK;
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

int om_nl_monitor(struct om_nl *nl,
		  int (*fn)(const struct om_event *ev, void *arg), void *arg,
		  struct om_err *err)
{
	struct monitor m = { .fn = fn, .arg = arg, .err = err };
	struct nl_sock *sk = om_nl_socket(nl, &om_device_object, err);
	int rc;

	if (!sk)
		return OM_SYSTEM;
	rc = join(sk, err);
	if (rc)
		return rc;
	nl_socket_modify_cb(sk, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, no_sequence,
			    NULL);
	nl_socket_modify_cb(sk, NL_CB_VALID, NL_CB_CUSTOM, on_event, &m);
	while (!m.rc) {
		rc = nl_recvmsgs_default(sk);
		/* libnl's word for ENOBUFS, too */
		if (rc == -NLE_NOMEM)
			om_warn("events were lost: they come faster than they are read");
		else if (rc < 0 && !m.rc)
			return om_err(err, OM_SYSTEM, "events: %s",
				      nl_geterror(rc));
	}
	return m.rc;
}
