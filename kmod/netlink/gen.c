// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/omerta.yaml */
/* YNL-GEN kernel source */
/* To regenerate run: Documentation/netlink/regen.sh */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "gen.h"

#include <uapi/linux/omerta.h>

/* Integer value ranges */
static const struct netlink_range_validation omerta_a_device_chunk_size_range = {
	.min	= 512ULL,
	.max	= 65536ULL,
};

static const struct netlink_range_validation omerta_a_device_control_rate_range = {
	.min	= 1ULL,
	.max	= 1000000ULL,
};

static const struct netlink_range_validation omerta_a_device_control_source_rate_range = {
	.min	= 1ULL,
	.max	= 1000000ULL,
};

static const struct netlink_range_validation omerta_a_device_channel_port_range = {
	.max	= 65411ULL,
};

/* Common nested types */
const struct nla_policy omerta_agent_stats_nl_policy[OMERTA_A_AGENT_STATS_RATE_LIMITED + 1] = {
	[OMERTA_A_AGENT_STATS_BEGUN] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_DONE] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_NO_ANSWER] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_NO_ENDPOINT] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_NAME_UNKNOWN] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_NOT_SENT] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_NOT_OPENED] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_NOT_USED] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_MODE] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_OLD_TIME] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_LAST_TIME] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_LIMIT] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_FAILED_SYSTEM] = { .type = NLA_UINT, },
	[OMERTA_A_AGENT_STATS_RATE_LIMITED] = { .type = NLA_UINT, },
};

const struct nla_policy omerta_allowed_ip_nl_policy[OMERTA_A_ALLOWED_IP_PEER_ID + 1] = {
	[OMERTA_A_ALLOWED_IP_ADDR] = NLA_POLICY_MIN_LEN(4),
	[OMERTA_A_ALLOWED_IP_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[OMERTA_A_ALLOWED_IP_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1),
	[OMERTA_A_ALLOWED_IP_IFINDEX] = { .type = NLA_U32, },
	[OMERTA_A_ALLOWED_IP_PEER_ID] = { .type = NLA_U32, },
};

const struct nla_policy omerta_handshake_nl_policy[OMERTA_A_HANDSHAKE_FAILURE + 1] = {
	[OMERTA_A_HANDSHAKE_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_HANDSHAKE_TRIES] = { .type = NLA_U32, },
	[OMERTA_A_HANDSHAKE_KIND] = NLA_POLICY_MASK(NLA_U32, 0x3),
	[OMERTA_A_HANDSHAKE_FAILURE] = NLA_POLICY_MAX(NLA_U32, 10),
};

/* OMERTA_CMD_DEVICE_NEW - do */
static const struct nla_policy omerta_device_new_nl_policy[OMERTA_A_DEVICE_CHANNEL_PORT + 1] = {
	[OMERTA_A_DEVICE_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_DEVICE_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_DEVICE_LISTEN_PORT] = { .type = NLA_U16, },
	[OMERTA_A_DEVICE_FWMARK] = { .type = NLA_U32, },
	[OMERTA_A_DEVICE_CHUNK_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_a_device_chunk_size_range),
	[OMERTA_A_DEVICE_POLICY] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_A_DEVICE_PERCPU_THRESHOLD] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_DEVICE_CPUS] = { .type = NLA_NUL_STRING, .len = OMERTA_CPULIST_LEN, },
	[OMERTA_A_DEVICE_BATCH] = NLA_POLICY_MAX(NLA_U32, 1),
	[OMERTA_A_DEVICE_DF] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_A_DEVICE_ENGINE] = { .type = NLA_NUL_STRING, .len = OMERTA_ENGINE_LEN, },
	[OMERTA_A_DEVICE_CONTROL_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_a_device_control_rate_range),
	[OMERTA_A_DEVICE_CONTROL_SOURCE_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_a_device_control_source_rate_range),
	[OMERTA_A_DEVICE_CONTROL_SHARE] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[OMERTA_A_DEVICE_CHANNELS] = NLA_POLICY_RANGE(NLA_U32, 1, 64),
	[OMERTA_A_DEVICE_CHANNEL_PORT] = NLA_POLICY_FULL_RANGE(NLA_U16, &omerta_a_device_channel_port_range),
};

