// SPDX-License-Identifier: GPL-2.0
/*
 * crypto/: nonces, and lists of chunks sealed and opened, by the library and by each
 * engine that this machine supports.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(sym)	/* That is what the module does. */

#include "crypto/chunk.c"

/* Measurements at load see the time that a test makes. */
static u64 test_time;

static u64 test_clock(void)
{
	return test_time;
}

#define ktime_get_ns	test_clock
#include "crypto/engines.c"
#include "crypto/mb.c"
#include "crypto/selftest.c"

#include <linux/string.h>

#include "wire/wire.h"

#include "test_util.h"
#include "vec_edges.h"
#include "vec_wycheproof.h"

#define FILL		0xa5
#define MAX_LEN		1100
/* Longer than what any engine leaves to general registers */
#define LONE_LEN	3000
#define LONG_LEN	4096
#define SLOT_PLAIN	0
#define SLOT_SEALED	1

static bool is_fill(const u8 *p, u32 len)
{
	return !len || !memchr_inv(p, FILL, len);
}

/* Catches: counter, end and position that share bits or fall out of 64. */
static void nonce_fields(struct kunit *test)
{
	const u64 top = OMERTA_COUNTER_LIMIT - 1;

	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(0, 0, false), 0ULL);
	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(0, 1, false), 1ULL);
	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(0, 0, true), 0x80ULL);
	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(1, 0, false), 0x100ULL);
	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(0x123456789aULL, 127, true),
			0x123456789affULL);
	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(top, 127, true),
			0xfffffffffeffffffULL);
	KUNIT_EXPECT_EQ(test, OMERTA_NONCE(top, 0, false) >> 8, top);
	KUNIT_EXPECT_LE(test, OMERTA_MAX_CHUNKS - 1, 0x7f);
}

/* Catches: a library whose nonce or Poly1305 differs from RFC 8439's. */
static void wycheproof(struct kunit *test)
{
	u8 *out = kunit_kzalloc(test, sizeof(vec_wycheproof->sealed),
				GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, out);
	for (i = 0; i < ARRAY_SIZE(vec_wycheproof); i++) {
		const struct vec_wycheproof *v = &vec_wycheproof[i];
		u32 sealed_len = v->len + OMERTA_TAG_LEN;
		bool good;

		chacha20poly1305_encrypt(out, v->plain, v->len, v->ad,
					 v->ad_len, v->nonce, v->key);
		KUNIT_EXPECT_MEMEQ_MSG(test, out, v->sealed, sealed_len,
				       "case %u", v->id);
		memset(out, FILL, v->len);
		good = chacha20poly1305_decrypt(out, v->sealed, sealed_len,
						v->ad, v->ad_len, v->nonce,
						v->key);
		KUNIT_EXPECT_TRUE_MSG(test, good, "case %u", v->id);
		KUNIT_EXPECT_MEMEQ_MSG(test, out, v->plain, v->len, "case %u",
				       v->id);
	}
}

/* Runs @check with the library, then with each instruction set. */
static void with_each_isa(struct kunit *test, void (*check)(struct kunit *test))
{
	const struct omerta_engine *isa, *best = default_engine;
	struct omerta_engine_limits unlimited = { .at_once = U32_MAX, .alone = U32_MAX };
	struct omerta_engine engine;

	default_engine = NULL;
	check(test);
	for (isa = engines; isa < engines + ARRAY_SIZE(engines); isa++) {
		if (!isa->is_supported())
			continue;
		/* The same lists on each machine, however slow */
		engine = *isa;
		engine.limits = &unlimited;
		default_engine = &engine;
		unlimited.narrow = OMERTA_NARROW_MAX;
		check(test);
		/* Only the first one has another way. */
		unlimited.narrow = OMERTA_NARROW_MIN;
		if (isa == engines)
			check(test);
	}
	default_engine = best;
}

/* With an engine whatever the length */
static void seal_few(const struct omerta_chunk *list, unsigned int n, const u8 *secret)
{
	if (default_engine)
		omerta_mb_seal(default_engine, list, n, secret);
	else
		omerta_chunk_seal(NULL, list, n, secret);
}

static u32 open_few(const struct omerta_chunk *list, unsigned int n, const u8 *secret)
{
	if (default_engine)
		return omerta_mb_open(default_engine, list, n, secret);
	return omerta_chunk_open(NULL, list, n, secret);
}

