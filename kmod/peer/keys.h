/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_KEYS_H
#define _OMERTA_KEYS_H

#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>

#include <uapi/linux/omerta.h>

#include "peer/replay.h"
#include "wire/wire.h"

/* Dead keys count too, but make room for new ones. */
#define OMERTA_KEYS_PER_PEER		8

#define OMERTA_SOFT_RECORDS		BIT_ULL(48)
#define OMERTA_SOFT_AUTH_FAILURES	BIT_ULL(33)
#define OMERTA_HARD_AUTH_FAILURES	BIT_ULL(34)

/* Records that may be sent until an ICMP error about one of them is too late. */
#define OMERTA_SENT_LATELY		BIT_ULL(16)

/**
 * struct omerta_key_limits - when a key ends
 * @seal_time: seconds from install during which it may seal, 0 for no limit
 * @open_time: the same for opening
 * @soft_time: seconds from install until a new key is asked for, 0 for never
 * @soft_records: records sealed until a new key is asked for
 * @soft_bytes: UDP payload bytes sealed until a new key is asked for
 * @hard_records: records it may seal
 * @hard_bytes: UDP payload bytes it may seal
 */
struct omerta_key_limits {
	u32 seal_time;
	u32 open_time;
	u32 soft_time;
	u64 soft_records;
	u64 soft_bytes;
	u64 hard_records;
	u64 hard_bytes;
};

/**
 * struct omerta_key_config - a key to install
 * @local_id: key id of records received
 * @remote_id: key id of records sent
 * @rx_secret: receive secret
 * @tx_secret: send secret
 * @epoch: omerta_keys_epoch before the secrets were made
 * @activation: when it becomes active
 * @handshake: its secrets come from a handshake of this boot
 * @limits: when it ends
 */
struct omerta_key_config {
	u32 local_id;
	u32 remote_id;
	const u8 *rx_secret;
	const u8 *tx_secret;
	u32 epoch;
	enum omerta_activation activation;
	bool handshake;
	struct omerta_key_limits limits;
};

struct omerta_fingerprint;
struct omerta_keyring;

/**
 * struct omerta_key - one direction pair of secrets
 * @tx_secret: send secret, wiped with the last of @users
 * @rx_secret: receive secret, wiped with the last of @users
 * @local_id: key id of records received; constant
 * @remote_id: key id of records sent; constant
 * @ring: keys of the same peer; constant
 * @used: remembers the secrets; given up when they are wiped
 * @handshake: they come from a handshake of this boot; constant
 * @users: one while the key is not dead, and one per burst in flight
 * @refs: one for the ring's list and one while there are @users
 * @state: changes forward only; lock: ring
 * @activation: constant
 * @epoch: omerta_keys_epoch before its secrets were made; constant
 * @confirmed: an authentic record has arrived; lock: ring
 * @confirm_left: how often an empty record is still sent for it while it is active; set
 *		  after @confirm_at, then the peer's timer's
 * @confirm_at: jiffies of the next such record; as @confirm_left
 * @soft_told: the soft limit was told of; lock: ring
 * @limit: what ended it, negative if nothing did; lock: ring
 * @limits: constant
 * @installed: boot time in ns; constant
 * @seq: number of the key among all that its peer had; constant
 * @tx_next: counter of the next record; lock: the peer's tx_lock
 * @tx_bytes: UDP payload bytes sealed; lock: the peer's tx_lock
 * @rx_records: fresh authentic records; changed by the device's NAPI only
 * @rx_bytes: their UDP payload bytes; as @rx_records
 * @auth_failures: records dropped by authentication; as @rx_records
 * @replays: authentic records dropped by the window; as @rx_records
 * @replay: as @rx_records
 * @node: member of the device's table
 * @list: member of @ring; lock: ring
 * @rcu: for the deferred free
 */
struct omerta_key {
	u8 tx_secret[OMERTA_SECRET_LEN];
	u8 rx_secret[OMERTA_SECRET_LEN];
	u32 local_id;
	u32 remote_id;
	struct omerta_keyring *ring;
	struct omerta_fingerprint *used;
	bool handshake;
	refcount_t users;
	refcount_t refs;
	enum omerta_key_state state;
	enum omerta_activation activation;
	u32 epoch;
	bool confirmed;
	unsigned int confirm_left;
	unsigned long confirm_at;
	bool soft_told;
	int limit;
	struct omerta_key_limits limits;
	u64 installed;
	u64 seq;
	u64 tx_next;
	u64 tx_bytes;
	u64 rx_records;
	u64 rx_bytes;
	u64 auth_failures;
	u64 replays;
	struct omerta_replay replay;
	struct rhash_head node;
	struct list_head list;
	struct rcu_head rcu;
};

