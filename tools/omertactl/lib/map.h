/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An intrusive hash table. Objects contain a node and a key of a fixed length. The hash is
 * keyed at random, so an attacker cannot choose colliding keys.
 *
 * Lookup, insertion and removal are O(1). The table doubles and halves with the number of
 * objects.
 */
#ifndef OM_MAP_H
#define OM_MAP_H

#include "lib/base.h"

struct om_map_node {
	struct om_map_node *next;
	uint64_t hash;
	bool in;			/* the node is in a map */
};

struct om_map {
	struct om_map_node **bucket;
	size_t buckets;			/* a power of two, or 0 */
	size_t n;
	ptrdiff_t key;			/* offset of the key from the node */
	size_t len;			/* bytes of the key */
	uint8_t seed[16];
};

/* Initialise a map of objects of this type by their members node and key. */
#define OM_MAP_INIT(map, type, node, member)				\
	om_map_init(map, (ptrdiff_t)offsetof(type, member) -		\
		    (ptrdiff_t)offsetof(type, node),			\
		    sizeof(((type *)0)->member))
/* Return the object of a node; NULL for NULL. */
#define OM_MAP_ENTRY(ptr, type, node)					\
	((type *)om_map_entry(ptr, offsetof(type, node)))

void om_map_init(struct om_map *map, ptrdiff_t key, size_t len);
/* Free the table. The caller owns the objects, and must not remove them afterwards. */
void om_map_free(struct om_map *map);
/* Add a node that is in no map. Its key must not change while it is in the map. */
void om_map_add(struct om_map *map, struct om_map_node *node);
/* Remove a node, if it is in the map. */
void om_map_remove(struct om_map *map, struct om_map_node *node);
/* Return a node with this key, or NULL; and the next one with the same key. */
struct om_map_node *om_map_find(const struct om_map *map, const void *key);
struct om_map_node *om_map_next(const struct om_map *map,
				const struct om_map_node *node);

static inline void *om_map_entry(struct om_map_node *node, size_t offset)
{
	return node ? (char *)node - offset : NULL;
}

#endif
