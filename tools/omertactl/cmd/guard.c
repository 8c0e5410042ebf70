// SPDX-License-Identifier: GPL-2.0
#include "cmd/guard.h"

#include "lib/addr.h"
#include "lib/nft.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Identifiers have fewer characters than names of devices. */
static void make_name(char name[OM_GUARD_NAME], const char *ifname)
{
	size_t n = (size_t)sprintf(name, "omerta_");

	for (; *ifname; ifname++)
		n += (size_t)sprintf(name + n, isalnum((unsigned char)*ifname) ? "%c" : "_%02x",
				     (unsigned char)*ifname);
}

/* Return the rules of a table, NULL if there is none. */
static char *list(const char *name)
{
	char command[OM_GUARD_NAME + 32], *text;
	struct om_err unused;

	snprintf(command, sizeof(command), "list table inet %s", name);
	return om_nft_run(command, &text, &unused) ? NULL : text;
}

/*
 * Find the device that the rules of a table are about, which may have another name by now. nft
 * prints the number of a device that is gone. Returns false then.
 */
static bool get_device(const char *text, char ifname[IFNAMSIZ])
{
	const char *at = strstr(text, "iif != \"");

	return at && sscanf(at, "iif != \"%15[^\"]", ifname) == 1;
}

/*
 * Find the table of a device, and its rules: one about this device, or else one of that name whose
 * device is gone. Without any, @name gets a free name, and NULL is returned.
 */
static char *find(const char *ifname, char name[OM_GUARD_NAME])
{
	char *tables = NULL, *text = NULL, *line, *rest, *found = NULL;
	char own[OM_GUARD_NAME], device[IFNAMSIZ];
	struct om_err unused;
	bool other = false;

	make_name(own, ifname);
	if (!om_nft_run("list tables inet", &tables, &unused))
		rest = tables;
	else
		rest = NULL;
	while (!found && (line = strsep(&rest, "\n"))) {
		if (sscanf(line, "table inet %79s", name) != 1 || strncmp(name, "omerta_", 7))
			continue;
		text = list(name);
		if (text && (get_device(text, device) ? !strcmp(device, ifname) :
							!strcmp(name, own)))
			found = text;
		else
			free(text);
		other |= !found && !strcmp(name, own);
	}
	free(tables);
	if (!found)
		snprintf(name, OM_GUARD_NAME, other ? "%s_%u" : "%s", own, if_nametoindex(ifname));
	return found;
}

/*
 * The rules
 */

static void put_addresses(FILE *f, const struct om_config *conf, const char *ifname,
			  unsigned int len)
{
	const struct om_list *addresses = &conf->host.addresses;
	char text[INET6_ADDRSTRLEN];
	bool any = false;

	for (size_t i = 0; i < addresses->n; i++) {
		const struct om_addr *addr = &OM_AT(addresses, struct om_prefix, i)->addr;

		if (addr->len != len)
			continue;
		om_addr_format(text, sizeof(text), addr);
		if (any)
			fprintf(f, ", %s", text);
		else
			fprintf(f, "\t\tiif != \"%s\" %s daddr { %s", ifname,
				len == 4 ? "ip" : "ip6", text);
		any = true;
	}
	if (any)
		fputs(" } fib saddr type != local drop\n", f);
}

/* Without the mark, filters of reverse paths would look for a way through the tunnel. */
static void put_protection(FILE *f, const struct om_config *conf, const char *ifname)
{
	const struct passwd *user = getpwnam(OM_USER);

	fputs("\tchain from_outside {\n"
	      "\t\ttype filter hook prerouting priority raw; policy accept;\n", f);
	for (unsigned int len = 4; len <= 16; len += 12)
		if (om_config_has_default(conf, len))
			put_addresses(f, conf, ifname, len);
	fprintf(f,
		"\t}\n"
		"\tchain mark_answers {\n"
		"\t\ttype filter hook prerouting priority mangle; policy accept;\n"
		"\t\tct mark %" PRIu32 " meta mark set ct mark\n"
		"\t}\n"
		"\tchain keep_mark {\n"
		"\t\ttype filter hook postrouting priority mangle; policy accept;\n"
		"\t\tmeta l4proto udp meta mark %" PRIu32 " ct mark set meta mark\n",
		conf->dev.fwmark, conf->dev.fwmark);
	/* Look-ups pass by their user. */
	if (user)
		fprintf(f, "\t\tmeta skuid %u meta l4proto { tcp, udp } th dport 53 ct mark set %" PRIu32 "\n",
			(unsigned int)user->pw_uid, conf->dev.fwmark);
	fputs("\t}\n", f);
}

