// SPDX-License-Identifier: GPL-2.0
/*
 * Control datagrams: delivery to the netlink socket that is bound to the device.
 *
 * Anyone who can reach the port can send them. If the socket gave its public key, handshake
 * messages are admitted by what they prove, see "Control datagrams" in
 * Documentation/keying.rst. Proofs that need computation are checked in a worker, so that
 * data is not delayed. All other datagrams are strangers'. They share a limit and a small
 * part of the reader's buffer.
 */
#include "datapath/control.h"

#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "datapath/admission.h"
#include "compat/compat.h"
#include "peer/event.h"
#include "peer/peer.h"
#include "datapath/stats.h"
#include "datapath/trace.h"
#include "peer/tenant.h"
#include "datapath/udp.h"

/* Burst size of a rate limit: the datagrams of this time, and one more */
#define BURST_TIME	(NSEC_PER_SEC / 4)
/* A reader with a backlog counts as busy for this long. */
#define BUSY_NS		NSEC_PER_SEC
/* Most initiations that wait for the worker, as in in-kernel WireGuard. */
#define PENDING_MAX	4096
/* Initiations of a device that may wait without being charged to the tenant. */
#define PENDING_OWN	64
/* Initiations that the worker checks before it yields. */
#define PENDING_BATCH	64

/* Limits for the memory of initiations that wait on all devices of a tenant. */
static const struct omerta_bounds pending_bounds = {
	.tenant = SZ_8M,
	.owner = SZ_16M,
	.dead = OMERTA_UNBOUNDED,
};

/* Shares of the reader's buffer, in sixteenths. The share of strangers is a setting. */
#define SHARE_BUSY	2
#define SHARE_PROVED	8
#define SHARE_ALL	16

/**
 * struct omerta_binding - a socket that receives control datagrams
 * @list: member of the module's list; lock: bindings_lock
 * @tun: the device
 * @sk: the socket; stays for a grace period after it is unbound
 * @portid: its netlink address
 * @adm: admits handshake messages, NULL if the socket gave no public key
 * @all_types: deliver strangers' datagrams although there is @adm
 * @key: keys derived from its public key, if there is @adm
 * @rcu: for the deferred free
 */
struct omerta_binding {
	struct list_head list;
	struct omerta_tunnel *tun;
	struct sock *sk;
	u32 portid;
	struct omerta_admission *adm;
	bool all_types;
	struct omerta_admit_key key;
	struct rcu_head rcu;
};

/**
 * struct omerta_datagram - a control datagram
 * @list: member of &omerta_admission.pending
 * @tenant: charged for it while it is pending, with a reference; NULL if not charged
 * @ch: channel that received it
 * @iif: interface that it arrived on
 * @len: bytes of @data
 * @from: its source
 * @data: UDP payload
 */
struct omerta_datagram {
	struct list_head list;
	struct omerta_tenant *tenant;
	struct omerta_channel *ch;
	int iif;
	u32 len;
	struct omerta_endpoint from;
	const u8 *data;
};

/**
 * struct omerta_admission - admission of handshake messages to a device
 * @ids: local key ids of initiations sent recently
 * @macs: first bytes of mac1 of messages sent recently
 * @lock: protects @pending and @n_pending; BH off
 * @pending: initiations that wait for the worker; lock: @lock
 * @n_pending: their number; lock: @lock, read without
 * @work: checks them; holds a reference to the device while it is queued
 * @tun: the device
 * @busy_until: boot time in ns until which the reader counts as busy; @work only
 * @jar: secret of the cookies; @work only
 * @seen: initiations that were admitted by a cookie; @work only
 * @site: theoretical arrival times of the limits on sources, by hash; @work only
 */
struct omerta_admission {
	struct omerta_sent_set ids;
	struct omerta_sent_set macs;
	spinlock_t lock; /* protects @pending */
	struct list_head pending;
	unsigned int n_pending;
	struct work_struct work;
	struct omerta_tunnel *tun;
	u64 busy_until;
	struct omerta_cookie_jar jar;
	struct omerta_seen seen;
	u64 site[OMERTA_CONTROL_SITES];
};

