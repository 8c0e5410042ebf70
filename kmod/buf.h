/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_BUF_H
#define _OMERTA_BUF_H

#include <linux/skbuff.h>

struct sk_buff *omerta_buf_alloc(unsigned int headroom, unsigned int len,
				 u8 **data);

#endif /* _OMERTA_BUF_H */
