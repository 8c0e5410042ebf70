// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of chunks of every length, and of random ones, with each engine that this CPU
 * has, against libsodium; prints KTAP.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <stdio.h>
#include <sodium.h>

#include "crypto/engines.h"
#include "lists.h"
#include "test_util.h"

#define RANDOM_LISTS	1000
/* Lengths of which each is tested */
#define EACH_LEN	4200

static u32 random_len(struct test_rng *rng)
{
	u32 most = test_below(rng, 50) ? EACH_LEN : LISTS_LEN_MAX;

	return test_below(rng, 3) ? test_below(rng, 600) : test_below(rng, most + 1);
}

static void random_spec(struct lists_spec *spec, struct test_rng *rng)
{
	unsigned int i;

	spec->n = 1 + test_below(rng, OMERTA_CHUNK_LIST);
	spec->seed = test_rnd(rng);
	spec->in_place = test_below(rng, 2);
	spec->bad = test_below(rng, 2) ? test_below(rng, 1 << spec->n) : 0;
	spec->wrong = test_rnd(rng);
	for (i = 0; i < spec->n; i++) {
		spec->len[i] = random_len(rng);
		spec->shift[i] = test_below(rng, 64);
	}
}

static void check_lists(const struct omerta_engine *engine)
{
	struct test_rng rng = TEST_RNG(5);
	struct lists_spec spec;
	u32 len, i;

	for (len = 0; len <= EACH_LEN; len++) {
		random_spec(&spec, &rng);
		/* Among others, and, in every other list, beside its like */
		spec.len[test_below(&rng, spec.n)] = len;
		if (len % 2)
			spec.len[test_below(&rng, spec.n)] = len;
		lists_check(engine, &spec);
	}
	for (i = 0; i < RANDOM_LISTS; i++) {
		random_spec(&spec, &rng);
		lists_check(engine, &spec);
	}
}

int main(void)
{
	const struct omerta_engine *engine;
	unsigned int i;
	int err;

	if (sodium_init() < 0 || omerta_engine_init()) {
		fprintf(stderr, "lists: no ciphers\n");
		return 1;
	}
	printf("KTAP version 1\n1..%u%s\n", lists_n_engines,
	       lists_n_engines ? "" : " # SKIP no engine for this architecture");
	for (i = 0; i < lists_n_engines; i++) {
		err = omerta_engine_find(lists_engines[i], &engine);
		if (err == -EOPNOTSUPP) {
			printf("ok %u - lists: %s # SKIP not for this CPU\n", i + 1,
			       lists_engines[i]);
			continue;
		}
		if (!err)
			check_lists(engine);
		printf("%sok %u - lists: %s\n", err ? "not " : "", i + 1,
		       lists_engines[i]);
		fflush(stdout);
	}
	omerta_engine_exit();
	return 0;
}
