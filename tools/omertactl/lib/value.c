// SPDX-License-Identifier: GPL-2.0
#include "lib/value.h"

#include "lib/addr.h"
#include "lib/cpus.h"
#include "lib/keygen.h"
#include "lib/quote.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t type_max(const struct om_field *f)
{
	if (f->max)
		return f->max;
	return f->size == 8 ? UINT64_MAX : (1ULL << (8 * f->size)) - 1;
}

int om_uint_parse(const char *text, uint64_t *v)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	char *end;

	if (!isxdigit((unsigned char)*digits))
		return OM_USAGE;
	errno = 0;
	*v = strtoull(digits, &end, hex ? 16 : 10);
	return *end || end == digits || errno ? OM_USAGE : OM_OK;
}

static int parse_uint(const struct om_field *f, const char *text, void *data,
		      struct om_err *err)
{
	uint64_t max = type_max(f), v;

	if ((f->format == OM_SECS_OFF || f->format == OM_HEX_OFF) &&
	    !strcmp(text, "off"))
		v = 0;
	else if (om_uint_parse(text, &v) || v < f->min || v > max)
		return om_err(err, OM_USAGE,
			      "must be a number %" PRIu64 "..%" PRIu64,
			      f->min, max);
	if (f->format == OM_CHUNK && (v & (v - 1)))
		return om_err(err, OM_USAGE,
			      "must be 512, 1024, 2048, ... or 65536");
	om_field_store(f, data, v);
	return OM_OK;
}

static int parse_enum(const struct om_field *f, const char *text, void *data,
		      struct om_err *err)
{
	char all[128] = "";

	for (uint64_t i = 0; f->names[i]; i++) {
		if (!strcmp(text, f->names[i])) {
			om_field_store(f, data, i);
			return OM_OK;
		}
		if (i)
			strncat(all, f->names[i + 1] ? ", " : " or ",
				sizeof(all) - strlen(all) - 1);
		strncat(all, f->names[i], sizeof(all) - strlen(all) - 1);
	}
	return om_err(err, OM_USAGE, "must be %s", all);
}

static int check_ifname(const char *name, size_t size, struct om_err *err)
{
	if (!*name || strlen(name) >= size)
		return om_err(err, OM_USAGE,
			      "a device name has 1..%zu characters", size - 1);
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return om_err(err, OM_USAGE, "not a device name");
	if (*name == '-')
		return om_err(err, OM_USAGE, "a device name does not begin with -");
	for (; *name; name++)
		if (*name == '/' || *name == ':' ||
		    isspace((unsigned char)*name) ||
		    iscntrl((unsigned char)*name))
			return om_err(err, OM_USAGE,
				      "a device name has no slash, colon or white space");
	return OM_OK;
}

int om_ifname_check(const char *name, struct om_err *err)
{
	return check_ifname(name, IFNAMSIZ, err);
}

int om_altname_check(const char *name, struct om_err *err)
{
	/* ALTIFNAMSIZ of a header that clashes with net/if.h */
	return check_ifname(name, 128, err);
}

int om_ifname_check_file(const char *name, struct om_err *err)
{
	int rc = om_ifname_check(name, err);

	if (!rc && name[strspn(name, ALNUM "_=+.-")])
		rc = om_err(err, OM_USAGE,
			    "a device name has letters, digits and the characters _=+.- only");
	return rc;
}

static int check_name(const char *text, struct om_err *err)
{
	const char *start = text;

	while (*text) {
		size_t len = om_utf8_len(text);

		if (!len || (len == 1 && iscntrl((unsigned char)*text)))
			return om_err(err, OM_USAGE,
				      "must be UTF-8 without control characters");
		text += len;
	}
	/* It would be taken for an option on a command line. */
	if (*start == '-')
		return om_err(err, OM_USAGE, "a name does not begin with -");
	/* Names are visible to all users. */
	if (om_holds_key(start))
		return om_err(err, OM_USAGE, "a key cannot be a name");
	return OM_OK;
}

