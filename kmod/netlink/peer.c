// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about peers and their prefixes.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "compat/compat.h"
#include "netlink/request.h"
#include "device/timers.h"
#include "datapath/tx.h"
#include "datapath/udp.h"
#include "peer/event.h"

/**
 * struct prefix_change - a prefix to add to or remove from a peer
 * @prefix: the prefix
 * @remove: remove it
 */
struct prefix_change {
	struct omerta_prefix prefix;
	bool remove;
};

/**
 * struct peer_change - changes that a request makes to a peer
 * @has_endpoint: @endpoint is given
 * @endpoint: the new endpoint
 * @replace: remove all prefixes that are not in @changes
 * @changes: prefixes, sorted, each once
 * @n_changes: their number
 * @spare: nodes to insert them
 */
struct peer_change {
	bool has_endpoint;
	struct omerta_endpoint endpoint;
	bool replace;
	struct prefix_change *changes;
	unsigned int n_changes;
	struct list_head spare;
};

static int parse_prefix(struct nlattr *nest, struct prefix_change *change,
			struct netlink_ext_ack *extack)
{
	struct nlattr *tb[OMERTA_A_ALLOWED_IP_MAX + 1], *addr;
	unsigned int len, most;
	int err;

	err = nla_parse_nested(tb, OMERTA_A_ALLOWED_IP_MAX, nest,
			       omerta_allowed_ip_nl_policy, extack);
	if (err)
		return err;
	addr = tb[OMERTA_A_ALLOWED_IP_ADDR];
	if (!addr || !tb[OMERTA_A_ALLOWED_IP_PREFIX_LEN]) {
		NL_SET_ERR_MSG_ATTR(extack, nest,
				    "a prefix needs addr and prefix-len");
		return -EINVAL;
	}
	if (nla_len(addr) != 4 && nla_len(addr) != 16) {
		NL_SET_ERR_MSG_ATTR(extack, addr,
				    "a prefix's addr must have 4 or 16 bytes");
		return -EINVAL;
	}
	len = nla_get_u8(tb[OMERTA_A_ALLOWED_IP_PREFIX_LEN]);
	most = nla_len(addr) * 8;
	if (len > most) {
		NL_SET_ERR_MSG_ATTR(extack, tb[OMERTA_A_ALLOWED_IP_PREFIX_LEN],
				    "prefix-len is longer than the address");
		return -EINVAL;
	}
	omerta_prefix_init(&change->prefix, most == 128, nla_data(addr), len);
	if (tb[OMERTA_A_ALLOWED_IP_FLAGS])
		change->remove = nla_get_u32(tb[OMERTA_A_ALLOWED_IP_FLAGS]) &
				 OMERTA_ALLOWED_IP_FLAGS_REMOVE;
	return 0;
}

static int compare_changes(const void *a, const void *b)
{
	const struct omerta_prefix *p = &((const struct prefix_change *)a)->prefix;
	const struct omerta_prefix *q = &((const struct prefix_change *)b)->prefix;

	if (p->v6 != q->v6)
		return p->v6 - q->v6;
	if (p->hi != q->hi)
		return p->hi < q->hi ? -1 : 1;
	if (p->lo != q->lo)
		return p->lo < q->lo ? -1 : 1;
	return p->len - q->len;
}

/* Check that each prefix is given once, and that prefixes to remove exist. */
static int check_prefixes(const struct genl_info *info,
			  const struct peer_change *change,
			  struct omerta_tunnel *tun, struct omerta_peer *peer)
{
	const struct prefix_change *c = change->changes;
	unsigned int i;

	for (i = 0; i < change->n_changes; i++, c++) {
		bool has = peer && omerta_allowedips_find(&tun->peers.allowedips,
							  &c->prefix) ==
				   &peer->allowed;

		if (i && !compare_changes(c - 1, c)) {
			NL_SET_ERR_MSG(info->extack, "a prefix is in allowed-ips twice");
			return -EEXIST;
		}
		if (c->remove && (!has || change->replace)) {
			NL_SET_ERR_MSG(info->extack,
				       "a prefix to remove from allowed-ips is not the peer's");
			return -ENOENT;
		}
		if (!c->remove && has && !change->replace) {
			NL_SET_ERR_MSG(info->extack,
				       "a prefix to add to allowed-ips is the peer's already");
			return -EEXIST;
		}
	}
	return 0;
}

