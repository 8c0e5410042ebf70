/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ChaCha20 (RFC 8439, 2.3) of many blocks at once, which may belong to different chunks:
 * each block has one lane of 16 vectors. BATCHES times 16 vectors, as many as the registers
 * hold, are processed together: each operation depends on the one before, and those of the
 * other batch fill the gaps.
 */
#define BLOCKS		(BATCHES * LANES)

typedef u32 lanes_t __attribute__((__vector_size__(4 * LANES)));
typedef u8 bytes_t __attribute__((__vector_size__(4 * LANES)));
typedef lanes_t state_t[16];

static_assert(BATCHES * sizeof(state_t) <= sizeof_field(struct omerta_mb, blocks));

static __always_inline lanes_t load(const void *from)
{
	lanes_t v;

	__builtin_memcpy(&v, from, sizeof(v));
	return v;
}

static __always_inline void store(void *to, lanes_t v)
{
	__builtin_memcpy(to, &v, sizeof(v));
}

static __always_inline lanes_t all(u32 word)
{
	return (lanes_t){ 0 } + word;
}

#ifdef __ARM_NEON
/* One instruction less than compilers make of the generic form */
static __always_inline lanes_t rotate(lanes_t v, int bits)
{
	lanes_t rotated = v << bits;

	asm("sri %0.4s, %1.4s, %2" : "+w" (rotated) : "w" (v), "i" (32 - bits));
	return rotated;
}
#else
static __always_inline lanes_t rotate(lanes_t v, int bits)
{
	return v << bits | v >> (32 - bits);
}
#endif

#ifdef BYTE_SHUFFLES
/* One instruction where a rotation takes three */
#define QUADS2(f)	f(0), f(4), f(8), f(12)
#if LANES == 4
#define QUADS(f)	QUADS2(f)
#else
#define QUADS(f)	QUADS2(f), f(16), f(20), f(24), f(28)
#endif
#define ROL16(i)	(i) + 2, (i) + 3, (i), (i) + 1
#define ROL8(i)		(i) + 3, (i), (i) + 1, (i) + 2

static __always_inline lanes_t rotate16(lanes_t v)
{
	bytes_t b = (bytes_t)v;

	return (lanes_t)__builtin_shufflevector(b, b, QUADS(ROL16));
}

static __always_inline lanes_t rotate8(lanes_t v)
{
	bytes_t b = (bytes_t)v;

	return (lanes_t)__builtin_shufflevector(b, b, QUADS(ROL8));
}
#else
#define rotate16(v)	rotate(v, 16)
#define rotate8(v)	rotate(v, 8)
#endif

#if BATCHES > 1
/* Four quarter rounds, of the columns or the diagonals, interleaved by operation */
static __always_inline void four_rounds(state_t *x, int batches, bool diagonal)
{
	int i, q;

#define EACH	UNROLLED for (i = 0; i < batches; i++)		\
			UNROLLED for (q = 0; q < 4; q++)
#define ROW(r)	x[i][4 * (r) + (q + diagonal * (r)) % 4]
	EACH ROW(0) += ROW(1);
	EACH ROW(3) = rotate16(ROW(3) ^ ROW(0));
	EACH ROW(2) += ROW(3);
	EACH ROW(1) = rotate(ROW(1) ^ ROW(2), 12);
	EACH ROW(0) += ROW(1);
	EACH ROW(3) = rotate8(ROW(3) ^ ROW(0));
	EACH ROW(2) += ROW(3);
	EACH ROW(1) = rotate(ROW(1) ^ ROW(2), 7);
#undef ROW
#undef EACH
}

static __always_inline void double_round(state_t *x, int batches)
{
	four_rounds(x, batches, false);
	four_rounds(x, batches, true);
}
#else
/* One quarter round after the other: four at once would need too many registers. */
static __always_inline void quarter_round(state_t *x, int batches, int a, int b,
					  int c, int d)
{
	int i;

#define EACH	UNROLLED for (i = 0; i < batches; i++)
	EACH x[i][a] += x[i][b];
	EACH x[i][d] = rotate16(x[i][d] ^ x[i][a]);
	EACH x[i][c] += x[i][d];
	EACH x[i][b] = rotate(x[i][b] ^ x[i][c], 12);
	EACH x[i][a] += x[i][b];
	EACH x[i][d] = rotate8(x[i][d] ^ x[i][a]);
	EACH x[i][c] += x[i][d];
	EACH x[i][b] = rotate(x[i][b] ^ x[i][c], 7);
#undef EACH
}

