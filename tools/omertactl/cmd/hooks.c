// SPDX-License-Identifier: GPL-2.0
#include "cmd/hooks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Wait for a program. @what: its name in errors */
static int wait_for(pid_t pid, const char *what, struct om_err *err)
{
	int status;

	if (pid < 0)
		return om_err_sys(err, errno, "%s", what);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return om_err_sys(err, errno, "%s", what);
	if (WIFSIGNALED(status))
		return om_err(err, OM_SYSTEM, "%s was ended by signal %d", what, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return om_err(err, OM_SYSTEM, "%s failed with status %d", what,
			      WEXITSTATUS(status));
	return OM_OK;
}

/*
 * Commands of the file
 */

/* Replace each %i. */
static char *expand(const char *command, const char *ifname)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (; *command; command++) {
		if (command[0] == '%' && command[1] == 'i') {
			fputs(ifname, f);
			command++;
		} else {
			putc(*command, f);
		}
	}
	fclose(f);
	return text;
}

static int run_hook(const char *command, const char *ifname, const char *what,
		    struct om_err *err)
{
	/* wg-quick runs them in bash. A container may lack it. */
	const char *shell = access("/bin/bash", X_OK) ? "/bin/sh" : "/bin/bash";
	char *text = expand(command, ifname);
	int rc = OM_SYSTEM;
	pid_t pid;

	if (!text)
		return om_err_sys(err, ENOMEM, "%s", what);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		execl(shell, shell, "-c", text, (char *)NULL);
		_exit(127);
	}
	rc = wait_for(pid, what, err);
	free(text);
	return rc;
}

int om_hooks_run(const struct om_config *conf, enum om_hook hook, const char *ifname,
		 struct om_err *err)
{
	static const char *const names[OM_HOOKS] = { "PreUp", "PostUp", "PreDown", "PostDown" };
	const struct om_list *list = &conf->host.hooks[hook];
	char what[40];
	int rc = OM_OK;

	for (size_t i = 0; i < list->n && !rc; i++) {
		snprintf(what, sizeof(what), "command %zu of %s", i + 1, names[hook]);
		rc = run_hook(*OM_AT(list, char *, i), ifname, what, err);
	}
	return rc;
}

/*
 * Name servers
 */

/* @input: its standard input */
static int run(char *const argv[], const char *input, struct om_err *err)
{
	void (*old)(int) = SIG_DFL;
	int fd[2];
	pid_t pid;

	if (pipe(fd))
		return om_err_sys(err, errno, "%s", argv[0]);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fd[0], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		execvp(argv[0], argv);
		fprintf(stderr, "omertactl: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(fd[0]);
	/* Less than a pipe holds. Other programs must not inherit this. */
	old = signal(SIGPIPE, SIG_IGN);
	if (pid > 0 && write(fd[1], input, strlen(input)) < 0 && errno != EPIPE)
		om_warn("%s: %s", argv[0], strerror(errno));
	close(fd[1]);
	signal(SIGPIPE, old);
	return wait_for(pid, argv[0], err);
}

static bool is_address(const char *text)
{
	uint8_t unused[16];

	return inet_pton(AF_INET, text, unused) == 1 || inet_pton(AF_INET6, text, unused) == 1;
}

static bool resolved_runs(void)
{
	return !access("/run/systemd/resolve/resolv.conf", F_OK);
}

/* Run: resolvectl dns|domain DEV WORD... */
static int resolvectl(const struct om_list *dns, const char *what, const char *ifname,
		      bool addresses, const char *else_word, struct om_err *err)
{
	char **argv = calloc(dns->n + 5, sizeof(*argv));
	size_t n = 3;
	int rc;

	if (!argv)
		return om_err_sys(err, ENOMEM, "resolvectl");
	argv[0] = (char *)"resolvectl";
	argv[1] = (char *)what;
	argv[2] = (char *)ifname;
	for (size_t i = 0; i < dns->n; i++)
		if (is_address(*OM_AT(dns, char *, i)) == addresses)
			argv[n++] = *OM_AT(dns, char *, i);
	if (n == 3)
		argv[n++] = (char *)else_word;
	rc = run(argv, "", err);
	free(argv);
	return rc;
}

/* Write a resolv.conf for resolvconf(8), whose "-x" makes it the only one. */
static char *resolv_conf(const struct om_list *dns)
{
	bool search = false;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; i < dns->n; i++)
		if (is_address(*OM_AT(dns, char *, i)))
			fprintf(f, "nameserver %s\n", *OM_AT(dns, char *, i));
	for (size_t i = 0; i < dns->n; i++) {
		if (is_address(*OM_AT(dns, char *, i)))
			continue;
		fprintf(f, "%s%s", search ? " " : "search ", *OM_AT(dns, char *, i));
		search = true;
	}
	fputs(search ? "\n" : "", f);
	fclose(f);
	return text;
}

int om_dns_set(const struct om_config *conf, const char *ifname, struct om_err *err)
{
	const struct om_list *dns = &conf->host.dns;
	char name[IFNAMSIZ + 4], *text;
	int rc;

	if (!dns->n)
		return OM_OK;
	if (resolved_runs()) {
		rc = resolvectl(dns, "dns", ifname, true, "", err);
		return rc ? rc : resolvectl(dns, "domain", ifname, false, "~.", err);
	}
	text = resolv_conf(dns);
	if (!text)
		return om_err_sys(err, ENOMEM, "resolvconf");
	/* Implementations sort by name: tunnels come first. */
	snprintf(name, sizeof(name), "tun.%s", ifname);
	rc = run((char *const[]){ (char *)"resolvconf", (char *)"-a", name, (char *)"-m",
				  (char *)"0", (char *)"-x", NULL }, text, err);
	free(text);
	return rc;
}

/* Debian's resolvconf and openresolv keep what they are told here. */
static bool resolvconf_has(const char *name)
{
	static const char *const dirs[] = {
		"/run/resolvconf/interface", "/run/resolvconf/interfaces", "/run/resolvconf/keys",
	};
	char path[80];

	for (size_t i = 0; i < OM_ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

int om_dns_unset(const struct om_config *conf, const char *ifname, struct om_err *err)
{
	char name[IFNAMSIZ + 4];

	snprintf(name, sizeof(name), "tun.%s", ifname);
	/* systemd-resolved forgets what it knows of a device with the device. */
	if (resolved_runs())
		return !if_nametoindex(ifname) ? OM_OK :
		       run((char *const[]){ (char *)"resolvectl", (char *)"revert",
					    (char *)ifname, NULL }, "", err);
	if (!conf->host.dns.n && !resolvconf_has(name))
		return OM_OK;
	return run((char *const[]){ (char *)"resolvconf", (char *)"-d", name, (char *)"-f", NULL },
		   "", err);
}
