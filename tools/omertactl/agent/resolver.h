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

/* Most addresses of a name that are used */
#define OM_RESOLVER_ADDRS	6

struct om_resolver_answer {
	uint32_t id;				/* id of the question */
	char endpoint[OM_ENDPOINT_TEXT];
	int error;				/* errno, or 0: see om_endpoint_parse() */
	uint32_t n;
	struct om_resolver_addr {
		struct om_addr addr;
		uint16_t port;
		uint32_t scope;
	} addr[OM_RESOLVER_ADDRS];		/* best first */
};

int om_resolver_start(struct om_resolver *r, struct om_err *err);
void om_resolver_stop(struct om_resolver *r);
/* Ask for addresses. Returns false if the queue is full, or there is no process. */
bool om_resolver_ask(struct om_resolver *r, uint32_t id, const char *endpoint);
bool om_resolver_answer(struct om_resolver *r, struct om_resolver_answer *answer);

#endif
