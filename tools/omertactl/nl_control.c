// SPDX-License-Identifier: GPL-2.0
#include "nl.h"

#include "nl_msg.h"

#include <errno.h>
#include <netlink/genl/genl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Datagrams come at any time, also between a request and its answer. */
struct om_nl_control {
	struct om_nl *nl;
	struct nl_sock *sk;
	char ifname[IFNAMSIZ];
	om_on_control fn;
	void *arg;
};

static int on_datagram(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct genlmsghdr *g = nlmsg_data(h);
	struct om_nl_control *c = arg;
	struct om_control datagram;

	if (!genlmsg_valid_hdr(h, 0) || g->cmd != OMERTA_CMD_CONTROL_NTF)
		return NL_OK;
	memset(&datagram, 0, sizeof(datagram));
	/* One that is too long is none of ours. */
	if (!om_msg_get(genlmsg_attrdata(g, 0), genlmsg_attrlen(g, 0),
			&om_control_object, &datagram))
		c->fn(&datagram, c->arg);
	return NL_OK;
}

static int no_sequence(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

/* What became of a datagram shows in the other end's answer, if there is one. */
static int ignore_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	(void)from;
	(void)e;
	(void)arg;
	return NL_SKIP;
}

static void set_callbacks(struct om_nl_control *c)
{
	struct nl_cb *cb = nl_socket_get_cb(c->sk);

	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_datagram, c);
	nl_cb_err(cb, NL_CB_CUSTOM, ignore_error, NULL);
	nl_cb_put(cb);
	nl_socket_disable_auto_ack(c->sk);
	nl_socket_set_nonblocking(c->sk);
}

struct om_nl_control *om_nl_control_open(const char *ifname, struct om_err *err)
{
	struct om_nl_control *c = calloc(1, sizeof(*c));
	struct om_control ref = { .has = OM_BIT(OMERTA_A_CONTROL_IFNAME) };
	const int one = 1;

	if (c)
		c->nl = om_nl_new();
	if (!c || !c->nl) {
		om_err_sys(err, ENOMEM, "control datagrams");
		goto fail;
	}
	strncpy(c->ifname, ifname, sizeof(c->ifname) - 1);
	strncpy(ref.ifname, ifname, sizeof(ref.ifname) - 1);
	c->sk = om_nl_socket(c->nl, &om_control_object, err);
	if (!c->sk)
		goto fail;
	/* Datagrams that come before the answer are lost. */
	nl_socket_modify_cb(c->sk, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, no_sequence,
			    NULL);
	if (om_nl_do(c->nl, OMERTA_CMD_CONTROL_BIND, &om_control_object, &ref,
		     err))
		goto fail;
	setsockopt(nl_socket_get_fd(c->sk), SOL_NETLINK, NETLINK_NO_ENOBUFS,
		   &one, sizeof(one));
	set_callbacks(c);
	return c;
fail:
	om_nl_control_close(c);
	return NULL;
}

void om_nl_control_close(struct om_nl_control *c)
{
	if (c)
		om_nl_free(c->nl);
	free(c);
}

int om_nl_control_fd(const struct om_nl_control *c)
{
	return nl_socket_get_fd(c->sk);
}

int om_nl_control_read(struct om_nl_control *c, om_on_control fn, void *arg,
		       struct om_err *err)
{
	int rc = 0;

	c->fn = fn;
	c->arg = arg;
	/* So many at most, as there may be other things to do. */
	for (int i = 0; i < 32 && rc >= 0; i++)
		rc = nl_recvmsgs_default(c->sk);
	if (rc >= 0 || rc == -NLE_AGAIN)
		return OM_OK;
	return om_err(err, OM_SYSTEM, "control datagrams: %s", nl_geterror(rc));
}

int om_nl_control_send(struct om_nl_control *c, struct om_control *datagram,
		       struct om_err *err)
{
	datagram->has |= OM_BIT(OMERTA_A_CONTROL_IFNAME);
	memcpy(datagram->ifname, c->ifname, sizeof(c->ifname));
	return om_nl_post(c->nl, OMERTA_CMD_CONTROL_SEND, &om_control_object,
			  datagram, err);
}
