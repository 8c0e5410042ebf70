/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Poly1305 (RFC 8439, 2.5) of the ciphertexts of several chunks, in vectors of WAYS lanes.
 * A chunk has one lane or more: lane l of L adds up blocks l, l + L, l + 2 L and so on, two
 * in a step: h = h * r^2L + a * r^L + b. The sums of a chunk's lanes are then multiplied by
 * r^(L - l + 1) and added (Goll and Gueron, Vectorization of Poly1305 Message Authentication
 * Code, 2015). Chunks with fewer blocks than others have blocks of nothing ahead, so that
 * all end together.
 *
 * The input of a vector is read into slots of 16 bytes. Slot s is for lane s % L of chunk
 * s / L. The split of blocks into low and high words moves it to another place in the
 * vector, see SLOTS.
 */
typedef u64 ways_t __attribute__((__vector_size__(8 * WAYS)));
typedef u32 halves_t __attribute__((__vector_size__(4 * WAYS)));
typedef u64 slot_t __attribute__((__vector_size__(16)));

static __always_inline ways_t ways_load(const void *from)
{
	ways_t v;

	__builtin_memcpy(&v, from, sizeof(v));
	return v;
}

static __always_inline void ways_store(void *to, ways_t v)
{
	__builtin_memcpy(to, &v, sizeof(v));
}

static __always_inline ways_t ways_all(u64 word)
{
	return (ways_t){ 0 } + word;
}

static __always_inline slot_t slot_load(unsigned long from)
{
	slot_t v;

	__builtin_memcpy(&v, (void *)from, sizeof(v));
	return v;
}

#include LIMBS

/*
 * SLOTS	the slot in each place of a vector
 * LOWS, HIGHS	the words of two vectors of blocks that become the vectors of words
 * SPREAD*	the chunk in each place if chunks have that many lanes
 * GATHER*	the place of the first lane of each chunk
 * SWAP*	the place of the slot whose number has this bit inverted
 * TOP*	the place of the last slot in each group of so many
 * BACK*	the place of slot -s, modulo so many slots
 * WEIGHTS	the slots in each place, counted from the last
 */
#if WAYS == 8
#define SLOTS		((ways_t){ 0, 4, 1, 5, 2, 6, 3, 7 })
#define LOWS		0, 8, 2, 10, 4, 12, 6, 14
#define HIGHS		1, 9, 3, 11, 5, 13, 7, 15
#define SPREAD1		0, 4, 1, 5, 2, 6, 3, 7
#define SPREAD2		0, 2, 0, 2, 1, 3, 1, 3
#define SPREAD4		0, 1, 0, 1, 0, 1, 0, 1
#define SPREAD8		0, 0, 0, 0, 0, 0, 0, 0
#define GATHER1		0, 2, 4, 6, 1, 3, 5, 7
#define GATHER2		0, 4, 1, 5, 0, 0, 0, 0
#define SWAP1		2, 3, 0, 1, 6, 7, 4, 5
#define SWAP2		4, 5, 6, 7, 0, 1, 2, 3
#define SWAP4		1, 0, 3, 2, 5, 4, 7, 6
#define TOP2		2, 3, 2, 3, 6, 7, 6, 7
#define TOP4		6, 7, 6, 7, 6, 7, 6, 7
#define TOP8		7, 7, 7, 7, 7, 7, 7, 7
#define BACK4		0, 1, 6, 7, 4, 5, 2, 3
#define BACK8		0, 1, 7, 6, 5, 4, 3, 2
#define WEIGHTS		7, 3, 6, 2, 5, 1, 4, 0
#elif WAYS == 4
#define SLOTS		((ways_t){ 0, 2, 1, 3 })
#define LOWS		0, 4, 2, 6
#define HIGHS		1, 5, 3, 7
#define SPREAD1		0, 2, 1, 3
#define SPREAD2		0, 1, 0, 1
#define SPREAD4		0, 0, 0, 0
#define GATHER1		0, 2, 1, 3
#define SWAP1		2, 3, 0, 1
#define SWAP2		1, 0, 3, 2
#define TOP2		2, 3, 2, 3
#define TOP4		3, 3, 3, 3
#define BACK4		0, 1, 3, 2
#define WEIGHTS		3, 1, 2, 0
#else
#define SLOTS		((ways_t){ 0, 1 })
#define LOWS		0, 2
#define HIGHS		1, 3
#define SPREAD1		0, 1
#define SPREAD2		0, 0
#define GATHER1		0, 1
#define SWAP1		1, 0
#define TOP2		1, 1
#define WEIGHTS		1, 0
#endif

