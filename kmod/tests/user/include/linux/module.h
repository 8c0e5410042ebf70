/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_MODULE_H
#define _OMERTA_USER_MODULE_H

#define MODULE_LICENSE(s)	_Static_assert(1, s)
#define MODULE_DESCRIPTION(s)	_Static_assert(1, s)

#endif /* _OMERTA_USER_MODULE_H */
