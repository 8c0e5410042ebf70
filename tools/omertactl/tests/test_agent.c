// SPDX-License-Identifier: GPL-2.0
/*
 * Two key agents in a world of their own: would catch a state that is not left, a key
 * that one end seals under and the other does not have, and an old message that does
 * anything.
 */
#include "unit.h"

#include "cookies.h"
#include "world.h"

#include "agent/agent_peers.h"

#include <sodium.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* 500 keys, on a good network and a bad one */
static void rekeying(enum om_kem_policy kem)
{
	world_set_up_with(kem, kem);
	world_run(2);
	unit_ok(world_active(&world.end[A]) && world_active(&world.end[B]), "agent: the first key",
		"%s", world_counts());
	world_forget_counts();
	world_run(500 * OM_AGENT_SOFT_S);
	unit_ok(world_nothing_lost() && world.end[A].installed >= 500 &&
		world.end[A].installed < 560 &&
		world.end[B].installed == world.end[A].installed &&
		world.sent == 2 * world.end[A].installed,
		"agent: 500 keys, two messages each", "%s", world_counts());
	world_tear_down();
	world_set_up_with(kem, kem);
	world.loss = 50;
	world.twice = 20;
	world.latest = 3000;
	world_run(60);
	world_forget_counts();
	world_run(500 * OM_AGENT_SOFT_S);
	unit_ok(world.end[A].sent == world.end[B].got && world.end[B].sent == world.end[A].got &&
		world.end[A].waited + world.end[B].waited < world.end[A].sent / 50,
		"agent: 500 keys, half of all messages lost", "%s", world_counts());
	world_tear_down();
}

/* The mode that A and B agree on, for each combination of settings, and the time it takes */
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
		const struct world_end *a = &world.end[A], *b = &world.end[B];
		unsigned int mode = cases[i].mode;

		world_set_up_with(cases[i].a, cases[i].b);
		world.quiet = true;
		world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
		world_run(cases[i].seconds);
		unit_ok(mode == NONE ? !a->installed && !b->installed :
			a->installed == 1 && b->installed == 1 &&
			world.old[world.olds - 1].len == length[mode],
			"agent: with or without ML-KEM", "%zu: %s", i, world_counts());
		/* An end with "on" reports the mode. */
		unit_ok(a->agreed[OM_HS_MLKEM] + 10 * a->agreed[OM_HS_CLASSIC] ==
				(a->kem != OM_KEM_ON ? 0 : mode == OM_HS_MLKEM ? 1 : 10) &&
			b->agreed[OM_HS_MLKEM] + 10 * b->agreed[OM_HS_CLASSIC] ==
				(b->kem != OM_KEM_ON ? 0 : mode == OM_HS_MLKEM ? 1 : 10),
			"agent: which is told", "%zu", i);
		unit_ok((mode == NONE) == !!b->refused[cases[i].a == OM_KEM_REQUIRED ?
						       OM_HS_MLKEM : OM_HS_CLASSIC] ||
			cases[i].a == OM_KEM_ON,
			"agent: and what is refused", "%zu", i);
		world_tear_down();
	}
}

/* The modes and the number of channels that A and B agree on, and the time it takes */
static void channels(void)
{
	enum { NONE = OM_HS_MODES, BOTH = OM_HS_MLKEM | OM_HS_CHANNELS };
	static const struct {
		enum om_kem_policy a, b;
		uint8_t of_a, of_b;
		bool old;
		unsigned int mode, seconds;
	} cases[] = {
		{ OM_KEM_OFF, OM_KEM_OFF, 2, 2, false, OM_HS_CHANNELS, 1 },
		{ OM_KEM_OFF, OM_KEM_OFF, 64, 3, false, OM_HS_CHANNELS, 1 },
		{ OM_KEM_OFF, OM_KEM_OFF, 2, 64, false, OM_HS_CHANNELS, 1 },
		{ OM_KEM_OFF, OM_KEM_OFF, 2, 1, false, OM_HS_CHANNELS, 1 },
		{ OM_KEM_OFF, OM_KEM_OFF, 1, 2, false, OM_HS_CLASSIC, 1 },
		{ OM_KEM_OFF, OM_KEM_OFF, 2, 2, true, OM_HS_CLASSIC, 6 },
		{ OM_KEM_ON, OM_KEM_ON, 2, 2, false, BOTH, 1 },
		{ OM_KEM_ON, OM_KEM_ON, 2, 2, true, OM_HS_CLASSIC, 6 },
		{ OM_KEM_ON, OM_KEM_OFF, 2, 2, false, OM_HS_CLASSIC, 6 },
		{ OM_KEM_ON, OM_KEM_REQUIRED, 2, 2, false, BOTH, 1 },
		{ OM_KEM_ON, OM_KEM_REQUIRED, 2, 2, true, OM_HS_MLKEM, 17 },
		{ OM_KEM_REQUIRED, OM_KEM_ON, 2, 2, true, OM_HS_MLKEM, 6 },
		{ OM_KEM_REQUIRED, OM_KEM_OFF, 2, 2, false, NONE, 90 },
	};

	for (size_t i = 0; i < OM_ARRAY_SIZE(cases); i++) {
		const struct world_end *a = &world.end[A], *b = &world.end[B];
		unsigned int mode = cases[i].mode;
		uint8_t n = mode & OM_HS_CHANNELS ?
			    (cases[i].of_a < cases[i].of_b ? cases[i].of_a : cases[i].of_b) : 1;

		world_set_up_with(cases[i].a, cases[i].b);
		world_configure(A, cases[i].a, cases[i].of_a);
		world_configure(B, cases[i].b, cases[i].of_b);
		world.before_channels = cases[i].old;
		world.quiet = true;
		world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
		world_run(cases[i].seconds);
		unit_ok(mode == NONE ? !a->installed && !b->installed :
			a->installed == 1 && b->installed == 1 &&
			world_peer(A)->mode == mode &&
			a->key[0].k.keys.channels == n && b->key[0].k.keys.channels == n &&
			a->key[0].k.keys.remote_id == b->key[0].k.local_id,
			"agent: with or without channels", "%zu: %s", i, world_counts());
		world_tear_down();
	}
}

/* The other end is from before there were channels: it still gets ML-KEM, a little later. */
static void kem_without_channels(void)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up_with(OM_KEM_ON, OM_KEM_ON);
	world_configure(A, OM_KEM_ON, 2);
	world_configure(B, OM_KEM_ON, 2);
	world.before_channels = true;
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(6);
	unit_ok(a->agreed[OM_HS_CLASSIC] == 1, "agent: without channels and ML-KEM first", "%s",
		world_counts());
	world.quiet = false;
	world_run(20);
	unit_ok(a->agreed[OM_HS_MLKEM] == 1 && b->agreed[OM_HS_MLKEM] == 1 &&
		world_nothing_lost(), "agent: then with ML-KEM alone", "%s", world_counts());
	world_tear_down();
}

/* A key with less than is wanted is replaced soon, one that wants more at once. */
static void more_channels(void)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up();
	world_configure(A, OM_KEM_OFF, 2);
	world_configure(B, OM_KEM_OFF, 2);
	world.before_channels = true;
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(6);
	world.before_channels = false;
	world.quiet = false;
	world_run(6);
	unit_ok(a->installed == 2 && b->installed == 2 && a->agreed[OM_HS_CHANNELS] == 1 &&
		b->agreed[OM_HS_CHANNELS] == 1 && world_nothing_lost(),
		"agent: channels a little later", "%s", world_counts());
	world_run(30);
	unit_ok(a->installed == 2, "agent: and no more keys for that", "%s", world_counts());
	world_configure(B, OM_KEM_OFF, 3);
	world_configure(A, OM_KEM_OFF, 4);
	world_run(7);
	unit_ok(a->key[a->keys - 1].k.keys.channels == 3 &&
		b->key[b->keys - 1].k.keys.channels == 3 && world_nothing_lost(),
		"agent: more channels are wanted", "%s", world_counts());
	world_configure(A, OM_KEM_OFF, 1);
	world_run(OM_AGENT_SOFT_S + 10);
	unit_ok(b->key[b->keys - 1].k.keys.channels == 1 && world_nothing_lost(),
		"agent: none are wanted", "%s", world_counts());
	world_tear_down();
}

