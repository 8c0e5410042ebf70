// SPDX-License-Identifier: GPL-2.0
/*
 * Keyrings: the keys of a peer, as user space and time change them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "peer/keys.h"

#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "compat/compat.h"
#include "peer/event.h"
#include "peer/fingerprint.h"
#include "peer/key_state.h"
#include "peer/trace.h"

const struct rhashtable_params omerta_key_params = {
	.head_offset = offsetof(struct omerta_key, node),
	.key_offset = offsetof(struct omerta_key, local_id),
	.key_len = sizeof(u32),
	.automatic_shrinking = true,
};

unsigned long omerta_keys_frozen __read_mostly;

/*
 * Incremented when the machine is cloned or resumed: keys of an older epoch stop working at
 * once, before they are killed one by one.
 */
atomic_t omerta_keys_epoch __read_mostly;

/**
 * omerta_keyring_init() - initialise an empty ring
 * @ring: the ring
 * @table: the device's table of keys
 * @dev: the device
 * @peer_id: the peer's id
 * @channel: the peer's channel
 * @ops: what the peer does; called without locks of the ring, but for @get
 */
void omerta_keyring_init(struct omerta_keyring *ring, struct rhashtable *table,
			 struct net_device *dev, u32 peer_id, u32 channel,
			 const struct omerta_keyring_ops *ops)
{
	spin_lock_init(&ring->lock);
	INIT_LIST_HEAD(&ring->keys);
	RCU_INIT_POINTER(ring->active, NULL);
	ring->table = table;
	ring->dev = dev;
	ring->peer_id = peer_id;
	ring->channel = channel;
	ring->ops = ops;
}

/* Remove a key from the ring. Its memory is freed after its last user. */
static void unlink_key(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	omerta_key_die(key);
	list_del(&key->list);
	ring->n_keys--;
	pr_debug("key 0x%08x destroyed\n", key->local_id);
	omerta_key_release(key);
}

/* Find the key that gives way to a new one, if one has to. */
static int find_victim(struct omerta_keyring *ring, struct omerta_key **old,
		       struct netlink_ext_ack *extack)
{
	struct omerta_key *key;

	lockdep_assert_held(&ring->lock);

