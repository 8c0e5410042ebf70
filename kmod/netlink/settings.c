// SPDX-License-Identifier: GPL-2.0
/*
 * Settings of a device as netlink attributes, the same for both families: the driver's own
 * and rtnetlink.
 */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/rtnetlink.h>

#include "compat/compat.h"
#include "crypto/engines.h"
#include "device/device.h"
#include "netlink/request.h"
#include "wire/record.h"

static int parse_class(const struct nlattr *attr, u8 *class, struct netlink_ext_ack *extack)
{
	u32 size = nla_get_u32(attr);

	if (!is_power_of_2(size)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "chunk-size must be a power of two, 512 to 65536");
		return -EINVAL;
	}
	*class = ilog2(size / OMERTA_CHUNK_MIN);
	return 0;
}

static int parse_cpus(const struct nlattr *attr, struct cpumask *cpus,
		      struct netlink_ext_ack *extack)
{
	if (!strcmp(nla_data(attr), "all")) {
		cpumask_copy(cpus, cpu_possible_mask);
		return 0;
	}
	if (cpulist_parse(nla_data(attr), cpus) ||
	    !cpumask_intersects(cpus, cpu_online_mask)) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "cpus must be a list like 0-3,8 with an online CPU in it, or all");
		return -EINVAL;
	}
	return 0;
}

static int parse_engine(const struct nlattr *attr, struct omerta_device_config *config,
			struct netlink_ext_ack *extack)
{
	int err;

	ASSERT_RTNL();
	err = omerta_engine_find(nla_data(attr), &config->engine);
	if (err == -ENOENT) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "engine must be auto, lib or one of this architecture, like mb-avx2 or mb-neon");
		return -EINVAL;
	}
	if (err == -EOPNOTSUPP)
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "this CPU does not support that engine, or it failed its self-test");
	if (!err)
		config->has |= BIT(OMERTA_A_DEVICE_ENGINE);
	return err;
}

static void parse_control(struct nlattr **attrs,
			  struct omerta_device_config *config)
{
	struct nlattr *all = attrs[OMERTA_A_DEVICE_CONTROL_RATE];
	struct nlattr *source = attrs[OMERTA_A_DEVICE_CONTROL_SOURCE_RATE];
	struct nlattr *share = attrs[OMERTA_A_DEVICE_CONTROL_SHARE];

	if (all) {
		config->has |= BIT(OMERTA_A_DEVICE_CONTROL_RATE);
		config->control_rate = nla_get_u32(all);
	}
	if (source) {
		config->has |= BIT(OMERTA_A_DEVICE_CONTROL_SOURCE_RATE);
		config->control_source_rate = nla_get_u32(source);
	}
	if (share) {
		config->has |= BIT(OMERTA_A_DEVICE_CONTROL_SHARE);
		config->control_share = nla_get_u32(share);
	}
}

/* @config->cpus is allocated by the caller. */
static int parse_config(struct nlattr **attrs, struct omerta_device_config *config,
			struct netlink_ext_ack *extack)
{
	int i, err;

	for (i = OMERTA_A_DEVICE_LISTEN_PORT; i <= OMERTA_A_DEVICE_DF; i++)
		if (attrs[i])
			config->has |= BIT(i);

	if (attrs[OMERTA_A_DEVICE_LISTEN_PORT])
		config->port = nla_get_u16(attrs[OMERTA_A_DEVICE_LISTEN_PORT]);
	if (attrs[OMERTA_A_DEVICE_FWMARK])
		config->fwmark = nla_get_u32(attrs[OMERTA_A_DEVICE_FWMARK]);
	if (attrs[OMERTA_A_DEVICE_POLICY])
		config->policy = nla_get_u32(attrs[OMERTA_A_DEVICE_POLICY]);
	if (attrs[OMERTA_A_DEVICE_PERCPU_THRESHOLD])
		config->threshold =
			nla_get_u32(attrs[OMERTA_A_DEVICE_PERCPU_THRESHOLD]);
	if (attrs[OMERTA_A_DEVICE_BATCH])
		config->batch = nla_get_u32(attrs[OMERTA_A_DEVICE_BATCH]);
	if (attrs[OMERTA_A_DEVICE_DF])
		config->df = nla_get_u32(attrs[OMERTA_A_DEVICE_DF]);
	if (attrs[OMERTA_A_DEVICE_CHANNELS]) {
		config->has |= BIT(OMERTA_A_DEVICE_CHANNELS);
		config->channels = nla_get_u32(attrs[OMERTA_A_DEVICE_CHANNELS]);
	}
	if (attrs[OMERTA_A_DEVICE_CHANNEL_PORT]) {
		config->has |= BIT(OMERTA_A_DEVICE_CHANNEL_PORT);
		config->channel_port = nla_get_u16(attrs[OMERTA_A_DEVICE_CHANNEL_PORT]);
	}
	parse_control(attrs, config);
	if (attrs[OMERTA_A_DEVICE_CHUNK_SIZE]) {
		err = parse_class(attrs[OMERTA_A_DEVICE_CHUNK_SIZE], &config->class,
				  extack);
		if (err)
			return err;
	}
	if (attrs[OMERTA_A_DEVICE_ENGINE]) {
		err = parse_engine(attrs[OMERTA_A_DEVICE_ENGINE], config, extack);
		if (err)
			return err;
	}
	if (!attrs[OMERTA_A_DEVICE_CPUS])
		return 0;
	return parse_cpus(attrs[OMERTA_A_DEVICE_CPUS], config->cpus, extack);
}

