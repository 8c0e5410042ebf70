/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The endpoints of the file's peers: look up names, and choose between several addresses. An
 * address is usable if there is a route to it outside of the tunnel. While a peer does not
 * answer, its addresses are used in turn.
 */
#ifndef OM_DAEMON_ENDPOINTS_H
#define OM_DAEMON_ENDPOINTS_H

#include "agent/daemon_peers.h"

/* Open the sockets for routes and their changes. */
int om_endpoints_open(struct om_daemon *d, struct om_err *err);
void om_endpoints_close(struct om_daemon *d);

/*
 * Look up the endpoint of a peer in the kernel. If there is no route to it, the peer's next
 * address with a route takes its place. Returns false without an endpoint.
 */
bool om_endpoints_reach(struct om_daemon *d, uint32_t peer_id, struct om_peer *peer);
/* A peer does not answer: use its next address, and look up its name again. */
void om_endpoints_unanswered(struct om_daemon *d, struct om_agent_peer *peer);
/* The file has another endpoint for a peer. */
void om_endpoints_forget(struct om_agent_peer *peer);
/* Look at a peer that was read from the kernel. */
void om_endpoints_see(struct om_daemon *d, struct om_agent_peer *peer,
		      const struct om_peer *now);
/*
 * Set the device's MTU if the paths to the peers have another one than before, and the file
 * sets none. @peers: all of the kernel, struct om_peer
 */
void om_endpoints_set_mtu(struct om_daemon *d, const struct om_list *peers, uint32_t chunk);
/* Take the resolver's answers. */
void om_endpoints_resolved(struct om_daemon *d);

/* The network has changed: read the peers again soon. */
void om_endpoints_network(struct om_daemon *d);
/* Do what is due. Returns the time of the next call, UINT64_MAX for never. */
uint64_t om_endpoints_run(struct om_daemon *d, uint64_t now);

#endif
