// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmarks, and their tables
 */
#include "cmd/bench_measure.h"

#include "lib/nl.h"
#include "cmd/bench_lengths.h"
#include "cmd/print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RUNS		5
#define TIME		20	/* ms */
#define BYTES		131072

#define HAS(a)		OM_BIT(OMERTA_BENCH_A_BENCH_##a)

static const char *const engines[] = {
	"lib", "mb-avx512ifma", "mb-avx512vl", "mb-avx2", "mb-ssse3", "mb-sse2",
	"mb-neon",
};

static const char *const strategies[] = {
	"inline", "percpu", "unbound", "kthread", "padata", "napi",
};

static const char *const schedules[] = { "own", "static", "dynamic", "guided" };

static struct om_bench_case *add(struct om_list *cases, const struct om_args *args,
				 int cmd)
{
	struct om_bench_case *c = om_list_add(cases, sizeof(*c));

	memset(c, 0, sizeof(*c));
	c->cmd = cmd;
	c->req = args->data.bench;
	if (!(c->req.has & HAS(BYTES)))
		c->req.bytes = BYTES;
	if (!(c->req.has & HAS(CHUNK_SIZE)))
		c->req.chunk_size = 512;
	if (!(c->req.has & HAS(DIRECTION)))
		c->req.direction = OMERTA_BENCH_DIRECTION_BOTH;
	c->req.workers = 1;
	c->req.has |= HAS(BYTES) | HAS(CHUNK_SIZE) | HAS(DIRECTION);
	return c;
}

static void set_engine(struct om_bench *b, const char *engine)
{
	snprintf(b->engine, sizeof(b->engine), "%s", engine);
	b->has |= HAS(ENGINE);
}

static void set_workers(struct om_bench *b, uint32_t strategy, uint32_t schedule,
			uint32_t workers)
{
	b->strategy = strategy;
	b->schedule = schedule;
	b->workers = workers;
	b->has |= HAS(STRATEGY) | HAS(SCHEDULE) | HAS(WORKERS);
}

/* Measure with the options of the command, and print the results. */
static int measure(struct om_ctx *ctx, struct om_args *args, struct om_list *cases,
		   void (*print)(const struct om_list *cases))
{
	uint32_t runs = args->numbers[OM_BENCH_RUNS];
	uint32_t time = args->numbers[OM_BENCH_TIME];
	int rc = om_bench_measure(ctx, cases, runs ? runs : RUNS, time ? time : TIME);

	if (!rc && ctx->json)
		om_bench_json(cases);
	else if (!rc)
		print(cases);
	om_list_free(cases);
	return rc;
}

/* Run one short round, to learn the kernel's number of CPUs and engine. */
static int ask(struct om_ctx *ctx, const struct om_args *args, struct om_bench *reply)
{
	struct om_bench req = args->data.bench;

	req.has &= HAS(ENGINE);
	return om_nl_get(ctx->nl, OMERTA_BENCH_CMD_RUN, &om_bench_object, &req,
			 reply, &ctx->err);
}

int om_bench_run(struct om_ctx *ctx, struct om_args *args)
{
	struct om_bench reply;
	int rc = om_nl_get(ctx->nl, OMERTA_BENCH_CMD_RUN, &om_bench_object,
			   &args->data.bench, &reply, &ctx->err);

	if (rc)
		return rc;
	om_print_begin();
	om_print_open("bench");
	om_print_fields(&om_bench_object, &reply, 0);
	om_print_close();
	return om_print_end(&ctx->err);
}

static double mb_s(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1000 / (double)ns : 0;
}

/*
 * Chunks
 */

/* Return the case with the same engine and direction, and the payload in one piece. */
static const struct om_bench_case *whole(const struct om_list *cases,
					 const struct om_bench_case *c)
{
	for (size_t i = 0; i < cases->n; i++) {
		const struct om_bench_case *w = OM_AT(cases, struct om_bench_case, i);

		if (w->req.chunk_size >= w->req.bytes &&
		    w->req.direction == c->req.direction &&
		    !strcmp(w->req.engine, c->req.engine))
			return w;
	}
	return NULL;
}

