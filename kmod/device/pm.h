/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_PM_H
#define _OMERTA_PM_H

int omerta_pm_init(void);
void omerta_pm_exit(void);

#endif /* _OMERTA_PM_H */
