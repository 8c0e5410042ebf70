// SPDX-License-Identifier: GPL-2.0
/*
 * Keys and their states.
 *
 *   state     | activate   retire    seal limit   open limit   first record
 *   ----------+------------------------------------------------------------
 *   installed | active     retired   retired      dead         active (*)
 *   active    | refused    retired   retired      dead         -
 *   retired   | refused    refused   -            dead         -
 *   dead      | refused    refused   -            -            -
 *
 * (*) if installed to be activated by it. Activation retires the key that was
 * active. Too many bad tags, the hard limit of the counter and the cloning of
 * the machine lead from every state to dead. Deleting leaves no trace.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "peer/key_state.h"

#include <linux/slab.h>

#include "peer/event.h"
#include "peer/fingerprint.h"

/**
 * omerta_key_tell() - notify listeners of something about a key
 * @key: the key
 * @cmd: OMERTA_CMD_KEY_*_NTF
 * @limit: enum omerta_key_limit, negative if no limit is the cause
 *
 * Context: any but hard interrupt.
 */
void omerta_key_tell(const struct omerta_key *key, u8 cmd, int limit)
{
	const struct omerta_key_event ev = {
		.cmd = cmd,
		.peer_id = key->ring->peer_id,
		.local_id = key->local_id,
		.remote_id = key->remote_id,
		.limit = limit,
	};

	omerta_event_key(key->ring->dev, &ev);
}

/**
 * omerta_key_free() - give up one of a key's &omerta_key.refs
 * @key: the key; freed after a grace period with the last one
 */
void omerta_key_free(struct omerta_key *key)
{
	if (!refcount_dec_and_test(&key->refs))
		return;
	pr_debug("key 0x%08x destroyed\n", key->local_id);
	kfree_rcu(key, rcu);
}

/**
 * omerta_key_put() - end the use of a key by a burst
 * @key: from omerta_key_get() or omerta_key_seal()
 *
 * The last user of a dead key wipes its secrets.
 */
void omerta_key_put(struct omerta_key *key)
{
	if (!refcount_dec_and_test(&key->users))
		return;
	memzero_explicit(key->tx_secret, sizeof(key->tx_secret));
	memzero_explicit(key->rx_secret, sizeof(key->rx_secret));
	omerta_fingerprint_retire(key->used);
	omerta_key_free(key);
}

static void leave_active(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	if (rcu_access_pointer(ring->active) == key)
		RCU_INIT_POINTER(ring->active, NULL);
}

/**
 * omerta_key_retire() - let a key open only
 * @key: the key, installed or active
 *
 * Context: the ring's lock held.
 */
void omerta_key_retire(struct omerta_key *key)
{
	leave_active(key);
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_RETIRED);
}

/**
 * omerta_key_die() - let a key neither seal nor open
 * @key: the key; stays on its ring
 *
 * Its secrets are wiped when the bursts in flight are through.
 *
 * Context: the ring's lock held.
 */
void omerta_key_die(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	if (key->state == OMERTA_KEY_STATE_DEAD)
		return;
	leave_active(key);
	if (ring->latest == key)
		ring->latest = NULL;
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_DEAD);
	rhashtable_remove_fast(ring->table, &key->node, omerta_key_params);
	omerta_fingerprint_detach(key->used);
	omerta_key_put(key);
}

/**
 * omerta_key_die_of() - let a key die of a limit, and tell of it
 * @key: the key
 * @limit: the limit
 *
 * Context: the ring's lock held.
 */
void omerta_key_die_of(struct omerta_key *key, enum omerta_key_limit limit)
{
	lockdep_assert_held(&key->ring->lock);

	if (key->state == OMERTA_KEY_STATE_DEAD)
		return;
	key->limit = limit;
	omerta_key_die(key);
	omerta_key_tell(key, OMERTA_CMD_KEY_DEAD_NTF, limit);
}

/**
 * omerta_key_seal_over() - retire a key that may not seal any more, and tell
 * @key: the key
 * @limit: why
 *
 * Context: the ring's lock held.
 */
void omerta_key_seal_over(struct omerta_key *key, enum omerta_key_limit limit)
{
	lockdep_assert_held(&key->ring->lock);

	if (key->state >= OMERTA_KEY_STATE_RETIRED)
		return;
	key->limit = limit;
	omerta_key_retire(key);
	omerta_key_tell(key, OMERTA_CMD_KEY_HARD_NTF, limit);
}

/**
 * omerta_key_soft() - ask for the successor of a key, once
 * @key: the key
 * @limit: why
 *
 * Context: the ring's lock held.
 */
void omerta_key_soft(struct omerta_key *key, enum omerta_key_limit limit)
{
	lockdep_assert_held(&key->ring->lock);

	if (key->soft_told || key->state >= OMERTA_KEY_STATE_RETIRED)
		return;
	key->soft_told = true;
	omerta_key_tell(key, OMERTA_CMD_KEY_SOFT_NTF, limit);
}

/**
 * omerta_key_activate() - make an installed key the one that seals
 * @key: the key; the one that was active retires
 *
 * Context: the ring's lock held.
 */
void omerta_key_activate(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;
	struct omerta_key *old;

	lockdep_assert_held(&ring->lock);

	old = rcu_dereference_protected(ring->active,
					lockdep_is_held(&ring->lock));
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_ACTIVE);
	rcu_assign_pointer(ring->active, key);
	if (old)
		WRITE_ONCE(old->state, OMERTA_KEY_STATE_RETIRED);
}
