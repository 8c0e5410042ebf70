// SPDX-License-Identifier: GPL-2.0
/*
 * admission.c: known answers of an independent implementation of the handshake, and its
 * memories against their bounds.
 */
#include "datapath/admission.c"

#include <linux/string.h>

#include "test_util.h"

/* The responder's public key; its private one is 20..3f. */
static const u8 public_key[] = {
	0x35, 0x80, 0x72, 0xd6, 0x36, 0x58, 0x80, 0xd1, 0xae, 0xea, 0x32, 0x9a,
	0xdf, 0x91, 0x21, 0x38, 0x38, 0x51, 0xed, 0x21, 0xa2, 0x8e, 0x3b, 0x75,
	0xe9, 0x65, 0xd0, 0xd2, 0xcd, 0x16, 0x62, 0x54,
};

/* An initiation of mode 00 to it, without cookie */
static const u8 initiation[] = {
	0x4f, 0x4d, 0x52, 0x20, 0x00, 0x00, 0x00, 0x00, 0x79, 0xa6, 0x31, 0xee,
	0xde, 0x1b, 0xf9, 0xc9, 0x8f, 0x12, 0x03, 0x2c, 0xde, 0xad, 0xd0, 0xe7,
	0xa0, 0x79, 0x39, 0x8f, 0xc7, 0x86, 0xb8, 0x8c, 0xc8, 0x46, 0xec, 0x89,
	0xaf, 0x85, 0xa5, 0x1a, 0x99, 0x7a, 0x4b, 0xd4, 0xe3, 0x2b, 0x1a, 0x91,
	0x58, 0xd8, 0x9e, 0x0b, 0xc1, 0xdc, 0xfd, 0xb1, 0xab, 0x53, 0xe5, 0xde,
	0xc3, 0x6a, 0x61, 0xbb, 0x30, 0xf2, 0xd1, 0x13, 0xc6, 0x8c, 0x84, 0x3a,
	0x9c, 0x9a, 0x8d, 0x6f, 0x0e, 0xc7, 0x22, 0x70, 0xfc, 0xc7, 0xbf, 0x25,
	0x46, 0xd2, 0x84, 0x61, 0xc7, 0x19, 0x93, 0x01, 0x2a, 0xaa, 0x87, 0xa3,
	0x87, 0x89, 0xcc, 0xee, 0x29, 0x8b, 0x76, 0x1e, 0x44, 0x29, 0x85, 0x82,
	0xe3, 0x0f, 0xdf, 0x3a, 0xf5, 0xbf, 0xcf, 0x14, 0xef, 0x30, 0x6e, 0xc4,
	0xf0, 0x42, 0xf6, 0x90, 0x52, 0x6f, 0xe7, 0xe1, 0x7d, 0xf4, 0x31, 0x9e,
	0x98, 0xfa, 0x8a, 0x6a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

/* Its mac2 under the cookie 90..9f */
static const u8 mac2[] = {
	0x9f, 0xf2, 0xce, 0x44, 0xc1, 0x11, 0x19, 0x48, 0xfe, 0x16, 0x74, 0x75,
	0x8c, 0xae, 0xcb, 0xd7,
};

/* The message that brings that cookie, with the nonce 30..47 */
static const u8 cookie_msg[] = {
	0x4f, 0x4d, 0x52, 0x22, 0xf0, 0x42, 0xf6, 0x90, 0x30, 0x31, 0x32, 0x33,
	0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
	0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0xb9, 0x90, 0x07, 0xe2,
	0xb7, 0xe4, 0x94, 0x57, 0xfa, 0x05, 0xe7, 0xfa, 0x04, 0xa6, 0xc3, 0x0b,
	0x42, 0x21, 0x58, 0xe9, 0xbd, 0xea, 0x30, 0x5b, 0x7c, 0xf0, 0x16, 0x05,
	0x00, 0x36, 0x89, 0xfe,
};

static void count_up(u8 *p, u8 from, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = from + i;
}

static void test_known_answers(struct kunit *test)
{
	u8 msg[sizeof(initiation)], cookie[OMERTA_MAC_LEN];
	u8 nonce[OMERTA_COOKIE_NONCE_LEN], out[OMERTA_COOKIE_MSG_LEN];
	struct omerta_admit_key key;
	unsigned int i;

	omerta_admit_key_init(&key, public_key);
	count_up(cookie, 0x90, sizeof(cookie));
	count_up(nonce, 0x30, sizeof(nonce));
	memcpy(msg, initiation, sizeof(msg));
	KUNIT_EXPECT_TRUE(test, omerta_admit_length(msg, sizeof(msg)));
	KUNIT_EXPECT_TRUE(test, omerta_admit_mac1(&key, msg, sizeof(msg)));
	KUNIT_EXPECT_FALSE(test, omerta_admit_mac2(cookie, msg, sizeof(msg)));
	omerta_cookie_write(&key, msg + sizeof(msg) - OMERTA_MACS_LEN, cookie,
			    nonce, out);
	KUNIT_EXPECT_MEMEQ(test, out, cookie_msg, sizeof(out));

	memcpy(msg + sizeof(msg) - OMERTA_MAC_LEN, mac2, sizeof(mac2));
	KUNIT_EXPECT_TRUE(test, omerta_admit_mac1(&key, msg, sizeof(msg)));
	KUNIT_EXPECT_TRUE(test, omerta_admit_mac2(cookie, msg, sizeof(msg)));
	for (i = 0; i < sizeof(msg) * 8; i++) {
		msg[i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_FALSE(test,
				   omerta_admit_mac1(&key, msg, sizeof(msg)) &&
				   omerta_admit_mac2(cookie, msg, sizeof(msg)));
		msg[i / 8] ^= 1 << i % 8;
	}
	cookie[0] ^= 1;
	KUNIT_EXPECT_FALSE(test, omerta_admit_mac2(cookie, msg, sizeof(msg)));
}

static void test_lengths(struct kunit *test)
{
	static const struct {
		u8 type;
		u8 mode;
		u32 len;
	} good[] = {
		{ 0x20, 0, 152 }, { 0x20, 1, 1336 }, { 0x20, 2, 153 }, { 0x20, 3, 1337 },
		{ 0x21, 9, 92 }, { 0x21, 9, 1180 }, { 0x21, 9, 93 }, { 0x21, 9, 1181 },
		{ 0x22, 9, 64 }, { 0x23, 9, 100 }, { 0x23, 9, 1188 },
	};
	unsigned int type, mode, len, i, n = 0;
	u8 *msg = kunit_kzalloc(test, 1500, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, msg);
	memcpy(msg, OMERTA_MAGIC, OMERTA_MAGIC_LEN);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		msg[3] = good[i].type;
		msg[4] = good[i].mode;
		KUNIT_EXPECT_TRUE(test, omerta_admit_length(msg, good[i].len));
	}
	/* Nothing else is: with one mode, answers of any are counted once. */
	for (type = 0; type < 256; type++) {
		for (mode = 0; mode < 8; mode++) {
			msg[3] = type;
			msg[4] = mode;
			for (len = 0; len < 1500; len++)
				n += omerta_admit_length(msg, len);
		}
	}
	KUNIT_EXPECT_EQ(test, n, 4 + 8 * 7);
	/* The mode's other bytes are zeros. */
	msg[3] = 0x20;
	msg[4] = 0;
	msg[7] = 1;
	KUNIT_EXPECT_FALSE(test, omerta_admit_length(msg, 152));
}

static void test_cookies(struct kunit *test)
{
	u8 a[OMERTA_MAC_LEN], b[OMERTA_MAC_LEN];
	struct omerta_cookie_jar jar = {};
	u64 now = NSEC_PER_SEC;

	omerta_cookie_make(&jar, now, "here", 4, a);
	omerta_cookie_make(&jar, now + COOKIE_NS - 1, "here", 4, b);
	KUNIT_EXPECT_MEMEQ(test, a, b, sizeof(a));
	omerta_cookie_make(&jar, now, "gone", 4, b);
	KUNIT_EXPECT_NE(test, memcmp(a, b, sizeof(a)), 0);
	omerta_cookie_make(&jar, now + COOKIE_NS, "here", 4, b);
	KUNIT_EXPECT_NE(test, memcmp(a, b, sizeof(a)), 0);
}

/* Random values, as key ids and macs are, but each another one */
static u32 value_of(u32 i)
{
	return i * 0x9e3779b1;
}

static void test_sent(struct kunit *test)
{
	struct omerta_sent_set set;
	u64 now = NSEC_PER_SEC;
	unsigned int i;

	omerta_sent_init(&set);
	KUNIT_EXPECT_FALSE(test, omerta_sent_answered(&set, 0, now));
	for (i = 0; i < 10000; i++)
		KUNIT_ASSERT_EQ(test, omerta_sent_add(&set, value_of(i), now + i), 0);
	for (i = 0; i < 10000; i++)
		KUNIT_EXPECT_TRUE(test, omerta_sent_answered(&set, value_of(i),
							     now + i));
	for (; i < 20000; i++)
		KUNIT_EXPECT_FALSE(test, omerta_sent_answered(&set, value_of(i),
							      now));
	/* Each was answered once. */
	for (i = 1; i < OMERTA_SENT_ANSWERS; i++)
		KUNIT_EXPECT_TRUE(test, omerta_sent_answered(&set, value_of(7), now + 7));
	KUNIT_EXPECT_FALSE(test, omerta_sent_answered(&set, value_of(7), now + 7));
	KUNIT_EXPECT_TRUE(test, omerta_sent_answered(&set, value_of(8),
						     now + 8 + OMERTA_SENT_NS - 1));
	KUNIT_EXPECT_FALSE(test, omerta_sent_answered(&set, value_of(8),
						      now + 8 + OMERTA_SENT_NS));
	omerta_sent_free(&set);
	KUNIT_EXPECT_FALSE(test, omerta_sent_answered(&set, value_of(9), now + 9));
}

/* Messages that are sent in the course of time do not make it grow. */
static void test_sent_bounded(struct kunit *test)
{
	struct omerta_sent_set set;
	unsigned int i;

	omerta_sent_init(&set);
	for (i = 1; i < 20000; i++)
		KUNIT_ASSERT_EQ(test, omerta_sent_add(&set, value_of(i),
						      i * (OMERTA_SENT_NS / 10)), 0);
	KUNIT_EXPECT_LE(test, set.bits, SENT_BITS_MIN + 1);
	for (i = 1; i < 1000000; i++)
		KUNIT_ASSERT_EQ(test, omerta_sent_add(&set, value_of(i), OMERTA_SENT_NS), 0);
	KUNIT_EXPECT_EQ(test, set.bits, SENT_BITS_MAX);
	omerta_sent_free(&set);
}

static void test_seen(struct kunit *test)
{
	struct omerta_seen *seen = kunit_kzalloc(test, sizeof(*seen), GFP_KERNEL);
	struct test_rng rng = TEST_RNG(1);
	static u64 mac[1000];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (i = 0; i < ARRAY_SIZE(mac); i++) {
		mac[i] = test_rnd(&rng);
		KUNIT_EXPECT_FALSE(test, omerta_seen_find(seen, (u8 *)&mac[i]));
		omerta_seen_add(seen, (u8 *)&mac[i]);
	}
	for (i = 0; i < ARRAY_SIZE(mac); i++)
		KUNIT_EXPECT_TRUE(test, omerta_seen_find(seen, (u8 *)&mac[i]));
}

static struct kunit_case admission_cases[] = {
	KUNIT_CASE(test_known_answers),
	KUNIT_CASE(test_lengths),
	KUNIT_CASE(test_cookies),
	KUNIT_CASE(test_sent),
	KUNIT_CASE(test_sent_bounded),
	KUNIT_CASE(test_seen),
	{}
};

struct kunit_suite omerta_admission_suite = {
	.name = "omerta_admission",
	.test_cases = admission_cases,
};
