// SPDX-License-Identifier: GPL-2.0
#include "lib/map.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN	16

_Static_assert(crypto_shorthash_KEYBYTES == sizeof(((struct om_map *)0)->seed) &&
	       crypto_shorthash_BYTES == sizeof(uint64_t), "SipHash");

void om_map_init(struct om_map *map, ptrdiff_t key, size_t len)
{
	memset(map, 0, sizeof(*map));
	map->key = key;
	map->len = len;
	randombytes_buf(map->seed, sizeof(map->seed));
}

void om_map_free(struct om_map *map)
{
	free(map->bucket);
	map->bucket = NULL;
	map->buckets = 0;
	map->n = 0;
}

static const void *key_of(const struct om_map *map, const struct om_map_node *node)
{
	return (const char *)node + map->key;
}

static uint64_t hash(const struct om_map *map, const void *key)
{
	uint64_t h;

	crypto_shorthash((unsigned char *)&h, key, map->len, map->seed);
	return h;
}

static void put(struct om_map *map, struct om_map_node *node)
{
	struct om_map_node **head = &map->bucket[node->hash & (map->buckets - 1)];

	node->next = *head;
	*head = node;
}

static void resize(struct om_map *map, size_t buckets)
{
	struct om_map_node **old = map->bucket, *node, *next;
	size_t n = map->buckets;

	map->bucket = calloc(buckets, sizeof(struct om_map_node *));
	if (!map->bucket) {
		fputs("omertactl: out of memory\n", stderr);
		exit(OM_SYSTEM);
	}
	map->buckets = buckets;
	for (size_t i = 0; i < n; i++) {
		for (node = old[i]; node; node = next) {
			next = node->next;
			put(map, node);
		}
	}
	free(old);
}

void om_map_add(struct om_map *map, struct om_map_node *node)
{
	if (map->n >= map->buckets)
		resize(map, map->buckets ? 2 * map->buckets : BUCKETS_MIN);
	node->hash = hash(map, key_of(map, node));
	node->in = true;
	put(map, node);
	map->n++;
}

void om_map_remove(struct om_map *map, struct om_map_node *node)
{
	struct om_map_node **p;

	if (!node->in)
		return;
	p = &map->bucket[node->hash & (map->buckets - 1)];
	while (*p != node)
		p = &(*p)->next;
	*p = node->next;
	node->in = false;
	map->n--;
	if (map->buckets > BUCKETS_MIN && map->n < map->buckets / 8)
		resize(map, map->buckets / 2);
}

static struct om_map_node *match(const struct om_map *map, struct om_map_node *node,
				 uint64_t h, const void *key)
{
	while (node && (node->hash != h ||
			sodium_memcmp(key_of(map, node), key, map->len)))
		node = node->next;
	return node;
}

struct om_map_node *om_map_find(const struct om_map *map, const void *key)
{
	uint64_t h;

	if (!map->n)
		return NULL;
	h = hash(map, key);
	return match(map, map->bucket[h & (map->buckets - 1)], h, key);
}

struct om_map_node *om_map_next(const struct om_map *map,
				const struct om_map_node *node)
{
	return match(map, node->next, node->hash, key_of(map, node));
}
