/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_RCUPDATE_H
#define _OMERTA_USER_RCUPDATE_H

/*
 * One thread only: there are no readers beside a change, so pointers are plain
 * and a grace period ends at once. Use after free by the updater itself is
 * thus for the address sanitizer to find.
 */
#include <stdlib.h>

#include <linux/compiler.h>

struct rcu_head {
	void *unused;
};

#define rcu_read_lock()			do { } while (0)
#define rcu_read_unlock()		do { } while (0)
#define rcu_dereference(p)		(p)
#define rcu_access_pointer(p)		(p)
#define rcu_dereference_protected(p, held) \
	({ if (!(held)) __builtin_trap(); (p); })
#define rcu_assign_pointer(p, v)	((p) = (v))
#define RCU_INIT_POINTER(p, v)		((p) = (v))
#define kvfree_rcu(p, member)		((void)&(p)->member, free(p))
#define kfree_rcu(p, member)		kvfree_rcu(p, member)

#endif /* _OMERTA_USER_RCUPDATE_H */
