/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quoting in messages. A key can stand anywhere by mistake: in the place of a number, of a
 * file's name, of a command. So text is shown only where it is recognised.
 */
#ifndef OM_QUOTE_H
#define OM_QUOTE_H

#include "lib/base.h"

#include <string.h>

/* The longest text that is shown, with quotes and NUL */
#define OM_QUOTE_LEN	211

/*
 * "text" if it is made of words, numbers and addresses and cannot hold a piece of a key,
 * otherwise a remark that it is not shown. Lives as long as the block it stands in.
 */
#define OM_QUOTE_BUF		((char[OM_QUOTE_LEN]){ "" })
#define OM_QUOTE_N(text, len)	om_quote(OM_QUOTE_BUF, text, len)
#define OM_QUOTE(text)		OM_QUOTE_N(text, strlen(text))
/* The same for a file's name, of which those parts need not be harmless that exist */
#define OM_QUOTE_FILE(path)	om_quote_file(OM_QUOTE_BUF, path)

const char *om_quote(char *buf, const char *text, size_t len);
const char *om_quote_file(char *buf, const char *path);

/* Returns true if a key in base64 may stand in @text. */
bool om_holds_key(const char *text);
/* Overwrite what may be a key with asterisks. */
void om_hide_keys(char *text);

#endif
