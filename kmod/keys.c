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
#include "keys.h"

#include <crypto/utils.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "event.h"
#include "fingerprint.h"

const struct rhashtable_params omerta_key_params = {
	.head_offset = offsetof(struct omerta_key, node),
	.key_offset = offsetof(struct omerta_key, local_id),
	.key_len = sizeof(u32),
	.automatic_shrinking = true,
};

bool omerta_keys_frozen;

static void tell(const struct omerta_key *key, u8 cmd, int limit)
{
	const struct omerta_event ev = {
		.cmd = cmd,
		.peer_id = key->ring->peer_id,
		.local_id = key->local_id,
		.remote_id = key->remote_id,
		.limit = limit,
	};

	omerta_event_send(key->ring->dev, &ev);
}

/* Boot time, ns, at which a limit of @seconds from the install is reached. */
static u64 deadline(const struct omerta_key *key, u32 seconds)
{
	return seconds ? key->installed + seconds * NSEC_PER_SEC : U64_MAX;
}

/**
 * omerta_keyring_init() - make an empty ring
 * @ring: the ring
 * @table: the device's table of keys
 * @dev: the device
 * @peer_id: the peer's id
 */
void omerta_keyring_init(struct omerta_keyring *ring, struct rhashtable *table,
			 struct net_device *dev, u32 peer_id)
{
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->keys);
	RCU_INIT_POINTER(ring->active, NULL);
	ring->table = table;
	ring->dev = dev;
	ring->peer_id = peer_id;
}

static void key_free(struct omerta_key *key)
{
	if (refcount_dec_and_test(&key->refs))
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
	key_free(key);
}

static void leave_active(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	if (rcu_access_pointer(ring->active) == key)
		RCU_INIT_POINTER(ring->active, NULL);
}

static void retire(struct omerta_key *key)
{
	leave_active(key);
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_RETIRED);
}

static void die(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	if (key->state == OMERTA_KEY_STATE_DEAD)
		return;
	leave_active(key);
	if (ring->latest == key)
		ring->latest = NULL;
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_DEAD);
	rhashtable_remove_fast(ring->table, &key->node, omerta_key_params);
	omerta_key_put(key);
}

static void die_of(struct omerta_key *key, enum omerta_key_limit limit)
{
	if (key->state == OMERTA_KEY_STATE_DEAD)
		return;
	key->limit = limit;
	die(key);
	tell(key, OMERTA_CMD_KEY_DEAD_NTF, limit);
}

/* The key may not seal any more. */
static void seal_over(struct omerta_key *key, enum omerta_key_limit limit)
{
	if (key->state >= OMERTA_KEY_STATE_RETIRED)
		return;
	key->limit = limit;
	retire(key);
	tell(key, OMERTA_CMD_KEY_HARD_NTF, limit);
}

static void soft(struct omerta_key *key, enum omerta_key_limit limit)
{
	if (key->soft_told || key->state >= OMERTA_KEY_STATE_RETIRED)
		return;
	key->soft_told = true;
	tell(key, OMERTA_CMD_KEY_SOFT_NTF, limit);
}

static void activate(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;
	struct omerta_key *old;

	old = rcu_dereference_protected(ring->active,
					lockdep_is_held(&ring->lock));
	WRITE_ONCE(key->state, OMERTA_KEY_STATE_ACTIVE);
	rcu_assign_pointer(ring->active, key);
	if (old)
		WRITE_ONCE(old->state, OMERTA_KEY_STATE_RETIRED);
}

/* Take a key off the ring; its memory goes when the last burst is through. */
static void unlink_key(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	die(key);
	list_del(&key->list);
	ring->n_keys--;
	key_free(key);
}

static int make_room(struct omerta_keyring *ring,
		     struct netlink_ext_ack *extack)
{
	struct omerta_key *key;

	lockdep_assert_held(&ring->lock);

	if (ring->n_keys < OMERTA_KEYS_PER_PEER)
		return 0;
	list_for_each_entry(key, &ring->keys, list) {
		if (key->state == OMERTA_KEY_STATE_DEAD) {
			unlink_key(key);
			return 0;
		}
	}
	NL_SET_ERR_MSG(extack, "the peer has 8 keys; delete one first");
	return -ENOSPC;
}

