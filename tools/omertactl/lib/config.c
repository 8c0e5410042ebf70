// SPDX-License-Identifier: GPL-2.0
#include "lib/config_parse.h"

#include "lib/keygen.h"
#include "lib/quote.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned int column(const struct om_parser *p, const char *at)
{
	return (unsigned int)(at - p->text) + 1;
}

void om_parser_put_place(struct om_parser *p, unsigned int line, unsigned int col)
{
	om_err_prefix(p->err, "%s:%u:%u", p->name, line, col);
}

int om_parser_fail(struct om_parser *p, const char *at, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	om_err(p->err, OM_USAGE, "%s", buf);
	om_parser_put_place(p, p->line, column(p, at));
	return OM_USAGE;
}

int om_parser_blame(struct om_parser *p, const char *at, const char *key, int rc)
{
	om_err_prefix(p->err, "%s", key);
	om_parser_put_place(p, p->line, column(p, at));
	return rc;
}

struct om_peer *om_parser_peer(const struct om_parser *p)
{
	return OM_AT(&p->conf->peers, struct om_peer, p->conf->peers.n - 1);
}

static int begin_interface(struct om_parser *p, const char *s)
{
	if (p->interface_line)
		return om_parser_fail(p, s, "[Interface]: given twice");
	p->interface_line = p->line;
	p->section = &om_device_object;
	return OM_OK;
}

static void begin_peer(struct om_parser *p)
{
	struct om_peer_conf *c;

	om_list_add(&p->conf->peers, sizeof(struct om_peer));
	c = om_list_add(&p->conf->peer_conf, sizeof(*c));
	c->line = p->line;
	p->section = &om_peer_object;
}

int om_parser_told(struct om_parser *p, int rc)
{
	if (!rc || !p->mistake)
		return rc;
	p->mistake(p->err->text);
	p->mistakes++;
	return OM_OK;
}

