// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration files: bad ones are refused whole, with line and column; good
 * ones give these requests; and showconf is setconf's inverse.
 */
#include "unit.h"

#include "fake_nl.h"
#include "toy_kem.h"
#include "lib/config.h"
#include "lib/sync.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define PUB	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
/* A private key, in places where none belongs */
#define HUSH	"hush9HUSHhush/hushHUSH+hushHUSH5hushHUSHhus="
#define PUB2	"//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA="

/* Files that are wrong, and what is said behind the file's name */
static const struct {
	const char *text;
	const char *message;
} bad[] = {
	{ "[Interface]\nListenPort = 70000\n", ":2:14: ListenPort: \"70000\": must be a number 0..65535" },
	{ "[Interface]\n  Foo=1\n", ":2:3: \"Foo\": no such key in [Interface]" },
	{ "[Interface]\nAllowedIPs = 10.0.0.0/8\n", ":2:1: \"AllowedIPs\": no such key in [Interface]" },
	{ "[Peer]\nId = 1\nPrivateKey = x\n", ":3:1: \"PrivateKey\": no such key in [Peer]" },
	{ "[Peer]\nId = 1\nPresharedKey = x\n", ":3:16: PresharedKey: a key is 44 base64 characters long, not 1" },
	{ "ListenPort = 1\n", ":1:1: \"ListenPort\": stands before the first section" },
	{ "[Interface\n", ":1:1: \"[Interface\": expected [Interface] or [Peer]" },
	{ "[Foo]\n", ":1:1: \"[Foo]\": expected [Interface] or [Peer]" },
	{ "[Interface]\n[Interface]\n", ":2:1: [Interface]: given twice" },
	{ "[Interface]\nListenPort\n", ":2:1: \"ListenPort\": expected [SECTION] or KEY = VALUE" },
	{ "[Interface]\nListenPort = 1\nlistenport = 2\n", ":3:14: ListenPort: given twice" },
	{ "[Interface]\nChunkSize = 1000\n", ":2:13: ChunkSize: \"1000\": must be 512" },
	{ "[Interface]\nPolicy = quick # why\n", ":2:10: Policy: \"quick\": must be auto" },
	{ "[Peer]\nName = x\n", ":1:1: [Peer]: PublicKey is missing" },
	{ "[Peer]\nName = x\n[Peer]\nId = 1\n", ":1:1: [Peer]: PublicKey is missing" },
	{ "\n[Peer]\nId = 7\n\n[Peer]\nName = y\nId = 7\n", ":7:6: Id: \"7\": another peer has this id" },
	{ "[Peer]\nId = 0\n", ":2:6: Id: \"0\": must be a number 1.." },
	{ "[Peer]\nId = 1\nAllowedIPs = 10.0.0.0/8, 10.0.0.0/33\n", ":3:26: AllowedIPs: \"10.0.0.0/33\": prefix length must be 0..32" },
	{ "[Peer]\nId = 1\nAllowedIPs = 10.0.0.0/8, 11.0.0.0/8\nAllowedIPs =  10.1.2.3/8\n", ":4:15: AllowedIPs: \"10.0.0.0/8\": is in the file twice" },
	{ "[Peer]\nId = 1\nAllowedIPs = ::/0\n[Peer]\nId = 2\nAllowedIPs = 1::/16,::/0\n", ":6:21: AllowedIPs: \"::/0\": is in the file twice" },
	{ "[Peer]\nId = 1\nAllowedIPs = +10.0.0.0/8\n", ":3:14: AllowedIPs: \"+10.0.0.0/8\": not an IPv4" },
	{ "[Peer]\nId = 1\nEndpoint = 1.2.3.4\n", ":3:12: Endpoint: \"1.2.3.4\": expected HOST:PORT" },
	{ "[Peer]\nId = 1\nPublicKey = AAAA\n", ":3:13: PublicKey: \"AAAA\": a key is 44" },
	{ "[Peer]\nId = 1\nName = \"x\n", ":3:8: the quoted value is not complete" },
	{ "[Peer]\nId = 1\nName = \"x\\q\"\n", ":3:8: the quoted value is not complete" },
	{ "[Peer]\nId = 1\nName = \"x\\x00\"\n", ":3:8: the quoted value is not complete" },
	{ "[Peer]\nId = 1\nName = \"x\" y\n", ":3:12: nothing may follow the quoted value" },
	{ "[Peer]\nId = 1\nName = \"a\\x07\"\n", ":3:8: Name: " },
	{ "[Interface] PrivateKey = " HUSH "\n", ":1:12: nothing may follow a section's name on its line" },
	{ "[Peer]PresharedKey = " HUSH "\n", ":1:7: nothing may follow a section's name" },
	{ "[" HUSH "]\n", ":1:1: (not shown): expected [Interface] or [Peer]" },
	{ "[Interface]\rPrivateKey = " HUSH "\r", ":1:12: a carriage return inside a line: lines end with a newline" },
	{ "# of a Mac\r[Interface]\rListenPort = 1\r", ":1:11: a carriage return inside a line" },
	{ "[Interface]\nTable = " HUSH "\n", ":2:9: Table: (not shown): must be auto, off or" },
	{ "[Interface]\nMTU = " HUSH "\n", ":2:7: MTU: (not shown): must be a number" },
	{ "[Interface]\nFwMark = " HUSH "\n", ":2:10: FwMark: (not shown): must be a number" },
	{ "[Interface]\nCpus = " HUSH "\n", ":2:8: Cpus: (not shown): must be" },
	{ "[Interface]\nAddress = 10.0.0.1/24, " HUSH "\n", ":2:24: Address: (not shown): not an IPv4" },
	{ "[Interface]\n" HUSH " = PrivateKey\n", ":2:1: (not shown): expected [SECTION]" },
	{ HUSH " = 1\n", ":1:1: (not shown): expected [SECTION]" },
	{ "[Peer]\nName = " HUSH "\n", ":2:8: Name: (not shown): a key cannot be a name" },
	{ "[Peer]\nEndpoint = " HUSH ":51900\n", ":2:12: Endpoint: (not shown): not a host's name" },
	{ "[Peer]\nEndpoint = hushHUSHhushHUSHhushHUSHhushHUSHhushHUSHhus:1\n", ":2:12: Endpoint: (not shown): not a host's name" },
	{ "[Peer]\nEndpoint = [" HUSH "]:51900\n", ":2:12: Endpoint: (not shown): not a host's name" },
	{ "[Peer]\nAllowedIPs = " HUSH "\n", ":2:14: AllowedIPs: (not shown): not an IPv4" },
	{ "[Peer]\nPostQuantum = " HUSH "\n", ":2:15: PostQuantum: (not shown): must be off, on" },
	{ "[Interface]\nprivatekye = " HUSH "\n", ":2:1: \"privatekye\": no such key in [Interface]" },
	{ "[Interface]\nPrivateKey hush\n", ":2:1: \"PrivateKey\": expected [SECTION] or KEY = VALUE" },
	{ "[Interface]\nPrivateKey: hush=\n", ":2:1: \"PrivateKey:\": expected [SECTION] or KEY = VALUE" },
	{ "[Interface]\nhushhushhushhushhushhushhush=\n", ":2:1: (not shown): expected [SECTION] or KEY = VALUE" },
	{ "[Interface]\nhush+hush\n", ":2:1: (not shown): expected [SECTION] or KEY = VALUE" },
	{ "[Interface]\nPrivateKey = \"\" hush\n", ":2:17: nothing may follow the quoted value" },
	{ "[Interface]\nPrivateKey = hush\n", ":2:14: PrivateKey: a key is 44 base64 characters long, not 4" },
	{ "[Interface]\nPrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", ":2:14: PrivateKey: the key is all zeros" },
	{ "[Interface]\nPrivateKeyFile = a\nPrivateKeyFile = b\n", ":3:18: PrivateKeyFile: given twice" },
	{ "[Interface]\nPrivateKeyFile =\n", ":2:17: PrivateKeyFile: a file's name is missing" },
	{ "[Interface]\nAddress = 10.0.0.1/24, 10.0.0.300\n", ":2:24: Address: \"10.0.0.300\": not an IPv4" },
	{ "[Interface]\nMTU = 67\n", ":2:7: MTU: \"67\": must be a number 68..65535" },
	{ "[Interface]\nMTU = 65000\n", ":2:7: MTU: 65000: with ChunkSize 512 it is at most 63491" },
	{ "[Interface]\nMTU = 65490\nChunkSize = 4096\n", ":2:7: MTU: 65490: with ChunkSize 4096 it is at most 65235" },
	{ "[Interface]\nMTU = 1279\nAddress = fd09::1/64\n", ":2:7: MTU: 1279: IPv6 in Address or AllowedIPs needs at least 1280" },
	{ "[Interface]\nMTU = 1279\n[Peer]\nId = 1\nAllowedIPs = ::/0\n", ":2:7: MTU: 1279: IPv6 in" },
	{ "[Interface]\nAddress = 10.9.0.1/24\nAddress = fd09::1, 10.9.0.1/24\n", ":3:20: Address: \"10.9.0.1/24\": given twice" },
	{ "[Interface]\nAddress = fd09::1/64, fd09::1/128\n", ":2:23: Address: \"fd09::1/128\": given twice" },
	{ "[Interface]\nAddress = 0.0.0.0/0\n", ":2:11: Address: \"0.0.0.0/0\": not an address of a host" },
	{ "[Interface]\nAddress = 239.0.0.1\n", ":2:11: Address: \"239.0.0.1/32\": not an" },
	{ "[Interface]\nAddress = ff02::1\n", ":2:11: Address: \"ff02::1/128\": not an" },
	{ "[Interface]\nAddress = ::1\n", ":2:11: Address: \"::1/128\": not an" },
	{ "[Interface]\nCpus = 3-1\n", ":2:8: Cpus: \"3-1\": a range ends before it begins" },
	{ "[Interface]\nCpus = 0-99999\n", ":2:8: Cpus: \"0-99999\": CPUs have numbers below 8192" },
	{ "[Interface]\nCpus = 0-8192\n", ":2:8: Cpus: \"0-8192\": CPUs have numbers below 8192" },
	{ "[Interface]\nCpus = 0-7:5/4\n", ":2:8: Cpus: \"0-7:5/4\": a range ends" },
	{ "[Interface]\nCpus = 0-7:/4\n", ":2:8: Cpus: \"0-7:/4\": must be \"all\" or" },
	{ "[Interface]\nCpus = 0,\n", ":2:8: Cpus: \"0,\": must be \"all\" or" },
	{ "[Peer]\nId = 1\nEndpoint = [::ffff:1.2.3.4]:1\n", ":3:12: Endpoint: \"[::ffff:1.2.3.4]:1\": an IPv4 address inside" },
	{ "[Peer]\nId = 1\nEndpoint = 1.2.3.4:1\nEndpoint = 1.2.3.4:1\n", ":4:12: Endpoint: given twice" },
	{ "[Peer]\nId = 1\nEndpoint = 0.1.2.3:1\n", ": not the address of one host" },
	{ "[Peer]\nId = 1\nEndpoint = 224.0.0.1:1\n", ": not the address of one host" },
	{ "[Peer]\nId = 1\nEndpoint = 255.255.255.255:1\n", ": not the address of one host" },
	{ "[Peer]\nId = 1\nEndpoint = [::]:1\n", ": not the address of one host" },
	{ "[Peer]\nId = 1\nEndpoint = [ff02::1%lo]:1\n", ": not the address of one host" },
	{ "[Peer]\nId = 1\nEndpoint = [fe80::1]:1\n", ": a link-local address needs its link" },
	{ "[Peer]\nPublicKey = AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", ":2:13: PublicKey: (not shown): no private key has this" },
	{ "[Interface]\nDNS = 192.0.2.1, a b\n", ":2:18: DNS: \"a b\": neither an address nor a domain" },
	{ "[Interface]\nDNS = -x\n", ":2:7: DNS: \"-x\": neither" },
	{ "[Interface]\nPostUp =\n", ":2:9: PostUp: a command is missing" },
	{ "[Interface]\nSaveConfig = yes\n", ":2:14: SaveConfig: \"yes\": must be true or false" },
	{ "[Peer]\nPostUp = true\n", ":2:1: \"PostUp\": no such key in [Peer]" },
	{ "[Interface]\nTable = main\n", ":2:9: Table: \"main\": must be auto, off or a table's number" },
	{ "[Peer]\nPublicKey = " PUB "\n[Peer]\nPublicKey = " PUB "\n", ":4:13: PublicKey: another peer has this key" },
	{ "[Peer]\nId = 1\nPostQuantum = yes\n", ":3:15: PostQuantum: \"yes\": must be off, on or required" },
	{ "[Peer]\nId = 1\nPostQuantum = on\nPostQuantum = on\n", ":4:15: PostQuantum: given twice" },
	{ "[Interface]\nPostQuantum = on\n", ":2:1: \"PostQuantum\": no such key in [Interface]" },
	{ "[Peer]\nId = 1\nPersistentKeepalive = 65536\n", ":3:23: PersistentKeepalive: \"65536\"" },
};

