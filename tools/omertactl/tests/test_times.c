// SPDX-License-Identifier: GPL-2.0
/*
 * The agent's file of times: would catch a time that is forgotten, or taken from a line
 * that is broken, and a file that grows for ever or has two owners.
 */
#include "unit.h"

#include "lib/keygen.h"
#include "lib/times.h"
#include "lib/times_forget.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint8_t key_a[OMERTA_KEY_LEN] = { 1 }, key_b[OMERTA_KEY_LEN] = { 2 };
static struct om_err err;

static struct om_times *open_it(void)
{
	return om_times_open(unit_path("times"), &err);
}

static bool put(struct om_times *t, const uint8_t *key, uint8_t v)
{
	struct om_times_item item = { .time = { [OM_TIME_LEN - 1] = v } };

	memcpy(item.key, key, sizeof(item.key));
	return !om_times_put(t, &item, 1, &err);
}

static int get(const struct om_times *t, const uint8_t *key)
{
	uint8_t time[OM_TIME_LEN];

	om_times_get(t, key, time);
	return time[OM_TIME_LEN - 1];
}

static long size(void)
{
	struct stat st;

	return stat(unit_path("times"), &st) ? -1 : (long)st.st_size;
}

/* The file with @more behind it, and with zeros up to @len bytes of that */
static void rewrite(const char *more, size_t len)
{
	char text[8192];
	FILE *f = fopen(unit_path("times"), "re");
	size_t n = f ? fread(text, 1, 300, f) : 0;

	if (f)
		fclose(f);
	memset(text + n, 0, len);
	memcpy(text + n, more, strlen(more));
	unit_file("times", text, n + len, 0600);
}

static void append(const char *more)
{
	FILE *f = fopen(unit_path("times"), "ae");

	if (!f || fputs(more, f) < 0 || fclose(f))
		abort();
}

static void keeps(void)
{
	struct om_times *t = open_it(), *second;
	bool ok;

	ok = t && !get(t, key_a) && put(t, key_a, 5) && put(t, key_b, 7) &&
	     put(t, key_a, 3) && get(t, key_a) == 5;
	second = open_it();
	unit_ok(ok && !second && CONTAINS(err.text, "another agent has it"),
		"times: the greatest counts; one owner", "%s", err.text);
	om_times_close(second);
	om_times_close(t);
	t = open_it();
	unit_ok(t && get(t, key_a) == 5 && get(t, key_b) == 7,
		"times: they are there again", "%s", err.text);
	om_times_close(t);
}

static void broken(void)
{
	struct om_times *t;

	/* Some file systems make it longer before they write to it. */
	for (size_t len = 49; len <= 70; len += 21) {
		rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 0000", len);
		t = open_it();
		unit_ok(t && get(t, key_b) == 7 && size() == 140,
			"times: a line that was cut off is left out", "%s", err.text);
		om_times_close(t);
	}
	/* A line may be in two blocks, of which the second was written. */
	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 0000", 69);
	append("\n");
	t = open_it();
	unit_ok(t && get(t, key_b) == 7 && size() == 140,
		"times: be it at its beginning", "%s", err.text);
	om_times_close(t);
	/* One write may have been of several lines. */
	for (size_t len = 71; len <= 64 * 70; len += 64 * 70 - 71) {
		rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 0000", len);
		t = open_it();
		unit_ok(t && get(t, key_b) == 7 && size() == 140,
			"times: be it several lines", "%s", err.text);
		om_times_close(t);
	}
	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 0000", 64 * 70 + 1);
	t = open_it();
	unit_ok(!t && CONTAINS(err.text, "line 3 is damaged"),
		"times: but not more than are written at once", "%s", err.text);
	om_times_close(t);
	rewrite("", 0);
	if (truncate(unit_path("times"), 140))
		abort();
	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 0000", 71);
	append("A");
	t = open_it();
	unit_ok(!t && CONTAINS(err.text, "line 3 is damaged"),
		"times: unless it is not the last", "%s", err.text);
	om_times_close(t);
	unit_file("times", "", 0, 0600);
	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 000000000000000000000007\n", 70);
	rewrite("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 000000000000000000000007\n", 70);
	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 00000000000000000000zz00\n", 70);
	t = open_it();
	unit_ok(!t && CONTAINS(err.text, "line 3 is damaged"),
		"times: a line that is damaged is not", "%s", err.text);
	om_times_close(t);
	unit_file("times", "", 0, 0600);
}

