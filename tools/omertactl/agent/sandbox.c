// SPDX-License-Identifier: GPL-2.0
#include "agent/sandbox.h"

#include "lib/keygen.h"
#include "lib/quote.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
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

void om_sandbox_powerless(void)
{
	/* Root owns files even without capabilities. A container may have no other user. */
	if (!geteuid())
		become(NOBODY, NOBODY);
	if (keep(0))
		_exit(OM_SYSTEM);
}
