// SPDX-License-Identifier: GPL-2.0
#include "world.h"

#include "cookies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA_MS		50	/* a packet each way */

struct world world;
const uint8_t world_cookie[OM_HS_MAC] = "a cookie it is";

struct om_agent_peer *world_peer(int n)
{
	return world.end[n].agent.first;
}

/* Numerical Recipes' generator: runs are the same each time. */
static uint32_t chance(uint32_t below)
{
	world.seed = world.seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)world.seed * below >> 32);
}

static int of(const void *ctx)
{
	return ctx == &world.end[B];
}

static void post(int to, int from, const uint8_t *msg, size_t len)
{
	struct world_message *m = &world.message[world.messages];

	world.sent++;
	if (world.olds < WORLD_MESSAGES) {
		world.old[world.olds] = (struct world_message){ .to = to, .len = len };
		world.old[world.olds].from = world.place[from];
		memcpy(world.old[world.olds++].data, msg, len);
	}
	if (world.messages == WORLD_MESSAGES || world.cut[to] || chance(100) < world.loss ||
	    (world.longest && len > world.longest) ||
	    (world.before_channels && msg[3] == OM_HS_INITIATION && msg[4] & OM_HS_CHANNELS))
		return;
	*m = (struct world_message){ .to = to, .len = len };
	m->due = world.now + 1 + world.delay + (world.latest ? chance(world.latest) : 0);
	m->from = world.place[from];
	memcpy(m->data, msg, len);
	world.messages++;
	if (chance(100) < world.twice)
		post(to, from, msg, len);
}

static bool same(const struct om_agent_source *a, const struct om_agent_source *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void send_source(void *ctx, const struct om_agent_source *to,
			const uint8_t *msg, size_t len)
{
	if (same(to, &world.place[!of(ctx)]))
		post(!of(ctx), of(ctx), msg, len);
	else
		world.sent++;
}

static bool reach(void *ctx, uint32_t peer_id, enum omerta_failure *why)
{
	const struct world_end *e = ctx;

	(void)peer_id;
	if (!e->where.len)
		*why = OMERTA_FAILURE_NO_ENDPOINT;
	return e->where.len;
}

static bool send_peer(void *ctx, uint32_t peer_id, uint32_t local_id,
		      const uint8_t *msg, size_t len)
{
	struct world_end *e = ctx;

	(void)peer_id;
	if (world.down)
		return false;
	e->asked[e->asks % WORLD_ASKED].id = local_id;
	e->asked[e->asks++ % WORLD_ASKED].at = world.now;
	send_source(ctx, &e->where, msg, len);
	return true;
}

static void activate(struct world_end *e, struct world_key *key)
{
	for (size_t i = 0; i < e->keys; i++) {
		e->key[i].retired |= e->key[i].active;
		e->key[i].active = false;
	}
	key->active = true;
}

static void delete(struct world_end *e, size_t i)
{
	memmove(&e->key[i], &e->key[i + 1], (--e->keys - i) * sizeof(e->key[0]));
}

static bool install(void *ctx, const struct om_agent_key *k, enum omerta_failure *why)
{
	struct world_end *e = ctx;
	struct world_key *key;

	*why = OMERTA_FAILURE_LIMIT;
	if (e->keys == WORLD_KEYS || k->epoch != e->epoch)
		return false;
	key = &e->key[e->keys++];
	*key = (struct world_key){ .k = *k, .at = world.now };
	e->installed++;
	if (k->initiator) {
		activate(e, key);
		e->confirm_left = 10;
		e->confirm_at = world.now;
	}
	return true;
}

static void forget(void *ctx, uint32_t peer_id, uint32_t local_id)
{
	struct world_end *e = ctx;

	(void)peer_id;
	for (size_t i = 0; i < e->keys; i++)
		if (e->key[i].k.local_id == local_id) {
			delete(e, i);
			return;
		}
}

static bool epoch(void *ctx, int64_t *epoch)
{
	struct world_end *e = ctx;

	*epoch = e->epoch;
	e->epoch += e->cloned_soon;
	e->cloned_soon = false;
	return true;
}

static void put_clock(void *ctx, uint8_t time[OM_HS_TIME])
{
	const struct world_end *e = ctx;
	uint64_t s = (uint64_t)((int64_t)(world.now / 1000) + (1LL << 62) + e->clock);

	memset(time, 0, OM_HS_TIME);
	for (int i = 0; i < 8; i++)
		time[i] = (uint8_t)(s >> (56 - 8 * i));
}

/* Everything goes on twice. */
static void fork_world(struct world_end *e)
{
	int fd[2];

	e->fork_soon = false;
	e->epoch++;
	if (pipe(fd))
		abort();
	world.is_clone = !fork();
	world.clone = fd[world.is_clone];
	close(fd[!world.is_clone]);
}

static bool remember(void *ctx, const struct om_agent_memory *m, size_t n)
{
	struct world_end *e = ctx;
	unsigned int peers = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(m[i].public ? e->remembered : e->own, m[i].time, OM_HS_TIME);
		peers += m[i].public != NULL;
		e->own_writes += !m[i].public;
	}
	e->writes += peers;
	e->syncs++;
	if (peers && e->fork_soon)
		fork_world(e);
	return !world.full;
}