/* Bindings of all devices. The lock also protects their &omerta_control.bound. */
static LIST_HEAD(bindings);
static DEFINE_SPINLOCK(bindings_lock);
/* No socket can be bound any more; lock: bindings_lock */
static bool closed;

static struct workqueue_struct *workers;

/*
 * Return true if one more datagram conforms to a limit: the generic cell rate algorithm
 * of ITU-T I.371, annex A. @next is the theoretical arrival time.
 */
static bool conforms(u64 *next, u64 now, u32 rate)
{
	u64 due = max(*next, now);

	if (due - now > BURST_TIME)
		return false;
	*next = due + NSEC_PER_SEC / rate;
	return true;
}

/* Hash the part of an address that one site owns: an IPv4 address or an IPv6 /64. */
static u32 hash_site(const struct omerta_endpoint *ep, const siphash_key_t *key)
{
	if (ep->family == AF_INET)
		return siphash_1u32((__force u32)ep->addr4, key);
	return siphash_1u64(get_unaligned((const u64 *)&ep->addr6), key);
}

/* The limit of a source in a table. Sources that hash to the same slot share it. */
static bool site_conforms(struct omerta_tunnel *tun, u64 *site,
			  const struct omerta_endpoint *from, u64 now)
{
	u32 hash = hash_site(from, &tun->hash_key);

	return conforms(&site[hash % OMERTA_CONTROL_SITES], now,
			READ_ONCE(tun->control.source_rate));
}

/*
 * Return true if a message fits a share of the reader's buffer. The socket itself takes
 * a message of any size as long as there is any space left.
 */
static bool has_space(const struct sock *sk, u32 share, u32 truesize)
{
	return sk_rmem_alloc_get(sk) + truesize <=
	       READ_ONCE(sk->sk_rcvbuf) / SHARE_ALL * share;
}

static int put_local(struct sk_buff *msg, const struct omerta_endpoint *from)
{
	if (from->family == AF_INET)
		return nla_put_in_addr(msg, OMERTA_A_CONTROL_LOCAL_ADDR,
				       from->src4);
	return nla_put_in6_addr(msg, OMERTA_A_CONTROL_LOCAL_ADDR, &from->src6);
}

static struct sk_buff *make_message(const struct omerta_tunnel *tun,
				    const struct omerta_peer *peer,
				    const struct omerta_datagram *d)
{
	struct sk_buff *msg;
	void *hdr;

	msg = omerta_event_new(tun->dev, OMERTA_CMD_CONTROL_NTF,
			       256 + nla_total_size(d->len), false, &hdr);
	if (!msg)
		return NULL;
	if (omerta_put_endpoint(msg, OMERTA_A_CONTROL_ENDPOINT_ADDR, &d->from) ||
	    put_local(msg, &d->from) ||
	    nla_put_u32(msg, OMERTA_A_CONTROL_OUTER_IFINDEX, d->iif) ||
	    (peer && nla_put_u32(msg, OMERTA_A_CONTROL_PEER_ID, peer->id)) ||
	    nla_put(msg, OMERTA_A_CONTROL_DATA, d->len, d->data)) {
		nlmsg_free(msg);
		return NULL;
	}
	genlmsg_end(msg, hdr);
	return msg;
}

/*
 * Deliver a datagram to the reader within a share of its buffer. The share may be larger at
 * a peer's endpoint.
 */
static enum omerta_drop deliver(struct omerta_tunnel *tun, const struct omerta_binding *b,
				const struct omerta_datagram *d, u32 share, u32 peer_share)
{
	struct omerta_peer *peer = omerta_peer_by_endpoint(&tun->peers, &d->from);
	struct sk_buff *msg = make_message(tun, peer, d);

	if (!msg)
		return OMERTA_DROP_RX_NOMEM;
	if (peer)
		share = peer_share;
	if (!has_space(b->sk, share, msg->truesize)) {
		nlmsg_free(msg);
		return OMERTA_DROP_RX_CONTROL_FULL;
	}
	switch (genlmsg_unicast(sock_net(b->sk), msg, b->portid)) {
	case 0:
		return OMERTA_DROP_NONE;
	case -EAGAIN:
		return OMERTA_DROP_RX_CONTROL_FULL;
	default:
		/* The socket was closed. */
		return OMERTA_DROP_RX_CONTROL;
	}
}

