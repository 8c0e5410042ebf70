/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration files: a device and its peers, never their session keys. */
#ifndef OM_CONFIG_H
#define OM_CONFIG_H

#include "lib/addr.h"
#include "lib/keygen.h"

/* Table of the routes that "up" makes; others are a table's number. */
#define OM_TABLE_AUTO	0
#define OM_TABLE_OFF	UINT32_MAX

/* Use of ML-KEM-768 with a peer */
enum om_kem_policy {
	OM_KEM_OFF,
	OM_KEM_ON,		/* if the peer has it */
	OM_KEM_REQUIRED,
};

/* The agent was built with ML-KEM-768. */
extern bool om_have_kem;


/* Settings that the kernel's device does not have. Secrets are om_config's, or NULL. */
struct om_host_conf {
	uint8_t *private_key;
	struct om_list addresses;	/* of struct om_prefix, host bits and all */
	uint32_t mtu;			/* 0 for the default */
	uint32_t table;
};

/* What its peers do not have */
struct om_peer_conf {
	uint8_t *psk;
	enum om_kem_policy kem;
	char *endpoint;			/* as it stands there, or NULL */
	unsigned int line;			/* of the section */
};

struct om_config {
	struct om_device dev;
	struct om_list peers;		/* of struct om_peer, with allowed_ips */
	struct om_host_conf host;
	struct om_list peer_conf;	/* of struct om_peer_conf, one a peer */
	struct om_secrets secrets;	/* to which they point */
};

enum om_config_flags {
	OM_CONFIG_SECRETS = 1,	/* keys are read, from their files, too */
	OM_CONFIG_NO_NAMES = 2,	/* names of hosts are not looked up */
};

/*
 * Read and check a whole file, "-" for standard input. Errors begin with
 * file:line:column. A peer may be without an id, see om_sync_apply().
 */
int om_config_read(const char *path, enum om_config_flags flags,
		   struct om_config *conf, struct om_err *err);
/* Say all that is wrong with a file on standard error. */
int om_config_check(const char *path, struct om_err *err);
/* Whether it wants a default route, of addresses this long or (0) any, in a table of ours */
bool om_config_has_default(const struct om_config *conf, unsigned int addr_len);
/* Its secrets alone are freed. */
void om_config_forget(struct om_config *conf);
void om_config_free(struct om_config *conf);

/* To standard output */
void om_config_print(const struct om_device *dev, const struct om_list *peers);

#endif
