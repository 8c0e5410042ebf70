// SPDX-License-Identifier: GPL-2.0
#include "agent.h"

#include "keygen.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* A key id that was used */
struct used {
	uint32_t id;
	uint64_t at;
};

void om_agent_init(struct om_agent *agent, const struct om_agent_ops *ops,
		   void *ctx)
{
	agent->ops = ops;
	agent->ctx = ctx;
	agent->peer = NULL;
	agent->peers = 0;
	memset(&agent->ids, 0, sizeof(agent->ids));
	memset(agent->latest, 0, sizeof(agent->latest));
	agent->second = 0;
	agent->count = 0;
}

void om_agent_free(struct om_agent *agent)
{
	sodium_free(agent->peer);
	om_list_free(&agent->ids);
	agent->peer = NULL;
	agent->peers = 0;
	sodium_memzero(&agent->host, sizeof(agent->host));
}

/* Peers are in guarded, locked memory, which is wiped when it is freed. */
static void resize(struct om_agent *agent, size_t n)
{
	struct om_agent_peer *peer = NULL;
	size_t keep = n < agent->peers ? n : agent->peers;

	if (n) {
		peer = sodium_allocarray(n, sizeof(*peer));
		if (!peer)
			abort();
		memset(peer, 0, n * sizeof(*peer));
		if (keep)
			memcpy(peer, agent->peer, keep * sizeof(*peer));
	}
	sodium_free(agent->peer);
	agent->peer = peer;
	agent->peers = n;
}

struct om_agent_peer *om_agent_add(struct om_agent *agent, uint32_t id)
{
	struct om_agent_peer *peer;

	resize(agent, agent->peers + 1);
	peer = &agent->peer[agent->peers - 1];
	peer->id = id;
	return peer;
}

struct om_agent_peer *om_agent_find(struct om_agent *agent, uint32_t id)
{
	for (size_t i = 0; i < agent->peers; i++)
		if (agent->peer[i].id == id)
			return &agent->peer[i];
	return NULL;
}

void om_agent_remove(struct om_agent *agent, uint32_t id)
{
	struct om_agent_peer *peer = om_agent_find(agent, id);

	if (!peer)
		return;
	*peer = agent->peer[agent->peers - 1];
	resize(agent, agent->peers - 1);
}

static struct om_agent_peer *find_public(struct om_agent *agent,
					 const uint8_t *public)
{
	for (size_t i = 0; i < agent->peers; i++)
		if (!sodium_memcmp(agent->peer[i].hs.public, public,
				   OM_NOISE_KEY))
			return &agent->peer[i];
	return NULL;
}

/* At random, and none that was used lately: records under it may be on their way. */
static uint32_t new_id(struct om_agent *agent, uint64_t now)
{
	struct used *used;
	size_t i, n = 0;
	uint32_t id;

	for (i = 0; i < agent->ids.n; i++) {
		used = OM_AT(&agent->ids, struct used, i);
		if (now - used->at < OM_AGENT_ID_MS)
			*OM_AT(&agent->ids, struct used, n++) = *used;
	}
	agent->ids.n = n;
	do {
		id = randombytes_random();
		for (i = 0; i < n; i++)
			if (OM_AT(&agent->ids, struct used, i)->id == id)
				break;
	} while (!id || i < n);
	used = om_list_add(&agent->ids, sizeof(*used));
	used->id = id;
	used->at = now;
	return id;
}

/*
 * As initiator
 */

/* Its answer would find nothing that belongs to it. */
static void drop_sent(struct om_agent_peer *peer)
{
	peer->sent = false;
	om_hs_wipe(&peer->begun);
}

static void stop_trying(struct om_agent_peer *peer)
{
	drop_sent(peer);
	peer->tries = 0;
	peer->wanted = false;
	peer->better_at = 0;
}

