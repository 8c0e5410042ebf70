// SPDX-License-Identifier: GPL-2.0
/*
 * Benchmarks of omerta's ciphers, and of the kernel's ways to dispatch work to other
 * CPUs: the requests of the netlink family "omerta-bench", one at a time. The family's
 * spec explains the attributes.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/sort.h>
#include <net/genetlink.h>

#include "compat/compat.h"
#include "crypto/engines.h"
#include "bench_gen.h"
#include "workers.h"

/**
 * struct request - a benchmark
 * @task: the work
 * @strategy: dispatch of the workers, NULL for inline
 * @schedule: distribution of the chunks over the workers
 * @workers: number of workers
 * @rounds: repetitions
 * @limit: deadline
 * @info: the netlink request
 */
struct request {
	struct payload_task task;
	const struct strategy *strategy;
	enum omerta_bench_schedule schedule;
	unsigned int workers;
	u32 rounds;
	struct limit limit;
	struct genl_info *info;
};

/**
 * struct times - nanoseconds that each round of a split took
 * @all: from the dispatch until both halves were done
 * @start: from the dispatch until the worker began
 */
struct times {
	u64 *all;
	u64 *start;
};

/*
 * The longest that a request may take, as other users of generic netlink may have to
 * wait for it.
 */
#define LONGEST		(5ULL * NSEC_PER_SEC)

static_assert(OMERTA_BENCH_MAX_LIST == OMERTA_CHUNK_LIST);

/* Requests at the same time would falsify each other's times. */
static DEFINE_MUTEX(one_at_a_time);

static u32 get_u32(const struct request *r, int attr, u32 otherwise)
{
	struct nlattr *a = r->info->attrs[attr];

	return a ? nla_get_u32(a) : otherwise;
}

static int parse_engine(struct request *r)
{
	struct nlattr *attr = r->info->attrs[OMERTA_BENCH_A_BENCH_ENGINE];
	const char *name = attr ? nla_data(attr) : "auto";
	int err;

	r->task.copy = !strcmp(name, "copy");
	if (r->task.copy)
		return 0;
	rtnl_lock();
	err = omerta_engine_find(name, &r->task.engine);
	rtnl_unlock();
	if (err == -ENOENT) {
		NL_SET_ERR_MSG_ATTR(r->info->extack, attr,
				    "engine must be copy, auto, lib or one of this architecture, like mb-avx2 or mb-neon");
		return -EINVAL;
	}
	if (err == -EOPNOTSUPP)
		NL_SET_ERR_MSG_ATTR(r->info->extack, attr,
				    "this CPU does not support that engine, or it failed its self-test");
	return err;
}

static int parse_strategy(struct request *r)
{
	u32 number = get_u32(r, OMERTA_BENCH_A_BENCH_STRATEGY,
			     OMERTA_BENCH_STRATEGY_INLINE);

	if (number == OMERTA_BENCH_STRATEGY_INLINE) {
		if (r->workers == 1 && r->schedule == OMERTA_BENCH_SCHEDULE_OWN)
			return 0;
		NL_SET_ERR_MSG(r->info->extack, "inline has one worker, with a payload of its own");
		return -EINVAL;
	}
	r->strategy = strategy_find(number);
	if (r->strategy)
		return 0;
	if (number == OMERTA_BENCH_STRATEGY_NAPI)
		NL_SET_ERR_MSG(r->info->extack, "PREEMPT_RT does not let other CPUs schedule NAPI");
	else
		NL_SET_ERR_MSG(r->info->extack, "this kernel has no padata");
	return -EOPNOTSUPP;
}

static int check_sizes(const struct request *r)
{
	/* Plaintext, ciphertext and tags of each worker; inline counts as one. */
	u64 most = (u64)r->workers * r->task.bytes * (2 + OMERTA_TAG_LEN);

	if (r->workers > num_online_cpus()) {
		NL_SET_ERR_MSG(r->info->extack, "there are fewer CPUs online than workers");
		return -EINVAL;
	}
	if (r->task.chunk_size >= OMERTA_TAG_LEN)
		most = (u64)r->workers * r->task.bytes * 3;
	if (most / PAGE_SIZE > si_mem_available() / 2) {
		NL_SET_ERR_MSG(r->info->extack, "there is not enough memory");
		return -ENOMEM;
	}
	return 0;
}

