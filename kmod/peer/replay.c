// SPDX-License-Identifier: GPL-2.0
/*
 * Replay window, after RFC 6479: a ring of words that is cleared word by word
 * as the greatest counter moves on.
 */
#include "peer/replay.h"

#include <linux/compiler.h>
#include <linux/minmax.h>

#include "wire/wire.h"

static_assert(OMERTA_REPLAY_WINDOW >= 8192);
static_assert(!(OMERTA_REPLAY_WORDS & (OMERTA_REPLAY_WORDS - 1)));

/**
 * omerta_replay_too_old() - cheap look before a record is opened
 * @replay: the window; may be changed meanwhile. On a 32-bit machine a read of half a change may
 *	    lose a record, once in 2^32 of them at most.
 * @counter: the record's counter
 *
 * Return: true if the counter lies before the window and so will not be
 * accepted by omerta_replay_commit() either.
 */
bool omerta_replay_too_old(const struct omerta_replay *replay, u64 counter)
{
	u64 next = READ_ONCE(replay->next);

	return next > OMERTA_REPLAY_WINDOW &&
	       counter < next - OMERTA_REPLAY_WINDOW;
}

/**
 * omerta_replay_commit() - accept the counter of an authentic record once
 * @replay: the window
 * @counter: the record's counter
 *
 * Context: calls for one window are serialised by the caller.
 * Return: true if it was accepted, false if it was seen before or is too old.
 */
bool omerta_replay_commit(struct omerta_replay *replay, u64 counter)
{
	u64 word = counter / 64, bit = 1ULL << counter % 64;
	u64 *seen = &replay->seen[word % OMERTA_REPLAY_WORDS];

	if (counter >= OMERTA_COUNTER_LIMIT ||
	    omerta_replay_too_old(replay, counter))
		return false;

	if (counter >= replay->next) {
		u64 top = replay->next ? (replay->next - 1) / 64 : 0;
		u64 i, n = min_t(u64, word - top, OMERTA_REPLAY_WORDS);

		for (i = 1; i <= n; i++)
			replay->seen[(top + i) % OMERTA_REPLAY_WORDS] = 0;
		WRITE_ONCE(replay->next, counter + 1);
	} else if (*seen & bit) {
		return false;
	}
	*seen |= bit;
	return true;
}
