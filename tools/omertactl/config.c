// SPDX-License-Identifier: GPL-2.0
#include "config.h"

#include "addr.h"
#include "value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where a prefix stands in the file */
struct place {
	unsigned int line;
	unsigned int col;
};

struct parser {
	const char *name;
	unsigned int line;
	const char *text;		/* of the line */
	const struct om_object *section;	/* NULL before the first */
	unsigned int section_line;
	bool interface_seen;
	struct om_config *conf;
	struct om_list prefixes;	/* of all peers, struct om_prefix */
	struct om_list places;		/* theirs, struct place */
	struct om_err *err;
};

static unsigned int column(const struct parser *p, const char *at)
{
	return (unsigned int)(at - p->text) + 1;
}

static void put_place(struct parser *p, unsigned int line, unsigned int col)
{
	om_err_prefix(p->err, "%s:%u:%u", p->name, line, col);
}

static int fail(struct parser *p, const char *at, const char *fmt, ...)
	OM_PRINTF(3, 4);

static int fail(struct parser *p, const char *at, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	om_err(p->err, OM_USAGE, "%s", buf);
	put_place(p, p->line, column(p, at));
	return OM_USAGE;
}

static struct om_peer *last_peer(const struct parser *p)
{
	return OM_AT(&p->conf->peers, struct om_peer, p->conf->peers.n - 1);
}

static void *section_data(const struct parser *p)
{
	return p->section == &om_peer_object ? (void *)last_peer(p) :
					       (void *)&p->conf->dev;
}

/* A peer without an id cannot be told from others. */
static int end_section(struct parser *p)
{
	if (p->section != &om_peer_object || last_peer(p)->id)
		return OM_OK;
	om_err(p->err, OM_USAGE, "[Peer]: Id is missing");
	put_place(p, p->section_line, 1);
	return OM_USAGE;
}

static int start_section(struct parser *p, const char *s)
{
	if (end_section(p))
		return OM_USAGE;
	if (!strcasecmp(s, "[Interface]")) {
		if (p->interface_seen)
			return fail(p, s, "\"%s\": given twice", s);
		p->interface_seen = true;
		p->section = &om_device_object;
	} else if (!strcasecmp(s, "[Peer]")) {
		om_list_add(&p->conf->peers, sizeof(struct om_peer));
		p->section = &om_peer_object;
	} else {
		return fail(p, s, "\"%.200s\": expected [Interface] or [Peer]", s);
	}
	p->section_line = p->line;
	return OM_OK;
}

static const struct om_field *find_key(const struct om_object *obj,
				       const char *name)
{
	for (size_t i = 0; i < obj->fields; i++)
		if (obj->field[i].conf && !strcasecmp(obj->field[i].conf, name))
			return &obj->field[i];
	return NULL;
}

/* The item of AllowedIPs at @item */
static int add_prefix(struct parser *p, const struct om_field *f,
		      const char *item, size_t len)
{
	struct om_peer *peer = last_peer(p);
	struct om_prefix prefix;
	struct place *place;

	if (om_prefix_parse(item, len, &prefix, p->err)) {
		om_err_prefix(p->err, "%s", f->conf);
		put_place(p, p->line, column(p, item));
		return OM_USAGE;
	}
	*(struct om_prefix *)om_list_add(&peer->allowed_ips, sizeof(prefix)) =
		prefix;
	*(struct om_prefix *)om_list_add(&p->prefixes, sizeof(prefix)) = prefix;
	place = om_list_add(&p->places, sizeof(*place));
	place->line = p->line;
	place->col = column(p, item);
	peer->has |= OM_BIT(OMERTA_A_PEER_ALLOWED_IPS);
	return OM_OK;
}

static int add_prefixes(struct parser *p, const struct om_field *f,
			const char *value)
{
	const char *item;
	size_t len;
	int rc = OM_OK;

	if (!*value)
		return OM_OK;
	while (!rc && om_list_item(&value, ",", &item, &len))
		rc = add_prefix(p, f, item, len);
	return rc;
}