void world_receive(struct om_agent *agent, uint64_t now, const struct om_agent_source *from,
		   const uint8_t *msg, size_t len)
{
	om_agent_receive(agent, now, from, msg, len);
	om_agent_settle(agent, now);
}

static void unknown(void *ctx)
{
	(void)ctx;
	world.strangers++;
}

static void trouble(void *ctx, uint32_t peer_id, enum om_agent_trouble trouble,
		    uint8_t mode)
{
	struct world_end *e = ctx;

	(void)peer_id;
	e->trouble[trouble]++;
	if (trouble == OM_AGENT_REFUSED)
		e->refused[mode]++;
}

static void agreed(void *ctx, uint32_t peer_id, uint8_t mode)
{
	struct world_end *e = ctx;

	(void)peer_id;
	e->agreed[mode]++;
}

static void times(void *ctx, uint32_t peer_id, enum om_agent_time news)
{
	struct world_end *e = ctx;

	(void)peer_id;
	e->times[news]++;
}

static void unanswered(void *ctx, struct om_agent_peer *peer)
{
	(void)ctx;
	(void)peer;
}

static void changed(void *ctx, struct om_agent_peer *peer)
{
	struct world_end *e = ctx;

	(void)peer;
	e->changes++;
}

static const struct om_agent_ops ops = {
	.reach = reach,
	.send_peer = send_peer,
	.send_source = send_source,
	.install = install,
	.forget = forget,
	.epoch = epoch,
	.clock = put_clock,
	.remember = remember,
	.unknown = unknown,
	.trouble = trouble,
	.agreed = agreed,
	.times = times,
	.unanswered = unanswered,
	.changed = changed,
};

void world_start(int n)
{
	struct world_end *e = &world.end[n];
	struct om_agent_peer *peer;
	struct om_hs_host other;

	om_agent_init(&e->agent, &ops, e);
	memset(e->agent.host.pair.secret, 'a' + n, 32);
	om_hs_host_init(&e->agent.host);
	om_agent_set_own_time(&e->agent, e->own);
	memset(other.pair.secret, 'a' + !n, 32);
	om_hs_host_init(&other);
	peer = om_agent_add(&e->agent, 1, other.pair.public);
	memset(peer->hs.psk, 5, 32);
	peer->kem = e->kem;
	peer->channels = e->channels ? e->channels : 1;
	om_agent_set_time(&e->agent, peer, world.now, e->remembered);
}

void world_configure(int n, enum om_kem_policy kem, uint8_t channels)
{
	struct world_end *e = &world.end[n];

	e->kem = kem;
	e->channels = channels;
	om_agent_configure(&e->agent, world.now, world_peer(n), kem, channels);
}

void world_move(int n, uint16_t port)
{
	world.place[n] = (struct om_agent_source){ .port = port, .len = 4 };
}

void world_set_up_with(enum om_kem_policy a, enum om_kem_policy b)
{
	memset(&world, 0, sizeof(world));
	world.now = 1000000;
	world.seed = 1;
	world.end[A].kem = a;
	world.end[B].kem = b;
	for (int i = 0; i < 2; i++) {
		world_move(i, (uint16_t)(1000 + i));
		world_start(i);
	}
	world.end[A].where = world.place[B];
	world.end[B].where = world.place[A];
}

void world_set_up(void)
{
	world_set_up_with(OM_KEM_OFF, OM_KEM_OFF);
}

void world_tear_down(void)
{
	om_agent_free(&world.end[A].agent);
	om_agent_free(&world.end[B].agent);
}

void world_tell(struct world_end *e, enum om_agent_event event, uint32_t id)
{
	om_agent_tell(&e->agent, world.now, 1, event, id);
	om_agent_run(&e->agent, world.now);
}

/* A record from the other end under this key: may be opened here */
static bool open_record(struct world_end *e, const struct world_key *under, int from)
{
	for (size_t i = 0; i < e->keys; i++) {
		struct world_key *key = &e->key[i];

		if (key->k.local_id != under->k.keys.remote_id)
			continue;
		if (memcmp(key->k.keys.rx, under->k.keys.tx, 32))
			return false;
		e->where = world.place[from];
		if (key->active)
			e->confirm_left = 0;
		if (key->confirmed)
			return true;
		key->confirmed = true;
		if (!key->k.initiator && !key->retired)
			activate(e, key);
		world_tell(e, OM_AGENT_KEY_CONFIRMED, key->k.local_id);
		return true;
	}
	return false;
}

