// SPDX-License-Identifier: GPL-2.0
/*
 * Key files, and that a secret neither reaches the output nor stays in memory:
 * would catch a file that is read too far or not far enough, a key printed in a
 * message, and an error path that forgets to wipe.
 */
#include "unit.h"

#include "fake_nl.h"
#include "cmd/cmd.h"
#include "lib/keygen.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RX	"UlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlI="	/* 'R' x 32 */
#define TX	"VFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFRUVFQ="	/* 'T' x 32 */
#define ZERO	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

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
	must("peer add omr0 id 1");
	fake_forget_log();
}

static struct unit_run add(const char *rx, const char *tx, const char *input)
{
	char words[800];

	snprintf(words, sizeof(words),
		 "key add omr0 peer 1 local-id 0x11 remote-id 0x22 rx-key-file %s tx-key-file %s soft-time 5 hard-bytes 7",
		 rx, tx);
	return unit_main(words, input);
}

/* Neither the text of a key nor its bytes */
static bool leaks(const struct unit_run *run)
{
	return CONTAINS(run->err, "UlJSUl") || CONTAINS(run->out, "UlJSUl") ||
	       CONTAINS(run->err, "VFRUVF") || CONTAINS(run->out, "VFRUVF") ||
	       CONTAINS(run->err, "RRRR") || CONTAINS(run->out, "RRRR");
}

static const struct {
	const char *name;
	const char *content;
	size_t len;
	unsigned int mode;
	int rc;
	const char *message;
} files[] = {
#define FILE_ROW(n, c, m, rc, msg)	{ n, c, sizeof(c) - 1, m, rc, msg }
	FILE_ROW("with a newline", RX "\n", 0600, 0, NULL),
	FILE_ROW("without a newline", RX, 0400, 0, NULL),
	FILE_ROW("readable by others", RX "\n", 0644, 0,
		 "omertactl: warning: reading a key from \""),
	FILE_ROW("writable by others", RX "\n", 0602, 0, "(mode 0602)"),
	FILE_ROW("readable by the group", RX "\n", 0640, 0, NULL),
	FILE_ROW("empty", "", 0600, 1, "a key is 44 base64 characters long, not 0"),
	FILE_ROW("one character short", "UlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlI\n", 0600, 1, "long, not 43"),
	FILE_ROW("one character long", RX "=\n", 0600, 1, "more than the 44 base64 characters"),
	FILE_ROW("white space behind", RX " \n", 0600, 1, "more than the 44"),
	FILE_ROW("a carriage return", RX "\r\n", 0600, 1, "more than the 44"),
	FILE_ROW("a second line", RX "\n" TX "\n", 0600, 1, "more than one line"),
	FILE_ROW("an empty second line", RX "\n\n", 0600, 1, "more than one line"),
	FILE_ROW("a zero byte", RX "\0", 0600, 1, "not a text file"),
	FILE_ROW("a foreign character", "UlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSU-I=\n", 0600, 1, "not the base64 of 32 bytes"),
	FILE_ROW("33 bytes", "UlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJS\n", 0600, 1, "not the base64 of 32 bytes"),
	FILE_ROW("loose bits at the end", "UlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJSUlJ=\n", 0600, 1, "not the base64 of 32 bytes"),
	FILE_ROW("all zeros", ZERO "\n", 0600, 1, "the key is all zeros"),
	FILE_ROW("the other file's key", TX "\n", 0600, 1, "the same key as in rx-key-file"),
};

static void key_files(void)
{
	char tx[256], name[128];

	for (size_t i = 0; i < OM_ARRAY_SIZE(files); i++) {
		struct unit_run run;
		bool ok;

		set_up();
		strcpy(tx, unit_file("tx", TX "\n", sizeof(TX), 0600));
		run = add(unit_file("rx", files[i].content, files[i].len,
				    files[i].mode), tx, NULL);
		ok = run.rc == files[i].rc && !leaks(&run) && !run.out_len &&
		     (files[i].message ? CONTAINS(run.err, files[i].message) :
					 !*run.err);
		if (files[i].rc)
			ok &= !fake.requests;
		else
			ok &= !memcmp(fake.rx_secret, "RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR", 32) &&
			      !memcmp(fake.tx_secret, "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT", 32) &&
			      !strcmp(fake.log, "key-new ifname=omr0 peer-id=1 local-id=0x11 remote-id=0x22 rx-secret=* tx-secret=* activation=manual soft-time=5 hard-bytes=7\n");
		snprintf(name, sizeof(name), "secret: key file: %s", files[i].name);
		unit_ok(ok, name, "rc %d\n%s\n%s", run.rc, run.err, fake.log);
		unit_run_free(&run);
	}
}

static void standard_input(void)
{
	struct unit_run run;
	char tx[256];

	set_up();
	run = add("-", "-", RX "\n" TX "\n");
	unit_ok(!run.rc && fake.rx_secret[5] == 'R' && fake.tx_secret[5] == 'T',
		"secret: both keys from standard input, rx first", "%s",
		run.err);
	unit_run_free(&run);
	set_up();
	strcpy(tx, unit_file("tx", TX "\n", sizeof(TX), 0600));
	run = add("-", tx, RX "\n" TX "\n");
	unit_ok(run.rc == 1 && CONTAINS(run.err, "rx-key-file: \"-\": more than one line") && !leaks(&run),
		"secret: rest on standard input", "%s", run.err);
	unit_run_free(&run);
	set_up();
	run = add("-", "-", RX "\n");
	unit_ok(run.rc == 1 && CONTAINS(run.err, "tx-key-file: \"-\": a key is 44"),
		"secret: second key missing on standard input", "%s", run.err);
	unit_run_free(&run);
	set_up();
	run = add("/nonexistent/rx", tx, NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "rx-key-file: \"/nonexistent/rx\": No such file"),
		"secret: key file missing", "%s", run.err);
	unit_run_free(&run);
}

