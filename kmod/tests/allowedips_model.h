/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For allowedips_test.c only: allowedips.c itself, with every node counted and
 * allocations that can be made to fail, and a model of it, a plain list of
 * prefixes that is compared bit by bit.
 */
#ifndef _OMERTA_ALLOWEDIPS_MODEL_H
#define _OMERTA_ALLOWEDIPS_MODEL_H

#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

static int live_nodes;
static int allocs_left;

static void *counted_kzalloc(size_t size, gfp_t gfp)
{
	if (!allocs_left)
		return NULL;
	allocs_left--;
	live_nodes++;
	return kzalloc(size, gfp);
}

static void counted_kfree(void *p)
{
	live_nodes--;
	kfree(p);
}

#undef kzalloc
#undef kfree
#undef kfree_rcu
#define kzalloc(size, gfp)	counted_kzalloc(size, gfp)
#define kfree(p)		counted_kfree(p)
#define kfree_rcu(p, member)		\
	do {				\
		live_nodes--;		\
		kvfree_rcu(p, member);	\
	} while (0)

#include "peer/allowedips.c"

#include <linux/errno.h>
#include <linux/string.h>

#include "test_util.h"

#define OWNERS		5
#define MAX_MODEL	400
#define MAX_REPLACED	60
#define NODE		struct omerta_allowedips_node

/**
 * struct entry - a prefix as the model knows it
 * @addr: network order, clear beyond @len
 * @len: prefix length
 * @v6: family
 * @owner: index of the owner
 */
struct entry {
	u8 addr[16];
	u8 len;
	bool v6;
	u8 owner;
};

/**
 * struct table - a table under test and its model
 * @t: the table
 * @lock: its lock
 * @spare: nodes for insertions
 * @owners: owners of prefixes
 * @model: the prefixes, in no order
 * @n: their number
 * @lost: prefixes of the model that a replacement leaves out
 * @n_lost: their number
 */
struct table {
	struct omerta_allowedips t;
	struct mutex lock; /* protects @t */
	struct list_head spare;
	struct omerta_allowedips_owner owners[OWNERS];
	struct entry model[MAX_MODEL];
	unsigned int n;
	struct entry lost[MAX_REPLACED];
	unsigned int n_lost;
};

static struct table *new_table(struct kunit *test)
{
	struct table *tb = kunit_kzalloc(test, sizeof(*tb), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, tb);
	live_nodes = 0;
	allocs_left = 1 << 30;
	mutex_init(&tb->lock);
	INIT_LIST_HEAD(&tb->spare);
	for (i = 0; i < OWNERS; i++)
		INIT_LIST_HEAD(&tb->owners[i].prefixes);
	omerta_allowedips_init(&tb->t, &tb->lock);
	return tb;
}

/* Every case ends here: nothing left in the trie, nothing left allocated. */
static void drop_table(struct kunit *test, struct table *tb)
{
	unsigned int i;

	mutex_lock(&tb->lock);
	for (i = 0; i < OWNERS; i++)
		omerta_allowedips_remove_all(&tb->t, &tb->owners[i]);
	mutex_unlock(&tb->lock);
	omerta_allowedips_release(&tb->spare);
	KUNIT_EXPECT_TRUE(test, !rcu_access_pointer(tb->t.root[0]));
	KUNIT_EXPECT_TRUE(test, !rcu_access_pointer(tb->t.root[1]));
	KUNIT_EXPECT_EQ(test, live_nodes, 0);
}

static unsigned int bit_of(const u8 *addr, unsigned int i)
{
	return addr[i / 8] >> (7 - i % 8) & 1;
}

static bool same_bits(const u8 *a, const u8 *b, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (bit_of(a, i) != bit_of(b, i))
			return false;
	return true;
}

static void clear_beyond(u8 *addr, unsigned int len)
{
	unsigned int i;

	for (i = len; i < 128; i++)
		addr[i / 8] &= ~(0x80 >> i % 8);
}

static struct omerta_prefix prefix_of(const struct entry *e)
{
	struct omerta_prefix p;

	omerta_prefix_init(&p, e->v6, e->addr, e->len);
	return p;
}

static bool same_prefix(const struct entry *a, const struct entry *b)
{
	return a->v6 == b->v6 && a->len == b->len &&
	       !memcmp(a->addr, b->addr, a->v6 ? 16 : 4);
}

static struct entry *model_find(struct table *tb, const struct entry *e)
{
	unsigned int i;

	for (i = 0; i < tb->n; i++)
		if (same_prefix(&tb->model[i], e))
			return &tb->model[i];
	return NULL;
}

static struct omerta_allowedips_owner *
model_lookup(struct table *tb, bool v6, const u8 *addr)
{
	struct entry *best = NULL;
	unsigned int i;

	for (i = 0; i < tb->n; i++) {
		struct entry *e = &tb->model[i];

		if (e->v6 == v6 && (!best || e->len > best->len) &&
		    same_bits(e->addr, addr, e->len))
			best = e;
	}
	return best ? &tb->owners[best->owner] : NULL;
}

