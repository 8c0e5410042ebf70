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
/*
 * The end that opened a further channel sends an empty record when nothing came for PATIENCE. The
 * other end opens it when nothing came for PATIENCE_OTHER, or if the first record is that late.
 */
#define PATIENCE	(10 * HZ)
#define PATIENCE_OTHER	(25 * HZ)
#define PATIENCE_FIRST	(5 * HZ)
/* Longest timeout that is armed. A later deadline arms the timer again. */
#define TIMEOUT_MAX	(24 * 3600 * HZ)

static void run_keys(struct omerta_peer *peer)
{
	const struct omerta_key *first = rcu_dereference(peer->first.ring.active);
	u64 now = ktime_get_boottime_ns(), due = U64_MAX, wait;
	struct omerta_peer_channel *pc;

	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		/* The other end has not opened the channel yet. It is opened here if it cannot. */
		if (pc->index && first && READ_ONCE(first->confirmed) && first->handshake &&
		    omerta_keyring_follow(&pc->ring, first->local_id + pc->index))
			pc->probe_at = get_jiffies_64() + PATIENCE_FIRST;
		due = min(due, omerta_keyring_expire(&pc->ring));
	}
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
	read_seqlock_excl_bh(&peer->first.way.lock);
	WRITE_ONCE(peer->moved, false);
	to = peer->first.way.endpoint;
	read_sequnlock_excl_bh(&peer->first.way.lock);
	omerta_event_peer(peer->tun->dev, OMERTA_CMD_PEER_ENDPOINT_NTF, peer->id,
			  &to);
}

/* Only the timer sends peer-silent and peer-alive, so listeners see them in order. */
static void run_contact(struct omerta_peer *peer)
{
	unsigned long since = READ_ONCE(peer->first.waiting_since);

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
	if (READ_ONCE(peer->first.waiting_since) != since)
		omerta_peer_due(peer, jiffies);
}

static void run_confirm(struct omerta_peer *peer)
{
	struct omerta_key *key = rcu_dereference(peer->first.ring.active);
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
		omerta_tx_keepalive(&peer->first);
	}
	omerta_peer_due(peer, at);
}

static void run_answer(struct omerta_peer_channel *pc)
{
	unsigned long at = READ_ONCE(pc->answer_at);
	u64 now = get_jiffies_64();

	if (!at)
		return;
	if (time_before(jiffies, at)) {
		omerta_peer_due(pc->peer, at);
		return;
	}
	/* Empty records, which are answered at once, may come often. */
	if (pc->index && now < pc->answered_at + HZ) {
		omerta_peer_due(pc->peer, jiffies + (pc->answered_at + HZ - now));
		return;
	}
	/* A change means that a record was sent, or that another answer is due. */
	if (cmpxchg(&pc->answer_at, at, 0) == at) {
		pc->answered_at = now;
		omerta_tx_keepalive(pc);
	}
}

/*
 * Open a further channel, and keep it open. The end that opened it sends an empty record when
 * nothing came for a while. The other end answers it, and opens the channel itself if none comes.
 */
static void run_open(struct omerta_peer_channel *pc)
{
	const struct omerta_key *key = rcu_access_pointer(pc->ring.active);
	struct omerta_peer *peer = pc->peer;
	u64 now = get_jiffies_64(), quiet, patience;
	bool ours, active;
	u64 heard_at;

	if (!key || pc->index >= READ_ONCE(peer->n_channels))
		return;
	/* The initiator opens it at once, as it is told by omerta_timers_confirm(). */
	if (!pc->probe_at)
		pc->probe_at = now + PATIENCE_FIRST;
	read_seqlock_excl_bh(&pc->way.lock);
	heard_at = pc->heard_at;
	ours = pc->way.own_port || !pc->way.endpoint.family;
	read_sequnlock_excl_bh(&pc->way.lock);
	quiet = heard_at ? nsecs_to_jiffies64(ktime_get_coarse_boottime_ns() - heard_at) : U64_MAX;
	patience = ours ? PATIENCE : PATIENCE_OTHER;
	/* Cleared first: what is wanted meanwhile is done the next time. */
	active = READ_ONCE(pc->open_now) && xchg(&pc->open_now, 0);
	key = rcu_dereference(pc->ring.active);
	if (!key)
		return;
	if (active || now >= pc->probe_at) {
		if (quiet >= patience)
			omerta_peer_channel_open(pc);
		/* It was opened in vain before, so it carries nothing, not even keepalives. */
		if (quiet >= patience + PATIENCE) {
			read_seqlock_excl_bh(&pc->way.lock);
			if (pc->heard_at == heard_at)
				WRITE_ONCE(pc->carries, false);
			read_sequnlock_excl_bh(&pc->way.lock);
		}
		/* The other end is told that a key is active, as in the first channel. */
		if (active || quiet >= patience || !READ_ONCE(key->confirmed)) {
			omerta_tx_keepalive(pc);
			pc->probe_at = now + PATIENCE;
		} else {
			pc->probe_at = now + patience - quiet;
		}
	}
	omerta_peer_due(peer, jiffies + (pc->probe_at - now));
}

