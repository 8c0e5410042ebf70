/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ChaCha20 (RFC 8439, 2.3) of many blocks at once, which may belong to different chunks:
 * each block has one lane of 16 vectors. Long lists are processed in BATCHES of 16 vectors,
 * interleaved: each operation depends on the one before, and those of the other batch fill
 * the gaps.
 */
#define BLOCKS		(BATCHES * LANES)

typedef u32 lanes_t __attribute__((__vector_size__(4 * LANES)));
typedef u8 bytes_t __attribute__((__vector_size__(4 * LANES)));
typedef lanes_t state_t[16];

#define SHUFFLE(a, b, ...)	__builtin_shufflevector(a, b, __VA_ARGS__)

static_assert(sizeof(state_t) <= sizeof_field(struct omerta_mb, blocks));

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
#define rotate(v, bits)	({						\
	typeof(v) _v = (v);						\
	_v << (bits) | _v >> (32 - (bits));				\
})
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
#define rotate12(v)	rotate(v, 12)
#define rotate7(v)	rotate(v, 7)

/*
 * MORE		most lanes whose blocks are generated together with a batch
 * FEW		most blocks that vectors of the state's rows generate faster than a batch, or, if
 *		there are narrower vectors, together with one faster than these
 */
#ifdef NARROW
#define MORE		(LANES / 2)
#define FEW		(LANES / 4)
#else
#define FEW		(LANES > 4 ? 3 * LANES / 4 : LANES / 2)
#define MORE		(LANES / 2)
#endif

#ifdef NARROW
/* A batch of half as many blocks */
typedef u32 half_t __attribute__((__vector_size__(2 * LANES)));
typedef half_t half_state_t[16];
#define IS_HALF(more)	((more) == MORE)
#else
typedef lanes_t half_t;
#define IS_HALF(more)	((more) > LANES)
#endif

#ifdef MANY_REGISTERS
/*
 * Four quarter rounds, of the columns or the diagonals, interleaved by operation. @y counts
 * if @half.
 */
static __always_inline void four_rounds(state_t *x, int batches, bool half, half_t *y,
					bool diagonal)
{
	int i, q;

#define ROW(r)	(4 * (r) + (q + diagonal * (r)) % 4)
#define EACH(op, ...) do {						\
	UNROLLED for (i = 0; i < batches; i++)				\
		UNROLLED for (q = 0; q < 4; q++)			\
			op(x[i], __VA_ARGS__);				\
	if (half)							\
		UNROLLED for (q = 0; q < 4; q++)			\
			op(y, __VA_ARGS__);				\
} while (0)
#define ADD(x, a, b)		((x)[ROW(a)] += (x)[ROW(b)])
#define TURN(x, a, b, bits)	((x)[ROW(a)] = rotate##bits((x)[ROW(a)] ^ (x)[ROW(b)]))
	EACH(ADD, 0, 1);
	EACH(TURN, 3, 0, 16);
	EACH(ADD, 2, 3);
	EACH(TURN, 1, 2, 12);
	EACH(ADD, 0, 1);
	EACH(TURN, 3, 0, 8);
	EACH(ADD, 2, 3);
	EACH(TURN, 1, 2, 7);
#undef TURN
#undef ADD
#undef EACH
#undef ROW
}

static __always_inline void double_round(state_t *x, int batches, bool half, half_t *y)
{
	four_rounds(x, batches, half, y, false);
	four_rounds(x, batches, half, y, true);
}
#else
/* Memory for what registers do not hold is wiped with the blocks of a batch. */
static_assert(8 * sizeof(lanes_t) <= LANES * OMERTA_BLOCK_LEN);

#if defined(BYTE_SHUFFLES) && !defined(MB_IN_C)
/* The order of bytes stays in memory: compilers would keep it in a register. */
static const u8 order16[] __aligned(32) = { QUADS2(ROL16), QUADS2(ROL16) };
static const u8 order8[] __aligned(32) = { QUADS2(ROL8), QUADS2(ROL8) };

static __always_inline lanes_t shuffle_bytes(lanes_t v, const u8 *order)
{
#if LANES == 4
	asm("pshufb %1, %0" : "+x" (v) : "m" (*(const lanes_t *)order));
#else
	asm("vpshufb %1, %0, %0" : "+x" (v) : "m" (*(const lanes_t *)order));
#endif
	return v;
}

