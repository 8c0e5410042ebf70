// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake's messages: would catch keys that the two ends do not share, a message
 * that is accepted changed, cut, from the wrong host or to another, a forged answer
 * that ends a handshake, and cookies that help other addresses or never expire; each in
 * all modes, where that makes a difference.
 */
#include "unit.h"

#include "cookies.h"
#include "initiation.h"


#include <sodium.h>
#include <stdlib.h>

static struct {
	struct om_hs_host a, b, c;
	struct om_hs_peer to_b, to_a;
	uint8_t mode;
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
	[OM_HS_CHANNELS] = { "channels", 152 + 1, 92 + 1 },
	[OM_HS_MLKEM | OM_HS_CHANNELS] = { "ML-KEM, channels", 152 + 1184 + 1, 92 + 1088 + 1 },
};

/* A test's name with the mode */
static const char *in_mode(const char *name)
{
	static char text[100];

	snprintf(text, sizeof(text), "handshake: %s: %s", modes[t.mode].name, name);
	return text;
}

static void set_up(uint8_t mode)
{
	memset(&t, 0, sizeof(t));
	t.mode = mode;
	make_host(&t.a, 'a');
	make_host(&t.b, 'b');
	make_host(&t.c, 'c');
	make_peer(&t.to_b, &t.b);
	make_peer(&t.to_a, &t.a);
	memset(t.time, 7, sizeof(t.time));
	t.first_len = om_hs_initiate(&t.ha, mode, 4, &t.a, &t.to_b, t.time, 0x11223344,
				     1000, t.first);
}

static bool respond(void)
{
	if (!read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer))
		return false;
	t.second_len = om_hs_respond(&t.hb, &t.to_a, &t.offer, 3, 0x55667788, 1000,
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

static void whole(uint8_t mode)
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
		t.offer.key_id == 0x11223344 && t.kb.remote_id == 0x11223344 &&
		t.offer.channels == (mode & OM_HS_CHANNELS ? 4 : 1),
		in_mode("what the initiation says"), "%s", "");
	unit_ok(conclude() && t.ka.remote_id == 0x55667788 &&
		!memcmp(t.ka.rx, t.kb.tx, 32) && !memcmp(t.ka.tx, t.kb.rx, 32) &&
		memcmp(t.ka.tx, t.ka.rx, 32) &&
		t.ka.channels == (mode & OM_HS_CHANNELS ? 3 : 1) &&
		t.kb.channels == t.ka.channels, in_mode("both have the keys"),
		"%s", "");
	unit_ok(sodium_is_zero((void *)&t.ha, sizeof(t.ha)) &&
		sodium_is_zero((void *)&t.hb, sizeof(t.hb)),
		in_mode("and nothing else"), "%s", "");
	unit_ok(!conclude(), in_mode("an answer is good once"), "%s", "");
}