static int parse_prefixes(const struct genl_info *info,
			  struct peer_change *change)
{
	struct nlattr *attr;
	unsigned int n = 0;
	int rem, err;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem)
		n += nla_type(attr) == OMERTA_A_PEER_ALLOWED_IPS;
	if (!n)
		return 0;
	change->changes = kvcalloc(n, sizeof(*change->changes), GFP_KERNEL);
	if (!change->changes)
		return -ENOMEM;
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != OMERTA_A_PEER_ALLOWED_IPS)
			continue;
		err = parse_prefix(attr, &change->changes[change->n_changes++],
				   info->extack);
		if (err)
			return err;
	}
	sort(change->changes, n, sizeof(*change->changes), compare_changes,
	     NULL);
	return omerta_allowedips_reserve(&change->spare, n);
}

static void change_free(struct peer_change *change)
{
	omerta_allowedips_release(&change->spare);
	kvfree(change->changes);
}

/* Do everything of a request that can fail. The caller ends with change_free(). */
static int parse_change(struct sk_buff *skb, const struct genl_info *info,
			struct omerta_tunnel *tun, struct omerta_peer *peer,
			struct peer_change *change)
{
	struct nlattr *flags = info->attrs[OMERTA_A_PEER_FLAGS];
	int err;

	INIT_LIST_HEAD(&change->spare);
	change->replace = flags && nla_get_u32(flags) &
				   OMERTA_PEER_FLAGS_REPLACE_ALLOWED_IPS;
	err = omerta_nl_endpoint_parse(info, OMERTA_A_PEER_ENDPOINT_ADDR,
				       &change->endpoint);
	change->has_endpoint = err > 0;
	if (err > 0)
		err = omerta_nl_outer_capable(skb, tun, info->extack);
	if (!err)
		err = parse_prefixes(info, change);
	if (!err)
		err = check_prefixes(info, change, tun, peer);
	return err;
}

static void apply_prefixes(struct omerta_peer *peer,
			   struct peer_change *change)
{
	struct omerta_allowedips *t = &peer->peers->allowedips;
	LIST_HEAD(aside);
	unsigned int i;

	if (change->replace)
		omerta_allowedips_set_aside(t, &peer->allowed, &aside);
	for (i = 0; i < change->n_changes; i++) {
		struct prefix_change *c = &change->changes[i];

		if (c->remove)
			omerta_allowedips_remove(t, &c->prefix, &peer->allowed);
		else
			omerta_allowedips_insert(t, &c->prefix, &peer->allowed,
						 &change->spare);
	}
	omerta_allowedips_drop_aside(t, &aside);
}

/* Kill all keys if the peer is another one now, those installed by hand included. */
static void apply_public_key(struct omerta_peer *peer, const struct nlattr *key)
{
	bool other = memchr_inv(peer->public_key, 0, sizeof(peer->public_key)) &&
		     memcmp(peer->public_key, nla_data(key), sizeof(peer->public_key));

	nla_memcpy(peer->public_key, key, sizeof(peer->public_key));
	if (!other)
		return;
	omerta_peer_kill_keys(peer, OMERTA_KEY_LIMIT_IDENTITY, OMERTA_KEYS_ALL);
	peer->handshake.binding = 0;
}

/* Setting the number of channels may open sockets. */
int omerta_nl_peer_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			    struct genl_info *info)
{
	int err;

	if (info->attrs[OMERTA_A_PEER_CHANNELS])
		rtnl_lock();
	err = omerta_nl_pre_doit(ops, skb, info);
	if (err && info->attrs[OMERTA_A_PEER_CHANNELS])
		rtnl_unlock();
	return err;
}

void omerta_nl_peer_post_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			      struct genl_info *info)
{
	omerta_nl_post_doit(ops, skb, info);
	if (info->attrs[OMERTA_A_PEER_CHANNELS])
		rtnl_unlock();
}

/* Set the number of channels as requested. Nothing has changed if it fails. */
static int set_channels(const struct genl_info *info, struct omerta_peer *peer)
{
	struct nlattr *attr = info->attrs[OMERTA_A_PEER_CHANNELS];
	struct omerta_tunnel *tun = peer->tun;
	unsigned int n, was = peer->n_channels;
	int err;

	if (!attr)
		return 0;
	n = nla_get_u32(attr) ?: 1;
	err = omerta_peer_set_channels(peer, n);
	if (!err && netif_running(tun->dev))
		err = omerta_udp_open_own(tun, n, info->extack);
	if (err)
		omerta_peer_set_channels(peer, was);
	return err;
}

