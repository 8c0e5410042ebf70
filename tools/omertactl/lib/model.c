// SPDX-License-Identifier: GPL-2.0
#include "lib/model.h"

#include <string.h>

static const char *const policy_names[] = { "auto", "inline", "percpu", NULL };
static const char *const df_names[] = { "unset", "set", "inherit", NULL };
static const char *const switch_names[] = { "off", "on", NULL };
static const char *const state_names[] = {
	"installed", "active", "retired", "dead", NULL
};
static const char *const activation_names[] = {
	"manual", "now", "on-first-record", NULL
};
static const char *const limit_names[] = {
	"time", "records", "bytes", "auth-failures", "vm-fork", "suspend", "identity", NULL
};
static const char *const kind_names[] = {
	"x25519", "x25519+psk", "x25519+ml-kem-768", "x25519+psk+ml-kem-768", NULL
};
static const char *const failure_names[] = {
	"no-answer", "no-endpoint", "name-unknown", "not-sent", "not-opened", "not-used",
	"mode", "old-time", "last-time", "limit", "system", NULL
};

static const char *const channel_state_names[] = {
	"closed", "opening", "open", "silent", NULL
};

static const char *const direction_names[] = { "seal", "open", "both", NULL };
static const char *const strategy_names[] = {
	"inline", "percpu", "unbound", "kthread", "padata", "napi", NULL
};
static const char *const schedule_names[] = {
	"own", "static", "dynamic", "guided", NULL
};

/* Fields stand in the order of their attributes. */
#define FIELD(attribute, n, T, member, ...)			\
	[(attribute) - 1] = {					\
		.name = n, .attr = (attribute),			\
		.offset = offsetof(T, member),			\
		.size = sizeof(((T *)0)->member), __VA_ARGS__ }

#define D(A, n, m, t, fmt, ...)					\
	FIELD(OMERTA_A_DEVICE_##A, n, struct om_device, m,	\
	      .type = t, .format = fmt, __VA_ARGS__)
#define P(A, n, m, t, fmt, ...)					\
	FIELD(OMERTA_A_PEER_##A, n, struct om_peer, m,		\
	      .type = t, .format = fmt, __VA_ARGS__)
#define K(A, n, m, t, fmt, ...)					\
	FIELD(OMERTA_A_KEY_##A, n, struct om_key, m,		\
	      .type = t, .format = fmt, __VA_ARGS__)
#define A(A, n, m, t, fmt, ...)					\
	FIELD(OMERTA_A_ALLOWED_IP_##A, n, struct om_prefix, m,	\
	      .type = t, .format = fmt, __VA_ARGS__)