/* Spread one word for each chunk to all its lanes. */
static __always_inline ways_t spread(ways_t v, unsigned int lanes)
{
#if WAYS > 4
	if (lanes == 8)
		return SHUFFLE(v, v, SPREAD8);
#endif
#if WAYS > 2
	if (lanes == 4)
		return SHUFFLE(v, v, SPREAD4);
#endif
	if (lanes == 2)
		return SHUFFLE(v, v, SPREAD2);
	return SHUFFLE(v, v, SPREAD1);
}

/* Undo spread(). With two chunks in a vector, both are in place already. */
static __always_inline ways_t gather(ways_t v, unsigned int lanes)
{
	if (lanes == 1)
		return SHUFFLE(v, v, GATHER1);
#if WAYS > 4
	if (lanes == 2)
		return SHUFFLE(v, v, GATHER2);
#endif
	return v;
}

/* Add the sums of the lanes of each chunk; all get the result. */
static __always_inline ways_t add_lanes(unsigned int lanes, ways_t v)
{
	if (lanes > 1)
		v += SHUFFLE(v, v, SWAP1);
#if WAYS > 2
	if (lanes > 2)
		v += SHUFFLE(v, v, SWAP2);
#endif
#if WAYS > 4
	if (lanes > 4)
		v += SHUFFLE(v, v, SWAP4);
#endif
	return v;
}

/* Give all lanes of each @n what the last of them has. */
static __always_inline ways_t spread_last(ways_t v, unsigned int n)
{
#if WAYS > 4
	if (n == 8)
		return SHUFFLE(v, v, TOP8);
#endif
#if WAYS > 2
	if (n == 4)
		return SHUFFLE(v, v, TOP4);
#endif
	return n == 2 ? SHUFFLE(v, v, TOP2) : v;
}

/* Swap lanes l and @lanes - l of each chunk; lane 0 stays. */
static __always_inline ways_t swap_ends(ways_t v, unsigned int lanes)
{
#if WAYS > 4
	if (lanes == 8)
		return SHUFFLE(v, v, BACK8);
#endif
#if WAYS > 2
	if (lanes == 4)
		return SHUFFLE(v, v, BACK4);
#endif
	return v;
}

/* Return 64 bits of the one-time keys of WAYS chunks. */
static __always_inline ways_t key_words(const struct omerta_mb *mb,
					unsigned int first, int word)
{
	halves_t low, high;

	__builtin_memcpy(&low, &mb->key[word][first], sizeof(low));
	__builtin_memcpy(&high, &mb->key[word + 1][first], sizeof(high));
	return __builtin_convertvector(low, ways_t) |
	       __builtin_convertvector(high, ways_t) << 32;
}

/**
 * struct streams - the ciphertexts of the chunks of a vector
 * @data: for each slot, address of its first block, or where it would be without the blocks
 *	  of nothing
 * @len: length of each chunk
 * @none: blocks of nothing ahead of each chunk
 * @whole: first step without blocks of nothing
 * @end: first step after @whole with a partial block
 * @begin: for each slot, number of its blocks of nothing; like the rest, only if there are
 *	   such steps
 * @last: for each slot, address of its last block
 * @tail: last block of each chunk if it is partial, with zeros behind
 */
