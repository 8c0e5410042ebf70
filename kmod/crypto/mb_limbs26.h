/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers modulo 2^130 - 5 as five limbs of 26 bits, multiplied 32 bits by 32. Bits above
 * 2^130 are folded back times 5.
 */
#define N_LIMBS	5
#define MASK26	((1ULL << 26) - 1)

/*
 * A limb as a factor, a product, and one that is added to a sum. Tools that track values through
 * the code (const_time.c) need the C form, as they do not understand the assembler's.
 */
#ifdef __ARM_NEON
typedef halves_t factor_t;

static __always_inline factor_t factor(ways_t limb)
{
	return __builtin_convertvector(limb, factor_t);
}

static __always_inline ways_t mul(factor_t a, factor_t b)
{
	ways_t product;

	asm("umull %0.2d, %1.2s, %2.2s" : "=w" (product) : "w" (a), "w" (b));
	return product;
}

static __always_inline ways_t mul_add(ways_t sum, factor_t a, factor_t b)
{
	asm("umlal %0.2d, %1.2s, %2.2s" : "+w" (sum) : "w" (a), "w" (b));
	return sum;
}
#else
typedef ways_t factor_t;

static __always_inline factor_t factor(ways_t limb)
{
	return limb;
}

static __always_inline ways_t mul(factor_t a, factor_t b)
{
#ifdef MB_IN_C
	return (a & U32_MAX) * (b & U32_MAX);
#else
	ways_t product;

#ifdef __AVX2__
	asm("vpmuludq %2, %1, %0" : "=v" (product) : "v" (a), "v" OR_MEMORY (b));
#else
	asm("movdqa %1, %0\n\tpmuludq %2, %0"
	    : "=&x" (product) : "x" (a), "x" OR_MEMORY (b));
#endif
	return product;
#endif
}

static __always_inline ways_t mul_add(ways_t sum, factor_t a, factor_t b)
{
#ifdef MB_IN_C
	sum += mul(a, b);
#else
	ways_t product;

	/* Fixes the order of additions: compilers choose one that keeps many products. */
#ifdef __AVX2__
	asm("vpmuludq %3, %2, %1\n\tvpaddq %1, %0, %0"
	    : "+v" (sum), "=&v" (product) : "v" (a), "v" OR_MEMORY (b));
#else
	asm("movdqa %2, %1\n\tpmuludq %3, %1\n\tpaddq %1, %0"
	    : "+x" (sum), "=&x" (product) : "x" (a), "x" OR_MEMORY (b));
#endif
#endif
	return sum;
}
#endif

/**
 * struct powers - the factors of a step
 * @r: the one-time key's multiplier, to the power of the number of a chunk's lanes
 * @r5: its limbs times 5
 * @rr: the square of @r
 * @rr5: its limbs times 5
 */
struct powers {
	factor_t r[5], r5[5], rr[5], rr5[5];
};

/* Add a product of numbers to @d, which is nothing yet if it is the @first. */
static __always_inline void mul_add_all(ways_t *d, const ways_t *a, const factor_t *r,
					const factor_t *r5, bool first)
{
	int i, j;

	UNROLLED
	for (i = 0; i < 5; i++) {
		factor_t f = factor(a[i]);

		UNROLLED
		for (j = 0; j < 5; j++) {
			factor_t b = i + j < 5 ? r[j] : r5[j];
			ways_t *sum = &d[(i + j) % 5];

			*sum = first && !i ? mul(f, b) : mul_add(*sum, f, b);
		}
	}
}

/* Limbs 1 and 4 may keep a bit too many. */
static __always_inline void carry(ways_t *h, ways_t *d)
{
	ways_t c;
	int i;

	/* Two independent chains at a time */
	d[1] += d[0] >> 26;
	d[4] += d[3] >> 26;
	d[0] &= MASK26;
	d[3] &= MASK26;
	d[2] += d[1] >> 26;
	c = d[4] >> 26;
	d[1] &= MASK26;
	d[4] &= MASK26;
	d[0] += c + (c << 2);
	d[3] += d[2] >> 26;
	d[2] &= MASK26;
	d[1] += d[0] >> 26;
	d[4] += d[3] >> 26;
	d[0] &= MASK26;
	d[3] &= MASK26;
	UNROLLED
	for (i = 0; i < 5; i++)
		h[i] = d[i];
}

static __always_inline void to_limbs(ways_t *m, ways_t low, ways_t high)
{
	m[0] = low & MASK26;
	m[1] = (low >> 26) & MASK26;
	m[2] = (low >> 52 | high << 12) & MASK26;
	m[3] = (high >> 14) & MASK26;
	m[4] = high >> 40;
}

/* Split the words of a folded number into limbs. */
static __always_inline void words_to_limbs(ways_t *m, ways_t low, ways_t high, ways_t top)
{
	to_limbs(m, low, high);
	m[4] += top << 24;
}

