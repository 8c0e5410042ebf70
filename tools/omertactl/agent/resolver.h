/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looks up host names in a process of its own, as that may take long. The process has no
 * secrets and no capabilities: it is started before there are any.
 */
#ifndef OM_RESOLVER_H
#define OM_RESOLVER_H

#include "lib/addr.h"

struct om_resolver {
	int fd;			/* readable when there is an answer; -1 once the process is gone */
};

struct om_resolver_question {
	uint32_t id;		/* chosen by the caller */
	char endpoint[OM_ENDPOINT_TEXT];
};

struct om_resolver_answer {
	uint32_t id;
	char endpoint[OM_ENDPOINT_TEXT];	/* number of the question */
	bool found;
	struct om_peer peer;	/* only the endpoint is set */
};

int om_resolver_start(struct om_resolver *r, struct om_err *err);
void om_resolver_stop(struct om_resolver *r);
/* Ask for an address. If the queue is full, the question is dropped. */
void om_resolver_ask(struct om_resolver *r, uint32_t id, const char *endpoint);
bool om_resolver_answer(struct om_resolver *r, struct om_resolver_answer *answer);

#endif
