// SPDX-License-Identifier: GPL-2.0
#include "lib/config_parse.h"

#include "lib/keygen.h"
#include "lib/quote.h"
#include "lib/value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Keys that set fields of the kernel's objects, from the field tables
 */

#ifdef OM_WITH_KEM
bool om_have_kem = true;
#else
bool om_have_kem;
#endif

static void *section_data(const struct om_parser *p)
{
	return p->section == &om_peer_object ? (void *)om_parser_peer(p) :
					       (void *)&p->conf->dev;
}

static struct om_peer_conf *peer_conf(const struct om_parser *p)
{
	return OM_AT(&p->conf->peer_conf, struct om_peer_conf,
		     p->conf->peer_conf.n - 1);
}

const struct om_field *om_config_field(const struct om_object *obj, const char *name)
{
	for (size_t i = 0; i < obj->fields; i++)
		if (obj->field[i].conf && !strcasecmp(obj->field[i].conf, name))
			return &obj->field[i];
	return NULL;
}

/* Add one item of AllowedIPs. */
static int add_prefix(struct om_parser *p, const struct om_field *f,
		      const char *item, size_t len)
{
	struct om_peer *peer = om_parser_peer(p);
	struct om_prefix prefix;
	struct om_place *place;

	if (om_prefix_parse(item, len, &prefix, p->err))
		return om_parser_blame(p, item, f->conf, OM_USAGE);
	*(struct om_prefix *)om_list_add(&peer->allowed_ips, sizeof(prefix)) =
		prefix;
	place = om_list_add(&p->places, sizeof(*place));
	*place = (struct om_place){ p->line, (unsigned int)(item - p->text) + 1 };
	peer->has |= OM_BIT(OMERTA_A_PEER_ALLOWED_IPS);
	return OM_OK;
}

static int add_prefixes(struct om_parser *p, const struct om_field *f,
			const char *value)
{
	const char *item;
	size_t len;
	int rc = OM_OK;

	if (!*value)
		return OM_OK;
	while (!rc && om_list_item(&value, ",", &item, &len))
		rc = add_prefix(p, f, item, len);
	return rc;
}

/* Check that no earlier peer has the same id or public key. */
static int check_peer(struct om_parser *p, const struct om_field *f,
		      const char *at)
{
	struct om_peer *peer = om_parser_peer(p);

	/* As the kernel says it */
	if (f->attr == OMERTA_A_PEER_CHANNELS && peer->channels == 1)
		peer->channels = 0;
	if (f->attr == OMERTA_A_PEER_ID) {
		if (om_peer_index_id(&p->seen, peer->id, NULL))
			return om_parser_fail(p, at, "Id: \"%u\": another peer has this id",
					      peer->id);
		om_peer_index_add_id(&p->seen, peer->id, 0);
	}
	if (f->attr == OMERTA_A_PEER_PUBLIC_KEY) {
		if (om_peer_index_key(&p->seen, peer->public_key, NULL))
			return om_parser_fail(p, at, "PublicKey: another peer has this key");
		om_peer_index_add_key(&p->seen, peer->public_key, 0);
	}
	return OM_OK;
}

static int set_endpoint(struct om_parser *p, const char *value)
{
	struct om_peer_conf *c = peer_conf(p);
	int rc;

	if (c->endpoint)
		return om_err(p->err, OM_USAGE, "given twice");
	c->endpoint = strdup(value);
	if (!c->endpoint)
		return om_err_sys(p->err, ENOMEM, "Endpoint");
	if (p->flags & OM_CONFIG_NO_NAMES)
		return om_endpoint_check(value, om_parser_peer(p), p->err);
	rc = om_endpoint_parse(value, om_parser_peer(p), p->err);
	if (!rc || !(p->flags & OM_CONFIG_TRY_NAMES) || !p->err->sys)
		return rc;
	om_warn("%s:%u: a peer has no endpoint yet: %s", p->name, p->line, p->err->text);
	/* Each name would take as long. */
	if (p->err->sys == EAGAIN)
		p->flags |= OM_CONFIG_NO_NAMES;
	return OM_OK;
}

