// SPDX-License-Identifier: GPL-2.0
#include "agent/daemon.h"

#include "agent/agent.h"
#include "agent/daemon_endpoints.h"
#include "agent/daemon_peers.h"
#include "lib/keygen.h"
#include "agent/notify.h"
#include "lib/quote.h"
#include "agent/sandbox.h"
#include "lib/sync.h"
#include "lib/times.h"
#include "lib/times_forget.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* Pause between two dumps of the kernel's peers, */
#define ADOPT_MS	1000
/* plus this many times the duration of the last one */
#define ADOPT_SHARE	50

/*
 * Operations of the agent
 */

void om_daemon_note(struct om_daemon *d)
{
	uint64_t now = om_daemon_now();

	if (!d->err.text[0])
		return;
	if (!strcmp(d->told, d->err.text) && now - d->told_at < 60000)
		return;
	snprintf(d->told, sizeof(d->told), "%s", d->err.text);
	d->told_at = now;
	om_complain(d->err.text);
}

static bool send_to(struct om_daemon *d, struct om_control *c, const uint8_t *msg,
		    size_t len, uint32_t *seq)
{
	int rc;

	c->has |= OM_BIT(OMERTA_A_CONTROL_ENDPOINT_ADDR) |
		  OM_BIT(OMERTA_A_CONTROL_ENDPOINT_PORT) |
		  OM_BIT(OMERTA_A_CONTROL_DATA);
	if (c->endpoint_scope)
		c->has |= OM_BIT(OMERTA_A_CONTROL_ENDPOINT_SCOPE);
	c->data.len = (uint16_t)len;
	memcpy(c->data.b, msg, len);
	rc = om_nl_control_send(d->control, c, seq, &d->err);
	if (rc)
		om_daemon_note(d);
	return !rc;
}

static bool reach(void *ctx, uint32_t peer_id, enum omerta_failure *why)
{
	struct om_daemon *d = ctx;
	const struct om_peer_conf *c;
	struct om_peer peer = { 0 };

	if (!om_endpoints_reach(d, peer_id, &peer)) {
		c = om_peers_conf(d, om_agent_find(d->agent, peer_id)->hs.public);
		*why = !peer.has ? OMERTA_FAILURE_SYSTEM :
		       c && c->endpoint ? OMERTA_FAILURE_NAME_UNKNOWN : OMERTA_FAILURE_NO_ENDPOINT;
		return false;
	}
	d->reached.id = peer_id;
	d->reached.addr = peer.endpoint_addr;
	d->reached.port = peer.endpoint_port;
	d->reached.scope = peer.endpoint_scope;
	return true;
}

/* The kernel admits answers that quote the id. The id is encrypted in the message. */
static bool send_peer(void *ctx, uint32_t peer_id, uint32_t local_id,
		      const uint8_t *msg, size_t len)
{
	struct om_daemon *d = ctx;
	struct om_control c = {
		.has = OM_BIT(OMERTA_A_CONTROL_LOCAL_ID),
		.local_id = local_id,
		.endpoint_addr = d->reached.addr,
		.endpoint_port = d->reached.port,
		.endpoint_scope = d->reached.scope,
	};
	uint32_t seq;

	if (d->reached.id != peer_id || !send_to(d, &c, msg, len, &seq))
		return false;
	d->sent[d->next_sent].seq = seq;
	d->sent[d->next_sent].id = peer_id;
	d->sent[d->next_sent].local_id = local_id;
	d->next_sent = (d->next_sent + 1) % OM_DAEMON_SENT;
	om_peers_log(d, LOG_INFO, peer_id, "an initiation is sent");
	return true;
}

static void send_source(void *ctx, const struct om_agent_source *to,
			const uint8_t *msg, size_t len)
{
	struct om_control c = {
		.has = OM_BIT(OMERTA_A_CONTROL_LOCAL_ADDR),
		.endpoint_port = to->port,
		.endpoint_scope = to->scope,
		.endpoint_addr.len = to->len,
		.local_addr.len = to->len,
	};

	uint32_t seq;

	memcpy(c.endpoint_addr.b, to->addr, to->len);
	memcpy(c.local_addr.b, to->local, to->len);
	send_to(ctx, &c, msg, len, &seq);
}

