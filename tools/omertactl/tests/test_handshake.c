// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake's messages: would catch keys that the two ends do not share, a message
 * that is accepted changed, cut, from the wrong host or to another, a forged answer
 * that ends a handshake, and cookies that help other addresses or never expire; each in
 * both modes, where that makes a difference.
 */
#include "unit.h"

#include "cookies.h"

#include "../handshake.h"

#include <sodium.h>

static struct {
	struct om_hs_host a, b, c;
	struct om_hs_peer to_b, to_a;
	enum om_hs_mode mode;
	struct om_hs ha, hb;
	struct om_hs_offer offer;
	struct om_hs_keys ka, kb;
	uint8_t first[OM_HS_LEN_MAX], second[OM_HS_LEN_MAX];
	size_t first_len, second_len;
	uint8_t time[OM_HS_TIME];
} t;

static void make_host(struct om_hs_host *host, uint8_t fill)
{
	memset(host->pair.secret, fill, sizeof(host->pair.secret));
	om_hs_host_init(host);
}

static void make_peer(struct om_hs_peer *peer, const struct om_hs_host *host)
{
	memcpy(peer->public, host->pair.public, sizeof(peer->public));
	memset(peer->psk, 0x5c, sizeof(peer->psk));
	om_hs_peer_init(peer);
}

static const struct {
	const char *name;
	size_t first, second;		/* lengths */
} modes[OM_HS_MODES] = {
	[OM_HS_CLASSIC] = { "classic", 152, 92 },
	[OM_HS_MLKEM] = { "ML-KEM", 152 + 1184, 92 + 1088 },
};

/* A test's name with the mode */
static const char *in_mode(const char *name)
{
	static char text[100];

	snprintf(text, sizeof(text), "handshake: %s: %s", modes[t.mode].name, name);
	return text;
}

static void set_up(enum om_hs_mode mode)
{
	memset(&t, 0, sizeof(t));
	t.mode = mode;
	make_host(&t.a, 'a');
	make_host(&t.b, 'b');
	make_host(&t.c, 'c');
	make_peer(&t.to_b, &t.b);
	make_peer(&t.to_a, &t.a);
	memset(t.time, 7, sizeof(t.time));
	t.first_len = om_hs_initiate(&t.ha, mode, &t.a, &t.to_b, t.time, 0x11223344,
				     1000, t.first);
}

static bool respond(void)
{
	if (!om_hs_read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer))
		return false;
	t.second_len = om_hs_respond(&t.hb, &t.to_a, &t.offer, 0x55667788, 1000,
				     t.second, &t.kb);
	return t.second_len;
}

static bool conclude(void)
{
	return om_hs_read_response(&t.ha, &t.to_b, t.second, t.second_len, &t.ka);
}

static bool check(const struct om_hs_host *host)
{
	return om_hs_check(host, t.first, t.first_len);
}

static void whole(enum om_hs_mode mode)
{
	const size_t first = modes[mode].first, second = modes[mode].second;

	set_up(mode);
	unit_ok(t.first_len == first && om_hs_length(t.first, first) == first &&
		!memcmp(t.first, "OMR\x20", 4) && t.first[4] == mode &&
		!memcmp(t.first + 5, "\0\0\0", 3),
		in_mode("initiation"), "%zu", t.first_len);
	unit_ok(respond() && t.second_len == second &&
		om_hs_length(t.second, second) == second &&
		!memcmp(t.second, "OMR\x21\x44\x33\x22\x11", 8) &&
		om_hs_response_id(t.second) == 0x11223344,
		in_mode("response"), "%zu", t.second_len);
	unit_ok(!memcmp(t.offer.public, t.a.pair.public, 32) &&
		!memcmp(t.offer.time, t.time, OM_HS_TIME) &&
		t.offer.key_id == 0x11223344 && t.kb.remote_id == 0x11223344,
		in_mode("what the initiation says"), "%s", "");
	unit_ok(conclude() && t.ka.remote_id == 0x55667788 &&
		!memcmp(t.ka.rx, t.kb.tx, 32) && !memcmp(t.ka.tx, t.kb.rx, 32) &&
		memcmp(t.ka.tx, t.ka.rx, 32), in_mode("both have the keys"),
		"%s", "");
	unit_ok(sodium_is_zero((void *)&t.ha, sizeof(t.ha)) &&
		sodium_is_zero((void *)&t.hb, sizeof(t.hb)),
		in_mode("and nothing else"), "%s", "");
	unit_ok(!conclude(), in_mode("an answer is good once"), "%s", "");
}

