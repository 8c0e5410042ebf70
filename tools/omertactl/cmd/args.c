// SPDX-License-Identifier: GPL-2.0
#include "cmd/args.h"

#include "cmd/cmd.h"

#include "lib/addr.h"
#include "lib/quote.h"
#include "lib/rtnl.h"
#include "lib/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *om_command_name(const struct om_command *cmd)
{
	static char buf[64];

	snprintf(buf, sizeof(buf), "%s%s%s", cmd->object, cmd->verb ? " " : "",
		 cmd->verb ? cmd->verb : "");
	return buf;
}

/*
 * Commands
 */

/* Return the object of a command, or its verb if @object is given. */
static const char *word_of(const struct om_command *c, const char *object)
{
	if (!object)
		return c->object;
	return strcmp(c->object, object) ? NULL : c->verb;
}

static bool seen_before(const struct om_command *table,
			const struct om_command *c, const char *object)
{
	for (const struct om_command *t = table; t < c; t++) {
		const char *word = word_of(t, object);

		if (word && !strcmp(word, word_of(c, object)))
			return true;
	}
	return false;
}

/* Find a word: an exact match, or a unique prefix. */
static int find_word(const struct om_command *table, const char *object,
		     const char *text, const char **found, struct om_err *err)
{
	char all[256] = "";
	unsigned int n = 0;

	for (const struct om_command *c = table; c->object; c++) {
		const char *word = word_of(c, object);

		if (!word || strncmp(word, text, strlen(text)) ||
		    seen_before(table, c, object))
			continue;
		*found = word;
		if (!strcmp(word, text))
			return OM_OK;
		if (n++)
			strncat(all, ", ", sizeof(all) - strlen(all) - 1);
		strncat(all, word, sizeof(all) - strlen(all) - 1);
	}
	if (n == 1 && *text)
		return OM_OK;
	if (n && *text)
		return om_err(err, OM_USAGE, "%s: may be %s", OM_QUOTE(text), all);
	return om_err(err, OM_USAGE, "%s: no such %s, see omertactl help%s%s",
		      OM_QUOTE(text), object ? "command" : "object", object ? " " : "",
		      object ? object : "");
}

static const struct om_command *find_exact(const struct om_command *table,
					   const char *object, const char *verb)
{
	for (; table->object; table++)
		if (!strcmp(table->object, object) &&
		    (!verb || (table->verb && !strcmp(table->verb, verb))))
			return table;
	return NULL;
}

bool om_is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "-h") || !strcmp(word, "--help");
}

int om_words_find(const struct om_command *table, int argc, const char *const *argv,
		  const char **object, const char **verb, struct om_err *err)
{
	int rc = find_word(table, NULL, argv[0], object, err);

	*verb = NULL;
	if (rc || argc < 2 || !find_exact(table, *object, NULL)->verb)
		return rc;
	rc = find_word(table, *object, argv[1], verb, err);
	if (rc)
		om_err_prefix(err, "%s", *object);
	return rc;
}

int om_command_find(const struct om_command *table, int argc, const char *const *argv,
		    const struct om_command **cmd, int *used,
		    struct om_err *err)
{
	const char *object, *verb;
	int rc;

	if (argc < 1)
		return om_err(err, OM_USAGE, "an object is missing, see omertactl help");
	rc = om_words_find(table, argc, argv, &object, &verb, err);
	if (rc)
		return rc;
	*cmd = find_exact(table, object, verb);
	*used = verb ? 2 : 1;
	if ((*cmd)->verb && !verb)
		return om_err(err, OM_USAGE,
			      "%s: a command is missing, see omertactl help %s",
			      object, object);
	if (!(*cmd)->reads && (strcmp(argv[0], object) || (verb && strcmp(argv[1], verb))))
		return om_err(err, OM_USAGE,
			      "%s%s%s: write \"%s\" in full: commands that change something are not abbreviated",
			      OM_QUOTE(argv[0]), verb ? " " : "", verb ? OM_QUOTE(argv[1]) : "",
			      om_command_name(*cmd));
	return OM_OK;
}

/*
 * allowed-ips
 */

static int add_item(struct om_args *args, const char *item, size_t len,
		    struct om_err *err)
{
	bool sign = len && (*item == '+' || *item == '-');
	bool add = args->add_only;
	struct om_prefix *p, prefix;
	int rc;

