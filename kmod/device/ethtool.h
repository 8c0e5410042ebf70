/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ETHTOOL_H
#define _OMERTA_ETHTOOL_H

#include <linux/ethtool.h>

extern const struct ethtool_ops omerta_ethtool_ops;

#endif /* _OMERTA_ETHTOOL_H */
