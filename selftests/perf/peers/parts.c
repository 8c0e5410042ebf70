// SPDX-License-Identifier: GPL-2.0
/*
 * Times the parts of an engine's work in user space: one-time keys and the key stream blocks that
 * are made with them, the rest of ChaCha20, Poly1305, and wiping; for packets of 1388 bytes in
 * chunks of several sizes.
 */
#include <linux/align.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crypto/engines.h"
#include "crypto/mb.h"

#define PACKETS		16
#define PACKET_LEN	1388
#define ROUNDS		20000
/* Chunks of a packet, with their tags */
#define ROOM		(PACKETS * (PACKET_LEN + 3 * OMERTA_TAG_LEN))

static const char *const engines[] = {
#if defined(__x86_64__)
	"mb-avx512ifma", "mb-avx512vl", "mb-avx2", "mb-ssse3", "mb-sse2",
#elif defined(__aarch64__)
	"mb-neon",
#endif
};

static const u32 sizes[] = { 512, 2048 };

enum part { KEYS, CRYPT, TAGS, WIPE, PARTS };

static u8 plain[PACKETS * PACKET_LEN], sealed[ROOM];

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Chunks of all packets; returns their number. */
static unsigned int make_chunks(struct omerta_chunk *chunk, u32 size)
{
	unsigned int n = 0, i;
	u8 *from = plain, *to = sealed;
	u32 off, len;

	for (i = 0; i < PACKETS; i++) {
		for (off = 0; off < PACKET_LEN; off += len) {
			len = min(size, (u32)PACKET_LEN - off);
			chunk[n] = (struct omerta_chunk) {
				.plain = from, .sealed = to, .nonce = n, .len = len,
			};
			from += len;
			to += len + OMERTA_TAG_LEN;
			n++;
		}
	}
	return n;
}

/* Shortest times of a list, added to @ns */
static void time_list(const struct omerta_engine *engine, struct omerta_mb *mb,
		      const struct omerta_chunk *list, unsigned int n, u64 clock, u64 *ns)
{
	u64 least[PARTS], at[PARTS + 1];
	u8 secret[OMERTA_SECRET_LEN] = { 1 };
	unsigned int round, i;

	memset(least, 0xff, sizeof(least));
	for (round = 0; round < ROUNDS; round++) {
		at[KEYS] = now_ns();
		engine->keys(mb, secret, list, n, false);
		at[CRYPT] = now_ns();
		engine->crypt(mb, list, n, false);
		at[TAGS] = now_ns();
		engine->tags(mb, list, n);
		at[WIPE] = now_ns();
		engine->wipe(mb, n);
		at[PARTS] = now_ns();
		for (i = 0; i < PARTS; i++)
			least[i] = min(least[i], at[i + 1] - at[i]);
	}
	for (i = 0; i < PARTS; i++)
		ns[i] += least[i] - min(least[i], clock);
}

int main(void)
{
	struct omerta_mb *mb = aligned_alloc(64, ALIGN(sizeof(*mb), 64));
	struct omerta_chunk chunk[3 * PACKETS];
	const struct omerta_engine *engine;
	u64 clock = U64_MAX, ns[PARTS], total, first;
	unsigned int e, s, i, n, done, some;

	if (!mb || sodium_init() < 0 || omerta_engine_init()) {
		fprintf(stderr, "parts: cannot start\n");
		return 1;
	}
	memset(mb, 0, sizeof(*mb));
	/* The time that looking at the clock takes */
	for (i = 0; i < ROUNDS; i++) {
		first = now_ns();
		clock = min(clock, now_ns() - first);
	}
	printf("ns per packet of %u bytes, sealed in lists; %u packets\n", PACKET_LEN, PACKETS);
	printf("%-14s %6s %8s %8s %8s %8s %8s\n", "engine", "chunks", "keys", "crypt", "tags",
	       "wipe", "all");
	for (e = 0; e < ARRAY_SIZE(engines); e++) {
		if (omerta_engine_find(engines[e], &engine)) {
			printf("%-14s not on this machine\n", engines[e]);
			continue;
		}
		for (s = 0; s < ARRAY_SIZE(sizes); s++) {
			memset(ns, 0, sizeof(ns));
			n = make_chunks(chunk, sizes[s]);
			for (done = 0; done < n; done += some) {
				some = min(n - done, (unsigned int)OMERTA_CHUNK_LIST);
				time_list(engine, mb, chunk + done, some, clock, ns);
			}
			printf("%-14s %6u", engines[e], sizes[s]);
			for (i = 0, total = 0; i < PARTS; i++) {
				printf(" %8.1f", (double)ns[i] / PACKETS);
				total += ns[i];
			}
			printf(" %8.1f\n", (double)total / PACKETS);
		}
	}
	return 0;
}
