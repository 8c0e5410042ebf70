// SPDX-License-Identifier: GPL-2.0
/*
 * The filters of system calls, each in a child: would catch a filter that is not loaded, allows
 * programs to be executed, memory to become executable or the resolver to write, or forbids what the agent needs.
 */
#include "unit.h"

#include "agent/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXECUTES = 1, MAPS = 2, NO_FILE = 4, NO_SOCKET = 8, NO_FILTER = 16, WRITES = 32 };

static bool executes(void)
{
	char *const args[] = { "true", NULL };
	int pid = vfork(), status = 0;

	if (pid < 0)
		return false;
	if (!pid) {
		execv("/bin/true", args);
		_exit(errno == EPERM);
	}
	waitpid(pid, &status, 0);
	return !status;
}

static bool maps_code(void)
{
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem != MAP_FAILED;
}

/* The child's exit status: what it could do and could not. */
static int probe(void)
{
	char byte;
	int fd = open("/proc/self/status", O_RDONLY), status = 0;

	if (prctl(PR_GET_SECCOMP) == 0)
		status |= NO_FILTER;
	if (fd < 0 || read(fd, &byte, 1) != 1)
		status |= NO_FILE;
	if (socket(AF_UNIX, SOCK_DGRAM, 0) < 0)
		status |= NO_SOCKET;
	if (maps_code())
		status |= MAPS;
	if (executes())
		status |= EXECUTES;
	if (open("/dev/null", O_WRONLY) >= 0 || open("/dev/null", O_RDWR) >= 0 ||
	    open("/dev/null", O_RDONLY | O_TRUNC) >= 0 ||
	    open("/dev/null", O_RDONLY | O_CREAT, 0600) >= 0)
		status |= WRITES;
	return status;
}

static int in_child(void (*enter)(void))
{
	int pid = fork(), status = -1;

	if (!pid) {
		enter();
		_exit(probe());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void enter_agent(void)
{
	struct om_err err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || om_sandbox_filter(&err))
		_exit(100);
}

static void enter_nothing(void)
{
}

void test_sandbox(void)
{
	int status = in_child(enter_nothing);

	if (prctl(PR_GET_SECCOMP) < 0) {
		unit_skip("sandbox: filters", "the kernel has no seccomp");
		return;
	}
	unit_ok((status & ~NO_FILTER) == (EXECUTES | MAPS | WRITES), "sandbox: the probe", "%d", status);
	status = in_child(enter_agent);
	/* prctl() is forbidden, and does not return 0. */
	unit_ok(status == WRITES, "sandbox: the agent", "%d", status);
	status = in_child(om_sandbox_powerless);
	unit_ok(status == MAPS, "sandbox: the resolver", "%d", status);
}
