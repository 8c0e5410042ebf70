// SPDX-License-Identifier: GPL-2.0
/*
 * The real nl.c and commands against bytes: would catch a wrong attribute
 * number or width, an unwiped message, a dump that is cut off or read twice.
 */
#include "plant.h"
#include "unit.h"
#include "wire.h"

#include "lib/nl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/omerta.h>
#include <netlink/errno.h>
#include <stdlib.h>

#define RX	"UlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlI="
#define TX	"VFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFQ="

/* Bytes in the machine's order: numbers below 256, and an attribute's header */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define U16(n)	(n), 0
#define U32(n)	U16(n), U16(0)
#else
#define U16(n)	0, (n)
#define U32(n)	U16(0), U16(n)
#endif
#define HEADER(len, type)	U16(len), U16(type)

static void ack(void)
{
	wire_datagram();
	wire_ack(0, 0);
}

static bool sent_is(uint16_t type, unsigned int n, const void *data, size_t len)
{
	size_t got;
	const void *p = wire_sent_attr(type, n, &got);

	return p && got == len && !memcmp(p, data, len);
}

static bool sent_u16(uint16_t type, uint16_t value)
{
	return sent_is(type, 0, &value, sizeof(value));
}

static bool sent_u32(uint16_t type, uint32_t value)
{
	return sent_is(type, 0, &value, sizeof(value));
}

static bool header_is(uint8_t cmd, uint16_t flags)
{
	const struct nlmsghdr *h = (const void *)wire.sent;
	const struct genlmsghdr *g = (const void *)(h + 1);

	return h->nlmsg_type == WIRE_FAMILY && g->cmd == cmd &&
	       g->version == OMERTA_FAMILY_VERSION &&
	       (h->nlmsg_flags & flags) == flags;
}

static void device(void)
{
	struct unit_run run;

	wire_reset();
	ack();
	run = unit_main("link add omr1 listen-port 51900 fwmark 0xca6c chunk-size 1024 policy percpu cpus 0-3", NULL);
	unit_ok(!run.rc && header_is(1, NLM_F_REQUEST | NLM_F_ACK) &&
		sent_is(2, 0, "omr1", 5) && sent_u16(3, 51900) &&
		sent_u32(4, 0xca6c) && sent_u32(5, 1024) && sent_u32(6, 2) && sent_is(8, 0, "0-3", 4) &&
		wire.sent_len == 20 + 12 + 8 + 8 + 8 + 8 + 8,
		"wire: device-new", "%zu bytes\n%s", wire.sent_len, run.err);
	unit_run_free(&run);
}

static void peer(void)
{
	/* Two nests: 10.0.0.0/8, and 1::/16 to remove */
	static const uint8_t v4[] = {
		HEADER(8, 1), 10, 0, 0, 0,
		HEADER(5, 2), 8, 0, 0, 0,
	};
	static const uint8_t v6[] = {
		HEADER(20, 1), 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		HEADER(5, 2), 16, 0, 0, 0,
		HEADER(8, 3), U32(1),
	};
	static const uint8_t endpoint[16] = { 0xfe, 0x80, [15] = 1 };
	struct unit_run run;

	wire_reset();
	ack();
	run = unit_main("peer set omr0 id 7 name al endpoint [fe80::1%lo]:258 keepalive 3 allowed-ips +10.0.0.0/8,-1::/16", NULL);
	unit_ok(!run.rc && header_is(6, NLM_F_REQUEST | NLM_F_ACK) &&
		sent_u32(3, 7) && sent_is(4, 0, "al", 3) &&
		sent_is(6, 0, endpoint, 16) && sent_u16(7, 258) &&
		sent_u32(8, 1) && sent_u16(9, 3) &&
		sent_is(11 | NLA_F_NESTED, 0, v4, sizeof(v4)) &&
		sent_is(11 | NLA_F_NESTED, 1, v6, sizeof(v6)),
		"wire: peer-set", "%zu bytes\n%s", wire.sent_len, run.err);
	unit_run_free(&run);
}

