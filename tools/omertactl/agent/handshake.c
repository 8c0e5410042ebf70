// SPDX-License-Identifier: GPL-2.0
#include "agent/handshake.h"

#include "lib/keygen.h"

#include <sodium.h>
#include <string.h>

#define MAGIC		"OMR"
#define PROLOGUE	"omerta 1"
#define LABEL_MAC1	"omerta mac1"
#define LABEL_COOKIE	"omerta cookie"
#define LABEL_KEM	"omerta mlkem768"
#define LABEL_CHANNEL	"omerta channel"

#define COOKIE_NONCE	crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

_Static_assert(8 + COOKIE_NONCE + OM_HS_MAC +
	       crypto_aead_xchacha20poly1305_ietf_ABYTES == OM_HS_COOKIE_LEN,
	       "cookie");
_Static_assert(OM_HS_RESPONSE_LEN <= OM_HS_INITIATION_LEN &&
	       OM_HS_RESPONSE_LEN_MLKEM <= OM_HS_INITIATION_LEN_MLKEM &&
	       OM_HS_TIME_MSG_LEN <= OM_HS_INITIATION_LEN &&
	       OM_HS_TIME_MSG_LEN_MLKEM <= OM_HS_INITIATION_LEN_MLKEM &&
	       OM_HS_COOKIE_LEN <= OM_HS_RESPONSE_LEN,
	       "no reply is longer than its cause");
/* Payloads of the initiation and the response at most, without the encapsulation key */
#define OFFER_LEN	(OM_HS_TIME + 4 + 1)
#define ANSWER_LEN	(4 + 1)

_Static_assert(OM_KEM_SECRET == 32 && OM_NOISE_KEY == 32, "HMAC's keys");

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static void put_header(uint8_t *msg, uint8_t type)
{
	memcpy(msg, MAGIC, 3);
	msg[3] = type;
}

/* Lengths of the messages in a mode */
static size_t initiation_len(uint8_t mode)
{
	return (mode & OM_HS_MLKEM ? OM_HS_INITIATION_LEN_MLKEM : OM_HS_INITIATION_LEN) +
	       !!(mode & OM_HS_CHANNELS);
}

static size_t response_len(uint8_t mode)
{
	return (mode & OM_HS_MLKEM ? OM_HS_RESPONSE_LEN_MLKEM : OM_HS_RESPONSE_LEN) +
	       !!(mode & OM_HS_CHANNELS);
}

static size_t time_len(uint8_t mode)
{
	return mode & OM_HS_MLKEM ? OM_HS_TIME_MSG_LEN_MLKEM : OM_HS_TIME_MSG_LEN;
}

size_t om_hs_length(const uint8_t *msg, size_t len)
{
	bool ok = false;
	uint32_t mode;

	if (len < 8 || memcmp(msg, MAGIC, 3))
		return 0;
	switch (msg[3]) {
	case OM_HS_INITIATION:
		/* And three zeros */
		mode = get32(msg + 4);
		ok = mode < OM_HS_MODES && len == initiation_len((uint8_t)mode);
		break;
	case OM_HS_RESPONSE:
		/* In the mode of what it answers */
		for (mode = 0; mode < OM_HS_MODES; mode++)
			ok |= len == response_len((uint8_t)mode);
		break;
	case OM_HS_TIME_MSG:
		ok = len == OM_HS_TIME_MSG_LEN || len == OM_HS_TIME_MSG_LEN_MLKEM;
		break;
	case OM_HS_COOKIE:
		ok = len == OM_HS_COOKIE_LEN;
		break;
	}
	return ok ? len : 0;
}

/*
 * Keys and macs
 */

static void label(const char *text, const uint8_t *public, uint8_t *out)
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const uint8_t *)text, strlen(text));
	crypto_hash_sha256_update(&state, public, OM_NOISE_KEY);
	crypto_hash_sha256_final(&state, out);
}

