// SPDX-License-Identifier: GPL-2.0
/*
 * Changes: "top" as a screen that is drawn again and again, or as lines where standard output
 * is no terminal; "stats watch" as lines of the counters that have changed.
 */
#include "cmd/cmd.h"

#include "cmd/print.h"
#include "lib/addr.h"
#include "lib/rtnl.h"
#include "lib/state.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* A state of all devices, and when it was read */
struct sample {
	struct om_list states;
	double at;		/* seconds of the monotonic clock */
};

#define NAME_WIDTH	20

/* A peer's line */
struct row {
	const struct om_state *state;
	const struct om_peer *peer;
	double rx;		/* bytes per second */
	double tx;
};

static volatile sig_atomic_t interrupted, suspended;

static void on_signal(int number)
{
	if (number == SIGTSTP)
		suspended = 1;
	else if (number != SIGWINCH)
		interrupted = 1;
}

static int load(struct om_ctx *ctx, const char *ifname, enum om_parts parts, struct sample *s)
{
	struct timespec t;
	int rc = om_states_load(ctx->nl, ifname, parts, &s->states, &ctx->err);

	clock_gettime(CLOCK_MONOTONIC, &t);
	s->at = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	return rc;
}

/* The state of the same device in an earlier sample, or NULL */
static const struct om_state *same_device(const struct sample *s, const struct om_state *of)
{
	for (size_t i = 0; i < s->states.n; i++) {
		const struct om_state *d = OM_AT(&s->states, struct om_state, i);

		if (d->dev.ifindex == of->dev.ifindex)
			return d;
	}
	return NULL;
}

