/* SPDX-License-Identifier: GPL-2.0 */
/* Objects as text or JSON by one call, from the field tables. */
#ifndef OM_PRINT_H
#define OM_PRINT_H

#include "lib/model.h"

struct om_state;

/* Before anything else: what to print, and whether colours may be used */
void om_print_init(bool json, bool colour);
bool om_print_is_json(void);

/* Around everything a command prints: an array in JSON */
void om_print_begin(void);
int om_print_end(struct om_err *err);

/* The name of an event, first in its object: JSON only */
void om_print_event(const char *name);

/* After each of what does not end */
int om_print_flush(struct om_err *err);

/* An object: in text a line that starts with the heading */
void om_print_open(const char *fmt, ...) OM_PRINTF(1, 2);
void om_print_close(void);

/* A device's name for a heading; valid until the next call */
const char *om_print_name(const char *ifname);

/* Fields that @data has, except those whose bits are in @skip */
void om_print_fields(const struct om_object *obj, const void *data,
		     uint64_t skip);

/* Counters of a nest, one a line; those that are zero only with @all */
void om_print_counters(const struct om_device *dev, bool all);

/* Everything about a device for people, or nested in JSON */
void om_print_state(const struct om_state *s);

/* Everything about a device, a line per object, tab-separated */
void om_print_dump(const struct om_state *s);

#endif
