/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Forgetting the time of one peer by hand while an agent has the file of times open: a
 * request in a file beside it, PATH.forget, and a signal.
 */
#ifndef OM_TIMES_FORGET_H
#define OM_TIMES_FORGET_H

#include "lib/base.h"

#include <linux/omerta.h>

#include <signal.h>

#define OM_TIMES_SIGNAL	SIGUSR2

/* Ask the agent that has the file @path open, and wait until it has forgotten the time. */
int om_times_forget_ask(const char *path, const uint8_t *public, struct om_err *err);
/* In the agent: read the public key of the peer; an error if there is no request. */
int om_times_forget_asked(const char *path, uint8_t public[OMERTA_KEY_LEN],
			  struct om_err *err);
/* In the agent: report success. */
void om_times_forget_done(const char *path);

#endif
