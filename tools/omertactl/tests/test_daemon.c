// SPDX-License-Identifier: GPL-2.0
/* The agent's process with a kernel in memory */
#include "unit.h"

#include "fake_nl.h"

#include "agent/daemon_endpoints.h"

#include "lib/keygen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static unsigned int spent;

static void see_times(void *ctx, uint32_t peer_id, enum om_agent_time news)
{
	(void)ctx;
	spent += peer_id == 1 && news == OM_AGENT_TIME_SPENT;
}

/* Set to the daemon, so that changes are reported to the fake kernel */
static struct om_daemon *reporter;

static void see_change(void *ctx, struct om_agent_peer *peer)
{
	(void)ctx;
	if (reporter)
		om_peers_changed(reporter, peer);
}

static const struct om_agent_ops ops = { .times = see_times, .changed = see_change };
static struct om_agent agent;

static struct om_key *add_key(uint32_t peer_id, uint32_t local_id, uint32_t state,
			      uint64_t age)
{
	struct om_key *key = om_list_add(&fake_device("omr0")->keys, sizeof(*key));

	key->has = OM_BIT(OMERTA_A_KEY_PEER_ID) | OM_BIT(OMERTA_A_KEY_LOCAL_ID) |
		   OM_BIT(OMERTA_A_KEY_STATE);
	key->peer_id = peer_id;
	key->local_id = local_id;
	key->state = state;
	key->age = age;
	return key;
}

static struct om_peer *add_peer(uint32_t id, uint8_t public)
{
	struct om_peer *peer = om_list_add(&fake_device("omr0")->peers, sizeof(*peer));

	peer->id = id;
	memset(peer->public_key, public, sizeof(peer->public_key));
	return peer;
}

/* A device without peers, and an agent that has none */
static void set_up(struct om_daemon *d, const char *times)
{
	struct unit_run run;
	struct om_err err;

	fake_reset();
	run = unit_main("link add omr0", NULL);
	unit_run_free(&run);
	om_agent_init(&agent, &ops, d);
	memset(agent.host.pair.secret, 1, OM_NOISE_KEY);
	om_hs_host_init(&agent.host);
	d->agent = &agent;
	unlink(unit_path(times));
	d->times = om_times_open(unit_path(times), &err);
	fake.strict = true;
}

static void tear_down(struct om_daemon *d)
{
	om_agent_free(&agent);
	om_times_close(d->times);
	om_peers_end(d);
	d->agent = NULL;
	d->lost = false;
	d->adopt = false;
}

/* An offered key may be in use without an event. */
static void forget(struct om_daemon *d)
{
	static const struct {
		const char *name;
		uint32_t state;
		bool used, lost, goes;
	} cases[] = {
		{ "offered", OMERTA_KEY_STATE_INSTALLED, false, false, true },
		{ "used in between", OMERTA_KEY_STATE_INSTALLED, true, false, false },
		{ "offered, events were lost", OMERTA_KEY_STATE_INSTALLED, false, true, false },
		{ "active", OMERTA_KEY_STATE_ACTIVE, false, false, false },
		{ "retired", OMERTA_KEY_STATE_RETIRED, false, false, false },
	};

	for (size_t i = 0; i < OM_ARRAY_SIZE(cases); i++) {
		bool failed;

		set_up(d, "forget.times");
		add_peer(1, 7);
		add_peer(2, 8);
		add_key(2, 7, OMERTA_KEY_STATE_INSTALLED, 9);
		add_key(1, 6, OMERTA_KEY_STATE_INSTALLED, 9);
		add_key(1, 7, cases[i].state, 8);
		om_peers_adopt(d);
		fake_forget_log();
		om_peers_forget_key(d, 1, 7);
		if (cases[i].used)
			om_peers_key_used(d, 1, 7);
		d->lost = cases[i].lost;
		failed = om_peers_tidy(d);
		unit_ok(!failed && !fake.reads && !strcmp(fake.log, cases[i].goes ?
				"key-del ifname=omr0 peer-id=1 local-id=0x7\n" : ""),
			"daemon: a key is forgotten if nobody uses it", "%s: %s",
			cases[i].name, fake.log);
		/* Once all is known again */
		om_peers_adopt(d);
		fake_forget_log();
		unit_ok(!om_peers_tidy(d) && !strcmp(fake.log, cases[i].lost ?
				"key-del ifname=omr0 peer-id=1 local-id=0x7\n" : ""),
			"daemon: and not before that is known", "%s: %s", cases[i].name,
			fake.log);
		om_peers_forget_key(d, 3, 7);
		om_peers_forget_key(d, 2, 99);
		unit_ok(!om_peers_tidy(d), "daemon: one that is gone", "%s", d->err.text);
		tear_down(d);
	}
}

