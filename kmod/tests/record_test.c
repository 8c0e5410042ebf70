// SPDX-License-Identifier: GPL-2.0
/*
 * record.c: layout and header of records, and known answers for whole records.
 */
#include "wire/record.c"

#include "test_util.h"
#include "vec_records.h"

#define LONGEST		70000
#define ILLEGAL		U32_MAX

/* A model of the legal lengths, made by building records rather than by
 * dividing: for each datagram length its plaintext length and chunk count.
 */
struct legal {
	u32 plain_len[LONGEST + 1];
	u16 n_chunks[LONGEST + 1];
};

static bool smallest_for(u8 class, u32 plain_len)
{
	return plain_len <= 512u << class &&
	       (!class || plain_len > 512u << (class - 1));
}

static void build_legal(struct legal *m, u8 class)
{
	u32 size = 512u << class, full, last;

	memset(m->plain_len, 0xff, sizeof(m->plain_len));
	for (full = 0; full < 128; full++) {
		for (last = full ? 1 : 0; last <= size; last++) {
			u32 wire = 16 + full * (size + 16) + last + 16;

			if (wire > 65507)
				return;
			if (!full && !smallest_for(class, last))
				continue;
			m->plain_len[wire] = full * size + last;
			m->n_chunks[wire] = full + 1;
		}
	}
}

static struct legal *new_legal(struct kunit *test)
{
	struct legal *m = kunit_kmalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	return m;
}

static void make_header(u8 *wire, u8 type, u32 key_id, u64 counter)
{
	unsigned int i;

	wire[0] = 0x4f;
	wire[1] = 0x4d;
	wire[2] = 0x52;
	wire[3] = type;
	for (i = 0; i < 4; i++)
		wire[4 + i] = key_id >> 8 * i;
	for (i = 0; i < 8; i++)
		wire[8 + i] = counter >> 8 * i;
}

/* Catches: a length accepted or cut otherwise than the format says. */
static void parse_every_length(struct kunit *test)
{
	struct legal *m = new_legal(test);
	u8 *wire = test_edge(test, 0, 16);
	struct omerta_layout l;
	u8 class;
	u32 len;

	for (class = 0; class < 8; class++) {
		build_legal(m, class);
		make_header(wire, 0x10 + class, 1, 0);
		for (len = 16; len <= LONGEST; len++) {
			int err = omerta_record_parse(&l, wire, len);

			if (m->plain_len[len] == ILLEGAL) {
				KUNIT_ASSERT_EQ_MSG(test, err, -EBADMSG,
						    "class %u, length %u",
						    class, len);
				continue;
			}
			KUNIT_ASSERT_EQ_MSG(test, err, 0,
					    "class %u, length %u", class, len);
			KUNIT_ASSERT_EQ(test, l.plain_len, m->plain_len[len]);
			KUNIT_ASSERT_EQ(test, l.n_chunks, m->n_chunks[len]);
			KUNIT_ASSERT_EQ(test, l.wire_len, len);
			KUNIT_ASSERT_EQ(test, l.class, class);
		}
		cond_resched();
	}
}

/* Catches: foreign datagrams taken for data, or for malformed data. */
static void parse_magic_and_type(struct kunit *test)
{
	u8 *wire = test_edge(test, 0, 16);
	struct omerta_layout l;
	unsigned int i;

	make_header(wire, 0x10, 1, 0);
	for (i = 0; i < 24; i++) {
		wire[i / 8] ^= 1 << i % 8;
		KUNIT_EXPECT_EQ(test, omerta_record_parse(&l, wire, 32),
				-EPROTONOSUPPORT);
		wire[i / 8] ^= 1 << i % 8;
	}
	for (i = 0; i < 256; i++) {
		int want = -EPROTONOSUPPORT;

		if (i >= 0x10 && i <= 0x17)
			want = i == 0x10 ? 0 : -EBADMSG;
		make_header(wire, i, 1, 0);
		KUNIT_EXPECT_EQ_MSG(test, omerta_record_parse(&l, wire, 32),
				    want, "type %u", i);
	}
}

