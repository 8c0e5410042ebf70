// SPDX-License-Identifier: GPL-2.0
/*
 * Longest-prefix match: a path-compressed binary trie per address family. A node is a
 * prefix with an owner, or joins two subtries (glue). Readers need RCU only: a change
 * completes its nodes, then changes one pointer, so that a reader sees the trie before or
 * after the change.
 */
#include "peer/allowedips.h"

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "compat/compat.h"

/**
 * struct omerta_allowedips_node - a prefix in the trie
 * @child: subtries of longer prefixes, by their first bit after the prefix
 * @owner: owner of the prefix, NULL for glue
 * @prefix: the prefix
 * @parent: node above; lock: the table's
 * @list: member of the owner's list or of a list of spare nodes; lock: the table's
 * @rcu: for the deferred free
 */
struct omerta_allowedips_node {
	struct omerta_allowedips_node __rcu *child[2];
	struct omerta_allowedips_owner __rcu *owner;
	struct omerta_prefix prefix;
	struct omerta_allowedips_node *parent;
	struct list_head list;
	struct rcu_head rcu;
};

#define deref_locked(t, p) \
	rcu_dereference_protected(p, lockdep_is_held((t)->lock))

static unsigned int prefix_bit(const struct omerta_prefix *p, unsigned int n)
{
	return (n < 64 ? p->hi >> (63 - n) : p->lo >> (127 - n)) & 1;
}

/* Number of leading bits that two addresses have in common. */
static unsigned int common_bits(const struct omerta_prefix *a,
				const struct omerta_prefix *b)
{
	if (a->hi != b->hi)
		return 64 - fls64(a->hi ^ b->hi);
	return 128 - fls64(a->lo ^ b->lo);
}

/* Return true if @p contains all addresses of @q. */
static bool covers(const struct omerta_prefix *p, const struct omerta_prefix *q)
{
	if (p->len > q->len)
		return false;
	if (p->len <= 64)
		return !p->len || !((p->hi ^ q->hi) >> (64 - p->len));
	return p->hi == q->hi && !((p->lo ^ q->lo) >> (128 - p->len));
}

static void prefix_mask(struct omerta_prefix *p)
{
	if (p->len < 64) {
		p->hi &= p->len ? ~0ULL << (64 - p->len) : 0;
		p->lo = 0;
	} else if (p->len < 128) {
		p->lo &= p->len > 64 ? ~0ULL << (128 - p->len) : 0;
	}
}

/**
 * omerta_prefix_init() - make a prefix of an address
 * @p: the prefix to fill
 * @v6: family
 * @addr: 4 or 16 bytes, network order
 * @len: prefix length, at most 32 or 128; address bits beyond it are cleared
 */
void omerta_prefix_init(struct omerta_prefix *p, bool v6, const void *addr,
			u8 len)
{
	const u8 *a = addr;

	p->v6 = v6;
	p->len = len;
	p->hi = v6 ? get_unaligned_be64(a) : (u64)get_unaligned_be32(a) << 32;
	p->lo = v6 ? get_unaligned_be64(a + 8) : 0;
	prefix_mask(p);
}

/**
 * omerta_prefix_addr() - write a prefix's address
 * @p: the prefix
 * @addr: gets 4 or 16 bytes, network order
 */
void omerta_prefix_addr(const struct omerta_prefix *p, void *addr)
{
	if (!p->v6) {
		put_unaligned_be32(p->hi >> 32, addr);
		return;
	}
	put_unaligned_be64(p->hi, addr);
	put_unaligned_be64(p->lo, (u8 *)addr + 8);
}

/**
 * omerta_allowedips_init() - make an empty table
 * @t: the table
 * @lock: held by the callers of every change
 */
void omerta_allowedips_init(struct omerta_allowedips *t, struct mutex *lock)
{
	RCU_INIT_POINTER(t->root[0], NULL);
	RCU_INIT_POINTER(t->root[1], NULL);
	t->lock = lock;
}

