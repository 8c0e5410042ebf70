/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_SELFTEST_H
#define _OMERTA_SELFTEST_H

struct omerta_engine;

int omerta_selftest(const struct omerta_engine *engine);

#endif /* _OMERTA_SELFTEST_H */
