// SPDX-License-Identifier: GPL-2.0
#include "lib/nl.h"

#include "lib/extack.h"
#include "lib/keygen.h"
#include "lib/nl_msg.h"

#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#define DUMP_TRIES	5
/* Longest message of the kernel */
#define MESSAGE		65536

struct om_nl {
	struct nl_sock *sk;
	const char *name;	/* name of the resolved family, or NULL */
	int family;
};

/* A request and its result */
struct call {
	struct om_sent sent;
	struct om_list *list;		/* the replies, or NULL */
	void *reply;
	bool done;
	int rc;
	struct om_err *err;
};

struct om_nl *om_nl_new(void)
{
	return calloc(1, sizeof(struct om_nl));
}

void om_nl_free(struct om_nl *nl)
{
	if (!nl)
		return;
	if (nl->sk)
		nl_socket_free(nl->sk);
	free(nl);
}

static int lib_error(struct om_err *err, int error, const char *what)
{
	return om_err(err, OM_SYSTEM, "%s: %s", what, nl_geterror(error));
}

/* Without libnl's default callbacks, which print secrets with NLCB=debug */
static struct nl_sock *new_socket(void)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	struct nl_sock *sk = cb ? nl_socket_alloc() : NULL;

	if (sk)
		nl_socket_set_cb(sk, cb);
	if (cb)
		nl_cb_put(cb);
	return sk;
}

static int connect_socket(struct om_nl *nl, struct om_err *err)
{
	static const int options[] = { NETLINK_EXT_ACK, NETLINK_CAP_ACK };
	const int one = 1;
	int rc = genl_connect(nl->sk);

	if (rc < 0)
		return lib_error(err, rc, "generic netlink socket");
	/* Saves a system call per answer. */
	if (!nl_socket_set_msg_buf_size(nl->sk, MESSAGE))
		nl_socket_disable_msg_peek(nl->sk);
	/* Extended errors, and no echo of requests, as those hold secrets */
	for (size_t i = 0; i < OM_ARRAY_SIZE(options); i++)
		setsockopt(nl_socket_get_fd(nl->sk), SOL_NETLINK, options[i],
			   &one, sizeof(one));
	return OM_OK;
}

static int resolve(struct om_nl *nl, const struct om_object *obj,
		   struct om_err *err)
{
	const char *name = obj->family ? obj->family : OMERTA_FAMILY_NAME;
	const char *module = obj->module ? obj->module : "omerta";

	if (nl->name && !strcmp(nl->name, name))
		return OM_OK;
	nl->name = NULL;
	nl->family = genl_ctrl_resolve(nl->sk, name);
	if (nl->family < 0)
		return om_err(err, OM_SYSTEM,
			      "the kernel has no netlink family \"%s\" (%s): is the %s module loaded? (modprobe %s)",
			      name, nl_geterror(nl->family), module, module);
	nl->name = name;
	return OM_OK;
}

/* Open the socket for requests about objects of this kind. */
static int open_socket(struct om_nl *nl, const struct om_object *obj,
		       struct om_err *err)
{
	int rc = OM_OK;

	if (!nl->sk) {
		nl->sk = new_socket();
		if (!nl->sk)
			return om_err_sys(err, ENOMEM, "netlink socket");
		rc = connect_socket(nl, err);
	}
	if (!rc)
		rc = resolve(nl, obj, err);
	if (rc) {
		nl_socket_free(nl->sk);
		nl->sk = NULL;
		nl->name = NULL;
	}
	return rc;
}

struct nl_sock *om_nl_socket(struct om_nl *nl, const struct om_object *obj,
			     struct om_err *err)
{
	return open_socket(nl, obj, err) ? NULL : nl->sk;
}

/* Only requests about keys hold secrets. For others, locking memory would take most time. */
static void drop(struct nl_msg *msg, const struct om_object *obj, size_t size)
{
	if (obj == &om_key_object)
		om_secret_wipe(nlmsg_hdr(msg), size);
	nlmsg_free(msg);
}

static struct nl_msg *build(struct om_nl *nl, int cmd, int flags,
			    const struct om_object *obj, const void *data,
			    size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_size(size);

	if (!msg)
		return NULL;
	if (obj == &om_key_object)
		om_secret_lock(nlmsg_hdr(msg), size);
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, nl->family, 0, flags,
			 (uint8_t)cmd, OMERTA_FAMILY_VERSION) ||
	    (data && om_msg_put(msg, obj, data))) {
		drop(msg, obj, size);
		return NULL;
	}
	return msg;
}

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct call *call = arg;
	void *data = call->reply;

	if (call->list)
		data = om_list_add(call->list, call->sent.object->size);
	if (!data)
		return NL_OK;
	if (!genlmsg_valid_hdr(h, 0) ||
	    om_msg_get(genlmsg_attrdata(nlmsg_data(h), 0),
		       genlmsg_attrlen(nlmsg_data(h), 0),
		       call->sent.object, data))
		call->rc = om_err(call->err, OM_SYSTEM,
				  "cannot read the kernel's answer: do the versions of omertactl and of the module match?");
	return NL_OK;
}

