// SPDX-License-Identifier: GPL-2.0
/*
 * "up" and "down" with a kernel in memory, which writes down what it is told: would
 * catch a route or rule that is missing, and a device that stays after a failure.
 */
#include "unit.h"

#include "fake_nl.h"

#include <errno.h>

#define PUB	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

static struct unit_run up(const char *text, const char *more)
{
	char words[300];

	unit_file("omr0.conf", text, strlen(text), 0600);
	snprintf(words, sizeof(words), "up %s %s", unit_path("omr0.conf"), more);
	return unit_main(words, NULL);
}

static void expect(const char *name, const char *text, const char *host)
{
	struct unit_run run;

	fake_reset();
	run = up(text, "no-agent");
	unit_ok(!run.rc && fake_device("omr0") && !strcmp(fake.host, host), name,
		"rc %d\n%s\ntold:\n%s", run.rc, run.err, fake.host);
	unit_run_free(&run);
}

#define HOST	"[Interface]\nAddress = 10.9.0.1/24, fd09::1/64\n"
#define PEER	"[Peer]\nPublicKey = " PUB "\n"
#define ADDRESSES	"address 10.9.0.1/24 dev omr0\naddress fd09::1/64 dev omr0\n"
#define UP	ADDRESSES "up omr0 mtu 0\n"
#define RULES(change, family) \
	"rule " change " " family " table 51900 not mark\n" \
	"rule " change " " family " table 254 no default\n"

static void host(void)
{
	expect("up: addresses, MTU and routes",
	       HOST "MTU = 1300\n" PEER "AllowedIPs = 10.9.0.2/32, fd00::/8\n",
	       ADDRESSES "up omr0 mtu 1300\n"
	       "route 10.9.0.2/32 dev omr0 table 254\nroute fd00::/8 dev omr0 table 254\n");
	expect("up: a default route has a table, and rules that lead to it",
	       HOST PEER "AllowedIPs = ::/0, 10.0.0.0/8\n",
	       UP "route ::/0 dev omr0 table 51900\nroute 10.0.0.0/8 dev omr0 table 254\n"
	       RULES("add", "IPv6"));
	unit_ok(fake_device("omr0")->dev.fwmark == 51900,
		"up: and the tunnel's own datagrams their mark", "%u",
		fake_device("omr0")->dev.fwmark);
	expect("up: a table of the user's, without rules",
	       HOST "Table = 7\n" PEER "AllowedIPs = ::/0, 10.0.0.0/8\n",
	       UP "route ::/0 dev omr0 table 7\nroute 10.0.0.0/8 dev omr0 table 7\n");
	expect("up: no routes", HOST "Table = off\n" PEER "AllowedIPs = ::/0\n", UP);
}

/* A refusal leaves no device, and no rule. */
static void refusals(void)
{
	static const struct {
		const char *what;
		const char *after;
	} cases[] = {
		{ "address fd09::1/64", "" },
		{ "up omr0", "" },
		{ "route 10.0.0.0/8", "" },
		{ "rule add IPv6 table 51900", "" },
		{ "rule add IPv6 table 254", "rule del IPv6 table 51900 not mark\n" },
	};

	for (size_t i = 0; i < OM_ARRAY_SIZE(cases); i++) {
		struct unit_run run;
		const char *after;

		fake_reset();
		fake.refused = cases[i].what;
		fake.fail_with = EEXIST;
		run = up(HOST PEER "AllowedIPs = ::/0, 10.0.0.0/8\n", "no-agent");
		after = strstr(fake.host, cases[i].what);
		after = after ? strchr(after, '\n') + 1 : "not asked for";
		unit_ok(run.rc == 2 && !fake_device("omr0") &&
			CONTAINS(run.err, cases[i].what) &&
			CONTAINS(run.err, "File exists") &&
			!strcmp(after, cases[i].after),
			"up: what the kernel refuses leaves nothing", "%s: rc %d\n%s\n%s",
			cases[i].what, run.rc, run.err, fake.host);
		unit_run_free(&run);
	}
	fake_reset();
}

