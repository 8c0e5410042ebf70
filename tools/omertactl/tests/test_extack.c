// SPDX-License-Identifier: GPL-2.0
/*
 * Refusals as the kernel writes them, byte for byte: would catch an offset that
 * is off by a header, and reading beyond a short or lying message.
 */
#include "unit.h"

#include "lib/extack.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>

#define MAX	1024

struct buf {
	_Alignas(8) char b[MAX];
	size_t len;
};

static size_t put(struct buf *m, const void *data, size_t len)
{
	size_t at = m->len;

	memcpy(m->b + at, data, len);
	m->len = (at + len + 3) & ~(size_t)3;
	return at;
}

static size_t attr(struct buf *m, uint16_t type, const void *data, size_t len)
{
	struct nlattr a = { (uint16_t)(NLA_HDRLEN + len), type };
	size_t at = put(m, &a, sizeof(a));

	if (len)
		put(m, data, len);
	return at;
}

/* Ends a nest that began at @at. */
static void end_nest(struct buf *m, size_t at)
{
	struct nlattr a;

	memcpy(&a, m->b + at, sizeof(a));
	a.nla_len = (uint16_t)(m->len - at);
	memcpy(m->b + at, &a, sizeof(a));
}

/* Requests to refer to, with where their attributes stand */
static struct buf request;
static size_t at_threshold, at_nest, at_addr;

static void start_request(void)
{
	memset(&request, 0, sizeof(request));
	request.len = NLMSG_HDRLEN + GENL_HDRLEN;
}

static void finish_request(void)
{
	struct nlmsghdr h = { .nlmsg_len = (uint32_t)request.len,
			      .nlmsg_type = 0x1c };

	memcpy(request.b, &h, sizeof(h));
}

static void device_request(void)
{
	uint32_t v = 0;

	start_request();
	attr(&request, OMERTA_A_DEVICE_IFNAME, "omr0", 5);
	at_threshold = attr(&request, OMERTA_A_DEVICE_PERCPU_THRESHOLD, &v, 4);
	finish_request();
}

static void peer_request(void)
{
	static const uint8_t addr[2][4] = { { 10 }, { 192, 0, 2 } };
	uint8_t len[2] = { 8, 24 };

	start_request();
	attr(&request, OMERTA_A_PEER_IFNAME, "omr0", 5);
	for (int i = 0; i < 2; i++) {
		at_nest = attr(&request,
			       OMERTA_A_PEER_ALLOWED_IPS | NLA_F_NESTED, NULL, 0);
		at_addr = attr(&request, OMERTA_A_ALLOWED_IP_ADDR, addr[i], 4);
		attr(&request, OMERTA_A_ALLOWED_IP_PREFIX_LEN, &len[i], 1);
		end_nest(&request, at_nest);
	}
	finish_request();
}

/* An NLMSG_ERROR, capped or with the whole request; attributes follow. */
static void start_reply(struct buf *m, int error, bool capped)
{
	struct nlmsgerr e = { .error = error };
	struct nlmsghdr h = { .nlmsg_type = NLMSG_ERROR,
		.nlmsg_flags = (uint16_t)(NLM_F_ACK_TLVS |
					  (capped ? NLM_F_CAPPED : 0)) };

	memset(m, 0, sizeof(*m));
	put(m, &h, sizeof(h));
	memcpy(&e.msg, request.b, sizeof(e.msg));
	put(m, &e.error, sizeof(e.error));
	put(m, request.b, capped ? sizeof(e.msg) : request.len);
}

static void end_reply(struct buf *m)
{
	struct nlmsghdr h;

	memcpy(&h, m->b, sizeof(h));
	h.nlmsg_len = (uint32_t)m->len;
	memcpy(m->b, &h, sizeof(h));
}