struct streams {
	unsigned long data[WAYS];
	u64 len[WAYS];
	u32 none[WAYS];
	u32 whole;
	u32 end;
	u64 begin[WAYS];
	unsigned long last[WAYS];
	slot_t tail[WAYS];
};

#define BLOCK16		16

/* ZEROS - n is the address of n bytes of ones, with zeros behind. */
static const u8 ones_and_zeros[128] __aligned(64) = { [0 ... 63] = 0xff };

#define ZEROS	((unsigned long)ones_and_zeros + 64)

/* Find blocks of nothing and partial blocks. */
static __always_inline void find_edges(struct streams *s, unsigned int lanes, u32 steps)
{
	unsigned int shift = fls(lanes) - 1, i, lane, chunk;

	for (i = 0; i < WAYS; i++) {
		u32 none, partial;

		chunk = i >> shift;
		lane = i & (lanes - 1);
		none = s->none[chunk];
		partial = s->len[chunk] % BLOCK16;
		s->begin[i] = none > lane ? (none - lane + lanes - 1) >> shift : 0;
		s->last[i] = s->data[i] + BLOCK16 * lanes * (2 * steps - 1);
		if (!partial || lane < lanes - 1)
			continue;
		/* Memory behind it is the tag's. */
		s->tail[chunk] = slot_load(s->last[i]) & slot_load(ZEROS - partial);
		s->last[i] = (unsigned long)&s->tail[chunk];
	}
}

/* Set up the streams of @n chunks, in @steps steps; spare slots repeat the first chunk. */
static __always_inline void find_streams(struct streams *s, const struct omerta_chunk *list,
					 unsigned int n, unsigned int lanes, u32 steps)
{
	unsigned int shift = fls(lanes) - 1, i, lane;
	u32 most = 0, partial = 0;

	for (i = 0; i << shift < WAYS; i++) {
		const struct omerta_chunk *c = &list[i < n ? i : 0];
		u32 none = 2 * lanes * steps - DIV_ROUND_UP(c->len, BLOCK16);
		unsigned long from = (unsigned long)c->sealed - BLOCK16 * (unsigned long)none;

		s->len[i] = c->len;
		s->none[i] = none;
		most = max(most, none);
		partial |= c->len % BLOCK16;
		for (lane = 0; lane < lanes; lane++)
			s->data[(i << shift) + lane] = from + BLOCK16 * lane;
	}
	s->whole = (most + 2 * lanes - 1) >> (shift + 1);
	s->end = partial ? steps - 1 : steps;
	if (most || partial)
		find_edges(s, lanes, steps);
}

/* The words of a step: of two blocks of each lane, low and high */
typedef ways_t words_t[4];

