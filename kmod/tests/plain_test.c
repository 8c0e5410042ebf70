// SPDX-License-Identifier: GPL-2.0
/*
 * record.c: the structure of a record's plaintext. An authenticated peer can make the
 * receiver parse any of these.
 */
#include "wire/record.h"

#include <linux/errno.h>
#include <linux/string.h>

#include "test_util.h"

#define MAX_INNER	64

/**
 * struct model - what a second reading of the rules finds in a plaintext
 * @count: number of packets, or -EBADMSG
 * @inner: the first of them
 */
struct model {
	int count;
	struct omerta_inner inner[MAX_INNER];
};

static bool byte_at(const u8 *p, u32 len, u32 i, u32 *value)
{
	if (i >= len)
		return false;
	*value = p[i];
	return true;
}

static bool pair_at(const u8 *p, u32 len, u32 i, u32 *value)
{
	u32 hi, lo;

	if (!byte_at(p, len, i, &hi) || !byte_at(p, len, i + 1, &lo))
		return false;
	*value = hi * 256 + lo;
	return true;
}

/* Length of the packet at @i, or 0: a version, a whole header, no overrun. */
static u32 model_packet(const u8 *p, u32 len, u32 i)
{
	u32 first, total, unused;

	if (!byte_at(p, len, i, &first))
		return 0;
	if (first >= 0x60 && first <= 0x6f) {
		if (!pair_at(p, len, i + 4, &total) ||
		    !byte_at(p, len, i + 39, &unused))
			return 0;
		total += 40;
	} else if (first >= 0x45 && first <= 0x4f) {
		if (!pair_at(p, len, i + 2, &total) ||
		    !byte_at(p, len, i + 19, &unused))
			return 0;
		if (total < 4 * (first - 0x40))
			return 0;
	} else {
		return 0;
	}
	return byte_at(p, len, i + total - 1, &unused) ? total : 0;
}

static bool model_rest(const u8 *p, u32 len, u32 i)
{
	u32 from = i;

	for (; i < len; i++)
		if (p[i] || i - from >= 15)
			return false;
	return true;
}

static int model_batch(struct model *m, const u8 *p, u32 len)
{
	u32 zero, count, i = 4, n, k;

	if (!byte_at(p, len, 1, &zero) || zero || !pair_at(p, len, 2, &count))
		return -EBADMSG;
	for (k = 0; k < count; k++) {
		if (!pair_at(p, len, i, &n))
			return -EBADMSG;
		if (!model_packet(p, len, i + 2) ||
		    model_packet(p, len, i + 2) != n)
			return -EBADMSG;
		if (k < MAX_INNER)
			m->inner[k] = (struct omerta_inner){ i + 2, n };
		i += 2 + n;
		if (n % 2) {
			if (!byte_at(p, len, i, &zero) || zero)
				return -EBADMSG;
			i++;
		}
	}
	return count && model_rest(p, len, i) ? count : -EBADMSG;
}

static void model_check(struct model *m, const u8 *p, u32 len)
{
	u32 n;

	if (p[0] == 0x02) {
		m->count = model_batch(m, p, len);
		return;
	}
	n = model_packet(p, len, 0);
	m->count = n && model_rest(p, len, n) ? 1 : -EBADMSG;
	m->inner[0] = (struct omerta_inner){ 0, n };
}

/* Judge a plaintext, compare with the model, and step through its packets. */
static int judge(struct kunit *test, const u8 *src, u32 len)
{
	u8 *plain = test_edge(test, 0, len);
	struct omerta_inner inner = { 0 };
	struct model m = { 0 };
	int count, i;

	memcpy(plain, src, len);
	model_check(&m, plain, len);
	count = omerta_record_check(plain, len);
	KUNIT_ASSERT_EQ_MSG(test, count, m.count, "%u bytes: %02x", len,
			    plain[0]);
	for (i = 0; i < count && i < MAX_INNER; i++) {
		KUNIT_ASSERT_EQ(test, omerta_record_next(plain, &inner),
				plain[0] == 0x02);
		KUNIT_ASSERT_EQ(test, inner.off, m.inner[i].off);
		KUNIT_ASSERT_EQ(test, inner.len, m.inner[i].len);
		KUNIT_ASSERT_LE(test, inner.off + inner.len, len);
	}
	return count;
}

static u32 put_v4(u8 *p, u32 total)
{
	memset(p, 0xee, total);
	p[0] = 0x45;
	p[2] = total >> 8;
	p[3] = total;
	return total;
}

