// SPDX-License-Identifier: GPL-2.0
#include "lib/addr.h"

#include "lib/quote.h"
#include "lib/value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void om_addr_format(char *buf, size_t size, const struct om_addr *addr)
{
	if (!addr->len ||
	    !inet_ntop(addr->len == 4 ? AF_INET : AF_INET6, addr->b, buf,
		       (socklen_t)size))
		snprintf(buf, size, "(none)");
}

/* Split HOST:PORT or [HOST]:PORT. */
static int split_endpoint(char *text, char **host, char **port,
			  struct om_err *err)
{
	char *colon;

	if (*text == '[') {
		char *end = strchr(text, ']');

		if (!end || end[1] != ':')
			return om_err(err, OM_USAGE,
				      "expected [ADDRESS]:PORT");
		*end = '\0';
		*host = text + 1;
		*port = end + 2;
		return OM_OK;
	}
	colon = strrchr(text, ':');
	if (!colon)
		return om_err(err, OM_USAGE, "expected HOST:PORT");
	if (strchr(text, ':') != colon)
		return om_err(err, OM_USAGE,
			      "an IPv6 address needs brackets: [ADDRESS]:PORT");
	*colon = '\0';
	*host = text;
	*port = colon + 1;
	return OM_OK;
}

static int parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long v;

	if (*text < '0' || *text > '9')
		return OM_USAGE;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (*end || errno || v < 1 || v > 65535)
		return OM_USAGE;
	*port = (uint16_t)v;
	return OM_OK;
}

#define NAME_CHARACTERS	\
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"

/* Return true for a link-local address whose link does not exist yet. */
static bool lacks_link(const char *host)
{
	const char *percent = strchr(host, '%');
	char addr[INET6_ADDRSTRLEN];
	struct in6_addr a;

	if (!percent || (size_t)(percent - host) >= sizeof(addr))
		return false;
	snprintf(addr, sizeof(addr), "%.*s", (int)(percent - host), host);
	return inet_pton(AF_INET6, addr, &a) == 1 && IN6_IS_ADDR_LINKLOCAL(&a) &&
	       !om_ifname_check(percent + 1, &(struct om_err){ 0 }) &&
	       !if_nametoindex(percent + 1);
}

/*
 * Look up a host. *res stays NULL for what only the network can tell, unless @names; then
 * err->sys tells that it may be known later.
 */
static int lookup(const char *host, bool names, struct addrinfo **res,
		  struct om_err *err)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST,
	};
	int rc = getaddrinfo(host, NULL, &hints, res);

	if (!rc)
		return OM_OK;
	/* Names contain neither, so this is an invalid address. */
	if (strpbrk(host, ":%")) {
		bool later = lacks_link(host);

		if (later && !names)
			return OM_OK;
		om_err(err, OM_USAGE, "not an address, or no such scope interface");
		err->sys = later ? ENODEV : 0;
		return OM_USAGE;
	}
	/* Do not send text to name servers that cannot be a name, or may be a key. */
	if (host[strspn(host, NAME_CHARACTERS)] || om_holds_key(host))
		return om_err(err, OM_USAGE, "not a host's name");
	if (!names)
		return OM_OK;
	hints.ai_flags = AI_ADDRCONFIG;
	rc = getaddrinfo(host, NULL, &hints, res);
	if (!rc)
		return OM_OK;
	if (rc == EAI_SYSTEM)
		return om_err_sys(err, errno, "cannot resolve host");
	om_err(err, OM_SYSTEM, "cannot resolve host: %s", gai_strerror(rc));
	err->sys = rc == EAI_AGAIN ? EAGAIN : ENOENT;
	return OM_SYSTEM;
}

/* Return what the kernel refuses about an address, or NULL. */
static const char *bad_endpoint(const struct sockaddr *sa)
{
	const struct in6_addr *a = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	uint32_t v4 = ntohl(((const struct sockaddr_in *)sa)->sin_addr.s_addr);
	bool scope;

	if (sa->sa_family == AF_INET)
		return v4 >> 24 && !IN_MULTICAST(v4) && v4 != INADDR_BROADCAST ? NULL :
		       "not the address of one host";
	if (IN6_IS_ADDR_V4MAPPED(a))
		return "an IPv4 address inside an IPv6 one: write it as an IPv4 address";
	if (IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_MULTICAST(a))
		return "not the address of one host";
	scope = ((const struct sockaddr_in6 *)sa)->sin6_scope_id;
	if (IN6_IS_ADDR_LINKLOCAL(a) && !scope)
		return "a link-local address needs its link: [fe80::1%LINK]:PORT";
	if (!IN6_IS_ADDR_LINKLOCAL(a) && scope)
		return "only a link-local address has a link";
	return NULL;
}