/* OMERTA_CMD_DEVICE_DEL - do */
static const struct nla_policy omerta_device_del_nl_policy[OMERTA_A_DEVICE_IFNAME + 1] = {
	[OMERTA_A_DEVICE_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_DEVICE_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* OMERTA_CMD_DEVICE_SET - do */
static const struct nla_policy omerta_device_set_nl_policy[OMERTA_A_DEVICE_CHANNEL_PORT + 1] = {
	[OMERTA_A_DEVICE_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_DEVICE_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_DEVICE_LISTEN_PORT] = { .type = NLA_U16, },
	[OMERTA_A_DEVICE_FWMARK] = { .type = NLA_U32, },
	[OMERTA_A_DEVICE_CHUNK_SIZE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_a_device_chunk_size_range),
	[OMERTA_A_DEVICE_POLICY] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_A_DEVICE_PERCPU_THRESHOLD] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_DEVICE_CPUS] = { .type = NLA_NUL_STRING, .len = OMERTA_CPULIST_LEN, },
	[OMERTA_A_DEVICE_BATCH] = NLA_POLICY_MAX(NLA_U32, 1),
	[OMERTA_A_DEVICE_DF] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_A_DEVICE_ENGINE] = { .type = NLA_NUL_STRING, .len = OMERTA_ENGINE_LEN, },
	[OMERTA_A_DEVICE_CONTROL_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_a_device_control_rate_range),
	[OMERTA_A_DEVICE_CONTROL_SOURCE_RATE] = NLA_POLICY_FULL_RANGE(NLA_U32, &omerta_a_device_control_source_rate_range),
	[OMERTA_A_DEVICE_CONTROL_SHARE] = NLA_POLICY_RANGE(NLA_U32, 1, 16),
	[OMERTA_A_DEVICE_CHANNELS] = NLA_POLICY_RANGE(NLA_U32, 1, 64),
	[OMERTA_A_DEVICE_CHANNEL_PORT] = NLA_POLICY_FULL_RANGE(NLA_U16, &omerta_a_device_channel_port_range),
};

