// SPDX-License-Identifier: GPL-2.0
#include "cmd/cmd.h"

#include "lib/nl.h"
#include "cmd/print.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

_Static_assert((int)OMERTA_A_DEVICE_IFNAME == (int)OMERTA_A_PEER_IFNAME &&
	       (int)OMERTA_A_DEVICE_IFNAME == (int)OMERTA_A_KEY_IFNAME, "ifname");

struct monitor {
	struct om_ctx *ctx;
	const char *ifname;	/* show events of this device, NULL for all */
};

static int print_event(const struct om_event *ev, void *arg)
{
	const struct om_field *f = om_field_get(ev->obj, OMERTA_A_DEVICE_IFNAME);
	const char *ifname = om_field_ptr(f, ev->data);
	uint64_t skip = 0;
	struct monitor *m = arg;

	if (m->ifname && strcmp(m->ifname, ifname))
		return OM_OK;
	if (!om_print_is_json())
		skip = OM_BIT(OMERTA_A_DEVICE_IFINDEX) |
		       OM_BIT(OMERTA_A_DEVICE_IFNAME);
	om_print_open("%s %s", om_print_name(ifname), ev->name);
	om_print_event(ev->name);
	om_print_fields(ev->obj, ev->data, skip);
	om_print_close();
	/* Print each event at once. */
	return om_print_flush(&m->ctx->err);
}

int om_monitor(struct om_ctx *ctx, struct om_args *args)
{
	struct monitor m = { .ctx = ctx, .ifname = args->pos[0] };
	struct om_nl_events *e = om_nl_events_open(&ctx->err);
	struct pollfd p = { .events = POLLIN };
	int rc = e ? OM_OK : OM_SYSTEM;
	bool lost;

	while (!rc) {
		p.fd = om_nl_events_fd(e);
		if (poll(&p, 1, -1) < 0) {
			rc = om_err_sys(&ctx->err, errno, "poll");
			break;
		}
		rc = om_nl_events_read(e, print_event, &m, &lost, &ctx->err);
		if (lost)
			om_warn("events were lost: they arrive faster than they are read");
	}
	om_nl_events_close(e);
	return rc;
}
