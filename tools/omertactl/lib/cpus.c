// SPDX-License-Identifier: GPL-2.0
#include "lib/cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/omerta.h>

/* No kernel supports more. */
#define CPUS		8192
#define SYS_CPUS	"/sys/devices/system/cpu/"

/* A range: the first @used of each @group CPUs from @first to @last */
struct range {
	unsigned int first, last, used, group;
};

static bool get_number(const char **text, unsigned int *v)
{
	*v = 0;
	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; ++*text)
		*v = *v < CPUS ? *v * 10 + (unsigned int)(**text - '0') : CPUS;
	return true;
}

/* Read the next range, and the comma behind it. */
static bool get_range(const char **text, struct range *r)
{
	if (!get_number(text, &r->first))
		return false;
	r->last = r->first;
	if (**text == '-' && (++*text, !get_number(text, &r->last)))
		return false;
	r->group = r->last - r->first + 1;
	r->used = r->group;
	if (**text == ':') {
		++*text;
		if (r->last == r->first || !get_number(text, &r->used) || **text != '/')
			return false;
		++*text;
		if (!get_number(text, &r->group))
			return false;
	}
	if (**text == ',')
		return *++*text;
	return !**text;
}

static int bad_list(struct om_err *err)
{
	return om_err(err, OM_USAGE, "must be \"all\" or a list such as 0-3,8");
}

int om_cpus_check(const char *text, struct om_err *err)
{
	struct range r;

	if (!strcmp(text, "all"))
		return OM_OK;
	do {
		if (!get_range(&text, &r))
			return bad_list(err);
		if (r.first > r.last || !r.group || r.used > r.group)
			return om_err(err, OM_USAGE, "a range ends before it begins");
		if (r.last >= CPUS)
			return om_err(err, OM_USAGE, "CPUs have numbers below %d", CPUS);
	} while (*text);
	return OM_OK;
}

/* Mark the CPUs of a list. Returns the last one, or -1. */
static int mark(const char *text, bool *cpus)
{
	unsigned int last = 0;
	struct range r;

	memset(cpus, 0, CPUS);
	do {
		if (!get_range(&text, &r) || r.last >= CPUS)
			return -1;
		for (unsigned int i = r.first; i <= r.last; i++)
			cpus[i] |= (i - r.first) % r.group < r.used;
		if (last < r.last)
			last = r.last;
	} while (*text);
	return (int)last;
}

/* A system without these files is one whose CPUs are unknown. */
static int mark_file(const char *path, bool *cpus)
{
	static char text[OMERTA_CPULIST_LEN + 2];
	FILE *f = fopen(path, "re");

	text[0] = '\0';
	if (!f)
		return -1;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return mark(text, cpus);
}

int om_cpus_check_here(const char *text, struct om_err *err)
{
	static bool here[CPUS], wanted[CPUS];
	int possible = mark_file(SYS_CPUS "possible", here), last;

	if (!strcmp(text, "all"))
		return OM_OK;
	last = mark(text, wanted);
	if (possible >= 0 && last > possible)
		return om_err(err, OM_USAGE, "this machine has the CPUs 0-%d", possible);
	if (mark_file(SYS_CPUS "online", here) < 0)
		return OM_OK;
	for (int i = 0; i <= last; i++)
		if (wanted[i] && here[i])
			return OM_OK;
	return om_err(err, OM_USAGE, "none of these CPUs is online");
}
