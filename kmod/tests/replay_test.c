// SPDX-License-Identifier: GPL-2.0
/*
 * replay.c against a set of all counters that were accepted.
 */
#include "peer/replay.c"

#include <linux/string.h>

#include "test_util.h"

#define WINDOW		OMERTA_REPLAY_WINDOW
#define RING		(OMERTA_REPLAY_WORDS * 64)
#define LIMIT		((1ULL << 56) - (1ULL << 16))
#define MODEL_SIZE	(TEST_SCALE(1u << 20, 1u << 18))

/**
 * struct model - the window's meaning, spelled out
 * @base: counter that @seen starts with
 * @next: one more than the greatest accepted counter
 * @seen: a byte per counter
 */
struct model {
	u64 base;
	u64 next;
	u8 *seen;
};

static struct omerta_replay *new_replay(struct kunit *test)
{
	struct omerta_replay *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	return r;
}

static bool model_old(const struct model *m, u64 counter)
{
	return counter + WINDOW < m->next;
}

static bool model_commit(struct model *m, u64 counter)
{
	u8 *seen = &m->seen[counter - m->base];

	if (counter >= LIMIT || model_old(m, counter) || *seen)
		return false;
	*seen = 1;
	if (counter >= m->next)
		m->next = counter + 1;
	return true;
}

/* A counter that is likely to be of interest, in the model's range. */
static u64 pick(struct test_rng *rng, const struct model *m)
{
	u64 next = max(m->next, m->base), counter;

	switch (test_below(rng, 8)) {
	case 0:
		counter = next - 1 - test_below(rng, WINDOW);
		break;
	case 1:
		counter = next - WINDOW - 4 + test_below(rng, 8);
		break;
	case 2:
		counter = next - RING - 70 + test_below(rng, 140);
		break;
	case 3:
		counter = next + test_below(rng, 8);
		break;
	case 4:
		counter = next + (test_below(rng, 2000) ? 0 :
				  test_below(rng, 3 * RING));
		break;
	case 5:
		counter = next - 1 - test_below(rng, 64);
		break;
	default:
		counter = next;
	}
	return counter;
}

static void random_walk(struct kunit *test, struct model *m, u64 seed)
{
	struct omerta_replay *r = new_replay(test);
	struct test_rng rng = TEST_RNG(seed);
	u32 i, taken = 0;

	memset(m->seen, 0, MODEL_SIZE);
	m->base = seed;
	m->next = 0;
	for (i = 0; i < TEST_SCALE(400000, 100000); i++) {
		u64 counter = pick(&rng, m);
		bool old, fresh;

		if (counter - m->base >= MODEL_SIZE)
			continue;
		old = model_old(m, counter);
		KUNIT_ASSERT_EQ_MSG(test, omerta_replay_too_old(r, counter),
				    old, "%llu before %llu",
				    (unsigned long long)counter,
				    (unsigned long long)m->next);
		fresh = model_commit(m, counter);
		KUNIT_ASSERT_EQ_MSG(test, omerta_replay_commit(r, counter),
				    fresh, "%llu before %llu",
				    (unsigned long long)counter,
				    (unsigned long long)m->next);
		KUNIT_ASSERT_EQ(test, r->next, m->next);
		taken += fresh;
		if (i % 1024 == 0)
			cond_resched();
	}
	KUNIT_EXPECT_LE(test, 500u, taken);
}

/* Catches: any counter taken twice, or a fresh one in the window refused. */
static void against_model(struct kunit *test)
{
	static const u64 bases[] = {
		0, 1, 63, 64, (1ULL << 32) - 5000, (1ULL << 48) - 77,
		LIMIT - 200000, LIMIT - 1000,
	};
	struct model m;
	unsigned int i;

	m.seen = kunit_kzalloc(test, MODEL_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m.seen);
	for (i = 0; i < ARRAY_SIZE(bases); i++)
		random_walk(test, &m, bases[i]);
}

/* Catches: an empty window that takes counter 0 for seen, or takes it twice. */
static void first_counter(struct kunit *test)
{
	struct omerta_replay *r = new_replay(test);

	KUNIT_EXPECT_FALSE(test, omerta_replay_too_old(r, 0));
	KUNIT_EXPECT_TRUE(test, omerta_replay_commit(r, 0));
	KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, 0));
	KUNIT_EXPECT_EQ(test, r->next, 1ULL);
	KUNIT_EXPECT_TRUE(test, omerta_replay_commit(r, 1));
	KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, 0));
	KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, 1));
}

