// SPDX-License-Identifier: GPL-2.0
#include "lib/base.h"

#include "lib/quote.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

static bool to_syslog;
static int most = LOG_NOTICE;

void om_open_std(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int om_err(struct om_err *err, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->sys = 0;
	return status;
}

int om_err_sys(struct om_err *err, int error, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, "%s%s", n ? ": " : "",
		 strerror(error));
	err->sys = error;
	return OM_SYSTEM;
}

void om_err_prefix(struct om_err *err, const char *fmt, ...)
{
	char old[sizeof(err->text)];
	va_list ap;
	size_t n;

	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, ": %s", old);
}

void om_err_append(struct om_err *err, const char *fmt, ...)
{
	size_t n = strlen(err->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text + n, sizeof(err->text) - n, fmt, ap);
	va_end(ap);
}

void *om_list_add(struct om_list *list, size_t size)
{
	char *item;

	if (list->n == list->alloc) {
		size_t alloc = list->alloc ? list->alloc * 2 : 2;
		void *v = reallocarray(list->v, alloc, size);

		if (!v) {
			fputs("omertactl: out of memory\n", stderr);
			exit(OM_SYSTEM);
		}
		list->v = v;
		list->alloc = alloc;
	}
	item = (char *)list->v + list->n++ * size;
	return memset(item, 0, size);
}

void om_list_free(struct om_list *list)
{
	free(list->v);
	memset(list, 0, sizeof(*list));
}

static bool continues(const unsigned char *s, size_t n)
{
	while (n--)
		if ((*s++ & 0xc0) != 0x80)
			return false;
	return true;
}

size_t om_utf8_len(const char *str)
{
	const unsigned char *s = (const unsigned char *)str;

	if (s[0] < 0x80)
		return s[0] != 0;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return continues(s + 1, 1) ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] <= 0xef) {
		if (!continues(s + 1, 2) || (s[0] == 0xe0 && s[1] < 0xa0) ||
		    (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if (!continues(s + 1, 3) || (s[0] == 0xf0 && s[1] < 0x90) ||
		    (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

/* Return true for C0, DEL, C1, and with @backslash for the backslash. */
static bool must_escape(const char *s, size_t len, bool backslash)
{
	unsigned char c = (unsigned char)s[0];

	if (len == 1)
		return c < 0x20 || c == 0x7f || (backslash && c == '\\');
	return !len || (c == 0xc2 && (unsigned char)s[1] < 0xa0);
}

static char *escape(char *buf, size_t size, const char *s, bool backslash)
{
	size_t n = 0;

	while (*s && n + 5 < size) {
		size_t len = om_utf8_len(s);

		if (must_escape(s, len, backslash)) {
			n += (size_t)snprintf(buf + n, size - n, "\\x%02x",
					      (unsigned char)*s++);
			continue;
		}
		memcpy(buf + n, s, len);
		n += len;
		s += len;
	}
	buf[n] = '\0';
	return buf;
}

char *om_escape(char *buf, size_t size, const char *s)
{
	return escape(buf, size, s, true);
}

/* Return true if standard error is a stream of systemd's journal, which reads levels. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char name[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st))
		return false;
	snprintf(name, sizeof(name), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return !strcmp(stream, name);
}

bool om_logs(int level)
{
	return level <= most;
}

void om_log(int level, const char *text)
{
	char buf[4 * sizeof(((struct om_err *)0)->text)];

	if (!om_logs(level))
		return;
	escape(buf, sizeof(buf), text, false);
	/* Messages of the kernel and of libraries may quote keys; ours do not. */
	om_hide_keys(buf);
	if (to_syslog)
		syslog(level, "%s", buf);
	else if (is_journal())
		fprintf(stderr, "<%d>omertactl: %s\n", level, buf);
	else
		fprintf(stderr, "omertactl: %s\n", buf);
}

void om_log_verbose(void)
{
	most = LOG_DEBUG;
}

void om_complain(const char *text)
{
	om_log(LOG_WARNING, text);
}

void om_complain_to_syslog(void)
{
	openlog("omertactl", LOG_PID, LOG_DAEMON);
	to_syslog = true;
}

void om_warn(const char *fmt, ...)
{
	struct om_err err;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.text, sizeof(err.text), fmt, ap);
	va_end(ap);
	om_err_prefix(&err, "warning");
	om_complain(err.text);
}