#define shuffle16(v)	shuffle_bytes(v, order16)
#define shuffle8(v)	shuffle_bytes(v, order8)
#else
#define shuffle16(v)	rotate16(v)
#define shuffle8(v)	rotate8(v)
#endif

/* Quarter rounds of columns or diagonals @q and @q + 1, interleaved by operation */
static __always_inline void two_rounds(lanes_t *x, int q, bool diagonal)
{
	int i;

#define ROW(r)			(4 * (r) + (q + i + diagonal * (r)) % 4)
#define ADD(a, b) do {							\
	UNROLLED for (i = 0; i < 2; i++)				\
		x[ROW(a)] += x[ROW(b)];					\
} while (0)
#define TURN(a, b, turn) do {						\
	UNROLLED for (i = 0; i < 2; i++)				\
		x[ROW(a)] ^= x[ROW(b)];					\
	UNROLLED for (i = 0; i < 2; i++)				\
		x[ROW(a)] = turn(x[ROW(a)]);				\
} while (0)
	ADD(0, 1);
	TURN(3, 0, shuffle16);
	ADD(2, 3);
	TURN(1, 2, rotate12);
	ADD(0, 1);
	TURN(3, 0, shuffle8);
	ADD(2, 3);
	TURN(1, 2, rotate7);
#undef TURN
#undef ADD
#undef ROW
}

/* Keep vector @from of the third row and the next one in memory, and take the other two back. */
static __always_inline void exchange(lanes_t *x, lanes_t *kept, int from)
{
	int i;

	UNROLLED
	for (i = 0; i < 2; i++) {
		kept[from + i] = x[8 + from + i];
		/* Else compilers keep it in a register as well, and spill others. */
		asm("" : "+m" (kept[from + i]));
	}
	UNROLLED
	for (i = 2; i < 4; i++)
		x[8 + (from + i) % 4] = kept[(from + i) % 4];
}

/*
 * For 16 registers, of which intermediate results need two: so two vectors of the third row, those
 * not used meanwhile, are in @kept, at the beginning and at the end the last two.
 */
static __always_inline void double_round(lanes_t *x, lanes_t *kept)
{
	two_rounds(x, 0, false);
	exchange(x, kept, 0);
	two_rounds(x, 2, false);
	two_rounds(x, 0, true);
	exchange(x, kept, 2);
	two_rounds(x, 2, true);
}

/* Keep four more vectors of a batch in memory, those that are used last, or take them back. */
static __always_inline void exchange_four(lanes_t *x, lanes_t *kept, bool back)
{
	int i;

	UNROLLED
	for (i = 0; i < 4; i++) {
		lanes_t *v = &x[i % 2 + (i < 2 ? 2 : 6)];

		if (back) {
			*v = kept[4 + i];
		} else {
			kept[4 + i] = *v;
			asm("" : "+m" (kept[4 + i])); /* as in exchange() */
		}
	}
}

/* Move the rows of a set between registers and memory. */
static __always_inline void move_rows(lanes_t *to, const lanes_t *from)
{
	int i;

	UNROLLED
	for (i = 0; i < 4; i++)
		to[i] = from[i];
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

#if LANES == 16
#define NUMBERS		((lanes_t){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 })
#elif LANES == 8
#define NUMBERS		((lanes_t){ 0, 1, 2, 3, 4, 5, 6, 7 })
#else
#define NUMBERS		((lanes_t){ 0, 1, 2, 3 })
#endif

/* Give lanes from @lane to @end consecutive blocks of a chunk; lanes after them change, too. */
static __always_inline void set_lanes(struct omerta_mb_lanes *l, u32 lane, u32 end,
				      u32 counter, u64 nonce)
{
	for (; lane < end; lane += LANES, counter += LANES) {
		store(&l->counter[lane], all(counter) + NUMBERS);
		store(&l->nonce[0][lane], all(nonce));
		store(&l->nonce[1][lane], all(nonce >> 32));
	}
}

/* Move on by @n blocks of the cursor's chunk. */
static __always_inline void skip_blocks(struct omerta_mb_cursor *c, u32 n)
{
	u32 len = min_t(u32, c->left, n * OMERTA_BLOCK_LEN);

	c->counter += n;
	c->from += len;
	c->to += len;
	c->left -= len;
}

/* Give lanes from @lane to @last the blocks at the cursor, which will be stashed. */
static __always_inline void next_stashed(struct omerta_mb_cursor *c,
					 struct omerta_mb_lanes *l, u32 lane, u32 last)
{
	while (lane < last) {
		u32 end;

		while (!c->left)
			begin_chunk(c);
		end = min(lane + DIV_ROUND_UP(c->left, OMERTA_BLOCK_LEN), last);
		set_lanes(l, lane, end, c->counter, c->nonce);
		skip_blocks(c, end - lane);
		lane = end;
	}
}

/* The first row of the state */
static const u32 constants[] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };

