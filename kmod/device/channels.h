/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_CHANNELS_H
#define _OMERTA_CHANNELS_H

#include "datapath/tunnel.h"

#define OMERTA_CHANNEL_STATS	(OMERTA_A_CHANNEL_STATS_MAX + 1)
/* No CPU has used the channel. */
#define OMERTA_NO_CPU		U64_MAX

unsigned int omerta_channels_max(const struct omerta_tunnel *tun);
int omerta_channels_set(struct omerta_tunnel *tun, unsigned int n);
void omerta_channels_start(struct omerta_tunnel *tun);
void omerta_channels_stop(struct omerta_tunnel *tun);
void omerta_channels_free(struct omerta_tunnel *tun);
void omerta_channel_stats(const struct omerta_channel *ch, u64 stats[OMERTA_CHANNEL_STATS]);

#endif /* _OMERTA_CHANNELS_H */
