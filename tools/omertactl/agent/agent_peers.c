// SPDX-License-Identifier: GPL-2.0
#include "agent/agent_peers.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/*
 * Memory. Peers hold secrets, so they are allocated by sodium_malloc(): guarded, locked, and
 * wiped when freed. One page per peer would be too much, hence blocks of several peers. A
 * block is freed with its last peer.
 */

#define BLOCK_PEERS	32

struct om_agent_block {
	struct om_agent_block *next, **prev;	/* in agent->partial */
	struct om_agent_peer *free;
	unsigned int used;
	struct om_agent_peer peer[BLOCK_PEERS];
};

static void link_block(struct om_agent *agent, struct om_agent_block *b)
{
	b->next = agent->partial;
	b->prev = &agent->partial;
	if (b->next)
		b->next->prev = &b->next;
	agent->partial = b;
}

static void unlink_block(struct om_agent_block *b)
{
	*b->prev = b->next;
	if (b->next)
		b->next->prev = b->prev;
}

static struct om_agent_peer *alloc_peer(struct om_agent *agent)
{
	struct om_agent_block *b = agent->partial;
	struct om_agent_peer *peer;

	if (!b) {
		b = sodium_malloc(sizeof(*b));
		if (!b)
			abort();
		memset(b, 0, sizeof(*b));
		for (int i = BLOCK_PEERS - 1; i >= 0; i--) {
			b->peer[i].next = b->free;
			b->free = &b->peer[i];
		}
		link_block(agent, b);
	}
	peer = b->free;
	b->free = peer->next;
	if (++b->used == BLOCK_PEERS)
		unlink_block(b);
	memset(peer, 0, sizeof(*peer));
	peer->block = b;
	return peer;
}

static void free_peer(struct om_agent *agent, struct om_agent_peer *peer)
{
	struct om_agent_block *b = peer->block;

	sodium_memzero(peer, sizeof(*peer));
	peer->next = b->free;
	b->free = peer;
	if (b->used-- == BLOCK_PEERS)
		link_block(agent, b);
	if (b->used)
		return;
	unlink_block(b);
	sodium_free(b);
}

/*
 * A binary heap. Places count from 1, so that the parent of a place is its half.
 */

static struct om_agent_peer **at(const struct om_agent *agent, size_t place)
{
	return OM_AT(&agent->heap, struct om_agent_peer *, place - 1);
}

static void put(const struct om_agent *agent, size_t place, struct om_agent_peer *peer)
{
	*at(agent, place) = peer;
	peer->place = place;
}

/* Move the peer to its place in the heap after peer->due has changed. */
static void sift(const struct om_agent *agent, struct om_agent_peer *peer)
{
	size_t place = peer->place, child, n = agent->heap.n;

	for (; place > 1 && (*at(agent, place / 2))->due > peer->due; place /= 2)
		put(agent, place, *at(agent, place / 2));
	for (; (child = 2 * place) <= n; place = child) {
		if (child < n && (*at(agent, child + 1))->due < (*at(agent, child))->due)
			child++;
		if ((*at(agent, child))->due >= peer->due)
			break;
		put(agent, place, *at(agent, child));
	}
	put(agent, place, peer);
}

static void leave_heap(struct om_agent *agent, struct om_agent_peer *peer)
{
	struct om_agent_peer *last = *at(agent, agent->heap.n--);

	if (last != peer) {
		last->place = peer->place;
		sift(agent, last);
	}
	peer->place = 0;
}

void om_agent_peers_due(struct om_agent *agent, struct om_agent_peer *peer, uint64_t due)
{
	peer->due = due;
	if (due == UINT64_MAX) {
		if (peer->place)
			leave_heap(agent, peer);
		return;
	}
	if (!peer->place) {
		om_list_add(&agent->heap, sizeof(peer));
		peer->place = agent->heap.n;
	}
	sift(agent, peer);
}

struct om_agent_peer *om_agent_peers_first(const struct om_agent *agent)
{
	return agent->heap.n ? *at(agent, 1) : NULL;
}

/*
 * Peers
 */

