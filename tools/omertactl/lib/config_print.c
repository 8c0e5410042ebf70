// SPDX-License-Identifier: GPL-2.0
#include "lib/config.h"

#include "lib/addr.h"
#include "lib/value.h"

#include <stdio.h>
#include <string.h>

/* Return true for a field that has its default value. All defaults are zero, except enums. */
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

/* Print a string, with quotes if it would be ambiguous without them. */
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
