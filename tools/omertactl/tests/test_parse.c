// SPDX-License-Identifier: GPL-2.0
/*
 * Command lines: which status, which requests, which message. A row would catch
 * an option that lands in the wrong field, a bound that is off by one, and a
 * mistake that reaches the kernel.
 */
#include "unit.h"

#include <netdb.h>

#include "fake_nl.h"
#include "cmd/cmd.h"

int __real_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res);
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res);

#define PUB	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

static const struct {
	int rc;
	const char *words;
	const char *requests;	/* all of them, "" for none, NULL: any */
	const char *message;	/* part of standard error */
} rows[] = {
	/* devices */
	{ 0, "link add omr1", "device-new ifname=omr1\nqdisc ifname=omr1 kind=fq_codel\n", NULL },
	{ 0, "link add dev omr1", "device-new ifname=omr1\nqdisc ifname=omr1 kind=fq_codel\n", NULL },
	{ 0, "link add omr1 channels 64", "device-new ifname=omr1 channels=64\nqdisc ifname=omr1 kind=fq_codel\n", NULL },
	{ 0, "link add omr1 listen-port 51900 fwmark 0xca6c chunk-size 1024 policy percpu percpu-threshold 9000 cpus 0-3,8",
	  "device-new ifname=omr1 listen-port=51900 fwmark=0xca6c chunk-size=1024 policy=percpu percpu-threshold=9000 cpus=0-3,8\nqdisc ifname=omr1 kind=fq_codel\n", NULL },
	{ 0, "link add omr%d", "device-new ifname=omr%d\n", NULL },
	{ 0, "link set omr0 fwmark off cpus all policy inline listen-port 0",
	  "device-set ifname=omr0 listen-port=0 fwmark=off policy=inline cpus=all\n", NULL },
	{ 0, "link set omr0 fwmark 4294967295", "device-set ifname=omr0 fwmark=0xffffffff\n", NULL },
	{ 0, "link set omr0 chunk-size 65536", "device-set ifname=omr0 chunk-size=65536\n", NULL },
	{ 0, "link set omr0 cpus 0-31:2/4", "device-set ifname=omr0 cpus=0-31:2/4\n", NULL },
	{ 0, "link set omr0 engine mb-avx2", "device-set ifname=omr0 engine=mb-avx2\n", NULL },
	/* measuring */
	{ 1, "bench chunks chunk-size 512", "", "this command varies chunk-size and direction" },
	{ 1, "bench chunks direction seal", "", "this command varies chunk-size and direction" },
	{ 1, "bench split runs 0", "", "bench split: runs: \"0\": must be a number 1..1000" },
	{ 1, "bench split time 1001", "", "time: \"1001\": must be a number 1..1000" },
	{ 1, "bench split time 5 time 6", "", "time: given twice" },
	{ 1, "bench run bytes 67108865", "", "must be a number 1..67108864" },
	{ 1, "bench run strategy thread", "", "must be inline, percpu, unbound, kthread, padata or napi" },
	{ 1, "bench run runs 5", "", "\"runs\": unknown option" },
	{ 1, "bench", "", "bench: a command is missing" },
	{ 0, "link del omr0", "device-del ifname=omr0\n", NULL },
	{ 1, "l d omr0", "", "\"l\" \"d\": write \"link del\" in full: commands that change something" },
	{ 1, "link de omr0", "", "write \"link del\" in full" },
	{ 1, "set omr0 /dev/null", "", "\"set\": write \"setconf\" in full" },
	{ 1, "dow omr0", "", "\"dow\": write \"down\" in full" },
	{ 1, "link add -x", "", "\"-x\": a device name does not begin with -" },
	{ 1, "peer add omr0 id 9 name -x", "", "name: \"-x\": a name does not begin with -" },
	{ 0, "peer add omr0 id 9 name help", "peer-new ifname=omr0 id=9 name=help\n", NULL },
	{ 2, "link del omr9", "device-del ifname=omr9\n",
	  "omertactl: link del: omr9: No such device" },
	{ 2, "link show omr9", "", "omertactl: link show: omr9: No such device" },
	{ 1, "link set omr0", "", "link set: nothing to set" },
	{ 1, "link add", "", "link add: NAME is missing (usage: omertactl link add NAME" },
	{ 1, "link del", "", "link del: DEV is missing" },
	{ 1, "link add abcdefghijklmnop", "", "a device name has 1..15 characters" },
	{ 1, "link add a/b", "", "\"a/b\": a device name has no slash" },
	{ 1, "link add ''", "", "a device name has 1..15 characters" },
	{ 1, "link add omr1 listen-port 65536", "",
	  "link add: listen-port: \"65536\": must be a number 0..65535" },
	{ 1, "link add omr1 listen-port -1", "", "\"-1\": must be a number" },
	{ 1, "link add omr1 listen-port 0x", "", "\"0x\": must be a number" },
	{ 1, "link add omr1 listen-port 5x", "", "\"5x\": must be a number" },
	{ 1, "link add omr1 fwmark 4294967296", "", "must be a number 0..4294967295" },
	{ 1, "link add omr1 fwmark 99999999999999999999", "", "must be a number 0..4294967295" },
	{ 1, "link add omr1 listen-port off", "", "\"off\": must be a number" },
	{ 1, "link add omr1 chunk-size 256", "", "\"256\": must be a number 512..65536" },
	{ 1, "link add omr1 chunk-size 1000", "", "\"1000\": must be 512, 1024" },
	{ 1, "link add omr1 policy fast", "", "policy: \"fast\": must be auto, inline or percpu" },
	{ 1, "link add omr1 percpu-threshold 0", "",
	  "percpu-threshold: \"0\": must be a number 1..4294967295" },
	{ 1, "link add omr1 cpus 0-", "", "cpus: \"0-\": must be \"all\" or a list" },
	{ 1, "link add omr1 cpus a", "", "must be \"all\" or a list" },
	{ 1, "link add omr1 cpus ''", "", "must be \"all\" or a list" },
	{ 1, "link add omr1 mtu 1400", "", "link add: \"mtu\": unknown option" },
	{ 1, "link add omr1 listen-port", "", "listen-port: a value is missing" },
	{ 1, "link add omr1 listen-port 1 listen-port 2", "", "listen-port: given twice" },
	/* objects and commands */
	{ 1, "", "", "an object is missing" },
	{ 1, "lonk show", "", "\"lonk\": no such object" },
	{ 1, "link frob", "", "link: \"frob\": no such command" },
	{ 1, "link", "", "link: a command is missing" },
	{ 1, "s", "", "\"s\": may be show, stats, setconf, syncconf, showconf" },
	{ 1, "gen", "", "\"gen\": may be genkey, genpsk, gensession" },
	{ 1, "key a omr0", "", "key: \"a\": may be add, activate" },
	{ 0, "sta omr0", "", NULL },
	{ 1, "-x link show", "", "\"-x\": unknown option" },
	{ 0, "-h", "", NULL },
	{ 0, "-V", "", NULL },
	/* times */
	{ 1, "times forget omr0", "", "times forget: peer is missing" },
	{ 1, "-j times forget omr0 peer 1", "", "there is nothing to print" },
	{ 2, "times forget omr0 peer zoe", "", "no peer of omr0 has this name" },
	{ 2, "times forget omr0 peer 77", "", "times forget: omr0 peer 77: No such file" },
	{ 2, "times forget omr0 peer " PUB, "", "/etc/omerta/omr0.conf\": No such file" },
	/* peers */
	{ 0, "peer add omr0 id 5", "peer-new ifname=omr0 id=5\n", NULL },
	{ 0, "peer add omr0 id 5 name alice public-key " PUB " endpoint 192.0.2.7:51900 allowed-ips 10.9.0.2/32,fd09::2/128 keepalive 25",
	  "peer-new ifname=omr0 id=5 name=alice public-key=" PUB " endpoint-addr=192.0.2.7 endpoint-port=51900 keepalive=25 allowed-ips=10.9.0.2/32,fd09::2/128\n", NULL },
	{ 0, "peer add omr0 id 5 endpoint [2001:db8::1]:1", "peer-new ifname=omr0 id=5 endpoint-addr=2001:db8::1 endpoint-port=1\n", NULL },
	{ 0, "peer add omr0 id 5 endpoint [fe80::1%lo]:65535", "peer-new ifname=omr0 id=5 endpoint-addr=fe80::1 endpoint-port=65535 endpoint-scope=1\n", NULL },
	{ 0, "peer add omr0 id 5 endpoint host.test:7", "peer-new ifname=omr0 id=5 endpoint-addr=192.0.2.9 endpoint-port=7\n", NULL },
	{ 0, "peer add omr0 id 5 allowed-ips '10.1.2.3/8, fd00::1/7 ,1.2.3.4,::1'",
	  "peer-new ifname=omr0 id=5 allowed-ips=10.0.0.0/8,fc00::/7,1.2.3.4/32,::1/128\n", NULL },
	{ 0, "peer add omr0 id 5 allowed-ips 0.0.0.0/0,::/0", "peer-new ifname=omr0 id=5 allowed-ips=0.0.0.0/0,::/0\n", NULL },
	{ 0, "peer add omr0 id 5 allowed-ips 10.0.0.0/8 allowed-ips +11.0.0.0/8", "peer-new ifname=omr0 id=5 allowed-ips=10.0.0.0/8,11.0.0.0/8\n", NULL },
	{ 0, "peer add omr0 id 0x10 keepalive off", "peer-new ifname=omr0 id=16 keepalive=off\n", NULL },
	{ 0, "peer set omr0 id 1 keepalive 65535", "peer-set ifname=omr0 id=1 keepalive=65535\n", NULL },
	{ 0, "peer set omr0 peer 1 name bob", "peer-set ifname=omr0 id=1 name=bob\n", NULL },
	{ 0, "peer set omr0 peer carol name ''", "peer-set ifname=omr0 id=3 name=\n", NULL },
	{ 0, "peer set omr0 peer 1 public-key none", "peer-set ifname=omr0 id=1 public-key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", NULL },
	{ 0, "peer set omr0 peer 1 allowed-ips 10.0.0.0/8", "peer-set ifname=omr0 id=1 flags=1 allowed-ips=10.0.0.0/8\n", NULL },
	{ 0, "peer set omr0 peer 1 allowed-ips ''", "peer-set ifname=omr0 id=1 flags=1\n", NULL },
	{ 0, "peer set omr0 peer 1 allowed-ips +10.0.0.0/8,-10.1.0.0/16", "peer-set ifname=omr0 id=1 allowed-ips=10.0.0.0/8,-10.1.0.0/16\n", NULL },
	{ 0, "peer del omr0 id 1", "peer-del ifname=omr0 id=1\n", NULL },
	{ 0, "peer del omr0 peer carol", "peer-del ifname=omr0 id=3\n", NULL },
	{ 2, "peer del omr0 peer twin", "", "peer: \"twin\": the name of peers 1 and 2: use the id" },
	{ 0, "peer del omr0 peer " PUB, "peer-del ifname=omr0 id=3\n", NULL },
	{ 2, "peer del omr0 peer AAIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=", "",
	  "no peer of omr0 has this public key" },
	{ 1, "show omr0 colour", "", "\"colour\": must be one of listen-port|" },
	{ 1, "show omr0 private-key", "", "\"private-key\": only the key agent has it" },
	{ 1, "-j show omr0 peers", "", "-j: this is not JSON" },
	{ 1, "show interfaces peers", "", "interfaces: nothing may follow it" },
	{ 2, "peer del omr0 peer zoe", "", "peer: \"zoe\": no peer of omr0 has this name" },
	{ 2, "peer del omr9 peer zoe", "", "peer del: omr9: " },
	{ 2, "peer del omr0 peer 77", "peer-del ifname=omr0 id=77\n", "peer del: omr0 peer 77: id: no such peer" },
	{ 2, "peer show omr0 peer 77", "", "omr0 has no peer 77" },
	{ 1, "peer del omr0", "", "peer del: peer is missing (usage: omertactl peer del DEV peer N|NAME|PUBLIC-KEY)" },
	{ 1, "peer del omr0 peer ''", "", "\"\": a peer's id or name" },
	{ 1, "peer del omr0 peer 0", "", "peer: \"0\": must be a number 1..4294967295" },
	{ 1, "peer add omr0", "", "peer add: id is missing" },
	{ 1, "peer add omr0 id 0", "", "id: \"0\": must be a number 1..4294967295" },
	{ 1, "peer add omr0 id alice", "", "id: \"alice\": must be a number" },
	{ 1, "peer set omr0 id 1", "", "peer set: nothing to set" },
	{ 1, "peer add omr0 id 1 keepalive 65536", "", "keepalive: \"65536\": must be a number 0..65535" },
	{ 1, "peer add omr0 id 1 allowed-ips 10.0.0.0/33", "",
	  "omertactl: peer add: allowed-ips: \"10.0.0.0/33\": prefix length must be 0..32\n" },
	{ 1, "peer add omr0 id 1 allowed-ips ::/129", "", "\"::/129\": prefix length must be 0..128" },
	{ 1, "peer add omr0 id 1 allowed-ips 10.0.0.0/", "", "\"10.0.0.0/\": prefix length" },
	{ 1, "peer add omr0 id 1 allowed-ips 10.0.0/8", "", "\"10.0.0/8\": not an IPv4 or IPv6 prefix" },
	{ 1, "peer add omr0 id 1 allowed-ips 10.0.0.0/8,", "", "allowed-ips: \"\": not an IPv4" },
	{ 1, "peer add omr0 id 1 allowed-ips 10.0.0.0/8,,11.0.0.0/8", "", "allowed-ips: \"\": not an IPv4" },
	{ 1, "peer add omr0 id 1 allowed-ips -10.0.0.0/8", "", "\"-10.0.0.0/8\": a new peer has no prefix to remove" },
	{ 1, "peer set omr0 id 1 allowed-ips 10.0.0.0/8,+11.0.0.0/8", "", "\"+11.0.0.0/8\": either all prefixes have a + or -" },
	{ 1, "peer set omr0 id 1 allowed-ips 10.0.0.0/8,10.1.1.1/8", "", "allowed-ips: \"10.0.0.0/8\": given twice" },
	{ 1, "peer set omr0 id 1 allowed-ips +10.0.0.0/8,-10.0.0.0/8", "", "given twice" },
	{ 1, "peer add omr0 id 1 endpoint 192.0.2.7", "", "endpoint: \"192.0.2.7\": expected HOST:PORT" },
	{ 1, "peer add omr0 id 1 endpoint 192.0.2.7:0", "", "the port must be 1..65535" },
	{ 1, "peer add omr0 id 1 endpoint 192.0.2.7:65536", "", "the port must be 1..65535" },
	{ 1, "peer add omr0 id 1 endpoint 192.0.2.7:+5", "", "the port must be 1..65535" },
	{ 1, "peer add omr0 id 1 endpoint :5", "", "expected HOST:PORT" },
	{ 1, "peer add omr0 id 1 endpoint 2001:db8::1:5", "", "an IPv6 address needs brackets" },
	{ 1, "peer add omr0 id 1 endpoint [2001:db8::1]5", "", "expected [ADDRESS]:PORT" },
	{ 1, "peer add omr0 id 1 endpoint [fe80::1%nosuch0]:5", "", "no such scope interface" },
	{ 2, "peer add omr0 id 1 endpoint host.invalid:5", "", "endpoint: \"host.invalid:5\": cannot resolve host: " },
	{ 1, "peer add omr0 id 1 public-key AAAA", "", "public-key: \"AAAA\": a key is 44 base64 characters long, not 4" },
	{ 1, "peer add omr0 id 1 name 0123456789012345678901234567890123456789012345678901234567890123", "", "longer than 63 bytes" },
	{ 1, "peer add omr0 id 1 name 'a\tb'", "", "must be UTF-8 without control characters" },
	{ 1, "peer add omr0 id 1 name \xff", "", "must be UTF-8 without control characters" },
	{ 2, "peer add omr0 id 5 allowed-ips @/nonexistent/x", "", "allowed-ips: @\"/nonexistent/x\": No such file" },
	/* keys but for their files */
	{ 0, "key activate omr0 peer carol local-id 0x11", "key-activate ifname=omr0 peer-id=3 local-id=0x11\n", NULL },
	{ 0, "key retire omr0 peer 1 local-id 17", "key-retire ifname=omr0 peer-id=1 local-id=0x11\n", NULL },
	{ 0, "key del omr0 id 1 local-id 4294967295", "key-del ifname=omr0 peer-id=1 local-id=0xffffffff\n", NULL },
	{ 1, "key del omr0 peer 1", "", "key del: local-id is missing" },
	{ 1, "key del omr0 peer 1 local-id 0", "", "local-id: \"0\": must be a number 1..4294967295" },
	{ 1, "key add omr0 peer 1 local-id 1 remote-id 2 rx-key-file a", "", "key add: tx-key-file is missing" },
	{ 1, "key add omr0 peer 1 local-id 1 remote-id 2 rx-key-file a tx-key-file b activate later", "",
	  "activate: \"later\": must be manual, now or on-first-record" },
	{ 1, "key add omr0 peer 1 local-id 1 remote-id 2 rx-key-file a tx-key-file b hard-bytes 18446744073709551616", "",
	  "hard-bytes: \"18446744073709551616\": must be a number 1..18446744073709551615" },
	{ 1, "key add omr0 peer 1 local-id 1 remote-id 2 rx-key-file a tx-key-file b seal-time 0", "", "seal-time: \"0\"" },
	/* configurations and the rest */
	{ 2, "setconf omr0 /nonexistent/x", "", "\"/nonexistent/x\": No such file" },
	{ 1, "setconf omr0", "", "setconf: FILE is missing" },
	{ 1, "showconf", "", "showconf: DEV is missing" },
	{ 1, "-j showconf omr0", "", "not JSON" },
	{ 1, "genkey foo", "", "genkey: \"foo\": unknown option" },
};