void om_agent_peers_init(struct om_agent *agent)
{
	OM_MAP_INIT(&agent->by_id, struct om_agent_peer, by_id, id);
	OM_MAP_INIT(&agent->by_public, struct om_agent_peer, by_public, hs.public);
	OM_MAP_INIT(&agent->by_sent, struct om_agent_peer, by_sent, sent_id);
	OM_MAP_INIT(&agent->by_mac1, struct om_agent_peer, by_mac1, hs.mac1);
	agent->by_mac1.len = 4;
	agent->first = NULL;
	agent->peers = 0;
	agent->partial = NULL;
	memset(&agent->heap, 0, sizeof(agent->heap));
}

void om_agent_peers_free(struct om_agent *agent)
{
	om_agent_remove_all(agent);
	om_map_free(&agent->by_id);
	om_map_free(&agent->by_public);
	om_map_free(&agent->by_sent);
	om_map_free(&agent->by_mac1);
	om_list_free(&agent->heap);
}

struct om_agent_peer *om_agent_add(struct om_agent *agent, uint32_t id,
				   const uint8_t *public)
{
	struct om_agent_peer *peer = alloc_peer(agent);

	peer->id = id;
	peer->kind = -1;
	peer->failure = -1;
	peer->channels = 1;
	memcpy(peer->hs.public, public, OM_NOISE_KEY);
	om_hs_peer_init(&peer->hs);
	peer->next = agent->first;
	peer->prev = &agent->first;
	if (peer->next)
		peer->next->prev = &peer->next;
	agent->first = peer;
	agent->peers++;
	om_map_add(&agent->by_id, &peer->by_id);
	om_map_add(&agent->by_public, &peer->by_public);
	return peer;
}

static void remove_peer(struct om_agent *agent, struct om_agent_peer *peer)
{
	*peer->prev = peer->next;
	if (peer->next)
		peer->next->prev = peer->prev;
	agent->peers--;
	om_map_remove(&agent->by_id, &peer->by_id);
	om_map_remove(&agent->by_public, &peer->by_public);
	om_map_remove(&agent->by_sent, &peer->by_sent);
	om_map_remove(&agent->by_mac1, &peer->by_mac1);
	if (peer->place)
		leave_heap(agent, peer);
	free_peer(agent, peer);
}

void om_agent_remove(struct om_agent *agent, uint32_t id)
{
	struct om_agent_peer *peer = om_agent_find(agent, id);

	if (peer)
		remove_peer(agent, peer);
}

void om_agent_remove_all(struct om_agent *agent)
{
	while (agent->first)
		remove_peer(agent, agent->first);
}

struct om_agent_peer *om_agent_find(const struct om_agent *agent, uint32_t id)
{
	return OM_MAP_ENTRY(om_map_find(&agent->by_id, &id), struct om_agent_peer, by_id);
}

struct om_agent_peer *om_agent_find_public(const struct om_agent *agent,
					   const uint8_t *public)
{
	return OM_MAP_ENTRY(om_map_find(&agent->by_public, public),
			    struct om_agent_peer, by_public);
}

void om_agent_peers_sent(struct om_agent *agent, struct om_agent_peer *peer, bool sent)
{
	om_map_remove(&agent->by_sent, &peer->by_sent);
	if (sent)
		om_map_add(&agent->by_sent, &peer->by_sent);
}

struct om_agent_peer *om_agent_peers_find_sent(const struct om_agent *agent, uint32_t id)
{
	return OM_MAP_ENTRY(om_map_find(&agent->by_sent, &id), struct om_agent_peer,
			    by_sent);
}

void om_agent_peers_hide_mac1(struct om_agent *agent, struct om_agent_peer *peer)
{
	om_map_remove(&agent->by_mac1, &peer->by_mac1);
}

void om_agent_peers_show_mac1(struct om_agent *agent, struct om_agent_peer *peer)
{
	om_map_add(&agent->by_mac1, &peer->by_mac1);
}

struct om_agent_peer *om_agent_peers_find_mac1(const struct om_agent *agent,
					       const uint8_t *mac1,
					       const struct om_agent_peer *after)
{
	struct om_map_node *node = after ? om_map_next(&agent->by_mac1, &after->by_mac1) :
					   om_map_find(&agent->by_mac1, mac1);

	return OM_MAP_ENTRY(node, struct om_agent_peer, by_mac1);
}