static void print_chunks(const struct om_list *cases)
{
	printf("%-14s %-5s %8s %10s %6s %9s\n", "engine", "", "chunk", "MB/s",
	       "peak", "call ns");
	for (size_t i = 0; i < cases->n; i++) {
		const struct om_bench_case *c = OM_AT(cases, struct om_bench_case, i);
		const struct om_bench_case *w = whole(cases, c);
		double calls = (c->req.bytes + c->req.chunk_size - 1) / c->req.chunk_size;

		printf("%-14s %-5s %8u %10.0f", c->req.engine,
		       c->req.direction == OMERTA_BENCH_DIRECTION_SEAL ? "seal" : "open",
		       c->req.chunk_size, mb_s(c->req.bytes, c->median));
		if (w && calls > 1)
			printf(" %5.0f%%", 100 * (double)w->median / (double)c->median);
		/* Engines have no calls of which each seals one chunk. */
		if (w && calls > 1 && !strcmp(c->req.engine, "lib"))
			printf(" %9.0f", ((double)c->median - (double)w->median) /
					 (calls - 1));
		putchar('\n');
	}
}

static void add_sweep(struct om_list *cases, const struct om_args *args,
		      const char *engine, uint32_t direction, uint32_t bytes)
{
	for (uint32_t size = 512;; size *= 2) {
		struct om_bench_case *c = add(cases, args, OMERTA_BENCH_CMD_RUN);

		c->req.chunk_size = size < bytes ? size : bytes;
		c->req.direction = direction;
		set_engine(&c->req, engine);
		if (size >= bytes)
			return;
	}
}

/* Add the cases of an engine: both directions, and each chunk size up to the payload's. */
static void add_engine(struct om_list *cases, const struct om_args *args,
		       const char *engine)
{
	const struct om_bench *b = &args->data.bench;
	uint32_t bytes = b->has & HAS(BYTES) ? b->bytes : BYTES;

	add_sweep(cases, args, engine, OMERTA_BENCH_DIRECTION_SEAL, bytes);
	add_sweep(cases, args, engine, OMERTA_BENCH_DIRECTION_OPEN, bytes);
}

/* Add all engines that this CPU supports. */
static int add_engines(struct om_ctx *ctx, struct om_list *cases, const struct om_args *args,
		       void (*add_one)(struct om_list *cases, const struct om_args *args,
				       const char *engine))
{
	for (size_t i = 0; i < OM_ARRAY_SIZE(engines); i++) {
		struct om_args one = *args;
		struct om_bench reply;

		set_engine(&one.data.bench, engines[i]);
		if (!ask(ctx, &one, &reply))
			add_one(cases, args, engines[i]);
		/* The engine is for other CPUs, or for another architecture. */
		else if (ctx->err.sys != EOPNOTSUPP && ctx->err.sys != EINVAL)
			return OM_SYSTEM;
		memset(&ctx->err, 0, sizeof(ctx->err));
	}
	return OM_OK;
}

int om_bench_chunks(struct om_ctx *ctx, struct om_args *args)
{
	const struct om_bench *b = &args->data.bench;
	struct om_list cases = { 0 };
	int rc = OM_OK;

	if (b->has & (HAS(CHUNK_SIZE) | HAS(DIRECTION)))
		return om_err(&ctx->err, OM_USAGE,
			      "this command varies chunk-size and direction");
	if (b->has & HAS(ENGINE))
		add_engine(&cases, args, b->engine);
	else
		rc = add_engines(ctx, &cases, args, add_engine);
	if (!rc)
		return measure(ctx, args, &cases, print_chunks);
	om_list_free(&cases);
	return rc;
}

/*
 * Curves
 */

static const uint32_t lists[] = { 1, 2, 3, 4, 8, OMERTA_BENCH_MAX_LIST };