	*old = NULL;
	if (ring->n_keys < OMERTA_KEYS_PER_PEER)
		return 0;
	list_for_each_entry(key, &ring->keys, list) {
		if (key->state == OMERTA_KEY_STATE_DEAD) {
			*old = key;
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

/* Boot time in ns at which a limit of some seconds is reached, 0 for none. */
static u64 deadline(u64 now, u32 seconds)
{
	return seconds ? now + (u64)seconds * NSEC_PER_SEC : U64_MAX;
}

static struct omerta_key *new_key(struct omerta_keyring *ring,
				  const struct omerta_key_config *config,
				  struct omerta_fingerprint *used)
{
	struct omerta_key *key;

	key = kzalloc_obj(*key, GFP_KERNEL_ACCOUNT);
	if (!key)
		return NULL;
	if (percpu_ref_init(&key->users, omerta_key_unused, 0, GFP_KERNEL_ACCOUNT))
		goto err_key;
	if (percpu_counter_init(&key->tx_bytes, 0, GFP_KERNEL_ACCOUNT))
		goto err_users;
	memcpy(key->tx_secret, config->tx_secret, OMERTA_SECRET_LEN);
	memcpy(key->rx_secret, config->rx_secret, OMERTA_SECRET_LEN);
	key->local_id = config->local_id;
	key->remote_id = config->remote_id;
	key->ring = ring;
	key->used = used;
	spin_lock_init(&key->rx_lock);
	key->handshake = config->handshake;
	refcount_set(&key->refs, 2);
	key->activation = config->activation;
	key->epoch = config->epoch;
	key->limit = -1;
	key->tx_over = -1;
	key->tx_soft = -1;
	key->limits = config->limits;
	key->installed = ktime_get_boottime_ns();
	key->ask_at = deadline(key->installed, config->limits.soft_time);
	key->seal_until = deadline(key->installed, config->limits.seal_time);
	key->open_until = deadline(key->installed, config->limits.open_time);
	return key;

err_users:
	percpu_ref_exit(&key->users);
err_key:
	kfree(key);
	return NULL;
}

static int link_key(struct omerta_keyring *ring, struct omerta_key *key,
		    struct netlink_ext_ack *extack)
{
	struct omerta_key *old;
	int err;

	spin_lock_bh(&ring->lock);
	/* The caller's lock keeps others from installing the id meanwhile. */
	if (rhashtable_lookup_fast(ring->table, &key->local_id,
				   omerta_key_params)) {
		NL_SET_ERR_MSG(extack, "local-id is in use on this device; choose another");
		err = -EEXIST;
		goto out;
	}
	err = find_victim(ring, &old, extack);
	if (err)
		goto out;
	err = rhashtable_insert_fast(ring->table, &key->node,
				     omerta_key_params);
	if (err)
		goto out;
	if (old)
		unlink_key(old);
	/* For all users of the key */
	ring->ops->get(ring);
	key->seq = ++ring->seq;
	list_add_tail(&key->list, &ring->keys);
	ring->n_keys++;
	pr_debug("key 0x%08x created\n", key->local_id);
	trace_omerta_key_state(key);
	if (key->activation == OMERTA_ACTIVATION_NOW)
		omerta_key_activate(key);
out:
	spin_unlock_bh(&ring->lock);
	return err;
}

/**
 * omerta_keyring_install() - install a key
 * @ring: the peer's ring
 * @config: the key; its secrets are copied
 * @extack: gets the reason of a refusal
 *
 * Context: process context, the device's lock held.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int omerta_keyring_install(struct omerta_keyring *ring,
			   const struct omerta_key_config *config,
			   struct netlink_ext_ack *extack)
{
	struct omerta_fingerprint *used;
	struct omerta_key *key;
	int err;

	err = check_config(config, extack);
	if (err)
		return err;
	/* Pairs with clear_bit_unlock() at the end of suspend and hibernation. */
	if (smp_load_acquire(&omerta_keys_frozen)) {
		NL_SET_ERR_MSG(extack, "the machine is being suspended; install a key afterwards");
		return -EBUSY;
	}
	/* If the machine is cloned after this check, the key is dead on arrival. */
	if (config->epoch != atomic_read(&omerta_keys_epoch)) {
		NL_SET_ERR_MSG(extack,
			       "the machine was cloned or suspended since the key was made; agree on another");
		return -ESTALE;
	}
	used = omerta_fingerprint_claim(config->tx_secret, config->rx_secret,
					ring->dev, config->handshake, extack);
	if (IS_ERR(used))
		return PTR_ERR(used);
	key = new_key(ring, config, used);
	err = key ? link_key(ring, key, extack) : -ENOMEM;
	if (err) {
		if (key) {
			percpu_counter_destroy(&key->tx_bytes);
			percpu_ref_exit(&key->users);
		}
		kfree_sensitive(key);
		omerta_fingerprint_release(used);
	}
	return err;
}

/* Find the peer's key of an id: the youngest one, if dead keys had the id before. */
static struct omerta_key *find_key(struct omerta_keyring *ring, u32 local_id,
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
 * @extack: gets the reason of a refusal
 *
 * Return: 0 or a negative errno.
 */
int omerta_keyring_activate(struct omerta_keyring *ring, u32 local_id,
			    struct netlink_ext_ack *extack)
{
	struct omerta_key *key;
	int err = 0;

	spin_lock_bh(&ring->lock);
	key = find_key(ring, local_id, extack);
	if (!key) {
		err = -ENOENT;
	} else if (key->state == OMERTA_KEY_STATE_ACTIVE) {
		NL_SET_ERR_MSG(extack, "the key is active already");
		err = -EALREADY;
	} else if (key->state != OMERTA_KEY_STATE_INSTALLED) {
		NL_SET_ERR_MSG(extack,
			       "the key is retired or dead; install a fresh one");
		err = -EINVAL;
	} else {
		omerta_key_activate(key);
	}
	spin_unlock_bh(&ring->lock);
	return err;
}

/**
 * omerta_keyring_retire() - let a key open only
 * @ring: the peer's ring
 * @local_id: the key
 * @extack: gets the reason of a refusal
 *
 * Return: 0 or a negative errno.
 */
int omerta_keyring_retire(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack)
{
	struct omerta_key *key;
	int err = 0;

	spin_lock_bh(&ring->lock);
	key = find_key(ring, local_id, extack);
	if (!key) {
		err = -ENOENT;
	} else if (key->state >= OMERTA_KEY_STATE_RETIRED) {
		NL_SET_ERR_MSG(extack, "the key is retired or dead already");
		err = -EALREADY;
	} else {
		omerta_key_retire(key);
	}
	spin_unlock_bh(&ring->lock);
	return err;
}

/**
 * omerta_keyring_delete() - kill a key and remove it
 * @ring: the peer's ring
 * @local_id: the key
 * @extack: gets the reason of a refusal
 *
 * Return: 0 or a negative errno.
 */
int omerta_keyring_delete(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack)
{
	struct omerta_key *key;

	spin_lock_bh(&ring->lock);
	key = find_key(ring, local_id, extack);
	if (key)
		unlink_key(key);
	spin_unlock_bh(&ring->lock);
	return key ? 0 : -ENOENT;
}

/**
 * omerta_keyring_has() - check whether a key is on a ring
 * @ring: the peer's ring
 * @local_id: the key
 * @dead: it may be dead
 *
 * Context: any but hard interrupt.
 * Return: true if it is.
 */
bool omerta_keyring_has(struct omerta_keyring *ring, u32 local_id, bool dead)
{
	const struct omerta_key *key;
	bool has;

	spin_lock_bh(&ring->lock);
	key = find_key(ring, local_id, NULL);
	has = key && (dead || key->state != OMERTA_KEY_STATE_DEAD);
	spin_unlock_bh(&ring->lock);
	return has;
}

/**
 * omerta_keyring_follow() - make a key active because one of the same handshake is confirmed
 * @ring: the ring of a further channel
 * @local_id: the key that the handshake made for this channel, if it did
 *
 * Context: any but hard interrupt.
 * Return: true if the key became active.
 */
bool omerta_keyring_follow(struct omerta_keyring *ring, u32 local_id)
{
	struct omerta_key *key, *active;
	bool follows;

	spin_lock_bh(&ring->lock);
	active = rcu_dereference_protected(ring->active, lockdep_is_held(&ring->lock));
	key = find_key(ring, local_id, NULL);
	follows = key && key->handshake && key->state == OMERTA_KEY_STATE_INSTALLED &&
		  key->activation == OMERTA_ACTIVATION_ON_FIRST_RECORD &&
		  (!active || active->seq < key->seq);
	if (follows)
		omerta_key_activate(key);
	spin_unlock_bh(&ring->lock);
	return follows;
}

static bool is_selected(const struct omerta_key *key, enum omerta_keys_which which)
{
	switch (which) {
	case OMERTA_KEYS_OUTLIVED:
		return key->epoch != atomic_read(&omerta_keys_epoch);
	case OMERTA_KEYS_AGREED:
		return key->handshake;
	default:
		return true;
	}
}

/**
 * omerta_keyring_kill() - kill keys of a peer
 * @ring: the peer's ring
 * @limit: why
 * @which: the keys
 */
void omerta_keyring_kill(struct omerta_keyring *ring, enum omerta_key_limit limit,
			 enum omerta_keys_which which)
{
	struct omerta_key *key;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list)
		if (is_selected(key, which))
			omerta_key_die_of(key, limit);
	spin_unlock_bh(&ring->lock);
}

/**
 * omerta_keyring_clear() - delete all keys of a peer that is being removed
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

/* Apply the limits of a key. Returns its next deadline in boot time. */
static u64 expire_key(struct omerta_key *key, u64 now)
{
	u64 failures = READ_ONCE(key->auth_failures);
	int over = READ_ONCE(key->tx_over);
	int soft = READ_ONCE(key->tx_soft);

	omerta_key_tell_confirmed(key);
	if (over == OMERTA_KEY_LIMIT_VM_FORK)
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_VM_FORK);
	else if (READ_ONCE(key->tx_exhausted))
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_RECORDS);
	else if (failures >= OMERTA_HARD_AUTH_FAILURES)
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_AUTH_FAILURES);
	else if (now >= key->open_until)
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_TIME);
	if (key->state == OMERTA_KEY_STATE_DEAD)
		return U64_MAX;

	if (key->state != OMERTA_KEY_STATE_RETIRED) {
		if (over < 0 && now >= key->seal_until)
			over = OMERTA_KEY_LIMIT_TIME;
		if (over < 0 && soft < 0 && failures >= OMERTA_SOFT_AUTH_FAILURES)
			soft = OMERTA_KEY_LIMIT_AUTH_FAILURES;
		else if (over < 0 && soft < 0 && now >= key->ask_at)
			soft = OMERTA_KEY_LIMIT_TIME;
	}
	/* A successor may have retired it already. Listeners are told all the same. */
	if (soft >= 0 && !key->soft_told) {
		key->soft_told = true;
		omerta_key_tell(key, OMERTA_CMD_KEY_SOFT_NTF, soft);
	}
	if (over >= 0 && key->limit < 0) {
		key->limit = over;
		if (key->state != OMERTA_KEY_STATE_RETIRED)
			omerta_key_retire(key);
		omerta_key_tell(key, OMERTA_CMD_KEY_HARD_NTF, over);
		omerta_key_tell_needed(key->ring);
	}
	if (key->state == OMERTA_KEY_STATE_RETIRED)
		return key->open_until;
	return min3(key->open_until, key->seal_until,
		    key->soft_told ? U64_MAX : key->ask_at);
}

/**
 * omerta_keyring_expire() - apply the limits of all keys
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
	omerta_key_tell_needed(ring);
	spin_unlock_bh(&ring->lock);
	return next;
}

/**
 * omerta_keyring_has_sent() - check whether a record was sent recently
 * @ring: the peer's ring
 * @remote_id: key id of the record
 * @counter: counter of the record
 *
 * Context: any but hard interrupt.
 * Return: true if a key that is not dead has the id, and the counter is one of its latest
 * OMERTA_SENT_RECENTLY.
 */
bool omerta_keyring_has_sent(struct omerta_keyring *ring, u32 remote_id, u64 counter)
{
	struct omerta_key *key;
	bool sent = false;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list) {
		/* Counters are assigned concurrently. */
		u64 next = atomic64_read(&key->tx_next);

		if (key->remote_id == remote_id &&
		    key->state != OMERTA_KEY_STATE_DEAD &&
		    counter < next && next - counter <= OMERTA_SENT_RECENTLY) {
			sent = true;
			break;
		}
	}
	spin_unlock_bh(&ring->lock);
	return sent;
}
