// SPDX-License-Identifier: GPL-2.0
#include "cmd/runner.h"

#include "lib/quote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_DIR	"/run/omerta"
#define AGENT	"omerta-agent"
/* Time for the agent to exit */
#define END_MS	5000

static const char *run_dir(void)
{
	const char *dir = getenv("RUNTIME_DIRECTORY");

	return dir ? dir : RUN_DIR;
}

/*
 * Open NAME.pid, which an agent locks, or NAME.device. A user who may open the former may lock
 * it, and would look like an agent.
 */
static int open_file(const char *ifname, const char *suffix, int flags, struct om_err *err)
{
	char path[PATH_MAX];
	int fd;

	if ((flags & O_CREAT) && !getenv("RUNTIME_DIRECTORY") && mkdir(RUN_DIR, 0755) &&
	    errno != EEXIST) {
		om_err_sys(err, errno, "%s", OM_QUOTE_FILE(RUN_DIR));
		return -1;
	}
	snprintf(path, sizeof(path), "%s/%s%s", run_dir(), ifname, suffix);
	fd = open(path, flags | O_RDWR | O_CLOEXEC, 0600);
	/* Older versions let anyone read them. */
	if (fd >= 0 && (flags & O_CREAT))
		fchmod(fd, 0600);
	if (fd < 0)
		om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
	return fd;
}

/* A device, which may be renamed */
struct device {
	unsigned int ifindex;
	unsigned long netns;
};

static struct device device_of(const char *ifname)
{
	struct stat st = { 0 };

	if (stat("/proc/self/ns/net", &st))
		st.st_ino = 0;
	return (struct device){ if_nametoindex(ifname), (unsigned long)st.st_ino };
}

static bool read_device(const char *ifname, struct device *dev)
{
	int fd = open_file(ifname, ".device", 0, &(struct om_err){ 0 });
	char text[64] = "";

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return sscanf(text, "%u %lu", &dev->ifindex, &dev->netns) == 2;
}

static int write_device(const char *ifname, struct om_err *err)
{
	int fd = open_file(ifname, ".device", O_CREAT | O_TRUNC, err), rc = OM_OK;
	struct device dev = device_of(ifname);

	if (fd < 0)
		return OM_SYSTEM;
	if (dprintf(fd, "%u %lu\n", dev.ifindex, dev.netns) < 0)
		rc = om_err_sys(err, errno, "the agent's device");
	close(fd);
	return rc;
}

/* Return the agent beside this program, as in a build tree, or else the installed one. */
static const char *agent_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/" AGENT));
	char *slash;

	if (n > 0) {
		path[n] = 0;
		slash = strrchr(path, '/');
		if (slash) {
			strcpy(slash + 1, AGENT);
			if (!access(path, X_OK))
				return path;
		}
	}
	return OM_LIBEXECDIR "/" AGENT;
}

int om_runner_exec(const char *ifname, const char *config, int ready_fd, bool verbose,
		   struct om_err *err)
{
	const char *path = agent_path();
	char fd[16];

	if (ready_fd >= 0) {
		snprintf(fd, sizeof(fd), "%d", ready_fd);
		execl(path, AGENT, "--ready-fd", fd, ifname, config, (char *)NULL);
	} else if (verbose) {
		execl(path, AGENT, "--verbose", ifname, config, (char *)NULL);
	} else {
		execl(path, AGENT, ifname, config, (char *)NULL);
	}
	return om_err_sys(err, errno, "%s", OM_QUOTE_FILE(path));
}

/* In the process that becomes the agent: it reports on standard error why it cannot start. */
static void child(int fd, int ready_fd, const char *ifname, const char *config)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct om_err err;

	setsid();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	/* The agent keeps the lock on the file, and tells by the pipe that it is ready. */
	if (dprintf(fd, "%d\n", (int)getpid()) < 0 || fcntl(fd, F_SETFD, 0) ||
	    fcntl(ready_fd, F_SETFD, 0))
		_exit(OM_SYSTEM);
	om_runner_exec(ifname, config, ready_fd, false, &err);
	om_complain(err.text);
	_exit(OM_SYSTEM);
}

static int start(int fd, const char *ifname, const char *config,
		 struct om_err *err)
{
	int pipe_fd[2];
	pid_t pid;
	ssize_t n;
	char c;