/* The initiator's public key is nowhere in clear. */
static void hidden(enum om_hs_mode mode)
{
	bool seen = false;

	set_up(mode);
	for (size_t i = 0; i + 8 <= t.first_len; i++)
		seen |= !memcmp(t.first + i, t.a.pair.public, 8);
	unit_ok(!seen, in_mode("who initiates is hidden"), "%s", "");
	unit_ok(!om_hs_read_initiation(&t.hb, &t.c, t.first, t.first_len,
				       &t.offer) &&
		sodium_is_zero((void *)&t.hb, sizeof(t.hb)),
		in_mode("another host cannot read it"), "%s", "");
}

static void hmac(const uint8_t *key, const void *data, size_t len, uint8_t *out)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, 32);
	crypto_auth_hmacsha256_update(&state, data, len);
	crypto_auth_hmacsha256_final(&state, out);
}

/* By the letter of Documentation/keying.rst, whatever handshake.c does */
static void encapsulated(void)
{
	uint8_t both[OM_KEM_PUBLIC + OM_KEM_TEXT], secret[32], prk[32], psk[32];
	uint8_t info[15 + 32 + 1] = "omerta mlkem768", id[4];
	static const uint8_t wanted[4] = { 0x88, 0x77, 0x66, 0x55 };
	uint8_t payload[12 + 4 + OM_KEM_PUBLIC];
	struct om_noise n;

	set_up(OM_HS_MLKEM);
	om_noise_begin(&n, "omerta 1\1", 9, &t.b.pair, t.b.pair.public);
	unit_ok(om_noise_read_1(&n, t.first + 8, 112 - 16 + sizeof(payload), payload) &&
		!memcmp(payload, t.time, 12) && payload[12] == 0x44 &&
		!memcmp(payload + 16, t.ha.public, OM_KEM_PUBLIC),
		"handshake: ML-KEM: what is in the initiation", "%s", "");
	respond();
	memcpy(both, t.ha.public, OM_KEM_PUBLIC);
	memcpy(both + OM_KEM_PUBLIC, t.second + 8, OM_KEM_TEXT);
	om_kem_decapsulate(t.ha.seed, t.second + 8, secret);
	hmac(t.to_b.psk, secret, 32, prk);
	crypto_hash_sha256(info + 15, both, sizeof(both));
	info[47] = 1;
	hmac(prk, info, sizeof(info), psk);
	unit_ok(om_noise_read_2(&t.ha.noise, psk, t.second + 8 + OM_KEM_TEXT, 52, id) &&
		!memcmp(id, wanted, 4), "handshake: ML-KEM: how the secret goes in",
		"%s", "");
	set_up(OM_HS_MLKEM);
	memcpy(secret, t.ha.seed, 32);
	set_up(OM_HS_MLKEM);
	unit_ok(memcmp(secret, t.ha.seed, 32), "handshake: ML-KEM: keys are fresh", "%s",
		"");
}

/* One mode's messages are none of the other's, whatever their length says. */
static void mixed(void)
{
	uint8_t second[OM_HS_LEN_MAX];
	unsigned int taken = 0;

	for (enum om_hs_mode mode = OM_HS_CLASSIC; mode < OM_HS_MODES; mode++) {
		set_up(mode);
		respond();
		memcpy(second, t.second, sizeof(second));
		set_up(!mode);
		for (enum om_hs_mode len = OM_HS_CLASSIC; len < OM_HS_MODES; len++)
			taken += om_hs_read_response(&t.ha, &t.to_b, second,
						     modes[len].second, &t.ka);
		respond();
		unit_ok(!taken && conclude(), in_mode("answers in the other mode"),
			"%u", taken);
		set_up(mode);
		t.first[4] = !mode;
		for (enum om_hs_mode len = OM_HS_CLASSIC; len < OM_HS_MODES; len++)
			taken += om_hs_read_initiation(&t.hb, &t.b, t.first,
						       modes[len].first, &t.offer);
		unit_ok(!taken, in_mode("another mode in the header"), "%u", taken);
	}
}

static void lengths(void)
{
	uint8_t msg[OM_HS_LEN_MAX + 2] = "OMR";
	unsigned int accepted[3] = { 0 }, zeros = 0;

	for (unsigned int type = 0; type < 256; type++) {
		msg[3] = (uint8_t)type;
		for (msg[4] = 0; msg[4] < 3; msg[4]++)
			for (size_t len = 0; len <= sizeof(msg); len++)
				accepted[msg[4]] += om_hs_length(msg, len) != 0;
	}
	/* An initiation; and without a mode in the header two responses, two times, a cookie */
	unit_ok(accepted[0] == 6 && accepted[1] == 6 && accepted[2] == 5,
		"handshake: kinds, modes and lengths", "%u %u %u", accepted[0],
		accepted[1], accepted[2]);
	msg[3] = OM_HS_INITIATION;
	msg[4] = 0;
	for (size_t i = 5; i < 8; i++) {
		msg[i] = 1;
		zeros += om_hs_length(msg, OM_HS_INITIATION_LEN) != 0;
		msg[i] = 0;
	}
	unit_ok(!zeros, "handshake: what has to be zero", "%u", zeros);
}

