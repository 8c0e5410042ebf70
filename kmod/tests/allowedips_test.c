// SPDX-License-Identifier: GPL-2.0
/*
 * allowedips.c: every change and every answer compared with the model's.
 */
#include "allowedips_model.h"

/* One step of a traversal, in the table and in the model. */
static bool step_both(struct kunit *test, struct table *tb,
		      struct omerta_prefix *cursor, struct entry *at, bool first)
{
	struct entry *want = model_next(tb, cursor->v6, first ? NULL : at);
	struct omerta_allowedips_owner *owner = step(tb, cursor, first);
	u8 addr[16] = { 0 };

	KUNIT_ASSERT_EQ(test, !owner, !want);
	if (!want)
		return false;
	omerta_prefix_addr(cursor, addr);
	KUNIT_ASSERT_MEMEQ(test, addr, want->addr, 16);
	KUNIT_ASSERT_EQ(test, cursor->len, want->len);
	KUNIT_ASSERT_PTR_EQ(test, owner, &tb->owners[want->owner]);
	*at = *want;
	return true;
}

static void walk_both(struct kunit *test, struct table *tb)
{
	unsigned int family;

	for (family = 0; family < 2; family++) {
		struct omerta_prefix cursor = { .v6 = family };
		struct entry at = { .v6 = family };
		bool first = true;

		while (step_both(test, tb, &cursor, &at, first))
			first = false;
	}
}

/* Nodes below @node; glue must join two, links up must match links down. */
static int count_nodes(struct kunit *test, struct table *tb, NODE *node,
		       NODE *parent)
{
	NODE *left, *right;

	if (!node)
		return 0;
	left = rcu_dereference_protected(node->child[0], true);
	right = rcu_dereference_protected(node->child[1], true);
	KUNIT_ASSERT_PTR_EQ(test, node->parent, parent);
	KUNIT_ASSERT_TRUE(test, rcu_access_pointer(node->owner) ||
			  (left && right));
	KUNIT_ASSERT_EQ(test, !rcu_access_pointer(node->owner),
			list_empty(&node->list));
	return 1 + count_nodes(test, tb, left, node) +
	       count_nodes(test, tb, right, node);
}

static void check_shape(struct kunit *test, struct table *tb)
{
	unsigned int i, listed = 0;
	int nodes = 0;
	NODE *node;

	for (i = 0; i < 2; i++)
		nodes += count_nodes(test, tb,
				     rcu_dereference_protected(tb->t.root[i],
							       true), NULL);
	KUNIT_ASSERT_EQ(test, nodes, live_nodes);
	for (i = 0; i < OWNERS; i++) {
		list_for_each_entry(node, &tb->owners[i].prefixes, list) {
			KUNIT_ASSERT_PTR_EQ(test,
					    rcu_access_pointer(node->owner),
					    &tb->owners[i]);
			listed++;
		}
	}
	KUNIT_ASSERT_EQ(test, listed, tb->n);
}

static void check_lookups(struct kunit *test, struct table *tb,
			  struct test_rng *rng)
{
	struct entry e = any_entry(rng), *known;
	u8 addr[16];
	bool v6 = test_below(rng, 2);

	known = model_find(tb, &e);
	KUNIT_ASSERT_PTR_EQ(test, find(tb, &e),
			    known ? &tb->owners[known->owner] : NULL);
	any_addr(rng, addr);
	if (tb->n && test_below(rng, 2)) {
		e = tb->model[test_below(rng, tb->n)];
		v6 = e.v6;
		memcpy(addr, e.addr, 16);
		if (test_below(rng, 2))
			addr[test_below(rng, v6 ? 16 : 4)] ^=
				1 << test_below(rng, 8);
		KUNIT_ASSERT_PTR_EQ(test, find(tb, &e), &tb->owners[e.owner]);
	}
	KUNIT_ASSERT_PTR_EQ(test, lookup(tb, v6, addr),
			    model_lookup(tb, v6, addr));
}

/* Catches: any change or look-up that a list of prefixes answers otherwise. */
static void against_model(struct kunit *test)
{
	struct table *tb = new_table(test);
	struct test_rng rng = TEST_RNG(6);
	u32 round;

	for (round = 0; round < TEST_SCALE(200000, 20000); round++) {
		struct entry e = any_entry(&rng);
		u32 what = test_below(&rng, 400);

		if (!what)
			remove_all(tb, e.owner);
		else if (what < 200 && tb->n < MAX_MODEL / 2)
			insert(test, tb, &e);
		else if (what < 300 && tb->n)
			remove_one(test, tb,
				   &tb->model[test_below(&rng, tb->n)]);
		else
			remove_one(test, tb, &e);
		check_lookups(test, tb, &rng);
		if (round % 16 == 0)
			check_shape(test, tb);
		if (round % 512 == 0)
			walk_both(test, tb);
		cond_resched();
	}
	drop_table(test, tb);
}

