/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TUNNEL_H
#define _OMERTA_TUNNEL_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include <uapi/linux/omerta.h>

#include "peer/allowedips.h"
#include "datapath/queue.h"
#include "datapath/stats.h"
#include "datapath/txq.h"
#include "wire/wire.h"

enum omerta_family { OMERTA_V4, OMERTA_V6, OMERTA_FAMILIES };

struct omerta_admission;
struct omerta_binding;
struct omerta_engine;
struct omerta_peer;
struct omerta_tenant;

/* Packets that go out at once, at most. */
#define OMERTA_BUNCH_MAX	64

/**
 * struct omerta_bunch - packets for one peer that others follow at once
 * @peer: the peer; as long as BH is off, from the first packet to the last
 * @ecn: of their outer headers
 * @df: of these, too
 * @n: their number
 * @skb: the packets
 */
struct omerta_bunch {
	struct omerta_peer *peer;
	u8 ecn;
	bool df;
	unsigned int n;
	struct sk_buff *skb[OMERTA_BUNCH_MAX];
};

#define OMERTA_CONTROL_SITES	512

/**
 * struct omerta_control - control datagrams on their way to user space
 * @bound: the socket that takes them, NULL for none; see control.c
 * @admission: admits handshake messages, NULL until a socket gave a public key; lock:
 *	       the device's, constant once it is there
 * @identity: the last public key that a socket gave, zeros if none did; lock: the device's
 * @rate: of strangers', a second; lock: the device's, read without
 * @source_rate: of those from one source, a second; likewise
 * @share: sixteenths of the reader's buffer that strangers may fill; likewise
 * @others: of the limit on all strangers; @napi only
 * @site: of the limits on their sources, by hash; @napi only
 */
struct omerta_control {
	struct omerta_binding __rcu *bound;
	struct omerta_admission *admission;
	u8 identity[OMERTA_KEY_LEN];
	u32 rate;
	u32 source_rate;
	u32 share;
	u64 others;
	u64 site[OMERTA_CONTROL_SITES];
};

/**
 * struct omerta_tunnel - private part of a device
 * @dev: the device
 * @list: member of the module's list of devices; lock: omerta_tunnels_lock
 * @lock: serialises configuration; taken inside RTNL
 * @birth: namespace of the sockets, NULL once it is gone; lock: @lock
 * @generation: changes with what dumps show; lock: @lock
 * @dying: no configuration any more; lock: @lock
 * @sk: sockets while the device is up; changed under RTNL and @lock
 * @port: UDP port asked for or got, host order, 0 for any; lock: @lock
 * @fwmark: mark of outgoing datagrams; lock: @lock, read without
 * @class: chunk class of records sent; changed while the device is down
 * @policy: where bursts are sealed and opened; lock: @lock, read without
 * @threshold: see the netlink spec; lock: @lock, read without
 * @engine: seals and opens; lock: @lock, read without
 * @batch: small packets may share a record; lock: @lock, read without
 * @df: whether datagrams may be fragmented; lock: @lock, read without
 * @peers: by id; lock: @lock, look-ups under RCU too
 * @n_peers: number of peers; lock: @lock
 * @gone: peers that are being removed, in order; lock: @lock
 * @n_gone: how many; lock: @lock
 * @reap_work: finishes their removal
 * @keys: by local id; changed under the peers' ring locks
 * @allowedips: by inner address; lock: @lock
 * @endpoints: peers by where they are; changed under their endpoint_lock, looked up
 *	       under RCU
 * @hash_key: secret, constant
 * @control: control datagrams
 * @napi: receives, commits and delivers
 * @rx_done: bursts of which the last chunk has been opened
 * @rx_ready: peers of which the next burst is open, in turn; @napi only
 * @rx_inflight: bursts that are not delivered; @napi only
 * @rx_jobs: bursts that are to be opened; @napi only
 * @rx_rest: what was in sockets that were replaced
 * @rx_next: whether IPv4 or IPv6 is drained first; @napi only
 * @bunch: packets on their way out; lock: the queue's
 * @tx_jobs: bursts that are to be sealed; lock: the queue's
 * @txq: its queue
 * @pool: per-CPU workers
 * @tenant: pays for packets and datagrams that wait; changed while the device
 *	    is down, NULL before it is up for the first time
 * @rejects: packets to be dropped, of which their senders are to be told
 * @drops: drop counters
 * @xmit_class: of the queue's lock
 */