/* The same peer in an earlier state, or NULL. The kernel dumps peers by their ids. */
static const struct om_peer *same_peer(const struct om_state *s, uint32_t id)
{
	size_t low = 0, high = s ? s->peers.n : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct om_peer *p = OM_AT(&s->peers, struct om_peer, mid);

		if (p->id == id)
			return p;
		if (p->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* Growth per second. A counter that is smaller than before is another one's. */
static double rate(const uint64_t *new, const uint64_t *old, unsigned int attr, double seconds)
{
	if (!old || seconds <= 0 || new[attr] < old[attr])
		return 0;
	return (double)(new[attr] - old[attr]) / seconds;
}

/* Three digits and a unit, as "1.23 M" */
static const char *short_number(char *buf, size_t size, double v)
{
	static const char units[] = " kMGT";
	size_t i = 0;

	for (; v >= 999.5 && i + 2 < sizeof(units); i++)
		v /= 1000;
	if (i)
		snprintf(buf, size, "%.*f %c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[i]);
	else
		snprintf(buf, size, "%.0f ", v);
	return buf;
}

static const char *short_age(char *buf, size_t size, uint64_t msec)
{
	uint64_t s = msec / 1000;

	if (s < 120)
		snprintf(buf, size, "%" PRIu64 "s", s);
	else if (s < 2 * 3600)
		snprintf(buf, size, "%" PRIu64 "m", s / 60);
	else if (s < 2 * 24 * 3600)
		snprintf(buf, size, "%" PRIu64 "h", s / 3600);
	else
		snprintf(buf, size, "%" PRIu64 "d", s / (24 * 3600));
	return buf;
}

/* A name in at most NAME_WIDTH bytes, without a part of a character at the end */
static const char *peer_name(char *buf, size_t size, const struct om_peer *p)
{
	size_t at = 0, len;

	snprintf(buf, size, "%u", p->id);
	if (!*p->name)
		return buf;
	om_escape(buf, size, p->name);
	while ((len = om_utf8_len(buf + at)) && at + len <= NAME_WIDTH)
		at += len;
	buf[at] = '\0';
	return buf;
}

/* Names of the counters of drops that have grown, with by how much; "" for none */
static void new_drops(char *buf, size_t size, const struct om_state *s, const struct om_state *old)
{
	const struct om_object *obj = om_field_get(&om_device_object, OMERTA_A_DEVICE_STATS)->nest;
	size_t at = 0;

	*buf = '\0';
	for (size_t i = 0; old && i < obj->fields; i++) {
		const struct om_field *f = &obj->field[i];
		uint64_t v = om_field_uint(f, &s->dev.stats);
		uint64_t before = om_field_uint(f, &old->dev.stats);

		if (strstr(f->name, "-drop-") && v > before && at < size)
			at += (size_t)snprintf(buf + at, size - at, " %s +%" PRIu64, f->name,
					       v - before);
	}
}

/* "  channels:", and of each its packets and records per second in both directions, and the CPUs */
static void print_channels(const struct om_state *s, const struct om_state *old, double seconds)
{
	static const struct {
		const char *what;
		uint8_t packets, records, cpu;
	} ways[] = {
		{ "received", OMERTA_A_CHANNEL_STATS_RX_PACKETS, OMERTA_A_CHANNEL_STATS_RX_RECORDS,
		  OMERTA_A_CHANNEL_STATS_RX_CPU },
		{ "sent", OMERTA_A_CHANNEL_STATS_TX_PACKETS, OMERTA_A_CHANNEL_STATS_TX_RECORDS,
		  OMERTA_A_CHANNEL_STATS_TX_CPU },
	};
	char packets[16], records[16];
	double drops;

	fputs("  channels:", stdout);
	for (size_t i = 0; i < s->dev.channel_stats.n; i++) {
		const struct om_channel_stats *c =
			OM_AT(&s->dev.channel_stats, struct om_channel_stats, i);
		const uint64_t *before = old && i < old->dev.channel_stats.n ?
			OM_AT(&old->dev.channel_stats, struct om_channel_stats, i)->v : NULL;

		for (size_t k = 0; k < OM_ARRAY_SIZE(ways); k++) {
			short_number(packets, sizeof(packets),
				     rate(c->v, before, ways[k].packets, seconds));
			short_number(records, sizeof(records),
				     rate(c->v, before, ways[k].records, seconds));
			printf("%s %s/s %s (%s/s records", k ? "," : i ? ";" : "", packets,
			       ways[k].what, records);
			if (c->has & OM_BIT(ways[k].cpu))
				printf(", CPU %" PRIu64, c->v[ways[k].cpu]);
			putchar(')');
		}
		drops = rate(c->v, before, OMERTA_A_CHANNEL_STATS_RX_DROPS, seconds) +
			rate(c->v, before, OMERTA_A_CHANNEL_STATS_TX_DROPS, seconds);
		if (drops > 0) {
			short_number(packets, sizeof(packets), drops);
			printf(", %s/s dropped", packets);
		}
	}
	putchar('\n');
}

static int by_rate(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double dx = x->rx + x->tx, dy = y->rx + y->tx;

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return x->peer->id < y->peer->id ? -1 : x->peer->id > y->peer->id;
}

/* The peers of a device, the busiest first */
static void make_rows(const struct om_state *s, const struct om_state *old, double seconds,
		      struct om_list *rows)
{
	for (size_t i = 0; i < s->peers.n; i++) {
		const struct om_peer *p = OM_AT(&s->peers, struct om_peer, i);
		const struct om_peer *was = same_peer(old, p->id);
		const uint64_t *before = was ? was->stats.v : NULL;
		struct row *row = om_list_add(rows, sizeof(*row));

		*row = (struct row) {
			.state = s,
			.peer = p,
			.rx = rate(p->stats.v, before, OMERTA_A_PEER_STATS_RX_BYTES, seconds),
			.tx = rate(p->stats.v, before, OMERTA_A_PEER_STATS_TX_BYTES, seconds),
		};
	}
	if (rows->n)
		qsort(rows->v, rows->n, sizeof(struct row), by_rate);
}

/* The key that seals, or NULL */
static const struct om_key *active_key(const struct om_state *s, uint32_t peer)
{
	const struct om_key *k = NULL;

	while ((k = om_state_next_key(s, peer, k)))
		if (k->state == OMERTA_KEY_STATE_ACTIVE && !k->channel)
			break;
	return k;
}

static void print_row(const struct row *row)
{
	char name[4 * OMERTA_PEER_NAME_LEN + 1], rx[16], tx[16], key[16] = "-", hs[16] = "-";
	char seen[16] = "-", to[OM_ENDPOINT_LEN] = "-";
	const struct om_peer *p = row->peer;
	const struct om_key *k = active_key(row->state, p->id);
	uint64_t age;

	if (k)
		short_age(key, sizeof(key), k->age);
	if (om_state_handshake_age(row->state, p->id, &age))
		short_age(hs, sizeof(hs), age);
	if (p->has & OM_BIT(OMERTA_A_PEER_RX_AGE))
		short_age(seen, sizeof(seen), p->rx_age);
	if (p->endpoint_addr.len)
		om_endpoint_format(to, sizeof(to), p);
	printf("  %-20s %9sB/s %9sB/s %6s %9s %6s  %-21s%s\n", peer_name(name, sizeof(name), p),
	       short_number(rx, sizeof(rx), row->rx), short_number(tx, sizeof(tx), row->tx), key, hs,
	       seen, to, p->silent ? " silent" : k ? "" : " no key");
}

/* Print a sample in @lines lines at most, or all peers with traffic if that is 0. */
static void print_top(const struct sample *new, const struct sample *old, int lines)
{
	double seconds = new->at - old->at;
	bool screen = lines > 0;
	char rx[16], tx[16], drops[512], clock[16];
	time_t now = time(NULL);

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime(&now));
	if (!new->states.n)
		printf("%s no device\n", clock);
	for (size_t i = 0; i < new->states.n; i++) {
		const struct om_state *s = OM_AT(&new->states, struct om_state, i);
		const struct om_state *was = same_device(old, s);
		const uint64_t *v = s->dev.stats.v, *before = was ? was->dev.stats.v : NULL;
		struct om_list rows = { 0 };
		uint64_t waiting = 0;

		new_drops(drops, sizeof(drops), s, was);
		om_rtnl_backlog(s->dev.ifindex, &waiting);
		printf("%s %s: %zu peers, %sB/s received, %sB/s sent, %" PRIu64 " packets wait, "
		       "agent %s\n", clock, om_print_name(s->dev.ifname), s->peers.n,
		       short_number(rx, sizeof(rx), rate(v, before, OMERTA_A_DEVICE_STATS_RX_BYTES,
							 seconds)),
		       short_number(tx, sizeof(tx), rate(v, before, OMERTA_A_DEVICE_STATS_TX_BYTES,
							 seconds)),
		       waiting, s->dev.control_bound ? "runs" : "does not run");
		printf("  drops:%s\n", *drops ? drops : " none");
		if (s->dev.channel_stats.n > 1) {
			print_channels(s, was, seconds);
			lines--;
		}
		make_rows(s, was, seconds, &rows);
		if (rows.n)
			printf("  %-20s %12s %12s %6s %9s %6s  %s\n", "peer", "received", "sent",
			       "key", "handshake", "seen", "endpoint");
		lines -= 3;
		for (size_t k = 0; k < rows.n; k++) {
			const struct row *row = OM_AT(&rows, struct row, k);

			if (screen ? lines-- <= 1 : row->rx + row->tx == 0)
				break;
			print_row(row);
		}
		om_list_free(&rows);
	}
}

/* The terminal as it was, for the end */
static struct termios before_top;
static bool raw;

static void begin_screen(void)
{
	struct termios t;

	/* The other screen, without a cursor; long lines are cut. */
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
	raw = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before_top);
	if (!raw)
		return;
	t = before_top;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

static void end_screen(void)
{
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &before_top);
}

/* Wait for @ms. Returns false if it is time to end; "q" does that on a screen. */
static bool wait_for(int ms, bool screen)
{
	struct pollfd p = { .fd = screen && raw ? STDIN_FILENO : -1, .events = POLLIN };
	char c = 0;

	if (poll(&p, 1, ms) > 0 && read(STDIN_FILENO, &c, 1) == 1 && (c == 'q' || c == 'Q'))
		return false;
	return !interrupted;
}

/* They all end the wait, but no output. */
static void catch_signals(bool screen)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!screen)
		return;
	/* The terminal would stay as it is. */
	sigaction(SIGQUIT, &action, NULL);
	sigaction(SIGTSTP, &action, NULL);
	sigaction(SIGWINCH, &action, NULL);
}

