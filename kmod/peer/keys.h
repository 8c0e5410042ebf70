/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_KEYS_H
#define _OMERTA_KEYS_H

#include <linux/cache.h>
#include <linux/list.h>
#include <linux/netlink.h>
#include <linux/percpu_counter.h>
#include <linux/percpu-refcount.h>
#include <linux/refcount.h>
#include <linux/rhashtable.h>
#include <linux/spinlock.h>

#include <uapi/linux/omerta.h>

#include "peer/replay.h"
#include "wire/wire.h"

/* Dead keys count as well, but give way to new ones. */
#define OMERTA_KEYS_PER_PEER		8

#define OMERTA_SOFT_RECORDS		BIT_ULL(48)
#define OMERTA_SOFT_AUTH_FAILURES	BIT_ULL(33)
#define OMERTA_HARD_AUTH_FAILURES	BIT_ULL(34)

/* ICMP errors are believed if they quote one of this many latest records. */
#define OMERTA_SENT_RECENTLY		BIT_ULL(16)

/**
 * struct omerta_key_limits - when a key expires
 * @seal_time: seconds from the install during which it may seal, 0 for no limit
 * @open_time: seconds from the install during which it may open, 0 for no limit
 * @soft_time: seconds from the install until a new key is asked for, 0 for never
 * @soft_records: records sealed until a new key is asked for
 * @soft_bytes: UDP payload bytes sealed until a new key is asked for
 * @hard_records: most records that it may seal
 * @hard_bytes: most UDP payload bytes that it may seal
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
 * @handshake: the secrets come from a handshake of this boot
 * @limits: when it expires
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
 * struct omerta_key - a pair of secrets, one for each direction
 * @tx_secret: send secret, zeroized after the last of @users
 * @rx_secret: receive secret, zeroized after the last of @users
 * @ring: keys of the same peer; constant
 * @users: one while the key is not dead, and one of each burst in flight. All of them together
 *	   have a reference to the peer. Each CPU counts its own until the key dies.
 * @local_id: key id of records received; constant
 * @remote_id: key id of records sent; constant
 * @epoch: omerta_keys_epoch before the secrets were made; constant
 * @handshake: the secrets come from a handshake of this boot; constant
 * @confirmed: an authentic record has arrived; lock: the ring's
 * @soft_told: listeners were told about a soft limit; lock: the ring's
 * @state: only ever moves forward; lock: the ring's
 * @activation: constant
 * @limit: enum omerta_key_limit that ended it, negative for none; lock: the ring's
 * @confirm_untold: listeners are to be told that it was confirmed; lock: the ring's
 * @installed: boot time in ns; constant
 * @ask_at: boot time in ns at which a new key is asked for, U64_MAX for never; constant
 * @seal_until: boot time in ns at which it stops to seal, U64_MAX for never; constant
 * @open_until: boot time in ns at which it stops to open, U64_MAX for never; constant
 * @seq: number of the key among all keys that its peer has had; constant
 * @limits: constant
 * @node: member of the device's table
 * @list: member of @ring; lock: the ring's
 * @used: remembers the secrets; put when they are zeroized
 * @rcu: for the deferred free
 * @refs: one of the ring, and one of all @users
 * @tx_bytes: UDP payload bytes sealed. Each CPU counts its own.
 *
 * @tx_next: counter of the next record; only omerta_key_seal() moves it, and only forward
 * @tx_limited: as @tx_bytes, with those of bursts that are about to be refused, if @limits limits
 *		bytes
 * @tx_over: hard limit that it has reached, negative for none; see omerta_keyring_expire()
 * @tx_soft: soft limit that it has reached, negative for none; as @tx_over
 * @tx_exhausted: no counter is left; as @tx_over
 * @confirm_left: number of empty records still to be sent for it while it is active; set
 *		  after @confirm_at, then changed by the peer's timer
 * @confirm_at: jiffies of the next such record; as @confirm_left
 *
 * @rx_lock: protects the members below, and orders the endpoints that records set; BH off.
 *	     They are also read without.
 * @rx_records: fresh authentic records
 * @rx_bytes: their UDP payload bytes
 * @auth_failures: records that failed authentication
 * @replays: authentic records that the window dropped
 * @replay: the replay window
 */
struct omerta_key {
	u8 tx_secret[OMERTA_SECRET_LEN];
	u8 rx_secret[OMERTA_SECRET_LEN];
	struct omerta_keyring *ring;
	struct percpu_ref users;
	u32 local_id;
	u32 remote_id;
	u32 epoch;
	bool handshake;
	bool confirmed;
	bool soft_told;
	bool confirm_untold;
	enum omerta_key_state state;
	enum omerta_activation activation;
	int limit;
	u64 installed;
	u64 ask_at;
	u64 seal_until;
	u64 open_until;
	u64 seq;
	struct omerta_key_limits limits;
	struct rhash_head node;
	struct list_head list;
	struct omerta_fingerprint *used;
	struct rcu_head rcu;
	refcount_t refs;
	struct percpu_counter tx_bytes;

	/* Transmit side: a burst writes this line, and no other that senders to the peer share. */
	atomic64_t tx_next ____cacheline_aligned_in_smp;
	atomic64_t tx_limited;
	int tx_over;
	int tx_soft;
	bool tx_exhausted;
	unsigned int confirm_left;
	unsigned long confirm_at;

