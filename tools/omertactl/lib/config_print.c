// SPDX-License-Identifier: GPL-2.0
#include "lib/config_parse.h"

#include "lib/addr.h"
#include "lib/value.h"

#include <inttypes.h>
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

void om_config_print_text(FILE *out, const char *s)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:/";

	if (!s[strspn(s, plain)]) {
		fputs(s, out);
		return;
	}
	putc('"', out);
	while (*s) {
		size_t len = om_utf8_len(s);
		unsigned char c = (unsigned char)*s;

		if (!len || c < 0x20 || c == 0x7f) {
			fprintf(out, "\\x%02x", c);
			len = 1;
		} else if (c == '"' || c == '\\') {
			fprintf(out, "\\%c", c);
		} else {
			fwrite(s, 1, len, out);
		}
		s += len;
	}
	putc('"', out);
}

static void print_prefixes(FILE *out, const struct om_field *f, const struct om_list *list)
{
	char buf[OM_PREFIX_LEN];

	for (size_t i = 0; i < list->n; i++) {
		om_prefix_format(buf, sizeof(buf),
				 OM_AT(list, struct om_prefix, i));
		if (i % 8 == 0)
			fprintf(out, "%s%s = %s", i ? "\n" : "", f->conf, buf);
		else
			fprintf(out, ", %s", buf);
	}
	if (list->n)
		putc('\n', out);
}

void om_config_print_field(FILE *out, const struct om_field *f, const void *data)
{
	char buf[OM_VALUE_LEN];

	if (f->type == OM_MULTI) {
		print_prefixes(out, f, om_field_ptr(f, data));
		return;
	}
	fprintf(out, "%s = ", f->conf);
	/* The kernel says 0 for one channel. */
	if (om_value_is_number(f) && om_field_uint(f, data) < f->min)
		fprintf(out, "%" PRIu64, (uint64_t)f->min);
	else if (f->format == OM_TEXT)
		om_config_print_text(out, om_field_ptr(f, data));
	else
		fputs(om_value_format(f, data, buf), out);
	putc('\n', out);
}

static void print_fields(const struct om_object *obj, const void *data)
{
	for (size_t i = 0; i < obj->fields; i++)
		if (obj->field[i].conf && !is_default(&obj->field[i], data))
			om_config_print_field(stdout, &obj->field[i], data);
}

void om_config_print(const struct om_device *dev, const struct om_list *peers)
{
	char buf[4 * IFNAMSIZ + 1];

	printf("# Configuration of %s, for omertactl setconf and syncconf. The kernel does not know, and\n"
	       "# so this leaves out: PrivateKey and PrivateKeyFile, Address, MTU, Table, PresharedKey and\n"
	       "# PresharedKeyFile, PostQuantum and names of endpoints. \"omertactl save\" keeps them.\n"
	       "# Session keys are never saved: a key must not be used twice.\n"
	       "[Interface]\n", om_escape(buf, sizeof(buf), dev->ifname));
	print_fields(&om_device_object, dev);
	for (size_t i = 0; i < peers->n; i++) {
		puts("\n[Peer]");
		print_fields(&om_peer_object, OM_AT(peers, struct om_peer, i));
	}
}
