/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_MUTEX_H
#define _OMERTA_USER_MUTEX_H

#include <stdbool.h>

/* One thread only, so a lock just remembers whether it is held. */
struct mutex {
	bool held;
};

#define mutex_init(m)			((m)->held = false)
#define mutex_lock(m)			((m)->held = true)
#define mutex_unlock(m)			((m)->held = false)
#define lockdep_is_held(m)		((m)->held)
#define lockdep_assert_held(m)		((m)->held ? (void)0 : __builtin_trap())

#endif /* _OMERTA_USER_MUTEX_H */
