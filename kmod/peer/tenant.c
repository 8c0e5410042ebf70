// SPDX-License-Identifier: GPL-2.0
/*
 * Tenants: the accounts that resources of the machine are charged to.
 *
 * A tenant is an outermost user namespace: a child of the initial one, with all user
 * namespaces below it and all their network namespaces. So a limit cannot be raised by more
 * devices, network namespaces or nested user namespaces. The initial user namespace with its
 * network namespaces is a tenant of its own. An owner is the user that created outermost
 * user namespaces. Its sum limits a user with many of them.
 *
 * A tenant holds a reference to its user namespace, or another namespace could get the same
 * address. There is no notification of the end of a user namespace, so a worker looks for
 * tenants that hold the only reference left. It puts that reference: the tenant is dead, and
 * the namespace goes away. Resources that are still charged to a dead tenant count for its
 * owner until they are uncharged. A tenant is freed with its last reference, an owner with
 * its last tenant.
 */
#include "peer/tenant.h"

#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "compat/compat.h"

/* A dead user namespace is kept for up to this long. */
#define CHECK_INTERVAL	(2 * HZ)
#define TABLE_BITS	8

/**
 * struct owner - a user with tenants
 * @node: member of the table of owners; lock: tenants_lock
 * @uid: the user; constant
 * @n_tenants: number of its tenants; lock: tenants_lock
 * @lock: protects the charges; taken inside a tenant's lock, BH off
 * @charged: resources charged to all of its tenants
 * @dead: resources charged to its dead tenants
 */
struct owner {
	struct hlist_node node;
	kuid_t uid;
	unsigned int n_tenants;
	spinlock_t lock; /* protects the charges */
	unsigned long charged[OMERTA_RESOURCES];
	unsigned long dead[OMERTA_RESOURCES];
};

/**
 * struct omerta_tenant - an outermost user namespace
 * @node: member of the table of tenants, if it is alive; lock: tenants_lock
 * @ns: the namespace, a reference; NULL if the tenant is dead; changed under both
 *	tenants_lock and @lock
 * @owner: constant; NULL for the initial namespace
 * @refs: one of each device, and of each charge that outlives its device
 * @lock: protects the charges; BH off
 * @charged: resources charged to the tenant
 */
struct omerta_tenant {
	struct hlist_node node;
	struct user_namespace *ns;
	struct owner *owner;
	refcount_t refs;
	spinlock_t lock; /* protects the charges */
	unsigned long charged[OMERTA_RESOURCES];
};

static struct omerta_tenant initial = {
	.ns = &init_user_ns,
	.lock = __SPIN_LOCK_UNLOCKED(initial.lock),
};

/* Protects the tables. Taken outside the locks of tenants and owners, BH off. */
static DEFINE_SPINLOCK(tenants_lock);
static DEFINE_HASHTABLE(tenants, TABLE_BITS);
static DEFINE_HASHTABLE(owners, TABLE_BITS);

static void check_dead(struct work_struct *work);
static DECLARE_DELAYED_WORK(check_work, check_dead);

static struct user_namespace *outermost(struct user_namespace *ns)
{
	while (ns != &init_user_ns && ns->parent != &init_user_ns)
		ns = ns->parent;
	return ns;
}

static struct omerta_tenant *find_tenant(const struct user_namespace *ns)
{
	struct omerta_tenant *tenant;

	lockdep_assert_held(&tenants_lock);

	hash_for_each_possible(tenants, tenant, node, (unsigned long)ns)
		if (tenant->ns == ns)
			return tenant;
	return NULL;
}

/* Find the owner of a new tenant, or use @fresh. */
static struct owner *find_owner(kuid_t uid, struct owner **fresh)
{
	struct owner *owner;

	lockdep_assert_held(&tenants_lock);

	hash_for_each_possible(owners, owner, node, __kuid_val(uid))
		if (uid_eq(owner->uid, uid))
			goto found;
	owner = *fresh;
	*fresh = NULL;
	owner->uid = uid;
	spin_lock_init(&owner->lock);
	hash_add(owners, &owner->node, __kuid_val(uid));
found:
	owner->n_tenants++;
	return owner;
}