static void one_poly1305_edges(struct kunit *test)
{
	u8 secret[OMERTA_SECRET_LEN], out[VEC_EDGE_LEN + OMERTA_TAG_LEN];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vec_edges); i++) {
		const struct vec_edge *v = &vec_edges[i];
		struct omerta_chunk c = {
			.plain = (u8 *)v->plain, .sealed = out,
			.nonce = v->nonce, .len = v->len,
		};

		test_pattern(secret, sizeof(secret), v->seed);
		seal_few(&c, 1, secret);
		KUNIT_EXPECT_MEMEQ_MSG(test, out, v->sealed,
				       v->len + OMERTA_TAG_LEN, "edge %u", i);
		c.sealed = (u8 *)v->sealed;
		c.plain = out;
		KUNIT_EXPECT_TRUE(test, open_few(&c, 1, secret));
		KUNIT_EXPECT_MEMEQ_MSG(test, out, v->plain, v->len, "edge %u",
				       i);
	}
}

/* Catches: a lost carry or a missing final reduction. */
static void poly1305_edges(struct kunit *test)
{
	with_each_isa(test, one_poly1305_edges);
}

/* One of the long ones @n times, one behind the other */
static void long_edges_in_list(struct kunit *test, const struct vec_long_edge *v,
			       unsigned int n)
{
	u32 each = v->len + OMERTA_TAG_LEN;
	u8 *sealed = test_edge(test, SLOT_SEALED, n * each);
	u8 *plain = test_edge(test, SLOT_PLAIN, n * v->len);
	u8 *again = test_edge(test, 2, n * each);
	struct omerta_chunk list[4];
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int i;

	test_pattern(secret, sizeof(secret), v->seed);
	for (i = 0; i < n; i++) {
		u8 *to = sealed + i * each;

		memcpy(to, v->first, sizeof(v->first));
		test_pattern(to + sizeof(v->first), v->len - sizeof(v->first), v->seed);
		memcpy(to + v->len, v->tag, sizeof(v->tag));
		list[i].plain = plain + i * v->len;
		list[i].sealed = to;
		list[i].nonce = v->nonce;
		list[i].len = v->len;
	}
	KUNIT_EXPECT_EQ_MSG(test, open_few(list, n, secret), OMERTA_CHUNK_ALL(n),
			    "long edge %td, %u of them", v - vec_long_edges, n);
	for (i = 0; i < n; i++)
		list[i].sealed = again + i * each;
	seal_few(list, n, secret);
	KUNIT_EXPECT_MEMEQ_MSG(test, again, sealed, n * each,
			       "long edge %td, %u of them", v - vec_long_edges, n);
}

static void one_poly1305_long_edges(struct kunit *test)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(vec_long_edges); i++)
		for (n = 1; n <= 4; n++)
			long_edges_in_list(test, &vec_long_edges[i], n);
}

/* Catches: the same where the parts of a chunk are put together. */
static void poly1305_long_edges(struct kunit *test)
{
	with_each_isa(test, one_poly1305_long_edges);
}

/* The tag of chunks with a chosen one-time key, one or two of them */
static void tags_by_multiplier(struct kunit *test, const struct vec_multiplier *v,
			       unsigned int n)
{
	u8 *sealed = test_edge(test, SLOT_SEALED, v->len + OMERTA_TAG_LEN);
	const struct omerta_chunk c = { .sealed = sealed, .len = v->len };
	const struct omerta_chunk chunks[] = { c, c }, *list = chunks;
	u8 key[2 * OMERTA_TAG_LEN], from[OMERTA_CHUNK_LIST];
	__le64 tag[2][2];
	struct omerta_mb *mb;
	unsigned int i, word;

	memcpy(key, v->r, sizeof(v->r));
	test_pattern(key + sizeof(v->r), OMERTA_TAG_LEN, 0);
	test_pattern(sealed, v->len, 0);
	mb = mb_enter(default_engine, &list, n, from);
	scoped_ksimd() {
		for (i = 0; i < n; i++)
			for (word = 0; word < ARRAY_SIZE(mb->key); word++)
				mb->key[word][i] = get_unaligned_le32(key + 4 * word);
		default_engine->tags(mb, list, n);
		for (i = 0; i < n; i++)
			for (word = 0; word < 2; word++)
				tag[i][word] = cpu_to_le64(mb->tag[word][i]);
		default_engine->wipe(mb, n);
	}
	put_cpu_ptr(scratch);
	local_bh_enable();
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_MEMEQ_MSG(test, tag[i], v->tag, sizeof(v->tag),
				       "multiplier %td, chunk %u of %u", v - vec_multipliers,
				       i, n);
}

static void one_poly1305_multipliers(struct kunit *test)
{
	unsigned int i, n;

	/* The library does not take a one-time key. */
	if (!default_engine)
		return;
	for (i = 0; i < ARRAY_SIZE(vec_multipliers); i++)
		for (n = 1; n <= 2; n++)
			tags_by_multiplier(test, &vec_multipliers[i], n);
}

/* Catches: a lost carry in powers of the multiplier. */
static void poly1305_multipliers(struct kunit *test)
{
	with_each_isa(test, one_poly1305_multipliers);
}

