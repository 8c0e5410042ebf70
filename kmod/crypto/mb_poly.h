/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Poly1305 (RFC 8439, 2.5) of the ciphertexts of WAYS chunks at once, or twice as many,
 * each in a lane of its own. Lanes with fewer blocks begin later, so that all end
 * together. Two blocks are added at a time: h = (h + a) * r^2 + b * r.
 *
 * If there are fewer chunks than lanes, a chunk has several lanes, one for each of its
 * parts of equal length. The sum of a part is multiplied by r to the power of the number of
 * blocks that follow the part (Goll and Gueron, Vectorization of Poly1305 Message
 * Authentication Code, 2015).
 */
typedef u64 ways_t __attribute__((__vector_size__(8 * WAYS)));
typedef u32 halves_t __attribute__((__vector_size__(4 * WAYS)));

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

#include LIMBS

/* A step: the input that each lane takes at once, as vectors, bytes and blocks */
#define VECTORS	(WAYS == 2 ? 2 : 1)
#define STEP	(8 * WAYS * VECTORS)
#define STEP16	(STEP / 16)

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

#if WAYS == 8
/* v[l] is 64 bytes of lane l; v[w] becomes word w of all lanes. */
static __always_inline void to_words(ways_t *v)
{
	int i;

	UNROLLED
	for (i = 0; i < 8; i += 2) {
		ways_t a = v[i], b = v[i + 1];

		v[i] = SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
		v[i + 1] = SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
	}
	UNROLLED
	for (i = 0; i < 2; i++) {
		ways_t a = SHUFFLE(v[i], v[2 + i], 0, 1, 4, 5, 8, 9, 12, 13);
		ways_t b = SHUFFLE(v[i], v[2 + i], 2, 3, 6, 7, 10, 11, 14, 15);
		ways_t c = SHUFFLE(v[4 + i], v[6 + i], 0, 1, 4, 5, 8, 9, 12, 13);
		ways_t d = SHUFFLE(v[4 + i], v[6 + i], 2, 3, 6, 7, 10, 11, 14, 15);

		v[i] = SHUFFLE(a, c, 0, 1, 4, 5, 8, 9, 12, 13);
		v[2 + i] = SHUFFLE(b, d, 0, 1, 4, 5, 8, 9, 12, 13);
		v[4 + i] = SHUFFLE(a, c, 2, 3, 6, 7, 10, 11, 14, 15);
		v[6 + i] = SHUFFLE(b, d, 2, 3, 6, 7, 10, 11, 14, 15);
	}
}
#elif WAYS == 4
static __always_inline void to_words(ways_t *v)
{
	ways_t a = SHUFFLE(v[0], v[1], 0, 4, 2, 6);
	ways_t b = SHUFFLE(v[0], v[1], 1, 5, 3, 7);
	ways_t c = SHUFFLE(v[2], v[3], 0, 4, 2, 6);
	ways_t d = SHUFFLE(v[2], v[3], 1, 5, 3, 7);

	v[0] = SHUFFLE(a, c, 0, 1, 4, 5);
	v[1] = SHUFFLE(b, d, 0, 1, 4, 5);
	v[2] = SHUFFLE(a, c, 2, 3, 6, 7);
	v[3] = SHUFFLE(b, d, 2, 3, 6, 7);
}
#else
static __always_inline void to_words(ways_t *v)
{
	int i;

	UNROLLED
	for (i = 0; i < 4; i += 2) {
		ways_t a = v[i], b = v[i + 1];

		v[i] = SHUFFLE(a, b, 0, 2);
		v[i + 1] = SHUFFLE(a, b, 1, 3);
	}
}
#endif

/* Spread one lane for each chunk to all its lanes, which are adjacent. */
#if WAYS == 8
static __always_inline ways_t spread(ways_t v, unsigned int parts)
{
	if (parts == 2)
		return SHUFFLE(v, v, 0, 0, 1, 1, 2, 2, 3, 3);
	if (parts == 4)
		return SHUFFLE(v, v, 0, 0, 0, 0, 1, 1, 1, 1);
	return v;
}

