// SPDX-License-Identifier: GPL-2.0
/*
 * The hash table: would catch an object that is lost or found after its end while the
 * table grows and shrinks, and one of two with the same key that is out of reach.
 */
#include "unit.h"

#include "lib/map.h"

#include <stdlib.h>

#define MANY	5000

struct thing {
	uint32_t key;
	struct om_map_node node;
};

static struct thing *find(const struct om_map *map, uint32_t key)
{
	return OM_MAP_ENTRY(om_map_find(map, &key), struct thing, node);
}

/* Count the keys from @from on that the map has, each with its own object. */
static size_t present(const struct om_map *map, const struct thing *thing, size_t from)
{
	size_t n = 0;

	for (size_t i = from; i < MANY; i++)
		n += find(map, thing[i].key) == &thing[i];
	return n;
}

static size_t longest_chain(const struct om_map *map)
{
	size_t most = 0;

	for (size_t i = 0; i < map->buckets; i++) {
		size_t n = 0;

		for (const struct om_map_node *p = map->bucket[i]; p; p = p->next)
			n++;
		most = n > most ? n : most;
	}
	return most;
}

void test_map(void)
{
	struct thing *thing = calloc(MANY, sizeof(*thing)), twin = { .key = 7 };
	struct om_map_node *first, *second;
	struct om_map map;
	size_t chain;
	bool ok;

	OM_MAP_INIT(&map, struct thing, node, key);
	unit_ok(!find(&map, 0), "map: empty", "%s", "");
	for (uint32_t i = 0; i < MANY; i++) {
		thing[i].key = i * 4096;
		om_map_add(&map, &thing[i].node);
	}
	chain = longest_chain(&map);
	unit_ok(present(&map, thing, 0) == MANY && !find(&map, 1) && map.n == MANY &&
		chain < 16, "map: objects are found", "chain of %zu", chain);
	for (size_t i = 0; i < MANY - 10; i++)
		om_map_remove(&map, &thing[i].node);
	om_map_remove(&map, &thing[0].node);
	unit_ok(present(&map, thing, MANY - 10) == 10 && !find(&map, thing[5].key) &&
		map.n == 10 && map.buckets <= 128, "map: and gone once removed",
		"%zu of %zu", map.n, map.buckets);
	thing[0].key = 7;
	om_map_add(&map, &thing[0].node);
	om_map_add(&map, &twin.node);
	first = om_map_find(&map, &twin.key);
	second = first ? om_map_next(&map, first) : NULL;
	ok = second && first != second && !om_map_next(&map, second);
	om_map_remove(&map, &twin.node);
	unit_ok(ok && find(&map, 7) == &thing[0], "map: two with the same key", "%s", "");
	om_map_free(&map);
	free(thing);
}
