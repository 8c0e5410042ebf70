/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_NETLINK_REQUEST_H
#define _OMERTA_NETLINK_REQUEST_H

#include <net/genetlink.h>

#include "netlink/gen.h"
#include "peer/peer.h"
#include "datapath/tunnel.h"

/* Settings of the network outside of the tunnel, which are for its own administrators */
#define OMERTA_OUTER_SETTINGS	(BIT(OMERTA_A_DEVICE_LISTEN_PORT) |		\
				 BIT(OMERTA_A_DEVICE_CHANNEL_PORT) |		\
				 BIT(OMERTA_A_DEVICE_FWMARK) |			\
				 BIT(OMERTA_A_DEVICE_CONTROL_RATE) |		\
				 BIT(OMERTA_A_DEVICE_CONTROL_SOURCE_RATE) |	\
				 BIT(OMERTA_A_DEVICE_CONTROL_SHARE))

/**
 * struct omerta_nl_ref - reference of a request to its device
 * @tun: the device, locked unless it is from omerta_nl_tunnel_find()
 * @tracker: tracks the reference
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
int omerta_nl_outer_capable(struct sk_buff *skb, const struct omerta_tunnel *tun,
			    struct netlink_ext_ack *extack);
int omerta_nl_configure(struct sk_buff *skb, struct omerta_tunnel *tun, struct nlattr **attrs,
			struct netlink_ext_ack *extack);
size_t omerta_nl_cpus_size(void);
int omerta_nl_put_settings(struct sk_buff *msg, const struct omerta_tunnel *tun);
int omerta_link_announce(struct net_device *dev);
struct net_device *omerta_link_create(struct net *net, const char *name,
				      struct netlink_ext_ack *extack);
int omerta_link_init(void);
void omerta_link_exit(void);
struct omerta_peer *omerta_nl_peer_find(const struct genl_info *info,
					struct omerta_tunnel *tun, int attr);
int omerta_nl_endpoint_parse(const struct genl_info *info, int attr,
			     struct omerta_endpoint *ep);
void omerta_nl_flush(struct omerta_peer *peer);
int omerta_nl_put_agent(struct sk_buff *msg, const struct omerta_tunnel *tun);
int omerta_nl_put_handshake(struct sk_buff *msg, const struct omerta_peer *peer);

#endif /* _OMERTA_NETLINK_REQUEST_H */