static struct unit_run add_key(int error)
{
	wire_reset();
	wire_datagram();
	wire_ack(error, 0);
	return unit_main("key add omr0 peer 1 local-id 0x11 remote-id 0x22 rx-key-file - tx-key-file - activate now hard-bytes 5",
			 RX "\n" TX "\n");
}

static void key(void)
{
	static const uint64_t bytes = 5;
	struct unit_run run = add_key(0);

	unit_ok(!run.rc && header_is(10, NLM_F_REQUEST | NLM_F_ACK) &&
		sent_u32(4, 0x11) && sent_u32(5, 0x22) &&
		sent_is(6, 0, "RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR", 32) &&
		sent_is(7, 0, "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT", 32) &&
		sent_u32(8, 1) && sent_is(15, 0, &bytes, 8),
		"wire: key-new; uint attributes have 8 bytes", "%s", run.err);
	unit_ok(wire.freed == 1 && !wire.dirty && !run.out_len && !*run.err,
		"wire: the message with the secrets is wiped",
		"%zu bytes left in %zu messages\n%s", wire.dirty, wire.freed,
		run.err);
	unit_run_free(&run);
	run = add_key(-EINVAL);
	unit_ok(run.rc == 2 && wire.freed == 1 && !wire.dirty,
		"wire: the message is wiped after a refusal", "%zu\n%s",
		wire.dirty, run.err);
	unit_run_free(&run);
}

/*
 * With these variables libnl prints all messages. It reads them when it is
 * loaded, so this needs a new process, which prints what the tool printed.
 */
static void debugging(const char *self)
{
	static char text[65536];
	bool whole = false;
	char cmd[512];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "NLCB=debug NLDBG=9 '%s' --key 2>&1", self);
	f = popen(cmd, "re");
	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		*text = '\0';
	if (f) {
		whole = feof(f);
		pclose(f);
	}
	unit_ok(whole && CONTAINS(text, "rc 0") && !CONTAINS(text, "52 52") &&
		!CONTAINS(text, "RRRR"),
		"wire: libnl's debugging does not see secrets", "%s", text);
}

static void key_only(void)
{
	struct unit_run run = add_key(0);

	printf("rc %d\n%s%s", run.rc, run.out, run.err);
	unit_run_free(&run);
}

static void refusal(void)
{
	struct unit_run run;
	size_t at;

	wire_reset();
	wire_datagram();
	at = 0;
	wire_ack(-ERANGE, NLM_F_ACK_TLVS);
	wire_attr(NLMSGERR_ATTR_MSG, "integer out of range", 21);
	/* Behind two headers and the name */
	wire_u32(NLMSGERR_ATTR_OFFS, 20 + 12);
	wire_end_message(at);
	run = unit_main("link set omr0 percpu-threshold 1", NULL);
	unit_ok(run.rc == 2 && !strcmp(run.err, "omertactl: link set: omr0: percpu-threshold: integer out of range\n"),
		"wire: a refusal names the attribute", "%s", run.err);
	unit_run_free(&run);

	wire_reset();
	wire_datagram();
	wire_ack(0, NLM_F_ACK_TLVS);
	wire_attr(NLMSGERR_ATTR_MSG, "slow\a", 6);
	wire_end_message(0);
	run = unit_main("link set omr0 percpu-threshold 1", NULL);
	unit_ok(!run.rc && !strcmp(run.err, "omertactl: warning: slow\\x07\n"),
		"wire: a success with a warning, its controls escaped", "%s", run.err);
	unit_run_free(&run);
	wire_reset();
	wire.family = -NLE_OBJ_NOTFOUND;
	run = unit_main("link show", NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "is the omerta module loaded? (modprobe omerta)"),
		"wire: no module", "%s", run.err);
	unit_run_free(&run);
	wire_reset();
	run = unit_main("link del omr0", NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "link del: omr0: netlink: "),
		"wire: a socket that fails", "%s", run.err);
	unit_run_free(&run);
}

