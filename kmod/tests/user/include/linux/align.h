/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_ALIGN_H
#define _OMERTA_USER_ALIGN_H

#define ALIGN(x, a)	(((x) + (a) - 1) / (a) * (a))

#endif /* _OMERTA_USER_ALIGN_H */
