// SPDX-License-Identifier: GPL-2.0
/*
 * "up" and "down" with a kernel in memory and an ip(8) that writes down what it is told:
 * would catch a route or rule that is missing, and a device that stays after a failure.
 */
#include "unit.h"

#include "fake_nl.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PUB	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

static char *old_path;

/* One that ends with @status */
static void fake_ip(int status)
{
	char text[600], log[256], path[300];

	snprintf(log, sizeof(log), "%s", unit_path("log"));
	unlink(log);
	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho \"ip $*\" >>'%s'\ncat >>'%s'\nexit %d\n", log,
		 log, status);
	unit_file("ip", text, strlen(text), 0700);
	snprintf(path, sizeof(path), "%s", unit_path("ip"));
	*strrchr(path, '/') = '\0';
	snprintf(text, sizeof(text), "%s:%s", path, old_path);
	setenv("PATH", text, 1);
}

static const char *told(void)
{
	static char text[2000];
	FILE *f = fopen(unit_path("log"), "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return text;
}

static struct unit_run up(const char *text, const char *more)
{
	char words[300];

	unit_file("omr0.conf", text, strlen(text), 0600);
	snprintf(words, sizeof(words), "up %s %s", unit_path("omr0.conf"), more);
	return unit_main(words, NULL);
}

static void expect(const char *name, const char *text, const char *ip)
{
	struct unit_run run;

	fake_reset();
	fake_ip(0);
	run = up(text, "no-agent");
	unit_ok(!run.rc && fake_device("omr0") && !strcmp(told(), ip), name,
		"rc %d\n%s\ntold:\n%s", run.rc, run.err, told());
	unit_run_free(&run);
}

#define HOST	"[Interface]\nAddress = 10.9.0.1/24, fd09::1/64\n"
#define PEER	"[Peer]\nPublicKey = " PUB "\n"
#define UP	"ip -oneline -batch -\naddress add 10.9.0.1/24 dev omr0\n" \
		"address add fd09::1/64 dev omr0\n"

static void batches(void)
{
	expect("up: addresses, MTU and routes",
	       HOST "MTU = 1300\n" PEER "AllowedIPs = 10.9.0.2/32, fd00::/8\n",
	       UP "link set dev omr0 mtu 1300\nlink set dev omr0 up\n"
	       "route add 10.9.0.2/32 dev omr0\nroute add fd00::/8 dev omr0\n");
	expect("up: a default route has a table, and rules that lead to it",
	       HOST PEER "AllowedIPs = ::/0, 10.0.0.0/8\n",
	       UP "link set dev omr0 up\n"
	       "route add ::/0 dev omr0 table 51900\nroute add 10.0.0.0/8 dev omr0\n"
	       "ip -6 -batch -\nrule add not fwmark 51900 table 51900\n"
	       "ip -6 -batch -\nrule add table main suppress_prefixlength 0\n");
	unit_ok(fake_device("omr0")->dev.fwmark == 51900,
		"up: and the tunnel's own datagrams their mark", "%u",
		fake_device("omr0")->dev.fwmark);
	expect("up: a table of the user's, without rules",
	       HOST "Table = 7\n" PEER "AllowedIPs = ::/0, 10.0.0.0/8\n",
	       UP "link set dev omr0 up\n"
	       "route add ::/0 dev omr0 table 7\nroute add 10.0.0.0/8 dev omr0 table 7\n");
	expect("up: no routes", HOST "Table = off\n" PEER "AllowedIPs = ::/0\n",
	       UP "link set dev omr0 up\n");
}

static void failures(void)
{
	struct unit_run run;

	fake_reset();
	fake_ip(1);
	run = up(HOST PEER, "no-agent");
	unit_ok(run.rc == 2 && !fake_device("omr0") &&
		CONTAINS(run.err, "ip(8) was refused"),
		"up: what ip refuses leaves no device", "rc %d\n%s", run.rc, run.err);
	unit_run_free(&run);
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
	       UP "link set dev omr0 up\nroute add ::/0 dev omr0 table 7\n");
}

#define LOOK(family, dev) \
	"ip -" #family " -batch -\nroute show default table 51900" dev "\n"
#define DROP(family) \
	"ip -" #family " -batch -\nrule del not fwmark 51900 table 51900\n" \
	"ip -" #family " -batch -\nrule del table main suppress_prefixlength 0\n"
#define LOOKS(family)	LOOK(family, "") LOOK(family, " dev omr0")

/*
 * Rules go with the device, whatever has become of its routes, and after it. With a
 * default route of IPv4 "up" would set a sysctl of this machine.
 */
static void rules(void)
{
	static const char all[] = LOOKS(4) LOOKS(6) DROP(4) DROP(6);
	struct unit_run run;
	char words[300];

	snprintf(words, sizeof(words), "down %s", unit_path("omr0.conf"));
	run = up(HOST PEER "AllowedIPs = ::/0\n", "no-agent");
	unit_run_free(&run);
	fake_ip(0);
	run = unit_main(words, NULL);
	unit_ok(!run.rc && !strcmp(told(), all), "down: rules without routes",
		"rc %d\n%s\ntold:\n%s", run.rc, run.err, told());
	unit_run_free(&run);
	fake_ip(0);
	run = unit_main(words, NULL);
	unit_ok(run.rc == 2 && !strcmp(told(), all), "down: rules without a device",
		"rc %d\n%s\ntold:\n%s", run.rc, run.err, told());
	unit_run_free(&run);
}

void test_up(void)
{
	old_path = strdup(getenv("PATH"));
	batches();
	failures();
	fake_reset();
	marks();
	fake_reset();
	rules();
	setenv("PATH", old_path, 1);
	free(old_path);
	fake_reset();
}
