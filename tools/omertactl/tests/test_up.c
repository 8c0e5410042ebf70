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
#define UP	ADDRESSES "up omr0 mtu 1388\n"
#define RULES(family) \
	"rule add " family " table 51900 not mark\n" \
	"rule add " family " table 254 no default\n"
#define NO_RULES(family) \
	"rule del " family " table 254 no default\n" \
	"rule del " family " table 51900 not mark\n"

static void host(void)
{
	expect("up: addresses, MTU and routes",
	       HOST "MTU = 1300\n" PEER "AllowedIPs = 10.9.0.2/32, fd00::/8\n",
	       ADDRESSES "up omr0 mtu 1300\n"
	       "route 10.9.0.2/32 dev omr0 table 254\nroute fd00::/8 dev omr0 table 254\n");
	expect("up: a default route has a table, and rules that lead to it",
	       HOST PEER "AllowedIPs = ::/0, 10.0.0.0/8\n",
	       UP "route ::/0 dev omr0 table 51900\nroute 10.0.0.0/8 dev omr0 table 254\n"
	       RULES("IPv6"));
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

#define LOOK4	"look IPv4 table 51900 dev omr0\n"
#define LOOKS	LOOK4 "look IPv6 table 51900 dev omr0\n"

static void run(const char *name, const char *command, int rc, const char *told,
		const char *said)
{
	struct unit_run run;
	char words[300];

	fake.host[0] = '\0';
	snprintf(words, sizeof(words), command, unit_path("omr0.conf"));
	run = unit_main(words, NULL);
	unit_ok(run.rc == rc && !strcmp(fake.host, told) &&
		(*said ? CONTAINS(run.err, said) || CONTAINS(run.out, said) : !*run.err), name,
		"%s: rc %d\n%s%s\ntold:\n%s", words, run.rc, run.out, run.err, fake.host);
	unit_run_free(&run);
}

static void add_rule(int family, uint32_t table, uint32_t not_mark)
{
	*(struct om_rule *)om_list_add(&fake.rules, sizeof(struct om_rule)) = (struct om_rule){
		.family = family, .table = table, .not_mark = not_mark, .no_default = !not_mark,
	};
}

static void add_rules(void)
{
	fake.rules.n = 0;
	add_rule(AF_INET, 51900, 51900);
	add_rule(AF_INET, 254, 0);
	add_rule(AF_INET6, 51900, 51900);
	add_rule(AF_INET6, 254, 0);
}

/*
 * Rules go with the device, whatever has become of its routes, and after it. With a
 * default route of IPv4 "up" would set a sysctl of this machine.
 */
static void rules(void)
{
	static const char both[] = LOOKS NO_RULES("IPv4") NO_RULES("IPv6");
	static const char looked[] = "look IPv4 table 51900 dev omr0\n";
	struct unit_run brought;

	brought = up(HOST PEER "AllowedIPs = ::/0\n", "no-agent");
	unit_run_free(&brought);
	add_rules();
	fake.fail_with = EPERM;
	fake.refused = "look IPv4";
	run("down: without a look at the table nothing is done", "down %s", 2, looked, "look IPv4");
	unit_ok(fake_device("omr0"), "down: the device is there then", "it is not");
	fake.refused = NULL;
	run("down: rules without routes", "down %s", 0, both, "");
	run("down: down already", "down %s", 0, LOOKS, "omr0 is down already");
	add_rules();
	run("down: rules without a device", "down %s", 0, both, "");
	/* An interrupted command may leave rules twice or in part. */
	add_rules();
	add_rule(AF_INET, 51900, 51900);
	run("down: a rule that is there twice", "down %s", 0,
	    LOOKS NO_RULES("IPv4") "rule del IPv4 table 51900 not mark\n" NO_RULES("IPv6"), "");
	add_rules();
	fake.rules.n = 1;
	run("down: the first rule alone", "down %s", 0,
	    LOOKS "rule del IPv4 table 51900 not mark\n", "");
	/* The main table's rule may be another tunnel's. */
	add_rules();
	add_rule(AF_INET, 51820, 51820);
	run("down: a rule that another tunnel needs, too", "down %s", 0,
	    LOOKS "rule del IPv4 table 51900 not mark\n" NO_RULES("IPv6"), "");
	fake.rules.n = 0;
	add_rule(AF_INET, 254, 0);
	run("down: somebody's rule", "down %s", 0, LOOKS, "already");
	add_rules();
	fake.refused = "rule del IPv6 table 254";
	run("down: a rule that stays is told", "down %s", 2, both, "rule del IPv6");
	fake.refused = "rule del IPv4 table 254";
	fake.fail_with = ENOENT;
	add_rules();
	run("down: a rule that goes by itself meanwhile", "down %s", 0, both, "");
	fake.refused = NULL;
	add_rules();
	fake.defaults = 1;
	run("down: others' routes keep the rules", "down %s", 0, LOOKS, "already");
}

static void write_file(const char *text)
{
	unit_file("omr0.conf", text, strlen(text), 0600);
}

/* "up" and "reload" end at the same state, whatever they find. */
static void converge(void)
{
	static const char text[] = HOST "MTU = 1300\n" PEER "AllowedIPs = 10.8.0.0/16, ::/0\n";
	struct om_prefix other = { .addr = { .len = 4, .b = { 10, 9, 9, 9 } }, .len = 32 };
	struct om_route route = { .prefix = other, .table = 254 };

	write_file(text);
	fake.refused = "rule add IPv6 table 254";
	fake.fail_with = EPERM;
	run("up: refused", "up %s no-agent", 2, ADDRESSES "up omr0 mtu 1300\n"
	    "route 10.8.0.0/16 dev omr0 table 254\n" "route ::/0 dev omr0 table 51900\n"
	    RULES("IPv6") "rule del IPv6 table 51900 not mark\n", "rule add IPv6");
	fake.refused = NULL;
	run("up: afterwards", "up %s no-agent", 0, ADDRESSES "up omr0 mtu 1300\n"
	    "route 10.8.0.0/16 dev omr0 table 254\n" "route ::/0 dev omr0 table 51900\n"
	    RULES("IPv6"), "");
	run("up: up already", "up %s no-agent", 0, LOOK4, "omr0 is up already");
	run("reload: nothing to do", "reload %s", 0, LOOK4,
	    "omr0 is as its file says already");
	/* As after a crash of "up", or the hand of an administrator */
	fake.routes.n = 1;
	fake.rules.n = 1;
	fake.up = false;
	run("up: the rest of it", "up %s no-agent", 0, "up omr0 mtu 1300\n"
	    "route ::/0 dev omr0 table 51900\n" LOOK4
	    "rule add IPv6 table 51900 not mark behind another\n", "");
	/* The main table's rule stands in front of the other one. */
	fake.rules.n = 0;
	add_rule(AF_INET6, 254, 0);
	OM_AT(&fake.rules, struct om_rule, 0)->priority = 5;
	run("up: the first rule alone was lost", "up %s no-agent", 0,
	    LOOK4 "rule add IPv6 table 51900 not mark behind another\n", "");
	fake.rules.n = 0;
	add_rule(AF_INET6, 51900, 51900);
	add_rule(AF_INET6, 254, 0);
	OM_AT(&fake.rules, struct om_rule, 1)->priority = 6;
	run("up: the rules are in a wrong order", "up %s no-agent", 0,
	    LOOK4 "rule del IPv6 table 51900 not mark\n"
	    "rule add IPv6 table 51900 not mark behind another\n", "");
	*(struct om_route *)om_list_add(&fake.addresses, sizeof(route)) = route;
	*(struct om_route *)om_list_add(&fake.routes, sizeof(route)) = route;
	route.prefix.addr.b[3] = 10;
	route.fixed = true;
	*(struct om_route *)om_list_add(&fake.routes, sizeof(route)) = route;
	run("up: what is not in the file goes, but for routes of other programs", "up %s no-agent", 0,
	    "no address 10.9.9.9/32 dev omr0\nno route 10.9.9.9/32 dev omr0 table 254\n" LOOK4, "");
}

/* "reload" applies the differences, and removes the rules of a default route that is gone. */
static void reload(void)
{
	write_file("[Interface]\nAddress = 10.9.0.1/24, 10.7.0.1/24\nMTU = 1290\n" PEER
		   "AllowedIPs = 10.8.0.0/16, fd07::/16\n");
	fake.defaults = 0;
	run("reload: addresses, routes, rules and MTU", "reload %s", 0,
	    "address 10.7.0.1/24 dev omr0\nno address fd09::1/64 dev omr0\n"
	    "up omr0 mtu 1290\nroute fd07::/16 dev omr0 table 254\n"
	    "no route ::/0 dev omr0 table 51900\n"
	    "look IPv4 table 51900 dev omr0\nlook IPv6 table 51900 dev omr0\n" NO_RULES("IPv6"),
	    "1 change of settings and peers\naddress 10.7.0.1/24 added\naddress fd09::1/64 removed\nMTU 1290 instead of 1300\n"
	    "route fd07::/16 added\nroute ::/0 removed\nIPv6 rule of table 254 removed\nIPv6 rule of table 51900 removed\n");
	run("reload: as JSON", "-j reload %s", 0, LOOKS,
	    "[{\"ifname\":\"omr0\",\"changed\":false,\"changes\":[]}]\n");
	/* A refusal undoes the earlier changes. */
	write_file("[Interface]\nAddress = 10.7.0.1/24\n" PEER
		   "AllowedIPs = 10.8.0.0/16, fd07::/16, 10.6.0.0/16\n");
	fake.refused = "route 10.6.0.0/16";
	fake.fail_with = EEXIST;
	run("reload: undone if a part is refused", "reload %s", 2,
	    "no address 10.9.0.1/24 dev omr0\nup omr0 mtu 1388\n"
	    "route 10.6.0.0/16 dev omr0 table 254\naddress 10.9.0.1/24 dev omr0\n"
	    "mtu 1290 of omr0\n",
	    "File exists");
	fake.refused = NULL;
	write_file(HOST "FwMark = 7\n" PEER);
	run("reload: another mark wants down and up", "reload %s", 1, "", "FwMark: routes may depend");
	run("down: all of it", "down %s", 0, LOOKS, "");
	run("reload: only what is up", "reload %s", 2, "", "(omertactl up ");
	unit_ok(!fake.rules.n, "down: no rules are left", "%zu", fake.rules.n);
}

/* The longest packet for the paths to all peers, in chunks of the device's size */
static void mtu(void)
{
#define V4	"[Interface]\nAddress = 10.9.0.1/24\n"
#define P4	PEER "Endpoint = 192.0.2.2:1\n"
#define P6	"[Peer]\nId = 9\nEndpoint = [2001:db8::2]:1\n"
	static const struct {
		uint32_t path, mtu;
		const char *text, *said;
	} rows[] = {
		{ 1500, 1408, V4 P4, "omr0: MTU 1408, as that of the path outside is 1500\n" },
		{ 1500, 1388, V4 P6, "MTU 1388" },
		{ 1500, 1388, V4 P4 P6, "MTU 1388" },
		{ 1500, 1388, V4 P4 "[Peer]\nId = 8\n", "MTU 1388" },
		{ 1492, 1400, V4 P4, "MTU 1400" },
		{ 1492, 1380, V4 P6, "MTU 1380" },
		{ 1500, 1420, V4 "ChunkSize = 2048\n" P6, "MTU 1420" },
		{ 9000, 8664, V4 P6, "MTU 8664" },
		{ 9000, 8920, V4 "ChunkSize = 16384\n" P6, "MTU 8920" },
		{ 65536, 63491, V4 P4, "MTU 63491" },
		{ 1280, 1188, V4 P4, "MTU 1188, as that of the path outside is 1280\n" },
		{ 1280, 1280, HOST P4, "MTU 1280, as that of the path outside is 1280; IPv6 needs 1280" },
		{ 68, 576, V4 P4, "MTU 576" },
	};

	for (size_t i = 0; i < OM_ARRAY_SIZE(rows); i++) {
		struct unit_run run;

		fake_reset();
		fake.path_mtu = rows[i].path;
		run = up(rows[i].text, "no-agent");
		unit_ok(!run.rc && fake.mtu == rows[i].mtu && CONTAINS(run.err, rows[i].said),
			"up: the MTU of the paths", "%u: %u\n%s", rows[i].mtu, fake.mtu, run.err);
		unit_run_free(&run);
	}
}

/* A network of ours has the kernel's route already. */
static void networks(void)
{
	expect("up: the networks of our own addresses need no route",
	       HOST PEER "AllowedIPs = 10.9.0.0/24, fd09::/64, 10.9.0.0/25\n",
	       UP "route 10.9.0.0/25 dev omr0 table 254\n");
	expect("up: in another table they do",
	       HOST "Table = 7\n" PEER "AllowedIPs = 10.9.0.0/24\n",
	       UP "route 10.9.0.0/24 dev omr0 table 7\n");
	expect("up: a single address is no network",
	       "[Interface]\nAddress = 10.9.0.1\n" PEER "AllowedIPs = 10.9.0.1/32\n",
	       "address 10.9.0.1/32 dev omr0\nup omr0 mtu 1388\n"
	       "route 10.9.0.1/32 dev omr0 table 254\n");
}

static void filter(const char *name, const char *text, const char *has, const char *lacks)
{
	struct unit_run run;

	fake_reset();
	run = up(text, "no-agent");
	unit_ok(!run.rc && CONTAINS(fake.filter, has) && !CONTAINS(fake.filter, lacks),
		name, "rc %d\n%s\n%s", run.rc, run.err, fake.filter);
	unit_run_free(&run);
}

/* The packet filter comes first, and goes last. */
static void filters(void)
{
	static const char killed[] =
		HOST "KillSwitch = on\n" PEER "AllowedIPs = ::/0, 10.0.0.0/8\n";
	struct unit_run u;

	filter("up: a filter of a default route",
	       HOST PEER "AllowedIPs = 0.0.0.0/0, ::/0\n",
	       "table inet omerta_omr0 {\n"
	       "\tchain from_outside {\n"
	       "\t\ttype filter hook prerouting priority raw; policy accept;\n"
	       "\t\tiif != \"omr0\" ip daddr { 10.9.0.1 } fib saddr type != local drop\n"
	       "\t\tiif != \"omr0\" ip6 daddr { fd09::1 } fib saddr type != local drop\n"
	       "\t}\n", "reject");
	filter("up: a filter of one family", HOST PEER "AllowedIPs = ::/0\n",
	       "ip6 daddr { fd09::1 }", "10.9.0.1");
	filter("up: and one that lets nothing else out", killed,
	       "\t\tmeta mark 51900 accept\n", "skuid");
	unit_ok(CONTAINS(fake.filter, "reject with icmpx type admin-prohibited") &&
		CONTAINS(fake.filter, "hook forward") && CONTAINS(fake.filter, "hook output"),
		"up: and nothing through", "%s", fake.filter);
	run("down: the filter goes", "down %s", 0, LOOKS NO_RULES("IPv6"), "");
	unit_ok(!*fake.filter, "down: and is gone", "%s", fake.filter);
	fake_reset();
	fake.uid = 990;
	u = up(killed, "no-agent");
	unit_ok(!u.rc && CONTAINS(fake.host, RULES("IPv6") "rule add IPv6 table 254 of names\n") &&
		CONTAINS(fake.filter, "meta skuid 990 meta l4proto { tcp, udp } th dport 53 accept"),
		"up: names of endpoints are looked up outside", "%s\n%s", fake.host, fake.filter);
	unit_run_free(&u);
	run("down: and their rule goes", "down %s", 0,
	    LOOKS "rule del IPv6 table 254 of names\n" NO_RULES("IPv6"), "");
	/* Refused afterwards: the previous filter is back. */
	fake_reset();
	fake.refused = "route 10.0.0.0/8";
	u = up(killed, "no-agent");
	unit_ok(u.rc == 2 && !*fake.filter, "up: a failure leaves no filter", "%s", fake.filter);
	unit_run_free(&u);
	fake_reset();
	fake.no_filter = true;
	u = up(HOST PEER "AllowedIPs = ::/0\n", "no-agent");
	unit_ok(!u.rc && CONTAINS(u.err, "the fake has no nf_tables"),
		"up: without nf_tables it says so", "rc %d\n%s", u.rc, u.err);
	unit_run_free(&u);
	fake_reset();
	fake.no_filter = true;
	u = up(killed, "no-agent");
	unit_ok(u.rc == 2 && !fake_device("omr0") && !CONTAINS(fake.host, "route ") &&
		CONTAINS(u.err, "KillSwitch: the fake has no nf_tables"),
		"up: and fails if it must not go on", "rc %d\n%s\n%s", u.rc, u.err, fake.host);
	unit_run_free(&u);
	fake_reset();
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
	networks();
	filters();
	mtu();
	fake_reset();
	converge();
	reload();
	fake_reset();
}