/* Every byte counts, be it for mac1 or what is inside. */
static void changed(enum om_hs_mode mode)
{
	unsigned int mac = 0, inside = 0, answers = 0, dead = 0;

	set_up(mode);
	for (size_t i = 0; i < t.first_len - OM_HS_MAC; i++) {
		t.first[i] ^= 0x10;
		mac += check(&t.b);
		/* The header is only in the prologue and mac1. */
		if (i >= 8 && i < t.first_len - 2 * OM_HS_MAC)
			inside += om_hs_read_initiation(&t.hb, &t.b, t.first,
							t.first_len, &t.offer);
		t.first[i] ^= 0x10;
	}
	unit_ok(!mac && !inside, in_mode("a changed initiation"), "%u %u", mac,
		inside);
	respond();
	for (size_t i = 8; i < t.second_len - 2 * OM_HS_MAC; i++) {
		t.second[i] ^= 0x10;
		answers += conclude();
		t.second[i] ^= 0x10;
	}
	for (size_t len = 0; len < t.second_len; len++)
		answers += om_hs_read_response(&t.ha, &t.to_b, t.second, len,
					       &t.ka);
	dead = !conclude();
	unit_ok(!answers && !dead,
		in_mode("forged answers, and the true one after them"),
		"%u %u", answers, dead);
}

static void wrong_psk(enum om_hs_mode mode)
{
	set_up(mode);
	t.to_a.psk[0] ^= 1;
	unit_ok(respond() && !conclude(), in_mode("another preshared key"), "%s", "");
	set_up(mode);
	memset(t.to_a.psk, 0, 32);
	unit_ok(respond() && !conclude(), in_mode("none against one"), "%s", "");
	set_up(mode);
	memset(t.to_a.psk, 0, 32);
	memset(t.to_b.psk, 0, 32);
	unit_ok(respond() && conclude(), in_mode("no preshared key"), "%s", "");
}

static void zero_ids(enum om_hs_mode mode)
{
	set_up(mode);
	om_hs_initiate(&t.ha, mode, &t.a, &t.to_b, t.time, 0, 1000, t.first);
	unit_ok(!respond() && sodium_is_zero((void *)&t.hb, sizeof(t.hb)),
		in_mode("an initiator's key id of zero"), "%s", "");
	set_up(mode);
	om_hs_read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer);
	t.second_len = om_hs_respond(&t.hb, &t.to_a, &t.offer, 0, 1000, t.second,
				     &t.kb);
	unit_ok(!conclude(), in_mode("a responder's key id of zero"), "%s", "");
}

static const uint8_t biscuit[OM_HS_MAC] = "made by a kernel";

static void cookie(void)
{
	t.second_len = cookie_message(&t.b, biscuit, t.first, t.first_len, t.second);
}

static void again(uint64_t now)
{
	t.first_len = om_hs_initiate(&t.ha, t.mode, &t.a, &t.to_b, t.time, 1, now,
				     t.first);
}

static void cookies(void)
{
	uint8_t copy[OM_HS_COOKIE_LEN];
	unsigned int taken = 0;

	set_up(OM_HS_CLASSIC);
	unit_ok(check(&t.b) && !check(&t.c) &&
		sodium_is_zero(t.first + t.first_len - OM_HS_MAC, OM_HS_MAC),
		"handshake: without a cookie", "%s", "");
	cookie();
	for (size_t i = 4; i < t.second_len; i++) {
		t.second[i] ^= 4;
		taken += om_hs_take_cookie(&t.to_b, 1000, t.second,
					   t.second_len);
		t.second[i] ^= 4;
	}
	memcpy(copy, t.second, sizeof(copy));
	unit_ok(t.second_len == 64 && om_hs_length(t.second, 64) == 64 &&
		!taken && om_hs_take_cookie(&t.to_b, 1000, t.second, 64),
		"handshake: a cookie", "%u", taken);
	unit_ok(!om_hs_take_cookie(&t.to_b, 1000, copy, sizeof(copy)),
		"handshake: is taken once", "%s", "");
	again(2000);
	unit_ok(check(&t.b) && cookie_is_in(biscuit, t.first, t.first_len),
		"handshake: with the cookie", "%s", "");
	again(1000 + OM_HS_COOKIE_MS);
	unit_ok(sodium_is_zero(t.first + t.first_len - OM_HS_MAC, OM_HS_MAC),
		"handshake: an old cookie is not used", "%s", "");
	unit_ok(!om_hs_take_cookie(&t.to_b, 2000, copy, sizeof(copy)),
		"handshake: a cookie for an older message", "%s", "");
}