static bool install(void *ctx, const struct om_agent_key *key, enum omerta_failure *why)
{
	struct om_daemon *d = ctx;

	if (om_peers_install(d, key)) {
		om_peers_log(d, LOG_INFO, key->peer_id,
			     key->initiator ? "a key is in use" : "a key is offered");
		return true;
	}
	if (d->err.text[0] && (d->err.sys == EDQUOT || d->err.sys == ENOSPC))
		*why = OMERTA_FAILURE_LIMIT;
	om_daemon_note(d);
	return false;
}

static bool epoch(void *ctx, int64_t *epoch)
{
	struct om_daemon *d = ctx;
	struct om_device ref, dev;

	om_device_ref(&ref, d->ifname);
	if (om_nl_get(d->nl, OMERTA_CMD_DEVICE_GET, &om_device_object, &ref, &dev,
		      &d->err)) {
		om_daemon_note(d);
		return false;
	}
	/* Older modules have no epoch. */
	*epoch = -1;
	if (dev.has & OM_BIT(OMERTA_A_DEVICE_EPOCH))
		*epoch = dev.epoch;
	om_list_free(&dev.channel_stats);
	return true;
}

static void forget(void *ctx, uint32_t peer_id, uint32_t local_id)
{
	om_peers_forget_key(ctx, peer_id, local_id);
}

/* TAI64N without leap seconds, and too coarse to identify a clock */
static void put_clock(void *ctx, uint8_t time[OM_HS_TIME])
{
	struct timespec ts;
	uint64_t s;
	uint32_t ns;

	(void)ctx;
	clock_gettime(CLOCK_REALTIME, &ts);
	s = 0x4000000000000000ULL + 10 + (uint64_t)ts.tv_sec;
	ns = (uint32_t)ts.tv_nsec & ~0xffffffU;
	for (int i = 7; i >= 0; i--, s >>= 8)
		time[i] = (uint8_t)s;
	for (int i = 11; i >= 8; i--, ns >>= 8)
		time[i] = (uint8_t)ns;
}

static bool remember(void *ctx, const struct om_agent_memory *m, size_t n)
{
	struct om_times_item item[OM_AGENT_MOMENT + 1];
	struct om_daemon *d = ctx;

	for (size_t i = 0; i < n; i++) {
		if (m[i].public)
			om_times_key(d->agent->host.pair.public, m[i].public, item[i].key);
		else
			memcpy(item[i].key, d->agent->host.pair.public, sizeof(item[i].key));
		memcpy(item[i].time, m[i].time, sizeof(item[i].time));
	}
	if (!om_times_put(d->times, item, n, &d->err))
		return true;
	om_daemon_note(d);
	return false;
}

/* The sender may be a new peer in the kernel. */
static void unknown(void *ctx)
{
	struct om_daemon *d = ctx;

	d->adopt = true;
}

static void trouble(void *ctx, uint32_t peer_id, enum om_agent_trouble trouble,
		    uint8_t mode)
{
	struct om_daemon *d = ctx;
	struct om_err err;

	switch (trouble) {
	case OM_AGENT_UNOPENED:
		om_err(&err, OM_OK,
		       "its responses do not open: give both hosts the same PresharedKey, or none, unless an on-path attacker forges them");
		break;
	case OM_AGENT_UNUSED:
		om_err(&err, OM_OK,
		       "it keeps initiating and uses no key of ours: give both hosts the same PresharedKey, or none, unless our responses get lost");
		break;
	case OM_AGENT_OLD:
		om_err(&err, OM_OK,
		       "it sent an initiation with a time that is not newer than its latest: if no key follows, and this is no replay, run omertactl times forget %s peer %" PRIu32,
		       d->ifname, peer_id);
		break;
	default:
		om_err(&err, OM_OK,
		       mode & OM_HS_MLKEM ?
		       "it wants keys with ML-KEM-768, which PostQuantum rules out here" :
		       "it wants keys without ML-KEM-768, which PostQuantum requires here");
	}
	om_peers_log(d, LOG_WARNING, peer_id, err.text);
}