static void set_labels(struct om_hs_labels *labels, const uint8_t *public)
{
	label(LABEL_MAC1, public, labels->mac1);
	label(LABEL_COOKIE, public, labels->cookie);
}

bool om_hs_host_init(struct om_hs_host *host)
{
	if (!om_noise_public(&host->pair))
		return false;
	set_labels(&host->labels, host->pair.public);
	return true;
}

void om_hs_peer_init(struct om_hs_peer *peer)
{
	peer->cookie_at = 0;
	peer->asked = false;
	set_labels(&peer->labels, peer->public);
}

/* HMAC-SHA256, truncated to its first half */
static void mac(const uint8_t *key, size_t key_len, const void *data, size_t len,
		uint8_t *out)
{
	crypto_auth_hmacsha256_state state;
	uint8_t whole[crypto_auth_hmacsha256_BYTES];

	crypto_auth_hmacsha256_init(&state, key, key_len);
	crypto_auth_hmacsha256_update(&state, data, len);
	crypto_auth_hmacsha256_final(&state, whole);
	memcpy(out, whole, OM_HS_MAC);
	sodium_memzero(&state, sizeof(state));
}

/* Write both macs at the end of a message to a peer. */
static void put_macs(const struct om_hs_peer *peer, uint64_t now, uint8_t *msg,
		     size_t len)
{
	uint8_t *mac1 = msg + len - 2 * OM_HS_MAC, *mac2 = mac1 + OM_HS_MAC;

	mac(peer->labels.mac1, 32, msg, len - 2 * OM_HS_MAC, mac1);
	if (peer->cookie_at && now - peer->cookie_at < OM_HS_COOKIE_MS)
		mac(peer->cookie, OM_HS_MAC, msg, len - OM_HS_MAC, mac2);
	else
		memset(mac2, 0, OM_HS_MAC);
}

/* The same for a message that a cookie may answer */
static void finish(struct om_hs_peer *peer, uint64_t now, uint8_t *msg, size_t len)
{
	put_macs(peer, now, msg, len);
	memcpy(peer->mac1, msg + len - 2 * OM_HS_MAC, OM_HS_MAC);
	peer->asked = true;
}

bool om_hs_check(const struct om_hs_host *host, const uint8_t *msg, size_t len)
{
	uint8_t wanted[OM_HS_MAC];

	if (len < 2 * OM_HS_MAC)
		return false;
	len -= 2 * OM_HS_MAC;
	mac(host->labels.mac1, 32, msg, len, wanted);
	return !sodium_memcmp(wanted, msg + len, OM_HS_MAC);
}

/*
 * Cookies. Four bytes of mac1 of the message that they answer are in clear, for the receiver
 * to look that message up.
 */

bool om_hs_take_cookie(struct om_hs_peer *peer, uint64_t now,
		       const uint8_t *msg, size_t len)
{
	const uint8_t *nonce = msg + 8;
	uint8_t cookie[OM_HS_MAC];

	/* One for each message that was sent: replays find nothing to answer. */
	if (len != OM_HS_COOKIE_LEN || !peer->asked ||
	    memcmp(msg + 4, peer->mac1, 4))
		return false;
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(cookie, NULL, NULL,
						       nonce + COOKIE_NONCE,
						       len - 8 - COOKIE_NONCE,
						       peer->mac1, OM_HS_MAC,
						       nonce,
						       peer->labels.cookie))
		return false;
	memcpy(peer->cookie, cookie, sizeof(cookie));
	sodium_memzero(cookie, sizeof(cookie));
	peer->cookie_at = now;
	peer->asked = false;
	return true;
}

/*
 * The handshake
 */

void om_hs_wipe(struct om_hs *h)
{
	sodium_memzero(h, sizeof(*h));
}

