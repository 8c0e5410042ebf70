/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_KEY_STATE_H
#define _OMERTA_KEY_STATE_H

#include <linux/time64.h>

#include "peer/keys.h"

/**
 * omerta_key_deadline() - when a limit in time is reached
 * @key: the key
 * @seconds: the limit, 0 for none
 *
 * Return: boot time in ns, U64_MAX for never.
 */
static inline u64 omerta_key_deadline(const struct omerta_key *key, u32 seconds)
{
	return seconds ? key->installed + seconds * NSEC_PER_SEC : U64_MAX;
}

void omerta_key_tell(const struct omerta_key *key, u8 cmd, int limit);
void omerta_key_activate(struct omerta_key *key);
void omerta_key_retire(struct omerta_key *key);
void omerta_key_soft(struct omerta_key *key, enum omerta_key_limit limit);
void omerta_key_seal_over(struct omerta_key *key, enum omerta_key_limit limit);
void omerta_key_die(struct omerta_key *key);
void omerta_key_die_of(struct omerta_key *key, enum omerta_key_limit limit);
void omerta_key_free(struct omerta_key *key);

#endif /* _OMERTA_KEY_STATE_H */
