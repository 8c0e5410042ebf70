// SPDX-License-Identifier: GPL-2.0
/*
 * Keys: their states and limits, and the use of expired keys. Limits that traffic never
 * reaches are tested by setting the counters.
 */
#define NOTRACE /* The events belong to the module itself. */
#include "peer/keyring.c"
#include "peer/keys.c"

#include <linux/bitmap.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "test_util.h"

#define MAX_EVENTS	32
#define HOUR		3600u

/**
 * struct fixture - a peer's keyring and its events
 * @table: table of the keys
 * @ring: the keyring
 * @events: events, oldest first
 * @n_events: number of events
 * @claims: number of secrets claimed, less those released
 * @peer_refs: references to the peer
 * @detached: number of secrets of dead keys
 * @retired: number of secrets that were wiped
 * @refuse: error that a claim returns
 * @timer_waits: the timer has not run yet
 */
static struct fixture {
	struct rhashtable table;
	struct omerta_keyring ring;
	struct omerta_key_event events[MAX_EVENTS];
	unsigned int n_events;
	int claims;
	int peer_refs;
	int detached;
	int retired;
	int refuse;
	bool timer_waits;
} fix;

/* In the place of event.c and fingerprint.c. */
void omerta_event_key(struct net_device *dev, const struct omerta_key_event *ev)
{
	if (fix.n_events < MAX_EVENTS)
		fix.events[fix.n_events++] = *ev;
}

struct omerta_fingerprint *
omerta_fingerprint_claim(const u8 *tx_secret, const u8 *rx_secret,
			 struct net_device *dev, bool handshake,
			 struct netlink_ext_ack *extack)
{
	fix.claims += !fix.refuse;
	return ERR_PTR(fix.refuse);
}

void omerta_fingerprint_release(struct omerta_fingerprint *fp)
{
	fix.claims--;
}

void omerta_fingerprint_detach(struct omerta_fingerprint *fp)
{
	fix.detached++;
}

void omerta_fingerprint_retire(struct omerta_fingerprint *fp)
{
	fix.retired++;
}

/* In place of the peer's timer. */
static void ring_due(struct omerta_keyring *ring)
{
	if (!fix.timer_waits)
		omerta_keyring_expire(ring);
}

static void ring_get(struct omerta_keyring *ring)
{
	fix.peer_refs++;
}

static void ring_put(struct omerta_keyring *ring)
{
	fix.peer_refs--;
}

static const struct omerta_keyring_ops ring_ops = {
	.due = ring_due,
	.get = ring_get,
	.put = ring_put,
};

static int keys_init(struct kunit *test)
{
	memset(&fix, 0, sizeof(fix));
	omerta_keyring_init(&fix.ring, &fix.table, NULL, 7, 0, &ring_ops);
	return rhashtable_init(&fix.table, &omerta_key_params);
}

static void keys_exit(struct kunit *test)
{
	omerta_keyring_clear(&fix.ring);
	rhashtable_destroy(&fix.table);
	/* RCU callbacks of keys put references to the peer. */
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, fix.peer_refs, 0);
}

static const struct omerta_key_limits no_limits = {
	.soft_records = OMERTA_SOFT_RECORDS,
	.soft_bytes = U64_MAX,
	.hard_records = OMERTA_COUNTER_LIMIT,
	.hard_bytes = U64_MAX,
};

/* Before secrets were made */
static u32 epoch;

static int install_limited(u32 id, enum omerta_activation activation,
			   const struct omerta_key_limits *limits)
{
	u8 rx[OMERTA_SECRET_LEN], tx[OMERTA_SECRET_LEN];
	const struct omerta_key_config config = {
		.local_id = id,
		.remote_id = id + 1000,
		.rx_secret = rx,
		.tx_secret = tx,
		.epoch = epoch,
		.activation = activation,
		.limits = *limits,
	};

	memset(rx, id * 2 + 1, sizeof(rx));
	memset(tx, id * 2 + 2, sizeof(tx));
	return omerta_keyring_install(&fix.ring, &config, NULL);
}

static int install(u32 id, enum omerta_activation activation)
{
	return install_limited(id, activation, &no_limits);
}

/* The youngest key of this id, dead ones too. */
static struct omerta_key *key_of(struct kunit *test, u32 id)
{
	struct omerta_key *key;