static void agreed(void *ctx, uint32_t peer_id, uint8_t mode)
{
	static const char *const texts[OM_HS_MODES] = {
		[OM_HS_CLASSIC] = "keys are agreed on without ML-KEM-768",
		[OM_HS_MLKEM] = "keys are agreed on with ML-KEM-768",
		[OM_HS_CHANNELS] = "keys are agreed on without ML-KEM-768, and on channels",
		[OM_HS_MLKEM | OM_HS_CHANNELS] =
			"keys are agreed on with ML-KEM-768, and on channels",
	};

	om_peers_log(ctx, LOG_NOTICE, peer_id, texts[mode]);
}

static void tell_times(void *ctx, uint32_t peer_id, enum om_agent_time news)
{
	struct om_daemon *d = ctx;
	struct om_err err;

	switch (news) {
	case OM_AGENT_TIME_RAISED:
		om_err(&err, OM_OK,
		       "it knows a time of this host that is ahead of its clock: handshakes with it continue from there");
		break;
	case OM_AGENT_TIME_LAST:
		om_err(&err, OM_OK,
		       "it knows the last possible time of this host: run omertactl times forget on the peer's host");
		break;
	default:
		om_err(&err, OM_OK,
		       "it once sent the last possible time: run omertactl times forget %s peer %" PRIu32 " before it can begin a handshake",
		       d->ifname, peer_id);
	}
	om_peers_log(d, news == OM_AGENT_TIME_RAISED ? LOG_NOTICE : LOG_WARNING, peer_id, err.text);
}

static void unanswered(void *ctx, struct om_agent_peer *peer)
{
	om_endpoints_unanswered(ctx, peer);
}

static void changed(void *ctx, struct om_agent_peer *peer)
{
	om_peers_changed(ctx, peer);
}

_Static_assert(OM_AGENT_MOMENT + 1 <= OM_TIMES_ITEMS, "times stored at once");

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
	.times = tell_times,
	.unanswered = unanswered,
	.changed = changed,
};

/*
 * Input
 */

static void on_control(const struct om_control *c, void *arg)
{
	struct om_daemon *d = arg;
	struct om_agent_source from;

	if (!c->endpoint_addr.len || c->local_addr.len != c->endpoint_addr.len)
		return;
	memset(&from, 0, sizeof(from));
	from.port = c->endpoint_port;
	from.scope = c->endpoint_scope;
	from.len = c->endpoint_addr.len;
	memcpy(from.addr, c->endpoint_addr.b, from.len);
	memcpy(from.local, c->local_addr.b, from.len);
	om_agent_receive(d->agent, om_daemon_now(), &from, c->data.b, c->data.len);
}

/* The kernel has not sent an initiation. Refused answers are sent again when they are asked for. */
static void on_refused(uint32_t seq, int error, void *arg)
{
	struct om_daemon *d = arg;

	for (unsigned int i = 0; i < OM_DAEMON_SENT; i++)
		if (d->sent[i].id && d->sent[i].seq == seq) {
			om_peers_log(d, LOG_INFO, d->sent[i].id, strerror(error));
			om_agent_tell(d->agent, om_daemon_now(), d->sent[i].id, OM_AGENT_NOT_SENT,
				      d->sent[i].local_id);
			d->sent[i].id = 0;
		}
}

static void on_key(struct om_daemon *d, uint8_t cmd, const struct om_key *key)
{
	enum om_agent_event event = OM_AGENT_KEY_NEEDED;
	bool idle = (key->has & OM_BIT(OMERTA_A_KEY_LIMIT)) &&
		    (key->limit == OMERTA_KEY_LIMIT_TIME ||
		     key->limit == OMERTA_KEY_LIMIT_SUSPEND);

	/* The first channel's key tells the same, but of records. */
	if (key->channel && cmd != OMERTA_CMD_KEY_SOFT_NTF && cmd != OMERTA_CMD_KEY_HARD_NTF &&
	    !(cmd == OMERTA_CMD_KEY_DEAD_NTF && (key->limit == OMERTA_KEY_LIMIT_RECORDS ||
						 key->limit == OMERTA_KEY_LIMIT_AUTH_FAILURES)))
		return;
	if (cmd == OMERTA_CMD_KEY_CONFIRMED_NTF)
		om_peers_key_used(d, key->peer_id, key->local_id);
	if (cmd == OMERTA_CMD_KEY_SOFT_NTF)
		event = OM_AGENT_KEY_SOFT;
	else if (cmd == OMERTA_CMD_KEY_DEAD_NTF &&
		 (key->has & OM_BIT(OMERTA_A_KEY_LIMIT)) &&
		 key->limit == OMERTA_KEY_LIMIT_IDENTITY)
		event = OM_AGENT_ANEW;
	else if (cmd == OMERTA_CMD_KEY_CONFIRMED_NTF)
		event = OM_AGENT_KEY_CONFIRMED;
	else if (cmd != OMERTA_CMD_KEY_NEEDED_NTF && idle)
		return;		/* The key expired unused; traffic will ask again. */
	if (!om_agent_find(d->agent, key->peer_id))
		om_peers_look(d, key->peer_id, event != OM_AGENT_KEY_CONFIRMED);
	om_agent_tell(d->agent, om_daemon_now(), key->peer_id, event,
		      key->local_id - key->channel);
}

