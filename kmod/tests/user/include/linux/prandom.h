/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_PRANDOM_H
#define _OMERTA_USER_PRANDOM_H

#include <linux/types.h>

struct rnd_state {
	u64 s;
};

static inline void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	state->s = seed;
}

/* Knuth's linear congruential generator; its high half is the better one. */
static inline u32 prandom_u32_state(struct rnd_state *state)
{
	state->s = state->s * 6364136223846793005 + 1442695040888963407;
	return state->s >> 32;
}

static inline void prandom_bytes_state(struct rnd_state *state, void *buf,
				       size_t n)
{
	u8 *p = buf;

	while (n--)
		*p++ = prandom_u32_state(state);
}

#endif /* _OMERTA_USER_PRANDOM_H */
