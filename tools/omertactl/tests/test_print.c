// SPDX-License-Identifier: GPL-2.0
/* Text, JSON and dump of the same objects. JSON is read by a foreign parser. */
#include "unit.h"

#include "fake_nl.h"
#include "cmd/cmd.h"
#include "lib/value.h"

#include <pty.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PUB	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

static void must(const char *words)
{
	struct unit_run run = unit_main(words, NULL);

	if (run.rc)
		unit_ok(false, words, "%s", run.err);
	unit_run_free(&run);
}

static void add_key(struct om_state *s, uint32_t peer, uint32_t state)
{
	struct om_key *k = om_list_add(&s->keys, sizeof(*k));

	k->has = OM_BIT(OMERTA_A_KEY_PEER_ID) | OM_BIT(OMERTA_A_KEY_LOCAL_ID) |
		 OM_BIT(OMERTA_A_KEY_REMOTE_ID) | OM_BIT(OMERTA_A_KEY_STATE) |
		 OM_BIT(OMERTA_A_KEY_AGE) | OM_BIT(OMERTA_A_KEY_RX_BYTES) |
		 OM_BIT(OMERTA_A_KEY_HARD_BYTES) | OM_BIT(OMERTA_A_KEY_CONFIRMED) |
		 OM_BIT(OMERTA_A_KEY_LIMIT);
	k->peer_id = peer;
	k->local_id = 0x11 + state;
	k->remote_id = 0x22;
	k->state = state;
	k->limit = OMERTA_KEY_LIMIT_AUTH_FAILURES;
	k->age = 61500;
	k->rx_bytes = UINT64_MAX;
	k->hard_bytes = 1ULL << 53 | 1;
	k->confirmed = 1;
	/* A kernel that sent secrets back would still not have them shown. */
	memset(k->rx_secret, 'S', sizeof(k->rx_secret));
	k->has |= OM_BIT(OMERTA_A_KEY_RX_SECRET);
}

static void set_up(void)
{
	struct om_peer_channel *c;
	struct om_state *s;
	struct om_peer *p;

	fake_reset();
	must("link add omr0 listen-port 51900 fwmark 0xca6c");
	must("link add omr1");
	must("peer add omr0 id 1 name alice public-key " PUB " endpoint [fe80::7%lo]:51900 allowed-ips 10.9.0.2/32,fd09::2/128 keepalive 25");
	must("peer add omr0 id 2");
	s = fake_device("omr0");
	s->dev.stats.v[OMERTA_A_DEVICE_STATS_RX_PACKETS] = UINT64_MAX;
	s->dev.stats.v[OMERTA_A_DEVICE_STATS_TX_DROP_LOOP] = 3;
	p = fake_peer(s, 1);
	p->rx_age = 3723004;
	p->path_mtu = 1336;
	p->has |= OM_BIT(OMERTA_A_PEER_RX_AGE) | OM_BIT(OMERTA_A_PEER_PATH_MTU);
	p->stats.v[OMERTA_A_PEER_STATS_RX_BYTES] = 1536;
	p->stats.v[OMERTA_A_PEER_STATS_RX_OUTER_BYTES] = 1600;
	add_key(s, 1, OMERTA_KEY_STATE_ACTIVE);
	add_key(s, 1, OMERTA_KEY_STATE_RETIRED);
	OM_AT(&s->keys, struct om_key, 1)->channel = 1;
	OM_AT(&s->keys, struct om_key, 1)->has |= OM_BIT(OMERTA_A_KEY_CHANNEL);
	p = fake_peer(s, 2);
	p->channels = 2;
	p->has |= OM_BIT(OMERTA_A_PEER_CHANNELS);
	c = om_list_add(&p->further_channels, sizeof(*c));
	c->has = OM_BIT(OMERTA_A_PEER_CHANNEL_MAX + 1) - 2;
	c->channel = 1;
	c->state = OMERTA_CHANNEL_STATE_SILENT;
	memcpy(&c->endpoint_addr, &fake_peer(s, 1)->endpoint_addr, sizeof(c->endpoint_addr));
	c->endpoint_port = 51902;
	c->endpoint_scope = 1;
	c->local_port = 51904;
	c->rx_age = 61500;
	/* Set behind the parser's back: the kernel may hold any bytes. */
	strcpy(fake_peer(s, 2)->name, "\x1b[31m\"\\\t\xc2\x85\xff\xc3\xa9");
	fake_peer(s, 2)->has |= OM_BIT(OMERTA_A_PEER_NAME);
	fake_forget_log();
}