/**
 * struct omerta_keyring - the keys of one peer
 * @lock: serialises changes of state; taken with BH off
 * @keys: in the order of their installation; lock: @lock
 * @active: the key that seals, NULL if there is none; lock: @lock
 * @latest: the key that was confirmed last, NULL if it is dead; lock: @lock
 * @n_keys: length of @keys; lock: @lock
 * @seq: number of the youngest key; lock: @lock
 * @table: the device's table of keys by local id
 * @dev: the device, for events
 * @peer_id: the peer, for events
 */
struct omerta_keyring {
	spinlock_t lock; /* of all states */
	struct list_head keys;
	struct omerta_key __rcu *active;
	struct omerta_key *latest;
	unsigned int n_keys;
	u64 seq;
	struct rhashtable *table;
	struct net_device *dev;
	u32 peer_id;
};

/**
 * enum omerta_fresh - what a fresh record means for its peer
 * @OMERTA_FRESH_NOT: nothing, it is a replay or its key is dead
 * @OMERTA_FRESH: it is accepted
 * @OMERTA_FRESH_NEWEST: and may move the endpoint
 */
enum omerta_fresh {
	OMERTA_FRESH_NOT,
	OMERTA_FRESH,
	OMERTA_FRESH_NEWEST,
};

/**
 * enum omerta_keys_which - some of a peer's keys
 * @OMERTA_KEYS_ALL: all of them
 * @OMERTA_KEYS_OUTLIVED: those of an earlier epoch
 * @OMERTA_KEYS_AGREED: those that come from a handshake
 */
enum omerta_keys_which {
	OMERTA_KEYS_ALL,
	OMERTA_KEYS_OUTLIVED,
	OMERTA_KEYS_AGREED,
};

extern const struct rhashtable_params omerta_key_params;

/**
 * enum omerta_freeze - why no key is installed; bits of omerta_keys_frozen
 * @OMERTA_FREEZE_SUSPEND: the machine goes to sleep
 * @OMERTA_FREEZE_HIBERNATION: its memory goes to disk, or comes from there
 */
enum omerta_freeze {
	OMERTA_FREEZE_SUSPEND,
	OMERTA_FREEZE_HIBERNATION,
};

extern unsigned long omerta_keys_frozen;
extern atomic_t omerta_keys_epoch;

void omerta_keyring_init(struct omerta_keyring *ring, struct rhashtable *table,
			 struct net_device *dev, u32 peer_id);
int omerta_keyring_install(struct omerta_keyring *ring,
			   const struct omerta_key_config *config,
			   struct netlink_ext_ack *extack);
int omerta_keyring_activate(struct omerta_keyring *ring, u32 local_id,
			    struct netlink_ext_ack *extack);
int omerta_keyring_retire(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack);
int omerta_keyring_delete(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack);
void omerta_keyring_kill(struct omerta_keyring *ring, enum omerta_key_limit limit,
			 enum omerta_keys_which which);
void omerta_keyring_clear(struct omerta_keyring *ring);
u64 omerta_keyring_expire(struct omerta_keyring *ring);
bool omerta_keyring_has_sent(struct omerta_keyring *ring, u32 remote_id, u64 counter);
void omerta_keyring_needed(struct omerta_keyring *ring);

struct omerta_key *omerta_key_get(struct rhashtable *table, u32 local_id);
void omerta_key_put(struct omerta_key *key);
struct omerta_key *omerta_key_seal(struct omerta_keyring *ring, unsigned int n,
				   u32 len, u64 *counter);
bool omerta_key_opens(const struct omerta_key *key);
void omerta_key_auth_failed(struct omerta_key *key);
enum omerta_fresh omerta_key_commit(struct omerta_key *key, u64 counter,
				    u32 len, bool *activated);

#endif /* _OMERTA_KEYS_H */