/*
 * By name, so that it holds while the device is replaced, and by number in case it is renamed. The
 * host's own link needs neighbour discovery and DHCP, and the agent the names of endpoints.
 */
static void put_kill_switch(FILE *f, const struct om_config *conf, const char *ifname)
{
	const struct passwd *user = getpwnam(OM_USER);

	fprintf(f,
		"\tchain elsewhere {\n"
		"\t\toifname { \"lo\", \"%s\" } accept\n"
		"\t\toif \"%s\" accept\n"
		"\t\tmeta mark %" PRIu32 " accept\n"
		"\t\treject with icmpx type admin-prohibited\n"
		"\t}\n"
		"\tchain forward {\n"
		"\t\ttype filter hook forward priority filter; policy accept;\n"
		"\t\tiif != \"%s\" jump elsewhere\n"
		"\t}\n"
		"\tchain output {\n"
		"\t\ttype filter hook output priority filter; policy accept;\n"
		"\t\ticmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report } accept\n"
		"\t\tudp sport 68 udp dport 67 accept\n"
		"\t\tudp sport 546 udp dport 547 accept\n",
		ifname, ifname, conf->dev.fwmark, ifname);
	if (user)
		fprintf(f, "\t\tmeta skuid %u meta l4proto { tcp, udp } th dport 53 accept\n",
			(unsigned int)user->pw_uid);
	fputs("\t\tjump elsewhere\n\t}\n", f);
}

static bool wants_protection(const struct om_config *conf)
{
	return om_config_has_default(conf, 0) && conf->dev.fwmark;
}

/* Return commands that replace the table, NULL without memory. */
static char *make_rules(const struct om_config *conf, const char *ifname, const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "add table inet %s\ndelete table inet %s\ntable inet %s {\n", name, name, name);
	if (wants_protection(conf))
		put_protection(f, conf, ifname);
	if (conf->host.kill_switch)
		put_kill_switch(f, conf, ifname);
	fputs("}\n", f);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static int replace(struct om_guard *g, const struct om_config *conf, const char *ifname,
		   struct om_err *err)
{
	char *text = make_rules(conf, ifname, g->name), *now;
	int rc = text ? om_nft_run(text, NULL, err) : om_err_sys(err, ENOMEM, "packet filter");

	free(text);
	if (rc)
		return rc;
	now = list(g->name);
	g->changed = !g->before || !now || strcmp(g->before, now);
	free(now);
	return OM_OK;
}

int om_guard_apply(struct om_guard *g, const struct om_config *conf, const char *ifname,
		   struct om_err *err)
{
	struct om_err why;

	if (conf->host.kill_switch && !conf->dev.fwmark)
		return om_err(err, OM_USAGE,
			      "KillSwitch: the tunnel's own datagrams have no mark: set FwMark");
	om_guard_find(g, ifname);
	if (!wants_protection(conf) && !conf->host.kill_switch)
		return om_guard_remove(g, err);
	if (!replace(g, conf, ifname, &why))
		return OM_OK;
	if (conf->host.kill_switch)
		return om_err(err, OM_SYSTEM, "KillSwitch: %.300s", why.text);
	om_warn("packets for the tunnel's addresses from other links are not dropped: %.300s",
		why.text);
	return OM_OK;
}

void om_guard_undo(struct om_guard *g)
{
	struct om_err unused;
	char *text;

	if (!g->changed)
		return;
	if (asprintf(&text, "add table inet %s\ndelete table inet %s\n%s", g->name, g->name,
		     g->before ? g->before : "") >= 0) {
		om_nft_run(text, NULL, &unused);
		free(text);
	}
	g->changed = false;
}

void om_guard_find(struct om_guard *g, const char *ifname)
{
	memset(g, 0, sizeof(*g));
	g->before = find(ifname, g->name);
}

int om_guard_remove(struct om_guard *g, struct om_err *err)
{
	char command[OM_GUARD_NAME + 32];
	int rc;

	if (!g->before)
		return OM_OK;
	snprintf(command, sizeof(command), "delete table inet %s", g->name);
	rc = om_nft_run(command, NULL, err);
	g->changed = !rc;
	g->removed = !rc;
	return rc;
}

bool om_guard_exists(const char *ifname)
{
	struct om_guard g;
	bool found;

	om_guard_find(&g, ifname);
	found = g.before;
	om_guard_free(&g);
	return found;
}

void om_guard_free(struct om_guard *g)
{
	free(g->before);
	memset(g, 0, sizeof(*g));
}