static void text_is(const char *name, const char *words, const char *wanted)
{
	struct unit_run run = unit_main(words, NULL);

	unit_ok(!run.rc && !strcmp(run.out, wanted), name,
		"rc %d %s\n%s\nwanted:\n%s", run.rc, run.err, run.out, wanted);
	unit_run_free(&run);
}

static void text(void)
{
	text_is("print: link show", "link show",
		"3: omr0: listen-port 51900 fwmark 0xca6c chunk-size 512 policy auto percpu-threshold 16384 cpus all batch on df unset peers 2 max-mtu 63491 engine lib control-rate 1000 control-source-rate 20 control-share 1 channels 2 channel-port 0\n"
		"4: omr1: listen-port 40000 fwmark off chunk-size 512 policy auto percpu-threshold 16384 cpus all batch on df unset peers 0 max-mtu 63491 engine lib control-rate 1000 control-source-rate 20 control-share 1 channels 2 channel-port 0\n");
	text_is("print: peer show of one", "peer show omr0 peer alice",
		"omr0 peer 1: name alice public-key " PUB " endpoint [fe80::7%lo]:51900 keepalive 25 allowed-ips 10.9.0.2/32,fd09::2/128\n"
		"    stats rx-packets 0 rx-bytes 1536 tx-packets 0 tx-bytes 0 rx-records 0 rx-outer-bytes 1600 tx-records 0 tx-outer-bytes 0 rx-age 3723.004 path-mtu 1336\n");
	text_is("print: key show", "key show omr0",
		"omr0 peer 1 key 0x12: remote-id 0x22 hard-bytes 9007199254740993 state active limit auth-failures age 61.500 confirmed rx-bytes 18446744073709551615\n"
		"omr0 peer 1 key 0x13: remote-id 0x22 hard-bytes 9007199254740993 state retired limit auth-failures age 61.500 confirmed rx-bytes 18446744073709551615 channel 1\n");
	text_is("print: key show of a peer without keys", "key show omr0 peer 2", "");
	text_is("print: stats without zeros", "stats omr0",
		"omr0:\n    rx-packets: 18446744073709551615\n    tx-drop-loop: 3\n");
	text_is("print: show", "show omr0",
		"device: omr0\n"
		"  listening port: 51900\n  fwmark: 0xca6c\n  chunk size: 512\n"
		"  policy: auto\n  percpu threshold: 16384\n  cpus: all\n  channels: 2\n  batch: on\n"
		"  df: unset\n  largest mtu: 63491\n  engine: lib\n"
		"  key agent: none, so keys are not renewed\n"
		"\npeer: 1 (alice)\n"
		"  public key: " PUB "\n"
		"  endpoint: [fe80::7%lo]:51900\n"
		"  allowed ips: 10.9.0.2/32, fd09::2/128\n"
		"  path mtu: 1336\n"
		"  latest record: 1 hour, 2 minutes, 3 seconds ago\n"
		"  transfer: 1.50 KiB received, 0 B sent\n"
		"  persistent keepalive: every 25 seconds\n"
		"  key: local 0x12, remote 0x22, active (limit: auth-failures), confirmed, installed 1 minute, 1 second ago, 16777216.00 TiB received, 0 B sent\n"
		"  key: channel 1, local 0x13, remote 0x22, retired (limit: auth-failures), confirmed, installed 1 minute, 1 second ago, 16777216.00 TiB received, 0 B sent\n"
		"\npeer: 2 (\\x1b[31m\"\\x5c\\x09\\xc2\\x85\\xff\xc3\xa9)\n"
		"  allowed ips: (none)\n"
		"  channel: 1: silent, from port 51904 to [fe80::7%lo]:51902, latest record 1 minute, 1 second ago\n");
}

static void counters(void)
{
	struct unit_run run = unit_main("stats omr0 all", NULL);
	size_t lines = 0;

	for (const char *c = run.out; *c; c++)
		lines += *c == '\n';
	unit_ok(!run.rc && lines == 1 + OMERTA_A_DEVICE_STATS_MAX,
		"print: stats all has every counter", "%s", run.out);
	unit_run_free(&run);
	run = unit_main("stats -a", NULL);
	unit_ok(!run.rc && CONTAINS(run.out, "omr1:\n    rx-packets: 0\n"),
		"print: stats -a of all devices", "%s", run.out);
	unit_run_free(&run);
}

