/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peers of an agent: their memory and their indexes. Only agent.c uses this header; the
 * public functions are in agent.h.
 */
#ifndef OM_AGENT_PEERS_H
#define OM_AGENT_PEERS_H

#include "agent/agent.h"

void om_agent_peers_init(struct om_agent *agent);
void om_agent_peers_free(struct om_agent *agent);

/* Set the time at which the peer is due next, UINT64_MAX for never. O(log n). */
void om_agent_peers_due(struct om_agent *agent, struct om_agent_peer *peer, uint64_t due);
/* Return the peer that is due first, or NULL. */
struct om_agent_peer *om_agent_peers_first(const struct om_agent *agent);

/* Add the peer to the index by sent_id, or remove it. */
void om_agent_peers_sent(struct om_agent *agent, struct om_agent_peer *peer, bool sent);
struct om_agent_peer *om_agent_peers_find_sent(const struct om_agent *agent, uint32_t id);

/* Remove the peer from the index by mac1, before hs.mac1 changes; add it again. */
void om_agent_peers_hide_mac1(struct om_agent *agent, struct om_agent_peer *peer);
void om_agent_peers_show_mac1(struct om_agent *agent, struct om_agent_peer *peer);
/*
 * Return a peer with these first 4 bytes of hs.mac1, or NULL: the first if @after is NULL,
 * else the next one.
 */
struct om_agent_peer *om_agent_peers_find_mac1(const struct om_agent *agent,
					       const uint8_t *mac1,
					       const struct om_agent_peer *after);

#endif
