/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peers of an agent: their memory, and how each is found without looking at the
 * others. This is for agent.c alone; the rest of it is in agent.h.
 */
#ifndef OM_AGENT_PEERS_H
#define OM_AGENT_PEERS_H

#include "agent/agent.h"

void om_agent_peers_init(struct om_agent *agent);
void om_agent_peers_free(struct om_agent *agent);

/* Set when the peer is due next, UINT64_MAX for never: O(log n). */
void om_agent_peers_due(struct om_agent *agent, struct om_agent_peer *peer, uint64_t due);
/* The peer that is due first, or NULL */
struct om_agent_peer *om_agent_peers_first(const struct om_agent *agent);

/* After sent_id was set, and once it no longer counts */
void om_agent_peers_sent(struct om_agent *agent, struct om_agent_peer *peer, bool sent);
struct om_agent_peer *om_agent_peers_find_sent(const struct om_agent *agent, uint32_t id);

/* Before hs.mac1 changes or is no longer asked for, and after */
void om_agent_peers_hide_mac1(struct om_agent *agent, struct om_agent_peer *peer);
void om_agent_peers_show_mac1(struct om_agent *agent, struct om_agent_peer *peer);
/* A peer whose hs.mac1 begins with these 4 bytes, or NULL; then the next one */
struct om_agent_peer *om_agent_peers_find_mac1(const struct om_agent *agent,
					       const uint8_t *mac1,
					       const struct om_agent_peer *after);

#endif