/* ip link takes any byte in a name but white space, a slash and a colon. */
static void device_name(void)
{
	static const char *const words[] = {
		"link show", "peer show", "key show", "show", "stats", "dump",
	};
	char *name = fake_device("omr0")->dev.ifname;
	struct unit_run run;
	char cmd[64];

	for (size_t i = 0; i < OM_ARRAY_SIZE(words); i++) {
		bool needs = i == 1 || i == 2;

		strcpy(name, "omr0");
		if (!needs)
			strcpy(name, "\x1b[0m");
		snprintf(cmd, sizeof(cmd), "%s%s", words[i], needs ? " omr0" : "");
		run = unit_main(cmd, NULL);
		unit_ok(!run.rc && !strchr(run.out, '\x1b') &&
			(needs || CONTAINS(run.out, "\\x1b[0m")),
			"print: a hostile device name", "%s: %s", cmd, run.out);
		unit_run_free(&run);
	}
	strcpy(name, "omr0");
}

/* The same on a terminal, which unit_main() is not */
static void colour(const char *name, const char *no_color, const char *term,
		   bool wanted)
{
	char *argv[] = { "omertactl", "show", "omr0", NULL };
	char text[8192] = "";
	size_t n = 0;
	ssize_t got;
	int fd;
	pid_t pid;

	fflush(NULL);
	pid = forkpty(&fd, NULL, NULL, NULL);
	if (!pid) {
		setenv("NO_COLOR", no_color, 1);
		setenv("TERM", term, 1);
		om_main(3, argv);
		fflush(NULL);
		_exit(0);
	}
	if (pid < 0) {
		unit_skip(name, "no terminal");
		return;
	}
	while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	waitpid(pid, NULL, 0);
	unit_ok(CONTAINS(text, "omr0") && CONTAINS(text, "\033[") == wanted,
		name, "%s", text);
}

static bool have_python(void)
{
	return !system("python3 -c '' >/dev/null 2>&1");
}

/* @check is a Python expression about the parsed d and the header's number of counters. */
static void json_is(const char *name, const char *words, const char *check)
{
	struct unit_run run = unit_main(words, NULL);
	char cmd[1024];

	unit_file("json", run.out, run.out_len, 0600);
	snprintf(cmd, sizeof(cmd),
		 "python3 -c 'import json,sys; d=json.load(open(sys.argv[1],encoding=\"utf-8\")); counters=%d; sys.exit(0 if (%s) else 1)' %s",
		 OMERTA_A_DEVICE_STATS_MAX, check, unit_path("json"));
	unit_ok(!run.rc && *run.out == '[' && !system(cmd), name,
		"rc %d %s\n%s\nwanted: %s", run.rc, run.err, run.out, check);
	unit_run_free(&run);
}

static const struct {
	const char *name;
	const char *words;
	const char *check;
} json[] = {
	{ "print: JSON of link show", "-j link show",
	  "[x[\"ifname\"] for x in d]==[\"omr0\",\"omr1\"] and d[0][\"fwmark\"]==0xca6c and d[0][\"policy\"]==\"auto\" and d[0][\"peers\"]==2 and \"stats\" not in d[0]" },
	{ "print: JSON of one link", "--json link show omr1", "len(d)==1 and d[0][\"ifindex\"]==4" },
	{ "print: JSON of peer show", "-j peer show omr0 id 1",
	  "d[0][\"endpoint-addr\"]==\"fe80::7\" and d[0][\"endpoint-port\"]==51900 and d[0][\"endpoint-scope\"]==1 and d[0][\"allowed-ips\"]==[\"10.9.0.2/32\",\"fd09::2/128\"] and d[0][\"stats\"][\"rx-bytes\"]==1536 and d[0][\"rx-age\"]==3723004 and d[0][\"keepalive\"]==25" },
	{ "print: JSON escapes what a name may hold", "-j peer show omr0 id 2",
	  "d[0][\"name\"]==\"\\x1b[31m\\x22\\\\\\t\\u0085\\ufffd\\u00e9\"" },
	{ "print: JSON of key show", "-j key show omr0",
	  "len(d)==2 and d[0][\"local-id\"]==0x12 and d[0][\"state\"]==\"active\" and d[0][\"confirmed\"] is True and d[0][\"rx-bytes\"]==2**64-1 and d[0][\"hard-bytes\"]==2**53+1 and d[0][\"age\"]==61500 and \"rx-secret\" not in d[0]" },
	{ "print: JSON of no keys", "-j key show omr1", "d==[]" },
	{ "print: JSON of show", "-j show",
	  "len(d)==2 and len(d[0][\"peer\"])==2 and len(d[0][\"peer\"][0][\"key\"])==2 and d[0][\"peer\"][1][\"key\"]==[] and d[1][\"peer\"]==[]" },
	{ "print: JSON of dump", "-j dump omr0",
	  "[x[\"kind\"] for x in d]==[\"device\",\"peer\",\"peer\",\"key\",\"key\",\"allowed-ip\",\"allowed-ip\"] and d[6][\"prefix\"]==\"fd09::2/128\" and d[6][\"peer-id\"]==1 and d[6][\"ifname\"]==\"omr0\"" },
	{ "print: JSON of stats has every counter", "-j stats omr0",
	  "len(d[0][\"stats\"])==counters and d[0][\"stats\"][\"rx-packets\"]==2**64-1 and list(d[0])==[\"ifindex\",\"ifname\",\"stats\",\"channel-stats\"]" },
};

