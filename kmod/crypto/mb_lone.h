/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Poly1305 (RFC 8439, 2.5) of a chunk that is alone, or the last one of a list: it has all lanes.
 * Blocks are dealt out to lanes as in mb_poly.h. General registers make the multiplier's powers,
 * as a multiplication of vectors takes three times as long, and the tag of the sum.
 */
static_assert(LONE_MOST >= 2 * WAYS); /* see end_lone() */
static_assert(2 * sizeof(words_t) <= sizeof_field(struct omerta_mb, words));

/**
 * struct lone - Poly1305 state of a chunk that has all lanes
 * @p: factors of the steps
 * @power: words of the multiplier's powers, from the first to that of the number of lanes
 */
struct lone {
	struct powers p;
	u64 power[3][WAYS];
};

static __always_inline void keep_power(struct lone *g, int n, const u64 *power)
{
	int i;

	UNROLLED
	for (i = 0; i < 3; i++)
		g->power[i][n - 1] = power[i];
}

static __always_inline void power_kept(u64 *power, const struct lone *g, int n)
{
	int i;

	/* Memory has it; registers are few. */
	barrier_data(g);
	UNROLLED
	for (i = 0; i < 3; i++)
		power[i] = g->power[i][n - 1];
}

/* Make the powers; those of the steps first. */
static noinline_for_stack void begin_lone(struct lone *g, const struct omerta_mb *mb,
					  unsigned int first)
{
	ways_t r[N_LIMBS] __uninitialized;
	ways_t rr[N_LIMBS] __uninitialized;
	u64 power[3] __uninitialized;
	struct sum s;
	int n;

	set_multiplier(&s, mb, first);
	power[0] = s.r[0];
	power[1] = s.r[1];
	power[2] = 0;
	keep_power(g, 1, power);
	times_r(power, power, &s);
	keep_power(g, 2, power);
	UNROLLED
	for (n = 4; n <= WAYS; n *= 2) {
		square(power, power);
		keep_power(g, n, power);
	}
	words_to_limbs(r, ways_all(power[0]), ways_all(power[1]), ways_all(power[2]));
	square(power, power);
	words_to_limbs(rr, ways_all(power[0]), ways_all(power[1]), ways_all(power[2]));
	set_powers(&g->p, r, rr);
	UNROLLED
	for (n = 3; n < WAYS; n++) {
		if (n == 4)
			continue;
		if (n == 3 || n == 5)
			power_kept(power, g, n - 1);
		times_r(power, power, &s);
		keep_power(g, n, power);
	}
}

/* Load the 2 * WAYS blocks of a step; @mask: bytes of the last slots that count */
static __always_inline void take_blocks(const u8 *from, ways_t mask, ways_t *v)
{
	const u32 half = BLOCK16 * WAYS / 2;

	to_words(v, ways_load(from), ways_load(from + half));
	to_words(v + 2, ways_load(from + 2 * half), ways_load(from + 3 * half) & mask);
}

/* Add up a chunk, which takes two steps at least, and make its tag. */
static noinline_for_stack void end_lone(struct lone *g, struct omerta_mb *mb,
					const struct omerta_chunk *c, unsigned int first)
{
	const u32 step = 2 * BLOCK16 * WAYS, half = BLOCK16 * WAYS / 2;
	u32 blocks = DIV_ROUND_UP(c->len, BLOCK16), none = -blocks % (2 * WAYS);
	const u8 *from = c->sealed, *end = from + BLOCK16 * (blocks - 2 * WAYS);
	const ways_t all_lanes = ~ways_all(0);
	ways_t weight[N_LIMBS] __uninitialized;
	ways_t v[4] __uninitialized;
	u32 partial = c->len % BLOCK16;
	ways_t mask = all_lanes;
	ways_t h[N_LIMBS] = {};
	u64 limb[N_LIMBS];
	struct sum s;
	u32 i;

	/* Blocks of nothing ahead */
	if (none) {
		for (i = 0; i < step; i += half)
			ways_store(mb->words + i, ways_all(0));
		for (i = 0; i < step; i += half)
			ways_store(mb->words + BLOCK16 * none + i, ways_load(from + i));
		take_blocks(mb->words, mask, v);
	} else {
		take_blocks(from, mask, v);
	}
	add_two(h, &g->p, v, (ways_t)(SLOTS >= none), (ways_t)(SLOTS + WAYS >= none), true);
	for (from += step - BLOCK16 * none; from < end; from += step) {
		take_blocks(from, mask, v);
		add_two(h, &g->p, v, all_lanes, all_lanes, false);
	}
	/* Memory behind a partial block is the tag's. */
	if (partial)
		mask = ways_load((void *)(ZEROS - (half - BLOCK16) - partial));
	take_blocks(from, mask, v);
	add_two(h, &g->p, v, all_lanes, all_lanes, false);

	UNROLLED
	for (i = 0; i < 3; i++) {
		v[i] = ways_load(g->power[i]);
		v[i] = SHUFFLE(v[i], v[i], WEIGHTS);
	}
	words_to_limbs(weight, v[0], v[1], v[2]);
	multiply(h, h, weight);
	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		limb[i] = add_lanes(WAYS, h[i])[0];
	limbs_to_words(s.h, limb);
	fold(s.h);
	set_multiplier(&s, mb, first);
	end_tag(&s, mb, c, first);
}

/* Compute the tag of the last chunk of a list in all lanes. */
static void tag_alone(struct omerta_mb *mb, const struct omerta_chunk *c, unsigned int first)
{
	struct lone *g = (struct lone *)mb->group;

	mb->group_len = max_t(u32, mb->group_len, sizeof(*g));
	begin_lone(g, mb, first);
	end_lone(g, mb, c, first);
}