int om_top(struct om_ctx *ctx, struct om_args *args)
{
	int every = (int)(args->numbers[OM_EVERY] ?: 1) * 1000, lines = 0, rc;
	uint32_t left = args->numbers[OM_COUNT];
	struct sample old = { 0 }, new = { 0 };
	const char *term = getenv("TERM");
	bool screen = isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
	struct winsize size;

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE,
			      "-j: this is not JSON, see omertactl -j show and -j monitor");
	rc = load(ctx, args->pos[0], OM_PEERS | OM_KEYS, &old);
	if (rc)
		return rc;
	catch_signals(screen);
	if (screen)
		begin_screen();
	/* The first screen has no rates yet, and comes at once. */
	for (int wait = screen ? 100 : every; !rc && wait_for(wait, screen); wait = every) {
		if (suspended) {
			end_screen();
			suspended = 0;
			raise(SIGSTOP);
			begin_screen();
		}
		rc = load(ctx, args->pos[0], OM_PEERS | OM_KEYS, &new);
		if (rc)
			break;
		if (screen) {
			lines = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ? 24 : size.ws_row;
			/* From the top left, over what is there */
			fputs("\033[H\033[2J", stdout);
		}
		print_top(&new, &old, lines);
		om_states_free(&old.states);
		old = new;
		memset(&new, 0, sizeof(new));
		rc = om_print_flush(&ctx->err);
		if (left && !--left)
			break;
	}
	if (screen)
		end_screen();
	om_states_free(&old.states);
	return rc;
}