static const char full[] =
	"# a comment\n"
	"[interface] # here too\n"
	"listenport = 51900\n"
	"FwMark=0x10\r\n"
	"ChunkSize = 2048\n"
	"Policy = percpu   # and here\n"
	"PercpuThreshold = 4096\n"
	"Cpus = 0-1\n"
	"Batch = off\nDf = inherit\n"
	"\n"
	"[Peer]\n"
	"Id = 1\n"
	"Name = \"al # \\\"ice\\\\\"  # \"\n"
	"PublicKey = " PUB "\n"
	"Endpoint = 192.0.2.7:51900\n"
	"AllowedIPs = 10.9.0.2/32, fd09::2/128\n"
	"AllowedIPs = 10.8.0.0/16\n"
	"PersistentKeepalive = 25\n"
	"[Peer]\n"
	"Id = 2\n"
	"Endpoint = [fe80::1%lo]:9\n"
	"AllowedIPs =\n"
	"PersistentKeepalive = off\n";

static void must(const char *words)
{
	struct unit_run run = unit_main(words, NULL);

	if (run.rc)
		unit_ok(false, words, "%s", run.err);
	unit_run_free(&run);
}

static struct unit_run conf(const char *command, const char *text)
{
	char words[400];

	unit_file("conf", text, strlen(text), 0600);
	snprintf(words, sizeof(words), "%s omr0 %s", command, unit_path("conf"));
	return unit_main(words, NULL);
}