/* Have a further channel carry nothing while it is silent. */
static void run_silence(struct omerta_peer_channel *pc)
{
	unsigned long since = READ_ONCE(pc->waiting_since);

	if (!since || !READ_ONCE(pc->carries))
		return;
	if (time_before(jiffies, since + OMERTA_CHANNEL_SILENCE * HZ)) {
		omerta_peer_due(pc->peer, since + OMERTA_CHANNEL_SILENCE * HZ);
		return;
	}
	if (omerta_peer_channel_silent(pc, since)) {
		omerta_peer_channel_open(pc);
		WRITE_ONCE(pc->open_now, 1);
	}
}

/*
 * While a further channel is in use, send a record in the first one now and then: only that tells
 * the other end of another endpoint.
 */
static void run_first(struct omerta_peer_channel *pc)
{
	struct omerta_peer_channel *first = &pc->peer->first;
	unsigned long at = READ_ONCE(first->tx_last) + PATIENCE;

	if (!READ_ONCE(pc->carries) ||
	    time_after_eq(jiffies, READ_ONCE(pc->tx_last) + PATIENCE))
		return;
	if (time_after_eq(jiffies, at)) {
		omerta_tx_keepalive(first);
		at = jiffies + PATIENCE;
	}
	omerta_peer_due(pc->peer, at);
}

static void run_keepalive(struct omerta_peer_channel *pc)
{
	struct omerta_peer *peer = pc->peer;
	unsigned long interval = READ_ONCE(peer->keepalive) * HZ;
	unsigned long at = READ_ONCE(pc->tx_last) + interval;

	if (!interval || (pc->index && !READ_ONCE(pc->carries)))
		return;
	if (time_after_eq(jiffies, at)) {
		/* It counts as traffic that needs a key: the tunnel should stay up. */
		if (!omerta_tx_keepalive(pc) && !pc->index)
			omerta_key_needed(&pc->ring);
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
	struct omerta_peer_channel *pc;

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
	run_contact(peer);
	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		if (pc->index >= peer->tun->n_channels)
			break;
		if (pc->index) {
			run_silence(pc);
			run_open(pc);
			run_first(pc);
		}
		run_answer(pc);
		run_keepalive(pc);
	}
out:
	rcu_read_unlock();
}

/**
 * omerta_timers_confirm() - tell the other end that a key is active
 * @pc: the channel of the peer
 *
 * Sends an empty record per second until a record under the key arrives. A further channel is
 * opened.
 *
 * Context: process context, the device's lock held.
 */
void omerta_timers_confirm(struct omerta_peer_channel *pc)
{
	struct omerta_key *key;

	lockdep_assert_held(&pc->peer->tun->lock);

	rcu_read_lock();
	key = rcu_dereference(pc->ring.active);
	if (pc->index) {
		WRITE_ONCE(pc->open_now, 1);
	} else if (key) {
		WRITE_ONCE(key->confirm_at, jiffies);
		/* Pairs with the acquire in run_confirm(). */
		smp_store_release(&key->confirm_left, CONFIRM_TRIES);
	}
	rcu_read_unlock();
	omerta_peer_due(pc->peer, jiffies);
}
