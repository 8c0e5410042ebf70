// SPDX-License-Identifier: GPL-2.0
/*
 * Power management and VM forks. A cloned machine, or one resumed from an image, would
 * seal under counters that were used already. Secrets should be neither in an image nor
 * in the memory of a suspended machine. So the keys die before.
 */
#include "device/pm.h"

#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>

#include "compat/compat.h"
#include "device/device.h"

static void peer_kill_keys(struct omerta_peer *peer)
{
	omerta_peer_kill_keys(peer, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_ALL);
}

static void peer_kill_outlived(struct omerta_peer *peer)
{
	omerta_peer_kill_keys(peer, OMERTA_KEY_LIMIT_VM_FORK, OMERTA_KEYS_OUTLIVED);
}

static void peer_kill_keys_suspend(struct omerta_peer *peer)
{
	omerta_peer_kill_keys(peer, OMERTA_KEY_LIMIT_SUSPEND, OMERTA_KEYS_ALL);
}

/* Kill keys, and wait for the RCU callbacks that zeroize the secrets of unused ones. */
static void kill_keys(void (*kill)(struct omerta_peer *peer))
{
	omerta_devices_each_peer(kill);
	rcu_barrier();
}

static void kill_outlived(struct work_struct *work)
{
	omerta_devices_each_peer(peer_kill_outlived);
}

static DECLARE_WORK(kill_work, kill_outlived);

static int vm_notify(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	/*
	 * The new epoch takes effect immediately, without waiting for any lock. This may
	 * be a hard interrupt.
	 */
	atomic_inc(&omerta_keys_epoch);
	queue_work(system_dfl_wq, &kill_work);
	return NOTIFY_DONE;
}

static int pm_notify(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	/* A machine that suspends all the time would never have a key. */
	bool autosleep = IS_ENABLED(CONFIG_PM_AUTOSLEEP) ||
		    IS_ENABLED(CONFIG_PM_USERSPACE_AUTOSLEEP);

	switch (action) {
	case PM_SUSPEND_PREPARE:
		if (autosleep)
			break;
		/* An install in progress holds the device's lock. */
		set_bit(OMERTA_FREEZE_SUSPEND, &omerta_keys_frozen);
		kill_keys(peer_kill_keys_suspend);
		break;
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		/* An install in progress holds the device's lock. */
		set_bit(OMERTA_FREEZE_HIBERNATION, &omerta_keys_frozen);
		kill_keys(peer_kill_keys);
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		/*
		 * The image may hold secrets that are not installed yet, and it may be
		 * resumed again.
		 */
		atomic_inc(&omerta_keys_epoch);
		/* Pairs with omerta_keyring_install(). */
		clear_bit_unlock(OMERTA_FREEZE_HIBERNATION, &omerta_keys_frozen);
		break;
	case PM_POST_SUSPEND:
		/* Timers stood still while the keys' time went on. */
		omerta_devices_each_peer(omerta_device_check_peer);
		if (autosleep)
			break;
		/* The secrets of an unfinished handshake were in memory meanwhile. */
		atomic_inc(&omerta_keys_epoch);
		/* Pairs with omerta_keyring_install(). */
		clear_bit_unlock(OMERTA_FREEZE_SUSPEND, &omerta_keys_frozen);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block vm_notifier = { .notifier_call = vm_notify };
static struct notifier_block pm_notifier = { .notifier_call = pm_notify };

/**
 * omerta_pm_init() - register the notifiers
 *
 * Return: 0 or a negative errno.
 */
int __init omerta_pm_init(void)
{
	int err;

	err = register_pm_notifier(&pm_notifier);
	if (err)
		return err;
	err = register_random_vmfork_notifier(&vm_notifier);
	if (err)
		unregister_pm_notifier(&pm_notifier);
	return err;
}

/**
 * omerta_pm_exit() - unregister the notifiers
 *
 * Context: process context.
 */
void omerta_pm_exit(void)
{
	unregister_random_vmfork_notifier(&vm_notifier);
	cancel_work_sync(&kill_work);
	unregister_pm_notifier(&pm_notifier);
}
