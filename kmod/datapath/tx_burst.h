/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TX_BURST_H
#define _OMERTA_TX_BURST_H

#include "datapath/buf.h"
#include "datapath/segment.h"
#include "datapath/udp.h"
#include "peer/peer.h"
#include "wire/record.h"

/* Most records in a burst: the segments that kernels accept in a UDP GSO skb. */
#define OMERTA_TX_BURST_MAX	64

/**
 * struct omerta_tx_burst - records to be sent
 * @job: seals the burst; its items are records, or the chunks of a lone record
 * @list: member of @fifo
 * @peer: the peer; valid as long as @key
 * @ch: the channel that it is sent by
 * @fifo: bursts to the same peer by the same channel
 * @pc: the channel of the peer
 * @key: the key; a reference
 * @inner: the packets, if they are one skb
 * @first: number of the first packet of @inner in this burst
 * @n: number of records
 * @packets: number of inner packets
 * @bytes: bytes of the inner packets
 * @wire_len: UDP payload bytes of all records
 * @outer: the datagrams
 * @buf: their UDP payloads
 * @path: their path
 * @layout: layout of all records but the last
 * @last: layout of the last record
 * @counter: counter of the first record
 * @must_pass: fragment the datagrams rather than drop them
 * @sealed: the burst may be sent
 * @start: index in @skb of the first packet of each record, if there are several skbs
 * @n_skbs: length of @skb; 0 if the packets are in @inner
 * @skb: the packets, if they are several skbs
 */
struct omerta_tx_burst {
	struct omerta_job job;
	struct list_head list;
	struct omerta_peer *peer;
	struct omerta_channel *ch;
	struct omerta_tx_fifo *fifo;
	struct omerta_peer_channel *pc;
	struct omerta_key *key;
	struct omerta_segments inner;
	unsigned int first;
	unsigned int n;
	unsigned int packets;
	u32 bytes;
	u32 wire_len;
	struct sk_buff *outer;
	struct omerta_buf buf;
	struct omerta_path path;
	struct omerta_layout layout;
	struct omerta_layout last;
	u64 counter;
	bool must_pass;
	bool sealed;
	u8 start[OMERTA_TX_BURST_MAX + 1];
	unsigned int n_skbs;
	struct sk_buff *skb[];
};

struct omerta_tx_burst *
omerta_tx_burst_alloc(struct omerta_peer *peer, struct sk_buff *skb,
		      unsigned int first, void (*done)(struct omerta_job *job));
struct omerta_tx_burst *
omerta_tx_burst_bunch(struct omerta_peer *peer, struct sk_buff *const *skb,
		      unsigned int n, void (*done)(struct omerta_job *job));
unsigned int omerta_tx_burst_len(u32 mtu, u8 class);

#endif /* _OMERTA_TX_BURST_H */