static void round_trip(struct kunit *test, u32 len, const u8 *secret)
{
	struct omerta_chunk c = { .nonce = OMERTA_NONCE(len, 3, true),
				  .len = len };
	u8 *plain = test_edge(test, SLOT_PLAIN, len);
	u8 *sealed = test_edge(test, SLOT_SEALED, len + OMERTA_TAG_LEN);
	u8 *want = test_edge(test, 2, len + OMERTA_TAG_LEN);

	test_pattern(plain, len, len);
	chacha20poly1305_encrypt(want, plain, len, NULL, 0, c.nonce, secret);
	c.plain = plain;
	c.sealed = sealed;
	seal_few(&c, 1, secret);
	KUNIT_ASSERT_MEMEQ_MSG(test, sealed, want, len + OMERTA_TAG_LEN,
			       "length %u", len);
	if (len)
		memset(plain, FILL, len);
	KUNIT_ASSERT_TRUE_MSG(test, open_few(&c, 1, secret), "length %u", len);
	test_pattern(want, len, len);
	KUNIT_ASSERT_MEMEQ_MSG(test, plain, want, len, "length %u", len);

	c.plain = sealed;
	KUNIT_ASSERT_TRUE(test, open_few(&c, 1, secret));
	KUNIT_ASSERT_MEMEQ_MSG(test, sealed, want, len, "in place, %u", len);
}

static void one_every_length(struct kunit *test)
{
	u8 secret[OMERTA_SECRET_LEN];
	u32 len;

	test_pattern(secret, sizeof(secret), 1);
	for (len = 0; len <= LONE_LEN; len += len < MAX_LEN ? TEST_SCALE(1, 3) : 17) {
		round_trip(test, len, secret);
		cond_resched();
	}
	for (len = 2048; len <= 65536; len *= 2) {
		round_trip(test, len - 1, secret);
		round_trip(test, len, secret);
	}
}

/* Catches: a length at which what seals and opens reads or writes past the end. */
static void every_length(struct kunit *test)
{
	with_each_isa(test, one_every_length);
}

/* Lay @n chunks of random lengths and nonces end to end. */
static void random_list(struct test_rng *rng, struct omerta_chunk *list,
			unsigned int n, u8 *plain, u8 *sealed)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		list[i].plain = plain;
		list[i].sealed = sealed;
		list[i].len = test_below(rng, 4) ? OMERTA_CHUNK_MIN :
						   test_below(rng, 600);
		list[i].nonce = test_rnd(rng);
		plain += list[i].len;
		sealed += list[i].len + OMERTA_TAG_LEN;
	}
}

static void does_nothing(struct omerta_mb *mb, const struct omerta_chunk *list,
			 unsigned int n, bool open)
{
}

static void makes_nothing(struct omerta_mb *mb, const u8 *secret,
			  const struct omerta_chunk *list, unsigned int n, bool open)
{
	mb->stashed = 0; /* Another engine may have had this CPU's area before. */
}

static void tags_nothing(struct omerta_mb *mb, const struct omerta_chunk *list,
			 unsigned int n)
{
}

static void wipes_nothing(struct omerta_mb *mb, unsigned int n)
{
}

/* Catches: a self-test that lets a wrong engine pass, or a right one not. */
static void self_test(struct kunit *test)
{
	const struct omerta_engine *isa;
	struct omerta_engine bad;

	KUNIT_EXPECT_EQ(test, omerta_selftest(NULL), 0);
	for (isa = engines; isa < engines + ARRAY_SIZE(engines); isa++) {
		if (!isa->is_supported())
			continue;
		KUNIT_EXPECT_EQ_MSG(test, omerta_selftest(isa), 0, "%s", isa->name);
		bad = *isa;
		bad.keys = makes_nothing;
		KUNIT_EXPECT_EQ_MSG(test, omerta_selftest(&bad), -EBADMSG, "%s",
				    isa->name);
		bad = *isa;
		bad.tags = tags_nothing;
		KUNIT_EXPECT_EQ_MSG(test, omerta_selftest(&bad), -EBADMSG, "%s",
				    isa->name);
		bad = *isa;
		bad.crypt = does_nothing;
		KUNIT_EXPECT_EQ_MSG(test, omerta_selftest(&bad), -EBADMSG, "%s",
				    isa->name);
	}
	omerta_engine_exit();
	KUNIT_EXPECT_EQ(test, omerta_engine_init(), 0);
	/* Every CPU has one, of an architecture that has any. */
	KUNIT_EXPECT_EQ(test, !default_engine, !ARRAY_SIZE(engines));
}

