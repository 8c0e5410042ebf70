/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TUNNEL_H
#define _OMERTA_TUNNEL_H

#include <linux/cache.h>
#include <linux/hashtable.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <net/net_namespace.h>

#include <uapi/linux/omerta.h>

#include "datapath/queue.h"
#include "datapath/stats.h"
#include "datapath/txq.h"
#include "peer/peer.h"
#include "wire/wire.h"

enum omerta_family { OMERTA_V4, OMERTA_V6, OMERTA_FAMILIES };

/*
 * Sockets of a channel: those on the listening port, by family, which it shares with the other
 * channels, and from here on those on a port of its own.
 */
#define OMERTA_OWN	OMERTA_FAMILIES
#define OMERTA_SOCKETS	(2 * OMERTA_FAMILIES)

struct omerta_admission;
struct omerta_binding;
struct omerta_engine;
struct omerta_tenant;

/* Most channels of a device */
#define OMERTA_CHANNELS_MAX	64
/* Distance of their own ports: a bond's hash ignores the lowest bit. */
#define OMERTA_CHANNEL_PORTS	2

/* Most packets in a bunch. */
#define OMERTA_BUNCH_MAX	64

/**
 * struct omerta_bunch - packets for one peer that are sent together
 * @peer: the peer; valid because BH stays off from the first packet to the last
 * @outer: fields of their outer headers, see tx.c
 * @n: number of packets
 * @skb: the packets
 */
struct omerta_bunch {
	struct omerta_peer *peer;
	u8 outer;
	unsigned int n;
	struct sk_buff *skb[OMERTA_BUNCH_MAX];
};

/* Binary logarithm of the buckets of a channel's table of peers with bursts in flight */
#define OMERTA_RX_PEERS_BITS	6

/**
 * struct omerta_channel - a transmit queue, sockets, and the NAPI that serves them
 * @tun: the device
 * @index: number of the channel, and of its queues
 * @sk: sockets while the device is up; changed under RTNL and the device's lock
 * @own_port: port of the sockets from %OMERTA_OWN on, 0 if there are none; as @sk
 * @spare: sockets that are to replace @sk, or were replaced; under RTNL
 * @queue: the transmit queue; constant
 * @bunch: packets that are collected for sending; lock: the queue's
 * @tx_jobs: bursts to be sealed; lock: the queue's
 * @txq: state of the transmit queue
 * @tx_packets: inner packets sent
 * @tx_records: records sent, keepalives too
 * @tx_drops: packets dropped, and records of keepalives
 * @xmit_class: lockdep class of the queue's lock
 * @napi: receives, commits and delivers
 * @rx_done: bursts whose last chunk another CPU has opened
 * @rx_ready: first bursts of peers that are open, in turn; NAPI only
 * @rx_peers: first burst in flight of each peer that has one, by the peer; NAPI only
 * @rx_jobs: bursts to be opened; NAPI only
 * @rx_inflight: number of bursts that are not delivered; NAPI only
 * @rx_next: socket that is read next; NAPI only
 * @rx_polls: runs of NAPI; written by NAPI only
 * @rx_bursts: bursts that were received; written by NAPI only
 * @rx_packets: inner packets delivered; written by NAPI only
 * @rx_records: fresh authentic records; written by NAPI only
 * @rx_drops: packets, records and datagrams dropped, but for those that the kernel drops at
 *	      the sockets
 * @rx_cpu: CPU of the latest run of NAPI; written by NAPI only
 * @rx_rest: datagrams of sockets that were replaced
 *
 * Channels share no memory that the datapath writes to.
 */
struct omerta_channel {
	/* Read by both directions */
	struct omerta_tunnel *tun;
	unsigned int index;
	struct sock __rcu *sk[OMERTA_SOCKETS];
	__be16 own_port;
	struct socket *spare[OMERTA_SOCKETS];

	/* Transmit side */
	struct netdev_queue *queue ____cacheline_aligned_in_smp;
	struct omerta_bunch bunch;
	struct omerta_jobs tx_jobs;
	struct omerta_txq txq;
	atomic_long_t tx_packets;
	atomic_long_t tx_records;
	atomic_long_t tx_drops;
	struct lock_class_key xmit_class;

	/* Receive side */
	struct napi_struct napi ____cacheline_aligned_in_smp;
	struct llist_head rx_done;
	struct list_head rx_ready;
	DECLARE_HASHTABLE(rx_peers, OMERTA_RX_PEERS_BITS);
	struct omerta_jobs rx_jobs;
	unsigned int rx_inflight;
	unsigned int rx_next;
	unsigned long rx_polls;
	unsigned long rx_bursts;
	unsigned long rx_packets;
	unsigned long rx_records;
	atomic_long_t rx_drops;
	int rx_cpu;
	struct sk_buff_head rx_rest;
};