/* The initiator's public key is nowhere in clear. */
static void hidden(uint8_t mode)
{
	bool seen = false;

	set_up(mode);
	for (size_t i = 0; i + 8 <= t.first_len; i++)
		seen |= !memcmp(t.first + i, t.a.pair.public, 8);
	unit_ok(!seen, in_mode("who initiates is hidden"), "%s", "");
	unit_ok(!read_initiation(&t.hb, &t.c, t.first, t.first_len,
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
	unit_ok(om_noise_read_initiator(&n, t.first + 8, 112 - 16 + sizeof(payload)) &&
		om_noise_read_1(&n, t.first + 8, 112 - 16 + sizeof(payload), payload) &&
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

/* One mode's messages are none of another's, whatever their length says. */
static void mixed(void)
{
	uint8_t second[OM_HS_LEN_MAX];
	unsigned int taken = 0;

	for (uint8_t mode = OM_HS_CLASSIC; mode < OM_HS_MODES; mode++) {
		set_up(mode);
		respond();
		memcpy(second, t.second, sizeof(second));
		for (uint8_t other = OM_HS_CLASSIC; other < OM_HS_MODES; other++) {
			if (other == mode)
				continue;
			set_up(other);
			for (uint8_t len = OM_HS_CLASSIC; len < OM_HS_MODES; len++)
				taken += om_hs_read_response(&t.ha, &t.to_b, second,
							     modes[len].second, &t.ka);
			respond();
			unit_ok(!taken && conclude(), in_mode("answers in another mode"),
				"%u", taken);
			set_up(mode);
			t.first[4] = other;
			for (uint8_t len = OM_HS_CLASSIC; len < OM_HS_MODES; len++)
				taken += read_initiation(&t.hb, &t.b, t.first,
							 modes[len].first, &t.offer);
			unit_ok(!taken, in_mode("another mode in the header"), "%u", taken);
		}
	}
}

static void lengths(void)
{
	uint8_t msg[OM_HS_LEN_MAX + 2] = "OMR";
	unsigned int accepted[OM_HS_MODES + 1] = { 0 }, zeros = 0, wrong = 0;

	for (unsigned int type = 0; type < 256; type++) {
		msg[3] = (uint8_t)type;
		for (msg[4] = 0; msg[4] <= OM_HS_MODES; msg[4]++)
			for (size_t len = 0; len <= sizeof(msg); len++)
				accepted[msg[4]] += om_hs_length(msg, len) != 0;
	}
	/* An initiation; and without a mode in the header four responses, two times, a cookie */
	for (unsigned int mode = 0; mode <= OM_HS_MODES; mode++)
		wrong += accepted[mode] != (mode < OM_HS_MODES ? 8 : 7);
	unit_ok(!wrong, "handshake: kinds, modes and lengths", "%u", wrong);
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
static void changed(uint8_t mode)
{
	unsigned int mac = 0, inside = 0, answers = 0, dead = 0;

	set_up(mode);
	for (size_t i = 0; i < t.first_len - OM_HS_MAC; i++) {
		t.first[i] ^= 0x10;
		mac += check(&t.b);
		/* The header is only in the prologue and mac1. */
		if (i >= 8 && i < t.first_len - 2 * OM_HS_MAC)
			inside += read_initiation(&t.hb, &t.b, t.first,
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

static void wrong_psk(uint8_t mode)
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

static void zero_ids(uint8_t mode)
{
	set_up(mode);
	om_hs_initiate(&t.ha, mode, 4, &t.a, &t.to_b, t.time, 0, 1000, t.first);
	unit_ok(!respond() && sodium_is_zero((void *)&t.hb, sizeof(t.hb)),
		in_mode("an initiator's key id of zero"), "%s", "");
	set_up(mode);
	read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer);
	t.second_len = om_hs_respond(&t.hb, &t.to_a, &t.offer, 3, 0, 1000, t.second,
				     &t.kb);
	unit_ok(!conclude(), in_mode("a responder's key id of zero"), "%s", "");
}

/* Numbers of channels, and first ids, that are wrong or just right */
static void wrong_channels(void)
{
	static const struct {
		uint8_t channels;
		uint32_t id;
		bool right;
	} c[] = {
		{ 0, 1, false }, { 1, 1, true }, { 64, 1, true }, { 65, 1, false },
		{ 255, 1, false }, { 1, UINT32_MAX, true }, { 2, UINT32_MAX, false },
		{ 64, UINT32_MAX - 63, true }, { 64, UINT32_MAX - 62, false },
	};
	unsigned int wrong = 0;

	for (size_t i = 0; i < OM_ARRAY_SIZE(c); i++) {
		set_up(OM_HS_CHANNELS);
		om_hs_initiate(&t.ha, OM_HS_CHANNELS, c[i].channels, &t.a, &t.to_b, t.time,
			       c[i].id, 1000, t.first);
		wrong += respond() != c[i].right;
		set_up(OM_HS_CHANNELS);
		read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer);
		t.second_len = om_hs_respond(&t.hb, &t.to_a, &t.offer, c[i].channels, c[i].id,
					     1000, t.second, &t.kb);
		wrong += conclude() != c[i].right;
	}
	unit_ok(!wrong, "handshake: numbers of channels, and their ids", "%u", wrong);
}

static const uint8_t biscuit[OM_HS_MAC] = "made by a kernel";

static void cookie(void)
{
	t.second_len = cookie_message(&t.b, biscuit, t.first, t.first_len, t.second);
}

static void again(uint64_t now)
{
	t.first_len = om_hs_initiate(&t.ha, t.mode, 4, &t.a, &t.to_b, t.time, 1, now,
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
	[OM_HS_CHANNELS] = { 93, 100 },
	[OM_HS_MLKEM | OM_HS_CHANNELS] = { 1181, 1188 },
};

/* A time message is accepted as such only, and only by its receiver. */
static void times(uint8_t mode)
{
	uint8_t latest[OM_HS_TIME] = "twelve bytes", time[OM_HS_TIME], msg[OM_HS_LEN_MAX];
	struct om_hs_peer before;
	unsigned int taken = 0;
	struct om_hs hs;
	size_t len;

	set_up(mode);
	read_initiation(&t.hb, &t.b, t.first, t.first_len, &t.offer);
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

/*
 * Known answers: made by selftests/vectors/omerta_handshake.py, which gives for all but
 * the time messages and modes 02 and 03 what a third implementation made.
 */
static const char known_initiation[] =
	"4f4d52200000000079a631eede1bf9c98f12032cdeadd0e7a079398fc786b88c"
	"c846ec89af85a51a997a4bd4e32b1a9158d89e0bc1dcfdb1ab53e5dec36a61bb"
	"30f2d113c68c843a9c9a8d6f0ec72270fcc7bf2546d28461c71993012aaa87a3"
	"8789ccee298b761e44298582e30fdf3af5bfcf14ef306ec4f042f690526fe7e1"
	"7df4319e98fa8a6a00000000000000000000000000000000";
static const char known_response[] =
	"4f4d522144332211675dd574ed7789310b3d2e7681f3790b466c773b1521fecf"
	"36577958371ea52f302858f223153cbba25b0165497c69e44ede67a20b8c87c4"
	"ce3606b51f48236efe13a98f00000000000000000000000000000000";
static const char known_time[] =
	"4f4d522344332211675dd574ed7789310b3d2e7681f3790b466c773b1521fecf"
	"36577958371ea52ff85f3ea7ef5ecd703a3f70ff45a2e0c43fecc0d7f1a9d0b6"
	"8f61b839dd3ba3284ebd030498f4f15cc0b2f6f9000000000000000000000000"
	"00000000";
static const char known_initiator[] =
	"9db7193b3149d7e940112cbbe463c89978af58352eca56379028120b2ece1553";
static const char known_responder[] =
	"81e965614e6943fc7dfaf28328f106502543de57e159d769779a7879bb9fe7ce";
static const char known_cookie[] =
	"4f4d5222f042f690303132333435363738393a3b3c3d3e3f4041424344454647"
	"b99007e2b7e49457fa05e7fa04a6c30b422158e9bdea305b7cf01605003689fe";
static const char known_mac2[] =
	"9ff2ce44c1111948fe1674758caecbd7";
/* With 4 and 3 channels: SHA-256 of the messages, and keys of the second channel */
static const struct {
	uint8_t mode;
	const char *first, *second, *tx, *rx;
} known_channels[] = { {
	OM_HS_CHANNELS,
	"58fef8423dc2c29e1100b516b6173cb319d43d8ae3109088b1a406791e41932e",
	"e2b5cff8fe9e29b7e5a35af07b4ef503bf9b78de3cb3f218f1005ad1790807e8",
	"c7d1e1926f426568221577004484f69f605d7c25f8a18507fb9f441766b2fa42",
	"ecd75060a8a137bc9f905bf1c84589216488cdc4f691dd23a5059c47cf7bd71a",
}, {
	OM_HS_MLKEM | OM_HS_CHANNELS,
	"7201d20ba78a74629e60d1d63c81c4d61f6ee11a59789f335ad591418109f0a0",
	"99c5fbe36a6797d7d0eee1a92a6fda12cec2ef6c5ff5ab1c4803b4dc74d64c96",
	"0226afdc5d040a649705aed4046113040c1218de36050a8e9220c10cd63113b6",
	"39eb73df6b2402b4f768464781864912a5eccd69f8608c381192c80bc4452298",
} };
/* In mode 01, after message 1: the time message's part that Noise makes */
static const char known_h[] =
	"7f3851eabfee95437783f0d3be8d782ad672accbfda351132ae0f1f97405a124";
static const char known_ck[] =
	"4cce5622bcd7277e3e20d5e1b97eaa4f2c0fe127dd03391b4d89baa0e4368fe6";
static const char known_psk[] =
	"ba8b49701f20ba2b32db5d77f4182f2669cb1e90aedc0bb58296190bddf5c7a0";
static const char known_noise[] =
	"675dd574ed7789310b3d2e7681f3790b466c773b1521fecf36577958371ea52f"
	"e774370d146618f25d2ab9fe5f6074ca7012dc4d15c0f080f6d17509";

static void count_up(uint8_t *p, size_t n, uint8_t from)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(from + i);
}

static bool is(const uint8_t *data, size_t len, const char *hex)
{
	char text[2 * OM_HS_LEN_MAX + 1];

	return !strcmp(sodium_bin2hex(text, sizeof(text), data, len), hex);
}

static void unhex(uint8_t *out, size_t len, const char *hex)
{
	if (sodium_hex2bin(out, len, hex, 2 * len, NULL, NULL, NULL))
		abort();
}

/* In the place of chance: bytes that count up from here, anew for each request */
static uint8_t counting;

static const char *counting_name(void)
{
	return "counting";
}

static uint32_t counting_word(void)
{
	return 4;
}

static void counting_bytes(void *const p, const size_t n)
{
	count_up(p, n, counting);
}

static struct randombytes_implementation no_chance = {
	.implementation_name = counting_name,
	.random = counting_word,
	.buf = counting_bytes,
};

static bool has_sum(const uint8_t *msg, size_t len, const char *hex)
{
	uint8_t sum[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(sum, msg, len);
	return is(sum, sizeof(sum), hex);
}

static void known_channel(unsigned int i, const uint8_t *when)
{
	struct om_hs_keys second;

	t.mode = known_channels[i].mode;
	counting = 0x40;
	t.first_len = om_hs_initiate(&t.ha, t.mode, 4, &t.a, &t.to_b, when, 0x11223344,
				     1000 + OM_HS_COOKIE_MS, t.first);
	unit_ok(has_sum(t.first, t.first_len, known_channels[i].first),
		in_mode("known initiation"), "%s", "");
	counting = 0x60;
	unit_ok(respond() && has_sum(t.second, t.second_len, known_channels[i].second) &&
		conclude() && t.ka.channels == 3, in_mode("known response"), "%s", "");
	om_hs_channel_keys(&t.ka, 1, &second);
	unit_ok(is(second.tx, 32, known_channels[i].tx) &&
		is(second.rx, 32, known_channels[i].rx) && second.remote_id == 0x55667789,
		in_mode("known keys of a channel"), "%s", "");
	om_hs_channel_keys(&t.ka, 2, &second);
	unit_ok(!is(second.tx, 32, known_channels[i].tx) && second.remote_id == 0x5566778a,
		in_mode("keys of another one"), "%s", "");
}

static void known_answers(void)
{
	static const uint8_t when[OM_HS_TIME] = "\x40\0\0\0\x6a\0\0\x0a\1\2\3\4",
			     latest[OM_HS_TIME] = "\x40\0\0\0\x73\x7d\x4b\x0a\5\6\7\x08";
	uint8_t cookie[OM_HS_MAC], time[OM_HS_TIME], mac2[OM_HS_MAC], psk[32], out[60];
	struct om_noise n = { .counter = 0 };
	struct om_hs second;

	memset(&t, 0, sizeof(t));
	count_up(t.a.pair.secret, 32, 0);
	count_up(t.b.pair.secret, 32, 0x20);
	om_hs_host_init(&t.a);
	om_hs_host_init(&t.b);
	make_peer(&t.to_b, &t.b);
	make_peer(&t.to_a, &t.a);
	count_up(t.to_b.psk, 32, 0x80);
	count_up(t.to_a.psk, 32, 0x80);
	randombytes_set_implementation(&no_chance);
	counting = 0x40;
	t.first_len = om_hs_initiate(&t.ha, OM_HS_CLASSIC, 1, &t.a, &t.to_b, when, 0x11223344,
				     1000, t.first);
	unit_ok(is(t.first, t.first_len, known_initiation), "handshake: known initiation",
		"%s", "");
	counting = 0x60;
	read_initiation(&second, &t.b, t.first, t.first_len, &t.offer);
	t.second_len = om_hs_answer_time(&second, &t.to_a, &t.offer, latest, 1000, t.second);
	unit_ok(is(t.second, t.second_len, known_time) &&
		om_hs_read_time(&t.ha, &t.to_b, t.second, t.second_len, time) &&
		!memcmp(time, latest, sizeof(time)), "handshake: known time message", "%s",
		"");
	unit_ok(respond() && is(t.second, t.second_len, known_response) && conclude() &&
		is(t.ka.tx, 32, known_initiator) && is(t.ka.rx, 32, known_responder),
		"handshake: known response and keys", "%s", "");
	counting = 0x30;
	count_up(cookie, sizeof(cookie), 0x90);
	t.second_len = cookie_message(&t.b, cookie, t.first, t.first_len, t.second);
	unhex(mac2, sizeof(mac2), known_mac2);
	memcpy(t.first + t.first_len - OM_HS_MAC, mac2, sizeof(mac2));
	unit_ok(is(t.second, t.second_len, known_cookie) &&
		om_hs_take_cookie(&t.to_b, 1000, t.second, t.second_len) &&
		cookie_is_in(cookie, t.first, t.first_len), "handshake: known cookie", "%s", "");
	for (unsigned int i = 0; i < sizeof(known_channels) / sizeof(known_channels[0]); i++)
		known_channel(i, when);
	/* Mode 01 without a key encapsulation, which others are known answers for */
	unhex(n.hash, sizeof(n.hash), known_h);
	unhex(n.chain, sizeof(n.chain), known_ck);
	unhex(psk, sizeof(psk), known_psk);
	memcpy(n.remote_fixed, t.a.pair.public, 32);
	count_up(n.remote_fresh, 32, 0x40);
	crypto_scalarmult_base(n.remote_fresh, n.remote_fresh);
	counting = 0x60;
	unit_ok(om_noise_write_2(&n, psk, latest, sizeof(latest), out) &&
		is(out, sizeof(out), known_noise), "handshake: known time message, ML-KEM",
		"%s", "");
	randombytes_set_implementation(&randombytes_sysrandom_implementation);
	om_noise_wipe(&n);
}

void test_handshake(void)
{
	for (uint8_t mode = OM_HS_CLASSIC; mode < OM_HS_MODES; mode++) {
		whole(mode);
		hidden(mode);
		changed(mode);
		wrong_psk(mode);
		zero_ids(mode);
		times(mode);
	}
	known_answers();
	encapsulated();
	mixed();
	lengths();
	wrong_channels();
	cookies();
}