/* Catches: key id 0 let through, or a counter whose nonce would overflow. */
static void parse_key_id_and_counter(struct kunit *test)
{
	static const struct {
		u32 key_id;
		u64 counter;
		int want;
	} rows[] = {
		{ 0, 0, -EBADMSG },
		{ 1, 0, 0 },
		{ U32_MAX, 0, 0 },
		{ 0x01000000, 0, 0 },
		{ 1, (1ULL << 56) - (1ULL << 16) - 1, 0 },
		{ 1, (1ULL << 56) - (1ULL << 16), -EBADMSG },
		{ 1, (1ULL << 56) - 1, -EBADMSG },
		{ 1, 1ULL << 56, -EBADMSG },
		{ 1, 1ULL << 63, -EBADMSG },
		{ 1, U64_MAX, -EBADMSG },
	};
	u8 *wire = test_edge(test, 0, 16);
	struct omerta_layout l;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		make_header(wire, 0x10, rows[i].key_id, rows[i].counter);
		KUNIT_EXPECT_EQ_MSG(test, omerta_record_parse(&l, wire, 32),
				    rows[i].want, "row %u", i);
	}
}

/* Catches: a sender that lays out what a receiver refuses or cuts apart. */
static void layout_then_parse(struct kunit *test)
{
	u8 *wire = test_edge(test, 0, 16);
	struct omerta_layout out, in;
	u8 class;
	u32 len;

	for (class = 0; class < 8; class++) {
		u32 most = OMERTA_RECORD_MAX_PLAIN(class);

		for (len = 0; len <= most; len += TEST_SCALE(1, 3)) {
			omerta_record_layout(&out, len, class);
			omerta_record_header(&out, wire, 1, 0);
			KUNIT_ASSERT_LE(test, out.wire_len, 65507u);
			KUNIT_ASSERT_EQ_MSG(test,
					    omerta_record_parse(&in, wire,
								out.wire_len),
					    0, "class %u, %u bytes", class,
					    len);
			KUNIT_ASSERT_EQ(test, in.plain_len, len);
			KUNIT_ASSERT_EQ(test, in.class, out.class);
			KUNIT_ASSERT_EQ(test, in.n_chunks, out.n_chunks);
			KUNIT_ASSERT_EQ(test, in.wire_len, out.wire_len);
			if (out.n_chunks > 1)
				KUNIT_ASSERT_EQ(test, out.class, class);
		}
		cond_resched();
	}
}

/* Catches: a largest MTU that does not fit, or that wastes room. */
static void max_plain(struct kunit *test)
{
	struct legal *m = new_legal(test);
	u32 len, most;
	u8 class;

	KUNIT_EXPECT_EQ(test, OMERTA_RECORD_MAX_PLAIN(0), 63491u);
	KUNIT_EXPECT_EQ(test, OMERTA_RECORD_MAX_PLAIN(7), 65475u);
	for (class = 0; class < 8; class++) {
		build_legal(m, class);
		for (most = 0, len = 16; len <= LONGEST; len++)
			if (m->plain_len[len] != ILLEGAL)
				most = max(most, m->plain_len[len]);
		KUNIT_EXPECT_EQ_MSG(test, OMERTA_RECORD_MAX_PLAIN(class), most,
				    "class %u", class);
	}
}

/* Catches: a path's MTU that does not fit the path, or that wastes room. */
static void fit(struct kunit *test)
{
	struct omerta_layout l;
	u8 class;
	u32 room;

	KUNIT_EXPECT_EQ(test, omerta_record_fit(0, 0), 0u);
	KUNIT_EXPECT_EQ(test, omerta_record_fit(32, 0), 0u);
	KUNIT_EXPECT_EQ(test, omerta_record_fit(1372, 0), 1308u);
	for (class = 0; class < 8; class++) {
		for (room = 33; room <= 65507; room += TEST_SCALE(1, 3)) {
			u32 len = omerta_record_fit(room, class);

			omerta_record_layout(&l, len, class);
			KUNIT_ASSERT_LE(test, l.wire_len, room);
			omerta_record_layout(&l, len + 1, class);
			KUNIT_ASSERT_LE(test, room + 1, l.wire_len);
		}
		cond_resched();
	}
}

