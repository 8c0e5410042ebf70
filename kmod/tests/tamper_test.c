// SPDX-License-Identifier: GPL-2.0
/*
 * chunk.c and record.c together: changes to records by an on-path attacker without the key.
 * None of the changed records may be accepted.
 */
#include "wire/record.h"

#include <linux/string.h>

#include "test_util.h"

#define FILL		0x5a
#define KEY_ID		0x11223344
#define COUNTER		0x55667788ULL
#define MANY		(512 + 512 + 100)
#define MANY_WIRE	(16 + MANY + 3 * 16)
#define STEP		(512 + 16)
#define ROOM		4096

static const u8 secret[OMERTA_SECRET_LEN] = { 1, 2, 3 };

enum verdict { TAKEN, REFUSED, FORGED, NO_KEY };

static bool is_fill(const u8 *p, u32 len)
{
	return !len || !memchr_inv(p, FILL, len);
}

/* A receiver that has one key. A chunk that fails must write no plaintext. */
static enum verdict receive(struct kunit *test, const u8 *wire, u32 len)
{
	u8 *copy = test_edge(test, 0, len), *plain;
	const struct omerta_hdr *hdr = (const void *)copy;
	struct omerta_layout l;
	unsigned int i;

	memcpy(copy, wire, len);
	if (omerta_record_parse(&l, copy, len))
		return REFUSED;
	if (le32_to_cpu(hdr->key_id) != KEY_ID)
		return NO_KEY;
	plain = test_edge(test, 1, l.plain_len);
	if (l.plain_len)
		memset(plain, FILL, l.plain_len);
	for (i = 0; i < l.n_chunks; i++) {
		struct omerta_chunk c = { .plain = plain, .sealed = copy };

		omerta_record_chunk(&l, le64_to_cpu(hdr->counter), i, &c);
		if (!omerta_chunk_open(NULL, &c, 1, secret)) {
			KUNIT_ASSERT_TRUE(test, is_fill(c.plain, c.len));
			return FORGED;
		}
	}
	return TAKEN;
}

static u32 seal(u8 *wire, u32 plain_len, u8 class, u64 counter, const u8 *key)
{
	static u8 plain[MANY];
	struct omerta_layout l;
	unsigned int i;

	test_pattern(plain, plain_len, counter);
	omerta_record_layout(&l, plain_len, class);
	omerta_record_header(&l, wire, KEY_ID, counter);
	for (i = 0; i < l.n_chunks; i++) {
		struct omerta_chunk c = { .plain = plain, .sealed = wire };

		omerta_record_chunk(&l, counter, i, &c);
		omerta_chunk_seal(NULL, &c, 1, key);
	}
	return l.wire_len;
}

static u8 *room(struct kunit *test)
{
	u8 *p = kunit_kzalloc(test, ROOM, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

static u8 *three_chunks(struct kunit *test, u64 counter)
{
	u8 *wire = room(test);

	KUNIT_ASSERT_EQ(test, seal(wire, MANY, 0, counter, secret), MANY_WIRE);
	return wire;
}

static u8 *chunk_at(u8 *wire, unsigned int i)
{
	return wire + 16 + i * STEP;
}

static void swap_bytes(u8 *a, u8 *b, u32 len)
{
	for (; len; len--, a++, b++) {
		u8 t = *a;

		*a = *b;
		*b = t;
	}
}

static void flip_bits(struct kunit *test, u8 *wire, u32 len, u32 step)
{
	u32 bit;

	KUNIT_ASSERT_EQ(test, receive(test, wire, len), TAKEN);
	for (bit = 0; bit < 8 * len; bit += bit < 8 * 32 ? 1 : step) {
		enum verdict got;

		wire[bit / 8] ^= 1 << bit % 8;
		got = receive(test, wire, len);
		KUNIT_ASSERT_NE_MSG(test, got, TAKEN, "bit %u", bit);
		if (bit / 8 >= 4 && bit / 8 < 8)
			KUNIT_ASSERT_EQ(test, got, NO_KEY);
		if (bit / 8 >= 16)
			KUNIT_ASSERT_EQ(test, got, FORGED);
		wire[bit / 8] ^= 1 << bit % 8;
		cond_resched();
	}
	KUNIT_ASSERT_EQ(test, receive(test, wire, len), TAKEN);
}

/* Catches: a byte of a one-chunk record that nothing authenticates. */
static void flip_one_chunk(struct kunit *test)
{
	u8 *wire = room(test);
	u32 len;

	for (len = 0; len <= 100; len += 25)
		flip_bits(test, wire, seal(wire, len, 0, COUNTER, secret), 1);
}

/* Catches: a byte of a record of several chunks that nothing authenticates. */
static void flip_three_chunks(struct kunit *test)
{
	flip_bits(test, three_chunks(test, COUNTER), MANY_WIRE,
		  TEST_SCALE(1, 13));
}

/* Catches: a nonce without the chunk's position. */
static void swap_chunks(struct kunit *test)
{
	u8 *wire = three_chunks(test, COUNTER);

	swap_bytes(chunk_at(wire, 0), chunk_at(wire, 1), STEP);
	KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), FORGED);
	swap_bytes(chunk_at(wire, 0), chunk_at(wire, 1), STEP);
	KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), TAKEN);
	memmove(chunk_at(wire, 0), chunk_at(wire, 1), STEP);
	KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), FORGED);
}