static void put_device(uint32_t ifindex, const char *name, uint16_t flags)
{
	size_t at = wire_message(WIRE_FAMILY, NLM_F_MULTI | flags), nest;
	uint32_t v32 = 7;
	uint64_t v64 = 1ULL << 40;

	wire_genl(OMERTA_CMD_DEVICE_NEW);
	wire_u32(OMERTA_A_DEVICE_IFINDEX, ifindex);
	wire_attr(OMERTA_A_DEVICE_IFNAME, name, strlen(name) + 1);
	wire_attr(200, "from a newer kernel", 20);
	nest = wire_attr(OMERTA_A_DEVICE_STATS | NLA_F_NESTED, NULL, 0);
	wire_attr(OMERTA_A_DEVICE_STATS_RX_PACKETS, &v32, 4);
	wire_attr(OMERTA_A_DEVICE_STATS_RX_BYTES, &v64, 8);
	wire_attr(99, &v64, 8);
	wire_end_nest(nest);
	wire_end_message(at);
}

static void dump(void)
{
	struct unit_run run;

	wire_reset();
	wire_datagram();
	put_device(3, "omr0", 0);
	put_device(4, "omr1", 0);
	wire_datagram();
	put_device(5, "omr2", 0);
	wire_done();
	run = unit_main("stats", NULL);
	unit_ok(!run.rc && header_is(OMERTA_CMD_DEVICE_GET, NLM_F_DUMP) &&
		!strcmp(run.out, "omr0:\n    rx-packets: 7\n    rx-bytes: 1099511627776\n"
			"omr1:\n    rx-packets: 7\n    rx-bytes: 1099511627776\n"
			"omr2:\n    rx-packets: 7\n    rx-bytes: 1099511627776\n"),
		"wire: a dump over two datagrams; 4 and 8 byte counters",
		"%s%s", run.out, run.err);
	unit_run_free(&run);
}

/* Twice the same answer, of which the first says that it is not consistent */
static void interrupted(void)
{
	struct unit_run run;

	wire_reset();
	wire_datagram();
	put_device(3, "omr0", NLM_F_DUMP_INTR);
	wire_datagram();
	wire_done();
	wire_datagram();
	put_device(3, "omr0", 0);
	wire_datagram();
	wire_done();
	run = unit_main("link show", NULL);
	unit_ok(!run.rc && wire.requests == 2 && !strcmp(run.out, "3: omr0:\n"),
		"wire: an interrupted dump is repeated, not doubled", "%u\n%s%s",
		wire.requests, run.out, run.err);
	unit_run_free(&run);

	wire_reset();
	wire_datagram();
	put_device(3, "omr0", NLM_F_DUMP_INTR);
	wire_done();
	wire.repeat = 100;
	run = unit_main("link show", NULL);
	unit_ok(run.rc == 2 && wire.requests == 5 && !run.out_len &&
		CONTAINS(run.err, "changed during each of 5 readings"),
		"wire: a dump that is always interrupted ends", "%u\n%s%s",
		wire.requests, run.out, run.err);
	unit_run_free(&run);
}

static void dump_error(void)
{
	int error = -EPERM;
	struct unit_run run;
	size_t at;

	wire_reset();
	wire_datagram();
	put_device(3, "omr0", 0);
	at = wire_message(NLMSG_DONE, NLM_F_MULTI | NLM_F_ACK_TLVS);
	wire_genl(0);
	memcpy(wire.answer[0].b + wire.answer[0].len - 4, &error, 4);
	wire_attr(NLMSGERR_ATTR_MSG, "not you", 8);
	wire_end_message(at);
	run = unit_main("link show", NULL);
	unit_ok(run.rc == 2 && !run.out_len &&
		CONTAINS(run.err, "link show: not you\n"),
		"wire: a dump that ends in an error", "%s%s", run.out, run.err);
	unit_run_free(&run);
}