/* Undo spread(). */
static __always_inline ways_t gather(ways_t v, unsigned int parts)
{
	if (parts == 2)
		return SHUFFLE(v, v, 0, 2, 4, 6, 1, 3, 5, 7);
	if (parts == 4)
		return SHUFFLE(v, v, 0, 4, 1, 2, 3, 5, 6, 7);
	return v;
}

static __always_inline ways_t swap1(ways_t v)
{
	return SHUFFLE(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
}

static __always_inline ways_t swap2(ways_t v)
{
	return SHUFFLE(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
}

#define LANE_NUMBERS	((ways_t){ 0, 1, 2, 3, 4, 5, 6, 7 })
#define PARTS_MAX	4
#elif WAYS == 4
static __always_inline ways_t spread(ways_t v, unsigned int parts)
{
	if (parts == 2)
		return SHUFFLE(v, v, 0, 0, 1, 1);
	if (parts == 4)
		return SHUFFLE(v, v, 0, 0, 0, 0);
	return v;
}

static __always_inline ways_t gather(ways_t v, unsigned int parts)
{
	if (parts == 2)
		return SHUFFLE(v, v, 0, 2, 1, 3);
	return v;
}

static __always_inline ways_t swap1(ways_t v)
{
	return SHUFFLE(v, v, 1, 0, 3, 2);
}

static __always_inline ways_t swap2(ways_t v)
{
	return SHUFFLE(v, v, 2, 3, 0, 1);
}

#define LANE_NUMBERS	((ways_t){ 0, 1, 2, 3 })
#define PARTS_MAX	4
#else
static __always_inline ways_t spread(ways_t v, unsigned int parts)
{
	return parts == 2 ? SHUFFLE(v, v, 0, 0) : v;
}

static __always_inline ways_t gather(ways_t v, unsigned int parts)
{
	return v;
}

static __always_inline ways_t swap1(ways_t v)
{
	return SHUFFLE(v, v, 1, 0);
}

#define LANE_NUMBERS	((ways_t){ 0, 1 })
#define PARTS_MAX	2
#endif

/**
 * struct streams - parts of ciphertexts, one for each lane, with some bytes of nothing ahead
 * @data: address of the part, less @none
 * @none: bytes of nothing, a multiple of 16
 * @len: length of the part
 * @whole: length of the whole ciphertext
 */
struct streams {
	unsigned long data[WAYS];
	u64 none[WAYS];
	u64 len[WAYS];
	u64 whole[WAYS];
};

/* Ciphertexts of @n chunks in @parts of @size bytes each, a multiple of STEP */
static __always_inline void find_streams(struct streams *s,
					 const struct omerta_chunk *list,
					 unsigned int n, unsigned int parts,
					 u32 size)
{
	unsigned int i, shift = fls64(parts) - 1;

	for (i = 0; i < WAYS; i++) {
		/* Spare lanes repeat the first chunk, and thus need no steps of their own. */
		const struct omerta_chunk *c = &list[i >> shift < n ? i >> shift : 0];
		/* Begin and end of the ciphertext, relative to this part */
		int from = (parts - (i & (parts - 1))) * size -
			   round_up(c->len, 16);
		int to = from + c->len;

		s->whole[i] = c->len;
		s->none[i] = clamp_t(int, from, 0, size);
		s->len[i] = clamp_t(int, to, 0, size) - s->none[i];
		s->data[i] = (unsigned long)c->sealed - from;
	}
}

/* Load STEP bytes at @off; each lane has all of them. */
static __always_inline void take_all(const struct streams *s, u32 off, ways_t *v)
{
	int i, j;

	UNROLLED
	for (i = 0; i < WAYS; i++)
		UNROLLED
		for (j = 0; j < VECTORS; j++)
			v[WAYS * j + i] = ways_load((void *)(s->data[i] + off +
							     8 * WAYS * j));
	to_words(v);
}

/* Load STEP bytes of a lane that has only some of them, and zeros for the others. */
static noinline_for_stack void take_part(const struct streams *s, u32 off,
					 int lane, ways_t *v)
{
	u64 from = max_t(u64, off, s->none[lane]);
	u64 to = min_t(u64, off + STEP, s->none[lane] + s->len[lane]);
	u8 bytes[STEP] = {};
	int i;

	if (from < to)
		__builtin_memcpy(bytes + from - off,
				 (void *)(s->data[lane] + from), to - from);
	for (i = 0; i < VECTORS; i++)
		v[WAYS * i + lane] = ways_load(bytes + 8 * WAYS * i);
}

/* Load STEP bytes at @off; lanes may have only some of them. */
static noinline_for_stack void take_some(const struct streams *s, u32 off,
					 ways_t *v)
{
	int i, j;

	for (i = 0; i < WAYS; i++) {
		if (off + STEP <= s->none[i]) {
			for (j = 0; j < VECTORS; j++)
				v[WAYS * j + i] = ways_all(0);
			continue;
		}
		if (off < s->none[i] || off + STEP > s->none[i] + s->len[i]) {
			take_part(s, off, i, v);
			continue;
		}
		for (j = 0; j < VECTORS; j++)
			v[WAYS * j + i] = ways_load((void *)(s->data[i] + off +
							     8 * WAYS * j));
	}
	to_words(v);
}

/* Add STEP bytes of each lane; before a lane's first block it stays 0. */
static __always_inline void add_step(ways_t *h, const struct powers *p,
				     const struct streams *s, const ways_t *v,
				     u32 off, bool whole)
{
	ways_t none = ways_load(s->none), a = ~ways_all(0), b = a;
	int i;

	UNROLLED
	for (i = 0; i < STEP16; i += 2) {
		if (!whole) {
			a = (ways_t)(none <= off + 16 * i);
			b = (ways_t)(none <= off + 16 * i + 16);
		}
		add_two(h, p, v + 2 * i, a, b);
	}
}

/**
 * struct group - Poly1305 state of WAYS chunks between two steps
 * @p: powers of their multipliers
 * @h: their sums
 */
struct group {
	struct powers p;
	ways_t h[N_LIMBS];
};

/* Groups whose state the registers hold */
#define GROUPS	BATCHES

static_assert(GROUPS * sizeof(struct group) <= sizeof_field(struct omerta_mb, groups));

/* Like end_group() not inlined: its vectors would take registers from the steps. */
static noinline_for_stack void begin_group(struct group *g,
					   const struct omerta_mb *mb,
					   unsigned int first, unsigned int parts)
{
	make_powers(&g->p, spread(key_words(mb, first, 0), parts),
		    spread(key_words(mb, first, 2), parts));
}

/* Multiply the first of each two parts, where @later is 0, by @by. */
static __always_inline void multiply_first(ways_t *h, const ways_t *by,
					   ways_t later)
{
	ways_t factor[N_LIMBS] __uninitialized;
	ways_t first = (ways_t)(later == 0);
	int i;

	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		factor[i] = by[i] & first;
	factor[0] |= ~first & 1;
	multiply(h, factor);
}

/* Join the parts of each chunk, of @blocks blocks each. All its lanes get the sum. */
static noinline_for_stack void join_parts(struct group *g, unsigned int parts,
					  u32 blocks)
{
	ways_t lanes = LANE_NUMBERS;
	ways_t rr[N_LIMBS] __uninitialized;
	ways_t x[N_LIMBS] __uninitialized;
	int i, bit = fls64(blocks / 2) - 1;

	square(rr, &g->p);
	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		x[i] = rr[i];
	while (bit--) {
		multiply(x, x);
		if (blocks / 2 & 1 << bit)
			multiply(x, rr);
	}
	multiply_first(g->h, x, lanes & 1);
	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		g->h[i] += swap1(g->h[i]);
#if PARTS_MAX > 2
	if (parts == 2)
		return;
	multiply(x, x);
	multiply_first(g->h, x, lanes & 2);
	UNROLLED
	for (i = 0; i < N_LIMBS; i++)
		g->h[i] += swap2(g->h[i]);
#endif
}

static noinline_for_stack void end_group(struct group *g, struct omerta_mb *mb,
					 unsigned int first, unsigned int parts,
					 const struct streams *s)
{
	ways_t low, high, pad = key_words(mb, first, 4);
	/* No associated data; both lengths have 64 bits. */
	ways_t lengths[] = { ways_all(0), ways_load(s->whole) };

	add_one(g->h, &g->p, lengths);
	reduce(g->h, &low, &high);
	low = gather(low, parts) + pad;
	high = gather(high, parts) + key_words(mb, first, 6) -
	       (ways_t)(low < pad);
	ways_store(&mb->tag[0][first], low);
	ways_store(&mb->tag[1][first], high);
}

/* The words of a step, each with all lanes */
typedef ways_t words_t[WAYS * VECTORS];

static_assert(GROUPS * sizeof(words_t) <= sizeof_field(struct omerta_mb, words));

/* Add all steps of @n groups. @some is scratch for steps that some lanes have only in part. */
static __always_inline void add_all(struct group *g, const struct streams *s,
				    int n, u32 longest, words_t *some)
{
	/* From @begin to @end all lanes have whole steps. */
	u64 begin = 0, end = U64_MAX;
	ways_t h[2][N_LIMBS] = {};
	int i, j;
	u32 off;

	for (i = 0; i < n; i++)
		for (j = 0; j < WAYS; j++) {
			begin = max(begin, s[i].none[j]);
			end = min(end, s[i].none[j] + s[i].len[j]);
		}
	for (off = 0; off < longest; off += STEP) {
		if (begin <= off && off + STEP <= end) {
			/* Two variables, not an array: clang would keep an array in memory. */
			words_t v __uninitialized, w __uninitialized;

			take_all(&s[0], off, v);
			if (n > 1)
				take_all(&s[1], off, w);
			add_step(h[0], &g[0].p, &s[0], v, off, true);
			if (n > 1)
				add_step(h[1], &g[1].p, &s[1], w, off, true);
		} else {
			UNROLLED
			for (i = 0; i < n; i++)
				take_some(&s[i], off, some[i]);
			UNROLLED
			for (i = 0; i < n; i++)
				add_step(h[i], &g[i].p, &s[i], some[i], off, false);
		}
	}
	UNROLLED
	for (i = 0; i < n; i++)
		UNROLLED
		for (j = 0; j < N_LIMBS; j++)
			g[i].h[j] = h[i][j];
}

static noinline_for_stack void add_one_group(struct group *g, const struct streams *s,
					     u32 longest, words_t *some)
{
	add_all(g, s, 1, longest, some);
}

/* Interleaved: each group's operations depend on each other. */
static noinline_for_stack void add_two_groups(struct group *g, const struct streams *s,
					      u32 longest, words_t *some)
{
	add_all(g, s, 2, longest, some);
}

/* The fewest steps of a part: with fewer, joining the parts costs more than it saves. */
#define PART_STEPS	2

/* Return the number of parts that each of @n chunks is cut into. */
static __always_inline unsigned int count_parts(unsigned int n, u32 longest)
{
	unsigned int parts = 1;

	while (parts < PARTS_MAX && 2 * parts * n <= WAYS &&
	       longest >= 2 * parts * PART_STEPS * STEP)
		parts *= 2;
	return parts;
}

/* Compute tags from chunk @first on, for as many chunks as registers hold; return how many. */
static unsigned int make_tags(struct omerta_mb *mb,
			      const struct omerta_chunk *list, unsigned int n,
			      unsigned int first)
{
	struct group *g = (struct group *)mb->groups;
	words_t *some = (words_t *)mb->words;
	int i, groups = GROUPS > 1 && first + WAYS < n ? 2 : 1;
	struct streams s[2];
	u32 longest = 0, size;
	unsigned int c, parts;

	for (c = first; c < n && c < first + groups * WAYS; c++)
		longest = max(longest, list[c].len);
	parts = count_parts(n - first, longest);
	size = round_up(DIV_ROUND_UP(longest, parts), STEP);
	for (i = 0; i < groups; i++) {
		c = first + i * WAYS;
		find_streams(&s[i], list + c, n - c, parts, size);
		begin_group(&g[i], mb, c, parts);
	}
	if (groups == 1)
		add_one_group(g, s, size, some);
	else
		add_two_groups(g, s, size, some);
	if (parts > 1)
		join_parts(g, parts, size / 16);
	for (i = 0; i < groups; i++)
		end_group(&g[i], mb, first + i * WAYS, parts, &s[i]);
	return groups * WAYS;
}