/* Set the state of a batch before the first round. */
static __always_inline void begin_state(lanes_t *x, const u32 *k,
					const struct omerta_mb_lanes *l, unsigned int batch)
{
	unsigned int at = batch * LANES;
	int i;

	UNROLLED
	for (i = 0; i < 4; i++)
		x[i] = all(constants[i]);
	UNROLLED
	for (i = 0; i < 8; i++)
		x[4 + i] = all(k[i]);
	x[12] = load(&l->counter[at]);
	x[13] = all(0);
	x[14] = load(&l->nonce[0][at]);
	x[15] = load(&l->nonce[1][at]);
}

#define QUARTER(i)	4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3

/* Vectors that a block fills */
#define PIECES	(16 / LANES)

/*
 * Four vectors of @v, each @step behind the one before, have 128 bits of each of the same blocks.
 * Piece p of block b becomes the one at LANES / 4 * p + b.
 */
static __always_inline void transpose_quarters(lanes_t *v, int step)
{
#if LANES == 16
	lanes_t *w = v + step, *x = w + step, *y = x + step;
	lanes_t a = SHUFFLE(*v, *w, QUARTER(0), QUARTER(1), QUARTER(4), QUARTER(5));
	lanes_t b = SHUFFLE(*v, *w, QUARTER(2), QUARTER(3), QUARTER(6), QUARTER(7));
	lanes_t c = SHUFFLE(*x, *y, QUARTER(0), QUARTER(1), QUARTER(4), QUARTER(5));
	lanes_t d = SHUFFLE(*x, *y, QUARTER(2), QUARTER(3), QUARTER(6), QUARTER(7));

	*v = SHUFFLE(a, c, QUARTER(0), QUARTER(2), QUARTER(4), QUARTER(6));
	*w = SHUFFLE(a, c, QUARTER(1), QUARTER(3), QUARTER(5), QUARTER(7));
	*x = SHUFFLE(b, d, QUARTER(0), QUARTER(2), QUARTER(4), QUARTER(6));
	*y = SHUFFLE(b, d, QUARTER(1), QUARTER(3), QUARTER(5), QUARTER(7));
#elif LANES == 8
	int i;

	UNROLLED
	for (i = 0; i < 4 * step; i += 2 * step) {
		lanes_t a = v[i], b = v[i + step];

		v[i] = SHUFFLE(a, b, QUARTER(0), QUARTER(2));
		v[i + step] = SHUFFLE(a, b, QUARTER(1), QUARTER(3));
	}
#endif
}

#ifdef NARROW
static __always_inline void begin_half(half_t *y, const u32 *k,
				       const struct omerta_mb_lanes *l, unsigned int batch)
{
	unsigned int at = batch * LANES;
	half_t zero = { 0 };
	int i;

	UNROLLED
	for (i = 0; i < 4; i++)
		y[i] = zero + constants[i];
	UNROLLED
	for (i = 0; i < 8; i++)
		y[4 + i] = zero + k[i];
	__builtin_memcpy(&y[12], &l->counter[at], sizeof(half_t));
	y[13] = zero;
	__builtin_memcpy(&y[14], &l->nonce[0][at], sizeof(half_t));
	__builtin_memcpy(&y[15], &l->nonce[1][at], sizeof(half_t));
}
#endif

#include "crypto/mb_rows.h"

/* Lanes of the next blocks that are set up in each double round */
#define PER_ROUND	(BLOCKS < 8 ? 1 : BLOCKS / 8)

/*
 * make_blocks() generates the blocks of the first lanes of @l in @made, and in @mb->blocks[LANES]
 * further batches, or those of @more lanes: SET, or MORE, in NARROW vectors if there are such. The
 * next blocks are set up in between, so that the processor overlaps both.
 */