/* An attacker who drops long messages forces classic keys, except with "required". */
static void downgraded(void)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up_with(OM_KEM_ON, OM_KEM_ON);
	world.longest = OM_HS_INITIATION_LEN;
	/* Both begin: if the second tries cross, the next is the one. */
	world_run(15);
	unit_ok(world_active(&world.end[A]) && a->agreed[OM_HS_CLASSIC] == 1,
		"agent: without ML-KEM, and told so", "%s", world_counts());
	world_run(OM_AGENT_SOFT_S);
	unit_ok(a->installed >= 2 && a->agreed[OM_HS_CLASSIC] == 1,
		"agent: told once", "%s", world_counts());
	world_forget_counts();
	world.longest = 0;
	world_run(OM_AGENT_SOFT_S + 20);
	unit_ok(a->agreed[OM_HS_MLKEM] == 1 && b->agreed[OM_HS_MLKEM] == 1 &&
		world_nothing_lost(), "agent: with it as soon as that is possible", "%s",
		world_counts());
	world_tear_down();
	world_set_up_with(OM_KEM_REQUIRED, OM_KEM_ON);
	world.longest = OM_HS_INITIATION_LEN;
	world_run(300);
	unit_ok(!a->installed && !b->installed,
		"agent: never without ML-KEM if it is required", "%s", world_counts());
	world_tear_down();
}

/* The first long message is lost: the keys are classic for some seconds only. */
static void soon_better(void)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up_with(OM_KEM_ON, OM_KEM_ON);
	world.quiet = true;
	world.longest = OM_HS_INITIATION_LEN;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(6);
	world.longest = 0;
	world.quiet = false;
	world_run(6);
	unit_ok(a->agreed[OM_HS_CLASSIC] == 1 && a->agreed[OM_HS_MLKEM] == 1 &&
		b->agreed[OM_HS_MLKEM] == 1 && a->installed == 2 && world_nothing_lost(),
		"agent: a classic key is soon replaced", "%s", world_counts());
	world_run(1000);
	unit_ok(a->agreed[OM_HS_CLASSIC] == 1 && world_nothing_lost(),
		"agent: and none comes after it", "%s", world_counts());
	world_tear_down();
}

/* The responder's turn, where the initiator's try is lost, too */
static void better_responder(void)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up_with(OM_KEM_ON, OM_KEM_ON);
	world.quiet = true;
	world.longest = OM_HS_INITIATION_LEN;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(6);
	world.quiet = false;
	world_run(2);
	unit_ok(b->agreed[OM_HS_CLASSIC] == 1 && a->asks && !b->asks,
		"agent: a classic key that the other end began", "%s", world_counts());
	/* A's try begins, and is over. */
	world_run(7);
	world.longest = 0;
	world_run(10);
	unit_ok(b->asks == 1 && a->agreed[OM_HS_MLKEM] == 1 && b->agreed[OM_HS_MLKEM] == 1 &&
		a->installed == 2 && world_nothing_lost(),
		"agent: the responder replaces it", "%u: %s", b->asks, world_counts());
	world_tear_down();
	/* Both at once: one counts. */
	world_set_up_with(OM_KEM_ON, OM_KEM_ON);
	world.quiet = true;
	world.latest = 200;
	world.longest = OM_HS_INITIATION_LEN;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(6);
	world.quiet = false;
	world_run(2);
	world.longest = 0;
	for (int n = A; n <= B; n++) {
		world_peer(n)->better_at = world.now + 10;
		om_agent_peers_due(&world.end[n].agent, world_peer(n), world.now + 10);
	}
	world_run(3);
	unit_ok(a->agreed[OM_HS_MLKEM] == 1 && b->agreed[OM_HS_MLKEM] == 1 &&
		a->installed == 2 && b->installed == 2 && world_nothing_lost(),
		"agent: both try, and one key comes of it", "%s", world_counts());
	world_tear_down();
}

/* An end that has none of it: keys change as if neither had, but for a try for each. */
static void one_sided(void)
{
	const struct world_end *a = &world.end[A];

	world_set_up_with(OM_KEM_ON, OM_KEM_OFF);
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(20);
	world.quiet = false;
	world_forget_counts();
	world_run(1000);
	/* The first of three tries in vain was before. */
	unit_ok(world_nothing_lost() && !a->unanswered && a->installed >= 8 &&
		world.sent == 2 * a->installed + 2 && world.end[B].refused[OM_HS_MLKEM] == 1,
		"agent: with an end that does without", "%u: %zu, %s", a->unanswered,
		world.sent, world_counts());
	world_forget_counts();
	world_run(3600);
	/* The last handshake may be under way. */
	unit_ok(world_nothing_lost() && (world.sent == 2 * a->installed + 1 ||
					 world.sent == 2 * world.end[B].installed + 1),
		"agent: which is asked once an hour", "%zu: %s", world.sent, world_counts());
	world_tear_down();
	world_set_up_with(OM_KEM_ON, OM_KEM_OFF);
	world.cut[B] = true;
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(30);
	unit_ok(a->unanswered, "agent: with one that is not there", "%s", world_counts());
	world_tear_down();
}

/* A refused initiation is old from then on: replays are neither reported nor accepted. */
static void refused_once(void)
{
	struct world_end *b = &world.end[B];
	const struct world_message *old = &world.old[0];

	world_set_up_with(OM_KEM_REQUIRED, OM_KEM_OFF);
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(2);
	unit_ok(b->refused[OM_HS_MLKEM] == 1 && b->writes == 1, "agent: refused", "%s",
		world_counts());
	world_receive(&b->agent, world.now + 2 * OM_AGENT_TELL_MS, &old->from, old->data,
			 old->len);
	unit_ok(b->refused[OM_HS_MLKEM] == 1, "agent: its replay is not told", "%u",
		b->refused[OM_HS_MLKEM]);
	world_run(12);
	unit_ok(b->refused[OM_HS_MLKEM] == 1 && world.end[B].agent.trouble[OM_AGENT_REFUSED] == 3,
		"agent: nor is another one, but counted", "%u", b->refused[OM_HS_MLKEM]);
	world_configure(B, OM_KEM_ON, 1);
	world_configure(B, OM_KEM_OFF, 1);
	world_run(5);
	unit_ok(b->refused[OM_HS_MLKEM] == 2, "agent: unless it was allowed meanwhile", "%u",
		b->refused[OM_HS_MLKEM]);
	world_peer(B)->kem = OM_KEM_ON;
	world_receive(&b->agent, world.now, &old->from, old->data, old->len);
	unit_ok(!b->installed, "agent: nor is it taken", "%s", world_counts());
	world_run(6);
	unit_ok(world_active(&world.end[A]), "agent: refused, then allowed", "%s",
		world_counts());
	world_tear_down();
	/* And one that was begun before it was ruled out */
	world_set_up_with(OM_KEM_OFF, OM_KEM_ON);
	world.quiet = true;
	world.latest = 1000;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_peer(A)->kem = OM_KEM_REQUIRED;
	world_run(3);
	unit_ok(world.end[B].installed == 1 && !world.end[A].installed,
		"agent: an answer in a mode that was ruled out", "%s", world_counts());
	world_tear_down();
}

/* The kernel and the daemon do this when an identity or a preshared key changes. */
static void begin_anew(int n)
{
	world_peer(n)->hs.psk[0] ^= 1;
	world.end[n].keys = 0;
	world_tell(&world.end[n], OM_AGENT_ANEW, 0);
}

/* Both want a key at the same moment: one handshake comes of it. */
static void simultaneous(void)
{
	world_set_up();
	world.latest = 0;
	for (int n = 0; n < 2; n++)
		world_tell(&world.end[n], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(&world.end[A]) && world_active(&world.end[B]) && world.sent == 3 &&
		world.end[A].keys == 1 && world.end[B].keys == 1,
		"agent: both begin", "%s", world_counts());
	world_run(60);
	unit_ok(world.sent == 3 && world.end[A].sent == world.end[B].got,
		"agent: and are content", "%s", world_counts());
	world_tear_down();
}

/*
 * Both begin, and the initiation that counts is lost, or its answer is of no use: no
 * handshake waits for the other end's next try, which is seconds later.
 */
