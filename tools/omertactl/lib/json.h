/* SPDX-License-Identifier: GPL-2.0 */
/* A JSON writer for standard output. A NULL name is an array's element. */
#ifndef OM_JSON_H
#define OM_JSON_H

#include "lib/base.h"

void om_json_open(const char *name, char bracket);
void om_json_close(void);
void om_json_str(const char *name, const char *value);
void om_json_uint(const char *name, uint64_t value);
void om_json_bool(const char *name, bool value);

#endif
