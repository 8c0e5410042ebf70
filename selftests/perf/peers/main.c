// SPDX-License-Identifier: GPL-2.0
/*
 * Measures ChaCha20-Poly1305 of others in user space, in turns: a payload sealed and
 * opened in chunks, as omertactl bench chunks does it inside the kernel. Each object is
 * loaded with symbols of its own, as OpenSSL and BoringSSL have the same names.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"

#define PAYLOAD		(128 * 1024)
#define LEAST_CHUNK	512
#define MAX_CASES	1024
#define MAX_RUNS	999

struct measured {
	const struct peer *peer;
	size_t chunk_size;
	bool open;
	unsigned long rounds;
	unsigned int runs;
	uint64_t ns[MAX_RUNS];
};

static struct measured cases[MAX_CASES];
static unsigned int n_cases;

static uint8_t secret[PEER_KEY_LEN];
static uint8_t *plain, *sealed, *wanted, *opened;

static void fail(const struct peer *peer, size_t chunk_size, const char *what)
{
	fprintf(stderr, "peers: %s, chunks of %zu: %s\n", peer->name, chunk_size, what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static size_t room(size_t chunk_size)
{
	return PAYLOAD + (PAYLOAD + chunk_size - 1) / chunk_size * PEER_TAG_LEN;
}

/* The chunks from number @first on; returns how many. */
static unsigned int make_list(const struct peer *peer, struct peer_chunk *list, size_t first,
			      size_t chunk_size, uint8_t *to, uint8_t *from)
{
	unsigned int n;

	for (n = 0; n < peer->list && (first + n) * chunk_size < PAYLOAD; n++) {
		size_t at = (first + n) * chunk_size;

		list[n].plain = to + at;
		list[n].sealed = from + at + (first + n) * PEER_TAG_LEN;
		list[n].len = PAYLOAD - at < chunk_size ? PAYLOAD - at : chunk_size;
		/* The tunnel's for a record of one chunk */
		list[n].nonce = (uint64_t)(first + n) << 8 | 0x80;
	}
	return n;
}

/* The whole payload, once */
static bool work(const struct peer *peer, size_t chunk_size, bool open)
{
	struct peer_chunk list[PEER_LIST];
	size_t first = 0;
	unsigned int n;

	for (;;) {
		n = make_list(peer, list, first, chunk_size, open ? opened : plain, sealed);
		if (!n)
			return true;
		if (!(open ? peer->open : peer->seal)(list, n))
			return false;
		first += n;
	}
}

/* Exit unless @peer seals and opens correctly; the first one provides the ciphertexts. */
static void check(const struct peer *peer, size_t chunk_size, bool first)
{
	if (!work(peer, chunk_size, false))
		fail(peer, chunk_size, "does not seal");
	if (first && !peer->other_cipher)
		memcpy(wanted, sealed, room(chunk_size));
	if (!peer->other_cipher && memcmp(wanted, sealed, room(chunk_size)))
		fail(peer, chunk_size, "has sealed something else than the first peer");
	memset(opened, 0, PAYLOAD);
	if (!work(peer, chunk_size, true) || memcmp(opened, plain, PAYLOAD))
		fail(peer, chunk_size, "does not open what it has sealed");
	sealed[room(chunk_size) - 1] ^= 1;
	if (work(peer, chunk_size, true))
		fail(peer, chunk_size, "opens what is not authentic");
	sealed[room(chunk_size) - 1] ^= 1;
}

static void add_case(const struct peer *peer, size_t chunk_size, bool open)
{
	if (n_cases == MAX_CASES) {
		fprintf(stderr, "peers: more than %u cases\n", MAX_CASES);
		exit(1);
	}
	cases[n_cases++] = (struct measured){
		.peer = peer, .chunk_size = chunk_size, .open = open
	};
}

static void add_peer(const struct peer *peer)
{
	bool first = !n_cases;
	size_t size;

	if (!peer->start(peer, secret)) {
		fprintf(stderr, "# %s: not on this machine\n", peer->name);
		return;
	}
	for (size = LEAST_CHUNK; size <= PAYLOAD; size *= 2) {
		add_case(peer, size, false);
		add_case(peer, size, true);
	}
	if (first && peer->other_cipher)
		fail(peer, LEAST_CHUNK, "has another cipher, and cannot be the first");
}

static void load(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct peer *peer = object ? dlsym(object, "peers") : NULL;

	if (!peer) {
		fprintf(stderr, "peers: %s\n", dlerror());
		exit(1);
	}
	for (; peer->name; peer++)
		add_peer(peer);
}

/* For each size, the first peer's ciphertexts are what all others have to make. */
static void check_all(void)
{
	unsigned int i, k;

	for (i = 0; i < n_cases && cases[i].peer == cases[0].peer; i += 2) {
		for (k = i; k < n_cases; k++) {
			if (cases[k].open || cases[k].chunk_size != cases[i].chunk_size)
				continue;
			cases[k].peer->start(cases[k].peer, secret);
			check(cases[k].peer, cases[k].chunk_size, k == i);
		}
	}
}

static void run(struct measured *m, uint64_t least_ns)
{
	unsigned long rounds = 0;
	uint64_t start, passed;

	m->peer->start(m->peer, secret);
	/* Sealed by others before */
	if (!work(m->peer, m->chunk_size, false))
		fail(m->peer, m->chunk_size, "does not seal");
	start = now_ns();
	do {
		if (!work(m->peer, m->chunk_size, m->open))
			fail(m->peer, m->chunk_size, "fails");
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
	qsort(m->ns, m->runs, sizeof(*m->ns), compare);
	printf("%s{\"engine\": \"%s\", \"chunk-size\": %zu, \"bytes\": %d, "
	       "\"direction\": \"%s\", \"rounds\": %lu, \"min-ns\": %llu, "
	       "\"median-ns\": %llu, \"max-ns\": %llu%s}", first ? "" : ", ", m->peer->name,
	       m->chunk_size, PAYLOAD, m->open ? "open" : "seal", m->rounds,
	       (unsigned long long)m->ns[0], (unsigned long long)m->ns[m->runs / 2],
	       (unsigned long long)m->ns[m->runs - 1],
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

	plain = aligned_alloc(64, PAYLOAD);
	opened = aligned_alloc(64, PAYLOAD);
	sealed = aligned_alloc(64, room(LEAST_CHUNK));
	wanted = aligned_alloc(64, room(LEAST_CHUNK));
	if (!plain || !opened || !sealed || !wanted) {
		perror("peers");
		exit(1);
	}
	for (i = 0; i < PAYLOAD; i++)
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
	unsigned long runs, ms, r;
	unsigned int i;
	int arg;

	if (argc < 4) {
		fprintf(stderr, "usage: peers RUNS MILLISECONDS OBJECT...\n");
		return 2;
	}
	runs = number("RUNS", argv[1], MAX_RUNS);
	ms = number("MILLISECONDS", argv[2], 10000);
	prepare();
	stay();
	for (arg = 3; arg < argc; arg++)
		load(argv[arg]);
	check_all();
	for (r = 0; r < runs; r++) {
		fprintf(stderr, "# run %lu of %lu\n", r + 1, runs);
		for (i = 0; i < n_cases; i++)
			run(&cases[i], ms * 1000000);
	}
	printf("[");
	for (i = 0; i < n_cases; i++)
		print(&cases[i], !i);
	printf("]\n");
	return !n_cases;
}