static void malformed(void)
{
	struct unit_run run;
	size_t at;

	wire_reset();
	wire_datagram();
	at = wire_message(WIRE_FAMILY, NLM_F_MULTI);
	wire_genl(1);
	wire_attr(OMERTA_A_DEVICE_IFINDEX, "abc", 3);
	wire_end_message(at);
	wire_done();
	run = unit_main("link show", NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "cannot read the kernel's answer"),
		"wire: an answer of the wrong size", "%s%s", run.out, run.err);
	unit_run_free(&run);

	wire_reset();
	wire_datagram();
	at = wire_message(WIRE_FAMILY, NLM_F_MULTI);
	wire_genl(1);
	wire_u32(OMERTA_A_DEVICE_IFINDEX, 3);
	wire_attr(OMERTA_A_DEVICE_IFNAME, "a-name-longer-than-any", 22);
	wire_end_message(at);
	wire_done();
	run = unit_main("link show", NULL);
	unit_ok(!run.rc && !strcmp(run.out, "3: a-name-longer-t:\n"),
		"wire: a string that is too long and has no end", "%s%s",
		run.out, run.err);
	unit_run_free(&run);
}

static void put_prefix(uint32_t peer, uint8_t first)
{
	uint8_t addr[4] = { first }, len = 8;
	size_t nest = wire_attr(OMERTA_A_PEER_ALLOWED_IPS | NLA_F_NESTED, NULL, 0);

	wire_attr(OMERTA_A_ALLOWED_IP_ADDR, addr, 4);
	wire_attr(OMERTA_A_ALLOWED_IP_PREFIX_LEN, &len, 1);
	wire_u32(OMERTA_A_ALLOWED_IP_PEER_ID, peer);
	wire_end_nest(nest);
}

static void put_peer(uint32_t id)
{
	size_t at = wire_message(WIRE_FAMILY, NLM_F_MULTI);

	wire_genl(OMERTA_CMD_PEER_GET);
	wire_u32(OMERTA_A_PEER_IFINDEX, 3);
	wire_u32(OMERTA_A_PEER_ID, id);
	wire_end_message(at);
}

/* A device, two peers, and two messages with the prefixes of both mixed */
static void prefixes(void)
{
	struct unit_run run;
	size_t at;

	wire_reset();
	wire_datagram();
	put_device(3, "omr0", 0);
	wire_ack(0, 0);
	wire_datagram();
	put_peer(1);
	put_peer(2);
	wire_done();
	wire_datagram();
	at = wire_message(WIRE_FAMILY, NLM_F_MULTI);
	wire_genl(OMERTA_CMD_ALLOWED_IP_GET);
	wire_u32(OMERTA_A_PEER_IFINDEX, 3);
	put_prefix(2, 10);
	put_prefix(1, 11);
	wire_end_message(at);
	at = wire_message(WIRE_FAMILY, NLM_F_MULTI);
	wire_genl(OMERTA_CMD_ALLOWED_IP_GET);
	wire_u32(OMERTA_A_PEER_IFINDEX, 3);
	put_prefix(2, 12);
	put_prefix(9, 13);
	wire_end_message(at);
	wire_done();
	run = unit_main("peer show omr0", NULL);
	unit_ok(!run.rc && !strcmp(run.out, "omr0 peer 1: allowed-ips 11.0.0.0/8\nomr0 peer 2: allowed-ips 10.0.0.0/8,12.0.0.0/8\n") &&
		wire.requests == 3 && sent_u32(1, 3),
		"wire: prefixes find their peers", "%s%s", run.out, run.err);
	unit_run_free(&run);
}

static void put_event(uint8_t cmd, const char *ifname)
{
	wire_genl(cmd);
	wire_u32(OMERTA_A_DEVICE_IFINDEX, 3);
	wire_attr(OMERTA_A_DEVICE_IFNAME, ifname, strlen(ifname) + 1);
}

