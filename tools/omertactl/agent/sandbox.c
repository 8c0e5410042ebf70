// SPDX-License-Identifier: GPL-2.0
#include "agent/sandbox.h"

#include "lib/keygen.h"
#include "lib/quote.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's overflow id, which owns nothing */
#define NOBODY	65534

void om_sandbox_hide(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct rlimit none = { 0 };
	bool later;

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	/* Only root may raise the limit, and it drops that capability soon. */
	setrlimit(RLIMIT_MEMLOCK, &all);
	getrlimit(RLIMIT_MEMLOCK, &all);
	/* With a limit, MCL_FUTURE would make later allocations fail; secrets lock themselves. */
	later = all.rlim_cur == RLIM_INFINITY;
	if (mlockall(later ? MCL_CURRENT | MCL_FUTURE : MCL_CURRENT))
		om_warn("memory is not locked, secrets may be swapped out: see ulimit -l");
	else if (later)
		om_secret_all_locked();
}

/* Keep only these capabilities. The C library has no function for capset(). */
static int keep(uint32_t caps)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = caps, .permitted = caps },
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_capset, &head, data))
		return errno;
	return 0;
}

/* Change the user. The permitted capabilities stay, and are dropped next. */
static int become(uid_t uid, gid_t gid)
{
	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(1, &gid) ||
	    setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return errno;
	/* setresuid() has set it to fs.suid_dumpable. */
	prctl(PR_SET_DUMPABLE, 0);
	return 0;
}

int om_sandbox_enter(const char *dir, struct om_err *err)
{
	struct stat st;
	int rc = 0;

	if (!geteuid() && !stat(dir, &st) && st.st_uid)
		rc = become(st.st_uid, st.st_gid);
	if (rc)
		return om_err_sys(err, rc, "the user of %s", OM_QUOTE_FILE(dir));
	rc = keep(1U << CAP_NET_ADMIN);
	if (rc == EPERM)
		return om_err(err, OM_SYSTEM, "needs the capability CAP_NET_ADMIN");
	return rc ? om_err_sys(err, rc, "capabilities") : OM_OK;
}

/* Architectures have some of these only, under one of several names. */
static const char *const agent_calls[] = {
	/* Files: configuration, keys, times */
	"open", "openat", "read", "readv", "pread64", "write", "writev", "pwrite64", "close",
	"lseek", "_llseek", "stat", "stat64", "fstat", "fstat64", "lstat", "newfstatat",
	"fstatat64", "statx", "access", "faccessat", "faccessat2", "fcntl", "fcntl64", "flock",
	"ftruncate", "ftruncate64", "fsync", "fdatasync", "fchmod", "dup2", "dup3", "rename", "renameat",
	"renameat2", "unlink", "unlinkat", "ioctl",
	/* Sockets: netlink, syslog, the service manager */
	"socket", "bind", "connect", "getsockname", "getsockopt", "setsockopt", "send", "sendto",
	"sendmsg", "recv", "recvfrom", "recvmsg",
	/* Events and time */
	"poll", "ppoll", "ppoll_time64", "timerfd_settime", "timerfd_settime64", "signalfd4",
	"clock_gettime", "clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64",
	"gettimeofday", "nanosleep", "time", "getrandom",
	/* Memory and the C library */
	"munmap", "mremap", "madvise", "mlock", "munlock", "brk", "futex", "futex_time64",
	"sched_getaffinity", "sched_yield", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
	"sigreturn", "sigaltstack", "restart_syscall", "rseq", "uname", "getpid", "gettid",
	"getuid", "geteuid", "getgid", "getegid", "getuid32", "geteuid32", "getgid32",
	"getegid32", "getrlimit", "prlimit64", "kill", "tgkill", "exit", "exit_group",
};

/* Calls that make memory executable if their third argument has PROT_EXEC. */
static const char *const mapping_calls[] = { "mmap", "mmap2", "mprotect" };

static const char *const forbidden_to_resolver[] = {
	"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
	"pidfd_getfd", "kcmp", "rename", "renameat", "renameat2", "unlink", "unlinkat", "link",
	"linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "chmod",
	"fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "truncate",
	"truncate64", "ftruncate", "ftruncate64", "setxattr", "lsetxattr", "fsetxattr", "chroot",
	"pivot_root", "mount", "umount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "setns", "unshare", "bpf", "perf_event_open", "userfaultfd",
	"io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl", "add_key",
	"request_key", "init_module", "finit_module", "delete_module", "kexec_load",
	"kexec_file_load", "reboot", "swapon", "swapoff", "syslog", "acct", "quotactl",
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "capset",
	"personality", "kill", "tkill", "pidfd_send_signal", "tgkill",
	"rt_sigqueueinfo", "rt_tgsigqueueinfo", "creat", "openat2",
};

