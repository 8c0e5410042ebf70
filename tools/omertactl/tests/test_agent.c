// SPDX-License-Identifier: GPL-2.0
/*
 * Two key agents, each with the keys of a kernel in memory, on a network that loses,
 * repeats and reorders, at the speed of a loop: would catch a state that is not left,
 * a key that one end seals under and the other does not have, and an old message that
 * does anything.
 */
#include "unit.h"

#include "../agent.h"

#include <sodium.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS		10
#define DATA_MS		50	/* a packet each way */
#define KEYS		8
#define MESSAGES	4096
#define A		0
#define B		1

struct key {
	struct om_agent_key k;
	uint64_t at;
	bool active, retired, confirmed, told;
};

struct end {
	struct om_agent agent;
	struct key key[KEYS];
	size_t keys, installed;
	uint64_t confirm_at;
	unsigned int confirm_left;
	struct om_agent_source where;	/* of the other end, as known */
	uint8_t remembered[OM_HS_TIME], own[OM_HS_TIME];
	int64_t clock;			/* seconds that it is wrong by */
	int64_t epoch;
	bool cloned_soon;		/* right after the next question */
	bool fork_soon;			/* while it remembers a time */
	uint64_t sent, got, waited, needed_at;
	enum om_kem_policy kem;
	unsigned int unanswered;	/* for so many steps */
	unsigned int agreed[OM_HS_MODES], refused[OM_HS_MODES];
};

struct message {
	uint64_t due;
	int to;
	struct om_agent_source from;	/* as the receiver sees it */
	size_t len;
	uint8_t data[OM_HS_LEN_MAX];
};

static struct {
	struct end end[2];
	struct om_agent_source place[2];	/* where the ends are */
	struct message message[MESSAGES];
	size_t messages, sent;
	unsigned int loss, twice, latest;	/* percent; ms */
	bool cut[2];			/* nothing gets to it */
	size_t longest;			/* message that gets through; 0 for any */
	struct message old[MESSAGES];	/* all that ever was sent */
	size_t olds;
	uint64_t now;
	uint32_t seed;
	bool quiet;			/* no data */
	bool full;			/* nothing can be remembered */
	int clone;			/* what it says comes from there */
	bool is_clone;
	unsigned int strangers;
} w;

/* Numerical Recipes' generator: runs are the same each time. */
static uint32_t chance(uint32_t below)
{
	w.seed = w.seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)w.seed * below >> 32);
}

static int of(const void *ctx)
{
	return ctx == &w.end[B];
}

static void post(int to, int from, const uint8_t *msg, size_t len)
{
	struct message *m = &w.message[w.messages];

	w.sent++;
	if (w.olds < MESSAGES) {
		w.old[w.olds] = (struct message){ .to = to, .len = len };
		w.old[w.olds].from = w.place[from];
		memcpy(w.old[w.olds++].data, msg, len);
	}
	if (w.messages == MESSAGES || w.cut[to] || chance(100) < w.loss ||
	    (w.longest && len > w.longest))
		return;
	*m = (struct message){ .to = to, .len = len };
	m->due = w.now + 1 + (w.latest ? chance(w.latest) : 0);
	m->from = w.place[from];
	memcpy(m->data, msg, len);
	w.messages++;
	if (chance(100) < w.twice)
		post(to, from, msg, len);
}

