// SPDX-License-Identifier: GPL-2.0
/*
 * A secret is used once: keyed fingerprints of all secrets that were installed, on any
 * device, are remembered until the module is unloaded. Secrets of a handshake are forgotten
 * with their key, since they cannot be installed again.
 *
 * Keys that stay remembered are charged to the tenant of the device's namespace.
 */
#include "peer/fingerprint.h"

#include <linux/module.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "compat/compat.h"
#include "peer/tenant.h"
#include "wire/wire.h"

static unsigned int key_memory = 1 << 22;
module_param(key_memory, uint, 0644);
MODULE_PARM_DESC(key_memory,
		 "Number of keys installed by hand to remember for the initial user namespace; at the limit, installs are rejected.");

/* Keys of an outermost user namespace, or of all those of a user. */
#define TENANT_KEYS	4096

/**
 * struct omerta_fingerprint - the secrets of one key
 * @send_node: member of the table of send secrets
 * @receive_node: member of the table of receive secrets
 * @send: fingerprint of the send secret
 * @receive: fingerprint of the receive secret
 * @dev: the key's device, NULL once the key is dead; lock: fingerprint_lock
 * @tenant: charged for it, NULL for a key of a handshake
 */
struct omerta_fingerprint {
	struct rhash_head send_node;
	struct rhash_head receive_node;
	u64 send;
	u64 receive;
	struct net_device *dev;
	struct omerta_tenant *tenant;
};

static const struct rhashtable_params send_params = {
	.head_offset = offsetof(struct omerta_fingerprint, send_node),
	.key_offset = offsetof(struct omerta_fingerprint, send),
	.key_len = sizeof(u64),
	.automatic_shrinking = true,
};

static const struct rhashtable_params receive_params = {
	.head_offset = offsetof(struct omerta_fingerprint, receive_node),
	.key_offset = offsetof(struct omerta_fingerprint, receive),
	.key_len = sizeof(u64),
	.automatic_shrinking = true,
};

static struct rhashtable sent;
static struct rhashtable received;
static siphash_key_t fingerprint_key;
static struct kmem_cache *fingerprint_cache;
/* Protects the tables. Readers take it as well, so RCU is not needed. BH off. */
static DEFINE_SPINLOCK(fingerprint_lock);

static struct omerta_bounds bounds_of(const struct omerta_tenant *tenant)
{
	return (struct omerta_bounds) {
		.tenant = omerta_tenant_is_initial(tenant) ?
			  READ_ONCE(key_memory) : TENANT_KEYS,
		.owner = TENANT_KEYS,
		.dead = TENANT_KEYS,
	};
}

/*
 * A key with the same secrets swapped is the other end of the same tunnel. Both ends would
 * count from 0 under one secret, unless they are in different network namespaces.
 */
static bool is_elsewhere(const struct omerta_fingerprint *other,
			 const struct net_device *dev)
{
	lockdep_assert_held(&fingerprint_lock);

	return other->dev && !net_eq(dev_net(other->dev), dev_net(dev));
}

/* Return NULL, or the reason to refuse the secrets. */
static const char *find_use(const struct omerta_fingerprint *fp,
			    const struct net_device *dev)
{
	const struct omerta_fingerprint *other;

	lockdep_assert_held(&fingerprint_lock);

	if (rhashtable_lookup_fast(&sent, &fp->send, send_params))
		return "tx-secret was installed before; make a fresh key";
	if (rhashtable_lookup_fast(&received, &fp->receive, receive_params))
		return "rx-secret was installed before; make a fresh key";
	other = rhashtable_lookup_fast(&sent, &fp->receive, send_params);
	if (other && !is_elsewhere(other, dev))
		return "rx-secret is a tx-secret of this machine; was it made for the other end?";
	other = rhashtable_lookup_fast(&received, &fp->send, receive_params);
	if (other && !is_elsewhere(other, dev))
		return "tx-secret is an rx-secret of this machine; was it made for the other end?";
	return NULL;
}