/* Add a rule for each call that this architecture has. Returns 0 or a negative errno. */
static int add_rules(scmp_filter_ctx ctx, uint32_t action, const char *const *calls, size_t n)
{
	int nr, rc;

	for (size_t i = 0; i < n; i++) {
		nr = seccomp_syscall_resolve_name(calls[i]);
		if (nr == __NR_SCMP_ERROR)
			continue;
		rc = seccomp_rule_add(ctx, action, nr, 0);
		if (rc)
			return rc;
	}
	return 0;
}

static int allow_mapping(scmp_filter_ctx ctx)
{
	int nr, rc = 0;

	for (size_t i = 0; !rc && i < sizeof(mapping_calls) / sizeof(*mapping_calls); i++) {
		nr = seccomp_syscall_resolve_name(mapping_calls[i]);
		if (nr != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 1,
					      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	}
	return rc;
}

/* The resolver may have the user of the agent, which owns files and is a process. */
static int forbid_writing(scmp_filter_ctx ctx)
{
	static const struct {
		const char *call;
		unsigned int flags;	/* argument */
	} calls[] = { { "open", 1 }, { "openat", 2 } };
	static const struct {
		scmp_datum_t mask, flags;
	} forbidden[] = {
		{ O_ACCMODE, O_WRONLY }, { O_ACCMODE, O_RDWR }, { O_CREAT, O_CREAT },
		{ O_TRUNC, O_TRUNC },
	};
	int nr = seccomp_syscall_resolve_name("prlimit64"), rc = 0;

	if (nr != __NR_SCMP_ERROR)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), nr, 1,
				      SCMP_A0(SCMP_CMP_NE, 0));
	for (size_t i = 0; !rc && i < sizeof(calls) / sizeof(*calls); i++) {
		nr = seccomp_syscall_resolve_name(calls[i].call);
		for (size_t k = 0; !rc && nr != __NR_SCMP_ERROR &&
				   k < sizeof(forbidden) / sizeof(*forbidden); k++)
			rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), nr, 1,
					      SCMP_CMP(calls[i].flags, SCMP_CMP_MASKED_EQ,
						       forbidden[k].mask, forbidden[k].flags));
	}
	return rc;
}

/* Load and free a filter. Kernels may lack seccomp. */
static int load_filter(scmp_filter_ctx ctx, int rc)
{
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	if (rc == -EINVAL || rc == -ENOSYS || rc == -ECANCELED) {
		om_warn("system calls are not filtered: the kernel lacks seccomp");
		rc = 0;
	}
	return rc;
}

int om_sandbox_filter(struct om_err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc;

	if (!ctx)
		return om_err_sys(err, ENOMEM, "filter of system calls");
	rc = add_rules(ctx, SCMP_ACT_ALLOW, agent_calls,
		       sizeof(agent_calls) / sizeof(*agent_calls));
	if (!rc)
		rc = allow_mapping(ctx);
	rc = load_filter(ctx, rc);
	return rc ? om_err_sys(err, -rc, "filter of system calls") : OM_OK;
}

void om_sandbox_powerless(void)
{
	const struct passwd *user = geteuid() ? NULL : getpwnam(OM_USER);
	scmp_filter_ctx ctx;
	int rc;

	/*
	 * Root owns files even without capabilities, and the user's group may read keys. A container
	 * may have no other user.
	 */
	if (!user || become(user->pw_uid, NOBODY))
		if (!geteuid())
			become(NOBODY, NOBODY);
	if (keep(0))
		_exit(OM_SYSTEM);
	ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		_exit(OM_SYSTEM);
	rc = add_rules(ctx, SCMP_ACT_ERRNO(EPERM), forbidden_to_resolver,
		       sizeof(forbidden_to_resolver) / sizeof(*forbidden_to_resolver));
	if (!rc)
		rc = forbid_writing(ctx);
	/* The C library then makes threads by clone(), whose flags are arguments. */
	if (!rc)
		rc = add_rules(ctx, SCMP_ACT_ERRNO(ENOSYS), (const char *const[]){ "clone3" }, 1);
	if (load_filter(ctx, rc))
		_exit(OM_SYSTEM);
}