/* Catches: a header in host order, or with its fields out of place. */
static void header_bytes(struct kunit *test)
{
	static const u8 want[16] = {
		0x4f, 0x4d, 0x52, 0x13, 0x04, 0x03, 0x02, 0x01,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	};
	u8 *wire = test_edge(test, 0, 16);
	struct omerta_layout l = { .class = 3 };

	omerta_record_header(&l, wire, 0x01020304, 0x1122334455667788ULL);
	KUNIT_EXPECT_MEMEQ(test, wire, want, 16);
}

/* Catches: chunks that overlap, leave a gap, or carry a wrong nonce. */
static void chunks_tile_record(struct kunit *test)
{
	static const u32 lengths[] = { 0, 1, 512, 513, 1024, 1025, 9000, 63491 };
	u8 *base = test_edge(test, 0, LONGEST);
	struct omerta_layout l;
	unsigned int n, i;
	u8 class;

	for (n = 0; n < 8 * ARRAY_SIZE(lengths); n++) {
		u8 *plain = base, *sealed = base + 16;

		class = n % 8;
		omerta_record_layout(&l, lengths[n / 8], class);
		for (i = 0; i < l.n_chunks; i++) {
			struct omerta_chunk c = { .plain = base,
						  .sealed = base };
			bool last = i == l.n_chunks - 1u;

			omerta_record_chunk(&l, 0xabcdef, i, &c);
			KUNIT_ASSERT_PTR_EQ(test, c.plain, plain);
			KUNIT_ASSERT_PTR_EQ(test, c.sealed, sealed);
			KUNIT_ASSERT_EQ(test, c.nonce,
					0xabcdefULL << 8 | (last ? 128 : 0) | i);
			if (!last)
				KUNIT_ASSERT_EQ(test, c.len, 512u << class);
			plain += c.len;
			sealed += c.len + 16;
		}
		KUNIT_EXPECT_EQ(test, plain - base, lengths[n / 8]);
		KUNIT_EXPECT_EQ(test, sealed - base, l.wire_len);
	}
}

/* Catches: padding that exceeds the MTU or the datagram, or shortens. */
static void padding(struct kunit *test)
{
	static const u32 mtus[] = { 68, 512, 1388, 1392, 9000, 63491, 65535 };
	u32 i, len;
	u8 class;

	for (i = 0; i < 8 * ARRAY_SIZE(mtus); i++) {
		u32 mtu = mtus[i / 8], most;

		class = i % 8;
		most = min(mtu, OMERTA_RECORD_MAX_PLAIN(class));
		for (len = 20; len <= most; len += TEST_SCALE(1, 17)) {
			u32 got = omerta_record_pad(len, mtu, class);

			KUNIT_ASSERT_LE(test, len, got);
			KUNIT_ASSERT_LE(test, got, most);
			KUNIT_ASSERT_LE(test, got - len, 15u);
			KUNIT_ASSERT_TRUE_MSG(test, got % 16 == 0 ||
					      got == most, "%u of %u", len,
					      mtu);
		}
		KUNIT_EXPECT_EQ(test, omerta_record_pad(most + 1, mtu, class),
				most + 1);
	}
	KUNIT_EXPECT_EQ(test, omerta_record_pad(1, 1388, 0), 16u);
	KUNIT_EXPECT_EQ(test, omerta_record_pad(1376, 1388, 0), 1376u);
	KUNIT_EXPECT_EQ(test, omerta_record_pad(1377, 1388, 0), 1388u);
}