static int start_section(struct om_parser *p, const char *s)
{
	int rc = om_parser_told(p, om_parser_end_section(p));

	if (rc)
		return rc;
	p->keys_seen = 0;
	if (!strcasecmp(s, "[Interface]"))
		rc = begin_interface(p, s);
	else if (!strcasecmp(s, "[Peer]"))
		begin_peer(p);
	else if (!strncasecmp(s, "[Interface]", 11) || !strncasecmp(s, "[Peer]", 6))
		rc = om_parser_fail(p, strchr(s, ']') + 1,
				    "nothing may follow a section's name on its line");
	else
		rc = om_parser_fail(p, s, "%s: expected [Interface] or [Peer]",
				    OM_QUOTE(s));
	/* Skip the rest of an invalid section. */
	p->lost = rc;
	return rc;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Unquote \", \\ and \xHH in place. *rest gets the text after the closing quote. */
static int unquote(char *s, char **rest)
{
	char *out = s, *in = s + 1;

	for (; *in != '"'; in++) {
		if (!*in)
			return OM_USAGE;
		if (*in != '\\') {
			*out++ = *in;
			continue;
		}
		in++;
		if (*in == '"' || *in == '\\') {
			*out++ = *in;
		} else if (*in == 'x' && hex_digit(in[1]) >= 0 &&
			   hex_digit(in[2]) >= 0) {
			*out = (char)(hex_digit(in[1]) * 16 + hex_digit(in[2]));
			if (!*out++)
				return OM_USAGE;
			in += 2;
		} else {
			return OM_USAGE;
		}
	}
	*out = '\0';
	*rest = in + 1;
	return OM_OK;
}

static void trim_end(char *s)
{
	size_t n = strlen(s);

	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
}

/* Strip quotes, the comment and trailing white space from the value at @s. */
static int get_value(struct om_parser *p, char *s)
{
	char *rest;

	if (*s != '"') {
		s[strcspn(s, "#")] = '\0';
		trim_end(s);
		return OM_OK;
	}
	if (unquote(s, &rest))
		return om_parser_fail(p, s, "the quoted value is not complete");
	rest += strspn(rest, " \t\r\n");
	if (*rest && *rest != '#')
		return om_parser_fail(p, rest, "nothing may follow the quoted value");
	return OM_OK;
}

#define LETTERS	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static bool is_name(const char *s, size_t len)
{
	return len && len <= 24 && strspn(s, LETTERS) >= len;
}

static int not_assignment(struct om_parser *p, const char *s)
{
	size_t len = strcspn(s, " \t\r\n=");

	return om_parser_fail(p, s, "%s: expected [SECTION] or KEY = VALUE",
			      om_parser_quote(OM_QUOTE_BUF, s, len));
}

static int parse_assignment(struct om_parser *p, char *s)
{
	char *equals = strchr(s, '='), *value;
	int rc;

	if (!equals)
		return not_assignment(p, s);
	value = equals + 1 + strspn(equals + 1, " \t");
	*equals = '\0';
	trim_end(s);
	if (!is_name(s, strlen(s)))
		return not_assignment(p, s);
	if (p->lost)
		return OM_OK;
	if (!p->section)
		return om_parser_fail(p, s, "%s: stands before the first section",
				      om_parser_quote(OM_QUOTE_BUF, s, strlen(s)));
	rc = get_value(p, value);
	return rc ? rc : om_parser_set(p, s, value);
}

static int parse_line(struct om_parser *p, char *line, size_t len)
{
	static const char bom[] = "\xef\xbb\xbf";
	char *s = line + (!p->line && !strncmp(line, bom, 3) ? 3 : 0);
	const char *cr;

	s += strspn(s, " \t\r\n");
	p->line++;
	p->text = line;
	if (strlen(line) != len)
		return om_parser_fail(p, line + strlen(line),
				      "not a text file");
	len -= len && line[len - 1] == '\n';
	cr = memchr(line, '\r', len);
	if (cr && cr != line + len - 1)
		return om_parser_fail(p, cr, "a carriage return inside a line: lines end with a newline");
	if (!*s || *s == '#')
		return OM_OK;
	if (*s == '[') {
		s[strcspn(s, "#")] = '\0';
		trim_end(s);
		return start_section(p, s);
	}
	trim_end(s);
	return parse_assignment(p, s);
}

#define LINE_SIZE	8192

int om_config_lines(FILE *f, const char *name, int (*fn)(void *arg, char *line, size_t len),
		    void *arg, struct om_err *err)
{
	static char buf[BUFSIZ];
	size_t size = LINE_SIZE;
	char *line = malloc(size);
	int rc = OM_OK;
	ssize_t len;

	om_secret_lock(buf, sizeof(buf));
	setvbuf(f, buf, _IOFBF, sizeof(buf));
	/* getline() may move the line, and does not wipe the old place. */
	while (line && !rc && (len = getline(&line, &size, f)) >= 0) {
		rc = fn(arg, line, (size_t)len);
		om_secret_wipe(line, (size_t)len);
	}
	if (!rc && (!line || ferror(f)))
		rc = om_err_sys(err, line ? errno : ENOMEM, "%s", name);
	if (line)
		om_secret_wipe(line, size);
	free(line);
	setvbuf(f, NULL, _IONBF, 0);
	om_secret_wipe(buf, sizeof(buf));
	return rc;
}

static int on_line(void *arg, char *line, size_t len)
{
	struct om_parser *p = arg;

	return om_parser_told(p, parse_line(p, line, len));
}

static int parse_file(struct om_parser *p, FILE *f)
{
	struct stat st;
	int rc;

	/* Standard input is the caller's own. */
	if (f == stdin || fstat(fileno(f), &st))
		st = (struct stat){ .st_uid = geteuid() };
	p->exposed = st.st_mode & S_IRWXO;
	p->writable = (st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_uid && st.st_uid != geteuid());
	rc = om_config_lines(f, p->name, on_line, p, p->err);
	if (!rc)
		rc = om_parser_told(p, om_parser_end_section(p));
	if (!rc)
		rc = om_parser_end(p);
	if (!rc && p->mistakes)
		rc = om_err(p->err, OM_USAGE, "%s: %u mistake%s", p->name,
			    p->mistakes, p->mistakes == 1 ? "" : "s");
	return rc;
}

static int read_stream(FILE *f, const char *path, struct om_parser *p)
{
	bool std = f == stdin;
	char dir[PATH_MAX];
	int rc;

	memset(p->conf, 0, sizeof(*p->conf));
	snprintf(dir, sizeof(dir), "%s", path);
	p->name = std ? "(standard input)" : path;
	p->dir = std ? "." : dirname(dir);
	om_peer_index_init(&p->seen);
	rc = parse_file(p, f);
	om_peer_index_free(&p->seen);
	om_list_free(&p->places);
	if (rc)
		om_config_free(p->conf);
	return rc;
}

static int read_config(const char *path, struct om_parser *p)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int rc;

	if (!f)
		return om_err_sys(p->err, errno, "%s", OM_QUOTE_FILE(path));
	rc = read_stream(f, path, p);
	if (f != stdin)
		fclose(f);
	return rc;
}

