/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OM_BASE_H
#define OM_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses of the tool; every function that can fail returns one. */
#define OM_OK		0
#define OM_USAGE	1
#define OM_SYSTEM	2

/* The user of the key agent, and of its resolver */
#define OM_USER		"omerta"

#define OM_ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define OM_PRINTF(f, a)		__attribute__((format(printf, f, a)))

/*
 * One error message, grown outwards: the place that finds the error writes it,
 * callers put the option, the line or the command in front.
 */
struct om_err {
	int sys;		/* errno of a system or kernel error, else 0 */
	char text[2048];
};

int om_err(struct om_err *err, int status, const char *fmt, ...) OM_PRINTF(3, 4);
int om_err_sys(struct om_err *err, int error, const char *fmt, ...) OM_PRINTF(3, 4);
void om_err_prefix(struct om_err *err, const char *fmt, ...) OM_PRINTF(2, 3);
void om_err_append(struct om_err *err, const char *fmt, ...) OM_PRINTF(2, 3);

/* Open /dev/null for those of descriptors 0 to 2 that are closed, so that no file gets them. */
void om_open_std(void);

/*
 * Print a message to standard error, with its level of syslog(3) if that is systemd's journal.
 * Control characters are escaped. Levels above LOG_NOTICE are left out, except after
 * om_log_verbose().
 */
void om_log(int level, const char *text);
void om_log_verbose(void);
bool om_logs(int level);
/* The same as a warning */
void om_complain(const char *text);
/* Send all later messages to the system's log, for a process without standard error. */
void om_complain_to_syslog(void);
void om_warn(const char *fmt, ...) OM_PRINTF(1, 2);

/* A growing array. Elements are plain data and move when it grows. */
struct om_list {
	void *v;
	size_t n;
	size_t alloc;
};

void *om_list_add(struct om_list *list, size_t size);
void om_list_free(struct om_list *list);

#define OM_AT(list, type, i)	(&((type *)(list)->v)[i])

/*
 * Escape an untrusted string for a terminal or a table: control characters, invalid UTF-8
 * and backslashes become \xHH. Returns @buf.
 */
char *om_escape(char *buf, size_t size, const char *s);

/* Return the length of the valid UTF-8 sequence at @s, 0 if there is none. */
size_t om_utf8_len(const char *s);

#endif