static bool same(const struct om_agent_source *a, const struct om_agent_source *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void send_source(void *ctx, const struct om_agent_source *to,
			const uint8_t *msg, size_t len)
{
	if (same(to, &w.place[!of(ctx)]))
		post(!of(ctx), of(ctx), msg, len);
	else
		w.sent++;
}

static bool send_peer(void *ctx, uint32_t peer_id, const uint8_t *msg, size_t len)
{
	struct end *e = ctx;

	(void)peer_id;
	if (!e->where.len)
		return false;
	send_source(ctx, &e->where, msg, len);
	return true;
}

static void activate(struct end *e, struct key *key)
{
	for (size_t i = 0; i < e->keys; i++) {
		e->key[i].retired |= e->key[i].active;
		e->key[i].active = false;
	}
	key->active = true;
}

static void delete(struct end *e, size_t i)
{
	memmove(&e->key[i], &e->key[i + 1], (--e->keys - i) * sizeof(e->key[0]));
}

static bool install(void *ctx, const struct om_agent_key *k)
{
	struct end *e = ctx;
	struct key *key;

	if (e->keys == KEYS || k->epoch != e->epoch)
		return false;
	key = &e->key[e->keys++];
	*key = (struct key){ .k = *k, .at = w.now };
	e->installed++;
	if (k->initiator) {
		activate(e, key);
		e->confirm_left = 10;
		e->confirm_at = w.now;
	}
	return true;
}

static void forget(void *ctx, uint32_t peer_id, uint32_t local_id)
{
	struct end *e = ctx;

	(void)peer_id;
	for (size_t i = 0; i < e->keys; i++)
		if (e->key[i].k.local_id == local_id) {
			delete(e, i);
			return;
		}
}

static bool epoch(void *ctx, int64_t *epoch)
{
	struct end *e = ctx;

	*epoch = e->epoch;
	e->epoch += e->cloned_soon;
	e->cloned_soon = false;
	return true;
}

static void put_clock(void *ctx, uint8_t time[OM_HS_TIME])
{
	const struct end *e = ctx;
	uint64_t s = (uint64_t)((int64_t)(w.now / 1000) + (1LL << 62) + e->clock);

	memset(time, 0, OM_HS_TIME);
	for (int i = 0; i < 8; i++)
		time[i] = (uint8_t)(s >> (56 - 8 * i));
}

/* Everything goes on twice. */
static void fork_world(struct end *e)
{
	int fd[2];

	e->fork_soon = false;
	e->epoch++;
	if (pipe(fd))
		abort();
	w.is_clone = !fork();
	w.clone = fd[w.is_clone];
	close(fd[!w.is_clone]);
}

static bool remember(void *ctx, const uint8_t *public,
		     const uint8_t time[OM_HS_TIME])
{
	struct end *e = ctx;

	memcpy(public ? e->remembered : e->own, time, OM_HS_TIME);
	if (public && e->fork_soon)
		fork_world(e);
	return !w.full;
}

static void unknown(void *ctx)
{
	(void)ctx;
	w.strangers++;
}

static void refused(void *ctx, uint32_t peer_id, enum om_hs_mode mode)
{
	struct end *e = ctx;

	(void)peer_id;
	e->refused[mode]++;
}

static void agreed(void *ctx, uint32_t peer_id, enum om_hs_mode mode)
{
	struct end *e = ctx;

	(void)peer_id;
	e->agreed[mode]++;
}

static const struct om_agent_ops ops = {
	.send_peer = send_peer,
	.send_source = send_source,
	.install = install,
	.forget = forget,
	.epoch = epoch,
	.clock = put_clock,
	.remember = remember,
	.unknown = unknown,
	.refused = refused,
	.agreed = agreed,
};

static void start(int n)
{
	struct end *e = &w.end[n];
	struct om_agent_peer *peer;
	struct om_hs_host other;

	om_agent_init(&e->agent, &ops, e);
	memset(e->agent.host.pair.secret, 'a' + n, 32);
	om_hs_host_init(&e->agent.host);
	memcpy(e->agent.latest, e->own, OM_HS_TIME);
	memset(other.pair.secret, 'a' + !n, 32);
	om_hs_host_init(&other);
	peer = om_agent_add(&e->agent, 1);
	memcpy(peer->hs.public, other.pair.public, 32);
	memset(peer->hs.psk, 5, 32);
	peer->kem = e->kem;
	om_hs_peer_init(&peer->hs);
	memcpy(peer->latest, e->remembered, OM_HS_TIME);
}

static void move(int n, uint16_t port)
{
	w.place[n] = (struct om_agent_source){ .port = port, .len = 4 };
}

static void set_up_with(enum om_kem_policy a, enum om_kem_policy b)
{
	memset(&w, 0, sizeof(w));
	w.now = 1000000;
	w.seed = 1;
	w.end[A].kem = a;
	w.end[B].kem = b;
	for (int i = 0; i < 2; i++) {
		move(i, (uint16_t)(1000 + i));
		start(i);
	}
	w.end[A].where = w.place[B];
	w.end[B].where = w.place[A];
}

static void set_up(void)
{
	set_up_with(OM_KEM_OFF, OM_KEM_OFF);
}

static void tear_down(void)
{
	om_agent_free(&w.end[A].agent);
	om_agent_free(&w.end[B].agent);
}

static void tell(struct end *e, enum om_agent_event event, uint32_t id)
{
	om_agent_tell(&e->agent, w.now, 1, event, id);
}

/* A record from the other end under this key: may be opened here */
static bool open_record(struct end *e, const struct key *under, int from)
{
	for (size_t i = 0; i < e->keys; i++) {
		struct key *key = &e->key[i];

		if (key->k.local_id != under->k.keys.remote_id)
			continue;
		if (memcmp(key->k.keys.rx, under->k.keys.tx, 32))
			return false;
		e->where = w.place[from];
		if (key->active)
			e->confirm_left = 0;
		if (key->confirmed)
			return true;
		key->confirmed = true;
		if (!key->k.initiator && !key->retired)
			activate(e, key);
		tell(e, OM_AGENT_KEY_CONFIRMED, key->k.local_id);
		return true;
	}
	return false;
}

static struct key *active(struct end *e)
{
	for (size_t i = 0; i < e->keys; i++)
		if (e->key[i].active)
			return &e->key[i];
	return NULL;
}

static void send_data(int n)
{
	struct end *e = &w.end[n], *other = &w.end[!n];
	const struct key *key = active(e);

	if (!key) {
		e->waited++;
		if (w.now >= e->needed_at) {
			e->needed_at = w.now + 5000;
			tell(e, OM_AGENT_KEY_NEEDED, 0);
		}
		return;
	}
	/* Data that goes astray is not the handshake's business. */
	if (!same(&e->where, &w.place[!n]) || w.cut[!n])
		return;
	e->sent++;
	other->got += open_record(other, key, n);
}

static void run_kernel(int n)
{
	struct end *e = &w.end[n];

	for (size_t i = 0; i < e->keys; i++) {
		struct key *key = &e->key[i];
		uint64_t age = w.now - key->at;

		if (age >= OM_AGENT_OPEN_S * 1000ULL) {
			delete(e, i--);
			continue;
		}
		if (age >= OM_AGENT_SEAL_S * 1000ULL)
			key->active = false;
		if (key->active && !key->told && age >= key->k.soft_s * 1000ULL) {
			key->told = true;
			tell(e, OM_AGENT_KEY_SOFT, key->k.local_id);
		}
	}
	if (e->confirm_left && w.now >= e->confirm_at && active(e)) {
		e->confirm_left--;
		e->confirm_at = w.now + 1000;
		if (same(&e->where, &w.place[!n]) && !w.cut[!n] &&
		    chance(100) >= w.loss)
			open_record(&w.end[!n], active(e), n);
	}
}

static void deliver(void)
{
	for (size_t i = 0; i < w.messages; i++) {
		struct message m = w.message[i];

		if (m.due > w.now)
			continue;
		w.message[i--] = w.message[--w.messages];
		om_agent_receive(&w.end[m.to].agent, w.now, &m.from, m.data, m.len);
	}
}

static void run(unsigned int seconds)
{
	uint64_t end = w.now + seconds * 1000ULL;

	for (; w.now < end; w.now += STEP_MS) {
		deliver();
		for (int n = 0; n < 2; n++) {
			om_agent_run(&w.end[n].agent, w.now);
			w.end[n].unanswered +=
				om_agent_unanswered(&w.end[n].agent.peer[0]);
			run_kernel(n);
			if (!w.quiet && !(w.now % DATA_MS))
				send_data(n);
		}
	}
}

static void forget_counts(void)
{
	for (int n = 0; n < 2; n++) {
		w.end[n].sent = 0;
		w.end[n].got = 0;
		w.end[n].waited = 0;
		w.end[n].installed = 0;
	}
	w.sent = 0;
}

/* All that was sent was opened, and nothing had to wait. */
static bool nothing_lost(void)
{
	return w.end[A].sent && w.end[B].sent &&
	       w.end[A].sent == w.end[B].got && w.end[B].sent == w.end[A].got &&
	       !w.end[A].waited && !w.end[B].waited;
}

static const char *counts(void)
{
	static char text[200];

	snprintf(text, sizeof(text), "sent %zu %zu, got %zu %zu, waited %zu %zu, keys %zu %zu, messages %zu",
		 (size_t)w.end[A].sent, (size_t)w.end[B].sent,
		 (size_t)w.end[A].got, (size_t)w.end[B].got,
		 (size_t)w.end[A].waited, (size_t)w.end[B].waited,
		 w.end[A].installed, w.end[B].installed, w.sent);
	return text;
}

/* 500 keys, on a good network and a bad one */
static void rekeying(enum om_kem_policy kem)
{
	set_up_with(kem, kem);
	run(2);
	unit_ok(active(&w.end[A]) && active(&w.end[B]), "agent: the first key",
		"%s", counts());
	forget_counts();
	run(500 * OM_AGENT_SOFT_S);
	unit_ok(nothing_lost() && w.end[A].installed >= 500 &&
		w.end[A].installed < 560 &&
		w.end[B].installed == w.end[A].installed &&
		w.sent == 2 * w.end[A].installed,
		"agent: 500 keys, two messages each", "%s", counts());
	tear_down();
	set_up_with(kem, kem);
	w.loss = 50;
	w.twice = 20;
	w.latest = 3000;
	run(60);
	forget_counts();
	run(500 * OM_AGENT_SOFT_S);
	unit_ok(w.end[A].sent == w.end[B].got && w.end[B].sent == w.end[A].got &&
		w.end[A].waited + w.end[B].waited < w.end[A].sent / 50,
		"agent: 500 keys, half of all messages lost", "%s", counts());
	tear_down();
}

/* What A begins with B, by what each is told, and how long it takes */
static void modes(void)
{
	enum { NONE = OM_HS_MODES };
	static const size_t length[] = { OM_HS_RESPONSE_LEN, OM_HS_RESPONSE_LEN_MLKEM };
	static const struct {
		enum om_kem_policy a, b;
		unsigned int mode, seconds;
	} cases[] = {
		{ OM_KEM_OFF, OM_KEM_OFF, OM_HS_CLASSIC, 1 },
		{ OM_KEM_OFF, OM_KEM_ON, OM_HS_CLASSIC, 1 },
		{ OM_KEM_OFF, OM_KEM_REQUIRED, NONE, 90 },
		{ OM_KEM_ON, OM_KEM_OFF, OM_HS_CLASSIC, 6 },
		{ OM_KEM_ON, OM_KEM_ON, OM_HS_MLKEM, 1 },
		{ OM_KEM_ON, OM_KEM_REQUIRED, OM_HS_MLKEM, 1 },
		{ OM_KEM_REQUIRED, OM_KEM_OFF, NONE, 90 },
		{ OM_KEM_REQUIRED, OM_KEM_ON, OM_HS_MLKEM, 1 },
		{ OM_KEM_REQUIRED, OM_KEM_REQUIRED, OM_HS_MLKEM, 1 },
	};

	for (size_t i = 0; i < OM_ARRAY_SIZE(cases); i++) {
		const struct end *a = &w.end[A], *b = &w.end[B];
		unsigned int mode = cases[i].mode;

		set_up_with(cases[i].a, cases[i].b);
		w.quiet = true;
		tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
		run(cases[i].seconds);
		unit_ok(mode == NONE ? !a->installed && !b->installed :
			a->installed == 1 && b->installed == 1 &&
			w.old[w.olds - 1].len == length[mode],
			"agent: with or without ML-KEM", "%zu: %s", i, counts());
		/* Who may have either is told which it is. */
		unit_ok(a->agreed[OM_HS_MLKEM] + 10 * a->agreed[OM_HS_CLASSIC] ==
				(a->kem != OM_KEM_ON ? 0 : mode == OM_HS_MLKEM ? 1 : 10) &&
			b->agreed[OM_HS_MLKEM] + 10 * b->agreed[OM_HS_CLASSIC] ==
				(b->kem != OM_KEM_ON ? 0 : mode == OM_HS_MLKEM ? 1 : 10),
			"agent: which is told", "%zu", i);
		unit_ok((mode == NONE) == !!b->refused[cases[i].a == OM_KEM_REQUIRED ?
						       OM_HS_MLKEM : OM_HS_CLASSIC] ||
			cases[i].a == OM_KEM_ON,
			"agent: and what is refused", "%zu", i);
		tear_down();
	}
}

/* Who keeps long messages back has it done without, but not where it is required. */
static void downgraded(void)
{
	const struct end *a = &w.end[A], *b = &w.end[B];

	set_up_with(OM_KEM_ON, OM_KEM_ON);
	w.longest = OM_HS_INITIATION_LEN;
	/* Both begin: if the second tries cross, the next is the one. */
	run(15);
	unit_ok(active(&w.end[A]) && a->agreed[OM_HS_CLASSIC] == 1,
		"agent: without ML-KEM, and told so", "%s", counts());
	run(OM_AGENT_SOFT_S);
	unit_ok(a->installed >= 2 && a->agreed[OM_HS_CLASSIC] == 1,
		"agent: told once", "%s", counts());
	forget_counts();
	w.longest = 0;
	run(OM_AGENT_SOFT_S + 20);
	unit_ok(a->agreed[OM_HS_MLKEM] == 1 && b->agreed[OM_HS_MLKEM] == 1 &&
		nothing_lost(), "agent: with it as soon as that is possible", "%s",
		counts());
	tear_down();
	set_up_with(OM_KEM_REQUIRED, OM_KEM_ON);
	w.longest = OM_HS_INITIATION_LEN;
	run(300);
	unit_ok(!a->installed && !b->installed,
		"agent: never without ML-KEM if it is required", "%s", counts());
	tear_down();
}

/* The first long message is lost: what is classic is so for seconds. */
static void soon_better(void)
{
	const struct end *a = &w.end[A], *b = &w.end[B];

	set_up_with(OM_KEM_ON, OM_KEM_ON);
	w.quiet = true;
	w.longest = OM_HS_INITIATION_LEN;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	run(6);
	w.longest = 0;
	w.quiet = false;
	run(6);
	unit_ok(a->agreed[OM_HS_CLASSIC] == 1 && a->agreed[OM_HS_MLKEM] == 1 &&
		b->agreed[OM_HS_MLKEM] == 1 && a->installed == 2 && nothing_lost(),
		"agent: a classic key is soon replaced", "%s", counts());
	run(1000);
	unit_ok(a->agreed[OM_HS_CLASSIC] == 1 && nothing_lost(),
		"agent: and none comes after it", "%s", counts());
	tear_down();
}

/* An end that has none of it: keys change as if neither had, but for a try for each. */
static void one_sided(void)
{
	const struct end *a = &w.end[A];

	set_up_with(OM_KEM_ON, OM_KEM_OFF);
	w.quiet = true;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	run(20);
	w.quiet = false;
	forget_counts();
	run(1000);
	unit_ok(nothing_lost() && !a->unanswered && a->installed >= 8 &&
		w.sent == 3 * a->installed && w.end[B].refused[OM_HS_MLKEM] == 1,
		"agent: with an end that does without", "%u: %s", a->unanswered,
		counts());
	tear_down();
	set_up_with(OM_KEM_ON, OM_KEM_OFF);
	w.cut[B] = true;
	w.quiet = true;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	run(30);
	unit_ok(a->unanswered, "agent: with one that is not there", "%s", counts());
	tear_down();
}

/* A refused initiation is as new as it was, should it be allowed some day. */
static void refused_once(void)
{
	set_up_with(OM_KEM_REQUIRED, OM_KEM_OFF);
	w.quiet = true;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	run(2);
	w.end[B].agent.peer[0].kem = OM_KEM_ON;
	om_agent_receive(&w.end[B].agent, w.now, &w.old[0].from, w.old[0].data,
			 w.old[0].len);
	run(1);
	unit_ok(w.end[B].refused[OM_HS_MLKEM] == 1 && active(&w.end[A]),
		"agent: refused, then allowed", "%s", counts());
	tear_down();
	/* And one that was begun before it was ruled out */
	set_up_with(OM_KEM_OFF, OM_KEM_ON);
	w.quiet = true;
	w.latest = 1000;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	w.end[A].agent.peer[0].kem = OM_KEM_REQUIRED;
	run(3);
	unit_ok(w.end[B].installed == 1 && !w.end[A].installed,
		"agent: an answer in a mode that was ruled out", "%s", counts());
	tear_down();
}

/* Both want a key at the same moment: one handshake comes of it. */
static void simultaneous(void)
{
	set_up();
	w.latest = 0;
	for (int n = 0; n < 2; n++)
		tell(&w.end[n], OM_AGENT_KEY_NEEDED, 0);
	run(1);
	unit_ok(active(&w.end[A]) && active(&w.end[B]) && w.sent == 3 &&
		w.end[A].keys == 1 && w.end[B].keys == 1,
		"agent: both begin", "%s", counts());
	run(60);
	unit_ok(w.sent == 3 && w.end[A].sent == w.end[B].got,
		"agent: and are content", "%s", counts());
	tear_down();
}

/* An end's machine is cloned in the middle: a clone has what the key is made of, too. */
static void cloned(void)
{
	for (int n = 0; n < 2; n++) {
		set_up();
		w.quiet = true;
		tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
		w.end[B].cloned_soon = n == B;
		w.now += STEP_MS;
		deliver();
		w.end[A].epoch += n == A;
		w.now += STEP_MS;
		deliver();
		unit_ok(!w.end[n].installed && w.sent == (n == B ? 1 : 2),
			"agent: cloned in a handshake", "%d: %s", n, counts());
		w.quiet = false;
		run(20);
		unit_ok(active(&w.end[A]) && active(&w.end[B]) &&
			w.end[A].sent == w.end[B].got,
			"agent: and makes another", "%d: %s", n, counts());
		tear_down();
	}
}

/* The same while a responder writes to its disk, which takes long. */
static void cloned_at_disk(void)
{
	struct om_hs_keys theirs = {}, *ours = &w.end[B].key[0].k.keys;
	ssize_t n;

	set_up();
	w.quiet = true;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	w.end[B].fork_soon = true;
	w.now += STEP_MS;
	deliver();
	if (w.is_clone) {
		n = write(w.clone, ours, sizeof(*ours));
		_exit(n != sizeof(*ours));
	}
	n = read(w.clone, &theirs, sizeof(theirs));
	close(w.clone);
	unit_ok(n == sizeof(theirs) && wait(NULL) > 0 && w.end[B].installed == 1 &&
		memcmp(ours->rx, theirs.rx, sizeof(theirs.rx)) &&
		memcmp(ours->tx, theirs.tx, sizeof(theirs.tx)),
		"agent: two clones make two keys", "%zd: %s", n, counts());
	tear_down();
}

/* Either end goes elsewhere while neither has a key, and both want one. */
static void moved(void)
{
	for (int n = 0; n < 2; n++) {
		set_up();
		move(n, 7);
		run(60);
		forget_counts();
		run(300);
		unit_ok(nothing_lost(), "agent: the one who moved is found",
			"%d: %s", n, counts());
		tear_down();
	}
	set_up();
	w.end[B].where.len = 0;
	run(20);
	unit_ok(active(&w.end[B]), "agent: who knows no endpoint is found", "%s",
		counts());
	tear_down();
}

/* The agent is started again: keys go on, and so does rekeying. */
static void restarted(void)
{
	set_up();
	run(60);
	forget_counts();
	for (int i = 0; i < 20; i++) {
		om_agent_free(&w.end[i % 2].agent);
		start(i % 2);
		run(50);
	}
	unit_ok(nothing_lost() && w.end[A].installed >= 8,
		"agent: started again and again", "%s", counts());
	tear_down();
}

/* Its clock goes back, or far ahead and back. */
static void clocks(void)
{
	set_up();
	run(10);
	forget_counts();
	w.end[A].clock = -100000;
	run(300);
	w.end[A].clock = 100000;
	run(300);
	w.end[A].clock = 0;
	om_agent_free(&w.end[A].agent);
	start(A);
	run(300);
	unit_ok(nothing_lost(), "agent: clocks that jump", "%s", counts());
	tear_down();
}

/* All that was ever sent comes again. */
static void replayed(void)
{
	size_t keys;

	set_up();
	run(1000);
	w.quiet = true;
	run(1);
	forget_counts();
	keys = w.olds;
	for (size_t i = 0; i < keys; i++) {
		om_agent_receive(&w.end[w.old[i].to].agent, w.now,
				 &w.old[i].from, w.old[i].data, w.old[i].len);
		w.now += 1000;
	}
	unit_ok(keys > 10 && !w.sent && !w.end[A].installed &&
		!w.end[B].installed, "agent: old messages", "%zu, %s", keys,
		counts());
	/* And to one that was started again */
	om_agent_free(&w.end[A].agent);
	start(A);
	for (size_t i = 0; i < keys; i++)
		om_agent_receive(&w.end[A].agent, w.now += 1000, &w.old[i].from,
				 w.old[i].data, w.old[i].len);
	unit_ok(!w.sent && !w.end[A].installed,
		"agent: old messages after a restart", "%s", counts());
	tear_down();
}

/* Nobody is there: it gives up, and begins anew when it is asked. */
static void nobody(void)
{
	size_t first;

	set_up();
	w.quiet = true;
	w.cut[B] = true;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	run(89);
	first = w.sent;
	run(1000);
	unit_ok(first >= 16 && first <= 18 && w.sent <= first + 1 &&
		om_agent_run(&w.end[A].agent, w.now) == UINT64_MAX,
		"agent: gives up", "%zu, %s", first, counts());
	w.cut[B] = false;
	tell(&w.end[A], OM_AGENT_KEY_NEEDED, 0);
	run(1);
	unit_ok(active(&w.end[A]), "agent: and begins anew", "%s", counts());
	tear_down();
}

/* Strangers who know a public key: cookies, and the peer gets through with one. */
static void flood(void)
{
	struct om_agent_source from = { .len = 4, .port = 9 };
	struct om_hs_host stranger;
	struct om_hs h;
	struct om_hs_peer to_a;
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME] = { 0 };

	set_up();
	memset(stranger.pair.secret, 'z', 32);
	om_hs_host_init(&stranger);
	memset(&to_a, 0, sizeof(to_a));
	memcpy(to_a.public, w.end[A].agent.host.pair.public, 32);
	om_hs_peer_init(&to_a);
	w.quiet = true;
	w.end[A].where.len = 0;
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 60; k++) {
			om_hs_initiate(&h, OM_HS_CLASSIC, &stranger, &to_a, time, 1,
				       w.now, msg);
			om_agent_receive(&w.end[A].agent, w.now, &from, msg,
					 OM_HS_INITIATION_LEN);
		}
		if (i == 1)
			tell(&w.end[B], OM_AGENT_KEY_NEEDED, 0);
		run(1);
	}
	unit_ok(active(&w.end[B]) && w.end[A].keys == 1 &&
		w.end[B].agent.peer[0].hs.cookie_at && w.strangers,
		"agent: the peer comes through a flood", "%s", counts());
	om_hs_wipe(&h);
	tear_down();
}

/* What cannot be remembered is not done. */
static void full_disk(void)
{
	set_up();
	w.full = true;
	run(60);
	unit_ok(!active(&w.end[A]) && !active(&w.end[B]) && !w.sent,
		"agent: a full disk", "%s", counts());
	w.full = false;
	run(20);
	unit_ok(active(&w.end[A]) && active(&w.end[B]),
		"agent: there is room again", "%s", counts());
	tear_down();
}

void test_agent(void)
{
	rekeying(OM_KEM_OFF);
	rekeying(OM_KEM_REQUIRED);
	rekeying(OM_KEM_ON);
	modes();
	downgraded();
	soon_better();
	one_sided();
	refused_once();
	simultaneous();
	cloned();
	cloned_at_disk();
	moved();
	restarted();
	clocks();
	replayed();
	nobody();
	flood();
	full_disk();
}