	if (pipe2(pipe_fd, O_CLOEXEC))
		return om_err_sys(err, errno, "agent");
	pid = fork();
	if (!pid) {
		close(pipe_fd[0]);
		child(fd, pipe_fd[1], ifname, config);
	}
	close(pipe_fd[1]);
	do {
		n = pid < 0 ? -1 : read(pipe_fd[0], &c, 1);
	} while (n < 0 && errno == EINTR);
	close(pipe_fd[0]);
	if (n == 1)
		return OM_OK;
	return om_err(err, OM_SYSTEM, "the agent did not start");
}

/* Return true if a process is an agent, or is about to become one. */
static bool is_agent(pid_t pid)
{
	char path[40], name[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, name, sizeof(name) - 1) > 0)
		name[strcspn(name, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
	return !strcmp(name, AGENT) || !strcmp(name, "omertactl");
}

/* Return a pidfd of an agent, or -1 with errno. */
static int open_process(pid_t pid)
{
	int agent = pid > 0 ? pidfd_open(pid, 0) : -1;

	if (pid <= 0 || (agent >= 0 && !is_agent(pid))) {
		if (agent >= 0)
			close(agent);
		agent = -1;
		errno = ESRCH;
	}
	return agent;
}

/* Return a pidfd of the agent that locks NAME.pid, -1 if there is none, or -2 with @err set. */
static int open_agent(const char *name, pid_t *pid, struct om_err *err)
{
	int fd = open_file(name, ".pid", 0, err), agent = -1;
	char text[16] = "";

	if (fd < 0)
		return err->sys == ENOENT ? -1 : -2;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		*pid = pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
		agent = open_process(*pid > 1 ? *pid : 0);
		if (agent < 0) {
			om_err_sys(err, errno, "the agent's process id in %s.pid", name);
			agent = -2;
		}
	}
	close(fd);
	return agent;
}

/*
 * Return true if the agent that was started as @name is that of a device. Older versions wrote no
 * NAME.device, and a device that is gone needs none.
 */
static bool is_agent_of(const char *name, const char *ifname, const struct device *device)
{
	struct device dev;

	if (!read_device(name, &dev))
		return !strcmp(name, ifname);
	return dev.netns == device->netns &&
	       (device->ifindex ? dev.ifindex == device->ifindex : !strcmp(name, ifname));
}

/* The same for the agent of a device, which may have been renamed since it was started. */
static int find_agent(const char *ifname, pid_t *pid, struct om_err *err)
{
	struct device device = device_of(ifname);
	char name[IFNAMSIZ];
	struct dirent *entry;
	int agent = -1;
	DIR *dir;

	if (is_agent_of(ifname, ifname, &device))
		agent = open_agent(ifname, pid, err);
	dir = agent == -1 && device.ifindex ? opendir(run_dir()) : NULL;
	/* Files of agents that have exited may tell of the same device. */
	while (dir && agent == -1 && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len < 8 || len - 7 >= IFNAMSIZ || strcmp(entry->d_name + len - 7, ".device"))
			continue;
		memcpy(name, entry->d_name, len - 7);
		name[len - 7] = '\0';
		if (is_agent_of(name, ifname, &device))
			agent = open_agent(name, pid, err);
	}
	if (dir)
		closedir(dir);
	return agent;
}