static void crossed(void)
{
	struct world_end *a = &world.end[A], *b = &world.end[B];
	int first;

	for (int late = 0; late < 2; late++) {
		world_set_up();
		world.quiet = true;
		first = memcmp(a->agent.host.pair.public, b->agent.host.pair.public,
			       OM_NOISE_KEY) > 0 ? A : B;
		world.cut[!first] = true;
		world_tell(&world.end[first], OM_AGENT_KEY_NEEDED, 0);
		world_run(1 + late);
		world.cut[!first] = false;
		/* A moment more than the time in which it counts */
		world.now += late ? 10 : 0;
		world_tell(&world.end[!first], OM_AGENT_KEY_NEEDED, 0);
		world_run(late ? 1 : 2);
		unit_ok(world_active(a) && world_active(b),
			"agent: the initiation that counts is lost", "%d: %s", late,
			world_counts());
		world_tear_down();
	}
	world_set_up();
	world.quiet = true;
	first = memcmp(a->agent.host.pair.public, b->agent.host.pair.public,
		       OM_NOISE_KEY) > 0 ? A : B;
	world_peer(first)->hs.psk[0] ^= 1;
	world_tell(&world.end[first], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world.end[first].agent.trouble[OM_AGENT_UNOPENED] == 1,
		"agent: an answer of before", "%s", world_counts());
	begin_anew(!first);
	world_run(1);
	unit_ok(world_active(a) && world_active(b),
		"agent: and what comes after it is answered", "%s", world_counts());
	world_tear_down();
}

/*
 * Both begin on a path so long that the initiation that counts has no answer while it
 * does, and the other comes after that: one handshake comes of it.
 */
static void crossed_far(void)
{
	struct world_end *a = &world.end[A], *b = &world.end[B];

	for (int n = 0; n < 2; n++) {
		world_set_up();
		world.quiet = true;
		world.latest = 0;
		world.delay = 1500;
		world_tell(&world.end[n], OM_AGENT_KEY_NEEDED, 0);
		world_run(1);
		world_tell(&world.end[!n], OM_AGENT_KEY_NEEDED, 0);
		world_run(6);
		unit_ok(world_active(a) && world_active(b) && !world_peer(A)->sent &&
			!world_peer(B)->sent,
			"agent: both begin, far from each other", "%d: %s", n,
			world_counts());
		world_run(20);
		unit_ok(!world_peer(A)->tries && !world_peer(B)->tries && world.sent <= 6,
			"agent: which is all", "%d: %zu, %s", n, world.sent,
			world_counts());
		world_tear_down();
	}
}

/* An end's machine is cloned in the middle: a clone has what the key is made of, too. */
static void cloned(void)
{
	for (int n = 0; n < 2; n++) {
		world_set_up();
		world.quiet = true;
		world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
		world.end[B].cloned_soon = n == B;
		world.now += WORLD_STEP_MS;
		world_deliver();
		world.end[A].epoch += n == A;
		world.now += WORLD_STEP_MS;
		world_deliver();
		unit_ok(!world.end[n].installed && world.sent == (n == B ? 1 : 2),
			"agent: cloned in a handshake", "%d: %s", n, world_counts());
		world.quiet = false;
		world_run(20);
		unit_ok(world_active(&world.end[A]) && world_active(&world.end[B]) &&
			world.end[A].sent == world.end[B].got,
			"agent: and makes another", "%d: %s", n, world_counts());
		world_tear_down();
	}
}

/* The same while a responder writes to its disk, which takes long. */
static void cloned_at_disk(void)
{
	struct om_hs_keys theirs = {}, *ours = &world.end[B].key[0].k.keys;
	ssize_t n;

	world_set_up();
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world.end[B].fork_soon = true;
	world.now += WORLD_STEP_MS;
	world_deliver();
	if (world.is_clone) {
		n = write(world.clone, ours, sizeof(*ours));
		_exit(n != sizeof(*ours));
	}
	n = read(world.clone, &theirs, sizeof(theirs));
	close(world.clone);
	unit_ok(n == sizeof(theirs) && wait(NULL) > 0 && world.end[B].installed == 1 &&
		memcmp(ours->rx, theirs.rx, sizeof(theirs.rx)) &&
		memcmp(ours->tx, theirs.tx, sizeof(theirs.tx)),
		"agent: two clones make two keys", "%zd: %s", n, world_counts());
	world_tear_down();
}

/* Either end goes elsewhere while neither has a key, and both want one. */
static void moved(void)
{
	for (int n = 0; n < 2; n++) {
		world_set_up();
		world_move(n, 7);
		world_run(60);
		world_forget_counts();
		world_run(300);
		unit_ok(world_nothing_lost(), "agent: the one who moved is found",
			"%d: %s", n, world_counts());
		world_tear_down();
	}
	world_set_up();
	world.end[B].where.len = 0;
	world_run(20);
	unit_ok(world_active(&world.end[B]), "agent: who knows no endpoint is found", "%s",
		world_counts());
	world_tear_down();
}

/* The agent is started again: keys go on, and so does rekeying. */
static void restarted(void)
{
	world_set_up();
	world_run(60);
	world_forget_counts();
	for (int i = 0; i < 20; i++) {
		om_agent_free(&world.end[i % 2].agent);
		world_start(i % 2);
		world_run(50);
	}
	unit_ok(world_nothing_lost() && world.end[A].installed >= 8,
		"agent: started again and again", "%s", world_counts());
	world_tear_down();
}

/* Its clock goes back, or far ahead and back. */
static void clocks(void)
{
	world_set_up();
	world_run(10);
	world_forget_counts();
	world.end[A].clock = -100000;
	world_run(300);
	world.end[A].clock = 100000;
	world_run(300);
	world.end[A].clock = 0;
	om_agent_free(&world.end[A].agent);
	world_start(A);
	world_run(300);
	unit_ok(world_nothing_lost(), "agent: clocks that jump", "%s", world_counts());
	world_tear_down();
}

/* An end's peer, without the fields that an old initiation may change */
static void put_mac1(const struct om_hs_host *host, uint8_t *msg, size_t len)
{
	uint8_t whole[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, host->labels.mac1, 32);
	crypto_auth_hmacsha256_update(&state, msg, len - 2 * OM_HS_MAC);
	crypto_auth_hmacsha256_final(&state, whole);
	memcpy(msg + len - 2 * OM_HS_MAC, whole, OM_HS_MAC);
}

/* But for what only counts */
static struct om_agent_peer peer_now(int n)
{
	struct om_agent_peer peer = *world_peer(n);

	peer.time_from = 0;
	memset(peer.told, 0, sizeof(peer.told));
	peer.failure = -1;
	return peer;
}

/* All that was ever sent comes again: time messages are all that comes of it. */
static void replay(const char *name)
{
	size_t n = world.olds, initiations = 0, time_messages = 0, other = 0;
	struct om_agent_peer before[2] = { peer_now(A), peer_now(B) }, after[2];

	world_forget_counts();
	for (size_t i = 0; i < n; i++) {
		const struct world_message *m = &world.old[i];
		size_t sent = world.sent;

		world.messages = 0;
		world_receive(&world.end[m->to].agent, world.now, &m->from, m->data, m->len);
		world.now += 1000;
		initiations += m->data[3] == OM_HS_INITIATION;
		if (world.sent == sent)
			continue;
		if (world.messages == 1 && world.message[0].data[3] == OM_HS_TIME_MSG &&
		    world.message[0].len < m->len)
			time_messages++;
		else
			other++;
		/* The initiator has no use for it. */
		world_receive(&world.end[world.message[0].to].agent, world.now,
				 &world.message[0].from, world.message[0].data,
				 world.message[0].len);
	}
	world.olds = n;
	world.messages = 0;
	after[A] = peer_now(A);
	after[B] = peer_now(B);
	unit_ok(initiations > 3 && time_messages == initiations && !other &&
		!world.end[A].installed && !world.end[B].installed &&
		!memcmp(before, after, sizeof(before)), name, "%zu, %zu: %s", initiations,
		time_messages, world_counts());
}

static void replayed(void)
{
	world_set_up();
	world_run(1000);
	world.quiet = true;
	world_run(1);
	replay("agent: old messages");
	unit_ok(!world.end[A].trouble[OM_AGENT_OLD] && !world.end[B].trouble[OM_AGENT_OLD] &&
		world.end[A].agent.trouble[OM_AGENT_OLD] + world.end[B].agent.trouble[OM_AGENT_OLD] > 3,
		"agent: are counted, and not told while a key works", "%u %u",
		world.end[A].trouble[OM_AGENT_OLD], world.end[B].trouble[OM_AGENT_OLD]);
	/* And to one that was started again */
	om_agent_free(&world.end[A].agent);
	world_start(A);
	replay("agent: old messages after a restart");
	unit_ok(world.end[A].trouble[OM_AGENT_OLD] == 1 &&
		world.end[A].agent.trouble[OM_AGENT_OLD] > 1,
		"agent: are told once until a key is made", "%u",
		world.end[A].trouble[OM_AGENT_OLD]);
	world_tear_down();
}

