// SPDX-License-Identifier: GPL-2.0
/*
 * The outer side: sockets, and received datagrams.
 *
 * Datagrams pass through the socket's receive queue instead of an encap_rcv hook: netfilter
 * and socket limits apply as for any UDP socket, and GRO packets stay whole.
 *
 * The device itself drops datagrams from a full queue, since the kernel would count a
 * super-packet as one datagram. The kernel's limit is higher than ours.
 */
#include "datapath/udp.h"

#include <linux/udp.h>
#include <net/ipv6.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "compat/compat.h"
#include "datapath/txq.h"
#include "datapath/udp_error.h"

struct sockets {
	struct socket *sock[OMERTA_FAMILIES];
};

static void drop_datagrams(struct omerta_tunnel *tun, struct sk_buff *skb,
			   enum omerta_drop reason)
{
	u32 size;

	omerta_drop(tun, skb, reason, omerta_udp_datagrams(skb, &size));
}

/* Drop the oldest datagrams of a queue that is full. */
static void shed_datagrams(struct omerta_tunnel *tun, struct sock *sk)
{
	struct sk_buff *skb;
	int off = 0, err;

	while (unlikely(atomic_read(&sk->sk_rmem_alloc) > OMERTA_SOCKET_BUFFER)) {
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		if (!skb)
			return;
		drop_datagrams(tun, skb, OMERTA_DROP_RX_SOCKET);
	}
}

static void data_ready(struct sock *sk)
{
	struct omerta_tunnel *tun;

	rcu_read_lock();
	tun = rcu_dereference_sk_user_data(sk);
	if (tun) {
		shed_datagrams(tun, sk);
		napi_schedule(&tun->napi);
	}
	rcu_read_unlock();
}

static void write_space(struct sock *sk)
{
	struct omerta_tunnel *tun;

	rcu_read_lock();
	tun = rcu_dereference_sk_user_data(sk);
	if (tun)
		omerta_txq_write_space(tun);
	rcu_read_unlock();
}

/* The callbacks that every UDP socket starts with. They are not exported. */
static void (*core_data_ready)(struct sock *sk);
static void (*core_write_space)(struct sock *sk);

