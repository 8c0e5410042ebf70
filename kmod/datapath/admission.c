// SPDX-License-Identifier: GPL-2.0
/*
 * Admission of handshake messages: the proofs that their senders can give, see
 * "Control datagrams" in Documentation/keying.rst. Nothing here is charged to a tenant.
 */
#include "datapath/admission.h"

#include <crypto/chacha20poly1305.h>
#include <linux/hash.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "wire/wire.h"

#define LABEL_MAC1	"omerta mac1"
#define LABEL_COOKIE	"omerta cookie"
#define LABEL_MAX	16

/* A cookie's secret is used for this long; so is a cookie. */
#define COOKIE_NS	(120ULL * NSEC_PER_SEC)

#define SENT_WAYS	4
#define SENT_BITS_MIN	6
#define SENT_BITS_MAX	15

static_assert(8 + OMERTA_COOKIE_NONCE_LEN + OMERTA_MAC_LEN +
	      CHACHA20POLY1305_AUTHTAG_SIZE == OMERTA_COOKIE_MSG_LEN);
static_assert(sizeof(LABEL_COOKIE) <= LABEL_MAX);

static void derive(u8 *out, const char *label, const u8 *public_key)
{
	u8 text[LABEL_MAX + OMERTA_KEY_LEN];
	size_t len = strlen(label);

	memcpy(text, label, len);
	memcpy(text + len, public_key, OMERTA_KEY_LEN);
	sha256(text, len + OMERTA_KEY_LEN, out);
}

/**
 * omerta_admit_key_init() - derive the keys of a reader
 * @key: gets them
 * @public_key: the reader's static public key
 */
void omerta_admit_key_init(struct omerta_admit_key *key,
			   const u8 public_key[OMERTA_KEY_LEN])
{
	u8 mac1[SHA256_DIGEST_SIZE];

	derive(mac1, LABEL_MAC1, public_key);
	hmac_sha256_preparekey(&key->mac1, mac1, sizeof(mac1));
	derive(key->cookie, LABEL_COOKIE, public_key);
}

/**
 * omerta_admit_length() - check the length of a handshake message
 * @msg: the message, which begins with the header of a control datagram
 * @len: its length
 *
 * Return: true if it is right for the message's type and mode.
 */
bool omerta_admit_length(const u8 *msg, u32 len)
{
	u32 mode;

	if (len < 8)
		return false;
	switch (msg[OMERTA_MAGIC_LEN]) {
	case OMERTA_HS_INITIATION:
		mode = get_unaligned_le32(msg + 4);
		return mode <= (OMERTA_HS_MLKEM | OMERTA_HS_CHANNELS) &&
		       len == (mode & OMERTA_HS_MLKEM ? 1336 : 152) + !!(mode & OMERTA_HS_CHANNELS);
	case OMERTA_HS_RESPONSE:
		return len == 92 || len == 93 || len == 1180 || len == 1181;
	case OMERTA_HS_COOKIE:
		return len == OMERTA_COOKIE_MSG_LEN;
	case OMERTA_HS_TIME:
		return len == 100 || len == 1188;
	}
	return false;
}

/**
 * omerta_admit_mac1() - check that a sender knows the reader's public key
 * @key: the reader's
 * @msg: an initiation of right length
 * @len: its length
 *
 * Return: true if mac1 is right.
 */
bool omerta_admit_mac1(const struct omerta_admit_key *key, const u8 *msg,
		       u32 len)
{
	u8 mac[SHA256_DIGEST_SIZE];

	len -= OMERTA_MACS_LEN;
	hmac_sha256(&key->mac1, msg, len, mac);
	return !crypto_memneq(mac, msg + len, OMERTA_MAC_LEN);
}

/**
 * omerta_admit_mac2() - check that a sender has a cookie
 * @cookie: the cookie of its source
 * @msg: an initiation of right length
 * @len: its length
 *
 * Return: true if mac2 is right.
 */
