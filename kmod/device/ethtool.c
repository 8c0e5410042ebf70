// SPDX-License-Identifier: GPL-2.0
/*
 * The device as ethtool shows it.
 */
#include "device/ethtool.h"

#include <linux/ctype.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>

#include "compat/compat.h"
#include "device/channels.h"
#include "device/device.h"

#define DROP_NAME(dir, name)	[OMERTA_DROP_##dir##_##name] = #dir "_DROP_" #name,

/* Names of counters; ethtool gets them in lower case. */
static const char *const drop_names[OMERTA_DROPS] = { OMERTA_EACH_DROP(DROP_NAME) };

/* Counters of each channel, by attribute */
static const char *const queue_names[] = {
	[OMERTA_A_CHANNEL_STATS_RX_PACKETS] = "rx_queue_%u_packets",
	[OMERTA_A_CHANNEL_STATS_RX_RECORDS] = "rx_queue_%u_records",
	[OMERTA_A_CHANNEL_STATS_RX_BURSTS] = "rx_queue_%u_bursts",
	[OMERTA_A_CHANNEL_STATS_RX_POLLS] = "rx_queue_%u_polls",
	[OMERTA_A_CHANNEL_STATS_RX_DROPS] = "rx_queue_%u_drops",
	[OMERTA_A_CHANNEL_STATS_RX_CPU] = "rx_queue_%u_cpu",
	[OMERTA_A_CHANNEL_STATS_TX_PACKETS] = "tx_queue_%u_packets",
	[OMERTA_A_CHANNEL_STATS_TX_RECORDS] = "tx_queue_%u_records",
	[OMERTA_A_CHANNEL_STATS_TX_DROPS] = "tx_queue_%u_drops",
	[OMERTA_A_CHANNEL_STATS_TX_CPU] = "tx_queue_%u_cpu",
	[OMERTA_A_CHANNEL_STATS_STOPPED_BQL] = "tx_queue_%u_stopped_bql",
	[OMERTA_A_CHANNEL_STATS_STOPPED_IN_FLIGHT] = "tx_queue_%u_stopped_in_flight",
	[OMERTA_A_CHANNEL_STATS_HANDED_OVER] = "tx_queue_%u_handed_over",
};

/* Counters with names */
#define FIRST_STAT	OMERTA_A_CHANNEL_STATS_RX_PACKETS
#define N_STATS		(ARRAY_SIZE(queue_names) - FIRST_STAT)

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
#ifdef OMERTA_VERSION
	strscpy(info->version, OMERTA_VERSION, sizeof(info->version));
#endif
}

/* Older kernels leave transmission out of what every device has. */
static int get_ts_info(struct net_device *dev, struct kernel_ethtool_ts_info *info)
{
	int err = ethtool_op_get_ts_info(dev, info);

	info->so_timestamping |= SOF_TIMESTAMPING_TX_SOFTWARE;
	return err;
}

static int get_sset_count(struct net_device *dev, int set)
{
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return omerta_channels(netdev_priv(dev)) * N_STATS + OMERTA_DROPS - 1;
}

static void put_name(u8 **to, const char *name)
{
	char *c = *to;

	/* Advances to the next name. */
	ethtool_puts(to, name);
	for (; *c; c++)
		*c = tolower(*c);
}

static void get_strings(struct net_device *dev, u32 set, u8 *to)
{
	unsigned int c, i;

	if (set != ETH_SS_STATS)
		return;
	for (c = 0; c < omerta_channels(netdev_priv(dev)); c++)
		for (i = FIRST_STAT; i < ARRAY_SIZE(queue_names); i++)
			ethtool_sprintf(&to, queue_names[i], c);
	for (i = OMERTA_DROP_NONE + 1; i < OMERTA_DROPS; i++)
		put_name(&to, drop_names[i]);
}

static void get_stats(struct net_device *dev, struct ethtool_stats *header, u64 *data)
{
	const struct omerta_tunnel *tun = netdev_priv(dev);
	u64 drops[OMERTA_DROPS], stats[OMERTA_CHANNEL_STATS];
	unsigned int c, i;

	for (c = 0; c < omerta_channels(tun); c++) {
		omerta_channel_stats(tun->channel[c], stats);
		for (i = FIRST_STAT; i < ARRAY_SIZE(queue_names); i++)
			*data++ = stats[i] == OMERTA_NO_CPU ? 0 : stats[i];
	}
	omerta_device_drops(tun, drops);
	memcpy(data, drops + 1, (OMERTA_DROPS - 1) * sizeof(*data));
}

static void get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	const struct omerta_tunnel *tun = netdev_priv(dev);

	channels->max_combined = omerta_channels_max(tun);
	channels->combined_count = omerta_channels(tun);
}

static int set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct omerta_device_config config = {
		.has = BIT(OMERTA_A_DEVICE_CHANNELS),
		.channels = channels->combined_count,
	};
	struct omerta_tunnel *tun = netdev_priv(dev);
	int err;

	mutex_lock(&tun->lock);
	err = omerta_device_configure(tun, &config, NULL);
	if (!err)
		tun->generation++;
	mutex_unlock(&tun->lock);
	return err;
}

const struct ethtool_ops omerta_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = get_ts_info,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
	.get_channels = get_channels,
	.set_channels = set_channels,
};