static void begin(struct om_hs *h, uint8_t mode, const struct om_hs_host *host,
		  const uint8_t *responder)
{
	uint8_t prologue[sizeof(PROLOGUE)] = PROLOGUE;

	/* Replaces the terminating zero. */
	prologue[sizeof(PROLOGUE) - 1] = mode;
	h->mode = mode;
	om_noise_begin(&h->noise, prologue, sizeof(prologue), &host->pair, responder);
}

/* A key pair for the other end to encapsulate to */
static bool make_pair(struct om_hs *h)
{
	randombytes_buf(h->seed, sizeof(h->seed));
	return om_kem_public(h->seed, h->public);
}

size_t om_hs_initiate(struct om_hs *h, uint8_t mode, uint8_t channels,
		      const struct om_hs_host *host, struct om_hs_peer *peer,
		      const uint8_t *time, uint32_t key_id, uint64_t now,
		      uint8_t *out)
{
	uint8_t payload[OFFER_LEN + OM_KEM_PUBLIC];
	size_t len = OM_HS_TIME + 4;

	begin(h, mode, host, peer->public);
	h->channels = channels;
	memset(out, 0, 8);
	put_header(out, OM_HS_INITIATION);
	out[4] = mode;
	memcpy(payload, time, OM_HS_TIME);
	put32(payload + OM_HS_TIME, key_id);
	if (mode & OM_HS_CHANNELS)
		payload[len++] = channels;
	if (mode & OM_HS_MLKEM) {
		if (!make_pair(h))
			goto fail;
		memcpy(payload + len, h->public, OM_KEM_PUBLIC);
		len += OM_KEM_PUBLIC;
	}
	if (!om_noise_write_1(&h->noise, payload, len, out + 8))
		goto fail;
	finish(peer, now, out, initiation_len(mode));
	return initiation_len(mode);
fail:
	om_hs_wipe(h);
	return 0;
}

bool om_hs_read_initiator(struct om_hs *h, const struct om_hs_host *host,
			  const uint8_t *msg, size_t len, uint8_t public[OM_NOISE_KEY])
{
	if (om_hs_length(msg, len) != len || msg[3] != OM_HS_INITIATION)
		return false;
	begin(h, msg[4], host, host->pair.public);
	if (!om_noise_read_initiator(&h->noise, msg + 8, len - 8 - 2 * OM_HS_MAC)) {
		om_hs_wipe(h);
		return false;
	}
	memcpy(public, h->noise.remote_fixed, OM_NOISE_KEY);
	return true;
}

/* Return true if an end may have that many channels, with ids from @id on. */
static bool are_ids(uint32_t id, uint8_t channels)
{
	return id && channels && channels <= OM_HS_CHANNELS_MAX &&
	       id <= UINT32_MAX - (channels - 1U);
}

bool om_hs_read_offer(struct om_hs *h, const uint8_t *msg, size_t len,
		      struct om_hs_offer *offer)
{
	uint8_t payload[OFFER_LEN + OM_KEM_PUBLIC], *next = payload + OM_HS_TIME + 4;

	if (!om_noise_read_1(&h->noise, msg + 8, len - 8 - 2 * OM_HS_MAC, payload))
		goto fail;
	memcpy(offer->public, h->noise.remote_fixed, OM_NOISE_KEY);
	memcpy(offer->time, payload, OM_HS_TIME);
	offer->key_id = get32(payload + OM_HS_TIME);
	offer->channels = h->mode & OM_HS_CHANNELS ? *next++ : 1;
	if (!are_ids(offer->key_id, offer->channels))
		goto fail;
	if (h->mode & OM_HS_MLKEM)
		memcpy(h->public, next, OM_KEM_PUBLIC);
	return true;
fail:
	om_hs_wipe(h);
	return false;
}

/*
 * Derive the pre-shared key of mode ML-KEM from the configured one, the encapsulated secret,
 * and the messages that carried it. HKDF-SHA256 (RFC 5869), one block.
 */