static int check_config(const struct omerta_key_config *config,
			struct netlink_ext_ack *extack)
{
	const struct omerta_key_limits *l = &config->limits;

	if (!memchr_inv(config->rx_secret, 0, OMERTA_SECRET_LEN)) {
		NL_SET_ERR_MSG(extack, "rx-secret is all zeros; make a random one");
		return -EINVAL;
	}
	if (!memchr_inv(config->tx_secret, 0, OMERTA_SECRET_LEN)) {
		NL_SET_ERR_MSG(extack, "tx-secret is all zeros; make a random one");
		return -EINVAL;
	}
	if (!crypto_memneq(config->rx_secret, config->tx_secret,
			   OMERTA_SECRET_LEN)) {
		NL_SET_ERR_MSG(extack,
			       "rx-secret and tx-secret are the same; each direction needs its own");
		return -EINVAL;
	}
	if (l->hard_records > OMERTA_COUNTER_LIMIT) {
		NL_SET_ERR_MSG(extack, "hard-records must be at most 2^56 - 2^16");
		return -ERANGE;
	}
	if (l->open_time && (!l->seal_time || l->seal_time > l->open_time)) {
		NL_SET_ERR_MSG(extack, "seal-time must be set and not exceed open-time");
		return -EINVAL;
	}
	return 0;
}

static struct omerta_key *new_key(struct omerta_keyring *ring,
				  const struct omerta_key_config *config)
{
	struct omerta_key *key;

	key = kzalloc(sizeof(*key), GFP_KERNEL);
	if (!key)
		return NULL;
	memcpy(key->tx_secret, config->tx_secret, OMERTA_SECRET_LEN);
	memcpy(key->rx_secret, config->rx_secret, OMERTA_SECRET_LEN);
	key->local_id = config->local_id;
	key->remote_id = config->remote_id;
	key->ring = ring;
	refcount_set(&key->users, 1);
	refcount_set(&key->refs, 2);
	key->activation = config->activation;
	key->limit = -1;
	key->limits = config->limits;
	key->installed = ktime_get_boottime_ns();
	return key;
}

static int link_key(struct omerta_keyring *ring, struct omerta_key *key,
		    struct netlink_ext_ack *extack)
{
	int err;

	spin_lock_bh(&ring->lock);
	/* The caller's lock keeps others from installing meanwhile. */
	if (rhashtable_lookup_fast(ring->table, &key->local_id,
				   omerta_key_params)) {
		NL_SET_ERR_MSG(extack, "local-id is in use on this device; choose another");
		err = -EEXIST;
		goto out;
	}
	err = make_room(ring, extack);
	if (err)
		goto out;
	err = rhashtable_insert_fast(ring->table, &key->node,
				     omerta_key_params);
	if (err)
		goto out;
	key->seq = ++ring->seq;
	list_add_tail(&key->list, &ring->keys);
	ring->n_keys++;
	if (key->activation == OMERTA_ACTIVATION_NOW)
		activate(key);
out:
	spin_unlock_bh(&ring->lock);
	return err;
}

/**
 * omerta_keyring_install() - install a key
 * @ring: the peer's ring
 * @config: the key; its secrets are copied
 * @extack: says why it is refused
 *
 * Context: process context, the device's lock held.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int omerta_keyring_install(struct omerta_keyring *ring,
			   const struct omerta_key_config *config,
			   struct netlink_ext_ack *extack)
{
	struct omerta_key *key;
	int err;

	err = check_config(config, extack);
	if (err)
		return err;
	if (READ_ONCE(omerta_keys_frozen)) {
		NL_SET_ERR_MSG(extack, "the machine is being hibernated; install a key when it is back");
		return -EBUSY;
	}
	err = omerta_fingerprint_claim(config->tx_secret, config->rx_secret,
				       extack);
	if (err)
		return err;
	key = new_key(ring, config);
	err = key ? link_key(ring, key, extack) : -ENOMEM;
	if (err) {
		kfree_sensitive(key);
		omerta_fingerprint_release(config->tx_secret,
					   config->rx_secret);
	}
	return err;
}

/* The peer's key of this id; the youngest, if dead ones had the id before. */
static struct omerta_key *find(struct omerta_keyring *ring, u32 local_id,
			       struct netlink_ext_ack *extack)
{
	struct omerta_key *key;

