// SPDX-License-Identifier: GPL-2.0
/*
 * A secret is used once: the module remembers, until it is unloaded, keyed
 * fingerprints of all secrets that were installed, on whatever device.
 */
#include "fingerprint.h"

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "wire.h"

static unsigned int key_memory = 1 << 22;
module_param(key_memory, uint, 0644);
MODULE_PARM_DESC(key_memory,
		 "How many installed keys to remember; when full, installs are refused. User namespaces may fill half.");

struct fingerprint {
	struct rhash_head node;
	u64 value;
};

static const struct rhashtable_params fingerprint_params = {
	.head_offset = offsetof(struct fingerprint, node),
	.key_offset = offsetof(struct fingerprint, value),
	.key_len = sizeof(u64),
};

/* A send secret may come back as a receive secret: both ends may be here. */
enum { SEND, RECEIVE, KINDS };

static struct rhashtable known[KINDS];
static siphash_key_t fingerprint_key;
static struct kmem_cache *fingerprint_cache;
static DEFINE_MUTEX(fingerprint_lock);

static struct fingerprint *find(int kind, const u8 *secret)
{
	u64 value = siphash(secret, OMERTA_SECRET_LEN, &fingerprint_key);

	return rhashtable_lookup_fast(&known[kind], &value, fingerprint_params);
}

static int remember(int kind, const u8 *secret)
{
	struct fingerprint *fp;
	int err;

	lockdep_assert_held(&fingerprint_lock);

	fp = kmem_cache_zalloc(fingerprint_cache, GFP_KERNEL_ACCOUNT);
	if (!fp)
		return -ENOMEM;
	fp->value = siphash(secret, OMERTA_SECRET_LEN, &fingerprint_key);
	err = rhashtable_insert_fast(&known[kind], &fp->node,
				     fingerprint_params);
	if (err)
		kmem_cache_free(fingerprint_cache, fp);
	return err;
}

/* Readers of the tables hold the mutex too, so nothing waits for RCU. */
static void forget(int kind, const u8 *secret)
{
	struct fingerprint *fp = find(kind, secret);

	lockdep_assert_held(&fingerprint_lock);

	if (fp && !rhashtable_remove_fast(&known[kind], &fp->node,
					  fingerprint_params))
		kmem_cache_free(fingerprint_cache, fp);
}

/**
 * omerta_fingerprint_claim() - take two secrets into use
 * @tx_secret: the send secret
 * @rx_secret: the receive secret
 * @privileged: whether the claimant has CAP_NET_ADMIN over the machine; others
 *		may fill half of the memory
 * @extack: says why a claim is refused
 *
 * Context: process context.
 * Return: 0; -EEXIST if one of them was used before; -ENOSPC if the memory is
 * full; -ENOMEM.
 */
int omerta_fingerprint_claim(const u8 *tx_secret, const u8 *rx_secret,
			     bool privileged, struct netlink_ext_ack *extack)
{
	unsigned int room = READ_ONCE(key_memory) / (privileged ? 1 : 2);
	int err = 0;

	mutex_lock(&fingerprint_lock);
	if (find(SEND, tx_secret)) {
		NL_SET_ERR_MSG(extack, "tx-secret was installed before; make a fresh key");
		err = -EEXIST;
	} else if (find(RECEIVE, rx_secret)) {
		NL_SET_ERR_MSG(extack, "rx-secret was installed before; make a fresh key");
		err = -EEXIST;
	} else if (atomic_read(&known[SEND].nelems) >= room) {
		NL_SET_ERR_MSG(extack,
			       "memory of used keys is full; raise module parameter key_memory");
		err = -ENOSPC;
	}
	if (err)
		goto out;

	err = remember(SEND, tx_secret);
	if (err)
		goto out;
	err = remember(RECEIVE, rx_secret);
	if (err)
		forget(SEND, tx_secret);
out:
	mutex_unlock(&fingerprint_lock);
	return err;
}

/**
 * omerta_fingerprint_release() - forget secrets that were never put to use
 * @tx_secret: the send secret of a successful claim
 * @rx_secret: its receive secret
 *
 * Context: process context.
 */
void omerta_fingerprint_release(const u8 *tx_secret, const u8 *rx_secret)
{
	mutex_lock(&fingerprint_lock);
	forget(SEND, tx_secret);
	forget(RECEIVE, rx_secret);
	mutex_unlock(&fingerprint_lock);
}

static void free_fingerprint(void *ptr, void *arg)
{
	kmem_cache_free(fingerprint_cache, ptr);
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
					      sizeof(struct fingerprint), 0, 0,
					      NULL);
	if (!fingerprint_cache)
		return -ENOMEM;
	err = rhashtable_init(&known[SEND], &fingerprint_params);
	if (err)
		goto err_cache;
	err = rhashtable_init(&known[RECEIVE], &fingerprint_params);
	if (err)
		goto err_send;
	return 0;

err_send:
	rhashtable_destroy(&known[SEND]);
err_cache:
	kmem_cache_destroy(fingerprint_cache);
	return err;
}

/**
 * omerta_fingerprint_exit() - forget all, at module unload
 */
void omerta_fingerprint_exit(void)
{
	rhashtable_free_and_destroy(&known[RECEIVE], free_fingerprint, NULL);
	rhashtable_free_and_destroy(&known[SEND], free_fingerprint, NULL);
	kmem_cache_destroy(fingerprint_cache);
	memzero_explicit(&fingerprint_key, sizeof(fingerprint_key));
}