static void set_up(void)
{
	fake_reset();
	must("link add omr0 listen-port 51900");
	must("peer add omr0 id 1 name alice endpoint 192.0.2.1:1 allowed-ips 10.1.0.0/16,10.2.0.0/16,10.6.0.0/16 keepalive 25");
	must("peer add omr0 id 2 allowed-ips 10.3.0.0/16 public-key " PUB2);
	must("peer add omr0 id 3 name gone allowed-ips 10.4.0.0/16");
	fake_forget_log();
}

static void bad_files(void)
{
	for (size_t i = 0; i < OM_ARRAY_SIZE(bad); i++) {
		struct unit_run run;
		char name[160];

		set_up();
		run = conf("setconf", bad[i].text);
		snprintf(name, sizeof(name), "conf: refused: %.100s",
			 bad[i].message + 1);
		for (char *c = name; *c; c++)
			if (*c == '#')
				*c = '?';
		unit_ok(run.rc == 1 && CONTAINS(run.err, bad[i].message) &&
			CONTAINS(run.err, unit_path("conf")) &&
			!CONTAINS(run.err, "hush") &&
			!fake.requests && !fake.reads, name,
			"rc %d, %u requests\n%s", run.rc, fake.requests,
			run.err);
		unit_run_free(&run);
	}
}

static void expect(const char *name, const char *command, const char *text,
		   const char *requests)
{
	struct unit_run run = conf(command, text);

	unit_ok(!run.rc && !strcmp(fake.log, requests), name,
		"rc %d\n%s\nrequests:\n%s\nwanted:\n%s", run.rc, run.err,
		fake.log, requests);
	unit_run_free(&run);
}

static void good_file(void)
{
	fake_reset();
	must("link add omr0");
	fake_forget_log();
	expect("conf: every key becomes an attribute", "setconf", full,
	       "device-set ifname=omr0 listen-port=51900 fwmark=0x10 chunk-size=2048 policy=percpu percpu-threshold=4096 cpus=0-1 batch=off df=inherit\n"
	       "peer-new ifname=omr0 id=1 name=al # \"ice\\x5c public-key=" PUB " endpoint-addr=192.0.2.7 endpoint-port=51900 keepalive=25 allowed-ips=10.9.0.2/32,fd09::2/128,10.8.0.0/16\n"
	       "peer-new ifname=omr0 id=2 endpoint-addr=fe80::1 endpoint-port=9 endpoint-scope=1 keepalive=off\n");
}

/*
 * Peer 1 keeps its endpoint, gives 10.2 to peer 2, loses 10.6 and gets 10.7;
 * peer 2 loses its public key; peer 3 goes; peer 4 comes.
 */
static const char next[] =
	"[Interface]\nListenPort = 51900\nFwMark = 7\n"
	"[Peer]\nId = 2\nAllowedIPs = 10.3.0.0/16, 10.2.0.0/16\n"
	"[Peer]\nId = 1\nName = alice\nEndpoint = 192.0.2.1:1\nAllowedIPs = 10.1.0.0/16\nAllowedIPs = 10.7.0.0/16\nPersistentKeepalive = 25\n"
	"[Peer]\nId = 4\nAllowedIPs = 10.4.0.0/16\n";