/**
 * omerta_nl_configure() - change settings of a device as requested
 * @skb: a request whose sender needs capabilities for OMERTA_OUTER_SETTINGS, or NULL if that has
 *	 been checked
 * @tun: the device, locked
 * @attrs: attributes of a device, valid by the policy of device-set
 * @extack: gets the reason of a refusal
 *
 * Context: process context, RTNL held.
 * Return: 0 or a negative errno; then nothing has changed.
 */
int omerta_nl_configure(struct sk_buff *skb, struct omerta_tunnel *tun, struct nlattr **attrs,
			struct netlink_ext_ack *extack)
{
	struct omerta_device_config config = {};
	int err;

	lockdep_assert_held(&tun->lock);

	if (!zalloc_cpumask_var(&config.cpus, GFP_KERNEL))
		return -ENOMEM;
	err = parse_config(attrs, &config, extack);
	/* Isolated CPUs are the machine's, so a tenant cannot have them work. */
	if (attrs[OMERTA_A_DEVICE_CPUS])
		config.isolated = skb ? netlink_capable(skb, CAP_NET_ADMIN) :
				  capable(CAP_NET_ADMIN);
	if (!err && skb && (config.has & OMERTA_OUTER_SETTINGS))
		err = omerta_nl_outer_capable(skb, tun, extack);
	if (!err)
		err = omerta_device_configure(tun, &config, extack);
	if (!err)
		tun->generation++;
	free_cpumask_var(config.cpus);
	return err;
}

/**
 * omerta_nl_cpus_size() - room in a message for the longest list of CPUs of this machine
 *
 * Return: bytes of the attribute.
 */
size_t omerta_nl_cpus_size(void)
{
	/* Two of three CPUs take most: "1000-1001," */
	return nla_total_size(min(nr_cpu_ids * 10 / 3 + 16, OMERTA_CPULIST_LEN + 1U));
}

static int put_cpus(struct sk_buff *msg, const struct cpumask *cpus)
{
	struct nlattr *attr;
	int len;

	if (cpumask_equal(cpus, cpu_possible_mask))
		return nla_put_string(msg, OMERTA_A_DEVICE_CPUS, "all");
	len = snprintf(NULL, 0, "%*pbl", cpumask_pr_args(cpus));
	attr = nla_reserve(msg, OMERTA_A_DEVICE_CPUS, len + 1);
	if (!attr)
		return -EMSGSIZE;
	/* The mask has not changed meanwhile, as the lock is held. */
	snprintf(nla_data(attr), len + 1, "%*pbl", cpumask_pr_args(cpus));
	return 0;
}

/**
 * omerta_nl_put_settings() - add settings of a device that are no secret to a message
 * @msg: the message
 * @tun: the device
 *
 * Context: process context, RTNL or the device's lock held.
 * Return: 0 or -EMSGSIZE.
 */
int omerta_nl_put_settings(struct sk_buff *msg, const struct omerta_tunnel *tun)
{
	const struct cpumask *cpus =
		rcu_dereference_protected(tun->pool.cpus,
					  lockdep_rtnl_is_held() ||
					  lockdep_is_held(&tun->lock));

	if (nla_put_u32(msg, OMERTA_A_DEVICE_CHUNK_SIZE, OMERTA_CHUNK_SIZE(tun->class)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_POLICY, tun->pool.policy) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_PERCPU_THRESHOLD, tun->pool.threshold) ||
	    put_cpus(msg, cpus) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_BATCH, tun->batch) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_DF, tun->df) ||
	    nla_put_string(msg, OMERTA_A_DEVICE_ENGINE, omerta_engine_name(tun->engine)) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CONTROL_RATE, tun->control.rate) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CONTROL_SOURCE_RATE, tun->control.source_rate) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CONTROL_SHARE, tun->control.share) ||
	    nla_put_u32(msg, OMERTA_A_DEVICE_CHANNELS, tun->n_channels) ||
	    nla_put_u16(msg, OMERTA_A_DEVICE_CHANNEL_PORT, tun->channel_port))
		return -EMSGSIZE;
	return 0;
}
