// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include "lib/nl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct wire wire;

void wire_reset(void)
{
	memset(&wire, 0, sizeof(wire));
	wire.family = WIRE_FAMILY;
}

/*
 * Answers
 */

#define LAST	(&wire.answer[wire.answers - 1])

static size_t put(const void *data, size_t len)
{
	size_t at = LAST->len;

	if (len)
		memcpy(LAST->b + at, data, len);
	LAST->len = (at + len + 3) & ~(size_t)3;
	return at;
}

void wire_datagram(void)
{
	wire.answers++;
}

size_t wire_message(uint16_t type, uint16_t flags)
{
	struct nlmsghdr h = { .nlmsg_type = type, .nlmsg_flags = flags };

	return put(&h, sizeof(h));
}

void wire_genl(uint8_t cmd)
{
	struct genlmsghdr g = { .cmd = cmd, .version = 1 };

	put(&g, sizeof(g));
}

size_t wire_attr(uint16_t type, const void *data, size_t len)
{
	struct nlattr a = { (uint16_t)(NLA_HDRLEN + len), type };
	size_t at = put(&a, sizeof(a));

	put(data, len);
	return at;
}

void wire_u32(uint16_t type, uint32_t v)
{
	wire_attr(type, &v, sizeof(v));
}

void wire_end_nest(size_t at)
{
	struct nlattr *a = (void *)(LAST->b + at);

	a->nla_len = (uint16_t)(LAST->len - at);
}

void wire_end_message(size_t at)
{
	struct nlmsghdr *h = (void *)(LAST->b + at);

	h->nlmsg_len = (uint32_t)(LAST->len - at);
}

/* Left open for the attributes of an error */
void wire_ack(int error, uint16_t flags)
{
	struct nlmsgerr e = { .error = error };
	size_t at = wire_message(NLMSG_ERROR, flags | NLM_F_CAPPED);

	put(&e, sizeof(e));
	wire_end_message(at);
}

void wire_old(void)
{
	((struct nlmsghdr *)(void *)LAST->b)->nlmsg_seq = 1;
}

void wire_done(void)
{
	size_t at = wire_message(NLMSG_DONE, NLM_F_MULTI);
	int zero = 0;

	put(&zero, sizeof(zero));
	wire_end_message(at);
}

/*
 * The socket
 */

static int on_send(struct nl_sock *sk, struct nl_msg *msg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);

	(void)sk;
	memcpy(wire.sent, h, h->nlmsg_len);
	wire.sent_len = h->nlmsg_len;
	wire.requests++;
	if (wire.repeat) {
		wire.repeat--;
		wire.next = 0;
	}
	return (int)h->nlmsg_len;
}

static int on_recv(struct nl_sock *sk, struct sockaddr_nl *from,
		   unsigned char **buf, struct ucred **creds)
{
	const struct nlmsghdr *sent = (const void *)wire.sent;
	size_t len;

	(void)sk;
	(void)creds;
	if (wire.next >= wire.answers)
		return -NLE_AGAIN;
	len = wire.answer[wire.next].len;
	*buf = malloc(len);
	memcpy(*buf, wire.answer[wire.next++].b, len);
	memset(from, 0, sizeof(*from));
	from->nl_family = AF_NETLINK;
	for (size_t at = 0; at + sizeof(*sent) <= len;) {
		struct nlmsghdr *h = (void *)(*buf + at);

		if (!h->nlmsg_seq)
			h->nlmsg_seq = sent->nlmsg_seq;
		h->nlmsg_pid = sent->nlmsg_pid;
		at += NLMSG_ALIGN(h->nlmsg_len);
	}
	return (int)len;
}

/*
 * Wrapped by the linker
 */

int __wrap_genl_connect(struct nl_sock *sk);
int __wrap_genl_ctrl_resolve(struct nl_sock *sk, const char *name);
void __wrap_nlmsg_free(struct nl_msg *msg);
void __real_nlmsg_free(struct nl_msg *msg);

int __wrap_genl_connect(struct nl_sock *sk)
{
	struct nl_cb *cb = nl_socket_get_cb(sk);

	nl_cb_overwrite_send(cb, on_send);
	nl_cb_overwrite_recv(cb, on_recv);
	nl_cb_put(cb);
	return 0;
}

int __wrap_genl_ctrl_resolve(struct nl_sock *sk, const char *name)
{
	(void)sk;
	return strcmp(name, "omerta") ? -NLE_INVAL : wire.family;
}

int __wrap_genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family,
				 const char *group);
int __wrap_nl_socket_add_membership(struct nl_sock *sk, int group);

int __wrap_genl_ctrl_resolve_grp(struct nl_sock *sk, const char *family,
				 const char *group)
{
	(void)sk;
	return strcmp(family, "omerta") || strcmp(group, "events") ?
		       -NLE_OBJ_NOTFOUND : WIRE_GROUP;
}

int __wrap_nl_socket_add_membership(struct nl_sock *sk, int group)
{
	(void)sk;
	wire.joined = group;
	return wire.join_error;
}

/* The wire ends, as no socket does: that is an error. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	(void)n;
	(void)timeout;
	if (wire.next < wire.answers)
		return fds->revents = POLLIN;
	errno = EPIPE;
	return -1;
}

/* Only calls from the tool come here, not libnl's own. */
void __wrap_nlmsg_free(struct nl_msg *msg)
{
	const unsigned char *b = (const void *)nlmsg_hdr(msg);

	for (size_t i = 0; i < nlmsg_get_max_size(msg); i++)
		wire.dirty += b[i] != 0;
	wire.freed++;
	__real_nlmsg_free(msg);
}

const void *wire_sent_attr(uint16_t type, unsigned int n, size_t *len)
{
	size_t at = NLMSG_HDRLEN + GENL_HDRLEN;

	while (at + NLA_HDRLEN <= wire.sent_len) {
		const struct nlattr *a = (const void *)(wire.sent + at);

		if (a->nla_type == type && !n--) {
			*len = (size_t)a->nla_len - NLA_HDRLEN;
			return wire.sent + at + NLA_HDRLEN;
		}
		at += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

/* Another family; tested where there is a kernel. */
int __wrap_om_host_set_queue(const char *ifname, struct om_err *err);
int __wrap_om_host_set_queue(const char *ifname, struct om_err *err)
{
	(void)ifname;
	(void)err;
	return OM_OK;
}