static u32 put_v6(u8 *p, u32 total)
{
	memset(p, 0xee, total);
	p[0] = 0x60;
	p[4] = (total - 40) >> 8;
	p[5] = total - 40;
	return total;
}

/* A batch of @n packets of lengths from @lens, 4 and 6 in turns. */
static u32 put_batch(u8 *p, const u32 *lens, u32 n)
{
	u32 off = 4, i;

	p[0] = 0x02;
	p[1] = 0;
	p[2] = n >> 8;
	p[3] = n;
	for (i = 0; i < n; i++) {
		p[off] = lens[i] >> 8;
		p[off + 1] = lens[i];
		if (lens[i] >= 40 && i % 2)
			put_v6(p + off + 2, lens[i]);
		else
			put_v4(p + off + 2, lens[i]);
		off += 2 + lens[i];
		if (lens[i] % 2)
			p[off++] = 0;
	}
	return off;
}

static u8 *scratch(struct kunit *test)
{
	u8 *p = kunit_kzalloc(test, 68 * 1024, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	return p;
}

/* Catches: a packet refused, or one that ends behind the plaintext taken. */
static void single_packets(struct kunit *test)
{
	u8 *p = scratch(test);
	u32 len;

	for (len = 20; len < 2000; len++) {
		put_v4(p, len);
		KUNIT_ASSERT_EQ(test, judge(test, p, len), 1);
		KUNIT_ASSERT_EQ(test, judge(test, p, len - 1), -EBADMSG);
	}
	for (len = 40; len < 2000; len++) {
		put_v6(p, len);
		KUNIT_ASSERT_EQ(test, judge(test, p, len), 1);
		KUNIT_ASSERT_EQ(test, judge(test, p, len - 1), -EBADMSG);
	}
	KUNIT_EXPECT_EQ(test, judge(test, p, put_v4(p, 65475)), 1);
	KUNIT_EXPECT_EQ(test, judge(test, p, put_v6(p, 65475)), 1);
}

/* Catches: a header read beyond a plaintext that is too short for it. */
static void every_prefix(struct kunit *test)
{
	u8 *p = scratch(test);
	u32 len;

	put_v4(p, 60);
	for (len = 1; len < 60; len++)
		KUNIT_EXPECT_EQ(test, judge(test, p, len), -EBADMSG);
	put_v6(p, 60);
	for (len = 1; len < 60; len++)
		KUNIT_EXPECT_EQ(test, judge(test, p, len), -EBADMSG);
}

/* Catches: header length and total length that contradict each other. */
static void v4_header_lengths(struct kunit *test)
{
	u8 *p = scratch(test);
	u32 ihl, total;

	for (ihl = 0; ihl < 16; ihl++) {
		for (total = 0; total < 80; total++) {
			bool good = ihl >= 5 && total >= 4 * ihl &&
				    total <= 64 && total > 48;

			put_v4(p, 64);
			memset(p + 20, 0, 44);
			p[0] = 0x40 + ihl;
			p[2] = 0;
			p[3] = total;
			KUNIT_ASSERT_EQ_MSG(test, judge(test, p, 64),
					    good ? 1 : -EBADMSG,
					    "ihl %u, total %u", ihl, total);
		}
	}
}

/* Catches: reserved first bytes taken for packets. */
static void first_bytes(struct kunit *test)
{
	u8 *p = scratch(test);
	u32 i;

	for (i = 0; i < 256; i++) {
		put_v4(p, 64);
		p[0] = i;
		p[4] = 0;
		p[5] = 24;
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, 64),
				    (i >= 0x45 && i <= 0x4f) || i >> 4 == 6 ?
					    1 : -EBADMSG,
				    "first byte %u", i);
	}
}

/* Check that only 0 to 15 zeros may follow the @len good bytes at @p. */
static void check_trailer(struct kunit *test, u8 *p, u32 len, int count)
{
	u32 pad, i;

	memset(p + len, 0, 32);
	for (pad = 0; pad < 32; pad++)
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len + pad),
				    pad < 16 ? count : -EBADMSG,
				    "%u zeros", pad);
	for (pad = 1; pad < 16; pad++) {
		for (i = 0; i < pad; i++) {
			p[len + i] = 1;
			KUNIT_EXPECT_EQ(test, judge(test, p, len + pad),
					-EBADMSG);
			p[len + i] = 0;
		}
	}
}