int om_stats_watch(struct om_ctx *ctx, struct om_args *args)
{
	const struct om_object *obj = om_field_get(&om_device_object, OMERTA_A_DEVICE_STATS)->nest;
	int every = (int)(args->numbers[OM_EVERY] ?: 1) * 1000, rc;
	uint32_t left = args->numbers[OM_COUNT];
	struct sample old = { 0 }, new = { 0 };

	if (ctx->json)
		return om_err(&ctx->err, OM_USAGE, "-j: not with watch");
	rc = load(ctx, args->pos[0], 0, &old);
	catch_signals(false);
	while (!rc && wait_for(every, false)) {
		rc = load(ctx, args->pos[0], 0, &new);
		for (size_t i = 0; !rc && i < new.states.n; i++) {
			const struct om_state *s = OM_AT(&new.states, struct om_state, i);
			const struct om_state *was = same_device(&old, s);

			printf("%s:", om_print_name(s->dev.ifname));
			for (size_t k = 0; was && k < obj->fields; k++) {
				const struct om_field *f = &obj->field[k];
				uint64_t v = om_field_uint(f, &s->dev.stats);
				uint64_t before = om_field_uint(f, &was->dev.stats);

				if (v > before || args->all)
					printf(" %s +%" PRIu64, f->name, v - before);
			}
			putchar('\n');
		}
		om_states_free(&old.states);
		old = new;
		memset(&new, 0, sizeof(new));
		rc = rc ?: om_print_flush(&ctx->err);
		if (left && !--left)
			break;
	}
	om_states_free(&old.states);
	return rc;
}