static void differences(void)
{
	set_up();
	expect("conf: syncconf sends the differences only, moved prefixes once",
	       "syncconf", next,
	       "device-set ifname=omr0 fwmark=0x7\n"
	       "peer-del ifname=omr0 id=3\n"
	       "peer-set ifname=omr0 id=2 public-key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= allowed-ips=10.2.0.0/16\n"
	       "peer-set ifname=omr0 id=1 allowed-ips=-10.6.0.0/16,10.7.0.0/16\n"
	       "peer-new ifname=omr0 id=4 allowed-ips=10.4.0.0/16\n");
	fake_forget_log();
	expect("conf: a second syncconf sends nothing", "syncconf", next, "");
	set_up();
	expect("conf: setconf sends everything",
	       "setconf", next,
	       "device-set ifname=omr0 listen-port=51900 fwmark=0x7 chunk-size=512 policy=auto cpus=all batch=on df=unset\n"
	       "peer-del ifname=omr0 id=3\n"
	       "peer-set ifname=omr0 id=2 public-key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= flags=1 allowed-ips=10.3.0.0/16,10.2.0.0/16\n"
	       "peer-set ifname=omr0 id=1 name=alice endpoint-addr=192.0.2.1 endpoint-port=1 keepalive=25 flags=1 allowed-ips=10.1.0.0/16,10.7.0.0/16\n"
	       "peer-new ifname=omr0 id=4 allowed-ips=10.4.0.0/16\n");
}

/* Peer 2 is recognised by its key, and no other peer loses its number. */
static void numbers(void)
{
	set_up();
	expect("conf: peers without an id are known by their key", "syncconf",
	       "[Peer]\nPublicKey = " PUB "\n"
	       "[Peer]\nPublicKey = " PUB2 "\nAllowedIPs = 10.3.0.0/16\n"
	       "[Peer]\nId = 1\nEndpoint = 192.0.2.1:1\nName = alice\nPersistentKeepalive = 25\n"
	       "AllowedIPs = 10.1.0.0/16, 10.2.0.0/16, 10.6.0.0/16\n",
	       "peer-del ifname=omr0 id=3\n"
	       "peer-new ifname=omr0 id=4 public-key=" PUB "\n");
	set_up();
	expect("conf: nor is one that the file gives to another", "syncconf",
	       "[Peer]\nPublicKey = " PUB2 "\n[Peer]\nId = 2\n[Peer]\nId = 4\n"
	       "[Peer]\nId = 1\nEndpoint = 192.0.2.1:1\nName = alice\nPersistentKeepalive = 25\n"
	       "AllowedIPs = 10.1.0.0/16, 10.2.0.0/16, 10.6.0.0/16\n",
	       "peer-del ifname=omr0 id=3\n"
	       "peer-new ifname=omr0 id=5 public-key=" PUB2 "\n"
	       "peer-set ifname=omr0 id=2 public-key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= allowed-ips=-10.3.0.0/16\n"
	       "peer-new ifname=omr0 id=4\n");
}

/* A peer with another public key is another peer, and does not get the keys. */
static void another_key(void)
{
	static const char text[] =
		"[Peer]\nId = 2\nAllowedIPs = 10.3.0.0/16\nPublicKey = " PUB "\n";

	set_up();
	must("peer del omr0 id 1");
	must("peer del omr0 id 3");
	must("link set omr0 fwmark 5");
	fake_forget_log();
	expect("conf: a peer with another key is made anew; a mark stays", "syncconf",
	       text,
	       "peer-del ifname=omr0 id=2\n"
	       "peer-new ifname=omr0 id=2 public-key=" PUB " allowed-ips=10.3.0.0/16\n");
}

static void rates(void)
{
	set_up();
	expect("conf: limits of control datagrams", "syncconf",
	       "[Interface]\nControlRate = 500\nControlSourceRate = 5\n",
	       "device-set ifname=omr0 control-rate=500 control-source-rate=5\n"
	       "peer-del ifname=omr0 id=1\n"
	       "peer-del ifname=omr0 id=2\n"
	       "peer-del ifname=omr0 id=3\n");
}

static void endpoints(void)
{
	static const char without[] =
		"[Peer]\nId = 1\nAllowedIPs = 10.1.0.0/16, 10.2.0.0/16, 10.6.0.0/16\n";

	set_up();
	must("peer del omr0 id 2");
	must("peer del omr0 id 3");
	fake_forget_log();
	expect("conf: syncconf leaves a learned endpoint and the port alone",
	       "syncconf", without,
	       "peer-set ifname=omr0 id=1 name= keepalive=off\n");
	fake_forget_log();
	expect("conf: setconf makes a peer anew to forget its endpoint",
	       "setconf", without,
	       "device-set ifname=omr0 listen-port=0 fwmark=off chunk-size=512 policy=auto cpus=all batch=on df=unset\n"
	       "peer-del ifname=omr0 id=1\n"
	       "peer-new ifname=omr0 id=1 allowed-ips=10.1.0.0/16,10.2.0.0/16,10.6.0.0/16\n");
	set_up();
	expect("conf: an empty file means defaults and no peers", "syncconf", "",
	       "peer-del ifname=omr0 id=1\n"
	       "peer-del ifname=omr0 id=2\n"
	       "peer-del ifname=omr0 id=3\n");
}

static void failure(void)
{
	struct unit_run run;

	set_up();
	fake.fail_at = 3;
	run = conf("syncconf", next);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "syncconf: omr0: peer 2: the fake says no (2 earlier changes are in effect)"),
		"conf: a refusal half-way says how far it got", "%s", run.err);
	unit_run_free(&run);
	set_up();
	fake.fail_at = 1;
	run = conf("syncconf", next);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "syncconf: omr0: the fake says no\n"),
		"conf: a refusal of the first request says no more", "%s",
		run.err);
	unit_run_free(&run);
}

