// SPDX-License-Identifier: GPL-2.0
/*
 * Timers. A peer has one timer. omerta_peer_due() has it run in time; it then checks
 * everything that may be due, and arms itself for what is due next.
 */
#include "device/timers.h"

#include <linux/netdevice.h>
#include <linux/timekeeping.h>

#include "compat/compat.h"
#include "peer/event.h"
#include "datapath/tx.h"

/* Most empty records that ask for the confirmation of a key. */
#define CONFIRM_TRIES	10
/* Longest timeout that is armed. A later deadline arms the timer again. */
#define TIMEOUT_MAX	(24 * 3600 * HZ)

static void run_keys(struct omerta_peer *peer)
{
	u64 due = omerta_keyring_expire(&peer->ring);
	u64 now = ktime_get_boottime_ns(), wait;

	if (due == U64_MAX)
		return;
	wait = due > now ? nsecs_to_jiffies64(due - now) : 0;
	omerta_peer_due(peer, jiffies + 1 + min_t(u64, wait, TIMEOUT_MAX));
}

/* Notify listeners of a peer's endpoint, at most once per second. */
static void run_moved(struct omerta_peer *peer)
{
	struct omerta_endpoint to;

	if (!READ_ONCE(peer->moved))
		return;
	if (time_before(jiffies, peer->tell_moved_at)) {
		omerta_peer_due(peer, peer->tell_moved_at);
		return;
	}
	peer->tell_moved_at = jiffies + HZ;
	spin_lock_bh(&peer->endpoint_lock);
	WRITE_ONCE(peer->moved, false);
	to = peer->endpoint;
	spin_unlock_bh(&peer->endpoint_lock);
	omerta_event_peer(peer->tun->dev, OMERTA_CMD_PEER_ENDPOINT_NTF, peer->id,
			  &to);
}

/* Only the timer sends peer-silent and peer-alive, so listeners see them in order. */
static void run_contact(struct omerta_peer *peer)
{
	unsigned long since = READ_ONCE(peer->waiting_since);

	if (peer->silent_since && peer->silent_since != since) {
		WRITE_ONCE(peer->silent_since, 0);
		omerta_event_peer(peer->tun->dev, OMERTA_CMD_PEER_ALIVE_NTF,
				  peer->id, NULL);
	}
	if (!since || since == peer->silent_since)
		return;
	if (time_before(jiffies, since + OMERTA_SILENCE)) {
		omerta_peer_due(peer, since + OMERTA_SILENCE);
		return;
	}
	/* A router may drop datagrams from this address of ours. */
	omerta_peer_forget_source(peer);
	omerta_event_peer(peer->tun->dev, OMERTA_CMD_PEER_SILENT_NTF, peer->id,
			  NULL);
	WRITE_ONCE(peer->silent_since, since);
	/* Pairs with xchg() in commit_burst(): one of us sees what the other wrote. */
	smp_mb();
	if (READ_ONCE(peer->waiting_since) != since)
		omerta_peer_due(peer, jiffies);
}

static void run_confirm(struct omerta_peer *peer)
{
	struct omerta_key *key = rcu_dereference(peer->ring.active);
	/* Pairs with the release in omerta_timers_confirm(). */
	unsigned int left = key ? smp_load_acquire(&key->confirm_left) : 0;
	unsigned long at;

	if (!left)
		return;
	/* The first one is sent in any case: it tells the other end that the key is active. */
	if (READ_ONCE(key->confirmed) && left < CONFIRM_TRIES) {
		WRITE_ONCE(key->confirm_left, 0);
		return;
	}
	at = READ_ONCE(key->confirm_at);
	if (time_after_eq(jiffies, at)) {
		at = jiffies + HZ;
		WRITE_ONCE(key->confirm_left, left - 1);
		WRITE_ONCE(key->confirm_at, at);
		omerta_tx_keepalive(peer);
	}
	omerta_peer_due(peer, at);
}

static void run_answer(struct omerta_peer *peer)
{
	unsigned long at = READ_ONCE(peer->answer_at);

	if (!at)
		return;
	if (time_before(jiffies, at)) {
		omerta_peer_due(peer, at);
		return;
	}
	/* A change means that a record was sent, or that another answer is due. */
	if (cmpxchg(&peer->answer_at, at, 0) == at)
		omerta_tx_keepalive(peer);
}

static void run_keepalive(struct omerta_peer *peer)
{
	unsigned long interval = READ_ONCE(peer->keepalive) * HZ;
	unsigned long at = READ_ONCE(peer->tx_last) + interval;

	if (!interval)
		return;
	if (time_after_eq(jiffies, at)) {
		/* It counts as traffic that needs a key: the tunnel should stay up. */
		if (!omerta_tx_keepalive(peer))
			omerta_key_needed(&peer->ring);
		at = jiffies + interval;
	}
	omerta_peer_due(peer, at);
}

/**
 * omerta_timers_run() - timer function: check everything that may be due for a peer
 * @t: the peer's timer
 *
 * Context: softirq.
 */
void omerta_timers_run(struct timer_list *t)
{
	struct omerta_peer *peer = timer_container_of(peer, t, timer);

	/*
	 * Pairs with the barrier in omerta_peer_due(): either we see what is due, or it sees
	 * that the timer is not pending.
	 */
	smp_mb();
	rcu_read_lock();
	if (READ_ONCE(peer->dead))
		goto out;
	run_keys(peer);
	run_moved(peer);
	if (!netif_running(peer->tun->dev))
		goto out;
	omerta_tx_retry(peer);
	run_confirm(peer);
	run_answer(peer);
	run_contact(peer);
	run_keepalive(peer);
out:
	rcu_read_unlock();
}

/**
 * omerta_timers_confirm() - tell the other end that a key is active
 * @peer: the peer
 *
 * Sends an empty record per second until a record under the key arrives.
 *
 * Context: process context, the device's lock held.
 */
void omerta_timers_confirm(struct omerta_peer *peer)
{
	struct omerta_key *key;

	lockdep_assert_held(&peer->tun->lock);

	rcu_read_lock();
	key = rcu_dereference(peer->ring.active);
	if (key) {
		WRITE_ONCE(key->confirm_at, jiffies);
		/* Pairs with the acquire in run_confirm(). */
		smp_store_release(&key->confirm_left, CONFIRM_TRIES);
	}
	rcu_read_unlock();
	omerta_peer_due(peer, jiffies);
}