	spin_lock_bh(&fix.ring.lock);
	key = find_key(&fix.ring, id, NULL);
	spin_unlock_bh(&fix.ring.lock);
	KUNIT_ASSERT_NOT_NULL(test, key);
	return key;
}

static struct omerta_key *active(void)
{
	return rcu_access_pointer(fix.ring.active);
}

static void grow_older(struct omerta_key *key, u32 seconds)
{
	u64 ns = (u64)seconds * NSEC_PER_SEC;

	key->installed -= ns;
	if (key->ask_at != U64_MAX)
		key->ask_at -= ns;
	if (key->seal_until != U64_MAX)
		key->seal_until -= ns;
	if (key->open_until != U64_MAX)
		key->open_until -= ns;
}

/* One record out; false if no key seals it. */
static bool seal(u32 len, u64 *counter)
{
	struct omerta_key *key;

	local_bh_disable();
	key = omerta_key_seal(&fix.ring, 1, len, counter);
	local_bh_enable();
	if (key)
		omerta_key_put(key);
	return key;
}

/* One authentic record in. */
static enum omerta_fresh commit(struct omerta_key *key, u64 counter,
				bool *activated)
{
	enum omerta_fresh fresh;

	*activated = false;
	spin_lock_bh(&key->rx_lock);
	fresh = omerta_key_commit(key, counter, 100, activated);
	spin_unlock_bh(&key->rx_lock);
	return fresh;
}

static void expect_event(struct kunit *test, unsigned int i, u8 cmd, u32 id,
			 int limit)
{
	KUNIT_ASSERT_LE_MSG(test, i + 1, fix.n_events, "event %u", i);
	KUNIT_EXPECT_EQ_MSG(test, fix.events[i].cmd, cmd, "event %u", i);
	KUNIT_EXPECT_EQ_MSG(test, fix.events[i].peer_id, 7, "event %u", i);
	KUNIT_EXPECT_EQ_MSG(test, fix.events[i].local_id, id, "event %u", i);
	KUNIT_EXPECT_EQ_MSG(test, fix.events[i].remote_id, id + 1000,
			    "event %u", i);
	KUNIT_EXPECT_EQ_MSG(test, fix.events[i].limit, limit, "event %u", i);
}

enum op { ACTIVATE, RETIRE, SEAL_LIMIT, OPEN_LIMIT, RECORD, KILL, OPS };