static int check_id(struct parser *p, const char *at)
{
	const struct om_peer *last = last_peer(p);

	for (size_t i = 0; i + 1 < p->conf->peers.n; i++)
		if (OM_AT(&p->conf->peers, struct om_peer, i)->id == last->id)
			return fail(p, at, "Id: \"%u\": another peer has this id",
				    last->id);
	return OM_OK;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place; \" and \\ and \xHH. The text behind the closing quote is *rest. */
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

/* The value at @s without quotes, comment and white space at its end */
static int get_value(struct parser *p, char *s)
{
	char *rest;

	if (*s != '"') {
		s[strcspn(s, "#")] = '\0';
		trim_end(s);
		return OM_OK;
	}
	if (unquote(s, &rest))
		return fail(p, s, "the quoted value is not complete");
	rest += strspn(rest, " \t\r\n");
	if (*rest && *rest != '#')
		return fail(p, rest, "\"%.200s\": nothing may follow the quoted value",
			    rest);
	return OM_OK;
}

static int set_value(struct parser *p, const struct om_field *f, char *value)
{
	void *data = section_data(p);
	int rc = get_value(p, value);

	if (rc)
		return rc;
	if (f->type == OM_MULTI)
		return add_prefixes(p, f, value);
	if (om_field_has(f, data))
		return fail(p, value, "%s: \"%.200s\": given twice", f->conf,
			    value);
	rc = om_value_parse(f, value, data, p->err);
	if (rc) {
		om_err_prefix(p->err, "%s", f->conf);
		put_place(p, p->line, column(p, value));
		return rc;
	}
	if (p->section == &om_peer_object && f->attr == OMERTA_A_PEER_ID)
		return check_id(p, value);
	return OM_OK;
}

static int parse_assignment(struct parser *p, char *s)
{
	char *equals = strchr(s, '='), *value;
	const struct om_field *f;

	if (!equals)
		return fail(p, s, "\"%.200s\": expected [SECTION] or KEY = VALUE",
			    s);
	value = equals + 1 + strspn(equals + 1, " \t");
	*equals = '\0';
	trim_end(s);
	if (!p->section)
		return fail(p, s, "\"%.200s\": stands before the first section",
			    s);
	f = find_key(p->section, s);
	if (!f)
		return fail(p, s, "\"%.200s\": no such key in [%s]", s,
			    p->section == &om_peer_object ? "Peer" :
							    "Interface");
	return set_value(p, f, value);
}

static int parse_line(struct parser *p, char *line, size_t len)
{
	char *s = line + strspn(line, " \t\r\n");

	p->line++;
	p->text = line;
	if (strlen(line) != len)
		return fail(p, line + strlen(line), "not a text file");
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

static int check_duplicates(struct parser *p)
{
	ssize_t i = om_prefixes_duplicate(&p->prefixes);
	const struct place *place;
	char buf[OM_PREFIX_LEN];

	if (i < 0)
		return OM_OK;
	place = OM_AT(&p->places, struct place, i);
	om_prefix_format(buf, sizeof(buf),
			 OM_AT(&p->prefixes, struct om_prefix, i));
	om_err(p->err, OM_USAGE,
	       "AllowedIPs: \"%s\": stands twice in the file", buf);
	put_place(p, place->line, place->col);
	return OM_USAGE;
}

static int parse_file(struct parser *p, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = OM_OK;

	while (!rc && (len = getline(&line, &size, f)) >= 0)
		rc = parse_line(p, line, (size_t)len);
	free(line);
	if (!rc && ferror(f))
		rc = om_err_sys(p->err, errno, "%s", p->name);
	if (!rc)
		rc = end_section(p);
	if (!rc)
		rc = check_duplicates(p);
	return rc;
}

int om_config_read(const char *path, struct om_config *conf, struct om_err *err)
{
	bool std = !strcmp(path, "-");
	struct parser p = {
		.name = std ? "(standard input)" : path,
		.conf = conf,
		.err = err,
	};
	FILE *f = std ? stdin : fopen(path, "re");
	int rc;

	memset(conf, 0, sizeof(*conf));
	if (!f)
		return om_err_sys(err, errno, "\"%s\"", path);
	rc = parse_file(&p, f);
	if (!std)
		fclose(f);
	om_list_free(&p.prefixes);
	om_list_free(&p.places);
	if (rc)
		om_config_free(conf);
	return rc;
}

void om_config_free(struct om_config *conf)
{
	om_peers_free(&conf->peers);
}

/*
 * Printing
 */

/* Zero is what these have when nobody sets them. */
static bool is_default(const struct om_field *f, const void *data)
{
	const char *p = om_field_ptr(f, data);

	if (!om_field_has(f, data))
		return true;
	if (f->format == OM_ENUM)
		return false;
	for (size_t i = 0; i < f->size; i++)
		if (p[i])
			return false;
	return true;
}

/* Quoted, unless it cannot be taken for anything else */
static void print_quoted(const char *s)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:/";

	if (!s[strspn(s, plain)]) {
		fputs(s, stdout);
		return;
	}
	putchar('"');
	while (*s) {
		size_t len = om_utf8_len(s);
		unsigned char c = (unsigned char)*s;

		if (!len || c < 0x20 || c == 0x7f) {
			printf("\\x%02x", c);
			len = 1;
		} else if (c == '"' || c == '\\') {
			printf("\\%c", c);
		} else {
			fwrite(s, 1, len, stdout);
		}
		s += len;
	}
	putchar('"');
}

static void print_prefixes(const struct om_field *f, const struct om_list *list)
{
	char buf[OM_PREFIX_LEN];

	for (size_t i = 0; i < list->n; i++) {
		om_prefix_format(buf, sizeof(buf),
				 OM_AT(list, struct om_prefix, i));
		if (i % 8 == 0)
			printf("%s%s = %s", i ? "\n" : "", f->conf, buf);
		else
			printf(", %s", buf);
	}
	if (list->n)
		putchar('\n');
}

static void print_fields(const struct om_object *obj, const void *data)
{
	char buf[OM_VALUE_LEN];

	for (size_t i = 0; i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];

		if (!f->conf || is_default(f, data))
			continue;
		if (f->type == OM_MULTI) {
			print_prefixes(f, om_field_ptr(f, data));
			continue;
		}
		printf("%s = ", f->conf);
		if (f->format == OM_TEXT)
			print_quoted(om_field_ptr(f, data));
		else
			fputs(om_value_format(f, data, buf), stdout);
		putchar('\n');
	}
}

void om_config_print(const struct om_device *dev, const struct om_list *peers)
{
	char buf[4 * IFNAMSIZ + 1];

	printf("# Configuration of %s, for omertactl setconf and syncconf.\n"
	       "# Session keys are never saved: a key must not be used twice.\n"
	       "[Interface]\n", om_escape(buf, sizeof(buf), dev->ifname));
	print_fields(&om_device_object, dev);
	for (size_t i = 0; i < peers->n; i++) {
		puts("\n[Peer]");
		print_fields(&om_peer_object, OM_AT(peers, struct om_peer, i));
	}
}