static int set_field(struct om_parser *p, const struct om_field *f,
		     const char *value)
{
	void *data = section_data(p);
	int rc;

	if (f->type == OM_MULTI)
		return add_prefixes(p, f, value);
	if (om_field_has(f, data))
		return om_parser_fail(p, value, "%s: given twice",
				      f->conf);
	if (f->format == OM_ENDPOINT)
		rc = set_endpoint(p, value);
	else
		rc = om_value_parse(f, value, data, p->err);
	if (rc)
		return om_parser_blame(p, value, f->conf, rc);
	return p->section == &om_peer_object ? check_peer(p, f, value) : OM_OK;
}

/*
 * Keys that are no field of an object
 */

struct key {
	const char *name;
	const struct om_object *section;
	bool many;
	int (*set)(struct om_parser *p, const struct key *k, const char *value);
};

/* A mistake in a key is reported once, not as a missing key, too. */
static void see_secret(struct om_parser *p, const struct key *k)
{
	p->private_key_seen |= k->section == &om_device_object;
}

static uint8_t **secret_of(struct om_parser *p, const struct key *k)
{
	return k->section == &om_peer_object ? &peer_conf(p)->psk :
					       &p->conf->host.private_key;
}

/*
 * Take the secret that was added last. It is checked even if secrets are not to be kept. The
 * text is never quoted.
 */
static int take_secret(struct om_parser *p, const struct key *k, uint8_t *secret,
		       int rc, const char *value)
{
	if (!rc && om_key_is_zero(secret))
		rc = om_err(p->err, OM_USAGE, "the key is all zeros");
	if (rc || !(p->flags & OM_CONFIG_SECRETS))
		om_secrets_drop_last(&p->conf->secrets);
	else
		*secret_of(p, k) = secret;
	return rc ? om_parser_blame(p, value, k->name, rc) : OM_OK;
}

static int set_secret(struct om_parser *p, const struct key *k, const char *value)
{
	uint8_t *secret;

	see_secret(p, k);
	if (p->exposed)
		return om_parser_fail(p, value, "%s: others may access this file: chmod o-rwx %s",
				      k->name, OM_QUOTE_FILE(p->name));
	if (*secret_of(p, k))
		return om_parser_fail(p, value, "%s: there is one already",
				      k->name);
	secret = om_secrets_add(&p->conf->secrets);
	return take_secret(p, k, secret, om_base64_decode(secret, value, p->err),
			   value);
}

static int set_secret_file(struct om_parser *p, const struct key *k,
			   const char *value)
{
	char path[PATH_MAX];
	uint8_t *secret;

	see_secret(p, k);
	if (!*value)
		return om_parser_fail(p, value, "%s: a file's name is missing",
				      k->name);
	if (*secret_of(p, k))
		return om_parser_fail(p, value, "%s: there is one already",
				      k->name);
	if (!(p->flags & OM_CONFIG_SECRETS))
		return OM_OK;
	snprintf(path, sizeof(path), "%s%s%s", *value == '/' ? "" : p->dir,
		 *value == '/' ? "" : "/", value);
	secret = om_secrets_add(&p->conf->secrets);
	return take_secret(p, k, secret,
			   om_secret_read_safe(secret, path, p->err), value);
}

/* Check that the device can have an address, and has it only once. */
static int check_address(struct om_parser *p, const struct om_prefix *address)
{
	const struct om_list *list = &p->conf->host.addresses;
	bool v4 = address->addr.len == 4;
	char text[OM_PREFIX_LEN];
	struct in6_addr v6;

	memcpy(&v6, address->addr.b, sizeof(v6));
	om_prefix_format(text, sizeof(text), address);
	for (size_t i = 0; i < list->n; i++) {
		const struct om_prefix *other = OM_AT(list, struct om_prefix, i);

		/* Linux has an IPv4 address twice if the lengths differ. */
		if (other->addr.len == address->addr.len &&
		    !memcmp(other->addr.b, address->addr.b, other->addr.len) &&
		    (!v4 || other->len == address->len))
			return om_err(p->err, OM_USAGE, "\"%s\": given twice", text);
	}
	if (v4 ? !address->addr.b[0] || address->addr.b[0] >= 224 :
		 IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LOOPBACK(&v6) ||
		 IN6_IS_ADDR_MULTICAST(&v6))
		return om_err(p->err, OM_USAGE, "\"%s\": not an address of a host", text);
	return OM_OK;
}