static void identity(void)
{
	struct unit_run first, second, run;
	char words[400];

	fake_reset();
	must("link add omr0");
	run = conf("setconf", full);
	unit_run_free(&run);
	must("peer set omr0 id 2 name 'Zo\xc3\xab # =[x]'");
	must("peer add omr0 id 9 name plain-name.1 allowed-ips 1.0.0.0/8,2.0.0.0/8,3.0.0.0/8,4.0.0.0/8,5.0.0.0/8,6.0.0.0/8,7.0.0.0/8,8.0.0.0/8,9.0.0.0/8");
	first = unit_main("showconf omr0", NULL);
	fake_forget_log();
	run = conf("syncconf", first.out);
	unit_ok(!first.rc && !run.rc && !*fake.log && strlen(first.out) > 300,
		"conf: syncconf of showconf's output changes nothing",
		"%s%s\n%s", first.out, run.err, fake.log);
	unit_run_free(&run);

	must("link del omr0");
	must("link add omr0");
	run = conf("setconf", first.out);
	second = unit_main("showconf omr0", NULL);
	unit_ok(!run.rc && !strcmp(first.out, second.out),
		"conf: showconf, setconf on a new device, showconf: the same",
		"%s%s\n%s", run.err, first.out, second.out);
	unit_run_free(&run);
	unit_run_free(&second);
	fake_forget_log();
	snprintf(words, sizeof(words), "syncconf omr0 -");
	run = unit_main(words, first.out);
	unit_ok(!run.rc && !fake.requests && fake.reads,
		"conf: a file from standard input", "%s", run.err);
	unit_run_free(&run);
	unit_ok(!CONTAINS(first.out, "0.0.0.0/0\n") &&
		CONTAINS(first.out, "\n[Peer]\nId = 9\nName = plain-name.1\n"),
		"conf: showconf's form", "%s", first.out);
	unit_run_free(&first);
}

/* Many peers with many prefixes, which would take too long if anything was quadratic */
static void large(void)
{
	char *text = malloc(4000 * 25 * 24 + 4000 * 32), *p = text;
	struct unit_run run;

	for (unsigned int i = 0; i < 4000; i++) {
		p += sprintf(p, "[Peer]\nId = %u\nAllowedIPs = ", i + 1);
		for (unsigned int k = 0; k < 25; k++)
			p += sprintf(p, "%s10.%u.%u.%u/32", k ? ", " : "",
				     (i * 25 + k) >> 16,
				     (i * 25 + k) >> 8 & 255,
				     (i * 25 + k) & 255);
		p += sprintf(p, "\n");
	}
	fake_reset();
	must("link add omr0");
	fake.quiet = true;
	run = conf("setconf", text);
	unit_ok(!run.rc && fake_device("omr0")->peers.n == 4000,
		"conf: 4000 peers, 100000 prefixes", "%s", run.err);
	unit_run_free(&run);
	fake_forget_log();
	run = conf("syncconf", text);
	unit_ok(!run.rc && !fake.requests,
		"conf: they are in sync then", "%u requests\n%s", fake.requests,
		run.err);
	unit_run_free(&run);
	free(text);
}

/* Every cut, and every byte turned over. No endpoint: it would be looked up. */
static void garbage(void)
{
	static const char text[] =
		"[Interface] # x\nListenPort = 51900\nFwMark=0x10\r\nCpus = 0-1\n"
		"[Peer]\nId = 1\nName = \"a\\x41\\\\\" # \nPublicKey = " PUB "\n"
		"AllowedIPs = 10.9.0.2/32, fd09::2/128\nPersistentKeepalive = 25\n";
	unsigned int runs = 0, good = 0;
	char copy[sizeof(text)];
	struct om_config c;
	struct om_err err;

	for (size_t i = 0; i < 2 * (sizeof(text) - 1); i++, runs++) {
		size_t at = i / 2, len = i % 2 ? sizeof(text) - 1 : at;
		const char *path;

		memcpy(copy, text, sizeof(text));
		copy[at] ^= (char)(i % 2 ? 0x80 >> i % 8 : 0);
		path = unit_file("garbage", copy, len, 0600);
		if (om_config_read(path, 0, &c, &err))
			continue;
		good++;
		om_config_free(&c);
	}
	unit_ok(runs > 400 && good > 10 && good < runs,
		"conf: broken files do no harm", "%u of %u", good, runs);
}

/* All mistakes at once, each with its place; nothing is asked of the kernel. */
static void check_all(void)
{
	static const char text[] =
		"[Interface]\nListenPort = x\nMTU = 1\n[Per]\nId = 1\n"
		"[Peer]\n[Peer]\nId = 1\nAllowedIPs = 10.0.0.0/8\nId = y\n"
		"[Peer]\nId = 2\nAllowedIPs = 10.0.0.0/8\n";
	static const char *const messages[] = {
		":2:14: ListenPort: ", ":3:7: MTU: ", ":4:1: \"[Per]\": ",
		":6:1: [Peer]: PublicKey is missing", ":10:6: Id: given twice",
		":1:1: [Interface]: PrivateKeyFile or PrivateKey is missing",
		":13:14: AllowedIPs: \"10.0.0.0/8\": is in the file twice",
		": 7 mistakes\n",
	};
	struct unit_run run;
	char words[400];
	bool all = true;

	set_up();
	unit_file("conf", text, strlen(text), 0600);
	snprintf(words, sizeof(words), "check %s", unit_path("conf"));
	run = unit_main(words, NULL);
	for (size_t i = 0; i < OM_ARRAY_SIZE(messages); i++)
		all &= CONTAINS(run.err, messages[i]);
	unit_ok(run.rc == 1 && all && !fake.requests && !fake.reads,
		"conf: check says all that is wrong", "%s", run.err);
	unit_run_free(&run);
	strcat(words, " no-agent");
	unit_file("conf", full, strlen(full), 0600);
	run = unit_main(words, NULL);
	unit_ok(!run.rc && !run.err[0], "conf: check has nothing to say", "%s",
		run.err);
	unit_run_free(&run);
}

