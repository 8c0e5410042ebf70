/* SPDX-License-Identifier: GPL-2.0 */
/* A kernel in memory, in place of nl.c and rtnl.c. It writes down every change asked for. */
#ifndef OM_FAKE_NL_H
#define OM_FAKE_NL_H

#include "lib/rtnl.h"
#include "lib/state.h"

struct fake {
	struct om_list states;		/* struct om_state */
	char *log;			/* one line for each request that changes something */
	char host[1500];		/* one line for each change outside of the device */
	const char *refused;		/* refuse the change that begins with this text */
	unsigned int defaults;		/* default routes in each table, of others */
	struct om_list addresses;	/* addresses of the device: struct om_route */
	struct om_list routes;		/* struct om_route */
	struct om_list rules;		/* struct om_rule */
	char filter[4000];		/* latest table of nf_tables */
	bool no_filter;			/* there is no nf_tables */
	uint32_t mtu;			/* MTU of the device */
	uint32_t uid;			/* of the resolver's user; 0 for none */
	bool up;
	uint32_t path_mtu;		/* MTU of all routes; 0: 1500 */
	uint8_t unreachable;		/* bytes of the addresses that have no route */
	unsigned int requests;
	unsigned int reads;		/* gets and dumps */
	unsigned int fail_at;		/* refuse this request, from 1 */
	unsigned int fail_also;
	int fail_with;			/* this errno, unless 0 */
	char fail_text[160];		/* this message, unless empty */
	size_t largest;			/* most bytes of prefixes in a request */
	bool quiet;			/* no log */
	bool denied;			/* reads of peers and keys fail */
	bool strict;			/* about the number of keys and deleting them */
	unsigned int fail_bind;		/* refuse this one, from 1 */
	unsigned int binds;		/* number of binds of the control socket */
	uint8_t bound[OMERTA_KEY_LEN];	/* public key of the latest bind */
	struct om_list reported;	/* struct om_handshake */
	struct om_agent_stats counted;
	uint8_t rx_secret[OMERTA_KEY_LEN];
	uint8_t tx_secret[OMERTA_KEY_LEN];
};

extern struct fake fake;

void fake_reset(void);
void fake_forget_log(void);
void fake_log(const char *text);
struct om_state *fake_device(const char *name);
struct om_peer *fake_peer(struct om_state *s, uint32_t id);

#endif