#define OMERTA_CONTROL_SITES	512

/**
 * struct omerta_control - control datagrams to user space
 * @bound: the socket that receives them, NULL for none; see control.c
 * @admission: admits handshake messages, NULL until a socket gave a public key; lock:
 *	       the device's, constant once it is set
 * @identity: the latest public key that a socket gave, zeros for none; lock: the device's
 * @binding: number of the latest binding, 0 before the first; lock: the device's
 * @bound_at: its boot time in ns; lock: the device's
 * @pid: the process that made it, with a reference; lock: the device's
 * @has_stats: that process has reported @agent_stats; lock: the device's
 * @agent_stats: its counters, by attribute less 1; lock: the device's
 * @rate: strangers' datagrams per second; lock: the device's, read without
 * @source_rate: datagrams of one source per second; lock: the device's, read without
 * @share: sixteenths of the reader's buffer that strangers may fill; lock: the device's,
 *	   read without
 * @lock: protects @others and @site; BH off
 * @others: theoretical arrival time of the limit on all strangers; lock: @lock
 * @site: theoretical arrival times of the limits on their sources, by hash; lock: @lock
 */
struct omerta_control {
	struct omerta_binding __rcu *bound;
	struct omerta_admission *admission;
	u8 identity[OMERTA_KEY_LEN];
	u32 binding;
	u64 bound_at;
	struct pid *pid;
	bool has_stats;
	u64 agent_stats[OMERTA_A_AGENT_STATS_MAX];
	u32 rate;
	u32 source_rate;
	u32 share;
	spinlock_t lock; /* protects @others and @site */
	u64 others;
	u64 site[OMERTA_CONTROL_SITES];
};

/**
 * struct omerta_tunnel - private part of a device
 * @dev: the device
 * @engine: engine that seals and opens; lock: @lock, read without
 * @drops: drop counters
 * @tenant: pays for packets and datagrams that wait; changed while the device is down,
 *	    NULL before it is up for the first time
 * @fwmark: mark of outgoing datagrams; lock: @lock, read without
 * @class: chunk class of records sent; changed while the device is down
 * @batch: small packets may share a record; lock: @lock, read without
 * @df: enum omerta_df; lock: @lock, read without
 * @pool: per-CPU workers
 * @list: member of the module's list of devices; lock: tunnels_lock
 * @lock: serialises the configuration; taken inside RTNL
 * @birth: namespace of the sockets, NULL once it is gone; lock: @lock
 * @generation: changes when the contents of dumps change; lock: @lock
 * @dying: refuses configuration; lock: @lock
 * @port: UDP port asked for or in use, host order, 0 for any; lock: @lock
 * @channel_port: own port of the second channel, host order, each further one's is greater by 2;
 *		  0 for any; lock: @lock, changed while the device is down
 * @hash_key: secret, constant
 * @peers: its peers
 * @n_channels: number of channels in use; changed while the device is down
 * @channel: its channels; the first @n_channels are in use, others may be NULL. One that exists
 *	     stays as long as the device.
 * @gso_size: length of super-packets that fit a burst; under RTNL
 * @rejects: packets to be dropped whose senders get an ICMP error
 * @control: control datagrams
 */
struct omerta_tunnel {
	/* Read by both directions */
	struct net_device *dev;
	const struct omerta_engine *engine;
	struct omerta_drops __percpu *drops;
	struct omerta_tenant *tenant;
	u32 fwmark;
	u8 class;
	bool batch;
	u8 df;
	struct omerta_pool pool;

	/* Configuration */
	struct list_head list;
	struct mutex lock; /* serialises the configuration */
	struct net *birth;
	unsigned int generation;
	bool dying;
	u16 port;
	u16 channel_port;
	u32 gso_size;
	siphash_aligned_key_t hash_key;
	struct omerta_peers peers;

	unsigned int n_channels;
	struct omerta_channel *channel[OMERTA_CHANNELS_MAX];
	struct sk_buff_head rejects;
	struct omerta_control control;
};

/**
 * omerta_channels() - number of channels in use
 * @tun: the device
 *
 * Context: any. It changes only while the device is down and RTNL is held.
 * Return: the number; so many channels exist.
 */
static inline unsigned int omerta_channels(const struct omerta_tunnel *tun)
{
	/* Pairs with the release in omerta_channels_set(). */
	return smp_load_acquire(&tun->n_channels);
}

#endif /* _OMERTA_TUNNEL_H */