static void failures(void)
{
	static const char *const names[] = {
		"omr#1", "tun%d", "/x/tun%d.conf", "/x/a~.conf", "a,b", "-x", "/x/-x.conf", "\xc3\xa4",
	};
	struct unit_run run;

	fake_reset();
	run = up(HOST PEER, "");
	unit_ok(run.rc == 1 && !fake_device("omr0") &&
		CONTAINS(run.err, "[Interface]: PrivateKeyFile or PrivateKey is missing"),
		"up: an agent wants a key", "rc %d\n%s", run.rc, run.err);
	unit_run_free(&run);
	run = unit_main("up a/b", NULL);
	unit_ok(run.rc == 1 && CONTAINS(run.err, "a file's name is DEV.conf"),
		"up: the file has the device's name", "%s", run.err);
	unit_run_free(&run);
	run = unit_main("up a-name-that-is-too-long", NULL);
	unit_ok(run.rc == 1 && CONTAINS(run.err, "1..15 characters"),
		"up: a name that is too long", "%s", run.err);
	unit_run_free(&run);
	for (size_t i = 0; i < OM_ARRAY_SIZE(names); i++) {
		char words[40];

		snprintf(words, sizeof(words), "up %s", names[i]);
		run = unit_main(words, NULL);
		unit_ok(run.rc == 1 && CONTAINS(run.err, "a device name "),
			"up: a name that wg-quick refuses, too", "%s: %s", names[i], run.err);
		unit_run_free(&run);
	}
	run = unit_main("down omr9", NULL);
	unit_ok(run.rc == 2, "down: no such device", "%s", run.err);
	unit_run_free(&run);
}

/* A mark that is no table's number, or one of the kernel's */
static void marks(void)
{
	static const char *const bad[] = { "off", "0", "253", "254", "0xff" };
	struct unit_run run;
	char text[300];

	for (size_t i = 0; i < OM_ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), HOST "FwMark = %s\n" PEER
			 "AllowedIPs = 0.0.0.0/0\n", bad[i]);
		run = up(text, "no-agent");
		unit_ok(run.rc == 1 && CONTAINS(run.err, "omr0.conf:3:1: FwMark: "),
			"up: a mark that no table of a default route has", "%s: %s",
			bad[i], run.err);
		unit_run_free(&run);
	}
	expect("up: with a table for it, no mark is needed",
	       HOST "FwMark = off\nTable = 7\n" PEER "AllowedIPs = ::/0\n",
	       UP "route ::/0 dev omr0 table 7\n");
}

#define LOOKS \
	"look IPv4 table 51900 dev omr0\nlook IPv6 table 51900 dev omr0\n"

static void down(const char *name, int rc, const char *told, const char *said)
{
	struct unit_run run;
	char words[300];

	fake.host[0] = '\0';
	snprintf(words, sizeof(words), "down %s", unit_path("omr0.conf"));
	run = unit_main(words, NULL);
	unit_ok(run.rc == rc && !strcmp(fake.host, told) &&
		(*said ? CONTAINS(run.err, said) : !CONTAINS(run.err, "rule")),
		name, "rc %d\n%s\ntold:\n%s", run.rc, run.err, fake.host);
	unit_run_free(&run);
}

/*
 * Rules go with the device, whatever has become of its routes, and after it. With a
 * default route of IPv4 "up" would set a sysctl of this machine.
 */
static void rules(void)
{
	static const char both[] = LOOKS RULES("del", "IPv4") RULES("del", "IPv6");
	static const char looked[] = "look IPv4 table 51900 dev omr0\n";
	struct unit_run run;

	run = up(HOST PEER "AllowedIPs = ::/0\n", "no-agent");
	unit_run_free(&run);
	fake.fail_with = EPERM;
	fake.refused = "look IPv4";
	down("down: without a look at the table nothing is done", 2, looked, "look IPv4");
	unit_ok(fake_device("omr0"), "down: the device is there then", "it is not");
	fake.refused = NULL;
	down("down: rules without routes", 0, both, "");
	down("down: rules without a device", 2, both, "");
	fake.refused = "rule del IPv6 table 254";
	down("down: a rule that stays is told", 2, both, "could not be removed: rule del IPv6");
	fake.refused = "rule del IPv4";
	fake.fail_with = ENOENT;
	down("down: rules that are not there", 2,
	     LOOKS "rule del IPv4 table 51900 not mark\n" RULES("del", "IPv6"), "");
	fake.refused = "rule del IPv6";
	fake.fail_with = EAFNOSUPPORT;
	down("down: a host without IPv6", 2,
	     LOOKS RULES("del", "IPv4") "rule del IPv6 table 51900 not mark\n", "");
	fake.refused = NULL;
	fake.defaults = 1;
	down("down: others' routes keep the rules", 2, LOOKS, "");
}

void test_up(void)
{
	host();
	refusals();
	failures();
	fake_reset();
	marks();
	fake_reset();
	rules();
	fake_reset();
}