static int insert(struct omerta_fingerprint *fp)
{
	int err;

	lockdep_assert_held(&fingerprint_lock);

	err = rhashtable_insert_fast(&sent, &fp->send_node, send_params);
	if (err)
		return err;
	err = rhashtable_insert_fast(&received, &fp->receive_node,
				     receive_params);
	if (err)
		rhashtable_remove_fast(&sent, &fp->send_node, send_params);
	return err;
}

static int charge(struct omerta_fingerprint *fp, struct net_device *dev,
		  struct netlink_ext_ack *extack)
{
	struct omerta_bounds bounds;
	int err;

	fp->tenant = omerta_tenant_get(dev);
	if (!fp->tenant)
		return -ENOMEM;
	bounds = bounds_of(fp->tenant);
	err = omerta_tenant_charge(fp->tenant, OMERTA_RESOURCE_SECRETS, 1,
				   &bounds);
	if (!err)
		return 0;
	if (omerta_tenant_is_initial(fp->tenant))
		NL_SET_ERR_MSG(extack,
			       "memory of used keys is full; raise module parameter key_memory");
	else if (err == -ENOSPC)
		NL_SET_ERR_MSG(extack,
			       "memory of used keys is full for this user namespace; use a key agent");
	else
		NL_SET_ERR_MSG(extack,
			       "memory of used keys is full for this user's namespaces; use a key agent");
	omerta_tenant_put(fp->tenant);
	/* -ENOSPC is for a peer that has too many keys. */
	return -EDQUOT;
}

static void free_fingerprint(struct omerta_fingerprint *fp)
{
	if (fp->tenant)
		omerta_tenant_uncharge(fp->tenant, OMERTA_RESOURCE_SECRETS, 1);
	omerta_tenant_put(fp->tenant);
	kmem_cache_free(fingerprint_cache, fp);
}

/**
 * omerta_fingerprint_claim() - reserve two secrets for a key
 * @tx_secret: the send secret
 * @rx_secret: the receive secret
 * @dev: the device that the key is for; stays until omerta_fingerprint_detach() or
 *	 omerta_fingerprint_release()
 * @handshake: the secrets come from a handshake of this boot
 * @extack: gets the reason of a refusal
 *
 * Context: process context.
 * Return: the fingerprint, to be put by omerta_fingerprint_retire(), or an ERR_PTR():
 * -EEXIST if a secret was used before; -EDQUOT if the memory of used keys is full; -ENOMEM.
 */
struct omerta_fingerprint *
omerta_fingerprint_claim(const u8 *tx_secret, const u8 *rx_secret,
			 struct net_device *dev, bool handshake,
			 struct netlink_ext_ack *extack)
{
	struct omerta_fingerprint *fp;
	const char *use;
	int err = 0;

	fp = kmem_cache_zalloc(fingerprint_cache, GFP_KERNEL_ACCOUNT);
	if (!fp)
		return ERR_PTR(-ENOMEM);
	fp->send = siphash(tx_secret, OMERTA_SECRET_LEN, &fingerprint_key);
	fp->receive = siphash(rx_secret, OMERTA_SECRET_LEN, &fingerprint_key);
	fp->dev = dev;
	if (!handshake)
		err = charge(fp, dev, extack);
	if (err) {
		kmem_cache_free(fingerprint_cache, fp);
		return ERR_PTR(err);
	}
	spin_lock_bh(&fingerprint_lock);
	use = find_use(fp, dev);
	err = use ? -EEXIST : insert(fp);
	spin_unlock_bh(&fingerprint_lock);
	if (!err)
		return fp;
	if (use && extack)
		extack->_msg = use;
	free_fingerprint(fp);
	return ERR_PTR(err);
}