/**
 * omerta_allowedips_reserve() - allocate the nodes for insertions
 * @spare: list that the nodes are added to
 * @n: number of insertions
 *
 * A request with many prefixes thus either succeeds as a whole or changes nothing. The
 * caller ends with omerta_allowedips_release().
 *
 * Context: process context.
 * Return: 0 or -ENOMEM; then @spare is as before.
 */
int omerta_allowedips_reserve(struct list_head *spare, unsigned int n)
{
	struct omerta_allowedips_node *node, *tmp;
	LIST_HEAD(fresh);

	/* An insertion takes the prefix and one glue node at most. */
	for (n *= 2; n; n--) {
		node = kzalloc_obj(*node, GFP_KERNEL_ACCOUNT);
		if (!node)
			goto err;
		list_add(&node->list, &fresh);
	}
	list_splice(&fresh, spare);
	return 0;
err:
	list_for_each_entry_safe(node, tmp, &fresh, list)
		kfree(node);
	return -ENOMEM;
}

/**
 * omerta_allowedips_release() - free the nodes that insertions did not use
 * @spare: list from omerta_allowedips_reserve()
 */
void omerta_allowedips_release(struct list_head *spare)
{
	struct omerta_allowedips_node *node, *tmp;

	list_for_each_entry_safe(node, tmp, spare, list)
		kfree(node);
	INIT_LIST_HEAD(spare);
}

static struct omerta_allowedips_node *take_spare(struct list_head *spare,
						 const struct omerta_prefix *p)
{
	struct omerta_allowedips_node *node;

	node = list_first_entry(spare, struct omerta_allowedips_node, list);
	list_del_init(&node->list);
	node->prefix = *p;
	return node;
}

/* The pointer of @parent to the subtrie that @p belongs to. */
static struct omerta_allowedips_node __rcu **
slot_of(struct omerta_allowedips *t, struct omerta_allowedips_node *parent,
	const struct omerta_prefix *p)
{
	if (!parent)
		return &t->root[p->v6];
	return &parent->child[prefix_bit(p, parent->prefix.len)];
}

static void adopt(struct omerta_allowedips_node *parent,
		  struct omerta_allowedips_node *node)
{
	unsigned int side = prefix_bit(&node->prefix, parent->prefix.len);

	node->parent = parent;
	rcu_assign_pointer(parent->child[side], node);
}

static void set_owner(struct omerta_allowedips_node *node,
		      struct omerta_allowedips_owner *owner)
{
	rcu_assign_pointer(node->owner, owner);
	list_move_tail(&node->list, &owner->prefixes);
}

/* The node of the longest prefix that covers @p, or NULL. */
static struct omerta_allowedips_node *
deepest_cover(const struct omerta_allowedips *t, const struct omerta_prefix *p)
{
	struct omerta_allowedips_node *node, *found = NULL;

	node = deref_locked(t, t->root[p->v6]);
	while (node && covers(&node->prefix, p)) {
		found = node;
		if (node->prefix.len == p->len)
			break;
		node = deref_locked(t, node->child[prefix_bit(p, node->prefix.len)]);
	}
	return found;
}

/**
 * omerta_allowedips_insert() - give a prefix to an owner
 * @t: the table
 * @p: the prefix; one that another owner has moves
 * @owner: the new owner
 * @spare: nodes from omerta_allowedips_reserve()
 *
 * Context: process context, the table's lock held.
 */
void omerta_allowedips_insert(struct omerta_allowedips *t,
			      const struct omerta_prefix *p,
			      struct omerta_allowedips_owner *owner,
			      struct list_head *spare)
{
	struct omerta_allowedips_node *parent, *below, *node, *top;
	struct omerta_allowedips_node __rcu **slot;

	lockdep_assert_held(t->lock);