/**
 * omerta_tenant_get() - find or create the tenant of a device
 * @dev: the device; it may move to another network namespace meanwhile
 *
 * Context: process context.
 * Return: the tenant, to be put by omerta_tenant_put(); NULL without memory, but never for
 * the initial user namespace.
 */
struct omerta_tenant *omerta_tenant_get(const struct net_device *dev)
{
	struct omerta_tenant *fresh, *tenant;
	struct user_namespace *ns;
	struct owner *owner;

	/* A namespace that the device has left may be freed after this section. */
	rcu_read_lock();
	ns = get_user_ns(outermost(dev_net(dev)->user_ns));
	rcu_read_unlock();
	if (ns == &init_user_ns) {
		put_user_ns(ns);
		return &initial;
	}
	fresh = kzalloc_obj(*fresh, GFP_KERNEL_ACCOUNT);
	owner = kzalloc_obj(*owner, GFP_KERNEL_ACCOUNT);
	if (!fresh || !owner) {
		tenant = NULL;
		goto out;
	}
	spin_lock_bh(&tenants_lock);
	tenant = find_tenant(ns);
	if (tenant) {
		refcount_inc(&tenant->refs);
	} else {
		tenant = fresh;
		fresh = NULL;
		tenant->ns = ns;
		tenant->owner = find_owner(ns->owner, &owner);
		refcount_set(&tenant->refs, 1);
		spin_lock_init(&tenant->lock);
		hash_add(tenants, &tenant->node, (unsigned long)ns);
		schedule_delayed_work(&check_work, CHECK_INTERVAL);
		ns = NULL;
	}
	spin_unlock_bh(&tenants_lock);
out:
	kfree(fresh);
	kfree(owner);
	put_user_ns(ns);
	return tenant;
}

/**
 * omerta_tenant_hold() - take another reference to a tenant
 * @tenant: a tenant that the caller has a reference to
 *
 * Context: any.
 */
void omerta_tenant_hold(struct omerta_tenant *tenant)
{
	if (tenant != &initial)
		refcount_inc(&tenant->refs);
}

/**
 * omerta_tenant_put() - put a reference to a tenant
 * @tenant: the tenant, or NULL; the caller has uncharged all its charges
 *
 * Context: any but hard interrupt.
 */
void omerta_tenant_put(struct omerta_tenant *tenant)
{
	struct owner *owner;

	if (!tenant || tenant == &initial)
		return;
	if (refcount_dec_not_one(&tenant->refs))
		return;
	spin_lock_bh(&tenants_lock);
	if (!refcount_dec_and_test(&tenant->refs)) {
		spin_unlock_bh(&tenants_lock);
		return;
	}
	hash_del(&tenant->node);
	owner = tenant->owner;
	if (--owner->n_tenants)
		owner = NULL;
	else
		hash_del(&owner->node);
	spin_unlock_bh(&tenants_lock);
	WARN_ON_ONCE(memchr_inv(tenant->charged, 0, sizeof(tenant->charged)));
	put_user_ns(tenant->ns);
	kfree(tenant);
	kfree(owner);
}

/**
 * omerta_tenant_is_initial() - tell the initial user namespace
 * @tenant: the tenant
 *
 * Return: true if it is the tenant of the initial user namespace.
 */
bool omerta_tenant_is_initial(const struct omerta_tenant *tenant)
{
	return tenant == &initial;
}

/**
 * omerta_tenant_owner_bound() - check whether a tenant's owner is limited
 * @tenant: the tenant
 *
 * Return: true if &omerta_bounds.owner applies to it.
 */
bool omerta_tenant_owner_bound(const struct omerta_tenant *tenant)
{
	return tenant->owner && !uid_eq(tenant->owner->uid, GLOBAL_ROOT_UID);
}

/* True if @amount more stays within a bound. */
#define FITS(charged, amount, bound) \
	((charged) <= (bound) && (amount) <= (bound) - (charged))

/**
 * omerta_tenant_charge() - charge a tenant if no limit is exceeded
 * @tenant: the tenant; the caller's reference lasts until the charge is uncharged
 * @resource: the resource
 * @amount: the amount to charge
 * @bounds: limits of this resource
 *
 * Context: any but hard interrupt.
 * Return: 0; -ENOSPC if the tenant's limit would be exceeded; -EDQUOT if a limit of its
 * owner would be. Then nothing is charged.
 */