/* Trouble that was told and counted, as A and B see it */
static bool told(unsigned int unopened, unsigned int unused)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	return a->trouble[OM_AGENT_UNOPENED] == unopened &&
	       b->trouble[OM_AGENT_UNUSED] == unused &&
	       !a->trouble[OM_AGENT_UNUSED] && !b->trouble[OM_AGENT_UNOPENED] &&
	       !a->trouble[OM_AGENT_OLD] && !b->trouble[OM_AGENT_OLD];
}

/* The ends have other preshared keys: each says so once, until that changes. */
static void other_psk(void)
{
	struct world_end *a = &world.end[A];

	world_set_up();
	world.quiet = true;
	world_peer(B)->hs.psk[0] ^= 1;
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(14);
	unit_ok(told(0, 0) && world.end[A].agent.trouble[OM_AGENT_UNOPENED] == 3,
		"agent: three tries are not told", "%s", world_counts());
	world_run(60);
	unit_ok(told(1, 1) && world.end[A].agent.trouble[OM_AGENT_UNOPENED] > 10 &&
		world.end[B].agent.trouble[OM_AGENT_UNUSED] > 10,
		"agent: another preshared key is told once", "%u %u, %s",
		a->trouble[OM_AGENT_UNOPENED], world.end[B].trouble[OM_AGENT_UNUSED],
		world_counts());
	world_peer(B)->hs.psk[0] ^= 1;
	world_run(6);
	unit_ok(world_active(a), "agent: and can be mended", "%s", world_counts());
	world_peer(B)->hs.psk[0] ^= 1;
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(60);
	unit_ok(told(1, 1), "agent: not told while a key works", "%s", world_counts());
	world_run(OM_AGENT_OPEN_S);
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(60);
	/* By then the other end has begun, too. */
	unit_ok(a->trouble[OM_AGENT_UNOPENED] == 2 &&
		world.end[B].trouble[OM_AGENT_UNUSED] == 2,
		"agent: and once more after that", "%u %u, %s",
		a->trouble[OM_AGENT_UNOPENED], world.end[B].trouble[OM_AGENT_UNUSED],
		world_counts());
	world_tear_down();
}

/*
 * After a change of identity a new key is agreed on at once, whatever was in flight; and once
 * more if traffic asks for it, as the other end may not have known the change at first.
 */
static void anew(void)
{
	struct world_end *a = &world.end[A], *b = &world.end[B];
	size_t tries;

	world_set_up();
	world_run(1);
	world.quiet = true;
	begin_anew(B);
	begin_anew(A);
	world_run(1);
	unit_ok(world_active(a) && world_active(b) && a->installed == 2 && b->installed == 2,
		"agent: anew, at once", "%s", world_counts());
	/* B holds back after its answer, but not now. */
	begin_anew(A);
	begin_anew(B);
	world_run(1);
	unit_ok(world_active(a) && world_active(b) && !world_peer(B)->tries,
		"agent: anew, soon after an answer", "%s", world_counts());
	begin_anew(A);
	world_run(1);
	tries = world.sent;
	world_tell(a, OM_AGENT_ANEW, 0);
	unit_ok(!world_active(a) && world.sent == tries,
		"agent: each of several keys tells of it", "%s", world_counts());
	world_peer(B)->hs.psk[0] ^= 1;
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(a) && a->trouble[OM_AGENT_UNOPENED] == 0,
		"agent: anew for traffic", "%s", world_counts());
	begin_anew(A);
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	tries = world.sent;
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(!world_active(a) && world.sent <= tries + 1, "agent: which is done once",
		"%s", world_counts());
	world_tear_down();
	/* Either is the first to change; the other begins as soon as it has. */
	for (int n = A; n <= B; n++) {
		world_set_up();
		world_run(1);
		world.quiet = true;
		world.cut[A] = true;
		world.cut[B] = true;
		begin_anew(n);
		world_run(1);
		world.cut[A] = false;
		world.cut[B] = false;
		begin_anew(!n);
		world_run(1);
		unit_ok(world_active(a) && world_active(b), "agent: anew, the one before the other",
			"%d: %s", n, world_counts());
		world_tear_down();
	}
}

/* An initiation that could not be sent is sent as soon as traffic asks, and no sooner. */
static void down(void)
{
	struct world_end *a = &world.end[A];

	world_set_up();
	world.quiet = true;
	world.down = true;
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_tell(a, OM_AGENT_EARLY, 0);
	world_run(1);
	world.down = false;
	world_run(1);
	unit_ok(!world.sent, "agent: a device that is down", "%s", world_counts());
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(a) && world.sent == 2, "agent: and comes up", "%s",
		world_counts());
	world_tear_down();
	/* Nor does the agent know of all that is not sent. */
	world_set_up();
	world.quiet = true;
	world.cut[B] = true;
	world_tell(a, OM_AGENT_EARLY, 0);
	world_run(1);
	world_tell(a, OM_AGENT_EARLY, 0);
	world.cut[B] = false;
	unit_ok(world.sent == 1, "agent: before traffic asks", "%s", world_counts());
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(a) && world.sent == 3, "agent: and once it does", "%s",
		world_counts());
	world_tear_down();
}

/* A forger sees our initiations and answers them; the peer does not. */
static void forged_responses(void)
{
	uint8_t msg[OM_HS_RESPONSE_LEN] = { 'O', 'M', 'R', OM_HS_RESPONSE };
	struct world_end *a = &world.end[A];
	struct om_agent_peer *peer;
	uint32_t id;

	world_set_up();
	world_run(10);
	world.quiet = true;
	world.cut[B] = true;
	world_tell(a, OM_AGENT_KEY_SOFT, 0);
	peer = world_peer(A);
	for (int i = 0; i < 60; i++) {
		world_run(1);
		id = htole32(peer->sent_id);
		memcpy(msg + 4, &id, sizeof(id));
		put_mac1(&a->agent.host, msg, sizeof(msg));
		world_receive(&a->agent, world.now, &world.place[B], msg, sizeof(msg));
	}
	unit_ok(told(0, 0) && a->agent.trouble[OM_AGENT_UNOPENED] == 60 && peer->tries > 3,
		"agent: forgeries are counted, and not told while a key works", "%s",
		world_counts());
	world.cut[B] = false;
	world_run(6);
	unit_ok(!peer->tries, "agent: and end no try", "%s", world_counts());
	world_tear_down();
}

/* Nobody is there: it gives up, and begins anew when it is asked. */
static void nobody(void)
{
	size_t first;

	world_set_up();
	world.quiet = true;
	world.cut[B] = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(89);
	first = world.sent;
	world_run(1000);
	unit_ok(first >= 16 && first <= 18 && world.sent <= first + 1 &&
		om_agent_run(&world.end[A].agent, world.now) == UINT64_MAX,
		"agent: gives up", "%zu, %s", first, world_counts());
	world.cut[B] = false;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(&world.end[A]), "agent: and begins anew", "%s", world_counts());
	world_tear_down();
}

/* The initiations among all that was sent from @from on, to an end */
static unsigned int initiations(size_t from, int to)
{
	unsigned int n = 0;

	for (size_t i = from; i < world.olds; i++)
		n += world.old[i].to == to && world.old[i].data[3] == OM_HS_INITIATION;
	return n;
}

/* The other end's kernel wants a cookie: a round trip, not a try. */
static void cookie(enum om_kem_policy kem)
{
	world_set_up_with(kem, kem);
	world.quiet = true;
	world.end[A].busy = true;
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(&world.end[B]) && world.end[A].cookies == 1 &&
		initiations(0, A) == 2 && world.end[A].writes == 1,
		"agent: a cookie is answered at once", "%u cookies, %u initiations, %s",
		world.end[A].cookies, initiations(0, A), world_counts());
	world_tell(&world.end[B], OM_AGENT_KEY_SOFT, 0);
	world_run(1);
	unit_ok(world.end[B].installed == 2 && world.end[A].cookies == 1,
		"agent: and used for the next key, too", "%s", world_counts());
	world_tear_down();
}

