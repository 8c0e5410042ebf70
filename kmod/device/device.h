/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_DEVICE_H
#define _OMERTA_DEVICE_H

#include <linux/cpumask.h>
#include <linux/netlink.h>

#include "datapath/tunnel.h"

/**
 * struct omerta_device_config - settings to change
 * @has: the settings that are given, BIT(OMERTA_A_DEVICE_*)
 * @port: UDP port, host order, 0 for any
 * @fwmark: mark of outgoing datagrams
 * @class: chunk class
 * @policy: enum omerta_policy
 * @threshold: threshold of policy auto, bytes
 * @cpus: CPUs that may seal and open
 * @isolated: isolated ones among them, too
 * @engine: engine that seals and opens
 * @batch: small packets may share a record
 * @df: enum omerta_df
 * @control_rate: control datagrams from strangers per second
 * @control_source_rate: control datagrams from one source per second
 * @control_share: share of the reader's buffer for strangers, in sixteenths
 * @channels: number of channels
 * @channel_port: own port of the second channel, host order, 0 for any
 */
struct omerta_device_config {
	unsigned long has;
	u16 port;
	u32 fwmark;
	u8 class;
	u8 policy;
	u32 threshold;
	cpumask_var_t cpus;
	bool isolated;
	const struct omerta_engine *engine;
	bool batch;
	u8 df;
	u32 control_rate;
	u32 control_source_rate;
	u32 control_share;
	u32 channels;
	u16 channel_port;
};

int omerta_device_init(void);
void omerta_device_exit(void);
bool netif_is_omerta(const struct net_device *dev);
void omerta_device_setup(struct net_device *dev);
int omerta_device_register(struct net_device *dev, struct net *birth);
void omerta_device_drops(const struct omerta_tunnel *tun, u64 sum[OMERTA_DROPS]);
void omerta_device_each_peer(struct omerta_tunnel *tun,
			     void (*fn)(struct omerta_peer *peer));
void omerta_devices_each_peer(void (*fn)(struct omerta_peer *peer));
void omerta_device_check_peer(struct omerta_peer *peer);
void omerta_device_set_gso_limits(struct omerta_tunnel *tun, u32 mtu);
int omerta_device_configure(struct omerta_tunnel *tun,
			    const struct omerta_device_config *config,
			    struct netlink_ext_ack *extack);

#endif /* _OMERTA_DEVICE_H */
