/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks up names of hosts in a process of its own, which takes long at times and has
 * neither secrets nor capabilities: it is started before there are any.
 */
#ifndef OM_RESOLVER_H
#define OM_RESOLVER_H

#include "lib/addr.h"

struct om_resolver {
	int fd;			/* readable when there is an answer; -1 once it is gone */
};

struct om_resolver_question {
	uint32_t id;		/* the asker's */
	char endpoint[OM_ENDPOINT_TEXT];
};

struct om_resolver_answer {
	uint32_t id;
	char endpoint[OM_ENDPOINT_TEXT];	/* that was asked for */
	bool found;
	struct om_peer peer;	/* with the endpoint and nothing else */
};

int om_resolver_start(struct om_resolver *r, struct om_err *err);
void om_resolver_stop(struct om_resolver *r);
/* One that finds no room is not asked. */
void om_resolver_ask(struct om_resolver *r, uint32_t id, const char *endpoint);
bool om_resolver_answer(struct om_resolver *r, struct om_resolver_answer *answer);

#endif
