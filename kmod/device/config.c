// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of a device.
 */
#include "device/device.h"

#include <linux/netdevice.h>

#include "compat/compat.h"
#include "datapath/udp.h"
#include "device/channels.h"
#include "wire/record.h"

static void peer_forget_route(struct omerta_peer *peer)
{
	struct omerta_peer_channel *pc;

	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
		write_seqlock_bh(&pc->way.lock);
		dst_cache_reset(&pc->way.cache);
		pc->way.told_mtu = 0;
		write_sequnlock_bh(&pc->way.lock);
	}
}

static int check_class(struct omerta_tunnel *tun, u8 class,
		       struct netlink_ext_ack *extack)
{
	if (class == tun->class)
		return 0;
	if (netif_running(tun->dev)) {
		NL_SET_ERR_MSG(extack,
			       "chunk-size changes only while the device is down; use ip link set down");
		return -EBUSY;
	}
	if (tun->dev->mtu > OMERTA_RECORD_MAX_PLAIN(class)) {
		NL_SET_ERR_MSG(extack,
			       "the device's mtu is too large for this chunk-size; lower it first");
		return -ERANGE;
	}
	return 0;
}

static int check_channels(struct omerta_tunnel *tun, u32 n, struct netlink_ext_ack *extack)
{
	if (n > omerta_channels_max(tun)) {
		NL_SET_ERR_MSG(extack,
			       "a device has at most as many channels as CPUs or queues, see ethtool -l");
		return -ERANGE;
	}
	if (n != tun->n_channels && netif_running(tun->dev)) {
		NL_SET_ERR_MSG(extack,
			       "channels change only while the device is down; use ip link set down");
		return -EBUSY;
	}
	return 0;
}

/* The netlink policy knows the greatest one. */
static_assert(U16_MAX - OMERTA_CHANNEL_PORTS * (OMERTA_CHANNELS_MAX - 2) == 65411);

static int check_channel_port(struct omerta_tunnel *tun, u16 port, struct netlink_ext_ack *extack)
{
	if (port == tun->channel_port)
		return 0;
	if (netif_running(tun->dev)) {
		NL_SET_ERR_MSG(extack,
			       "channel-port changes only while the device is down; use ip link set down");
		return -EBUSY;
	}
	return 0;
}

static int check_port(struct omerta_tunnel *tun, u16 port,
		      struct netlink_ext_ack *extack)
{
	int err;

	if (!netif_running(tun->dev))
		return omerta_udp_probe(tun, port, extack);
	if (port && port == tun->port)
		return 0;
	err = omerta_udp_open(tun, port, 0, extack);
	/* Routes may depend on the source port. */
	if (!err)
		omerta_device_each_peer(tun, peer_forget_route);
	return err;
}

/**
 * omerta_device_configure() - change settings of a device
 * @tun: the device
 * @config: the settings, valid as far as that does not depend on the device
 * @extack: gets the reason of a refusal
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int omerta_device_configure(struct omerta_tunnel *tun,
			    const struct omerta_device_config *config,
			    struct netlink_ext_ack *extack)
{
	unsigned long has = config->has;
	int err;

	ASSERT_RTNL();
	lockdep_assert_held(&tun->lock);

	if (has & BIT(OMERTA_A_DEVICE_CHUNK_SIZE)) {
		err = check_class(tun, config->class, extack);
		if (err)
			return err;
	}
	if (has & BIT(OMERTA_A_DEVICE_CHANNELS)) {
		err = check_channels(tun, config->channels, extack);
		if (err)
			return err;
	}
	if (has & BIT(OMERTA_A_DEVICE_CHANNEL_PORT)) {
		err = check_channel_port(tun, config->channel_port, extack);
		if (err)
			return err;
	}
	/* It replaces the sockets if the device is up. Then nothing after it may fail. */
	if (has & BIT(OMERTA_A_DEVICE_LISTEN_PORT)) {
		err = check_port(tun, config->port, extack);
		if (err)
			return err;
	}
	if (has & BIT(OMERTA_A_DEVICE_CHANNELS) && config->channels != tun->n_channels) {
		err = omerta_channels_set(tun, config->channels);
		if (err)
			return err;
	}
	if (has & BIT(OMERTA_A_DEVICE_LISTEN_PORT) && !netif_running(tun->dev))
		tun->port = config->port;
	if (has & BIT(OMERTA_A_DEVICE_CHANNEL_PORT))
		tun->channel_port = config->channel_port;
	if (has & BIT(OMERTA_A_DEVICE_CHUNK_SIZE)) {
		tun->class = config->class;
		tun->dev->max_mtu = OMERTA_RECORD_MAX_PLAIN(config->class);
		omerta_device_set_gso_limits(tun, tun->dev->mtu);
	}
	if (has & BIT(OMERTA_A_DEVICE_FWMARK)) {
		WRITE_ONCE(tun->fwmark, config->fwmark);
		omerta_udp_set_mark(tun);
		omerta_device_each_peer(tun, peer_forget_route);
	}
	if (has & BIT(OMERTA_A_DEVICE_POLICY))
		WRITE_ONCE(tun->pool.policy, config->policy);
	if (has & BIT(OMERTA_A_DEVICE_PERCPU_THRESHOLD))
		WRITE_ONCE(tun->pool.threshold, config->threshold);
	if (has & BIT(OMERTA_A_DEVICE_ENGINE))
		WRITE_ONCE(tun->engine, config->engine);
	if (has & BIT(OMERTA_A_DEVICE_CPUS))
		omerta_pool_set_cpus(&tun->pool, config->cpus, config->isolated);
	if (has & BIT(OMERTA_A_DEVICE_CONTROL_RATE))
		WRITE_ONCE(tun->control.rate, config->control_rate);
	if (has & BIT(OMERTA_A_DEVICE_CONTROL_SOURCE_RATE))
		WRITE_ONCE(tun->control.source_rate, config->control_source_rate);
	if (has & BIT(OMERTA_A_DEVICE_CONTROL_SHARE))
		WRITE_ONCE(tun->control.share, config->control_share);
	if (has & BIT(OMERTA_A_DEVICE_BATCH))
		WRITE_ONCE(tun->batch, config->batch);
	if (has & BIT(OMERTA_A_DEVICE_DF)) {
		WRITE_ONCE(tun->df, config->df);
		omerta_device_each_peer(tun, omerta_peer_forget_path);
	}
	return 0;
}
