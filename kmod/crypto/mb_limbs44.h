/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers modulo 2^130 - 5 as limbs of 44, 44 and 42 bits, multiplied 52 bits by 52. Bits
 * above 2^130 are folded back times 5; those above 2^132, where limbs of products start,
 * times 20.
 */
#define N_LIMBS	3
#define MASK44	((1ULL << 44) - 1)
#define MASK42	((1ULL << 42) - 1)

/**
 * struct powers - the factors of a step
 * @r: the one-time key's multiplier, to the power of the number of a chunk's lanes
 * @r20: its limbs times 20
 * @rr: the square of @r
 * @rr20: its limbs times 20
 */
struct powers {
	ways_t r[3], r20[3], rr[3], rr20[3];
};

/* Sums of the products' low 52 bits, and of their high bits */
struct sums {
	ways_t low[3], high[3];
};

#ifdef MB_IN_C
static __always_inline void mul_add(struct sums *d, int limb, ways_t a, ways_t b)
{
	const u64 mask = (1ULL << 52) - 1;
	unsigned int i;

	for (i = 0; i < WAYS; i++) {
		unsigned __int128 product = (unsigned __int128)(a[i] & mask) * (b[i] & mask);

		d->low[limb][i] += product & mask;
		d->high[limb][i] += product >> 52;
	}
}
#else
static __always_inline void mul_add(struct sums *d, int limb, ways_t a, ways_t b)
{
	asm("vpmadd52luq %2, %1, %0"
	    : "+v" (d->low[limb]) : "v" (a), "v" OR_MEMORY (b));
	asm("vpmadd52huq %2, %1, %0"
	    : "+v" (d->high[limb]) : "v" (a), "v" OR_MEMORY (b));
}
#endif

static __always_inline void mul_add_all(struct sums *d, const ways_t *a,
					const ways_t *r, const ways_t *r20)
{
	mul_add(d, 0, a[0], r[0]);
	mul_add(d, 1, a[0], r[1]);
	mul_add(d, 2, a[0], r[2]);
	mul_add(d, 0, a[1], r20[2]);
	mul_add(d, 1, a[1], r[0]);
	mul_add(d, 2, a[1], r[1]);
	mul_add(d, 0, a[2], r20[1]);
	mul_add(d, 1, a[2], r20[2]);
	mul_add(d, 2, a[2], r[0]);
}

/*
 * Limbs 1 and 2 may keep up to 2^10 too much. Sums of such numbers and blocks stay below
 * 2^45 + 2^10, and 20 times a limb of a factor below 2^49: products take 52 bits of each.
 */
static __always_inline void carry(ways_t *h, const struct sums *d)
{
	ways_t d1 = d->low[1] + (d->high[0] << 8);
	ways_t d2 = d->low[2] + (d->high[1] << 8);
	ways_t c = (d2 >> 42) + (d->high[2] << 10);
	ways_t h0 = (d->low[0] & MASK44) + c + (c << 2);

	h[1] = (d1 & MASK44) + (d->low[0] >> 44) + (h0 >> 44);
	h[2] = (d2 & MASK42) + (d1 >> 44);
	h[0] = h0 & MASK44;
}

static __always_inline void to_limbs(ways_t *m, ways_t low, ways_t high)
{
	m[0] = low & MASK44;
	m[1] = (low >> 44 | high << 20) & MASK44;
	m[2] = high >> 24;
}

/* Split the words of a folded number into limbs. */
static __always_inline void words_to_limbs(ways_t *m, ways_t low, ways_t high, ways_t top)
{
	to_limbs(m, low, high);
	m[2] += top << 40;
}

/* Join the limbs of a sum of numbers from multiply(). */
static __always_inline void limbs_to_words(u64 *h, const u64 *m)
{
	unsigned __int128 sum = m[0] + ((unsigned __int128)m[1] << 44);

	h[0] = sum;
	sum = (u64)(sum >> 64) + ((unsigned __int128)m[2] << 24);
	h[1] = sum;
	h[2] = sum >> 64;
}

