/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_FINGERPRINT_H
#define _OMERTA_FINGERPRINT_H

#include <linux/netlink.h>
#include <linux/types.h>

int omerta_fingerprint_init(void);
void omerta_fingerprint_exit(void);
int omerta_fingerprint_claim(const u8 *tx_secret, const u8 *rx_secret,
			     bool privileged, struct netlink_ext_ack *extack);
void omerta_fingerprint_release(const u8 *tx_secret, const u8 *rx_secret);

#endif /* _OMERTA_FINGERPRINT_H */