/* "check" finds mistakes that only matter to "up". A byte order mark is none. */
static void check_for_up(void)
{
	static const struct {
		const char *file, *text, *message;
	} rows[] = {
		{ "conf", "[Interface]\nCpus = 8191\n", ":2:8: Cpus: \"8191\": this machine has the CPUs 0-" },
		{ "a#b.conf", "[Interface]\n", "a device name has letters, digits" },
		{ "-x.conf", "[Interface]\n", "a device name does not begin with -" },
		{ "ok.conf", "[Interface]\nPreUp = a\nPostUp = b; c\nPostUp = d\nPreDown = e\nPostDown = f\n"
		  "DNS = 192.0.2.1, example.org\nDNS = fd00::1\nSaveConfig = true\n", "" },
		{ "ok.conf", "\xef\xbb\xbf[Interface]\nMTU = 1280\nAddress = fd09::1\n", "" },
		{ "ok.conf", "[Interface]\nAddress = 10.9.0.1/24, 10.9.0.1/32\n", "" },
		{ "ok.conf", "[Interface]\nTable = off\nMTU = 68\n[Peer]\nId = 1\nAllowedIPs = ::/0\n", "" },
	};
	struct unit_run run;
	char words[400];

	for (size_t i = 0; i < OM_ARRAY_SIZE(rows); i++) {
		unit_file(rows[i].file, rows[i].text, strlen(rows[i].text), 0600);
		snprintf(words, sizeof(words), "check %s no-agent", unit_path(rows[i].file));
		run = unit_main(words, NULL);
		unit_ok(*rows[i].message ? run.rc == 1 && CONTAINS(run.err, rows[i].message) :
					   !run.rc && !*run.err,
			"conf: check says what \"up\" would", "%s: %s", rows[i].text, run.err);
		unit_run_free(&run);
	}
}

/* Others must not change commands that root runs. */
static void check_hook(void)
{
	static const char text[] = "[Interface]\nPostUp = true\n";
	static const unsigned int modes[] = { 0620, 0602 };
	struct unit_run run;
	char words[400];

	for (size_t i = 0; i < OM_ARRAY_SIZE(modes); i++) {
		unit_file("hook.conf", text, strlen(text), modes[i]);
		snprintf(words, sizeof(words), "check %s no-agent", unit_path("hook.conf"));
		run = unit_main(words, NULL);
		unit_ok(run.rc == 1 && CONTAINS(run.err, "PostUp: others may change this file"),
			"conf: no commands in a file that others may write", "%o: %s", modes[i],
			run.err);
		unit_run_free(&run);
	}
}

/* A file with a key of its own, or one of another file */
static void read_secret(const char *name, const char *text, unsigned int mode,
			const char *message)
{
	static const uint8_t want[OMERTA_KEY_LEN] = { 1, 2, 3, 4 };
	struct om_config c;
	struct om_err err = { 0 };
	const char *path = unit_file("conf", text, strlen(text), mode);
	int rc = om_config_read(path, OM_CONFIG_SECRETS, &c, &err);

	if (message) {
		unit_ok(rc && CONTAINS(err.text, message), name, "%d %s", rc,
			err.text);
	} else {
		unit_ok(!rc && !memcmp(c.host.private_key, want, 4) &&
			c.peer_conf.n == 2 &&
			!memcmp(OM_AT(&c.peer_conf, struct om_peer_conf, 1)->psk,
				want, 4) &&
			!OM_AT(&c.peer_conf, struct om_peer_conf, 0)->psk,
			name, "%d %s", rc, err.text);
	}
	if (!rc)
		om_config_free(&c);
}

#define OWN_PUB	"B6N8vBQgk8i3VdwbEOhstCY3StFqqFPtC9/AsrhtHHw="
#define FILES	"PrivateKeyFile = key\n[Peer]\nId = 1\n[Peer]\nId = 2\nPresharedKeyFile = key\n"
#define OWN	"PrivateKey = " PUB "\n[Peer]\nId = 1\n[Peer]\nId = 2\nPresharedKey = " PUB "\n"

static void secrets(void)
{
	unit_file("key", PUB "\n", sizeof(PUB), 0640);
	read_secret("conf: keys in files", "[Interface]\n" FILES, 0644, NULL);
	read_secret("conf: keys in the file itself", "[Interface]\n" OWN, 0640,
		    NULL);
	read_secret("conf: such a file is nobody else's business",
		    "[Interface]\n" OWN, 0644,
		    ":2:14: PrivateKey: others may access this file");
	read_secret("conf: two private keys", "[Interface]\nPrivateKey = " PUB "\n" FILES,
		    0600, ":3:18: PrivateKeyFile: there is one already");
	unit_file("key", PUB "\n", sizeof(PUB), 0604);
	read_secret("conf: a key's file, too", "[Interface]\n" FILES, 0600,
		    ":2:18: PrivateKeyFile: ");
	unit_file("key", "x\n", 2, 0600);
	read_secret("conf: a file without a key", "[Interface]\n" FILES, 0600,
		    "key\": a key is 44 base64 characters");
	read_secret("conf: a key for a file's name", "[Interface]\nPrivateKeyFile = " HUSH "\n",
		    0600, ":2:18: PrivateKeyFile: (not shown): No such file");
	read_secret("conf: no such file", "[Interface]\nPrivateKeyFile = nil\n", 0600,
		    "nil\": No such file");
	/* The public key of PUB */
	read_secret("conf: a peer that is this host",
		    "[Interface]\nPrivateKey = " PUB "\n[Peer]\nPublicKey = " OWN_PUB "\n",
		    0600, ":3:1: [Peer]: PublicKey is this host's own");
}