static __always_inline void double_round(state_t *x, int batches)
{
	quarter_round(x, batches, 0, 4, 8, 12);
	quarter_round(x, batches, 1, 5, 9, 13);
	quarter_round(x, batches, 2, 6, 10, 14);
	quarter_round(x, batches, 3, 7, 11, 15);
	quarter_round(x, batches, 0, 5, 10, 15);
	quarter_round(x, batches, 1, 6, 11, 12);
	quarter_round(x, batches, 2, 7, 8, 13);
	quarter_round(x, batches, 3, 4, 9, 14);
}
#endif

static __always_inline void begin_chunk(struct omerta_mb_cursor *c)
{
	const struct omerta_chunk *chunk = c->list++;

	c->from = c->open ? chunk->sealed : chunk->plain;
	c->to = c->open ? chunk->plain : chunk->sealed;
	c->left = chunk->len;
	c->nonce = chunk->nonce;
	/* Block 0 is the one-time key's. */
	c->counter = 1;
}

/* Give a lane the block at the cursor. */
static __always_inline void next_block(struct omerta_mb_cursor *c,
				       struct omerta_mb_lanes *l, int lane)
{
	while (!c->left && c->list < c->end)
		begin_chunk(c);
	l->counter[lane] = c->counter++;
	l->nonce[0][lane] = c->nonce;
	l->nonce[1][lane] = c->nonce >> 32;
	l->from[lane] = c->from;
	l->to[lane] = c->to;
	l->len[lane] = c->left;
	c->from += OMERTA_BLOCK_LEN;
	c->to += OMERTA_BLOCK_LEN;
	c->left = c->left > OMERTA_BLOCK_LEN ? c->left - OMERTA_BLOCK_LEN : 0;
}

/* Give lanes from @lane on the blocks at the cursor, which will be stashed. */
static __always_inline void next_stashed(struct omerta_mb_cursor *c,
					 struct omerta_mb_lanes *l, u32 lane)
{
	u32 end, len;

	while (lane < BLOCKS) {
		while (!c->left && c->list < c->end)
			begin_chunk(c);
		end = c->left ? lane + DIV_ROUND_UP(c->left, OMERTA_BLOCK_LEN) : BLOCKS;
		end = min_t(u32, end, BLOCKS);
		len = min_t(u32, c->left, (end - lane) * OMERTA_BLOCK_LEN);
		for (; lane < end; lane++) {
			l->counter[lane] = c->counter++;
			l->nonce[0][lane] = c->nonce;
			l->nonce[1][lane] = c->nonce >> 32;
		}
		c->from += len;
		c->to += len;
		c->left -= len;
	}
}

/* Lanes of the next blocks that are set up in each double round */
#define PER_ROUND	(BLOCKS < 8 ? 1 : BLOCKS / 8)

/*
 * Generate the blocks of @l in lanes of @made. The next blocks are set up in between, so
 * that the processor overlaps both.
 */
static __always_inline void make_blocks(state_t *made, int batches,
					const struct omerta_mb *mb,
					const struct omerta_mb_lanes *l,
					struct omerta_mb_lanes *next,
					struct omerta_mb_cursor *c)
{
	const u32 *k = mb->secret;
	state_t x[BATCHES] __uninitialized;
	int i, j;

	UNROLLED
	for (j = 0; j < batches; j++) {
		x[j][0] = all(0x61707865);
		x[j][1] = all(0x3320646e);
		x[j][2] = all(0x79622d32);
		x[j][3] = all(0x6b206574);
		UNROLLED
		for (i = 0; i < 8; i++)
			x[j][4 + i] = all(k[i]);
		x[j][12] = load(&l->counter[LANES * j]);
		x[j][13] = all(0);
		x[j][14] = load(&l->nonce[0][LANES * j]);
		x[j][15] = load(&l->nonce[1][LANES * j]);
	}
	for (i = 0; i < 10; i++) {
		double_round(x, batches);
		if (next && i < BLOCKS / PER_ROUND)
			for (j = 0; j < PER_ROUND; j++)
				next_block(c, next, i * PER_ROUND + j);
	}
	/* Read the secret again: kept until here, it would be spilled to the stack. */
	OPTIMIZER_HIDE_VAR(k);
	UNROLLED
	for (j = 0; j < batches; j++) {
		made[j][0] = x[j][0] + 0x61707865;
		made[j][1] = x[j][1] + 0x3320646e;
		made[j][2] = x[j][2] + 0x79622d32;
		made[j][3] = x[j][3] + 0x6b206574;
		UNROLLED
		for (i = 0; i < 8; i++)
			made[j][4 + i] = x[j][4 + i] + k[i];
		made[j][12] = x[j][12] + load(&l->counter[LANES * j]);
		made[j][13] = x[j][13];
		made[j][14] = x[j][14] + load(&l->nonce[0][LANES * j]);
		made[j][15] = x[j][15] + load(&l->nonce[1][LANES * j]);
	}
}

