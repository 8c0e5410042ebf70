// SPDX-License-Identifier: GPL-2.0
/*
 * merge.c: which packets continue which, and the headers of all together.
 */
#include "datapath/merge.c"

#include "test_util.h"

#define MSS		1000
#define PAYLOAD4	(20 + 32)
#define PAYLOAD6	(40 + 32)

static void fix_ip(u8 *pkt)
{
	__sum16 check;

	if (!IS_IP4(pkt))
		return;
	memset(pkt + IP4_CHECK, 0, sizeof(check));
	check = ip_fast_csum(pkt, 5);
	memcpy(pkt + IP4_CHECK, &check, sizeof(check));
}

static void set_id(u8 *pkt, u16 id, u16 frag)
{
	put_unaligned_be16(id, pkt + IP4_ID);
	put_unaligned_be16(frag, pkt + IP4_FRAG);
	fix_ip(pkt);
}

/* A packet of a stream: number @i, with timestamps; only headers. */
static u32 make(u8 *pkt, bool v6, unsigned int i, u32 payload)
{
	u32 tcp = v6 ? 40 : 20;

	memset(pkt, 0, OMERTA_HEADERS_MAX);
	if (v6) {
		pkt[0] = 0x60;
		put_unaligned_be16(32 + payload, pkt + IP6_LEN);
		pkt[IP6_NEXT] = IPPROTO_TCP;
		pkt[7] = 64;
		pkt[23] = 1;
		pkt[39] = 2;
	} else {
		pkt[0] = 0x45;
		put_unaligned_be16(PAYLOAD4 + payload, pkt + IP4_LEN);
		put_unaligned_be16(0xfffe + i, pkt + IP4_ID);
		put_unaligned_be16(IP4_DF, pkt + IP4_FRAG);
		pkt[IP4_TTL] = 64;
		pkt[IP4_PROTO] = IPPROTO_TCP;
		pkt[15] = 1;
		pkt[19] = 2;
		fix_ip(pkt);
	}
	pkt[tcp + 1] = 80;
	pkt[tcp + 3] = 90;
	put_unaligned_be32(0xfffffe00 + i * MSS, pkt + tcp + TCP_SEQ);
	pkt[tcp + 11] = 5;
	pkt[tcp + 12] = 8 << 4;
	pkt[tcp + TCP_FLAGS] = ACK;
	pkt[tcp + 15] = 77;
	pkt[tcp + 20] = 1;
	pkt[tcp + 21] = 1;
	pkt[tcp + 22] = 8;
	pkt[tcp + 23] = 10;
	return tcp + 32 + payload;
}

/*
 * Start with the first packet of a stream, flip bits @change of byte @at of the second, and
 * return the result of merging it.
 */
