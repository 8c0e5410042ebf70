// SPDX-License-Identifier: GPL-2.0
/*
 * An agent that gets input from a fuzzer: raw bytes, bytes with a valid mac1, and modified
 * messages of a peer. It must only act on unmodified messages of a peer, and only once.
 */
#include "initiation.h"
#include "agent/agent.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PEER_ID	1

static struct {
	struct om_agent agent;
	/* The peer's end */
	struct om_hs_host host;
	struct om_hs_peer to;
	struct om_hs hs;
	uint8_t channels;		/* that the peer wants */
	uint64_t now;
	uint32_t seconds;		/* the peer's clock */
	uint8_t initiation[OM_HS_LEN_MAX];	/* latest initiation of the agent */
	size_t initiation_len;
	unsigned int sent;			/* initiations */
	size_t cause;			/* length of the message being delivered */
	bool may_install;
	unsigned int installed;
} w;

static bool reach(void *ctx, uint32_t peer_id, enum omerta_failure *why)
{
	(void)ctx;
	(void)why;
	return peer_id == PEER_ID;
}

static bool send_peer(void *ctx, uint32_t peer_id, uint32_t local_id,
		      const uint8_t *msg, size_t len)
{
	(void)ctx;
	(void)peer_id;
	if (!local_id)
		abort();
	w.sent++;
	/* Modes with channels have a byte more. */
	if (len - !!(msg[4] & OM_HS_CHANNELS) !=
	    (msg[4] & OM_HS_MLKEM ? OM_HS_INITIATION_LEN_MLKEM : OM_HS_INITIATION_LEN))
		abort();
	memcpy(w.initiation, msg, len);
	w.initiation_len = len;
	return true;
}

/* No answer is longer than its cause. */
static void send_source(void *ctx, const struct om_agent_source *to,
			const uint8_t *msg, size_t len)
{
	(void)ctx;
	(void)to;
	(void)msg;
	if (len > w.cause)
		abort();
}

static bool install(void *ctx, const struct om_agent_key *key, enum omerta_failure *why)
{
	(void)ctx;
	(void)why;
	if (!w.may_install || key->peer_id != PEER_ID || !key->keys.channels ||
	    key->keys.channels > w.channels ||
	    key->keys.channels > w.agent.first->channels)
		abort();
	w.installed++;
	return true;
}

static void forget(void *ctx, uint32_t peer_id, uint32_t local_id)
{
	(void)ctx;
	(void)peer_id;
	(void)local_id;
}

static bool epoch(void *ctx, int64_t *epoch)
{
	(void)ctx;
	*epoch = 0;
	return true;
}

static void put_clock(void *ctx, uint8_t time[OM_HS_TIME])
{
	(void)ctx;
	memset(time, 0, OM_HS_TIME);
	time[0] = 0x40;
}

static bool remember(void *ctx, const struct om_agent_memory *m, size_t n)
{
	(void)ctx;
	(void)m;
	if (!n || n > OM_AGENT_MOMENT + 1)
		abort();
	return true;
}

static void unknown(void *ctx)
{
	(void)ctx;
}

static void see_mode(void *ctx, uint32_t peer_id, uint8_t mode)
{
	(void)ctx;
	if (peer_id != PEER_ID || mode >= OM_HS_MODES)
		abort();
}

static void see_trouble(void *ctx, uint32_t peer_id, enum om_agent_trouble trouble,
			uint8_t mode)
{
	if (trouble >= OM_AGENT_TROUBLES)
		abort();
	see_mode(ctx, peer_id, mode);
}

static void times(void *ctx, uint32_t peer_id, enum om_agent_time news)
{
	(void)ctx;
	if (peer_id != PEER_ID || news >= OM_AGENT_TIMES)
		abort();
}

static void unanswered(void *ctx, struct om_agent_peer *peer)
{
	(void)ctx;
	if (peer->id != PEER_ID)
		abort();
}

static void changed(void *ctx, struct om_agent_peer *peer)
{
	(void)ctx;
	if (peer->id != PEER_ID || peer->failure > OMERTA_FAILURE_SYSTEM)
		abort();
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
	.trouble = see_trouble,
	.agreed = see_mode,
	.times = times,
	.unanswered = unanswered,
	.changed = changed,
};