/*
 * The device's reader. Its address may belong to another socket already before the notifier
 * runs.
 */
static struct omerta_binding *reader_of(const struct omerta_tunnel *tun)
{
	struct omerta_binding *b = rcu_dereference(tun->control.bound);

	if (!b || !net_eq(sock_net(b->sk), dev_net(tun->dev)) ||
	    sock_flag(b->sk, SOCK_DEAD))
		return NULL;
	return b;
}

/*
 * Initiations, checked in the worker
 */

/* Source that a cookie is bound to; without padding. */
struct cookie_source {
	struct in6_addr addr;
	struct in6_addr local;
	u32 scope;
	__be16 port;
	u16 family;
};

static_assert(sizeof(struct cookie_source) == 40);

static void make_cookie(struct omerta_admission *adm, u64 now,
			const struct omerta_endpoint *from, u8 *cookie)
{
	struct cookie_source source = {
		.scope = from->scope,
		.port = from->port,
		.family = from->family,
	};

	if (from->family == AF_INET) {
		source.addr.s6_addr32[0] = from->addr4;
		source.local.s6_addr32[0] = from->src4;
	} else {
		source.addr = from->addr6;
		source.local = from->src6;
	}
	omerta_cookie_make(&adm->jar, now, &source, sizeof(source), cookie);
}

