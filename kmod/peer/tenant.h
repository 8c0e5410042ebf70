/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TENANT_H
#define _OMERTA_TENANT_H

#include <linux/limits.h>
#include <linux/types.h>

struct net_device;
struct omerta_tenant;

/**
 * enum omerta_resource - resources of the machine that tenants share
 * @OMERTA_RESOURCE_WAITING: bytes of packets that wait for a key or a route
 * @OMERTA_RESOURCE_SECRETS: keys whose secrets are remembered
 * @OMERTA_RESOURCE_INITIATIONS: bytes of initiations that wait for admission
 */
enum omerta_resource {
	OMERTA_RESOURCE_WAITING,
	OMERTA_RESOURCE_SECRETS,
	OMERTA_RESOURCE_INITIATIONS,
	OMERTA_RESOURCES,
};

/**
 * struct omerta_bounds - limits of a resource
 * @tenant: limit of a tenant
 * @owner: limit of all tenants of an owner, dead ones included; does not apply to root
 * @dead: limit of the dead tenants of root; beyond it root's living tenants are refused
 *
 * %OMERTA_UNBOUNDED is no limit. Only the first limit applies to the initial namespace.
 */
struct omerta_bounds {
	unsigned long tenant;
	unsigned long owner;
	unsigned long dead;
};

#define OMERTA_UNBOUNDED	ULONG_MAX

/**
 * struct omerta_charges - charges of a resource
 * @tenant: charged to the tenant
 * @owner: charged to all tenants of its owner; 0 for the initial namespace
 * @dead: charged to the dead ones among them
 */
struct omerta_charges {
	unsigned long tenant;
	unsigned long owner;
	unsigned long dead;
};

void omerta_tenant_exit(void);
struct omerta_tenant *omerta_tenant_get(const struct net_device *dev);
void omerta_tenant_hold(struct omerta_tenant *tenant);
void omerta_tenant_put(struct omerta_tenant *tenant);
bool omerta_tenant_is_initial(const struct omerta_tenant *tenant);
bool omerta_tenant_owner_bound(const struct omerta_tenant *tenant);
int omerta_tenant_charge(struct omerta_tenant *tenant,
			 enum omerta_resource resource, unsigned long amount,
			 const struct omerta_bounds *bounds);
void omerta_tenant_uncharge(struct omerta_tenant *tenant,
			    enum omerta_resource resource, unsigned long amount);
void omerta_tenant_read(struct omerta_tenant *tenant,
			enum omerta_resource resource,
			struct omerta_charges *charges);

#endif /* _OMERTA_TENANT_H */