/* No name server: one name resolves, others do not. */
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res)
{
	if (hints->ai_flags & AI_NUMERICHOST)
		return __real_getaddrinfo(node, service, hints, res);
	if (strcmp(node, "host.test"))
		return EAI_NONAME;
	return __real_getaddrinfo("192.0.2.9", service, hints, res);
}

static void set_up(void)
{
	struct unit_run run;
	static const char *const words[] = {
		"link add omr0 listen-port 51900",
		"peer add omr0 id 1 name twin allowed-ips 10.1.0.0/16",
		"peer add omr0 id 2 name twin",
		"peer add omr0 id 3 name carol public-key " PUB,
	};

	fake_reset();
	for (size_t i = 0; i < OM_ARRAY_SIZE(words); i++) {
		run = unit_main(words[i], NULL);
		unit_run_free(&run);
	}
	fake_forget_log();
}

/* Help stands after any word, and does nothing else. */
static void expect_help(const char *words, const char *out)
{
	static const char *const help[] = { "help", "-h", "--help" };

	for (size_t i = 0; i < OM_ARRAY_SIZE(help); i++) {
		struct unit_run run;
		char all[200];

		set_up();
		snprintf(all, sizeof(all), "%s %s", words, help[i]);
		run = unit_main(all, NULL);
		unit_ok(!run.rc && !*run.err && !*fake.log && CONTAINS(run.out, out),
			"help: after a word", "%s: rc %d, requests %s\n%s%s", all, run.rc,
			fake.log, run.out, run.err);
		unit_run_free(&run);
	}
}