#ifdef MANY_REGISTERS
static __always_inline void make_blocks(lanes_t *made, int batches, unsigned int more,
					struct omerta_mb *mb, const struct omerta_mb_lanes *l,
					struct omerta_mb_lanes *next,
					struct omerta_mb_cursor *c)
{
	const bool half = IS_HALF(more);
	const int sets = half ? 0 : more / SET;
	const u32 *k = mb->secret;
	state_t x[BATCHES] __uninitialized;
	last_rows_t last __uninitialized;
	rows_t rows __uninitialized;
	int i, j;
#ifdef NARROW
	half_t *half_made = (half_t *)&mb->blocks[LANES];
	half_state_t y __uninitialized;

	if (half)
		begin_half(y, k, l, batches);
#else
	half_t *y = NULL;
#endif

	last_rows(last, sets, l, LANES);
	begin_rows(rows, sets, last, k);
	UNROLLED
	for (j = 0; j < batches; j++)
		begin_state(x[j], k, l, j);
	for (i = 0; i < 10; i++) {
		double_round(x, batches, half, y);
		double_round_of_rows(rows, sets);
		if (next && i < BLOCKS / PER_ROUND)
			for (j = 0; j < PER_ROUND; j++)
				next_block(c, next, i * PER_ROUND + j);
	}
	/* Read the secret again: kept until here, it would be spilled to the stack. */
	OPTIMIZER_HIDE_VAR(k);
	/* The first one last: it stays in registers. */
	UNROLLED
	for (j = batches - 1; j >= 0; j--) {
		lanes_t *to = j ? (lanes_t *)&mb->blocks[LANES * j] : made;
		state_t begun __uninitialized;

		begin_state(begun, k, l, j);
		UNROLLED
		for (i = 0; i < 16; i++)
			to[i] = x[j][i] + begun[i];
	}
	end_rows(&mb->blocks[LANES], rows, sets, last, k);
#ifdef NARROW
	if (half) {
		half_state_t begun __uninitialized;

		begin_half(begun, k, l, batches);
		UNROLLED
		for (i = 0; i < 16; i++)
			half_made[i] = y[i] + begun[i];
	}
#endif
}
#else
/* Rows are in memory while the batch is in registers, and take turns with a part of it. */
static __always_inline void make_blocks(lanes_t *made, int batches, unsigned int more,
					struct omerta_mb *mb, const struct omerta_mb_lanes *l,
					struct omerta_mb_lanes *next,
					struct omerta_mb_cursor *c)
{
	lanes_t (*rows)[4] = (void *)&mb->blocks[LANES];
	lanes_t *kept = (lanes_t *)mb->blocks;
	const int sets = more / SET;
	const u32 *k = mb->secret;
	last_rows_t last __uninitialized;
	rows_t row __uninitialized;
	state_t begun __uninitialized;
	int i, j, n;

	last_rows(last, sets, l, LANES);
	begin_rows(row, sets, last, k);
	UNROLLED
	for (n = 0; n < sets; n++)
		move_rows(rows[n], row[n]);
	begin_state(made, k, l, 0);
	kept[2] = made[10];
	kept[3] = made[11];
	for (i = 0; i < 10; i++) {
		double_round(made, kept);
		if (sets)
			exchange_four(made, kept, false);
		UNROLLED
		for (n = 0; n < sets; n++) {
			move_rows(row[0], rows[n]);
			double_round_of_rows(row, 1);
			move_rows(rows[n], row[0]);
		}
		if (sets)
			exchange_four(made, kept, true);
		if (next && i < BLOCKS / PER_ROUND)
			for (j = 0; j < PER_ROUND; j++)
				next_block(c, next, i * PER_ROUND + j);
	}
	/* Read the secret again: kept until here, it would be spilled to the stack. */
	OPTIMIZER_HIDE_VAR(k);
	if (sets)
		exchange_four(made, kept, false);
	/* Again, so that they need not be kept. */
	last_rows(last, sets, l, LANES);
	UNROLLED
	for (n = 0; n < sets; n++) {
		move_rows(row[0], rows[n]);
		end_rows(&mb->blocks[LANES + n * SET], row, 1, last + n, k);
	}
	if (sets)
		exchange_four(made, kept, true);
	made[10] = kept[2];
	made[11] = kept[3];
	begin_state(begun, k, l, 0);
	UNROLLED
	for (i = 0; i < 16; i++)
		made[i] += begun[i];
}
#endif