struct omerta_tunnel {
	struct net_device *dev;
	struct list_head list;
	struct mutex lock; /* of the configuration */
	struct net *birth;
	unsigned int generation;
	bool dying;
	struct sock __rcu *sk[OMERTA_FAMILIES];
	u16 port;
	u32 fwmark;
	u8 class;
	u8 policy;
	u32 threshold;
	const struct omerta_engine *engine;
	bool batch;
	u8 df;
	struct xarray peers;
	unsigned int n_peers;
	struct list_head gone;
	unsigned int n_gone;
	struct delayed_work reap_work;
	struct rhashtable keys;
	struct omerta_allowedips allowedips;
	struct rhltable endpoints;
	siphash_aligned_key_t hash_key;
	struct omerta_control control;
	struct napi_struct napi;
	struct llist_head rx_done;
	struct list_head rx_ready;
	unsigned int rx_inflight;
	struct omerta_jobs rx_jobs;
	struct sk_buff_head rx_rest;
	unsigned int rx_next;
	struct omerta_bunch bunch;
	struct omerta_jobs tx_jobs;
	struct omerta_txq txq;
	struct omerta_pool pool;
	struct omerta_tenant *tenant;
	struct sk_buff_head rejects;
	struct omerta_drops __percpu *drops;
	struct lock_class_key xmit_class;
};

/* What a short chunk costs, compared with those of this many bytes. */
#define OMERTA_CHUNK_COST	512U

/* What is done in one go is for so many CPUs at most, lest one is left with it all. */
#define OMERTA_SHARES_MAX	8U

/* NULL for the library. */
static inline const struct omerta_engine *
omerta_tunnel_engine(const struct omerta_tunnel *tun)
{
	return READ_ONCE(tun->engine);
}

/* CPUs that may work. */
static inline unsigned int omerta_tunnel_cpus(const struct omerta_tunnel *tun)
{
	return min(READ_ONCE(tun->pool.n_cpus), num_online_cpus());
}

/* What several CPUs do together counts as so much less, at most. */
static inline unsigned int omerta_tunnel_shares(const struct omerta_tunnel *tun)
{
	return min(omerta_tunnel_cpus(tun), OMERTA_SHARES_MAX);
}

/**
 * omerta_tunnel_split() - into how many parts to split work
 * @tun: the device
 * @bytes: plaintext bytes, of a record %OMERTA_CHUNK_COST at least
 * @n: things that can be apart: chunks, records, bursts
 *
 * Return: 1 to work where we are.
 */
static inline unsigned int omerta_tunnel_split(const struct omerta_tunnel *tun,
					       u32 bytes, unsigned int n)
{
	unsigned int most = min(n, omerta_tunnel_cpus(tun));
	u32 least = READ_ONCE(tun->threshold);

	switch (READ_ONCE(tun->policy)) {
	case OMERTA_POLICY_INLINE:
		return 1;
	case OMERTA_POLICY_AUTO:
		/* No part is shorter than half of that. */
		return clamp_t(u32, DIV_ROUND_UP(bytes, least), 1, most);
	}
	return most;
}

/**
 * omerta_tunnel_enough() - whether bursts should wait for no more to be shared with
 * @tun: the device
 * @jobs: the bursts
 *
 * Return: true if there is no use in that, as there is enough for all CPUs.
 */
static inline bool omerta_tunnel_enough(const struct omerta_tunnel *tun,
					const struct omerta_jobs *jobs)
{
	u32 shares = omerta_tunnel_shares(tun);
	u32 least = min_t(u32, READ_ONCE(tun->threshold), OMERTA_MAX_DATAGRAM);

	if (READ_ONCE(tun->policy) != OMERTA_POLICY_AUTO || shares == 1)
		return jobs->n;
	return jobs->bytes >= shares * least;
}

#endif /* _OMERTA_TUNNEL_H */