static struct entry nested(bool v6, unsigned int len)
{
	struct entry e = { .v6 = v6, .len = len, .owner = len % OWNERS };

	test_pattern(e.addr, 16, 0x55);
	clear_beyond(e.addr, len);
	return e;
}

/* Catches: common bits miscounted at some length, above all around 64. */
static void every_length_nested(struct kunit *test)
{
	unsigned int max, order, i, k;
	u8 addr[16];

	for (order = 0; order < 6; order++) {
		struct table *tb = new_table(test);
		bool v6 = order % 2;

		max = v6 ? 128 : 32;
		for (i = 0; i <= max; i++) {
			struct entry e;

			k = order < 2 ? i : order < 4 ? max - i :
			    (i * 50 + 7) % (max + 1);
			e = nested(v6, k);
			insert(test, tb, &e);
		}
		check_shape(test, tb);
		KUNIT_EXPECT_EQ(test, tb->n, max + 1);
		for (i = 0; i <= max; i++) {
			test_pattern(addr, 16, 0x55);
			if (i < max)
				addr[i / 8] ^= 0x80 >> i % 8;
			KUNIT_EXPECT_PTR_EQ(test, lookup(tb, v6, addr),
					    &tb->owners[i % OWNERS]);
		}
		walk_both(test, tb);
		drop_table(test, tb);
	}
}

/* Catches: a fork of two hosts put at the wrong bit. */
static void every_fork(struct kunit *test)
{
	unsigned int bit;

	for (bit = 0; bit < 128 + 32; bit++) {
		struct table *tb = new_table(test);
		bool v6 = bit < 128;
		struct entry a = nested(v6, v6 ? 128 : 32), b = a;

		b.addr[bit % 128 / 8] ^= 0x80 >> bit % 8;
		a.owner = 0;
		b.owner = 1;
		insert(test, tb, &a);
		insert(test, tb, &b);
		KUNIT_EXPECT_PTR_EQ(test, lookup(tb, v6, a.addr),
				    &tb->owners[0]);
		KUNIT_EXPECT_PTR_EQ(test, lookup(tb, v6, b.addr),
				    &tb->owners[1]);
		check_shape(test, tb);
		walk_both(test, tb);
		remove_one(test, tb, &a);
		KUNIT_EXPECT_PTR_EQ(test, lookup(tb, v6, a.addr), NULL);
		check_shape(test, tb);
		drop_table(test, tb);
	}
}

/* Catches: host bits that survive, or a mask that is wrong at 0, 64 or 128. */
static void masks(struct kunit *test)
{
	u8 addr[16], want[16], got[16];
	unsigned int len;
	struct omerta_prefix p;

	for (len = 0; len <= 128; len++) {
		test_pattern(addr, 16, 0xff);
		memcpy(want, addr, 16);
		clear_beyond(want, len);
		omerta_prefix_init(&p, true, addr, len);
		omerta_prefix_addr(&p, got);
		KUNIT_EXPECT_MEMEQ_MSG(test, got, want, 16, "length %u", len);
		KUNIT_EXPECT_EQ(test, p.len, len);
		KUNIT_EXPECT_TRUE(test, p.v6);
		if (len > 32)
			continue;
		memset(got, 0xaa, 16);
		omerta_prefix_init(&p, false, addr, len);
		omerta_prefix_addr(&p, got);
		KUNIT_EXPECT_MEMEQ_MSG(test, got, want, 4, "length %u", len);
		KUNIT_EXPECT_EQ(test, got[4], 0xaa);
		KUNIT_EXPECT_EQ(test, p.lo, 0ULL);
		KUNIT_EXPECT_FALSE(test, p.v6);
	}
}

