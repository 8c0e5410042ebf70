/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_PERCPU_H
#define _OMERTA_USER_PERCPU_H

#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

/* There is one CPU. */
#define __percpu
static inline void *omerta_alloc_zeroed(size_t align, size_t size)
{
	void *mem = aligned_alloc(align, size);

	if (mem)
		memset(mem, 0, size);
	return mem;
}

#define alloc_percpu(t)		((t *)omerta_alloc_zeroed(_Alignof(t), sizeof(t)))
#define free_percpu(p)		free(p)
#define get_cpu_ptr(p)		(p)
#define put_cpu_ptr(p)		((void)(p))
#define per_cpu_ptr(p, cpu)	((void)(cpu), (p))
#define for_each_possible_cpu(cpu) \
	for ((cpu) = 0; (cpu) < 1; (cpu)++)

#define local_bh_disable()	((void)0)
#define local_bh_enable()	((void)0)

#endif /* _OMERTA_USER_PERCPU_H */
