// SPDX-License-Identifier: GPL-2.0
/*
 * Plugin of ip(8) for "ip link ... type omerta". ip loads it from its library folder, or from
 * IP_LIB_DIR, and has the functions that are declared here.
 */
#include "lib/model.h"
#include "lib/quote.h"
#include "lib/value.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

/* The settings of a device, in the order of the manual */
static const uint8_t settings[] = {
	OMERTA_A_DEVICE_LISTEN_PORT, OMERTA_A_DEVICE_FWMARK, OMERTA_A_DEVICE_CHUNK_SIZE,
	OMERTA_A_DEVICE_POLICY, OMERTA_A_DEVICE_PERCPU_THRESHOLD, OMERTA_A_DEVICE_CPUS,
	OMERTA_A_DEVICE_BATCH, OMERTA_A_DEVICE_DF, OMERTA_A_DEVICE_ENGINE,
	OMERTA_A_DEVICE_CONTROL_RATE, OMERTA_A_DEVICE_CONTROL_SOURCE_RATE,
	OMERTA_A_DEVICE_CONTROL_SHARE, OMERTA_A_DEVICE_CHANNELS,
	OMERTA_A_DEVICE_CHANNEL_PORT,
	OMERTA_A_DEVICE_MAX_MTU,
};

/* Bytes of a request of ip, which has no constant for them */
#define REQUEST_MAX	1024

/* Interface of ip */
struct link_util {
	struct link_util *next;
	const char *id;
	int maxattr;
	int (*parse_opt)(struct link_util *lu, int argc, char **argv, struct nlmsghdr *n);
	void (*print_opt)(struct link_util *lu, FILE *f, struct rtattr *tb[]);
	void (*print_xstats)(struct link_util *lu, FILE *f, struct rtattr *xstats);
	void (*print_help)(struct link_util *lu, int argc, char **argv, FILE *f);
	int (*parse_ifla_xstats)(struct link_util *lu, int argc, char **argv);
	int (*print_ifla_xstats)(struct nlmsghdr *n, void *arg);
};

typedef struct json_writer json_writer_t;

bool is_json_context(void);
json_writer_t *get_json_writer(void);
void jsonw_uint_field(json_writer_t *w, const char *name, unsigned int value);
void jsonw_string_field(json_writer_t *w, const char *name, const char *value);
int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen);

extern struct link_util omerta_link_util;

static void print_help(struct link_util *lu, int argc, char **argv, FILE *f)
{
	(void)argc;
	(void)argv;
	fprintf(f,
		"Usage: ... %s [ listen-port PORT ] [ fwmark MARK|off ] [ chunk-size BYTES ]\n"
		"\t[ policy auto|inline|percpu ] [ percpu-threshold BYTES ] [ cpus LIST|all ]\n"
		"\t[ batch on|off ] [ df unset|set|inherit ] [ engine auto|lib|NAME ]\n"
		"\t[ control-rate N ] [ control-source-rate N ] [ control-share 1..16 ]\n"
		"\t[ channels 1..64 ] [ channel-port PORT ]\n\n"
		"Peers and keys are set by omertactl(8), which also explains each setting.\n",
		lu->id);
}

static const struct om_field *find_setting(const char *name)
{
	for (size_t i = 0; i < OM_ARRAY_SIZE(settings); i++) {
		const struct om_field *f = om_field_get(&om_device_object, settings[i]);

		if (settings[i] != OMERTA_A_DEVICE_MAX_MTU && !strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static int put_setting(struct nlmsghdr *n, const struct om_field *f, const struct om_device *d)
{
	uint64_t value = f->type == OM_STR ? 0 : om_field_uint(f, d);
	uint16_t half = (uint16_t)value;
	uint32_t word = (uint32_t)value;
	const char *text = om_field_ptr(f, d);

	if (f->type == OM_STR)
		return addattr_l(n, REQUEST_MAX, f->attr, text, (int)strlen(text) + 1);
	if (f->type == OM_U16)
		return addattr_l(n, REQUEST_MAX, f->attr, &half, sizeof(half));
	return addattr_l(n, REQUEST_MAX, f->attr, &word, sizeof(word));
}

static int parse_opt(struct link_util *lu, int argc, char **argv, struct nlmsghdr *n)
{
	struct om_device dev = { 0 };
	const struct om_field *f;
	struct om_err err = { 0 };

	for (; argc > 0; argc -= 2, argv += 2) {
		if (!strcmp(*argv, "help")) {
			print_help(lu, argc, argv, stderr);
			return -1;
		}
		f = find_setting(*argv);
		if (!f) {
			fprintf(stderr, "omerta: unknown option %s; see ip link help omerta\n",
				OM_QUOTE(*argv));
			return -1;
		}
		if (om_field_has(f, &dev)) {
			fprintf(stderr, "omerta: %s is given twice\n", f->name);
			return -1;
		}
		if (argc < 2) {
			fprintf(stderr, "omerta: %s wants a value\n", f->name);
			return -1;
		}
		if (om_value_parse(f, argv[1], &dev, &err)) {
			fprintf(stderr, "omerta: %s: %s\n", f->name, err.text);
			return -1;
		}
		if (put_setting(n, f, &dev)) {
			fprintf(stderr, "omerta: %s is too long for ip; use omertactl link set\n",
				f->name);
			return -1;
		}
	}
	return 0;
}

/* Store an attribute of the kernel's. Returns false if it is not as expected. */
static bool get_setting(const struct om_field *f, const struct rtattr *a, struct om_device *d)
{
	const void *data = RTA_DATA(a);
	size_t len = RTA_PAYLOAD(a);
	uint16_t half;
	uint32_t word;

	if (f->type == OM_STR) {
		if (!len || len > f->size || ((const char *)data)[len - 1])
			return false;
		memcpy((char *)d + f->offset, data, len);
		om_field_set(f, d);
	} else if (len == sizeof(half)) {
		memcpy(&half, data, sizeof(half));
		om_field_store(f, d, half);
	} else if (len == sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		om_field_store(f, d, word);
	} else {
		return false;
	}
	return true;
}

static void print_opt(struct link_util *lu, FILE *out, struct rtattr *tb[])
{
	struct om_device dev = { 0 };
	char buf[OM_VALUE_LEN];

	(void)lu;
	for (size_t i = 0; tb && i < OM_ARRAY_SIZE(settings); i++) {
		const struct om_field *f = om_field_get(&om_device_object, settings[i]);

		if (!tb[f->attr] || !get_setting(f, tb[f->attr], &dev))
			continue;
		if (!is_json_context())
			fprintf(out, "%s %s ", f->name, om_value_format(f, &dev, buf));
		else if (om_value_is_number(f))
			jsonw_uint_field(get_json_writer(), f->name,
					 (unsigned int)om_field_uint(f, &dev));
		else
			jsonw_string_field(get_json_writer(), f->name,
					   om_value_format(f, &dev, buf));
	}
}

__attribute__((visibility("default"))) struct link_util omerta_link_util = {
	.id = "omerta",
	.maxattr = OMERTA_A_DEVICE_MAX,
	.parse_opt = parse_opt,
	.print_opt = print_opt,
	.print_help = print_help,
};