static int set_addresses(struct om_parser *p, const struct key *k,
			 const char *value)
{
	struct om_prefix address;
	const char *item;
	size_t len;

	while (om_list_item(&value, ",", &item, &len)) {
		if (om_address_parse(item, len, &address, p->err) ||
		    check_address(p, &address))
			return om_parser_blame(p, item, k->name, OM_USAGE);
		*(struct om_prefix *)om_list_add(&p->conf->host.addresses,
						 sizeof(address)) = address;
	}
	return OM_OK;
}

static struct om_place place_of(const struct om_parser *p, const char *at)
{
	return (struct om_place){ p->line, (unsigned int)(at - p->text) + 1 };
}

static int set_mtu(struct om_parser *p, const struct key *k, const char *value)
{
	uint64_t v;

	p->mtu = place_of(p, value);

	if (om_uint_parse(value, &v) || v < 68 || v > 65535)
		return om_parser_fail(p, value, "%s: %s: must be a number 68..65535",
				      k->name, OM_QUOTE(value));
	p->conf->host.mtu = (uint32_t)v;
	return OM_OK;
}

static int set_table(struct om_parser *p, const struct key *k, const char *value)
{
	uint64_t v = OM_TABLE_OFF;

	if (!strcmp(value, "auto"))
		v = OM_TABLE_AUTO;
	else if (strcmp(value, "off") &&
		 (om_uint_parse(value, &v) || !v || v >= OM_TABLE_OFF))
		return om_parser_fail(p, value, "%s: %s: must be auto, off or a table's number",
				      k->name, OM_QUOTE(value));
	p->conf->host.table = (uint32_t)v;
	return OM_OK;
}

static int set_post_quantum(struct om_parser *p, const struct key *k,
			    const char *value)
{
	static const char *const names[] = {
		[OM_KEM_OFF] = "off",
		[OM_KEM_ON] = "on",
		[OM_KEM_REQUIRED] = "required",
	};
	size_t i = 0;

	while (i < OM_ARRAY_SIZE(names) && strcmp(value, names[i]))
		i++;
	if (i == OM_ARRAY_SIZE(names))
		return om_parser_fail(p, value, "%s: %s: must be off, on or required",
				      k->name, OM_QUOTE(value));
	/* Without secrets (setconf, syncconf) ML-KEM is not needed. */
	if (i != OM_KEM_OFF && (p->flags & OM_CONFIG_SECRETS) && !om_have_kem)
		return om_parser_fail(p, value, "%s: this omertactl has no ML-KEM-768: OpenSSL 3.5 or later is required, both to build and to run it",
				      k->name);
	peer_conf(p)->kem = (enum om_kem_policy)i;
	return OM_OK;
}

static int add_string(struct om_parser *p, const struct key *k, struct om_list *list,
		      const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return om_err_sys(p->err, ENOMEM, "%s", k->name);
	*(char **)om_list_add(list, sizeof(copy)) = copy;
	return OM_OK;
}

static const char *const hook_names[OM_HOOKS] = {
	[OM_HOOK_PRE_UP] = "PreUp",
	[OM_HOOK_POST_UP] = "PostUp",
	[OM_HOOK_PRE_DOWN] = "PreDown",
	[OM_HOOK_POST_DOWN] = "PostDown",
};

/* Root runs these commands, so other users must not be able to change them. */
static int set_hook(struct om_parser *p, const struct key *k, const char *value)
{
	size_t hook = 0;

	while (strcmp(hook_names[hook], k->name))
		hook++;
	if (!*value)
		return om_parser_fail(p, value, "%s: a command is missing", k->name);
	if (p->writable)
		return om_parser_fail(p, value, "%s: others may change this file: chmod go-w %s, and chown it",
				      k->name, OM_QUOTE_FILE(p->name));
	return add_string(p, k, &p->conf->host.hooks[hook], value, strlen(value));
}

#define DOMAIN_CHARACTERS \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

static int set_dns(struct om_parser *p, const struct key *k, const char *value)
{
	struct in6_addr unused;
	char text[INET6_ADDRSTRLEN];
	const char *item;
	size_t len;
	int rc = OM_OK;

	while (!rc && om_list_item(&value, ",", &item, &len)) {
		snprintf(text, sizeof(text), "%.*s", len < sizeof(text) ? (int)len : 0, item);
		if (inet_pton(AF_INET, text, &unused) != 1 &&
		    inet_pton(AF_INET6, text, &unused) != 1 &&
		    (!len || *item == '-' || strspn(item, DOMAIN_CHARACTERS) < len))
			return om_parser_fail(p, item, "%s: %s: neither an address nor a domain",
					      k->name, OM_QUOTE_N(item, len));
		rc = add_string(p, k, &p->conf->host.dns, item, len);
	}
	return rc;
}

