/* SPDX-License-Identifier: GPL-2.0 */
/* A KTAP reporter, and the tool run inside the test with its output caught. */
#ifndef OM_UNIT_H
#define OM_UNIT_H

#include "lib/base.h"

#include <stdio.h>
#include <string.h>

/* One result; the text that follows explains a failure. */
void unit_ok(bool ok, const char *name, const char *fmt, ...) OM_PRINTF(3, 4);
void unit_skip(const char *name, const char *why);
/* The plan; returns the exit status. */
int unit_end(void);

struct unit_run {
	int rc;
	char *out;
	char *err;
	size_t out_len;
};

/*
 * omertactl with these words, separated by spaces; 'quotes' keep spaces.
 * @input is standard input or NULL.
 */
struct unit_run unit_main(const char *words, const char *input);
void unit_run_free(struct unit_run *run);

/* A temporary file with this content and mode; the path is static. */
const char *unit_file(const char *name, const char *content, size_t len,
		      unsigned int mode);
const char *unit_path(const char *name);

#define CONTAINS(text, part)	(strstr(text, part) != NULL)

void test_parse(void);
void test_cmd(void);
void test_conf(void);
void test_print(void);
void test_secret(void);
void test_extack(void);
void test_map(void);
void test_noise(void);
void test_handshake(void);
void test_agent(void);
void test_times(void);
void test_up(void);
void test_daemon(void);
void test_leak(void);
void test_sandbox(void);

#endif
