// SPDX-License-Identifier: GPL-2.0
/*
 * The states of keys, by induction: any ring of up to two keys that is consistent is so after any step, and
 * no step moves a key's state back. A key seals only while it is the active one and within its limits, and
 * no counter twice, also if another CPU takes some at the same moment. Dead keys without users have no
 * secrets. Keys are freed once, outside of the ring. Each that has a user has a reference to the peer.
 *
 * Secrets have 2 bytes, a peer 2 keys. Entries of lists and owners of users are found in a way that is
 * easier to prove.
 *
 * sed: peer/keys.h s/KEYS_PER_PEER		8/KEYS_PER_PEER 2/
 * sed: crypto/chunk.h s/OMERTA_SECRET_LEN		32/OMERTA_SECRET_LEN 2/
 * sed: peer/replay.h s/WORDS	256/WORDS	1/
 * break: peer/keys.c s/unlikely(next > l->hard_records)/unlikely(next > l->hard_records + 1)/
 * break: peer/keys.c s/, &first, next)/, \&first, next - 1)/
 * break: peer/keys.c s/WRITE_ONCE(old->state, OMERTA_KEY_STATE_RETIRED)/old->state = old->state/
 * break: peer/keys.c s/active->seq < key->seq/active->seq > key->seq/
 * break: peer/keys.c /memzero_explicit(key->rx_secret/d
 * break: peer/keys.c s/if (ring->latest == key)/if (0)/
 * break: peer/keys.c s/ring->ops->put(ring)/(void)ring/
 * break: peer/keys.c s/percpu_ref_exit(users)/(void)users/
 * break: peer/keys.c /percpu_ref_kill(/d
 * break: peer/keys.c /percpu_counter_destroy(/d
 * break: peer/keys.c s/limits_bytes = .*;/limits_bytes = false;/
 * break: peer/keyring.c s/percpu_ref_exit(&key->users)/key->limit = 0/
 * break: peer/keyring.c s/percpu_counter_destroy(&key->tx_bytes)/key->limit = 0/
 * break: peer/keyring.c s/key->state != OMERTA_KEY_STATE_INSTALLED/key->state == OMERTA_KEY_STATE_DEAD/
 * break: peer/keyring.c s/(!active || active->seq < key->seq)/true/
 * break: peer/keyring.c s/now >= key->open_until/now > key->open_until + 1/
 */
#include "stand_ins.h"

#include "peer/keys.h"

#define N	OMERTA_KEYS_PER_PEER

/* The last one is for a key that is installed. */
static struct omerta_key key0, key1, key2;
static struct omerta_key *const keys[N + 1] = { &key0, &key1, &key2 };

static struct omerta_key *key_of(const struct list_head *node)
{
	return node == &key0.list ? &key0 : node == &key1.list ? &key1 : &key2;
}

static struct omerta_key *key_with(const struct percpu_ref *users)
{
	return users == &key0.users ? &key0 : users == &key1.users ? &key1 : &key2;
}

#undef container_of
#define container_of(ptr, type, member)	key_with(ptr)

#undef list_for_each_entry
#define list_for_each_entry(key, head, member)						\
	for (struct list_head *node = (head)->next;					\
	     node != (head) && ((key) = key_of(node), true); node = node->next)

#define list_for_each_entry_reverse(key, head, member)					\
	for (struct list_head *node = (head)->prev;					\
	     node != (head) && ((key) = key_of(node), true); node = node->prev)

#undef list_for_each_entry_safe
#define list_for_each_entry_safe(key, tmp, head, member)				\
	for (struct list_head *node = (head)->next, *next = node->next;			\
	     node != (head) && ((key) = key_of(node), (tmp) = (key), true);		\
	     node = next, next = node->next)

#undef kzalloc_obj
#define kzalloc_obj(key, gfp)	\
	(nondet_bool() ? NULL : (key2 = (struct omerta_key){}, &key2))

#undef kfree_rcu
#define kfree_rcu(key, member)	release(key)

static void prove_unused(const struct omerta_key *key)
{
	prove(!key || (key->users.is_exited && !key->tx_bytes.is_there));
}

