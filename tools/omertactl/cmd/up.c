// SPDX-License-Identifier: GPL-2.0
/* up, down and reload: each gives the same result from whatever state it finds. */
#include "cmd/cmd.h"

#include "lib/config.h"
#include "lib/host.h"
#include "lib/json.h"
#include "lib/mtu.h"
#include "lib/nl.h"
#include "cmd/guard.h"
#include "cmd/hooks.h"
#include "cmd/print.h"
#include "lib/quote.h"
#include "cmd/runner.h"
#include "lib/state.h"
#include "lib/sync.h"
#include "cmd/target.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Progress of a command */
struct work {
	struct om_ctx *ctx;
	const struct om_target *t;
	struct om_device agent;		/* the device's, as the kernel knows it */
	bool made;			/* the device */
	bool deleted;
	unsigned int settings;		/* changes of the device and its peers */
	struct om_host before;
	struct om_list host;		/* struct om_host_change */
	struct om_mtu mtu;		/* if the file leaves it open */
	struct om_guard guard;
	bool agent_started;
	bool agent_stopped;
};

static bool has_changed(const struct work *w)
{
	return w->made || w->deleted || w->settings || w->host.n || w->guard.changed ||
	       w->agent_started || w->agent_stopped;
}

/*
 * Reports
 */

OM_PRINTF(1, 2)
static void print_change(const char *fmt, ...)
{
	char text[OM_HOST_TEXT + 40];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (om_print_is_json())
		om_json_str(NULL, text);
	else
		puts(text);
}

static void print_changes(const struct work *w)
{
	char text[OM_HOST_TEXT];

	if (w->made)
		print_change("device made");
	if (w->settings && !w->made)
		print_change("%u change%s of settings and peers", w->settings,
			     w->settings == 1 ? "" : "s");
	for (size_t i = 0; i < w->host.n; i++) {
		om_host_describe(text, sizeof(text),
				 OM_AT(&w->host, struct om_host_change, i));
		print_change("%s", text);
	}
	if (w->guard.changed)
		print_change("packet filter %s", w->guard.removed ? "removed" :
			     w->guard.before ? "changed" : "added");
	if (w->agent_started)
		print_change("agent started");
	if (w->agent_stopped)
		print_change("agent stopped");
	if (w->deleted)
		print_change("device deleted");
}

/* @list: print the changes. A note tells that there was nothing to do. */
static int report(const struct work *w, bool list, const char *state)
{
	om_print_begin();
	if (om_print_is_json()) {
		om_json_open(NULL, '{');
		om_json_str("ifname", w->t->ifname);
		om_json_bool("changed", has_changed(w));
		om_json_open("changes", '[');
	}
	if (list || om_print_is_json())
		print_changes(w);
	if (om_print_is_json()) {
		om_json_close();
		om_json_close();
	} else if (!has_changed(w)) {
		fprintf(stderr, "omertactl: %s %s already\n", w->t->ifname, state);
	}
	return om_print_end(&w->ctx->err);
}

/*
 * up and reload
 */

static int delete_device(const struct work *w, struct om_err *err)
{
	struct om_device dev;

	om_device_ref(&dev, w->t->ifname);
	return om_nl_do(w->ctx->nl, OMERTA_CMD_DEVICE_DEL, &om_device_object, &dev, err);
}

/* Make the device, unless there is one. */
static int make_device(struct work *w)
{
	struct om_err *err = &w->ctx->err;
	struct om_device dev;
	int rc;

	om_device_ref(&dev, w->t->ifname);
	rc = om_nl_do(w->ctx->nl, OMERTA_CMD_DEVICE_NEW, &om_device_object, &dev, err);
	w->made = !rc;
	if (rc && err->sys == EEXIST)
		return OM_OK;
	return rc ? rc : om_host_set_queue(w->t->ifname, err);
}

/*
 * The rules lead packets without the mark into the device: they cannot change together. Without
 * a default route in the file, the device keeps its mark.
 */
static int check_mark(const struct work *w, const struct om_device *dev, struct om_config *conf)
{
	if (!w->made && dev->fwmark && (conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK)) &&
	    conf->dev.fwmark != dev->fwmark)
		return om_err(&w->ctx->err, OM_USAGE,
			      "%s: FwMark: routes may depend on the current mark: run down and up to change it",
			      OM_QUOTE_FILE(w->t->path));
	if (!(conf->dev.has & OM_BIT(OMERTA_A_DEVICE_FWMARK)))
		conf->dev.fwmark = dev->fwmark;
	return OM_OK;
}