int omerta_tenant_charge(struct omerta_tenant *tenant,
			 enum omerta_resource resource, unsigned long amount,
			 const struct omerta_bounds *bounds)
{
	struct owner *owner = tenant->owner;
	int err = 0;
	bool root;

	spin_lock_bh(&tenant->lock);
	if (!FITS(tenant->charged[resource], amount, bounds->tenant)) {
		err = -ENOSPC;
	} else if (owner) {
		root = uid_eq(owner->uid, GLOBAL_ROOT_UID);
		spin_lock(&owner->lock);
		if (root ? owner->dead[resource] < bounds->dead :
			   FITS(owner->charged[resource], amount, bounds->owner)) {
			owner->charged[resource] += amount;
			if (!tenant->ns)
				owner->dead[resource] += amount;
		} else {
			err = -EDQUOT;
		}
		spin_unlock(&owner->lock);
	}
	if (!err)
		tenant->charged[resource] += amount;
	spin_unlock_bh(&tenant->lock);
	return err;
}

/**
 * omerta_tenant_uncharge() - undo omerta_tenant_charge()
 * @tenant: the tenant, dead or alive
 * @resource: the resource
 * @amount: the amount to uncharge
 *
 * Context: any but hard interrupt.
 */
void omerta_tenant_uncharge(struct omerta_tenant *tenant,
			    enum omerta_resource resource, unsigned long amount)
{
	struct owner *owner = tenant->owner;

	spin_lock_bh(&tenant->lock);
	tenant->charged[resource] -= amount;
	if (owner) {
		spin_lock(&owner->lock);
		owner->charged[resource] -= amount;
		if (!tenant->ns)
			owner->dead[resource] -= amount;
		spin_unlock(&owner->lock);
	}
	spin_unlock_bh(&tenant->lock);
}

/**
 * omerta_tenant_read() - read the charges of a resource
 * @tenant: the tenant
 * @resource: the resource
 * @charges: set to the charges
 *
 * Context: any but hard interrupt.
 */
void omerta_tenant_read(struct omerta_tenant *tenant,
			enum omerta_resource resource,
			struct omerta_charges *charges)
{
	struct owner *owner = tenant->owner;

	*charges = (struct omerta_charges) {};
	spin_lock_bh(&tenant->lock);
	charges->tenant = tenant->charged[resource];
	if (owner) {
		spin_lock(&owner->lock);
		charges->owner = owner->charged[resource];
		charges->dead = owner->dead[resource];
		spin_unlock(&owner->lock);
	}
	spin_unlock_bh(&tenant->lock);
}

/* Put a namespace that can no longer be used, and count its charges as the owner's. */
static void bury_tenant(struct omerta_tenant *tenant)
{
	struct owner *owner = tenant->owner;
	int i;

	lockdep_assert_held(&tenants_lock);

	hash_del(&tenant->node);
	spin_lock(&tenant->lock);
	spin_lock(&owner->lock);
	for (i = 0; i < OMERTA_RESOURCES; i++)
		owner->dead[i] += tenant->charged[i];
	spin_unlock(&owner->lock);
	put_user_ns(tenant->ns);
	tenant->ns = NULL;
	spin_unlock(&tenant->lock);
}

static void check_dead(struct work_struct *work)
{
	struct omerta_tenant *tenant;
	struct hlist_node *tmp;
	int i;

	spin_lock_bh(&tenants_lock);
	hash_for_each_safe(tenants, i, tmp, tenant, node) {
		/* Tasks, network namespaces and inner user namespaces hold references to it. */
		if (ns_ref_read(tenant->ns) == 1)
			bury_tenant(tenant);
	}
	if (!hash_empty(tenants))
		schedule_delayed_work(&check_work, CHECK_INTERVAL);
	spin_unlock_bh(&tenants_lock);
}

/**
 * omerta_tenant_exit() - stop the worker, at module unload
 *
 * Context: process context; no tenant is left.
 */
void omerta_tenant_exit(void)
{
	cancel_delayed_work_sync(&check_work);
}
