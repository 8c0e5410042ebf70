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

static void drop_datagrams(struct omerta_channel *ch, struct sk_buff *skb,
			   enum omerta_drop reason)
{
	u32 size;

	omerta_drop(ch, skb, reason, omerta_udp_datagrams(skb, &size));
}

/* Drop the oldest datagrams of a queue that is full. */
static void shed_datagrams(struct omerta_channel *ch, struct sock *sk)
{
	struct sk_buff *skb;
	int off = 0, err;

	while (unlikely(atomic_read(&sk->sk_rmem_alloc) > OMERTA_SOCKET_BUFFER)) {
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		if (!skb)
			return;
		drop_datagrams(ch, skb, OMERTA_DROP_RX_SOCKET);
	}
}

static void data_ready(struct sock *sk)
{
	struct omerta_channel *ch;

	rcu_read_lock();
	ch = rcu_dereference_sk_user_data(sk);
	if (ch) {
		shed_datagrams(ch, sk);
		napi_schedule(&ch->napi);
	}
	rcu_read_unlock();
}

static void write_space(struct sock *sk)
{
	struct omerta_channel *ch;

	rcu_read_lock();
	ch = rcu_dereference_sk_user_data(sk);
	if (ch)
		omerta_txq_write_space(ch);
	rcu_read_unlock();
}

/* The callbacks that every UDP socket starts with. They are not exported. */
static void (*core_data_ready)(struct sock *sk);
static void (*core_write_space)(struct sock *sk);

static void sock_attach(struct omerta_channel *ch, struct sock *sk)
{
	sk->sk_allocation = GFP_ATOMIC;
	/* Datagrams are charged, but the device's queue stops rather than the socket. */
	WRITE_ONCE(sk->sk_sndbuf, INT_MAX);
	WRITE_ONCE(sk->sk_rcvbuf, 2 * OMERTA_SOCKET_BUFFER);
	/* For routes that ICMP errors change. Datagrams carry a mark of their own. */
	WRITE_ONCE(sk->sk_mark, READ_ONCE(ch->tun->fwmark));
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* The queue is drained in softirq, which must not poll. */
	WRITE_ONCE(sk->sk_ll_usec, 0);
#endif
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(core_data_ready, sk->sk_data_ready);
	WRITE_ONCE(core_write_space, sk->sk_write_space);
	rcu_assign_sk_user_data(sk, ch);
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

static void close_all(struct socket **sock, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!sock[i])
			continue;
		kernel_sock_shutdown(sock[i], SHUT_RDWR);
		sock_release(sock[i]);
		sock[i] = NULL;
	}
}

/* Close the spare sockets of all channels. */
static void spare_close(const struct omerta_tunnel *tun)
{
	unsigned int c;

	for (c = 0; c < tun->n_channels; c++)
		close_all(tun->channel[c]->spare, OMERTA_SOCKETS);
}

/*
 * Let the sockets of several channels have the same port. Nobody else has such a uid, so no
 * foreign socket or program can join them. If the kernel supports it, a channel gets the datagrams
 * that arrive on its CPU.
 */
static void sock_share(struct socket *sock, unsigned int c)
{
	struct sock *sk = sock->sk;

	/* Older kernels compare the owners of the inodes. */
	SOCK_INODE(sock)->i_uid = INVALID_UID;
	WRITE_ONCE(sk->sk_uid, INVALID_UID);
	WRITE_ONCE(sk->sk_incoming_cpu,
		   cpumask_nth(c % num_online_cpus(), cpu_online_mask));
	sock_set_reuseport(sk);
}

/* Open a socket of channel @c on the port of the first channel's. */
static int sock_join(const struct socket *first, unsigned int c, struct socket **sock)
{
	struct sock *sk = first->sk;
	struct sockaddr_in6 addr6 = {
		.sin6_family = AF_INET6,
		.sin6_port = inet_sk(sk)->inet_sport,
	};
	struct sockaddr_in addr4 = {
		.sin_family = AF_INET,
		.sin_port = inet_sk(sk)->inet_sport,
	};
	bool v4 = sk->sk_family == AF_INET;
	int err;

	err = sock_create_kern(sock_net(sk), sk->sk_family, SOCK_DGRAM, 0, sock);
	if (err)
		return err;
	if (!v4)
		err = ip6_sock_set_v6only((*sock)->sk);
	sock_share(*sock, c);
	if (!err)
		err = kernel_bind(*sock, v4 ? (void *)&addr4 : (void *)&addr6,
				  v4 ? sizeof(addr4) : sizeof(addr6));
	return err;
}

