// SPDX-License-Identifier: GPL-2.0
/*
 * Long prefix lists: would catch a request that the kernel cannot take, lost or
 * doubled prefixes at the seams, and a peer left half configured.
 */
#include "unit.h"

#include "fake_nl.h"

#include <stdlib.h>

#define MANY	100000

/* MANY prefixes 10.x.y.z/32, separated by @sep and signed with @sign */
static char *many(const char *sign, const char *sep, size_t n)
{
	char *text = malloc(n * 24 + 1), *p = text;

	for (size_t i = 0; i < n; i++)
		p += sprintf(p, "%s%s10.%zu.%zu.%zu/32", i ? sep : "", sign,
			     i >> 16, i >> 8 & 255, i & 255);
	return text;
}

static struct unit_run run_list(const char *command, const char *sign, size_t n)
{
	char *text = many(sign, "\n", n), words[512];
	struct unit_run run;

	unit_file("list", text, strlen(text), 0600);
	snprintf(words, sizeof(words), "%s allowed-ips @%s", command,
		 unit_path("list"));
	run = unit_main(words, NULL);
	free(text);
	return run;
}

static void must(const char *words)
{
	struct unit_run run = unit_main(words, NULL);

	if (run.rc)
		unit_ok(false, words, "%s", run.err);
	unit_run_free(&run);
}

static void set_up(void)
{
	fake_reset();
	must("link add omr0");
	must("peer add omr0 id 1 allowed-ips 192.0.2.0/24");
	fake_forget_log();
	fake.quiet = true;
}

static size_t prefixes_of(uint32_t id)
{
	struct om_peer *peer = fake_peer(fake_device("omr0"), id);

	return peer ? peer->allowed_ips.n : 0;
}

/* Each prefix exactly once, in order: none lost, none doubled at a seam */
static bool in_order(uint32_t id)
{
	struct om_peer *peer = fake_peer(fake_device("omr0"), id);

	for (size_t i = 0; peer && i < peer->allowed_ips.n; i++) {
		const uint8_t *b = OM_AT(&peer->allowed_ips, struct om_prefix,
					 i)->addr.b;

		if (((size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3]) != i)
			return false;
	}
	return peer;
}

static void long_add(void)
{
	struct unit_run run;

	set_up();
	run = run_list("peer add omr0 id 5 name x", "", MANY);
	unit_ok(!run.rc && prefixes_of(5) == MANY && in_order(5),
		"cmd: peer add with 100000 prefixes", "rc %d, %zu\n%s", run.rc,
		prefixes_of(5), run.err);
	unit_ok(fake.largest <= 16384 && fake.largest > 15000 &&
		fake.requests == MANY / (15872 / 20) + 1,
		"cmd: its requests are below 16 KiB and well filled",
		"largest %zu, %u requests", fake.largest, fake.requests);
	unit_run_free(&run);
}

static void long_add_v6(void)
{
	struct unit_run run;
	char *text = malloc(2000 * 24), *p = text;

	set_up();
	for (unsigned int i = 0; i < 2000; i++)
		p += sprintf(p, "fd00::%x/128,", i);
	p[-1] = '\n';
	unit_file("list", text, strlen(text), 0600);
	free(text);
	run = unit_main("peer add omr0 id 5 allowed-ips @-", "1.2.3.4 ::1");
	unit_ok(!run.rc && prefixes_of(5) == 2,
		"cmd: a list from standard input", "%s", run.err);
	unit_run_free(&run);
}

static void replace_and_change(void)
{
	struct unit_run run;

	set_up();
	run = run_list("peer set omr0 id 1", "", 3000);
	unit_ok(!run.rc && prefixes_of(1) == 3000 && in_order(1),
		"cmd: peer set replaces by a long list once, not per request",
		"rc %d, %zu\n%s", run.rc, prefixes_of(1), run.err);
	unit_run_free(&run);
	run = run_list("peer set omr0 id 1", "-", 2999);
	unit_ok(!run.rc && prefixes_of(1) == 1,
		"cmd: peer set removes a long list", "rc %d, %zu\n%s", run.rc,
		prefixes_of(1), run.err);
	unit_run_free(&run);
}

static void no_qdisc(void)
{
	struct unit_run run;

	set_up();
	fake.fail_at = 2;
	run = unit_main("link add omr7", NULL);
	unit_ok(run.rc == 2 && !fake_device("omr7") &&
		CONTAINS(run.err, "link add: omr7: the fake says no (the device was removed again)"),
		"cmd: a device without its qdisc is removed again", "%s",
		run.err);
	unit_run_free(&run);
}

static void roll_back(void)
{
	struct unit_run run;

	set_up();
	fake.fail_at = 3;
	run = run_list("peer add omr0 id 5", "", 3000);
	unit_ok(run.rc == 2 && !fake_peer(fake_device("omr0"), 5) &&
		CONTAINS(run.err, "peer add: omr0 peer 5: the fake says no (after 1586 of 3000 prefixes; the peer was removed again)"),
		"cmd: a peer that fails half-way is removed again", "%s",
		run.err);
	unit_run_free(&run);

	set_up();
	fake.fail_at = 3;
	fake.fail_also = 4;
	run = run_list("peer add omr0 id 5", "", 3000);
	unit_ok(run.rc == 2 &&
		CONTAINS(run.err, "the peer could not be removed again: the fake says no)"),
		"cmd: a roll-back that fails is not hidden", "%s", run.err);
	unit_run_free(&run);

	set_up();
	fake.fail_at = 1;
	run = run_list("peer add omr0 id 1", "", 3000);
	unit_ok(run.rc == 2 && fake_peer(fake_device("omr0"), 1) &&
		fake.requests == 1,
		"cmd: a peer that was there before is not rolled back", "%s",
		run.err);
	unit_run_free(&run);
}

static void set_fails(void)
{
	struct unit_run run;

	set_up();
	fake.fail_at = 2;
	run = run_list("peer set omr0 id 1 keepalive 5", "", 3000);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "(the other settings and the first 793 of 3000 prefixes are in effect)"),
		"cmd: peer set says what it did", "%s", run.err);
	unit_run_free(&run);

	set_up();
	fake.fail_at = 1;
	run = run_list("peer set omr0 id 1 keepalive 5", "", 3000);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "(nothing was changed)"),
		"cmd: peer set says that it did nothing", "%s", run.err);
	unit_run_free(&run);
}

static void denied(void)
{
	struct unit_run run;

	set_up();
	fake.denied = true;
	run = unit_main("show", NULL);
	unit_ok(run.rc == 2 && !run.out_len &&
		CONTAINS(run.err, "show: omr0: Operation not permitted"),
		"cmd: show prints nothing when it may not read all", "%s%s",
		run.out, run.err);
	unit_run_free(&run);
	run = unit_main("link show", NULL);
	unit_ok(!run.rc && CONTAINS(run.out, "omr0"),
		"cmd: link show needs no privilege", "%s%s", run.out, run.err);
	unit_run_free(&run);
}

void test_cmd(void)
{
	long_add();
	long_add_v6();
	replace_and_change();
	no_qdisc();
	roll_back();
	set_fails();
	denied();
	fake_reset();
}