/* Join the limbs of a sum of numbers from multiply(). */
static __always_inline void limbs_to_words(u64 *h, const u64 *m)
{
	unsigned __int128 sum = m[0] + ((unsigned __int128)m[1] << 26) +
				((unsigned __int128)m[2] << 52);

	h[0] = sum;
	sum = (u64)(sum >> 64) + ((unsigned __int128)m[3] << 14) +
	      ((unsigned __int128)m[4] << 40);
	h[1] = sum;
	h[2] = sum >> 64;
}

/* Split a block into limbs, and set the bit after its end where @bit is set. */
static __always_inline void block_limbs(ways_t *m, const ways_t *v, ways_t bit)
{
	to_limbs(m, v[0], v[1]);
	m[4] |= bit & 1ULL << 24;
}

/* Clamp the first half of a one-time key, and split it into limbs. */
static __always_inline void clamped_limbs(ways_t *r, ways_t low, ways_t high)
{
	to_limbs(r, low & 0x0ffffffc0fffffff, high & 0x0ffffffc0ffffffc);
}

/* Turn limbs into factors, and into factors times 5. */
static __always_inline void to_factors(factor_t *r, factor_t *r5,
				       const ways_t *m)
{
	int i;

	UNROLLED
	for (i = 0; i < 5; i++) {
		r[i] = factor(m[i]);
		r5[i] = factor(m[i] + (m[i] << 2));
	}
}

/*
 * Multiply numbers that come from carry(), clamped_limbs() or words_to_limbs(). A block may have
 * been added to @a. @to may be one of both.
 */
static __always_inline void multiply(ways_t *to, const ways_t *a, const ways_t *b)
{
	factor_t r[5] __uninitialized;
	factor_t r5[5] __uninitialized;
	ways_t d[5] __uninitialized;

	to_factors(r, r5, b);
	mul_add_all(d, a, r, r5, true);
	carry(to, d);
}

static __always_inline void set_powers(struct powers *p, const ways_t *r,
				       const ways_t *rr)
{
	to_factors(p->r, p->r5, r);
	to_factors(p->rr, p->rr5, rr);
}

static __always_inline void add_limbs(ways_t *h, const ways_t *m)
{
	int i;

	UNROLLED
	for (i = 0; i < 5; i++)
		h[i] += m[i];
}

/* Add two blocks of each lane; @h is nothing yet if they are the @first. */
static __always_inline void add_two(ways_t *h, const struct powers *p, const ways_t *v,
				    ways_t bit, ways_t bit2, bool first)
{
	ways_t m[5] __uninitialized;
	ways_t d[5] __uninitialized;

	block_limbs(m, v, bit);
	mul_add_all(d, m, p->r, p->r5, true);
	if (!first)
		mul_add_all(d, h, p->rr, p->rr5, false);
	carry(h, d);
	block_limbs(m, v + 2, bit2);
	add_limbs(h, m);
}

/* Multiply by @weight, and add @r times one block. */
static __always_inline void end_sum(ways_t *h, const ways_t *weight, const ways_t *r,
				    const ways_t *v, ways_t bit)
{
	factor_t f[5] __uninitialized;
	factor_t f5[5] __uninitialized;
	ways_t m[5] __uninitialized;
	ways_t d[5] __uninitialized;

	block_limbs(m, v, bit);
	to_factors(f, f5, r);
	mul_add_all(d, m, f, f5, true);
	to_factors(f, f5, weight);
	mul_add_all(d, h, f, f5, false);
	carry(h, d);
}

/*
 * Reduce @h fully, and return its low 128 bits. In the second round only a carry through all
 * limbs can be left, after which the lower limbs are small.
 */
static __always_inline void reduce(ways_t *h, ways_t *low, ways_t *high)
{
	ways_t g[5] __uninitialized;
	ways_t c;
	int i, round;

	UNROLLED
	for (round = 0; round < 2; round++) {
		UNROLLED
		for (i = 0; i < 4; i++) {
			h[i + 1] += h[i] >> 26;
			h[i] &= MASK26;
		}
		c = h[4] >> 26;
		h[4] &= MASK26;
		h[0] += c + (c << 2);
	}
	h[1] += h[0] >> 26;
	h[0] &= MASK26;
	/* Subtract the modulus if the result is not negative. */
	g[0] = h[0] + 5;
	UNROLLED
	for (i = 1; i < 5; i++)
		g[i] = h[i] + (g[i - 1] >> 26);
	c = -(g[4] >> 26);
	UNROLLED
	for (i = 0; i < 5; i++)
		h[i] = (h[i] & ~c) | (g[i] & c & MASK26);
	*low = h[0] | h[1] << 26 | h[2] << 52;
	*high = h[2] >> 12 | h[3] << 14 | h[4] << 40;
}
