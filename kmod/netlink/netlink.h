/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_NETLINK_H
#define _OMERTA_NETLINK_H

int omerta_netlink_init(void);
void omerta_netlink_exit(void);

#endif /* _OMERTA_NETLINK_H */
