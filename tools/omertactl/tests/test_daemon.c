// SPDX-License-Identifier: GPL-2.0
/* What the agent's daemon does to a kernel in memory. */
#include "unit.h"

#include "fake_nl.h"

#include "../daemon_peers.h"

static struct om_key *add_key(uint32_t peer_id, uint32_t local_id, uint32_t state)
{
	struct om_key *key = om_list_add(&fake_device("omr0")->keys, sizeof(*key));

	key->has = OM_BIT(OMERTA_A_KEY_PEER_ID) | OM_BIT(OMERTA_A_KEY_LOCAL_ID) |
		   OM_BIT(OMERTA_A_KEY_STATE);
	key->peer_id = peer_id;
	key->local_id = local_id;
	key->state = state;
	return key;
}

/* What was offered may be in use although no event said so. */
static void forget(struct om_daemon *d)
{
	static const struct {
		const char *name;
		uint32_t state;
		bool goes;
	} cases[] = {
		{ "offered", OMERTA_KEY_STATE_INSTALLED, true },
		{ "active", OMERTA_KEY_STATE_ACTIVE, false },
		{ "retired", OMERTA_KEY_STATE_RETIRED, false },
	};
	int rc;

	for (size_t i = 0; i < OM_ARRAY_SIZE(cases); i++) {
		fake_device("omr0")->keys.n = 0;
		add_key(2, 7, OMERTA_KEY_STATE_INSTALLED);
		add_key(1, 6, OMERTA_KEY_STATE_INSTALLED);
		add_key(1, 7, cases[i].state);
		fake_forget_log();
		rc = om_peers_forget_key(d, 1, 7);
		unit_ok(!rc && !strcmp(fake.log, cases[i].goes ?
				"key-del ifname=omr0 peer-id=1 local-id=0x7\n" : ""),
			"daemon: a key is forgotten if nobody uses it", "%s: %s",
			cases[i].name, fake.log);
	}
	unit_ok(!om_peers_forget_key(d, 3, 7), "daemon: one that is gone", "%s",
		d->err.text);
}

static void become(struct om_daemon *d, uint8_t secret)
{
	while (d->agent->peers)
		om_agent_remove(d->agent, d->agent->peer[0].id);
	memset(d->agent->host.pair.secret, secret, OM_NOISE_KEY);
	om_hs_host_init(&d->agent->host);
}

/* Whether the one peer of the kernel has this time, once it is adopted */
static bool has_time(struct om_daemon *d, const uint8_t *time)
{
	return !om_peers_adopt(d) && d->agent->peers == 1 &&
	       !memcmp(d->agent->peer[0].latest, time, OM_HS_TIME);
}

/* With a stolen key somebody could have sent times that its peer never comes to. */
static void new_key(struct om_daemon *d)
{
	static const struct om_agent_ops ops;
	static const uint8_t none[OM_HS_TIME];
	struct om_agent agent;
	uint8_t time[OM_HS_TIME], key[OM_NOISE_KEY];
	struct om_peer *peer;
	struct om_err err;

	peer = om_list_add(&fake_device("omr0")->peers, sizeof(*peer));
	peer->id = 1;
	memset(peer->public_key, 7, sizeof(peer->public_key));
	memset(time, 0xff, sizeof(time));
	om_agent_init(&agent, &ops, d);
	d->agent = &agent;
	d->times = om_times_open(unit_path("new-key.times"), &err);
	become(d, 1);
	om_times_key(agent.host.pair.public, peer->public_key, key);
	unit_ok(d->times && has_time(d, none) &&
		!om_times_put(d->times, key, time, &err),
		"daemon: a peer without a time", "%s", d->err.text);
	become(d, 1);
	unit_ok(has_time(d, time), "daemon: a peer's time is known again", "%s", "");
	become(d, 2);
	unit_ok(has_time(d, none), "daemon: with another key of ours it is not", "%s",
		"");
	become(d, 2);
	om_agent_free(&agent);
	om_times_close(d->times);
	d->agent = NULL;
}

void test_daemon(void)
{
	struct om_daemon d = { .ifname = "omr0", .nl = om_nl_new() };
	struct unit_run run;

	fake_reset();
	run = unit_main("link add omr0", NULL);
	unit_run_free(&run);
	forget(&d);
	new_key(&d);
	om_nl_free(d.nl);
	fake_reset();
}
