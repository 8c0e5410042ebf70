/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_BITS_H
#define _OMERTA_USER_BITS_H

#define BIT(n)	(1UL << (n))

#endif /* _OMERTA_USER_BITS_H */
