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
 * struct powers - a one-time key's multiplier and its square
 * @r: the multiplier
 * @r20: its limbs times 20
 * @rr: the square
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

/* Limb 1 may keep a few bits too many. */
static __always_inline void carry(ways_t *h, const struct sums *d)
{
	ways_t c;

	h[0] = d->low[0] & MASK44;
	c = d->low[1] + (d->low[0] >> 44) + (d->high[0] << 8);
	h[1] = c & MASK44;
	c = d->low[2] + (c >> 44) + (d->high[1] << 8);
	h[2] = c & MASK42;
	c = (c >> 42) + (d->high[2] << 10);
	h[0] += c + (c << 2);
	h[1] += h[0] >> 44;
	h[0] &= MASK44;
}

static __always_inline void to_limbs(ways_t *m, ways_t low, ways_t high)
{
	m[0] = low & MASK44;
	m[1] = (low >> 44 | high << 20) & MASK44;
	m[2] = high >> 24;
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

/* Multiply; @h comes from carry(), or is the sum of few such numbers. */
static __always_inline void multiply(ways_t *h, const ways_t *by)
{
	ways_t by20[3] __uninitialized;
	struct sums d = {};

	times_20(by20, by);
	mul_add_all(&d, h, by, by20);
	carry(h, &d);
}

static __always_inline void make_powers(struct powers *p, ways_t low, ways_t high)
{
	struct sums d = {};

	clamped_limbs(p->r, low, high);
	times_20(p->r20, p->r);
	mul_add_all(&d, p->r, p->r, p->r20);
	carry(p->rr, &d);
	times_20(p->rr20, p->rr);
}

/* Square the multiplier. */
static __always_inline void square(ways_t *x, const struct powers *p)
{
	int i;

	UNROLLED
	for (i = 0; i < 3; i++)
		x[i] = p->rr[i];
}

static __always_inline void add_limbs(ways_t *h, const ways_t *m)
{
	h[0] += m[0];
	h[1] += m[1];
	h[2] += m[2];
}

/* Add two consecutive blocks. */
static __always_inline void add_two(ways_t *h, const struct powers *p,
				    const ways_t *v, ways_t bit, ways_t bit2)
{
	struct sums d = {};
	ways_t m[3] __uninitialized;

	block_limbs(m, v + 2, bit2);
	mul_add_all(&d, m, p->r, p->r20);
	block_limbs(m, v, bit);
	add_limbs(h, m);
	mul_add_all(&d, h, p->rr, p->rr20);
	carry(h, &d);
}

static __always_inline void add_one(ways_t *h, const struct powers *p,
				    const ways_t *v)
{
	struct sums d = {};
	ways_t m[3] __uninitialized;

	block_limbs(m, v, ~ways_all(0));
	add_limbs(h, m);
	mul_add_all(&d, h, p->r, p->r20);
	carry(h, &d);
}

/* Reduce @h fully, and return its low 128 bits. */
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