	if (add && sign && *item == '-')
		return om_err(err, OM_USAGE,
			      "%s: a new peer has no prefix to remove",
			      OM_QUOTE_N(item, len));
	rc = om_prefix_parse(item + sign, len - sign, &prefix, err);
	if (rc)
		return rc;
	if (sign && *item == '-') {
		prefix.flags = OMERTA_ALLOWED_IP_FLAGS_REMOVE;
		prefix.has |= OM_BIT(OMERTA_A_ALLOWED_IP_FLAGS);
	}
	*(sign ? &args->sign : &args->plain) = true;
	if (args->sign && args->plain && !add)
		return om_err(err, OM_USAGE,
			      "%s: either all prefixes have a + or -, or none has",
			      OM_QUOTE_N(item, len));
	p = om_list_add(&args->data.peer.allowed_ips, sizeof(*p));
	*p = prefix;
	args->data.has |= OM_BIT(OMERTA_A_PEER_ALLOWED_IPS);
	return OM_OK;
}

static int add_items(struct om_args *args, const char *text,
		     const char *separators, struct om_err *err)
{
	const char *item;
	size_t len;
	int rc = OM_OK;

	/* An empty list is valid: it removes all prefixes. */
	if (!text[strspn(text, " \t\r\n")]) {
		args->plain = true;
		return OM_OK;
	}
	while (!rc && om_list_item(&text, separators, &item, &len))
		rc = add_item(args, item, len, err);
	return rc;
}

/* Add the items of a file, for lists that are too long for a command line. */
static int add_items_of_file(struct om_args *args, const char *path,
			     struct om_err *err)
{
	bool std = !strcmp(path, "-");
	FILE *f = std ? stdin : fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int rc;

	if (!f)
		return om_err_sys(err, errno, "@%s", OM_QUOTE_FILE(path));
	len = getdelim(&text, &size, '\0', f);
	if (len < 0 && ferror(f))
		rc = om_err_sys(err, errno, "@%s", OM_QUOTE_FILE(path));
	else
		rc = add_items(args, len < 0 ? "" : text, ", \t\r\n", err);
	free(text);
	if (!std)
		fclose(f);
	return rc;
}

static int parse_prefixes(struct om_args *args, const char *text,
			  struct om_err *err)
{
	int rc;

	if (*text == '@')
		rc = add_items_of_file(args, text + 1, err);
	else
		rc = add_items(args, text, ",", err);
	return rc;
}

static int check_prefixes(const struct om_args *args, struct om_err *err)
{
	const struct om_list one = { .v = (void *)&args->data.peer, .n = 1 };
	const struct om_prefix *twice;
	char buf[OM_PREFIX_LEN];
	size_t nth;

	if (args->cmd->data != &om_peer_object)
		return OM_OK;
	twice = om_prefixes_duplicate(&one, &nth);
	if (!twice)
		return OM_OK;
	om_prefix_format(buf, sizeof(buf), twice);
	return om_err(err, OM_USAGE, "allowed-ips: \"%s\": given twice", buf);
}

/*
 * Options
 */

static const struct om_opt *find_opt(const struct om_command *cmd,
				     const char *name)
{
	for (const struct om_opt *o = cmd->opts; o && o->name; o++)
		if (!strcmp(o->name, name) ||
		    (o->alias && !strcmp(o->alias, name)))
			return o;
	return NULL;
}

static bool opt_given(const struct om_opt *o, const struct om_args *args)
{
	switch (o->kind) {
	case OM_OPT_FIELD:
		return args->data.has & OM_BIT(o->attr);
	case OM_OPT_PREFIXES:
		return args->plain || args->sign;
	case OM_OPT_PEER:
		return args->peer;
	case OM_OPT_FILE:
		return args->files[o->slot];
	case OM_OPT_NUMBER:
		return args->numbers[o->slot];
	default:
		return o->slot == OM_WATCH ? args->watch : args->all;
	}
}

static void set_word(const struct om_opt *o, struct om_args *args)
{
	*(o->slot == OM_WATCH ? &args->watch : &args->all) = true;
}

static int parse_number(const struct om_opt *o, const char *value,
			struct om_args *args, struct om_err *err)
{
	uint64_t v;

	if (om_uint_parse(value, &v) || !v || v > o->max)
		return om_err(err, OM_USAGE, "%s: must be a number 1..%u",
			      OM_QUOTE(value), o->max);
	args->numbers[o->slot] = (uint32_t)v;
	return OM_OK;
}