/* One of each kind of object, one of another device and one of the future */
static void events(void)
{
	static const uint8_t addr[] = { 192, 0, 2, 7 };
	const uint16_t port = 51900;
	size_t at;

	wire_reset();
	wire_datagram();
	at = wire_message(WIRE_FAMILY, 0);
	put_event(OMERTA_CMD_KEY_SOFT_NTF, "omr0");
	wire_u32(OMERTA_A_KEY_PEER_ID, 2);
	wire_u32(OMERTA_A_KEY_LOCAL_ID, 0x11);
	wire_u32(OMERTA_A_KEY_REMOTE_ID, 0x22);
	wire_u32(OMERTA_A_KEY_LIMIT, OMERTA_KEY_LIMIT_RECORDS);
	wire_end_message(at);
	at = wire_message(WIRE_FAMILY, 0);
	put_event(OMERTA_CMD_PEER_ENDPOINT_NTF, "omr0");
	wire_u32(OMERTA_A_PEER_ID, 2);
	wire_attr(OMERTA_A_PEER_ENDPOINT_ADDR, addr, sizeof(addr));
	wire_attr(OMERTA_A_PEER_ENDPOINT_PORT, &port, sizeof(port));
	wire_end_message(at);
	wire_datagram();
	at = wire_message(WIRE_FAMILY, 0);
	put_event(OMERTA_CMD_PEER_SILENT_NTF, "omr1");
	wire_u32(OMERTA_A_PEER_ID, 3);
	wire_end_message(at);
	at = wire_message(WIRE_FAMILY, 0);
	put_event(OMERTA_CMD_MAX + 1, "omr0");
	wire_end_message(at);
	at = wire_message(WIRE_FAMILY, 0);
	put_event(OMERTA_CMD_DEVICE_GONE_NTF, "omr0");
	wire_end_message(at);
}

/* Remove the times of events, which are all of one length. Returns their number. */
static int remove_times(char *text)
{
	static const char time[] = "\"time\":\"2026-11-29T00:00:00.000Z\",";
	int n = 0;

	for (; (text = strstr(text, "\"time\":")); n++)
		memmove(text, text + sizeof(time) - 1, strlen(text + sizeof(time) - 1) + 1);
	return n;
}

/* The wire ends, as no socket does, which ends the command. */
static void monitor(void)
{
	struct unit_run run;

	events();
	run = unit_main("monitor omr0", NULL);
	unit_ok(run.rc == 2 && wire.joined == WIRE_GROUP && !strcmp(run.out,
		"omr0 key-soft peer-id 2 local-id 0x11 remote-id 0x22 limit records\n"
		"omr0 peer-endpoint id 2 endpoint 192.0.2.7:51900\n"
		"omr0 device-gone\n"),
		"wire: events of a device", "%s%s", run.out, run.err);
	unit_run_free(&run);
	events();
	run = unit_main("-j monitor", NULL);
	unit_ok(run.rc == 2 && remove_times(run.out) == 4 && !strcmp(run.out,
		"{\"event\":\"key-soft\",\"ifindex\":3,\"ifname\":\"omr0\",\"peer-id\":2,\"local-id\":17,\"remote-id\":34,\"limit\":\"records\"}\n"
		"{\"event\":\"peer-endpoint\",\"ifindex\":3,\"ifname\":\"omr0\",\"id\":2,\"endpoint-addr\":\"192.0.2.7\",\"endpoint-port\":51900}\n"
		"{\"event\":\"peer-silent\",\"ifindex\":3,\"ifname\":\"omr1\",\"id\":3}\n"
		"{\"event\":\"device-gone\",\"ifindex\":3,\"ifname\":\"omr0\"}\n"),
		"wire: events in JSON, an object a line", "%s%s", run.out,
		run.err);
	unit_run_free(&run);
	wire_reset();
	wire.join_error = -NLE_PERM;
	run = unit_main("monitor", NULL);
	unit_ok(run.rc == 2 && !strcmp(run.err,
		"omertactl: monitor: events are for administrators: needs CAP_NET_ADMIN\n"),
		"wire: events are refused", "%s", run.err);
	unit_run_free(&run);
}

static struct om_control seen;
static unsigned int datagrams;

static void on_control(const struct om_control *c, void *arg)
{
	seen = *c;
	datagrams += arg == &seen;
}

static void put_control(uint16_t len)
{
	static const uint8_t bytes[OM_DATA_LEN + 1] = { 'O', 'M', 'R', 0x20 };
	static const uint8_t addr[] = { 192, 0, 2, 7 }, local[] = { 192, 0, 2, 1 };
	size_t at = wire_message(WIRE_FAMILY, 0);
	uint16_t port = 258;

	wire_genl(OMERTA_CMD_CONTROL_NTF);
	wire_u32(OMERTA_A_CONTROL_IFINDEX, 3);
	wire_attr(OMERTA_A_CONTROL_IFNAME, "omr0", 5);
	wire_attr(OMERTA_A_CONTROL_ENDPOINT_ADDR, addr, 4);
	wire_attr(OMERTA_A_CONTROL_ENDPOINT_PORT, &port, 2);
	wire_attr(OMERTA_A_CONTROL_LOCAL_ADDR, local, 4);
	wire_attr(OMERTA_A_CONTROL_DATA, bytes, len);
	wire_end_message(at);
}

