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
#include "device/device.h"

#define DROP_NAME(dir, name)	[OMERTA_DROP_##dir##_##name] = #dir "_DROP_" #name,

/* Names of counters; ethtool gets them in lower case. */
static const char *const drop_names[OMERTA_DROPS] = { OMERTA_EACH_DROP(DROP_NAME) };

static const char *const queue_names[] = {
	"RX_QUEUE_0_POLLS",
	"RX_QUEUE_0_BURSTS",
	"TX_QUEUE_0_STOPPED_BQL",
	"TX_QUEUE_0_STOPPED_IN_FLIGHT",
	"TX_QUEUE_0_HANDED_OVER",
};

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
	return ARRAY_SIZE(queue_names) + OMERTA_DROPS - 1;
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
	unsigned int i;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < ARRAY_SIZE(queue_names); i++)
		put_name(&to, queue_names[i]);
	for (i = OMERTA_DROP_NONE + 1; i < OMERTA_DROPS; i++)
		put_name(&to, drop_names[i]);
}

static void get_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	const struct omerta_tunnel *tun = netdev_priv(dev);
	u64 drops[OMERTA_DROPS];

	/* In the order of queue_names */
	*data++ = READ_ONCE(tun->rx_polls);
	*data++ = READ_ONCE(tun->rx_bursts);
	*data++ = READ_ONCE(tun->txq.stops[OMERTA_QUEUE_BQL]);
	*data++ = READ_ONCE(tun->txq.stops[OMERTA_QUEUE_IN_FLIGHT]);
	*data++ = READ_ONCE(tun->txq.stops[OMERTA_QUEUE_HELPER]);
	omerta_device_drops(tun, drops);
	memcpy(data, drops + 1, (OMERTA_DROPS - 1) * sizeof(*data));
}

const struct ethtool_ops omerta_ethtool_ops = {
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_ts_info = get_ts_info,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
};