/* Catches: families that mix, and default routes that do not catch all. */
static void default_and_host_routes(struct kunit *test)
{
	static const u8 low[16], high[16] = { [0 ... 15] = 0xff };
	struct table *tb = new_table(test);
	struct entry e = { .owner = 0 };

	insert(test, tb, &e);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, false, low), &tb->owners[0]);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, false, high), &tb->owners[0]);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, true, low), NULL);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, true, high), NULL);

	e = (struct entry){ .v6 = true, .owner = 1 };
	insert(test, tb, &e);
	e = (struct entry){ .v6 = true, .owner = 2, .len = 128 };
	memcpy(e.addr, high, 16);
	insert(test, tb, &e);
	e = (struct entry){ .owner = 3, .len = 32 };
	memcpy(e.addr, high, 4);
	insert(test, tb, &e);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, true, low), &tb->owners[1]);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, true, high), &tb->owners[2]);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, false, low), &tb->owners[0]);
	KUNIT_EXPECT_PTR_EQ(test, lookup(tb, false, high), &tb->owners[3]);
	check_shape(test, tb);
	walk_both(test, tb);
	drop_table(test, tb);
}

/* Catches: a prefix that moves but stays in its former owner's list. */
static void move_between_owners(struct kunit *test)
{
	struct table *tb = new_table(test);
	struct entry e = nested(true, 64);

	e.owner = 0;
	insert(test, tb, &e);
	e.owner = 1;
	insert(test, tb, &e);
	KUNIT_EXPECT_TRUE(test, list_empty(&tb->owners[0].prefixes));
	KUNIT_EXPECT_PTR_EQ(test, find(tb, &e), &tb->owners[1]);
	remove_all(tb, 0);
	KUNIT_EXPECT_PTR_EQ(test, find(tb, &e), &tb->owners[1]);
	e.owner = 0;
	KUNIT_EXPECT_FALSE(test, take_away(tb, &e));
	check_shape(test, tb);
	drop_table(test, tb);
}

/* While @owner's prefixes are set aside: keep some, move some, add some. */
static void replace_some(struct kunit *test, struct table *tb,
			 struct test_rng *rng, u8 owner)
{
	unsigned int n = tb->n, i;
	struct entry e;

	tb->n_lost = 0;
	for (i = 0; i < n; i++) {
		e = tb->model[i];
		if (e.owner != owner)
			continue;
		KUNIT_ASSERT_PTR_EQ(test, lookup(tb, e.v6, e.addr),
				    model_lookup(tb, e.v6, e.addr));
		if (test_below(rng, 3)) {
			e.owner = test_below(rng, 2) ? owner : 0;
			insert_locked(test, tb, &e);
		} else {
			tb->lost[tb->n_lost++] = e;
		}
	}
	for (i = 0; i < 10; i++) {
		e = any_entry(rng);
		if (!model_find(tb, &e))
			insert_locked(test, tb, &e);
	}
}

/* Catches: a replacement that loses what it keeps or keeps what it loses. */
static void replace_all(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(8);
	unsigned int round, i;

	for (round = 0; round < TEST_SCALE(2000, 200); round++) {
		struct table *tb = new_table(test);
		u8 owner = round % OWNERS;
		LIST_HEAD(aside);

		for (i = 0; i < MAX_REPLACED; i++) {
			struct entry e = any_entry(&rng);

			insert(test, tb, &e);
		}
		mutex_lock(&tb->lock);
		omerta_allowedips_set_aside(&tb->t, &tb->owners[owner],
					    &aside);
		replace_some(test, tb, &rng, owner);
		omerta_allowedips_drop_aside(&tb->t, &aside);
		mutex_unlock(&tb->lock);
		for (i = 0; i < tb->n_lost; i++) {
			struct entry *gone = model_find(tb, &tb->lost[i]);

			*gone = tb->model[--tb->n];
		}
		check_shape(test, tb);
		walk_both(test, tb);
		drop_table(test, tb);
		cond_resched();
	}
}

/* Catches: a traversal that loses its place when what it stands on goes. */
static void step_while_removing(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(7);
	unsigned int round, n;

	for (round = 0; round < TEST_SCALE(600, 60); round++) {
		struct table *tb = new_table(test);
		struct omerta_prefix cursor = { .v6 = round % 2 };
		struct entry at = { .v6 = round % 2 };
		bool first = true;

		for (n = 0; n < MAX_MODEL / 2; n++) {
			struct entry e = any_entry(&rng);

			insert(test, tb, &e);
		}
		while (step_both(test, tb, &cursor, &at, first)) {
			first = false;
			if (test_below(&rng, 2))
				remove_one(test, tb, &at);
			for (n = test_below(&rng, 4); n && tb->n; n--)
				remove_one(test, tb,
					   &tb->model[test_below(&rng, tb->n)]);
		}
		check_shape(test, tb);
		drop_table(test, tb);
		cond_resched();
	}
}

