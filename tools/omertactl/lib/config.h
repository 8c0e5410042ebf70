/* SPDX-License-Identifier: GPL-2.0 */
/* Configuration files: a device and its peers, never their session keys. */
#ifndef OM_CONFIG_H
#define OM_CONFIG_H

#include "lib/addr.h"
#include "lib/keygen.h"

/* Table of the routes that "up" adds; other values are the number of a table. */
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

/* Commands that "up" and "down" run */
enum om_hook {
	OM_HOOK_PRE_UP,
	OM_HOOK_POST_UP,
	OM_HOOK_PRE_DOWN,
	OM_HOOK_POST_DOWN,
	OM_HOOKS
};

/* Settings of a device that are not in the kernel */
struct om_host_conf {
	uint8_t *private_key;		/* in om_config.secrets, or NULL */
	struct om_list addresses;	/* struct om_prefix, with host bits */
	uint32_t mtu;			/* 0 for the default */
	uint32_t table;
	struct om_list hooks[OM_HOOKS];	/* char *, in their order */
	struct om_list dns;		/* char *: addresses of name servers, and domains */
	bool save;			/* "down" saves the running state */
	bool kill_switch;		/* nothing leaves the host but through the tunnel */
};

/* Settings of a peer that are not in the kernel */
struct om_peer_conf {
	uint8_t *psk;			/* in om_config.secrets, or NULL */
	enum om_kem_policy kem;
	char *endpoint;			/* text in the file, or NULL */
	unsigned int line;		/* line of the section */
};

struct om_config {
	struct om_device dev;
	struct om_list peers;		/* struct om_peer, with allowed_ips */
	struct om_host_conf host;
	struct om_list peer_conf;	/* struct om_peer_conf, one for each peer */
	struct om_secrets secrets;	/* the keys of @host and @peer_conf */
};

enum om_config_flags {
	OM_CONFIG_SECRETS = 1,	/* keep secrets, and read their files */
	OM_CONFIG_NO_NAMES = 2,	/* do not look up host names */
	OM_CONFIG_AGENT = 4,	/* a private key is needed */
	OM_CONFIG_UP = 8,	/* for a tunnel of this machine */
	OM_CONFIG_TRY_NAMES = 16, /* warn of endpoints that cannot be found yet, and go on */
};

/*
 * Read and check a whole file, "-" for standard input. Errors begin with
 * file:line:column. A peer may lack an id, see om_sync_apply().
 */
int om_config_read(const char *path, enum om_config_flags flags,
		   struct om_config *conf, struct om_err *err);
/* Call @mistake with each mistake in a file for "up", as above. @agent: with an agent */
int om_config_check(const char *path, bool agent, void (*mistake)(const char *text),
		    struct om_err *err);
/*
 * Return true if a file has a default route, and does not set its table. @addr_len: length of
 * the addresses, or 0 for any
 */
bool om_config_has_default(const struct om_config *conf, unsigned int addr_len);
/* Return true if a file has IPv6 addresses, or routes. */
bool om_config_has_v6(const struct om_config *conf);
/* Free only the secrets. */
void om_config_forget(struct om_config *conf);
void om_config_free(struct om_config *conf);

/*
 * Write the kernel's state of a device into its file. The rest of the file stays: comments, and
 * settings that the kernel does not know. The file is replaced as a whole, or not at all.
 * *changed is false if nothing differs.
 */
int om_config_save(const char *path, const struct om_device *dev, const struct om_list *peers,
		   bool *changed, struct om_err *err);
/*
 * Make the new file @to from a file of wg-quick(8). Settings that omerta lacks are reported on
 * standard error, and named in comments. Nothing is left of a file that "up" would reject.
 */
int om_config_import(const char *from, const char *to, struct om_err *err);
/* Print a configuration file to standard output. */
void om_config_print(const struct om_device *dev, const struct om_list *peers);

#endif