/* Catches: parts of a plaintext written beside the chunks they belong to. */
static void parts_tile_chunks(struct kunit *test)
{
	static const u32 lengths[] = { 1, 511, 512, 513, 1500, 5000, 63491 };
	struct test_rng rng = TEST_RNG(11);
	u8 *plain = test_edge(test, 0, LONGEST);
	u8 *wire = test_edge(test, 1, LONGEST);
	u8 *want = test_edge(test, 2, LONGEST);
	u32 i, n, off, end;

	for (i = 0; i < 8 * ARRAY_SIZE(lengths); i++) {
		struct omerta_layout l;

		omerta_record_layout(&l, lengths[i / 8], i % 8);
		test_random(&rng, plain, l.plain_len);
		end = l.plain_len - test_below(&rng, min(l.plain_len, 16u));
		memset(wire, 0xaa, l.wire_len);
		memset(want, 0xaa, l.wire_len);
		memset(plain + end, 0, l.plain_len - end);
		for (n = 0; n < l.n_chunks; n++) {
			struct omerta_chunk c = { plain, want };

			omerta_record_chunk(&l, 1, n, &c);
			memcpy(c.sealed, c.plain, c.len);
		}
		for (off = 0; off < end; off += n) {
			n = min(end - off, 1 + test_below(&rng, 1400));
			omerta_record_put(&l, wire, off, plain + off, n);
		}
		omerta_record_put(&l, wire, end, NULL, l.plain_len - end);
		KUNIT_ASSERT_MEMEQ(test, wire, want, l.wire_len);
	}
}

static void seal_record(const struct omerta_layout *l, u8 *wire, u8 *plain,
			const struct vec_record *v, const u8 *secret)
{
	unsigned int i;

	omerta_record_header(l, wire, v->key_id, v->counter);
	for (i = 0; i < l->n_chunks; i++) {
		struct omerta_chunk c = { .plain = plain, .sealed = wire };

		omerta_record_chunk(l, v->counter, i, &c);
		omerta_chunk_seal(NULL, &c, 1, secret);
	}
}

static void known_answer(struct kunit *test, const struct vec_record *v)
{
	u8 secret[OMERTA_SECRET_LEN], *plain, *wire, *opened;
	u32 edge = min_t(u32, v->wire_len, VEC_EDGE);
	struct omerta_layout l;
	unsigned int i;

	plain = test_edge(test, 0, v->plain_len);
	wire = test_edge(test, 1, v->wire_len);
	opened = test_edge(test, 2, v->plain_len);
	test_pattern(plain, v->plain_len, v->seed);
	test_pattern(secret, sizeof(secret), v->seed ^ 0x80);
	omerta_record_layout(&l, v->plain_len, v->class);
	KUNIT_ASSERT_EQ(test, l.wire_len, v->wire_len);

	seal_record(&l, wire, plain, v, secret);
	KUNIT_EXPECT_MEMEQ(test, wire, v->head, edge);
	KUNIT_EXPECT_MEMEQ(test, wire + v->wire_len - edge, v->tail, edge);
	KUNIT_EXPECT_EQ_MSG(test, test_fnv1a(wire, v->wire_len), v->digest,
			    "class %u, %u bytes", v->class, v->plain_len);

	KUNIT_ASSERT_EQ(test, omerta_record_parse(&l, wire, v->wire_len), 0);
	for (i = 0; i < l.n_chunks; i++) {
		struct omerta_chunk c = { .plain = opened, .sealed = wire };

		omerta_record_chunk(&l, v->counter, i, &c);
		KUNIT_ASSERT_TRUE(test, omerta_chunk_open(NULL, &c, 1, secret));
	}
	KUNIT_EXPECT_MEMEQ(test, opened, plain, v->plain_len);
}

/* Catches: any change of the wire format that both directions agree on. */
static void known_answers(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vec_records); i++) {
		known_answer(test, &vec_records[i]);
		cond_resched();
	}
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(parse_every_length),
	KUNIT_CASE(parse_magic_and_type),
	KUNIT_CASE(parse_key_id_and_counter),
	KUNIT_CASE(layout_then_parse),
	KUNIT_CASE(max_plain),
	KUNIT_CASE(fit),
	KUNIT_CASE(header_bytes),
	KUNIT_CASE(chunks_tile_record),
	KUNIT_CASE(padding),
	KUNIT_CASE(parts_tile_chunks),
	KUNIT_CASE(known_answers),
	{}
};

struct kunit_suite omerta_record_suite = {
	.name = "omerta_record",
	.exit = test_exit,
	.test_cases = record_cases,
};
