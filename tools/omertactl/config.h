/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration files: a device and its peers, never their session keys. */
#ifndef OM_CONFIG_H
#define OM_CONFIG_H

#include "model.h"

struct om_config {
	struct om_device dev;
	struct om_list peers;		/* of struct om_peer, with allowed_ips */
};

/*
 * Read and check a whole file, "-" for standard input. Errors begin with
 * file:line:column.
 */
int om_config_read(const char *path, struct om_config *conf, struct om_err *err);
void om_config_free(struct om_config *conf);

/* To standard output */
void om_config_print(const struct om_device *dev, const struct om_list *peers);

#endif
