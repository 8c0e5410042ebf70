// SPDX-License-Identifier: GPL-2.0
/*
 * What is due at some time. A peer has one timer; whoever has something to
 * wait for makes an appointment with omerta_peer_due(), and when the timer
 * runs it looks at everything and makes the next appointments.
 */
#include "device/timers.h"

#include <linux/netdevice.h>
#include <linux/timekeeping.h>

#include "compat/compat.h"
#include "peer/event.h"
#include "datapath/tx.h"

/* How often an empty record asks for the confirmation of a key. */
#define CONFIRM_TRIES	10
/* A timer that is due later looks again meanwhile. */
#define LOOK_AGAIN	(24 * 3600 * HZ)

static void run_keys(struct omerta_peer *peer)
{
	u64 due = omerta_keyring_expire(&peer->ring);
	u64 now = ktime_get_boottime_ns(), wait;

	if (due == U64_MAX)
		return;
	wait = due > now ? nsecs_to_jiffies64(due - now) : 0;
	omerta_peer_due(peer, jiffies + 1 + min_t(u64, wait, LOOK_AGAIN));
}

/* Tell where a peer went, not more often than once a second. */
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

/* Only the timer tells of silence and of its end, so in this order. */
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
	/* A router may drop what comes from this address of ours. */
	omerta_peer_forget_source(peer);
	omerta_event_peer(peer->tun->dev, OMERTA_CMD_PEER_SILENT_NTF, peer->id,
			  NULL);
	WRITE_ONCE(peer->silent_since, since);
	/* Pairs with omerta_peer_heard(): one of us sees what the other wrote. */
	smp_mb();
	if (READ_ONCE(peer->waiting_since) != since)
		omerta_peer_due(peer, jiffies);
}

static void run_confirm(struct omerta_peer *peer)
{
	struct omerta_key *key = rcu_dereference(peer->ring.active);
	/* Pairs with omerta_timers_confirm(). */
	unsigned int left = key ? smp_load_acquire(&key->confirm_left) : 0;

	if (!left)
		return;
	/* The first is sent even then: the other end is to learn that the key is active. */
	if (READ_ONCE(key->confirmed) && left < CONFIRM_TRIES) {
		WRITE_ONCE(key->confirm_left, 0);
		return;
	}
	if (time_after_eq(jiffies, key->confirm_at)) {
		WRITE_ONCE(key->confirm_left, left - 1);
		key->confirm_at = jiffies + HZ;
		omerta_tx_keepalive(peer);
	}
	omerta_peer_due(peer, key->confirm_at);
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
	/* A change means that somebody sends, or has made another appointment. */
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
		/* It counts as traffic: the tunnel is to be there. */
		if (!omerta_tx_keepalive(peer))
			omerta_keyring_needed(&peer->ring);
		at = jiffies + interval;
	}
	omerta_peer_due(peer, at);
}

/**
 * omerta_timers_run() - look at everything that may be due for a peer
 * @t: the peer's timer
 *
 * Context: softirq.
 */
void omerta_timers_run(struct timer_list *t)
{
	struct omerta_peer *peer = timer_container_of(peer, t, timer);

	/* Pairs with omerta_peer_due(): we see what is due, or it that we do not wait. */
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
 * omerta_timers_confirm() - tell the other end of a newly active key
 * @peer: the peer
 *
 * Sends empty records, one a second, until a record under the key arrives.
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
		key->confirm_at = jiffies;
		/* Pairs with run_confirm(). */
		smp_store_release(&key->confirm_left, CONFIRM_TRIES);
	}
	rcu_read_unlock();
	omerta_peer_due(peer, jiffies);
}
