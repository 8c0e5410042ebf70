/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_CRYPTO_UTILS_H
#define _OMERTA_USER_CRYPTO_UTILS_H

#include <sodium.h>

#define crypto_memneq(a, b, n)	(sodium_memcmp(a, b, n) != 0)

#endif /* _OMERTA_USER_CRYPTO_UTILS_H */
