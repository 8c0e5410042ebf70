// SPDX-License-Identifier: GPL-2.0
/*
 * A peer's keys: what user space and the passing of time do to them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "peer/keys.h"

#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat/compat.h"
#include "peer/event.h"
#include "peer/fingerprint.h"
#include "peer/key_state.h"

const struct rhashtable_params omerta_key_params = {
	.head_offset = offsetof(struct omerta_key, node),
	.key_offset = offsetof(struct omerta_key, local_id),
	.key_len = sizeof(u32),
	.automatic_shrinking = true,
};

unsigned long omerta_keys_frozen __read_mostly;

/* Keys of another neither seal nor open, before anybody gets round to killing them. */
atomic_t omerta_keys_epoch __read_mostly;

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

/* Take a key off the ring; its memory goes when the last burst is through. */
static void unlink_key(struct omerta_key *key)
{
	struct omerta_keyring *ring = key->ring;

	lockdep_assert_held(&ring->lock);

	omerta_key_die(key);
	list_del(&key->list);
	ring->n_keys--;
	omerta_key_free(key);
}

/* The key that makes room for another, if one has to. */
static int find_room(struct omerta_keyring *ring, struct omerta_key **old,
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

static struct omerta_key *new_key(struct omerta_keyring *ring,
				  const struct omerta_key_config *config,
				  struct omerta_fingerprint *used)
{
	struct omerta_key *key;

	key = kzalloc_obj(*key, GFP_KERNEL_ACCOUNT);
	if (!key)
		return NULL;
	memcpy(key->tx_secret, config->tx_secret, OMERTA_SECRET_LEN);
	memcpy(key->rx_secret, config->rx_secret, OMERTA_SECRET_LEN);
	key->local_id = config->local_id;
	key->remote_id = config->remote_id;
	key->ring = ring;
	key->used = used;
	key->handshake = config->handshake;
	refcount_set(&key->users, 1);
	refcount_set(&key->refs, 2);
	key->activation = config->activation;
	key->epoch = config->epoch;
	key->limit = -1;
	key->limits = config->limits;
	key->installed = ktime_get_boottime_ns();
	return key;
}

static int link_key(struct omerta_keyring *ring, struct omerta_key *key,
		    struct netlink_ext_ack *extack)
{
	struct omerta_key *old;
	int err;

	spin_lock_bh(&ring->lock);
	/* The caller's lock keeps others from installing meanwhile. */
	if (rhashtable_lookup_fast(ring->table, &key->local_id,
				   omerta_key_params)) {
		NL_SET_ERR_MSG(extack, "local-id is in use on this device; choose another");
		err = -EEXIST;
		goto out;
	}
	err = find_room(ring, &old, extack);
	if (err)
		goto out;
	err = rhashtable_insert_fast(ring->table, &key->node,
				     omerta_key_params);
	if (err)
		goto out;
	if (old)
		unlink_key(old);
	key->seq = ++ring->seq;
	list_add_tail(&key->list, &ring->keys);
	ring->n_keys++;
	pr_debug("key 0x%08x created\n", key->local_id);
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
 * @extack: says why it is refused
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
	/* Pairs with the end of suspend and hibernation. */
	if (smp_load_acquire(&omerta_keys_frozen)) {
		NL_SET_ERR_MSG(extack, "the machine is being suspended; install a key afterwards");
		return -EBUSY;
	}
	/* Should that happen now, it is born dead. */
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
		kfree_sensitive(key);
		omerta_fingerprint_release(used);
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
		omerta_key_retire(key);
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

static bool concerns(const struct omerta_key *key, enum omerta_keys_which which)
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
 * omerta_keyring_kill() - let keys of a peer die
 * @ring: the peer's ring
 * @limit: why
 * @which: which of them
 */
void omerta_keyring_kill(struct omerta_keyring *ring, enum omerta_key_limit limit,
			 enum omerta_keys_which which)
{
	struct omerta_key *key;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list)
		if (concerns(key, which))
			omerta_key_die_of(key, limit);
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
	u64 seal = omerta_key_deadline(key, key->limits.seal_time);
	u64 open = omerta_key_deadline(key, key->limits.open_time);
	u64 ask = omerta_key_deadline(key, key->limits.soft_time);
	u64 next = U64_MAX;

	if (now >= open)
		omerta_key_die_of(key, OMERTA_KEY_LIMIT_TIME);
	else if (now >= seal)
		omerta_key_seal_over(key, OMERTA_KEY_LIMIT_TIME);
	else if (now >= ask)
		omerta_key_soft(key, OMERTA_KEY_LIMIT_TIME);

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
 * omerta_keyring_has_sent() - whether a record was among the latest under its key
 * @ring: the peer's ring
 * @remote_id: key id of the record
 * @counter: counter of the record
 *
 * Context: any but hard interrupt.
 * Return: true if a key that is not dead has the id, and gave out the counter as one of
 * the last OMERTA_SENT_LATELY.
 */
bool omerta_keyring_has_sent(struct omerta_keyring *ring, u32 remote_id, u64 counter)
{
	struct omerta_key *key;
	bool sent = false;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list) {
		/* Records are staged meanwhile. */
		u64 next = READ_ONCE(key->tx_next);

		if (key->remote_id == remote_id &&
		    key->state != OMERTA_KEY_STATE_DEAD &&
		    counter < next && next - counter <= OMERTA_SENT_LATELY) {
			sent = true;
			break;
		}
	}
	spin_unlock_bh(&ring->lock);
	return sent;
}

/**
 * omerta_keyring_needed() - tell that traffic waits for an active key
 * @ring: the peer's ring
 */
void omerta_keyring_needed(struct omerta_keyring *ring)
{
	const struct omerta_key_event ev = {
		.cmd = OMERTA_CMD_KEY_NEEDED_NTF,
		.peer_id = ring->peer_id,
		.limit = -1,
	};

	omerta_event_key(ring->dev, &ev);
}