static int set_device(struct work *w, struct om_config *conf)
{
	struct om_err *err = &w->ctx->err;
	struct om_state state;
	int rc = om_state_load(w->ctx->nl, w->t->ifname, OM_PEERS | OM_PREFIXES, &state, err);

	if (rc)
		return rc;
	w->agent.control_bound = state.dev.control_bound;
	w->agent.agent_pid = state.dev.agent_pid;
	rc = check_mark(w, &state.dev, conf);
	if (!rc)
		rc = om_sync_apply(w->ctx->nl, w->t->ifname, conf, &state, w->made,
				   &w->settings, err);
	om_state_free(&state);
	return rc;
}

/* After an error nothing is left of a device that was made, and the host is as before. */
static void roll_back(struct work *w)
{
	struct om_err *err = &w->ctx->err, unused;

	om_guard_undo(&w->guard);
	if (om_host_undo(w->t->ifname, &w->before, &w->host, w->made, &unused))
		om_err_append(err, " (addresses, routes and rules could not be restored: %.200s)",
			      unused.text);
	if (w->made && delete_device(w, &unused))
		om_err_append(err, " (the device could not be removed again: %.200s)",
			      unused.text);
	if (!w->made && w->settings)
		om_err_append(err, " (%u change%s of settings and peers stay%s in effect)",
			      w->settings, w->settings == 1 ? "" : "s",
			      w->settings == 1 ? "s" : "");
}

/* Take the endpoints from the kernel, as peers may have moved. */
static int choose_mtu(struct work *w, struct om_config *conf)
{
	struct om_err *err = &w->ctx->err;
	struct om_rtnl *r = om_rtnl_open(w->t->ifname, err);
	struct om_state state;
	int rc = OM_SYSTEM;

	if (r)
		rc = om_state_load(w->ctx->nl, w->t->ifname, OM_PEERS, &state, err);
	if (!rc) {
		rc = om_mtu_choose(r, &state.peers, state.dev.chunk_size, om_config_has_v6(conf),
				   state.dev.fwmark, &w->mtu, err);
		om_state_free(&state);
	}
	if (!rc)
		conf->host.mtu = w->mtu.mtu;
	om_rtnl_close(r);
	return rc;
}

/* Make the device and the host's part what the file says. */
static int apply(struct work *w, struct om_config *conf)
{
	int rc;

	om_host_set_mark(conf);
	rc = set_device(w, conf);
	if (!rc && !conf->host.mtu)
		rc = choose_mtu(w, conf);
	/* Before there are routes */
	if (!rc)
		rc = om_guard_apply(&w->guard, conf, w->t->ifname, &w->ctx->err);
	if (!rc)
		rc = om_host_apply(w->t->ifname, conf, w->made, &w->before, &w->host,
				   &w->ctx->err);
	return rc;
}

static volatile sig_atomic_t stopped_by;

static void note_signal(int signal)
{
	stopped_by = signal;
}

