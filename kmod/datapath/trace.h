/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of packets, records and queues. Keys and endpoints have theirs in peer/trace.h. A
 * record is named by the receiver's key id and its counter at both ends.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM omerta

#if !defined(_OMERTA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _OMERTA_TRACE_H

#include <linux/netdevice.h>
#include <linux/tracepoint.h>

#include "crypto/engines.h"
#include "datapath/rx_burst.h"
#include "datapath/tunnel.h"
#include "datapath/tx_burst.h"
#include "peer/endpoint.h"

#define TRACE_DROP_ENUM(dir, name)	TRACE_DEFINE_ENUM(OMERTA_DROP_##dir##_##name);
#define TRACE_DROP_NAME(dir, name)	{ OMERTA_DROP_##dir##_##name, #dir "_" #name },
#define show_omerta_drop(reason)					\
	__print_symbolic(reason, OMERTA_EACH_DROP(TRACE_DROP_NAME)	\
			 { OMERTA_DROP_NONE, "NONE" })

OMERTA_EACH_DROP(TRACE_DROP_ENUM)
TRACE_DEFINE_ENUM(OMERTA_DROP_NONE);
TRACE_DEFINE_ENUM(OMERTA_QUEUE_BQL);
TRACE_DEFINE_ENUM(OMERTA_QUEUE_IN_FLIGHT);
TRACE_DEFINE_ENUM(OMERTA_QUEUE_HELPER);

/* The device took a packet or super-packet from its queue. */
TRACE_EVENT(omerta_tx_take,

	TP_PROTO(const struct omerta_channel *ch, const struct sk_buff *skb),

	TP_ARGS(ch, skb),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(const void *, skbaddr)
		__field(u32, len)
		__field(u16, protocol)
		__field(u16, segs)
		__field(u32, channel)
	),

	TP_fast_assign(
		memcpy(__entry->dev, ch->tun->dev->name, IFNAMSIZ);
		__entry->skbaddr = skb;
		__entry->len = skb->len;
		__entry->protocol = ntohs(skb->protocol);
		__entry->segs = max_t(u16, skb_shinfo(skb)->gso_segs, 1);
		__entry->channel = ch->index;
	),

	TP_printk("dev=%s skbaddr=%p len=%u protocol=0x%04x segs=%u channel=%u",
		  __entry->dev, __entry->skbaddr, __entry->len, __entry->protocol,
		  __entry->segs, __entry->channel)
);

/* A burst got its key and counters: those of its records are consecutive. */
TRACE_EVENT(omerta_tx_assign,

	TP_PROTO(const struct omerta_tx_burst *burst),

	TP_ARGS(burst),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, peer)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, records)
		__field(u32, packets)
		__field(u32, bytes)
		__field(u32, wire_len)
		__field(u32, channel)
	),

	TP_fast_assign(
		memcpy(__entry->dev, burst->peer->peers->dev->name, IFNAMSIZ);
		__entry->peer = burst->peer->id;
		__entry->key = burst->key->remote_id;
		__entry->counter = burst->counter;
		__entry->records = burst->n;
		__entry->packets = burst->packets;
		__entry->bytes = burst->bytes;
		__entry->channel = burst->ch->index;
		__entry->wire_len = burst->wire_len;
	),

	TP_printk("dev=%s peer=%u key=0x%x counter=%llu records=%u packets=%u bytes=%u wire_len=%u channel=%u",
		  __entry->dev, __entry->peer, __entry->key, __entry->counter,
		  __entry->records, __entry->packets, __entry->bytes, __entry->wire_len,
		  __entry->channel)
);

/* A packet or super-packet of that burst, and the records that hold it. */
TRACE_EVENT(omerta_tx_packet,

	TP_PROTO(const struct omerta_tx_burst *burst, const struct sk_buff *skb,
		 unsigned int first, unsigned int records),

	TP_ARGS(burst, skb, first, records),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(const void *, skbaddr)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, records)
	),

	TP_fast_assign(
		memcpy(__entry->dev, burst->peer->peers->dev->name, IFNAMSIZ);
		__entry->skbaddr = skb;
		__entry->key = burst->key->remote_id;
		__entry->counter = burst->counter + first;
		__entry->records = records;
	),

	TP_printk("dev=%s skbaddr=%p key=0x%x counter=%llu records=%u",
		  __entry->dev, __entry->skbaddr, __entry->key, __entry->counter,
		  __entry->records)
);

