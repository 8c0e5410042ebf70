// SPDX-License-Identifier: GPL-2.0
/*
 * Requests about keys.
 */
#include <linux/string.h>

#include "compat/compat.h"
#include "netlink/request.h"
#include "device/timers.h"
#include "datapath/tx.h"

static u64 uint_or(const struct genl_info *info, int attr, u64 otherwise)
{
	return info->attrs[attr] ? nla_get_uint(info->attrs[attr]) : otherwise;
}

static u32 u32_or(const struct genl_info *info, int attr, u32 otherwise)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : otherwise;
}

static void parse_limits(const struct genl_info *info,
			 struct omerta_key_limits *l)
{
	l->seal_time = u32_or(info, OMERTA_A_KEY_SEAL_TIME, 0);
	l->open_time = u32_or(info, OMERTA_A_KEY_OPEN_TIME, 0);
	l->soft_time = u32_or(info, OMERTA_A_KEY_SOFT_TIME, 0);
	l->soft_records = uint_or(info, OMERTA_A_KEY_SOFT_RECORDS,
				  OMERTA_SOFT_RECORDS);
	l->soft_bytes = uint_or(info, OMERTA_A_KEY_SOFT_BYTES, U64_MAX);
	l->hard_records = uint_or(info, OMERTA_A_KEY_HARD_RECORDS,
				  OMERTA_COUNTER_LIMIT);
	l->hard_bytes = uint_or(info, OMERTA_A_KEY_HARD_BYTES, U64_MAX);
}

static int parse_key(const struct genl_info *info,
		     struct omerta_key_config *config)
{
	static const struct {
		int attr;
		const char *missing;
	} needed[] = {
		{ OMERTA_A_KEY_LOCAL_ID, "local-id is missing" },
		{ OMERTA_A_KEY_REMOTE_ID, "remote-id is missing" },
		{ OMERTA_A_KEY_RX_SECRET, "rx-secret is missing" },
		{ OMERTA_A_KEY_TX_SECRET, "tx-secret is missing" },
	};
	struct nlattr **attrs = info->attrs;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		if (attrs[needed[i].attr])
			continue;
		if (info->extack)
			info->extack->_msg = needed[i].missing;
		return -EINVAL;
	}
	config->local_id = nla_get_u32(attrs[OMERTA_A_KEY_LOCAL_ID]);
	config->remote_id = nla_get_u32(attrs[OMERTA_A_KEY_REMOTE_ID]);
	config->rx_secret = nla_data(attrs[OMERTA_A_KEY_RX_SECRET]);
	config->tx_secret = nla_data(attrs[OMERTA_A_KEY_TX_SECRET]);
	config->epoch = u32_or(info, OMERTA_A_KEY_EPOCH,
			       atomic_read(&omerta_keys_epoch));
	config->activation = u32_or(info, OMERTA_A_KEY_ACTIVATION,
				    OMERTA_ACTIVATION_MANUAL);
	config->handshake = attrs[OMERTA_A_KEY_HANDSHAKE];
	parse_limits(info, &config->limits);
	return 0;
}

/* Called when a key has become active. */
static void activated(struct omerta_peer_channel *pc)
{
	omerta_timers_confirm(pc);
	omerta_nl_flush(pc->peer);
}

/* Return the channel of a peer that a key is installed for, or NULL. */
static struct omerta_peer_channel *find_channel(const struct genl_info *info,
						struct omerta_peer *peer)
{
	u32 channel = u32_or(info, OMERTA_A_KEY_CHANNEL, 0);

	if (!channel)
		return &peer->first;
	if (channel < peer->n_channels)
		return omerta_peer_channel_at(peer, channel);
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[OMERTA_A_KEY_CHANNEL],
			    "the peer has fewer channels; set their number first");
	return NULL;
}

/* Secrets of a request are zeroized whether it succeeds or not, also if they are there twice. */
static void wipe_secrets(const struct genl_info *info)
{
	struct nlattr *attr;
	int rem;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem)
		if (nla_type(attr) == OMERTA_A_KEY_RX_SECRET ||
		    nla_type(attr) == OMERTA_A_KEY_TX_SECRET)
			memzero_explicit(nla_data(attr), nla_len(attr));
}

int omerta_nl_key_new_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			       struct genl_info *info)
{
	int err = omerta_nl_pre_doit(ops, skb, info);

	if (err)
		wipe_secrets(info);
	return err;
}

