/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Poly1305 (RFC 8439, 2.5) of one ciphertext in general registers: faster than vectors for
 * short ones, which need no powers of the multiplier. Numbers modulo 2^130 - 5 are two words
 * of 64 bits and a few bits above. Bits above 2^130 are folded back times 5; the clamped
 * multiplier's second word is a multiple of 4, so that 5 / 4 of it is a whole number.
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

/* Add; return the carry. */
static __always_inline u64 add_word(u64 *to, u64 word)
{
	*to += word;
	return *to < word;
}

static __always_inline void sum_block(struct sum *s, u64 low, u64 high, u64 bit)
{
	u64 h0 = s->h[0], h1 = s->h[1], h2 = s->h[2];
	unsigned __int128 d0, d1;

	h2 += bit + add_word(&h1, add_word(&h0, low));
	h2 += add_word(&h1, high);
	d0 = (unsigned __int128)h0 * s->r[0] + (unsigned __int128)h1 * s->r5;
	d1 = (unsigned __int128)h0 * s->r[1] + (unsigned __int128)h1 * s->r[0];
	d1 += h2 * s->r5;
	d1 += (u64)(d0 >> 64);
	h0 = d0;
	h1 = d1;
	h2 = h2 * s->r[0] + (u64)(d1 >> 64);
	/* The bits above 2^130, times 5 */
	s->h[2] = (h2 & 3) + add_word(&h1, add_word(&h0, (h2 & ~3ULL) + (h2 >> 2)));
	s->h[0] = h0;
	s->h[1] = h1;
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

/* Compute the tag of chunk @i of the list. */
static noinline_for_stack void tag_one(struct omerta_mb *mb, const struct omerta_chunk *c,
				       unsigned int i)
{
	struct sum s = {};
	u64 g[2], keep;
	u32 at;

	s.r[0] = key_word(mb, i, 0) & 0x0ffffffc0fffffff;
	s.r[1] = key_word(mb, i, 2) & 0x0ffffffc0ffffffc;
	s.r5 = s.r[1] + (s.r[1] >> 2);
	for (at = 0; at + 16 <= c->len; at += 16)
		sum_block(&s, word_at(c->sealed + at), word_at(c->sealed + at + 8), 1);
	if (at < c->len)
		sum_partial(&s, c->sealed + at, c->len - at);
	/* No associated data; both lengths have 64 bits. */
	sum_block(&s, 0, c->len, 1);
	/* Subtract the modulus if the result is not negative. */
	g[0] = s.h[0];
	g[1] = s.h[1];
	keep = -((s.h[2] + add_word(&g[1], add_word(&g[0], 5))) >> 2);
	g[0] = (s.h[0] & ~keep) | (g[0] & keep);
	g[1] = (s.h[1] & ~keep) | (g[1] & keep);
	g[1] += add_word(&g[0], key_word(mb, i, 4));
	mb->tag[0][i] = g[0];
	mb->tag[1][i] = g[1] + key_word(mb, i, 6);
}
