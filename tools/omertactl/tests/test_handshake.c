// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake's messages: would catch keys that the two ends do not share, a message
 * that is accepted changed, cut, from the wrong host or to another, a forged answer
 * that ends a handshake, and cookies that help other addresses or never expire.
 */
#include "unit.h"

#include "../handshake.h"

#include <sodium.h>

#define HERE	"192.0.2.1:51900"
#define THERE	"192.0.2.2:51900"

static struct {
	struct om_hs_host a, b, c;
	struct om_hs_peer to_b, to_a;
	struct om_noise na, nb;
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

static void set_up(void)
{
	memset(&t, 0, sizeof(t));
	make_host(&t.a, 'a');
	make_host(&t.b, 'b');
	make_host(&t.c, 'c');
	make_peer(&t.to_b, &t.b);
	make_peer(&t.to_a, &t.a);
	memset(t.time, 7, sizeof(t.time));
	t.first_len = om_hs_initiate(&t.na, &t.a, &t.to_b, t.time, 0x11223344,
				     1000, t.first);
}

static bool respond(void)
{
	if (!om_hs_read_initiation(&t.nb, &t.b, t.first, t.first_len, &t.offer))
		return false;
	t.second_len = om_hs_respond(&t.nb, &t.to_a, &t.offer, 0x55667788, 1000,
				     t.second, &t.kb);
	return t.second_len;
}

static bool conclude(void)
{
	return om_hs_read_response(&t.na, &t.to_b, t.second, t.second_len, &t.ka);
}

static enum om_hs_proof check(struct om_hs_host *host, uint64_t now,
			      const char *source)
{
	return om_hs_check(host, now, t.first, t.first_len, source,
			   strlen(source));
}

static void whole(void)
{
	set_up();
	unit_ok(t.first_len == 152 && om_hs_length(t.first, 152) == 152 &&
		!memcmp(t.first, "OMR\x20\0\0\0\0", 8),
		"handshake: initiation", "%zu", t.first_len);
	unit_ok(respond() && t.second_len == 92 &&
		om_hs_length(t.second, 92) == 92 &&
		!memcmp(t.second, "OMR\x21\x44\x33\x22\x11", 8) &&
		om_hs_response_id(t.second) == 0x11223344,
		"handshake: response", "%zu", t.second_len);
	unit_ok(!memcmp(t.offer.public, t.a.pair.public, 32) &&
		!memcmp(t.offer.time, t.time, OM_HS_TIME) &&
		t.offer.key_id == 0x11223344 && t.kb.remote_id == 0x11223344,
		"handshake: what the initiation says", "%s", "");
	unit_ok(conclude() && t.ka.remote_id == 0x55667788 &&
		!memcmp(t.ka.rx, t.kb.tx, 32) && !memcmp(t.ka.tx, t.kb.rx, 32) &&
		memcmp(t.ka.tx, t.ka.rx, 32), "handshake: both have the keys",
		"%s", "");
	unit_ok(sodium_is_zero((void *)&t.na, sizeof(t.na)) &&
		sodium_is_zero((void *)&t.nb, sizeof(t.nb)),
		"handshake: and nothing else", "%s", "");
	unit_ok(!conclude(), "handshake: an answer is good once", "%s", "");
}

/* The initiator's public key is nowhere in clear. */
static void hidden(void)
{
	bool seen = false;

	set_up();
	for (size_t i = 0; i + 8 <= t.first_len; i++)
		seen |= !memcmp(t.first + i, t.a.pair.public, 8);
	unit_ok(!seen, "handshake: who initiates is hidden", "%s", "");
	unit_ok(!om_hs_read_initiation(&t.nb, &t.c, t.first, t.first_len,
				       &t.offer),
		"handshake: another host cannot read it", "%s", "");
}

static void lengths(void)
{
	uint8_t msg[OM_HS_LEN_MAX + 2] = "OMR";
	unsigned int accepted = 0;

	for (unsigned int type = 0; type < 256; type++) {
		msg[3] = (uint8_t)type;
		for (size_t len = 0; len <= sizeof(msg); len++)
			accepted += om_hs_length(msg, len) != 0;
	}
	unit_ok(accepted == 3, "handshake: three kinds, each of one length",
		"%u", accepted);
	msg[3] = OM_HS_INITIATION;
	msg[4] = 1;
	unit_ok(!om_hs_length(msg, OM_HS_INITIATION_LEN),
		"handshake: a mode that is not known", "%s", "");
}

/* Every byte counts, be it for mac1 or what is inside. */
static void changed(void)
{
	unsigned int mac = 0, inside = 0, answers = 0, dead = 0;

	set_up();
	for (size_t i = 0; i < t.first_len - OM_HS_MAC; i++) {
		t.first[i] ^= 0x10;
		mac += check(&t.b, 1000, HERE) != OM_HS_NONE;
		/* The header is only in the prologue and mac1. */
		if (i >= 8 && i < t.first_len - 2 * OM_HS_MAC)
			inside += om_hs_read_initiation(&t.nb, &t.b, t.first,
							t.first_len, &t.offer);
		t.first[i] ^= 0x10;
	}
	unit_ok(!mac && !inside, "handshake: a changed initiation", "%u %u", mac,
		inside);
	respond();
	for (size_t i = 8; i < t.second_len - 2 * OM_HS_MAC; i++) {
		t.second[i] ^= 0x10;
		answers += conclude();
		t.second[i] ^= 0x10;
	}
	for (size_t len = 0; len < t.second_len; len++)
		answers += om_hs_read_response(&t.na, &t.to_b, t.second, len,
					       &t.ka);
	dead = !conclude();
	unit_ok(!answers && !dead,
		"handshake: forged answers, and the true one after them",
		"%u %u", answers, dead);
}

static void wrong_psk(void)
{
	set_up();
	t.to_a.psk[0] ^= 1;
	unit_ok(respond() && !conclude(), "handshake: another preshared key",
		"%s", "");
	set_up();
	memset(t.to_a.psk, 0, 32);
	unit_ok(respond() && !conclude(), "handshake: none against one", "%s", "");
	set_up();
	memset(t.to_a.psk, 0, 32);
	memset(t.to_b.psk, 0, 32);
	unit_ok(respond() && conclude(), "handshake: no preshared key", "%s", "");
}

static void zero_ids(void)
{
	set_up();
	om_hs_initiate(&t.na, &t.a, &t.to_b, t.time, 0, 1000, t.first);
	unit_ok(!respond() && sodium_is_zero((void *)&t.nb, sizeof(t.nb)),
		"handshake: an initiator's key id of zero", "%s", "");
	set_up();
	om_hs_read_initiation(&t.nb, &t.b, t.first, t.first_len, &t.offer);
	t.second_len = om_hs_respond(&t.nb, &t.to_a, &t.offer, 0, 1000, t.second,
				     &t.kb);
	unit_ok(!conclude(), "handshake: a responder's key id of zero", "%s", "");
}

static size_t cookie(uint64_t now, const char *source)
{
	t.second_len = om_hs_make_cookie(&t.b, now, t.first, t.first_len, source,
					 strlen(source), t.second);
	return t.second_len;
}

static void again(uint64_t now)
{
	t.first_len = om_hs_initiate(&t.na, &t.a, &t.to_b, t.time, 1, now,
				     t.first);
}

static void cookies(void)
{
	uint8_t copy[OM_HS_COOKIE_LEN];
	unsigned int taken = 0;

	set_up();
	unit_ok(check(&t.b, 1000, HERE) == OM_HS_KNOWS_US,
		"handshake: without a cookie", "%s", "");
	unit_ok(check(&t.c, 1000, HERE) == OM_HS_NONE,
		"handshake: for another host", "%s", "");
	cookie(1000, HERE);
	for (size_t i = 3; i < t.second_len; i++) {
		if (i == 3)
			continue;
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
	unit_ok(check(&t.b, 2000, HERE) == OM_HS_HAS_COOKIE,
		"handshake: with the cookie", "%s", "");
	unit_ok(check(&t.b, 2000, THERE) == OM_HS_KNOWS_US,
		"handshake: from another address", "%s", "");
	t.first[t.first_len - 1] ^= 1;
	unit_ok(check(&t.b, 2000, HERE) == OM_HS_KNOWS_US,
		"handshake: with another mac2", "%s", "");
	t.first[t.first_len - 1] ^= 1;
	unit_ok(check(&t.b, 1000 + OM_HS_COOKIE_MS, HERE) == OM_HS_KNOWS_US,
		"handshake: its secret changes", "%s", "");
	again(1000 + OM_HS_COOKIE_MS);
	unit_ok(sodium_is_zero(t.first + t.first_len - OM_HS_MAC, OM_HS_MAC),
		"handshake: an old cookie is not used", "%s", "");
	unit_ok(!om_hs_take_cookie(&t.to_b, 2000, copy, sizeof(copy)),
		"handshake: a cookie for an older message", "%s", "");
}

void test_handshake(void)
{
	whole();
	hidden();
	lengths();
	changed();
	wrong_psk();
	zero_ids();
	cookies();
}