void omerta_nl_key_new_post_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
				 struct genl_info *info)
{
	wipe_secrets(info);
	omerta_nl_post_doit(ops, skb, info);
}

int omerta_nl_key_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct omerta_key_config config = {};
	struct omerta_peer_channel *pc;
	struct omerta_peer *peer;
	int err;

	peer = omerta_nl_peer_find(info, tun, OMERTA_A_KEY_PEER_ID);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	pc = find_channel(info, peer);
	if (!pc)
		return -ENOENT;
	err = parse_key(info, &config);
	if (!err)
		err = omerta_keyring_install(&pc->ring, &config, info->extack);
	if (err)
		return err;
	tun->generation++;
	/* The timer applies its time limits. */
	omerta_peer_due(peer, jiffies);
	if (config.activation == OMERTA_ACTIVATION_NOW)
		activated(pc);
	return 0;
}

/* Apply @fn to the key that a request names, then @then to its channel. */
static int key_do(const struct genl_info *info,
		  int (*fn)(struct omerta_keyring *ring, u32 local_id,
			    struct netlink_ext_ack *extack),
		  void (*then)(struct omerta_peer_channel *pc))
{
	struct nlattr *id = info->attrs[OMERTA_A_KEY_LOCAL_ID];
	struct omerta_tunnel *tun = info->user_ptr[0];
	struct omerta_peer_channel *pc;
	struct omerta_peer *peer;
	int err;

	if (!id) {
		NL_SET_ERR_MSG(info->extack, "local-id is missing");
		return -EINVAL;
	}
	peer = omerta_nl_peer_find(info, tun, OMERTA_A_KEY_PEER_ID);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	/* A dead key may have the id of one that is alive. */
	for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc))
		if (omerta_keyring_has(&pc->ring, nla_get_u32(id), false))
			break;
	if (!pc)
		for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc))
			if (omerta_keyring_has(&pc->ring, nla_get_u32(id), true))
				break;
	if (!pc)
		pc = &peer->first;
	err = fn(&pc->ring, nla_get_u32(id), info->extack);
	if (err)
		return err;
	tun->generation++;
	if (then)
		then(pc);
	return 0;
}

int omerta_nl_key_activate_doit(struct sk_buff *skb, struct genl_info *info)
{
	return key_do(info, omerta_keyring_activate, activated);
}

int omerta_nl_key_retire_doit(struct sk_buff *skb, struct genl_info *info)
{
	return key_do(info, omerta_keyring_retire, NULL);
}

int omerta_nl_key_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return key_do(info, omerta_keyring_delete, NULL);
}

static int put_limit(struct sk_buff *msg, int attr, u64 value, u64 none)
{
	return value == none ? 0 : nla_put_uint(msg, attr, value);
}

static int put_time(struct sk_buff *msg, int attr, u32 seconds)
{
	return seconds ? nla_put_u32(msg, attr, seconds) : 0;
}

static int fill_limits(struct sk_buff *msg, const struct omerta_key_limits *l)
{
	if (put_time(msg, OMERTA_A_KEY_SEAL_TIME, l->seal_time) ||
	    put_time(msg, OMERTA_A_KEY_OPEN_TIME, l->open_time) ||
	    put_time(msg, OMERTA_A_KEY_SOFT_TIME, l->soft_time) ||
	    put_limit(msg, OMERTA_A_KEY_SOFT_RECORDS, l->soft_records,
		      OMERTA_SOFT_RECORDS) ||
	    put_limit(msg, OMERTA_A_KEY_SOFT_BYTES, l->soft_bytes, U64_MAX) ||
	    put_limit(msg, OMERTA_A_KEY_HARD_RECORDS, l->hard_records,
		      OMERTA_COUNTER_LIMIT) ||
	    put_limit(msg, OMERTA_A_KEY_HARD_BYTES, l->hard_bytes, U64_MAX))
		return -EMSGSIZE;
	return 0;
}

static int fill_counters(struct sk_buff *msg, struct omerta_key *key)
{
	if (nla_put_uint(msg, OMERTA_A_KEY_RX_RECORDS,
			 READ_ONCE(key->rx_records)) ||
	    nla_put_uint(msg, OMERTA_A_KEY_RX_BYTES,
			 READ_ONCE(key->rx_bytes)) ||
	    nla_put_uint(msg, OMERTA_A_KEY_TX_RECORDS,
			 atomic64_read(&key->tx_next)) ||
	    nla_put_uint(msg, OMERTA_A_KEY_TX_BYTES,
			 percpu_counter_sum(&key->tx_bytes)) ||
	    nla_put_uint(msg, OMERTA_A_KEY_AUTH_FAILURES,
			 READ_ONCE(key->auth_failures)) ||
	    nla_put_uint(msg, OMERTA_A_KEY_REPLAYS, READ_ONCE(key->replays)))
		return -EMSGSIZE;
	return 0;
}