/* Looks at copies of exactly the right size, for the sanitizer to guard. */
static int decode(const struct buf *m, const struct om_object *obj,
		  struct om_err *err)
{
	struct nlmsghdr *reply = malloc(m->len);
	void *sent = malloc(request.len);
	struct om_sent s = { sent, request.len, obj };
	int rc;

	memcpy(reply, m->b, m->len);
	memcpy(sent, request.b, request.len);
	memset(err, 0, sizeof(*err));
	rc = om_extack_error(reply, &s, err);
	free(reply);
	free(sent);
	return rc;
}

static void expect(const char *name, struct buf *m, const struct om_object *obj,
		   const char *wanted)
{
	struct om_err err;
	int rc;

	end_reply(m);
	rc = decode(m, obj, &err);
	unit_ok(rc == (wanted ? OM_SYSTEM : OM_OK) &&
		!strcmp(err.text, wanted ? wanted : ""), name, "rc %d: %s", rc,
		err.text);
}

static void put_range(struct buf *m, uint64_t min, uint64_t max)
{
	size_t nest = attr(m, NLMSGERR_ATTR_POLICY | NLA_F_NESTED, NULL, 0);
	uint32_t type = 5;

	attr(m, NL_POLICY_TYPE_ATTR_TYPE, &type, 4);
	attr(m, NL_POLICY_TYPE_ATTR_MIN_VALUE_U, &min, 8);
	attr(m, NL_POLICY_TYPE_ATTR_MAX_VALUE_U, &max, 8);
	end_nest(m, nest);
}

static void put_u32(struct buf *m, uint16_t type, size_t v)
{
	uint32_t v32 = (uint32_t)v;

	attr(m, type, &v32, 4);
}

static void put_text(struct buf *m, const char *text)
{
	attr(m, NLMSGERR_ATTR_MSG, text, strlen(text) + 1);
}

static void attributes(void)
{
	struct buf m;

	device_request();
	for (int capped = 0; capped < 2; capped++) {
		start_reply(&m, -ERANGE, capped);
		put_text(&m, "integer out of range");
		put_u32(&m, NLMSGERR_ATTR_OFFS, at_threshold);
		put_range(&m, 1, UINT32_MAX);
		expect(capped ? "extack: range, request capped" :
				"extack: range, request echoed", &m,
		       &om_device_object,
		       "percpu-threshold: integer out of range (1..4294967295)");
	}
	start_reply(&m, -EINVAL, true);
	put_text(&m, "no such thing");
	put_u32(&m, NLMSGERR_ATTR_OFFS, 0xfffffff0);
	expect("extack: an offset beyond the request", &m, &om_device_object,
	       "no such thing");

	peer_request();
	start_reply(&m, -EINVAL, true);
	put_text(&m, "host bits are set");
	put_u32(&m, NLMSGERR_ATTR_OFFS, at_addr);
	expect("extack: an attribute in a nest, with its prefix", &m,
	       &om_peer_object,
	       "allowed-ips.addr: \"192.0.2.0/24\": host bits are set");
	start_reply(&m, -EEXIST, true);
	put_u32(&m, NLMSGERR_ATTR_OFFS, at_nest);
	expect("extack: a nest without a message", &m, &om_peer_object,
	       "allowed-ips: \"192.0.2.0/24\": File exists");
	start_reply(&m, -EINVAL, true);
	put_u32(&m, NLMSGERR_ATTR_MISS_TYPE, OMERTA_A_PEER_ID);
	expect("extack: a missing attribute", &m, &om_peer_object,
	       "id: this attribute is missing in the request");
	start_reply(&m, -EINVAL, true);
	put_u32(&m, NLMSGERR_ATTR_MISS_TYPE, OMERTA_A_ALLOWED_IP_ADDR);
	put_u32(&m, NLMSGERR_ATTR_MISS_NEST, at_nest);
	expect("extack: a missing attribute of a nest", &m, &om_peer_object,
	       "addr: this attribute is missing in the request");
}

