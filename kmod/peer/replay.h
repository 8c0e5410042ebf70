/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_REPLAY_H
#define _OMERTA_REPLAY_H

#include <linux/types.h>

#define OMERTA_REPLAY_WORDS	256
/* One word is being filled, so it is not part of the assured window. */
#define OMERTA_REPLAY_WINDOW	((OMERTA_REPLAY_WORDS - 1) * 64)

/**
 * struct omerta_replay - which counters of a key have been accepted
 * @next: one more than the greatest accepted counter, 0 if there is none
 * @seen: a bit per counter, word (counter / 64) modulo OMERTA_REPLAY_WORDS
 *
 * Serialised by its user; only omerta_replay_too_old() may race.
 */
struct omerta_replay {
	u64 next;
	u64 seen[OMERTA_REPLAY_WORDS];
};

bool omerta_replay_too_old(const struct omerta_replay *replay, u64 counter);
bool omerta_replay_commit(struct omerta_replay *replay, u64 counter);

#endif /* _OMERTA_REPLAY_H */