static void store_endpoint(struct om_peer *peer, const struct sockaddr *sa,
			   uint16_t port)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;
	struct om_addr *addr = &peer->endpoint_addr;

	peer->has |= OM_BIT(OMERTA_A_PEER_ENDPOINT_ADDR) |
		     OM_BIT(OMERTA_A_PEER_ENDPOINT_PORT);
	peer->endpoint_port = port;
	if (sa->sa_family == AF_INET) {
		addr->len = 4;
		memcpy(addr->b, &in->sin_addr, 4);
		return;
	}
	addr->len = 16;
	memcpy(addr->b, &in6->sin6_addr, 16);
	if (in6->sin6_scope_id) {
		peer->endpoint_scope = in6->sin6_scope_id;
		peer->has |= OM_BIT(OMERTA_A_PEER_ENDPOINT_SCOPE);
	}
}

/* Store the addresses that a peer can have, each once. Returns their number. */
static size_t store_endpoints(struct om_peer *peers, size_t max, const struct addrinfo *res,
			      uint16_t port, const char **bad)
{
	size_t n = 0, i;

	for (; res && n < max; res = res->ai_next) {
		const char *text = bad_endpoint(res->ai_addr);

		if (text) {
			*bad = text;
			continue;
		}
		store_endpoint(&peers[n], res->ai_addr, port);
		for (i = 0; i < n && !om_endpoint_equal(&peers[i], &peers[n]); i++)
			;
		n += i == n;
	}
	return n;
}

/* *n: size of @peers, then the number of addresses found */
static int parse_endpoint(const char *text, bool names, struct om_peer *peers, size_t *n,
			  struct om_err *err)
{
	char buf[OM_ENDPOINT_TEXT], *host = buf, *port_text = buf;
	struct addrinfo *res = NULL;
	const char *bad = NULL;
	size_t max = *n;
	uint16_t port = 0;
	int rc;

	*n = 0;
	if (strlen(text) >= sizeof(buf)) {
		rc = om_err(err, OM_USAGE, "too long");
		goto out;
	}
	strcpy(buf, text);
	rc = split_endpoint(buf, &host, &port_text, err);
	if (!rc && parse_port(port_text, &port))
		rc = om_err(err, OM_USAGE, "the port must be 1..65535");
	if (!rc && !*host)
		rc = om_err(err, OM_USAGE, "expected HOST:PORT");
	if (!rc)
		rc = lookup(host, names, &res, err);
	if (!rc && res)
		*n = store_endpoints(peers, max, res, port, &bad);
	if (!rc && bad && !*n)
		rc = om_err(err, OM_USAGE, "%s", bad);
out:
	if (res)
		freeaddrinfo(res);
	if (rc)
		om_err_prefix(err, "%s", OM_QUOTE(text));
	return rc;
}

int om_endpoint_parse(const char *text, struct om_peer *peer, struct om_err *err)
{
	size_t n = 1;

	return parse_endpoint(text, true, peer, &n, err);
}

int om_endpoint_check(const char *text, struct om_peer *peer, struct om_err *err)
{
	size_t n = 1;

	return parse_endpoint(text, false, peer, &n, err);
}

int om_endpoint_lookup(const char *text, struct om_peer *peers, size_t *n, struct om_err *err)
{
	return parse_endpoint(text, true, peers, n, err);
}

void om_endpoint_format(char *buf, size_t size, const struct om_peer *peer)
{
	char host[INET6_ADDRSTRLEN], scope[IFNAMSIZ + 1] = "", *name = scope + 1;

	om_addr_format(host, sizeof(host), &peer->endpoint_addr);
	if (peer->endpoint_addr.len != 16) {
		snprintf(buf, size, "%s:%u", host, peer->endpoint_port);
		return;
	}
	if ((peer->has & OM_BIT(OMERTA_A_PEER_ENDPOINT_SCOPE)) &&
	    peer->endpoint_scope) {
		scope[0] = '%';
		/* A name that may go to a terminal as it is, or the index */
		if (!if_indextoname(peer->endpoint_scope, name) ||
		    name[strspn(name, ALNUM "_=+.-")])
			snprintf(name, IFNAMSIZ, "%u", peer->endpoint_scope);
	}
	snprintf(buf, size, "[%s%s]:%u", host, scope, peer->endpoint_port);
}

void om_channel_endpoint_format(char *buf, size_t size, const struct om_peer_channel *channel)
{
	const struct om_peer to = {
		.has = OM_BIT(OMERTA_A_PEER_ENDPOINT_SCOPE),
		.endpoint_addr = channel->endpoint_addr,
		.endpoint_port = channel->endpoint_port,
		.endpoint_scope = channel->endpoint_scope,
	};

	om_endpoint_format(buf, size, &to);
}

bool om_endpoint_equal(const struct om_peer *a, const struct om_peer *b)
{
	return a->endpoint_addr.len == b->endpoint_addr.len &&
	       !memcmp(a->endpoint_addr.b, b->endpoint_addr.b,
		       a->endpoint_addr.len) &&
	       a->endpoint_port == b->endpoint_port &&
	       a->endpoint_scope == b->endpoint_scope;
}

