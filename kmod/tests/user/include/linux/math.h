/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_MATH_H
#define _OMERTA_USER_MATH_H

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

#endif /* _OMERTA_USER_MATH_H */
