/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The first ChaCha20 blocks of LANES chunks at once, each chunk in a lane of its own
 * of 16 vectors (RFC 8439, 2.3 and 2.6). Included by one file for each instruction
 * set, which defines LANES.
 */
#include <linux/build_bug.h>
#include <linux/compiler.h>

#include "polykey.h"

static_assert(OMERTA_CHUNK_LIST % LANES == 0);

#ifdef __CHECKER__ /* Sparse knows no vectors. */
typedef u32 lanes_t;
#else
typedef u32 lanes_t __attribute__((__vector_size__(4 * LANES)));
#endif

/* Kept as words, and aligned as such. */
static __always_inline lanes_t load(const u32 *from)
{
	lanes_t v;

	__builtin_memcpy(&v, from, sizeof(v));
	return v;
}

static __always_inline void store(u32 *to, lanes_t v)
{
	__builtin_memcpy(to, &v, sizeof(v));
}

static __always_inline lanes_t all(u32 word)
{
	return (lanes_t){ 0 } + word;
}

static __always_inline lanes_t rol(lanes_t v, int bits)
{
	return v << bits | v >> (32 - bits);
}

static __always_inline void quarter_round(lanes_t *a, lanes_t *b, lanes_t *c,
					  lanes_t *d)
{
	*a += *b;
	*d = rol(*d ^ *a, 16);
	*c += *d;
	*b = rol(*b ^ *c, 12);
	*a += *b;
	*d = rol(*d ^ *a, 8);
	*c += *d;
	*b = rol(*b ^ *c, 7);
}

static __always_inline void double_round(lanes_t x[16])
{
	quarter_round(&x[0], &x[4], &x[8], &x[12]);
	quarter_round(&x[1], &x[5], &x[9], &x[13]);
	quarter_round(&x[2], &x[6], &x[10], &x[14]);
	quarter_round(&x[3], &x[7], &x[11], &x[15]);
	quarter_round(&x[0], &x[5], &x[10], &x[15]);
	quarter_round(&x[1], &x[6], &x[11], &x[12]);
	quarter_round(&x[2], &x[7], &x[8], &x[13]);
	quarter_round(&x[3], &x[4], &x[9], &x[14]);
}

/* Makes the keys of LANES chunks from @first on. */
static __always_inline void polykeys(struct omerta_polykeys *keys,
				     unsigned int first)
{
	const u32 *k = keys->secret;
	lanes_t x[16] = {
		all(0x61707865), all(0x3320646e), all(0x79622d32), all(0x6b206574),
		all(k[0]), all(k[1]), all(k[2]), all(k[3]),
		all(k[4]), all(k[5]), all(k[6]), all(k[7]),
		all(0), all(0),
		load(&keys->nonce[0][first]), load(&keys->nonce[1][first]),
	};
	int i;

	for (i = 0; i < 10; i++)
		double_round(x);

	/* Read the secret again, lest it was on the stack meanwhile. */
	OPTIMIZER_HIDE_VAR(k);
	store(&keys->word[0][first], x[0] + 0x61707865);
	store(&keys->word[1][first], x[1] + 0x3320646e);
	store(&keys->word[2][first], x[2] + 0x79622d32);
	store(&keys->word[3][first], x[3] + 0x6b206574);
	store(&keys->word[4][first], x[4] + k[0]);
	store(&keys->word[5][first], x[5] + k[1]);
	store(&keys->word[6][first], x[6] + k[2]);
	store(&keys->word[7][first], x[7] + k[3]);
}
