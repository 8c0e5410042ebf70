/* SPDX-License-Identifier: GPL-2.0 */
/* Places in lists of peers, found by the peers' ids and public keys: O(1). */
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

/* Nothing for an id of 0 or a key of zeros. Those that are in must not come again. */
void om_peer_index_add_id(struct om_peer_index *x, uint32_t id, size_t at);
void om_peer_index_add_key(struct om_peer_index *x, const uint8_t *public, size_t at);

/* Return true if it is in; @at, unless it is NULL, gets its place then. */
bool om_peer_index_id(const struct om_peer_index *x, uint32_t id, size_t *at);
bool om_peer_index_key(const struct om_peer_index *x, const uint8_t *public, size_t *at);

#endif
