// SPDX-License-Identifier: GPL-2.0
/*
 * ML-KEM-768 as omertactl is built with it: would catch seeds or keys that are handed to
 * the library in a wrong way, a secret that is not the standard's, random bytes that are
 * not used, and changed texts that fail otherwise than they must. Then a handshake.
 */
#include "unit.h"

#include "lib/config.h"

#include "initiation.h"

#include <sodium.h>

static void count_up(uint8_t *p, size_t n, uint8_t from)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(from + i);
}

static bool is(const uint8_t *data, const char *hex)
{
	char text[65];

	return !strcmp(sodium_bin2hex(text, sizeof(text), data, 32), hex);
}

static bool hash_is(const uint8_t *data, size_t len, const char *hex)
{
	uint8_t hash[32];

	crypto_hash_sha256(hash, data, len);
	return is(hash, hex);
}

/* Known answers from kyber-py 1.2.0, an independent implementation */
static void known_answers(void)
{
	uint8_t seed[OM_KEM_SEED], public[OM_KEM_PUBLIC], random[OM_KEM_RANDOM];
	uint8_t text[OM_KEM_TEXT], secret[OM_KEM_SECRET];

	count_up(seed, sizeof(seed), 0);
	count_up(random, sizeof(random), 100);
	unit_ok(om_kem_public(seed, public) &&
		hash_is(public, sizeof(public),
			"0b7934c83125c788995e2ba6bd761e33046b3e40571be53e023309a29f398cc9"),
		"kem: the public key of a seed", "%s", "");
	unit_ok(om_kem_encapsulate(public, random, text, secret) &&
		hash_is(text, sizeof(text),
			"57fe559432dbb3c5547c73f155820622f7efdd532e4330360a36ebf7d2ddec55") &&
		is(secret, "c5a74110c158acbaf9c01deb86fa6cc10c14533feda54bec1fdd000d61f07e4e"),
		"kem: a secret and its text", "%s", "");
	unit_ok(om_kem_decapsulate(seed, text, secret) &&
		is(secret, "c5a74110c158acbaf9c01deb86fa6cc10c14533feda54bec1fdd000d61f07e4e"),
		"kem: the text's secret", "%s", "");
	text[0] ^= 1;
	unit_ok(om_kem_decapsulate(seed, text, secret) &&
		is(secret, "bb28c25ed3222c13ce49d65f663f1c9f148565a664747e142f1abe06f33f4826"),
		"kem: a changed text's", "%s", "");
}

/* Numbers of 12 bits that are not below 3329: FIPS 203, 7.2 */
static void bad_key(void)
{
	uint8_t public[OM_KEM_PUBLIC], random[OM_KEM_RANDOM] = { 0 };
	uint8_t text[OM_KEM_TEXT], secret[OM_KEM_SECRET];

	memset(public, 0xff, sizeof(public));
	unit_ok(!om_kem_encapsulate(public, random, text, secret),
		"kem: no public key", "%s", "");
}

/* Two hosts, and an on-path attacker who modifies the ciphertext if @change */
static void handshake(bool change)
{
	struct om_hs_host a = { .pair.secret = { 1 } }, b = { .pair.secret = { 2 } };
	struct om_hs_peer to_a = { .psk = { 3 } }, to_b = { .psk = { 3 } };
	uint8_t msg[OM_HS_LEN_MAX], time[OM_HS_TIME] = { 0 };
	struct om_hs_keys ka = { .rx = { 0 } }, kb = { .rx = { 1 } };
	struct om_hs_offer offer;
	struct om_hs ha, hb;
	size_t len;
	bool done;

	om_hs_host_init(&a);
	om_hs_host_init(&b);
	memcpy(to_a.public, a.pair.public, sizeof(to_a.public));
	memcpy(to_b.public, b.pair.public, sizeof(to_b.public));
	om_hs_peer_init(&to_a);
	om_hs_peer_init(&to_b);
	len = om_hs_initiate(&ha, OM_HS_MLKEM, 1, &a, &to_b, time, 1, 0, msg);
	if (len && read_initiation(&hb, &b, msg, len, &offer))
		len = om_hs_respond(&hb, &to_a, &offer, 1, 2, 0, msg, &kb);
	else
		len = 0;
	msg[500] ^= change;
	done = len && om_hs_read_response(&ha, &to_b, msg, len, &ka);
	if (change)
		unit_ok(len && !done, "kem: a text that was changed", "%zu", len);
	else
		unit_ok(done && !memcmp(ka.rx, kb.tx, sizeof(ka.rx)) &&
			!memcmp(ka.tx, kb.rx, sizeof(ka.tx)), "kem: a handshake",
			"%zu", len);
	om_hs_wipe(&ha);
}

int main(void)
{
	if (sodium_init() < 0)
		return 2;
	if (!om_have_kem) {
		uint8_t none[OM_KEM_PUBLIC] = { 0 };

		unit_ok(!om_kem_public(none, none), "kem: none is nothing", "%s", "");
		unit_skip("kem: ML-KEM-768", "built without an OpenSSL of 3.5 or later");
		return unit_end();
	}
	known_answers();
	bad_key();
	handshake(false);
	handshake(true);
	return unit_end();
}