static int fill_key(struct sk_buff *msg, const struct omerta_keyring *ring,
		    struct omerta_key *key)
{
	u64 age = ktime_get_boottime_ns() - key->installed;

	lockdep_assert_held(&ring->lock);

	if (nla_put_u32(msg, OMERTA_A_KEY_IFINDEX, ring->dev->ifindex) ||
	    nla_put_u32(msg, OMERTA_A_KEY_PEER_ID, ring->peer_id) ||
	    nla_put_u32(msg, OMERTA_A_KEY_LOCAL_ID, key->local_id) ||
	    nla_put_u32(msg, OMERTA_A_KEY_REMOTE_ID, key->remote_id) ||
	    nla_put_u32(msg, OMERTA_A_KEY_ACTIVATION, key->activation) ||
	    fill_limits(msg, &key->limits) ||
	    nla_put_u32(msg, OMERTA_A_KEY_STATE, key->state) ||
	    nla_put_uint(msg, OMERTA_A_KEY_AGE, div_u64(age, NSEC_PER_MSEC)))
		return -EMSGSIZE;
	if (key->limit >= 0 &&
	    nla_put_u32(msg, OMERTA_A_KEY_LIMIT, key->limit))
		return -EMSGSIZE;
	if (ring->channel && nla_put_u32(msg, OMERTA_A_KEY_CHANNEL, ring->channel))
		return -EMSGSIZE;
	if (key->handshake && nla_put_flag(msg, OMERTA_A_KEY_HANDSHAKE))
		return -EMSGSIZE;
	if (key->confirmed && nla_put_flag(msg, OMERTA_A_KEY_CONFIRMED))
		return -EMSGSIZE;
	return fill_counters(msg, key);
}

static int dump_key(struct sk_buff *skb, struct netlink_callback *cb,
		    const struct omerta_keyring *ring,
		    struct omerta_key *key)
{
	void *hdr = genlmsg_iput(skb, genl_info_dump(cb));

	if (!hdr)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, hdr);
	if (fill_key(skb, ring, key)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* Dump a peer's keys but the first @skip ones; counts those it dumped. */
static int dump_ring(struct sk_buff *skb, struct netlink_callback *cb,
		     struct omerta_keyring *ring, unsigned int *skip)
{
	struct omerta_key *key;
	unsigned int n = 0;
	int err = 0;

	spin_lock_bh(&ring->lock);
	list_for_each_entry(key, &ring->keys, list) {
		if (n++ < *skip)
			continue;
		err = dump_key(skb, cb, ring, key);
		if (err)
			break;
		(*skip)++;
	}
	spin_unlock_bh(&ring->lock);
	return err;
}

int omerta_nl_key_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct {
		u64 peer; /* U32_MAX + 1 after the last id */
		unsigned int channel;
		unsigned int skip;
	} *ctx = (void *)cb->ctx;
	struct omerta_peer_channel *pc;
	struct omerta_peer *peer;
	struct omerta_nl_ref ref;
	unsigned long id;
	int err;

	NL_ASSERT_CTX_FITS(typeof(*ctx));
	if (ctx->peer > U32_MAX)
		return 0;
	err = omerta_nl_tunnel_get(genl_info_dump(cb), &ref);
	if (err)
		return err;
	cb->seq = ref.tun->generation;
	xa_for_each_start(&ref.tun->peers.by_id, id, peer, ctx->peer) {
		if (id != ctx->peer) {
			ctx->channel = 0;
			ctx->skip = 0;
		}
		ctx->peer = id;
		for (pc = &peer->first; pc; pc = omerta_peer_next_channel(pc)) {
			if (pc->index < ctx->channel)
				continue;
			if (pc->index != ctx->channel)
				ctx->skip = 0;
			ctx->channel = pc->index;
			err = dump_ring(skb, cb, &pc->ring, &ctx->skip);
			if (err)
				break;
		}
		if (err)
			break;
		ctx->peer = id + 1ULL;
		ctx->channel = 0;
		ctx->skip = 0;
	}
	omerta_nl_tunnel_put(&ref);
	return omerta_dumped(skb, err);
}
