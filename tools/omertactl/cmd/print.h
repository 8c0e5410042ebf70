/* SPDX-License-Identifier: GPL-2.0 */
/* Output of objects as text or JSON, from the field tables */
#ifndef OM_PRINT_H
#define OM_PRINT_H

#include "lib/model.h"

struct om_state;

/* Set the format, before any output. @colour: colours may be used */
void om_print_init(bool json, bool colour);
bool om_print_is_json(void);

/* Called before and after all output of a command: an array in JSON */
void om_print_begin(void);
int om_print_end(struct om_err *err);

/* Print the time and the name of an event, first in its object; JSON only. */
void om_print_event(const char *name);

/* Flush the output, after each event of a command that does not end. */
int om_print_flush(struct om_err *err);

/* Begin an object: in text a line that starts with the heading */
void om_print_open(const char *fmt, ...) OM_PRINTF(1, 2);
void om_print_close(void);

/* Return a device's name for a heading; valid until the next call. */
const char *om_print_name(const char *ifname);

/* Print the fields that are set in @data, except those in @skip. */
void om_print_fields(const struct om_object *obj, const void *data,
		     uint64_t skip);

/* Print counters, one per line; zero ones only with @all. */
void om_print_counters(const struct om_device *dev, bool all);

/* Print a device with everything it has, for people, or nested in JSON. */
void om_print_state(const struct om_state *s);

/* Print a device with everything it has, one object per line, separated by tabs. */
void om_print_dump(const struct om_state *s);

#endif