void om_prefix_mask(struct om_prefix *p)
{
	unsigned int byte = p->len / 8;

	if (byte < p->addr.len && p->len % 8)
		p->addr.b[byte++] &= (uint8_t)(0xff00 >> (p->len % 8));
	if (byte < p->addr.len)
		memset(p->addr.b + byte, 0, p->addr.len - byte);
}

static int parse_prefix_len(const char *text, unsigned int max, uint8_t *len)
{
	unsigned int v = 0;

	if (!*text)
		return OM_USAGE;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return OM_USAGE;
		v = v * 10 + (unsigned int)(*text - '0');
		if (v > max)
			return OM_USAGE;
	}
	*len = (uint8_t)v;
	return OM_OK;
}

static int parse_prefix(char *text, struct om_prefix *p, struct om_err *err)
{
	char *slash = strchr(text, '/');
	unsigned int max;

	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, text, p->addr.b) == 1)
		p->addr.len = 4;
	else if (inet_pton(AF_INET6, text, p->addr.b) == 1)
		p->addr.len = 16;
	else
		return om_err(err, OM_USAGE, "not an IPv4 or IPv6 prefix");
	max = p->addr.len * 8;
	p->len = (uint8_t)max;
	if (slash && parse_prefix_len(slash + 1, max, &p->len))
		return om_err(err, OM_USAGE, "prefix length must be 0..%u", max);
	p->has |= OM_BIT(OMERTA_A_ALLOWED_IP_ADDR) |
		  OM_BIT(OMERTA_A_ALLOWED_IP_PREFIX_LEN);
	return OM_OK;
}

int om_address_parse(const char *text, size_t len, struct om_prefix *p,
		     struct om_err *err)
{
	char buf[OM_PREFIX_LEN];
	int rc;

	memset(p, 0, sizeof(*p));
	if (len >= sizeof(buf)) {
		rc = om_err(err, OM_USAGE, "not an IPv4 or IPv6 prefix");
	} else {
		memcpy(buf, text, len);
		buf[len] = '\0';
		rc = parse_prefix(buf, p, err);
	}
	if (rc)
		om_err_prefix(err, "%s", OM_QUOTE_N(text, len));
	return rc;
}

int om_prefix_parse(const char *text, size_t len, struct om_prefix *p,
		    struct om_err *err)
{
	int rc = om_address_parse(text, len, p, err);

	if (!rc)
		om_prefix_mask(p);
	return rc;
}

void om_prefix_format(char *buf, size_t size, const struct om_prefix *p)
{
	char host[INET6_ADDRSTRLEN];

	om_addr_format(host, sizeof(host), &p->addr);
	snprintf(buf, size, "%s/%u", host, p->len);
}

int om_prefix_cmp(const struct om_prefix *a, const struct om_prefix *b)
{
	int d = (int)a->addr.len - (int)b->addr.len;

	if (!d)
		d = memcmp(a->addr.b, b->addr.b, a->addr.len);
	return d ? d : (int)a->len - (int)b->len;
}

bool om_list_item(const char **text, const char *separators,
		  const char **item, size_t *len)
{
	static const char space[] = " \t\r\n";
	const char *s = *text;

	if (!s)
		return false;
	s += strspn(s, space);
	*item = s;
	*len = strcspn(s, separators);
	s += *len;
	while (*len && strchr(space, (*item)[*len - 1]))
		--*len;
	s += strspn(s, space);
	*text = *s == ',' ? s + 1 : *s ? s : NULL;
	return true;
}

struct nth_prefix {
	const struct om_prefix *prefix;
	size_t nth;
};

static int cmp_nth(const void *a, const void *b)
{
	const struct nth_prefix *x = a, *y = b;
	int d = om_prefix_cmp(x->prefix, y->prefix);

	return d ? d : (x->nth > y->nth) - (x->nth < y->nth);
}

const struct om_prefix *om_prefixes_duplicate(const struct om_list *peers, size_t *nth)
{
	const struct nth_prefix *found = NULL, *v;
	const struct om_prefix *prefix = NULL;
	struct om_list order = { 0 };

	for (size_t i = 0; i < peers->n; i++) {
		const struct om_list *ips = &OM_AT(peers, struct om_peer, i)->allowed_ips;

		for (size_t k = 0; k < ips->n; k++) {
			struct nth_prefix *new = om_list_add(&order, sizeof(*new));

			new->prefix = OM_AT(ips, struct om_prefix, k);
			new->nth = order.n - 1;
		}
	}
	if (order.n)
		qsort(order.v, order.n, sizeof(struct nth_prefix), cmp_nth);
	v = order.v;
	for (size_t i = 1; i < order.n; i++)
		if (!om_prefix_cmp(v[i - 1].prefix, v[i].prefix) &&
		    (!found || v[i].nth < found->nth))
			found = &v[i];
	if (found) {
		prefix = found->prefix;
		*nth = found->nth;
	}
	om_list_free(&order);
	return prefix;
}
