// SPDX-License-Identifier: GPL-2.0
/*
 * The tunnel's own engines, in lists. libsodium replaces the kernel's library.
 */
#include <linux/kernel.h>
#include <sodium.h>
#include <string.h>

#include "crypto/engines.h"
#include "peer.h"

static const struct omerta_engine *engine;
static uint8_t secret[PEER_KEY_LEN];

static bool start(const struct peer *peer, const uint8_t key[PEER_KEY_LEN])
{
	static bool loaded;

	memcpy(secret, key, sizeof(secret));
	if (!loaded && (sodium_init() < 0 || omerta_engine_init()))
		return false;
	loaded = true;
	/* Behind "omerta " */
	return !omerta_engine_find(strchr(peer->name, ' ') + 1, &engine);
}

static void make_list(struct omerta_chunk *to, const struct peer_chunk *list, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		to[i] = (struct omerta_chunk){ list[i].plain, list[i].sealed,
					       list[i].nonce, list[i].len };
}

static bool seal(const struct peer_chunk *list, unsigned int n)
{
	struct omerta_chunk to[OMERTA_CHUNK_LIST];

	make_list(to, list, n);
	omerta_chunk_seal(engine, to, n, secret);
	return true;
}

static bool open(const struct peer_chunk *list, unsigned int n)
{
	struct omerta_chunk to[OMERTA_CHUNK_LIST];

	make_list(to, list, n);
	return omerta_chunk_open(engine, to, n, secret) == OMERTA_CHUNK_ALL(n);
}

#define ENGINE(name)	{ "omerta " name, OMERTA_CHUNK_LIST, false, start, seal, open }

const struct peer peers[] = {
#if defined(__x86_64__)
	ENGINE("mb-avx512ifma"),
	ENGINE("mb-avx512vl"),
	ENGINE("mb-avx2"),
	ENGINE("mb-ssse3"),
	ENGINE("mb-sse2"),
#elif defined(__aarch64__)
	ENGINE("mb-neon"),
#endif
	{}
};
