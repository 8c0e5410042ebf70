/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_PERCPU_H
#define _OMERTA_USER_PERCPU_H

#include <stdlib.h>

#include <linux/types.h>

/* There is one CPU. */
#define __percpu
#define alloc_percpu(t) \
	((t *)aligned_alloc(_Alignof(t), sizeof(t)))
#define free_percpu(p)		free(p)
#define get_cpu_ptr(p)		(p)
#define put_cpu_ptr(p)		((void)(p))

#define local_bh_disable()	((void)0)
#define local_bh_enable()	((void)0)

#endif /* _OMERTA_USER_PERCPU_H */