/* Catches: a failed reservation that leaks or leaves half of it behind. */
static void reserve_fails_whole(struct kunit *test)
{
	struct table *tb = new_table(test);
	int n;

	for (n = 0; n < 10; n++) {
		allocs_left = n;
		KUNIT_EXPECT_EQ(test, omerta_allowedips_reserve(&tb->spare, 5),
				-ENOMEM);
		KUNIT_EXPECT_TRUE(test, list_empty(&tb->spare));
		KUNIT_EXPECT_EQ(test, live_nodes, 0);
	}
	allocs_left = 10;
	KUNIT_EXPECT_EQ(test, omerta_allowedips_reserve(&tb->spare, 5), 0);
	KUNIT_EXPECT_EQ(test, live_nodes, 10);
	KUNIT_EXPECT_EQ(test, omerta_allowedips_reserve(&tb->spare, 1),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, live_nodes, 10);
	omerta_allowedips_release(&tb->spare);
	KUNIT_EXPECT_TRUE(test, list_empty(&tb->spare));
	drop_table(test, tb);
}

/* Entry @i of a large table: all different, v4 and v6 in turns. */
static struct entry numbered(u32 i)
{
	struct test_rng rng = TEST_RNG(i / 2 + 1);
	struct entry e = { .v6 = i % 2, .owner = i % OWNERS };
	u32 k;

	e.len = e.v6 ? 40 + i % 89 : 24 + i % 9;
	test_random(&rng, e.addr, 16);
	for (k = 0; k < 3; k++)
		e.addr[k] = i / 2 >> 8 * k;
	clear_beyond(e.addr, e.len);
	return e;
}

static void check_large_order(struct kunit *test, struct table *tb, u32 n)
{
	unsigned int family;
	u32 seen = 0;

	for (family = 0; family < 2; family++) {
		struct omerta_prefix cursor = { .v6 = family }, last = cursor;
		bool first = true;

		while (step(tb, &cursor, first)) {
			KUNIT_ASSERT_TRUE(test, first || cursor.hi > last.hi ||
					  (cursor.hi == last.hi &&
					   cursor.lo > last.lo));
			last = cursor;
			first = false;
			seen++;
		}
	}
	KUNIT_EXPECT_EQ(test, seen, n);
}

/* Catches: faults of large tables: depth, order, memory not released. */
static void large_table(struct kunit *test)
{
	const u32 n = TEST_SCALE(100000, 50000);
	struct table *tb = new_table(test);
	struct entry e;
	u32 i;

	KUNIT_ASSERT_EQ(test, omerta_allowedips_reserve(&tb->spare, n), 0);
	mutex_lock(&tb->lock);
	for (i = 0; i < n; i++) {
		struct omerta_prefix p;

		e = numbered(i);
		p = prefix_of(&e);
		omerta_allowedips_insert(&tb->t, &p, &tb->owners[e.owner],
					 &tb->spare);
	}
	mutex_unlock(&tb->lock);
	omerta_allowedips_release(&tb->spare);
	KUNIT_EXPECT_LE(test, live_nodes, 2 * (int)n);
	for (i = 0; i < n; i++) {
		e = numbered(i);
		KUNIT_ASSERT_PTR_EQ(test, find(tb, &e), &tb->owners[e.owner]);
		KUNIT_ASSERT_PTR_EQ(test, lookup(tb, e.v6, e.addr),
				    &tb->owners[e.owner]);
		if (i % 1024 == 0)
			cond_resched();
	}
	check_large_order(test, tb, n);
	for (i = 0; i < n; i += 2 + i % 2) {
		e = numbered(i);
		KUNIT_ASSERT_TRUE(test, take_away(tb, &e));
		KUNIT_ASSERT_PTR_EQ(test, find(tb, &e), NULL);
		KUNIT_ASSERT_FALSE(test, take_away(tb, &e));
	}
	drop_table(test, tb);
}

static struct kunit_case allowedips_cases[] = {
	KUNIT_CASE(against_model),
	KUNIT_CASE(every_length_nested),
	KUNIT_CASE(every_fork),
	KUNIT_CASE(masks),
	KUNIT_CASE(default_and_host_routes),
	KUNIT_CASE(move_between_owners),
	KUNIT_CASE(replace_all),
	KUNIT_CASE(step_while_removing),
	KUNIT_CASE(reserve_fails_whole),
	KUNIT_CASE(large_table),
	{}
};

struct kunit_suite omerta_allowedips_suite = {
	.name = "omerta_allowedips",
	.exit = test_exit,
	.test_cases = allowedips_cases,
};
