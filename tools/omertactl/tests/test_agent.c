// SPDX-License-Identifier: GPL-2.0
/*
 * Two key agents in a world of their own: would catch a state that is not left, a key
 * that one end seals under and the other does not have, and an old message that does
 * anything.
 */
#include "unit.h"

#include "world.h"

#include <sodium.h>
#include <sys/wait.h>
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
		world_tear_down();
	}
}

/* Who keeps long messages back has it done without, but not where it is required. */
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

/* The first long message is lost: what is classic is so for seconds. */
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
	unit_ok(world_nothing_lost() && !a->unanswered && a->installed >= 8 &&
		world.sent == 3 * a->installed && world.end[B].refused[OM_HS_MLKEM] == 1,
		"agent: with an end that does without", "%u: %s", a->unanswered,
		world_counts());
	world_tear_down();
	world_set_up_with(OM_KEM_ON, OM_KEM_OFF);
	world.cut[B] = true;
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(30);
	unit_ok(a->unanswered, "agent: with one that is not there", "%s", world_counts());
	world_tear_down();
}

/* A refused initiation is as new as it was, should it be allowed some day. */
static void refused_once(void)
{
	world_set_up_with(OM_KEM_REQUIRED, OM_KEM_OFF);
	world.quiet = true;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world_run(2);
	world.end[B].agent.peer[0].kem = OM_KEM_ON;
	om_agent_receive(&world.end[B].agent, world.now, &world.old[0].from, world.old[0].data,
			 world.old[0].len);
	world_run(1);
	unit_ok(world.end[B].refused[OM_HS_MLKEM] == 1 && world_active(&world.end[A]),
		"agent: refused, then allowed", "%s", world_counts());
	world_tear_down();
	/* And one that was begun before it was ruled out */
	world_set_up_with(OM_KEM_OFF, OM_KEM_ON);
	world.quiet = true;
	world.latest = 1000;
	world_tell(&world.end[A], OM_AGENT_KEY_NEEDED, 0);
	world.end[A].agent.peer[0].kem = OM_KEM_REQUIRED;
	world_run(3);
	unit_ok(world.end[B].installed == 1 && !world.end[A].installed,
		"agent: an answer in a mode that was ruled out", "%s", world_counts());
	world_tear_down();
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

/* All that was ever sent comes again. */
static void replayed(void)
{
	size_t keys;

	world_set_up();
	world_run(1000);
	world.quiet = true;
	world_run(1);
	world_forget_counts();
	keys = world.olds;
	for (size_t i = 0; i < keys; i++) {
		om_agent_receive(&world.end[world.old[i].to].agent, world.now,
				 &world.old[i].from, world.old[i].data, world.old[i].len);
		world.now += 1000;
	}
	unit_ok(keys > 10 && !world.sent && !world.end[A].installed &&
		!world.end[B].installed, "agent: old messages", "%zu, %s", keys,
		world_counts());
	/* And to one that was started again */
	om_agent_free(&world.end[A].agent);
	world_start(A);
	for (size_t i = 0; i < keys; i++)
		om_agent_receive(&world.end[A].agent, world.now += 1000, &world.old[i].from,
				 world.old[i].data, world.old[i].len);
	unit_ok(!world.sent && !world.end[A].installed,
		"agent: old messages after a restart", "%s", world_counts());
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

/* Strangers who know a public key: cookies, and the peer gets through with one. */
static void flood(void)
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
	world.end[A].where.len = 0;
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 60; k++) {
			om_hs_initiate(&h, OM_HS_CLASSIC, &stranger, &to_a, time, 1,
				       world.now, msg);
			om_agent_receive(&world.end[A].agent, world.now, &from, msg,
					 OM_HS_INITIATION_LEN);
		}
		if (i == 1)
			world_tell(&world.end[B], OM_AGENT_KEY_NEEDED, 0);
		world_run(1);
	}
	unit_ok(world_active(&world.end[B]) && world.end[A].keys == 1 &&
		world.end[B].agent.peer[0].hs.cookie_at && world.strangers,
		"agent: the peer comes through a flood", "%s", world_counts());
	om_hs_wipe(&h);
	world_tear_down();
}

/* What cannot be remembered is not done. */
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