static void mix_psk(const struct om_hs *h, const uint8_t *psk, const uint8_t *secret,
		    const uint8_t *text, uint8_t *out)
{
	uint8_t info[sizeof(LABEL_KEM) - 1 + crypto_hash_sha256_BYTES] = LABEL_KEM;
	static const uint8_t one = 1;
	crypto_hash_sha256_state state;
	uint8_t key[32];

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, h->public, OM_KEM_PUBLIC);
	crypto_hash_sha256_update(&state, text, OM_KEM_TEXT);
	crypto_hash_sha256_final(&state, info + sizeof(LABEL_KEM) - 1);
	om_noise_hmac(psk, secret, OM_KEM_SECRET, NULL, 0, key);
	om_noise_hmac(key, info, sizeof(info), &one, 1, out);
	sodium_memzero(key, sizeof(key));
}

/* Derive the responder's psk, and write the ciphertext that precedes its Noise message. */
static bool encapsulate(const struct om_hs *h, const uint8_t *psk, uint8_t *text,
			uint8_t *out)
{
	uint8_t random[OM_KEM_RANDOM], secret[OM_KEM_SECRET];
	bool ok;

	if (!(h->mode & OM_HS_MLKEM)) {
		memcpy(out, psk, OM_NOISE_KEY);
		return true;
	}
	randombytes_buf(random, sizeof(random));
	ok = om_kem_encapsulate(h->public, random, text, secret);
	if (ok)
		mix_psk(h, psk, secret, text, out);
	sodium_memzero(random, sizeof(random));
	sodium_memzero(secret, sizeof(secret));
	return ok;
}

/* Derive the initiator's psk from that ciphertext. */
static bool decapsulate(const struct om_hs *h, const uint8_t *psk, const uint8_t *text,
			uint8_t *out)
{
	uint8_t secret[OM_KEM_SECRET];
	bool ok;

	if (!(h->mode & OM_HS_MLKEM)) {
		memcpy(out, psk, OM_NOISE_KEY);
		return true;
	}
	ok = om_kem_decapsulate(h->seed, text, secret);
	if (ok)
		mix_psk(h, psk, secret, text, out);
	sodium_memzero(secret, sizeof(secret));
	return ok;
}

/* Return the offset of the Noise message in a response. */
static size_t noise_offset(uint8_t mode)
{
	return 8 + (mode & OM_HS_MLKEM ? OM_KEM_TEXT : 0);
}

/* Write the responder's message without its macs; false if a key is invalid. */
static bool write_answer(struct om_hs *h, const struct om_hs_peer *peer, uint8_t type,
			 const struct om_hs_offer *offer, const uint8_t *payload,
			 size_t n, uint8_t *out)
{
	uint8_t psk[OM_NOISE_KEY];
	bool ok;

	put_header(out, type);
	put32(out + 4, offer->key_id);
	ok = encapsulate(h, peer->psk, out + 8, psk) &&
	     om_noise_write_2(&h->noise, psk, payload, n, out + noise_offset(h->mode));
	sodium_memzero(psk, sizeof(psk));
	return ok;
}

