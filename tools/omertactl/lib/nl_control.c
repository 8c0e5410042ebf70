// SPDX-License-Identifier: GPL-2.0
#include "lib/nl.h"

#include "lib/nl_msg.h"

#include <errno.h>
#include <netlink/genl/genl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes of unread datagrams. The kernel sends cookies once an eighth is used. */
#define BUFFER		(1 << 16)

/* Datagrams may arrive at any time, even between a request and its answer. */
struct om_nl_control {
	struct om_nl *nl;
	struct nl_sock *sk;
	char ifname[IFNAMSIZ];
	om_on_control fn;
	om_on_refused refused;
	void *arg;
	uint32_t asked;			/* sequence number of a pending bind */
	int answer;			/* its answer: 0 or a negative errno */
};

static int on_datagram(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct genlmsghdr *g = nlmsg_data(h);
	struct om_nl_control *c = arg;
	struct om_control datagram;

	if (!c->fn || !genlmsg_valid_hdr(h, 0) || g->cmd != OMERTA_CMD_CONTROL_NTF)
		return NL_OK;
	memset(&datagram, 0, sizeof(datagram));
	/* Ignore datagrams that are too long for om_data. */
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

static void take_answer(struct om_nl_control *c, uint32_t seq, int error)
{
	if (!c->asked || seq != c->asked)
		return;
	c->asked = 0;
	c->answer = error;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	take_answer(arg, nlmsg_hdr(msg)->nlmsg_seq, 0);
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	const struct nlmsghdr *h = (const void *)((const char *)e - NLMSG_HDRLEN);

	struct om_nl_control *c = arg;

	(void)from;
	take_answer(c, h->nlmsg_seq, e->error);
	if (c->refused)
		c->refused(h->nlmsg_seq, -e->error, c->arg);
	return NL_SKIP;
}

static void set_callbacks(struct om_nl_control *c)
{
	struct nl_cb *cb = nl_socket_get_cb(c->sk);

	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_datagram, c);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, c);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, c);
	nl_cb_put(cb);
	nl_socket_disable_auto_ack(c->sk);
	nl_socket_set_nonblocking(c->sk);
}

static void bind_ref(struct om_control *ref, const char *ifname, const uint8_t *public)
{
	memset(ref, 0, sizeof(*ref));
	ref->has = OM_BIT(OMERTA_A_CONTROL_IFNAME) | OM_BIT(OMERTA_A_CONTROL_PUBLIC_KEY);
	snprintf(ref->ifname, sizeof(ref->ifname), "%s", ifname);
	memcpy(ref->public_key, public, sizeof(ref->public_key));
}

struct om_nl_control *om_nl_control_open(const char *ifname, const uint8_t *public,
					 struct om_err *err)
{
	struct om_nl_control *c = calloc(1, sizeof(*c));
	struct om_control ref;
	const int one = 1, buffer = BUFFER;

	if (c)
		c->nl = om_nl_new();
	if (!c || !c->nl) {
		om_err_sys(err, ENOMEM, "control datagrams");
		goto fail;
	}
	strncpy(c->ifname, ifname, sizeof(c->ifname) - 1);
	bind_ref(&ref, ifname, public);
	c->sk = om_nl_socket(c->nl, &om_control_object, err);
	if (!c->sk)
		goto fail;
	if (setsockopt(nl_socket_get_fd(c->sk), SOL_SOCKET, SO_RCVBUFFORCE, &buffer,
		       sizeof(buffer)))
		setsockopt(nl_socket_get_fd(c->sk), SOL_SOCKET, SO_RCVBUF, &buffer,
			   sizeof(buffer));
	/* Datagrams that arrive before the answer are lost. */
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

int om_nl_control_rebind(struct om_nl_control *c, const uint8_t *public,
			 struct om_err *err)
{
	struct om_control ref;
	int rc;

	bind_ref(&ref, c->ifname, public);
	rc = om_nl_ask(c->nl, OMERTA_CMD_CONTROL_BIND, &om_control_object, &ref,
		       &c->asked, err);
	if (rc)
		return rc;
	/* The kernel's answer is already queued, after the pending datagrams. */
	c->fn = NULL;
	c->refused = NULL;
	do
		rc = nl_recvmsgs_default(c->sk);
	while (c->asked && rc >= 0);
	if (c->asked) {
		c->asked = 0;
		return om_err(err, OM_SYSTEM, "control datagrams: no answer to control-bind: %s",
			      nl_geterror(rc));
	}
	return c->answer ? om_err_sys(err, -c->answer, "control datagrams") : OM_OK;
}

void om_nl_control_rename(struct om_nl_control *c, const char *ifname)
{
	snprintf(c->ifname, sizeof(c->ifname), "%s", ifname);
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

int om_nl_control_read(struct om_nl_control *c, om_on_control fn, om_on_refused refused,
		       void *arg, struct om_err *err)
{
	int rc = 0;

	c->fn = fn;
	c->refused = refused;
	c->arg = arg;
	/* Bounded, so that the caller's other work is not delayed. */
	for (int i = 0; i < 32 && rc >= 0; i++)
		rc = nl_recvmsgs_default(c->sk);
	if (rc >= 0 || rc == -NLE_AGAIN)
		return OM_OK;
	return om_err(err, OM_SYSTEM, "control datagrams: %s", nl_geterror(rc));
}

int om_nl_control_report(struct om_nl_control *c, struct om_report *report, struct om_err *err)
{
	uint32_t seq;

	report->has |= OM_BIT(OMERTA_A_REPORT_IFNAME);
	memcpy(report->ifname, c->ifname, sizeof(c->ifname));
	return om_nl_post(c->nl, OMERTA_CMD_AGENT_REPORT, &om_report_object, report, &seq, err);
}

int om_nl_control_send(struct om_nl_control *c, struct om_control *datagram, uint32_t *seq,
		       struct om_err *err)
{
	datagram->has |= OM_BIT(OMERTA_A_CONTROL_IFNAME);
	memcpy(datagram->ifname, c->ifname, sizeof(c->ifname));
	return om_nl_post(c->nl, OMERTA_CMD_CONTROL_SEND, &om_control_object,
			  datagram, seq, err);
}
