/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_NETLINK_UTIL_H
#define _OMERTA_NETLINK_UTIL_H

#include <net/genetlink.h>

#include "netlink/gen.h"
#include "peer/peer.h"
#include "datapath/tunnel.h"

/**
 * struct omerta_nl_ref - a device that a request works on
 * @tun: the device, locked unless it is only found
 * @tracker: of the reference to it
 */
struct omerta_nl_ref {
	struct omerta_tunnel *tun;
	netdevice_tracker tracker;
};

int omerta_nl_tunnel_find(const struct genl_info *info,
			  struct omerta_nl_ref *ref);
int omerta_nl_tunnel_get(const struct genl_info *info,
			 struct omerta_nl_ref *ref);
void omerta_nl_tunnel_put(struct omerta_nl_ref *ref);
int omerta_nl_outer_capable(struct sk_buff *skb, const struct genl_info *info,
			    const struct omerta_tunnel *tun);
struct omerta_peer *omerta_nl_peer_find(const struct genl_info *info,
					struct omerta_tunnel *tun, int attr);
void omerta_nl_flush(struct omerta_peer *peer);

#endif /* _OMERTA_NETLINK_UTIL_H */