/* Catches: an engine that failed its self-test and is used all the same. */
static void engine_that_failed(struct kunit *test)
{
	const struct omerta_engine *best = default_engine, *other;
	enum verdict *v = &verdicts[best - engines];

	if (!ARRAY_SIZE(engines))
		kunit_skip(test, "no engine for this architecture");
	KUNIT_ASSERT_NOT_NULL(test, best);
	*v = BAD;
	omerta_engine_exit();
	KUNIT_EXPECT_EQ(test, omerta_engine_init(), 0);
	KUNIT_EXPECT_TRUE(test, default_engine != best);
	KUNIT_EXPECT_EQ(test, omerta_engine_find(best->name, &other), -EOPNOTSUPP);
	*v = UNTESTED;
	omerta_engine_exit();
	KUNIT_EXPECT_EQ(test, omerta_engine_init(), 0);
	KUNIT_EXPECT_PTR_EQ(test, default_engine, best);
	KUNIT_EXPECT_EQ(test, *v, GOOD);
}

/* Catches: a limit that a slow machine does not lower, or that falls to nothing. */
static void limit_by_time(struct kunit *test)
{
	const u32 bytes = OMERTA_CHUNK_LIST * OMERTA_CHUNK_MIN;
	u32 limit;

	limit_bytes(&limit, 0);
	KUNIT_EXPECT_EQ(test, limit, (u32)MOST_AT_ONCE);
	limit_bytes(&limit, LONGEST_NS / 8);
	KUNIT_EXPECT_EQ(test, limit, (u32)MOST_AT_ONCE);
	limit_bytes(&limit, LONGEST_NS / 2);
	KUNIT_EXPECT_EQ(test, limit, 2 * bytes);
	limit_bytes(&limit, LONGEST_NS);
	KUNIT_EXPECT_EQ(test, limit, bytes);
	limit_bytes(&limit, 1000ULL * LONGEST_NS);
	KUNIT_EXPECT_EQ(test, limit, (u32)LEAST_AT_ONCE);
}

/* An engine, and the most that it was given */
static const struct omerta_engine *measured;
static u32 most_bytes, least_alone, most_alone;

static void measuring_keys(struct omerta_mb *mb, const u8 *secret,
			   const struct omerta_chunk *list, unsigned int n, bool open)
{
	unsigned int i;
	u32 bytes = 0;

	for (i = 0; i < n; i++)
		bytes += list[i].len;
	if (n == 1) {
		least_alone = min(least_alone, list[0].len);
		most_alone = max(most_alone, list[0].len);
	}
	most_bytes = max(most_bytes, bytes);
	measured->keys(mb, secret, list, n, open);
}

/* Seal and open random chunks of up to @longest bytes with @engine; compare with the library. */
static void check_random_lists(struct kunit *test, const struct omerta_engine *engine,
			       u32 longest)
{
	u8 *plain = test_edge(test, SLOT_PLAIN, OMERTA_CHUNK_LIST * longest);
	u8 *sealed = test_edge(test, SLOT_SEALED, OMERTA_CHUNK_LIST * (longest + OMERTA_TAG_LEN));
	u8 *one = test_edge(test, 2, longest + OMERTA_TAG_LEN);
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 secret[OMERTA_SECRET_LEN];
	struct test_rng rng = TEST_RNG(6);
	unsigned int round, n, i;
	u32 at;

	test_random(&rng, secret, sizeof(secret));
	for (round = 0; round < TEST_SCALE(100, 10); round++) {
		n = 1 + round % OMERTA_CHUNK_LIST;
		for (i = 0, at = 0; i < n; at += list[i++].len) {
			list[i].plain = plain + at;
			list[i].sealed = sealed + at + i * OMERTA_TAG_LEN;
			list[i].len = test_below(&rng, longest + 1);
			list[i].nonce = OMERTA_NONCE(round, 0, true) + ((u64)i << 32);
		}
		test_pattern(plain, at, round);
		omerta_chunk_seal(engine, list, n, secret);
		for (i = 0; i < n; i++) {
			chacha20poly1305_encrypt(one, list[i].plain, list[i].len, NULL, 0,
						 list[i].nonce, secret);
			KUNIT_ASSERT_MEMEQ_MSG(test, list[i].sealed, one,
					       list[i].len + OMERTA_TAG_LEN,
					       "chunk %u of %u", i, n);
		}
		/* The bad chunk is in another place each round. */
		list[round % n].sealed[list[round % n].len] ^= 1;
		KUNIT_ASSERT_EQ_MSG(test, omerta_chunk_open(engine, list, n, secret),
				    OMERTA_CHUNK_ALL(n) & ~BIT(round % n), "%u chunks", n);
		cond_resched();
	}
}

static void expect_wiped(struct kunit *test, unsigned int n, u32 len)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct omerta_mb *mb = per_cpu_ptr(scratch, cpu);
		const u8 *secrets = (const u8 *)mb->secret;

		KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(secrets, 0,
							 (const u8 *)(mb + 1) - secrets),
					NULL, "%u chunks of %u bytes", n, len);
	}
}

