/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the kernel that keys use, for one thread. A lock remembers whether it is held, and a key
 * whether it is in the table.
 */
#ifndef _OMERTA_STAND_INS_H
#define _OMERTA_STAND_INS_H

#include <errno.h>

#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

#include "proof.h"

#undef memzero_explicit
#define memzero_explicit(p, n)	memset(p, 0, n)
#undef lockdep_assert_held
#define lockdep_assert_held(lock)	prove((lock)->held)
#undef rcu_dereference_protected
#define rcu_dereference_protected(p, condition)	({ prove(condition); (p); })

#define ____cacheline_aligned_in_smp
#define BIT_ULL(n)		(1ULL << (n))
#define NSEC_PER_SEC		1000000000L
#define S32_MAX			INT32_MAX
#define likely(x)		(x)
#define unlikely(x)		(x)
#define min3(a, b, c)		min(min(a, b), c)
#define pr_debug(...)		do { } while (0)
#define trace_omerta_key_state(key)	((void)(key))
#define smp_load_acquire(p)	READ_ONCE(*(p))
#define IS_ERR(p)		((u64)(p) >= (u64)-4095)
#define PTR_ERR(p)		((long)(p))

struct netlink_ext_ack;
struct net_device;
#define NL_SET_ERR_MSG(extack, message)	((void)(extack))

typedef struct mutex spinlock_t;
#define spin_lock_init(lock)	mutex_init(lock)
#define spin_lock_bh(lock)	(prove(!(lock)->held), mutex_lock(lock))
#define spin_unlock_bh(lock)	(prove((lock)->held), mutex_unlock(lock))

typedef struct {
	int counter;
} atomic_t;
#define atomic_read(v)		((v)->counter)

typedef struct {
	u64 counter;
} atomic64_t;
#define atomic64_read(v)	((s64)(v)->counter)
#define atomic64_add_return(i, v)	((v)->counter += (i))
#define atomic64_sub(i, v)	((v)->counter -= (i))

typedef unsigned int refcount_t;
#define refcount_set(r, n)	(*(r) = (n))
#define refcount_dec_and_test(r)	(prove(*(r)), !--*(r))

/* A key's users. That those of a dead one are counted a grace period later is like one more burst. */
struct percpu_ref {
	unsigned int count;
	bool is_dead;
	bool is_exited;
};

void omerta_key_unused(struct percpu_ref *users);

static inline int percpu_ref_init(struct percpu_ref *ref, void (*release)(struct percpu_ref *ref),
				  unsigned int flags, gfp_t gfp)
{
	prove(release == omerta_key_unused);
	ref->count = 1;
	ref->is_dead = false;
	ref->is_exited = nondet_bool();
	return ref->is_exited ? -ENOMEM : 0;
}

static inline bool percpu_ref_tryget_live(struct percpu_ref *ref)
{
	if (ref->is_dead)
		return false;
	ref->count++;
	return true;
}

static inline void percpu_ref_put(struct percpu_ref *ref)
{
	prove(ref->count);
	if (!--ref->count)
		omerta_key_unused(ref);
}

static inline void percpu_ref_kill(struct percpu_ref *ref)
{
	prove(!ref->is_dead);
	ref->is_dead = true;
	percpu_ref_put(ref);
}

static inline void percpu_ref_exit(struct percpu_ref *ref)
{
	prove(!ref->is_exited);
	ref->is_exited = true;
}

struct percpu_counter {
	bool is_there;
};

static inline int percpu_counter_init(struct percpu_counter *counter, s64 amount, gfp_t gfp)
{
	counter->is_there = nondet_bool();
	return counter->is_there ? 0 : -ENOMEM;
}

static inline void percpu_counter_add_batch(struct percpu_counter *counter, s64 amount, int batch)
{
	prove(counter->is_there && amount >= 0 && batch > 0);
}

static inline void percpu_counter_destroy(struct percpu_counter *counter)
{
	prove(counter->is_there);
	counter->is_there = false;
}

struct rhashtable {
};

struct rhash_head {
	bool is_in;
};

struct rhashtable_params {
	u16 key_len, key_offset, head_offset;
	bool automatic_shrinking;
};

static inline int rhashtable_insert_fast(struct rhashtable *t, struct rhash_head *head,
					 const struct rhashtable_params params)
{
	if (nondet_bool())
		return -ENOMEM;
	prove(!head->is_in);
	head->is_in = true;
	return 0;
}

static inline int rhashtable_remove_fast(struct rhashtable *t, struct rhash_head *head,
					 const struct rhashtable_params params)
{
	prove(head->is_in);
	head->is_in = false;
	return 0;
}

static u64 boottime;
#define ktime_get_boottime_ns()		boottime
#define ktime_get_coarse_boottime_ns()	boottime

static inline int crypto_memneq(const void *a, const void *b, size_t n)
{
	return memcmp(a, b, n);
}

#endif /* _OMERTA_STAND_INS_H */