/* With ML-KEM and without; commands that read no secrets do not need it. */
static void post_quantum(void)
{
	static const struct {
		const char *value;
		enum om_kem_policy kem;
	} cases[] = {
		{ "off", OM_KEM_OFF },
		{ "on", OM_KEM_ON },
		{ "required", OM_KEM_REQUIRED },
	};
	struct om_err err = { 0 };
	struct unit_run run;
	struct om_config c;
	const char *path;
	char text[200];
	bool ok;

	for (size_t i = 0; i < 2 * OM_ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "[Peer]\nId = 1\n[Peer]\nId = 2\nPostQuantum = %s\n",
			 cases[i / 2].value);
		path = unit_file("conf", text, strlen(text), 0600);
		om_have_kem = !(i % 2);
		if (om_config_read(path, OM_CONFIG_SECRETS, &c, &err)) {
			ok = !om_have_kem && cases[i / 2].kem != OM_KEM_OFF &&
			     CONTAINS(err.text, ":5:15: PostQuantum: this omertactl has no ML-KEM-768");
		} else {
			ok = (om_have_kem || cases[i / 2].kem == OM_KEM_OFF) &&
			     OM_AT(&c.peer_conf, struct om_peer_conf, 1)->kem == cases[i / 2].kem &&
			     OM_AT(&c.peer_conf, struct om_peer_conf, 0)->kem == OM_KEM_OFF;
			om_config_free(&c);
		}
		unit_ok(ok, "conf: post-quantum", "%zu: %s", i, err.text);
	}
	unit_ok(!om_config_read(path, OM_CONFIG_NO_NAMES, &c, &err),
		"conf: post-quantum is the agent's business", "%s", err.text);
	om_config_free(&c);
	run = unit_main("-V", NULL);
	unit_ok(!CONTAINS(run.out, "ML-KEM"), "conf: a version without it", "%s", run.out);
	unit_run_free(&run);
	om_have_kem = true;
	run = unit_main("-V", NULL);
	unit_ok(CONTAINS(run.out, "(with ML-KEM-768)"), "conf: a version with it", "%s",
		run.out);
	unit_run_free(&run);
}

static unsigned int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Processor time of reading a file with @n peers, and of comparing it with a kernel's */
static double cost(uint32_t n, unsigned int *maps)
{
	char *text = NULL, base64[OM_BASE64_LEN];
	uint8_t key[OMERTA_KEY_LEN] = { 0 };
	struct om_state state = { 0 };
	struct om_config c;
	struct om_err err;
	double begun;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	const char *path;
	int rc;

	if (!f)
		abort();
	for (uint32_t i = 1; i <= n; i++) {
		memcpy(key + 4, &i, sizeof(i));
		om_base64_encode(base64, key);
		fprintf(f, "[Peer]\nPublicKey = %s\nPresharedKey = %s\nAllowedIPs = 10.%u.%u.%u\n",
			base64, base64, i >> 16, i >> 8 & 0xff, i & 0xff);
	}
	fclose(f);
	path = unit_file("conf", text, len, 0600);
	*maps = mappings();
	begun = now_ms();
	rc = om_config_read(path, OM_CONFIG_SECRETS, &c, &err);
	begun -= now_ms();
	*maps = mappings() - *maps;
	if (rc)
		abort();
	/* The same peers in another order, so that nothing is to be done for them */
	for (size_t i = c.peers.n; i-- > 0;) {
		struct om_peer *peer = om_list_add(&state.peers, sizeof(*peer));

		*peer = *OM_AT(&c.peers, struct om_peer, i);
		peer->id = (uint32_t)state.peers.n;
		peer->has |= OM_BIT(OMERTA_A_PEER_ID);
	}
	begun += now_ms();
	fake_reset();
	must("link add omr0");
	fake.requests = 0;
	rc = om_sync_apply(NULL, "omr0", &c, &state, false, NULL, &err);
	begun -= now_ms();
	/* It is about the device. */
	if (rc || fake.requests != 1 || OM_AT(&c.peers, struct om_peer, 0)->id != n)
		abort();
	om_list_free(&state.peers);
	om_config_free(&c);
	free(text);
	return -begun;
}

static void scale(void)
{
	unsigned int few_maps = 0, maps = 0;
	double few = 0, many = 0;

	for (int i = 0; i < 4 && (!i || many > 30 * few + 5); i++) {
		few = cost(1000, &few_maps);
		many = cost(10000, &maps);
	}
	unit_ok(many <= 30 * few + 5, "conf: a file takes time by the number of its peers",
		"1000: %.1f ms, 10000: %.1f ms", few, many);
	unit_ok(maps < 1000, "conf: and few mappings for their secrets", "%u", maps);
}

static void expect_saved(const char *name, const char *before, const char *after)
{
	char words[400], *text;
	struct unit_run run;
	struct stat st;
	size_t n = 0;
	FILE *f;

	unit_file("omr0.conf", before, strlen(before), 0640);
	snprintf(words, sizeof(words), "save %s", unit_path("omr0.conf"));
	run = unit_main(words, NULL);
	f = fopen(unit_path("omr0.conf"), "r");
	text = calloc(1, 4096);
	if (f) {
		n = fread(text, 1, 4095, f);
		fclose(f);
	}
	unit_ok(!run.rc && n && !strcmp(text, after) && !stat(unit_path("omr0.conf"), &st) &&
		(st.st_mode & 0777) == 0640 &&
		!CONTAINS(run.err, "already") == !!strcmp(before, after),
		name, "rc %d %s\n%s", run.rc, run.err, text);
	unit_run_free(&run);
	free(text);
}