/* Many times at once: all are stored, or none if the disk is full */
static void at_once(void)
{
	struct om_times_item item[OM_TIMES_ITEMS + 1] = { 0 };
	struct om_times *t = open_it();
	struct rlimit old, now;
	long before;
	bool ok = t;

	for (size_t i = 0; i <= OM_TIMES_ITEMS; i++) {
		item[i].key[0] = (uint8_t)(100 + i);
		item[i].time[OM_TIME_LEN - 1] = 1;
	}
	ok = ok && !om_times_put(t, item, OM_TIMES_ITEMS, &err) &&
	     om_times_put(t, item, OM_TIMES_ITEMS + 1, &err);
	before = size();
	for (size_t i = 0; i < OM_TIMES_ITEMS; i++) {
		ok = ok && get(t, item[i].key) == 1;
		item[i].time[OM_TIME_LEN - 1] = 2;
	}
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	now = old;
	now.rlim_cur = (rlim_t)before + 2 * 70 + 30;
	setrlimit(RLIMIT_FSIZE, &now);
	ok = ok && om_times_put(t, item, 3, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	unit_ok(ok && size() == before && get(t, item[0].key) == 1,
		"times: many at once, or none of them", "%ld bytes, now %ld: %s", before,
		size(), err.text);
	om_times_close(t);
	t = open_it();
	unit_ok(t && get(t, item[OM_TIMES_ITEMS - 1].key) == 1 && get(t, item[0].key) == 1,
		"times: all of them are there again", "%s", err.text);
	om_times_close(t);
	unit_file("times", "", 0, 0600);
}

static void renewed(void)
{
	struct om_times *t = open_it();
	bool ok = t;
	long most = 0;

	for (int i = 0; i < 1000 && ok; i++) {
		ok = put(t, key_a, (uint8_t)(i / 4));
		most = size() > most ? size() : most;
	}
	ok = ok && put(t, key_b, 9);
	om_times_close(t);
	t = open_it();
	unit_ok(ok && t && get(t, key_a) == 249 && get(t, key_b) == 9 &&
		most < 300L * 70 && size() == 2L * 70,
		"times: the file is made anew", "%ld, at most %ld bytes", size(), most);
	om_times_close(t);
}

/* As if the disk were full in the middle of a line */
static void full(void)
{
	struct rlimit old, now;
	struct om_times *t = open_it();
	long before = size();
	bool refused;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	now = old;
	now.rlim_cur = (rlim_t)before + 30;
	setrlimit(RLIMIT_FSIZE, &now);
	refused = t && !put(t, key_a, 255);
	setrlimit(RLIMIT_FSIZE, &old);
	unit_ok(refused && get(t, key_a) == 249 && size() == before,
		"times: what does not fit on the disk leaves nothing behind",
		"%ld bytes, now %ld", before, size());
	om_times_close(t);
	/* Nor does the beginning need room, be the last line whole or not. */
	setrlimit(RLIMIT_FSIZE, &now);
	t = open_it();
	refused = t && get(t, key_a) == 249 && !put(t, key_a, 255);
	om_times_close(t);
	if (truncate(unit_path("times"), before - 1))
		abort();
	now.rlim_cur = 30;
	setrlimit(RLIMIT_FSIZE, &now);
	t = open_it();
	refused = refused && t && !put(t, key_a, 255);
	setrlimit(RLIMIT_FSIZE, &old);
	unit_ok(refused && put(t, key_a, 249) && get(t, key_a) == 249,
		"times: an agent begins with a full disk", "%s", err.text);
	om_times_close(t);
	t = open_it();
	unit_ok(t && get(t, key_a) == 249, "times: and goes on when there is room", "%s",
		err.text);
	om_times_close(t);
}

/* One key's time goes, on disk too; or nothing does. */
static void forgets(void)
{
	struct om_times *t = open_it();
	struct rlimit old, now;
	bool refused;

	getrlimit(RLIMIT_FSIZE, &old);
	now = old;
	now.rlim_cur = 30;
	setrlimit(RLIMIT_FSIZE, &now);
	refused = t && om_times_forget(t, key_a, &err) && get(t, key_a) == 249;
	setrlimit(RLIMIT_FSIZE, &old);
	unit_ok(refused, "times: what cannot be written is not forgotten", "%s", err.text);
	unit_ok(t && !om_times_forget(t, key_a, &err) && !get(t, key_a) &&
		get(t, key_b) == 9, "times: one is forgotten", "%s", err.text);
	om_times_close(t);
	t = open_it();
	unit_ok(t && !get(t, key_a) && get(t, key_b) == 9 && size() == 70 &&
		put(t, key_a, 1) && get(t, key_a) == 1, "times: and stays so", "%s", err.text);
	om_times_close(t);
}

#define PEER	"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

/* An agent that has the file, in a process of its own. It does what it is asked once. */
static pid_t have_it(bool lock_only)
{
	uint8_t public[OMERTA_KEY_LEN], wanted[OMERTA_KEY_LEN];
	int fd[2], sig;
	sigset_t set;
	char c = 0;
	pid_t pid;

	if (pipe(fd))
		abort();
	pid = fork();
	if (pid) {
		close(fd[1]);
		if (read(fd[0], &c, 1) != 1)
			abort();
		close(fd[0]);
		return pid;
	}
	sigemptyset(&set);
	sigaddset(&set, OM_TIMES_SIGNAL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!open_it() || write(fd[1], &c, 1) != 1)
		_exit(1);
	om_base64_decode(wanted, PEER, &err);
	sigwait(&set, &sig);
	if (lock_only || om_times_forget_asked(unit_path("times"), public, &err) ||
	    memcmp(public, wanted, sizeof(public)))
		_exit(1);
	om_times_forget_done(unit_path("times"));
	_exit(0);
}

/* The command, with an agent and without */
static void command(void)
{
	uint8_t ours[OMERTA_KEY_LEN], private[OMERTA_KEY_LEN], theirs[OMERTA_KEY_LEN];
	uint8_t key[OMERTA_KEY_LEN];
	char base64[OM_BASE64_LEN], text[200], words[300], path[300];
	struct om_times *t;
	struct unit_run run;
	int status;
	pid_t pid;

	memset(private, 5, sizeof(private));
	om_key_public(ours, private);
	om_base64_encode(base64, private);
	om_base64_decode(theirs, PEER, &err);
	om_times_key(ours, theirs, key);
	snprintf(text, sizeof(text), "[Interface]\nPrivateKey = %s\n", base64);
	unit_file("times.conf", text, strlen(text), 0600);
	snprintf(words, sizeof(words), "times forget times peer " PEER " config %s",
		 unit_path("times.conf"));
	snprintf(text, sizeof(text), "%s", unit_path("times"));
	*strrchr(text, '/') = '\0';
	setenv("STATE_DIRECTORY", text, 1);
	om_times_path(path, sizeof(path), text, ours);
	t = om_times_open(path, &err);
	put(t, key, 7);
	put(t, key_b, 8);
	om_times_close(t);
	run = unit_main(words, NULL);
	t = om_times_open(path, &err);
	unit_ok(!run.rc && t && !get(t, key) && get(t, key_b) == 8,
		"times: forgotten by the command", "%s", run.err);
	unit_run_free(&run);
	om_times_close(t);
	unlink(path);
	unsetenv("STATE_DIRECTORY");
	pid = have_it(false);
	unit_ok(om_times_owner(unit_path("times")) == pid, "times: whose the file is", "%d",
		(int)om_times_owner(unit_path("times")));
	unit_ok(!om_times_forget_ask(unit_path("times"), theirs, &err) &&
		waitpid(pid, &status, 0) == pid && !status, "times: an agent is asked", "%s",
		err.text);
	pid = have_it(true);
	unit_ok(om_times_forget_ask(unit_path("times"), theirs, &err) == OM_SYSTEM &&
		CONTAINS(err.text, "did not do it") && waitpid(pid, &status, 0) == pid &&
		om_times_forget_asked(unit_path("times"), key, &err) == OM_SYSTEM &&
		err.sys == ENOENT, "times: one that does not do it", "%s", err.text);
	unit_ok(om_times_forget_ask(unit_path("times"), theirs, &err) == OM_SYSTEM &&
		CONTAINS(err.text, "cannot be asked"), "times: one that cannot be asked", "%s",
		err.text);
}

/* 10000 keys: each costs what one of 100 does. The disk is left out. */
static double cost(uint32_t keys, int rounds)
{
	struct om_times *t = om_times_open(unit_path("scale.times"), &err);
	uint8_t key[OMERTA_KEY_LEN] = { 0 }, time[OM_TIME_LEN] = { 1 };
	struct timespec from, to;

	for (uint32_t i = 0; i < keys; i++) {
		memcpy(key, &i, sizeof(i));
		om_times_learn(t, key, time);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < rounds; i++) {
		uint32_t n = (uint32_t)i * 7919 % keys;

		memcpy(key, &n, sizeof(n));
		om_times_get(t, key, time);
		om_times_learn(t, key, time);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	om_times_close(t);
	unlink(unit_path("scale.times"));
	return (double)(to.tv_sec - from.tv_sec) * 1e3 +
	       (double)(to.tv_nsec - from.tv_nsec) / 1e6;
}

static void scale(void)
{
	double few = 0, many = 0;

	for (int i = 0; i < 4 && (!i || many > 5 * few + 5); i++) {
		few = cost(100, 10000);
		many = cost(10000, 10000);
	}
	unit_ok(many <= 5 * few + 5, "times: nothing looks at all keys",
		"100 keys: %.1f ms, 10000 keys: %.1f ms", few, many);
}

void test_times(void)
{
	keeps();
	broken();
	at_once();
	renewed();
	full();
	forgets();
	command();
	scale();
}
