// SPDX-License-Identifier: GPL-2.0
#include "cmd/bench_measure.h"

#include "lib/json.h"
#include "lib/nl.h"
#include "lib/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

/* Rounds per run that percentiles need */
#define SPLIT_LEAST	200
#define SPLIT_MOST	20000

enum { ROUND, WORK, P99, START_P50, START_P99, VALUES };

struct sample {
	uint64_t v[VALUES];
};

static void progress(size_t done, size_t all)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, done < all ? "\r%zu/%zu" : "\r\033[K", done, all);
}

static int measure_once(struct om_ctx *ctx, const struct om_bench_case *c,
			struct sample *s)
{
	uint32_t workers = c->req.workers ? c->req.workers : 1;
	struct om_bench reply;
	int rc;

	rc = om_nl_get(ctx->nl, c->cmd, &om_bench_object, &c->req, &reply,
		       &ctx->err);
	if (rc)
		return rc;
	if (c->cmd == OMERTA_BENCH_CMD_RUN) {
		s->v[ROUND] = reply.wall_ns / c->req.rounds;
		s->v[WORK] = reply.work_ns / c->req.rounds / workers;
	} else {
		s->v[ROUND] = reply.p50_ns;
		s->v[P99] = reply.p99_ns;
		s->v[START_P50] = reply.start_p50_ns;
		s->v[START_P99] = reply.start_p99_ns;
	}
	return OM_OK;
}

static void set_rounds(struct om_bench_case *c, uint64_t rounds)
{
	bool split = c->cmd == OMERTA_BENCH_CMD_SPLIT;
	uint64_t least = split ? SPLIT_LEAST : 1;
	uint64_t most = split ? SPLIT_MOST : OMERTA_BENCH_MAX_ROUNDS;

	if (rounds < least)
		rounds = least;
	c->req.rounds = (uint32_t)(rounds > most ? most : rounds);
	c->req.has |= OM_BIT(OMERTA_BENCH_A_BENCH_ROUNDS);
}

/*
 * Determine the number of rounds that fit the time; this also warms up memory and caches.
 * The number grows step by step, as the dispatch may take most of the time of few rounds.
 */
static int calibrate(struct om_ctx *ctx, struct om_bench_case *c, uint32_t time)
{
	const uint64_t want = time * 1000000ULL;
	struct sample s = { 0 };
	uint64_t rounds = 1, all = 0;
	int rc = OM_OK;

	while (!rc && all < want && rounds <= OMERTA_BENCH_MAX_ROUNDS) {
		set_rounds(c, rounds);
		rc = measure_once(ctx, c, &s);
		all = c->req.rounds * s.v[ROUND];
		rounds = c->req.rounds * (all > want / 2 ? 2ULL : 1 + MIN(want / (all + 1), 9));
	}
	if (!rc)
		set_rounds(c, want / (s.v[ROUND] + 1));
	return rc;
}

/* Return true for errors that mean: not supported by this machine, or not in this size. */
static bool cannot_be(int error)
{
	return error == EOPNOTSUPP || error == ENOMEM || error == ETIME;
}

/* Calibrate all cases, and drop unsupported ones with the kernel's reason as a warning. */
static int calibrate_all(struct om_ctx *ctx, struct om_list *cases, uint32_t time)
{
	struct om_err last = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < cases->n; i++) {
		struct om_bench_case *c = OM_AT(cases, struct om_bench_case, i);
		int rc = calibrate(ctx, c, time);

		progress(i, cases->n);
		if (rc && !cannot_be(ctx->err.sys))
			return rc;
		if (!rc)
			*OM_AT(cases, struct om_bench_case, n++) = *c;
		else if (strcmp(last.text, ctx->err.text))
			om_warn("%s", ctx->err.text);
		if (rc)
			last = ctx->err;
		memset(&ctx->err, 0, sizeof(ctx->err));
	}
	cases->n = n;
	return OM_OK;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sort one of the values over all runs. */
static void sorted(const struct sample *s, uint32_t runs, int value, uint64_t *v)
{
	for (uint32_t i = 0; i < runs; i++)
		v[i] = s[i].v[value];
	qsort(v, runs, sizeof(*v), compare);
}

static void summarise(struct om_bench_case *c, const struct sample *s,
		      uint32_t runs, uint64_t *v)
{
	uint64_t *median[VALUES] = {
		&c->median, &c->work, &c->p99, &c->start_p50, &c->start_p99
	};

	for (int i = 0; i < VALUES; i++) {
		sorted(s, runs, i, v);
		*median[i] = runs % 2 ? v[runs / 2] :
			     (v[runs / 2 - 1] + v[runs / 2]) / 2;
		if (i == ROUND) {
			c->min = v[0];
			c->max = v[runs - 1];
		}
	}
}

int om_bench_measure(struct om_ctx *ctx, struct om_list *cases, uint32_t runs,
		     uint32_t time)
{
	struct sample *s;
	uint64_t *v;
	int rc = calibrate_all(ctx, cases, time);

	if (rc || !cases->n)
		return rc;
	s = calloc(cases->n * runs, sizeof(*s));
	v = calloc(runs, sizeof(*v));
	if (!s || !v)
		rc = om_err_sys(&ctx->err, ENOMEM, "results");
	for (uint32_t run = 0; run < runs && !rc; run++)
		for (size_t i = 0; i < cases->n && !rc; i++) {
			progress(run * cases->n + i, runs * cases->n);
			rc = measure_once(ctx, OM_AT(cases, struct om_bench_case, i),
					  &s[i * runs + run]);
		}
	progress(1, 1);
	for (size_t i = 0; i < cases->n && !rc; i++)
		summarise(OM_AT(cases, struct om_bench_case, i), &s[i * runs],
			  runs, v);
	free(s);
	free(v);
	return rc;
}

static void json_case(const struct om_bench_case *c)
{
	char buf[OM_VALUE_LEN];

	om_json_open(NULL, '{');
	for (unsigned int i = 0; i < om_bench_object.fields; i++) {
		const struct om_field *f = &om_bench_object.field[i];

		if (!om_field_has(f, &c->req))
			continue;
		if (om_value_is_number(f))
			om_json_uint(f->name, om_field_uint(f, &c->req));
		else
			om_json_str(f->name, om_value_format(f, &c->req, buf));
	}
	om_json_uint("min-ns", c->min);
	om_json_uint("median-ns", c->median);
	om_json_uint("max-ns", c->max);
	if (c->cmd == OMERTA_BENCH_CMD_RUN) {
		om_json_uint("work-ns", c->work);
	} else {
		om_json_uint("p99-ns", c->p99);
		om_json_uint("start-p50-ns", c->start_p50);
		om_json_uint("start-p99-ns", c->start_p99);
	}
	om_json_close();
}

void om_bench_json(const struct om_list *cases)
{
	om_json_open(NULL, '[');
	for (size_t i = 0; i < cases->n; i++)
		json_case(OM_AT(cases, struct om_bench_case, i));
	om_json_close();
}