/* Greater than any before, whatever the clock does: the other end wants it so. */
static bool next_time(struct om_agent *agent, uint8_t time[OM_HS_TIME])
{
	int i = OM_HS_TIME;

	agent->ops->clock(agent->ctx, time);
	if (memcmp(time, agent->latest, OM_HS_TIME) <= 0) {
		memcpy(time, agent->latest, OM_HS_TIME);
		while (i && !++time[--i])
			;
	}
	memcpy(agent->latest, time, OM_HS_TIME);
	return agent->ops->remember(agent->ctx, NULL, time);
}

static bool may_use(const struct om_agent_peer *peer, enum om_hs_mode mode)
{
	return peer->kem == OM_KEM_ON ||
	       (peer->kem == OM_KEM_REQUIRED) == (mode == OM_HS_MLKEM);
}

/*
 * An end that does not have the other mode, or must not use it, says nothing. Who can do
 * without tries both: first what was last agreed on, then two tries of each in turns,
 * since of two one yields.
 */
static enum om_hs_mode next_mode(const struct om_agent_peer *peer)
{
	bool classic = peer->agreed && peer->mode == OM_HS_CLASSIC;

	if (peer->kem == OM_KEM_ON)
		return classic == (peer->vain / 2 % 2) ? OM_HS_MLKEM : OM_HS_CLASSIC;
	return peer->kem == OM_KEM_REQUIRED ? OM_HS_MLKEM : OM_HS_CLASSIC;
}

bool om_agent_unanswered(const struct om_agent_peer *peer)
{
	return peer->tries > (peer->kem == OM_KEM_ON ? 3 : 1);
}

/* A key is in use: changes of its mode are told if there was a choice. */
static void see_mode(struct om_agent *agent, struct om_agent_peer *peer,
		     enum om_hs_mode mode)
{
	bool either = peer->kem == OM_KEM_ON;

	if (either && !(peer->agreed && peer->mode == mode))
		agent->ops->agreed(agent->ctx, peer->id, mode);
	peer->agreed = either;
	peer->mode = mode;
	peer->vain = 0;
}

static void begin(struct om_agent *agent, struct om_agent_peer *peer,
		  enum om_hs_mode mode, uint64_t now)
{
	uint8_t time[OM_HS_TIME], msg[OM_HS_LEN_MAX];
	size_t len;

	drop_sent(peer);
	peer->retry_at = now + OM_AGENT_RETRY_MS +
			 randombytes_uniform(OM_AGENT_JITTER_MS);
	if (!next_time(agent, time) ||
	    !agent->ops->epoch(agent->ctx, &peer->sent_epoch))
		return;
	peer->sent_id = new_id(agent, now);
	len = om_hs_initiate(&peer->begun, mode, &agent->host, &peer->hs, time,
			     peer->sent_id, now, msg);
	peer->sent = len && agent->ops->send_peer(agent->ctx, peer->id, msg, len);
	if (!peer->sent)
		drop_sent(peer);
}

static void initiate(struct om_agent *agent, struct om_agent_peer *peer,
		     uint64_t now)
{
	peer->better_at = 0;
	peer->tries++;
	peer->vain++;
	begin(agent, peer, next_mode(peer), now);
}

/*
 * What was lost, or an end that was not there yet, may have been why a key is classic:
 * one try shows. It is over when its answer is late.
 */
static void try_better(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now)
{
	if (!peer->sent && peer->kem == OM_KEM_ON)
		begin(agent, peer, OM_HS_MLKEM, now);
	else
		drop_sent(peer);
	peer->better_at = peer->sent ? peer->retry_at : 0;
}

/* A key is wanted: begin, unless that is being done or is the other end's turn. */
static void want(struct om_agent *agent, struct om_agent_peer *peer, uint64_t now)
{
	peer->give_up_at = now + OM_AGENT_GIVE_UP_MS;
	if (peer->tries)
		return;
	peer->wanted = now < peer->hold_until;
	if (!peer->wanted)
		initiate(agent, peer, now);
}

static bool install(struct om_agent *agent, const struct om_agent_peer *peer,
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
	bool ok = agent->ops->install(agent->ctx, &key);

	sodium_memzero(&key, sizeof(key));
	sodium_memzero(keys, sizeof(*keys));
	return ok;
}

