// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake against a published vector, and with each byte modified. Catches a token out
 * of order, an incomplete hash, a wrong key that is accepted, and secrets that outlive a
 * failure.
 */
#include "unit.h"

#include "agent/noise.h"

#include <sodium.h>
#include <stdlib.h>

/*
 * From cacophony's vectors (tests/vectors/cacophony.txt of github.com/mcginty/snow),
 * which are in the public domain: Noise_IKpsk2_25519_ChaChaPoly_SHA256.
 */
static const char prologue[] = "4a6f686e2047616c74";
static const char psk_text[] = "54686973206973206d7920417573747269616e20706572737065637469766521";
static const char init_static[] = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1";
static const char init_fresh[] = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
static const char resp_public[] = "31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62";
static const char resp_static[] = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893";
static const char resp_fresh[] = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
static const char payload_1[] = "4c756477696720766f6e204d69736573";
static const char message_1[] =
	"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79442ec9b09893d0f510791784c10cbc959f25b1766e0def6e301d14fbca1c7790ac829b8b3674f5f649a5f0e98479662cbfbf2b2c47cd4b09fcd266cd29d7cb675f1808849707847840f6d178ec4d3733aa";
static const char payload_2[] = "4d757272617920526f746862617264";
static const char message_2[] =
	"95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088439a1b3cebf680b2c74217fcb5eba4ff58a9468cd90c4aca6194f57479b379a7";
/* Each under the first nonce of its key */
static const char payload_3[] = "462e20412e20486179656b";
static const char message_3[] = "a8fde7a0accec190cd306c5950d4fd8e04a205ec288aa747d8b347";
static const char payload_4[] = "4361726c204d656e676572";
static const char message_4[] = "59caddd9984a3bbe24c4fb31a2bd455b7eba3fa0980674b1a3a5f9";

static size_t bytes(uint8_t *out, size_t size, const char *hex)
{
	size_t len;

	if (sodium_hex2bin(out, size, hex, strlen(hex), NULL, &len, NULL))
		abort();
	return len;
}

static bool equals(const uint8_t *data, size_t len, const char *hex)
{
	uint8_t wanted[512];

	return bytes(wanted, sizeof(wanted), hex) == len &&
	       !memcmp(data, wanted, len);
}

struct ends {
	struct om_noise a;
	struct om_noise b;
	uint8_t psk[32];
};

static bool read_1(struct om_noise *n, const uint8_t *in, size_t len, uint8_t *payload)
{
	return om_noise_read_initiator(n, in, len) && om_noise_read_1(n, in, len, payload);
}

static void begin(struct om_noise *n, const char *fixed, const char *fresh)
{
	uint8_t start[64], responder[32];
	struct om_keypair pair;

	bytes(pair.secret, 32, fixed);
	bytes(responder, 32, resp_public);
	om_noise_public(&pair);
	om_noise_begin(n, start, bytes(start, sizeof(start), prologue), &pair,
		       responder);
	bytes(n->fresh.secret, 32, fresh);
	om_noise_public(&n->fresh);
}

static void begin_both(struct ends *e)
{
	begin(&e->a, init_static, init_fresh);
	begin(&e->b, resp_static, resp_fresh);
	bytes(e->psk, 32, psk_text);
}

static bool transport(const uint8_t *key, const char *payload,
		      const char *message)
{
	static const uint8_t nonce[12];
	uint8_t plain[64], sealed[80];
	size_t len = bytes(plain, sizeof(plain), payload);

	crypto_aead_chacha20poly1305_ietf_encrypt(sealed, NULL, plain, len, NULL,
						  0, NULL, nonce, key);
	return equals(sealed, len + OM_NOISE_TAG, message);
}

static void vector(void)
{
	uint8_t plain[64], wire[256], got[64], key[2][32], same[2][32];
	struct ends e;
	size_t len;

	begin_both(&e);
	unit_ok(equals(e.b.fixed.public, 32, resp_public),
		"noise: public key of the vector", "%s", "");
	len = bytes(plain, sizeof(plain), payload_1);
	unit_ok(om_noise_write_1(&e.a, plain, len, wire) &&
		equals(wire, OM_NOISE_1 + len, message_1),
		"noise: first message of the vector", "%s", "");
	unit_ok(read_1(&e.b, wire, OM_NOISE_1 + len, got) &&
		equals(got, len, payload_1) &&
		!memcmp(e.b.remote_fixed, e.a.fixed.public, 32),
		"noise: it is read", "%s", "");
	len = bytes(plain, sizeof(plain), payload_2);
	unit_ok(om_noise_write_2(&e.b, e.psk, plain, len, wire) &&
		equals(wire, OM_NOISE_2 + len, message_2),
		"noise: second message of the vector", "%s", "");
	unit_ok(om_noise_read_2(&e.a, e.psk, wire, OM_NOISE_2 + len, got) &&
		equals(got, len, payload_2), "noise: it is read, too", "%s", "");
	unit_ok(!memcmp(e.a.hash, e.b.hash, 32), "noise: both ends agree", "%s",
		"");
	om_noise_split(&e.a, key[0], key[1]);
	om_noise_split(&e.b, same[0], same[1]);
	unit_ok(!memcmp(key, same, sizeof(key)) &&
		transport(key[0], payload_3, message_3) &&
		transport(key[1], payload_4, message_4),
		"noise: keys of the vector", "%s", "");
	unit_ok(sodium_is_zero((void *)&e.a, sizeof(e.a)) &&
		sodium_is_zero((void *)&e.b, sizeof(e.b)),
		"noise: nothing is left after the split", "%s", "");
}

