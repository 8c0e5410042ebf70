/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_FINGERPRINT_H
#define _OMERTA_FINGERPRINT_H

#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/types.h>

struct omerta_fingerprint;

/**
 * struct omerta_fingerprint_usage - usage of the memory of used secrets
 * @used: keys charged to the owner of a namespace
 * @max: limit of @used
 */
struct omerta_fingerprint_usage {
	u32 used;
	u32 max;
};

int omerta_fingerprint_init(void);
void omerta_fingerprint_exit(void);
struct omerta_fingerprint *
omerta_fingerprint_claim(const u8 *tx_secret, const u8 *rx_secret,
			 struct net_device *dev, bool handshake,
			 struct netlink_ext_ack *extack);
void omerta_fingerprint_release(struct omerta_fingerprint *fp);
void omerta_fingerprint_detach(struct omerta_fingerprint *fp);
void omerta_fingerprint_retire(struct omerta_fingerprint *fp);
void omerta_fingerprint_usage(const struct net_device *dev,
			      struct omerta_fingerprint_usage *usage);

#endif /* _OMERTA_FINGERPRINT_H */
