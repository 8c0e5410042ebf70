/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_SLAB_H
#define _OMERTA_USER_SLAB_H

#include <stdlib.h>

#include <linux/types.h>

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0

#define kmalloc(n, gfp)		((void)(gfp), malloc(n))
#define kzalloc(n, gfp)		((void)(gfp), calloc(1, n))
#define kvmalloc(n, gfp)	((void)(gfp), malloc(n))
#define kvfree(p)		free(p)
#define kfree(p)		free(p)

#endif /* _OMERTA_USER_SLAB_H */