static void sock_attach(struct omerta_tunnel *tun, struct sock *sk)
{
	sk->sk_allocation = GFP_ATOMIC;
	/* Datagrams are charged, but the device's queue stops rather than the socket. */
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	WRITE_ONCE(sk->sk_rcvbuf, 2 * OMERTA_SOCKET_BUFFER);
	/* For routes that ICMP errors change. Datagrams carry a mark of their own. */
	WRITE_ONCE(sk->sk_mark, READ_ONCE(tun->fwmark));
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* The queue is drained in softirq, which must not poll. */
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(core_data_ready, sk->sk_data_ready);
	WRITE_ONCE(core_write_space, sk->sk_write_space);
	rcu_assign_sk_user_data(sk, tun);
	WRITE_ONCE(sk->sk_data_ready, data_ready);
	WRITE_ONCE(sk->sk_write_space, write_space);
	/* The kernel calls encap_err_lookup only for sockets with an encap_type. */
	WRITE_ONCE(udp_sk(sk)->encap_err_lookup, omerta_udp_error);
	WRITE_ONCE(udp_sk(sk)->encap_type, 1);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* The sock stays while datagrams are charged to it, so reset all callbacks. */
static void sock_detach(struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, core_data_ready);
	WRITE_ONCE(sk->sk_write_space, core_write_space);
	WRITE_ONCE(udp_sk(sk)->encap_type, 0);
	WRITE_ONCE(udp_sk(sk)->encap_err_lookup, NULL);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

static void sock_close(struct socket *sock)
{
	if (!sock)
		return;
	kernel_sock_shutdown(sock, SHUT_RDWR);
	sock_release(sock);
}

static void sockets_close(struct sockets *s)
{
	sock_close(s->sock[OMERTA_V4]);
	sock_close(s->sock[OMERTA_V6]);
}

/* Open an IPv4 socket and, unless IPv6 is disabled, an IPv6 socket on the same port. */
static int sockets_try(struct net *net, __be16 port, struct sockets *s)
{
	struct udp_port_cfg cfg = {
		.family = AF_INET,
		.local_udp_port = port,
		.use_udp_checksums = true,
	};
	int err;

	memset(s, 0, sizeof(*s));
	err = udp_sock_create(net, &cfg, &s->sock[OMERTA_V4]);
	if (err || !ipv6_mod_enabled())
		return err;

	memset(&cfg, 0, sizeof(cfg));
	cfg.family = AF_INET6;
	cfg.local_udp_port = inet_sk(s->sock[OMERTA_V4]->sk)->inet_sport;
	cfg.use_udp6_tx_checksums = true;
	cfg.use_udp6_rx_checksums = true;
	cfg.ipv6_v6only = true;
	err = udp_sock_create(net, &cfg, &s->sock[OMERTA_V6]);
	if (err)
		sock_close(s->sock[OMERTA_V4]);
	return err;
}

/* Receive datagrams of one size together (UDP GRO). */
static int sock_enable_gro(struct socket *sock)
{
	int on = 1;

	if (!sock)
		return 0;
	return sock->ops->setsockopt(sock, SOL_UDP, UDP_GRO,
				     KERNEL_SOCKPTR(&on), sizeof(on));
}

static int sockets_open(struct omerta_tunnel *tun, u16 port, struct sockets *s,
			struct netlink_ext_ack *extack)
{
	int err, tries = 100;

	lockdep_assert_held(&tun->lock);

	if (!tun->birth) {
		NL_SET_ERR_MSG(extack, "the namespace where the device was created is gone");
		return -ENODEV;
	}
	/* A port that is free for IPv4 may be in use for IPv6. */
	do {
		err = sockets_try(tun->birth, htons(port), s);
	} while (err == -EADDRINUSE && !port && --tries);
	if (err == -EADDRINUSE)
		NL_SET_ERR_MSG(extack, "listen-port is in use; choose another, or 0 for any");
	if (err)
		return err;
	err = sock_enable_gro(s->sock[OMERTA_V4]) ?:
	      sock_enable_gro(s->sock[OMERTA_V6]);
	if (err)
		sockets_close(s);
	return err;
}

/**
 * omerta_udp_probe() - check whether a port is available
 * @tun: the device
 * @port: host order, 0 for any
 * @extack: gets the reason if it is not
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno.
 */
int omerta_udp_probe(struct omerta_tunnel *tun, u16 port,
		     struct netlink_ext_ack *extack)
{
	struct sockets s;
	int err;

	err = sockets_open(tun, port, &s, extack);
	if (!err)
		sockets_close(&s);
	return err;
}

/*
 * Take over the datagrams of a socket that receives no more, or drop them if there is a
 * reason. Take over its count of lost datagrams.
 */
static void take_rest(struct omerta_tunnel *tun, struct sock *sk, enum omerta_drop reason)
{
	struct sk_buff *skb;
	int off = 0, err;

	do {
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		if (!skb)
			continue;
		if (!reason)
			skb_queue_tail(&tun->rx_rest, skb);
		else
			drop_datagrams(tun, skb, reason);
	} while (skb || err != -EAGAIN);
	omerta_drop(tun, NULL, OMERTA_DROP_RX_SOCKET, sk_drops_read(sk));
}

/* Replace the sockets of the device; @s is NULL for none. */
static void sockets_swap(struct omerta_tunnel *tun, const struct sockets *s)
{
	enum omerta_drop reason;
	struct sockets old = {};
	int i;

	ASSERT_RTNL();
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *was = rtnl_dereference(tun->sk[i]);
		struct sock *sk = s && s->sock[i] ? s->sock[i]->sk : NULL;

		if (sk)
			sock_attach(tun, sk);
		rcu_assign_pointer(tun->sk[i], sk);
		if (was) {
			sock_detach(was);
			was->sk_prot->unhash(was);
			old.sock[i] = was->sk_socket;
		}
	}
	/* Readers of the old sockets are in RCU read-side sections. */
	synchronize_net();
	/* Datagrams may wait from one change of sockets only, so that their number is bounded. */
	if (!s)
		reason = OMERTA_DROP_RX_DOWN;
	else if (skb_queue_empty_lockless(&tun->rx_rest))
		reason = OMERTA_DROP_NONE;
	else
		reason = OMERTA_DROP_RX_SOCKET;
	for (i = 0; i < OMERTA_FAMILIES; i++)
		if (old.sock[i])
			take_rest(tun, old.sock[i]->sk, reason);
	sockets_close(&old);
	if (!s)
		return;
	/*
	 * NAPI was not scheduled for datagrams that were in the old sockets, or that arrived
	 * before data_ready() was in place.
	 */
	local_bh_disable();
	napi_schedule(&tun->napi);
	local_bh_enable();
}