/* Catches: tags that fit another chunk's ciphertext. */
static void swap_tags(struct kunit *test)
{
	u8 *wire = three_chunks(test, COUNTER);
	u8 *a = chunk_at(wire, 0) + 512, *b = chunk_at(wire, 1) + 512;
	u8 *c = wire + MANY_WIRE - 16;

	swap_bytes(a, b, 16);
	KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), FORGED);
	swap_bytes(a, b, 16);
	swap_bytes(b, c, 16);
	KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), FORGED);
	swap_bytes(b, c, 16);
	KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), TAKEN);
}

/* Catches: a record that still opens with a chunk less. */
static void remove_chunk(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		u8 *wire = three_chunks(test, COUNTER);

		memmove(chunk_at(wire, i), chunk_at(wire, i + 1),
			MANY_WIRE - 16 - (i + 1) * STEP);
		KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE - STEP),
				FORGED);
	}
}

/* Catches: a record that still opens with a chunk twice. */
static void duplicate_chunk(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		u8 *wire = three_chunks(test, COUNTER);

		memmove(chunk_at(wire, i + 1), chunk_at(wire, i),
			MANY_WIRE - 16 - i * STEP);
		KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE + STEP),
				FORGED);
	}
}

/* Catches: a nonce without the end, or chunks that authenticate one by one. */
static void cut_at_boundary(struct kunit *test)
{
	u8 *wire = three_chunks(test, COUNTER), *whole = room(test);

	KUNIT_EXPECT_EQ(test, receive(test, wire, 16 + 2 * STEP), FORGED);
	KUNIT_EXPECT_EQ(test, receive(test, wire, 16 + STEP), FORGED);
	KUNIT_EXPECT_EQ(test, receive(test, wire, 16), REFUSED);

	seal(whole, 1024, 0, COUNTER, secret);
	KUNIT_EXPECT_EQ(test, receive(test, whole, 16 + 2 * STEP), TAKEN);
	KUNIT_EXPECT_EQ(test, receive(test, whole, 16 + STEP), FORGED);
}

/* Catches: a final chunk that is taken with something behind it. */
static void grow_at_boundary(struct kunit *test)
{
	u8 *whole = room(test), *other = three_chunks(test, COUNTER);

	seal(whole, 1024, 0, COUNTER, secret);
	memcpy(chunk_at(whole, 2), chunk_at(other, 2), 116);
	KUNIT_EXPECT_EQ(test, receive(test, whole, MANY_WIRE), FORGED);
	memcpy(chunk_at(whole, 2), chunk_at(whole, 1), STEP);
	KUNIT_EXPECT_EQ(test, receive(test, whole, 16 + 3 * STEP), FORGED);

	seal(whole, 512, 0, COUNTER, secret);
	memcpy(chunk_at(whole, 1), chunk_at(other, 1), MANY_WIRE - 16 - STEP);
	KUNIT_EXPECT_EQ(test, receive(test, whole, MANY_WIRE), FORGED);
}