static void take_response(struct om_agent *agent, struct om_agent_peer *peer,
			  uint64_t now, const uint8_t *msg, size_t len)
{
	enum om_hs_mode mode = peer->begun.mode;
	struct om_hs_keys keys;

	/* What may be used can have changed since then. */
	if (!may_use(peer, mode) ||
	    !om_hs_read_response(&peer->begun, &peer->hs, msg, len, &keys))
		return;
	stop_trying(peer);
	if (!install(agent, peer, peer->sent_id, true, peer->sent_epoch, &keys))
		return;
	see_mode(agent, peer, mode);
	/* Not both ends, which would yield to each other */
	if (peer->kem == OM_KEM_ON && mode == OM_HS_CLASSIC)
		peer->better_at = now + OM_AGENT_HOLD_MS;
}

static void on_response(struct om_agent *agent, uint64_t now, const uint8_t *msg,
			size_t len)
{
	uint32_t id = om_hs_response_id(msg);

	for (size_t i = 0; i < agent->peers; i++) {
		struct om_agent_peer *peer = &agent->peer[i];

		if (peer->sent && peer->sent_id == id) {
			take_response(agent, peer, now, msg, len);
			return;
		}
	}
}

/*
 * As responder
 */

static bool busy(struct om_agent *agent, uint64_t now)
{
	if (agent->second != now / 1000) {
		agent->second = now / 1000;
		agent->count = 0;
	}
	return ++agent->count > OM_AGENT_BUSY;
}

static void forget_offer(struct om_agent *agent, struct om_agent_peer *peer)
{
	if (peer->offered[0].local_id)
		agent->ops->forget(agent->ctx, peer->id, peer->offered[0].local_id);
	for (int i = 1; i < OM_AGENT_OFFERED; i++)
		peer->offered[i - 1] = peer->offered[i];
	peer->offered[OM_AGENT_OFFERED - 1].local_id = 0;
}

/*
 * Whether both began, and it is ours that counts. Of the tries that follow every other
 * yields: ours may go to where the other end was before.
 */
static bool ours_counts(const struct om_agent *agent,
			const struct om_agent_peer *peer)
{
	return peer->sent && peer->tries % 2 &&
	       memcmp(agent->host.pair.public, peer->hs.public,
		      OM_NOISE_KEY) > 0;
}

static void answer(struct om_agent *agent, struct om_agent_peer *peer,
		   struct om_hs *h, const struct om_hs_offer *offer,
		   uint64_t now, const struct om_agent_source *from)
{
	uint32_t id = new_id(agent, now);
	enum om_hs_mode mode = h->mode;
	uint8_t msg[OM_HS_LEN_MAX];
	struct om_hs_keys keys;
	int64_t epoch;
	size_t len;

	if (!agent->ops->epoch(agent->ctx, &epoch))
		return;
	len = om_hs_respond(h, &peer->hs, offer, id, now, msg, &keys);
	if (!len)
		return;
	stop_trying(peer);
	peer->hold_until = now + OM_AGENT_HOLD_MS;
	forget_offer(agent, peer);
	/* Before the other end can use it */
	if (!install(agent, peer, id, false, epoch, &keys))
		return;
	peer->offered[OM_AGENT_OFFERED - 1] = (struct om_agent_offer){ id, mode };
	agent->ops->send_source(agent->ctx, from, msg, len);
}

static void refuse(struct om_agent *agent, struct om_agent_peer *peer,
		   enum om_hs_mode mode, uint64_t now)
{
	if (peer->refused_at && now - peer->refused_at < OM_AGENT_TELL_MS)
		return;
	peer->refused_at = now;
	agent->ops->refused(agent->ctx, peer->id, mode);
}

