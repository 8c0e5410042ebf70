/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_RX_H
#define _OMERTA_RX_H

#include <linux/netdevice.h>

#include "datapath/tunnel.h"

int omerta_rx_poll(struct napi_struct *napi, int budget);
void omerta_rx_purge(struct omerta_channel *ch);

#endif /* _OMERTA_RX_H */
