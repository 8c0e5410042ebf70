// SPDX-License-Identifier: GPL-2.0
/*
 * The replay window, in any state: a counter passes once. An induction: what passed() says holds after
 * the counter was accepted, is kept by every other call, and lets the counter not pass again. Likewise
 * fresh() is kept by all calls for other counters, and lets the counter pass unless it is too old.
 *
 * The ring has 4 words instead of 256, as these states are too many. Nothing else depends on their number.
 *
 * sed: peer/replay.h s/WORDS	256/WORDS	4/
 * sed: peer/replay.c /WINDOW >= 8192/d
 * break: peer/replay.c s/i <= n/i < n/
 * break: peer/replay.c s/counter < next - OMERTA_REPLAY_WINDOW/counter + 64 < next - OMERTA_REPLAY_WINDOW/
 * break: peer/replay.c s/WRITE_ONCE(replay->next, counter + 1)/WRITE_ONCE(replay->next, counter)/
 */
#include "peer/replay.c"

#include "proof.h"

static struct omerta_replay replay;

static bool is_seen(u64 counter)
{
	return replay.seen[counter / 64 % OMERTA_REPLAY_WORDS] >> counter % 64 & 1;
}

static bool passed(u64 counter)
{
	return counter < replay.next &&
	       (omerta_replay_too_old(&replay, counter) || is_seen(counter));
}

static void any_state(void)
{
	struct omerta_replay any;

	assume(any.next <= OMERTA_COUNTER_LIMIT);
	replay = any;
}

/* unwind: 6 */
void prove_accepted_has_passed(void)
{
	u64 counter = nondet_u64();

	any_state();
	if (omerta_replay_commit(&replay, counter))
		prove(passed(counter) && replay.next <= OMERTA_COUNTER_LIMIT);
}

/* unwind: 6 */
void prove_others_keep_it(void)
{
	u64 counter = nondet_u64(), other = nondet_u64();

	any_state();
	assume(passed(counter));
	omerta_replay_commit(&replay, other);
	prove(passed(counter));
}

/* unwind: 6 */
void prove_passes_once(void)
{
	u64 counter = nondet_u64();

	any_state();
	assume(passed(counter));
	prove(!omerta_replay_commit(&replay, counter));
}

/* The quick look never drops what the window would accept. unwind: 6 */
void prove_quick_look(void)
{
	u64 counter = nondet_u64();

	any_state();
	if (omerta_replay_too_old(&replay, counter))
		prove(!omerta_replay_commit(&replay, counter));
}

/* The counter was not accepted, as far as the window knows. */
static bool fresh(u64 counter)
{
	return counter >= replay.next || omerta_replay_too_old(&replay, counter) ||
	       !is_seen(counter);
}

/* In the word that is being filled, no counter beyond the greatest is seen. */
static bool clean(void)
{
	u64 word = replay.seen[replay.next / 64 % OMERTA_REPLAY_WORDS];

	return replay.next && replay.next % 64 == 0 ? true : !(word >> replay.next % 64);
}

/* unwind: 6 */
void prove_stays_clean(void)
{
	any_state();
	assume(clean());
	omerta_replay_commit(&replay, nondet_u64());
	prove(clean());
}

/* unwind: 6 */
void prove_others_keep_fresh(void)
{
	u64 counter = nondet_u64(), other = nondet_u64();

	any_state();
	assume(clean() && fresh(counter) && counter != other);
	omerta_replay_commit(&replay, other);
	prove(fresh(counter));
}

/* unwind: 6 */
void prove_fresh_passes(void)
{
	u64 counter = nondet_u64();

	any_state();
	assume(clean() && fresh(counter) && counter < OMERTA_COUNTER_LIMIT);
	prove(omerta_replay_commit(&replay, counter) ||
	      omerta_replay_too_old(&replay, counter));
}
