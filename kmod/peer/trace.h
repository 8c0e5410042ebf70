/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of keys and endpoints. Packets have theirs in datapath/trace.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM omerta

#if !defined(_OMERTA_PEER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _OMERTA_PEER_TRACE_H

#include <linux/netdevice.h>
#include <linux/tracepoint.h>

#include "peer/endpoint.h"
#include "peer/keys.h"

TRACE_DEFINE_ENUM(OMERTA_KEY_STATE_INSTALLED);
TRACE_DEFINE_ENUM(OMERTA_KEY_STATE_ACTIVE);
TRACE_DEFINE_ENUM(OMERTA_KEY_STATE_RETIRED);
TRACE_DEFINE_ENUM(OMERTA_KEY_STATE_DEAD);

/* A key was installed, or its state has changed. */
TRACE_EVENT(omerta_key_state,

	TP_PROTO(const struct omerta_key *key),

	TP_ARGS(key),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, peer)
		__field(u32, local_id)
		__field(u32, remote_id)
		__field(u8, state)
	),

	TP_fast_assign(
		memcpy(__entry->dev, key->ring->dev->name, IFNAMSIZ);
		__entry->peer = key->ring->peer_id;
		__entry->local_id = key->local_id;
		__entry->remote_id = key->remote_id;
		__entry->state = key->state;
	),

	TP_printk("dev=%s peer=%u local_id=0x%x remote_id=0x%x state=%s",
		  __entry->dev, __entry->peer, __entry->local_id, __entry->remote_id,
		  __print_symbolic(__entry->state,
				   { OMERTA_KEY_STATE_INSTALLED, "installed" },
				   { OMERTA_KEY_STATE_ACTIVE, "active" },
				   { OMERTA_KEY_STATE_RETIRED, "retired" },
				   { OMERTA_KEY_STATE_DEAD, "dead" }))
);

/* A peer has another endpoint, by an authentic record or by the administrator. */
TRACE_EVENT(omerta_endpoint,

	TP_PROTO(const struct net_device *netdev, u32 peer,
		 const struct omerta_endpoint *endpoint, bool by_record),

	TP_ARGS(netdev, peer, endpoint, by_record),

	TP_STRUCT__entry(
		__array(char, dev, IFNAMSIZ)
		__field(u32, peer)
		/* Aligned as an address is */
		__array(u8, addr, sizeof(struct sockaddr_in6))
		__field(bool, by_record)
	),

	TP_fast_assign(
		memcpy(__entry->dev, netdev->name, IFNAMSIZ);
		__entry->peer = peer;
		__entry->by_record = by_record;
		omerta_endpoint_sockaddr(endpoint, (void *)__entry->addr);
	),

	TP_printk("dev=%s peer=%u endpoint=%pISpc by_record=%d",
		  __entry->dev, __entry->peer, __entry->addr, __entry->by_record)
);

#endif /* _OMERTA_PEER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH peer
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