/* Wait until the process has exited. */
static bool has_ended(int agent)
{
	struct pollfd p = { agent, POLLIN, 0 };
	int n;

	do {
		n = poll(&p, 1, END_MS);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Wait for the end of an agent that was told, or knows; kill it if it takes long. */
static int end_agent(int agent, pid_t pid, struct om_err *err)
{
	if (has_ended(agent))
		return OM_OK;
	om_warn("the agent, process %d, did not exit within %d s, and is killed", (int)pid,
		END_MS / 1000);
	if (pidfd_send_signal(agent, SIGKILL, NULL, 0) || !has_ended(agent))
		return om_err(err, OM_SYSTEM, "the agent, process %d, does not exit", (int)pid);
	return OM_OK;
}

/*
 * An agent was started under this name, and still runs, but its device is another one: end it if
 * that device is gone.
 */
static int end_other(const char *ifname, struct om_err *err)
{
	struct device device = device_of(ifname), dev;
	char name[IFNAMSIZ];
	pid_t pid = 0;
	int agent, rc;

	if (read_device(ifname, &dev) &&
	    (dev.netns != device.netns || if_indextoname(dev.ifindex, name)))
		return om_err(err, OM_SYSTEM,
			      "the agent of another device, %s, was started as %s: take that down, or set RUNTIME_DIRECTORY",
			      dev.netns == device.netns ? name : "in another network namespace",
			      ifname);
	agent = open_agent(ifname, &pid, err);
	if (agent < 0)
		return agent == -1 ? OM_OK : OM_SYSTEM;
	rc = end_agent(agent, pid, err);
	close(agent);
	return rc;
}

int om_runner_start(const char *ifname, const char *config, const struct om_device *dev,
		    bool *running, struct om_err *err)
{
	int fd = open_file(ifname, ".pid", O_CREAT, err), rc = OM_OK, agent;
	struct device device = device_of(ifname);

	if (fd < 0)
		return OM_SYSTEM;
	agent = dev->control_bound ? open_process((pid_t)dev->agent_pid) : -1;
	/* It may be no process here. */
	*running = dev->control_bound && (agent >= 0 || !dev->agent_pid);
	if (*running) {
		if (agent >= 0)
			close(agent);
		close(fd);
		return OM_OK;
	}
	*running = flock(fd, LOCK_EX | LOCK_NB);
	if (*running && !is_agent_of(ifname, ifname, &device)) {
		rc = end_other(ifname, err);
		*running = !rc && flock(fd, LOCK_EX | LOCK_NB);
	}
	if (!rc && !*running && ftruncate(fd, 0))
		rc = om_err_sys(err, errno, "the agent's process id");
	if (!rc && !*running)
		rc = write_device(ifname, err);
	if (!rc && !*running)
		rc = start(fd, ifname, config, err);
	close(fd);
	return rc;
}

int om_runner_stop(const char *ifname, bool *ran, struct om_err *err)
{
	pid_t pid = 0;
	int agent = find_agent(ifname, &pid, err), rc;

	*ran = agent >= 0;
	if (agent < 0)
		return agent == -1 ? OM_OK : OM_SYSTEM;
	if (pidfd_send_signal(agent, SIGTERM, NULL, 0) && errno != ESRCH)
		rc = om_err_sys(err, errno, "cannot stop the agent, process %d", (int)pid);
	else
		rc = end_agent(agent, pid, err);
	close(agent);
	return rc;
}

/* Return the main process of the service that runs this, or 0. */
static pid_t service(void)
{
	const char *pid = getenv("MAINPID");

	return pid && atoi(pid) > 1 ? atoi(pid) : 0;
}

bool om_runner_renamed(const char *ifname, char name[IFNAMSIZ])
{
	struct device here = device_of(ifname), dev;

	return !here.ifindex && read_device(ifname, &dev) && dev.netns == here.netns &&
	       if_indextoname(dev.ifindex, name) && strcmp(name, ifname);
}

bool om_runner_runs(const char *ifname, const struct om_device *dev)
{
	struct om_err unused;
	pid_t pid;
	int agent = service() || dev->control_bound ? -2 : find_agent(ifname, &pid, &unused);

	if (agent >= 0)
		close(agent);
	return agent != -1;
}

int om_runner_reload(const char *ifname, const struct om_device *dev, struct om_err *err)
{
	pid_t pid = service();
	int agent = pid ? pidfd_open(pid, 0) : find_agent(ifname, &pid, err);
	int rc = OM_OK;

	/* That of a service, for example */
	if (agent == -1 && !pid && dev->control_bound) {
		pid = (pid_t)dev->agent_pid;
		agent = open_process(pid);
		if (agent < 0)
			return om_err(err, OM_SYSTEM,
				      "the agent, which is not a process here, has to be told to read its file (SIGHUP)");
	}
	if (agent < 0)
		return agent == -1 ? OM_OK : OM_SYSTEM;
	if (pidfd_send_signal(agent, SIGHUP, NULL, 0) && errno != ESRCH)
		rc = om_err_sys(err, errno, "cannot signal the agent, process %d", (int)pid);
	close(agent);
	return rc;
}
