/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_TIMERS_H
#define _OMERTA_TIMERS_H

#include <linux/timer.h>

#include "peer/peer.h"

void omerta_timers_run(struct timer_list *t);
void omerta_timers_confirm(struct omerta_peer_channel *pc);

#endif /* _OMERTA_TIMERS_H */