static void others(void)
{
	struct nlmsghdr h = { .nlmsg_type = NLMSG_DONE,
			      .nlmsg_flags = NLM_F_ACK_TLVS };
	int error = -EBUSY;
	uint64_t v = 32;
	struct buf m;
	size_t nest;

	device_request();
	start_reply(&m, -EPERM, true);
	expect("extack: no privilege", &m, &om_device_object,
	       "Operation not permitted: CAP_NET_ADMIN is needed (be root, or root of the device's user namespace)");
	start_reply(&m, -EPERM, true);
	put_text(&m, "not in the birth namespace");
	expect("extack: no privilege, with the kernel's reason", &m,
	       &om_device_object, "not in the birth namespace");
	start_reply(&m, -ENODEV, true);
	expect("extack: no device", &m, &om_device_object, "No such device");
	start_reply(&m, 0, true);
	put_text(&m, "a warning");
	end_reply(&m);
	unit_ok(om_extack_warning((void *)m.b) &&
		!strcmp(om_extack_warning((void *)m.b), "a warning"),
		"extack: a warning", "%s", "");
	expect("extack: a warning is no error", &m, &om_device_object, NULL);
	start_reply(&m, -EINVAL, true);
	nest = attr(&m, NLMSGERR_ATTR_POLICY | NLA_F_NESTED, NULL, 0);
	put_u32(&m, NL_POLICY_TYPE_ATTR_MIN_LENGTH, v);
	put_u32(&m, NL_POLICY_TYPE_ATTR_MAX_LENGTH, v);
	end_nest(&m, nest);
	expect("extack: a length", &m, &om_device_object,
	       "Invalid argument (exactly 32 bytes)");
	start_reply(&m, -EINVAL, true);
	nest = attr(&m, NLMSGERR_ATTR_POLICY | NLA_F_NESTED, NULL, 0);
	attr(&m, NL_POLICY_TYPE_ATTR_MASK, &v, 8);
	end_nest(&m, nest);
	expect("extack: a mask", &m, &om_device_object,
	       "Invalid argument (allowed bits 0x20)");

	memset(&m, 0, sizeof(m));
	put(&m, &h, sizeof(h));
	put(&m, &error, sizeof(error));
	put_text(&m, "the dump cannot go on");
	expect("extack: a dump that ends in an error", &m, &om_device_object,
	       "the dump cannot go on");
	error = 12;
	memcpy(m.b + NLMSG_HDRLEN, &error, sizeof(error));
	expect("extack: a dump that ends with a length", &m, &om_device_object,
	       NULL);
}

/* Every cut, and every byte turned over: no more is asked than to survive. */
static void garbage(void)
{
	struct om_err err;
	struct buf m, bad;
	unsigned int n = 0;

	peer_request();
	start_reply(&m, -EINVAL, false);
	put_text(&m, "host bits are set");
	put_u32(&m, NLMSGERR_ATTR_OFFS, at_addr);
	put_range(&m, 1, 2);
	end_reply(&m);
	for (size_t len = NLMSG_HDRLEN; len < m.len; len++, n++) {
		struct nlmsghdr h;

		bad = m;
		bad.len = len;
		memcpy(&h, bad.b, sizeof(h));
		h.nlmsg_len = (uint32_t)len;
		memcpy(bad.b, &h, sizeof(h));
		decode(&bad, &om_peer_object, &err);
	}
	for (size_t i = NLMSG_HDRLEN; i < m.len; i++, n++) {
		bad = m;
		bad.b[i] ^= (char)0xff;
		decode(&bad, &om_peer_object, &err);
	}
	for (size_t i = NLMSG_HDRLEN; i < request.len; i++, n++) {
		request.b[i] ^= (char)0xff;
		decode(&m, &om_peer_object, &err);
		request.b[i] ^= (char)0xff;
	}
	unit_ok(n > 100, "extack: broken messages do no harm", "%u", n);
}

void test_extack(void)
{
	attributes();
	others();
	garbage();
}