static int parse_str(const struct om_field *f, const char *text, void *data,
		     struct om_err *err)
{
	int rc = OM_OK;

	if (strlen(text) >= f->size)
		return om_err(err, OM_USAGE, "longer than %d bytes",
			      f->size - 1);
	if (f->format == OM_IFNAME)
		rc = om_ifname_check(text, err);
	else if (f->format == OM_CPUS)
		rc = om_cpus_check(text, err);
	else
		rc = check_name(text, err);
	if (rc)
		return rc;
	memset((char *)data + f->offset, 0, f->size);
	strcpy((char *)data + f->offset, text);
	om_field_set(f, data);
	return OM_OK;
}

static int parse_base64(const struct om_field *f, const char *text, void *data,
			struct om_err *err)
{
	uint8_t *key = (uint8_t *)data + f->offset;
	int rc = OM_OK;

	if (!strcmp(text, "none"))
		memset(key, 0, f->size);
	else
		rc = om_base64_decode(key, text, err);
	if (!rc && !om_key_is_zero(key) && om_key_is_weak(key))
		rc = om_err(err, OM_USAGE, "no private key has this public key");
	if (!rc)
		om_field_set(f, data);
	return rc;
}

int om_value_parse(const struct om_field *f, const char *text, void *data,
		   struct om_err *err)
{
	int rc;

	if (f->format == OM_ENDPOINT)
		return om_endpoint_parse(text, data, err);
	if (f->format == OM_ENUM)
		rc = parse_enum(f, text, data, err);
	else if (f->type == OM_STR)
		rc = parse_str(f, text, data, err);
	else if (f->format == OM_BASE64)
		rc = parse_base64(f, text, data, err);
	else
		rc = parse_uint(f, text, data, err);
	if (rc)
		om_err_prefix(err, "%s", OM_QUOTE(text));
	return rc;
}

bool om_value_is_number(const struct om_field *f)
{
	return f->type <= OM_UINT && f->format != OM_ENUM;
}

static void format_enum(const struct om_field *f, uint64_t v, char *buf)
{
	for (uint64_t i = 0; f->names[i]; i++) {
		if (i == v) {
			strcpy(buf, f->names[i]);
			return;
		}
	}
	/* Newer kernels may have more values. */
	snprintf(buf, OM_VALUE_LEN, "unknown-%" PRIu64, v);
}

static void format_uint(const struct om_field *f, const void *data, char *buf)
{
	uint64_t v = om_field_uint(f, data);

	switch (f->format) {
	case OM_ENUM:
		format_enum(f, v, buf);
		return;
	case OM_HEX:
		snprintf(buf, OM_VALUE_LEN, "0x%" PRIx64, v);
		return;
	case OM_HEX_OFF:
		snprintf(buf, OM_VALUE_LEN, v ? "0x%" PRIx64 : "off", v);
		return;
	case OM_SECS_OFF:
		snprintf(buf, OM_VALUE_LEN, v ? "%" PRIu64 : "off", v);
		return;
	case OM_MSEC:
		snprintf(buf, OM_VALUE_LEN, "%" PRIu64 ".%03u", v / 1000,
			 (unsigned int)(v % 1000));
		return;
	default:
		snprintf(buf, OM_VALUE_LEN, "%" PRIu64, v);
	}
}

char *om_value_format(const struct om_field *f, const void *data, char *buf)
{
	const void *p = om_field_ptr(f, data);

	switch (f->type) {
	case OM_STR:
		return om_escape(buf, OM_VALUE_LEN, p);
	case OM_BIN:
		om_base64_encode(buf, p);
		return buf;
	case OM_ADDR:
		if (f->format == OM_ENDPOINT)
			om_endpoint_format(buf, OM_VALUE_LEN, data);
		else
			om_addr_format(buf, OM_VALUE_LEN, p);
		return buf;
	case OM_FLAG:
		strcpy(buf, "yes");
		return buf;
	default:
		format_uint(f, data, buf);
		return buf;
	}
}
