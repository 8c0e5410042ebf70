/* SPDX-License-Identifier: GPL-2.0 */
/* Between config.c, which reads lines, and config_keys.c, which knows what they mean */
#ifndef OM_CONFIG_PARSE_H
#define OM_CONFIG_PARSE_H

#include "lib/config.h"
#include "lib/peer_index.h"

/* Where something stands in the file */
struct om_place {
	unsigned int line;
	unsigned int col;
};

struct om_parser {
	const char *name;
	const char *dir;		/* that file names are relative to */
	enum om_config_flags flags;
	bool exposed;			/* the file may be accessed by others */
	unsigned int line;
	const char *text;		/* of the line */
	const struct om_object *section;	/* NULL before the first */
	bool lost;			/* in a section that is no good */
	bool all;			/* mistakes are told, not only the first */
	unsigned int mistakes;
	bool interface_seen;
	unsigned int mark_line;		/* of FwMark */
	uint32_t keys_seen;		/* of this section's in config_keys.c */
	struct om_config *conf;
	struct om_list places;		/* of all peers' prefixes, struct om_place */
	struct om_peer_index seen;	/* ids and public keys */
	struct om_err *err;
};

/* Where @at is in the line becomes the beginning of the error. */
int om_parser_fail(struct om_parser *p, const char *at, const char *fmt, ...)
	OM_PRINTF(3, 4);
/* The same for an error that is written, about the key @key */
int om_parser_blame(struct om_parser *p, const char *at, const char *key, int rc);
void om_parser_put_place(struct om_parser *p, unsigned int line, unsigned int col);

struct om_peer *om_parser_peer(const struct om_parser *p);

/* A key's name as OM_QUOTE_N() does it, and all that there are, as they are spelt */
const char *om_parser_quote(char *buf, const char *name, size_t len);
/* KEY = VALUE of the section at hand; both are in the line */
int om_parser_set(struct om_parser *p, const char *key, char *value);
/* A section ends. */
int om_parser_end_section(struct om_parser *p);
/* The file ends. */
int om_parser_end(struct om_parser *p);

#endif