static int parse(struct request *r)
{
	int err;

	r->task.chunk_size = get_u32(r, OMERTA_BENCH_A_BENCH_CHUNK_SIZE, 512);
	r->task.list = get_u32(r, OMERTA_BENCH_A_BENCH_LIST, OMERTA_CHUNK_LIST);
	r->task.bytes = get_u32(r, OMERTA_BENCH_A_BENCH_BYTES, 131072);
	r->task.direction = get_u32(r, OMERTA_BENCH_A_BENCH_DIRECTION,
				    OMERTA_BENCH_DIRECTION_BOTH);
	r->schedule = get_u32(r, OMERTA_BENCH_A_BENCH_SCHEDULE,
			      OMERTA_BENCH_SCHEDULE_OWN);
	r->workers = get_u32(r, OMERTA_BENCH_A_BENCH_WORKERS, 1);
	r->rounds = get_u32(r, OMERTA_BENCH_A_BENCH_ROUNDS, 1);
	err = parse_engine(r);
	if (!err)
		err = parse_strategy(r);
	return err ?: check_sizes(r);
}

/* Return 0 if all rounds were done completely, else an error that tells why not. */
static int check_done(const struct request *r, u64 chunks)
{
	u64 each = DIV_ROUND_UP(r->task.bytes, r->task.chunk_size);

	if (r->schedule == OMERTA_BENCH_SCHEDULE_OWN)
		each *= r->workers;
	if (chunks == each * r->rounds)
		return 0;
	if (limit_reached(&r->limit))
		return signal_pending(current) ? -EINTR : -ETIME;
	NL_SET_ERR_MSG(r->info->extack, "some sealed chunks could not be opened");
	return -EBADMSG;
}

static int run_inline(struct request *r, u64 *wall)
{
	struct pace pace = { .limit = &r->limit, .sleeps = true };
	struct payload p = {};
	u64 start, chunks = 0;
	u32 i;
	int err = payload_alloc(&p, &r->task, &r->limit);

	if (err)
		return err;
	migrate_disable();
	start = ktime_get_ns();
	for (i = 0; i < r->rounds && !limit_over(&r->limit, true); i++)
		chunks += payload_work(&p, 0, payload_chunks(&p), &pace);
	*wall = ktime_get_ns() - start;
	migrate_enable();
	payload_free(&p);
	return check_done(r, chunks);
}

static void put_workers(struct workers *w)
{
	migrate_enable();
	workers_free(w);
}

/*
 * Allocate workers on this CPU and those after it, or from the next CPU on if @elsewhere.
 * The caller cannot migrate until put_workers().
 */
static struct workers *get_workers(struct request *r, bool elsewhere)
{
	struct workers *w;
	unsigned int here;

	do {
		here = raw_smp_processor_id();
		w = workers_new(r->strategy, r->workers,
				elsewhere ? cpu_after(here) : here, &r->limit);
		if (IS_ERR(w))
			return w;
		migrate_disable();
		if (smp_processor_id() == here)
			return w;
		put_workers(w);
	} while (!limit_over(&r->limit, true));
	return ERR_PTR(signal_pending(current) ? -EINTR : -ETIME);
}

/* Run the workers @times times. */
static int run_times(struct request *r, struct workers *w, u32 times, u64 *wall)
{
	int err = 0;
	u32 i;

	for (i = 0; i < times && !err && !limit_over(&r->limit, true); i++)
		err = workers_run(w, wall);
	return err;
}

/* Payloads of their own; all rounds at once, unless that would keep a CPU for too long. */
static int run_own(struct request *r, struct workers *w, u64 *wall)
{
	u32 times = w->strategy->sleeps ? 1 : r->rounds;
	unsigned int i;
	int err = 0;

	w->rounds = r->rounds / times;
	for (i = 0; i < w->n && !err; i++)
		err = payload_alloc(&w->worker[i].own, &r->task, &r->limit);
	return err ?: run_times(r, w, times, wall);
}