static int do_op(struct kunit *test, enum op op, u32 id)
{
	struct omerta_key *key = key_of(test, id);
	bool activated;

	switch (op) {
	case ACTIVATE:
		return omerta_keyring_activate(&fix.ring, id, NULL);
	case RETIRE:
		return omerta_keyring_retire(&fix.ring, id, NULL);
	case SEAL_LIMIT:
		grow_older(key, HOUR);
		omerta_keyring_expire(&fix.ring);
		return 0;
	case OPEN_LIMIT:
		grow_older(key, 2 * HOUR);
		omerta_keyring_expire(&fix.ring);
		return 0;
	case RECORD:
		return commit(key, 0, &activated) == OMERTA_FRESH_NOT;
	case KILL:
		omerta_keyring_kill(&fix.ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
		return 0;
	default:
		return -1;
	}
}

/* A key that is brought into a state along the shortest way. */
static void make_key(struct kunit *test, u32 id, enum omerta_key_state state,
		     enum omerta_activation activation)
{
	struct omerta_key_limits limits = no_limits;

	limits.seal_time = HOUR;
	limits.open_time = 2 * HOUR;
	KUNIT_ASSERT_EQ(test, install_limited(id, activation, &limits), 0);
	if (state == OMERTA_KEY_STATE_ACTIVE)
		KUNIT_ASSERT_EQ(test, do_op(test, ACTIVATE, id), 0);
	else if (state == OMERTA_KEY_STATE_RETIRED)
		KUNIT_ASSERT_EQ(test, do_op(test, RETIRE, id), 0);
	else if (state == OMERTA_KEY_STATE_DEAD)
		do_op(test, OPEN_LIMIT, id);
	KUNIT_ASSERT_EQ(test, key_of(test, id)->state, state);
}

/* The table in key_state.c: each state by each cause. */
static void every_transition(struct kunit *test)
{
	enum { I = OMERTA_KEY_STATE_INSTALLED, A = OMERTA_KEY_STATE_ACTIVE,
	       R = OMERTA_KEY_STATE_RETIRED, D = OMERTA_KEY_STATE_DEAD };
	static const struct {
		u8 to[OPS];
		int err[OPS];
	} wanted[] = {
		[I] = { { A, R, R, D, A, D }, { 0, 0 } },
		[A] = { { A, R, R, D, A, D }, { -EALREADY, 0 } },
		[R] = { { R, R, R, D, R, D }, { -EINVAL, -EALREADY } },
		[D] = { { D, D, D, D, D, D },
			{ -EINVAL, -EALREADY, 0, 0, 1 } },
	};
	u32 id = 0, from, op;

	for (from = I; from <= D; from++) {
		for (op = 0; op < OPS; op++) {
			id++;
			make_key(test, id, from,
				 OMERTA_ACTIVATION_ON_FIRST_RECORD);
			KUNIT_EXPECT_EQ_MSG(test, do_op(test, op, id),
					    wanted[from].err[op],
					    "state %u op %u", from, op);
			KUNIT_EXPECT_EQ_MSG(test, key_of(test, id)->state,
					    wanted[from].to[op],
					    "state %u op %u", from, op);
			KUNIT_EXPECT_EQ_MSG(test, !!active(),
					    wanted[from].to[op] == A,
					    "state %u op %u", from, op);
			KUNIT_EXPECT_EQ(test, omerta_keyring_delete(&fix.ring,
								    id, NULL), 0);
			KUNIT_EXPECT_TRUE(test, !active());
		}
	}
	KUNIT_EXPECT_EQ(test, omerta_keyring_delete(&fix.ring, id, NULL),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, omerta_keyring_activate(&fix.ring, id, NULL),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, omerta_keyring_retire(&fix.ring, id, NULL),
			-ENOENT);
}

static void activation_retires(struct kunit *test)
{
	u64 counter;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 1));
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	KUNIT_ASSERT_EQ(test, install(2, OMERTA_ACTIVATION_NOW), 0);
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 2));
	KUNIT_EXPECT_EQ(test, key_of(test, 1)->state, OMERTA_KEY_STATE_RETIRED);
	KUNIT_ASSERT_EQ(test, install(3, OMERTA_ACTIVATION_MANUAL), 0);
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 2));
	KUNIT_EXPECT_EQ(test, omerta_keyring_activate(&fix.ring, 3, NULL), 0);
	KUNIT_EXPECT_EQ(test, key_of(test, 2)->state, OMERTA_KEY_STATE_RETIRED);
	/* Each key counts from 0, and a retired one seals nothing. */
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, counter, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&key_of(test, 3)->tx_next), 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&key_of(test, 1)->tx_next), 1);
	/* Retiring does not shorten opening. */
	KUNIT_EXPECT_TRUE(test, omerta_key_can_open(key_of(test, 1)));
}

static void first_record(struct kunit *test)
{
	bool activated;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_MANUAL), 0);
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 1), 5, &activated),
			OMERTA_FRESH_NEWEST);
	KUNIT_EXPECT_FALSE(test, activated);
	KUNIT_EXPECT_TRUE(test, key_of(test, 1)->confirmed);
	KUNIT_EXPECT_TRUE(test, !active());

	KUNIT_ASSERT_EQ(test, install(2, OMERTA_ACTIVATION_ON_FIRST_RECORD), 0);
	KUNIT_EXPECT_TRUE(test, !active());
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 2), 0, &activated),
			OMERTA_FRESH_NEWEST);
	KUNIT_EXPECT_TRUE(test, activated);
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 2));
	/* Told once per key. */
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 2), 1, &activated),
			OMERTA_FRESH_NEWEST);
	KUNIT_EXPECT_FALSE(test, activated);
	KUNIT_EXPECT_EQ(test, fix.n_events, 2);
	expect_event(test, 0, OMERTA_CMD_KEY_CONFIRMED_NTF, 1, -1);
	expect_event(test, 1, OMERTA_CMD_KEY_CONFIRMED_NTF, 2, -1);
	/* An older key's records are fresh, but do not move the endpoint. */
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 1), 6, &activated),
			OMERTA_FRESH);
}

