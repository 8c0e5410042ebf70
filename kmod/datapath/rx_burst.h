/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_RX_BURST_H
#define _OMERTA_RX_BURST_H

#include "datapath/buf.h"
#include "peer/peer.h"
#include "wire/record.h"

/* As many as a burst is sent with. */
#define OMERTA_RX_BURST_MAX	64

/**
 * struct omerta_rx_record - a record on its way in
 * @wire: the UDP payload
 * @counter: its counter
 * @outer: the datagram, if it is the first of its in the burst; owned
 * @at: the plaintext; of a packet that continues the one before, its payload
 * @len: bytes of @at that are of use
 * @packets: how many there are in it
 * @why: drop reason, -1 for none
 * @flags: TCP's flags of a packet that is part of a super-packet
 * @joined: its packet continues the one before
 * @fixed_id: that packet has the IPv4 id of the one before
 */
struct omerta_rx_record {
	const u8 *wire;
	u64 counter;
	struct sk_buff *outer;
	u8 *at;
	u32 len;
	int packets;
	int why;
	u8 flags;
	bool joined;
	bool fixed_id;
};

/**
 * struct omerta_rx_burst - records on their way in
 * @job: for the opening; items are records, or the chunks of one from @first on
 * @list: member of the peer's fifo; NAPI only
 * @done: member of the device's list of what is opened
 * @peer: the peer; a reference
 * @key: the key; a reference
 * @from: where they came from
 * @dsfield: DSCP and ECN of the outer headers
 * @outer: the datagram that the newest record came in
 * @inner: owns the memory of @buf
 * @buf: gets the plaintexts
 * @layout: of all records but the last
 * @last: of the last
 * @merge: TCP's packets may become super-packets
 * @first: of the chunks of the only record, those before it are open already
 * @bad: a chunk of the only record is not authentic
 * @opened: all chunks are through
 * @committed: the records are judged
 * @next: the first record that is not delivered
 * @left: packets of it that are not, if others are
 * @packet: the latest of those
 * @ended: no record may follow
 * @room: for how many records there is room
 * @n: number of records
 * @rec: the records
 */
struct omerta_rx_burst {
	struct omerta_job job;
	struct list_head list;
	struct llist_node done;
	struct omerta_peer *peer;
	struct omerta_key *key;
	struct omerta_endpoint from;
	u8 dsfield;
	struct sk_buff *outer;
	struct sk_buff *inner;
	struct omerta_buf buf;
	struct omerta_layout layout;
	struct omerta_layout last;
	bool merge;
	unsigned int first;
	bool bad;
	bool opened;
	bool committed;
	bool ended;
	unsigned int next;
	int left;
	struct omerta_inner packet;
	unsigned int room;
	unsigned int n;
	struct omerta_rx_record rec[];
};

static inline const struct omerta_layout *
omerta_rx_layout(const struct omerta_rx_burst *burst, unsigned int i)
{
	return i + 1 < burst->n ? &burst->layout : &burst->last;
}

/* The reason for which one of an outer packet's records was dropped, if any; NAPI only. */
static inline int *omerta_rx_why(struct sk_buff *outer)
{
	return (int *)outer->cb;
}

/* Free an outer packet, as dropped if a record of it was: drop monitors see that. */
static inline void omerta_rx_free_outer(struct sk_buff *outer)
{
	int why = *omerta_rx_why(outer);

	if (likely(why == OMERTA_NO_DROP))
		consume_skb(outer);
	else
		omerta_drop_free(outer, why);
}

void omerta_rx_release(struct omerta_rx_burst *burst);
void omerta_rx_opened(struct omerta_rx_burst *burst);
void omerta_rx_take_done(struct omerta_tunnel *tun);
s64 omerta_rx_time_left(u64 *until);
int omerta_rx_deliver(struct omerta_tunnel *tun, int budget, u64 *until);
bool omerta_rx_open_chunks(const struct omerta_rx_burst *burst,
			   unsigned int number, unsigned int i, unsigned int end);
void omerta_rx_open(struct omerta_rx_burst *burst, unsigned int i,
		    unsigned int end);
void omerta_rx_check(struct omerta_rx_record *rec,
		     const struct omerta_layout *l);
int omerta_rx_deliver_burst(struct omerta_rx_burst *burst, int budget);

#endif /* _OMERTA_RX_BURST_H */