/* One payload for all workers, round by round */
static int run_shared(struct request *r, struct workers *w, u64 *wall)
{
	struct payload p = {};
	int err = payload_alloc(&p, &r->task, &r->limit);

	w->shared = &p;
	if (!err)
		err = run_times(r, w, r->rounds, wall);
	payload_free(&p);
	return err;
}

static int run_workers(struct request *r, u64 *wall, u64 *work)
{
	struct workers *w = get_workers(r, false);
	unsigned int i;
	int err;

	if (IS_ERR(w))
		return PTR_ERR(w);
	w->schedule = r->schedule;
	if (r->schedule == OMERTA_BENCH_SCHEDULE_OWN)
		err = run_own(r, w, wall);
	else
		err = run_shared(r, w, wall);
	if (!err)
		err = check_done(r, workers_chunks(w));
	for (i = 0; i < w->n; i++)
		*work += w->worker[i].ns;
	put_workers(w);
	return err;
}

/*
 * Process the first half of the payload here while a worker processes the second, and wait
 * for it. Returns the number of chunks done here.
 */
static u32 split_once(struct workers *w, const struct times *t, u32 i,
		      struct pace *pace)
{
	u64 start = ktime_get_ns();
	u32 chunks;

	workers_begin(w);
	chunks = payload_work(w->shared, 0, w->first, pace);
	while (atomic_read_acquire(&w->left)) {
		cpu_relax();
		cond_resched();
	}
	t->all[i] = ktime_get_ns() - start;
	t->start[i] = w->worker[0].begun - start;
	/* The worker may still be about to complete it. */
	wait_for_completion(&w->done);
	return chunks;
}

static int split_workers(struct request *r, struct payload *p,
			 const struct times *t)
{
	struct pace pace = { .limit = &r->limit, .sleeps = true };
	struct workers *w;
	u64 chunks = 0;
	int err;
	u32 i;

	if (num_online_cpus() == 1) {
		NL_SET_ERR_MSG(r->info->extack, "no other CPU is online");
		return -EOPNOTSUPP;
	}
	w = get_workers(r, true);
	if (IS_ERR(w))
		return PTR_ERR(w);
	w->schedule = OMERTA_BENCH_SCHEDULE_STATIC;
	w->shared = p;
	w->first = payload_chunks(p) / 2;
	for (i = 0; i < r->rounds && !w->err && !limit_over(&r->limit, true); i++)
		chunks += split_once(w, t, i, &pace);
	err = w->err ?: check_done(r, chunks + workers_chunks(w));
	put_workers(w);
	return err;
}

static int split_inline(struct request *r, struct payload *p,
			const struct times *t)
{
	struct pace pace = { .limit = &r->limit, .sleeps = true };
	u64 start, chunks = 0;
	u32 i;

	migrate_disable();
	for (i = 0; i < r->rounds && !limit_over(&r->limit, true); i++) {
		start = ktime_get_ns();
		chunks += payload_work(p, 0, payload_chunks(p), &pace);
		t->all[i] = ktime_get_ns() - start;
	}
	migrate_enable();
	return check_done(r, chunks);
}