#undef kfree
#define kfree(key)	prove_unused(key)

#undef kfree_sensitive
#define kfree_sensitive(key)	prove_unused(key)

static void release(struct omerta_key *key);

/* Keys of other peers count as well. */
static bool is_taken(u32 local_id)
{
	return (key0.node.is_in && key0.local_id == local_id) ||
	       (key1.node.is_in && key1.local_id == local_id) || nondet_bool();
}

/* Counters that another CPU takes first */
static u64 others;

static bool try_move(atomic64_t *v, s64 *old, u64 new)
{
	v->counter += others;
	others = 0;
	if (v->counter != (u64)*old) {
		*old = v->counter;
		return false;
	}
	v->counter = new;
	return true;
}

#define atomic64_try_cmpxchg(v, old, new)	try_move(v, old, new)

#define rhashtable_lookup_fast(table, local_id, params)	is_taken(*(local_id))

#include "peer/keys.c"
#include "peer/keyring.c"

struct omerta_fingerprint {
	bool is_free;
};

static struct rhashtable table;
static struct omerta_keyring ring;
static bool is_free[N];
static enum omerta_key_state states[N];
static unsigned int in_flight[N], n_keys, peer_refs;
/* The last one is of a key that is installed. */
static struct omerta_fingerprint used[N + 1];

static bool is_wiped(const struct omerta_key *key)
{
	return !memchr_inv(key->tx_secret, 0, OMERTA_SECRET_LEN) &&
	       !memchr_inv(key->rx_secret, 0, OMERTA_SECRET_LEN);
}

static void release(struct omerta_key *key)
{
	unsigned int i;

	prove(is_wiped(key) && !key->users.count && key->users.is_exited && !key->refs &&
	      !key->tx_bytes.is_there);
	for (i = 0; i < N; i++) {
		if (key != keys[i])
			continue;
		prove(!is_free[i]);
		is_free[i] = true;
	}
}

void omerta_event_key(struct net_device *dev, const struct omerta_key_event *ev)
{
}

struct omerta_fingerprint *
omerta_fingerprint_claim(const u8 *tx_secret, const u8 *rx_secret, struct net_device *dev,
			 bool handshake, struct netlink_ext_ack *extack)
{
	used[N].is_free = false;
	return nondet_bool() ? &used[N] : (void *)(u64)-EEXIST;
}

void omerta_fingerprint_release(struct omerta_fingerprint *fp)
{
	prove(!fp->is_free);
	fp->is_free = true;
}

void omerta_fingerprint_retire(struct omerta_fingerprint *fp)
{
	omerta_fingerprint_release(fp);
}

void omerta_fingerprint_detach(struct omerta_fingerprint *fp)
{
	prove(!fp->is_free);
}

bool omerta_replay_commit(struct omerta_replay *replay, u64 counter)
{
	return nondet_bool();
}

static void due(struct omerta_keyring *r)
{
	prove(!r->lock.held);
}

static void get(struct omerta_keyring *r)
{
	peer_refs++;
}

static void put(struct omerta_keyring *r)
{
	prove(peer_refs);
	peer_refs--;
}

static const struct omerta_keyring_ops ops = { .due = due, .get = get, .put = put };

/* The key is consistent, with some bursts in flight. */
static bool key_holds(const struct omerta_key *key, unsigned int bursts)
{
	bool is_dead = key->state == OMERTA_KEY_STATE_DEAD;

	return key->state <= OMERTA_KEY_STATE_DEAD &&
	       key->users.is_dead == is_dead && key->users.count == !is_dead + bursts &&
	       key->users.is_exited == !key->users.count && key->refs == 1 + !!key->users.count &&
	       key->node.is_in == !is_dead && (key->users.count || is_wiped(key)) &&
	       key->used->is_free == !key->users.count &&
	       key->limits.hard_records <= OMERTA_COUNTER_LIMIT &&
	       key->tx_next.counter <= key->limits.hard_records &&
	       key->tx_bytes.is_there &&
	       key->tx_limited.counter <= key->limits.hard_bytes &&
	       (key->state == OMERTA_KEY_STATE_ACTIVE) == (ring.active == key) &&
	       (ring.latest != key || (!is_dead && key->confirmed)) && key->seq <= ring.seq;
}

