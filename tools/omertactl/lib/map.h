/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hash table of the caller's objects, which have a node and a key of a fixed length
 * in them. The hash is keyed at random: nobody can choose keys that collide.
 *
 * Looking up, adding and removing cost O(1) in the number of objects; the table doubles
 * as it grows, and halves as it shrinks.
 */
#ifndef OM_MAP_H
#define OM_MAP_H

#include "lib/base.h"

struct om_map_node {
	struct om_map_node *next;
	uint64_t hash;
	bool in;			/* the map */
};

struct om_map {
	struct om_map_node **bucket;
	size_t buckets;			/* a power of two, or 0 */
	size_t n;
	ptrdiff_t key;			/* from the node */
	size_t len;			/* of the key */
	uint8_t seed[16];
};

/* An empty map of objects of this type, by their members node and key */
#define OM_MAP_INIT(map, type, node, member)				\
	om_map_init(map, (ptrdiff_t)offsetof(type, member) -		\
		    (ptrdiff_t)offsetof(type, node),			\
		    sizeof(((type *)0)->member))
/* The object of a node that may be NULL */
#define OM_MAP_ENTRY(ptr, type, node)					\
	((type *)om_map_entry(ptr, offsetof(type, node)))

void om_map_init(struct om_map *map, ptrdiff_t key, size_t len);
/* Frees the table. The objects are the caller's, and must not be removed any more. */
void om_map_free(struct om_map *map);
/* The node is new or was removed. Its key must not change while it is in. */
void om_map_add(struct om_map *map, struct om_map_node *node);
/* Nothing if it is not in */
void om_map_remove(struct om_map *map, struct om_map_node *node);
/* One with this key, or NULL; and another one with the same key */
struct om_map_node *om_map_find(const struct om_map *map, const void *key);
struct om_map_node *om_map_next(const struct om_map *map,
				const struct om_map_node *node);

static inline void *om_map_entry(struct om_map_node *node, size_t offset)
{
	return node ? (char *)node - offset : NULL;
}

#endif