static const struct {
	size_t response, time;
} answers[OM_HS_MODES] = {
	[OM_HS_CLASSIC] = { 92, 100 },
	[OM_HS_MLKEM] = { 1180, 1188 },
};

/* A time message is what it is: nothing else, and for nobody else. */
static void times(enum om_hs_mode mode)
{
	uint8_t latest[OM_HS_TIME] = "twelve bytes", time[OM_HS_TIME], msg[OM_HS_LEN_MAX];
	struct om_hs_peer before;
	unsigned int taken = 0;
	struct om_hs hs;
	size_t len;

	set_up(mode);
	om_hs_read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer);
	hs = t.ha;
	before = t.to_a;
	len = om_hs_answer_time(&t.hb, &t.to_a, &t.offer, latest, 1000, msg);
	unit_ok(len == answers[mode].time && om_hs_length(msg, len) == len &&
		!memcmp(msg, "OMR\x23\x44\x33\x22\x11", 8) &&
		om_hs_response_id(msg) == 0x11223344 && om_hs_check(&t.a, msg, len) &&
		len < t.first_len, in_mode("time message"), "%zu", len);
	unit_ok(!memcmp(&before, &t.to_a, sizeof(before)) &&
		sodium_is_zero((void *)&t.hb, sizeof(t.hb)),
		in_mode("it leaves nothing behind"), "%s", "");
	for (size_t i = 8; i < len - 2 * OM_HS_MAC; i++) {
		msg[i] ^= 0x10;
		taken += om_hs_read_time(&t.ha, &t.to_b, msg, len, time);
		msg[i] ^= 0x10;
	}
	for (size_t cut = 0; cut < len; cut++)
		taken += om_hs_read_time(&t.ha, &t.to_b, msg, cut, time);
	unit_ok(!taken && om_hs_read_time(&t.ha, &t.to_b, msg, len, time) &&
		!memcmp(time, latest, sizeof(time)) && !memcmp(&hs, &t.ha, sizeof(hs)),
		in_mode("its time, and forged ones"), "%u", taken);
	/* As a response, at its own length, cut or with another type */
	taken = om_hs_read_response(&t.ha, &t.to_b, msg, len, &t.ka);
	taken += om_hs_read_response(&t.ha, &t.to_b, msg, answers[mode].response, &t.ka);
	msg[3] = OM_HS_RESPONSE;
	taken += om_hs_read_response(&t.ha, &t.to_b, msg, len, &t.ka);
	taken += om_hs_read_response(&t.ha, &t.to_b, msg, answers[mode].response, &t.ka);
	/* With the response's tag where that would be */
	memmove(msg + answers[mode].response - 48, msg + len - 48, 16);
	taken += om_hs_read_response(&t.ha, &t.to_b, msg, answers[mode].response, &t.ka);
	unit_ok(!taken && !memcmp(&hs, &t.ha, sizeof(hs)), in_mode("it is no response"), "%u",
		taken);
	/* And the other way round; which is good after all that */
	respond();
	taken = om_hs_read_time(&t.ha, &t.to_b, t.second, t.second_len, time);
	t.second[3] = OM_HS_TIME_MSG;
	taken += om_hs_read_time(&t.ha, &t.to_b, t.second, answers[mode].time, time);
	t.second[3] = OM_HS_RESPONSE;
	unit_ok(!taken && conclude(), in_mode("nor is a response a time message"), "%u",
		taken);
	/* Another initiation's */
	set_up(mode);
	msg[3] = OM_HS_TIME_MSG;
	unit_ok(!om_hs_read_time(&t.ha, &t.to_b, msg, len, time),
		in_mode("the time message of another initiation"), "%s", "");
}

void test_handshake(void)
{
	for (enum om_hs_mode mode = OM_HS_CLASSIC; mode < OM_HS_MODES; mode++) {
		whole(mode);
		hidden(mode);
		changed(mode);
		wrong_psk(mode);
		zero_ids(mode);
		times(mode);
	}
	encapsulated();
	mixed();
	lengths();
	cookies();
}