static void on_initiation(struct om_agent *agent, uint64_t now,
			  const struct om_agent_source *from,
			  const uint8_t *msg, size_t len)
{
	struct om_agent_peer *peer;
	struct om_hs_offer offer;
	struct om_hs h;

	om_secret_lock(&h, sizeof(h));
	if (!om_hs_read_initiation(&h, &agent->host, msg, len, &offer))
		goto out;
	peer = find_public(agent, offer.public);
	if (!peer)
		agent->ops->unknown(agent->ctx);
	if (!peer || memcmp(offer.time, peer->latest, OM_HS_TIME) <= 0)
		goto out;
	if (!may_use(peer, h.mode)) {
		refuse(agent, peer, h.mode, now);
		goto out;
	}
	memcpy(peer->latest, offer.time, OM_HS_TIME);
	/* What is not remembered could be played again to whoever comes after us. */
	if (agent->ops->remember(agent->ctx, offer.public, offer.time) &&
	    !ours_counts(agent, peer))
		answer(agent, peer, &h, &offer, now, from);
out:
	om_secret_wipe(&h, sizeof(h));
}

static void on_cookie(struct om_agent *agent, uint64_t now, const uint8_t *msg,
		      size_t len)
{
	for (size_t i = 0; i < agent->peers; i++)
		if (om_hs_take_cookie(&agent->peer[i].hs, now, msg, len))
			return;
}

/* Whether a message's sender may have us work for it; else he may get a cookie. */
static bool admit(struct om_agent *agent, uint64_t now,
		  const struct om_agent_source *from, const uint8_t *msg,
		  size_t len)
{
	uint8_t cookie[OM_HS_COOKIE_LEN];
	size_t n;

	switch (om_hs_check(&agent->host, now, msg, len, from, sizeof(*from))) {
	case OM_HS_NONE:
		return false;
	case OM_HS_KNOWS_US:
		if (!busy(agent, now))
			return true;
		n = om_hs_make_cookie(&agent->host, now, msg, len, from,
				      sizeof(*from), cookie);
		agent->ops->send_source(agent->ctx, from, cookie, n);
		return false;
	case OM_HS_HAS_COOKIE:
		busy(agent, now);
		return true;
	}
	return false;
}

void om_agent_receive(struct om_agent *agent, uint64_t now,
		      const struct om_agent_source *from, const uint8_t *msg,
		      size_t len)
{
	if (!om_hs_length(msg, len))
		return;
	if (msg[3] == OM_HS_COOKIE) {
		on_cookie(agent, now, msg, len);
		return;
	}
	if (!admit(agent, now, from, msg, len))
		return;
	if (msg[3] == OM_HS_INITIATION)
		on_initiation(agent, now, from, msg, len);
	else
		on_response(agent, now, msg, len);
}

/*
 * What happens by itself
 */

void om_agent_tell(struct om_agent *agent, uint64_t now, uint32_t peer_id,
		   enum om_agent_event event, uint32_t local_id)
{
	struct om_agent_peer *peer = om_agent_find(agent, peer_id);

	if (!peer)
		return;
	if (event != OM_AGENT_KEY_CONFIRMED) {
		want(agent, peer, now);
		return;
	}
	for (int i = 0; i < OM_AGENT_OFFERED; i++) {
		struct om_agent_offer *offer = &peer->offered[i];

		if (!offer->local_id || offer->local_id != local_id)
			continue;
		offer->local_id = 0;
		see_mode(agent, peer, offer->mode);
	}
}

static uint64_t run_peer(struct om_agent *agent, struct om_agent_peer *peer,
			 uint64_t now)
{
	if (peer->tries && now >= peer->give_up_at) {
		stop_trying(peer);
		peer->vain = 0;
	} else if (peer->tries && now >= peer->retry_at) {
		initiate(agent, peer, now);
	} else if (peer->wanted && now >= peer->hold_until) {
		want(agent, peer, now);
	} else if (peer->better_at && now >= peer->better_at) {
		try_better(agent, peer, now);
	}
	if (peer->tries)
		return peer->retry_at < peer->give_up_at ? peer->retry_at :
							   peer->give_up_at;
	if (peer->wanted)
		return peer->hold_until;
	return peer->better_at ? peer->better_at : UINT64_MAX;
}

uint64_t om_agent_run(struct om_agent *agent, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < agent->peers; i++) {
		uint64_t due = run_peer(agent, &agent->peer[i], now);

		if (due < next)
			next = due;
	}
	return next;
}