static void deliver(const uint8_t *msg, size_t len, bool genuine)
{
	const struct om_agent_source from = { .len = 4, .port = 1, .addr = { 1 } };
	uint8_t *exact = malloc(len);

	/* In memory of its own, so that a byte beyond is seen */
	if (len)
		memcpy(exact, msg, len);
	w.may_install = genuine;
	w.cause = len;
	om_agent_receive(&w.agent, w.now, &from, exact, len);
	om_agent_settle(&w.agent, w.now);
	w.may_install = false;
	free(exact);
}

static void put_mac1(uint8_t *msg, size_t len)
{
	crypto_auth_hmacsha256_state state;
	uint8_t whole[crypto_auth_hmacsha256_BYTES];
	size_t before = len - 2 * OM_HS_MAC;

	crypto_auth_hmacsha256_init(&state, w.to.labels.mac1, 32);
	crypto_auth_hmacsha256_update(&state, msg, before);
	crypto_auth_hmacsha256_final(&state, whole);
	memcpy(msg + before, whole, OM_HS_MAC);
}

/* XOR @n bytes of @mask into @msg; return true if anything but mac2 changes. */
static bool change(uint8_t *msg, size_t len, size_t at, const uint8_t *mask,
		   size_t n)
{
	bool changed = false;

	for (size_t i = 0; i < n && at + i < len - 2 * OM_HS_MAC; i++) {
		msg[at + i] ^= mask[i];
		changed |= mask[i] != 0;
	}
	if (changed)
		put_mac1(msg, len);
	return changed;
}

/* Return true if the agent accepts messages in this mode. */
static bool welcome(uint8_t mode)
{
	enum om_kem_policy kem = w.agent.first->kem;

	return kem == OM_KEM_ON || (kem == OM_KEM_REQUIRED) == !!(mode & OM_HS_MLKEM);
}

/* The peer begins. The same again is a replay. */
static void initiation(uint8_t mode, size_t at, const uint8_t *mask, size_t n)
{
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME] = { 0x40 };
	unsigned int before = w.installed;
	bool changed;
	size_t len;

	w.seconds++;
	w.now += OM_AGENT_GAP_MS;
	memcpy(time + 4, &(uint32_t){ __builtin_bswap32(w.seconds) }, 4);
	len = om_hs_initiate(&w.hs, mode, w.channels, &w.host, &w.to, time, 7, w.now, msg);
	if (!len)
		abort();
	om_hs_wipe(&w.hs);
	changed = change(msg, len, at, mask, n);
	deliver(msg, len, !changed && welcome(mode));
	if (!changed)
		deliver(msg, len, false);
	if (w.installed > before + 1)
		abort();
}

/* The peer answers what the agent began. */
static void response(size_t at, const uint8_t *mask, size_t n)
{
	uint8_t msg[OM_HS_LEN_MAX];
	struct om_hs_offer offer;
	struct om_hs_keys keys;
	bool changed;
	size_t len;

	if (!w.initiation_len)
		return;
	if (!read_initiation(&w.hs, &w.host, w.initiation, w.initiation_len,
				   &offer))
		abort();
	len = om_hs_respond(&w.hs, &w.to, &offer, w.channels, 9, w.now, msg, &keys);
	if (!len)
		abort();
	changed = change(msg, len, at, mask, n);
	deliver(msg, len, !changed);
	deliver(msg, len, false);
}

/* The peer knows a time, be it later than the agent's or not. */
static void time_message(size_t at, const uint8_t *mask, size_t n)
{
	uint8_t msg[OM_HS_LEN_MAX], latest[OM_HS_TIME] = { 0 };
	uint8_t floor[OM_HS_TIME], own[OM_HS_TIME];
	unsigned int before = w.sent;
	struct om_hs_offer offer;
	bool changed;
	size_t len;

	if (!w.initiation_len)
		return;
	if (!read_initiation(&w.hs, &w.host, w.initiation, w.initiation_len,
				   &offer))
		abort();
	memcpy(latest, mask, n < OM_HS_TIME ? n : OM_HS_TIME);
	len = om_hs_answer_time(&w.hs, &w.to, &offer, latest, w.now, msg);
	if (!len)
		abort();
	memcpy(floor, w.agent.first->floor, OM_HS_TIME);
	memcpy(own, w.agent.latest, OM_HS_TIME);
	if (n > OM_HS_TIME)
		changed = change(msg, len, at, mask + OM_HS_TIME, n - OM_HS_TIME);
	else
		changed = false;
	deliver(msg, len, false);
	deliver(msg, len, false);
	/* At most one initiation, and the own time moves by no more than that. */
	if (w.sent > before + 1 || w.agent.latest[0] != 0x40 ||
	    w.agent.first->floor[0] & 0x80)
		abort();
	if (changed && (memcmp(floor, w.agent.first->floor, OM_HS_TIME) ||
			memcmp(own, w.agent.latest, OM_HS_TIME)))
		abort();
}