/* The number of columns of each kind is part of the interface. */
static void dump(void)
{
	static const struct {
		const char *kind;
		size_t columns;
	} kinds[] = {
		{ "device", 23 }, { "peer", 19 }, { "key", 23 },
		{ "allowed-ip", 4 }, { "channel", 8 },
	};
	struct unit_run run = unit_main("dump", NULL);
	char *copy = strdup(run.out), *save;
	size_t seen[5] = { 0 };
	bool ok = !run.rc;

	for (char *l = strtok_r(copy, "\n", &save); l;
	     l = strtok_r(NULL, "\n", &save)) {
		size_t columns = 1, k = 0;

		for (char *c = l; *c; c++)
			columns += *c == '\t';
		while (k < 5 && (strncmp(l, kinds[k].kind, strlen(kinds[k].kind)) ||
				 l[strlen(kinds[k].kind)] != '\t'))
			k++;
		if (k == 5 || columns != kinds[k].columns)
			ok = false;
		else
			seen[k]++;
	}
	unit_ok(ok && seen[0] == 2 && seen[1] == 2 && seen[2] == 2 && seen[3] == 2 && seen[4] == 1,
		"print: dump has the documented number of columns", "%s",
		run.out);
	unit_ok(CONTAINS(run.out, "device\tomr0\t3\t51900\t0xca6c\t512\tauto\t16384\tall\t2\t63491\tlib\t18446744073709551615\t0\t0\t0\ton\tunset\t1000\t20\t1\t2\t0\n") &&
		CONTAINS(run.out, "peer\tomr0\t1\talice\t" PUB "\t[fe80::7%lo]:51900\t25\t3723004\t0\t1536\t0\t0\t0\t1600\t0\t0\t1336\tno\t(none)\n") &&
		CONTAINS(run.out, "peer\tomr0\t2\t\\x1b[31m\"\\x5c\\x09\\xc2\\x85\\xff\xc3\xa9\t(none)\t(none)\toff\t(none)\t0") &&
		CONTAINS(run.out, "key\tomr0\t1\t0x12\t0x22\tactive\tauth-failures\tyes\t61500\t(none)\t(none)\t(none)\t(none)\t(none)\t(none)\t9007199254740993\t(none)\t18446744073709551615\t") &&
		CONTAINS(run.out, "\t(none)\n" "key\tomr0\t1\t0x13\t") &&
		CONTAINS(run.out, "\t1\n" "allowed-ip\tomr0\t1\t10.9.0.2/32\n") &&
		CONTAINS(run.out, "channel\tomr0\t2\t1\tsilent\t[fe80::7%lo]:51902\t51904\t61500\n"),
		"print: dump's columns are in the documented order", "%s",
		run.out);
	unit_run_free(&run);
	free(copy);
}

/* Attribute N must be the table's entry N - 1: its lookup depends on it. */
static void table_order(const struct om_object *obj)
{
	char name[80];
	bool ok = true;

	for (size_t i = 0; i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];

		ok &= f->attr == i + 1 && f->offset + f->size <= obj->size &&
		      f->offset >= sizeof(uint64_t) &&
		      (f->format != OM_ENUM || f->names) &&
		      ((f->type != OM_NEST && f->type != OM_MULTI) || f->nest);
		if (f->type == OM_NEST)
			table_order(f->nest);
	}
	snprintf(name, sizeof(name), "print: field table of %s", obj->name);
	unit_ok(ok, name, "%s", obj->name);
}