/* Catches: key stream, one-time keys, tags or their powers that stay behind. */
static void one_wiped(struct kunit *test)
{
	u8 *sealed = test_edge(test, SLOT_SEALED, OMERTA_CHUNK_LIST * (MAX_LEN + OMERTA_TAG_LEN));
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int n, i;
	u32 len;

	if (!default_engine)
		return;
	test_pattern(secret, sizeof(secret), 1);
	for (n = 1; n <= OMERTA_CHUNK_LIST; n++) {
		for (len = 0; len <= (n == 1 ? LONE_LEN : MAX_LEN); len += TEST_SCALE(13, 130)) {
			for (i = 0; i < n; i++) {
				list[i].plain = sealed + i * (MAX_LEN + OMERTA_TAG_LEN);
				list[i].sealed = list[i].plain;
				list[i].nonce = OMERTA_NONCE(len, i, false);
				/* Every other time a list that has to be sorted */
				list[i].len = n % 2 ? len >> (i & 3) : len;
			}
			omerta_mb_seal(default_engine, list, n, secret);
			expect_wiped(test, n, len);
			omerta_mb_open(default_engine, list, n, secret);
			expect_wiped(test, n, len);
			list[n - 1].sealed[0] ^= 1;
			omerta_mb_open(default_engine, list, n, secret);
			expect_wiped(test, n, len);
		}
		cond_resched();
	}
}

static void wiped(struct kunit *test)
{
	with_each_isa(test, one_wiped);
}

/* Catches: more bytes at once than preemption may be off for, or lone chunks for the library. */
static void one_limits_hold(struct kunit *test)
{
	const struct omerta_engine_limits few = {
		.at_once = 2048,
		.alone = BIT(5) | BIT(6) | BIT(7),
		.narrow = OMERTA_NARROW_MAX,
	};
	struct omerta_engine engine;

	if (!default_engine)
		return;
	engine = *default_engine;
	measured = default_engine;
	engine.keys = measuring_keys;
	engine.limits = &few;
	most_bytes = 0;
	least_alone = U32_MAX;
	most_alone = 0;
	check_random_lists(test, &engine, 1200);
	KUNIT_EXPECT_LE(test, most_bytes, few.at_once);
	KUNIT_EXPECT_LE(test, few.at_once - 1200, most_bytes);
	KUNIT_EXPECT_LE(test, 257U, least_alone);
	KUNIT_EXPECT_LE(test, most_alone, 448U);
	KUNIT_EXPECT_LE(test, least_alone, most_alone);
}

static void limits_hold(struct kunit *test)
{
	with_each_isa(test, one_limits_hold);
}

/* Slower than the library, which takes no time */
static void slow_keys(struct omerta_mb *mb, const u8 *secret,
		      const struct omerta_chunk *list, unsigned int n, bool open)
{
	mb->stashed = 0;
	test_time++;
}

/* Catches: lone chunks that go to the slower of engine and library. */
static void lone_measured(struct kunit *test)
{
	struct omerta_engine_limits limits = { .at_once = MOST_AT_ONCE };
	const struct omerta_engine slow = {
		.keys = slow_keys, .crypt = does_nothing, .tags = tags_nothing,
		.wipe = wipes_nothing, .limits = &limits,
	};
	struct omerta_engine quick = slow;
	u32 alone = 1;

	quick.keys = makes_nothing;
	KUNIT_ASSERT_EQ(test, limit_alone(&alone, &slow), 0);
	KUNIT_EXPECT_EQ(test, alone, 0U);
	KUNIT_ASSERT_EQ(test, limit_alone(&alone, &quick), 0);
	KUNIT_EXPECT_EQ(test, alone, BIT(23) - 1);
	limits.at_once = 4096;
	KUNIT_ASSERT_EQ(test, limit_alone(&alone, &quick), 0);
	/* The next length would be 6144. */
	KUNIT_EXPECT_EQ(test, alone, BIT(19) - 1);
}

/* Slow with one number of blocks for narrow vectors */
static u32 slow_narrow;

static void choosy_keys(struct omerta_mb *mb, const u8 *secret,
			const struct omerta_chunk *list, unsigned int n, bool open)
{
	mb->stashed = 0;
	test_time += mb->narrow == slow_narrow;
}

/* Catches: batches that are wider or narrower than is fast. */
static void narrow_measured(struct kunit *test)
{
	struct omerta_engine_limits limits = {};
	const struct omerta_engine choosy = {
		.keys = choosy_keys, .crypt = does_nothing, .tags = tags_nothing,
		.wipe = wipes_nothing, .limits = &limits,
	};

	slow_narrow = OMERTA_NARROW_MIN;
	KUNIT_ASSERT_EQ(test, limit_narrow(&limits.narrow, &choosy), 0);
	KUNIT_EXPECT_EQ(test, limits.narrow, (u32)OMERTA_NARROW_MAX);
	slow_narrow = OMERTA_NARROW_MAX;
	KUNIT_ASSERT_EQ(test, limit_narrow(&limits.narrow, &choosy), 0);
	KUNIT_EXPECT_EQ(test, limits.narrow, (u32)OMERTA_NARROW_MIN);
}