/**
 * omerta_udp_open() - open sockets, or replace them by sockets on another port
 * @tun: the device
 * @port: host order, 0 for any
 * @extack: gets the reason of a failure
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno; then the sockets are as before.
 */
int omerta_udp_open(struct omerta_tunnel *tun, u16 port,
		    struct netlink_ext_ack *extack)
{
	struct sockets s;
	int err;

	err = sockets_open(tun, port, &s, extack);
	if (err)
		return err;
	WRITE_ONCE(tun->port, ntohs(inet_sk(s.sock[OMERTA_V4]->sk)->inet_sport));
	sockets_swap(tun, &s);
	return 0;
}

/**
 * omerta_udp_close() - close the sockets
 * @tun: the device
 *
 * Context: process context, RTNL held.
 */
void omerta_udp_close(struct omerta_tunnel *tun)
{
	sockets_swap(tun, NULL);
}

/**
 * omerta_udp_purge() - drop datagrams that were taken over from replaced sockets
 * @tun: the device; its NAPI is disabled
 *
 * Context: process context.
 */
void omerta_udp_purge(struct omerta_tunnel *tun)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&tun->rx_rest)))
		drop_datagrams(tun, skb, OMERTA_DROP_RX_DOWN);
}

/**
 * omerta_udp_lost() - datagrams that the kernel dropped at the current sockets
 * @tun: the device
 *
 * Context: any.
 * Return: number of datagrams, a super-packet counted as one.
 */
u32 omerta_udp_lost(const struct omerta_tunnel *tun)
{
	u32 n = 0;
	int i;

	rcu_read_lock();
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rcu_dereference(tun->sk[i]);

		if (sk)
			n += sk_drops_read(sk);
	}
	rcu_read_unlock();
	return n;
}

/**
 * omerta_udp_set_mark() - set a new fwmark on the sockets
 * @tun: the device
 *
 * Context: process context, RTNL held.
 */
void omerta_udp_set_mark(struct omerta_tunnel *tun)
{
	int i;

	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rtnl_dereference(tun->sk[i]);

		if (sk)
			sock_set_mark(sk, tun->fwmark);
	}
}

/* Without a lock: a datagram that comes at this moment schedules NAPI again. */
static bool has_datagrams(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) ||
	       !skb_queue_empty_lockless(&udp_sk(sk)->reader_queue);
}

/**
 * omerta_udp_recv() - receive the next datagrams
 * @tun: the device
 *
 * Context: the device's NAPI, inside an RCU read-side section.
 * Return: an skb with its data at the UDP payload and the headers still in place, owned by
 * the caller; or NULL.
 */
struct sk_buff *omerta_udp_recv(struct omerta_tunnel *tun)
{
	struct sk_buff *skb;
	int i, off = 0, err;