static void send_cookie(struct omerta_tunnel *tun,
			const struct omerta_binding *b,
			const struct omerta_datagram *d, const u8 *cookie)
{
	u8 nonce[OMERTA_COOKIE_NONCE_LEN];
	struct sk_buff *skb;

	skb = alloc_skb(OMERTA_UDP_HEADROOM + OMERTA_COOKIE_MSG_LEN,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return;
	skb_reserve(skb, OMERTA_UDP_HEADROOM);
	get_random_bytes(nonce, sizeof(nonce));
	omerta_cookie_write(&b->key, d->data + d->len - OMERTA_MACS_LEN, cookie,
			    nonce, skb_put(skb, OMERTA_COOKIE_MSG_LEN));
	omerta_udp_send_to(tun, skb, &d->from);
}

/* A peer at its known endpoint has a limit of its own, apart from others of its site. */
static bool initiation_conforms(struct omerta_admission *adm,
				const struct omerta_endpoint *from, u64 now)
{
	struct omerta_peer *peer = omerta_peer_by_endpoint(&adm->tun->peers, from);

	if (!peer)
		return site_conforms(adm->tun, adm->site, from, now);
	return conforms(&peer->initiation_at, now,
			READ_ONCE(adm->tun->control.source_rate));
}

/* Admit an initiation with a valid mac1. If the reader is busy, mac2 must be valid, too. */
static enum omerta_drop admit(struct omerta_admission *adm, const struct omerta_binding *b,
			      const struct omerta_datagram *d)
{
	const u8 *mac2 = d->data + d->len - OMERTA_MAC_LEN;
	u64 now = ktime_get_boottime_ns();
	u8 cookie[OMERTA_MAC_LEN];
	enum omerta_drop reason;

	if (!has_space(b->sk, SHARE_BUSY, 0))
		adm->busy_until = now + BUSY_NS;
	if (now >= adm->busy_until)
		return deliver(adm->tun, b, d, SHARE_PROVED, SHARE_ALL);

	make_cookie(adm, now, &d->from, cookie);
	if (!memchr_inv(mac2, 0, OMERTA_MAC_LEN) ||
	    !omerta_admit_mac2(cookie, d->data, d->len)) {
		send_cookie(adm->tun, b, d, cookie);
		reason = OMERTA_DROP_RX_CONTROL_COOKIE;
	} else if (omerta_seen_find(&adm->seen, mac2)) {
		reason = OMERTA_DROP_RX_CONTROL_REPLAY;
	} else if (!initiation_conforms(adm, &d->from, now)) {
		reason = OMERTA_DROP_RX_CONTROL_LIMIT;
	} else {
		reason = deliver(adm->tun, b, d, SHARE_PROVED, SHARE_ALL);
		if (reason == OMERTA_DROP_NONE)
			omerta_seen_add(&adm->seen, mac2);
	}
	memzero_explicit(cookie, sizeof(cookie));
	return reason;
}

static struct omerta_datagram *next_pending(struct omerta_admission *adm)
{
	struct omerta_datagram *d;

	spin_lock_bh(&adm->lock);
	d = list_first_entry_or_null(&adm->pending, struct omerta_datagram,
				     list);
	if (d) {
		list_del(&d->list);
		WRITE_ONCE(adm->n_pending, adm->n_pending - 1);
	}
	spin_unlock_bh(&adm->lock);
	return d;
}

static u32 pending_size(const struct omerta_datagram *d)
{
	return kmalloc_size_roundup(sizeof(*d) + d->len);
}

static void free_pending(struct omerta_datagram *d)
{
	if (d->tenant)
		omerta_tenant_uncharge(d->tenant, OMERTA_RESOURCE_INITIATIONS,
				       pending_size(d));
	omerta_tenant_put(d->tenant);
	kfree(d);
}

/* Queue the worker, with a reference to the device. */
static void queue_worker(struct omerta_admission *adm)
{
	dev_hold(adm->tun->dev);
	if (!queue_work(workers, &adm->work))
		dev_put(adm->tun->dev);
}

static void admission_work(struct work_struct *work)
{
	struct omerta_admission *adm = container_of(work,
						    struct omerta_admission,
						    work);
	struct net_device *dev = adm->tun->dev;
	const struct omerta_binding *b;
	struct omerta_datagram *d;
	enum omerta_drop reason;
	int i;

	for (i = 0; i < PENDING_BATCH && (d = next_pending(adm)); i++) {
		rcu_read_lock();
		b = reader_of(adm->tun);
		if (!b || !b->adm) {
			reason = OMERTA_DROP_RX_CONTROL;
		} else if (!omerta_admit_mac1(&b->key, d->data, d->len)) {
			reason = OMERTA_DROP_RX_CONTROL_INVALID;
		} else {
			local_bh_disable();
			reason = admit(adm, b, d);
			local_bh_enable();
		}
		rcu_read_unlock();
		if (reason != OMERTA_DROP_NONE)
			omerta_drop(d->ch, NULL, reason, 1);
		free_pending(d);
	}
	if (i == PENDING_BATCH)
		queue_worker(adm);
	dev_put(dev);
}

/* Queue an initiation for the worker. */
static enum omerta_drop pend(struct omerta_admission *adm, const struct omerta_datagram *d)
{
	unsigned int n = READ_ONCE(adm->n_pending);
	struct omerta_tenant *tenant = n < PENDING_OWN ? NULL : adm->tun->tenant;
	struct omerta_datagram *copy;
	bool full;

	/* Check first: do not allocate memory for a flood. */
	if (n >= PENDING_MAX ||
	    (tenant && omerta_tenant_charge(tenant, OMERTA_RESOURCE_INITIATIONS,
					    pending_size(d), &pending_bounds)))
		return OMERTA_DROP_RX_CONTROL_FULL;
	copy = kmalloc(sizeof(*d) + d->len, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy) {
		if (tenant)
			omerta_tenant_uncharge(tenant, OMERTA_RESOURCE_INITIATIONS,
					       pending_size(d));
		return OMERTA_DROP_RX_NOMEM;
	}
	if (tenant)
		omerta_tenant_hold(tenant);
	*copy = *d;
	copy->tenant = tenant;
	copy->data = memcpy(copy + 1, d->data, d->len);
	spin_lock_bh(&adm->lock);
	full = adm->n_pending >= PENDING_MAX;
	if (!full) {
		list_add_tail(&copy->list, &adm->pending);
		WRITE_ONCE(adm->n_pending, adm->n_pending + 1);
	}
	spin_unlock_bh(&adm->lock);
	if (full) {
		free_pending(copy);
		return OMERTA_DROP_RX_CONTROL_FULL;
	}
	queue_worker(adm);
	return OMERTA_DROP_NONE;
}

/*
 * All other datagrams, in NAPI
 */

static enum omerta_drop recv_stranger(struct omerta_tunnel *tun,
				      const struct omerta_binding *b,
				      const struct omerta_datagram *d)
{
	struct omerta_control *c = &tun->control;
	u64 now = ktime_get_coarse_ns();
	bool ok;

	if (b->adm && !b->all_types)
		return OMERTA_DROP_RX_CONTROL_UNASKED;
	spin_lock(&c->lock);
	ok = site_conforms(tun, c->site, &d->from, now) &&
	     conforms(&c->others, now, READ_ONCE(c->rate));
	spin_unlock(&c->lock);
	if (!ok)
		return OMERTA_DROP_RX_CONTROL_LIMIT;
	return deliver(tun, b, d, READ_ONCE(c->share), READ_ONCE(c->share));
}

/**
 * omerta_control_recv() - deliver a control datagram to its reader if it is admitted
 * @ch: channel that received it
 * @iif: interface that it arrived on
 * @from: its source
 * @data: UDP payload
 * @len: its length
 *
 * Context: a NAPI of the device, inside an RCU read-side section.
 * Return: OMERTA_DROP_NONE, or the reason to drop it. A worker may drop it later.
 */
enum omerta_drop omerta_control_recv(struct omerta_channel *ch, int iif,
				     const struct omerta_endpoint *from,
				     const u8 *data, u32 len)
{
	const struct omerta_datagram d = {
		.ch = ch,
		.iif = iif,
		.len = len,
		.from = *from,
		.data = data,
	};
	struct omerta_tunnel *tun = ch->tun;
	const struct omerta_binding *b = reader_of(tun);
	struct omerta_sent_set *sent = NULL;

	trace_omerta_control_rx(tun, data, len, from);
	if (!b)
		return OMERTA_DROP_RX_CONTROL;
	if (!b->adm)
		return recv_stranger(tun, b, &d);
	switch (data[OMERTA_MAGIC_LEN]) {
	case OMERTA_HS_INITIATION:
		if (!omerta_admit_length(data, len))
			return OMERTA_DROP_RX_CONTROL_INVALID;
		return pend(b->adm, &d);
	case OMERTA_HS_RESPONSE:
	case OMERTA_HS_TIME:
		sent = &b->adm->ids;
		break;
	case OMERTA_HS_COOKIE:
		sent = &b->adm->macs;
		break;
	}
	if (!sent)
		return recv_stranger(tun, b, &d);
	if (!omerta_admit_length(data, len))
		return OMERTA_DROP_RX_CONTROL_INVALID;
	if (omerta_sent_answered(sent, get_unaligned_le32(data + 4),
				 ktime_get_boottime_ns()))
		return deliver(tun, b, &d, SHARE_ALL, SHARE_ALL);
	return recv_stranger(tun, b, &d);
}

/**
 * omerta_control_sent() - remember a message that is sent for the reader
 * @tun: the device
 * @data: UDP payload
 * @len: its length
 * @local_id: key id that an initiation contains, 0 if unknown
 *
 * Context: process context, the device's lock held.
 * Return: 0 or -ENOMEM.
 */
int omerta_control_sent(struct omerta_tunnel *tun, const u8 *data, u32 len,
			u32 local_id)
{
	struct omerta_admission *adm = tun->control.admission;
	u64 now = ktime_get_boottime_ns();
	int err;

	lockdep_assert_held(&tun->lock);

	/* All of these messages end with the macs, except cookies, which have none. */
	if (!adm || !omerta_admit_length(data, len) ||
	    data[OMERTA_MAGIC_LEN] == OMERTA_HS_COOKIE)
		return 0;
	err = omerta_sent_add(&adm->macs,
			      get_unaligned_le32(data + len - OMERTA_MACS_LEN),
			      now);
	if (!err && local_id)
		err = omerta_sent_add(&adm->ids, local_id, now);
	return err;
}

/*
 * Binding
 */

static struct omerta_binding *binding_of(struct omerta_tunnel *tun)
{
	return rcu_dereference_protected(tun->control.bound,
					 lockdep_is_held(&bindings_lock));
}

static void drop_binding(struct omerta_binding *b)
{
	lockdep_assert_held(&bindings_lock);

	list_del(&b->list);
	RCU_INIT_POINTER(b->tun->control.bound, NULL);
	kfree_rcu(b, rcu);
}

static int add_binding(struct omerta_tunnel *tun, struct omerta_binding *b,
		       struct netlink_ext_ack *extack)
{
	struct omerta_binding *old = binding_of(tun);

	lockdep_assert_held(&bindings_lock);

	if (closed)
		return -ENODEV;
	if (old && old->sk == b->sk && !b->adm) {
		NL_SET_ERR_MSG(extack, "this socket is bound to the device already");
		return -EALREADY;
	}
	/*
	 * A socket may change its key. A socket that is closed, or in a namespace that the
	 * device has since left, receives nothing and can be replaced.
	 */
	if (old && (old->sk == b->sk || sock_flag(old->sk, SOCK_DEAD) ||
		    !net_eq(sock_net(old->sk), dev_net(tun->dev)))) {
		drop_binding(old);
	} else if (old) {
		NL_SET_ERR_MSG(extack,
			       "another socket is bound to the device: is a key agent running?");
		return -EBUSY;
	}
	list_add(&b->list, &bindings);
	rcu_assign_pointer(tun->control.bound, b);
	return 0;
}

/* Allocate the admission of a device. It stays until the device is freed. */
static int add_admission(struct omerta_tunnel *tun)
{
	struct omerta_admission *adm;

	lockdep_assert_held(&tun->lock);

	if (tun->control.admission)
		return 0;
	adm = kvzalloc_obj(*adm, GFP_KERNEL_ACCOUNT);
	if (!adm)
		return -ENOMEM;
	omerta_sent_init(&adm->ids);
	omerta_sent_init(&adm->macs);
	spin_lock_init(&adm->lock);
	INIT_LIST_HEAD(&adm->pending);
	INIT_WORK(&adm->work, admission_work);
	adm->tun = tun;
	tun->control.admission = adm;
	return 0;
}

/* Reports under an earlier binding become void. */
static void renew_reader(struct omerta_control *control)
{
	put_pid(control->pid);
	control->pid = get_task_pid(current, PIDTYPE_TGID);
	control->bound_at = ktime_get_boottime_ns();
	control->has_stats = false;
	memset(control->agent_stats, 0, sizeof(control->agent_stats));
	if (!++control->binding)
		control->binding++;
}

/**
 * omerta_control_bind() - deliver the control datagrams of a device to a socket
 * @tun: the device
 * @sk: the socket, in use by the current request
 * @portid: its netlink address
 * @public_key: the key that handshake messages are admitted by, NULL for none
 * @all_types: deliver strangers' datagrams in spite of @public_key
 * @extack: gets the reason of a refusal
 *
 * Context: process context, the device's lock held.
 * Return: 0 or a negative errno.
 */
int omerta_control_bind(struct omerta_tunnel *tun, struct sock *sk, u32 portid,
			const u8 *public_key, bool all_types,
			struct netlink_ext_ack *extack)
{
	struct omerta_binding *b;
	int err;

	lockdep_assert_held(&tun->lock);

	b = kzalloc_obj(*b, GFP_KERNEL_ACCOUNT);
	if (!b)
		return -ENOMEM;
	b->tun = tun;
	b->sk = sk;
	b->portid = portid;
	b->all_types = all_types;
	err = public_key ? add_admission(tun) : 0;
	if (!err) {
		if (public_key) {
			omerta_admit_key_init(&b->key, public_key);
			b->adm = tun->control.admission;
		}
		spin_lock(&bindings_lock);
		err = add_binding(tun, b, extack);
		spin_unlock(&bindings_lock);
	}
	if (err)
		kfree(b);
	else
		renew_reader(&tun->control);
	return err;
}

/**
 * omerta_control_bound() - check whether a socket is bound to a device
 * @tun: the device
 * @sk: the socket, NULL for any
 *
 * Return: true if it receives the device's control datagrams.
 */
bool omerta_control_bound(const struct omerta_tunnel *tun, const struct sock *sk)
{
	const struct omerta_binding *b;
	bool bound;

	rcu_read_lock();
	b = reader_of(tun);
	bound = b && (!sk || b->sk == sk);
	rcu_read_unlock();
	return bound;
}

/**
 * omerta_control_unbind() - undo omerta_control_bind()
 * @tun: the device
 * @sk: the socket
 * @extack: gets the reason of a refusal
 *
 * Context: process context.
 * Return: 0 or -ENOTCONN.
 */
int omerta_control_unbind(struct omerta_tunnel *tun, const struct sock *sk,
			  struct netlink_ext_ack *extack)
{
	struct omerta_binding *b;
	int err = -ENOTCONN;

	spin_lock(&bindings_lock);
	b = binding_of(tun);
	if (b && b->sk == sk) {
		drop_binding(b);
		err = 0;
	}
	spin_unlock(&bindings_lock);
	if (err)
		NL_SET_ERR_MSG(extack, "this socket is not bound to the device");
	return err;
}

/**
 * omerta_control_unbind_all() - unbind the socket of a device that is being deleted
 * @tun: the device
 *
 * Context: process context.
 */
void omerta_control_unbind_all(struct omerta_tunnel *tun)
{
	struct omerta_binding *b;

	spin_lock(&bindings_lock);
	b = binding_of(tun);
	if (b)
		drop_binding(b);
	spin_unlock(&bindings_lock);
}

/*
 * A socket is closed. It is freed after a grace period, and another socket may have its
 * address by now.
 */
static int netlink_notify(struct notifier_block *nb, unsigned long event,
			  void *data)
{
	const struct netlink_notify *n = data;
	struct omerta_binding *b, *tmp;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC)
		return NOTIFY_DONE;
	spin_lock(&bindings_lock);
	list_for_each_entry_safe(b, tmp, &bindings, list)
		if (b->portid == n->portid &&
		    net_eq(sock_net(b->sk), n->net) &&
		    sock_flag(b->sk, SOCK_DEAD))
			drop_binding(b);
	spin_unlock(&bindings_lock);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = netlink_notify };