/* A record that was held back does not bring an old key up again. */
static void held_back_record(struct kunit *test)
{
	bool activated;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_ON_FIRST_RECORD), 0);
	KUNIT_ASSERT_EQ(test, install(2, OMERTA_ACTIVATION_NOW), 0);
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 2), 0, &activated),
			OMERTA_FRESH_NEWEST);
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 1), 0, &activated),
			OMERTA_FRESH);
	KUNIT_EXPECT_FALSE(test, activated);
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 2));
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 2), 1, &activated),
			OMERTA_FRESH_NEWEST);
}

static void newest_record(struct kunit *test)
{
	static const struct {
		u64 counter;
		enum omerta_fresh fresh;
	} rows[] = {
		{ 3, OMERTA_FRESH_NEWEST },
		{ 2, OMERTA_FRESH },
		{ 3, OMERTA_FRESH_NOT },
		{ 4, OMERTA_FRESH_NEWEST },
		{ 0, OMERTA_FRESH },
		{ 90, OMERTA_FRESH_NEWEST },
		{ 89, OMERTA_FRESH },
		{ 2, OMERTA_FRESH_NOT },
	};
	struct omerta_key *key;
	unsigned int i;
	bool activated;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	key = key_of(test, 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, commit(key, rows[i].counter,
						 &activated),
				    rows[i].fresh, "row %u", i);
	KUNIT_EXPECT_EQ(test, key->rx_records, 6);
	KUNIT_EXPECT_EQ(test, key->rx_bytes, 600);
	KUNIT_EXPECT_EQ(test, key->replays, 2);
}

static void record_limits(struct kunit *test)
{
	struct omerta_key_limits limits = no_limits;
	u64 counter, i;

	limits.soft_records = 5;
	limits.hard_records = 8;
	KUNIT_ASSERT_EQ(test, install_limited(1, OMERTA_ACTIVATION_NOW,
					      &limits), 0);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, fix.n_events, i > 5);
		KUNIT_EXPECT_TRUE(test, seal(100, &counter));
		KUNIT_EXPECT_EQ(test, counter, i);
	}
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 1));
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, key_of(test, 1)->state, OMERTA_KEY_STATE_RETIRED);
	KUNIT_EXPECT_EQ(test, atomic64_read(&key_of(test, 1)->tx_next), 8);
	KUNIT_EXPECT_EQ(test, key_of(test, 1)->limit,
			OMERTA_KEY_LIMIT_RECORDS);
	KUNIT_EXPECT_EQ(test, fix.n_events, 2);
	expect_event(test, 0, OMERTA_CMD_KEY_SOFT_NTF, 1,
		     OMERTA_KEY_LIMIT_RECORDS);
	expect_event(test, 1, OMERTA_CMD_KEY_HARD_NTF, 1,
		     OMERTA_KEY_LIMIT_RECORDS);
}

#define MAX_SEALERS	4
#define SEALED		BIT(20)

static DECLARE_WAIT_QUEUE_HEAD(sealers_wait);

/* Seals until the key's limit, beside others. */
struct sealer {
	struct work_struct work;
	atomic_t *missing;
	unsigned long *taken;
	unsigned long done;
	unsigned long twice;
};

static void seal_all(struct work_struct *work)
{
	struct sealer *s = container_of(work, struct sealer, work);
	u64 counter;

	if (atomic_dec_and_test(s->missing))
		wake_up_all(&sealers_wait);
	wait_event(sealers_wait, !atomic_read(s->missing));
	for (; seal(100, &counter); s->done++)
		s->twice += counter >= SEALED || test_and_set_bit(counter, s->taken);
}

