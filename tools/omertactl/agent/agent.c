// SPDX-License-Identifier: GPL-2.0
#include "agent/agent.h"

#include "agent/agent_peers.h"
#include "lib/keygen.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* A key id that was used */
struct om_agent_used {
	uint32_t id;
	uint64_t at;
	struct om_agent_used *next;	/* the next one used after it */
	struct om_map_node node;
};

void om_agent_init(struct om_agent *agent, const struct om_agent_ops *ops,
		   void *ctx)
{
	agent->ops = ops;
	agent->ctx = ctx;
	om_agent_peers_init(agent);
	OM_MAP_INIT(&agent->used, struct om_agent_used, node, id);
	agent->oldest = NULL;
	agent->youngest = &agent->oldest;
	memset(agent->latest, 0, sizeof(agent->latest));
	memset(agent->ahead, 0, sizeof(agent->ahead));
	memset(agent->trouble, 0, sizeof(agent->trouble));
	memset(agent->count, 0, sizeof(agent->count));
	agent->takens = 0;
}

static void forget_oldest_id(struct om_agent *agent)
{
	struct om_agent_used *used = agent->oldest;

	om_map_remove(&agent->used, &used->node);
	agent->oldest = used->next;
	if (!agent->oldest)
		agent->youngest = &agent->oldest;
	free(used);
}

void om_agent_free(struct om_agent *agent)
{
	om_agent_peers_free(agent);
	while (agent->oldest)
		forget_oldest_id(agent);
	om_map_free(&agent->used);
	sodium_memzero(agent->taken, sizeof(agent->taken));
	sodium_memzero(&agent->host, sizeof(agent->host));
}

static bool are_new_ids(const struct om_agent *agent, uint32_t id, uint8_t n)
{
	if (!id || id > UINT32_MAX - (n - 1U))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (om_map_find(&agent->used, &(uint32_t){ id + i }))
			return false;
	return true;
}

/*
 * Return the first of several random key ids that follow each other and were not used in
 * OM_AGENT_ID_MS, as records under them may still be in flight. The memory is bounded: an id
 * forgotten too early comes again with a probability of 1 in 2^32.
 */
static uint32_t new_ids(struct om_agent *agent, uint64_t now, uint8_t n)
{
	struct om_agent_used *used;
	uint32_t id;

	while (agent->oldest && (now - agent->oldest->at >= OM_AGENT_ID_MS ||
				 agent->used.n + n > OM_AGENT_IDS))
		forget_oldest_id(agent);
	do
		id = randombytes_random();
	while (!are_new_ids(agent, id, n));
	for (uint32_t i = 0; i < n; i++) {
		used = calloc(1, sizeof(*used));
		if (!used)
			abort();
		used->id = id + i;
		used->at = now;
		om_map_add(&agent->used, &used->node);
		*agent->youngest = used;
		agent->youngest = &used->next;
	}
	return id;
}

/* Return the time at which a peer is due, UINT64_MAX for never. */
static uint64_t due(const struct om_agent_peer *peer)
{
	if (peer->tries)
		return peer->retry_at < peer->give_up_at ? peer->retry_at :
							   peer->give_up_at;
	if (peer->wanted)
		return peer->hold_until;
	return peer->better_at ? peer->better_at : UINT64_MAX;
}

/*
 * Outcomes
 */

_Static_assert(OMERTA_A_AGENT_STATS_FAILED_SYSTEM - OMERTA_A_AGENT_STATS_FAILED_NO_ANSWER ==
	       OMERTA_FAILURE_SYSTEM, "a counter of each failure");

static void set_failure(struct om_agent *agent, struct om_agent_peer *peer, int why)
{
	if (peer->failure == why)
		return;
	peer->failure = why;
	agent->ops->changed(agent->ctx, peer);
}

static void fail(struct om_agent *agent, struct om_agent_peer *peer, enum omerta_failure why)
{
	agent->count[OMERTA_A_AGENT_STATS_FAILED_NO_ANSWER + why]++;
	set_failure(agent, peer, (int)why);
}

/* The same for a failure that can be caused by forgery or replay, or does not matter now */
static void fail_in_vain(struct om_agent *agent, struct om_agent_peer *peer,
			 enum omerta_failure why, uint64_t now)
{
	if (now >= peer->works_until)
		fail(agent, peer, why);
	else
		agent->count[OMERTA_A_AGENT_STATS_FAILED_NO_ANSWER + why]++;
}

/* The latest initiation was sent, and no key followed. */
static void fail_unanswered(struct om_agent *agent, struct om_agent_peer *peer)
{
	if (peer->sent)
		fail(agent, peer, peer->last ? OMERTA_FAILURE_LAST_TIME :
				  peer->unopened_now ? OMERTA_FAILURE_NOT_OPENED :
				  OMERTA_FAILURE_NO_ANSWER);
}