/* Catches: a nonce without the counter, so that records can be mixed. */
static void move_between_records(struct kunit *test)
{
	u8 *a = three_chunks(test, COUNTER);
	u8 *b = three_chunks(test, COUNTER + 1);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		u32 len = i < 2 ? STEP : 116;

		swap_bytes(chunk_at(a, i), chunk_at(b, i), len);
		KUNIT_EXPECT_EQ(test, receive(test, a, MANY_WIRE), FORGED);
		KUNIT_EXPECT_EQ(test, receive(test, b, MANY_WIRE), FORGED);
		swap_bytes(chunk_at(a, i), chunk_at(b, i), len);
	}
	swap_bytes(a, b, 16);
	KUNIT_EXPECT_EQ(test, receive(test, a, MANY_WIRE), FORGED);
	KUNIT_EXPECT_EQ(test, receive(test, b, MANY_WIRE), FORGED);
}

/* Catches: a record of another key that opens under this one. */
static void other_secret(struct kunit *test)
{
	u8 other[OMERTA_SECRET_LEN] = { 3, 2, 1 };
	u8 *a = three_chunks(test, COUNTER), *b = room(test);
	unsigned int i;

	seal(b, MANY, 0, COUNTER, other);
	KUNIT_EXPECT_EQ(test, receive(test, b, MANY_WIRE), FORGED);
	for (i = 0; i < 3; i++) {
		u8 *wire = room(test);

		memcpy(wire, a, MANY_WIRE);
		memcpy(chunk_at(wire, i), chunk_at(b, i), i < 2 ? STEP : 116);
		KUNIT_EXPECT_EQ(test, receive(test, wire, MANY_WIRE), FORGED);
	}
}

/* Catches: a chunk class that can be changed on the way. */
static void change_class(struct kunit *test)
{
	static const u32 lengths[] = { 0, 100, 512, 513, 1024, 1025, MANY };
	u8 *wire = room(test);
	unsigned int i;
	u8 from, to;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (from = 0; from < 8; from++) {
			u32 len = seal(wire, lengths[i], from, COUNTER, secret);
			u8 right = wire[3];

			for (to = 0x10; to < 0x18; to++) {
				wire[3] = to;
				KUNIT_EXPECT_EQ_MSG(test,
						    receive(test, wire, len) ==
							    TAKEN,
						    to == right,
						    "%u bytes, %u", lengths[i],
						    to);
			}
		}
	}
}

/* Catches: a record that opens at another length than its own. */
static void every_other_length(struct kunit *test)
{
	u8 *wire = three_chunks(test, COUNTER);
	u32 len;

	for (len = 16; len < ROOM; len += TEST_SCALE(1, 7)) {
		if (len != MANY_WIRE)
			KUNIT_EXPECT_NE_MSG(test, receive(test, wire, len),
					    TAKEN, "length %u", len);
		cond_resched();
	}
	len = seal(wire, 100, 0, COUNTER, secret);
	memset(wire + len, 0, 512);
	for (len = 16; len < 500; len++)
		if (len != 16 + 100 + 16)
			KUNIT_EXPECT_NE_MSG(test, receive(test, wire, len),
					    TAKEN, "length %u", len);
}

static struct kunit_case tamper_cases[] = {
	KUNIT_CASE(flip_one_chunk),
	KUNIT_CASE(flip_three_chunks),
	KUNIT_CASE(swap_chunks),
	KUNIT_CASE(swap_tags),
	KUNIT_CASE(remove_chunk),
	KUNIT_CASE(duplicate_chunk),
	KUNIT_CASE(cut_at_boundary),
	KUNIT_CASE(grow_at_boundary),
	KUNIT_CASE(move_between_records),
	KUNIT_CASE(other_secret),
	KUNIT_CASE(change_class),
	KUNIT_CASE(every_other_length),
	{}
};

struct kunit_suite omerta_tamper_suite = {
	.name = "omerta_tamper",
	.exit = test_exit,
	.test_cases = tamper_cases,
};
