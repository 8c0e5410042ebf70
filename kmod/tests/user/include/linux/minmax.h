/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_MINMAX_H
#define _OMERTA_USER_MINMAX_H

#define min(a, b) \
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) \
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define swap(a, b) \
	do { __typeof__(a) a_ = (a); (a) = (b); (b) = a_; } while (0)
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))
#define clamp_t(t, v, a, b)	min_t(t, max_t(t, v, a), b)

#endif /* _OMERTA_USER_MINMAX_H */