static uint8_t fewer(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

size_t om_hs_respond(struct om_hs *h, struct om_hs_peer *peer,
		     const struct om_hs_offer *offer, uint8_t channels, uint32_t key_id,
		     uint64_t now, uint8_t *out, struct om_hs_keys *keys)
{
	size_t len = response_len(h->mode);
	uint8_t payload[ANSWER_LEN];
	bool ok;

	put32(payload, key_id);
	payload[4] = channels;
	ok = write_answer(h, peer, OM_HS_RESPONSE, offer, payload,
			  h->mode & OM_HS_CHANNELS ? 5 : 4, out);
	if (ok) {
		om_noise_split(&h->noise, keys->rx, keys->tx);
		keys->remote_id = offer->key_id;
		keys->channels = fewer(offer->channels, channels);
		finish(peer, now, out, len);
	}
	om_hs_wipe(h);
	return ok ? len : 0;
}

size_t om_hs_answer_time(struct om_hs *h, const struct om_hs_peer *peer,
			 const struct om_hs_offer *offer, const uint8_t *latest,
			 uint64_t now, uint8_t *out)
{
	size_t len = time_len(h->mode);
	bool ok = write_answer(h, peer, OM_HS_TIME_MSG, offer, latest, OM_HS_TIME, out);

	if (ok)
		put_macs(peer, now, out, len);
	om_hs_wipe(h);
	return ok ? len : 0;
}

uint32_t om_hs_response_id(const uint8_t *msg)
{
	return get32(msg + 4);
}

/*
 * Read the payload of a message of the responder. @copy gets the handshake after it; the
 * caller wipes it. The handshake itself does not change, as anyone who saw the initiation can
 * forge an answer that fails late.
 */
static bool read_answer(const struct om_hs *h, const struct om_hs_peer *peer,
			const uint8_t *msg, struct om_noise *copy, uint8_t *payload,
			size_t n)
{
	uint8_t psk[OM_NOISE_KEY];
	bool ok;

	*copy = h->noise;
	ok = decapsulate(h, peer->psk, msg + 8, psk) &&
	     om_noise_read_2(copy, psk, msg + noise_offset(h->mode), OM_NOISE_2 + n,
			     payload);
	sodium_memzero(psk, sizeof(psk));
	return ok;
}

bool om_hs_read_response(struct om_hs *h, const struct om_hs_peer *peer,
			 const uint8_t *msg, size_t len,
			 struct om_hs_keys *keys)
{
	struct om_noise copy;
	uint8_t payload[ANSWER_LEN];
	uint8_t channels = 1;
	bool ok;

	if (len != response_len(h->mode) || msg[3] != OM_HS_RESPONSE)
		return false;
	om_secret_lock(&copy, sizeof(copy));
	ok = read_answer(h, peer, msg, &copy, payload, h->mode & OM_HS_CHANNELS ? 5 : 4);
	if (ok && h->mode & OM_HS_CHANNELS)
		channels = payload[4];
	ok = ok && are_ids(get32(payload), channels);
	if (ok) {
		om_noise_split(&copy, keys->tx, keys->rx);
		keys->remote_id = get32(payload);
		keys->channels = h->mode & OM_HS_CHANNELS ? fewer(h->channels, channels) : 1;
		om_hs_wipe(h);
	}
	om_secret_wipe(&copy, sizeof(copy));
	return ok;
}

bool om_hs_read_time(const struct om_hs *h, const struct om_hs_peer *peer,
		     const uint8_t *msg, size_t len, uint8_t time[OM_HS_TIME])
{
	struct om_noise copy;
	bool ok;

	if (len != time_len(h->mode) || msg[3] != OM_HS_TIME_MSG)
		return false;
	om_secret_lock(&copy, sizeof(copy));
	ok = read_answer(h, peer, msg, &copy, time, OM_HS_TIME);
	om_secret_wipe(&copy, sizeof(copy));
	return ok;
}

/* HKDF-SHA256 (RFC 5869) without a salt, one block */
static void derive(const uint8_t *secret, uint8_t channel, uint8_t *out)
{
	uint8_t info[sizeof(LABEL_CHANNEL)] = LABEL_CHANNEL, key[32];
	static const uint8_t none[32], one = 1;

	/* Replaces the terminating zero. */
	info[sizeof(info) - 1] = channel;
	om_noise_hmac(none, secret, OM_NOISE_KEY, NULL, 0, key);
	om_noise_hmac(key, info, sizeof(info), &one, 1, out);
	sodium_memzero(key, sizeof(key));
}

void om_hs_channel_keys(const struct om_hs_keys *keys, uint8_t channel, struct om_hs_keys *out)
{
	derive(keys->rx, channel, out->rx);
	derive(keys->tx, channel, out->tx);
	out->remote_id = keys->remote_id + channel;
	out->channels = 1;
}