static void raw(const uint8_t *data, size_t n, bool mac1)
{
	static const size_t length[] = {
		OM_HS_INITIATION_LEN, OM_HS_RESPONSE_LEN, OM_HS_COOKIE_LEN,
		OM_HS_TIME_MSG_LEN, OM_HS_INITIATION_LEN_MLKEM,
		OM_HS_RESPONSE_LEN_MLKEM, OM_HS_COOKIE_LEN, OM_HS_TIME_MSG_LEN_MLKEM
	};
	uint8_t msg[OM_HS_LEN_MAX] = "OMR";
	size_t len;

	if (!mac1 || !n) {
		deliver(data, n, false);
		return;
	}
	len = length[data[0] % 8];
	msg[3] = 0x20 + data[0] % 4;
	memcpy(msg + 4, data, n);
	/* Initiations and responses have a byte more in modes with channels. */
	len += data[0] % 4 < 2 && data[0] & 0x40;
	if (data[0] % 4 == 0)
		memcpy(msg + 4, (uint8_t[4]){ data[0] / 4 % 2 * OM_HS_MLKEM +
					      !!(data[0] & 0x40) * OM_HS_CHANNELS }, 4);
	put_mac1(msg, len);
	deliver(msg, len, false);
}

static void set_up(enum om_kem_policy kem, uint8_t channels)
{
	struct om_agent_peer *peer;

	if (sodium_init() < 0)
		abort();
	memset(&w, 0, sizeof(w));
	w.now = 1000;
	om_agent_init(&w.agent, &ops, NULL);
	memset(w.agent.host.pair.secret, 1, OM_NOISE_KEY);
	memset(w.host.pair.secret, 2, OM_NOISE_KEY);
	if (!om_hs_host_init(&w.agent.host) || !om_hs_host_init(&w.host))
		abort();
	peer = om_agent_add(&w.agent, PEER_ID, w.host.pair.public);
	peer->kem = kem;
	peer->channels = channels;
	w.channels = 3;
	memcpy(w.to.public, w.agent.host.pair.public, OM_NOISE_KEY);
	om_hs_peer_init(&w.to);
}

/*
 * Input: a byte for the agent's use of ML-KEM and of channels; then steps, each with a kind, a
 * position in units of eight bytes, a length, and that many bytes
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	set_up((enum om_kem_policy)(data[0] % 3), data[0] & 0x80 ? 2 : 1);
	data++;
	size--;
	while (size >= 3) {
		size_t n = data[2] < size - 3 ? data[2] : size - 3;
		const uint8_t *bytes = data + 3;

		switch (data[0] % 8) {
		case 0:
		case 1:
			raw(bytes, n > 160 ? 160 : n, data[0] % 8);
			break;
		case 2:
			initiation(data[0] / 8 % 2 * OM_HS_CHANNELS, data[1], bytes, n);
			break;
		case 3:
			initiation(OM_HS_MLKEM + data[0] / 8 % 2 * OM_HS_CHANNELS, 8 * data[1],
				   bytes, n);
			break;
		case 4:
			response(8 * data[1], bytes, n);
			break;
		case 5:
			w.now += data[1] * 100;
			om_agent_run(&w.agent, w.now);
			break;
		case 6:
			om_agent_tell(&w.agent, w.now, PEER_ID, data[1] % 4, 1);
			break;
		case 7:
			time_message(8 * data[1], bytes, n);
			break;
		}
		data += 3 + n;
		size -= 3 + n;
	}
	om_agent_free(&w.agent);
	return 0;
}