static void one_lengths_differ(struct kunit *test)
{
	check_random_lists(test, default_engine, 3000);
}

/* Catches: results that are not put back in the order of the list. */
static void lengths_differ(struct kunit *test)
{
	with_each_isa(test, one_lengths_differ);
}

/* Catches: an engine that mixes up the lanes of a list. */
static void one_list_as_singles(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(1);
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 *plain = test_edge(test, SLOT_PLAIN, 600 * OMERTA_CHUNK_LIST);
	u8 *sealed = test_edge(test, SLOT_SEALED, 616 * OMERTA_CHUNK_LIST);
	u8 *one = test_edge(test, 2, 616);
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int round, n, i;

	for (round = 0; round < TEST_SCALE(2000, 200); round++) {
		n = round % (OMERTA_CHUNK_LIST + 1);
		test_random(&rng, secret, sizeof(secret));
		test_pattern(plain, 600 * OMERTA_CHUNK_LIST, round);
		random_list(&rng, list, n, plain, sealed);
		list[0].len = round % 3 ? list[0].len : 0;
		omerta_chunk_seal(default_engine, list, n, secret);
		for (i = 0; i < n; i++) {
			chacha20poly1305_encrypt(one, list[i].plain,
						 list[i].len, NULL, 0,
						 list[i].nonce, secret);
			KUNIT_ASSERT_MEMEQ_MSG(test, list[i].sealed, one,
					       list[i].len + OMERTA_TAG_LEN,
					       "chunk %u of %u", i, n);
		}
		memset(plain, FILL, 600 * OMERTA_CHUNK_LIST);
		KUNIT_ASSERT_EQ(test, omerta_chunk_open(default_engine, list, n, secret),
				OMERTA_CHUNK_ALL(n));
		test_pattern(sealed, 600 * OMERTA_CHUNK_LIST, round);
		for (i = 0; i < n; i++)
			KUNIT_ASSERT_MEMEQ(test, list[i].plain,
					   sealed + (list[i].plain - plain),
					   list[i].len);
		cond_resched();
	}
}

static void list_as_singles(struct kunit *test)
{
	with_each_isa(test, one_list_as_singles);
}

/* Catches: as that of lone chunks, in each lane of an engine. */
static void one_edges_in_list(struct kunit *test)
{
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 *out = test_edge(test, 2, OMERTA_CHUNK_LIST *
				     (VEC_EDGE_LEN + OMERTA_TAG_LEN));
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(vec_edges); i++) {
		const struct vec_edge *v = &vec_edges[i];

		test_pattern(secret, sizeof(secret), v->seed);
		for (n = 0; n < OMERTA_CHUNK_LIST; n++) {
			list[n].plain = (u8 *)v->plain;
			list[n].sealed = out + n * (v->len + OMERTA_TAG_LEN);
			list[n].nonce = v->nonce;
			list[n].len = v->len;
		}
		omerta_chunk_seal(default_engine, list, OMERTA_CHUNK_LIST, secret);
		for (n = 0; n < OMERTA_CHUNK_LIST; n++) {
			KUNIT_EXPECT_MEMEQ_MSG(test, list[n].sealed, v->sealed,
					       v->len + OMERTA_TAG_LEN,
					       "edge %u in lane %u", i, n);
			list[n].plain = list[n].sealed;
		}
		KUNIT_EXPECT_EQ(test, omerta_chunk_open(default_engine, list, n, secret),
				OMERTA_CHUNK_ALL(n));
		for (n = 0; n < OMERTA_CHUNK_LIST; n++)
			KUNIT_EXPECT_MEMEQ_MSG(test, list[n].plain, v->plain,
					       v->len, "edge %u in lane %u", i,
					       n);
	}
}

static void edges_in_list(struct kunit *test)
{
	with_each_isa(test, one_edges_in_list);
}

