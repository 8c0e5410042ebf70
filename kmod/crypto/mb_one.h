/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Poly1305 (RFC 8439, 2.5) in general registers: of short ciphertexts, which need no powers of the
 * multiplier, and the powers for a lone one. Numbers modulo 2^130 - 5 are two words of 64 bits and
 * a few bits above. Bits above 2^130 are folded back times 5; the clamped multiplier's second word
 * is a multiple of 4, so that 5 / 4 of it is a whole number.
 */

/**
 * struct sum - a sum of blocks
 * @h: its words, the lowest first
 * @r: the one-time key's multiplier
 * @r5: 5 / 4 of its second word
 */
struct sum {
	u64 h[3];
	u64 r[2];
	u64 r5;
};

typedef unsigned __int128 product_t;

/* Add modulo 2^128, and modulo 2^192. Compilers carry by comparisons. */
#if defined(__x86_64__) && !defined(MB_IN_C)
static __always_inline void add_2(u64 *to, u64 a, u64 b)
{
	asm("addq %2, %0\n\tadcq %3, %1"
	    : "+&r" (to[0]), "+r" (to[1]) : "re" OR_MEMORY (a), "re" OR_MEMORY (b) : "cc");
}

static __always_inline void add_3(u64 *to, u64 a, u64 b, u64 c)
{
	asm("addq %3, %0\n\tadcq %4, %1\n\tadcq %5, %2"
	    : "+&r" (to[0]), "+&r" (to[1]), "+r" (to[2])
	    : "re" OR_MEMORY (a), "re" OR_MEMORY (b), "re" OR_MEMORY (c) : "cc");
}
#elif defined(__aarch64__) && !defined(MB_IN_C)
static __always_inline void add_2(u64 *to, u64 a, u64 b)
{
	asm("adds %0, %0, %x2\n\tadc %1, %1, %x3"
	    : "+&r" (to[0]), "+r" (to[1]) : "rZ" (a), "rZ" (b) : "cc");
}

static __always_inline void add_3(u64 *to, u64 a, u64 b, u64 c)
{
	asm("adds %0, %0, %x3\n\tadcs %1, %1, %x4\n\tadc %2, %2, %x5"
	    : "+&r" (to[0]), "+&r" (to[1]), "+r" (to[2])
	    : "rZ" (a), "rZ" (b), "rZ" (c) : "cc");
}
#else
static __always_inline void add_2(u64 *to, u64 a, u64 b)
{
	product_t sum = (product_t)to[0] + a;

	to[0] = sum;
	to[1] += (u64)(sum >> 64) + b;
}

static __always_inline void add_3(u64 *to, u64 a, u64 b, u64 c)
{
	product_t sum = (product_t)to[0] + a;

	to[0] = sum;
	sum = (sum >> 64) + to[1] + b;
	to[1] = sum;
	to[2] += (u64)(sum >> 64) + c;
}
#endif

/* Fold the bits above 2^130 back, at most 2^61 of them; the number is below 2^130 + 2^64 then. */
static __always_inline void fold(u64 *h)
{
	u64 above = (h[2] & ~3ULL) + (h[2] >> 2);

	h[2] &= 3;
	add_3(h, above, 0, 0);
}

/* Multiply a number below 2^130 + 2^131 by the multiplier. */
static __always_inline void times_r(u64 *to, const u64 *h, const struct sum *s)
{
	product_t low = (product_t)h[0] * s->r[0] + (product_t)h[1] * s->r5;
	product_t high = (product_t)h[0] * s->r[1] + (product_t)h[1] * s->r[0];
	u64 top = h[2];

	to[0] = low;
	to[1] = low >> 64;
	to[2] = top * s->r[0];
	add_2(to + 1, high, high >> 64);
	add_2(to + 1, top * s->r5, 0);
	fold(to);
}

