/* SPDX-License-Identifier: GPL-2.0 */
/* Commands for nf_tables, by libnftables, which is loaded when it is needed first */
#ifndef OM_NFT_H
#define OM_NFT_H

#include "lib/base.h"

/*
 * Execute commands in the language of nft(8), in one transaction. *output gets what they print,
 * to be freed by the caller; NULL after an error, or with @output NULL.
 */
int om_nft_run(const char *commands, char **output, struct om_err *err);

#endif