static u32 second(bool v6, u32 at, u8 change, u32 payload)
{
	u8 pkt[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	u32 len;

	len = make(pkt, v6, 0, MSS);
	omerta_merge_start(&m, pkt, len);
	len = make(pkt, v6, 1, payload);
	pkt[at] ^= change;
	/* Otherwise the wrong checksum would hide the effect of the change. */
	if (at != 10 && at != 11)
		fix_ip(pkt);
	return omerta_merge_next(&m, pkt, len);
}

static void stream(struct kunit *test, bool v6)
{
	u8 pkt[OMERTA_HEADERS_MAX], hdr[OMERTA_HEADERS_MAX];
	u32 tcp = v6 ? 40 : 20, len, i;
	struct omerta_merge m;

	len = make(pkt, v6, 0, MSS);
	omerta_merge_start(&m, pkt, len);
	KUNIT_ASSERT_TRUE(test, m.active);
	KUNIT_EXPECT_EQ(test, m.mss, MSS);
	KUNIT_EXPECT_EQ(test, m.hdr_len, tcp + 32);
	for (i = 1; i < 40; i++) {
		len = make(pkt, v6, i, MSS);
		KUNIT_ASSERT_EQ(test, MSS, omerta_merge_next(&m, pkt, len));
		KUNIT_ASSERT_TRUE(test, m.active);
	}
	len = make(pkt, v6, i, 10);
	pkt[tcp + TCP_FLAGS] |= PSH;
	KUNIT_ASSERT_EQ(test, 10, omerta_merge_next(&m, pkt, len));
	KUNIT_EXPECT_FALSE(test, m.active);
	KUNIT_EXPECT_EQ(test, m.n, 41);
	KUNIT_EXPECT_FALSE(test, m.fixed_id);

	/* The headers of all but the first three */
	omerta_merge_headers(&m, 3, 37 * MSS + 10,
			     m.flags, hdr);
	make(pkt, v6, 3, 37 * MSS + 10);
	pkt[tcp + TCP_FLAGS] |= PSH;
	KUNIT_EXPECT_MEMEQ(test, hdr, pkt, m.hdr_len);
}

static void stream_v4(struct kunit *test)
{
	stream(test, false);
}

static void stream_v6(struct kunit *test)
{
	stream(test, true);
}

/* Every bit of the headers counts, but for those that may differ. */
static void bits(struct kunit *test, bool v6)
{
	u32 tcp = v6 ? 40 : 20, at, bit;

	for (at = 0; at < tcp + 32; at++)
		for (bit = 0; bit < 8; bit++) {
			bool free = at == tcp + TCP_FLAGS && (1 << bit) & (PSH | FIN);
			/* TCP's checksum is not looked at. */
			free |= at == tcp + 16 || at == tcp + 17;
			/* This makes it the id of the first. */
			free |= !v6 && at == IP4_ID + 1 && !bit;
			/* Shorter is allowed, longer is not. */
			free |= v6 ? at == 4 || at == 5 : at == 2 || at == 3;
			if (free)
				continue;
			KUNIT_EXPECT_EQ_MSG(test, 0, second(v6, at, 1 << bit,
							    MSS),
					    "byte %u bit %u", at, bit);
		}
	KUNIT_EXPECT_EQ(test, MSS, second(v6, tcp + TCP_FLAGS, PSH, MSS));
	KUNIT_EXPECT_EQ(test, MSS, second(v6, tcp + TCP_FLAGS, FIN, MSS));
}

static void bits_v4(struct kunit *test)
{
	bits(test, false);
}

static void bits_v6(struct kunit *test)
{
	bits(test, true);
}

static void lengths(struct kunit *test)
{
	u8 pkt[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	bool v6;
	int i;

	for (i = 0; i < 2; i++) {
		v6 = i;
		KUNIT_EXPECT_EQ(test, 1, second(v6, 0, 0, 1));
		KUNIT_EXPECT_EQ(test, MSS, second(v6, 0, 0, MSS));
		KUNIT_EXPECT_EQ(test, 0, second(v6, 0, 0, MSS + 1));
		KUNIT_EXPECT_EQ(test, 0, second(v6, 0, 0, 0));
		/* More than there is */
		omerta_merge_start(&m, pkt, make(pkt, v6, 0, MSS));
		make(pkt, v6, 1, MSS);
		KUNIT_EXPECT_EQ(test, 0, omerta_merge_next(&m, pkt, m.hdr_len + MSS - 1));
		KUNIT_EXPECT_EQ(test, 0, omerta_merge_next(&m, pkt, m.hdr_len - 1));
	}
}

static void fixed_ids(struct kunit *test)
{
	u8 pkt[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	u32 len;

	len = make(pkt, false, 0, MSS);
	set_id(pkt, 7, IP4_DF);
	omerta_merge_start(&m, pkt, len);
	make(pkt, false, 1, MSS);
	set_id(pkt, 7, IP4_DF);
	KUNIT_ASSERT_EQ(test, MSS, omerta_merge_next(&m, pkt, len));
	KUNIT_EXPECT_TRUE(test, m.fixed_id);
	/* Now it has to stay. */
	make(pkt, false, 2, MSS);
	set_id(pkt, 9, IP4_DF);
	KUNIT_EXPECT_EQ(test, 0, omerta_merge_next(&m, pkt, len));
	set_id(pkt, 7, IP4_DF);
	KUNIT_EXPECT_EQ(test, MSS, omerta_merge_next(&m, pkt, len));

	/* Only of what may not be cut to fragments */
	make(pkt, false, 0, MSS);
	set_id(pkt, 7, 0);
	omerta_merge_start(&m, pkt, len);
	KUNIT_ASSERT_TRUE(test, m.active);
	make(pkt, false, 1, MSS);
	set_id(pkt, 7, 0);
	KUNIT_EXPECT_EQ(test, 0, omerta_merge_next(&m, pkt, len));
	set_id(pkt, 8, 0);
	KUNIT_EXPECT_EQ(test, MSS, omerta_merge_next(&m, pkt, len));
}

/* Packets that must not be the first of a merged one */
static void no_start(struct kunit *test)
{
	static const u8 flags[] = {
		0, FIN | ACK, PSH | ACK, 0x02, 0x04 | ACK, 0x20 | ACK,
		0x40 | ACK, 0x80 | ACK,
	};
	u8 pkt[OMERTA_HEADERS_MAX];
	struct omerta_merge m;
	unsigned int i;
	u32 len;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		len = make(pkt, false, 0, MSS);
		pkt[20 + TCP_FLAGS] = flags[i];
		omerta_merge_start(&m, pkt, len);
		KUNIT_EXPECT_FALSE_MSG(test, m.active, "flags %#x", flags[i]);
	}
	omerta_merge_start(&m, pkt, make(pkt, false, 0, 0));
	KUNIT_EXPECT_FALSE(test, m.active);
	len = make(pkt, false, 0, MSS);
	pkt[6] = 0x20;
	fix_ip(pkt);
	omerta_merge_start(&m, pkt, len);
	KUNIT_EXPECT_FALSE(test, m.active);
	len = make(pkt, false, 0, MSS);
	pkt[9] = IPPROTO_UDP;
	fix_ip(pkt);
	omerta_merge_start(&m, pkt, len);
	KUNIT_EXPECT_FALSE(test, m.active);
	len = make(pkt, false, 0, MSS);
	pkt[32] = 4 << 4;
	omerta_merge_start(&m, pkt, len);
	KUNIT_EXPECT_FALSE(test, m.active);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(stream_v4),
	KUNIT_CASE(stream_v6),
	KUNIT_CASE(bits_v4),
	KUNIT_CASE(bits_v6),
	KUNIT_CASE(lengths),
	KUNIT_CASE(fixed_ids),
	KUNIT_CASE(no_start),
	{}
};

struct kunit_suite omerta_merge_suite = {
	.name = "omerta_merge",
	.test_cases = cases,
};