/* A flood of cookies adds one initiation to each try, and no try. */
static void cookie_flood(void)
{
	uint8_t other[OM_HS_MAC] = { 1 }, msg[OM_HS_COOKIE_LEN];
	struct om_agent *b = &world.end[B].agent;

	world_set_up();
	world.quiet = true;
	world.cut[A] = true;
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	for (int i = 0; i < 4000; i++) {
		const struct world_message *m = &world.old[world.olds - 1];

		other[1] = (uint8_t)i;
		cookie_message(&world.end[A].agent.host, other, m->data, m->len, msg);
		world_receive(b, world.now, &world.place[A], msg, sizeof(msg));
		world_receive(b, world.now, &world.place[A], msg, sizeof(msg));
		om_agent_run(b, world.now);
		world.now += 10;
	}
	/* 40 s have 8 tries. */
	unit_ok(world_peer(B)->tries == 8 && initiations(0, A) == 16,
		"agent: a flood of cookies makes one initiation more a try", "%u tries, %u",
		world_peer(B)->tries, initiations(0, A));
	world_tear_down();
	/* A late cookie is good for the next try. */
	world_set_up();
	world.quiet = true;
	world.cut[A] = true;
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	for (int i = 0; i < 2; i++) {
		const struct world_message *m = &world.old[world.olds - 1];

		other[1] = (uint8_t)i;
		cookie_message(&world.end[A].agent.host, other, m->data, m->len, msg);
		world_receive(b, world.now, &world.place[A], msg, sizeof(msg));
	}
	world_run(6);
	unit_ok(initiations(0, A) == 3 &&
		cookie_is_in(other, world.old[world.olds - 1].data,
			     world.old[world.olds - 1].len),
		"agent: a late cookie is good for the next try", "%u", initiations(0, A));
	world_tear_down();
}

/* As a responder: the cookie is kept for what we send next. */
static void cookie_of_response(void)
{
	const struct world_message *response;
	uint8_t msg[OM_HS_COOKIE_LEN];

	world_set_up();
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	response = &world.old[1];
	cookie_message(&world.end[A].agent.host, world_cookie, response->data, response->len,
		       msg);
	world_receive(&world.end[B].agent, world.now, &world.place[A], msg, sizeof(msg));
	unit_ok(world.sent == 2 && response->data[3] == OM_HS_RESPONSE &&
		world_peer(B)->hs.cookie_at, "agent: a cookie for a response", "%s",
		world_counts());
	world_tear_down();
}

#define FIVE_YEARS	(5 * 365 * 86400L)

/* Strangers' initiations, with a right mac1: their number changes nothing for the peer. */
static void strangers(void)
{
	struct om_agent_source from = { .len = 4, .port = 9 };
	struct om_hs_host stranger;
	struct om_hs h;
	struct om_hs_peer to_a;
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME] = { 0 };

	world_set_up();
	memset(stranger.pair.secret, 'z', 32);
	om_hs_host_init(&stranger);
	memset(&to_a, 0, sizeof(to_a));
	memcpy(to_a.public, world.end[A].agent.host.pair.public, 32);
	om_hs_peer_init(&to_a);
	world.quiet = true;
	for (int k = 0; k < 200; k++) {
		om_hs_initiate(&h, OM_HS_CLASSIC, 1, &stranger, &to_a, time, 1, world.now, msg);
		world_receive(&world.end[A].agent, world.now, &from, msg,
				 OM_HS_INITIATION_LEN);
	}
	unit_ok(!world.sent && world.strangers == 200, "agent: strangers get no answer", "%s",
		world_counts());
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world_active(&world.end[B]) && world.sent == 2,
		"agent: and the peer needs no cookie after them", "%s", world_counts());
	om_hs_wipe(&h);
	world_tear_down();
}

/* The initiation of B with another time than its agent's, to A's agent */
static size_t initiation_at(const uint8_t time[OM_HS_TIME], uint8_t mode,
			    struct om_hs *h, uint8_t *msg)
{
	struct om_agent *b = &world.end[B].agent;

	return om_hs_initiate(h, mode, 1, &b->host, &world_peer(B)->hs, time, 1, world.now, msg);
}

static void put_time(uint8_t time[OM_HS_TIME], int64_t seconds)
{
	uint64_t s = (1ULL << 62) + (uint64_t)seconds;

	memset(time, 0, OM_HS_TIME);
	for (int i = 0; i < 8; i++)
		time[i] = (uint8_t)(s >> (56 - 8 * i));
}

/* One peer's handshakes without end: one in 20 ms counts, and no more is done for others. */
static void hasty(void)
{
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME];
	struct om_agent *a = &world.end[A].agent;
	struct om_hs h;
	size_t len;

	world_set_up();
	world.quiet = true;
	for (int i = 0; i < 1000; i++, world.now++) {
		put_time(time, 1000 + i);
		len = initiation_at(time, OM_HS_CLASSIC, &h, msg);
		world_receive(a, world.now, &world.place[B], msg, len);
	}
	unit_ok(world.end[A].installed == 50 && world.end[A].writes == 50 &&
		world.sent == 50 && world.end[A].keys <= OM_AGENT_OFFERED,
		"agent: one initiation of a peer in 20 ms", "%u writes, %zu keys, %s",
		world.end[A].writes, world.end[A].keys, world_counts());
	/* A dropped initiation was never taken: its time is as new as it was. */
	put_time(time, 2000);
	len = initiation_at(time, OM_HS_CLASSIC, &h, msg);
	world_receive(a, world.now, &world.place[B], msg, len);
	put_time(time, 2001);
	len = initiation_at(time, OM_HS_CLASSIC, &h, msg);
	world_receive(a, world.now + 1, &world.place[B], msg, len);
	world_receive(a, world.now + 21, &world.place[B], msg, len);
	world_receive(a, world.now + 50, &world.place[B], msg, len);
	unit_ok(world.end[A].installed == 52 && world.end[A].writes == 52,
		"agent: a dropped one may come again, once", "%u writes, %s",
		world.end[A].writes, world_counts());
	om_hs_wipe(&h);
	world_tear_down();
}

/* Initiations of one moment are written at once, and answered after that. */
static void moment(void)
{
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME];
	struct om_agent *a = &world.end[A].agent;
	const struct world_end *e = &world.end[A];
	struct om_hs h;
	bool ok = true;
	size_t len;

	world_set_up();
	world.quiet = true;
	for (unsigned int i = 0; i < OM_AGENT_MOMENT + 5; i++) {
		ok = ok && e->syncs == i / OM_AGENT_MOMENT && world.sent == e->writes;
		put_time(time, 1000 + i);
		len = initiation_at(time, OM_HS_CLASSIC, &h, msg);
		om_agent_receive(a, world.now + i * OM_AGENT_GAP_MS, &world.place[B], msg, len);
	}
	unit_ok(ok && e->syncs == 1 && world.sent == OM_AGENT_MOMENT,
		"agent: no answer before its time is remembered", "%u syncs, %s", e->syncs,
		world_counts());
	om_agent_settle(a, world.now + 1000);
	om_agent_settle(a, world.now + 1000);
	unit_ok(e->syncs == 2 && e->writes == OM_AGENT_MOMENT + 5 && world.sent == e->writes &&
		e->installed == e->writes,
		"agent: one write for all handshakes of a moment", "%u syncs, %u writes, %s",
		e->syncs, e->writes, world_counts());
	world.full = true;
	put_time(time, 5000);
	len = initiation_at(time, OM_HS_CLASSIC, &h, msg);
	world_receive(a, world.now + 2000, &world.place[B], msg, len);
	unit_ok(e->syncs == 3 && world.sent == OM_AGENT_MOMENT + 5 && e->installed == world.sent,
		"agent: no answer if its time cannot be remembered", "%u syncs, %s", e->syncs,
		world_counts());
	world.full = false;
	/* Our own time went with them. */
	ok = e->own_writes == 1;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(8);
	unit_ok(ok && e->syncs == 3 && initiations(0, B),
		"agent: our own time is written along with others'", "%u syncs, %u own, %s",
		e->syncs, e->own_writes, world_counts());
	om_hs_wipe(&h);
	world_tear_down();
}