	parent = deepest_cover(t, p);
	if (parent && parent->prefix.len == p->len) {
		set_owner(parent, owner);
		return;
	}

	slot = slot_of(t, parent, p);
	below = deref_locked(t, *slot);
	node = take_spare(spare, p);
	set_owner(node, owner);
	top = node;
	if (below && covers(p, &below->prefix)) {
		adopt(node, below);
	} else if (below) {
		struct omerta_prefix joint = *p;

		joint.len = common_bits(p, &below->prefix);
		prefix_mask(&joint);
		top = take_spare(spare, &joint);
		adopt(top, node);
		adopt(top, below);
	}
	top->parent = parent;
	rcu_assign_pointer(*slot, top);
}

/* Remove nodes that neither have an owner nor join two subtries. */
static void prune(struct omerta_allowedips *t,
		  struct omerta_allowedips_node *node)
{
	while (node && !rcu_access_pointer(node->owner)) {
		struct omerta_allowedips_node *parent = node->parent;
		struct omerta_allowedips_node *left, *right, *rest;

		left = deref_locked(t, node->child[0]);
		right = deref_locked(t, node->child[1]);
		if (left && right)
			return;
		rest = left ?: right;
		if (rest)
			rest->parent = parent;
		rcu_assign_pointer(*slot_of(t, parent, &node->prefix), rest);
		kfree_rcu(node, rcu);
		node = parent;
	}
}

static void disown(struct omerta_allowedips *t,
		   struct omerta_allowedips_node *node)
{
	RCU_INIT_POINTER(node->owner, NULL);
	list_del_init(&node->list);
	prune(t, node);
}

/**
 * omerta_allowedips_remove() - remove a prefix of an owner
 * @t: the table
 * @p: the prefix
 * @owner: the owner
 *
 * Context: process context, the table's lock held.
 * Return: false if @owner does not have the prefix. Then nothing changes.
 */
bool omerta_allowedips_remove(struct omerta_allowedips *t,
			      const struct omerta_prefix *p,
			      struct omerta_allowedips_owner *owner)
{
	struct omerta_allowedips_node *node;

	lockdep_assert_held(t->lock);

	node = deepest_cover(t, p);
	if (!node || node->prefix.len != p->len ||
	    rcu_access_pointer(node->owner) != owner)
		return false;
	disown(t, node);
	return true;
}

/**
 * omerta_allowedips_set_aside() - start to replace all prefixes of an owner
 * @t: the table
 * @owner: the owner
 * @aside: empty list that its prefixes are moved to
 *
 * The owner keeps them until omerta_allowedips_drop_aside(). A prefix that is inserted
 * again meanwhile leaves @aside, and belongs to the owner all the time.
 *
 * Context: the table's lock held until the end of the replacement.
 */
void omerta_allowedips_set_aside(struct omerta_allowedips *t,
				 struct omerta_allowedips_owner *owner,
				 struct list_head *aside)
{
	lockdep_assert_held(t->lock);

	list_splice_init(&owner->prefixes, aside);
}

/**
 * omerta_allowedips_drop_aside() - finish the replacement of prefixes
 * @t: the table
 * @aside: prefixes that were not inserted again; removed
 *
 * Concurrent lookups may still find the owner by them until the end of an RCU grace period.
 *
 * Context: the table's lock held.
 */
void omerta_allowedips_drop_aside(struct omerta_allowedips *t,
				  struct list_head *aside)
{
	struct omerta_allowedips_node *node, *tmp;

	lockdep_assert_held(t->lock);

	list_for_each_entry_safe(node, tmp, aside, list)
		disown(t, node);
}

/**
 * omerta_allowedips_remove_all() - remove all prefixes of an owner
 * @t: the table
 * @owner: the owner; concurrent lookups may still find it until the end of an RCU grace
 *	   period
 *
 * Context: process context, the table's lock held.
 */