/* Part of a burst was sealed or opened on this CPU: records, or chunks of a lone record. */
DECLARE_EVENT_CLASS(omerta_run,

	TP_PROTO(const struct omerta_tunnel *tun, u32 key, u64 counter,
		 const struct omerta_job *job, unsigned int first, unsigned int end, u64 since),

	TP_ARGS(tun, key, counter, job, first, end, since),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__array(char, engine, OMERTA_ENGINE_NAME_MAX)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, first)
		__field(u32, items)
		__field(u32, of)
		__field(u64, ns)
	),

	TP_fast_assign(
		memcpy(__entry->dev, tun->dev->name, IFNAMSIZ);
		strscpy(__entry->engine, omerta_engine_name(READ_ONCE(tun->engine)),
			OMERTA_ENGINE_NAME_MAX);
		__entry->key = key;
		__entry->counter = counter;
		__entry->first = first;
		__entry->items = end - first;
		__entry->of = job->n_items;
		__entry->ns = since ? ktime_get_ns() - since : 0;
	),

	TP_printk("dev=%s key=0x%x counter=%llu first=%u items=%u of=%u engine=%s ns=%llu",
		  __entry->dev, __entry->key, __entry->counter, __entry->first,
		  __entry->items, __entry->of, __entry->engine, __entry->ns)
);

DEFINE_EVENT(omerta_run, omerta_tx_seal,
	TP_PROTO(const struct omerta_tunnel *tun, u32 key, u64 counter,
		 const struct omerta_job *job, unsigned int first, unsigned int end, u64 since),
	TP_ARGS(tun, key, counter, job, first, end, since)
);

DEFINE_EVENT(omerta_run, omerta_rx_open,
	TP_PROTO(const struct omerta_tunnel *tun, u32 key, u64 counter,
		 const struct omerta_job *job, unsigned int first, unsigned int end, u64 since),
	TP_ARGS(tun, key, counter, job, first, end, since)
);

/* A sealed burst goes to the outer network. */
TRACE_EVENT(omerta_tx_send,

	TP_PROTO(const struct omerta_tx_burst *burst),

	TP_ARGS(burst),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(const void *, skbaddr)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, records)
		__field(u32, wire_len)
		__field(u32, channel)
	),

	TP_fast_assign(
		memcpy(__entry->dev, burst->peer->peers->dev->name, IFNAMSIZ);
		__entry->skbaddr = burst->outer;
		__entry->key = burst->key->remote_id;
		__entry->counter = burst->counter;
		__entry->records = burst->n;
		__entry->wire_len = burst->wire_len;
		__entry->channel = burst->ch->index;
	),

	TP_printk("dev=%s skbaddr=%p key=0x%x counter=%llu records=%u wire_len=%u channel=%u",
		  __entry->dev, __entry->skbaddr, __entry->key, __entry->counter,
		  __entry->records, __entry->wire_len, __entry->channel)
);

/* Records of a key arrived together. Their counters need not be consecutive. */
TRACE_EVENT(omerta_rx_receive,

	TP_PROTO(const struct omerta_rx_burst *burst),

	TP_ARGS(burst),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, peer)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, records)
		__field(u32, wire_len)
		__field(u32, channel)
		__array(u8, from, sizeof(struct sockaddr_in6))
	),

	TP_fast_assign(
		memcpy(__entry->dev, burst->peer->peers->dev->name, IFNAMSIZ);
		__entry->peer = burst->peer->id;
		__entry->key = burst->key->local_id;
		__entry->counter = burst->rec[0].counter;
		__entry->records = burst->n;
		__entry->wire_len = (burst->n - 1) * burst->layout.wire_len +
				    burst->last.wire_len;
		__entry->channel = burst->ch->index;
		omerta_endpoint_sockaddr(&burst->from, (void *)__entry->from);
	),

	TP_printk("dev=%s peer=%u key=0x%x counter=%llu records=%u wire_len=%u from=%pISpc channel=%u",
		  __entry->dev, __entry->peer, __entry->key, __entry->counter,
		  __entry->records, __entry->wire_len, __entry->from,
		  __entry->channel)
);

/* A record passed the replay window, or is dropped for a reason. */
TRACE_EVENT(omerta_rx_commit,

	TP_PROTO(const struct omerta_rx_burst *burst, const struct omerta_rx_record *rec),

	TP_ARGS(burst, rec),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, reason)
	),

	TP_fast_assign(
		memcpy(__entry->dev, burst->peer->peers->dev->name, IFNAMSIZ);
		__entry->key = burst->key->local_id;
		__entry->counter = rec->counter;
		__entry->reason = rec->reason;
	),

	TP_printk("dev=%s key=0x%x counter=%llu reason=%s",
		  __entry->dev, __entry->key, __entry->counter,
		  show_omerta_drop(__entry->reason))
);

