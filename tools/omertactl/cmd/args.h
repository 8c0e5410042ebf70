/* SPDX-License-Identifier: GPL-2.0 */
/* Command lines: a table of commands, each with a table of its options. */
#ifndef OM_ARGS_H
#define OM_ARGS_H

#include "lib/model.h"

struct om_ctx;
struct om_args;

enum om_opt_kind {
	OM_OPT_FIELD,		/* a field of the command's object */
	OM_OPT_PREFIXES,	/* allowed-ips of the object; may be repeated */
	OM_OPT_PEER,		/* a peer's id or name */
	OM_OPT_FILE,		/* into files[slot] */
	OM_OPT_ALL,		/* a word without a value, for "watch" if slot is OM_WATCH */
	OM_OPT_NUMBER,		/* into numbers[slot], 1 to max */
};

#define OM_ADD_ONLY	1	/* slot of OM_OPT_PREFIXES: none to remove */
#define OM_WATCH	1	/* slot of OM_OPT_ALL: watch instead of all */

struct om_opt {
	const char *name;	/* NULL ends a table */
	const char *alias;
	enum om_opt_kind kind;
	uint8_t attr;
	uint8_t slot;
	bool required;
	uint32_t max;
};

struct om_command {
	const char *object;
	const char *verb;	/* NULL: the object alone is the command */
	const char *pos[2];	/* DEV, FILE or PREFIX; [DEV] may be absent */
	const struct om_object *data;
	const struct om_opt *opts;
	int (*run)(struct om_ctx *ctx, struct om_args *args);
	const char *usage;	/* text after object and verb */
	const char *summary;
	const char *example;	/* text after object and verb */
	bool reads;		/* changes nothing, so its words may be abbreviated */
};

struct om_args {
	const struct om_command *cmd;
	const char *pos[2];
	char own_name[IFNAMSIZ];	/* for pos[0], if a long alternative name was given */
	const char *peer;
	const char *files[2];
	uint32_t numbers[2];	/* 0 where not given */
	bool all;
	bool watch;
	bool help;		/* explain the command instead */
	bool plain;		/* allowed-ips had items without + or - */
	bool sign;		/* ... with */
	bool add_only;
	union {
		uint64_t has;
		struct om_device device;
		struct om_peer peer;
		struct om_key key;
		struct om_bench bench;
	} data;
};

/* "help", "-h" or "--help" */
bool om_is_help(const char *word);

/*
 * Look up an object, and a verb if it has any and argc is 2; both may be abbreviated. *object
 * and *verb get the words of the table, or NULL.
 */
int om_words_find(const struct om_command *table, int argc, const char *const *argv,
		  const char **object, const char **verb, struct om_err *err);

/*
 * Look up the command named by argv[0] (and argv[1], if it has a verb). Only commands that
 * change nothing may be abbreviated. *used gets the number of words.
 */
int om_command_find(const struct om_command *table, int argc, const char *const *argv,
		    const struct om_command **cmd, int *used,
		    struct om_err *err);

/*
 * Parse the words after the command. A word for help that is not the value of an option ends
 * this. Errors do not name the command.
 */
int om_args_parse(const struct om_command *cmd, int argc, char **argv,
		  struct om_args *args, struct om_err *err);
void om_args_free(struct om_args *args);

/* "object verb", or "object" */
const char *om_command_name(const struct om_command *cmd);

/* Print the words that may follow argv, one per line, for the shell's completion. */
void om_args_complete(const struct om_command *table, int argc, char **argv);

#endif