#define UNPACK32(i)	(i), LANES + (i), (i) + 1, LANES + (i) + 1
#define UNPACK64(i)	(i), (i) + 1, LANES + (i), LANES + (i) + 1
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

/* Piece p of lane l's block becomes x[LANES * p + l]. */
static __always_inline void transpose(lanes_t *x)
{
	int i;

	UNROLLED
	for (i = 0; i < 16; i += 4)
		transpose4(x + i);
	UNROLLED
	for (i = 0; i < 4; i++)
		transpose_quarters(x + i, 4);
}

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

#if defined(IS_NARROW) || BATCHES > 1
/* Transpose the blocks from @at on, which are in lanes. */
static __always_inline void transpose_made(struct omerta_mb *mb, unsigned int at)
{
	const lanes_t *made = (lanes_t *)&mb->blocks[at];
	state_t x __uninitialized;
	int i;

	/* Copied at once, they would take stack even if they stay in registers. */
	UNROLLED
	for (i = 0; i < 16; i++)
		x[i] = made[i];
	transpose(x);
	UNROLLED
	for (i = 0; i < LANES; i++)
		store_block(mb->blocks[at + i], x, i);
}
#endif

/*
 * Generate a batch of blocks, and those of @more lanes behind: none, SET, MORE, or LANES as another
 * batch. The first @keys are one-time keys, those of chunks from @first on; the others are stashed.
 */
static __always_inline void make_batch(struct omerta_mb *mb, const struct omerta_mb_lanes *l,
				       unsigned int more, unsigned int first, unsigned int keys,
				       struct omerta_mb_lanes *next,
				       struct omerta_mb_cursor *c)
{
	const bool two = more == LANES;
	state_t x __uninitialized;
	int i;

	make_blocks(x, 1 + two, two ? 0 : more, mb, l, next, c);
	if (keys) {
		UNROLLED
		for (i = 0; i < 8; i++)
			store(&mb->key[i][first], x[i]);
	}
	if (keys < LANES) {
		transpose(x);
		UNROLLED
		for (i = 0; i < LANES; i++)
			store_block(mb->blocks[i], x, i);
	}
#if BATCHES > 1
	if (two)
		transpose_made(mb, LANES);
#endif
#ifdef NARROW
	if (IS_HALF(more))
		NARROW(transpose)(mb, LANES);
#endif
}

static noinline_for_stack void make_one_batch(struct omerta_mb *mb,
					      const struct omerta_mb_lanes *l,
					      unsigned int first, unsigned int keys,
					      struct omerta_mb_lanes *next,
					      struct omerta_mb_cursor *c)
{
	make_batch(mb, l, 0, first, keys, next, c);
}

static noinline_for_stack void make_batch_and_set(struct omerta_mb *mb,
						  const struct omerta_mb_lanes *l,
						  unsigned int first, unsigned int keys)
{
	make_batch(mb, l, SET, first, keys, NULL, NULL);
}

#if MORE > SET
static noinline_for_stack void make_batch_and_more(struct omerta_mb *mb,
						   const struct omerta_mb_lanes *l,
						   unsigned int first, unsigned int keys)
{
	make_batch(mb, l, MORE, first, keys, NULL, NULL);
}
#endif

#if BATCHES > 1
static noinline_for_stack void make_two_batches(struct omerta_mb *mb,
						const struct omerta_mb_lanes *l,
						unsigned int first, unsigned int keys)
{
	make_batch(mb, l, LANES, first, keys, NULL, NULL);
}
#endif

#ifndef NARROW
/* As make_batch(), but the blocks of some sets */
static __always_inline void make_sets(struct omerta_mb *mb, const struct omerta_mb_lanes *l,
				      int sets, unsigned int first, unsigned int keys)
{
	const u32 *k = mb->secret;
	last_rows_t last __uninitialized;
	rows_t x __uninitialized;
	int i, j;

	last_rows(last, sets, l, 0);
	begin_rows(x, sets, last, k);
	for (i = 0; i < 10; i++)
		double_round_of_rows(x, sets);
	/* As in make_blocks() */
	OPTIMIZER_HIDE_VAR(k);
	end_rows(mb->blocks, x, sets, last, k);
	for (i = 0; i < keys; i++)
		for (j = 0; j < 8; j++)
			__builtin_memcpy(&mb->key[j][first + i], &mb->blocks[i][4 * j], 4);
}