	lockdep_assert_held(&ring->lock);

	list_for_each_entry_reverse(key, &ring->keys, list)
		if (key->local_id == local_id)
			return key;
	NL_SET_ERR_MSG(extack, "the peer has no key with this local-id");
	return NULL;
}

/**
 * omerta_keyring_activate() - make an installed key the one that seals
 * @ring: the peer's ring
 * @local_id: the key
 * @extack: says why it is refused
 *
 * Return: 0 or a negative errno.
 */
int omerta_keyring_activate(struct omerta_keyring *ring, u32 local_id,
			    struct netlink_ext_ack *extack)
{
	struct omerta_key *key;
	int err = 0;

	spin_lock_bh(&ring->lock);
	key = find(ring, local_id, extack);
	if (!key) {
		err = -ENOENT;
	} else if (key->state == OMERTA_KEY_STATE_ACTIVE) {
		NL_SET_ERR_MSG(extack, "the key is active already");
		err = -EALREADY;
	} else if (key->state != OMERTA_KEY_STATE_INSTALLED) {
		NL_SET_ERR_MSG(extack,
			       "the key is retired or dead; a key is activated once, install a fresh one");
		err = -EINVAL;
	} else {
		activate(key);
	}
	spin_unlock_bh(&ring->lock);
	return err;
}

/**
 * omerta_keyring_retire() - let a key open only
 * @ring: the peer's ring
 * @local_id: the key
 * @extack: says why it is refused
 *
 * Return: 0 or a negative errno.
 */
int omerta_keyring_retire(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack)
{
	struct omerta_key *key;
	int err = 0;

	spin_lock_bh(&ring->lock);
	key = find(ring, local_id, extack);
	if (!key) {
		err = -ENOENT;
	} else if (key->state >= OMERTA_KEY_STATE_RETIRED) {
		NL_SET_ERR_MSG(extack, "the key is retired or dead already");
		err = -EALREADY;
	} else {
		retire(key);
	}
	spin_unlock_bh(&ring->lock);
	return err;
}

/**
 * omerta_keyring_delete() - wipe a key and forget it
 * @ring: the peer's ring
 * @local_id: the key
 * @extack: says why it is refused
 *
 * Return: 0 or a negative errno.
 */
int omerta_keyring_delete(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack)
{
	struct omerta_key *key;

	spin_lock_bh(&ring->lock);
	key = find(ring, local_id, extack);
	if (key)
		unlink_key(key);
	spin_unlock_bh(&ring->lock);
	return key ? 0 : -ENOENT;
}

/**
 * omerta_keyring_kill() - let all keys of a peer die
 * @ring: the peer's ring
 * @limit: why
 */
void omerta_keyring_kill(struct omerta_keyring *ring,
			 enum omerta_key_limit limit)
{
	struct omerta_key *key;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list)
		die_of(key, limit);
	spin_unlock_bh(&ring->lock);
}

/**
 * omerta_keyring_clear() - delete all keys of a peer that goes away
 * @ring: the peer's ring
 */
void omerta_keyring_clear(struct omerta_keyring *ring)
{
	struct omerta_key *key, *tmp;

	spin_lock_bh(&ring->lock);
	list_for_each_entry_safe(key, tmp, &ring->keys, list)
		unlink_key(key);
	spin_unlock_bh(&ring->lock);
}

/* Apply the limits in time to one key; returns its next deadline. */
static u64 expire_key(struct omerta_key *key, u64 now)
{
	u64 seal = deadline(key, key->limits.seal_time);
	u64 open = deadline(key, key->limits.open_time);
	u64 ask = deadline(key, key->limits.soft_time);
	u64 next = U64_MAX;

	if (now >= open)
		die_of(key, OMERTA_KEY_LIMIT_TIME);
	else if (now >= seal)
		seal_over(key, OMERTA_KEY_LIMIT_TIME);
	else if (now >= ask)
		soft(key, OMERTA_KEY_LIMIT_TIME);

	if (key->state == OMERTA_KEY_STATE_DEAD)
		return U64_MAX;
	next = open;
	if (key->state < OMERTA_KEY_STATE_RETIRED)
		next = min(next, key->soft_told ? seal : min(seal, ask));
	return next;
}

