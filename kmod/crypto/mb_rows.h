/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ChaCha20 (RFC 8439, 2.3) of too few blocks to fill the lanes of a batch: a vector has a row of
 * the state of the SET of blocks that fits it. Up to MOST_SETS such states are interleaved.
 * mb_chacha.h includes this.
 */
#define SET		(LANES / 4)
#define MOST_SETS	(FEW / SET)

#if LANES == 16
#define TURN_WORDS(a, b, c, d)	a, b, c, d, 4 + (a), 4 + (b), 4 + (c), 4 + (d),		\
				8 + (a), 8 + (b), 8 + (c), 8 + (d),			\
				12 + (a), 12 + (b), 12 + (c), 12 + (d)
#define FOUR_WORDS	0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3
#elif LANES == 8
#define TURN_WORDS(a, b, c, d)	a, b, c, d, 4 + (a), 4 + (b), 4 + (c), 4 + (d)
#define FOUR_WORDS	0, 1, 2, 3, 0, 1, 2, 3
#else
#define TURN_WORDS(a, b, c, d)	a, b, c, d
#define FOUR_WORDS	0, 1, 2, 3
#endif

/* The columns become the diagonals, or the other way round. */
static __always_inline void turn_rows(lanes_t (*x)[4], int sets, bool back)
{
	int i;

	UNROLLED
	for (i = 0; i < sets; i++) {
		lanes_t b = x[i][1], c = x[i][2], d = x[i][3];

		if (back) {
			x[i][1] = SHUFFLE(b, b, TURN_WORDS(3, 0, 1, 2));
			x[i][3] = SHUFFLE(d, d, TURN_WORDS(1, 2, 3, 0));
		} else {
			x[i][1] = SHUFFLE(b, b, TURN_WORDS(1, 2, 3, 0));
			x[i][3] = SHUFFLE(d, d, TURN_WORDS(3, 0, 1, 2));
		}
		x[i][2] = SHUFFLE(c, c, TURN_WORDS(2, 3, 0, 1));
	}
}

static __always_inline void round_of_rows(lanes_t (*x)[4], int sets)
{
	int i;

#define EACH(a, b, c, rot)						\
	UNROLLED for (i = 0; i < sets; i++) {				\
		x[i][a] += x[i][b];					\
		x[i][c] = rot(x[i][c] ^ x[i][a]);			\
	}
	EACH(0, 1, 3, rotate16);
	EACH(2, 3, 1, rotate12);
	EACH(0, 1, 3, rotate8);
	EACH(2, 3, 1, rotate7);
#undef EACH
}

typedef u32 row_t __attribute__((__vector_size__(16)));

/* A row of the state, the same in all blocks */
static __always_inline lanes_t same_row(const u32 *words)
{
	row_t row;

	__builtin_memcpy(&row, words, sizeof(row));
	return SHUFFLE(row, row, FOUR_WORDS);
}

/* Set the last rows of four blocks, with the counters and nonces of lanes from @at on. */
static __always_inline void four_last_rows(lanes_t *last, const struct omerta_mb_lanes *l,
					   unsigned int at)
{
	row_t counter, low, high, zero = {}, v[4], row[4];

	__builtin_memcpy(&counter, &l->counter[at], sizeof(counter));
	__builtin_memcpy(&low, &l->nonce[0][at], sizeof(low));
	__builtin_memcpy(&high, &l->nonce[1][at], sizeof(high));
	v[0] = SHUFFLE(counter, zero, 0, 4, 1, 5);
	v[1] = SHUFFLE(low, high, 0, 4, 1, 5);
	v[2] = SHUFFLE(counter, zero, 2, 6, 3, 7);
	v[3] = SHUFFLE(low, high, 2, 6, 3, 7);
	row[0] = SHUFFLE(v[0], v[1], 0, 1, 4, 5);
	row[1] = SHUFFLE(v[0], v[1], 2, 3, 6, 7);
	row[2] = SHUFFLE(v[2], v[3], 0, 1, 4, 5);
	row[3] = SHUFFLE(v[2], v[3], 2, 3, 6, 7);
#if LANES == 16
	last[0] = SHUFFLE(SHUFFLE(row[0], row[1], 0, 1, 2, 3, 4, 5, 6, 7),
			  SHUFFLE(row[2], row[3], 0, 1, 2, 3, 4, 5, 6, 7),
			  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif LANES == 8
	last[0] = SHUFFLE(row[0], row[1], 0, 1, 2, 3, 4, 5, 6, 7);
	last[1] = SHUFFLE(row[2], row[3], 0, 1, 2, 3, 4, 5, 6, 7);
#else
	last[0] = row[0];
	last[1] = row[1];
	last[2] = row[2];
	last[3] = row[3];
#endif
}

#define ROUND_UP4(n)	(((n) + 3) / 4 * 4)

/* The last rows, before the first round, of as many sets as four_last_rows() may set */
typedef lanes_t last_rows_t[ROUND_UP4(FEW) / SET];

static __always_inline void last_rows(lanes_t *last, int sets, const struct omerta_mb_lanes *l,
				      unsigned int at)
{
	int i;

	UNROLLED
	for (i = 0; i < sets; i += 4 / SET)
		four_last_rows(last + i, l, at + i * SET);
}

typedef lanes_t rows_t[MOST_SETS][4];

static __always_inline void begin_rows(lanes_t (*x)[4], int sets, const lanes_t *last,
				       const u32 *k)
{
	int i;

	UNROLLED
	for (i = 0; i < sets; i++) {
		x[i][0] = same_row(constants);
		x[i][1] = same_row(k);
		x[i][2] = same_row(k + 4);
		x[i][3] = last[i];
	}
}

static __always_inline void double_round_of_rows(lanes_t (*x)[4], int sets)
{
	round_of_rows(x, sets);
	turn_rows(x, sets, false);
	round_of_rows(x, sets);
	turn_rows(x, sets, true);
}

/* Store the blocks. */
static __always_inline void end_rows(u8 (*blocks)[OMERTA_BLOCK_LEN], lanes_t (*x)[4], int sets,
				     const lanes_t *last, const u32 *k)
{
	rows_t begun __uninitialized;
	int i, j;

	begin_rows(begun, sets, last, k);
	UNROLLED
	for (i = 0; i < sets; i++) {
		UNROLLED
		for (j = 0; j < 4; j++)
			x[i][j] += begun[i][j];
		transpose_quarters(x[i], 1);
		UNROLLED
		for (j = 0; j < 4; j++)
			store(blocks[i * SET + j % SET] + 4 * LANES * (j / SET), x[i][j]);
	}
}