/**
 * omerta_control_close() - unbind all sockets for good
 *
 * No datagram is delivered after the next grace period.
 */
void omerta_control_close(void)
{
	struct omerta_binding *b, *tmp;

	spin_lock(&bindings_lock);
	closed = true;
	list_for_each_entry_safe(b, tmp, &bindings, list)
		drop_binding(b);
	spin_unlock(&bindings_lock);
}

/* Drop the initiations that wait for the worker. */
static void purge_pending(struct omerta_admission *adm)
{
	struct omerta_datagram *d;

	while ((d = next_pending(adm))) {
		omerta_drop(d->ch, NULL, OMERTA_DROP_RX_CONTROL, 1);
		free_pending(d);
	}
}

/**
 * omerta_control_stop() - drop the initiations that wait for admission
 * @tun: the device; it receives nothing any more
 *
 * The worker is not waited for, since a busy CPU could delay it. It holds a reference to the
 * device while it runs.
 *
 * Context: process context.
 */
void omerta_control_stop(struct omerta_tunnel *tun)
{
	struct omerta_admission *adm = tun->control.admission;

	if (!adm)
		return;
	purge_pending(adm);
	if (cancel_work(&adm->work))
		dev_put(tun->dev);
}

/**
 * omerta_control_free() - free what a device has for its reader
 * @tun: the device, without references
 */
void omerta_control_free(struct omerta_tunnel *tun)
{
	struct omerta_admission *adm = tun->control.admission;

	put_pid(tun->control.pid);
	if (!adm)
		return;
	omerta_sent_free(&adm->ids);
	omerta_sent_free(&adm->macs);
	memzero_explicit(&adm->jar, sizeof(adm->jar));
	kvfree(adm);
}

/**
 * omerta_control_init() - set up bindings, at module load
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_control_init(void)
{
	int err;

	workers = alloc_workqueue("omerta-control", WQ_UNBOUND, 0);
	if (!workers)
		return -ENOMEM;
	err = netlink_register_notifier(&notifier);
	if (err)
		destroy_workqueue(workers);
	return err;
}

/**
 * omerta_control_exit() - undo omerta_control_init(); no device is left
 */
void omerta_control_exit(void)
{
	netlink_unregister_notifier(&notifier);
	destroy_workqueue(workers);
}
