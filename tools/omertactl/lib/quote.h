/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Quoting of user input in messages. By mistake a key may be anywhere: in place of a number,
 * a file name, a command. So only text that is recognised as harmless is shown.
 */
#ifndef OM_QUOTE_H
#define OM_QUOTE_H

#include "lib/base.h"

#include <string.h>

/* The longest text that is shown, with quotes and NUL */
#define OM_QUOTE_LEN	211

/*
 * Return "text" if it consists of words, numbers and addresses and cannot contain a part of
 * a key; otherwise a remark that it is not shown. Valid until the end of the block.
 */
#define OM_QUOTE_BUF		((char[OM_QUOTE_LEN]){ "" })
#define OM_QUOTE_N(text, len)	om_quote(OM_QUOTE_BUF, text, len)
#define OM_QUOTE(text)		OM_QUOTE_N(text, strlen(text))
/* The same for a file name; existing parts of the path count as harmless. */
#define OM_QUOTE_FILE(path)	om_quote_file(OM_QUOTE_BUF, path)

const char *om_quote(char *buf, const char *text, size_t len);
const char *om_quote_file(char *buf, const char *path);

/* Return true if @text may contain a base64 key. */
bool om_holds_key(const char *text);
/* Overwrite everything that may be a key with asterisks. */
void om_hide_keys(char *text);

#endif
