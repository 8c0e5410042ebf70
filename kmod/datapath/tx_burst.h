/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TX_BURST_H
#define _OMERTA_TX_BURST_H

#include "datapath/buf.h"
#include "peer/peer.h"
#include "wire/record.h"
#include "datapath/segment.h"
#include "datapath/udp.h"

/* Records of a burst: what kernels take in one UDP GSO skb. */
#define OMERTA_TX_BURST_MAX	64

/**
 * struct omerta_tx_burst - records on their way out
 * @job: for the sealing; items are records, or the chunks of one
 * @list: member of the peer's fifo
 * @peer: the peer; a reference
 * @key: the key; a reference
 * @inner: the packets, if they are one skb
 * @first: number of the first of them in this burst
 * @n: number of records
 * @packets: number of inner packets
 * @bytes: of them
 * @outer: the datagrams
 * @buf: their UDP payloads
 * @path: their way
 * @layout: of all records but the last
 * @last: of the last
 * @counter: of the first record
 * @must_pass: fragments are better than nothing
 * @sealed: may be sent
 * @start: number of the skb that a record begins with, if there are several
 * @n_skbs: number of @skb; 0 for @inner
 * @skb: the packets, if they are several skbs
 */
struct omerta_tx_burst {
	struct omerta_job job;
	struct list_head list;
	struct omerta_peer *peer;
	struct omerta_key *key;
	struct omerta_segments inner;
	unsigned int first;
	unsigned int n;
	unsigned int packets;
	u32 bytes;
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

void omerta_tx_send_later(struct omerta_peer *peer);
void omerta_tx_send_rest(struct omerta_peer *peer);
void omerta_tx_sealed(struct omerta_job *job);
unsigned int omerta_tx_burst_len(u32 mtu, u8 class);
u32 omerta_tx_burst_bytes(const struct omerta_tx_burst *burst);
struct omerta_tx_burst *
omerta_tx_burst_alloc(struct omerta_peer *peer, struct sk_buff *skb,
		      unsigned int first, void (*done)(struct omerta_job *job));
struct omerta_tx_burst *
omerta_tx_burst_bunch(struct omerta_peer *peer, struct sk_buff *const *skb,
		      unsigned int n, void (*done)(struct omerta_job *job));

#endif /* _OMERTA_TX_BURST_H */