/* From now on a signal ends the current step, after which all is rolled back. */
static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction was;

	for (size_t i = 0; i < OM_ARRAY_SIZE(signals); i++)
		/* As under nohup(1) */
		if (!sigaction(signals[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
}

static int check_signals(const struct work *w)
{
	return stopped_by ? om_err(&w->ctx->err, OM_SYSTEM, "stopped by signal %d", stopped_by) :
			    OM_OK;
}

/* The file's commands run when a device is made, or deleted. */
static int run_hooks(const struct work *w, const struct om_config *conf, enum om_hook hook)
{
	return w->made ? om_hooks_run(conf, hook, w->t->ifname, &w->ctx->err) : OM_OK;
}

/* The file of a tunnel that is up may have had name servers before. */
static int set_dns(const struct work *w, const struct om_config *conf, struct om_err *err)
{
	if (!conf->host.dns.n && !w->made)
		return om_dns_unset(conf, w->t->ifname, err);
	return om_dns_set(conf, w->t->ifname, err);
}

static int bring_up(struct work *w, bool agent, struct om_config *conf)
{
	struct om_err *err = &w->ctx->err, unused;
	bool running = false, dns = false;
	int rc = make_device(w);

	if (rc && !w->made)
		return rc;
	if (!rc)
		rc = run_hooks(w, conf, OM_HOOK_PRE_UP) ?: check_signals(w);
	if (!rc)
		rc = apply(w, conf) ?: check_signals(w);
	if (!rc) {
		rc = set_dns(w, conf, err) ?: check_signals(w);
		dns = true;
	}
	if (!rc && agent)
		rc = om_runner_start(w->t->ifname, w->t->path, &w->agent, &running, err);
	w->agent_started = !rc && agent && !running;
	/* Keys may have changed, and only the agent reads them. */
	if (!rc && running)
		rc = om_runner_reload(w->t->ifname, &w->agent, err);
	if (!rc)
		rc = check_signals(w) ?: run_hooks(w, conf, OM_HOOK_POST_UP);
	if (!rc)
		rc = check_signals(w);
	if (!rc)
		return OM_OK;
	if (w->agent_started)
		om_runner_stop(w->t->ifname, &w->agent_stopped, &unused);
	if (dns && w->made)
		om_dns_unset(conf, w->t->ifname, &unused);
	roll_back(w);
	return rc;
}

/*
 * The agent reads the secrets itself, after it has forked its resolver, and finds endpoints that
 * have names. Without one, what is known now must do.
 */
static int read_config(struct work *w, bool agent, enum om_config_flags flags,
		       struct om_config *conf)
{
	struct om_err *err = &w->ctx->err;
	int how = OM_CONFIG_SECRETS | OM_CONFIG_UP | flags;
	int rc = om_config_read(w->t->path, how | (agent ? OM_CONFIG_NO_NAMES : OM_CONFIG_TRY_NAMES),
				conf, err);

	/* A kill switch may keep a local resolver from its name server. */
	if (!rc && agent && conf->host.kill_switch && !if_nametoindex(w->t->ifname)) {
		om_config_free(conf);
		rc = om_config_read(w->t->path, how | OM_CONFIG_TRY_NAMES, conf, err);
	}

	if (!rc)
		om_config_forget(conf);
	return rc;
}

int om_up(struct om_ctx *ctx, struct om_args *args)
{
	bool agent = !args->all;
	struct om_target t;
	char text[160];
	struct work w = { .ctx = ctx, .t = &t };
	struct om_config conf;
	int rc = om_target_find(args->pos[0], &t, &ctx->err);

	if (!rc)
		rc = read_config(&w, agent, agent ? OM_CONFIG_AGENT : 0, &conf);
	if (rc)
		return rc;
	catch_signals();
	rc = bring_up(&w, agent, &conf);
	om_config_free(&conf);
	if (!rc && w.mtu.mtu && has_changed(&w)) {
		om_mtu_describe(text, sizeof(text), &w.mtu);
		fprintf(stderr, "omertactl: %s: %s\n", t.ifname, text);
	}
	if (!rc)
		rc = report(&w, false, "is up");
	om_guard_free(&w.guard);
	om_list_free(&w.host);
	om_host_free(&w.before);
	return rc;
}

static bool has_agent(const struct work *w)
{
	struct om_state state;
	struct om_err unused;
	bool has;

	if (om_state_load(w->ctx->nl, w->t->ifname, 0, &state, &unused))
		return om_runner_runs(w->t->ifname, &(struct om_device){ 0 });
	has = om_runner_runs(w->t->ifname, &state.dev);
	om_state_free(&state);
	return has;
}

int om_reload(struct om_ctx *ctx, struct om_args *args)
{
	struct om_target t;
	struct work w = { .ctx = ctx, .t = &t };
	struct om_config conf;
	struct om_err err;
	int told = OM_OK, rc = om_target_find(args->pos[0], &t, &ctx->err);

	if (!rc)
		rc = read_config(&w, has_agent(&w), 0, &conf);
	if (rc)
		return rc;
	catch_signals();
	rc = apply(&w, &conf);
	if (!rc)
		rc = check_signals(&w);
	if (rc && ctx->err.sys == ENODEV)
		om_err_append(&ctx->err, " (omertactl up %s)", args->pos[0]);
	if (rc)
		roll_back(&w);
	/* The tunnel is as its file says, whatever others make of it. */
	if (!rc && set_dns(&w, &conf, &err))
		om_warn("%s", err.text);
	om_config_free(&conf);
	if (!rc) {
		/* Only the agent reads the secrets. */
		told = om_runner_reload(t.ifname, &w.agent, &err);
		rc = report(&w, true, "is as its file says");
	}
	if (!rc && told) {
		ctx->err = err;
		rc = told;
	}
	om_guard_free(&w.guard);
	om_list_free(&w.host);
	om_host_free(&w.before);
	return rc;
}

/*
 * down
 */

/* Read the file, if there is one. Mistakes in it do not keep a tunnel up. */
static bool read_file(const struct work *w, struct om_config *conf)
{
	struct om_err err;

	memset(conf, 0, sizeof(*conf));
	if (access(w->t->path, F_OK))
		return false;
	if (om_config_read(w->t->path, OM_CONFIG_NO_NAMES, conf, &err)) {
		om_warn("%s", err.text);
		memset(conf, 0, sizeof(*conf));
	}
	om_host_set_mark(conf);
	return true;
}

/* Save the running state, if the file says so, and run its commands. */
static int prepare(struct work *w, const struct om_config *conf)
{
	struct om_err *err = &w->ctx->err;
	/* A killed "up" leaves a device that is down, and has not all that the file has. */
	bool complete = om_host_is_up(w->t->ifname), changed;
	struct om_state state;
	int rc = om_hooks_run(conf, OM_HOOK_PRE_DOWN, w->t->ifname, err);

	if (rc || !conf->host.save)
		return rc;
	if (!complete) {
		om_warn("%s is down: %s stays as it is", w->t->ifname, OM_QUOTE_FILE(w->t->path));
		return OM_OK;
	}
	rc = om_state_load(w->ctx->nl, w->t->ifname, OM_PEERS | OM_PREFIXES, &state, err);
	if (rc)
		return rc;
	rc = om_config_save(w->t->path, &state.dev, &state.peers, &changed, err);
	om_state_free(&state);
	return rc;
}

static void finish(const struct work *w, const struct om_config *conf)
{
	struct om_err err;

	if (om_dns_unset(conf, w->t->ifname, &err))
		om_warn("%s", err.text);
	if (w->deleted && om_hooks_run(conf, OM_HOOK_POST_DOWN, w->t->ifname, &err))
		om_warn("%s", err.text);
}

/* Without a device, its file tells which rules it had. */
static int take_down(struct work *w, struct om_list *rules)
{
	struct om_err *err = &w->ctx->err;
	struct om_config conf;
	struct om_state state;
	char name[IFNAMSIZ];
	bool file = read_file(w, &conf);
	int rc = om_state_load(w->ctx->nl, w->t->ifname, 0, &state, err);
	uint32_t mark = rc ? conf.dev.fwmark : state.dev.fwmark;
	bool there = !rc;

	if (there) {
		om_state_free(&state);
		rc = prepare(w, &conf);
	} else if (err->sys == ENODEV && om_runner_renamed(w->t->ifname, name)) {
		rc = om_err(err, OM_SYSTEM, "%s is called %s now (omertactl down %s)",
			    w->t->ifname, name, name);
	} else if (err->sys == ENODEV && (file || om_guard_exists(w->t->ifname))) {
		rc = OM_OK;
	}
	if (!rc)
		om_guard_find(&w->guard, w->t->ifname);
	if (!rc)
		rc = om_host_find_rules(w->t->ifname, mark, rules, err);
	if (!rc)
		rc = om_runner_stop(w->t->ifname, &w->agent_stopped, err);
	if (!rc && there)
		rc = delete_device(w, err);
	w->deleted = !rc && there;
	/* Somebody else was faster. */
	if (rc && there && err->sys == ENODEV)
		rc = OM_OK;
	if (!rc)
		rc = om_host_drop_rules(rules, err);
	if (!rc) {
		/* First, as commands may need the network; and they run even if it stays. */
		rc = om_guard_remove(&w->guard, err);
		finish(w, &conf);
	}
	om_config_free(&conf);
	return rc;
}

int om_down(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list rules = { 0 };
	struct om_target t;
	struct work w = { .ctx = ctx, .t = &t };
	int rc = om_target_find(args->pos[0], &t, &ctx->err);

	if (!rc)
		rc = take_down(&w, &rules);
	for (size_t i = 0; i < rules.n; i++)
		*(struct om_host_change *)om_list_add(&w.host, sizeof(struct om_host_change)) =
			(struct om_host_change){
				.kind = OM_HOST_RULE,
				.removed = true,
				.rule = *OM_AT(&rules, struct om_rule, i),
			};
	if (!rc)
		rc = report(&w, false, "is down");
	om_guard_free(&w.guard);
	om_list_free(&w.host);
	om_host_free(&w.before);
	om_list_free(&rules);
	return rc;
}
