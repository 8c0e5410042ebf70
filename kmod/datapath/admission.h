/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ADMISSION_H
#define _OMERTA_ADMISSION_H

#include <linux/bits.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <uapi/linux/omerta.h>

#include "compat/sha256.h"

/* Handshake messages, see Documentation/keying.rst. */
#define OMERTA_HS_INITIATION	0x20
#define OMERTA_HS_RESPONSE	0x21
#define OMERTA_HS_COOKIE	0x22
#define OMERTA_HS_TIME		0x23

#define OMERTA_MAC_LEN		16
#define OMERTA_MACS_LEN		(2 * OMERTA_MAC_LEN)
#define OMERTA_COOKIE_NONCE_LEN	24
#define OMERTA_COOKIE_MSG_LEN	64
/* Bits of a handshake's mode */
#define OMERTA_HS_MLKEM		BIT(0)
#define OMERTA_HS_CHANNELS	BIT(1)

/* Messages are remembered for this long after they were sent. */
#define OMERTA_SENT_NS		(10ULL * NSEC_PER_SEC)
/* Answers to one message, since an observer of it could send many. */
#define OMERTA_SENT_ANSWERS	8

/**
 * struct omerta_admit_key - keys that a reader's static public key implies
 * @mac1: key of mac1
 * @cookie: key that seals cookies
 */
struct omerta_admit_key {
	struct hmac_sha256_key mac1;
	u8 cookie[32];
};

/**
 * struct omerta_cookie_jar - the secret that cookies are made of
 * @secret: random
 * @made_at: boot time in ns, 0 for never
 */
struct omerta_cookie_jar {
	struct hmac_sha256_key secret;
	u64 made_at;
};

/**
 * struct omerta_sent - a message that may be answered
 * @at: boot time in ns at which it was sent, 0 for a free slot
 * @value: number that an answer to it quotes
 * @answers: admitted answers
 */
struct omerta_sent {
	u64 at;
	u32 value;
	u8 answers;
};

/**
 * struct omerta_sent_set - messages sent lately
 * @lock: protects the other members; taken with BH off
 * @slot: set-associative table, NULL before the first message
 * @bits: binary logarithm of its number of sets
 */
struct omerta_sent_set {
	spinlock_t lock; /* protects @slot and @bits */
	struct omerta_sent *slot;
	unsigned int bits;
};

/* Admitted messages with a valid mac2, see omerta_seen_add() */
#define OMERTA_SEEN_WAYS	8
#define OMERTA_SEEN_SETS	512

/**
 * struct omerta_seen - memory of admitted messages
 * @mac: first half of the mac2 of each, which also chooses the set; 0 for a free slot
 * @next: slot of each set that is overwritten next
 */
struct omerta_seen {
	u64 mac[OMERTA_SEEN_SETS][OMERTA_SEEN_WAYS];
	u8 next[OMERTA_SEEN_SETS];
};

void omerta_admit_key_init(struct omerta_admit_key *key,
			   const u8 public_key[OMERTA_KEY_LEN]);
bool omerta_admit_length(const u8 *msg, u32 len);
bool omerta_admit_mac1(const struct omerta_admit_key *key, const u8 *msg,
		       u32 len);
bool omerta_admit_mac2(const u8 cookie[OMERTA_MAC_LEN], const u8 *msg,
		       u32 len);
void omerta_cookie_make(struct omerta_cookie_jar *jar, u64 now,
			const void *source, size_t source_len,
			u8 cookie[OMERTA_MAC_LEN]);
void omerta_cookie_write(const struct omerta_admit_key *key,
			 const u8 *mac1, const u8 cookie[OMERTA_MAC_LEN],
			 const u8 nonce[OMERTA_COOKIE_NONCE_LEN],
			 u8 out[OMERTA_COOKIE_MSG_LEN]);

void omerta_sent_init(struct omerta_sent_set *set);
int omerta_sent_add(struct omerta_sent_set *set, u32 value, u64 now);
bool omerta_sent_answered(struct omerta_sent_set *set, u32 value, u64 now);
void omerta_sent_free(struct omerta_sent_set *set);

bool omerta_seen_find(const struct omerta_seen *seen, const u8 *mac2);
void omerta_seen_add(struct omerta_seen *seen, const u8 *mac2);

#endif /* _OMERTA_ADMISSION_H */
