/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TXQ_H
#define _OMERTA_TXQ_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

struct omerta_tunnel;

/* Bytes, with the kernel's own share, that each socket takes in and out. */
#define OMERTA_SOCKET_BUFFER	(4 << 20)

/**
 * struct omerta_txq - the device's queue
 * @sent: bytes that BQL was told of, modulo 2^32
 * @done: and of which it was told that they are through; NAPI only
 * @last: when the last packet was sent, in ns; while it is, since when
 * @took: how long the last took, in ns
 * @cpu: who sent the last
 * @quick: grows with packets that come soon after another
 * @own: packets in a row of which @helper is the sender
 * @late: packets in a row that came late, since @quick is 0
 * @helped: senders leave packets to @helper
 * @helper: a CPU, or -1; read without lock
 * @handed: the queue stands, behind packets that came with the one for @work, until
 *	    that wakes it; read without lock
 * @waits: and @work waits until all that was sent is through; read without lock
 * @full: too much is on its way, and packets have no qdisc to wait in
 * @kept: packets for @work
 * @work: sends in the place of the sender
 *
 * What has no lock named is changed by who has the queue's lock, or by @work, from when
 * it has taken what is @kept until it wakes the queue.
 */
struct omerta_txq {
	u32 sent;
	u32 done;
	u64 last;
	u64 took;
	int cpu;
	unsigned int quick;
	unsigned int own;
	unsigned int late;
	bool helped;
	int helper;
	bool handed;
	bool waits;
	bool full;
	struct sk_buff_head kept;
	struct delayed_work work;
};

void omerta_txq_init(struct omerta_tunnel *tun, work_func_t help);
void omerta_txq_kept(struct omerta_tunnel *tun, struct sk_buff_head *packets);
void omerta_txq_resume(struct omerta_tunnel *tun);
bool omerta_txq_begin(struct omerta_tunnel *tun, struct sk_buff *skb, bool more);
void omerta_txq_sent(struct omerta_tunnel *tun, u32 bytes);
bool omerta_txq_is_full(struct omerta_tunnel *tun);
void omerta_txq_end(struct omerta_tunnel *tun);
void omerta_txq_room(struct omerta_tunnel *tun);
void omerta_txq_poll(struct omerta_tunnel *tun);
void omerta_txq_purge(struct omerta_tunnel *tun);
void omerta_txq_destroy(struct omerta_tunnel *tun);
void omerta_txq_reset(struct omerta_tunnel *tun);

#endif /* _OMERTA_TXQ_H */
