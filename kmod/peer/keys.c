// SPDX-License-Identifier: GPL-2.0
/*
 * A key at work: what each record asks of it.
 */
#include "peer/keys.h"

#include <linux/timekeeping.h>

#include "peer/key_state.h"

/**
 * omerta_key_get() - find the key of a received record
 * @table: the device's keys
 * @local_id: the record's key id
 *
 * Return: the key, to be given back with omerta_key_put(), or NULL. Its
 * secrets stay until then, even if it dies meanwhile.
 */
struct omerta_key *omerta_key_get(struct rhashtable *table, u32 local_id)
{
	struct omerta_key *key;

	rcu_read_lock();
	key = rhashtable_lookup(table, &local_id, omerta_key_params);
	if (key && !refcount_inc_not_zero(&key->users))
		key = NULL;
	rcu_read_unlock();
	return key;
}

/* Whether the machine has become another since. */
static bool outlived(const struct omerta_key *key)
{
	return key->epoch != atomic_read(&omerta_keys_epoch);
}

static bool soft_reached(const struct omerta_key *key, unsigned int n, u32 len)
{
	return !key->soft_told &&
	       (key->tx_next + n > key->limits.soft_records ||
		key->tx_bytes + len > key->limits.soft_bytes);
}

static bool hard_reached(const struct omerta_key *key, unsigned int n, u32 len)
{
	return key->tx_next + n > key->limits.hard_records ||
	       key->tx_bytes + len > key->limits.hard_bytes;
}

/* Act on a limit of the active key that the next records would meet. */
static void seal_limits(struct omerta_key *key, unsigned int n, u32 len,
			u64 now)
{
	const struct omerta_key_limits *l = &key->limits;

	spin_lock_bh(&key->ring->lock);
	if (outlived(key))
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_VM_FORK);
	else if (key->tx_next + n > OMERTA_COUNTER_LIMIT)
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_RECORDS);
	else if (key->tx_next + n > l->hard_records)
		omerta_key_seal_over(key, OMERTA_KEY_LIMIT_RECORDS);
	else if (key->tx_bytes + len > l->hard_bytes)
		omerta_key_seal_over(key, OMERTA_KEY_LIMIT_BYTES);
	else if (now >= omerta_key_deadline(key, l->seal_time))
		omerta_key_seal_over(key, OMERTA_KEY_LIMIT_TIME);
	else if (key->tx_next + n > l->soft_records)
		omerta_key_soft(key, OMERTA_KEY_LIMIT_RECORDS);
	else
		omerta_key_soft(key, OMERTA_KEY_LIMIT_BYTES);
	spin_unlock_bh(&key->ring->lock);
}

/**
 * omerta_key_seal() - take the active key and counters for records
 * @ring: the peer's ring
 * @n: how many records, at most 64
 * @len: UDP payload bytes of all
 * @counter: gets the first record's counter; those of the others follow
 *
 * Context: BH off, the peer's tx_lock held, which makes counters unique.
 * Return: the key, to be given back with omerta_key_put(), or NULL if there
 * is none that may seal so many.
 */
struct omerta_key *omerta_key_seal(struct omerta_keyring *ring, unsigned int n,
				   u32 len, u64 *counter)
{
	u64 now = ktime_get_coarse_boottime_ns();
	struct omerta_key *key;
	bool over;

	rcu_read_lock();
	key = rcu_dereference(ring->active);
	if (!key || !refcount_inc_not_zero(&key->users)) {
		rcu_read_unlock();
		return NULL;
	}
	rcu_read_unlock();

	over = outlived(key) || hard_reached(key, n, len) ||
	       now >= omerta_key_deadline(key, key->limits.seal_time);
	if (unlikely(over || soft_reached(key, n, len)))
		seal_limits(key, n, len, now);
	if (unlikely(over)) {
		omerta_key_put(key);
		return NULL;
	}
	*counter = key->tx_next;
	WRITE_ONCE(key->tx_next, key->tx_next + n);
	WRITE_ONCE(key->tx_bytes, key->tx_bytes + len);
	return key;
}

/**
 * omerta_key_opens() - whether a key may open records now
 * @key: the key
 *
 * Return: false if it is dead or its time is over.
 */
bool omerta_key_opens(const struct omerta_key *key)
{
	return READ_ONCE(key->state) != OMERTA_KEY_STATE_DEAD && !outlived(key) &&
	       ktime_get_coarse_boottime_ns() <
	       omerta_key_deadline(key, key->limits.open_time);
}

/**
 * omerta_key_auth_failed() - count a record that failed authentication
 * @key: its key
 *
 * Context: the device's NAPI.
 */
void omerta_key_auth_failed(struct omerta_key *key)
{
	u64 failures = key->auth_failures + 1;

	WRITE_ONCE(key->auth_failures, failures);
	if (likely(failures < OMERTA_SOFT_AUTH_FAILURES))
		return;
	spin_lock_bh(&key->ring->lock);
	if (failures >= OMERTA_HARD_AUTH_FAILURES)
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_AUTH_FAILURES);
	else
		omerta_key_soft(key, OMERTA_KEY_LIMIT_AUTH_FAILURES);
	spin_unlock_bh(&key->ring->lock);
}

/*
 * First authentic record; returns whether it made the key active. A record
 * that was held back must not make an old key supersede a younger one.
 */
static bool confirm(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;
	struct omerta_key *active;
	bool activated = false;

	spin_lock_bh(&ring->lock);
	if (key->state == OMERTA_KEY_STATE_DEAD)
		goto out;
	WRITE_ONCE(key->confirmed, true);
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
	omerta_key_tell(key, OMERTA_CMD_KEY_CONFIRMED_NTF, -1);
out:
	spin_unlock_bh(&ring->lock);
	return activated;
}

/**
 * omerta_key_commit() - accept an authentic record
 * @key: its key
 * @counter: its counter
 * @len: its UDP payload length
 * @activated: gets whether the record made the key active
 *
 * Context: the device's NAPI, which serialises the window.
 * Return: what the record means for its peer.
 */
enum omerta_fresh omerta_key_commit(struct omerta_key *key, u64 counter,
				    u32 len, bool *activated)
{
	*activated = false;
	if (!omerta_key_opens(key))
		return OMERTA_FRESH_NOT;
	if (!omerta_replay_commit(&key->replay, counter)) {
		WRITE_ONCE(key->replays, key->replays + 1);
		return OMERTA_FRESH_NOT;
	}
	WRITE_ONCE(key->rx_records, key->rx_records + 1);
	WRITE_ONCE(key->rx_bytes, key->rx_bytes + len);
	if (unlikely(!key->confirmed))
		*activated = confirm(key);
	if (counter + 1 == key->replay.next &&
	    READ_ONCE(key->ring->latest) == key)
		return OMERTA_FRESH_NEWEST;
	return OMERTA_FRESH;
}
