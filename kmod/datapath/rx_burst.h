/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_RX_BURST_H
#define _OMERTA_RX_BURST_H

#include "datapath/buf.h"
#include "datapath/tunnel.h"
#include "peer/peer.h"
#include "wire/record.h"

/* Most records in a burst, as many as one is sent with. */
#define OMERTA_RX_BURST_MAX	64

/**
 * struct omerta_rx_record - a received record
 * @wire: UDP payload
 * @counter: its counter
 * @outer: reference to the datagram; set only in its first record of the burst
 * @at: plaintext; payload only if the packet is @merged
 * @len: bytes of @at
 * @packets: number of packets in the plaintext
 * @reason: why it is dropped
 * @flags: TCP flags of a @merged packet
 * @merged: the packet continues the packet of the record before
 * @fixed_id: a @merged packet has the same IPv4 id as the packet before
 */
struct omerta_rx_record {
	const u8 *wire;
	u64 counter;
	struct sk_buff *outer;
	u8 *at;
	u32 len;
	int packets;
	enum omerta_drop reason;
	u8 flags;
	bool merged;
	bool fixed_id;
};

/**
 * struct omerta_rx_burst - received records of one key
 * @job: opens the burst; its items are records, or the chunks of a lone record from
 *	 @first_chunk on
 * @list: bursts of the same peer and channel, in the order of arrival; NAPI only
 * @by_peer: member of the channel's table if it is the first of them; NAPI only
 * @ready: member of the channel's list if it is also open; NAPI only
 * @done: member of the channel's list of opened bursts
 * @ch: the channel
 * @peer: the peer; valid as long as @key
 * @pc: the channel of the peer
 * @key: the key; a reference
 * @from: source of the records
 * @own_port: they came to the channel's own port
 * @dsfield: DSCP and ECN of the outer headers
 * @outer: datagram of the latest record
 * @inner: owns the memory of @buf
 * @buf: holds the plaintexts
 * @layout: layout of all records but the last
 * @last: layout of the last record
 * @merge: merge TCP packets
 * @bad: a chunk of a lone record is not authentic
 * @opened: every record is opened
 * @committed: every record has passed the replay window or has a reason
 * @ended: no record may be added
 * @first_chunk: chunks of a lone record that were opened by NAPI
 * @next: first record that is not delivered
 * @left: packets of it that are not delivered, if others are
 * @packet: the latest of those that are
 * @max_records: allocated length of @rec
 * @n: number of records
 * @rec: the records
 */
struct omerta_rx_burst {
	struct omerta_job job;
	struct list_head list;
	struct hlist_node by_peer;
	struct list_head ready;
	struct llist_node done;
	struct omerta_channel *ch;
	struct omerta_peer *peer;
	struct omerta_peer_channel *pc;
	struct omerta_key *key;
	struct omerta_endpoint from;
	bool own_port;
	u8 dsfield;
	struct sk_buff *outer;
	struct sk_buff *inner;
	struct omerta_buf buf;
	struct omerta_layout layout;
	struct omerta_layout last;
	bool merge;
	bool bad;
	bool opened;
	bool committed;
	bool ended;
	unsigned int first_chunk;
	unsigned int next;
	int left;
	struct omerta_inner packet;
	unsigned int max_records;
	unsigned int n;
	struct omerta_rx_record rec[];
};

/**
 * struct omerta_rx_cb - skb->cb of a datagram; NAPI only
 * @reason: why one of its records was dropped
 */
struct omerta_rx_cb {
	enum omerta_drop reason;
};

#define OMERTA_RX_CB(skb)	((struct omerta_rx_cb *)(skb)->cb)

/* Layout of record @i. */
#define OMERTA_RX_LAYOUT(burst, i) \
	((i) + 1 < (burst)->n ? &(burst)->layout : &(burst)->last)

bool omerta_rx_open_chunks(const struct omerta_rx_burst *burst,
			   unsigned int number, unsigned int i, unsigned int end);
void omerta_rx_open_records(struct omerta_rx_burst *burst, unsigned int i,
			    unsigned int end);
void omerta_rx_check(struct omerta_rx_burst *burst, unsigned int i, bool authentic);

void omerta_rx_free_outer(struct sk_buff *outer);
void omerta_rx_release(struct omerta_rx_burst *burst);
void omerta_rx_opened(struct omerta_rx_burst *burst);
void omerta_rx_take_done(struct omerta_channel *ch);
s64 omerta_rx_time_left(u64 *until);
int omerta_rx_deliver(struct omerta_channel *ch, int budget, u64 *until);

int omerta_rx_deliver_burst(struct omerta_rx_burst *burst, int budget);

#endif /* _OMERTA_RX_BURST_H */
