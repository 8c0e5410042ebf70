/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TXQ_H
#define _OMERTA_TXQ_H

#include <linux/skbuff.h>
#include <linux/workqueue.h>

struct omerta_channel;

/**
 * enum omerta_queue_cause - why the queue stopped
 * @OMERTA_QUEUE_BQL: byte queue limits
 * @OMERTA_QUEUE_IN_FLIGHT: too many bytes are in flight
 * @OMERTA_QUEUE_HELPER: another CPU sends its packets
 */
enum omerta_queue_cause {
	OMERTA_QUEUE_BQL,
	OMERTA_QUEUE_IN_FLIGHT,
	OMERTA_QUEUE_HELPER,
	OMERTA_QUEUE_CAUSES,
};

/* Socket buffers in each direction, in bytes of truesize. */
#define OMERTA_SOCKET_BUFFER	(4 << 20)

/**
 * struct omerta_txq_help - help for senders of small packets
 * @fast_score: grows with each packet that comes soon after another
 * @own: packets in a row whose sender is on the helper's CPU
 * @slow_count: packets in a row that came late, since @fast_score is 0
 * @active: senders leave packets to a helper
 */
struct omerta_txq_help {
	unsigned int fast_score;
	unsigned int own;
	unsigned int slow_count;
	bool active;
};

/**
 * struct omerta_txq - state of a channel's transmit queue
 * @sent: bytes reported to BQL as sent, modulo 2^32
 * @completed: bytes reported to BQL as completed; NAPI only
 * @tx_stamp: ktime in ns at which the latest transmission started or, once over, ended;
 *	      0 if it is not timed
 * @tx_time: duration of the latest transmission, in ns
 * @tx_cpu: CPU of the latest transmission, or -1; read without lock
 * @help: help for senders
 * @help_cpu: the helper, or -1; read without lock
 * @handed_over: the queue is stopped and owned by @work until @work wakes it; read without
 *		 lock
 * @wait_inflight: @work also waits for earlier datagrams to complete; read without lock
 * @is_full: too many bytes are in flight, and there is no qdisc for packets to wait in
 * @stops: number of times that the queue stopped, by enum omerta_queue_cause
 * @deferred: packets for @work
 * @work: sends on behalf of the sender
 *
 * Members without a named lock are changed under the queue's lock, or by @work from when it
 * takes @deferred until it wakes the queue.
 */
struct omerta_txq {
	u32 sent;
	u32 completed;
	u64 tx_stamp;
	u64 tx_time;
	int tx_cpu;
	struct omerta_txq_help help;
	int help_cpu;
	bool handed_over;
	bool wait_inflight;
	bool is_full;
	unsigned long stops[OMERTA_QUEUE_CAUSES];
	struct sk_buff_head deferred;
	struct delayed_work work;
};

void omerta_txq_init(struct omerta_channel *ch, work_func_t help);
void omerta_txq_take_deferred(struct omerta_channel *ch, struct sk_buff_head *packets);
void omerta_txq_resume(struct omerta_channel *ch);
bool omerta_txq_begin(struct omerta_channel *ch, struct sk_buff *skb, bool more);
void omerta_txq_sent(struct omerta_channel *ch, u32 bytes);
bool omerta_txq_is_full(struct omerta_channel *ch);
void omerta_txq_end(struct omerta_channel *ch);
void omerta_txq_write_space(struct omerta_channel *ch);
void omerta_txq_poll(struct omerta_channel *ch);
void omerta_txq_purge(struct omerta_channel *ch);
void omerta_txq_destroy(struct omerta_channel *ch);
void omerta_txq_reset(struct omerta_channel *ch);

#endif /* _OMERTA_TXQ_H */
