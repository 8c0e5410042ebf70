// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/rtnetlink.h>

#include <uapi/linux/omerta.h>

#include "datapath/buf.h"
#include "device/device.h"
#include "peer/fingerprint.h"
#include "crypto/engines.h"
#include "netlink/netlink.h"
#include "peer/peer.h"
#include "datapath/queue.h"
#include "peer/tenant.h"

/* Undo what devices need, once no device is left. */
static void end_devices(void)
{
	omerta_buf_exit();
	omerta_workers_exit();
	/*
	 * percpu_ref_kill() has queued RCU callbacks that call the module's text. They put peers,
	 * whose own callbacks follow.
	 */
	rcu_barrier();
	rcu_barrier();
}

static int __init omerta_init(void)
{
	int err;

	err = omerta_engine_init();
	if (err)
		return err;
	err = omerta_fingerprint_init();
	if (err)
		goto err_engine;
	err = omerta_peer_init();
	if (err)
		goto err_fingerprint;
	err = omerta_workers_init();
	if (err)
		goto err_peer;
	err = omerta_device_init();
	if (err)
		goto err_workers;
	err = omerta_netlink_init();
	if (err)
		goto err_device;
	return 0;

err_device:
	omerta_device_exit();
err_workers:
	end_devices();
err_peer:
	omerta_peer_exit();
err_fingerprint:
	omerta_fingerprint_exit();
	omerta_tenant_exit();
err_engine:
	omerta_engine_exit();
	return err;
}

static void __exit omerta_exit(void)
{
	omerta_netlink_exit();
	omerta_device_exit();
	end_devices();
	omerta_peer_exit();
	omerta_fingerprint_exit();
	omerta_tenant_exit();
	omerta_engine_exit();
}

module_init(omerta_init);
module_exit(omerta_exit);

MODULE_DESCRIPTION("Encrypting IP-over-UDP tunnel that works in parallel chunks");
MODULE_LICENSE("GPL");
#ifdef OMERTA_VERSION
MODULE_VERSION(OMERTA_VERSION);
#endif
MODULE_ALIAS_RTNL_LINK(KBUILD_MODNAME);
MODULE_ALIAS_GENL_FAMILY(OMERTA_FAMILY_NAME);
