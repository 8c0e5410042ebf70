// SPDX-License-Identifier: GPL-2.0
#include "lib/times_forget.h"

#include "lib/keygen.h"
#include "lib/quote.h"
#include "lib/times.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The agent answers within one turn of its loop. */
#define WAIT_MS		5000
#define STEP_MS		10

static void request_path(char *out, size_t size, const char *path)
{
	snprintf(out, size, "%s.forget", path);
}

static int write_request(const char *path, const uint8_t *public, struct om_err *err)
{
	char line[OM_BASE64_LEN];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool ok;

	if (fd < 0 && errno == EEXIST)
		return om_err(err, OM_SYSTEM,
			      "%s exists: another command is running; remove the file if not",
			      OM_QUOTE_FILE(path));
	if (fd < 0)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	om_base64_encode(line, public);
	line[OM_BASE64_LEN - 1] = '\n';
	ok = write(fd, line, OM_BASE64_LEN) == OM_BASE64_LEN;
	if (!ok) {
		om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
		unlink(path);
	}
	close(fd);
	return ok ? OM_OK : OM_SYSTEM;
}

int om_times_forget_ask(const char *path, const uint8_t *public, struct om_err *err)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	pid_t pid = om_times_owner(path);
	char request[PATH_MAX + 8];
	int rc;

	/* The signal would end an older agent. */
	if (!pid)
		return om_err(err, OM_SYSTEM,
			      "the agent that has %s cannot be asked: stop it, or start it again with this omertactl",
			      OM_QUOTE_FILE(path));
	request_path(request, sizeof(request), path);
	rc = write_request(request, public, err);
	if (rc)
		return rc;
	if (kill(pid, OM_TIMES_SIGNAL)) {
		rc = om_err_sys(err, errno, "the agent, process %d", (int)pid);
		unlink(request);
		return rc;
	}
	for (int i = 0; i < WAIT_MS / STEP_MS; i++) {
		if (access(request, F_OK))
			return OM_OK;
		nanosleep(&step, NULL);
	}
	unlink(request);
	return om_err(err, OM_SYSTEM,
		      "the agent, process %d, did not do it: see its log", (int)pid);
}

int om_times_forget_asked(const char *path, uint8_t public[OMERTA_KEY_LEN],
			  struct om_err *err)
{
	char request[PATH_MAX + 8], line[OM_BASE64_LEN];
	ssize_t n;
	int fd;

	request_path(request, sizeof(request), path);
	fd = open(request, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(request));
	n = read(fd, line, sizeof(line));
	close(fd);
	line[OM_BASE64_LEN - 1] = '\0';
	if (n != sizeof(line) || om_base64_decode(public, line, err))
		return om_err(err, OM_SYSTEM, "%s: not the public key of a peer",
			      OM_QUOTE_FILE(request));
	return OM_OK;
}

void om_times_forget_done(const char *path)
{
	char request[PATH_MAX + 8];

	request_path(request, sizeof(request), path);
	unlink(request);
}