/* OMERTA_CMD_DEVICE_GET - do */
static const struct nla_policy omerta_device_get_nl_policy[OMERTA_A_DEVICE_IFNAME + 1] = {
	[OMERTA_A_DEVICE_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_DEVICE_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* OMERTA_CMD_PEER_NEW - do */
static const struct nla_policy omerta_peer_new_nl_policy[OMERTA_A_PEER_CHANNELS + 1] = {
	[OMERTA_A_PEER_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_NAME] = { .type = NLA_NUL_STRING, .len = OMERTA_PEER_NAME_LEN, },
	[OMERTA_A_PEER_PUBLIC_KEY] = NLA_POLICY_EXACT_LEN(OMERTA_KEY_LEN),
	[OMERTA_A_PEER_ENDPOINT_ADDR] = NLA_POLICY_MIN_LEN(4),
	[OMERTA_A_PEER_ENDPOINT_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[OMERTA_A_PEER_ENDPOINT_SCOPE] = { .type = NLA_U32, },
	[OMERTA_A_PEER_KEEPALIVE] = { .type = NLA_U16, },
	[OMERTA_A_PEER_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1),
	[OMERTA_A_PEER_ALLOWED_IPS] = NLA_POLICY_NESTED(omerta_allowed_ip_nl_policy),
	[OMERTA_A_PEER_CHANNELS] = NLA_POLICY_MAX(NLA_U32, 64),
};

/* OMERTA_CMD_PEER_SET - do */
static const struct nla_policy omerta_peer_set_nl_policy[OMERTA_A_PEER_CHANNELS + 1] = {
	[OMERTA_A_PEER_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_NAME] = { .type = NLA_NUL_STRING, .len = OMERTA_PEER_NAME_LEN, },
	[OMERTA_A_PEER_PUBLIC_KEY] = NLA_POLICY_EXACT_LEN(OMERTA_KEY_LEN),
	[OMERTA_A_PEER_ENDPOINT_ADDR] = NLA_POLICY_MIN_LEN(4),
	[OMERTA_A_PEER_ENDPOINT_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[OMERTA_A_PEER_ENDPOINT_SCOPE] = { .type = NLA_U32, },
	[OMERTA_A_PEER_KEEPALIVE] = { .type = NLA_U16, },
	[OMERTA_A_PEER_FLAGS] = NLA_POLICY_MASK(NLA_U32, 0x1),
	[OMERTA_A_PEER_ALLOWED_IPS] = NLA_POLICY_NESTED(omerta_allowed_ip_nl_policy),
	[OMERTA_A_PEER_CHANNELS] = NLA_POLICY_MAX(NLA_U32, 64),
};

/* OMERTA_CMD_PEER_DEL - do */
static const struct nla_policy omerta_peer_del_nl_policy[OMERTA_A_PEER_ID + 1] = {
	[OMERTA_A_PEER_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* OMERTA_CMD_PEER_GET - do */
static const struct nla_policy omerta_peer_get_do_nl_policy[OMERTA_A_PEER_ID + 1] = {
	[OMERTA_A_PEER_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* OMERTA_CMD_PEER_GET - dump */
static const struct nla_policy omerta_peer_get_dump_nl_policy[OMERTA_A_PEER_IFNAME + 1] = {
	[OMERTA_A_PEER_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* OMERTA_CMD_ALLOWED_IP_GET - dump */
static const struct nla_policy omerta_allowed_ip_get_nl_policy[OMERTA_A_PEER_IFNAME + 1] = {
	[OMERTA_A_PEER_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_PEER_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* OMERTA_CMD_KEY_NEW - do */
static const struct nla_policy omerta_key_new_nl_policy[OMERTA_A_KEY_CHANNEL + 1] = {
	[OMERTA_A_KEY_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_KEY_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_LOCAL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_REMOTE_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_RX_SECRET] = NLA_POLICY_EXACT_LEN(OMERTA_KEY_LEN),
	[OMERTA_A_KEY_TX_SECRET] = NLA_POLICY_EXACT_LEN(OMERTA_KEY_LEN),
	[OMERTA_A_KEY_ACTIVATION] = NLA_POLICY_MAX(NLA_U32, 2),
	[OMERTA_A_KEY_SEAL_TIME] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_OPEN_TIME] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_SOFT_TIME] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_SOFT_RECORDS] = NLA_POLICY_MIN(NLA_UINT, 1),
	[OMERTA_A_KEY_SOFT_BYTES] = NLA_POLICY_MIN(NLA_UINT, 1),
	[OMERTA_A_KEY_HARD_RECORDS] = NLA_POLICY_MIN(NLA_UINT, 1),
	[OMERTA_A_KEY_HARD_BYTES] = NLA_POLICY_MIN(NLA_UINT, 1),
	[OMERTA_A_KEY_EPOCH] = { .type = NLA_U32, },
	[OMERTA_A_KEY_HANDSHAKE] = { .type = NLA_FLAG, },
	[OMERTA_A_KEY_CHANNEL] = NLA_POLICY_RANGE(NLA_U32, 1, 63),
};

/* OMERTA_CMD_KEY_ACTIVATE - do */
static const struct nla_policy omerta_key_activate_nl_policy[OMERTA_A_KEY_LOCAL_ID + 1] = {
	[OMERTA_A_KEY_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_KEY_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_LOCAL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* OMERTA_CMD_KEY_RETIRE - do */
static const struct nla_policy omerta_key_retire_nl_policy[OMERTA_A_KEY_LOCAL_ID + 1] = {
	[OMERTA_A_KEY_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_KEY_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_LOCAL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* OMERTA_CMD_KEY_DEL - do */
static const struct nla_policy omerta_key_del_nl_policy[OMERTA_A_KEY_LOCAL_ID + 1] = {
	[OMERTA_A_KEY_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_KEY_PEER_ID] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_LOCAL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* OMERTA_CMD_KEY_GET - dump */
static const struct nla_policy omerta_key_get_nl_policy[OMERTA_A_KEY_IFNAME + 1] = {
	[OMERTA_A_KEY_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_KEY_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* OMERTA_CMD_CONTROL_BIND - do */
static const struct nla_policy omerta_control_bind_nl_policy[OMERTA_A_CONTROL_ALL_TYPES + 1] = {
	[OMERTA_A_CONTROL_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_CONTROL_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_CONTROL_PUBLIC_KEY] = NLA_POLICY_EXACT_LEN(OMERTA_KEY_LEN),
	[OMERTA_A_CONTROL_ALL_TYPES] = { .type = NLA_FLAG, },
};

/* OMERTA_CMD_CONTROL_UNBIND - do */
static const struct nla_policy omerta_control_unbind_nl_policy[OMERTA_A_CONTROL_IFNAME + 1] = {
	[OMERTA_A_CONTROL_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_CONTROL_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
};

/* OMERTA_CMD_CONTROL_SEND - do */
static const struct nla_policy omerta_control_send_nl_policy[OMERTA_A_CONTROL_LOCAL_ID + 1] = {
	[OMERTA_A_CONTROL_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_CONTROL_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_CONTROL_ENDPOINT_ADDR] = NLA_POLICY_MIN_LEN(4),
	[OMERTA_A_CONTROL_ENDPOINT_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[OMERTA_A_CONTROL_ENDPOINT_SCOPE] = { .type = NLA_U32, },
	[OMERTA_A_CONTROL_LOCAL_ADDR] = NLA_POLICY_MIN_LEN(4),
	[OMERTA_A_CONTROL_DATA] = NLA_POLICY_MIN_LEN(4),
	[OMERTA_A_CONTROL_LOCAL_ID] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* OMERTA_CMD_AGENT_REPORT - do */
static const struct nla_policy omerta_agent_report_nl_policy[OMERTA_A_REPORT_HANDSHAKE + 1] = {
	[OMERTA_A_REPORT_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
	[OMERTA_A_REPORT_IFNAME] = { .type = NLA_NUL_STRING, .len = 127, },
	[OMERTA_A_REPORT_AGENT_STATS] = NLA_POLICY_NESTED(omerta_agent_stats_nl_policy),
	[OMERTA_A_REPORT_HANDSHAKE] = NLA_POLICY_NESTED(omerta_handshake_nl_policy),
};

/* Ops table for omerta */
static const struct genl_split_ops omerta_nl_ops[] = {
	{
		.cmd		= OMERTA_CMD_DEVICE_NEW,
		.doit		= omerta_nl_device_new_doit,
		.policy		= omerta_device_new_nl_policy,
		.maxattr	= OMERTA_A_DEVICE_CHANNEL_PORT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_DEVICE_DEL,
		.doit		= omerta_nl_device_del_doit,
		.policy		= omerta_device_del_nl_policy,
		.maxattr	= OMERTA_A_DEVICE_IFNAME,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_DEVICE_SET,
		.doit		= omerta_nl_device_set_doit,
		.policy		= omerta_device_set_nl_policy,
		.maxattr	= OMERTA_A_DEVICE_CHANNEL_PORT,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_DEVICE_GET,
		.doit		= omerta_nl_device_get_doit,
		.policy		= omerta_device_get_nl_policy,
		.maxattr	= OMERTA_A_DEVICE_IFNAME,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= OMERTA_CMD_DEVICE_GET,
		.start	= omerta_nl_device_get_start,
		.dumpit	= omerta_nl_device_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= OMERTA_CMD_PEER_NEW,
		.pre_doit	= omerta_nl_peer_pre_doit,
		.doit		= omerta_nl_peer_new_doit,
		.post_doit	= omerta_nl_peer_post_doit,
		.policy		= omerta_peer_new_nl_policy,
		.maxattr	= OMERTA_A_PEER_CHANNELS,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_PEER_SET,
		.pre_doit	= omerta_nl_peer_pre_doit,
		.doit		= omerta_nl_peer_set_doit,
		.post_doit	= omerta_nl_peer_post_doit,
		.policy		= omerta_peer_set_nl_policy,
		.maxattr	= OMERTA_A_PEER_CHANNELS,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_PEER_DEL,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_peer_del_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_peer_del_nl_policy,
		.maxattr	= OMERTA_A_PEER_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_PEER_GET,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_peer_get_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_peer_get_do_nl_policy,
		.maxattr	= OMERTA_A_PEER_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_PEER_GET,
		.start		= omerta_nl_peer_get_start,
		.dumpit		= omerta_nl_peer_get_dumpit,
		.policy		= omerta_peer_get_dump_nl_policy,
		.maxattr	= OMERTA_A_PEER_IFNAME,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= OMERTA_CMD_ALLOWED_IP_GET,
		.dumpit		= omerta_nl_allowed_ip_get_dumpit,
		.policy		= omerta_allowed_ip_get_nl_policy,
		.maxattr	= OMERTA_A_PEER_IFNAME,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= OMERTA_CMD_KEY_NEW,
		.pre_doit	= omerta_nl_key_new_pre_doit,
		.doit		= omerta_nl_key_new_doit,
		.post_doit	= omerta_nl_key_new_post_doit,
		.policy		= omerta_key_new_nl_policy,
		.maxattr	= OMERTA_A_KEY_CHANNEL,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_KEY_ACTIVATE,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_key_activate_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_key_activate_nl_policy,
		.maxattr	= OMERTA_A_KEY_LOCAL_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_KEY_RETIRE,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_key_retire_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_key_retire_nl_policy,
		.maxattr	= OMERTA_A_KEY_LOCAL_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_KEY_DEL,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_key_del_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_key_del_nl_policy,
		.maxattr	= OMERTA_A_KEY_LOCAL_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_KEY_GET,
		.dumpit		= omerta_nl_key_get_dumpit,
		.policy		= omerta_key_get_nl_policy,
		.maxattr	= OMERTA_A_KEY_IFNAME,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= OMERTA_CMD_CONTROL_BIND,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_control_bind_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_control_bind_nl_policy,
		.maxattr	= OMERTA_A_CONTROL_ALL_TYPES,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_CONTROL_UNBIND,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_control_unbind_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_control_unbind_nl_policy,
		.maxattr	= OMERTA_A_CONTROL_IFNAME,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_CONTROL_SEND,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_control_send_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_control_send_nl_policy,
		.maxattr	= OMERTA_A_CONTROL_LOCAL_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= OMERTA_CMD_AGENT_REPORT,
		.pre_doit	= omerta_nl_pre_doit,
		.doit		= omerta_nl_agent_report_doit,
		.post_doit	= omerta_nl_post_doit,
		.policy		= omerta_agent_report_nl_policy,
		.maxattr	= OMERTA_A_REPORT_HANDSHAKE,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group omerta_nl_mcgrps[] = {
	[OMERTA_NLGRP_EVENTS] = { "events", },
};

struct genl_family omerta_nl_family __ro_after_init = {
	.name		= OMERTA_FAMILY_NAME,
	.version	= OMERTA_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= omerta_nl_ops,
	.n_split_ops	= ARRAY_SIZE(omerta_nl_ops),
	.mcgrps		= omerta_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(omerta_nl_mcgrps),
};