/**
 * omerta_fingerprint_release() - forget secrets that were not used
 * @fp: from omerta_fingerprint_claim(); freed
 *
 * Context: any but hard interrupt.
 */
void omerta_fingerprint_release(struct omerta_fingerprint *fp)
{
	spin_lock_bh(&fingerprint_lock);
	rhashtable_remove_fast(&sent, &fp->send_node, send_params);
	rhashtable_remove_fast(&received, &fp->receive_node, receive_params);
	spin_unlock_bh(&fingerprint_lock);
	free_fingerprint(fp);
}

/**
 * omerta_fingerprint_detach() - note that a key is dead
 * @fp: the key's
 *
 * Context: any but hard interrupt.
 */
void omerta_fingerprint_detach(struct omerta_fingerprint *fp)
{
	spin_lock_bh(&fingerprint_lock);
	fp->dev = NULL;
	spin_unlock_bh(&fingerprint_lock);
}

/**
 * omerta_fingerprint_retire() - note that the secrets of a dead key are zeroized
 * @fp: from omerta_fingerprint_claim(); not the caller's any more
 *
 * Secrets of a handshake are forgotten. All others stay remembered.
 *
 * Context: any but hard interrupt.
 */
void omerta_fingerprint_retire(struct omerta_fingerprint *fp)
{
	if (fp->tenant)
		return;
	spin_lock_bh(&fingerprint_lock);
	rhashtable_remove_fast(&sent, &fp->send_node, send_params);
	rhashtable_remove_fast(&received, &fp->receive_node, receive_params);
	spin_unlock_bh(&fingerprint_lock);
	kmem_cache_free(fingerprint_cache, fp);
}

/**
 * omerta_fingerprint_usage() - usage of the memory of used secrets
 * @dev: a device
 * @usage: set to the usage by its owner; full if any limit of the owner is reached
 *
 * Context: process context.
 */
void omerta_fingerprint_usage(const struct net_device *dev,
			      struct omerta_fingerprint_usage *usage)
{
	struct omerta_tenant *tenant = omerta_tenant_get(dev);
	struct omerta_charges charges = {};
	struct omerta_bounds bounds;

	*usage = (struct omerta_fingerprint_usage) {};
	if (!tenant)
		return;
	bounds = bounds_of(tenant);
	omerta_tenant_read(tenant, OMERTA_RESOURCE_SECRETS, &charges);
	usage->used = charges.tenant;
	usage->max = bounds.tenant;
	if (omerta_tenant_owner_bound(tenant))
		usage->used = charges.owner;
	else if (charges.dead >= bounds.dead)
		usage->used = usage->max;
	omerta_tenant_put(tenant);
}

/**
 * omerta_fingerprint_init() - set up the memory of used secrets
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_fingerprint_init(void)
{
	int err;

	get_random_bytes(&fingerprint_key, sizeof(fingerprint_key));
	fingerprint_cache = kmem_cache_create("omerta_fingerprint",
					      sizeof(struct omerta_fingerprint),
					      0, 0, NULL);
	if (!fingerprint_cache)
		return -ENOMEM;
	err = rhashtable_init(&sent, &send_params);
	if (err)
		goto err_cache;
	err = rhashtable_init(&received, &receive_params);
	if (err)
		goto err_sent;
	return 0;

err_sent:
	rhashtable_destroy(&sent);
err_cache:
	kmem_cache_destroy(fingerprint_cache);
	return err;
}

static void free_remembered(void *ptr, void *arg)
{
	free_fingerprint(ptr);
}

/**
 * omerta_fingerprint_exit() - forget all secrets, at module unload
 *
 * Context: process context; no key is left.
 */
void omerta_fingerprint_exit(void)
{
	rhashtable_destroy(&sent);
	rhashtable_free_and_destroy(&received, free_remembered, NULL);
	kmem_cache_destroy(fingerprint_cache);
	memzero_explicit(&fingerprint_key, sizeof(fingerprint_key));
}