struct world_key *world_active(struct world_end *e)
{
	for (size_t i = 0; i < e->keys; i++)
		if (e->key[i].active)
			return &e->key[i];
	return NULL;
}

static void send_data(int n)
{
	struct world_end *e = &world.end[n], *other = &world.end[!n];
	const struct world_key *key = world_active(e);

	if (!key) {
		e->waited++;
		if (world.now >= e->needed_at) {
			e->needed_at = world.now + 5000;
			world_tell(e, OM_AGENT_KEY_NEEDED, 0);
		}
		return;
	}
	/* Data that goes astray is not the handshake's business. */
	if (!same(&e->where, &world.place[!n]) || world.cut[!n])
		return;
	e->sent++;
	other->got += open_record(other, key, n);
}

static void run_kernel(int n)
{
	struct world_end *e = &world.end[n];

	for (size_t i = 0; i < e->keys; i++) {
		struct world_key *key = &e->key[i];
		uint64_t age = world.now - key->at;

		if (age >= OM_AGENT_OPEN_S * 1000ULL) {
			delete(e, i--);
			continue;
		}
		if (age >= OM_AGENT_SEAL_S * 1000ULL)
			key->active = false;
		if (key->active && !key->told && age >= key->k.soft_s * 1000ULL) {
			key->told = true;
			world_tell(e, OM_AGENT_KEY_SOFT, key->k.local_id);
		}
	}
	if (e->confirm_left && world.now >= e->confirm_at && world_active(e)) {
		e->confirm_left--;
		e->confirm_at = world.now + 1000;
		if (same(&e->where, &world.place[!n]) && !world.cut[!n] &&
		    chance(100) >= world.loss)
			open_record(&world.end[!n], world_active(e), n);
	}
}

/* The kernel's look at a datagram: true if the agent gets it */
static bool admit(struct world_end *e, const struct world_message *m)
{
	uint8_t cookie[OM_HS_COOKIE_LEN];
	bool asked = false;

	if (m->data[3] == OM_HS_RESPONSE || m->data[3] == OM_HS_TIME_MSG) {
		uint32_t id = om_hs_response_id(m->data);

		for (int i = 0; i < WORLD_ASKED; i++)
			asked |= e->asked[i].id == id && world.now - e->asked[i].at < 10000;
		return asked;
	}
	if (m->data[3] != OM_HS_INITIATION || !e->busy ||
	    cookie_is_in(world_cookie, m->data, m->len))
		return true;
	e->cookies++;
	send_source(e, &m->from, cookie,
		    cookie_message(&e->agent.host, world_cookie, m->data, m->len, cookie));
	return false;
}

void world_deliver(void)
{
	for (size_t i = 0; i < world.messages; i++) {
		struct world_message m = world.message[i];

		if (m.due > world.now)
			continue;
		world.message[i--] = world.message[--world.messages];
		if (admit(&world.end[m.to], &m))
			world_receive(&world.end[m.to].agent, world.now, &m.from,
					 m.data, m.len);
	}
}

void world_run(unsigned int seconds)
{
	uint64_t end = world.now + seconds * 1000ULL;

	for (; world.now < end; world.now += WORLD_STEP_MS) {
		world_deliver();
		for (int n = 0; n < 2; n++) {
			om_agent_run(&world.end[n].agent, world.now);
			world.end[n].unanswered +=
				om_agent_unanswered(world_peer(n));
			run_kernel(n);
			if (!world.quiet && !(world.now % DATA_MS))
				send_data(n);
		}
	}
}

void world_forget_counts(void)
{
	for (int n = 0; n < 2; n++) {
		world.end[n].sent = 0;
		world.end[n].got = 0;
		world.end[n].waited = 0;
		world.end[n].installed = 0;
	}
	world.sent = 0;
}

bool world_nothing_lost(void)
{
	return world.end[A].sent && world.end[B].sent &&
	       world.end[A].sent == world.end[B].got && world.end[B].sent == world.end[A].got &&
	       !world.end[A].waited && !world.end[B].waited;
}

const char *world_counts(void)
{
	static char text[200];

	snprintf(text, sizeof(text), "sent %zu %zu, got %zu %zu, waited %zu %zu, keys %zu %zu, messages %zu",
		 (size_t)world.end[A].sent, (size_t)world.end[B].sent,
		 (size_t)world.end[A].got, (size_t)world.end[B].got,
		 (size_t)world.end[A].waited, (size_t)world.end[B].waited,
		 world.end[A].installed, world.end[B].installed, world.sent);
	return text;
}
