// SPDX-License-Identifier: GPL-2.0
#include "lib/extack.h"

#include "lib/addr.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>

#define BODY	(NLMSG_HDRLEN + GENL_HDRLEN)

/* A range of attributes */
struct range {
	const char *at;
	const char *end;
};

struct extack {
	int error;
	const char *msg;
	bool has_offs;
	uint32_t offs;
	bool has_missing;
	uint32_t missing;
	bool has_missing_nest;
	uint32_t missing_nest;
	struct range policy;
};

static const struct nlattr *next_attr(struct range *r)
{
	const struct nlattr *a = (const void *)r->at;
	size_t left = (size_t)(r->end - r->at), step;

	if (left < sizeof(*a) || a->nla_len < sizeof(*a) || a->nla_len > left)
		return NULL;
	step = (size_t)NLA_ALIGN(a->nla_len);
	r->at += step < left ? step : left;
	return a;
}

static const void *payload(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static size_t payload_len(const struct nlattr *a)
{
	return (size_t)a->nla_len - NLA_HDRLEN;
}

static struct range inside(const struct nlattr *a)
{
	return (struct range){ payload(a), (const char *)a + a->nla_len };
}

static bool get_u32(const struct nlattr *a, uint32_t *v)
{
	if (payload_len(a) < sizeof(*v))
		return false;
	memcpy(v, payload(a), sizeof(*v));
	return true;
}

static uint64_t get_u64(const struct nlattr *a)
{
	uint64_t v = 0;
	uint32_t v32;

	if (payload_len(a) >= sizeof(v))
		memcpy(&v, payload(a), sizeof(v));
	else if (get_u32(a, &v32))
		v = v32;
	return v;
}

static void parse_attrs(struct range r, struct extack *x)
{
	const struct nlattr *a;

	while ((a = next_attr(&r))) {
		switch (a->nla_type & NLA_TYPE_MASK) {
		case NLMSGERR_ATTR_MSG:
			if (payload_len(a) &&
			    memchr(payload(a), 0, payload_len(a)))
				x->msg = payload(a);
			break;
		case NLMSGERR_ATTR_OFFS:
			x->has_offs = get_u32(a, &x->offs);
			break;
		case NLMSGERR_ATTR_POLICY:
			x->policy = inside(a);
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			x->has_missing = get_u32(a, &x->missing);
			break;
		case NLMSGERR_ATTR_MISS_NEST:
			x->has_missing_nest = get_u32(a, &x->missing_nest);
			break;
		}
	}
}

/* The attributes follow the error and the echoed part of the request. */
static void parse_reply(const struct nlmsghdr *h, struct extack *x)
{
	const char *p = (const char *)h + NLMSG_HDRLEN;
	const char *end = (const char *)h + h->nlmsg_len;
	size_t skip = sizeof(int);

	memset(x, 0, sizeof(*x));
	if (end - p < (ssize_t)sizeof(int))
		return;
	memcpy(&x->error, p, sizeof(int));
	if (h->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = (const void *)p;

		if (end - p < (ssize_t)sizeof(*e))
			return;
		skip = sizeof(*e);
		if (!(h->nlmsg_flags & NLM_F_CAPPED))
			skip = NLMSG_ALIGN(sizeof(int) + e->msg.nlmsg_len);
	}
	if ((h->nlmsg_flags & NLM_F_ACK_TLVS) && skip <= (size_t)(end - p))
		parse_attrs((struct range){ p + skip, end }, x);
}

static void append(char *buf, size_t size, const char *text)
{
	size_t n = strlen(buf);

	snprintf(buf + n, size - n, "%s", text);
}

/* Name the prefix of a refused allowed-ips nest, as there may be thousands. */
static void name_prefix(const struct nlattr *nest, char *buf, size_t size)
{
	struct range r = inside(nest);
	struct om_prefix p = { 0 };
	char text[OM_PREFIX_LEN];
	const struct nlattr *a;

	while ((a = next_attr(&r))) {
		size_t len = payload_len(a);
		int type = a->nla_type & NLA_TYPE_MASK;

		if (type == OMERTA_A_ALLOWED_IP_ADDR && (len == 4 || len == 16)) {
			p.addr.len = (uint8_t)len;
			memcpy(p.addr.b, payload(a), len);
		}
		if (type == OMERTA_A_ALLOWED_IP_PREFIX_LEN && len)
			p.len = *(const uint8_t *)payload(a);
	}
	if (!p.addr.len)
		return;
	om_prefix_format(text, sizeof(text), &p);
	append(buf, size, ": \"");
	append(buf, size, text);
	append(buf, size, "\"");
}

/*
 * Write the path of the attribute at @offs, as "allowed-ips.addr"; false if no attribute
 * starts there.
 */
static bool name_attr(struct range r, const char *start, uint32_t offs,
		      const struct om_object *obj, char *buf, size_t size)
{
	const struct nlattr *a;

	while ((a = next_attr(&r))) {
		uint32_t at = (uint32_t)((const char *)a - start);
		const struct om_field *f;

		if (at > offs || offs >= at + a->nla_len)
			continue;
		f = om_field_get(obj, a->nla_type & NLA_TYPE_MASK);
		if (!f)
			return false;
		append(buf, size, f->name);
		if (at != offs && f->nest) {
			append(buf, size, ".");
			name_attr(inside(a), start, offs, f->nest, buf, size);
		}
		if (f->type == OM_MULTI)
			name_prefix(a, buf, size);
		return true;
	}
	return false;
}

static const struct om_object *missing_from(const struct extack *x,
					    const struct om_sent *sent)
{
	const struct nlattr *a;
	const struct om_field *f;

	if (!x->has_missing_nest)
		return sent->object;
	if (x->missing_nest + sizeof(*a) > sent->len)
		return NULL;
	a = (const void *)((const char *)sent->data + x->missing_nest);
	f = om_field_get(sent->object, a->nla_type & NLA_TYPE_MASK);
	return f ? f->nest : NULL;
}

/* Write "name: " of the wrong or missing attribute, or nothing. */
static void describe_attr(const struct extack *x, const struct om_sent *sent,
			  char *buf, size_t size)
{
	struct range r = {
		(const char *)sent->data + BODY,
		(const char *)sent->data + sent->len,
	};
	const struct om_object *obj;
	const struct om_field *f;

	buf[0] = '\0';
	if (sent->len < BODY || !sent->object)
		return;
	if (x->has_missing) {
		obj = missing_from(x, sent);
		f = obj ? om_field_get(obj, x->missing) : NULL;
		if (f)
			append(buf, size, f->name);
	} else if (x->has_offs && x->offs) {
		name_attr(r, sent->data, x->offs, sent->object, buf, size);
	}
	if (buf[0])
		append(buf, size, ": ");
}

/* Write the valid range, as " (1..4294967295)". */
static void describe_policy(struct range r, char *buf, size_t size)
{
	uint64_t v[NL_POLICY_TYPE_ATTR_MAX + 1] = { 0 };
	uint64_t has = 0;
	const struct nlattr *a;

	buf[0] = '\0';
	while (r.at && (a = next_attr(&r))) {
		int type = a->nla_type & NLA_TYPE_MASK;

		if (type <= NL_POLICY_TYPE_ATTR_MAX) {
			v[type] = get_u64(a);
			has |= 1ULL << type;
		}
	}
#define HAS(x)	(has & (1ULL << NL_POLICY_TYPE_ATTR_##x))
#define V(x)	(v[NL_POLICY_TYPE_ATTR_##x])
	if (HAS(MIN_VALUE_U) && HAS(MAX_VALUE_U))
		snprintf(buf, size, " (%" PRIu64 "..%" PRIu64 ")",
			 V(MIN_VALUE_U), V(MAX_VALUE_U));
	else if (HAS(MIN_VALUE_S) && HAS(MAX_VALUE_S))
		snprintf(buf, size, " (%" PRId64 "..%" PRId64 ")",
			 (int64_t)V(MIN_VALUE_S), (int64_t)V(MAX_VALUE_S));
	else if (HAS(MASK))
		snprintf(buf, size, " (allowed bits 0x%" PRIx64 ")", V(MASK));
	else if (HAS(MIN_LENGTH) && HAS(MAX_LENGTH) &&
		 V(MIN_LENGTH) == V(MAX_LENGTH))
		snprintf(buf, size, " (exactly %" PRIu64 " bytes)",
			 V(MAX_LENGTH));
	else if (HAS(MAX_LENGTH))
		snprintf(buf, size, " (at most %" PRIu64 " bytes)",
			 V(MAX_LENGTH));
	else if (HAS(MIN_LENGTH))
		snprintf(buf, size, " (at least %" PRIu64 " bytes)",
			 V(MIN_LENGTH));
#undef HAS
#undef V
}

static const char *default_text(const struct extack *x)
{
	if (x->error == -EPERM)
		return "Operation not permitted: CAP_NET_ADMIN is needed (be root, or root of the device's user namespace)";
	/* Setting a link up has no message of the kernel's. */
	if (x->error == -EADDRINUSE)
		return "a port is in use: choose another listen-port or channel-port";
	if (x->has_missing)
		return "this attribute is missing in the request";
	return strerror(-x->error);
}

int om_extack_error(const struct nlmsghdr *reply, const struct om_sent *sent,
		    struct om_err *err)
{
	char attr[256], policy[64];
	struct extack x;

	parse_reply(reply, &x);
	if (x.error >= 0)
		return OM_OK;
	describe_attr(&x, sent, attr, sizeof(attr));
	describe_policy(x.policy, policy, sizeof(policy));
	om_err(err, OM_SYSTEM, "%s%s%s", attr,
	       x.msg ? x.msg : default_text(&x), policy);
	err->sys = -x.error;
	return OM_SYSTEM;
}

const char *om_extack_warning(const struct nlmsghdr *reply)
{
	struct extack x;

	parse_reply(reply, &x);
	return x.msg;
}
