// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: their states, and their use by records.
 *
 *   state     | activate   retire    seal limit   open limit   first record
 *   ----------+------------------------------------------------------------
 *   installed | active     retired   retired      dead         active (*)
 *   active    | refused    retired   retired      dead         -
 *   retired   | refused    refused   -            dead         -
 *   dead      | refused    refused   -            -            -
 *
 * (*) if installed to be activated by it. Activation retires the key that was active. Too
 * many bad tags, the last counter and the cloning of the machine lead from every state to
 * dead. A deleted key leaves no trace.
 *
 * The datapath only checks limits: a key beyond a limit is not used. Changes of state and
 * notifications are left to omerta_keyring_expire(), which the peer's timer calls.
 */
#include "peer/keys.h"

#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "peer/event.h"
#include "peer/fingerprint.h"
#include "peer/key_state.h"
#include "peer/trace.h"

/**
 * omerta_key_tell() - notify listeners about a key
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
		.channel = key->ring->channel,
		.local_id = key->local_id,
		.remote_id = key->remote_id,
		.limit = limit,
	};

	omerta_event_key(key->ring->dev, &ev);
}

/**
 * omerta_key_tell_needed() - notify listeners that traffic waits for an active key
 * @ring: the peer's ring; they are told once for each omerta_key_needed()
 *
 * Context: any but hard interrupt.
 */
void omerta_key_tell_needed(struct omerta_keyring *ring)
{
	const struct omerta_key_event ev = {
		.cmd = OMERTA_CMD_KEY_NEEDED_NTF,
		.peer_id = ring->peer_id,
		.limit = -1,
	};

	if (!READ_ONCE(ring->needed))
		return;
	WRITE_ONCE(ring->needed, false);
	omerta_event_key(ring->dev, &ev);
}

/**
 * omerta_key_needed() - have listeners told that traffic waits for an active key
 * @ring: the peer's ring
 *
 * Context: any but hard interrupt.
 */
void omerta_key_needed(struct omerta_keyring *ring)
{
	WRITE_ONCE(ring->needed, true);
	/* The active key is beyond a limit. Listeners are told about that first. */
	if (rcu_access_pointer(ring->active))
		ring->ops->due(ring);
	else
		omerta_key_tell_needed(ring);
}

/**
 * omerta_key_release() - put a reference to a key's memory
 * @key: from the ring when it leaves it, and from omerta_key_unused()
 *
 * Context: any but hard interrupt.
 */
void omerta_key_release(struct omerta_key *key)
{
	if (!refcount_dec_and_test(&key->refs))
		return;
	percpu_counter_destroy(&key->tx_bytes);
	kfree_rcu(key, rcu);
}

/**
 * omerta_key_unused() - zeroize the secrets of a dead key whose last burst is done
 * @users: the key's users, of which none is left
 *
 * The peer may be gone afterwards.
 *
 * Context: any but hard interrupt.
 */
void omerta_key_unused(struct percpu_ref *users)
{
	struct omerta_key *key = container_of(users, struct omerta_key, users);
	struct omerta_keyring *ring = key->ring;

	memzero_explicit(key->tx_secret, sizeof(key->tx_secret));
	memzero_explicit(key->rx_secret, sizeof(key->rx_secret));
	omerta_fingerprint_retire(key->used);
	percpu_ref_exit(users);
	omerta_key_release(key);
	ring->ops->put(ring);
}

/**
 * omerta_key_put() - put a burst's reference to a key
 * @key: from omerta_key_get() or omerta_key_seal()
 *
 * The peer may be gone afterwards.
 *
 * Context: any but hard interrupt.
 */
void omerta_key_put(struct omerta_key *key)
{
	percpu_ref_put(&key->users);
}

/**
 * omerta_key_tell_confirmed() - notify listeners of a confirmation that they were not told about
 * @key: the key
 *
 * Context: the ring's lock held.
 */
void omerta_key_tell_confirmed(struct omerta_key *key)
{
	lockdep_assert_held(&key->ring->lock);

	if (!key->confirm_untold)
		return;
	key->confirm_untold = false;
	omerta_key_tell(key, OMERTA_CMD_KEY_CONFIRMED_NTF, -1);
}

