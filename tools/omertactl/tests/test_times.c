// SPDX-License-Identifier: GPL-2.0
/*
 * The agent's file of times: would catch a time that is forgotten, or taken from a line
 * that is broken, and a file that grows for ever or has two owners.
 */
#include "unit.h"

#include "../times.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t key_a[OM_NOISE_KEY] = { 1 }, key_b[OM_NOISE_KEY] = { 2 };
static struct om_err err;

static struct om_times *open_it(void)
{
	return om_times_open(unit_path("times"), &err);
}

static bool put(struct om_times *t, const uint8_t *key, uint8_t v)
{
	uint8_t time[OM_HS_TIME] = { [OM_HS_TIME - 1] = v };

	return !om_times_put(t, key, time, &err);
}

static int get(const struct om_times *t, const uint8_t *key)
{
	uint8_t time[OM_HS_TIME];

	om_times_get(t, key, time);
	return time[OM_HS_TIME - 1];
}

static long size(void)
{
	struct stat st;

	return stat(unit_path("times"), &st) ? -1 : (long)st.st_size;
}

/* The file, as text, with @more behind it */
static void rewrite(const char *more)
{
	char text[4096];
	FILE *f = fopen(unit_path("times"), "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 200, f) : 0;

	if (f)
		fclose(f);
	strcpy(text + n, more);
	unit_file("times", text, strlen(text), 0600);
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

	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 0000");
	t = open_it();
	unit_ok(t && get(t, key_b) == 7, "times: a line that was cut off is left out",
		"%s", err.text);
	om_times_close(t);
	rewrite("AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= 00000000000000000000zz00\n");
	t = open_it();
	unit_ok(!t && CONTAINS(err.text, "line 3 is broken"),
		"times: a line that is broken is not", "%s", err.text);
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
}

void test_times(void)
{
	keeps();
	broken();
	renewed();
	full();
}
