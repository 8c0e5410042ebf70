/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Giving up the time of one peer by hand, whether an agent runs, which has the file of
 * times to itself, or not: a request in a file beside it, PATH.forget, and a signal.
 */
#ifndef OM_TIMES_FORGET_H
#define OM_TIMES_FORGET_H

#include "lib/base.h"

#include <linux/omerta.h>

#include <signal.h>

#define OM_TIMES_SIGNAL	SIGUSR2

/* Have the agent that has the file at @path do it, and wait until it is done. */
int om_times_forget_ask(const char *path, const uint8_t *public, struct om_err *err);
/* The agent's part: the peer's public key; an error if nobody asked. */
int om_times_forget_asked(const char *path, uint8_t public[OMERTA_KEY_LEN],
			  struct om_err *err);
/* It is done. */
void om_times_forget_done(const char *path);

#endif
