// SPDX-License-Identifier: GPL-2.0
#include "cmd/target.h"

#include "cmd/cmd.h"
#include "lib/quote.h"
#include "lib/value.h"

#include <stdio.h>
#include <string.h>

/* Take the first @len bytes of @name, which are in @arg. */
static int take_name(const char *arg, const char *name, size_t len, char *ifname,
		     struct om_err *err)
{
	int rc;

	if (len >= IFNAMSIZ)
		return om_err(err, OM_USAGE, "%s: a device name has 1..%d characters",
			      OM_QUOTE_FILE(arg), IFNAMSIZ - 1);
	memcpy(ifname, name, len);
	ifname[len] = '\0';
	rc = om_ifname_check_file(ifname, err);
	if (rc)
		om_err_prefix(err, "%s", OM_QUOTE_FILE(arg));
	return rc;
}

int om_target_ifname(const char *path, char *ifname, struct om_err *err)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(base);

	if (len < 6 || strcmp(base + len - 5, ".conf"))
		return om_err(err, OM_USAGE, "%s: a file's name is DEV.conf",
			      OM_QUOTE_FILE(path));
	return take_name(path, base, len - 5, ifname, err);
}

int om_target_find(const char *arg, struct om_target *t, struct om_err *err)
{
	bool file = strchr(arg, '/');

	snprintf(t->path, sizeof(t->path), file ? "%s" : OM_CONFIG_DIR "/%s.conf", arg);
	return file ? om_target_ifname(arg, t->ifname, err) :
		      take_name(arg, arg, strlen(arg), t->ifname, err);
}