static int set_save(struct om_parser *p, const struct key *k, const char *value)
{
	if (strcmp(value, "true") && strcmp(value, "false"))
		return om_parser_fail(p, value, "%s: %s: must be true or false", k->name,
				      OM_QUOTE(value));
	p->conf->host.save = *value == 't';
	return OM_OK;
}

static int set_kill_switch(struct om_parser *p, const struct key *k, const char *value)
{
	if (strcmp(value, "on") && strcmp(value, "off"))
		return om_parser_fail(p, value, "%s: %s: must be on or off", k->name,
				      OM_QUOTE(value));
	p->conf->host.kill_switch = !strcmp(value, "on");
	p->kill_switch = place_of(p, value);
	return OM_OK;
}

static const struct key keys[] = {
	{ "PrivateKey", &om_device_object, false, set_secret },
	{ "PrivateKeyFile", &om_device_object, false, set_secret_file },
	{ "Address", &om_device_object, true, set_addresses },
	{ "MTU", &om_device_object, false, set_mtu },
	{ "Table", &om_device_object, false, set_table },
	{ "PreUp", &om_device_object, true, set_hook },
	{ "PostUp", &om_device_object, true, set_hook },
	{ "PreDown", &om_device_object, true, set_hook },
	{ "PostDown", &om_device_object, true, set_hook },
	{ "DNS", &om_device_object, true, set_dns },
	{ "SaveConfig", &om_device_object, false, set_save },
	{ "KillSwitch", &om_device_object, false, set_kill_switch },
	{ "PresharedKey", &om_peer_object, false, set_secret },
	{ "PresharedKeyFile", &om_peer_object, false, set_secret_file },
	{ "PostQuantum", &om_peer_object, false, set_post_quantum },
};

bool om_config_has_key(const struct om_object *section, const char *key)
{
	for (size_t i = 0; i < OM_ARRAY_SIZE(keys); i++)
		if (keys[i].section == section && !strcasecmp(keys[i].name, key))
			return true;
	return om_config_field(section, key);
}

static int set_key(struct om_parser *p, size_t i, const char *value)
{
	const struct key *k = &keys[i];

	if (!k->many && (p->keys_seen & (1U << i)))
		return om_parser_fail(p, value, "%s: given twice", k->name);
	p->keys_seen |= 1U << i;
	return k->set(p, k, value);
}

const char *om_parser_quote(char *buf, const char *name, size_t len)
{
	const char *known = NULL;

	for (size_t i = 0; i < OM_ARRAY_SIZE(keys); i++)
		if (!strncasecmp(keys[i].name, name, len) && !keys[i].name[len])
			known = keys[i].name;
	for (size_t i = 0; i < om_device_object.fields + om_peer_object.fields; i++) {
		const struct om_field *f = i < om_device_object.fields ?
			&om_device_object.field[i] :
			&om_peer_object.field[i - om_device_object.fields];

		if (f->conf && !strncasecmp(f->conf, name, len) && !f->conf[len])
			known = f->conf;
	}
	if (!known)
		return om_quote(buf, name, len);
	snprintf(buf, OM_QUOTE_LEN, "\"%s\"", known);
	return buf;
}

int om_parser_set(struct om_parser *p, const char *key, char *value)
{
	const struct om_field *f;

	for (size_t i = 0; i < OM_ARRAY_SIZE(keys); i++)
		if (keys[i].section == p->section &&
		    !strcasecmp(keys[i].name, key))
			return set_key(p, i, value);
	f = om_config_field(p->section, key);
	if (f && p->section == &om_device_object && f->attr == OMERTA_A_DEVICE_FWMARK)
		p->mark = place_of(p, value);
	if (f && p->section == &om_device_object && f->attr == OMERTA_A_DEVICE_CPUS)
		p->cpus = place_of(p, value);
	if (f)
		return set_field(p, f, value);
	return om_parser_fail(p, key, "%s: no such key in [%s]",
			      om_parser_quote(OM_QUOTE_BUF, key, strlen(key)),
			      p->section == &om_peer_object ? "Peer" :
							      "Interface");
}
