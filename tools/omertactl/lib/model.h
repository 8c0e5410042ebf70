/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices, peers and keys. One field table per object drives the parser, the printers and
 * the netlink encoder and decoder.
 */
#ifndef OM_MODEL_H
#define OM_MODEL_H

#include "lib/base.h"

#include <net/if.h>
#include <linux/omerta.h>
#include <linux/omerta_bench.h>

enum om_type {
	OM_U8,
	OM_U16,
	OM_U32,
	OM_UINT,		/* 64 bits here; 4 or 8 bytes on the wire */
	OM_STR,			/* NUL-terminated, the size includes the NUL */
	OM_BIN,			/* exactly the member's size */
	OM_DATA,		/* struct om_data */
	OM_ADDR,		/* struct om_addr */
	OM_FLAG,		/* present or not; a uint8_t */
	OM_NEST,		/* one nested object */
	OM_MULTI,		/* struct om_list of nested objects */
};

enum om_format {
	OM_DEC,
	OM_HEX,
	OM_ENUM,
	OM_TEXT,
	OM_BASE64,
	OM_HOST,		/* IP address */
	OM_ENDPOINT,		/* in text with its port and scope */
	OM_MSEC,
	OM_SECS_OFF,		/* 0 reads "off" */
	OM_HEX_OFF,		/* the same, hexadecimal */
	OM_IFNAME,
	OM_CHUNK,		/* 512 << 0..7 */
	OM_CPUS,
	OM_GROUP,		/* a nest */
	OM_HIDDEN,		/* secrets and flags of requests: never printed */
};

struct om_object;

struct om_field {
	const char *name;	/* as in the netlink spec */
	const char *conf;	/* as in a configuration file, or NULL */
	uint8_t attr;		/* also the bit in the object's "has" */
	uint8_t type;
	uint8_t format;
	bool json_only;
	uint16_t offset;
	uint16_t size;
	uint64_t min;
	uint64_t max;
	const char *const *names;	/* names of an OM_ENUM, NULL at the end */
	const struct om_object *nest;
};

/* An object. Its first member is uint64_t has, a bit for each attribute that is set. */
struct om_object {
	const char *name;
	const char *family;	/* netlink family, NULL for omerta */
	const char *module;	/* kernel module of the family, NULL for omerta */
	const struct om_field *field;	/* attribute N is field[N - 1] */
	uint8_t fields;
	uint16_t size;
};

#define OM_BIT(attr)	(1ULL << (attr))

struct om_addr {
	uint8_t len;		/* 4 or 16; 0 for none */
	uint8_t b[16];
};

/* Longer than any datagram of the agent; longer ones cannot be read. */
#define OM_DATA_LEN	1500

struct om_data {
	uint16_t len;
	uint8_t b[OM_DATA_LEN];
};

struct om_device_stats {
	uint64_t has;
	uint64_t v[OMERTA_A_DEVICE_STATS_MAX + 1];
};

struct om_agent_stats {
	uint64_t has;
	uint64_t v[OMERTA_A_AGENT_STATS_MAX + 1];
};

struct om_channel_stats {
	uint64_t has;
	uint64_t v[OMERTA_A_CHANNEL_STATS_MAX + 1];
};

struct om_device {
	uint64_t has;
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	uint16_t listen_port;
	uint32_t fwmark;
	uint32_t chunk_size;
	uint32_t policy;
	uint32_t percpu_threshold;
	char cpus[OMERTA_CPULIST_LEN + 1];
	uint32_t batch;
	uint32_t df;
	uint32_t peers;
	struct om_device_stats stats;
	uint32_t max_mtu;
	char engine[64];
	uint32_t control_rate;
	uint32_t control_source_rate;
	uint8_t control_bound;
	uint32_t epoch;
	uint32_t control_share;
	uint32_t channels;
	struct om_list channel_stats;	/* struct om_channel_stats */
	uint16_t channel_port;
	uint32_t used_secrets;
	uint32_t used_secrets_max;
	uint32_t agent_pid;
	uint64_t agent_age;
	struct om_agent_stats agent_stats;
};

struct om_prefix {
	uint64_t has;
	struct om_addr addr;
	uint8_t len;
	uint32_t flags;
	uint32_t ifindex;
	uint32_t peer_id;
};

struct om_peer_stats {
	uint64_t has;
	uint64_t v[OMERTA_A_PEER_STATS_MAX + 1];
};