/* Catches: a counter that two CPUs take. */
static void sealed_by_several(struct kunit *test)
{
	unsigned long *taken = bitmap_zalloc(SEALED, GFP_KERNEL), done = 0, twice = 0;
	struct omerta_key_limits limits = no_limits;
	struct sealer sealers[MAX_SEALERS] = {};
	int i, cpu = -1, n;
	atomic_t missing;

	KUNIT_ASSERT_NOT_NULL(test, taken);
	limits.soft_records = SEALED;
	limits.hard_records = SEALED;
	KUNIT_EXPECT_EQ(test, install_limited(1, OMERTA_ACTIVATION_NOW, &limits), 0);
	cpus_read_lock();
	n = min_t(int, num_online_cpus(), MAX_SEALERS);
	atomic_set(&missing, n);
	for (i = 0; i < n; i++) {
		cpu = cpumask_next(cpu, cpu_online_mask);
		sealers[i].missing = &missing;
		sealers[i].taken = taken;
		INIT_WORK_ONSTACK(&sealers[i].work, seal_all);
		queue_work_on(cpu, system_long_wq, &sealers[i].work);
	}
	for (i = 0; i < n; i++) {
		flush_work(&sealers[i].work);
		destroy_work_on_stack(&sealers[i].work);
		done += sealers[i].done;
		twice += sealers[i].twice;
	}
	cpus_read_unlock();
	KUNIT_EXPECT_EQ(test, twice, 0);
	KUNIT_EXPECT_EQ(test, done, SEALED);
	KUNIT_EXPECT_TRUE(test, bitmap_full(taken, SEALED));
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(&key_of(test, 1)->tx_bytes), 100 * SEALED);
	bitmap_free(taken);
}

static void byte_limits(struct kunit *test)
{
	struct omerta_key_limits limits = no_limits;
	u64 counter;

	limits.soft_bytes = 500;
	limits.hard_bytes = 1000;
	KUNIT_ASSERT_EQ(test, install_limited(1, OMERTA_ACTIVATION_NOW,
					      &limits), 0);
	KUNIT_EXPECT_TRUE(test, seal(500, &counter));
	KUNIT_EXPECT_EQ(test, fix.n_events, 0);
	KUNIT_EXPECT_TRUE(test, seal(400, &counter));
	KUNIT_EXPECT_EQ(test, fix.n_events, 1);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(&key_of(test, 1)->tx_bytes), 1000);
	KUNIT_EXPECT_FALSE(test, seal(1, &counter));
	KUNIT_EXPECT_EQ(test, key_of(test, 1)->state, OMERTA_KEY_STATE_RETIRED);
	KUNIT_EXPECT_EQ(test, fix.n_events, 2);
	expect_event(test, 0, OMERTA_CMD_KEY_SOFT_NTF, 1,
		     OMERTA_KEY_LIMIT_BYTES);
	expect_event(test, 1, OMERTA_CMD_KEY_HARD_NTF, 1,
		     OMERTA_KEY_LIMIT_BYTES);
}

/* The defaults: ask at 2^48 records, dead at 2^56 - 2^16. */
static void counter_limit(struct kunit *test)
{
	struct omerta_key *key;
	u64 counter;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	key = key_of(test, 1);
	atomic64_set(&key->tx_next, (1ULL << 48) - 1);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, fix.n_events, 0);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	expect_event(test, 0, OMERTA_CMD_KEY_SOFT_NTF, 1,
		     OMERTA_KEY_LIMIT_RECORDS);
	atomic64_set(&key->tx_next, (1ULL << 56) - (1ULL << 16) - 1);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, counter, (1ULL << 56) - (1ULL << 16) - 1);
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, key->state, OMERTA_KEY_STATE_DEAD);
	KUNIT_EXPECT_EQ(test, fix.n_events, 2);
	expect_event(test, 1, OMERTA_CMD_KEY_DEAD_NTF, 1,
		     OMERTA_KEY_LIMIT_RECORDS);
}

