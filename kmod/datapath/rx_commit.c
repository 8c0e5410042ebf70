// SPDX-License-Identifier: GPL-2.0
/*
 * Commit: what authentic records do, and whose turn it is. Records of a peer are
 * committed and delivered in the order of their arrival, whichever CPU opens them.
 */
#include "compat/compat.h"
#include "peer/peer.h"
#include "datapath/rx.h"
#include "datapath/rx_burst.h"
#include "datapath/tx.h"

/* A host that accepted data answers within this time, if by nothing else. */
#define ANSWER_TIME	(10 * HZ)
/* Packets to the stack between two looks at the clock, as it may send answers to them. */
#define LOOK_PACKETS	4
/* How long a run of NAPI goes on after the first look, in ns */
#define RUN_TIME	(100 * NSEC_PER_USEC)
/* To commit so many records is as much work as a packet to the stack. */
#define COMMITS		8

/**
 * omerta_rx_release() - give up all that a burst refers to
 * @burst: the burst; nobody works on it any more
 *
 * Context: the device's NAPI, or nothing is received any more.
 */
void omerta_rx_release(struct omerta_rx_burst *burst)
{
	unsigned int i;

	for (i = 0; i < burst->n; i++)
		if (burst->rec[i].outer)
			omerta_rx_free_outer(burst->rec[i].outer);
	consume_skb(burst->inner);
	omerta_key_put(burst->key);
	omerta_peer_put(burst->peer);
	burst->peer = NULL;
}

/* Note a fresh record with its peer, whatever it carries. */
static void note_record(struct omerta_rx_burst *burst, u32 plain_len,
			bool activated)
{
	struct omerta_peer *peer = burst->peer;

	if (unlikely(activated))
		omerta_tx_flush(peer);
	if (plain_len && !READ_ONCE(peer->answer_at)) {
		WRITE_ONCE(peer->answer_at, (jiffies + ANSWER_TIME) | 1);
		omerta_peer_due(peer, jiffies + ANSWER_TIME);
	}
}

/* Judge an opened record: sets what it is dropped for, if so. */
static enum omerta_fresh commit_record(struct omerta_rx_burst *burst,
				       unsigned int i)
{
	const struct omerta_layout *l = omerta_rx_layout(burst, i);
	struct omerta_rx_record *rec = &burst->rec[i];
	enum omerta_fresh fresh;
	bool activated;

	if (unlikely(rec->why == OMERTA_DROP_RX_DROP_AUTH)) {
		omerta_key_auth_failed(burst->key);
		return OMERTA_FRESH_NOT;
	}
	if (unlikely(READ_ONCE(burst->peer->dead) ||
		     !omerta_key_opens(burst->key))) {
		rec->why = OMERTA_DROP_RX_DROP_KEY_EXPIRED;
		return OMERTA_FRESH_NOT;
	}
	fresh = omerta_key_commit(burst->key, rec->counter, l->wire_len,
				  &activated);
	if (unlikely(fresh == OMERTA_FRESH_NOT)) {
		rec->why = OMERTA_DROP_RX_DROP_REPLAY;
		return OMERTA_FRESH_NOT;
	}
	note_record(burst, l->plain_len, activated);
	return fresh;
}

/* Note the fresh records of a burst with their peer. */
static void note_burst(struct omerta_rx_burst *burst, u32 records, u32 bytes,
		       bool newest)
{
	struct omerta_peer *peer = burst->peer;

	omerta_peer_stats_rx(peer->stats, 0, 0, records, bytes);
	WRITE_ONCE(peer->rx_last, ktime_get_coarse_boottime_ns());
	omerta_peer_heard(peer);
	if (newest)
		omerta_peer_move(peer, &burst->from);
}

/* The only record of a burst is through. */
static void finish_single(struct omerta_rx_burst *burst)
{
	struct omerta_rx_record *rec = &burst->rec[0];

	rec->at = burst->buf.block[0];
	if (burst->bad)
		rec->why = OMERTA_DROP_RX_DROP_AUTH;
	else
		omerta_rx_check(rec, &burst->last);
}

/* Judge the opened records of a burst. Returns how much work that was. */
static int commit(struct omerta_rx_burst *burst)
{
	struct omerta_tunnel *tun = burst->peer->tun;
	struct sk_buff *outer = NULL;
	u32 records = 0, bytes = 0;
	bool newest = false;
	unsigned int i;

	burst->committed = true;
	if (burst->n == 1)
		finish_single(burst);
	for (i = 0; i < burst->n; i++) {
		struct omerta_rx_record *rec = &burst->rec[i];
		enum omerta_fresh fresh = commit_record(burst, i);

		if (rec->outer)
			outer = rec->outer;
		if (fresh != OMERTA_FRESH_NOT) {
			records++;
			bytes += omerta_rx_layout(burst, i)->wire_len;
			newest |= fresh == OMERTA_FRESH_NEWEST;
		}
		if (unlikely(rec->why != OMERTA_NO_DROP)) {
			omerta_drop(tun->drops, NULL, rec->why);
			*omerta_rx_why(outer) = rec->why;
		}
	}
	if (records)
		note_burst(burst, records, bytes, newest);
	return burst->n / COMMITS;
}

