/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_SCHED_H
#define _OMERTA_USER_SCHED_H

#define cond_resched()		do { } while (0)

#endif /* _OMERTA_USER_SCHED_H */