/* Square a folded number. */
static __always_inline void square(u64 *to, const u64 *h)
{
	product_t low = (product_t)h[0] * h[0], high = (product_t)h[1] * h[1];
	product_t cross = (product_t)h[0] * h[1];
	product_t top0 = (product_t)h[0] * (2 * h[2]), top1 = (product_t)h[1] * (2 * h[2]);
	u64 p[] = { low, low >> 64, high, high >> 64, h[2] * h[2] };

	add_3(p + 1, cross, cross >> 64, 0);
	add_3(p + 1, cross, cross >> 64, 0);
	add_3(p + 2, top0, top0 >> 64, 0);
	add_2(p + 3, top1, top1 >> 64);
	/* The bits above 2^130, times 4 and once */
	to[0] = p[0];
	to[1] = p[1];
	to[2] = p[2] & 3;
	add_3(to, p[2] & ~3ULL, p[3], p[4]);
	add_3(to, ((product_t)p[3] << 64 | p[2]) >> 2, ((product_t)p[4] << 64 | p[3]) >> 2,
	      p[4] >> 2);
	fold(to);
}

static __always_inline void sum_block(struct sum *s, u64 low, u64 high, u64 bit)
{
	add_3(s->h, low, high, bit);
	times_r(s->h, s->h, s);
}

static __always_inline u64 word_at(const u8 *from)
{
	u64 word;

	__builtin_memcpy(&word, from, sizeof(word));
	return word;
}

/* Add a block of @len bytes, fewer than 16. Memory behind them is the tag's. */
static __always_inline void sum_partial(struct sum *s, const u8 *from, u32 len)
{
	u64 low = word_at(from), high = word_at(from + 8);
	u64 ones = ~0ULL >> (-(8 * len) & 63);

	if (len > 8)
		sum_block(s, low, high & ones, 1);
	else
		sum_block(s, low & ones, 0, 1);
}

/* Return 64 bits of a chunk's one-time key. */
static __always_inline u64 key_word(const struct omerta_mb *mb, unsigned int i, int word)
{
	return mb->key[word][i] | (u64)mb->key[word + 1][i] << 32;
}

/* Set the multiplier of chunk @i of the list. */
static __always_inline void set_multiplier(struct sum *s, const struct omerta_mb *mb,
					   unsigned int i)
{
	s->r[0] = key_word(mb, i, 0) & 0x0ffffffc0fffffff;
	s->r[1] = key_word(mb, i, 2) & 0x0ffffffc0ffffffc;
	s->r5 = s->r[1] + (s->r[1] >> 2);
}

/* Add the lengths of chunk @i, and make its tag. */
static __always_inline void end_tag(struct sum *s, struct omerta_mb *mb,
				    const struct omerta_chunk *c, unsigned int i)
{
	u64 g[3], keep;

	/* No associated data; both lengths have 64 bits. */
	sum_block(s, 0, c->len, 1);
	/* Subtract the modulus if the result is not negative. */
	g[0] = s->h[0];
	g[1] = s->h[1];
	g[2] = s->h[2];
	add_3(g, 5, 0, 0);
	keep = -(g[2] >> 2);
	g[0] = (s->h[0] & ~keep) | (g[0] & keep);
	g[1] = (s->h[1] & ~keep) | (g[1] & keep);
	add_3(g, key_word(mb, i, 4), key_word(mb, i, 6), 0);
	mb->tag[0][i] = g[0];
	mb->tag[1][i] = g[1];
}

/* Compute the tag of chunk @i of the list. */
static noinline_for_stack void tag_one(struct omerta_mb *mb, const struct omerta_chunk *c,
				       unsigned int i)
{
	struct sum s = {};
	u32 at;

	set_multiplier(&s, mb, i);
	for (at = 0; at + 16 <= c->len; at += 16)
		sum_block(&s, word_at(c->sealed + at), word_at(c->sealed + at + 8), 1);
	if (at < c->len)
		sum_partial(&s, c->sealed + at, c->len - at);
	end_tag(&s, mb, c, i);
}
