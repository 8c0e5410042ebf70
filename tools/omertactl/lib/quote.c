// SPDX-License-Identifier: GPL-2.0
#include "lib/quote.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NOT_SHOWN	"(not shown)"

/*
 * Return true for a word as people write it: digits only at its ends, capitals only at the
 * beginning of a part. 1 of 100 random base64 texts of 12 characters passes, and 1 of 10000
 * with 24 characters.
 */
static bool is_word(const char *s, size_t len)
{
	size_t i = 0, small = 2;

	if (len <= 4)
		return true;
	if (len > 24)
		return false;
	while (i < len && isdigit((unsigned char)s[i]))
		i++;
	while (len > i && isdigit((unsigned char)s[len - 1]))
		len--;
	for (; i < len; i++) {
		if (isdigit((unsigned char)s[i]))
			return false;
		if (islower((unsigned char)s[i]))
			small++;
		else if (small < 2)
			return false;
		else
			small = 0;
	}
	return true;
}

static bool is_harmless(const char *s, size_t len)
{
	static const char separators[] = "-._:/[]%,@ ";

	if (len > OM_QUOTE_LEN - sizeof("\"\""))
		return false;
	/* A sign is allowed, as in lists of prefixes. */
	for (size_t i = len && *s == '+', n; i < len; i += n + 1) {
		for (n = 0; i + n < len && isalnum((unsigned char)s[i + n]); n++)
			;
		if (!is_word(s + i, n) ||
		    (i + n < len && (!s[i + n] || !strchr(separators, s[i + n]))))
			return false;
	}
	return true;
}

const char *om_quote(char *buf, const char *text, size_t len)
{
	if (!is_harmless(text, len))
		return NOT_SHOWN;
	snprintf(buf, OM_QUOTE_LEN, "\"%.*s\"", (int)len, text);
	return buf;
}

static bool is_there(const char *path)
{
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

const char *om_quote_file(char *buf, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(path);
	/* Preserve errno: callers pass it in the same argument list. */
	int error = errno;
	bool shown;

	if (len > OM_QUOTE_LEN - sizeof("\"\""))
		return NOT_SHOWN;
	snprintf(buf, OM_QUOTE_LEN, "\"%.*s", (int)(base - path), path);
	shown = is_harmless(path, len) || is_there(path) ||
		(slash && is_there(buf + 1) && is_harmless(base, strlen(base)));
	errno = error;
	snprintf(buf, OM_QUOTE_LEN, "\"%s\"", path);
	return shown ? buf : NOT_SHOWN;
}

/* 32 bytes are 43 characters of base64, and possibly a "=". */
#define KEY_LEN		43
/* 1 of 5000 keys has fewer capitals, and hardly any file name as many. */
#define KEY_CAPITALS	6

/* Find a text that may be a key. *len gets its length. NULL if there is none. */
static const char *find_key(const char *s, size_t *len)
{
	for (; *s; s += *len + !!s[*len]) {
		size_t capitals = 0;

		for (*len = 0; isalnum((unsigned char)s[*len]) || s[*len] == '+' ||
			       s[*len] == '/'; ++*len)
			capitals += isupper((unsigned char)s[*len]) != 0;
		if (*len >= KEY_LEN && capitals >= KEY_CAPITALS)
			return s;
	}
	return NULL;
}

bool om_holds_key(const char *text)
{
	size_t len;

	return find_key(text, &len);
}

void om_hide_keys(char *text)
{
	const char *key;
	size_t len;

	while ((key = find_key(text, &len))) {
		text += key - text;
		memset(text, '*', len);
	}
}