static void finish(struct call *call, const struct nlmsghdr *h)
{
	const char *text;

	call->done = true;
	if (call->rc)
		return;
	call->rc = om_extack_error(h, &call->sent, call->err);
	text = call->rc ? NULL : om_extack_warning(h);
	if (text)
		om_warn("%s", text);
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	finish(arg, nlmsg_hdr(msg));
	return NL_STOP;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	(void)from;
	finish(arg, (const void *)((const char *)e - NLMSG_HDRLEN));
	return NL_STOP;
}

static void close_socket(struct om_nl *nl)
{
	nl_socket_free(nl->sk);
	nl->sk = NULL;
	nl->name = NULL;
}

static int receive(struct om_nl *nl, struct call *call)
{
	struct nl_cb *old = nl_socket_get_cb(nl->sk), *cb = nl_cb_clone(old);
	int rc = 0;

	nl_cb_put(old);
	if (!cb)
		return -NLE_NOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, call);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, call);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_ack, call);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, call);
	while (!call->done && rc >= 0)
		rc = nl_recvmsgs(nl->sk, cb);
	nl_cb_put(cb);
	/* A refusal is already in call->rc. */
	return rc == -NLE_DUMP_INTR || !call->done ? rc : 0;
}

static int transact(struct om_nl *nl, int cmd, int flags, const void *data,
		    struct call *call)
{
	const struct om_object *obj = call->sent.object;
	size_t size = data ? om_msg_size(obj, data) : 64;
	struct nl_msg *msg = build(nl, cmd, flags, obj, data, size);
	int rc;

	if (!msg)
		return -NLE_NOMEM;
	call->done = false;
	call->rc = OM_OK;
	rc = nl_send_auto(nl->sk, msg);
	if (rc >= 0) {
		call->sent.data = nlmsg_hdr(msg);
		call->sent.len = nlmsg_hdr(msg)->nlmsg_len;
		rc = receive(nl, call);
	}
	drop(msg, obj, size);
	/* A late answer would be taken for that of the next request. */
	if (rc < 0 && rc != -NLE_DUMP_INTR)
		close_socket(nl);
	return rc;
}

static int post(struct om_nl *nl, int cmd, int flags, const struct om_object *obj,
		const void *data, uint32_t *seq, struct om_err *err)
{
	size_t size = om_msg_size(obj, data);
	struct nl_msg *msg = build(nl, cmd, flags, obj, data, size);
	int rc;

	if (!msg)
		return lib_error(err, -NLE_NOMEM, "netlink");
	rc = nl_send_auto(nl->sk, msg);
	*seq = nlmsg_hdr(msg)->nlmsg_seq;
	drop(msg, obj, size);
	return rc < 0 ? lib_error(err, rc, "netlink") : OM_OK;
}

int om_nl_post(struct om_nl *nl, int cmd, const struct om_object *obj,
	       const void *data, uint32_t *seq, struct om_err *err)
{
	return post(nl, cmd, 0, obj, data, seq, err);
}

int om_nl_ask(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, uint32_t *seq, struct om_err *err)
{
	return post(nl, cmd, NLM_F_ACK, obj, data, seq, err);
}

static int simple_call(struct om_nl *nl, int cmd, const struct om_object *obj,
		       const void *data, void *reply, struct om_err *err)
{
	struct call call = { .sent.object = obj, .reply = reply, .err = err };
	int rc = open_socket(nl, obj, err);

	if (rc)
		return rc;
	rc = transact(nl, cmd, NLM_F_ACK, data, &call);
	if (rc < 0)
		return lib_error(err, rc, "netlink");
	return call.rc;
}

int om_nl_do(struct om_nl *nl, int cmd, const struct om_object *obj,
	     const void *data, struct om_err *err)
{
	return simple_call(nl, cmd, obj, data, NULL, err);
}

int om_nl_get(struct om_nl *nl, int cmd, const struct om_object *obj,
	      const void *data, void *reply, struct om_err *err)
{
	memset(reply, 0, obj->size);
	return simple_call(nl, cmd, obj, data, reply, err);
}

static void empty(const struct om_object *obj, struct om_list *list)
{
	if (obj == &om_peer_object)
		om_peers_free(list);
	else
		om_list_free(list);
}

int om_nl_dump(struct om_nl *nl, int cmd, const struct om_object *obj,
	       const void *data, struct om_list *list, struct om_err *err)
{
	struct call call = { .sent.object = obj, .list = list, .err = err };
	int rc, tries = DUMP_TRIES;

	memset(list, 0, sizeof(*list));
	rc = open_socket(nl, obj, err);
	if (rc)
		return rc;
	do {
		empty(obj, list);
		rc = transact(nl, cmd, NLM_F_DUMP, data, &call);
	} while (rc == -NLE_DUMP_INTR && --tries);
	if (rc == -NLE_DUMP_INTR)
		call.rc = om_err(err, OM_SYSTEM,
				 "the list changed during each of %d readings, try again",
				 DUMP_TRIES);
	else if (rc < 0)
		call.rc = lib_error(err, rc, "netlink");
	if (call.rc)
		empty(obj, list);
	return call.rc;
}
