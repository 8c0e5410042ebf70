/* SPDX-License-Identifier: GPL-2.0 */
/* Interface between config.c, the parser of lines, and config_keys.c, the table of keys */
#ifndef OM_CONFIG_PARSE_H
#define OM_CONFIG_PARSE_H

#include "lib/config.h"
#include "lib/peer_index.h"

#include <stdio.h>

/* A position in the file */
struct om_place {
	unsigned int line;
	unsigned int col;
};

struct om_parser {
	const char *name;
	const char *dir;		/* base of relative file names */
	enum om_config_flags flags;
	bool exposed;			/* other users may access the file */
	bool writable;			/* its group or other users may write it */
	unsigned int line;
	const char *text;		/* the current line */
	const struct om_object *section;	/* NULL before the first */
	bool lost;			/* the section is invalid */
	void (*mistake)(const char *text);	/* called for each, and reading goes on; or NULL */
	unsigned int mistakes;
	unsigned int interface_line;	/* line of [Interface], or 0 */
	bool private_key_seen;
	struct om_place mark;		/* position of the value of FwMark */
	struct om_place mtu;		/* position of the value of MTU */
	struct om_place cpus;		/* position of the value of Cpus */
	struct om_place kill_switch;	/* position of the value of KillSwitch */
	uint32_t keys_seen;		/* keys of config_keys.c in this section */
	struct om_config *conf;
	struct om_list places;		/* struct om_place of each prefix, over all peers */
	struct om_peer_index seen;	/* ids and public keys */
	struct om_err *err;
};

/* Write an error that begins with the position of @at in the line. */
int om_parser_fail(struct om_parser *p, const char *at, const char *fmt, ...)
	OM_PRINTF(3, 4);
/* Put the position of @at and the name @key in front of an error. */
int om_parser_blame(struct om_parser *p, const char *at, const char *key, int rc);
/* Report a mistake and go on, if all are to be reported. Returns @rc otherwise. */
int om_parser_told(struct om_parser *p, int rc);
void om_parser_put_place(struct om_parser *p, unsigned int line, unsigned int col);

struct om_peer *om_parser_peer(const struct om_parser *p);

/* Quote the name of a key: like OM_QUOTE_N(), and all names of existing keys */
const char *om_parser_quote(char *buf, const char *name, size_t len);
/* Handle KEY = VALUE in the current section; both point into the line. */
int om_parser_set(struct om_parser *p, const char *key, char *value);
/* Check a section at its end. */
int om_parser_end_section(struct om_parser *p);
/* Check the file at its end. */
int om_parser_end(struct om_parser *p);

/*
 * Call @fn for each line of a file, with its newline, until it fails. Lines may hold secrets:
 * all copies here are wiped.
 */
int om_config_lines(FILE *f, const char *name, int (*fn)(void *arg, char *line, size_t len),
		    void *arg, struct om_err *err);
/* Read an open file, as om_config_read(). */
int om_config_read_stream(FILE *f, const char *path, enum om_config_flags flags,
			  struct om_config *conf, struct om_err *err);
/* Return the field of a section that a key sets, or NULL. */
const struct om_field *om_config_field(const struct om_object *section, const char *key);
/* Return true if a section has a key, which may set no field. */
bool om_config_has_key(const struct om_object *section, const char *key);
/* Print a string, with quotes if it would be ambiguous without them. */
void om_config_print_text(FILE *out, const char *s);
/* Print KEY = VALUE. */
void om_config_print_field(FILE *out, const struct om_field *f, const void *data);

#endif