static void print_curves(const struct om_list *cases)
{
	printf("%-14s %-5s %8s %5s %10s %10s\n", "engine", "", "chunk", "list", "MB/s",
	       "ns/chunk");
	for (size_t i = 0; i < cases->n; i++) {
		const struct om_bench_case *c = OM_AT(cases, struct om_bench_case, i);

		printf("%-14s %-5s %8u %5u %10.0f %10.0f\n", c->req.engine,
		       c->req.direction == OMERTA_BENCH_DIRECTION_SEAL ? "seal" : "open",
		       c->req.chunk_size, c->req.list, mb_s(c->req.bytes, c->median),
		       (double)c->median * c->req.chunk_size / c->req.bytes);
	}
}

static void add_curves(struct om_list *cases, const struct om_args *args,
		       const char *engine, uint32_t direction)
{
	/* The library takes one chunk after the other. */
	size_t n = strcmp(engine, "lib") ? OM_ARRAY_SIZE(lists) : 1;

	for (size_t i = 0; i < OM_ARRAY_SIZE(lengths); i++)
		for (size_t k = 0; k < n; k++) {
			struct om_bench *req = &add(cases, args, OMERTA_BENCH_CMD_RUN)->req;
			uint32_t bytes = lengths[i] * lists[k];

			req->chunk_size = lengths[i];
			req->list = lists[k];
			req->bytes = bytes < BYTES ? BYTES / bytes * bytes : bytes;
			req->direction = direction;
			req->has |= HAS(LIST);
			set_engine(req, engine);
		}
}

static void add_engine_curves(struct om_list *cases, const struct om_args *args,
			      const char *engine)
{
	add_curves(cases, args, engine, OMERTA_BENCH_DIRECTION_SEAL);
	add_curves(cases, args, engine, OMERTA_BENCH_DIRECTION_OPEN);
}

int om_bench_curves(struct om_ctx *ctx, struct om_args *args)
{
	const struct om_bench *b = &args->data.bench;
	struct om_list cases = { 0 };
	int rc = OM_OK;

	if (b->has & (HAS(CHUNK_SIZE) | HAS(BYTES) | HAS(DIRECTION) | HAS(LIST)))
		return om_err(&ctx->err, OM_USAGE,
			      "this command varies chunk-size, bytes, direction and list");
	if (b->has & HAS(ENGINE))
		add_engine_curves(&cases, args, b->engine);
	else
		rc = add_engines(ctx, &cases, args, add_engine_curves);
	if (!rc)
		return measure(ctx, args, &cases, print_curves);
	om_list_free(&cases);
	return rc;
}

/*
 * Dispatch
 */

static void print_dispatch(const struct om_list *cases)
{
	const struct om_bench_case *base = OM_AT(cases, struct om_bench_case, 0);

	printf("%-8s %-8s %7s %10s %10s %9s\n", "strategy", "schedule", "workers",
	       "MB/s", "efficiency", "slowdown");
	for (size_t i = 0; i < cases->n; i++) {
		const struct om_bench_case *c = OM_AT(cases, struct om_bench_case, i);
		bool own = c->req.schedule == OMERTA_BENCH_SCHEDULE_OWN;
		uint64_t bytes = (uint64_t)c->req.bytes * (own ? c->req.workers : 1);
		double speed = (double)base->median / (double)c->median;

		/* With a shared payload each worker has only a part of the work. */
		printf("%-8s %-8s %7u %10.0f %9.0f%%", strategies[c->req.strategy],
		       schedules[c->req.schedule], c->req.workers,
		       mb_s(bytes, c->median),
		       100 * (own ? speed : speed / c->req.workers));
		if (own)
			printf(" %8.2fx", (double)c->work / (double)base->median);
		putchar('\n');
	}
}