/* Catches: hidden data behind a packet or a batch, or padding refused. */
static void trailing_bytes(struct kunit *test)
{
	static const u32 even[] = { 20, 40, 1000 }, odd[] = { 33, 61, 21 };
	u8 *p = scratch(test);

	check_trailer(test, p, put_v4(p, 84), 1);
	check_trailer(test, p, put_v4(p, 85), 1);
	check_trailer(test, p, put_v6(p, 71), 1);
	check_trailer(test, p, put_batch(p, even, 3), 3);
	check_trailer(test, p, put_batch(p, odd, 3), 3);
	check_trailer(test, p, put_batch(p, odd, 1), 1);
}

/* Catches: good batches refused, or their packets found at wrong places. */
static void good_batches(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(3);
	u8 *p = scratch(test);
	u32 lens[MAX_INNER], n, i, round;

	for (round = 0; round < TEST_SCALE(20000, 4000); round++) {
		n = 1 + test_below(&rng, test_below(&rng, 8) ? 5 : MAX_INNER);
		for (i = 0; i < n; i++)
			lens[i] = 20 + test_below(&rng, 300);
		KUNIT_ASSERT_EQ(test, judge(test, p, put_batch(p, lens, n)),
				n);
	}
	n = 63491 / 22;
	for (i = 0; i < n; i++) {
		put_v4(p + 4 + 22 * i + 2, 20);
		p[4 + 22 * i] = 0;
		p[4 + 22 * i + 1] = 20;
	}
	p[0] = 2;
	p[1] = 0;
	p[2] = n >> 8;
	p[3] = n;
	KUNIT_EXPECT_EQ(test, judge(test, p, 4 + 22 * n), n);
}

/* Catches: a batch that comes out longer than it was planned. */
static void batch_lengths(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(12);
	u8 *p = test_edge(test, 0, TEST_EDGE_MAX);
	u32 lens[40], n, len = 0;

	for (n = 0; n < ARRAY_SIZE(lens); n++) {
		lens[n] = 40 + test_below(&rng, 1400);
		len = omerta_batch_with(len, lens[n]);
		KUNIT_ASSERT_EQ(test, put_batch(p, lens, n + 1), len);
	}
}

/* Catches: a truncated batch that is accepted. It is cut at each byte in turn. */
static void truncated_batches(struct kunit *test)
{
	static const u32 lens[] = { 20, 41, 21, 77 };
	u8 *p = scratch(test);
	u32 n, len, cut;

	for (n = 1; n <= 4; n++) {
		len = put_batch(p, lens, n);
		for (cut = 1; cut < len; cut++)
			KUNIT_EXPECT_EQ_MSG(test, judge(test, p, cut),
					    -EBADMSG, "%u of %u", cut, len);
	}
}

/* Catches: each rule of the batch's own header and lengths dropped. */
static void bad_batches(struct kunit *test)
{
	static const u32 lens[] = { 21, 44 };
	u8 *p = scratch(test);
	u32 len = put_batch(p, lens, 2), i;

	KUNIT_ASSERT_EQ(test, judge(test, p, len), 2);
	for (i = 1; i < 256; i++) {
		p[1] = i;
		KUNIT_EXPECT_EQ(test, judge(test, p, len), -EBADMSG);
	}
	p[1] = 0;
	for (i = 0; i < 256; i++) {
		p[3] = i;
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len),
				    i == 2 ? 2 : -EBADMSG, "count %u", i);
	}
	p[3] = 2;
	for (i = 0; i < 256; i++) {
		p[5] = i;
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len),
				    i == 21 ? 2 : -EBADMSG, "length %u", i);
	}
	p[5] = 21;
	for (i = 1; i < 256; i++) {
		p[27] = i;
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len), -EBADMSG,
				    "pad byte %u", i);
	}
	memset(p, 0, 20);
	p[0] = 0x02;
	for (len = 4; len < 20; len++)
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len), -EBADMSG,
				    "no packets, %u bytes", len);
}

/* Catches: recursion, so that a batch hides in a batch. */
static void nested_batch(struct kunit *test)
{
	static const u32 lens[] = { 20, 20 };
	u8 *p = scratch(test);
	u32 len = put_batch(p + 6, lens, 2);

	p[0] = 0x02;
	p[3] = 1;
	p[5] = len;
	KUNIT_EXPECT_EQ(test, judge(test, p, 6 + len), -EBADMSG);
	p[3] = 2;
	p[5] = 20;
	len = put_batch(p, lens, 2);
	p[28] = 0x02;
	KUNIT_EXPECT_EQ(test, judge(test, p, len), -EBADMSG);
}