void omerta_allowedips_remove_all(struct omerta_allowedips *t,
				  struct omerta_allowedips_owner *owner)
{
	omerta_allowedips_drop_aside(t, &owner->prefixes);
}

/**
 * omerta_allowedips_lookup() - find the owner of an address
 * @t: the table
 * @v6: family
 * @addr: 4 or 16 bytes, network order
 *
 * Context: inside an RCU read-side section.
 * Return: the owner of the longest prefix that covers @addr, or NULL. Valid
 * until the section ends.
 */
struct omerta_allowedips_owner *
omerta_allowedips_lookup(const struct omerta_allowedips *t, bool v6,
			 const void *addr)
{
	struct omerta_allowedips_owner *owner, *best = NULL;
	struct omerta_allowedips_node *node;
	struct omerta_prefix p;

	p.v6 = v6;
	p.len = v6 ? 128 : 32;
	p.hi = v6 ? get_unaligned_be64(addr) : (u64)get_unaligned_be32(addr) << 32;
	p.lo = v6 ? get_unaligned_be64(addr + 8) : 0;
	node = rcu_dereference(t->root[v6]);
	while (node && covers(&node->prefix, &p)) {
		owner = rcu_dereference(node->owner);
		if (owner)
			best = owner;
		if (node->prefix.len == p.len)
			break;
		node = rcu_dereference(node->child[prefix_bit(&p, node->prefix.len)]);
	}
	return best;
}

/**
 * omerta_allowedips_find() - find the owner of exactly this prefix
 * @t: the table
 * @p: the prefix
 *
 * Context: the table's lock held.
 * Return: its owner, or NULL.
 */
struct omerta_allowedips_owner *
omerta_allowedips_find(const struct omerta_allowedips *t,
		       const struct omerta_prefix *p)
{
	struct omerta_allowedips_node *node;

	lockdep_assert_held(t->lock);

	node = deepest_cover(t, p);
	if (!node || node->prefix.len != p->len)
		return NULL;
	return deref_locked(t, node->owner);
}

static bool is_after(const struct omerta_prefix *a, const struct omerta_prefix *b)
{
	if (a->hi != b->hi)
		return a->hi > b->hi;
	if (a->lo != b->lo)
		return a->lo > b->lo;
	return a->len > b->len;
}

/* Return the node after @p in order of address, then length; the first if @p is NULL. */
static struct omerta_allowedips_node *
node_after(const struct omerta_allowedips *t, bool v6,
	   const struct omerta_prefix *p)
{
	struct omerta_allowedips_node *node, *right, *best = NULL;

	node = deref_locked(t, t->root[v6]);
	while (node) {
		/* A node comes before all nodes below it. */
		if (!p || is_after(&node->prefix, p))
			return node;
		right = deref_locked(t, node->child[1]);
		if (right && !is_after(&right->prefix, p)) {
			node = right;
			continue;
		}
		if (right)
			best = right;
		node = deref_locked(t, node->child[0]);
	}
	return best;
}

/**
 * omerta_allowedips_next() - step through a table in order
 * @t: the table
 * @cursor: previous prefix, which may have been removed; set to the prefix found
 * @first: start from the beginning of @cursor's family
 *
 * Order: address, then prefix length, within one family.
 *
 * Context: the table's lock held, but not necessarily between steps.
 * Return: the owner of the prefix found, or NULL at the family's end.
 */
struct omerta_allowedips_owner *
omerta_allowedips_next(const struct omerta_allowedips *t,
		       struct omerta_prefix *cursor, bool first)
{
	struct omerta_allowedips_owner *owner;
	struct omerta_allowedips_node *node;

	lockdep_assert_held(t->lock);

	do {
		node = node_after(t, cursor->v6, first ? NULL : cursor);
		if (!node)
			return NULL;
		*cursor = node->prefix;
		first = false;
		owner = deref_locked(t, node->owner);
	} while (!owner);
	return owner;
}