static unsigned int refusals;

static void on_refused(uint32_t seq, int error, void *arg)
{
	(void)seq;
	(void)arg;
	refusals += error == ENETUNREACH;
}

/* A refusal of what was sent, and a datagram that is longer than any of ours */
static void control(void)
{
	struct om_control c = {
		.has = OM_BIT(OMERTA_A_CONTROL_DATA),
		.data = { .len = 3, .b = "abc" },
	};
	struct om_handshake handshake = {
		.has = OM_BIT(OMERTA_A_HANDSHAKE_PEER_ID) | OM_BIT(OMERTA_A_HANDSHAKE_FAILURE),
		.peer_id = 3,
		.failure = OMERTA_FAILURE_MODE,
	};
	struct om_report report = {
		.has = OM_BIT(OMERTA_A_REPORT_HANDSHAKE),
		.handshakes = { &handshake, 1, 1 },
	};
	static const uint8_t nest[] = { HEADER(8, 1), U32(3), HEADER(8, 4), U32(6) };
	static const uint8_t public[OMERTA_KEY_LEN] = "public key one",
			     other[OMERTA_KEY_LEN] = "public key two";
	struct om_nl_control *control;
	struct om_err err = { 0 };
	uint32_t seq = 0;
	bool ok;

	wire_reset();
	ack();
	control = om_nl_control_open("omr0", public, &err);
	ok = control && header_is(OMERTA_CMD_CONTROL_BIND, NLM_F_ACK) &&
	     sent_is(OMERTA_A_CONTROL_IFNAME, 0, "omr0", 5) &&
	     sent_is(OMERTA_A_CONTROL_PUBLIC_KEY, 0, public, sizeof(public));
	wire_datagram();
	wire_ack(-ENETUNREACH, 0);
	wire_datagram();
	put_control(OM_DATA_LEN + 1);
	wire_datagram();
	put_control(9);
	ok = ok && !om_nl_control_read(control, on_control, on_refused, &seen, &err);
	unit_ok(ok && datagrams == 1 && refusals == 1 && seen.data.len == 9 &&
		!memcmp(seen.data.b, "OMR ", 5) && seen.endpoint_port == 258 &&
		seen.endpoint_addr.len == 4 && seen.endpoint_addr.b[3] == 7 &&
		seen.local_addr.b[3] == 1,
		"wire: a control datagram", "%u datagrams\n%s", datagrams, err.text);
	ok = control && !om_nl_control_send(control, &c, &seq, &err);
	unit_ok(ok && header_is(OMERTA_CMD_CONTROL_SEND, NLM_F_REQUEST) &&
		sent_is(OMERTA_A_CONTROL_IFNAME, 0, "omr0", 5) &&
		sent_is(OMERTA_A_CONTROL_DATA, 0, "abc", 3),
		"wire: one that is sent", "%s", err.text);
	ok = control && !om_nl_control_report(control, &report, &err);
	unit_ok(ok && header_is(OMERTA_CMD_AGENT_REPORT, NLM_F_REQUEST) &&
		sent_is(OMERTA_A_REPORT_IFNAME, 0, "omr0", 5) &&
		sent_is(OMERTA_A_REPORT_HANDSHAKE | NLA_F_NESTED, 0, nest, sizeof(nest)), "wire: a report", "%s", err.text);
	/* Again with another key. Datagrams before the answer are not taken for it. */
	wire_reset();
	wire_datagram();
	wire_ack(-ENETUNREACH, 0);
	wire_old();
	wire_datagram();
	put_control(9);
	ack();
	ok = control && !om_nl_control_rebind(control, other, &err);
	unit_ok(ok && header_is(OMERTA_CMD_CONTROL_BIND, NLM_F_ACK) &&
		sent_is(OMERTA_A_CONTROL_PUBLIC_KEY, 0, other, sizeof(other)) &&
		datagrams == 1, "wire: another public key", "%u datagrams\n%s", datagrams,
		err.text);
	wire_reset();
	wire_datagram();
	wire_ack(-EINVAL, 0);
	ok = control && om_nl_control_rebind(control, other, &err) == OM_SYSTEM;
	unit_ok(ok && err.sys == EINVAL, "wire: which is refused", "%s", err.text);
	om_nl_control_close(control);
	wire_reset();
	wire_datagram();
	wire_ack(-EBUSY, 0);
	control = om_nl_control_open("omr0", public, &err);
	unit_ok(!control && err.sys == EBUSY, "wire: a device that is bound",
		"%s", err.text);
	om_nl_control_close(control);
}

