/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes of a key's state, for keys.c and keyring.c.
 */
#ifndef _OMERTA_KEY_STATE_H
#define _OMERTA_KEY_STATE_H

#include "peer/keys.h"

void omerta_key_release(struct omerta_key *key);
void omerta_key_unused(struct percpu_ref *users);
void omerta_key_tell_needed(struct omerta_keyring *ring);
void omerta_key_tell(const struct omerta_key *key, u8 cmd, int limit);
void omerta_key_tell_confirmed(struct omerta_key *key);
void omerta_key_activate(struct omerta_key *key);
void omerta_key_retire(struct omerta_key *key);
void omerta_key_die(struct omerta_key *key);
void omerta_key_die_of(struct omerta_key *key, enum omerta_key_limit limit);

#endif /* _OMERTA_KEY_STATE_H */