/* A consistent ring of 0 to N keys, the first of them the oldest */
static void any_ring(void)
{
	struct omerta_keyring any;
	unsigned int i;

	boottime = nondet_u64();
	omerta_keys_epoch.counter = nondet_u32();
	omerta_keys_frozen = nondet_bool();
	ring = any;
	omerta_keyring_init(&ring, &table, NULL, 1, 0, &ops);
	ring.latest = NULL;
	n_keys = nondet_u8();
	assume(n_keys <= N);
	ring.n_keys = n_keys;
	key0.node.is_in = false;
	key1.node.is_in = false;
	for (i = 0; i < n_keys; i++) {
		struct omerta_key any_key;

		*keys[i] = any_key;
		keys[i]->ring = &ring;
		keys[i]->used = &used[i];
		used[i].is_free = !any_key.users.count;
		keys[i]->users.is_exited = !any_key.users.count;
		list_add_tail(&keys[i]->list, &ring.keys);
		if (nondet_bool())
			ring.active = keys[i];
		if (nondet_bool())
			ring.latest = keys[i];
		in_flight[i] = nondet_bool();
		states[i] = any_key.state;
	}
	peer_refs = 0;
	for (i = 0; i < n_keys; i++) {
		assume(key_holds(keys[i], in_flight[i]));
		peer_refs += !!keys[i]->users.count;
	}
	assume(n_keys < 2 || (key0.seq < key1.seq &&
			      (key0.local_id != key1.local_id || !key0.node.is_in || !key1.node.is_in)));
}

/* The ring is consistent. Keys that are still in it were not moved back. */
static void prove_ring(void)
{
	struct omerta_key *key, *last = NULL;
	unsigned int i, n = 0, refs = 0;
	bool has_active = false, has_latest = false;

	prove(!ring.lock.held);
	for (i = 0; i < n_keys; i++)
		refs += !!keys[i]->users.count;
	list_for_each_entry(key, &ring.keys, list) {
		unsigned int bursts = 0;

		for (i = 0; i < n_keys; i++) {
			if (keys[i] != key)
				continue;
			prove(!is_free[i]);
			bursts = in_flight[i];
			prove(key->state >= states[i]);
		}
		prove(key_holds(key, bursts));
		prove(!last || last->seq < key->seq);
		prove(!last || last->local_id != key->local_id || !last->node.is_in || !key->node.is_in);
		has_active |= ring.active == key;
		has_latest |= ring.latest == key;
		refs += key == keys[N];
		last = key;
		n++;
	}
	prove(refs == peer_refs);
	prove(n == ring.n_keys && n <= N);
	prove(has_active || !ring.active);
	prove(has_latest || !ring.latest);
}

/* unwind: 4 */
void prove_seal(void)
{
	struct omerta_key *active, *key;
	u64 counter, next, taken, bytes;
	u32 n = nondet_u32(), len = nondet_u32();

	any_ring();
	assume(n && n <= 64);
	active = ring.active;
	next = active ? active->tx_next.counter : 0;
	bytes = active ? active->tx_limited.counter : 0;
	others = nondet_u8();
	assume(!active || next + others <= active->limits.hard_records);
	taken = others;
	key = omerta_key_seal(&ring, n, len, &counter);
	if (key) {
		prove(key == active && counter == next + taken);
		prove(key->tx_next.counter == counter + n);
		prove(key->limits.hard_bytes == U64_MAX || key->tx_limited.counter == bytes + len);
		prove(boottime < key->seal_until && key->epoch == omerta_keys_epoch.counter);
		omerta_key_put(key);
	} else if (active) {
		prove(active->tx_next.counter == next || active->tx_next.counter == next + taken);
	}
	prove_ring();
}