/* B's clock was years ahead, and it lost its file: one more message each way. */
static void ahead(enum om_kem_policy kem)
{
	const struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up_with(kem, kem);
	world.quiet = true;
	world.end[B].clock = FIVE_YEARS;
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(a->installed == 1 && !b->times[OM_AGENT_TIME_RAISED],
		"agent: a clock that is ahead", "%s", world_counts());
	world.end[B].clock = 0;
	om_agent_free(&world.end[B].agent);
	memset(world.end[B].own, 0, OM_HS_TIME);
	world_start(B);
	world_forget_counts();
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(a->installed == 1 && b->installed == 1 && world.sent == 4 &&
		b->times[OM_AGENT_TIME_RAISED] == 1, "agent: and right again, without its file",
		"%s", world_counts());
	/* It goes on from there, with that peer alone: its own time is the clock's. */
	for (int i = 0; i < 3; i++) {
		world_run(20);
		world_tell(&world.end[B], OM_AGENT_KEY_SOFT, 0);
		world_run(1);
	}
	unit_ok(b->installed == 4 && world.sent == 10 && b->own[4] == 0 &&
		world_peer(A)->latest[4] != 0 && b->times[OM_AGENT_TIME_RAISED] == 1 &&
		!a->times[OM_AGENT_TIME_SPENT], "agent: it knows that time from then on",
		"%s", world_counts());
	world.quiet = false;
	world_forget_counts();
	world_run(500);
	unit_ok(world_nothing_lost(), "agent: with data", "%s", world_counts());
	world_tear_down();
}

/* One boots in 1970 and has lost its file, the other is five years ahead. */
static void two_clocks(int first)
{
	world_set_up();
	world_run(10);
	for (int n = 0; n < 2; n++) {
		om_agent_free(&world.end[n].agent);
		world.end[n].clock = n ? FIVE_YEARS : -1700000000L;
		world.end[n].keys = 0;
		if (n == A) {
			memset(world.end[n].own, 0, OM_HS_TIME);
			memset(world.end[n].remembered, 0, OM_HS_TIME);
		}
		world_start(n);
	}
	world.messages = 0;
	world.quiet = true;
	world_forget_counts();
	world_tell(&world.end[first], OM_AGENT_KEY_NEEDED, 0);
	world_run(1);
	unit_ok(world.end[A].installed == 1 && world.end[B].installed == 1 &&
		world.sent == (first == A ? 4 : 2), "agent: two clocks", "%d: %s", first,
		world_counts());
	world.quiet = false;
	world_forget_counts();
	world_run(1000);
	unit_ok(world_nothing_lost(), "agent: two clocks that go on", "%d: %s", first,
		world_counts());
	/* Both at once, again and again */
	for (int i = 0; i < 10; i++) {
		for (int n = 0; n < 2; n++)
			world_tell(&world.end[n], OM_AGENT_KEY_SOFT, 0);
		world_run(30);
	}
	unit_ok(world_nothing_lost(), "agent: two clocks, both begin", "%d: %s", first,
		world_counts());
	world.quiet = true;
	world_run(1);
	replay("agent: replays among two clocks");
	world_tear_down();
}

/* A's answer to an initiation of B's with the given time, which A's agent must send */
static const struct world_message *time_message(int64_t known, struct om_hs *h)
{
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME];
	size_t len;

	put_time(world_peer(A)->latest, known);
	put_time(time, 5);
	len = initiation_at(time, OM_HS_CLASSIC, h, msg);
	world.messages = 0;
	world_receive(&world.end[A].agent, world.now, &world.place[B], msg, len);
	return world.messages == 1 ? &world.message[0] : NULL;
}

/* Time messages for others than the latest initiation, and lies */
static void wrong_times(void)
{
	struct om_agent *b = &world.end[B].agent;
	const struct om_agent_peer *peer;
	const struct world_message *m;
	unsigned int taken = 0;
	struct world_message late;
	struct om_hs h;

	world_set_up();
	world.quiet = true;
	peer = world_peer(B);
	m = time_message(100, &h);
	unit_ok(m && m->len == OM_HS_TIME_MSG_LEN && m->data[3] == OM_HS_TIME_MSG &&
		!memcmp(m->data + 4, "\1\0\0", 4), "agent: the answer to an old time", "%s",
		world_counts());
	unit_ok(!time_message(100, &h), "agent: one in 20 ms", "%s", world_counts());
	world.now += 20;
	m = time_message(100, &h);
	unit_ok(m, "agent: another one after that", "%s", world_counts());
	world_receive(b, world.now, &world.place[A], m->data, m->len);
	om_hs_wipe(&h);
	unit_ok(!world.end[B].times[OM_AGENT_TIME_RAISED] &&
		sodium_is_zero(peer->floor, OM_HS_TIME), "agent: one that was not asked for",
		"%s", world_counts());
	world_tear_down();

	/* A knows a later time. B's first initiation gets its answer after its second. */
	world_set_up();
	peer = world_peer(B);
	world.quiet = true;
	world.latest = 0;
	put_time(world_peer(A)->latest, 100000);
	world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
	world.now += WORLD_STEP_MS;
	world_deliver();
	late = world.message[0];
	world.messages = 0;
	for (size_t i = 8; i < late.len - 2 * OM_HS_MAC; i++) {
		struct world_message bad = late;

		bad.data[i] ^= 4;
		world_receive(b, world.now, &world.place[A], bad.data, bad.len);
		taken += !sodium_is_zero(peer->floor, OM_HS_TIME);
	}
	unit_ok(late.data[3] == OM_HS_TIME_MSG && !taken, "agent: a forged time", "%u", taken);
	world_run(6);
	world.messages = 0;
	world.cut[A] = true;
	world_receive(b, world.now, &world.place[A], late.data, late.len);
	unit_ok(sodium_is_zero(peer->floor, OM_HS_TIME) || world.end[B].installed,
		"agent: the time for an initiation that is not the latest", "%s",
		world_counts());
	world_tear_down();
}

/* A peer that lies about the time gets one initiation more a try, and no more. */
static void liar(void)
{
	struct world_end *b = &world.end[B];
	uint8_t own[OM_HS_TIME];

	world_set_up();
	world.quiet = true;
	world_tell(b, OM_AGENT_KEY_NEEDED, 0);
	for (int i = 0; i < 2000; i++, world.now += 10) {
		/* It knows a later time than each that comes. */
		put_time(world_peer(A)->latest, 1000000L * (i + 1));
		world_deliver();
		om_agent_run(&b->agent, world.now);
	}
	put_time(own, (int64_t)(world.now / 1000) + 1);
	unit_ok(world_peer(B)->tries == 4 && initiations(0, A) == 8 &&
		memcmp(b->own, own, OM_HS_TIME) < 0 && b->times[OM_AGENT_TIME_RAISED] == 1,
		"agent: a peer that lies about the time", "%u tries, %u initiations",
		world_peer(B)->tries, initiations(0, A));
	/* The end of all times */
	memset(world_peer(A)->latest, 0xff, OM_HS_TIME);
	world_run(30);
	unit_ok(b->times[OM_AGENT_TIME_LAST] == 1 && !b->installed &&
		world_peer(B)->floor[0] == 0x40, "agent: a time than which none is later", "%s",
		world_counts());
	om_agent_forget_time(world_peer(A));
	world_tell(b, OM_AGENT_KEY_NEEDED, 0);
	world_run(6);
	unit_ok(b->installed == 1, "agent: and is forgotten", "%s", world_counts());
	world_tear_down();
}

