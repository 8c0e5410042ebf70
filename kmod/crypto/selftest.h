/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_SELFTEST_H
#define _OMERTA_SELFTEST_H

#include <linux/types.h>

struct omerta_engine;

int omerta_selftest(const struct omerta_engine *engine);
int omerta_selftest_time(const struct omerta_engine *engine, unsigned int n, u32 len, u64 *ns);

#endif /* _OMERTA_SELFTEST_H */