int om_bench_dispatch(struct om_ctx *ctx, struct om_args *args)
{
	struct om_list cases = { 0 };
	struct om_bench reply;
	int rc = ask(ctx, args, &reply);

	if (rc)
		return rc;
	set_workers(&add(&cases, args, OMERTA_BENCH_CMD_RUN)->req,
		    OMERTA_BENCH_STRATEGY_INLINE, OMERTA_BENCH_SCHEDULE_OWN, 1);
	for (uint32_t schedule = 0; schedule < OM_ARRAY_SIZE(schedules); schedule++)
		for (uint32_t s = 1; s < OM_ARRAY_SIZE(strategies); s++)
			for (uint32_t n = 1; n <= reply.cpus; n *= 2)
				set_workers(&add(&cases, args, OMERTA_BENCH_CMD_RUN)->req,
					    s, schedule, n);
	return measure(ctx, args, &cases, print_dispatch);
}

/*
 * Splitting in two
 */

static void print_split(const struct om_list *cases)
{
	uint64_t alone = 0;

	printf("%8s %-8s %9s %9s %11s %11s %7s\n", "bytes", "strategy", "p50 us",
	       "p99 us", "start p50", "start p99", "gain");
	for (size_t i = 0; i < cases->n; i++) {
		const struct om_bench_case *c = OM_AT(cases, struct om_bench_case, i);

		if (!c->req.strategy)
			alone = c->median;
		printf("%8u %-8s %9.2f %9.2f %11.2f %11.2f %6.2fx\n", c->req.bytes,
		       strategies[c->req.strategy], (double)c->median / 1000,
		       (double)c->p99 / 1000, (double)c->start_p50 / 1000,
		       (double)c->start_p99 / 1000,
		       (double)alone / (double)c->median);
	}
}

int om_bench_split(struct om_ctx *ctx, struct om_args *args)
{
	const struct om_bench *b = &args->data.bench;
	uint32_t most = b->has & HAS(BYTES) ? b->bytes : BYTES;
	struct om_list cases = { 0 };

	for (uint32_t bytes = 1024; bytes <= most; bytes *= 2)
		for (uint32_t s = 0; s < OM_ARRAY_SIZE(strategies); s++) {
			struct om_bench_case *c = add(&cases, args,
						      OMERTA_BENCH_CMD_SPLIT);

			if (!(b->has & HAS(DIRECTION)))
				c->req.direction = OMERTA_BENCH_DIRECTION_SEAL;
			c->req.bytes = bytes;
			c->req.strategy = s;
			c->req.has |= HAS(STRATEGY);
		}
	return measure(ctx, args, &cases, print_split);
}

/*
 * Scaling
 */

static void print_scaling(const struct om_list *cases)
{
	printf("%-14s %9s %7s %10s\n", "engine", "bytes", "workers", "MB/s");
	for (size_t i = 0; i < cases->n; i++) {
		const struct om_bench_case *c = OM_AT(cases, struct om_bench_case, i);

		printf("%-14s %9u %7u %10.0f\n", c->req.engine, c->req.bytes,
		       c->req.workers,
		       mb_s((uint64_t)c->req.bytes * c->req.workers, c->median));
	}
}

int om_bench_scaling(struct om_ctx *ctx, struct om_args *args)
{
	const struct om_bench *b = &args->data.bench;
	uint32_t most = b->has & HAS(BYTES) ? b->bytes : OMERTA_BENCH_MAX_BYTES;
	struct om_list cases = { 0 };
	struct om_bench reply;
	int rc = ask(ctx, args, &reply);

	if (rc)
		return rc;
	for (uint32_t bytes = 16384; bytes <= most; bytes *= 4)
		for (uint32_t n = 1; n <= reply.cpus; n++)
			for (int copy = 0; copy < 2; copy++) {
				struct om_bench *req =
					&add(&cases, args, OMERTA_BENCH_CMD_RUN)->req;

				req->bytes = bytes;
				set_engine(req, copy ? "copy" : reply.engine);
				set_workers(req, OMERTA_BENCH_STRATEGY_KTHREAD,
					    OMERTA_BENCH_SCHEDULE_OWN, n);
			}
	return measure(ctx, args, &cases, print_scaling);
}
