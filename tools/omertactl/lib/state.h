/* SPDX-License-Identifier: GPL-2.0 */
/* A device with its peers, their prefixes and keys, as read from the kernel. */
#ifndef OM_STATE_H
#define OM_STATE_H

#include "lib/model.h"

struct om_nl;

struct om_state {
	struct om_device dev;
	struct om_list peers;		/* struct om_peer, with allowed_ips */
	struct om_list keys;		/* struct om_key */
};

enum om_parts {
	OM_PEERS = 1,
	OM_PREFIXES = 2,
	OM_KEYS = 4,
	OM_ALL = 7,
};

/* Read one device. Parts that are not requested stay empty. */
int om_state_load(struct om_nl *nl, const char *ifname, enum om_parts parts,
		  struct om_state *state, struct om_err *err);
void om_state_free(struct om_state *state);
/* Return the key of a peer that follows @key, or the first one for NULL; NULL at the end. */
const struct om_key *om_state_next_key(const struct om_state *state, uint32_t peer_id,
				       const struct om_key *key);

/* Get the age in milliseconds of a peer's newest key from a handshake that was used; or false. */
bool om_state_handshake_age(const struct om_state *state, uint32_t peer_id, uint64_t *age);

/* Read a list of struct om_state: of @ifname, or of all devices if it is NULL. */
int om_states_load(struct om_nl *nl, const char *ifname, enum om_parts parts,
		   struct om_list *states, struct om_err *err);
void om_states_free(struct om_list *states);

/* Resolve a peer's id from user input: a number, a unique name or a public key. */
int om_peer_resolve(struct om_nl *nl, const char *ifname, const char *text,
		    uint32_t *id, struct om_err *err);

/*
 * Send a peer with any number of prefixes: @cmd with the settings and as many prefixes as
 * fit, then peer-set with the others. *done gets the number of prefixes sent.
 */
int om_peer_send(struct om_nl *nl, int cmd, const struct om_peer *peer,
		 size_t *done, struct om_err *err);

#endif