/* Split a block into limbs, and set the bit after its end where @bit is set. */
static __always_inline void block_limbs(ways_t *m, const ways_t *v, ways_t bit)
{
	to_limbs(m, v[0], v[1]);
	m[2] |= bit & 1ULL << 40;
}

/* Clamp the first half of a one-time key, and split it into limbs. */
static __always_inline void clamped_limbs(ways_t *r, ways_t low, ways_t high)
{
	to_limbs(r, low & 0x0ffffffc0fffffff, high & 0x0ffffffc0ffffffc);
}

static __always_inline void times_20(ways_t *to, const ways_t *from)
{
	int i;

	UNROLLED
	for (i = 1; i < 3; i++)
		to[i] = (from[i] << 4) + (from[i] << 2);
}

/*
 * Multiply numbers that come from carry(), clamped_limbs() or words_to_limbs(). A block may have
 * been added to @a. @to may be one of both.
 */
static __always_inline void multiply(ways_t *to, const ways_t *a, const ways_t *b)
{
	ways_t b20[3] __uninitialized;
	struct sums d = {};

	times_20(b20, b);
	mul_add_all(&d, a, b, b20);
	carry(to, &d);
}

static __always_inline void set_powers(struct powers *p, const ways_t *r,
				       const ways_t *rr)
{
	int i;

	UNROLLED
	for (i = 0; i < 3; i++) {
		p->r[i] = r[i];
		p->rr[i] = rr[i];
	}
	times_20(p->r20, r);
	times_20(p->rr20, rr);
}

static __always_inline void add_limbs(ways_t *h, const ways_t *m)
{
	h[0] += m[0];
	h[1] += m[1];
	h[2] += m[2];
}

/* Add two blocks of each lane; @h is nothing yet if they are the @first. */
static __always_inline void add_two(ways_t *h, const struct powers *p, const ways_t *v,
				    ways_t bit, ways_t bit2, bool first)
{
	struct sums d = {};
	ways_t m[3] __uninitialized;

	block_limbs(m, v, bit);
	mul_add_all(&d, m, p->r, p->r20);
	if (!first)
		mul_add_all(&d, h, p->rr, p->rr20);
	carry(h, &d);
	block_limbs(m, v + 2, bit2);
	add_limbs(h, m);
}

/* Multiply by @weight, and add @r times one block. */
static __always_inline void end_sum(ways_t *h, const ways_t *weight, const ways_t *r,
				    const ways_t *v, ways_t bit)
{
	ways_t by20[3] __uninitialized;
	ways_t m[3] __uninitialized;
	struct sums d = {};

	block_limbs(m, v, bit);
	times_20(by20, r);
	mul_add_all(&d, m, r, by20);
	times_20(by20, weight);
	mul_add_all(&d, h, weight, by20);
	carry(h, &d);
}

/*
 * Reduce @h fully, and return its low 128 bits. In the second round only a carry through all
 * limbs can be left, after which the lower limbs are small.
 */
static __always_inline void reduce(ways_t *h, ways_t *low, ways_t *high)
{
	ways_t g[3] __uninitialized;
	ways_t c;
	int i;

	UNROLLED
	for (i = 0; i < 2; i++) {
		h[2] += h[1] >> 44;
		h[1] &= MASK44;
		c = h[2] >> 42;
		h[2] &= MASK42;
		h[0] += c + (c << 2);
		h[1] += h[0] >> 44;
		h[0] &= MASK44;
	}
	/* Subtract the modulus if the result is not negative. */
	g[0] = h[0] + 5;
	g[1] = h[1] + (g[0] >> 44);
	g[2] = h[2] + (g[1] >> 44);
	c = -(g[2] >> 42);
	UNROLLED
	for (i = 0; i < 3; i++)
		h[i] = (h[i] & ~c) | (g[i] & c & MASK44);
	*low = h[0] | h[1] << 44;
	*high = h[1] >> 20 | h[2] << 24;
}