static void one_lengths_in_list(struct kunit *test)
{
	u8 *plain = test_edge(test, SLOT_PLAIN, 4 * LONG_LEN);
	u8 *sealed = test_edge(test, SLOT_SEALED,
			       4 * (LONG_LEN + OMERTA_TAG_LEN));
	u8 *want = test_edge(test, 2, LONG_LEN + OMERTA_TAG_LEN);
	u8 *want_plain = test_edge(test, 3, 4 * LONG_LEN);
	u8 secret[OMERTA_SECRET_LEN];
	struct omerta_chunk list[4];
	u32 len, room;
	int i;

	test_pattern(secret, sizeof(secret), 1);
	test_pattern(plain, 4 * LONG_LEN, 2);
	test_pattern(want_plain, 4 * LONG_LEN, 2);
	for (len = 0; len < LONG_LEN; len += TEST_SCALE(1, 97)) {
		/* The last ends with the buffer. */
		room = 4 * LONG_LEN;
		for (i = 3; i >= 0; i--) {
			list[i].len = i & 1 ? len : len / 16;
			room -= list[i].len;
			list[i].plain = plain + room;
			list[i].sealed = sealed + room + i * OMERTA_TAG_LEN;
			list[i].nonce = OMERTA_NONCE(len, i, i == 3);
		}
		omerta_chunk_seal(default_engine, list, 4, secret);
		for (i = 0; i < 4; i++) {
			chacha20poly1305_encrypt(want, list[i].plain, list[i].len,
						 NULL, 0, list[i].nonce, secret);
			KUNIT_ASSERT_MEMEQ_MSG(test, list[i].sealed, want,
					       list[i].len + OMERTA_TAG_LEN,
					       "%u bytes, chunk %d", len, i);
		}
		memset(plain + room, FILL, 4 * LONG_LEN - room);
		KUNIT_ASSERT_EQ(test, omerta_chunk_open(default_engine, list, 4, secret),
				OMERTA_CHUNK_ALL(4));
		KUNIT_ASSERT_MEMEQ_MSG(test, plain, want_plain, 4 * LONG_LEN,
				       "%u bytes", len);
		cond_resched();
	}
}

static void lengths_in_list(struct kunit *test)
{
	with_each_isa(test, one_lengths_in_list);
}

/* Catches: plaintext that is overwritten before it is read. */
static void one_list_in_place(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(4);
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 *plain = test_edge(test, SLOT_PLAIN, 600 * OMERTA_CHUNK_LIST);
	u8 *sealed = test_edge(test, SLOT_SEALED, 616 * OMERTA_CHUNK_LIST);
	u8 *there = test_edge(test, 2, 616 * OMERTA_CHUNK_LIST);
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int n, i;

	test_random(&rng, secret, sizeof(secret));
	test_random(&rng, plain, 600 * OMERTA_CHUNK_LIST);
	for (n = 1; n <= OMERTA_CHUNK_LIST; n++) {
		random_list(&rng, list, n, plain, sealed);
		omerta_chunk_seal(default_engine, list, n, secret);
		for (i = 0; i < n; i++) {
			u8 *at = there + (list[i].sealed - sealed);

			memcpy(at, list[i].plain, list[i].len);
			list[i].plain = at;
			list[i].sealed = at;
		}
		omerta_chunk_seal(default_engine, list, n, secret);
		i = list[n - 1].sealed - there + list[n - 1].len + OMERTA_TAG_LEN;
		KUNIT_ASSERT_MEMEQ_MSG(test, there, sealed, i, "%u", n);
		KUNIT_EXPECT_EQ(test, omerta_chunk_open(default_engine, list, n, secret),
				OMERTA_CHUNK_ALL(n));
		for (i = 0; i < n; i++)
			KUNIT_EXPECT_MEMEQ_MSG(test, list[i].plain,
					       plain + (list[i].sealed - there) -
					       i * OMERTA_TAG_LEN,
					       list[i].len, "%u", n);
	}
}

static void list_in_place(struct kunit *test)
{
	with_each_isa(test, one_list_in_place);
}

/* Catches: one bad chunk overlooked, or its plaintext written all the same. */
static void bad_in_list(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(2);
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u8 *plain = test_edge(test, SLOT_PLAIN, 600 * OMERTA_CHUNK_LIST);
	u8 *sealed = test_edge(test, SLOT_SEALED, 616 * OMERTA_CHUNK_LIST);
	u8 *want = test_edge(test, 2, 600 * OMERTA_CHUNK_LIST);
	u8 secret[OMERTA_SECRET_LEN];
	unsigned int n, round, i;

	test_random(&rng, secret, sizeof(secret));
	for (round = 0; round < TEST_SCALE(1000, 100); round++) {
		u32 bad = test_rnd(&rng) & test_rnd(&rng);

		n = 1 + round % OMERTA_CHUNK_LIST;
		test_random(&rng, want, 600 * OMERTA_CHUNK_LIST);
		memcpy(plain, want, 600 * OMERTA_CHUNK_LIST);
		random_list(&rng, list, n, plain, sealed);
		/* None is behind another of its record. */
		for (i = 0; i < n; i++)
			list[i].nonce -= OMERTA_NONCE_INDEX(list[i].nonce);
		omerta_chunk_seal(default_engine, list, n, secret);
		for (i = 0; i < n; i++)
			if (bad & BIT(i))
				list[i].sealed[test_below(&rng, list[i].len +
							  OMERTA_TAG_LEN)] ^=
					1 << test_below(&rng, 8);
		memset(plain, FILL, 600 * OMERTA_CHUNK_LIST);
		KUNIT_ASSERT_EQ_MSG(test, omerta_chunk_open(default_engine, list, n, secret),
				    OMERTA_CHUNK_ALL(n) & ~bad, "%u of %u", bad,
				    n);
		for (i = 0; i < n; i++) {
			if (bad & BIT(i))
				KUNIT_ASSERT_TRUE(test, is_fill(list[i].plain,
								list[i].len));
			else
				KUNIT_ASSERT_MEMEQ(test, list[i].plain,
						   want + (list[i].plain - plain),
						   list[i].len);
		}
	}
}