/* A key that was made with the peer is in use. */
static void succeed(struct om_agent *agent, struct om_agent_peer *peer, uint8_t mode)
{
	agent->count[OMERTA_A_AGENT_STATS_DONE]++;
	peer->since = 0;
	peer->failure = -1;
	peer->kind = (om_key_is_zero(peer->hs.psk) ? 0 : OMERTA_KEY_KIND_PSK) |
		     (mode & OM_HS_MLKEM ? OMERTA_KEY_KIND_ML_KEM : 0);
	agent->ops->changed(agent->ctx, peer);
}

/*
 * As initiator
 */

/* Drop the handshake that waits for an answer. */
static void drop_sent(struct om_agent *agent, struct om_agent_peer *peer)
{
	peer->sent = false;
	om_agent_peers_sent(agent, peer, false);
	om_hs_wipe(&peer->begun);
}

static void stop_trying(struct om_agent *agent, struct om_agent_peer *peer)
{
	drop_sent(agent, peer);
	peer->tries = 0;
	peer->wanted = false;
	peer->eager = false;
	peer->better_at = 0;
}

/* Add the smallest unit to a time. */
static void increment(uint8_t time[OM_HS_TIME])
{
	int i = OM_HS_TIME;

	while (i && !++time[--i])
		;
}

/* TAI64 reserves the values with the first bit set. */
static bool is_time(const uint8_t time[OM_HS_TIME])
{
	return !(time[0] & 0x80);
}

