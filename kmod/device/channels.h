/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_CHANNELS_H
#define _OMERTA_CHANNELS_H

#include "datapath/tunnel.h"

unsigned int omerta_channels_max(const struct omerta_tunnel *tun);
int omerta_channels_set(struct omerta_tunnel *tun, unsigned int n);
void omerta_channels_free(struct omerta_tunnel *tun);

#endif /* _OMERTA_CHANNELS_H */