#define SHUFFLE(a, b, ...)	__builtin_shufflevector(a, b, __VA_ARGS__)

#define UNPACK32(i)	(i), LANES + (i), (i) + 1, LANES + (i) + 1
#define UNPACK64(i)	(i), (i) + 1, LANES + (i), LANES + (i) + 1
#define QUARTER(i)	4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#if LANES == 16
#define EACH128(f, i)	f(i), f(4 + (i)), f(8 + (i)), f(12 + (i))
#elif LANES == 8
#define EACH128(f, i)	f(i), f(4 + (i))
#else
#define EACH128(f, i)	f(i)
#endif

/* Four words of each lane: in v[j] the 128 bits at q become those of lane 4 q + j. */
static __always_inline void transpose4(lanes_t *v)
{
	lanes_t a = SHUFFLE(v[0], v[1], EACH128(UNPACK32, 0));
	lanes_t b = SHUFFLE(v[0], v[1], EACH128(UNPACK32, 2));
	lanes_t c = SHUFFLE(v[2], v[3], EACH128(UNPACK32, 0));
	lanes_t d = SHUFFLE(v[2], v[3], EACH128(UNPACK32, 2));

	v[0] = SHUFFLE(a, c, EACH128(UNPACK64, 0));
	v[1] = SHUFFLE(a, c, EACH128(UNPACK64, 2));
	v[2] = SHUFFLE(b, d, EACH128(UNPACK64, 0));
	v[3] = SHUFFLE(b, d, EACH128(UNPACK64, 2));
}

#if LANES == 16
static __always_inline void transpose128(lanes_t *v)
{
	lanes_t a = SHUFFLE(v[0], v[4], QUARTER(0), QUARTER(1), QUARTER(4), QUARTER(5));
	lanes_t b = SHUFFLE(v[0], v[4], QUARTER(2), QUARTER(3), QUARTER(6), QUARTER(7));
	lanes_t c = SHUFFLE(v[8], v[12], QUARTER(0), QUARTER(1), QUARTER(4), QUARTER(5));
	lanes_t d = SHUFFLE(v[8], v[12], QUARTER(2), QUARTER(3), QUARTER(6), QUARTER(7));

	v[0] = SHUFFLE(a, c, QUARTER(0), QUARTER(2), QUARTER(4), QUARTER(6));
	v[4] = SHUFFLE(a, c, QUARTER(1), QUARTER(3), QUARTER(5), QUARTER(7));
	v[8] = SHUFFLE(b, d, QUARTER(0), QUARTER(2), QUARTER(4), QUARTER(6));
	v[12] = SHUFFLE(b, d, QUARTER(1), QUARTER(3), QUARTER(5), QUARTER(7));
}
#elif LANES == 8
static __always_inline void transpose128(lanes_t *v)
{
	int i;

	for (i = 0; i < 16; i += 8) {
		lanes_t a = v[i], b = v[i + 4];

		v[i] = SHUFFLE(a, b, QUARTER(0), QUARTER(2));
		v[i + 4] = SHUFFLE(a, b, QUARTER(1), QUARTER(3));
	}
}
#else
static __always_inline void transpose128(lanes_t *v)
{
}
#endif

/* Piece p of lane l's block becomes x[LANES * p + l]. */
static __always_inline void transpose(lanes_t *x, const lanes_t *made)
{
	int i;

	UNROLLED
	for (i = 0; i < 16; i++)
		x[i] = made[i];
	UNROLLED
	for (i = 0; i < 16; i += 4)
		transpose4(x + i);
	UNROLLED
	for (i = 0; i < 4; i++)
		transpose128(x + i);
}

#define PIECES	(16 / LANES)

static __always_inline void store_block(u8 *to, const state_t x, int lane)
{
	int i;

	for (i = 0; i < PIECES; i++)
		store(to + 4 * LANES * i, x[LANES * i + lane]);
}

static __always_inline void xor_block(u8 *to, const u8 *from, const state_t x,
				      int lane)
{
	int i;

	for (i = 0; i < PIECES; i++)
		store(to + 4 * LANES * i,
		      load(from + 4 * LANES * i) ^ x[LANES * i + lane]);
}

/* XOR with key stream in memory. */
static void xor_stash(u8 *to, const u8 *from, const u8 *stash, u32 len)
{
	u64 a, b;
	u32 i;

	for (i = 0; i + sizeof(lanes_t) <= len; i += sizeof(lanes_t))
		store(to + i, load(from + i) ^ load(stash + i));
	for (; i + sizeof(a) <= len; i += sizeof(a)) {
		__builtin_memcpy(&a, from + i, sizeof(a));
		__builtin_memcpy(&b, stash + i, sizeof(b));
		a ^= b;
		__builtin_memcpy(to + i, &a, sizeof(a));
	}
	for (; i < len; i++)
		to[i] = from[i] ^ stash[i];
}