/* The command's own memory, handed in so that it can be looked at afterwards */
static void wiping(const char *name, const char *tx_content, unsigned int fail_at,
		   int rc)
{
	char rx[256], tx[256];
	struct om_nl *nl = (void *)calloc(1, 64);
	struct om_ctx ctx = { .nl = nl };
	struct om_args args = { 0 };
	const uint8_t *bytes = (const uint8_t *)&args;
	unsigned int found = 0;
	int got;

	set_up();
	fake.fail_at = fail_at;
	strcpy(rx, unit_file("rx", RX "\n", sizeof(RX), 0600));
	strcpy(tx, unit_file("tx", tx_content, strlen(tx_content), 0600));
	args.pos[0] = "omr0";
	args.peer = "1";
	args.files[0] = rx;
	args.files[1] = tx;
	got = om_key_add(&ctx, &args);
	for (size_t i = 0; i + 4 < sizeof(args); i++)
		found += !memcmp(bytes + i, "RRRR", 4) ||
			 !memcmp(bytes + i, "TTTT", 4);
	unit_ok(got == rc && !found, name, "rc %d, %u places\n%s", got, found,
		ctx.err.text);
	free(nl);
}

static void generators(void)
{
	struct unit_run a = unit_main("genkey", NULL);
	struct unit_run b = unit_main("genpsk", NULL), c;
	uint8_t key[32];
	struct om_err err;

	unit_ok(!a.rc && !b.rc && a.out_len == 45 && b.out_len == 45 &&
		strcmp(a.out, b.out), "secret: genkey and genpsk print a line",
		"%s%s", a.out, b.out);
	a.out[44] = '\0';
	unit_ok(!om_base64_decode(key, a.out, &err) && !(key[0] & 7) &&
		(key[31] & 0xc0) == 0x40, "secret: genkey clamps", "%s", a.out);
	unit_run_free(&a);
	unit_run_free(&b);
	/* RFC 7748, 6.1: Alice's keys */
	c = unit_main("pubkey", "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=\n");
	unit_ok(!c.rc && !strcmp(c.out, "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=\n"),
		"secret: pubkey gives RFC 7748's answer", "%s%s", c.out, c.err);
	unit_run_free(&c);
	c = unit_main("pubkey", "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=\nx");
	unit_ok(c.rc == 1 && !c.out_len && !CONTAINS(c.err, "dwdt"),
		"secret: pubkey refuses more than a line", "%s%s", c.out, c.err);
	unit_run_free(&c);
}

static char *slurp(const char *name, unsigned int *mode)
{
	static char text[4][64];
	static int next;
	struct stat st;
	FILE *f = fopen(unit_path(name), "re");
	char *buf = text[next++ % 4];

	memset(buf, 0, 64);
	if (!f || fstat(fileno(f), &st))
		return buf;
	*mode = st.st_mode & 07777;
	if (!fread(buf, 1, 63, f))
		*buf = '\0';
	fclose(f);
	return buf;
}

static void session(void)
{
	static const char *const names[] = { "s-a.rx", "s-a.tx", "s-b.rx", "s-b.tx" };
	unsigned int mode[4] = { 0 };
	struct unit_run run;
	char words[400], *text[4];

	snprintf(words, sizeof(words), "gensession %s", unit_path("s"));
	umask(0);
	run = unit_main(words, NULL);
	umask(022);
	for (size_t i = 0; i < 4; i++)
		text[i] = slurp(names[i], &mode[i]);
	unit_ok(!run.rc && strlen(text[0]) == 45 && strlen(text[1]) == 45 &&
		!strcmp(text[0], text[3]) && !strcmp(text[1], text[2]) &&
		strcmp(text[0], text[1]),
		"secret: gensession's files fit each other", "%s", run.err);
	unit_ok(mode[0] == 0600 && mode[1] == 0600 && mode[2] == 0600 &&
		mode[3] == 0600, "secret: gensession's files are private",
		"%o %o %o %o", mode[0], mode[1], mode[2], mode[3]);
	unit_run_free(&run);
	/* With the third file in the way: the first two go, the third stays. */
	unlink(unit_path("s-a.rx"));
	unlink(unit_path("s-a.tx"));
	run = unit_main(words, NULL);
	unit_ok(run.rc == 2 && CONTAINS(run.err, "s-b.rx\": File exists") &&
		access(unit_path("s-a.rx"), F_OK) &&
		access(unit_path("s-a.tx"), F_OK) &&
		!access(unit_path("s-b.rx"), F_OK),
		"secret: gensession overwrites nothing and leaves no half", "%s",
		run.err);
	unit_run_free(&run);
}

void test_secret(void)
{
	key_files();
	standard_input();
	wiping("secret: wiped after success", TX "\n", 0, 0);
	wiping("secret: wiped when the kernel refuses", TX "\n", 1, 2);
	wiping("secret: wiped when the second file is bad", "x\n", 0, 1);
	wiping("secret: wiped when both keys are the same", RX "\n", 0, 1);
	generators();
	session();
	fake_reset();
}