/* Catches: a window one too long (stale bits) or one too short. */
static void window_edge(struct kunit *test)
{
	u64 top;

	for (top = WINDOW; top < WINDOW + 200; top++) {
		struct omerta_replay *r = new_replay(test);

		KUNIT_ASSERT_TRUE(test, omerta_replay_commit(r, top));
		KUNIT_EXPECT_TRUE(test,
				  omerta_replay_commit(r, top + 1 - WINDOW));
		KUNIT_EXPECT_FALSE(test,
				   omerta_replay_commit(r, top + 1 - WINDOW));
		KUNIT_EXPECT_FALSE(test,
				   omerta_replay_commit(r, top - WINDOW));
		KUNIT_EXPECT_TRUE(test,
				  omerta_replay_too_old(r, top - WINDOW));
		KUNIT_EXPECT_FALSE(test,
				   omerta_replay_too_old(r, top + 1 - WINDOW));
	}
}

/* Catches: words of the ring that keep their bits when the window jumps on. */
static void jumps_clear_ring(struct kunit *test)
{
	static const u64 jumps[] = {
		1, 63, 64, 65, WINDOW - 1, WINDOW, WINDOW + 1, RING - 64,
		RING - 1, RING, RING + 1, RING + 64, 2 * RING, 3 * RING + 5,
		1ULL << 32, 1ULL << 40, LIMIT - 2 * RING - 1,
	};
	unsigned int i;
	u64 c;

	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		struct omerta_replay *r = new_replay(test);
		u64 old = RING + 31, top = old + jumps[i], from;

		for (c = 0; c <= old; c++)
			KUNIT_ASSERT_TRUE(test, omerta_replay_commit(r, c));
		KUNIT_ASSERT_TRUE(test, omerta_replay_commit(r, top));
		from = max(top + 1 - WINDOW, old + 1);
		for (c = top - 1; c >= from; c--)
			KUNIT_ASSERT_TRUE_MSG(test, omerta_replay_commit(r, c),
					      "jump %u, %llu", i,
					      (unsigned long long)c);
		for (c = top + 1 - WINDOW; c <= top; c++)
			KUNIT_ASSERT_FALSE_MSG(test,
					       omerta_replay_commit(r, c),
					       "jump %u, %llu", i,
					       (unsigned long long)c);
		cond_resched();
	}
}

/* Catches: a window that reorders worse than it promises. */
static void backwards(struct kunit *test)
{
	struct omerta_replay *r = new_replay(test);
	u64 top = 5 * RING + 17, c;

	for (c = top; c > top - WINDOW; c--)
		KUNIT_ASSERT_TRUE(test, omerta_replay_commit(r, c));
	KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, c));
	KUNIT_EXPECT_LE(test, 8192, WINDOW);
}

/* Catches: a counter at the hard limit taken, or one that moves the window. */
static void hard_limit(struct kunit *test)
{
	static const u64 beyond[] = {
		LIMIT, LIMIT + 1, 1ULL << 56, 1ULL << 63, U64_MAX - 1, U64_MAX,
	};
	struct omerta_replay *r = new_replay(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(beyond); i++)
		KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, beyond[i]));
	KUNIT_EXPECT_EQ(test, r->next, 0ULL);
	KUNIT_EXPECT_TRUE(test, omerta_replay_commit(r, LIMIT - 1));
	KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, LIMIT - 1));
	KUNIT_EXPECT_TRUE(test, omerta_replay_commit(r, LIMIT - 2));
	for (i = 0; i < ARRAY_SIZE(beyond); i++)
		KUNIT_EXPECT_FALSE(test, omerta_replay_commit(r, beyond[i]));
	KUNIT_EXPECT_EQ(test, r->next, LIMIT);
}

/* Catches: a cheap look that changes anything. */
static void look_is_read_only(struct kunit *test)
{
	struct omerta_replay *r = new_replay(test), *copy = new_replay(test);
	u64 c;

	for (c = 0; c < 3 * RING; c += 7)
		omerta_replay_commit(r, c);
	memcpy(copy, r, sizeof(*r));
	for (c = 0; c < 4 * RING; c += 11)
		omerta_replay_too_old(r, c);
	KUNIT_EXPECT_MEMEQ(test, copy, r, sizeof(*r));
}

static struct kunit_case replay_cases[] = {
	KUNIT_CASE(against_model),
	KUNIT_CASE(first_counter),
	KUNIT_CASE(window_edge),
	KUNIT_CASE(jumps_clear_ring),
	KUNIT_CASE(backwards),
	KUNIT_CASE(hard_limit),
	KUNIT_CASE(look_is_read_only),
	{}
};

struct kunit_suite omerta_replay_suite = {
	.name = "omerta_replay",
	.exit = test_exit,
	.test_cases = replay_cases,
};