static int split(struct request *r, const struct times *t)
{
	struct payload p = {};
	int err = payload_alloc(&p, &r->task, &r->limit);

	if (err)
		return err;
	if (r->strategy)
		err = split_workers(r, &p, t);
	else
		err = split_inline(r, &p, t);
	payload_free(&p);
	return err;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Sort @value; return the value that @percent of them do not exceed. */
static u64 percentile(u64 *value, u32 n, unsigned int percent)
{
	sort(value, n, sizeof(*value), compare, NULL);
	return value[((u64)n * percent + 99) / 100 - 1];
}

static int put_u64(struct sk_buff *msg, int attr, u64 value)
{
	return nla_put_u64_64bit(msg, attr, value, 0);
}

static int put_run(struct sk_buff *msg, struct request *r)
{
	u64 wall = 0, work = 0;
	int err;

	if (r->strategy) {
		err = run_workers(r, &wall, &work);
	} else {
		err = run_inline(r, &wall);
		work = wall;
	}
	if (err)
		return err;
	if (put_u64(msg, OMERTA_BENCH_A_BENCH_WALL_NS, wall) ||
	    put_u64(msg, OMERTA_BENCH_A_BENCH_WORK_NS, work))
		return -EMSGSIZE;
	return 0;
}

static int put_times(struct sk_buff *msg, const struct times *t, u32 n)
{
	if (put_u64(msg, OMERTA_BENCH_A_BENCH_P50_NS, percentile(t->all, n, 50)) ||
	    put_u64(msg, OMERTA_BENCH_A_BENCH_P99_NS, percentile(t->all, n, 99)) ||
	    put_u64(msg, OMERTA_BENCH_A_BENCH_START_P50_NS,
		    percentile(t->start, n, 50)) ||
	    put_u64(msg, OMERTA_BENCH_A_BENCH_START_P99_NS,
		    percentile(t->start, n, 99)))
		return -EMSGSIZE;
	return 0;
}

static int put_split(struct sk_buff *msg, struct request *r)
{
	struct times t = {
		.all = kvcalloc(r->rounds, sizeof(u64), GFP_KERNEL),
		.start = kvcalloc(r->rounds, sizeof(u64), GFP_KERNEL),
	};
	int err = t.all && t.start ? split(r, &t) : -ENOMEM;

	if (!err)
		err = put_times(msg, &t, r->rounds);
	kvfree(t.all);
	kvfree(t.start);
	return err;
}

static int put_common(struct sk_buff *msg, const struct request *r)
{
	const char *engine = r->task.copy ? "copy" :
			     omerta_engine_name(r->task.engine);

	return nla_put_string(msg, OMERTA_BENCH_A_BENCH_ENGINE, engine) ?:
	       nla_put_u32(msg, OMERTA_BENCH_A_BENCH_CPUS, num_online_cpus());
}

/* Run @put, unless another request is running. */
static int measure(struct sk_buff *msg, struct request *r,
		   int (*put)(struct sk_buff *msg, struct request *r))
{
	int err;

	if (!mutex_trylock(&one_at_a_time)) {
		NL_SET_ERR_MSG(r->info->extack, "another request is being measured");
		return -EBUSY;
	}
	r->limit.deadline = ktime_get_ns() + LONGEST;
	err = put(msg, r);
	if (err == -ETIME)
		NL_SET_ERR_MSG(r->info->extack, "the measurement would take longer than 5 s");
	mutex_unlock(&one_at_a_time);
	return err;
}

/* Parse the request, measure and reply. */
static int answer(struct genl_info *info,
		  int (*put)(struct sk_buff *msg, struct request *r))
{
	struct request r = { .info = info };
	struct sk_buff *msg;
	void *hdr;
	int err = parse(&r);

	if (err)
		return err;
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	hdr = genlmsg_put_reply(msg, info, &omerta_bench_nl_family, 0,
				info->genlhdr->cmd);
	err = hdr ? put_common(msg, &r) : -EMSGSIZE;
	if (!err)
		err = measure(msg, &r, put);
	if (err)
		goto err_msg;
	genlmsg_end(msg, hdr);
	return genlmsg_reply(msg, info);

err_msg:
	nlmsg_free(msg);
	return err;
}

/* A benchmark may keep all CPUs busy, also those of other namespaces and cgroups. */
static int capable_of(struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	NL_SET_ERR_MSG(info->extack, "needs CAP_SYS_ADMIN");
	return -EPERM;
}

int omerta_bench_nl_run_doit(struct sk_buff *skb, struct genl_info *info)
{
	return capable_of(skb, info) ?: answer(info, put_run);
}

int omerta_bench_nl_split_doit(struct sk_buff *skb, struct genl_info *info)
{
	return capable_of(skb, info) ?: answer(info, put_split);
}

static int __init bench_init(void)
{
	return genl_register_family(&omerta_bench_nl_family);
}

static void __exit bench_exit(void)
{
	genl_unregister_family(&omerta_bench_nl_family);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Measures omerta's ciphers and dispatch");
MODULE_LICENSE("GPL");
