// SPDX-License-Identifier: GPL-2.0
#include "host.h"

#include "quote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/*
 * ip(8) does what it is there for: a batch ends with the first line that fails.
 */

enum { IPV4, IPV6, FAMILIES };

static const char *const family_option[] = { "-4", "-6", "-oneline" };
#define NO_FAMILY	FAMILIES

/* @out: where its output goes, or -1 */
static int spawn_ip(int family, int in, int out, bool quiet, pid_t *pid)
{
	const char *const argv[] = {
		"ip", family_option[family], "-batch", "-", NULL
	};
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (!rc && out >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out,
						      STDOUT_FILENO);
	if (!rc && quiet)
		rc = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO,
						      "/dev/null", O_WRONLY, 0);
	if (!rc)
		rc = posix_spawnp(pid, "ip", &actions, NULL,
				  (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static int wait_for(pid_t pid, struct om_err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return om_err_sys(err, errno, "ip");
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return OM_OK;
	return om_err(err, OM_SYSTEM, "ip(8) was refused what is said above");
}

/* In a file, so that no end waits for the other */
static int run_ip_to(int family, const char *batch, int out, bool quiet,
		     struct om_err *err)
{
	FILE *f = tmpfile();
	pid_t pid;
	int rc;

	if (!f || fputs(batch, f) < 0 || fflush(f) ||
	    lseek(fileno(f), 0, SEEK_SET) < 0) {
		rc = om_err_sys(err, errno, "ip");
	} else {
		rc = spawn_ip(family, fileno(f), out, quiet, &pid);
		rc = rc ? om_err_sys(err, rc, "\"ip\": is iproute2 installed?") :
			  wait_for(pid, err);
	}
	if (f)
		fclose(f);
	return rc;
}

static int run_ip(int family, const char *batch, bool quiet, struct om_err *err)
{
	return run_ip_to(family, batch, -1, quiet, err);
}

struct batch {
	FILE *f;
	const char *ifname;
	const struct om_config *conf;
};

void om_host_set_mark(struct om_config *conf)
{
	if (conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK) ||
	    !om_config_has_default(conf, 0))
		return;
	conf->dev.has |= OM_BIT(OMERTA_A_DEVICE_FWMARK);
	conf->dev.fwmark = OM_HOST_MARK;
}

static void put_addresses(const struct batch *b)
{
	const struct om_list *list = &b->conf->host.addresses;
	char buf[OM_PREFIX_LEN];

	for (size_t i = 0; i < list->n; i++) {
		om_prefix_format(buf, sizeof(buf),
				 OM_AT(list, struct om_prefix, i));
		fprintf(b->f, "address add %s dev %s\n", buf, b->ifname);
	}
}

/* Answers to what has the mark are looked for by it, too. */
static int allow_marks(struct om_err *err)
{
	static const char path[] = "/proc/sys/net/ipv4/conf/all/src_valid_mark";
	FILE *f = fopen(path, "we");

	if (!f || fputs("1\n", f) < 0 || fclose(f))
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	return OM_OK;
}

/*
 * The rules of a default route, of which one can be there without the other. More
 * specific routes than the default one are followed before it.
 */
#define RULE_OF_TABLE	"not fwmark %1$" PRIu32 " table %1$" PRIu32
#define RULE_OF_MAIN	"table main suppress_prefixlength 0"

static const char *const rule_format[] = { RULE_OF_TABLE, RULE_OF_MAIN };

#define RULES		OM_ARRAY_SIZE(rule_format)

static int change_rule(int family, size_t rule, const char *change,
		       uint32_t mark, bool quiet, struct om_err *err)
{
	char text[160], what[120];

	snprintf(what, sizeof(what), rule_format[rule], mark);
	snprintf(text, sizeof(text), "rule %s %s\n", change, what);
	return run_ip(family, text, quiet, err);
}

static int add_rules(int family, const struct om_config *conf,
		     struct om_host_rules *rules, struct om_err *err)
{
	int rc = OM_OK;

	if (!om_config_has_default(conf, family == IPV4 ? 4 : 16))
		return OM_OK;
	rules->mark = conf->dev.fwmark;
	if (family == IPV4)
		rc = allow_marks(err);
	for (size_t i = 0; i < RULES && !rc; i++) {
		rc = change_rule(family, i, "add", rules->mark, false, err);
		rules->there[family][i] = !rc;
	}
	return rc;
}

/* The second one may be others', too: without the first it was not we who added it. */
void om_host_drop_rules(const struct om_host_rules *rules)
{
	struct om_err unused;
	bool last;

	for (int family = 0; family < FAMILIES; family++) {
		last = false;
		for (size_t i = 0; i < RULES && !last; i++)
			last = rules->there[family][i] &&
			       change_rule(family, i, "del", rules->mark, true,
					   &unused);
	}
}

/* How many default routes a table has, into a device or any */
static unsigned int default_routes(int family, uint32_t table, const char *ifname)
{
	char text[100];
	FILE *out = tmpfile();
	struct om_err unused;
	unsigned int n = 0;
	int c;

	if (!out)
		return 0;
	snprintf(text, sizeof(text), "route show default table %" PRIu32 "%s%s\n",
		 table, ifname ? " dev " : "", ifname ? ifname : "");
	/* There is no table without a route. */
	if (!run_ip_to(family, text, fileno(out), true, &unused)) {
		rewind(out);
		while ((c = getc(out)) != EOF)
			n += c == '\n';
	}
	fclose(out);
	return n;
}

/* The device's routes may be gone: it was set down, or is not there any more. */
void om_host_find_rules(const char *ifname, uint32_t mark,
			struct om_host_rules *rules)
{
	bool ours;

	memset(rules, 0, sizeof(*rules));
	rules->mark = mark;
	for (int family = 0; family < FAMILIES && mark; family++) {
		ours = default_routes(family, mark, NULL) ==
		       default_routes(family, mark, ifname);
		for (size_t i = 0; i < RULES; i++)
			rules->there[family][i] = ours;
	}
}

static void put_route(const struct batch *b, const struct om_prefix *p)
{
	uint32_t table = b->conf->host.table;
	char buf[OM_PREFIX_LEN];

	if (table == OM_TABLE_AUTO && !p->len)
		table = b->conf->dev.fwmark;
	om_prefix_format(buf, sizeof(buf), p);
	fprintf(b->f, "route add %s dev %s", buf, b->ifname);
	if (table != OM_TABLE_AUTO)
		fprintf(b->f, " table %" PRIu32, table);
	fputc('\n', b->f);
}

static void put_routes(const struct batch *b)
{
	const struct om_list *peers = &b->conf->peers;

	if (b->conf->host.table == OM_TABLE_OFF)
		return;
	for (size_t i = 0; i < peers->n; i++) {
		const struct om_list *ips =
			&OM_AT(peers, struct om_peer, i)->allowed_ips;

		for (size_t k = 0; k < ips->n; k++)
			put_route(b, OM_AT(ips, struct om_prefix, k));
	}
}

int om_host_configure(const char *ifname, const struct om_config *conf,
		      struct om_host_rules *rules, struct om_err *err)
{
	struct batch b = { .ifname = ifname, .conf = conf };
	char *text = NULL;
	size_t len;
	int rc;

	memset(rules, 0, sizeof(*rules));
	b.f = open_memstream(&text, &len);
	if (!b.f)
		return om_err_sys(err, errno, "ip");
	put_addresses(&b);
	if (conf->host.mtu)
		fprintf(b.f, "link set dev %s mtu %" PRIu32 "\n", ifname,
			conf->host.mtu);
	fprintf(b.f, "link set dev %s up\n", ifname);
	put_routes(&b);
	rc = fclose(b.f) ? om_err_sys(err, errno, "ip") :
			   run_ip(NO_FAMILY, text, false, err);
	free(text);
	for (int family = 0; family < FAMILIES && !rc; family++)
		rc = add_rules(family, conf, rules, err);
	return rc;
}