/* It is a peer's turn if the burst at its fifo's head is open. */
static void see_head(struct omerta_tunnel *tun, struct omerta_peer *peer)
{
	struct omerta_rx_burst *burst;

	burst = list_first_entry_or_null(&peer->rx_fifo, struct omerta_rx_burst, list);
	if (burst && burst->opened)
		list_move_tail(&peer->rx_ready, &tun->rx_ready);
	else
		list_del_init(&peer->rx_ready);
}

/**
 * omerta_rx_opened() - note that all of a burst is open
 * @burst: the burst, in its peer's fifo
 *
 * Context: the device's NAPI, inside an RCU read-side section.
 */
void omerta_rx_opened(struct omerta_rx_burst *burst)
{
	burst->opened = true;
	if (list_empty(&burst->peer->rx_ready))
		see_head(burst->peer->tun, burst->peer);
}

/**
 * omerta_rx_take_done() - take back what other CPUs have opened
 * @tun: the device
 *
 * Context: as omerta_rx_opened().
 */
void omerta_rx_take_done(struct omerta_tunnel *tun)
{
	struct omerta_rx_burst *burst, *tmp;
	struct llist_node *done;

	if (llist_empty(&tun->rx_done))
		return;
	/* A burst stays at least until it is marked here. */
	done = llist_reverse_order(llist_del_all(&tun->rx_done));
	llist_for_each_entry_safe(burst, tmp, done, done)
		omerta_rx_opened(burst);
}

/* A burst is through. The peer stays to the end of the RCU section. */
static void end_burst(struct omerta_tunnel *tun, struct omerta_rx_burst *burst)
{
	struct omerta_peer *peer = burst->peer;

	list_del(&burst->list);
	tun->rx_inflight--;
	see_head(tun, peer);
	/* A worker that never came to it may refer to it for long. */
	omerta_rx_release(burst);
	omerta_job_put(&burst->job);
}

static struct omerta_rx_burst *next_burst(struct omerta_tunnel *tun)
{
	struct omerta_peer *peer;

	peer = list_first_entry_or_null(&tun->rx_ready, struct omerta_peer, rx_ready);
	if (!peer)
		return NULL;
	return list_first_entry(&peer->rx_fifo, struct omerta_rx_burst, list);
}

/**
 * omerta_rx_time_left() - how long a run of NAPI may go on
 * @until: when it is to end; 0 before the first call, from which on its time runs
 *
 * Return: ns; 0 or less if it is to end.
 */
s64 omerta_rx_time_left(u64 *until)
{
	u64 now = ktime_get_ns();

	if (!*until)
		*until = now + RUN_TIME;
	return *until - now;
}

/**
 * omerta_rx_deliver() - commit what is open, and hand its packets to the stack
 * @tun: the device
 * @budget: about how many packets at most; more than 0
 * @until: see omerta_rx_time_left()
 *
 * Peers take turns. What is left of a burst is for the next time.
 *
 * Context: the device's NAPI, inside an RCU read-side section.
 * Return: how much was done; less than @budget if nothing is left.
 */
int omerta_rx_deliver(struct omerta_tunnel *tun, int budget, u64 *until)
{
	struct omerta_rx_burst *burst;
	int work = 0, look = LOOK_PACKETS;

	if (*until && omerta_rx_time_left(until) <= 0)
		return budget;
	while (work < budget && (burst = next_burst(tun))) {
		if (!burst->committed)
			work += commit(burst);
		do {
			work += omerta_rx_deliver_burst(burst, min(budget, look) - work);
			if (work < look)
				continue;
			look = work + LOOK_PACKETS;
			if (omerta_rx_time_left(until) <= 0)
				work = max(work, budget);
		} while (burst->next < burst->n && work < budget);
		if (burst->next == burst->n)
			end_burst(tun, burst);
		else
			see_head(tun, burst->peer);
	}
	return work;
}

/* Count what is left of a burst as dropped. */
static void drop_left(struct omerta_tunnel *tun, struct omerta_rx_burst *burst)
{
	struct sk_buff *outer = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < burst->n; i++) {
		struct omerta_rx_record *rec = &burst->rec[i];

		if (rec->outer)
			outer = rec->outer;
		/* Others have been counted. */
		if (i < burst->next || (burst->committed && rec->why != OMERTA_NO_DROP))
			continue;
		*omerta_rx_why(outer) = OMERTA_DROP_RX_DROP_DOWN;
		n++;
	}
	omerta_drop_many(tun->drops, NULL, OMERTA_DROP_RX_DROP_DOWN, n);
}

/**
 * omerta_rx_purge() - drop what has been opened but not delivered
 * @tun: the device; its NAPI is disabled, its workers are idle
 *
 * Context: process context.
 */
void omerta_rx_purge(struct omerta_tunnel *tun)
{
	struct omerta_rx_burst *burst;

	rcu_read_lock();
	omerta_rx_take_done(tun);
	while ((burst = next_burst(tun))) {
		drop_left(tun, burst);
		end_burst(tun, burst);
	}
	rcu_read_unlock();
}