/* Transpose a batch of key stream in place, for later use. */
static noinline_for_stack void stash_batch(struct omerta_mb *mb, int batch)
{
	u8 (*stash)[OMERTA_BLOCK_LEN] = &mb->blocks[LANES * batch];
	state_t x __uninitialized;
	int i;

	transpose(x, (lanes_t *)stash);
	UNROLLED
	for (i = 0; i < LANES; i++)
		store_block(stash[i], x, i);
}

/*
 * Generate one-time keys from chunk @first on. Spare lanes generate the first key stream
 * blocks, and the blocks after those are set up, too.
 */
static __always_inline void make_keys(struct omerta_mb *mb,
				      const struct omerta_chunk *list,
				      unsigned int n, unsigned int first,
				      bool open)
{
	struct omerta_mb_cursor c = { .list = list, .end = list + n, .open = open };
	struct omerta_mb_lanes *l = &mb->lanes[0];
	unsigned int keys = n - first < BLOCKS ? n - first : BLOCKS;
	state_t *made = (state_t *)mb->blocks;
	unsigned int i, j;

	for (i = 0; i < keys; i++) {
		l->counter[i] = 0;
		l->nonce[0][i] = list[first + i].nonce;
		l->nonce[1][i] = list[first + i].nonce >> 32;
	}
	next_stashed(&c, l, keys);
	make_blocks(made, BATCHES, mb, l, keys < BLOCKS ? &mb->lanes[1] : NULL, &c);
	for (j = 0; j < BATCHES; j++) {
		if (LANES * j < keys)
			for (i = 0; i < 8; i++)
				store(&mb->key[i][first + LANES * j], made[j][i]);
		if (keys < LANES * (j + 1))
			stash_batch(mb, j);
	}
	mb->stashed = BLOCKS - keys;
	mb->cursor = c;
}

static __always_inline void crypt_blocks(struct omerta_mb *mb, int batches,
					 const struct omerta_mb_lanes *l,
					 struct omerta_mb_lanes *next,
					 struct omerta_mb_cursor *c)
{
	state_t *made = (state_t *)mb->blocks;
	unsigned int i, j;
	state_t x __uninitialized;

	make_blocks(made, batches, mb, l, next, c);
	for (j = 0; j < batches; j++) {
		transpose(x, made[j]);
		UNROLLED
		for (i = 0; i < LANES; i++) {
			unsigned int at = LANES * j + i;

			if (l->len[at] >= OMERTA_BLOCK_LEN) {
				xor_block(l->to[at], l->from[at], x, i);
			} else if (l->len[at]) {
				store_block(mb->part, x, i);
				xor_stash(l->to[at], l->from[at], mb->part,
					  l->len[at]);
			}
		}
	}
}

/* Use the key stream that make_keys() stashed; return the number of blocks. */
static __always_inline u32 use_stash(struct omerta_mb *mb, struct omerta_mb_cursor *c,
				     u32 blocks)
{
	u32 i, some, len, n = min(blocks, mb->stashed);

	for (i = 0; i < n; i += some) {
		while (!c->left)
			begin_chunk(c);
		some = min(n - i, DIV_ROUND_UP(c->left, OMERTA_BLOCK_LEN));
		len = min(c->left, some * OMERTA_BLOCK_LEN);
		xor_stash(c->to, c->from,
			  mb->blocks[BLOCKS - mb->stashed + i], len);
		c->from += len;
		c->to += len;
		c->left -= len;
		c->counter += some;
	}
	return n;
}

static __always_inline void crypt_list(struct omerta_mb *mb,
				       const struct omerta_chunk *list,
				       unsigned int n, bool open)
{
	struct omerta_mb_cursor c = { .list = list, .end = list + n, .open = open };
	struct omerta_mb_lanes *l = &mb->lanes[1], *next = &mb->lanes[0];
	unsigned int i;
	u32 left = 0;

	for (i = 0; i < n; i++)
		left += DIV_ROUND_UP(list[i].len, OMERTA_BLOCK_LEN);
	left -= use_stash(mb, &c, left);
	if (!left)
		return;
	if (mb->stashed)
		c = mb->cursor;
	else
		for (i = 0; i < BLOCKS; i++)
			next_block(&c, l, i);
	while (left > (BATCHES - 1) * LANES) {
		crypt_blocks(mb, BATCHES, l, next, &c);
		if (left <= BLOCKS)
			return;
		left -= BLOCKS;
		swap(l, next);
	}
	crypt_blocks(mb, 1, l, NULL, NULL);
}