/* The daemon installs keys from this id on. */
static bool install_channels(struct om_daemon *d, uint32_t local_id, bool initiator,
			     uint8_t channels)
{
	struct om_agent_key key = {
		.peer_id = 1,
		.local_id = local_id,
		.initiator = initiator,
		.epoch = -1,
		.soft_s = 5,
		.keys.remote_id = 9,
		.keys.channels = channels,
	};

	memset(key.keys.rx, 1, sizeof(key.keys.rx));
	memset(key.keys.tx, 2, sizeof(key.keys.tx));
	return om_peers_install(d, &key);
}

static bool install(struct om_daemon *d, uint32_t local_id, bool initiator)
{
	return install_channels(d, local_id, initiator, 1);
}

/* The other end seals on each channel that was agreed on: this one has all keys, or none. */
static void further(struct om_daemon *d)
{
	const struct om_list *keys;
	struct om_peer *peer;
	bool ok;

	set_up(d, "further.times");
	peer = add_peer(1, 7);
	peer->channels = 2;
	om_peers_adopt(d);
	keys = &fake_device("omr0")->keys;
	ok = install_channels(d, 1, true, 2);
	unit_ok(ok && keys->n == 2, "daemon: a key for each channel", "%zu, %s", keys->n, fake.log);
	for (unsigned int i = 1; i <= 2; i++) {
		fake_forget_log();
		fake.fail_at = i;
		fake.fail_with = ENOMEM;
		ok = install_channels(d, 3, true, 2);
		unit_ok(!ok && keys->n == 2 && om_agent_find(&agent, 1)->knowns == 1 &&
			CONTAINS(d->err.text, "says no"), "daemon: all of them, or none",
			"%u: %zu, %s%s", i, keys->n, fake.log, d->err.text);
		fake.fail_at = 0;
	}
	peer->channels = 1;
	fake_forget_log();
	ok = install_channels(d, 5, true, 2);
	unit_ok(!ok && !*fake.log && !*d->err.text && !om_peers_tidy(d) &&
		om_agent_find(&agent, 1)->channels == 1 && install_channels(d, 5, true, 1) &&
		keys->n == 3, "daemon: none for channels that are gone", "%zu, %s%s", keys->n,
		fake.log, d->err.text);
	tear_down(d);
}

/* Too many keys of a peer: the oldest goes, but never the one in use. */
static void full(struct om_daemon *d)
{
	bool ok = true;

	set_up(d, "full.times");
	add_peer(1, 7);
	om_peers_adopt(d);
	for (uint32_t i = 1; i <= 8; i++)
		ok = ok && install(d, i, i == 1);
	unit_ok(ok && CONTAINS(fake.log, " handshake"), "daemon: keys are a handshake's",
		"%s", fake.log);
	fake_forget_log();
	ok = install(d, 9, false);
	unit_ok(ok && CONTAINS(fake.log, "key-del ifname=omr0 peer-id=1 local-id=0x2\n") &&
		fake.reads == 2, "daemon: an old key makes space, without a dump", "%u, %s",
		fake.reads, fake.log);
	om_peers_key_used(d, 1, 4);
	fake_forget_log();
	ok = install(d, 10, false) && install(d, 11, false) && install(d, 12, false);
	unit_ok(ok && CONTAINS(fake.log, "local-id=0x3\n") &&
		CONTAINS(fake.log, "key-del ifname=omr0 peer-id=1 local-id=0x5\n") &&
		!CONTAINS(fake.log, "local-id=0x4\n"), "daemon: none that is in use", "%s",
		fake.log);
	/* The memory of used secrets is full, which no deletion helps. */
	fake_forget_log();
	fake.fail_at = 1;
	fake.fail_with = EDQUOT;
	ok = install(d, 13, false);
	unit_ok(!ok && !CONTAINS(fake.log, "key-del") && CONTAINS(d->err.text, "says no"),
		"daemon: EDQUOT deletes nothing and is told", "%s%s", fake.log, d->err.text);
	fake.fail_at = 0;
	/* Somebody else's keys are found by reading all. */
	om_agent_find(&agent, 1)->knowns = 0;
	d->adopt = false;
	fake_forget_log();
	ok = install(d, 14, false);
	unit_ok(!ok && d->adopt && !om_peers_adopt(d) && install(d, 14, false),
		"daemon: keys that others installed", "%s", fake.log);
	tear_down(d);
}