/* State of the handshakes with a peer */
struct om_handshake {
	uint64_t has;
	uint32_t peer_id;
	uint32_t tries;
	uint32_t kind;
	uint32_t failure;
};

/* A channel of a peer but the first */
struct om_peer_channel {
	uint64_t has;
	uint32_t channel;
	uint32_t state;
	struct om_addr endpoint_addr;
	uint16_t endpoint_port;
	uint32_t endpoint_scope;
	uint16_t local_port;
	uint64_t rx_age;
};

struct om_peer {
	uint64_t has;
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	uint32_t id;
	char name[OMERTA_PEER_NAME_LEN + 1];
	uint8_t public_key[OMERTA_KEY_LEN];
	struct om_addr endpoint_addr;
	uint16_t endpoint_port;
	uint32_t endpoint_scope;
	uint16_t keepalive;
	uint32_t flags;
	struct om_list allowed_ips;	/* struct om_prefix */
	struct om_peer_stats stats;
	uint64_t rx_age;
	uint32_t path_mtu;
	uint8_t silent;
	struct om_handshake handshake;
	uint32_t channels;
	struct om_list further_channels;	/* struct om_peer_channel */
};

struct om_key {
	uint64_t has;
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	uint32_t peer_id;
	uint32_t local_id;
	uint32_t remote_id;
	uint8_t rx_secret[OMERTA_KEY_LEN];
	uint8_t tx_secret[OMERTA_KEY_LEN];
	uint32_t activation;
	uint32_t seal_time;
	uint32_t open_time;
	uint32_t soft_time;
	uint64_t soft_records;
	uint64_t soft_bytes;
	uint64_t hard_records;
	uint64_t hard_bytes;
	uint32_t state;
	uint32_t limit;
	uint64_t age;
	uint8_t confirmed;
	uint64_t rx_records;
	uint64_t rx_bytes;
	uint64_t tx_records;
	uint64_t tx_bytes;
	uint64_t auth_failures;
	uint64_t replays;
	uint32_t epoch;
	uint8_t handshake;
	uint32_t channel;
};

/* A control datagram */
struct om_control {
	uint64_t has;
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	struct om_addr endpoint_addr;
	uint16_t endpoint_port;
	uint32_t endpoint_scope;
	struct om_addr local_addr;
	uint32_t outer_ifindex;
	uint32_t peer_id;
	struct om_data data;
	uint8_t public_key[OMERTA_KEY_LEN];
	uint8_t all_types;
	uint32_t local_id;
};

/* The key agent's report */
struct om_report {
	uint64_t has;
	uint32_t ifindex;
	char ifname[IFNAMSIZ];
	struct om_agent_stats stats;
	struct om_list handshakes;	/* struct om_handshake */
};

struct om_bench {
	uint64_t has;
	char engine[OMERTA_BENCH_ENGINE_LEN + 1];
	uint32_t chunk_size;
	uint32_t bytes;
	uint32_t direction;
	uint32_t strategy;
	uint32_t schedule;
	uint32_t workers;
	uint32_t rounds;
	uint32_t cpus;
	uint64_t wall_ns;
	uint64_t work_ns;
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t start_p50_ns;
	uint64_t start_p99_ns;
	uint32_t list;
};

extern const struct om_object om_bench_object;
extern const struct om_object om_device_object;
extern const struct om_object om_peer_object;
extern const struct om_object om_key_object;
extern const struct om_object om_prefix_object;
extern const struct om_object om_handshake_object;
extern const struct om_object om_peer_channel_object;
extern const struct om_object om_control_object;
extern const struct om_object om_report_object;

const struct om_field *om_field_get(const struct om_object *obj, unsigned int attr);
bool om_field_has(const struct om_field *f, const void *data);
void om_field_set(const struct om_field *f, void *data);
uint64_t om_field_uint(const struct om_field *f, const void *data);
void om_field_store(const struct om_field *f, void *data, uint64_t v);

static inline const void *om_field_ptr(const struct om_field *f, const void *data)
{
	return (const char *)data + f->offset;
}

/* Initialise an object that only names a device, or a peer of it if @id is not 0. */
void om_device_ref(struct om_device *dev, const char *ifname);
void om_peer_ref(struct om_peer *peer, const char *ifname, uint32_t id);

void om_peers_free(struct om_list *peers);

#endif