/* The file gets the kernel's state, and keeps the rest. */
static void saves(void)
{
#define KEPT	"PrivateKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE= # mine\n" \
		"Address = 10.9.0.1/24\nMTU = 1400\nTable = off\n"
	static const char before[] =
		"# top\n[Interface]\n" KEPT "listenport=51900\nPolicy = percpu\n# below\n\n"
		"# of b\n[Peer]\nPublicKey = " PUB " # b\nPresharedKey = " HUSH "\n"
		"Endpoint = b.test:7\nAllowedIPs = 10.1.0.0/16\nPostQuantum = off\nAllowedIPs = 10.2.0.0/16\n\n"
		"[Peer]\nId = 7\nName = seven\nAllowedIPs = 10.7.0.0/16\n# goes, too\n\n"
		"[Peer]\nId = 8\nEndpoint = 192.0.2.8:8\nChannels = 4\nPersistentKeepalive = 25";
	static const char after[] =
		"# top\n[Interface]\nFwMark = 0x7\nBatch = off\n" KEPT
		"ListenPort = 51901\nPolicy = auto\n# below\n\n"
		"# of b\n[Peer]\nName = \"b b\"\nPublicKey = " PUB " # b\nPresharedKey = " HUSH "\n"
		"Endpoint = b.test:7\nAllowedIPs = 10.1.0.0/16, 10.3.0.0/16\nPostQuantum = off\n\n"
		"[Peer]\nId = 8\nEndpoint = 192.0.2.9:9\nChannels = 1\nPersistentKeepalive = off\n"
		"\n[Peer]\nPublicKey = " PUB2 "\nEndpoint = [2001:db8::1]:1\nPersistentKeepalive = 5\nChannels = 2\n";
	struct unit_run run;

	fake_reset();
	must("link add omr0 listen-port 51901 fwmark 7 batch off");
	must("peer add omr0 id 1 name 'b b' public-key " PUB " endpoint 192.0.2.2:7 allowed-ips 10.1.0.0/16,10.3.0.0/16");
	must("peer add omr0 id 8 endpoint 192.0.2.9:9");
	must("peer add omr0 id 9 public-key " PUB2 " endpoint [2001:db8::1]:1 keepalive 5 channels 2");
	expect_saved("conf: save", before, after);
	expect_saved("conf: save has nothing to do", after, after);
	unit_file("omr0.conf", "[Interface]\nFoo = 1\n", 20, 0640);
	run = unit_main("save /nonexistent/omr0.conf", NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "No such file"), "conf: save wants a file", "%s",
		run.err);
	unit_run_free(&run);
	must("peer set omr0 peer 8 allowed-ips 10.5.0.0/16");
	expect_saved("conf: save does not write a list twice",
		     "[Interface]\nListenPort = 51901\nFwMark = 7\nBatch = off\n[Peer]\nId = 8\nAllowedIPs =\nEndpoint = 192.0.2.9:9\n",
		     "[Interface]\nListenPort = 51901\nFwMark = 7\nBatch = off\n[Peer]\nAllowedIPs = 10.5.0.0/16\nId = 8\nEndpoint = 192.0.2.9:9\n"
		     "\n[Peer]\nName = \"b b\"\nPublicKey = " PUB "\nEndpoint = 192.0.2.2:7\nAllowedIPs = 10.1.0.0/16, 10.3.0.0/16\n"
		     "\n[Peer]\nPublicKey = " PUB2 "\nEndpoint = [2001:db8::1]:1\nPersistentKeepalive = 5\nChannels = 2\n");
	/* The mark of "up" is not a setting. */
	must("link set omr0 fwmark 51900 listen-port 0 batch on");
	must("peer del omr0 peer 1");
	must("peer del omr0 peer 8");
	must("peer del omr0 peer 9");
	expect_saved("conf: save leaves out what is as by default", "[Interface]\n", "[Interface]\n");
}

/* A file of wg-quick, with what it may have and this may not */
static void imports(void)
{
	static const char wg[] =
		"# mine\n[Interface]\nPrivateKey=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE= # k\n"
		"Address = 10.0.0.1/24,fd00::1/64\nPostUp = iptables -A INPUT -i %i -j ACCEPT\nJc = 4\n"
		"PreDown = \"/bin/echo\" a \"b\"\n"
		"hush hush\n[Peer]\nPublicKey = " PUB "\nAllowedIPs = 10.0.0.2/32, ::/0\n"
		"Endpoint = vpn.example.org:51820\nPersistentKeepalive=25\n"
		"[peer]\nPublicKey = " PUB2 "\nAllowedIPs=0.0.0.0/0,::/0,10.0.0.3/24\n[Foo]\nX = " HUSH "\n";
	static const char ours[] =
		"# mine\n[Interface]\nPrivateKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
		"Address = 10.0.0.1/24,fd00::1/64\nPostUp = iptables -A INPUT -i %i -j ACCEPT\n"
		"# \"Jc\" was left out: omerta has no such key\n"
		"PreDown = \"\\\"/bin/echo\\\" a \\\"b\\\"\"\n"
		"# a line was left out: omerta has no such key\n"
		"[Peer]\nPublicKey = " PUB "\nAllowedIPs = 10.0.0.2/32\n"
		"# ::/0 was left out: AllowedIPs has it again\n"
		"Endpoint = vpn.example.org:51820\nPersistentKeepalive = 25\n"
		"[Peer]\nPublicKey = " PUB2 "\nAllowedIPs = 0.0.0.0/0, ::/0, 10.0.0.0/24\n"
		"# a section was left out: omerta has [Interface] and [Peer] only\n"
		"# a line was left out: its section is unknown\n";
	char words[800], text[2000] = "";
	struct unit_run run;
	struct stat st;
	FILE *f;

	unit_file("wg0.conf", wg, strlen(wg), 0600);
	remove(unit_path("omr5.conf"));
	snprintf(words, sizeof(words), "import %s ", unit_path("wg0.conf"));
	strcat(words, unit_path("omr5.conf"));
	run = unit_main(words, NULL);
	f = fopen(unit_path("omr5.conf"), "r");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	unit_ok(!run.rc && !strcmp(text, ours) && !stat(unit_path("omr5.conf"), &st) &&
		(st.st_mode & 0777) == 0640 && !CONTAINS(run.err, "hush") &&
		CONTAINS(run.err, "wg0.conf:6: \"Jc\" is left out") &&
		CONTAINS(run.err, "wg0.conf:11: ::/0 is left out: AllowedIPs has it again"),
		"conf: import", "rc %d %s\n%s", run.rc, run.err, text);
	unit_run_free(&run);
	run = unit_main(words, NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "File exists"),
		"conf: import replaces no file", "%s", run.err);
	unit_run_free(&run);
	remove(unit_path("omr5.conf"));
	unit_file("wg0.conf", "[Interface]\nAddress = 1.2.3\n", 28, 0600);
	run = unit_main(words, NULL);
	unit_ok(run.rc == 1 && CONTAINS(run.err, "omr5.conf:2:11: Address: ") &&
		stat(unit_path("omr5.conf"), &st),
		"conf: import leaves no file that is wrong", "%s", run.err);
	unit_run_free(&run);
}

void test_conf(void)
{
	post_quantum();
	check_all();
	check_for_up();
	check_hook();
	secrets();
	garbage();
	bad_files();
	good_file();
	saves();
	imports();
	differences();
	numbers();
	another_key();
	rates();
	endpoints();
	failure();
	identity();
	large();
	scale();
	fake_reset();
}