/*
 * Open an IPv4 socket and, unless IPv6 is disabled, an IPv6 socket on the same port. On failure one
 * may be open.
 */
static int pair_open(const struct omerta_tunnel *tun, __be16 port, struct socket **pair)
{
	struct udp_port_cfg cfg = {
		.family = AF_INET,
		.local_udp_port = port,
		.use_udp_checksums = true,
	};
	int err;

	err = udp_sock_create(tun->birth, &cfg, &pair[OMERTA_V4]);
	if (err || !ipv6_mod_enabled())
		return err;
	memset(&cfg, 0, sizeof(cfg));
	cfg.family = AF_INET6;
	cfg.local_udp_port = inet_sk(pair[OMERTA_V4]->sk)->inet_sport;
	cfg.use_udp6_tx_checksums = true;
	cfg.use_udp6_rx_checksums = true;
	cfg.ipv6_v6only = true;
	return udp_sock_create(tun->birth, &cfg, &pair[OMERTA_V6]);
}

/*
 * Open the sockets of all channels on the listening port. The first channel's are bound before
 * they share it, so the port must be free. On failure some may be open.
 */
static int spare_try(const struct omerta_tunnel *tun, __be16 port)
{
	struct socket **first = tun->channel[0]->spare;
	unsigned int c, i;
	int err;

	err = pair_open(tun, port, first);
	for (i = 0; i < OMERTA_FAMILIES && tun->n_channels > 1 && !err; i++) {
		if (!first[i])
			continue;
		sock_share(first[i], 0);
		for (c = 1; c < tun->n_channels && !err; c++)
			err = sock_join(first[i], c, &tun->channel[c]->spare[i]);
	}
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

static int spare_open(struct omerta_tunnel *tun, u16 port, struct netlink_ext_ack *extack)
{
	int err, tries = 100;
	unsigned int c;

	lockdep_assert_held(&tun->lock);

	if (!tun->birth) {
		NL_SET_ERR_MSG(extack, "the namespace where the device was created is gone");
		return -ENODEV;
	}
	/* A port that is free for IPv4 may be in use for IPv6. */
	while ((err = spare_try(tun, htons(port))) == -EADDRINUSE && !port && --tries)
		spare_close(tun);
	if (err == -EADDRINUSE)
		NL_SET_ERR_MSG(extack, "listen-port is in use; choose another, or 0 for any");
	for (c = 0; c < tun->n_channels && !err; c++)
		err = sock_enable_gro(tun->channel[c]->spare[OMERTA_V4]) ?:
		      sock_enable_gro(tun->channel[c]->spare[OMERTA_V6]);
	if (err)
		spare_close(tun);
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
	int err = spare_open(tun, port, extack);

	if (!err)
		spare_close(tun);
	return err;
}

/*
 * Take over the datagrams of a socket that receives no more, or drop them if there is a
 * reason. Take over its count of lost datagrams.
 */
static void take_rest(struct omerta_channel *ch, struct sock *sk, enum omerta_drop reason)
{
	struct sk_buff *skb;
	int off = 0, err;

	do {
		skb = __skb_recv_udp(sk, MSG_DONTWAIT, &off, &err);
		if (!skb)
			continue;
		if (!reason)
			skb_queue_tail(&ch->rx_rest, skb);
		else
			drop_datagrams(ch, skb, reason);
	} while (skb || err != -EAGAIN);
	omerta_drop(ch, NULL, OMERTA_DROP_RX_SOCKET, sk_drops_read(sk));
}

/* Replace sockets of all channels by spare ones, or all by none, and close them. */
static void sockets_swap(struct omerta_tunnel *tun, bool close)
{
	enum omerta_drop reason;
	unsigned int c, i;

	ASSERT_RTNL();
	for (c = 0; c < tun->n_channels; c++) {
		struct omerta_channel *ch = tun->channel[c];

		for (i = 0; i < OMERTA_SOCKETS; i++) {
			struct sock *was = rtnl_dereference(ch->sk[i]);
			struct sock *sk = ch->spare[i] ? ch->spare[i]->sk : NULL;

			if (!sk && !close)
				continue;
			if (sk)
				sock_attach(ch, sk);
			rcu_assign_pointer(ch->sk[i], sk);
			ch->spare[i] = was ? was->sk_socket : NULL;
			if (was) {
				sock_detach(was);
				was->sk_prot->unhash(was);
			}
		}
	}
	/* Readers of the old sockets are in RCU read-side sections. */
	synchronize_net();
	for (c = 0; c < tun->n_channels; c++) {
		struct omerta_channel *ch = tun->channel[c];
		bool up = rtnl_dereference(ch->sk[OMERTA_V4]);

		/* Datagrams may wait from one change of sockets only: their number is bounded. */
		if (!up)
			reason = OMERTA_DROP_RX_DOWN;
		else if (skb_queue_empty_lockless(&ch->rx_rest))
			reason = OMERTA_DROP_NONE;
		else
			reason = OMERTA_DROP_RX_SOCKET;
		for (i = 0; i < OMERTA_SOCKETS; i++)
			if (ch->spare[i])
				take_rest(ch, ch->spare[i]->sk, reason);
		if (!up)
			continue;
		/*
		 * NAPI was not scheduled for datagrams that were in the old sockets, or that
		 * arrived before data_ready() was in place.
		 */
		local_bh_disable();
		napi_schedule(&ch->napi);
		local_bh_enable();
	}
	spare_close(tun);
}

/* Open spare sockets on ports of their own, for the further ones of @n channels that have none. */
static int own_open(struct omerta_tunnel *tun, unsigned int n, struct netlink_ext_ack *extack)
{
	int err = 0, tries = 100;
	unsigned int c;
	u16 port;

	lockdep_assert_held(&tun->lock);

	for (c = 1; c < min(n, tun->n_channels) && !err; c++) {
		struct omerta_channel *ch = tun->channel[c];
		struct socket **pair = &ch->spare[OMERTA_OWN];

		if (ch->own_port)
			continue;
		if (!tun->birth) {
			NL_SET_ERR_MSG(extack,
				       "the namespace where the device was created is gone");
			return -ENODEV;
		}
		port = tun->channel_port ? tun->channel_port + OMERTA_CHANNEL_PORTS * (c - 1) : 0;
		/* A port that is free for IPv4 may be in use for IPv6. */
		while ((err = pair_open(tun, htons(port), pair)) == -EADDRINUSE && !port && --tries)
			close_all(pair, OMERTA_FAMILIES);
		if (!err)
			err = sock_enable_gro(pair[OMERTA_V4]) ?: sock_enable_gro(pair[OMERTA_V6]);
	}
	if (err == -EADDRINUSE)
		NL_SET_ERR_MSG(extack,
			       "a port from channel-port on is in use; choose another, or 0 for any");
	return err;
}

/* Tell the datapath the ports of the sockets that are about to be used. */
static void own_publish(struct omerta_tunnel *tun)
{
	unsigned int c;

	for (c = 1; c < tun->n_channels; c++) {
		struct socket *sock = tun->channel[c]->spare[OMERTA_OWN + OMERTA_V4];

		if (sock)
			WRITE_ONCE(tun->channel[c]->own_port, inet_sk(sock->sk)->inet_sport);
	}
}

/**
 * omerta_udp_open() - open sockets, or replace them by sockets on another port
 * @tun: the device
 * @port: host order, 0 for any
 * @n: number of channels that need ports of their own; others have none, or keep them
 * @extack: gets the reason of a failure
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno; then the sockets are as before.
 */
int omerta_udp_open(struct omerta_tunnel *tun, u16 port, unsigned int n,
		    struct netlink_ext_ack *extack)
{
	int err = spare_open(tun, port, extack);

	if (err)
		return err;
	err = own_open(tun, n, extack);
	if (err) {
		spare_close(tun);
		return err;
	}
	WRITE_ONCE(tun->port,
		   ntohs(inet_sk(tun->channel[0]->spare[OMERTA_V4]->sk)->inet_sport));
	own_publish(tun);
	sockets_swap(tun, false);
	return 0;
}

/**
 * omerta_udp_open_own() - open sockets of further channels on ports of their own
 * @tun: the device, which has open sockets
 * @n: number of channels that need them; others have none, or keep them
 * @extack: gets the reason of a failure
 *
 * Context: process context, RTNL and the device's lock held.
 * Return: 0 or a negative errno; then the sockets are as before.
 */
int omerta_udp_open_own(struct omerta_tunnel *tun, unsigned int n, struct netlink_ext_ack *extack)
{
	unsigned int c;
	int err;

	ASSERT_RTNL();
	for (c = 1; c < min(n, tun->n_channels) && tun->channel[c]->own_port; c++)
		;
	if (c >= min(n, tun->n_channels))
		return 0;
	err = own_open(tun, n, extack);
	if (err) {
		spare_close(tun);
		return err;
	}
	own_publish(tun);
	sockets_swap(tun, false);
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
	unsigned int c;

	for (c = 1; c < tun->n_channels; c++)
		WRITE_ONCE(tun->channel[c]->own_port, 0);
	sockets_swap(tun, true);
}

/**
 * omerta_udp_purge() - drop datagrams that were taken over from replaced sockets
 * @tun: the device; all NAPIs are disabled
 *
 * Context: process context.
 */
void omerta_udp_purge(struct omerta_tunnel *tun)
{
	struct sk_buff *skb;
	unsigned int c;

	for (c = 0; c < tun->n_channels; c++)
		while ((skb = skb_dequeue(&tun->channel[c]->rx_rest)))
			drop_datagrams(tun->channel[c], skb, OMERTA_DROP_RX_DOWN);
}

/**
 * omerta_udp_lost() - datagrams that the kernel dropped at the current sockets
 * @ch: the channel
 *
 * Context: any.
 * Return: number of datagrams, a super-packet counted as one.
 */
u32 omerta_udp_lost(const struct omerta_channel *ch)
{
	unsigned int i;
	u32 n = 0;

	rcu_read_lock();
	for (i = 0; i < OMERTA_SOCKETS; i++) {
		struct sock *sk = rcu_dereference(ch->sk[i]);

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
	unsigned int c, i;

	for (c = 0; c < tun->n_channels; c++) {
		for (i = 0; i < OMERTA_SOCKETS; i++) {
			struct sock *sk = rtnl_dereference(tun->channel[c]->sk[i]);

			if (sk)
				sock_set_mark(sk, tun->fwmark);
		}
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
 * @ch: the channel
 *
 * Context: the channel's NAPI, inside an RCU read-side section.
 * Return: an skb with its data at the UDP payload and the headers still in place, owned by
 * the caller; or NULL.
 */
struct sk_buff *omerta_udp_recv(struct omerta_channel *ch)
{
	struct sk_buff *skb;
	int i, off = 0, err;

	if (unlikely(!skb_queue_empty_lockless(&ch->rx_rest))) {
		skb = skb_dequeue(&ch->rx_rest);
		if (skb)
			goto found;
	}
	for (i = 0; i < OMERTA_SOCKETS; i++) {
		struct sock *sk;

		ch->rx_next = (ch->rx_next + 1) % OMERTA_SOCKETS;
		sk = rcu_dereference(ch->sk[ch->rx_next]);
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
	skb->dev = ch->tun->dev;
	return skb;
}

/**
 * omerta_udp_has_more() - check whether more datagrams have arrived
 * @ch: the channel
 *
 * Context: as omerta_udp_recv().
 * Return: true if that is likely; no lock is taken.
 */
bool omerta_udp_has_more(const struct omerta_channel *ch)
{
	int i;

	if (unlikely(!skb_queue_empty_lockless(&ch->rx_rest)))
		return true;
	for (i = 0; i < OMERTA_SOCKETS; i++) {
		struct sock *sk = rcu_dereference(ch->sk[i]);

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
 * @ch: the channel
 * @skb: from omerta_udp_recv(), unchanged
 *
 * Other readers of sockets do so as well. Counts an error as UDP does.
 *
 * Context: as omerta_udp_recv().
 * Return: true if the checksum is right, or there is none.
 */
bool omerta_udp_csum_ok(const struct omerta_channel *ch, struct sk_buff *skb)
{
	struct sock *sk;

	if (likely(!udp_lib_checksum_complete(skb)))
		return true;
	sk = rcu_dereference(ch->sk[skb->protocol == htons(ETH_P_IPV6) ?
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
