/* SPDX-License-Identifier: GPL-2.0 */
/* Endpoints and prefixes as text. */
#ifndef OM_ADDR_H
#define OM_ADDR_H

#include "lib/model.h"

/* [v6%scope]:port */
#define OM_ENDPOINT_LEN	80
#define OM_PREFIX_LEN	52
/* HOST:PORT with any name */
#define OM_ENDPOINT_TEXT	300

void om_addr_format(char *buf, size_t size, const struct om_addr *addr);

/*
 * Parse HOST:PORT, and look up a name. Only the endpoint of @peer is set. err->sys is EAGAIN if
 * no name server answers, and not 0 if the address may be known later.
 */
int om_endpoint_parse(const char *text, struct om_peer *peer, struct om_err *err);
/* The same for all addresses, best first. *n: size of @peers, then their number */
int om_endpoint_lookup(const char *text, struct om_peer *peers, size_t *n, struct om_err *err);
/* The same, but host names are not looked up, nor links that do not exist, and set nothing. */
int om_endpoint_check(const char *text, struct om_peer *peer, struct om_err *err);
void om_endpoint_format(char *buf, size_t size, const struct om_peer *peer);
void om_channel_endpoint_format(char *buf, size_t size, const struct om_peer_channel *channel);
bool om_endpoint_equal(const struct om_peer *a, const struct om_peer *b);

/* Parse a prefix of @len characters; host bits are cleared. */
int om_prefix_parse(const char *text, size_t len, struct om_prefix *p,
		    struct om_err *err);
/* Parse an address with the length of its network; host bits stay. */
int om_address_parse(const char *text, size_t len, struct om_prefix *p,
		     struct om_err *err);
/* Clear the bits beyond the length. */
void om_prefix_mask(struct om_prefix *p);
void om_prefix_format(char *buf, size_t size, const struct om_prefix *p);
/* Compare in the order of allowed-ip-get: IPv4 first, then by address, then by length. */
int om_prefix_cmp(const struct om_prefix *a, const struct om_prefix *b);

/*
 * Return the next item of a list separated by @separators, without the white space around
 * it; false at the end.
 */
bool om_list_item(const char **text, const char *separators,
		  const char **item, size_t *len);

/*
 * Return the first prefix of these peers that equals an earlier one, or NULL. @nth gets its
 * number, from 0.
 */
const struct om_prefix *om_prefixes_duplicate(const struct om_list *peers, size_t *nth);

#endif