static int parse_value(const struct om_opt *o, const char *value,
		       struct om_args *args, struct om_err *err)
{
	switch (o->kind) {
	case OM_OPT_FIELD:
		return om_value_parse(om_field_get(args->cmd->data, o->attr),
				      value, &args->data, err);
	case OM_OPT_PREFIXES:
		args->add_only = o->slot == OM_ADD_ONLY;
		return parse_prefixes(args, value, err);
	case OM_OPT_PEER:
		if (!*value)
			return om_err(err, OM_USAGE, "\"\": a peer's id or name");
		args->peer = value;
		return OM_OK;
	case OM_OPT_NUMBER:
		return parse_number(o, value, args, err);
	default:
		args->files[o->slot] = value;
		return OM_OK;
	}
}

/* Parse an option. Returns the number of words used, or 0 with *rc set. */
static int parse_opt(int argc, char **argv, struct om_args *args, int *rc,
		     struct om_err *err)
{
	const struct om_opt *o = find_opt(args->cmd, argv[0]);

	if (!o) {
		*rc = om_err(err, OM_USAGE, "%s: unknown option",
			     OM_QUOTE(argv[0]));
		return 0;
	}
	if (opt_given(o, args) && o->kind != OM_OPT_PREFIXES)
		*rc = om_err(err, OM_USAGE, "given twice");
	else if (o->kind == OM_OPT_ALL)
		set_word(o, args);
	else if (argc < 2)
		*rc = om_err(err, OM_USAGE, "a value is missing");
	else
		*rc = parse_value(o, argv[1], args, err);
	if (*rc) {
		om_err_prefix(err, "%s", argv[0]);
		return 0;
	}
	return o->kind == OM_OPT_ALL ? 1 : 2;
}

static int check_required(const struct om_args *args, struct om_err *err)
{
	for (const struct om_opt *o = args->cmd->opts; o && o->name; o++)
		if (o->required && !opt_given(o, args))
			return om_err(err, OM_USAGE,
				      "%s is missing (usage: omertactl %s %s)",
				      o->name, om_command_name(args->cmd),
				      args->cmd->usage);
	return OM_OK;
}

static bool is_device(const char *what)
{
	return strstr(what, "DEV") || !strcmp(what, "NAME");
}

/* Check a device's name, and replace a long alternative name by the device's own. */
static int check_device(const char *what, size_t i, struct om_args *args, struct om_err *err)
{
	if (!strcmp(what, "NAME") || strlen(args->pos[i]) < IFNAMSIZ)
		return om_ifname_check(args->pos[i], err);
	if (om_altname_check(args->pos[i], err))
		return OM_USAGE;
	if (!om_rtnl_own_name(args->pos[i], args->own_name))
		return om_err(err, OM_SYSTEM, "no device has this alternative name");
	args->pos[i] = args->own_name;
	return OM_OK;
}

/* Parse the positions. Returns the number of words used, or a status, negated, with @err set. */
static int parse_pos(int argc, char **argv, struct om_args *args,
		     struct om_err *err)
{
	const struct om_command *cmd = args->cmd;
	int used = 0, rc;

	for (size_t i = 0; i < OM_ARRAY_SIZE(cmd->pos) && cmd->pos[i]; i++) {
		const char *what = cmd->pos[i];
		bool optional = *what == '[';

		if (used < argc && om_is_help(argv[used])) {
			args->help = strcmp(cmd->object, "help");
			break;
		}
		for (; used < argc && *argv[used] == '-' && find_opt(cmd, argv[used]); used++)
			set_word(find_opt(cmd, argv[used]), args);
		if (is_device(what) && used + 1 < argc &&
		    !strcmp(argv[used], "dev"))
			used++;
		else if (optional &&
			 (used >= argc || find_opt(cmd, argv[used])))
			continue;
		if (used >= argc) {
			om_err(err, OM_USAGE,
			       "%s is missing (usage: omertactl %s %s)", what,
			       om_command_name(cmd), cmd->usage);
			return -OM_USAGE;
		}
		args->pos[i] = argv[used++];
		if (is_device(what)) {
			rc = check_device(what, i, args, err);
			if (rc) {
				om_err_prefix(err, "%s", OM_QUOTE(args->pos[i]));
				return -rc;
			}
		}
	}
	return used;
}

int om_args_parse(const struct om_command *cmd, int argc, char **argv,
		  struct om_args *args, struct om_err *err)
{
	int rc = OM_OK, n;

