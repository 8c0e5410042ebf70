// SPDX-License-Identifier: GPL-2.0
#include "lib/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define DEPTH	16

static struct {
	int depth;
	char close[DEPTH];
	bool more[DEPTH + 1];
} json;

/* Invalid UTF-8 becomes U+FFFD, as JSON must be valid. */
static void put_string(const char *s)
{
	putchar('"');
	while (*s) {
		size_t len = om_utf8_len(s);
		unsigned char c = (unsigned char)*s;

		if (!len) {
			fputs("\\ufffd", stdout);
			len = 1;
		} else if (c == '"' || c == '\\') {
			printf("\\%c", c);
		} else if (c < 0x20 || c == 0x7f) {
			printf("\\u%04x", c);
		} else {
			fwrite(s, 1, len, stdout);
		}
		s += len;
	}
	putchar('"');
}

static void put_name(const char *name)
{
	if (json.more[json.depth])
		putchar(',');
	json.more[json.depth] = true;
	if (name) {
		put_string(name);
		putchar(':');
	}
}

void om_json_open(const char *name, char bracket)
{
	assert(json.depth < DEPTH);
	put_name(name);
	putchar(bracket);
	json.close[json.depth++] = bracket == '[' ? ']' : '}';
	json.more[json.depth] = false;
}

void om_json_close(void)
{
	assert(json.depth > 0);
	putchar(json.close[--json.depth]);
	if (!json.depth) {
		putchar('\n');
		json.more[0] = false;
	}
}

void om_json_str(const char *name, const char *value)
{
	put_name(name);
	put_string(value);
}

void om_json_uint(const char *name, uint64_t value)
{
	put_name(name);
	printf("%" PRIu64, value);
}

void om_json_bool(const char *name, bool value)
{
	put_name(name);
	fputs(value ? "true" : "false", stdout);
}
