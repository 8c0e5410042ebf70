// SPDX-License-Identifier: GPL-2.0
#include "lib/peer_index.h"

#include "lib/keygen.h"

#include <stdlib.h>
#include <string.h>

struct om_peer_entry {
	uint32_t id;
	uint8_t key[OMERTA_KEY_LEN];
	size_t at;
	struct om_map_node node;
	struct om_peer_entry *next;
};

void om_peer_index_init(struct om_peer_index *x)
{
	OM_MAP_INIT(&x->ids, struct om_peer_entry, node, id);
	OM_MAP_INIT(&x->keys, struct om_peer_entry, node, key);
	x->first = NULL;
}

void om_peer_index_free(struct om_peer_index *x)
{
	struct om_peer_entry *e;

	while ((e = x->first)) {
		x->first = e->next;
		free(e);
	}
	om_map_free(&x->ids);
	om_map_free(&x->keys);
}

static struct om_peer_entry *add(struct om_peer_index *x, size_t at)
{
	struct om_peer_entry *e = calloc(1, sizeof(*e));

	if (!e)
		abort();
	e->at = at;
	e->next = x->first;
	x->first = e;
	return e;
}

void om_peer_index_add_id(struct om_peer_index *x, uint32_t id, size_t at)
{
	struct om_peer_entry *e;

	if (!id)
		return;
	e = add(x, at);
	e->id = id;
	om_map_add(&x->ids, &e->node);
}

void om_peer_index_add_key(struct om_peer_index *x, const uint8_t *public, size_t at)
{
	struct om_peer_entry *e;

	if (om_key_is_zero(public))
		return;
	e = add(x, at);
	memcpy(e->key, public, sizeof(e->key));
	om_map_add(&x->keys, &e->node);
}

static bool find(const struct om_map *map, const void *key, size_t *at)
{
	const struct om_peer_entry *e = OM_MAP_ENTRY(om_map_find(map, key),
						     struct om_peer_entry, node);

	if (e && at)
		*at = e->at;
	return e;
}

bool om_peer_index_id(const struct om_peer_index *x, uint32_t id, size_t *at)
{
	return find(&x->ids, &id, at);
}

bool om_peer_index_key(const struct om_peer_index *x, const uint8_t *public, size_t *at)
{
	return find(&x->keys, public, at);
}
