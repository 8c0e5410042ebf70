/* SPDX-License-Identifier: GPL-2.0 */
/* Conversion of one field of an object from and to text */
#ifndef OM_VALUE_H
#define OM_VALUE_H

#include "lib/model.h"

/* Characters of names, for strspn() */
#define ALNUM	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* The longest text of a field: a CPU list with every byte escaped */
#define OM_VALUE_LEN	(4 * OMERTA_CPULIST_LEN + 1)

/* Parse a value. Errors quote it by OM_QUOTE(); the caller adds the option's name. */
int om_value_parse(const struct om_field *f, const char *text, void *data,
		   struct om_err *err);
char *om_value_format(const struct om_field *f, const void *data, char *buf);
/* Return true if the field is a number in JSON. */
bool om_value_is_number(const struct om_field *f);
int om_ifname_check(const char *name, struct om_err *err);
/* The same for an alternative name, which may have 127 characters. */
int om_altname_check(const char *name, struct om_err *err);
/* Check the name of a device with a file, which has the characters of wg-quick(8). */
int om_ifname_check_file(const char *name, struct om_err *err);
int om_uint_parse(const char *text, uint64_t *v);

#endif