/* A packet, or packets merged into one skb, of a record and those after it go to the stack. */
TRACE_EVENT(omerta_rx_deliver,

	TP_PROTO(const struct omerta_rx_burst *burst, const struct omerta_rx_record *rec,
		 const struct sk_buff *skb, unsigned int packets),

	TP_ARGS(burst, rec, skb, packets),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(const void *, skbaddr)
		__field(u32, key)
		__field(u64, counter)
		__field(u32, packets)
		__field(u32, len)
		__field(u32, channel)
	),

	TP_fast_assign(
		memcpy(__entry->dev, burst->peer->peers->dev->name, IFNAMSIZ);
		__entry->skbaddr = skb;
		__entry->key = burst->key->local_id;
		__entry->counter = rec->counter;
		__entry->packets = packets;
		__entry->len = skb->len;
		__entry->channel = burst->ch->index;
	),

	TP_printk("dev=%s skbaddr=%p key=0x%x counter=%llu packets=%u len=%u channel=%u",
		  __entry->dev, __entry->skbaddr, __entry->key, __entry->counter,
		  __entry->packets, __entry->len, __entry->channel)
);

/* Packets, records or datagrams were dropped. Without skbaddr their skb holds others, too. */
TRACE_EVENT_CONDITION(omerta_drop,

	TP_PROTO(const struct omerta_channel *ch, const struct sk_buff *skb,
		 enum omerta_drop reason, unsigned int n, void *location),

	TP_ARGS(ch, skb, reason, n, location),

	TP_CONDITION(n),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, channel)
		__field(const void *, skbaddr)
		__field(u32, reason)
		__field(u32, n)
		__field(void *, location)
	),

	TP_fast_assign(
		memcpy(__entry->dev, ch->tun->dev->name, IFNAMSIZ);
		__entry->channel = ch->index;
		__entry->skbaddr = skb;
		__entry->reason = reason;
		__entry->n = n;
		__entry->location = location;
	),

	TP_printk("dev=%s channel=%u skbaddr=%p reason=%s n=%u location=%pS",
		  __entry->dev, __entry->channel, __entry->skbaddr,
		  show_omerta_drop(__entry->reason), __entry->n, __entry->location)
);

/* A transmit queue stopped, or was woken. */
TRACE_EVENT(omerta_queue,

	TP_PROTO(const struct omerta_channel *ch, enum omerta_queue_cause cause, bool stopped),

	TP_ARGS(ch, cause, stopped),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, channel)
		__field(u8, cause)
		__field(bool, stopped)
	),

	TP_fast_assign(
		memcpy(__entry->dev, ch->tun->dev->name, IFNAMSIZ);
		__entry->channel = ch->index;
		__entry->cause = cause;
		__entry->stopped = stopped;
	),

	TP_printk("dev=%s channel=%u cause=%s %s", __entry->dev, __entry->channel,
		  __print_symbolic(__entry->cause,
				   { OMERTA_QUEUE_BQL, "bql" },
				   { OMERTA_QUEUE_IN_FLIGHT, "in-flight" },
				   { OMERTA_QUEUE_HELPER, "helper" }),
		  __entry->stopped ? "stopped" : "woken")
);

/* A datagram of the handshake. */
DECLARE_EVENT_CLASS(omerta_control,

	TP_PROTO(const struct omerta_tunnel *tun, const u8 *data, u32 len,
		 const struct omerta_endpoint *endpoint),

	TP_ARGS(tun, data, len, endpoint),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u8, type)
		__field(u32, len)
		__array(u8, endpoint, sizeof(struct sockaddr_in6))
	),

	TP_fast_assign(
		memcpy(__entry->dev, tun->dev->name, IFNAMSIZ);
		__entry->type = data[OMERTA_MAGIC_LEN];
		__entry->len = len;
		omerta_endpoint_sockaddr(endpoint, (void *)__entry->endpoint);
	),

	TP_printk("dev=%s type=0x%02x len=%u endpoint=%pISpc",
		  __entry->dev, __entry->type, __entry->len, __entry->endpoint)
);

DEFINE_EVENT(omerta_control, omerta_control_tx,
	TP_PROTO(const struct omerta_tunnel *tun, const u8 *data, u32 len,
		 const struct omerta_endpoint *endpoint),
	TP_ARGS(tun, data, len, endpoint)
);

DEFINE_EVENT(omerta_control, omerta_control_rx,
	TP_PROTO(const struct omerta_tunnel *tun, const u8 *data, u32 len,
		 const struct omerta_endpoint *endpoint),
	TP_ARGS(tun, data, len, endpoint)
);

#endif /* _OMERTA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH datapath
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
