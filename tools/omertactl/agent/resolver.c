// SPDX-License-Identifier: GPL-2.0
#include "agent/resolver.h"

#include "agent/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET	3

/*
 * The child keeps only its socket (no lock), ignores the signals for its parent, and exits
 * with it.
 */
static void let_go(int fd, pid_t parent)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	/* No messages come from here; the starter waits for standard error to be closed. */
	dup2(STDOUT_FILENO, STDERR_FILENO);
	if (fd != SOCKET && dup2(fd, SOCKET) < 0)
		_exit(OM_SYSTEM);
	if (close_range(SOCKET + 1, ~0U, 0))
		_exit(OM_SYSTEM);
	om_sandbox_powerless();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(OM_OK);
}

static void answer(struct om_resolver_answer *a)
{
	struct om_peer found[OM_RESOLVER_ADDRS] = { 0 };
	size_t n = OM_RESOLVER_ADDRS;
	struct om_err err;

	if (om_endpoint_lookup(a->endpoint, found, &n, &err))
		a->error = err.sys ? err.sys : EINVAL;
	for (size_t i = 0; i < n; i++)
		a->addr[a->n++] = (struct om_resolver_addr){
			found[i].endpoint_addr, found[i].endpoint_port, found[i].endpoint_scope
		};
}

/* Answer questions until the parent is gone. */
static void serve(int fd)
{
	struct om_resolver_question q;
	struct om_resolver_answer a;
	ssize_t n;

	for (;;) {
		memset(&a, 0, sizeof(a));
		n = recv(fd, &q, sizeof(q), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(q))
			return;
		a.id = q.id;
		memcpy(a.endpoint, q.endpoint, sizeof(a.endpoint));
		a.endpoint[sizeof(a.endpoint) - 1] = '\0';
		answer(&a);
		if (send(fd, &a, sizeof(a), MSG_NOSIGNAL) < 0)
			return;
	}
}

int om_resolver_start(struct om_resolver *r, struct om_err *err)
{
	pid_t parent = getpid(), pid;
	int fd[2];

	r->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return om_err_sys(err, errno, "resolver");
	pid = fork();
	if (pid < 0) {
		close(fd[0]);
		close(fd[1]);
		return om_err_sys(err, errno, "resolver");
	}
	if (!pid) {
		let_go(fd[1], parent);
		serve(SOCKET);
		_exit(OM_OK);
	}
	close(fd[1]);
	r->fd = fd[0];
	return OM_OK;
}

void om_resolver_stop(struct om_resolver *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

bool om_resolver_ask(struct om_resolver *r, uint32_t id, const char *endpoint)
{
	struct om_resolver_question q = { .id = id };

	strncpy(q.endpoint, endpoint, sizeof(q.endpoint) - 1);
	return send(r->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(q);
}

bool om_resolver_answer(struct om_resolver *r, struct om_resolver_answer *answer)
{
	ssize_t n = recv(r->fd, answer, sizeof(*answer), MSG_DONTWAIT);

	if (n == sizeof(*answer))
		return true;
	if (r->fd >= 0 && (n >= 0 || (errno != EAGAIN && errno != EINTR))) {
		om_complain("the process that resolves names has exited: endpoints are not updated");
		om_resolver_stop(r);
	}
	return false;
}