static void helps(void)
{
	for (const struct om_command *c = om_commands; c->object; c++) {
		char words[100], usage[120];

		snprintf(usage, sizeof(usage), "Usage: omertactl %s ", om_command_name(c));
		if (!strcmp(c->object, "help"))
			continue;
		expect_help(om_command_name(c), usage);
		if (!c->pos[0])
			continue;
		snprintf(words, sizeof(words), "%s omr0", om_command_name(c));
		expect_help(words, usage);
	}
	expect_help("link", "  link del ");
	expect_help("link set omr0 fwmark 5", "Usage: omertactl link set ");
	expect_help("help", "Usage: omertactl");
}

/* An example is a command line without mistakes. */
static void examples(void)
{
	for (const struct om_command *c = om_commands; c->object; c++) {
		char words[200], *argv[30];
		struct om_err err = { 0 };
		struct om_args args;
		int argc = 0;

		snprintf(words, sizeof(words), "%s", c->example);
		words[strcspn(words, "<>")] = '\0';
		for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
			argv[argc++] = w;
		unit_ok(!om_args_parse(c, argc, argv, &args, &err) && !args.help,
			"help: an example can be typed", "%s %s: %s", om_command_name(c),
			c->example, err.text);
		om_args_free(&args);
	}
}

void test_parse(void)
{
	helps();
	examples();
	for (size_t i = 0; i < OM_ARRAY_SIZE(rows); i++) {
		struct unit_run run;
		char name[160];
		bool ok;

		set_up();
		run = unit_main(rows[i].words, NULL);
		ok = run.rc == rows[i].rc &&
		     (!rows[i].requests || !strcmp(fake.log, rows[i].requests)) &&
		     (rows[i].message ? CONTAINS(run.err, rows[i].message) :
					!*run.err);
		snprintf(name, sizeof(name), "parse: %.140s", rows[i].words);
		for (char *c = name; *c; c++)
			if (*c == '\t' || *c == '#' || (unsigned char)*c > 0x7e)
				*c = '?';
		unit_ok(ok, name, "rc %d, wanted %d\nrequests:\n%s\nmessage:\n%s",
			run.rc, rows[i].rc, fake.log, run.err);
		unit_run_free(&run);
	}
	fake_reset();
}

int main(void)
{
	test_parse();
	test_cmd();
	test_conf();
	test_print();
	test_secret();
	test_extack();
	test_map();
	test_noise();
	test_handshake();
	test_agent();
	test_times();
	test_up();
	test_daemon();
	test_leak();
	test_sandbox();
	return unit_end();
}