static void time_limits(struct kunit *test)
{
	struct omerta_key_limits limits = no_limits;
	struct omerta_key *key;
	u64 counter;

	limits.soft_time = 120;
	limits.seal_time = 180;
	limits.open_time = 240;
	KUNIT_ASSERT_EQ(test, install_limited(1, OMERTA_ACTIVATION_NOW,
					      &limits), 0);
	key = key_of(test, 1);
	KUNIT_EXPECT_EQ(test, omerta_keyring_expire(&fix.ring),
			key->installed + 120ULL * NSEC_PER_SEC);
	grow_older(key, 100);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	omerta_keyring_expire(&fix.ring);
	KUNIT_EXPECT_EQ(test, fix.n_events, 0);
	grow_older(key, 20);
	KUNIT_EXPECT_EQ(test, omerta_keyring_expire(&fix.ring),
			key->installed + 180ULL * NSEC_PER_SEC);
	expect_event(test, 0, OMERTA_CMD_KEY_SOFT_NTF, 1,
		     OMERTA_KEY_LIMIT_TIME);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	grow_older(key, 60);
	KUNIT_EXPECT_EQ(test, omerta_keyring_expire(&fix.ring),
			key->installed + 240ULL * NSEC_PER_SEC);
	expect_event(test, 1, OMERTA_CMD_KEY_HARD_NTF, 1,
		     OMERTA_KEY_LIMIT_TIME);
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_TRUE(test, omerta_key_can_open(key));
	grow_older(key, 60);
	KUNIT_EXPECT_EQ(test, omerta_keyring_expire(&fix.ring), U64_MAX);
	KUNIT_EXPECT_EQ(test, key->state, OMERTA_KEY_STATE_DEAD);
	KUNIT_EXPECT_EQ(test, fix.n_events, 3);
	expect_event(test, 2, OMERTA_CMD_KEY_DEAD_NTF, 1,
		     OMERTA_KEY_LIMIT_TIME);
}

/* Limits in time hold though the timer is late. */
static void late_timer(struct kunit *test)
{
	struct omerta_key_limits limits = no_limits;
	struct omerta_key *key;
	bool activated;
	u64 counter;

	limits.seal_time = 180;
	limits.open_time = 240;
	KUNIT_ASSERT_EQ(test, install_limited(1, OMERTA_ACTIVATION_NOW,
					      &limits), 0);
	key = key_of(test, 1);
	grow_older(key, 181);
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, commit(key, 0, &activated), OMERTA_FRESH_NEWEST);
	grow_older(key, 60);
	KUNIT_EXPECT_FALSE(test, omerta_key_can_open(key));
	KUNIT_EXPECT_EQ(test, commit(key, 1, &activated), OMERTA_FRESH_NOT);
}

/* A key that is confirmed and dies before the timer runs: in this order */
static void confirmed_then_dead(struct kunit *test)
{
	bool activated;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_ON_FIRST_RECORD), 0);
	fix.timer_waits = true;
	KUNIT_EXPECT_EQ(test, commit(key_of(test, 1), 0, &activated), OMERTA_FRESH_NEWEST);
	KUNIT_EXPECT_EQ(test, fix.n_events, 0);
	omerta_keyring_kill(&fix.ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
	fix.timer_waits = false;
	omerta_keyring_expire(&fix.ring);
	KUNIT_EXPECT_EQ(test, fix.n_events, 2);
	expect_event(test, 0, OMERTA_CMD_KEY_CONFIRMED_NTF, 1, -1);
	expect_event(test, 1, OMERTA_CMD_KEY_DEAD_NTF, 1, OMERTA_KEY_LIMIT_VM_FORK);
}

static void fail_auth(struct omerta_key *key)
{
	spin_lock_bh(&key->rx_lock);
	omerta_key_auth_failed(key);
	spin_unlock_bh(&key->rx_lock);
}

static void auth_failures(struct kunit *test)
{
	struct omerta_key *key;
	u64 counter;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	key = key_of(test, 1);
	fail_auth(key);
	KUNIT_EXPECT_EQ(test, key->auth_failures, 1);
	key->auth_failures = (1ULL << 33) - 2;
	fail_auth(key);
	KUNIT_EXPECT_EQ(test, fix.n_events, 0);
	fail_auth(key);
	fail_auth(key);
	KUNIT_EXPECT_EQ(test, fix.n_events, 1);
	expect_event(test, 0, OMERTA_CMD_KEY_SOFT_NTF, 1,
		     OMERTA_KEY_LIMIT_AUTH_FAILURES);
	key->auth_failures = (1ULL << 34) - 2;
	fail_auth(key);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	fail_auth(key);
	/* Dead in both directions. */
	KUNIT_EXPECT_EQ(test, key->state, OMERTA_KEY_STATE_DEAD);
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_TRUE(test, !omerta_key_get(&fix.table, 1));
	KUNIT_EXPECT_EQ(test, fix.n_events, 2);
	expect_event(test, 1, OMERTA_CMD_KEY_DEAD_NTF, 1,
		     OMERTA_KEY_LIMIT_AUTH_FAILURES);
}