bool omerta_admit_mac2(const u8 cookie[OMERTA_MAC_LEN], const u8 *msg,
		       u32 len)
{
	u8 mac[SHA256_DIGEST_SIZE];

	len -= OMERTA_MAC_LEN;
	hmac_sha256_usingrawkey(cookie, OMERTA_MAC_LEN, msg, len, mac);
	return !crypto_memneq(mac, msg + len, OMERTA_MAC_LEN);
}

/**
 * omerta_cookie_make() - make the cookie of a source
 * @jar: the secret; renewed if it is too old
 * @now: boot time in ns
 * @source: address, port and whatever else of the source the cookie is bound to
 * @source_len: its length
 * @cookie: gets the cookie
 *
 * Context: serialised by the caller for each @jar.
 */
void omerta_cookie_make(struct omerta_cookie_jar *jar, u64 now,
			const void *source, size_t source_len,
			u8 cookie[OMERTA_MAC_LEN])
{
	u8 mac[SHA256_DIGEST_SIZE];

	if (!jar->made_at || now - jar->made_at >= COOKIE_NS) {
		u8 secret[SHA256_DIGEST_SIZE];

		get_random_bytes(secret, sizeof(secret));
		hmac_sha256_preparekey(&jar->secret, secret, sizeof(secret));
		memzero_explicit(secret, sizeof(secret));
		jar->made_at = now;
	}
	hmac_sha256(&jar->secret, source, source_len, mac);
	memcpy(cookie, mac, OMERTA_MAC_LEN);
	memzero_explicit(mac, sizeof(mac));
}

/**
 * omerta_cookie_write() - write a cookie message
 * @key: the reader's keys
 * @mac1: mac1 of the message that the cookie answers
 * @cookie: the cookie
 * @nonce: random
 * @out: gets the message
 */
void omerta_cookie_write(const struct omerta_admit_key *key,
			 const u8 *mac1, const u8 cookie[OMERTA_MAC_LEN],
			 const u8 nonce[OMERTA_COOKIE_NONCE_LEN],
			 u8 out[OMERTA_COOKIE_MSG_LEN])
{
	memcpy(out, OMERTA_MAGIC, OMERTA_MAGIC_LEN);
	out[OMERTA_MAGIC_LEN] = OMERTA_HS_COOKIE;
	memcpy(out + 4, mac1, 4);
	memcpy(out + 8, nonce, OMERTA_COOKIE_NONCE_LEN);
	xchacha20poly1305_encrypt(out + 8 + OMERTA_COOKIE_NONCE_LEN, cookie,
				  OMERTA_MAC_LEN, mac1, OMERTA_MAC_LEN, nonce,
				  key->cookie);
}

/**
 * omerta_sent_init() - make an empty set
 * @set: the set
 */
void omerta_sent_init(struct omerta_sent_set *set)
{
	spin_lock_init(&set->lock);
	set->slot = NULL;
	set->bits = 0;
}

/* The values are random already. */
static struct omerta_sent *sent_ways(struct omerta_sent *slot,
				     unsigned int bits, u32 value)
{
	return slot + SENT_WAYS * (value & ((1U << bits) - 1));
}

/* The slot that a message is put into: the oldest of its set. */
static struct omerta_sent *sent_oldest(struct omerta_sent *slot,
				       unsigned int bits, u32 value)
{
	struct omerta_sent *way = sent_ways(slot, bits, value);
	struct omerta_sent *old = way;
	int i;

	for (i = 1; i < SENT_WAYS; i++)
		if (way[i].at < old->at)
			old = &way[i];
	return old;
}

static int sent_grow(struct omerta_sent_set *set)
{
	unsigned int bits = set->slot ? set->bits + 1 : SENT_BITS_MIN;
	struct omerta_sent *slot, *old;
	u32 i, n = set->slot ? SENT_WAYS << set->bits : 0;

	slot = kvcalloc(SENT_WAYS << bits, sizeof(*slot), GFP_KERNEL_ACCOUNT);
	if (!slot)
		return -ENOMEM;
	spin_lock_bh(&set->lock);
	for (i = 0; i < n; i++)
		if (set->slot[i].at)
			*sent_oldest(slot, bits, set->slot[i].value) = set->slot[i];
	old = set->slot;
	set->slot = slot;
	set->bits = bits;
	spin_unlock_bh(&set->lock);
	kvfree(old);
	return 0;
}