	memset(args, 0, sizeof(*args));
	args->cmd = cmd;
	for (n = 0; n < argc && !args->help; n++)
		args->help = *argv[n] == '-' && om_is_help(argv[n]);
	if (args->help)
		return OM_OK;
	n = parse_pos(argc, argv, args, err);
	if (n < 0)
		return -n;
	for (; n < argc && !rc && !args->help; n += parse_opt(argc - n, argv + n, args, &rc, err))
		args->help = om_is_help(argv[n]);
	if (args->help)
		return OM_OK;
	if (!rc)
		rc = check_required(args, err);
	if (!rc)
		rc = check_prefixes(args, err);
	if (rc)
		om_args_free(args);
	return rc;
}

void om_args_free(struct om_args *args)
{
	if (args->cmd && args->cmd->data == &om_peer_object)
		om_list_free(&args->data.peer.allowed_ips);
}

/*
 * Completion
 */

static void complete_words(const struct om_command *table, const char *object)
{
	for (const struct om_command *c = table; c->object; c++) {
		const char *word = word_of(c, object);

		if (word && *word != '_' && !seen_before(table, c, object))
			puts(word);
	}
}

/* Print the words of a list that has bars between them. */
static void complete_list(const char *words)
{
	for (; *words; words++)
		putchar(*words == '|' ? '\n' : *words);
	putchar('\n');
}

/* Other machines' engines would be refused. */
#if defined(__x86_64__)
#define ENGINES	"auto\nlib\nmb-avx512ifma\nmb-avx512vl\nmb-avx2\nmb-ssse3\nmb-sse2"
#elif defined(__aarch64__)
#define ENGINES	"auto\nlib\nmb-neon"
#else
#define ENGINES	"auto\nlib"
#endif

static void complete_value(const struct om_command *cmd, const struct om_opt *o)
{
	const struct om_field *f;

	if (o->kind == OM_OPT_PEER)
		puts("PEER");
	if (o->kind == OM_OPT_FILE)
		puts("FILE");
	if (o->kind == OM_OPT_PREFIXES)
		puts("@FILE");
	if (o->kind != OM_OPT_FIELD)
		return;
	f = om_field_get(cmd->data, o->attr);
	for (size_t i = 0; f->names && f->names[i]; i++)
		puts(f->names[i]);
	if (f->format == OM_SECS_OFF || f->format == OM_HEX_OFF)
		puts("off");
	if (f->format == OM_CPUS)
		puts("all");
	if (cmd->data == &om_device_object && o->attr == OMERTA_A_DEVICE_ENGINE)
		puts(ENGINES);
	if (f->format == OM_CHUNK)
		for (uint64_t v = f->min; v <= f->max; v *= 2)
			printf("%llu\n", (unsigned long long)v);
}

/*
 * The words so far determine the candidates: objects, verbs, positions, options. DEV, PEER,
 * CONF and FILE in capitals ask the caller for names of that kind, @FILE for those of files after
 * an @.
 */
void om_args_complete(const struct om_command *table, int argc, char **argv)
{
	const struct om_command *cmd;
	const struct om_opt *o;
	struct om_err err;
	int used, n = 0;

	if (!argc) {
		complete_words(table, NULL);
		return;
	}
	if (om_command_find(table, argc, (const char *const *)argv, &cmd, &used, &err)) {
		if (argc == 1 && !find_word(table, NULL, argv[0],
					    &(const char *){ NULL }, &err)) {
			const char *object;

			find_word(table, NULL, argv[0], &object, &err);
			complete_words(table, object);
		}
		return;
	}
	argc -= used;
	argv += used;
	while (n < 2 && cmd->pos[n])
		n++;
	if (argc < n) {
		if (!strcmp(cmd->object, "help"))
			complete_words(table, argc ? argv[0] : NULL);
		else if (!strcmp(cmd->pos[argc], "[FIELD]"))
			complete_list(OM_SHOW_FIELDS);
		else
			puts(strstr(cmd->pos[argc], "DEV") ? "DEV" :
			     strcmp(cmd->pos[argc], "CONF") ? "FILE" : "CONF");
		if (*cmd->pos[argc] != '[')
			return;
	}
	o = argc > n ? find_opt(cmd, argv[argc - 1]) : NULL;
	if (o && o->kind != OM_OPT_ALL && (argc - n) % 2) {
		complete_value(cmd, o);
		return;
	}
	for (o = cmd->opts; o && o->name; o++)
		puts(o->name);
}
