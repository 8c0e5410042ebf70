/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_BUILD_BUG_H
#define _OMERTA_USER_BUILD_BUG_H

#undef static_assert
#define static_assert(expr)	_Static_assert(expr, #expr)

#endif /* _OMERTA_USER_BUILD_BUG_H */