/* A time that is none, or the last, is not taken, or it could not be passed. */
static void no_time(void)
{
	static const uint8_t times[][OM_HS_TIME] = {
		{ 0x80 },
		{ 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	uint8_t msg[OM_HS_LEN_MAX];
	struct om_hs h;
	size_t len;

	for (size_t i = 0; i < OM_ARRAY_SIZE(times); i++) {
		world_set_up();
		world.quiet = true;
		len = initiation_at(times[i], OM_HS_CLASSIC, &h, msg);
		world_receive(&world.end[A].agent, world.now, &world.place[B], msg, len);
		unit_ok(!world.sent && !world.end[A].writes && !world.end[A].installed &&
			!world.end[A].times[OM_AGENT_TIME_SPENT],
			"agent: a time that is not to be had", "%zu: %s", i, world_counts());
		om_hs_wipe(&h);
		world_tear_down();
	}
}

/*
 * A peer that sent the last time to an older agent is locked out, which is told when that is
 * read, and by no message.
 */
static void spent(void)
{
	struct world_end *a = &world.end[A], *b = &world.end[B];

	world_set_up();
	world.quiet = true;
	memset(a->remembered, 0xff, OM_HS_TIME);
	a->remembered[0] = 0x7f;
	om_agent_free(&a->agent);
	world_start(A);
	for (int i = 0; i < 10; i++) {
		world_tell(b, OM_AGENT_KEY_NEEDED, 0);
		world.now += OM_AGENT_TELL_MS;
		world_run(60);
	}
	unit_ok(a->times[OM_AGENT_TIME_SPENT] == 1 && !a->installed && !b->installed,
		"agent: a peer that is locked out", "%u: %s", a->times[OM_AGENT_TIME_SPENT],
		world_counts());
	om_agent_forget_time(world_peer(A));
	world_tell(b, OM_AGENT_KEY_NEEDED, 0);
	world_run(10);
	unit_ok(b->installed == 1, "agent: and let in by hand", "%s", world_counts());
	world_tear_down();
}

/* Our own times are on disk before they are sent, but not each. */
static void own_times(void)
{
	struct world_end *a = &world.end[A];
	uint8_t latest[OM_HS_TIME];
	unsigned int wrong = 0;

	world_set_up();
	world.quiet = true;
	world.cut[B] = true;
	for (int i = 0; i < 20; i++) {
		world_tell(a, OM_AGENT_KEY_NEEDED, 0);
		world_run(7);
		wrong += memcmp(a->agent.latest, a->own, OM_HS_TIME) > 0;
	}
	/* Each lasts 10 s, and the next try comes up to 5.33 s later: 9 to 14 in 140 s. */
	unit_ok(!wrong && a->own_writes >= 9 && a->own_writes <= 14 && initiations(0, B) >= 24,
		"agent: own times ahead", "%u wrong, %u writes, %u initiations", wrong,
		a->own_writes, initiations(0, B));
	/* Reading the stored time again changes nothing. */
	memcpy(latest, a->agent.latest, sizeof(latest));
	om_agent_set_own_time(&a->agent, a->own);
	unit_ok(!memcmp(latest, a->agent.latest, sizeof(latest)), "agent: they do not run away",
		"%s", world_counts());
	om_agent_free(&a->agent);
	world_start(A);
	world_tell(a, OM_AGENT_KEY_NEEDED, 0);
	unit_ok(memcmp(a->agent.latest, latest, sizeof(latest)) > 0,
		"agent: none comes twice", "%s", world_counts());
	world_tear_down();
}

/* Old messages in a mode that must not be used get no answer in it. */
static void old_mode(void)
{
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME];
	struct om_hs h;
	size_t len;

	world_set_up();
	world.quiet = true;
	put_time(time, 5);
	put_time(world_peer(A)->latest, 100);
	len = initiation_at(time, OM_HS_MLKEM, &h, msg);
	world_receive(&world.end[A].agent, world.now, &world.place[B], msg, len);
	unit_ok(!world.sent && !world.end[A].refused[OM_HS_MLKEM],
		"agent: an old time in a mode that is ruled out", "%s", world_counts());
	om_hs_wipe(&h);
	world_tear_down();
}

static bool shows(int n, int failure, int kind)
{
	const struct om_agent_peer *peer = world_peer(n);

	return peer->failure == failure && peer->kind == kind;
}

static uint64_t counted(int n, unsigned int attr)
{
	return world.end[n].agent.count[attr];
}

#define FAILED(n, why)	counted(n, OMERTA_A_AGENT_STATS_FAILED_##why)

/* Each failure is shown and counted as what it is, until there is a key. */
static void failures(void)
{
	struct om_agent_source where;
	unsigned int changes;

	world_set_up();
	world.quiet = true;
	unit_ok(shows(A, -1, -1) && !world_peer(A)->since, "agent: nothing to show", "%s",
		world_counts());
	where = world.end[A].where;
	world.end[A].where.len = 0;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	unit_ok(shows(A, OMERTA_FAILURE_NO_ENDPOINT, -1) && FAILED(A, NO_ENDPOINT) == 1 &&
		world_peer(A)->since == 1, "agent: shows that there is no endpoint", "%d",
		world_peer(A)->failure);
	world.end[A].where = where;
	world.down = true;
	world_run(6);
	unit_ok(shows(A, OMERTA_FAILURE_NOT_SENT, -1) && FAILED(A, NOT_SENT) == 1 &&
		world_peer(A)->since == 2, "agent: shows that nothing was sent", "%d",
		world_peer(A)->failure);
	world.down = false;
	world.full = true;
	world.end[A].clock += 1000;
	world_run(6);
	unit_ok(shows(A, OMERTA_FAILURE_SYSTEM, -1) && FAILED(A, SYSTEM) == 1,
		"agent: shows that no time can be stored", "%d", world_peer(A)->failure);
	world.full = false;
	world.cut[B] = true;
	world_run(10);
	unit_ok(shows(A, OMERTA_FAILURE_NO_ANSWER, -1) && FAILED(A, NO_ANSWER) == 1 &&
		world_peer(A)->since == 5, "agent: shows that nothing answers", "%d, %u",
		world_peer(A)->failure, world_peer(A)->since);
	changes = world.end[A].changes;
	world_run(2);
	unit_ok(world.end[A].changes == changes, "agent: no change is none to show", "%s",
		world_counts());
	/* The kernel refuses to send it: the answer is not waited for. */
	world_tell(&world.end[A], OM_AGENT_NOT_SENT, world_peer(A)->sent_id + 1);
	unit_ok(world_peer(A)->sent, "agent: an earlier initiation was not sent", "%d",
		world_peer(A)->failure);
	world_tell(&world.end[A], OM_AGENT_NOT_SENT, world_peer(A)->sent_id);
	unit_ok(shows(A, OMERTA_FAILURE_NOT_SENT, -1) && !world_peer(A)->sent,
		"agent: shows what the kernel refused to send", "%d", world_peer(A)->failure);
	world.cut[B] = false;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(3);
	unit_ok(shows(A, -1, OMERTA_KEY_KIND_PSK) && shows(B, -1, OMERTA_KEY_KIND_PSK) &&
		!world_peer(A)->since &&
		counted(A, OMERTA_A_AGENT_STATS_BEGUN) == 6 &&
		counted(A, OMERTA_A_AGENT_STATS_DONE) == 1 &&
		counted(B, OMERTA_A_AGENT_STATS_BEGUN) == 1 &&
		counted(B, OMERTA_A_AGENT_STATS_DONE) == 1,
		"agent: shows the kind of its key", "%d, begun %llu, %llu; done %llu, %llu",
		world_peer(A)->kind,
		(unsigned long long)counted(A, OMERTA_A_AGENT_STATS_BEGUN),
		(unsigned long long)counted(B, OMERTA_A_AGENT_STATS_BEGUN),
		(unsigned long long)counted(A, OMERTA_A_AGENT_STATS_DONE),
		(unsigned long long)counted(B, OMERTA_A_AGENT_STATS_DONE));
	world_tear_down();
}

static void kinds(void)
{
	world_set_up_with(OM_KEM_ON, OM_KEM_ON);
	memset(world_peer(A)->hs.psk, 0, OM_NOISE_KEY);
	memset(world_peer(B)->hs.psk, 0, OM_NOISE_KEY);
	world_run(5);
	unit_ok(shows(A, -1, OMERTA_KEY_KIND_ML_KEM) && shows(B, -1, OMERTA_KEY_KIND_ML_KEM),
		"agent: shows a key with ML-KEM", "%d", world_peer(A)->kind);
	world_tear_down();
	world_set_up();
	memset(world_peer(A)->hs.psk, 0, OM_NOISE_KEY);
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(30);
	unit_ok(shows(A, OMERTA_FAILURE_NOT_OPENED, -1) && FAILED(A, NOT_OPENED) >= 4 &&
		shows(B, OMERTA_FAILURE_NOT_USED, -1) && FAILED(B, NOT_USED) >= 1 &&
		!FAILED(A, NO_ANSWER), "agent: shows another preshared key", "%d, %d",
		world_peer(A)->failure, world_peer(B)->failure);
	world_tear_down();
	world_set_up_with(OM_KEM_REQUIRED, OM_KEM_OFF);
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(3);
	unit_ok(shows(B, OMERTA_FAILURE_MODE, -1) && FAILED(B, MODE) == 1,
		"agent: shows a mode that is ruled out", "%d", world_peer(B)->failure);
	world_tear_down();
	world_set_up();
	world.quiet = true;
	put_time(world_peer(B)->latest, 1LL << 40);
	world.cut[A] = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(3);
	unit_ok(shows(B, OMERTA_FAILURE_OLD_TIME, -1) && FAILED(B, OLD_TIME) == 1,
		"agent: shows an old time", "%d", world_peer(B)->failure);
	world_tear_down();
}

static bool scale_reach(void *ctx, uint32_t peer_id, enum omerta_failure *why)
{
	(void)ctx;
	(void)why;
	(void)peer_id;
	return true;
}

static bool scale_send(void *ctx, uint32_t peer_id, uint32_t local_id,
		       const uint8_t *msg, size_t len)
{
	(void)ctx;
	(void)peer_id;
	(void)local_id;
	(void)msg;
	(void)len;
	return true;
}

static bool scale_epoch(void *ctx, int64_t *epoch)
{
	(void)ctx;
	*epoch = 0;
	return true;
}

static void scale_clock(void *ctx, uint8_t time[OM_HS_TIME])
{
	(void)ctx;
	put_time(time, 1);
}

/* Without the curve, which would hide what the rest costs */
static bool scale_remember(void *ctx, const struct om_agent_memory *m, size_t n)
{
	(void)ctx;
	(void)m;
	(void)n;
	return false;
}

static void scale_changed(void *ctx, struct om_agent_peer *peer)
{
	(void)ctx;
	(void)peer;
}

static const struct om_agent_ops scale_ops = {
	.changed = scale_changed,
	.reach = scale_reach,
	.send_peer = scale_send,
	.epoch = scale_epoch,
	.clock = scale_clock,
	.remember = scale_remember,
};

/* Processor time of @rounds of all that may happen with this many peers, in ms */
static double cost(uint32_t peers, int rounds)
{
	static struct om_agent agent;
	uint8_t msg[OM_HS_LEN_MAX], public[OM_NOISE_KEY];
	struct timespec from, to;
	struct om_agent_source at = { .len = 4 };
	struct om_hs_host host = { 0 };

	om_agent_init(&agent, &scale_ops, NULL);
	memset(agent.host.pair.secret, 3, 32);
	om_hs_host_init(&agent.host);
	om_hs_host_init(&host);
	randombytes_buf(public, sizeof(public));
	for (uint32_t i = 1; i <= peers; i++) {
		memcpy(public, &i, sizeof(i));
		om_agent_add(&agent, i, public);
		/* All of them wait. */
		om_agent_tell(&agent, 1, i, OM_AGENT_KEY_NEEDED, 0);
	}
	while (om_agent_run(&agent, 1) == 1)
		;
	memset(msg, 0, sizeof(msg));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < rounds; i++) {
		uint32_t id = (uint32_t)i % peers + 1;

		memcpy(msg, "OMR\x22", 4);
		memcpy(msg + 4, &i, sizeof(i));
		world_receive(&agent, 2, &at, msg, OM_HS_COOKIE_LEN);
		memcpy(msg, "OMR\x21", 4);
		put_mac1(&agent.host, msg, OM_HS_RESPONSE_LEN);
		world_receive(&agent, 2, &at, msg, OM_HS_RESPONSE_LEN);
		om_agent_tell(&agent, 2, id, OM_AGENT_KEY_CONFIRMED, 1);
		om_agent_tell(&agent, 2, id, OM_AGENT_KEY_SOFT, 0);
		om_agent_remove(&agent, id);
		memcpy(public, &id, sizeof(id));
		om_agent_add(&agent, id, public);
		om_agent_run(&agent, 2);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	om_agent_free(&agent);
	return (double)(to.tv_sec - from.tv_sec) * 1e3 +
	       (double)(to.tv_nsec - from.tv_nsec) / 1e6;
}

/* Peers with due times that change: the first is always the one that is due first. */
static void dues(void)
{
	enum { PEERS = 300 };
	static struct om_agent agent;
	uint8_t public[OM_NOISE_KEY] = { 0 };
	unsigned int wrong = 0, found = 0;
	uint32_t seed = 1;

	om_agent_init(&agent, &scale_ops, NULL);
	for (uint32_t i = 1; i <= PEERS; i++) {
		memcpy(public, &i, sizeof(i));
		om_agent_add(&agent, i, public);
	}
	for (int round = 0; round < 5000; round++) {
		struct om_agent_peer *peer;
		uint64_t least = UINT64_MAX;

		seed = seed * 1664525 + 1013904223;
		peer = om_agent_find(&agent, (seed >> 16) % PEERS + 1);
		if (!peer)
			continue;
		found++;
		if (seed >> 8 & 63)
			om_agent_peers_due(&agent, peer, seed >> 9 & 3 ? seed >> 4 : UINT64_MAX);
		else
			om_agent_remove(&agent, peer->id);
		for (peer = agent.first; peer; peer = peer->next)
			if (peer->place && peer->due < least)
				least = peer->due;
		peer = om_agent_peers_first(&agent);
		wrong += peer ? peer->due != least : least != UINT64_MAX;
	}
	unit_ok(!wrong && found > 1000, "agent: the peer that is due first", "%u of %u", wrong, found);
	om_agent_free(&agent);
}

/* All are due at once: after some, others have a turn. */
static void turns(void)
{
	enum { PEERS = 100 };
	static struct om_agent agent;
	uint8_t public[OM_NOISE_KEY] = { 0 };
	unsigned int runs = 0;

	om_agent_init(&agent, &scale_ops, NULL);
	for (uint32_t i = 1; i <= PEERS; i++) {
		memcpy(public, &i, sizeof(i));
		om_agent_add(&agent, i, public);
		om_agent_tell(&agent, 1, i, OM_AGENT_KEY_NEEDED, 0);
	}
	while (om_agent_run(&agent, 1) == 1)
		runs++;
	unit_ok(runs == PEERS / OM_AGENT_TURN, "agent: turns", "%u", runs);
	for (const struct om_agent_peer *p = agent.first; p; p = p->next)
		runs += !p->tries;
	unit_ok(runs == PEERS / OM_AGENT_TURN, "agent: each had one", "%u", runs);
	om_agent_free(&agent);
}

/* A hundred times the peers: more than thrice the time is a look at all of them. */
static void scale(void)
{
	double few = 0, many = 0;

	/* The first run is slower: caches. One in three may be disturbed. */
	for (int i = 0; i < 4 && (!i || many > 3 * few + 5); i++) {
		few = cost(100, 3000);
		many = cost(10000, 3000);
	}
	unit_ok(many <= 3 * few + 5, "agent: nothing looks at all peers",
		"100 peers: %.1f ms, 10000 peers: %.1f ms", few, many);
}

/* Without storing times there are no handshakes. */
static void full_disk(void)
{
	world_set_up();
	world.full = true;
	world_run(60);
	unit_ok(!world_active(&world.end[A]) && !world_active(&world.end[B]) && !world.sent,
		"agent: a full disk", "%s", world_counts());
	world.full = false;
	world_run(20);
	unit_ok(world_active(&world.end[A]) && world_active(&world.end[B]),
		"agent: there is room again", "%s", world_counts());
	world_tear_down();
}

void test_agent(void)
{
	rekeying(OM_KEM_OFF);
	rekeying(OM_KEM_REQUIRED);
	rekeying(OM_KEM_ON);
	modes();
	channels();
	more_channels();
	kem_without_channels();
	downgraded();
	soon_better();
	better_responder();
	one_sided();
	refused_once();
	other_psk();
	anew();
	down();
	forged_responses();
	simultaneous();
	crossed();
	crossed_far();
	cloned();
	cloned_at_disk();
	moved();
	restarted();
	clocks();
	replayed();
	nobody();
	cookie(OM_KEM_OFF);
	cookie(OM_KEM_REQUIRED);
	cookie_flood();
	cookie_of_response();
	strangers();
	hasty();
	moment();
	ahead(OM_KEM_OFF);
	ahead(OM_KEM_REQUIRED);
	two_clocks(A);
	two_clocks(B);
	wrong_times();
	liar();
	no_time();
	spent();
	own_times();
	old_mode();
	dues();
	turns();
	scale();
	full_disk();
	failures();
	kinds();
}