/**
 * omerta_sent_add() - remember that a message is sent
 * @set: messages sent
 * @value: number that an answer to it quotes
 * @now: boot time in ns
 *
 * The set grows until it holds what is sent in %OMERTA_SENT_NS, within a bound.
 *
 * Context: process context; the caller serialises additions.
 * Return: 0 or -ENOMEM.
 */
int omerta_sent_add(struct omerta_sent_set *set, u32 value, u64 now)
{
	struct omerta_sent *old;

	if (!set->slot && sent_grow(set))
		return -ENOMEM;
	/* Only additions change which slot is the oldest. */
	while (set->bits < SENT_BITS_MAX) {
		old = sent_oldest(set->slot, set->bits, value);
		if (!old->at || now - old->at >= OMERTA_SENT_NS)
			break;
		/* Without memory the oldest is lost; its handshake is tried again. */
		if (sent_grow(set))
			break;
	}
	spin_lock_bh(&set->lock);
	old = sent_oldest(set->slot, set->bits, value);
	*old = (struct omerta_sent) { .at = now, .value = value };
	spin_unlock_bh(&set->lock);
	return 0;
}

/**
 * omerta_sent_answered() - check that a datagram answers a message
 * @set: messages sent
 * @value: number that the datagram quotes
 * @now: boot time in ns
 *
 * Context: any but hard interrupt.
 * Return: true if such a message was sent within %OMERTA_SENT_NS, and fewer than
 * %OMERTA_SENT_ANSWERS answers to it were admitted.
 */
bool omerta_sent_answered(struct omerta_sent_set *set, u32 value, u64 now)
{
	struct omerta_sent *way;
	bool answered = false;
	int i;

	spin_lock_bh(&set->lock);
	way = set->slot ? sent_ways(set->slot, set->bits, value) : NULL;
	for (i = 0; way && i < SENT_WAYS; i++) {
		if (!way[i].at || way[i].value != value ||
		    now - way[i].at >= OMERTA_SENT_NS ||
		    way[i].answers >= OMERTA_SENT_ANSWERS)
			continue;
		way[i].answers++;
		answered = true;
		break;
	}
	spin_unlock_bh(&set->lock);
	return answered;
}

/**
 * omerta_sent_free() - forget all messages
 * @set: the set; may be used again
 *
 * Context: process context; the caller excludes additions.
 */
void omerta_sent_free(struct omerta_sent_set *set)
{
	struct omerta_sent *slot;

	spin_lock_bh(&set->lock);
	slot = set->slot;
	set->slot = NULL;
	spin_unlock_bh(&set->lock);
	kvfree(slot);
}

static const u64 *seen_set(const struct omerta_seen *seen, u64 mac)
{
	return seen->mac[mac % OMERTA_SEEN_SETS];
}

/**
 * omerta_seen_find() - look for a message among those admitted before
 * @seen: the memory
 * @mac2: the message's mac2, which is valid
 *
 * Return: true if the message was admitted before.
 */
bool omerta_seen_find(const struct omerta_seen *seen, const u8 *mac2)
{
	u64 mac = get_unaligned((const u64 *)mac2);
	const u64 *set = seen_set(seen, mac);
	int i;

	for (i = 0; i < OMERTA_SEEN_WAYS; i++)
		if (set[i] == mac)
			return true;
	return false;
}

/**
 * omerta_seen_add() - remember an admitted message
 * @seen: the memory; the oldest message of the same set is forgotten
 * @mac2: the message's mac2, which is valid
 *
 * A valid mac2 proves that the sender receives at its address. So floods from spoofed
 * addresses do not flush this memory.
 *
 * Context: serialised by the caller.
 */
void omerta_seen_add(struct omerta_seen *seen, const u8 *mac2)
{
	u64 mac = get_unaligned((const u64 *)mac2);
	unsigned int set = mac % OMERTA_SEEN_SETS;

	seen->mac[set][seen->next[set]++ % OMERTA_SEEN_WAYS] = mac;
}