/* The same with constants: @blocks are at most FEW. */
static __always_inline void make_few(struct omerta_mb *mb, const struct omerta_mb_lanes *l,
				     unsigned int blocks, unsigned int first,
				     unsigned int keys)
{
	if (blocks <= SET)
		make_sets(mb, l, 1, first, keys);
	else if (blocks <= 2 * SET)
		make_sets(mb, l, 2, first, keys);
	else
		make_sets(mb, l, MOST_SETS, first, keys);
}
#endif /* NARROW */

/* Return how many lanes behind a batch generate @blocks, more than its own, with it, or 0. */
static __always_inline unsigned int lanes_behind(u32 blocks)
{
	if (blocks > LANES + MORE)
		return blocks <= 2 * LANES && BATCHES > 1 ? LANES : 0;
	return blocks > LANES + SET ? MORE : SET;
}

/*
 * Generate one-time keys from chunk @first on; return how many. Spare lanes generate the
 * first key stream blocks, of @blocks in all, and the blocks after those are set up, too.
 */
static __always_inline unsigned int make_keys(struct omerta_mb *mb,
					      const struct omerta_chunk *list,
					      unsigned int n, unsigned int first,
					      u32 blocks, bool open)
{
	struct omerta_mb_cursor c = { .list = list, .end = list + n, .open = open };
	unsigned int keys = min_t(unsigned int, n - first, LANES), i;
	struct omerta_mb_lanes *l = &mb->lanes[0];
	u32 made = keys + blocks;
	/* The next ones would use the same lanes. */
	unsigned int more = first + keys == n && made > LANES ? lanes_behind(made) : 0;

	if (!more)
		made = min_t(u32, made, LANES);
	if (n == 1) {
		set_lanes(l, 0, made, 0, list->nonce);
		begin_chunk(&c);
		skip_blocks(&c, made - 1);
	} else {
		for (i = 0; i < keys; i++) {
			l->counter[i] = 0;
			l->nonce[0][i] = list[first + i].nonce;
			l->nonce[1][i] = list[first + i].nonce >> 32;
		}
		next_stashed(&c, l, keys, made);
	}
	mb->stash = keys;
	mb->stashed = made - keys;
#ifdef NARROW
	if (keys <= LANES / 2 && made <= mb->narrow) {
		mb->made = round_up(made, LANES / 4);
		NARROW(batch)(mb, l, made, first, keys);
		return keys;
	}
#else
	if (made <= FEW) {
		mb->made = round_up(made, SET);
		make_few(mb, l, made, first, keys);
		return keys;
	}
#endif
	if (more) {
		mb->made = LANES + more;
#if BATCHES > 1
		if (more == LANES) {
			make_two_batches(mb, l, first, keys);
			return keys;
		}
#endif
#if MORE > SET
		if (more == MORE) {
			make_batch_and_more(mb, l, first, keys);
			return keys;
		}
#endif
		make_batch_and_set(mb, l, first, keys);
		return keys;
	}
	mb->made = LANES;
	make_one_batch(mb, l, first, keys,
		       mb->stashed && mb->stashed < blocks ? &mb->lanes[1] : NULL, &c);
	mb->cursor = c;
	return keys;
}

/* Use the key stream that make_keys() stashed; return the number of blocks. */
static __always_inline u32 use_stash(struct omerta_mb *mb, struct omerta_mb_cursor *c)
{
	u32 i, some;

	for (i = 0; i < mb->stashed; i += some) {
		while (!c->left)
			begin_chunk(c);
		some = min(mb->stashed - i, DIV_ROUND_UP(c->left, OMERTA_BLOCK_LEN));
		xor_stash(c->to, c->from, mb->blocks[mb->stash + i],
			  min(c->left, some * OMERTA_BLOCK_LEN));
		skip_blocks(c, some);
	}
	return mb->stashed;
}

static __always_inline u32 count_blocks(const struct omerta_chunk *list, unsigned int n)
{
	unsigned int i;
	u32 blocks = 0;

	for (i = 0; i < n; i++)
		blocks += DIV_ROUND_UP(list[i].len, OMERTA_BLOCK_LEN);
	return blocks;
}