static void one_bad_in_list(struct kunit *test)
{
	with_each_isa(test, bad_in_list);
}

/* Catches: a chunk that opens under another nonce or another secret. */
static void bound_to_nonce_and_secret(struct kunit *test)
{
	u8 secret[OMERTA_SECRET_LEN] = { 1 }, plain[40] = { 0 }, sealed[56];
	struct omerta_chunk c = { .plain = plain, .sealed = sealed,
				  .nonce = 5, .len = sizeof(plain) };
	unsigned int bit;

	omerta_chunk_seal(default_engine, &c, 1, secret);
	for (bit = 0; bit < 64; bit++) {
		c.nonce ^= 1ULL << bit;
		KUNIT_EXPECT_FALSE_MSG(test, omerta_chunk_open(default_engine, &c, 1, secret),
				       "nonce bit %u", bit);
		c.nonce ^= 1ULL << bit;
	}
	for (bit = 0; bit < 8 * sizeof(secret); bit++) {
		secret[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_FALSE_MSG(test, omerta_chunk_open(default_engine, &c, 1, secret),
				       "secret bit %u", bit);
		secret[bit / 8] ^= 1 << bit % 8;
	}
	KUNIT_EXPECT_TRUE(test, omerta_chunk_open(default_engine, &c, 1, secret));
}

/* Catches: a name that is shown but not taken, or of what this CPU cannot do. */
static void engines_by_name(struct kunit *test)
{
	const struct omerta_engine *isa, *found = engines;

	KUNIT_EXPECT_EQ(test, omerta_engine_find("lib", &found), 0);
	KUNIT_EXPECT_PTR_EQ(test, found, NULL);
	KUNIT_EXPECT_EQ(test, strcmp(omerta_engine_name(NULL), "lib"), 0);
	KUNIT_EXPECT_EQ(test, omerta_engine_find("auto", &found), 0);
	KUNIT_EXPECT_PTR_EQ(test, found, omerta_engine_default());
	for (isa = engines; isa < engines + ARRAY_SIZE(engines); isa++) {
		found = NULL;
		KUNIT_EXPECT_EQ(test, omerta_engine_find(isa->name, &found),
				isa->is_supported() ? 0 : -EOPNOTSUPP);
		KUNIT_EXPECT_PTR_EQ(test, found, isa->is_supported() ? isa : NULL);
		KUNIT_EXPECT_EQ(test, strcmp(omerta_engine_name(isa), isa->name), 0);
	}
	KUNIT_EXPECT_EQ(test, omerta_engine_find("", &found), -ENOENT);
	KUNIT_EXPECT_EQ(test, omerta_engine_find("mb-", &found), -ENOENT);
}

static struct kunit_case chunk_cases[] = {
	KUNIT_CASE(nonce_fields),
	KUNIT_CASE(wycheproof),
	KUNIT_CASE(poly1305_edges),
	KUNIT_CASE(poly1305_long_edges),
	KUNIT_CASE(poly1305_multipliers),
	KUNIT_CASE(every_length),
	KUNIT_CASE(self_test),
	KUNIT_CASE(engine_that_failed),
	KUNIT_CASE(list_as_singles),
	KUNIT_CASE(edges_in_list),
	KUNIT_CASE(limit_by_time),
	KUNIT_CASE(wiped),
	KUNIT_CASE(limits_hold),
	KUNIT_CASE(lone_measured),
	KUNIT_CASE(narrow_measured),
	KUNIT_CASE(lengths_differ),
	KUNIT_CASE(lengths_in_list),
	KUNIT_CASE(list_in_place),
	KUNIT_CASE(one_bad_in_list),
	KUNIT_CASE(bound_to_nonce_and_secret),
	KUNIT_CASE(engines_by_name),
	{}
};

/* As omerta_engine_init(), without the self-test each time */
static int chunk_init(struct kunit *test)
{
	const struct omerta_engine *isa;

	if (omerta_mb_init())
		return -ENOMEM;
	for (isa = engines; !default_engine && isa < engines + ARRAY_SIZE(engines); isa++)
		if (isa->is_supported())
			default_engine = isa;
	return 0;
}

static void chunk_exit(struct kunit *test)
{
	omerta_engine_exit();
	test_exit(test);
}

struct kunit_suite omerta_chunk_suite = {
	.name = "omerta_chunk",
	.init = chunk_init,
	.exit = chunk_exit,
	.test_cases = chunk_cases,
};