#define C(A, n, m, t)						\
	FIELD(OMERTA_A_CONTROL_##A, n, struct om_control, m, .type = t)
#define R(A, n, m, t, ...)					\
	FIELD(OMERTA_A_REPORT_##A, n, struct om_report, m,	\
	      .type = t, __VA_ARGS__)
#define B(A, n, m, t, fmt, ...)					\
	FIELD(OMERTA_BENCH_A_BENCH_##A, n, struct om_bench, m,	\
	      .type = t, .format = fmt, __VA_ARGS__)
#define DS(A, n)						\
	FIELD(OMERTA_A_DEVICE_STATS_##A, n, struct om_device_stats,	\
	      v[OMERTA_A_DEVICE_STATS_##A], .type = OM_UINT, .format = OM_DEC)
#define CS(A, n, ...)						\
	FIELD(OMERTA_A_CHANNEL_STATS_##A, n, struct om_channel_stats,	\
	      v[OMERTA_A_CHANNEL_STATS_##A], .type = OM_UINT,	\
	      .format = OM_DEC, __VA_ARGS__)
#define PS(A, n)						\
	FIELD(OMERTA_A_PEER_STATS_##A, n, struct om_peer_stats,	\
	      v[OMERTA_A_PEER_STATS_##A], .type = OM_UINT, .format = OM_DEC)
#define GS(A, n)						\
	FIELD(OMERTA_A_AGENT_STATS_##A, n, struct om_agent_stats,	\
	      v[OMERTA_A_AGENT_STATS_##A], .type = OM_UINT, .format = OM_DEC)
#define PC(A, n, m, t, fmt, ...)				\
	FIELD(OMERTA_A_PEER_CHANNEL_##A, n, struct om_peer_channel, m,	\
	      .type = t, .format = fmt, __VA_ARGS__)
#define H(A, n, m, fmt, ...)					\
	FIELD(OMERTA_A_HANDSHAKE_##A, n, struct om_handshake, m,	\
	      .type = OM_U32, .format = fmt, __VA_ARGS__)

#define OBJECT(n, T, table)						\
	{ .name = n, .field = table, .fields = OM_ARRAY_SIZE(table),	\
	  .size = sizeof(T) }

static const struct om_field device_stats_fields[] = {
	DS(RX_PACKETS, "rx-packets"),
	DS(RX_BYTES, "rx-bytes"),
	DS(TX_PACKETS, "tx-packets"),
	DS(TX_BYTES, "tx-bytes"),
	DS(RX_DROP_MALFORMED, "rx-drop-malformed"),
	DS(RX_DROP_TYPE, "rx-drop-type"),
	DS(RX_DROP_CONTROL, "rx-drop-control"),
	DS(RX_DROP_KEY_UNKNOWN, "rx-drop-key-unknown"),
	DS(RX_DROP_KEY_EXPIRED, "rx-drop-key-expired"),
	DS(RX_DROP_AUTH, "rx-drop-auth"),
	DS(RX_DROP_REPLAY, "rx-drop-replay"),
	DS(RX_DROP_PLAINTEXT, "rx-drop-plaintext"),
	DS(RX_DROP_SOURCE, "rx-drop-source"),
	DS(RX_DROP_ECN, "rx-drop-ecn"),
	DS(RX_DROP_NOMEM, "rx-drop-nomem"),
	DS(RX_DROP_CONTROL_LIMIT, "rx-drop-control-limit"),
	DS(RX_DROP_CONTROL_FULL, "rx-drop-control-full"),
	DS(RX_DROP_CONTROL_INVALID, "rx-drop-control-invalid"),
	DS(RX_DROP_CONTROL_COOKIE, "rx-drop-control-cookie"),
	DS(RX_DROP_CONTROL_REPLAY, "rx-drop-control-replay"),
	DS(RX_DROP_CONTROL_UNASKED, "rx-drop-control-unasked"),
	DS(RX_DROP_CHECKSUM, "rx-drop-checksum"),
	DS(RX_DROP_SOCKET, "rx-drop-socket"),
	DS(RX_DROP_DOWN, "rx-drop-down"),
	DS(TX_DROP_PROTO, "tx-drop-proto"),
	DS(TX_DROP_NO_PEER, "tx-drop-no-peer"),
	DS(TX_DROP_NO_ENDPOINT, "tx-drop-no-endpoint"),
	DS(TX_DROP_NO_KEY, "tx-drop-no-key"),
	DS(TX_DROP_NO_ROUTE, "tx-drop-no-route"),
	DS(TX_DROP_TOO_BIG, "tx-drop-too-big"),
	DS(TX_DROP_NOMEM, "tx-drop-nomem"),
	DS(TX_DROP_DOWN, "tx-drop-down"),
	DS(TX_DROP_LOOP, "tx-drop-loop"),
	DS(TX_DROP_QUEUE, "tx-drop-queue"),
};

static const struct om_object device_stats_object =
	OBJECT("device-stats", struct om_device_stats, device_stats_fields);

static const struct om_field channel_stats_fields[] = {
	CS(CHANNEL, "channel", .json_only = true),
	CS(RX_PACKETS, "rx-packets"),
	CS(RX_RECORDS, "rx-records"),
	CS(RX_BURSTS, "rx-bursts"),
	CS(RX_POLLS, "rx-polls"),
	CS(RX_CPU, "rx-cpu"),
	CS(TX_PACKETS, "tx-packets"),
	CS(TX_RECORDS, "tx-records"),
	CS(TX_CPU, "tx-cpu"),
	CS(STOPPED_BQL, "stopped-bql"),
	CS(STOPPED_IN_FLIGHT, "stopped-in-flight"),
	CS(HANDED_OVER, "handed-over"),
	CS(RX_DROPS, "rx-drops"),
	CS(TX_DROPS, "tx-drops"),
};

static const struct om_object channel_stats_object =
	OBJECT("channel-stats", struct om_channel_stats, channel_stats_fields);

static const struct om_field agent_stats_fields[] = {
	GS(BEGUN, "begun"),
	GS(DONE, "done"),
	GS(FAILED_NO_ANSWER, "failed-no-answer"),
	GS(FAILED_NO_ENDPOINT, "failed-no-endpoint"),
	GS(FAILED_NAME_UNKNOWN, "failed-name-unknown"),
	GS(FAILED_NOT_SENT, "failed-not-sent"),
	GS(FAILED_NOT_OPENED, "failed-not-opened"),
	GS(FAILED_NOT_USED, "failed-not-used"),
	GS(FAILED_MODE, "failed-mode"),
	GS(FAILED_OLD_TIME, "failed-old-time"),
	GS(FAILED_LAST_TIME, "failed-last-time"),
	GS(FAILED_LIMIT, "failed-limit"),
	GS(FAILED_SYSTEM, "failed-system"),
	GS(RATE_LIMITED, "rate-limited"),
};

static const struct om_object agent_stats_object =
	OBJECT("agent-stats", struct om_agent_stats, agent_stats_fields);

static const struct om_field handshake_fields[] = {
	H(PEER_ID, "peer-id", peer_id, OM_DEC),
	H(TRIES, "tries", tries, OM_DEC),
	H(KIND, "kind", kind, OM_ENUM, .names = kind_names),
	H(FAILURE, "failure", failure, OM_ENUM, .names = failure_names),
};

const struct om_object om_handshake_object =
	OBJECT("handshake", struct om_handshake, handshake_fields);

static const struct om_field device_fields[] = {
	D(IFINDEX, "ifindex", ifindex, OM_U32, OM_DEC, .min = 1),
	D(IFNAME, "ifname", ifname, OM_STR, OM_IFNAME),
	D(LISTEN_PORT, "listen-port", listen_port, OM_U16, OM_DEC,
	  .conf = "ListenPort"),
	D(FWMARK, "fwmark", fwmark, OM_U32, OM_HEX_OFF, .conf = "FwMark"),
	D(CHUNK_SIZE, "chunk-size", chunk_size, OM_U32, OM_CHUNK,
	  .min = 512, .max = 65536, .conf = "ChunkSize"),
	D(POLICY, "policy", policy, OM_U32, OM_ENUM,
	  .names = policy_names, .conf = "Policy"),
	D(PERCPU_THRESHOLD, "percpu-threshold", percpu_threshold, OM_U32,
	  OM_DEC, .min = 1, .conf = "PercpuThreshold"),
	D(CPUS, "cpus", cpus, OM_STR, OM_CPUS, .conf = "Cpus"),
	D(BATCH, "batch", batch, OM_U32, OM_ENUM,
	  .names = switch_names, .conf = "Batch"),
	D(DF, "df", df, OM_U32, OM_ENUM, .names = df_names, .conf = "Df"),
	D(PEERS, "peers", peers, OM_U32, OM_DEC),
	D(STATS, "stats", stats, OM_NEST, OM_GROUP,
	  .nest = &device_stats_object),
	D(MAX_MTU, "max-mtu", max_mtu, OM_U32, OM_DEC),
	D(ENGINE, "engine", engine, OM_STR, OM_TEXT),
	D(CONTROL_RATE, "control-rate", control_rate, OM_U32, OM_DEC,
	  .min = 1, .max = 1000000, .conf = "ControlRate"),
	D(CONTROL_SOURCE_RATE, "control-source-rate", control_source_rate,
	  OM_U32, OM_DEC, .min = 1, .max = 1000000,
	  .conf = "ControlSourceRate"),
	D(CONTROL_BOUND, "control-bound", control_bound, OM_FLAG, OM_DEC),
	D(EPOCH, "epoch", epoch, OM_U32, OM_DEC, .json_only = true),
	D(CONTROL_SHARE, "control-share", control_share, OM_U32, OM_DEC,
	  .min = 1, .max = 16, .conf = "ControlShare"),
	D(USED_SECRETS, "used-secrets", used_secrets, OM_U32, OM_DEC,
	  .json_only = true),
	D(USED_SECRETS_MAX, "used-secrets-max", used_secrets_max, OM_U32,
	  OM_DEC, .json_only = true),
	D(AGENT_PID, "agent-pid", agent_pid, OM_U32, OM_DEC, .json_only = true),
	D(AGENT_AGE, "agent-age", agent_age, OM_UINT, OM_MSEC, .json_only = true),
	D(AGENT_STATS, "agent-stats", agent_stats, OM_NEST, OM_GROUP,
	  .json_only = true, .nest = &agent_stats_object),
	D(CHANNELS, "channels", channels, OM_U32, OM_DEC,
	  .min = 1, .max = 64, .conf = "Channels"),
	D(CHANNEL_STATS, "channel-stats", channel_stats, OM_MULTI, OM_GROUP,
	  .json_only = true, .nest = &channel_stats_object),
	D(CHANNEL_PORT, "channel-port", channel_port, OM_U16, OM_DEC, .max = 65411,
	  .conf = "ChannelPort"),
};

static const struct om_field prefix_fields[] = {
	A(ADDR, "addr", addr, OM_ADDR, OM_HOST),
	A(PREFIX_LEN, "prefix-len", len, OM_U8, OM_DEC, .max = 128),
	A(FLAGS, "flags", flags, OM_U32, OM_HIDDEN),
	A(IFINDEX, "ifindex", ifindex, OM_U32, OM_DEC),
	A(PEER_ID, "peer-id", peer_id, OM_U32, OM_DEC),
};

const struct om_object om_prefix_object =
	OBJECT("allowed-ip", struct om_prefix, prefix_fields);

static const struct om_field peer_stats_fields[] = {
	PS(RX_PACKETS, "rx-packets"),
	PS(RX_BYTES, "rx-bytes"),
	PS(TX_PACKETS, "tx-packets"),
	PS(TX_BYTES, "tx-bytes"),
	PS(RX_RECORDS, "rx-records"),
	PS(RX_OUTER_BYTES, "rx-outer-bytes"),
	PS(TX_RECORDS, "tx-records"),
	PS(TX_OUTER_BYTES, "tx-outer-bytes"),
};

static const struct om_object peer_stats_object =
	OBJECT("peer-stats", struct om_peer_stats, peer_stats_fields);

static const struct om_field peer_channel_fields[] = {
	PC(CHANNEL, "channel", channel, OM_U32, OM_DEC),
	PC(STATE, "state", state, OM_U32, OM_ENUM, .names = channel_state_names),
	PC(ENDPOINT_ADDR, "endpoint-addr", endpoint_addr, OM_ADDR, OM_HOST),
	PC(ENDPOINT_PORT, "endpoint-port", endpoint_port, OM_U16, OM_DEC),
	PC(ENDPOINT_SCOPE, "endpoint-scope", endpoint_scope, OM_U32, OM_DEC),
	PC(LOCAL_PORT, "local-port", local_port, OM_U16, OM_DEC),
	PC(RX_AGE, "rx-age", rx_age, OM_UINT, OM_MSEC),
};

const struct om_object om_peer_channel_object =
	OBJECT("peer-channel", struct om_peer_channel, peer_channel_fields);

static const struct om_field peer_fields[] = {
	P(IFINDEX, "ifindex", ifindex, OM_U32, OM_DEC, .min = 1),
	P(IFNAME, "ifname", ifname, OM_STR, OM_IFNAME),
	P(ID, "id", id, OM_U32, OM_DEC, .min = 1, .conf = "Id"),
	P(NAME, "name", name, OM_STR, OM_TEXT, .conf = "Name"),
	P(PUBLIC_KEY, "public-key", public_key, OM_BIN, OM_BASE64,
	  .conf = "PublicKey"),
	P(ENDPOINT_ADDR, "endpoint-addr", endpoint_addr, OM_ADDR, OM_ENDPOINT,
	  .conf = "Endpoint"),
	P(ENDPOINT_PORT, "endpoint-port", endpoint_port, OM_U16, OM_DEC,
	  .min = 1, .json_only = true),
	P(ENDPOINT_SCOPE, "endpoint-scope", endpoint_scope, OM_U32, OM_DEC,
	  .json_only = true),
	P(KEEPALIVE, "keepalive", keepalive, OM_U16, OM_SECS_OFF,
	  .conf = "PersistentKeepalive"),
	P(FLAGS, "flags", flags, OM_U32, OM_HIDDEN),
	P(ALLOWED_IPS, "allowed-ips", allowed_ips, OM_MULTI, OM_GROUP,
	  .nest = &om_prefix_object, .conf = "AllowedIPs"),
	P(STATS, "stats", stats, OM_NEST, OM_GROUP, .nest = &peer_stats_object),
	P(RX_AGE, "rx-age", rx_age, OM_UINT, OM_MSEC),
	P(PATH_MTU, "path-mtu", path_mtu, OM_U32, OM_DEC),
	P(SILENT, "silent", silent, OM_FLAG, OM_DEC),
	P(HANDSHAKE, "handshake", handshake, OM_NEST, OM_GROUP, .nest = &om_handshake_object),
	P(CHANNELS, "channels", channels, OM_U32, OM_DEC, .min = 1, .max = 64,
	  .conf = "Channels"),
	P(FURTHER_CHANNELS, "further-channels", further_channels, OM_MULTI, OM_GROUP,
	  .json_only = true, .nest = &om_peer_channel_object),
};

static const struct om_field key_fields[] = {
	K(IFINDEX, "ifindex", ifindex, OM_U32, OM_DEC, .min = 1),
	K(IFNAME, "ifname", ifname, OM_STR, OM_IFNAME),
	K(PEER_ID, "peer-id", peer_id, OM_U32, OM_DEC, .min = 1),
	K(LOCAL_ID, "local-id", local_id, OM_U32, OM_HEX, .min = 1),
	K(REMOTE_ID, "remote-id", remote_id, OM_U32, OM_HEX, .min = 1),
	K(RX_SECRET, "rx-secret", rx_secret, OM_BIN, OM_HIDDEN),
	K(TX_SECRET, "tx-secret", tx_secret, OM_BIN, OM_HIDDEN),
	K(ACTIVATION, "activation", activation, OM_U32, OM_ENUM,
	  .names = activation_names),
	K(SEAL_TIME, "seal-time", seal_time, OM_U32, OM_DEC, .min = 1),
	K(OPEN_TIME, "open-time", open_time, OM_U32, OM_DEC, .min = 1),
	K(SOFT_TIME, "soft-time", soft_time, OM_U32, OM_DEC, .min = 1),
	K(SOFT_RECORDS, "soft-records", soft_records, OM_UINT, OM_DEC, .min = 1),
	K(SOFT_BYTES, "soft-bytes", soft_bytes, OM_UINT, OM_DEC, .min = 1),
	K(HARD_RECORDS, "hard-records", hard_records, OM_UINT, OM_DEC, .min = 1),
	K(HARD_BYTES, "hard-bytes", hard_bytes, OM_UINT, OM_DEC, .min = 1),
	K(STATE, "state", state, OM_U32, OM_ENUM, .names = state_names),
	K(LIMIT, "limit", limit, OM_U32, OM_ENUM, .names = limit_names),
	K(AGE, "age", age, OM_UINT, OM_MSEC),
	K(CONFIRMED, "confirmed", confirmed, OM_FLAG, OM_DEC),
	K(RX_RECORDS, "rx-records", rx_records, OM_UINT, OM_DEC),
	K(RX_BYTES, "rx-bytes", rx_bytes, OM_UINT, OM_DEC),
	K(TX_RECORDS, "tx-records", tx_records, OM_UINT, OM_DEC),
	K(TX_BYTES, "tx-bytes", tx_bytes, OM_UINT, OM_DEC),
	K(AUTH_FAILURES, "auth-failures", auth_failures, OM_UINT, OM_DEC),
	K(REPLAYS, "replays", replays, OM_UINT, OM_DEC),
	K(EPOCH, "epoch", epoch, OM_U32, OM_DEC),
	K(HANDSHAKE, "handshake", handshake, OM_FLAG, OM_DEC),
	K(CHANNEL, "channel", channel, OM_U32, OM_DEC, .min = 1, .max = 63),
};

static const struct om_field control_fields[] = {
	C(IFINDEX, "ifindex", ifindex, OM_U32),
	C(IFNAME, "ifname", ifname, OM_STR),
	C(ENDPOINT_ADDR, "endpoint-addr", endpoint_addr, OM_ADDR),
	C(ENDPOINT_PORT, "endpoint-port", endpoint_port, OM_U16),
	C(ENDPOINT_SCOPE, "endpoint-scope", endpoint_scope, OM_U32),
	C(LOCAL_ADDR, "local-addr", local_addr, OM_ADDR),
	C(OUTER_IFINDEX, "outer-ifindex", outer_ifindex, OM_U32),
	C(PEER_ID, "peer-id", peer_id, OM_U32),
	C(DATA, "data", data, OM_DATA),
	C(PUBLIC_KEY, "public-key", public_key, OM_BIN),
	C(ALL_TYPES, "all-types", all_types, OM_FLAG),
	C(LOCAL_ID, "local-id", local_id, OM_U32),
};

static const struct om_field report_fields[] = {
	R(IFINDEX, "ifindex", ifindex, OM_U32),
	R(IFNAME, "ifname", ifname, OM_STR),
	R(AGENT_STATS, "agent-stats", stats, OM_NEST, .nest = &agent_stats_object),
	R(HANDSHAKE, "handshake", handshakes, OM_MULTI, .nest = &om_handshake_object),
};

static const struct om_field bench_fields[] = {
	B(ENGINE, "engine", engine, OM_STR, OM_TEXT),
	B(CHUNK_SIZE, "chunk-size", chunk_size, OM_U32, OM_DEC, .min = 1,
	  .max = OMERTA_BENCH_MAX_BYTES),
	B(BYTES, "bytes", bytes, OM_U32, OM_DEC, .min = 1,
	  .max = OMERTA_BENCH_MAX_BYTES),
	B(DIRECTION, "direction", direction, OM_U32, OM_ENUM,
	  .names = direction_names),
	B(STRATEGY, "strategy", strategy, OM_U32, OM_ENUM,
	  .names = strategy_names),
	B(SCHEDULE, "schedule", schedule, OM_U32, OM_ENUM,
	  .names = schedule_names),
	B(WORKERS, "workers", workers, OM_U32, OM_DEC, .min = 1),
	B(ROUNDS, "rounds", rounds, OM_U32, OM_DEC, .min = 1,
	  .max = OMERTA_BENCH_MAX_ROUNDS),
	B(CPUS, "cpus", cpus, OM_U32, OM_DEC),
	B(WALL_NS, "wall-ns", wall_ns, OM_UINT, OM_DEC),
	B(WORK_NS, "work-ns", work_ns, OM_UINT, OM_DEC),
	B(P50_NS, "p50-ns", p50_ns, OM_UINT, OM_DEC),
	B(P99_NS, "p99-ns", p99_ns, OM_UINT, OM_DEC),
	B(START_P50_NS, "start-p50-ns", start_p50_ns, OM_UINT, OM_DEC),
	B(START_P99_NS, "start-p99-ns", start_p99_ns, OM_UINT, OM_DEC),
	B(LIST, "list", list, OM_U32, OM_DEC, .min = 1,
	  .max = OMERTA_BENCH_MAX_LIST),
};

const struct om_object om_bench_object = {
	.name = "bench", .family = OMERTA_BENCH_FAMILY_NAME,
	.module = "omerta_bench", .field = bench_fields,
	.fields = OM_ARRAY_SIZE(bench_fields), .size = sizeof(struct om_bench),
};
const struct om_object om_device_object =
	OBJECT("device", struct om_device, device_fields);
const struct om_object om_peer_object =
	OBJECT("peer", struct om_peer, peer_fields);
const struct om_object om_key_object =
	OBJECT("key", struct om_key, key_fields);
const struct om_object om_control_object =
	OBJECT("control", struct om_control, control_fields);
const struct om_object om_report_object =
	OBJECT("report", struct om_report, report_fields);

_Static_assert(OM_ARRAY_SIZE(device_fields) == OMERTA_A_DEVICE_MAX, "device");
_Static_assert(OM_ARRAY_SIZE(bench_fields) == OMERTA_BENCH_A_BENCH_MAX, "bench");
_Static_assert(OM_ARRAY_SIZE(peer_fields) == OMERTA_A_PEER_MAX, "peer");
_Static_assert(OM_ARRAY_SIZE(key_fields) == OMERTA_A_KEY_MAX, "key");
_Static_assert(OM_ARRAY_SIZE(control_fields) == OMERTA_A_CONTROL_MAX, "control");
_Static_assert(OM_ARRAY_SIZE(prefix_fields) == OMERTA_A_ALLOWED_IP_MAX,
	       "allowed-ip");
_Static_assert(OM_ARRAY_SIZE(device_stats_fields) == OMERTA_A_DEVICE_STATS_MAX,
	       "device-stats");
_Static_assert(OM_ARRAY_SIZE(channel_stats_fields) == OMERTA_A_CHANNEL_STATS_MAX,
	       "channel-stats");
_Static_assert(OM_ARRAY_SIZE(peer_channel_fields) == OMERTA_A_PEER_CHANNEL_MAX,
	       "peer-channel");
_Static_assert(OM_ARRAY_SIZE(peer_stats_fields) == OMERTA_A_PEER_STATS_MAX,
	       "peer-stats");
_Static_assert(OM_ARRAY_SIZE(agent_stats_fields) == OMERTA_A_AGENT_STATS_MAX,
	       "agent-stats");
_Static_assert(OM_ARRAY_SIZE(handshake_fields) == OMERTA_A_HANDSHAKE_MAX, "handshake");
_Static_assert(OM_ARRAY_SIZE(report_fields) == OMERTA_A_REPORT_MAX, "report");

const struct om_field *om_field_get(const struct om_object *obj, unsigned int attr)
{
	return attr >= 1 && attr <= obj->fields ? &obj->field[attr - 1] : NULL;
}

bool om_field_has(const struct om_field *f, const void *data)
{
	return *(const uint64_t *)data & OM_BIT(f->attr);
}

void om_field_set(const struct om_field *f, void *data)
{
	*(uint64_t *)data |= OM_BIT(f->attr);
}

uint64_t om_field_uint(const struct om_field *f, const void *data)
{
	const void *p = om_field_ptr(f, data);

	switch (f->size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

void om_field_store(const struct om_field *f, void *data, uint64_t v)
{
	void *p = (char *)data + f->offset;

	switch (f->size) {
	case 1:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)p = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)p = (uint32_t)v;
		break;
	default:
		*(uint64_t *)p = v;
	}
	om_field_set(f, data);
}

void om_device_ref(struct om_device *dev, const char *ifname)
{
	memset(dev, 0, sizeof(*dev));
	dev->has = OM_BIT(OMERTA_A_DEVICE_IFNAME);
	strncpy(dev->ifname, ifname, sizeof(dev->ifname) - 1);
}

void om_peer_ref(struct om_peer *peer, const char *ifname, uint32_t id)
{
	memset(peer, 0, sizeof(*peer));
	peer->has = OM_BIT(OMERTA_A_PEER_IFNAME);
	strncpy(peer->ifname, ifname, sizeof(peer->ifname) - 1);
	if (!id)
		return;
	peer->has |= OM_BIT(OMERTA_A_PEER_ID);
	peer->id = id;
}

void om_peers_free(struct om_list *peers)
{
	for (size_t i = 0; i < peers->n; i++) {
		struct om_peer *peer = OM_AT(peers, struct om_peer, i);

		om_list_free(&peer->allowed_ips);
		om_list_free(&peer->further_channels);
	}
	om_list_free(peers);
}