static bool wiped(const struct omerta_key *key)
{
	return !memchr_inv(key->rx_secret, 0, OMERTA_SECRET_LEN) &&
	       !memchr_inv(key->tx_secret, 0, OMERTA_SECRET_LEN);
}

/* Secrets outlive a key's death for a grace period, and as long as bursts use them. */
static void secrets_wiped(struct kunit *test)
{
	struct omerta_key *key, *user;
	u64 counter;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	user = omerta_key_get(&fix.table, 1);
	KUNIT_ASSERT_PTR_EQ(test, user, key_of(test, 1));
	omerta_keyring_kill(&fix.ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
	/* Afterwards the last user wipes them. */
	rcu_barrier();
	KUNIT_EXPECT_FALSE(test, wiped(user));
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_TRUE(test, !omerta_key_get(&fix.table, 1));
	KUNIT_EXPECT_EQ(test, fix.detached, 1);
	KUNIT_EXPECT_EQ(test, fix.retired, 0);
	KUNIT_EXPECT_EQ(test, fix.peer_refs, 1);
	omerta_key_put(user);
	KUNIT_EXPECT_EQ(test, fix.retired, 1);
	KUNIT_EXPECT_EQ(test, fix.peer_refs, 0);
	key = key_of(test, 1);
	KUNIT_EXPECT_TRUE(test, wiped(key));
	expect_event(test, 0, OMERTA_CMD_KEY_DEAD_NTF, 1,
		     OMERTA_KEY_LIMIT_VM_FORK);

	/* The memory stays for a grace period, and for its user. */
	KUNIT_ASSERT_EQ(test, install(2, OMERTA_ACTIVATION_NOW), 0);
	user = omerta_key_get(&fix.table, 2);
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_EQ(test, omerta_keyring_delete(&fix.ring, 2, NULL), 0);
	rcu_barrier();
	KUNIT_EXPECT_FALSE(test, wiped(user));
	rcu_read_lock();
	omerta_key_put(user);
	KUNIT_EXPECT_TRUE(test, wiped(user));
	rcu_read_unlock();
}

/* The last burst is done before a grace period has passed. */
static void secrets_wiped_later(struct kunit *test)
{
	struct omerta_key *user;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	user = omerta_key_get(&fix.table, 1);
	KUNIT_ASSERT_PTR_EQ(test, user, key_of(test, 1));
	omerta_keyring_kill(&fix.ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
	omerta_key_put(user);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, fix.retired, 1);
	KUNIT_EXPECT_EQ(test, fix.peer_refs, 0);
	KUNIT_EXPECT_TRUE(test, wiped(key_of(test, 1)));
}

static void room_for_keys(struct kunit *test)
{
	u32 id;

	for (id = 1; id <= OMERTA_KEYS_PER_PEER; id++)
		KUNIT_ASSERT_EQ(test, install(id, OMERTA_ACTIVATION_MANUAL), 0);
	KUNIT_EXPECT_EQ(test, install(100, OMERTA_ACTIVATION_MANUAL), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fix.claims, OMERTA_KEYS_PER_PEER);
	KUNIT_EXPECT_EQ(test, fix.ring.n_keys, OMERTA_KEYS_PER_PEER);
	/* The longest dead makes room. */
	omerta_keyring_kill(&fix.ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
	KUNIT_EXPECT_EQ(test, install(100, OMERTA_ACTIVATION_MANUAL), 0);
	KUNIT_EXPECT_EQ(test, fix.ring.n_keys, OMERTA_KEYS_PER_PEER);
	KUNIT_EXPECT_EQ(test, omerta_keyring_delete(&fix.ring, 1, NULL),
			-ENOENT);
	KUNIT_EXPECT_EQ(test, omerta_keyring_delete(&fix.ring, 2, NULL), 0);
}

/* A refused install leaves nothing behind. */
static void refused_installs(struct kunit *test)
{
	struct omerta_key_limits limits = no_limits;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	KUNIT_EXPECT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), -EEXIST);
	KUNIT_EXPECT_EQ(test, fix.claims, 1);
	fix.refuse = -ENOSPC;
	KUNIT_EXPECT_EQ(test, install(2, OMERTA_ACTIVATION_NOW), -ENOSPC);
	fix.refuse = 0;
	/* While both are under way the end of one is not that of the other. */
	set_bit(OMERTA_FREEZE_SUSPEND, &omerta_keys_frozen);
	set_bit(OMERTA_FREEZE_HIBERNATION, &omerta_keys_frozen);
	KUNIT_EXPECT_EQ(test, install(2, OMERTA_ACTIVATION_NOW), -EBUSY);
	clear_bit(OMERTA_FREEZE_SUSPEND, &omerta_keys_frozen);
	KUNIT_EXPECT_EQ(test, install(2, OMERTA_ACTIVATION_NOW), -EBUSY);
	clear_bit(OMERTA_FREEZE_HIBERNATION, &omerta_keys_frozen);
	limits.hard_records = OMERTA_COUNTER_LIMIT + 1;
	KUNIT_EXPECT_EQ(test, install_limited(2, OMERTA_ACTIVATION_NOW,
					      &limits), -ERANGE);
	limits = no_limits;
	limits.open_time = 5;
	KUNIT_EXPECT_EQ(test, install_limited(2, OMERTA_ACTIVATION_NOW,
					      &limits), -EINVAL);
	limits.seal_time = 6;
	KUNIT_EXPECT_EQ(test, install_limited(2, OMERTA_ACTIVATION_NOW,
					      &limits), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix.claims, 1);
	KUNIT_EXPECT_EQ(test, fix.ring.n_keys, 1);
	KUNIT_EXPECT_PTR_EQ(test, active(), key_of(test, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&fix.table.nelems), 1);
	KUNIT_EXPECT_EQ(test, fix.n_events, 0);
}