/* The device may have been renamed. */
static bool is_ours(const struct om_daemon *d, uint32_t ifindex, const char *ifname)
{
	return d->ifindex && ifindex ? ifindex == d->ifindex : !strcmp(ifname, d->ifname);
}

static int on_event(const struct om_event *ev, void *arg)
{
	const struct om_device *dev = ev->data;
	const struct om_peer *peer = ev->data;
	const struct om_key *key = ev->data;
	struct om_daemon *d = arg;

	if (ev->obj == &om_key_object && is_ours(d, key->ifindex, key->ifname))
		on_key(d, ev->cmd, key);
	if (ev->cmd == OMERTA_CMD_PEER_SILENT_NTF &&
	    is_ours(d, peer->ifindex, peer->ifname))
		om_agent_tell(d->agent, om_daemon_now(), peer->id, OM_AGENT_SILENT, 0);
	if (ev->cmd == OMERTA_CMD_DEVICE_GONE_NTF &&
	    is_ours(d, dev->ifindex, dev->ifname)) {
		om_log(LOG_NOTICE, "the device is gone");
		d->end = true;
	}
	return OM_OK;
}

static int read_events(struct om_daemon *d, struct om_err *err)
{
	bool lost;
	int rc = om_nl_events_read(d->events, on_event, d, &lost, err);

	d->lost |= lost;
	d->adopt |= lost;
	return rc;
}

static void reload(struct om_daemon *d)
{
	om_notify("RELOADING=1");
	if (om_peers_reload(d))
		om_daemon_note(d);
	om_notify("READY=1");
}

static void rekey(struct om_daemon *d)
{
	for (const struct om_agent_peer *p = d->agent->first; p; p = p->next)
		om_agent_tell(d->agent, om_daemon_now(), p->id, OM_AGENT_KEY_SOFT, 0);
}

static void forget_time(struct om_daemon *d)
{
	if (om_peers_forget_time(d))
		om_daemon_note(d);
}

static int read_signal(struct om_daemon *d, struct om_err *err)
{
	struct signalfd_siginfo info;

	if (read(d->signals, &info, sizeof(info)) != sizeof(info))
		return errno == EAGAIN ? OM_OK : om_err_sys(err, errno, "signals");
	if (info.ssi_signo == SIGHUP)
		reload(d);
	else if (info.ssi_signo == SIGUSR1)
		rekey(d);
	else if (info.ssi_signo == OM_TIMES_SIGNAL)
		forget_time(d);
	else
		d->end = true;
	return OM_OK;
}

/*
 * The loop
 */

#define SHOW_MS		10000

/* Put the counters into the service's status. Returns the time of the next look at them. */
static uint64_t show_trouble(struct om_daemon *d)
{
	const uint64_t *n = d->agent->trouble;
	char text[200];

	if (!memcmp(d->shown, n, sizeof(d->shown)))
		return UINT64_MAX;
	if (om_daemon_now() < d->show_at)
		return d->show_at;
	d->show_at = om_daemon_now() + SHOW_MS;
	memcpy(d->shown, n, sizeof(d->shown));
	snprintf(text, sizeof(text),
		 "STATUS=in vain: %" PRIu64 " responses that do not open, %" PRIu64 " old times, %" PRIu64 " refused modes, %" PRIu64 " unused answers",
		 n[OM_AGENT_UNOPENED], n[OM_AGENT_OLD], n[OM_AGENT_REFUSED],
		 n[OM_AGENT_UNUSED]);
	om_notify(text);
	return UINT64_MAX;
}

