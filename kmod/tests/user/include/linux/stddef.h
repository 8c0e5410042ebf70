/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_STDDEF_H
#define _OMERTA_USER_STDDEF_H

#include <stddef.h>

#define sizeof_field(type, field)	sizeof(((type *)0)->field)

#endif /* _OMERTA_USER_STDDEF_H */