/* Join half of the slots. */
static __always_inline ways_t join_slots(const slot_t *slot)
{
#if WAYS == 8
	return SHUFFLE(SHUFFLE(slot[0], slot[1], 0, 1, 2, 3),
		       SHUFFLE(slot[2], slot[3], 0, 1, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7);
#elif WAYS == 4
	return SHUFFLE(slot[0], slot[1], 0, 1, 2, 3);
#else
	return slot[0];
#endif
}

/* Load half of the slots, each from its own address. */
static __always_inline ways_t load_slots(const unsigned long *data, u32 at)
{
	slot_t slot[WAYS / 2] __uninitialized;
	int i;

	UNROLLED
	for (i = 0; i < WAYS / 2; i++)
		slot[i] = slot_load(data[i] + at);
	return join_slots(slot);
}

static __always_inline void to_words(ways_t *v, ways_t a, ways_t b)
{
	v[0] = SHUFFLE(a, b, LOWS);
	v[1] = SHUFFLE(a, b, HIGHS);
}

/* Load a step at which all slots have both blocks, @at from their beginning. */
static __always_inline void take_all(const struct streams *s, u32 at, unsigned int lanes,
				     ways_t *v)
{
	ways_t half[2] __uninitialized;
	int i, block;

	UNROLLED
	for (block = 0; block < 2; block++) {
		UNROLLED
		for (i = 0; i < 2; i++) {
			const unsigned long *data = &s->data[WAYS / 2 * i];

			if (lanes >= WAYS / 2)
				half[i] = ways_load((void *)(data[0] + at));
			else
				half[i] = load_slots(data, at);
		}
		to_words(v + 2 * block, half[0], half[1]);
		at += BLOCK16 * lanes;
	}
}

/* Load step @k of @steps; slots may have nothing, or a partial block. */
static noinline_for_stack void take_some(const struct streams *s, u32 k, u32 steps,
					 unsigned int lanes, ways_t *v)
{
	slot_t slot[WAYS] __uninitialized;
	u32 block;
	int i;

	for (block = 2 * k; block < 2 * k + 2; block++) {
		bool last = block == 2 * steps - 1;
		u32 at = BLOCK16 * lanes * block;

		UNROLLED
		for (i = 0; i < WAYS; i++) {
			unsigned long from = last ? s->last[i] : s->data[i] + at;

			slot[i] = slot_load(block < s->begin[i] ? ZEROS : from);
		}
		to_words(v, join_slots(slot), join_slots(slot + WAYS / 2));
		v += 2;
	}
}

/**
 * struct group - Poly1305 state of the chunks of a vector between two steps
 * @p: factors of the steps
 * @r: the one-time keys' multipliers
 * @weight: factor of each lane's sum in the end
 * @h: the sums
 */
struct group {
	struct powers p;
	ways_t r[N_LIMBS];
	ways_t weight[N_LIMBS];
	ways_t h[N_LIMBS];
};

/* Like end_group() not inlined: its vectors would take registers from the steps. */
static noinline_for_stack void begin_group(struct group *g, const struct omerta_mb *mb,
					   unsigned int first, unsigned int lanes)
{
	ways_t powers[N_LIMBS] __uninitialized;
	ways_t top[N_LIMBS] __uninitialized;
	ways_t more[N_LIMBS] __uninitialized;
	ways_t mask;
	unsigned int n;
	int i;

	clamped_limbs(g->r, spread(key_words(mb, first, 0), lanes),
		      spread(key_words(mb, first, 2), lanes));
	UNROLLED
	for (i = 0; i < N_LIMBS; i++) {
		powers[i] = g->r[i];
		top[i] = g->r[i];
	}
	/* Lane l of each n has r^(l + 1); @top is r^n. */
	for (n = 1; n < lanes; n *= 2) {
		multiply(more, powers, top);
		mask = (ways_t)((SLOTS & n) != 0);
		UNROLLED
		for (i = 0; i < N_LIMBS; i++) {
			powers[i] = (more[i] & mask) | (powers[i] & ~mask);
			top[i] = spread_last(powers[i], 2 * n);
		}
	}
	multiply(more, powers, top);
	mask = (ways_t)((SLOTS & (lanes - 1)) == 0);
	UNROLLED
	for (i = 0; i < N_LIMBS; i++) {
		g->weight[i] = (more[i] & mask) | (swap_ends(powers[i], lanes) & ~mask);
		more[i] = spread_last(more[i], lanes);
	}
	set_powers(&g->p, top, more);
}

static noinline_for_stack void end_group(struct group *g, struct omerta_mb *mb,
					 unsigned int first, unsigned int lanes,
					 const struct streams *s)
{
	/* The lengths are one block; it is added once, by each chunk's last lane. */
	ways_t last = (ways_t)((SLOTS & (lanes - 1)) == lanes - 1);
	/* No associated data; both lengths have 64 bits. */
	ways_t lengths[] = { ways_all(0), spread(ways_load(s->len), lanes) & last };
	ways_t low, high, pad = key_words(mb, first, 4);
	int i;

	end_sum(g->h, g->weight, g->r, lengths, last);
	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		g->h[i] = add_lanes(lanes, g->h[i]);
	reduce(g->h, &low, &high);
	low = gather(low, lanes) + pad;
	high = gather(high, lanes) + key_words(mb, first, 6) - (ways_t)(low < pad);
	ways_store(&mb->tag[0][first], low);
	ways_store(&mb->tag[1][first], high);
}

static_assert(sizeof(words_t) <= sizeof_field(struct omerta_mb, words));

/* Add @steps steps, with as many @lanes for each chunk. @some is scratch. */
static __always_inline void add_steps(struct group *g, const struct streams *s, u32 steps,
				      unsigned int lanes, ways_t *some)
{
	ways_t h[N_LIMBS] = {}, begin;
	int i;
	u32 k;

	for (k = 0; k < steps; k++) {
		words_t v __uninitialized;

		if (k >= s->whole && k < s->end) {
			take_all(s, 2 * BLOCK16 * lanes * k, lanes, v);
			add_two(h, &g->p, v, ~ways_all(0), ~ways_all(0), false);
		} else {
			take_some(s, k, steps, lanes, some);
			/* By places, not by slots */
			begin = spread(ways_load(s->begin), 1);
			add_two(h, &g->p, some, (ways_t)(begin <= 2 * k),
				(ways_t)(begin <= 2 * k + 1), false);
		}
	}
	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		g->h[i] = h[i];
}

/* Constants instead of the number of lanes */
static noinline_for_stack void add_group(struct group *g, const struct streams *s, u32 steps,
					 unsigned int lanes, ways_t *some)
{
	if (lanes == WAYS)
		add_steps(g, s, steps, WAYS, some);
	else if (lanes == WAYS / 2)
		add_steps(g, s, steps, WAYS / 2, some);
#if WAYS == 8
	else if (lanes == 2)
		add_steps(g, s, steps, 2, some);
#endif
#if WAYS > 2
	else
		add_steps(g, s, steps, 1, some);
#endif
}

/* Return true if general registers are faster for the rest of a list, of @blocks. */
static __always_inline bool is_little(unsigned int n, u32 blocks)
{
	return n == 1 ? blocks <= LONE_MOST : blocks + n <= LITTLE_MOST;
}

/*
 * Choose the lanes of each of the next chunks, so that these and the rest of the list take
 * the fewest steps. @blocks: number of blocks of all chunks; @longest: set to that of the
 * longest one among the next
 */
static __always_inline unsigned int choose_lanes(const struct omerta_chunk *list,
						 unsigned int n, u32 blocks, u32 *longest)
{
	u32 most = 0, least = U32_MAX, cost;
	unsigned int i = 0, each, best = 1;

	*longest = 0;
	for (each = 1; each <= WAYS; each *= 2) {
		unsigned int lanes = WAYS / each;

		for (; i < each && i < n; i++) {
			u32 some = DIV_ROUND_UP(list[i].len, BLOCK16);

			most = max(most, some);
			blocks -= some;
		}
		cost = DIV_ROUND_UP(most, 2 * lanes) + LEVEL_STEPS * (fls(lanes) - 1) +
		       FIXED_STEPS * DIV_ROUND_UP(n - i, WAYS) + blocks / (2 * WAYS);
		if (cost < least) {
			least = cost;
			best = lanes;
			*longest = most;
		}
	}
	return best;
}

/*
 * Compute the tags of the first of the chunks in @list, as many as the lanes hold; return
 * how many. @first: number of the first one; @blocks: number of blocks of all of them
 */
static unsigned int make_tags(struct omerta_mb *mb, const struct omerta_chunk *list,
			      unsigned int n, unsigned int first, u32 blocks)
{
	struct group *g = (struct group *)mb->group;
	struct streams s;
	unsigned int lanes;
	u32 steps;

	lanes = choose_lanes(list, n, blocks, &steps);
	steps = DIV_ROUND_UP(steps, 2 * lanes);
	find_streams(&s, list, n, lanes, steps);
	mb->group_len = sizeof(*g);
	begin_group(g, mb, first, lanes);
	add_group(g, &s, steps, lanes, (ways_t *)mb->words);
	end_group(g, mb, first, lanes, &s);
	return min(WAYS / lanes, n);
}