/* Return true for the last second of TAI64, after which there are no valid times. */
static bool is_last(const uint8_t time[OM_HS_TIME])
{
	static const uint8_t last[8] = { 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	return memcmp(time, last, sizeof(last)) >= 0;
}

/* Add seconds to a time, unless the sum would be invalid. */
static void add_seconds(uint8_t time[OM_HS_TIME], unsigned int seconds)
{
	uint8_t sum[OM_HS_TIME];
	int i = 8;

	memcpy(sum, time, sizeof(sum));
	for (; seconds && i; seconds >>= 8) {
		seconds += sum[--i];
		sum[i] = (uint8_t)seconds;
	}
	if (is_time(sum))
		memcpy(time, sum, sizeof(sum));
}

/* Make sure that the stored time is not before @time. */
static bool remember_own(struct om_agent *agent, const uint8_t time[OM_HS_TIME])
{
	struct om_agent_memory own = { .public = NULL };

	if (memcmp(time, agent->ahead, OM_HS_TIME) <= 0)
		return true;
	memcpy(own.time, time, sizeof(own.time));
	add_seconds(own.time, OM_AGENT_AHEAD_S);
	if (!agent->ops->remember(agent->ctx, &own, 1))
		return false;
	memcpy(agent->ahead, own.time, sizeof(agent->ahead));
	return true;
}

/*
 * Return a time greater than all before, even if the clock jumps: the other end requires it.
 * For a peer that knows a later time of ours it is greater than that, too; other peers are
 * not affected.
 */
static bool next_time(struct om_agent *agent, struct om_agent_peer *peer,
		      uint8_t time[OM_HS_TIME])
{
	agent->ops->clock(agent->ctx, time);
	if (memcmp(time, agent->latest, OM_HS_TIME) <= 0) {
		memcpy(time, agent->latest, OM_HS_TIME);
		increment(time);
	}
	memcpy(agent->latest, time, OM_HS_TIME);
	if (!remember_own(agent, time))
		return false;
	peer->raised = memcmp(time, peer->floor, OM_HS_TIME) <= 0;
	if (peer->raised) {
		increment(peer->floor);
		memcpy(time, peer->floor, OM_HS_TIME);
	}
	return is_time(time);
}

static bool may_use(const struct om_agent_peer *peer, uint8_t mode)
{
	return peer->kem == OM_KEM_ON ||
	       (peer->kem == OM_KEM_REQUIRED) == !!(mode & OM_HS_MLKEM);
}

/* The mode with everything that this end wants */
static uint8_t fullest(const struct om_agent_peer *peer)
{
	return (peer->kem == OM_KEM_OFF ? OM_HS_CLASSIC : OM_HS_MLKEM) |
	       (peer->channels > 1 ? OM_HS_CHANNELS : 0);
}

/* List the modes to be tried, in that order. Returns their number. */
static unsigned int list_modes(const struct om_agent_peer *peer, uint8_t modes[OM_HS_MODES])
{
	static const uint8_t order[OM_HS_MODES] = {
		OM_HS_MLKEM | OM_HS_CHANNELS, OM_HS_CLASSIC, OM_HS_MLKEM, OM_HS_CHANNELS
	};
	unsigned int n = 0;

	modes[n++] = fullest(peer);
	for (unsigned int i = 0; i < OM_HS_MODES; i++)
		if (order[i] != modes[0] && may_use(peer, order[i]) &&
		    (peer->channels > 1 || !(order[i] & OM_HS_CHANNELS)))
			modes[n++] = order[i];
	return n;
}

/*
 * An end that lacks a mode, or must not use it, does not answer. So all modes that are allowed are
 * tried: first the mode of the latest key, then two tries of each in turn, since every second
 * try yields.
 */
static uint8_t next_mode(const struct om_agent_peer *peer)
{
	uint8_t modes[OM_HS_MODES], latest = peer->mode;
	unsigned int n = list_modes(peer, modes), first = 0;

	/* The other end may have wanted channels. */
	if (peer->channels == 1)
		latest &= ~OM_HS_CHANNELS;
	while (peer->agreed && first < n && modes[first] != latest)
		first++;
	return modes[(first + peer->vain / 2) % n];
}

void om_agent_configure(struct om_agent *agent, uint64_t now, struct om_agent_peer *peer,
			enum om_kem_policy kem, uint8_t channels)
{
	bool more = channels > peer->channels;

	if (peer->kem != kem || peer->channels != channels) {
		peer->better_tries = 0;
		peer->refused_at = 0;
	}
	peer->kem = kem;
	peer->channels = channels;
	if (!more)
		return;
	/* In the fullest mode, and with the new number */
	peer->agreed = false;
	if (peer->sent && peer->begun.channels < channels)
		drop_sent(agent, peer);
	if (now < peer->works_until)
		om_agent_tell(agent, now, peer->id, OM_AGENT_KEY_SOFT, 0);
}

bool om_agent_unanswered(const struct om_agent_peer *peer)
{
	uint8_t modes[OM_HS_MODES];

	/* Two tries of each but the first */
	return peer->tries > 2 * list_modes(peer, modes) - 1;
}

/* A key is in use. Report changes of its mode if there was a choice. */
static void see_mode(struct om_agent *agent, struct om_agent_peer *peer,
		     uint8_t mode)
{
	uint8_t modes[OM_HS_MODES];
	bool several = list_modes(peer, modes) > 1;

	if (several && !(peer->agreed && peer->mode == mode))
		agent->ops->agreed(agent->ctx, peer->id, mode);
	peer->agreed = several;
	peer->mode = mode;
	peer->vain = 0;
	if (!(fullest(peer) & ~mode))
		peer->better_tries = 0;
}

/*
 * A key is in use. If its mode has less than this end wants, the reason may have been a lost
 * message, or an end that was down: try the fullest mode again.
 */
static void plan_better(struct om_agent_peer *peer, uint8_t mode, uint64_t now,
			uint64_t wait)
{
	if (fullest(peer) & ~mode &&
	    (peer->better_tries < OM_AGENT_BETTER_TRIES || now >= peer->better_from))
		peer->better_at = now + wait;
}

/* Expect a cookie for the latest message to a peer. */
static void watch_cookies(struct om_agent *agent, struct om_agent_peer *peer)
{
	om_agent_peers_hide_mac1(agent, peer);
	om_agent_peers_show_mac1(agent, peer);
}

static void send_initiation(struct om_agent *agent, struct om_agent_peer *peer,
			    uint8_t mode, uint64_t now)
{
	enum omerta_failure unreached = OMERTA_FAILURE_NO_ENDPOINT, why = OMERTA_FAILURE_SYSTEM;
	uint8_t msg[OM_HS_LEN_MAX];
	size_t len;

	drop_sent(agent, peer);
	if (!agent->ops->reach(agent->ctx, peer->id, &unreached)) {
		if (peer->tries)
			fail(agent, peer, unreached);
		return;
	}
	if (!next_time(agent, peer, peer->sent_time) ||
	    !agent->ops->epoch(agent->ctx, &peer->sent_epoch)) {
		/* A try for a fuller mode is beside a key that works. */
		if (peer->tries)
			fail(agent, peer, why);
		return;
	}
	peer->sent_id = new_ids(agent, now, peer->channels);
	om_agent_peers_hide_mac1(agent, peer);
	len = om_hs_initiate(&peer->begun, mode, peer->channels, &agent->host, &peer->hs,
			     peer->sent_time, peer->sent_id, now, msg);
	if (len)
		watch_cookies(agent, peer);
	peer->sent = len && agent->ops->send_peer(agent->ctx, peer->id, peer->sent_id,
						  msg, len);
	peer->counts_until = now + OM_AGENT_CROSS_MS;
	if (peer->sent) {
		om_agent_peers_sent(agent, peer, true);
		return;
	}
	drop_sent(agent, peer);
	if (peer->tries)
		fail(agent, peer, len ? OMERTA_FAILURE_NOT_SENT : OMERTA_FAILURE_SYSTEM);
}

static void begin(struct om_agent *agent, struct om_agent_peer *peer,
		  uint8_t mode, uint64_t now)
{
	peer->retry_at = now + OM_AGENT_RETRY_MS +
			 randombytes_uniform(OM_AGENT_JITTER_MS);
	peer->cookie_again = false;
	peer->time_again = false;
	peer->unopened_now = false;
	agent->count[OMERTA_A_AGENT_STATS_BEGUN]++;
	send_initiation(agent, peer, mode, now);
}

/* Restart a try with another message, unless @done: it was restarted for this cause before. */
static void again(struct om_agent *agent, struct om_agent_peer *peer, bool *done,
		  uint64_t now)
{
	if (*done)
		return;
	*done = true;
	send_initiation(agent, peer, peer->begun.mode, now);
	/* A try for a fuller mode ends if its initiation cannot be sent. */
	if (!peer->sent)
		peer->better_at = 0;
}

static void tell_trouble(struct om_agent *agent, struct om_agent_peer *peer,
			 enum om_agent_trouble trouble, uint8_t mode, uint64_t now)
{
	if (peer->told[trouble] || now < peer->works_until)
		return;
	peer->told[trouble] = true;
	agent->ops->trouble(agent->ctx, peer->id, trouble, mode);
}

/* A key is in use: report new trouble again. */
static void forget_trouble(struct om_agent_peer *peer, uint64_t now)
{
	peer->works_until = now + OM_AGENT_OPEN_S * 1000;
	memset(peer->told, 0, sizeof(peer->told));
	peer->unused = 0;
	peer->unopened = false;
}

static void initiate(struct om_agent *agent, struct om_agent_peer *peer,
		     uint64_t now)
{
	if (peer->unopened && peer->vain >= OM_AGENT_FAILED)
		tell_trouble(agent, peer, OM_AGENT_UNOPENED, peer->begun.mode, now);
	if (peer->tries)
		fail_unanswered(agent, peer);
	peer->better_at = 0;
	peer->tries++;
	peer->vain++;
	peer->since++;
	agent->ops->changed(agent->ctx, peer);
	if (om_agent_unanswered(peer))
		agent->ops->unanswered(agent->ctx, peer);
	begin(agent, peer, next_mode(peer), now);
}

/*
 * Try the fullest mode; then, for an end from before there were channels, ML-KEM alone. Or end such
 * a try, or an initiation that yielded, as its answer is late.
 */
static void try_better(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now)
{
	bool alone = peer->sent && peer->begun.mode == (OM_HS_MLKEM | OM_HS_CHANNELS) &&
		     !(peer->mode & OM_HS_MLKEM) && fullest(peer) == peer->begun.mode;

	if (alone) {
		begin(agent, peer, OM_HS_MLKEM, now);
	} else if (!peer->sent && fullest(peer) != OM_HS_CLASSIC) {
		peer->better_tries++;
		peer->better_from = now + OM_AGENT_BETTER_EACH_MS;
		begin(agent, peer, fullest(peer), now);
	} else {
		drop_sent(agent, peer);
	}
	peer->better_at = peer->sent ? peer->retry_at : 0;
}

/*
 * Begin with a first try again, unless traffic asked for the current tries: the device is up
 * now, or the other end may know us.
 */
static void begin_again(struct om_agent_peer *peer, uint64_t at)
{
	if (!peer->eager)
		return;
	peer->eager = false;
	peer->tries = 0;
	peer->wanted = true;
	peer->hold_until = at;
}

/* A key is wanted. The handshake begins when the peer is due; the other end may come first. */
static void want(struct om_agent_peer *peer, uint64_t now)
{
	peer->give_up_at = now + OM_AGENT_GIVE_UP_MS;
	begin_again(peer, now);
	peer->wanted = !peer->tries;
	/* The latest try was not sent: the device was down, or had no route. */
	if (peer->tries && !peer->sent)
		peer->retry_at = now;
}

/* A key is wanted before traffic. The device or the peer may be down. */
static void want_early(struct om_agent_peer *peer, uint64_t now)
{
	if (peer->tries || peer->wanted)
		return;
	want(peer, now);
	peer->eager = true;
}

/* An identity has changed: keys, offers and tries from before are void. */
static void want_anew(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now)
{
	if (peer->eager)
		return;
	stop_trying(agent, peer);
	memset(peer->offered, 0, sizeof(peer->offered));
	forget_trouble(peer, now);
	peer->since = 0;
	peer->kind = -1;
	peer->failure = -1;
	agent->ops->changed(agent->ctx, peer);
	peer->works_until = 0;
	peer->hold_until = now;
	want(peer, now);
	peer->eager = true;
}

static bool install(struct om_agent *agent, struct om_agent_peer *peer,
		    uint32_t local_id, bool initiator, int64_t epoch,
		    struct om_hs_keys *keys)
{
	struct om_agent_key key = {
		.peer_id = peer->id,
		.local_id = local_id,
		.initiator = initiator,
		.epoch = epoch,
		.soft_s = initiator ? OM_AGENT_SOFT_S -
				randombytes_uniform(OM_AGENT_SOFT_JITTER_S) :
			  OM_AGENT_LATE_S,
		.keys = *keys,
	};
	enum omerta_failure why = OMERTA_FAILURE_SYSTEM;
	bool ok = agent->ops->install(agent->ctx, &key, &why);

	sodium_memzero(&key, sizeof(key));
	sodium_memzero(keys, sizeof(*keys));
	if (!ok)
		fail(agent, peer, why);
	return ok;
}

static void take_response(struct om_agent *agent, struct om_agent_peer *peer,
			  uint64_t now, const uint8_t *msg, size_t len)
{
	uint8_t mode = peer->begun.mode;
	struct om_hs_keys keys;

	/* PostQuantum may have changed since the initiation. */
	if (!may_use(peer, mode))
		return;
	if (!om_hs_read_response(&peer->begun, &peer->hs, msg, len, &keys)) {
		agent->trouble[OM_AGENT_UNOPENED]++;
		peer->unopened = true;
		peer->unopened_now = true;
		/* This was the answer. An initiation of the other end is accepted from now on. */
		peer->counts_until = now;
		return;
	}
	/* If the kernel refuses the key, the tries continue. */
	drop_sent(agent, peer);
	peer->better_at = 0;
	peer->vain = 0;
	peer->last = false;
	if (!install(agent, peer, peer->sent_id, true, peer->sent_epoch, &keys))
		return;
	stop_trying(agent, peer);
	forget_trouble(peer, now);
	succeed(agent, peer, mode);
	see_mode(agent, peer, mode);
	plan_better(peer, mode, now, OM_AGENT_HOLD_MS);
}

static void tell_time(struct om_agent *agent, struct om_agent_peer *peer,
		      enum om_agent_time news, uint64_t now)
{
	uint64_t *told = &peer->time_told[news];

	if (*told && now - *told < OM_AGENT_TELL_MS)
		return;
	*told = now;
	agent->ops->times(agent->ctx, peer->id, news);
}

/*
 * The peer knows a later time of ours: continue from there with this peer. A message with
 * the initiation's own time says that the initiation, or a copy of it, was accepted: the
 * answer may be in flight.
 */
static void take_time(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now,
		      const uint8_t *msg, size_t len)
{
	uint8_t time[OM_HS_TIME];

	if (!may_use(peer, peer->begun.mode) ||
	    !om_hs_read_time(&peer->begun, &peer->hs, msg, len, time) ||
	    memcmp(time, peer->sent_time, OM_HS_TIME) <= 0)
		return;
	if (is_last(time)) {
		if (!peer->last)
			tell_time(agent, peer, OM_AGENT_TIME_LAST, now);
		peer->last = true;
		return;
	}
	if (!peer->raised)
		tell_time(agent, peer, OM_AGENT_TIME_RAISED, now);
	peer->raised = true;
	if (memcmp(time, peer->floor, OM_HS_TIME) > 0)
		memcpy(peer->floor, time, OM_HS_TIME);
	again(agent, peer, &peer->time_again, now);
}

/*
 * As responder
 */

static void forget_offer(struct om_agent *agent, struct om_agent_peer *peer)
{
	if (peer->offered[0].local_id)
		agent->ops->forget(agent->ctx, peer->id, peer->offered[0].local_id);
	for (int i = 1; i < OM_AGENT_OFFERED; i++)
		peer->offered[i - 1] = peer->offered[i];
	peer->offered[OM_AGENT_OFFERED - 1].local_id = 0;
}

static bool is_greater(const struct om_agent *agent, const struct om_agent_peer *peer)
{
	return memcmp(agent->host.pair.public, peer->hs.public, OM_NOISE_KEY) > 0;
}

/*
 * Return true if both ends began and our initiation wins. It wins until its answer is late,
 * because it may be lost. Every second try yields, because it may go to an old endpoint of
 * the peer. A try for a fuller mode counts as a first one.
 */
static bool ours_counts(const struct om_agent *agent,
			const struct om_agent_peer *peer, uint64_t now)
{
	return peer->sent && now < peer->counts_until && (!peer->tries || peer->tries % 2) &&
	       is_greater(agent, peer);
}

/*
 * Stop our tries, since the other end's initiation is answered. If our key is the greater,
 * the other end may have answered our initiation already and dropped its own: ours stays
 * open until its retry would have been due.
 */
static void yield(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now)
{
	if (!peer->sent || !is_greater(agent, peer)) {
		stop_trying(agent, peer);
		return;
	}
	peer->tries = 0;
	peer->wanted = false;
	peer->eager = false;
	peer->better_at = peer->retry_at;
	peer->counts_until = now;
}

static void answer(struct om_agent *agent, struct om_agent_peer *peer,
		   struct om_hs *h, const struct om_hs_offer *offer,
		   uint64_t now, const struct om_agent_source *from)
{
	uint32_t id = new_ids(agent, now, peer->channels);
	uint8_t mode = h->mode;
	uint8_t msg[OM_HS_LEN_MAX];
	struct om_hs_keys keys;
	int64_t epoch;
	size_t len;

	agent->count[OMERTA_A_AGENT_STATS_BEGUN]++;
	if (!agent->ops->epoch(agent->ctx, &epoch)) {
		fail(agent, peer, OMERTA_FAILURE_SYSTEM);
		return;
	}
	om_agent_peers_hide_mac1(agent, peer);
	len = om_hs_respond(h, &peer->hs, offer, peer->channels, id, now, msg, &keys);
	if (!len) {
		fail(agent, peer, OMERTA_FAILURE_SYSTEM);
		return;
	}
	watch_cookies(agent, peer);
	/* Install it before the answer: then the other end may use it. */
	if (!install(agent, peer, id, false, epoch, &keys))
		return;
	yield(agent, peer, now);
	peer->hold_until = now + OM_AGENT_HOLD_MS;
	forget_offer(agent, peer);
	if (++peer->unused > OM_AGENT_FAILED) {
		fail_in_vain(agent, peer, OMERTA_FAILURE_NOT_USED, now);
		agent->trouble[OM_AGENT_UNUSED]++;
		tell_trouble(agent, peer, OM_AGENT_UNUSED, mode, now);
	}
	peer->offered[OM_AGENT_OFFERED - 1] = (struct om_agent_offer){ id, mode };
	agent->ops->send_source(agent->ctx, from, msg, len);
}

/* Not reported for each: a peer with "on" tries ML-KEM again once an hour, forever. */
static void refuse(struct om_agent *agent, struct om_agent_peer *peer,
		   uint8_t mode, uint64_t now)
{
	if (!peer->refused_at || now - peer->refused_at > 2ULL * OM_AGENT_BETTER_EACH_MS)
		agent->ops->trouble(agent->ctx, peer->id, OM_AGENT_REFUSED, mode);
	agent->trouble[OM_AGENT_REFUSED]++;
	peer->refused_at = now;
	fail_in_vain(agent, peer, OMERTA_FAILURE_MODE, now);
}

/* A replay, or a peer whose clock was ahead. Answer with the time that it must exceed. */
static void answer_old(struct om_agent *agent, struct om_agent_peer *peer,
		       struct om_hs *h, const struct om_hs_offer *offer,
		       uint64_t now, const struct om_agent_source *from)
{
	uint8_t msg[OM_HS_LEN_MAX];
	size_t len;

	agent->trouble[OM_AGENT_OLD]++;
	fail_in_vain(agent, peer, OMERTA_FAILURE_OLD_TIME, now);
	tell_trouble(agent, peer, OM_AGENT_OLD, h->mode, now);
	if (now < peer->time_from || !may_use(peer, h->mode))
		return;
	peer->time_from = now + OM_AGENT_GAP_MS;
	len = om_hs_answer_time(h, &peer->hs, offer, peer->latest, now, msg);
	if (len)
		agent->ops->send_source(agent->ctx, from, msg, len);
}

/* Return true if @t is accepted, to be answered once its time is stored. */
static bool take_initiation(struct om_agent *agent, uint64_t now, struct om_agent_taken *t,
			    const uint8_t *msg, size_t len)
{
	struct om_agent_peer *peer;
	uint8_t public[OM_NOISE_KEY];

	if (!om_hs_read_initiator(&t->h, &agent->host, msg, len, public))
		return false;
	peer = om_agent_find_public(agent, public);
	if (!peer) {
		agent->ops->unknown(agent->ctx);
		return false;
	}
	if (!om_hs_read_offer(&t->h, msg, len, &t->offer) || is_last(t->offer.time))
		return false;
	if (memcmp(t->offer.time, peer->latest, OM_HS_TIME) <= 0) {
		answer_old(agent, peer, &t->h, &t->offer, now, &t->from);
		return false;
	}
	/*
	 * The gap limits writes to disk, keys and key ids of one peer. The time of a dropped
	 * message is not stored. A replay of it may be accepted later, which is harmless as the
	 * message was never accepted before.
	 */
	if (now < peer->take_from) {
		agent->count[OMERTA_A_AGENT_STATS_RATE_LIMITED]++;
		return false;
	}
	peer->take_from = now + OM_AGENT_GAP_MS;
	memcpy(peer->latest, t->offer.time, OM_HS_TIME);
	return true;
}

static void on_initiation(struct om_agent *agent, uint64_t now,
			  const struct om_agent_source *from, const uint8_t *msg,
			  size_t len)
{
	struct om_agent_taken *t = &agent->taken[agent->takens];

	t->from = *from;
	if (take_initiation(agent, now, t, msg, len))
		agent->takens++;
	else
		om_hs_wipe(&t->h);
	if (agent->takens == OM_AGENT_MOMENT)
		om_agent_settle(agent, now);
}

/*
 * Store the times of the accepted initiations, as they could be replayed to a later agent. If
 * our own time is due soon, it is stored with them, to save another wait for the disk.
 */
static bool remember_taken(struct om_agent *agent)
{
	struct om_agent_memory m[OM_AGENT_MOMENT + 1] = { 0 }, *own;
	uint8_t time[OM_HS_TIME];
	size_t n = agent->takens;

	for (size_t i = 0; i < n; i++) {
		m[i].public = agent->taken[i].offer.public;
		memcpy(m[i].time, agent->taken[i].offer.time, OM_HS_TIME);
	}
	own = &m[n];
	agent->ops->clock(agent->ctx, time);
	if (memcmp(time, agent->latest, OM_HS_TIME) < 0)
		memcpy(time, agent->latest, OM_HS_TIME);
	memcpy(own->time, time, OM_HS_TIME);
	add_seconds(time, OM_AGENT_NEAR_S);
	if (memcmp(time, agent->ahead, OM_HS_TIME) > 0) {
		add_seconds(own->time, OM_AGENT_AHEAD_S);
		n++;
	}
	if (!agent->ops->remember(agent->ctx, m, n))
		return false;
	if (memcmp(own->time, agent->ahead, OM_HS_TIME) > 0)
		memcpy(agent->ahead, own->time, OM_HS_TIME);
	return true;
}

void om_agent_settle(struct om_agent *agent, uint64_t now)
{
	struct om_agent_taken *end = &agent->taken[agent->takens];
	struct om_agent_peer *peer;
	bool ok = agent->takens && remember_taken(agent);

	for (struct om_agent_taken *t = agent->taken; t != end; t++) {
		peer = om_agent_find_public(agent, t->offer.public);
		if (peer && !ok)
			fail(agent, peer, OMERTA_FAILURE_SYSTEM);
		else if (peer && !may_use(peer, t->h.mode)) {
			refuse(agent, peer, t->h.mode, now);
		} else if (peer && !ours_counts(agent, peer, now)) {
			answer(agent, peer, &t->h, &t->offer, now, &t->from);
		} else if (peer) {
			/* Begin again if ours, which was sent before, stays unanswered. */
			begin_again(peer, now + OM_AGENT_AGAIN_MS);
			if (peer->tries && peer->retry_at > peer->counts_until)
				peer->retry_at = peer->counts_until;
		}
		om_hs_wipe(&t->h);
		if (peer)
			om_agent_peers_due(agent, peer, due(peer));
	}
	agent->takens = 0;
}

/*
 * A cookie for our initiation: the other end's kernel is busy, and accepts the next one,
 * which is sent at once. A cookie for a response is kept for later messages.
 */
static void on_cookie(struct om_agent *agent, uint64_t now, const uint8_t *msg,
		      size_t len)
{
	struct om_agent_peer *peer = NULL;

	do
		peer = om_agent_peers_find_mac1(agent, msg + 4, peer);
	while (peer && !om_hs_take_cookie(&peer->hs, now, msg, len));
	if (!peer)
		return;
	om_agent_peers_hide_mac1(agent, peer);
	if (!peer->sent)
		return;
	again(agent, peer, &peer->cookie_again, now);
	om_agent_peers_due(agent, peer, due(peer));
}

/* Handle a response or a time message; both quote the id of an initiation in clear. */
static void on_answer(struct om_agent *agent, uint64_t now, const uint8_t *msg,
		      size_t len)
{
	struct om_agent_peer *peer =
		om_agent_peers_find_sent(agent, om_hs_response_id(msg));

	if (!peer)
		return;
	if (msg[3] == OM_HS_RESPONSE)
		take_response(agent, peer, now, msg, len);
	else
		take_time(agent, peer, now, msg, len);
	om_agent_peers_due(agent, peer, due(peer));
}

void om_agent_receive(struct om_agent *agent, uint64_t now,
		      const struct om_agent_source *from, const uint8_t *msg,
		      size_t len)
{
	if (!om_hs_length(msg, len))
		return;
	if (msg[3] == OM_HS_COOKIE)
		on_cookie(agent, now, msg, len);
	/* Older kernel modules do not check mac1. */
	else if (!om_hs_check(&agent->host, msg, len))
		return;
	else if (msg[3] == OM_HS_INITIATION)
		on_initiation(agent, now, from, msg, len);
	else
		on_answer(agent, now, msg, len);
}

void om_agent_set_own_time(struct om_agent *agent, const uint8_t time[OM_HS_TIME])
{
	if (!memcmp(agent->ahead, time, OM_HS_TIME))
		return;
	memcpy(agent->ahead, time, OM_HS_TIME);
	memcpy(agent->latest, time, OM_HS_TIME);
}

void om_agent_set_time(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now,
		       const uint8_t time[OM_HS_TIME])
{
	memcpy(peer->latest, time, OM_HS_TIME);
	/* Older agents accepted it. No time comes after it, so only a user can help. */
	if (is_last(time))
		tell_time(agent, peer, OM_AGENT_TIME_SPENT, now);
}

void om_agent_forget_time(struct om_agent_peer *peer)
{
	memset(peer->latest, 0, sizeof(peer->latest));
	peer->time_told[OM_AGENT_TIME_SPENT] = 0;
}

/*
 * Events and timers
 */

void om_agent_tell(struct om_agent *agent, uint64_t now, uint32_t peer_id,
		   enum om_agent_event event, uint32_t local_id)
{
	struct om_agent_peer *peer = om_agent_find(agent, peer_id);
	struct om_agent_offer *offer = NULL;

	if (!peer)
		return;
	for (int i = 0; i < OM_AGENT_OFFERED && local_id; i++)
		if (peer->offered[i].local_id == local_id)
			offer = &peer->offered[i];
	if (event == OM_AGENT_KEY_CONFIRMED) {
		forget_trouble(peer, now);
		set_failure(agent, peer, -1);
	}
	if (event == OM_AGENT_NOT_SENT) {
		if (!peer->sent || peer->sent_id != local_id)
			return;
		drop_sent(agent, peer);
		/* A try for a fuller mode ends. */
		if (peer->tries)
			fail(agent, peer, OMERTA_FAILURE_NOT_SENT);
		else
			peer->better_at = 0;
		om_agent_peers_due(agent, peer, due(peer));
		return;
	}
	if (event == OM_AGENT_ANEW || event == OM_AGENT_EARLY || event == OM_AGENT_NETWORK) {
		if (event == OM_AGENT_ANEW)
			want_anew(agent, peer, now);
		else if (event == OM_AGENT_EARLY)
			want_early(peer, now);
		/* An initiation in flight may still be answered. */
		else if (peer->tries && (!peer->sent || now >= peer->counts_until))
			peer->retry_at = now;
		om_agent_peers_due(agent, peer, due(peer));
		return;
	}
	if (event == OM_AGENT_KEY_CONFIRMED && offer) {
		offer->local_id = 0;
		/* An older key that is confirmed late is not used for sealing. */
		if (offer == &peer->offered[OM_AGENT_OFFERED - 1])
			peer->wanted = false;
		/* Our initiation that yielded is no longer needed. */
		if (!peer->tries && peer->sent) {
			drop_sent(agent, peer);
			peer->better_at = 0;
		}
		succeed(agent, peer, offer->mode);
		see_mode(agent, peer, offer->mode);
		if (offer == &peer->offered[OM_AGENT_OFFERED - 1] && !peer->tries)
			plan_better(peer, offer->mode, now, OM_AGENT_BETTER_MS +
				    randombytes_uniform(OM_AGENT_BETTER_JITTER_MS));
	} else if (event != OM_AGENT_KEY_CONFIRMED && !(event == OM_AGENT_KEY_SOFT && offer)) {
		/* A soft limit of an offered key does not matter: the key was never used. */
		want(peer, now);
	}
	om_agent_peers_due(agent, peer, due(peer));
}

static void run_peer(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now)
{
	if (peer->tries && now >= peer->give_up_at) {
		fail_unanswered(agent, peer);
		stop_trying(agent, peer);
		peer->vain = 0;
	} else if (peer->tries && now >= peer->retry_at) {
		initiate(agent, peer, now);
	} else if (peer->wanted && now >= peer->hold_until) {
		peer->wanted = false;
		peer->give_up_at = now + OM_AGENT_GIVE_UP_MS;
		initiate(agent, peer, now);
	} else if (peer->better_at && now >= peer->better_at) {
		try_better(agent, peer, now);
	}
}

/* Terminates, as each step for a peer makes it due later than now. */
uint64_t om_agent_run(struct om_agent *agent, uint64_t now)
{
	struct om_agent_peer *peer;

	for (int i = 0; (peer = om_agent_peers_first(agent)) && peer->due <= now; i++) {
		if (i == OM_AGENT_TURN)
			return now;
		run_peer(agent, peer, now);
		om_agent_peers_due(agent, peer, due(peer));
	}
	return peer ? peer->due : UINT64_MAX;
}
