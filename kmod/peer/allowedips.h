/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ALLOWEDIPS_H
#define _OMERTA_ALLOWEDIPS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

/**
 * struct omerta_prefix - an IPv4 or IPv6 prefix
 * @hi: first 64 bits of the address; the upper half is an IPv4 address
 * @lo: last 64 bits
 * @len: prefix length
 * @v6: address family
 *
 * Bits beyond @len are zero.
 */
struct omerta_prefix {
	u64 hi;
	u64 lo;
	u8 len;
	bool v6;
};

/**
 * struct omerta_allowedips_owner - embedded in an owner of prefixes
 * @prefixes: its nodes; lock: the table's
 */
struct omerta_allowedips_owner {
	struct list_head prefixes;
};

struct omerta_allowedips_node;

/**
 * struct omerta_allowedips - longest-prefix match from address to owner
 * @root: tries for IPv4 and IPv6
 * @lock: serialises changes; lookups need RCU only
 */
struct omerta_allowedips {
	struct omerta_allowedips_node __rcu *root[2];
	struct mutex *lock; /* serialises changes */
};

void omerta_prefix_init(struct omerta_prefix *p, bool v6, const void *addr,
			u8 len);
void omerta_prefix_addr(const struct omerta_prefix *p, void *addr);

void omerta_allowedips_init(struct omerta_allowedips *t, struct mutex *lock);
int omerta_allowedips_reserve(struct list_head *spare, unsigned int n);
void omerta_allowedips_release(struct list_head *spare);
void omerta_allowedips_insert(struct omerta_allowedips *t,
			      const struct omerta_prefix *p,
			      struct omerta_allowedips_owner *owner,
			      struct list_head *spare);
bool omerta_allowedips_remove(struct omerta_allowedips *t,
			      const struct omerta_prefix *p,
			      struct omerta_allowedips_owner *owner);
void omerta_allowedips_set_aside(struct omerta_allowedips *t,
				 struct omerta_allowedips_owner *owner,
				 struct list_head *aside);
void omerta_allowedips_drop_aside(struct omerta_allowedips *t,
				  struct list_head *aside);
void omerta_allowedips_remove_all(struct omerta_allowedips *t,
				  struct omerta_allowedips_owner *owner);
struct omerta_allowedips_owner *
omerta_allowedips_lookup(const struct omerta_allowedips *t, bool v6,
			 const void *addr);
struct omerta_allowedips_owner *
omerta_allowedips_find(const struct omerta_allowedips *t,
		       const struct omerta_prefix *p);
struct omerta_allowedips_owner *
omerta_allowedips_next(const struct omerta_allowedips *t,
		       struct omerta_prefix *cursor, bool first);

#endif /* _OMERTA_ALLOWEDIPS_H */