/* Catches: an IP header that says another length than the batch does. */
static void batch_length_mismatch(struct kunit *test)
{
	static const u32 lens[] = { 60, 60 };
	u8 *p = scratch(test);
	u32 len = put_batch(p, lens, 2);
	u32 i;

	for (i = 0; i < 256; i++) {
		p[6 + 3] = i;
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len),
				    i == 60 ? 2 : -EBADMSG, "v4 says %u", i);
	}
	p[6 + 3] = 60;
	for (i = 0; i < 256; i++) {
		p[68 + 5] = i;
		KUNIT_EXPECT_EQ_MSG(test, judge(test, p, len),
				    i == 20 ? 2 : -EBADMSG, "v6 says %u", i);
	}
}

/* A good plaintext, from a few bytes to some hundred. */
static u32 any_good(struct test_rng *rng, u8 *p)
{
	u32 lens[4], n, i, len;

	switch (test_below(rng, 4)) {
	case 0:
		len = put_v4(p, 20 + test_below(rng, 80));
		break;
	case 1:
		len = put_v6(p, 40 + test_below(rng, 60));
		break;
	default:
		n = 1 + test_below(rng, 4);
		for (i = 0; i < n; i++)
			lens[i] = 20 + test_below(rng, 50);
		len = put_batch(p, lens, n);
	}
	i = test_below(rng, 17);
	memset(p + len, 0, i);
	return len + i;
}

static void mutate(struct test_rng *rng, u8 *p, u32 *len)
{
	static const u8 likely[] = { 0, 1, 2, 16, 20, 40, 0x45, 0x60, 0xff };
	u32 at = test_below(rng, test_below(rng, 2) ? *len : min(*len, 8u));

	switch (test_below(rng, 5)) {
	case 0:
		p[at] ^= 1 << test_below(rng, 8);
		break;
	case 1:
		p[at] = likely[test_below(rng, ARRAY_SIZE(likely))];
		break;
	case 2:
		p[at] += test_below(rng, 2) ? 1 : -1;
		break;
	case 3:
		*len = 1 + at;
		break;
	default:
		memmove(p + at, p + at + 1, *len - at);
		*len = max(*len - 1, 1u);
	}
}

/* Catches: reads past the end and misjudged structure, near good input. */
static void fuzz_mutations(struct kunit *test)
{
	struct test_rng rng = TEST_RNG(4);
	u8 *p = scratch(test);
	u32 round, good = 0, len, n;

	for (round = 0; round < TEST_SCALE(3000000, 200000); round++) {
		len = any_good(&rng, p);
		for (n = test_below(&rng, 4); n; n--)
			mutate(&rng, p, &len);
		good += judge(test, p, len) > 0;
		if (round % 256 == 0)
			cond_resched();
	}
	/* Both verdicts must be common, or the loop tests little. */
	KUNIT_EXPECT_LE(test, round / 10, good);
	KUNIT_EXPECT_LE(test, good, round - round / 10);
}

/* Catches: the same with input that is nothing but random. */
static void fuzz_random(struct kunit *test)
{
	static const u8 starts[] = { 0x02, 0x45, 0x46, 0x60, 0 };
	struct test_rng rng = TEST_RNG(5);
	u8 *p = scratch(test);
	u32 round, len;

	for (round = 0; round < TEST_SCALE(1500000, 100000); round++) {
		len = 1 + test_below(&rng, 100);
		test_random(&rng, p, len);
		p[0] = starts[test_below(&rng, ARRAY_SIZE(starts))];
		if (len > 4 && test_below(&rng, 2)) {
			p[1] = 0;
			p[2] = 0;
			p[4] = 0;
		}
		judge(test, p, len);
		if (round % 256 == 0)
			cond_resched();
	}
}

static struct kunit_case plain_cases[] = {
	KUNIT_CASE(single_packets),
	KUNIT_CASE(every_prefix),
	KUNIT_CASE(v4_header_lengths),
	KUNIT_CASE(first_bytes),
	KUNIT_CASE(trailing_bytes),
	KUNIT_CASE(good_batches),
	KUNIT_CASE(batch_lengths),
	KUNIT_CASE(truncated_batches),
	KUNIT_CASE(bad_batches),
	KUNIT_CASE(nested_batch),
	KUNIT_CASE(batch_length_mismatch),
	KUNIT_CASE(fuzz_mutations),
	KUNIT_CASE(fuzz_random),
	{}
};

struct kunit_suite omerta_plain_suite = {
	.name = "omerta_plain",
	.exit = test_exit,
	.test_cases = plain_cases,
};