/* Catches: a key that is used between the clone of the machine and the death of the key. */
static void earlier_epoch(struct kunit *test)
{
	struct omerta_key *key;
	bool activated;
	u64 counter;

	KUNIT_ASSERT_EQ(test, install(1, OMERTA_ACTIVATION_NOW), 0);
	KUNIT_ASSERT_EQ(test, install(2, OMERTA_ACTIVATION_MANUAL), 0);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	key = key_of(test, 2);
	KUNIT_EXPECT_TRUE(test, omerta_key_can_open(key));
	atomic_inc(&omerta_keys_epoch);
	KUNIT_EXPECT_FALSE(test, omerta_key_can_open(key));
	KUNIT_EXPECT_EQ(test, commit(key, 0, &activated), OMERTA_FRESH_NOT);
	KUNIT_EXPECT_FALSE(test, seal(100, &counter));
	KUNIT_EXPECT_EQ(test, key_of(test, 1)->limit, OMERTA_KEY_LIMIT_VM_FORK);
	KUNIT_EXPECT_EQ(test, install(3, OMERTA_ACTIVATION_NOW), -ESTALE);
	KUNIT_EXPECT_EQ(test, fix.claims, 2);
	epoch = atomic_read(&omerta_keys_epoch);
	KUNIT_EXPECT_EQ(test, install(3, OMERTA_ACTIVATION_NOW), 0);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
	/* The outlived keys may be killed late. */
	omerta_keyring_kill(&fix.ring, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_OUTLIVED);
	KUNIT_EXPECT_EQ(test, key_of(test, 2)->state, OMERTA_KEY_STATE_DEAD);
	KUNIT_EXPECT_TRUE(test, seal(100, &counter));
}

static struct kunit_case keys_cases[] = {
	KUNIT_CASE(every_transition),
	KUNIT_CASE(activation_retires),
	KUNIT_CASE(first_record),
	KUNIT_CASE(held_back_record),
	KUNIT_CASE(newest_record),
	KUNIT_CASE(record_limits),
	KUNIT_CASE(sealed_by_several),
	KUNIT_CASE(byte_limits),
	KUNIT_CASE(counter_limit),
	KUNIT_CASE(time_limits),
	KUNIT_CASE(late_timer),
	KUNIT_CASE(confirmed_then_dead),
	KUNIT_CASE(auth_failures),
	KUNIT_CASE(secrets_wiped),
	KUNIT_CASE(secrets_wiped_later),
	KUNIT_CASE(room_for_keys),
	KUNIT_CASE(refused_installs),
	KUNIT_CASE(earlier_epoch),
	{}
};

struct kunit_suite omerta_keys_suite = {
	.name = "omerta_keys",
	.init = keys_init,
	.exit = keys_exit,
	.test_cases = keys_cases,
};