static void insert_locked(struct kunit *test, struct table *tb,
			  const struct entry *e)
{
	struct entry *old = model_find(tb, e);
	struct omerta_prefix p = prefix_of(e);

	KUNIT_ASSERT_EQ(test, omerta_allowedips_reserve(&tb->spare, 1), 0);
	omerta_allowedips_insert(&tb->t, &p, &tb->owners[e->owner],
				 &tb->spare);
	omerta_allowedips_release(&tb->spare);
	if (old)
		old->owner = e->owner;
	else if (tb->n < MAX_MODEL)
		tb->model[tb->n++] = *e;
}

static void insert(struct kunit *test, struct table *tb, const struct entry *e)
{
	mutex_lock(&tb->lock);
	insert_locked(test, tb, e);
	mutex_unlock(&tb->lock);
}

static bool take_away(struct table *tb, const struct entry *e)
{
	struct omerta_prefix p = prefix_of(e);
	bool done;

	mutex_lock(&tb->lock);
	done = omerta_allowedips_remove(&tb->t, &p, &tb->owners[e->owner]);
	mutex_unlock(&tb->lock);
	return done;
}

static void remove_one(struct kunit *test, struct table *tb,
		       const struct entry *e)
{
	struct entry *old = model_find(tb, e);
	bool has = old && old->owner == e->owner;

	KUNIT_ASSERT_EQ(test, take_away(tb, e), has);
	if (has)
		*old = tb->model[--tb->n];
}

static void remove_all(struct table *tb, u8 owner)
{
	unsigned int i = 0;

	mutex_lock(&tb->lock);
	omerta_allowedips_remove_all(&tb->t, &tb->owners[owner]);
	mutex_unlock(&tb->lock);
	while (i < tb->n) {
		if (tb->model[i].owner == owner)
			tb->model[i] = tb->model[--tb->n];
		else
			i++;
	}
}

static struct omerta_allowedips_owner *lookup(struct table *tb, bool v6,
					      const u8 *addr)
{
	struct omerta_allowedips_owner *owner;

	rcu_read_lock();
	owner = omerta_allowedips_lookup(&tb->t, v6, addr);
	rcu_read_unlock();
	return owner;
}

static struct omerta_allowedips_owner *find(struct table *tb,
					    const struct entry *e)
{
	struct omerta_allowedips_owner *owner;
	struct omerta_prefix p = prefix_of(e);

	mutex_lock(&tb->lock);
	owner = omerta_allowedips_find(&tb->t, &p);
	mutex_unlock(&tb->lock);
	return owner;
}

static struct omerta_allowedips_owner *
step(struct table *tb, struct omerta_prefix *cursor, bool first)
{
	struct omerta_allowedips_owner *owner;

	mutex_lock(&tb->lock);
	owner = omerta_allowedips_next(&tb->t, cursor, first);
	mutex_unlock(&tb->lock);
	return owner;
}

/* Addresses from few bytes, so that prefixes nest and collide. */
static void any_addr(struct test_rng *rng, u8 *addr)
{
	static const u8 bytes[] = { 0, 0, 0, 0x80, 0xff, 0x01, 0xc0, 0x7f };
	unsigned int i;

	for (i = 0; i < 16; i++)
		addr[i] = bytes[test_below(rng, ARRAY_SIZE(bytes))];
	if (test_below(rng, 2))
		memset(addr, 0, 7);
}

static struct entry any_entry(struct test_rng *rng)
{
	static const u8 likely[] = { 0, 1, 32, 63, 64, 65, 127, 128 };
	struct entry e = { .v6 = test_below(rng, 2) };

	e.owner = test_below(rng, OWNERS);
	e.len = test_below(rng, e.v6 ? 129 : 33);
	if (e.v6 && test_below(rng, 2))
		e.len = likely[test_below(rng, ARRAY_SIZE(likely))];
	any_addr(rng, e.addr);
	clear_beyond(e.addr, e.v6 ? e.len : min_t(u8, e.len, 32));
	return e;
}

/* Bit order then length, by bytes. */
static bool entry_before(const struct entry *a, const struct entry *b)
{
	int diff = memcmp(a->addr, b->addr, 16);

	return diff < 0 || (!diff && a->len < b->len);
}

/* The model's next prefix behind @e, or its first if @e is NULL. */
static struct entry *model_next(struct table *tb, bool v6,
				const struct entry *e)
{
	struct entry *best = NULL;
	unsigned int i;

	for (i = 0; i < tb->n; i++) {
		struct entry *c = &tb->model[i];

		if (c->v6 == v6 && (!e || entry_before(e, c)) &&
		    (!best || entry_before(c, best)))
			best = c;
	}
	return best;
}

#endif /* _OMERTA_ALLOWEDIPS_MODEL_H */