/**
 * omerta_key_retire() - let a key open only
 * @key: the key, installed or active
 *
 * Context: the ring's lock held.
 */
void omerta_key_retire(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	if (rcu_access_pointer(ring->active) == key)
		RCU_INIT_POINTER(ring->active, NULL);
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_RETIRED);
	trace_omerta_key_state(key);
}

/**
 * omerta_key_die() - let a key neither seal nor open
 * @key: the key; stays on its ring
 *
 * Its secrets are zeroized when a grace period has passed and the bursts in flight are done.
 *
 * Context: the ring's lock held.
 */
void omerta_key_die(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	if (key->state == OMERTA_KEY_STATE_DEAD)
		return;
	/* A confirmation is told before the death. */
	omerta_key_tell_confirmed(key);
	if (rcu_access_pointer(ring->active) == key)
		RCU_INIT_POINTER(ring->active, NULL);
	if (ring->latest == key)
		WRITE_ONCE(ring->latest, NULL);
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_DEAD);
	trace_omerta_key_state(key);
	rhashtable_remove_fast(ring->table, &key->node, omerta_key_params);
	omerta_fingerprint_detach(key->used);
	percpu_ref_kill(&key->users);
}

/**
 * omerta_key_die_of() - let a key die of a limit, and notify listeners
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
	trace_omerta_key_state(key);
	rcu_assign_pointer(ring->active, key);
	if (!old)
		return;
	WRITE_ONCE(old->state, OMERTA_KEY_STATE_RETIRED);
	trace_omerta_key_state(old);
}

/**
 * omerta_key_seal() - take the active key, and counters for records
 * @ring: the peer's ring
 * @n: number of records, at most 64
 * @len: UDP payload bytes of all records
 * @counter: set to the first record's counter; the others follow
 *
 * Several CPUs may do so at a time. Each gets counters of its own, as only one of them can move
 * the counter on from where it is.
 *
 * Context: BH off.
 * Return: the key, to be put with omerta_key_put(), or NULL if there is no key that may
 * seal so many records. The peer stays until then.
 */
struct omerta_key *omerta_key_seal(struct omerta_keyring *ring, unsigned int n,
				   u32 len, u64 *counter)
{
	u64 now = ktime_get_coarse_boottime_ns(), next, bytes = 0;
	const struct omerta_key_limits *l;
	struct omerta_key *key;
	bool limits_bytes;
	int over = -1;
	s64 first;

	rcu_read_lock();
	key = rcu_dereference(ring->active);
	if (!key || !percpu_ref_tryget_live(&key->users)) {
		rcu_read_unlock();
		return NULL;
	}
	rcu_read_unlock();

	l = &key->limits;
	limits_bytes = min(l->soft_bytes, l->hard_bytes) != U64_MAX;
	if (unlikely(limits_bytes))
		bytes = atomic64_add_return(len, &key->tx_limited);
	first = atomic64_read(&key->tx_next);
	do {
		next = first + n;
		if (unlikely(key->epoch != atomic_read(&omerta_keys_epoch)))
			over = OMERTA_KEY_LIMIT_VM_FORK;
		else if (unlikely(next > l->hard_records))
			over = OMERTA_KEY_LIMIT_RECORDS;
		else if (unlikely(bytes > l->hard_bytes))
			over = OMERTA_KEY_LIMIT_BYTES;
		else if (unlikely(now >= key->seal_until))
			over = OMERTA_KEY_LIMIT_TIME;
		if (unlikely(over >= 0)) {
			if (next > OMERTA_COUNTER_LIMIT)
				WRITE_ONCE(key->tx_exhausted, true);
			WRITE_ONCE(key->tx_over, over);
			if (limits_bytes)
				atomic64_sub(len, &key->tx_limited);
			ring->ops->due(ring);
			omerta_key_put(key);
			return NULL;
		}
	} while (!atomic64_try_cmpxchg(&key->tx_next, &first, next));
	/* The counter of each CPU has 32 bits. */
	percpu_counter_add_batch(&key->tx_bytes, len, S32_MAX / 2);
	if (unlikely(next > l->soft_records || bytes > l->soft_bytes) &&
	    READ_ONCE(key->tx_soft) < 0) {
		WRITE_ONCE(key->tx_soft, next > l->soft_records ? OMERTA_KEY_LIMIT_RECORDS :
								  OMERTA_KEY_LIMIT_BYTES);
		ring->ops->due(ring);
	}
	*counter = first;
	return key;
}