/* An id that is another peer's now, one that is gone and one that is new */
static void stale(struct om_daemon *d)
{
	const struct om_agent_peer *peer;
	struct om_peer now;

	set_up(d, "stale.times");
	add_peer(1, 7);
	om_peers_adopt(d);
	om_agent_tell(&agent, 1, 1, OM_AGENT_KEY_NEEDED, 0);
	memset(fake_peer(fake_device("omr0"), 1)->public_key, 8, OM_NOISE_KEY);
	fake_forget_log();
	unit_ok(!om_peers_get(d, 1, &now) && !om_peers_tidy(d) && fake.reads == 2 &&
		agent.peers == 1 && om_agent_find(&agent, 1)->hs.public[0] == 8 &&
		om_agent_find(&agent, 1)->wanted,
		"daemon: a peer that was replaced", "%u reads", fake.reads);
	add_peer(2, 9);
	add_peer(3, 0);
	om_peers_look(d, 2, false);
	om_peers_look(d, 3, false);
	om_peers_look(d, 4, false);
	unit_ok(!om_peers_tidy(d) && agent.peers == 2 && om_agent_find(&agent, 2) &&
		!d->adopt, "daemon: one that is new, or has no public key", "%zu",
		agent.peers);
	fake_device("omr0")->peers.n--;
	fake_device("omr0")->peers.n--;
	om_peers_look(d, 2, false);
	unit_ok(!om_peers_tidy(d) && agent.peers == 1 && !om_agent_find(&agent, 2),
		"daemon: one that is gone", "%zu", agent.peers);
	add_peer(5, 5);
	om_peers_look(d, 5, true);
	memset(fake_peer(fake_device("omr0"), 1)->public_key, 6, OM_NOISE_KEY);
	peer = om_agent_find(&agent, 1);
	unit_ok(!om_peers_adopt(d) && agent.peers == 2 && peer &&
		om_agent_find(&agent, 1)->hs.public[0] == 6 &&
		om_agent_find(&agent, 1)->wanted && om_agent_find(&agent, 5)->wanted,
		"daemon: all of them", "%zu", agent.peers);
	tear_down(d);
}

/* That the other end has used an offered key, it may tell while events are lost. */
static void confirmed(struct om_daemon *d)
{
	struct om_agent_peer *peer;

	set_up(d, "confirmed.times");
	add_peer(1, 7);
	om_peers_adopt(d);
	peer = om_agent_find(&agent, 1);
	for (int i = 0; i < OM_AGENT_OFFERED; i++)
		peer->offered[i].local_id = (uint32_t)i + 1;
	add_key(1, 1, OMERTA_KEY_STATE_INSTALLED, 5);
	add_key(1, 2, OMERTA_KEY_STATE_ACTIVE, 5);
	unit_ok(!om_peers_adopt(d) && peer->offered[0].local_id == 1 &&
		!peer->offered[1].local_id, "daemon: an offer that is in use", "%u %u",
		peer->offered[0].local_id, peer->offered[1].local_id);
	tear_down(d);
}