/* Apply the changes of a request. Cannot fail. */
static void apply_change(const struct genl_info *info,
			 struct omerta_peer *peer, struct peer_change *change)
{
	struct nlattr **attrs = info->attrs;

	peer->tun->generation++;
	if (attrs[OMERTA_A_PEER_NAME])
		nla_strscpy(peer->name, attrs[OMERTA_A_PEER_NAME],
			    sizeof(peer->name));
	if (attrs[OMERTA_A_PEER_PUBLIC_KEY])
		apply_public_key(peer, attrs[OMERTA_A_PEER_PUBLIC_KEY]);
	apply_prefixes(peer, change);
	if (change->has_endpoint) {
		omerta_peer_set_endpoint(peer, &change->endpoint, false);
		omerta_nl_flush(peer);
	}
	if (attrs[OMERTA_A_PEER_KEEPALIVE]) {
		WRITE_ONCE(peer->keepalive,
			   nla_get_u16(attrs[OMERTA_A_PEER_KEEPALIVE]));
		omerta_peer_due(peer, jiffies);
	}
}

int omerta_nl_peer_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *id = info->attrs[OMERTA_A_PEER_ID];
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct peer_change change = {};
	struct omerta_peer *peer;
	int err;

	if (!id) {
		NL_SET_ERR_MSG(info->extack, "the peer's id is missing");
		return -EINVAL;
	}
	err = parse_change(skb, info, tun, NULL, &change);
	if (err)
		goto out;
	peer = omerta_peer_create(&tun->peers, nla_get_u32(id), info->extack);
	err = PTR_ERR_OR_ZERO(peer);
	if (err)
		goto out;
	err = set_channels(info, peer);
	if (!err)
		apply_change(info, peer, &change);
	else
		omerta_peer_remove(peer);
out:
	change_free(&change);
	return err;
}

int omerta_nl_peer_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct peer_change change = {};
	struct omerta_peer *peer;
	int err;

	peer = omerta_nl_peer_find(info, tun, OMERTA_A_PEER_ID);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	err = parse_change(skb, info, tun, peer, &change);
	if (!err)
		err = set_channels(info, peer);
	if (!err)
		apply_change(info, peer, &change);
	change_free(&change);
	return err;
}

int omerta_nl_peer_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct omerta_peer *peer;

	peer = omerta_nl_peer_find(info, tun, OMERTA_A_PEER_ID);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	omerta_peer_remove(peer);
	tun->generation++;
	return 0;
}

static int fill_endpoint(struct sk_buff *msg, struct omerta_peer *peer)
{
	struct omerta_endpoint ep;

	read_seqlock_excl_bh(&peer->first.way.lock);
	ep = peer->first.way.endpoint;
	read_sequnlock_excl_bh(&peer->first.way.lock);
	return omerta_put_endpoint(msg, OMERTA_A_PEER_ENDPOINT_ADDR, &ep);
}