/**
 * omerta_key_get() - find the key of a received record
 * @table: the device's keys
 * @local_id: the record's key id
 *
 * Return: the key, to be put with omerta_key_put(), or NULL. Its secrets and the peer stay until
 * then, even if it dies meanwhile.
 */
struct omerta_key *omerta_key_get(struct rhashtable *table, u32 local_id)
{
	struct omerta_key *key;

	rcu_read_lock();
	key = rhashtable_lookup(table, &local_id, omerta_key_params);
	if (key && !percpu_ref_tryget_live(&key->users))
		key = NULL;
	rcu_read_unlock();
	return key;
}

/**
 * omerta_key_can_open() - check whether a key may open records now
 * @key: the key
 *
 * Return: false if it is dead or beyond a limit.
 */
bool omerta_key_can_open(const struct omerta_key *key)
{
	return READ_ONCE(key->state) != OMERTA_KEY_STATE_DEAD &&
	       key->epoch == atomic_read(&omerta_keys_epoch) &&
	       READ_ONCE(key->auth_failures) < OMERTA_HARD_AUTH_FAILURES &&
	       ktime_get_coarse_boottime_ns() < key->open_until;
}

/**
 * omerta_key_auth_failed() - count a record that failed authentication
 * @key: its key
 *
 * Context: BH off, the key's rx_lock held.
 */
void omerta_key_auth_failed(struct omerta_key *key)
{
	u64 failures = key->auth_failures + 1;

	lockdep_assert_held(&key->rx_lock);

	WRITE_ONCE(key->auth_failures, failures);
	if (unlikely(failures >= OMERTA_SOFT_AUTH_FAILURES))
		key->ring->ops->due(key->ring);
}

/*
 * Handle the first authentic record of a key. Returns true if it made the key active. A
 * record that was held back must not let an old key supersede a younger one.
 */
static bool confirm_key(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;
	struct omerta_key *active;
	bool activated = false;

	spin_lock_bh(&ring->lock);
	if (key->state == OMERTA_KEY_STATE_DEAD) {
		spin_unlock_bh(&ring->lock);
		return false;
	}
	WRITE_ONCE(key->confirmed, true);
	key->confirm_untold = true;
	if (!ring->latest || ring->latest->seq < key->seq)
		WRITE_ONCE(ring->latest, key);
	active = rcu_dereference_protected(ring->active,
					   lockdep_is_held(&ring->lock));
	if (key->activation == OMERTA_ACTIVATION_ON_FIRST_RECORD &&
	    key->state == OMERTA_KEY_STATE_INSTALLED &&
	    (!active || active->seq < key->seq)) {
		omerta_key_activate(key);
		activated = true;
	}
	spin_unlock_bh(&ring->lock);
	ring->ops->due(ring);
	return activated;
}

/**
 * omerta_key_commit() - accept an authentic record
 * @key: its key
 * @counter: its counter
 * @len: its UDP payload length
 * @activated: set to true if the record made the key active, else left alone
 *
 * Context: BH off, the key's rx_lock held.
 * Return: true if the record is fresh.
 */
enum omerta_fresh omerta_key_commit(struct omerta_key *key, u64 counter,
				    u32 len, bool *activated)
{
	lockdep_assert_held(&key->rx_lock);

	if (!omerta_key_can_open(key))
		return OMERTA_FRESH_NOT;
	if (!omerta_replay_commit(&key->replay, counter)) {
		WRITE_ONCE(key->replays, key->replays + 1);
		return OMERTA_FRESH_NOT;
	}
	WRITE_ONCE(key->rx_records, key->rx_records + 1);
	WRITE_ONCE(key->rx_bytes, key->rx_bytes + len);
	if (unlikely(!key->confirmed) && confirm_key(key))
		*activated = true;
	if (counter + 1 == key->replay.next &&
	    READ_ONCE(key->ring->latest) == key)
		return OMERTA_FRESH_NEWEST;
	return OMERTA_FRESH;
}