/* Single fields for scripts, in the form of "wg show" */
static void fields(void)
{
	static const struct {
		const char *words, *out;
	} rows[] = {
		{ "show interfaces", "omr0 omr1\n" },
		{ "show omr1 listen-port", "7\n" },
		{ "show all listen-port", "omr0\t40000\nomr1\t7\n" },
		{ "show omr1 fwmark", "0x1f\n" },
		{ "show omr1 peers", PUB "\n9\n" },
		{ "show omr1 endpoints", PUB "\t192.0.2.7:1\n9\t(none)\n" },
		{ "show omr1 allowed-ips", PUB "\t10.9.0.2/32 fd09::2/128\n9\t(none)\n" },
		{ "show omr1 persistent-keepalive", PUB "\t25\n9\toff\n" },
		{ "show omr1 transfer", PUB "\t0\t0\n9\t0\t0\n" },
		{ "show all peers", "omr1\t" PUB "\nomr1\t9\n" },
	};
	static const char *const words[] = {
		"link add omr0", "link add omr1 listen-port 7 fwmark 31",
		"peer add omr1 id 3 public-key " PUB " endpoint 192.0.2.7:1 keepalive 25 allowed-ips 10.9.0.2,fd09::2",
		"peer add omr1 id 9",
	};
	struct om_state *s;
	struct unit_run run;
	long long latest;

	fake_reset();
	for (size_t i = 0; i < OM_ARRAY_SIZE(words); i++) {
		run = unit_main(words[i], NULL);
		unit_run_free(&run);
	}
	for (size_t i = 0; i < OM_ARRAY_SIZE(rows); i++) {
		run = unit_main(rows[i].words, NULL);
		unit_ok(!run.rc && !strcmp(run.out, rows[i].out), "print: a field for scripts",
			"%s: %s%s", rows[i].words, run.out, run.err);
		unit_run_free(&run);
	}
	/* The second of three keys counts: the first was made by hand, the third is unused. */
	s = fake_device("omr1");
	for (uint32_t i = 0; i < 3; i++)
		*(struct om_key *)om_list_add(&s->keys, sizeof(struct om_key)) = (struct om_key){
			.peer_id = 3, .local_id = i + 1, .handshake = i > 0,
			.state = i == 2 ? OMERTA_KEY_STATE_INSTALLED : OMERTA_KEY_STATE_ACTIVE,
			.age = (3 - i) * 100000,
		};
	run = unit_main("show omr1 latest-handshakes", NULL);
	latest = strlen(run.out) > strlen(PUB) ? atoll(run.out + strlen(PUB)) : 0;
	unit_ok(!run.rc && llabs(time(NULL) - 200 - latest) < 5 && CONTAINS(run.out, "\n9\t0\n"),
		"print: the latest handshake", "%s", run.out);
	unit_run_free(&run);
	s->dev.control_bound = 1;
	run = unit_main("show omr1", NULL);
	unit_ok(CONTAINS(run.out, "  latest handshake: 3 minutes, 20 seconds ago\n") &&
		CONTAINS(run.out, "  key agent: running\n"),
		"print: the latest handshake and the agent", "%s", run.out);
	unit_run_free(&run);
	fake_reset();
}

static void unknown_enum(void)
{
	struct unit_run run;

	fake_device("omr0")->dev.policy = 9;
	run = unit_main("link show omr0", NULL);
	unit_ok(!run.rc && CONTAINS(run.out, "policy unknown-9 "),
		"print: an enum value of a newer kernel", "%s", run.out);
	unit_run_free(&run);
}

void test_print(void)
{
	bool python = have_python();

	table_order(&om_device_object);
	table_order(&om_peer_object);
	table_order(&om_key_object);
	table_order(&om_prefix_object);
	set_up();
	text();
	counters();
	device_name();
	colour("print: colours on a terminal", "", "xterm", true);
	colour("print: NO_COLOR", "1", "xterm", false);
	colour("print: a dumb terminal", "", "dumb", false);
	for (size_t i = 0; i < OM_ARRAY_SIZE(json); i++) {
		if (python)
			json_is(json[i].name, json[i].words, json[i].check);
		else
			unit_skip(json[i].name, "no python3");
	}
	dump();
	unknown_enum();
	fields();
	fake_reset();
}
