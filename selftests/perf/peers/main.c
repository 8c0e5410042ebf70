// SPDX-License-Identifier: GPL-2.0
/*
 * Measures ChaCha20-Poly1305 of others in user space, in turns: a payload sealed and
 * opened in lists of chunks. Each object is loaded with symbols of its own, as OpenSSL
 * and BoringSSL have the same names.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../tools/omertactl/cmd/bench_lengths.h"
#include "peer.h"

#define PAYLOAD		(128 * 1024)
#define MAX_CASES	16384
#define MAX_RUNS	999
/* Bytes of the longest list, and of a payload of the shortest chunks with their tags */
#define ROOM		(LONGEST_LIST * (65536 + PEER_TAG_LEN))

#define LONGEST_LIST	64
static const unsigned int lists[] = { 1, 2, 3, 4, 8, 16, LONGEST_LIST };

/* Lists of chunks of different lengths, which repeat after @period chunks */
static const struct mix {
	const char *name;
	unsigned int n;
	unsigned int period;
	unsigned int len[16];
} mixes[] = {
	/* 7 : 4 : 1 packets of 40, 576 and 1500 bytes */
	{ "imix", 12, 12, { 1500, 40, 576, 40, 40, 576, 40, 40, 576, 40, 576, 40 } },
	/* Packets of a TCP stream, in chunks of 512 bytes; the last one is short. */
	{ "tcp", 14, 14,
	  { 512, 512, 364, 512, 512, 364, 512, 512, 364, 512, 512, 364, 512, 100 } },
	/* 1 and 16 packets of 1388 bytes, in chunks of 512 */
	{ "record", 3, 3, { 512, 512, 364 } },
	{ "records", 48, 3, { 512, 512, 364 } },
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

/**
 * struct shape - lists of chunks
 * @mix: lengths of the chunks, if they differ
 * @list: number of chunks in a list
 * @len: length of each chunk, if they are equal
 */
struct shape {
	const struct mix *mix;
	unsigned int list;
	unsigned int len;
};

struct measured {
	const struct peer *peer;
	struct shape shape;
	bool open;
	unsigned long rounds;
	unsigned int runs;
	uint64_t ns[MAX_RUNS];
};

static struct measured *cases[MAX_CASES];
static unsigned int n_cases;

static uint8_t secret[PEER_KEY_LEN];
static uint8_t *plain, *sealed, *wanted, *opened;

static void fail(const struct measured *m, const char *what)
{
	fprintf(stderr, "peers: %s, lists of %u chunks, %u bytes: %s\n", m->peer->name,
		m->shape.list, m->shape.len, what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static unsigned int chunk_len(const struct shape *shape, unsigned int i)
{
	return shape->mix ? shape->mix->len[i % shape->mix->period] : shape->len;
}

/* Bytes of plaintext of a list */
static size_t list_bytes(const struct shape *shape)
{
	size_t bytes = 0;
	unsigned int i;

	for (i = 0; i < shape->list; i++)
		bytes += chunk_len(shape, i);
	return bytes;
}

/* Number of lists in the payload */
static unsigned int n_lists(const struct shape *shape)
{
	size_t bytes = list_bytes(shape);

	return bytes < PAYLOAD ? PAYLOAD / bytes : 1;
}

/* Bytes of all sealed chunks */
static size_t sealed_bytes(const struct shape *shape)
{
	return n_lists(shape) * (list_bytes(shape) + shape->list * PEER_TAG_LEN);
}

/* The whole payload, once */
static bool work(const struct measured *m)
{
	unsigned int n, i, done, left = n_lists(&m->shape), number = 0;
	uint8_t *to = m->open ? opened : plain, *from = sealed;
	struct peer_chunk list[PEER_LIST];

	for (; left; left--) {
		for (done = 0; done < m->shape.list; done += n) {
			n = m->shape.list - done;
			if (n > m->peer->list)
				n = m->peer->list;
			for (i = 0; i < n; i++) {
				list[i].plain = to;
				list[i].sealed = from;
				list[i].len = chunk_len(&m->shape, done + i);
				/* The tunnel's for a record of one chunk */
				list[i].nonce = (uint64_t)number++ << 8 | 0x80;
				to += list[i].len;
				from += list[i].len + PEER_TAG_LEN;
			}
			if (!(m->open ? m->peer->open : m->peer->seal)(list, n))
				return false;
		}
	}
	return true;
}

/* Exit unless the peer seals and opens correctly; the first one provides the ciphertexts. */
static void check(const struct measured *seal, const struct measured *open, bool first)
{
	size_t bytes = n_lists(&seal->shape) * list_bytes(&seal->shape);
	size_t room = sealed_bytes(&seal->shape);

	if (!work(seal))
		fail(seal, "does not seal");
	if (first)
		memcpy(wanted, sealed, room);
	if (!seal->peer->other_cipher && memcmp(wanted, sealed, room))
		fail(seal, "has sealed something else than the first peer");
	memset(opened, 0, bytes);
	if (!work(open) || memcmp(opened, plain, bytes))
		fail(open, "does not open what it has sealed");
	sealed[room - 1] ^= 1;
	if (work(open))
		fail(open, "opens what is not authentic");
	sealed[room - 1] ^= 1;
}

static void add_case(const struct peer *peer, const struct shape *shape)
{
	unsigned int i;

	if (n_cases + 2 > MAX_CASES) {
		fprintf(stderr, "peers: more than %u cases\n", MAX_CASES);
		exit(1);
	}
	for (i = 0; i < 2; i++) {
		struct measured *m = calloc(1, sizeof(*m));

		if (!m) {
			perror("peers");
			exit(1);
		}
		m->peer = peer;
		m->shape = *shape;
		m->open = i;
		cases[n_cases++] = m;
	}
}

static void add_peer(const struct peer *peer)
{
	struct shape shape = {};
	unsigned int i, k;

	if (!peer->start(peer, secret)) {
		fprintf(stderr, "# %s: not on this machine\n", peer->name);
		return;
	}
	if (!n_cases && peer->other_cipher) {
		fprintf(stderr, "peers: %s has another cipher, and cannot be the first\n",
			peer->name);
		exit(1);
	}
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		shape.len = lengths[i];
		/* Without lists, one chunk takes the same time among others. */
		for (k = 0; k < (peer->list > 1 ? ARRAY_SIZE(lists) : 1); k++) {
			shape.list = lists[k];
			add_case(peer, &shape);
		}
	}
	shape.len = 0;
	for (i = 0; i < ARRAY_SIZE(mixes); i++) {
		shape.mix = &mixes[i];
		shape.list = mixes[i].n;
		add_case(peer, &shape);
	}
}

/* @without: leave out the peers whose names contain it, unless NULL */
static void load(const char *path, const char *without)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct peer *peer = object ? dlsym(object, "peers") : NULL;

	if (!peer) {
		fprintf(stderr, "peers: %s\n", dlerror());
		exit(1);
	}
	for (; peer->name; peer++)
		if (!without || !*without || !strstr(peer->name, without))
			add_peer(peer);
}

/* Return true if both have the same chunks. */
static bool same_chunks(const struct shape *a, const struct shape *b)
{
	return a->mix == b->mix && a->len == b->len && sealed_bytes(a) == sealed_bytes(b);
}

/* For each shape, the first peer that has it makes the ciphertexts of all others. */
static void check_all(void)
{
	bool *checked = calloc(n_cases, sizeof(*checked));
	unsigned int i, k;

	if (!checked) {
		perror("peers");
		exit(1);
	}
	for (i = 0; i < n_cases; i += 2) {
		for (k = i; k < n_cases; k += 2) {
			if (checked[k] || !same_chunks(&cases[i]->shape, &cases[k]->shape))
				continue;
			cases[k]->peer->start(cases[k]->peer, secret);
			check(cases[k], cases[k + 1], k == i);
			checked[k] = true;
		}
	}
	free(checked);
}

static void run(struct measured *m, uint64_t least_ns)
{
	struct measured seal = *m;
	unsigned long rounds = 0;
	uint64_t start, passed;

	m->peer->start(m->peer, secret);
	/* Sealed by others before */
	seal.open = false;
	if (!work(&seal))
		fail(m, "does not seal");
	start = now_ns();
	do {
		if (!work(m))
			fail(m, "fails");
		rounds++;
		passed = now_ns() - start;
	} while (passed < least_ns);
	m->rounds = rounds;
	m->ns[m->runs++] = passed / rounds;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(struct measured *m, bool first)
{
	const struct shape *shape = &m->shape;

	qsort(m->ns, m->runs, sizeof(*m->ns), compare);
	printf("%s{\"engine\": \"%s\", \"list\": %u, ", first ? "" : ", ", m->peer->name,
	       m->peer->list > 1 ? shape->list : 1);
	if (shape->mix)
		printf("\"mix\": \"%s\", ", shape->mix->name);
	else
		printf("\"chunk-size\": %u, ", shape->len);
	printf("\"chunks\": %u, \"bytes\": %zu, \"direction\": \"%s\", \"rounds\": %lu, "
	       "\"min-ns\": %llu, \"median-ns\": %llu, \"max-ns\": %llu%s}",
	       n_lists(shape) * shape->list, n_lists(shape) * list_bytes(shape),
	       m->open ? "open" : "seal", m->rounds, (unsigned long long)m->ns[0],
	       (unsigned long long)m->ns[m->runs / 2], (unsigned long long)m->ns[m->runs - 1],
	       m->peer->other_cipher ? ", \"other-cipher\": true" : "");
}

/* Stay on one CPU: another one's caches are cold. */
static void stay(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("peers: sched_setaffinity");
}

static void prepare(void)
{
	unsigned int i;

	plain = aligned_alloc(64, ROOM);
	opened = aligned_alloc(64, ROOM);
	sealed = aligned_alloc(64, ROOM);
	wanted = aligned_alloc(64, ROOM);
	if (!plain || !opened || !sealed || !wanted) {
		perror("peers");
		exit(1);
	}
	for (i = 0; i < ROOM; i++)
		plain[i] = i * 7 + (i >> 8);
	for (i = 0; i < sizeof(secret); i++)
		secret[i] = i + 1;
}

static unsigned long number(const char *name, const char *text, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !value || value > max) {
		fprintf(stderr, "peers: %s: \"%s\" is not a number from 1 to %lu\n", name, text,
			max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	const char *without = getenv("WITHOUT");
	unsigned long runs, ms, r;
	unsigned int i;
	int arg;

	if (argc < 4) {
		fprintf(stderr, "usage: [WITHOUT=NAME] peers RUNS MILLISECONDS OBJECT...\n");
		return 2;
	}
	runs = number("RUNS", argv[1], MAX_RUNS);
	ms = number("MILLISECONDS", argv[2], 10000);
	prepare();
	stay();
	for (arg = 3; arg < argc; arg++)
		load(argv[arg], without);
	check_all();
	for (r = 0; r < runs; r++) {
		fprintf(stderr, "# run %lu of %lu\n", r + 1, runs);
		for (i = 0; i < n_cases; i++)
			run(cases[i], ms * 1000000);
	}
	printf("[");
	for (i = 0; i < n_cases; i++)
		print(cases[i], !i);
	printf("]\n");
	return !n_cases;
}
