/* SPDX-License-Identifier: GPL-2.0 */
/* Index of a list of peers by id and by public key, O(1) */
#ifndef OM_PEER_INDEX_H
#define OM_PEER_INDEX_H

#include "lib/map.h"

#include <linux/omerta.h>

struct om_peer_index {
	struct om_map ids, keys;
	struct om_peer_entry *first;
};

void om_peer_index_init(struct om_peer_index *x);
void om_peer_index_free(struct om_peer_index *x);

/* Add an id or a key that is not in the index yet. An id of 0 or a zero key is ignored. */
void om_peer_index_add_id(struct om_peer_index *x, uint32_t id, size_t at);
void om_peer_index_add_key(struct om_peer_index *x, const uint8_t *public, size_t at);

/* Look up an id or a key. Returns true if found; @at, unless NULL, gets its place. */
bool om_peer_index_id(const struct om_peer_index *x, uint32_t id, size_t *at);
bool om_peer_index_key(const struct om_peer_index *x, const uint8_t *public, size_t *at);

#endif