static int fill_stats(struct sk_buff *msg, struct omerta_peer *peer)
{
	u64 sum[OMERTA_PEER_STATS];
	struct nlattr *nest;
	int i;

	nest = nla_nest_start(msg, OMERTA_A_PEER_STATS);
	if (!nest)
		return -EMSGSIZE;
	omerta_peer_stats_read(peer->stats, sum);
	for (i = 0; i < OMERTA_PEER_STATS; i++)
		if (nla_put_uint(msg, i + 1, sum[i]))
			return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

static int put_rx_age(struct sk_buff *msg, struct omerta_peer *peer)
{
	u64 last = READ_ONCE(peer->rx_last);
	u64 now = ktime_get_boottime_ns();

	if (!last)
		return 0;
	return nla_put_uint(msg, OMERTA_A_PEER_RX_AGE,
			    now > last ? div_u64(now - last, NSEC_PER_MSEC) : 0);
}

static int put_path_mtu(struct sk_buff *msg, struct omerta_peer *peer)
{
	if (READ_ONCE(peer->path_mtu) == OMERTA_PATH_UNKNOWN)
		return 0;
	return nla_put_u32(msg, OMERTA_A_PEER_PATH_MTU, omerta_peer_mtu(peer, NULL));
}

static int fill_channel(struct sk_buff *msg, struct omerta_peer_channel *pc)
{
	const struct omerta_tunnel *tun = pc->peer->tun;
	u32 state = OMERTA_CHANNEL_STATE_CLOSED;
	u64 now = ktime_get_boottime_ns(), heard_at;
	struct omerta_endpoint to;
	struct nlattr *nest;
	bool own_port;
	__be16 port;

	read_seqlock_excl_bh(&pc->way.lock);
	to = pc->way.endpoint;
	own_port = pc->way.own_port;
	heard_at = pc->heard_at;
	if (rcu_access_pointer(pc->ring.active) && pc->index < tun->n_channels)
		state = pc->carries ? OMERTA_CHANNEL_STATE_OPEN :
			heard_at ? OMERTA_CHANNEL_STATE_SILENT : OMERTA_CHANNEL_STATE_OPENING;
	read_sequnlock_excl_bh(&pc->way.lock);
	nest = nla_nest_start(msg, OMERTA_A_PEER_FURTHER_CHANNELS);
	if (!nest ||
	    nla_put_u32(msg, OMERTA_A_PEER_CHANNEL_CHANNEL, pc->index) ||
	    nla_put_u32(msg, OMERTA_A_PEER_CHANNEL_STATE, state))
		return -EMSGSIZE;
	if (to.family && state != OMERTA_CHANNEL_STATE_CLOSED) {
		port = own_port ? tun->channel[pc->index]->own_port : htons(tun->port);
		if (omerta_put_endpoint(msg, OMERTA_A_PEER_CHANNEL_ENDPOINT_ADDR, &to) ||
		    nla_put_u16(msg, OMERTA_A_PEER_CHANNEL_LOCAL_PORT, ntohs(port)))
			return -EMSGSIZE;
	}
	if (heard_at &&
	    nla_put_uint(msg, OMERTA_A_PEER_CHANNEL_RX_AGE,
			 now > heard_at ? div_u64(now - heard_at, NSEC_PER_MSEC) : 0))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

static int fill_channels(struct sk_buff *msg, struct omerta_peer *peer)
{
	struct omerta_peer_channel *pc;

	if (peer->n_channels == 1)
		return 0;
	if (nla_put_u32(msg, OMERTA_A_PEER_CHANNELS, peer->n_channels))
		return -EMSGSIZE;
	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc))
		if (pc->index && pc->index < peer->n_channels && fill_channel(msg, pc))
			return -EMSGSIZE;
	return 0;
}

/* Most bytes of a peer in a message */
#define PEER_SIZE	(NLMSG_GOODSIZE + OMERTA_CHANNELS_MAX * \
			 (nla_total_size(0) + nla_total_size(sizeof(struct in6_addr)) + \
			  7 * nla_total_size(sizeof(u64))))

static int fill_peer(struct sk_buff *msg, struct omerta_peer *peer)
{
	if (nla_put_u32(msg, OMERTA_A_PEER_IFINDEX, peer->tun->dev->ifindex) ||
	    nla_put_u32(msg, OMERTA_A_PEER_ID, peer->id) ||
	    nla_put_u16(msg, OMERTA_A_PEER_KEEPALIVE, peer->keepalive))
		return -EMSGSIZE;
	if (peer->name[0] &&
	    nla_put_string(msg, OMERTA_A_PEER_NAME, peer->name))
		return -EMSGSIZE;
	if (memchr_inv(peer->public_key, 0, OMERTA_KEY_LEN) &&
	    nla_put(msg, OMERTA_A_PEER_PUBLIC_KEY, OMERTA_KEY_LEN,
		    peer->public_key))
		return -EMSGSIZE;
	if (fill_endpoint(msg, peer) || fill_stats(msg, peer) ||
	    put_rx_age(msg, peer) || put_path_mtu(msg, peer) ||
	    omerta_nl_put_handshake(msg, peer) || fill_channels(msg, peer))
		return -EMSGSIZE;
	if (READ_ONCE(peer->silent_since))
		return nla_put_flag(msg, OMERTA_A_PEER_SILENT);
	return 0;
}