static int set_timer(struct om_daemon *d, uint64_t at, struct om_err *err)
{
	struct itimerspec t = { 0 };

	if (at == d->timer_at)
		return OM_OK;
	if (at != UINT64_MAX) {
		t.it_value.tv_sec = (time_t)(at / 1000);
		t.it_value.tv_nsec = (long)(at % 1000) * 1000000 + 1;
	}
	if (timerfd_settime(d->timer, TFD_TIMER_ABSTIME, &t, NULL))
		return om_err_sys(err, errno, "timer");
	d->timer_at = at;
	return OM_OK;
}

enum { CONTROL, EVENTS, SIGNALS, TIMER, RESOLVER, NETWORK, SOURCES };

static void adopt(struct om_daemon *d)
{
	uint64_t begun = om_daemon_now(), end;

	d->adopt = false;
	om_peers_find_device(d);
	if (om_peers_bind(d) || om_peers_adopt(d)) {
		om_daemon_note(d);
		d->adopt = true;
		d->left |= d->err.sys == ENODEV;
	}
	/* Strangers can cause dumps, and with many peers a dump takes long. */
	end = om_daemon_now();
	d->adopt_at = end + ADOPT_MS + ADOPT_SHARE * (end - begun);
}

static int serve(struct om_daemon *d, const struct pollfd *p, struct om_err *err)
{
	uint64_t expired;
	int rc = OM_OK;

	if (p[SIGNALS].revents)
		rc = read_signal(d, err);
	if (!rc && p[EVENTS].revents)
		rc = read_events(d, err);
	if (!rc && p[CONTROL].revents)
		rc = om_nl_control_read(d->control, on_control, on_refused, d, err);
	om_agent_settle(d->agent, om_daemon_now());
	if (p[RESOLVER].revents)
		om_endpoints_resolved(d);
	if (p[NETWORK].revents)
		om_endpoints_network(d);
	if (p[TIMER].revents) {
		if (read(d->timer, &expired, sizeof(expired)) < 0)
			errno = 0;
		d->timer_at = UINT64_MAX;
	}
	if (!rc && d->adopt && om_daemon_now() >= d->adopt_at)
		adopt(d);
	if (!rc && d->reread && om_peers_reread(d))
		om_daemon_note(d);
	/* Confirmations of these keys may be among the unread events. */
	if (!rc && d->doomed.n)
		rc = read_events(d, err);
	if (!rc && om_peers_tidy(d))
		om_daemon_note(d);
	return rc;
}

static int loop(struct om_daemon *d, struct om_err *err)
{
	struct pollfd p[SOURCES] = {
		[CONTROL] = { om_nl_control_fd(d->control), POLLIN, 0 },
		[EVENTS] = { om_nl_events_fd(d->events), POLLIN, 0 },
		[SIGNALS] = { d->signals, POLLIN, 0 },
		[TIMER] = { d->timer, POLLIN, 0 },
		[RESOLVER] = { -1, POLLIN, 0 },
		[NETWORK] = { -1, POLLIN, 0 },
	};
	uint64_t next, show_at, look_at, report_at;
	int rc;

	while (!d->end) {
		next = om_agent_run(d->agent, om_daemon_now());
		look_at = om_endpoints_run(d, om_daemon_now());
		if (next > look_at)
			next = look_at;
		report_at = om_peers_report(d);
		if (next > report_at)
			next = report_at;
		if (d->adopt && next > d->adopt_at)
			next = d->adopt_at;
		/* Requests have shown that peers in the kernel have changed. */
		if (d->stale.n || d->left || d->reread)
			next = 0;
		show_at = show_trouble(d);
		if (next > show_at)
			next = show_at;
		p[RESOLVER].fd = d->resolver.fd;
		/* One change is enough until it is looked at. */
		p[NETWORK].fd = d->network_at ? -1 : om_rtnl_fd(d->network);
		rc = set_timer(d, next, err);
		if (!rc && poll(p, SOURCES, -1) < 0)
			rc = errno == EINTR ? OM_OK :
					      om_err_sys(err, errno, "poll");
		if (!rc)
			rc = serve(d, p, err);
		/* The event of its end may not be read yet. */
		if (!rc && d->left)
			rc = read_events(d, err);
		if (!rc && d->left && !d->end)
			rc = om_err(err, OM_SYSTEM,
				    "%s is in another network namespace now, where an agent of its own is needed: no keys are agreed on any more",
				    d->ifname);
		if (rc)
			return rc;
	}
	return OM_OK;
}

