// SPDX-License-Identifier: GPL-2.0
/*
 * Longest-prefix match: any two prefixes of up to three bits of two owners, of which the first is removed
 * again. More would take hours; the code treats all bits alike.
 *
 * break: peer/allowedips.c s/p->len > q->len/p->len >= q->len/
 */
#include "peer/allowedips.c"

#include "proof.h"

#define N	2
#define BITS	3

static struct omerta_allowedips_owner owners[2];
static struct omerta_allowedips table;
static struct mutex lock;

static struct omerta_prefix any_prefix(void)
{
	struct omerta_prefix p;
	u8 addr[4] = { nondet_u8() & 0xe0 }, len = nondet_u8();

	assume(len <= BITS);
	omerta_prefix_init(&p, false, addr, len);
	return p;
}

static bool same(const struct omerta_prefix *a, const struct omerta_prefix *b)
{
	return a->hi == b->hi && a->len == b->len;
}

/* unwind: 6 */
void prove_longest_match(void)
{
	struct omerta_allowedips_owner *owner[N], *want = NULL;
	struct omerta_prefix prefix[N], key;
	u8 addr[4] = { nondet_u8() & 0xe0 };
	int i, best = -1;
	LIST_HEAD(spare);

	mutex_init(&lock);
	mutex_lock(&lock);
	omerta_allowedips_init(&table, &lock);
	for (i = 0; i < 2; i++)
		INIT_LIST_HEAD(&owners[i].prefixes);
	assume(!omerta_allowedips_reserve(&spare, N));
	for (i = 0; i < N; i++) {
		prefix[i] = any_prefix();
		owner[i] = &owners[nondet_bool()];
		omerta_allowedips_insert(&table, &prefix[i], owner[i], &spare);
	}
	/* A later insertion takes a prefix over. */
	if (nondet_bool()) {
		bool taken = same(&prefix[0], &prefix[1]) && owner[1] != owner[0];

		prove(omerta_allowedips_remove(&table, &prefix[0], owner[0]) == !taken);
		for (i = N - 1; i >= 0; i--)
			if (same(&prefix[i], &prefix[0]) && !taken)
				owner[i] = NULL;
	}
	omerta_prefix_init(&key, false, addr, 32);
	for (i = 0; i < N; i++) {
		u64 differ = (key.hi ^ prefix[i].hi) >> 32;

		if (!owner[i] || (prefix[i].len && differ >> (32 - prefix[i].len)))
			continue;
		if (best < 0 || prefix[i].len >= prefix[best].len)
			best = i;
	}
	if (best >= 0)
		want = owner[best];
	prove(omerta_allowedips_lookup(&table, false, addr) == want);
}