	/* Receive side */
	spinlock_t rx_lock ____cacheline_aligned_in_smp; /* protects the members below */
	u64 rx_records;
	u64 rx_bytes;
	u64 auth_failures;
	u64 replays;
	struct omerta_replay replay;
};

/**
 * struct omerta_keyring_ops - what a peer does for its keys
 * @due: asks for omerta_keyring_expire(), from any context but hard interrupt
 * @get: takes a reference to the peer, which has one already
 * @put: puts it, from any context but hard interrupt
 */
struct omerta_keyring_ops {
	void (*due)(struct omerta_keyring *ring);
	void (*get)(struct omerta_keyring *ring);
	void (*put)(struct omerta_keyring *ring);
};

/**
 * struct omerta_keyring - the keys of a peer
 * @lock: serialises changes of state; taken with BH off
 * @n_keys: length of @keys; lock: @lock
 * @keys: in the order of their installation; lock: @lock
 * @active: the key that seals, NULL for none; lock: @lock
 * @latest: the key that was confirmed last, NULL if it is dead; lock: @lock
 * @seq: number of the youngest key; lock: @lock
 * @table: the device's table of keys by local id
 * @dev: the device, for events
 * @peer_id: the peer's id, for events
 * @channel: the peer's channel, for events
 * @needed: listeners are to be told that traffic waits for an active key
 * @ops: constant
 */
struct omerta_keyring {
	spinlock_t lock; /* protects the states of all keys */
	unsigned int n_keys;
	struct list_head keys;
	struct omerta_key __rcu *active;
	struct omerta_key *latest;
	u64 seq;
	struct rhashtable *table;
	struct net_device *dev;
	u32 peer_id;
	u32 channel;
	bool needed;
	const struct omerta_keyring_ops *ops;
};

/**
 * enum omerta_fresh - result of omerta_key_commit()
 * @OMERTA_FRESH_NOT: the record is a replay, or its key is dead
 * @OMERTA_FRESH: the record is accepted
 * @OMERTA_FRESH_NEWEST: the record is accepted, and may move the endpoint
 */
enum omerta_fresh {
	OMERTA_FRESH_NOT,
	OMERTA_FRESH,
	OMERTA_FRESH_NEWEST,
};

/**
 * enum omerta_keys_which - selection of a peer's keys
 * @OMERTA_KEYS_ALL: all keys
 * @OMERTA_KEYS_OUTLIVED: keys of an earlier epoch
 * @OMERTA_KEYS_AGREED: keys that come from a handshake
 */
enum omerta_keys_which {
	OMERTA_KEYS_ALL,
	OMERTA_KEYS_OUTLIVED,
	OMERTA_KEYS_AGREED,
};

extern const struct rhashtable_params omerta_key_params;

/**
 * enum omerta_freeze - why keys are refused; bits of omerta_keys_frozen
 * @OMERTA_FREEZE_SUSPEND: the machine is being suspended
 * @OMERTA_FREEZE_HIBERNATION: its memory is written to an image, or read from one
 */
enum omerta_freeze {
	OMERTA_FREEZE_SUSPEND,
	OMERTA_FREEZE_HIBERNATION,
};

extern unsigned long omerta_keys_frozen;
extern atomic_t omerta_keys_epoch;

void omerta_keyring_init(struct omerta_keyring *ring, struct rhashtable *table,
			 struct net_device *dev, u32 peer_id, u32 channel,
			 const struct omerta_keyring_ops *ops);
int omerta_keyring_install(struct omerta_keyring *ring,
			   const struct omerta_key_config *config,
			   struct netlink_ext_ack *extack);
int omerta_keyring_activate(struct omerta_keyring *ring, u32 local_id,
			    struct netlink_ext_ack *extack);
int omerta_keyring_retire(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack);
int omerta_keyring_delete(struct omerta_keyring *ring, u32 local_id,
			  struct netlink_ext_ack *extack);
bool omerta_keyring_has(struct omerta_keyring *ring, u32 local_id, bool dead);
bool omerta_keyring_follow(struct omerta_keyring *ring, u32 local_id);
void omerta_keyring_kill(struct omerta_keyring *ring, enum omerta_key_limit limit,
			 enum omerta_keys_which which);
void omerta_keyring_clear(struct omerta_keyring *ring);
u64 omerta_keyring_expire(struct omerta_keyring *ring);
bool omerta_keyring_has_sent(struct omerta_keyring *ring, u32 remote_id, u64 counter);

void omerta_key_needed(struct omerta_keyring *ring);
struct omerta_key *omerta_key_get(struct rhashtable *table, u32 local_id);
void omerta_key_put(struct omerta_key *key);
struct omerta_key *omerta_key_seal(struct omerta_keyring *ring, unsigned int n,
				   u32 len, u64 *counter);
bool omerta_key_can_open(const struct omerta_key *key);
void omerta_key_auth_failed(struct omerta_key *key);
enum omerta_fresh omerta_key_commit(struct omerta_key *key, u64 counter,
				    u32 len, bool *activated);

#endif /* _OMERTA_KEYS_H */
