// SPDX-License-Identifier: GPL-2.0
/*
 * Commit opened records, and schedule the delivery of bursts. The records of a peer are
 * committed and delivered in the order of their arrival, whichever CPU opened them.
 */
#include "datapath/rx_burst.h"

#include "compat/compat.h"
#include "datapath/rx.h"
#include "datapath/trace.h"
#include "datapath/tx.h"

/* A host that has accepted data answers within this time, with a keepalive if need be. */
#define ANSWER_TIME	(10 * HZ)
/* So it does in a further channel, since its silence is noticed earlier. */
#define CHANNEL_ANSWER_TIME	(HZ / 2)
/* Packets to the stack between two checks of the time, as it may send answers to them. */
#define CHECK_PACKETS	4
/* A run of NAPI ends this long after the first check, in ns. */
#define RUN_TIME	(100 * NSEC_PER_USEC)
/* Records whose commit is as much work as a packet to the stack. */
#define COMMITS		8

/**
 * omerta_rx_free_outer() - free a datagram
 * @outer: the datagram. If a record of it was dropped, drop monitors see it as dropped.
 *
 * Context: the channel's NAPI, or nothing is received any more; BH off.
 */
void omerta_rx_free_outer(struct sk_buff *outer)
{
	enum omerta_drop reason = OMERTA_RX_CB(outer)->reason;

	if (likely(!reason))
		napi_consume_skb(outer, 1);
	else
		omerta_drop_free(outer, reason);
}

/**
 * omerta_rx_release() - put all references that a burst holds
 * @burst: the burst; no CPU works on it any more
 *
 * Context: the channel's NAPI, or nothing is received any more; BH off.
 */
void omerta_rx_release(struct omerta_rx_burst *burst)
{
	unsigned int i;

	for (i = 0; i < burst->n; i++)
		if (burst->rec[i].outer)
			omerta_rx_free_outer(burst->rec[i].outer);
	consume_skb(burst->inner);
	burst->peer = NULL;
	omerta_key_put(burst->key);
}

/* Accept an opened record, or set the reason to drop it. @activated is set as by the key. */
static enum omerta_fresh commit_record(struct omerta_rx_burst *burst,
				       unsigned int i, bool *activated)
{
	const struct omerta_layout *l = OMERTA_RX_LAYOUT(burst, i);
	struct omerta_rx_record *rec = &burst->rec[i];
	struct omerta_peer_channel *pc = burst->pc;
	struct omerta_peer *peer = burst->peer;
	enum omerta_fresh fresh;

	if (unlikely(rec->reason == OMERTA_DROP_RX_AUTH)) {
		omerta_key_auth_failed(burst->key);
		return OMERTA_FRESH_NOT;
	}
	if (unlikely(READ_ONCE(peer->dead))) {
		rec->reason = OMERTA_DROP_RX_KEY_EXPIRED;
		return OMERTA_FRESH_NOT;
	}
	fresh = omerta_key_commit(burst->key, rec->counter, l->wire_len, activated);
	if (unlikely(fresh == OMERTA_FRESH_NOT)) {
		rec->reason = omerta_key_can_open(burst->key) ? OMERTA_DROP_RX_REPLAY :
								OMERTA_DROP_RX_KEY_EXPIRED;
		return OMERTA_FRESH_NOT;
	}
	/*
	 * In a further channel, the end that did not open it answers an empty record. The other
	 * end answers the first one of a key.
	 */
	if ((l->plain_len ||
	     (pc->index && (!burst->own_port || burst->key->rx_records == 1))) &&
	    !READ_ONCE(pc->answer_at)) {
		unsigned long at = jiffies;

		if (l->plain_len)
			at += pc->index ? CHANNEL_ANSWER_TIME : ANSWER_TIME;
		WRITE_ONCE(pc->answer_at, at | 1);
		omerta_peer_due(peer, at);
	}
	return fresh;
}

/* Commit the records of a burst. Returns the work in packets to the stack. */
static int commit_burst(struct omerta_rx_burst *burst)
{
	struct omerta_peer_channel *pc = burst->pc;
	struct omerta_peer *peer = burst->peer;
	struct sk_buff *outer = NULL;
	bool newest = false, activated = false;
	u32 records = 0, bytes = 0;
	unsigned int i;

	burst->committed = true;
	if (burst->n == 1)
		omerta_rx_check(burst, 0, !burst->bad);
	/* Records of a key may arrive at several channels. */
	spin_lock(&burst->key->rx_lock);
	for (i = 0; i < burst->n; i++) {
		struct omerta_rx_record *rec = &burst->rec[i];
		enum omerta_fresh fresh = commit_record(burst, i, &activated);

		trace_omerta_rx_commit(burst, rec);
		if (rec->outer)
			outer = rec->outer;
		if (fresh != OMERTA_FRESH_NOT) {
			records++;
			bytes += OMERTA_RX_LAYOUT(burst, i)->wire_len;
			newest |= fresh == OMERTA_FRESH_NEWEST;
		}
		if (unlikely(rec->reason)) {
			omerta_drop(burst->ch, NULL, rec->reason, 1);
			OMERTA_RX_CB(outer)->reason = rec->reason;
		}
	}
	if (newest && !pc->index)
		omerta_peer_set_endpoint(peer, &burst->from, true);
	spin_unlock(&burst->key->rx_lock);
	if (records) {
		WRITE_ONCE(burst->ch->rx_records, burst->ch->rx_records + records);
		omerta_peer_stats_rx(peer->stats, 0, 0, records, bytes);
		WRITE_ONCE(peer->rx_last, ktime_get_coarse_boottime_ns());
		if (pc->index && newest) {
			omerta_peer_channel_heard(pc, burst->key, &burst->from,
						  burst->own_port &&
						  burst->ch->index == pc->index);
		} else if (!pc->index && READ_ONCE(pc->waiting_since)) {
			/* Pairs with the barrier in run_contact(), which xchg() implies. */
			xchg(&pc->waiting_since, 0);
			if (unlikely(READ_ONCE(peer->silent_since)))
				omerta_peer_due(peer, jiffies);
		}
	}
	if (unlikely(activated))
		omerta_tx_flush(peer);
	return burst->n / COMMITS;
}