static __always_inline void xor_blocks(struct omerta_mb *mb, lanes_t *x,
				       const struct omerta_mb_lanes *l, unsigned int at)
{
	unsigned long partial = 0;
	int i;

	transpose(x);
	UNROLLED
	for (i = 0; i < LANES; i++) {
		if (l->len[at + i] >= OMERTA_BLOCK_LEN) {
			xor_block(l->to[at + i], l->from[at + i], x, i);
		} else if (l->len[at + i]) {
			store_block(mb->blocks[i], x, i);
			partial |= 1UL << i;
		}
	}
	/* A call that comes before the last use of @x would have it kept on the stack. */
	for (; partial; partial &= partial - 1) {
		i = __builtin_ctzl(partial);
		xor_stash(l->to[at + i], l->from[at + i], mb->blocks[i], l->len[at + i]);
	}
}

#if BATCHES > 1
static __always_inline void crypt_batches(struct omerta_mb *mb,
					  const struct omerta_mb_lanes *l,
					  struct omerta_mb_lanes *next,
					  struct omerta_mb_cursor *c)
{
	state_t x __uninitialized;
	int i, j;

	mb->made = BLOCKS;
	make_blocks(x, BATCHES, 0, mb, l, next, c);
	xor_blocks(mb, x, l, 0);
	for (j = 1; j < BATCHES; j++) {
		UNROLLED
		for (i = 0; i < 16; i++)
			x[i] = ((lanes_t *)&mb->blocks[LANES * j])[i];
		xor_blocks(mb, x, l, LANES * j);
	}
}
#endif

/* XOR blocks from @at on that are in @mb. */
static void xor_made(const struct omerta_mb *mb, const struct omerta_mb_lanes *l,
		     u32 at, u32 end)
{
	for (; at < end; at++)
		xor_stash(l->to[at], l->from[at], mb->blocks[at],
			  min_t(u32, l->len[at], OMERTA_BLOCK_LEN));
}

static __always_inline void crypt_batch(struct omerta_mb *mb, const struct omerta_mb_lanes *l,
					unsigned int more, struct omerta_mb_lanes *next,
					struct omerta_mb_cursor *c)
{
	state_t x __uninitialized;

	make_blocks(x, 1, more, mb, l, next, c);
	xor_blocks(mb, x, l, 0);
#ifdef NARROW
	if (IS_HALF(more))
		NARROW(transpose)(mb, LANES);
#endif
}

static noinline_for_stack void crypt_batch_and_set(struct omerta_mb *mb,
						   const struct omerta_mb_lanes *l)
{
	crypt_batch(mb, l, SET, NULL, NULL);
}

#if MORE > SET
static noinline_for_stack void crypt_batch_and_more(struct omerta_mb *mb,
						    const struct omerta_mb_lanes *l)
{
	crypt_batch(mb, l, MORE, NULL, NULL);
}
#endif

static __always_inline void crypt_list(struct omerta_mb *mb,
				       const struct omerta_chunk *list,
				       unsigned int n, bool open)
{
	struct omerta_mb_cursor c = { .list = list, .end = list + n, .open = open };
	struct omerta_mb_lanes *l = &mb->lanes[1], *next = &mb->lanes[0];
	u32 i, left = count_blocks(list, n);

	left -= use_stash(mb, &c);
	if (!left)
		return;
	if (mb->stashed)
		c = mb->cursor;
	else
		for (i = 0; i < BLOCKS; i++)
			next_block(&c, l, i);
	while (left > LANES + MORE) {
#if BATCHES > 1
		crypt_batches(mb, l, left > BLOCKS ? next : NULL, &c);
#else
		crypt_batch(mb, l, 0, next, &c);
#endif
		if (left <= BLOCKS)
			return;
		left -= BLOCKS;
		swap(l, next);
	}
#ifdef NARROW
	mb->made = BLOCKS;
	if (left <= mb->narrow) {
		NARROW(batch)(mb, l, left, 0, 0);
		xor_made(mb, l, 0, left);
		return;
	}
#else
	if (left <= FEW) {
		/* As many blocks have been written for the one-time keys. */
		make_few(mb, l, left, 0, 0);
		xor_made(mb, l, 0, left);
		return;
	}
#endif
	if (left > LANES) {
		for (i = BLOCKS; i < left; i++)
			next_block(&c, l, i);
		mb->made = max_t(unsigned int, mb->made, LANES + lanes_behind(left));
#if MORE > SET
		if (left > LANES + SET)
			crypt_batch_and_more(mb, l);
		else
#endif
			crypt_batch_and_set(mb, l);
		xor_made(mb, l, LANES, left);
		return;
	}
	crypt_batch(mb, l, 0, NULL, NULL);
}