static void prefix_size(void)
{
	struct om_prefix p = { .addr.len = 4 };
	size_t v4 = om_nl_prefix_size(&p), v6;

	p.addr.len = 16;
	p.has = OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS);
	v6 = om_nl_prefix_size(&p);
	unit_ok(v4 == 20 && v6 == 40, "wire: sizes of prefixes", "%zu %zu", v4,
		v6);
}

/* Replies of the kernel with a key in them, or broken off somewhere */
static void leaks(void)
{
	static const char *const words[] = {
		"link set omr0 percpu-threshold 1", "link show", "peer show omr0", "stats",
		"key add omr0 peer 1 local-id 17 remote-id 34 rx-key-file - tx-key-file -",
		"monitor omr0", "-j dump", "show",
	};
	static const uint16_t types[] = { NLMSG_ERROR, NLMSG_DONE, WIRE_FAMILY };
	struct unit_run run = { 0 };
	unsigned int i, refused = 0;
	char text[200], input[200];
	bool shows = false;

	for (i = 0; i < 2000 && !shows; i++) {
		size_t at, whole;

		plant_seed(i);
		wire_reset();
		wire_datagram();
		snprintf(text, sizeof(text), "no such thing");
		plant(text, sizeof(text), true);
		at = wire_message(types[plant_below(3)],
				  plant_below(2) ? NLM_F_ACK_TLVS : NLM_F_MULTI);
		if (plant_below(2)) {
			wire_genl((uint8_t)plant_below(16));
		} else {
			int error = -(int)plant_below(40);

			memcpy(wire.answer[0].b + wire.answer[0].len, &error, sizeof(error));
			wire.answer[0].len += sizeof(error);
			/* The echo of the request may have the secrets. */
			snprintf((char *)wire.answer[0].b + wire.answer[0].len, 200, "%s", text);
			wire.answer[0].len += NLMSG_ALIGN(strlen(text));
		}
		for (unsigned int n = plant_below(6); n; n--) {
			size_t len = strlen(text) + plant_below(2);

			/* Public keys, names and the like are shown, as they should be. */
			wire_attr(plant_below(2) ? NLMSGERR_ATTR_MSG :
						   (uint16_t)(100 + plant_below(40)),
				  text, len);
		}
		wire_end_message(at);
		whole = wire.answer[0].len;
		if (!plant_below(4))
			wire.answer[0].len = NLMSG_HDRLEN +
				plant_below((unsigned int)(whole - NLMSG_HDRLEN));
		snprintf(input, sizeof(input), "%s\n" TX "\n", plant_key);
		run = unit_main(words[plant_below(OM_ARRAY_SIZE(words))], input);
		refused += run.rc != 0;
		shows = plant_shows(&run);
		if (!shows)
			unit_run_free(&run);
	}
	unit_ok(!shows && refused > 200, "wire: a key in what the kernel says",
		"round %u, %u refused\n%s\n%s", i, refused, shows ? run.err : "",
		shows ? run.out : "");
	if (shows)
		unit_run_free(&run);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		key_only();
		return 0;
	}
	device();
	peer();
	key();
	debugging(argv[0]);
	refusal();
	dump();
	interrupted();
	dump_error();
	malformed();
	prefixes();
	monitor();
	control();
	prefix_size();
	leaks();
	return unit_end();
}
