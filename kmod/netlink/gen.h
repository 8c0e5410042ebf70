/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/omerta.yaml */
/* YNL-GEN kernel header */
/* To regenerate run: Documentation/netlink/regen.sh */

#ifndef _LINUX_OMERTA_GEN_H
#define _LINUX_OMERTA_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/omerta.h>

/* Common nested types */
extern const struct nla_policy omerta_agent_stats_nl_policy[OMERTA_A_AGENT_STATS_RATE_LIMITED + 1];
extern const struct nla_policy omerta_allowed_ip_nl_policy[OMERTA_A_ALLOWED_IP_PEER_ID + 1];
extern const struct nla_policy omerta_handshake_nl_policy[OMERTA_A_HANDSHAKE_FAILURE + 1];

int omerta_nl_peer_pre_doit(const struct genl_split_ops *ops,
			    struct sk_buff *skb, struct genl_info *info);
int omerta_nl_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
		       struct genl_info *info);
int omerta_nl_key_new_pre_doit(const struct genl_split_ops *ops,
			       struct sk_buff *skb, struct genl_info *info);
void
omerta_nl_peer_post_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			 struct genl_info *info);
void
omerta_nl_post_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
		    struct genl_info *info);
void
omerta_nl_key_new_post_doit(const struct genl_split_ops *ops,
			    struct sk_buff *skb, struct genl_info *info);
int omerta_nl_device_get_start(struct netlink_callback *cb);
int omerta_nl_peer_get_start(struct netlink_callback *cb);

int omerta_nl_device_new_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_device_del_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_device_set_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_device_get_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_device_get_dumpit(struct sk_buff *skb,
				struct netlink_callback *cb);
int omerta_nl_peer_new_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_peer_set_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_peer_get_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int omerta_nl_allowed_ip_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int omerta_nl_key_new_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_key_activate_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_key_retire_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_key_del_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_key_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int omerta_nl_control_bind_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_control_unbind_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_control_send_doit(struct sk_buff *skb, struct genl_info *info);
int omerta_nl_agent_report_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	OMERTA_NLGRP_EVENTS,
};

extern struct genl_family omerta_nl_family;

#endif /* _LINUX_OMERTA_GEN_H */