/* Each byte of each message, and each length of it */
static void changed(void)
{
	uint8_t first[OM_NOISE_1 + 7], second[OM_NOISE_2 + 5], got[64];
	size_t accepted = 0, left = 0;
	struct ends e;

	for (size_t i = 0; i < 2 * sizeof(first); i++) {
		begin_both(&e);
		om_noise_write_1(&e.a, (const uint8_t *)"payload", 7, first);
		if (i < sizeof(first))
			first[i] ^= 1;
		accepted += read_1(&e.b, first, i < sizeof(first) ?
					    sizeof(first) : i - sizeof(first),
					    got);
		left += !sodium_is_zero((void *)&e.b, sizeof(e.b));
	}
	for (size_t i = 0; i < 2 * sizeof(second); i++) {
		begin_both(&e);
		om_noise_write_1(&e.a, (const uint8_t *)"payload", 7, first);
		read_1(&e.b, first, sizeof(first), got);
		om_noise_write_2(&e.b, e.psk, (const uint8_t *)"reply", 5, second);
		if (i < sizeof(second))
			second[i] ^= 1;
		accepted += om_noise_read_2(&e.a, e.psk, second,
					    i < sizeof(second) ? sizeof(second) :
					    i - sizeof(second), got);
		left += !sodium_is_zero((void *)&e.a, sizeof(e.a));
	}
	unit_ok(!accepted && !left, "noise: changed and cut messages",
		"%zu were accepted, %zu left secrets", accepted, left);
}

static void wrong_keys(void)
{
	uint8_t first[OM_NOISE_1], second[OM_NOISE_2], got[1];
	struct ends e;

	begin_both(&e);
	om_noise_write_1(&e.a, NULL, 0, first);
	unit_ok(read_1(&e.b, first, sizeof(first), got) &&
		om_noise_write_2(&e.b, e.psk, NULL, 0, second),
		"noise: empty payloads", "%s", "");
	e.psk[31] ^= 1;
	unit_ok(!om_noise_read_2(&e.a, e.psk, second, sizeof(second), got),
		"noise: another preshared key", "%s", "");
	begin_both(&e);
	/* Another prologue is another protocol. */
	e.b.hash[0] ^= 1;
	om_noise_write_1(&e.a, NULL, 0, first);
	unit_ok(!read_1(&e.b, first, sizeof(first), got),
		"noise: another prologue", "%s", "");
}

/* Public keys of small order give a shared secret that everybody knows. */
static void small_order(void)
{
	static const uint8_t one[32] = { 1 };
	uint8_t first[OM_NOISE_1], second[OM_NOISE_2], got[1];
	struct ends e;

	begin_both(&e);
	memset(e.a.remote_fixed, 0, 32);
	unit_ok(!om_noise_write_1(&e.a, NULL, 0, first),
		"noise: a static key of zeros", "%s", "");
	begin_both(&e);
	om_noise_write_1(&e.a, NULL, 0, first);
	memcpy(first, one, 32);
	unit_ok(!read_1(&e.b, first, sizeof(first), got) &&
		sodium_is_zero((void *)&e.b, sizeof(e.b)),
		"noise: a fresh key of small order", "%s", "");
	begin_both(&e);
	om_noise_write_1(&e.a, NULL, 0, first);
	read_1(&e.b, first, sizeof(first), got);
	om_noise_write_2(&e.b, e.psk, NULL, 0, second);
	memcpy(second, one, 32);
	unit_ok(!om_noise_read_2(&e.a, e.psk, second, sizeof(second), got) &&
		sodium_is_zero((void *)&e.a, sizeof(e.a)),
		"noise: the same in the answer", "%s", "");
}

/* RFC 5869 with an empty info: Noise's HKDF is its, so test case 3's key fits. */
static void hkdf(void)
{
	static const uint8_t salt[32];
	uint8_t input[22], out[3][32];

	memset(input, 0x0b, sizeof(input));
	om_noise_hkdf(salt, input, sizeof(input), out, 3);
	unit_ok(equals(out[0], 32, "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d") &&
		equals(out[1], 10, "9d201395faa4b61a96c8"),
		"noise: HKDF of RFC 5869, test case 3", "%s", "");
}

void test_noise(void)
{
	vector();
	changed();
	wrong_keys();
	small_order();
	hkdf();
}