/* unwind: 4 */
void prove_commit(void)
{
	struct omerta_key *key, *active;
	bool activated = false;
	unsigned int i = nondet_bool();

	any_ring();
	/* The burst of the record is in flight. */
	assume(i < n_keys && in_flight[i]);
	key = keys[i];
	active = ring.active;
	assume(!key->rx_lock.held);
	spin_lock_bh(&key->rx_lock);
	if (omerta_key_commit(key, nondet_u64(), nondet_u32(), &activated) != OMERTA_FRESH_NOT)
		prove(states[i] != OMERTA_KEY_STATE_DEAD && boottime < key->open_until &&
		      key->epoch == omerta_keys_epoch.counter);
	spin_unlock_bh(&key->rx_lock);
	prove(activated == (ring.active != active));
	if (activated)
		prove(ring.active == key && states[i] == OMERTA_KEY_STATE_INSTALLED &&
		      key->activation == OMERTA_ACTIVATION_ON_FIRST_RECORD &&
		      (!active || active->seq < key->seq));
	prove_ring();
	in_flight[i] = 0;
	omerta_key_put(key);
	prove_ring();
}

/* unwind: 4 */
void prove_requests(void)
{
	u32 id = nondet_u32();
	struct omerta_key *was;

	any_ring();
	was = ring.active;
	switch (nondet_u8()) {
	case 0:
		omerta_keyring_activate(&ring, id, NULL);
		break;
	case 1:
		omerta_keyring_retire(&ring, id, NULL);
		break;
	case 2:
		omerta_keyring_delete(&ring, id, NULL);
		break;
	case 3:
		omerta_keyring_clear(&ring);
		prove(list_empty(&ring.keys));
		break;
	case 4:
		omerta_keyring_kill(&ring, OMERTA_KEY_LIMIT_SUSPEND, OMERTA_KEYS_ALL);
		prove(!ring.active);
		break;
	case 5:
		/* A younger key stays in use. */
		if (omerta_keyring_follow(&ring, id))
			prove(ring.active->handshake && (!was || ring.active->seq > was->seq));
		break;
	}
	prove_ring();
}

/* unwind: 4 */
void prove_install(void)
{
	u8 rx[OMERTA_SECRET_LEN], tx[OMERTA_SECRET_LEN];
	struct omerta_key_config config;

	any_ring();
	assume(ring.seq < U64_MAX && boottime < U64_MAX >> 1);
	config.rx_secret = rx;
	config.tx_secret = tx;
	assume(config.activation <= OMERTA_ACTIVATION_ON_FIRST_RECORD);
	/* All values would take hours. */
	assume(config.limits.seal_time < 16 && config.limits.open_time < 16 &&
	       config.limits.soft_time < 16);
	if (!omerta_keyring_install(&ring, &config, NULL)) {
		struct omerta_key *key = key_of(ring.keys.prev);

		prove(!omerta_keys_frozen && !is_wiped(key));
		prove((ring.active == key) == (config.activation == OMERTA_ACTIVATION_NOW));
		prove(!config.limits.open_time || key->seal_until <= key->open_until);
	}
	prove_ring();
}

/* unwind: 4 */
void prove_expire(void)
{
	struct omerta_key *key;
	u64 next;

	any_ring();
	next = omerta_keyring_expire(&ring);
	prove_ring();
	list_for_each_entry(key, &ring.keys, list) {
		if (key->state == OMERTA_KEY_STATE_DEAD)
			continue;
		prove(boottime < key->open_until && next <= key->open_until);
		prove(key->auth_failures < OMERTA_HARD_AUTH_FAILURES);
		if (key->state == OMERTA_KEY_STATE_RETIRED)
			continue;
		prove(key->limit >= 0 || (boottime < key->seal_until && next <= key->seal_until));
	}
}

/* A key that was deleted while a burst was in flight. unwind: 4 */
void prove_last_burst(void)
{
	unsigned int i = nondet_bool();

	any_ring();
	assume(i < n_keys && in_flight[i]);
	omerta_keyring_clear(&ring);
	prove(keys[i]->users.count == 1 && !is_free[i]);
	omerta_key_put(keys[i]);
	prove(is_free[i]);
}