/* An agent that begins reads @n peers and their keys: in ms of processor time */
static double cost(struct om_daemon *d, uint32_t n)
{
	struct timespec from, to;

	set_up(d, "scale.times");
	fake.quiet = true;
	for (uint32_t i = 1; i <= n; i++) {
		memcpy(add_peer(i, 7)->public_key, &i, sizeof(i));
		add_key(i, i, OMERTA_KEY_STATE_INSTALLED, 5);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	om_peers_adopt(d);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	tear_down(d);
	return (double)(to.tv_sec - from.tv_sec) * 1e3 +
	       (double)(to.tv_nsec - from.tv_nsec) / 1e6;
}

/* A peer of 10000 costs what one of 1000 does, or five times as much, for its caches. */
static void scale(struct om_daemon *d)
{
	double few = 0, many = 0;

	for (int i = 0; i < 4 && (!i || many > 50 * few + 5); i++) {
		few = cost(d, 1000);
		many = cost(d, 10000);
	}
	unit_ok(many <= 50 * few + 5, "daemon: reading all peers takes time by their number",
		"1000: %.1f ms, 10000: %.1f ms", few, many);
}

/* Write a file with a private key of these bytes. The low three bits of the first are clamped. */
static const char *other_key(uint8_t fill, uint8_t bits)
{
	char text[100], base64[OM_BASE64_LEN];
	uint8_t private[OM_NOISE_KEY];

	memset(private, fill, sizeof(private));
	private[0] ^= bits;
	om_base64_encode(base64, private);
	snprintf(text, sizeof(text), "[Interface]\nPrivateKey = %s\n", base64);
	return unit_file("omr0.conf", text, strlen(text), 0600);
}

/* Another private key in the file: the kernel is told, until it knows. */
static void rebound(struct om_daemon *d)
{
	uint8_t private[OM_NOISE_KEY], public[OM_NOISE_KEY];
	char config[200], dir[200], path[300];
	struct om_times *times;
	struct om_err err;
	int rc[3];

	set_up(d, "rebind.times");
	times = d->times;
	snprintf(config, sizeof(config), "%s", other_key(1, 0));
	snprintf(dir, sizeof(dir), "%s", config);
	*strrchr(dir, '/') = '\0';
	d->config = config;
	d->state_dir = dir;
	rc[1] = om_peers_read_config(d, &err);
	other_key(2, 0);
	rc[2] = om_peers_reload(d);
	memset(private, 2, sizeof(private));
	om_key_public(public, private);
	unit_ok(!rc[1] && !rc[2] && fake.binds == 1 && !memcmp(fake.bound, public, 32),
		"daemon: another private key", "%u binds, %s", fake.binds, d->err.text);
	om_times_path(path, sizeof(path), dir, public);
	unit_ok(!strcmp(d->times_path, path) && !access(path, F_OK) && d->times != times,
		"daemon: whose times are in a file of its own", "%s", d->times_path);
	times = d->times;
	d->state_dir = "/nonexistent";
	other_key(3, 0);
	unit_ok(om_peers_reload(d) && d->times == times && fake.binds == 1 &&
		!memcmp(d->agent->host.pair.public, public, 32),
		"daemon: or it stays the one that it was", "%s", d->err.text);
	d->state_dir = dir;
	other_key(2, 0);
	rc[1] = om_peers_reload(d);
	unit_ok(!rc[1] && fake.binds == 1, "daemon: the same private key", "%u", fake.binds);
	d->rebind = true;
	fake.fail_bind = 2;
	rc[1] = om_peers_bind(d);
	rc[2] = om_peers_bind(d);
	unit_ok(rc[1] && !rc[2] && d->adopt && fake.binds == 3 && !om_peers_bind(d) &&
		fake.binds == 3, "daemon: which the kernel is told until it knows", "%u",
		fake.binds);
	times = d->times;
	other_key(2, 7);
	unit_ok(!om_peers_reload(d) && d->times == times && !access(path, F_OK) &&
		!memcmp(d->agent->host.pair.public, public, 32),
		"daemon: another private key of the same public one", "%s", d->err.text);
	om_config_free(&d->conf);
	tear_down(d);
}

/* The same with a peer and its preshared key */
static void write_psk(uint8_t fill)
{
	char text[400], private[OM_BASE64_LEN], public[OM_BASE64_LEN], psk[OM_BASE64_LEN];
	uint8_t key[OM_NOISE_KEY];

	memset(key, 1, sizeof(key));
	om_base64_encode(private, key);
	memset(key, 7, sizeof(key));
	om_base64_encode(public, key);
	memset(key, fill, sizeof(key));
	om_base64_encode(psk, key);
	snprintf(text, sizeof(text),
		 "[Interface]\nPrivateKey = %s\n[Peer]\nId = 1\nPublicKey = %s\n%sPresharedKey = %s\n",
		 private, public, fill ? "" : "#", psk);
	unit_file("omr0.conf", text, strlen(text), 0600);
}

/*
 * Keys that were agreed on with another preshared key end, but no others, and others are
 * wanted at once.
 */
static void other_psk(struct om_daemon *d)
{
	static const char gone[] = "key-del ifname=omr0 peer-id=1 local-id=0x6\n"
				   "key-del ifname=omr0 peer-id=1 local-id=0x5\n";
	static const struct {
		uint8_t before, after;
	} cases[] = { { 3, 4 }, { 0, 4 }, { 3, 0 }, { 3, 3 } };
	static char config[200];
	struct om_err err;

	snprintf(config, sizeof(config), "%s", other_key(1, 0));
	d->config = config;
	for (size_t i = 0; i < OM_ARRAY_SIZE(cases); i++) {
		bool other = cases[i].before != cases[i].after;
		struct om_agent_peer *peer;
		int rc[3];

		set_up(d, "psk.times");
		write_psk(cases[i].before);
		rc[0] = om_peers_read_config(d, &err);
		rc[1] = om_peers_reload(d);
		add_key(1, 4, OMERTA_KEY_STATE_RETIRED, 9);
		add_key(1, 5, OMERTA_KEY_STATE_RETIRED, 8)->handshake = 1;
		add_key(1, 6, OMERTA_KEY_STATE_ACTIVE, 7)->handshake = 1;
		rc[2] = om_peers_adopt(d);
		fake_forget_log();
		write_psk(cases[i].after);
		unit_ok(!rc[0] && !rc[1] && !rc[2] && !om_peers_reload(d) &&
			!strcmp(fake.log, other ? gone : ""),
			"daemon: another preshared key ends keys", "%zu: %s %s", i, fake.log,
			d->err.text);
		peer = om_agent_find(&agent, 1);
		unit_ok(peer && peer->wanted == other && peer->eager == other &&
			peer->knowns == (other ? 1 : 3),
			"daemon: and has others agreed on", "%zu", i);
		fake_forget_log();
		unit_ok(!om_peers_reload(d) && !*fake.log, "daemon: once", "%s", fake.log);
		om_config_free(&d->conf);
		tear_down(d);
	}
}

/* A peer that is in a newer file gets no key without its preshared key. */
static void newer_file(struct om_daemon *d)
{
	static char config[200];
	struct om_agent_peer *peer;
	uint8_t psk[OM_NOISE_KEY];
	struct om_err err;
	int rc[2];

	set_up(d, "newer.times");
	snprintf(config, sizeof(config), "%s", other_key(1, 0));
	d->config = config;
	rc[0] = om_peers_read_config(d, &err);
	memset(psk, 3, sizeof(psk));
	add_peer(1, 7);
	write_psk(3);
	om_peers_look(d, 1, true);
	om_peers_tidy(d);
	unit_ok(!rc[0] && !om_agent_find(&agent, 1) && d->reread,
		"daemon: a peer of a newer file waits", "%d", d->reread);
	/* The file lacks this one. */
	add_peer(3, 9);
	fake_forget_log();
	rc[1] = om_peers_reread(d);
	peer = om_agent_find(&agent, 1);
	unit_ok(!rc[1] && !d->reread && peer && peer->wanted && om_key_equal(peer->hs.psk, psk) &&
		om_agent_find(&agent, 3) && !*fake.log,
		"daemon: until that is read, and is not applied", "%s %s", d->err.text, fake.log);
	unit_ok(!om_peers_reload(d) && CONTAINS(fake.log, "peer-del ifname=omr0 id=3"),
		"daemon: unlike by SIGHUP", "%s", fake.log);
	add_peer(2, 8);
	unit_file("omr0.conf", "?", 1, 0600);
	om_peers_look(d, 2, true);
	om_peers_tidy(d);
	rc[0] = d->reread;
	rc[1] = om_peers_reread(d);
	om_peers_tidy(d);
	om_peers_tidy(d);
	unit_ok(rc[0] && rc[1] && !d->reread && !d->stale.n && !om_agent_find(&agent, 2),
		"daemon: and longer if it cannot be read", "%d %zu", d->reread, d->stale.n);
	om_config_free(&d->conf);
	d->config = "/nowhere";
	d->unread = false;
	tear_down(d);
}

/* A peer with a new public key gets a new key at once, if keys were in use. */
static void other_peer(struct om_daemon *d)
{
	for (int keys = 0; keys < 2; keys++) {
		struct om_agent_peer *peer;

		set_up(d, "other.times");
		add_peer(1, 7);
		if (keys)
			add_key(1, 4, OMERTA_KEY_STATE_ACTIVE, 9)->handshake = 1;
		om_peers_adopt(d);
		fake_device("omr0")->keys.n = 0;
		memset(fake_peer(fake_device("omr0"), 1)->public_key, 8, OM_NOISE_KEY);
		om_peers_look(d, 1, keys);
		om_peers_tidy(d);
		peer = om_agent_find(&agent, 1);
		unit_ok(peer && peer->hs.public[0] == 8 && peer->wanted == keys &&
			peer->eager == keys,
			"daemon: another peer", "%d", keys);
		tear_down(d);
	}
}

static unsigned int lines_with(const char *text, const char *part)
{
	unsigned int n = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		n++;
	return n;
}

/* Changes of handshakes get to the kernel, each once, and to the log. */
static void reports(struct om_daemon *d)
{
	int tty = dup(STDERR_FILENO), log;
	char said[2000] = "";
	struct om_agent_peer *peer;

	set_up(d, "reports.times");
	for (uint32_t i = 1; i <= 70; i++)
		add_peer(i, (uint8_t)i);
	om_peers_adopt(d);
	unit_file("log", "", 0, 0600);
	log = open(unit_path("log"), O_RDWR | O_APPEND);
	dup2(log, STDERR_FILENO);
	reporter = d;
	peer = om_agent_find(&agent, 1);
	peer->failure = OMERTA_FAILURE_NO_ANSWER;
	peer->since = 5;
	om_peers_changed(d, peer);
	om_peers_changed(d, peer);
	agent.count[OMERTA_A_AGENT_STATS_BEGUN] = 3;
	unit_ok(om_peers_report(d) == UINT64_MAX && fake.reported.n == 1 &&
		OM_AT(&fake.reported, struct om_handshake, 0)->peer_id == 1 &&
		OM_AT(&fake.reported, struct om_handshake, 0)->tries == 5 &&
		OM_AT(&fake.reported, struct om_handshake, 0)->failure == OMERTA_FAILURE_NO_ANSWER &&
		!(OM_AT(&fake.reported, struct om_handshake, 0)->has &
		  OM_BIT(OMERTA_A_HANDSHAKE_KIND)) &&
		fake.counted.v[OMERTA_A_AGENT_STATS_BEGUN] == 3,
		"daemon: a change is reported", "%zu", fake.reported.n);
	unit_ok(om_peers_report(d) == UINT64_MAX && fake.reported.n == 1,
		"daemon: once", "%zu", fake.reported.n);
	agent.count[OMERTA_A_AGENT_STATS_RATE_LIMITED] = 1;
	unit_ok(om_peers_report(d) == d->report_at && d->report_at > om_daemon_now() &&
		!fake.counted.v[OMERTA_A_AGENT_STATS_RATE_LIMITED],
		"daemon: counters alone wait", "%zu", fake.reported.n);
	d->report_at = 0;
	unit_ok(om_peers_report(d) == UINT64_MAX && fake.reported.n == 1 &&
		fake.counted.v[OMERTA_A_AGENT_STATS_RATE_LIMITED] == 1,
		"daemon: and are reported then", "%zu", fake.reported.n);
	peer->since = 6;
	om_peers_changed(d, peer);
	om_peers_report(d);
	peer->failure = OMERTA_FAILURE_NO_ENDPOINT;
	om_peers_changed(d, peer);
	om_peers_report(d);
	peer->since = 0;
	peer->failure = -1;
	peer->kind = OMERTA_KEY_KIND_ML_KEM;
	om_peers_changed(d, peer);
	om_peers_report(d);
	om_peers_changed(d, peer);
	om_peers_report(d);
	if (pread(log, said, sizeof(said) - 1, 0) < 0)
		said[0] = '\0';
	unit_ok(lines_with(said, "omr0: peer 1: no answer: look at its endpoint") == 1 &&
		lines_with(said, "omr0: peer 1: it has no endpoint") == 1 &&
		lines_with(said, "omr0: peer 1: keys are agreed on again") == 1,
		"daemon: a change is logged once", "%s", said);
	fake.reported.n = 0;
	d->rebind = true;
	unit_ok(!om_peers_bind(d) && om_peers_report(d) == UINT64_MAX && fake.reported.n == 1 &&
		OM_AT(&fake.reported, struct om_handshake, 0)->kind == OMERTA_KEY_KIND_ML_KEM,
		"daemon: a new binding gets what there is", "%zu", fake.reported.n);
	fake.reported.n = 0;
	for (peer = agent.first; peer; peer = peer->next)
		om_peers_changed(d, peer);
	om_agent_remove(&agent, 70);
	unit_ok(om_peers_report(d) == UINT64_MAX && fake.reported.n == 69 && !d->to_report.n,
		"daemon: many are reported in parts", "%zu", fake.reported.n);
	reporter = NULL;
	dup2(tty, STDERR_FILENO);
	close(tty);
	close(log);
	tear_down(d);
}

static void become(struct om_daemon *d, uint8_t secret)
{
	om_agent_remove_all(d->agent);
	memset(d->agent->host.pair.secret, secret, OM_NOISE_KEY);
	om_hs_host_init(&d->agent->host);
}

/* Adopt the kernel's only peer; return true if it has this time. */
static bool has_time(struct om_daemon *d, const uint8_t *time)
{
	return !om_peers_adopt(d) && d->agent->peers == 1 &&
	       !memcmp(d->agent->first->latest, time, OM_HS_TIME);
}

/* Times sent under a stolen private key must not block the peer after it has a new one. */
static void new_key(struct om_daemon *d)
{
	static const uint8_t none[OM_HS_TIME];
	struct om_times_item last;
	struct om_peer *peer;
	struct om_err err;

	set_up(d, "new-key.times");
	peer = add_peer(1, 7);
	memset(last.time, 0xff, sizeof(last.time));
	spent = 0;
	become(d, 1);
	om_times_key(agent.host.pair.public, peer->public_key, last.key);
	unit_ok(d->times && has_time(d, none) && !om_times_put(d->times, &last, 1, &err),
		"daemon: a peer without a time", "%s", d->err.text);
	become(d, 1);
	unit_ok(has_time(d, last.time) && spent == 1,
		"daemon: a peer's time is known again, and that it is the last", "%u", spent);
	become(d, 2);
	unit_ok(has_time(d, none), "daemon: with another key of ours it is not", "%s",
		"");
	tear_down(d);
}

/* "omertactl times forget" with an agent: memory and disk */
static void forget_time(struct om_daemon *d)
{
	struct om_times_item item = { .time = { 1 } };
	char line[OM_BASE64_LEN];
	struct om_peer *peer;
	struct om_err err;
	bool ok;

	set_up(d, "forget-time.times");
	peer = add_peer(1, 7);
	snprintf(d->times_path, sizeof(d->times_path), "%s", unit_path("forget-time.times"));
	om_times_key(agent.host.pair.public, peer->public_key, item.key);
	om_times_put(d->times, &item, 1, &err);
	om_peers_adopt(d);
	ok = om_agent_find(&agent, 1)->latest[0] == 1;
	unit_ok(ok && om_peers_forget_time(d) == OM_SYSTEM && d->err.sys == ENOENT,
		"daemon: nobody asked for a time to be forgotten", "%s", d->err.text);
	om_base64_encode(line, peer->public_key);
	line[OM_BASE64_LEN - 1] = '\n';
	unit_file("forget-time.times.forget", line, OM_BASE64_LEN, 0600);
	ok = !om_peers_forget_time(d);
	om_times_get(d->times, item.key, item.time);
	unit_ok(ok && !om_agent_find(&agent, 1)->latest[0] && !item.time[0] &&
		access(unit_path("forget-time.times.forget"), F_OK),
		"daemon: a time is forgotten", "%s", d->err.text);
	tear_down(d);
}

/* Return the number of questions that the resolver has got. */
static unsigned int questions(int fd)
{
	struct om_resolver_question q;
	unsigned int n = 0;

	while (recv(fd, &q, sizeof(q), MSG_DONTWAIT) == sizeof(q))
		n += !strcmp(q.endpoint, "b.test:7");
	return n;
}

static void answer(struct om_daemon *d, int fd, const struct om_resolver_answer *a)
{
	send(fd, a, sizeof(*a), 0);
	om_endpoints_resolved(d);
}

/* The addresses of a name come in turn, if there is a route to them. */
static void addresses(struct om_daemon *d)
{
	static const char text[] =
		"[Interface]\nPrivateKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"
		"[Peer]\nPublicKey = BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\nEndpoint = b.test:7\n";
	struct om_resolver_answer a = {
		.id = 1, .endpoint = "b.test:7", .n = 3,
		.addr = { { .addr.len = 5 }, { { .len = 4, .b = { 9 } }, 7, 0 },
			  { { .len = 16, .b = { 8 } }, 7, 0 } },
	};
	struct om_resolver_answer none = { .id = 1, .endpoint = "b.test:7", .error = ENOENT };
	unsigned int n = 0;
	struct om_peer *peer, now_peer;
	struct om_err err;
	uint64_t now;
	int fd[2], tty = dup(STDERR_FILENO), log;

	set_up(d, "addresses.times");
	/* Log messages would end the list of results. */
	log = open(unit_file("log", "", 0, 0600), O_WRONLY | O_APPEND);
	dup2(log, STDERR_FILENO);
	close(log);
	d->config = unit_file("names.conf", text, strlen(text), 0600);
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fd);
	d->resolver.fd = fd[0];
	d->routes = om_rtnl_open("omr0", &err);
	d->network = om_rtnl_watch(&err);
	add_peer(1, 7);
	unit_ok(!om_peers_read_config(d, &err) && !om_peers_adopt(d) && questions(fd[1]) == 1,
		"daemon: a peer without an endpoint is looked for", "%s", err.text);
	/* Lookups in vain, whose answers come at the begin: after 1, 2, 4, .. 32 s */
	now = agent.first->asked_at;
	for (unsigned int s = 1; s <= 55; s++) {
		om_endpoints_run(d, now + s * 1000);
		n += questions(fd[1]);
		answer(d, fd[1], &none);
	}
	unit_ok(n == 6 && agent.first->nowhere_told, "daemon: with growing pauses", "%u", n);
	d->nowhere = false;
	om_endpoints_network(d);
	om_endpoints_run(d, d->network_at);
	unit_ok(d->adopt && d->network_changed && !om_peers_adopt(d) && questions(fd[1]) == 1 &&
		!d->network_changed, "daemon: and at once when the network changes", "%d", d->adopt);
	peer = fake_peer(fake_device("omr0"), 1);
	fake.unreachable = 4;
	answer(d, fd[1], &a);
	unit_ok(peer->endpoint_addr.len == 16 && peer->endpoint_port == 7 && !agent.first->nowhere,
		"daemon: the first address that has a route is used", "%u", peer->endpoint_addr.len);
	om_endpoints_unanswered(d, agent.first);
	unit_ok(peer->endpoint_addr.len == 16 && om_endpoints_reach(d, 1, &now_peer),
		"daemon: an address is used before the next one", "%u", peer->endpoint_addr.len);
	om_endpoints_unanswered(d, agent.first);
	unit_ok(peer->endpoint_addr.len == 16, "daemon: no other has a route", "%u",
		peer->endpoint_addr.len);
	fake.unreachable = 0;
	om_endpoints_unanswered(d, agent.first);
	unit_ok(peer->endpoint_addr.len == 4, "daemon: they come in turn", "%u",
		peer->endpoint_addr.len);
	peer->has |= OM_BIT(OMERTA_A_PEER_RX_AGE);
	peer->rx_age = 1000;
	om_endpoints_reach(d, 1, &now_peer);
	om_endpoints_unanswered(d, agent.first);
	unit_ok(peer->endpoint_addr.len == 4, "daemon: a peer that is heard is where it is", "%u",
		peer->endpoint_addr.len);
	peer->rx_age = 20000;
	om_endpoints_unanswered(d, agent.first);
	unit_ok(peer->endpoint_addr.len == 16, "daemon: and again", "%u", peer->endpoint_addr.len);
	/* The queue has one question of a peer at a time. */
	n = questions(fd[1]);
	agent.first->asking = false;
	agent.first->asked_at = 1;
	om_endpoints_reach(d, 1, &now_peer);
	for (int i = 0; i < 5; i++) {
		om_endpoints_unanswered(d, agent.first);
		agent.first->asked_at = 1;
	}
	n = questions(fd[1]);
	unit_ok(n == 1, "daemon: one question of a peer at a time", "%u", n);
	fake.unreachable = 4;
	om_endpoints_reach(d, 1, &now_peer);
	fake.unreachable = 16;
	om_peers_adopt(d);
	unit_ok(peer->endpoint_addr.len == 16, "daemon: without a change it stays", "%u",
		peer->endpoint_addr.len);
	d->network_changed = true;
	om_peers_adopt(d);
	unit_ok(peer->endpoint_addr.len == 4, "daemon: a route that is gone is an answer", "%u",
		peer->endpoint_addr.len);
	fake.path_mtu = 1492;
	d->network_changed = true;
	om_peers_adopt(d);
	unit_ok(fake.mtu == 1400, "daemon: another MTU of the path", "%u", fake.mtu);
	fake.mtu = 1300;
	d->network_changed = true;
	om_peers_adopt(d);
	unit_ok(fake.mtu == 1300, "daemon: without one, an administrator's stays", "%u", fake.mtu);
	dup2(tty, STDERR_FILENO);
	close(tty);
	close(fd[1]);
	om_resolver_stop(&d->resolver);
	om_endpoints_close(d);
	om_config_free(&d->conf);
	d->routes = NULL;
	d->network = NULL;
	tear_down(d);
}

void test_daemon(void)
{
	struct om_daemon d = { .ifname = "omr0", .config = "/nowhere", .nl = om_nl_new() };

	forget(&d);
	further(&d);
	full(&d);
	stale(&d);
	confirmed(&d);
	scale(&d);
	rebound(&d);
	other_psk(&d);
	newer_file(&d);
	other_peer(&d);
	reports(&d);
	new_key(&d);
	forget_time(&d);
	addresses(&d);
	om_nl_free(d.nl);
	fake_reset();
}