	if (unlikely(!skb_queue_empty_lockless(&tun->rx_rest))) {
		skb = skb_dequeue(&tun->rx_rest);
		if (skb)
			goto found;
	}
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk;

		tun->rx_next = (tun->rx_next + 1) % OMERTA_FAMILIES;
		sk = rcu_dereference(tun->sk[tun->rx_next]);
		if (!sk || !has_datagrams(sk))
			continue;
		/* An error that somebody left at the socket is not about its datagrams. */
		do {
			skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		} while (!skb && err != -EAGAIN);
		if (skb)
			goto found;
	}
	return NULL;
found:
	/* skb->dev shares its space with the UDP socket's dev_scratch. */
	skb->dev = tun->dev;
	return skb;
}

/**
 * omerta_udp_has_more() - check whether more datagrams have arrived
 * @tun: the device
 *
 * Context: as omerta_udp_recv().
 * Return: true if that is likely; no lock is taken.
 */
bool omerta_udp_has_more(const struct omerta_tunnel *tun)
{
	int i;

	if (unlikely(!skb_queue_empty_lockless(&tun->rx_rest)))
		return true;
	for (i = 0; i < OMERTA_FAMILIES; i++) {
		struct sock *sk = rcu_dereference(tun->sk[i]);

		if (sk && has_datagrams(sk))
			return true;
	}
	return false;
}

/**
 * omerta_udp_datagrams() - number of datagrams in an skb
 * @skb: from omerta_udp_recv()
 * @size: set to the UDP payload bytes of each datagram, at least 1; the last may be shorter
 *
 * Return: their number, at least 1.
 */
unsigned int omerta_udp_datagrams(const struct sk_buff *skb, u32 *size)
{
	*size = max(skb->len, 1U);
	if (skb_is_gso(skb) && skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4)
		*size = skb_shinfo(skb)->gso_size;
	return max(1U, DIV_ROUND_UP(skb->len, *size));
}

/**
 * omerta_udp_csum_ok() - verify the UDP checksum of a datagram
 * @tun: the device
 * @skb: from omerta_udp_recv(), unchanged
 *
 * Other readers of sockets do so as well. Counts an error as UDP does.
 *
 * Context: as omerta_udp_recv().
 * Return: true if the checksum is right, or there is none.
 */
bool omerta_udp_csum_ok(const struct omerta_tunnel *tun, struct sk_buff *skb)
{
	struct sock *sk;

	if (likely(!udp_lib_checksum_complete(skb)))
		return true;
	sk = rcu_dereference(tun->sk[skb->protocol == htons(ETH_P_IPV6) ?
				     OMERTA_V6 : OMERTA_V4]);
	if (sk) {
		__UDPX_INC_STATS(sk, UDP_MIB_CSUMERRORS);
		__UDPX_INC_STATS(sk, UDP_MIB_INERRORS);
	}
	return false;
}

/**
 * omerta_udp_source() - read the outer headers of a datagram
 * @skb: from omerta_udp_recv()
 * @from: set to its source
 * @dsfield: set to its DSCP and ECN
 */
void omerta_udp_source(const struct sk_buff *skb, struct omerta_endpoint *from,
		       u8 *dsfield)
{
	memset(from, 0, sizeof(*from));
	from->port = udp_hdr(skb)->source;
	from->src_if = skb->skb_iif;
	if (skb->protocol == htons(ETH_P_IP)) {
		from->family = AF_INET;
		from->addr4 = ip_hdr(skb)->saddr;
		from->src4 = ip_hdr(skb)->daddr;
		*dsfield = ip_hdr(skb)->tos;
	} else {
		from->family = AF_INET6;
		from->addr6 = ipv6_hdr(skb)->saddr;
		from->src6 = ipv6_hdr(skb)->daddr;
		from->scope = ipv6_iface_scope_id(&from->addr6, skb->skb_iif);
		*dsfield = ipv6_get_dsfield(ipv6_hdr(skb));
	}
}