int omerta_nl_peer_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_peer *peer;
	struct sk_buff *msg;
	void *hdr;

	peer = omerta_nl_peer_find(info, info->user_ptr[0], OMERTA_A_PEER_ID);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	msg = genlmsg_new(PEER_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	hdr = genlmsg_iput(msg, info);
	if (!hdr || fill_peer(msg, peer)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);
}

static int dump_peer(struct sk_buff *skb, struct netlink_callback *cb,
		     struct omerta_peer *peer)
{
	void *hdr = genlmsg_iput(skb, genl_info_dump(cb));

	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (fill_peer(skb, peer)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

int omerta_nl_peer_get_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = PEER_SIZE;
	return 0;
}

int omerta_nl_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct {
		u64 next; /* U32_MAX + 1 if the last id was dumped */
	} *ctx = (void *)cb->ctx;
	struct omerta_peer *peer;
	struct omerta_nl_ref ref;
	unsigned long id;
	int err;

	NL_ASSERT_CTX_FITS(typeof(*ctx));
	if (ctx->next > U32_MAX)
		return 0;
	err = omerta_nl_tunnel_get(genl_info_dump(cb), &ref);
	if (err)
		return err;
	cb->seq = ref.tun->generation;
	xa_for_each_start(&ref.tun->peers.by_id, id, peer, ctx->next) {
		err = dump_peer(skb, cb, peer);
		if (err)
			break;
		ctx->next = id + 1ULL;
	}
	omerta_nl_tunnel_put(&ref);
	return omerta_dumped(skb, err);
}

static int fill_prefix(struct sk_buff *skb, const struct omerta_peer *peer,
		       const struct omerta_prefix *prefix)
{
	struct nlattr *nest = nla_nest_start(skb, OMERTA_A_PEER_ALLOWED_IPS);
	u8 addr[16];

	if (!nest)
		return -EMSGSIZE;
	omerta_prefix_addr(prefix, addr);
	if (nla_put(skb, OMERTA_A_ALLOWED_IP_ADDR, prefix->v6 ? 16 : 4, addr) ||
	    nla_put_u8(skb, OMERTA_A_ALLOWED_IP_PREFIX_LEN, prefix->len) ||
	    nla_put_u32(skb, OMERTA_A_ALLOWED_IP_PEER_ID, peer->id)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

struct prefix_ctx {
	struct omerta_prefix at;
	bool going;
};

/* Returns -EMSGSIZE if there are more. */
static int fill_prefixes(struct sk_buff *skb, struct omerta_tunnel *tun,
			 struct prefix_ctx *ctx)
{
	struct omerta_allowedips_owner *owner;
	int err;

	for (;;) {
		struct omerta_prefix next = ctx->at;

		owner = omerta_allowedips_next(&tun->peers.allowedips, &next, !ctx->going);
		if (!owner) {
			if (ctx->at.v6)
				return 0;
			ctx->at = (struct omerta_prefix){ .v6 = true };
			ctx->going = false;
			continue;
		}
		err = fill_prefix(skb, container_of(owner, struct omerta_peer, allowed),
				  &next);
		if (err)
			return err;
		ctx->at = next;
		ctx->going = true;
	}
}

int omerta_nl_allowed_ip_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb)
{
	struct prefix_ctx *ctx = (void *)cb->ctx;
	struct omerta_nl_ref ref;
	void *hdr, *first;
	int err;

	NL_ASSERT_CTX_FITS(typeof(*ctx));
	err = omerta_nl_tunnel_get(genl_info_dump(cb), &ref);
	if (err)
		return err;
	cb->seq = ref.tun->generation;
	/* A message holds as many prefixes as fit. */
	hdr = genlmsg_iput(skb, genl_info_dump(cb));
	err = -EMSGSIZE;
	if (!hdr)
		goto out;
	if (nla_put_u32(skb, OMERTA_A_PEER_IFINDEX, ref.tun->dev->ifindex))
		goto cancel;
	first = skb_tail_pointer(skb);
	err = fill_prefixes(skb, ref.tun, ctx);
	if (skb_tail_pointer(skb) == first)
		goto cancel;
	/* A message that is cancelled cannot report an inconsistent dump. */
	genl_dump_check_consistent(cb, hdr);
	genlmsg_end(skb, hdr);
	goto out;
cancel:
	genlmsg_cancel(skb, hdr);
out:
	omerta_nl_tunnel_put(&ref);
	return omerta_dumped(skb, err);
}