/**
 * omerta_rx_opened() - note that every record of a burst is opened
 * @burst: the burst. The first one of a peer and channel gets a turn.
 *
 * Context: the channel's NAPI, inside an RCU read-side section.
 */
void omerta_rx_opened(struct omerta_rx_burst *burst)
{
	burst->opened = true;
	if (hash_hashed(&burst->by_peer))
		list_add_tail(&burst->ready, &burst->ch->rx_ready);
}

/**
 * omerta_rx_take_done() - take the bursts that other CPUs have opened
 * @ch: the channel
 *
 * Context: as omerta_rx_opened().
 */
void omerta_rx_take_done(struct omerta_channel *ch)
{
	struct omerta_rx_burst *burst, *tmp;
	struct llist_node *done;

	if (llist_empty(&ch->rx_done))
		return;
	/* A burst stays at least until it is marked here. */
	done = llist_reverse_order(llist_del_all(&ch->rx_done));
	llist_for_each_entry_safe(burst, tmp, done, done)
		omerta_rx_opened(burst);
}

/*
 * Finish a burst that is delivered. The next one of its peer is the first now. The peer stays
 * until the end of the RCU section.
 */
static void end_burst(struct omerta_channel *ch, struct omerta_rx_burst *burst)
{
	struct omerta_rx_burst *next = list_next_entry(burst, list);

	hash_del(&burst->by_peer);
	list_del(&burst->ready);
	if (next != burst) {
		list_del(&burst->list);
		hash_add(ch->rx_peers, &next->by_peer, (unsigned long)next->peer);
		if (next->opened)
			list_add_tail(&next->ready, &ch->rx_ready);
	}
	ch->rx_inflight--;
	/*
	 * A worker that never runs may hold its reference for a long time: release the
	 * burst's resources now.
	 */
	omerta_rx_release(burst);
	omerta_job_put(&burst->job);
}

/**
 * omerta_rx_time_left() - return the rest of a NAPI run's time
 * @until: end of the run; 0 before the first call, which sets it
 *
 * Return: ns; 0 or less if the run should end.
 */
s64 omerta_rx_time_left(u64 *until)
{
	u64 now = ktime_get_ns();

	if (!*until)
		*until = now + RUN_TIME;
	return *until - now;
}

/**
 * omerta_rx_deliver() - commit opened bursts, and deliver their packets to the stack
 * @ch: the channel
 * @budget: most packets, approximately; more than 0
 * @until: see omerta_rx_time_left()
 *
 * Peers take turns. The rest of a burst is left to the next call.
 *
 * Context: the channel's NAPI, inside an RCU read-side section.
 * Return: work done, in packets; less than @budget if nothing is left.
 */
int omerta_rx_deliver(struct omerta_channel *ch, int budget, u64 *until)
{
	struct omerta_rx_burst *burst;
	int work = 0, check = CHECK_PACKETS;

	if (*until && omerta_rx_time_left(until) <= 0)
		return budget;
	while (work < budget &&
	       (burst = list_first_entry_or_null(&ch->rx_ready, struct omerta_rx_burst, ready))) {
		if (!burst->committed)
			work += commit_burst(burst);
		do {
			work += omerta_rx_deliver_burst(burst, min(budget, check) - work);
			if (work < check)
				continue;
			check = work + CHECK_PACKETS;
			if (omerta_rx_time_left(until) <= 0)
				work = max(work, budget);
		} while (burst->next < burst->n && work < budget);
		if (burst->next == burst->n)
			end_burst(ch, burst);
		else
			list_move_tail(&burst->ready, &ch->rx_ready);
	}
	return work;
}

/**
 * omerta_rx_purge() - drop bursts that are opened but not delivered
 * @ch: the channel; its NAPI is disabled, and the device's workers are idle
 *
 * Context: process context.
 */
void omerta_rx_purge(struct omerta_channel *ch)
{
	struct omerta_rx_burst *burst;
	struct sk_buff *outer = NULL;
	unsigned int i, n;

	local_bh_disable();
	rcu_read_lock();
	omerta_rx_take_done(ch);
	while ((burst = list_first_entry_or_null(&ch->rx_ready, struct omerta_rx_burst,
						 ready))) {
		for (i = 0, n = 0; i < burst->n; i++) {
			struct omerta_rx_record *rec = &burst->rec[i];

			if (rec->outer)
				outer = rec->outer;
			/* Records that were delivered or dropped have been counted. */
			if (i < burst->next || (burst->committed && rec->reason))
				continue;
			OMERTA_RX_CB(outer)->reason = OMERTA_DROP_RX_DOWN;
			n++;
		}
		omerta_drop(ch, NULL, OMERTA_DROP_RX_DOWN, n);
		end_burst(ch, burst);
	}
	rcu_read_unlock();
	local_bh_enable();
}