int om_config_read_stream(FILE *f, const char *path, enum om_config_flags flags,
			  struct om_config *conf, struct om_err *err)
{
	struct om_parser p = { .flags = flags, .conf = conf, .err = err };

	return read_stream(f, path, &p);
}

int om_config_read(const char *path, enum om_config_flags flags,
		   struct om_config *conf, struct om_err *err)
{
	struct om_parser p = { .flags = flags, .conf = conf, .err = err };

	return read_config(path, &p);
}

int om_config_check(const char *path, bool agent, void (*mistake)(const char *text),
		    struct om_err *err)
{
	struct om_config conf;
	struct om_parser p = {
		.flags = OM_CONFIG_SECRETS | OM_CONFIG_NO_NAMES | OM_CONFIG_UP |
			 (agent ? OM_CONFIG_AGENT : 0),
		.mistake = mistake,
		.conf = &conf,
		.err = err,
	};
	int rc = read_config(path, &p);

	if (!rc)
		om_config_free(&conf);
	return rc;
}

bool om_config_has_default(const struct om_config *conf, unsigned int addr_len)
{
	if (conf->host.table != OM_TABLE_AUTO)
		return false;
	for (size_t i = 0; i < conf->peers.n; i++) {
		const struct om_list *ips =
			&OM_AT(&conf->peers, struct om_peer, i)->allowed_ips;

		for (size_t k = 0; k < ips->n; k++) {
			const struct om_prefix *p = OM_AT(ips, struct om_prefix, k);

			if (!p->len && (!addr_len || p->addr.len == addr_len))
				return true;
		}
	}
	return false;
}

void om_config_forget(struct om_config *conf)
{
	om_secrets_free(&conf->secrets);
	conf->host.private_key = NULL;
	for (size_t i = 0; i < conf->peer_conf.n; i++)
		OM_AT(&conf->peer_conf, struct om_peer_conf, i)->psk = NULL;
}

static void free_strings(struct om_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(*OM_AT(list, char *, i));
	om_list_free(list);
}

void om_config_free(struct om_config *conf)
{
	om_config_forget(conf);
	for (size_t i = 0; i < OM_HOOKS; i++)
		free_strings(&conf->host.hooks[i]);
	free_strings(&conf->host.dns);
	om_list_free(&conf->host.addresses);
	for (size_t i = 0; i < conf->peer_conf.n; i++)
		free(OM_AT(&conf->peer_conf, struct om_peer_conf, i)->endpoint);
	om_list_free(&conf->peer_conf);
	om_peers_free(&conf->peers);
}
