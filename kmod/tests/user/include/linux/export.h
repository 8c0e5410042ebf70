/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_EXPORT_H
#define _OMERTA_USER_EXPORT_H

#define EXPORT_SYMBOL_GPL(sym)

#endif /* _OMERTA_USER_EXPORT_H */