/*
 * Start and end
 */

static int open_signals(struct om_daemon *d, struct om_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, OM_TIMES_SIGNAL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	d->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (d->signals < 0 || d->timer < 0)
		return om_err_sys(err, errno, "signals and timer");
	return OM_OK;
}

/* Make the folder for the times, and become its owner. */
static int enter_sandbox(struct om_daemon *d, struct om_err *err)
{
	const char **dir = &d->state_dir;

	*dir = getenv("STATE_DIRECTORY");
	if (!*dir) {
		*dir = OM_STATE_DIR;
		if (mkdir(*dir, 0700) && errno != EEXIST)
			return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(*dir));
	}
	return om_sandbox_enter(*dir, err);
}

/*
 * Subscribe first: the kernel repeats to a new agent which keys are needed, and after the dump
 * of peers no event may be missed.
 */
static int open_sockets(struct om_daemon *d, struct om_err *err)
{
	d->events = om_nl_events_open(err);
	if (!d->events)
		return OM_SYSTEM;
	d->control = om_nl_control_open(d->ifname, d->agent->host.pair.public, err);
	if (d->control)
		return OM_OK;
	/* Older modules lack the request, or its public key. */
	if (err->sys == EOPNOTSUPP || err->sys == EINVAL)
		om_err_append(err, " (the omerta module is older than this omertactl)");
	return OM_SYSTEM;
}

static int set_up(struct om_daemon *d, struct om_err *err)
{
	int rc;

	/* Start the resolver before there are secrets. No process waits for its exit. */
	signal(SIGCHLD, SIG_IGN);
	rc = om_resolver_start(&d->resolver, err);
	if (rc)
		return rc;
	om_sandbox_hide();
	d->agent = sodium_malloc(sizeof(*d->agent));
	if (d->agent)
		om_agent_init(d->agent, &ops, d);
	d->nl = om_nl_new();
	if (!d->agent || !d->nl)
		return om_err_sys(err, ENOMEM, "agent");
	rc = open_signals(d, err);
	/* First: a file that cannot be read now could not be read again, either. */
	if (!rc)
		rc = enter_sandbox(d, err);
	if (!rc)
		rc = om_peers_read_config(d, err);
	if (!rc)
		rc = om_peers_open_times(d, err);
	if (!rc)
		rc = open_sockets(d, err);
	if (!rc)
		rc = om_endpoints_open(d, err);
	if (!rc && om_peers_adopt(d)) {
		*err = d->err;
		rc = OM_SYSTEM;
	}
	return rc ?: om_sandbox_filter(err);
}

static void tear_down(struct om_daemon *d)
{
	if (d->agent)
		om_agent_free(d->agent);
	sodium_free(d->agent);
	om_nl_events_close(d->events);
	om_nl_control_close(d->control);
	om_endpoints_close(d);
	om_nl_free(d->nl);
	om_times_close(d->times);
	om_peers_end(d);
	om_config_free(&d->conf);
	om_resolver_stop(&d->resolver);
	if (d->signals >= 0)
		close(d->signals);
	if (d->timer >= 0)
		close(d->timer);
}

int om_daemon_run(const struct om_daemon_options *options, struct om_err *err)
{
	struct om_daemon d = {
		.config = options->config,
		.resolver.fd = -1,
		.signals = -1,
		.timer = -1,
		.timer_at = UINT64_MAX,
	};
	int rc;

	snprintf(d.ifname, sizeof(d.ifname), "%s", options->ifname);
	rc = set_up(&d, err);
	if (!rc) {
		om_notify("READY=1");
		if (options->ready)
			options->ready(options->ready_fd);
		rc = loop(&d, err);
	}
	om_notify("STOPPING=1");
	tear_down(&d);
	return rc;
}