/**
 * omerta_keyring_expire() - apply the limits in time
 * @ring: the peer's ring
 *
 * Context: any but hard interrupt.
 * Return: boot time in ns of the next deadline, U64_MAX if there is none.
 */
u64 omerta_keyring_expire(struct omerta_keyring *ring)
{
	u64 now = ktime_get_boottime_ns(), next = U64_MAX;
	struct omerta_key *key;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list)
		next = min(next, expire_key(key, now));
	spin_unlock_bh(&ring->lock);
	return next;
}

/**
 * omerta_keyring_needed() - tell that traffic waits for an active key
 * @ring: the peer's ring
 */
void omerta_keyring_needed(struct omerta_keyring *ring)
{
	const struct omerta_event ev = {
		.cmd = OMERTA_CMD_KEY_NEEDED_NTF,
		.peer_id = ring->peer_id,
		.limit = -1,
	};

	omerta_event_send(ring->dev, &ev);
}

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

static bool soft_reached(const struct omerta_key *key, u32 len)
{
	return !key->soft_told &&
	       (key->tx_next >= key->limits.soft_records ||
		key->tx_bytes + len > key->limits.soft_bytes);
}

static bool hard_reached(const struct omerta_key *key, u32 len)
{
	return key->tx_next >= key->limits.hard_records ||
	       key->tx_bytes + len > key->limits.hard_bytes;
}

/* Act on a limit of the active key that the next record would meet. */
static void seal_limits(struct omerta_key *key, u32 len, u64 now)
{
	const struct omerta_key_limits *l = &key->limits;

	spin_lock_bh(&key->ring->lock);
	if (key->tx_next >= OMERTA_COUNTER_LIMIT)
		die_of(key, OMERTA_KEY_LIMIT_RECORDS);
	else if (key->tx_next >= l->hard_records)
		seal_over(key, OMERTA_KEY_LIMIT_RECORDS);
	else if (key->tx_bytes + len > l->hard_bytes)
		seal_over(key, OMERTA_KEY_LIMIT_BYTES);
	else if (now >= deadline(key, l->seal_time))
		seal_over(key, OMERTA_KEY_LIMIT_TIME);
	else if (key->tx_next >= l->soft_records)
		soft(key, OMERTA_KEY_LIMIT_RECORDS);
	else
		soft(key, OMERTA_KEY_LIMIT_BYTES);
	spin_unlock_bh(&key->ring->lock);
}

/**
 * omerta_key_seal() - take the active key and a counter for one record
 * @ring: the peer's ring
 * @len: the record's UDP payload length
 * @counter: gets the record's counter
 *
 * Context: BH off, the peer's tx_lock held, which makes counters unique.
 * Return: the key, to be given back with omerta_key_put(), or NULL if there
 * is none that may seal.
 */
struct omerta_key *omerta_key_seal(struct omerta_keyring *ring, u32 len,
				   u64 *counter)
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

	over = hard_reached(key, len) ||
	       now >= deadline(key, key->limits.seal_time);
	if (unlikely(over || soft_reached(key, len)))
		seal_limits(key, len, now);
	if (unlikely(over)) {
		omerta_key_put(key);
		return NULL;
	}
	*counter = key->tx_next;
	WRITE_ONCE(key->tx_next, key->tx_next + 1);
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
	return READ_ONCE(key->state) != OMERTA_KEY_STATE_DEAD &&
	       ktime_get_coarse_boottime_ns() <
	       deadline(key, key->limits.open_time);
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
		die_of(key, OMERTA_KEY_LIMIT_AUTH_FAILURES);
	else
		soft(key, OMERTA_KEY_LIMIT_AUTH_FAILURES);
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
		activate(key);
		activated = true;
	}
	tell(key, OMERTA_CMD_KEY_CONFIRMED_NTF, -1);
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
