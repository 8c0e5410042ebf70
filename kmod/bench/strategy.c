// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's ways to dispatch work: workqueues, kthreads, padata, NAPI
 */
#include <linux/errno.h>

#include "workers.h"

#include "compat/compat.h"

static void work_fn(struct work_struct *work)
{
	struct worker *worker = container_of(work, struct worker, work);

	worker_work(worker);
	worker_done(worker);
}

static int queue_prepare(struct workers *w, unsigned int flags)
{
	unsigned int i;

	w->wq = alloc_workqueue("omerta-bench", flags | WQ_CPU_INTENSIVE |
				WQ_MEM_RECLAIM, 0);
	for (i = 0; i < w->n; i++)
		INIT_WORK(&w->worker[i].work, work_fn);
	return w->wq ? 0 : -ENOMEM;
}

static int percpu_prepare(struct workers *w)
{
	return queue_prepare(w, WQ_PERCPU);
}

static int percpu_start(struct worker *worker)
{
	queue_work_on(worker->cpu, worker->all->wq, &worker->work);
	return 0;
}

static int unbound_prepare(struct workers *w)
{
	return queue_prepare(w, WQ_UNBOUND);
}

static int unbound_start(struct worker *worker)
{
	queue_work(worker->all->wq, &worker->work);
	return 0;
}

static void queue_release(struct workers *w)
{
	if (w->wq)
		destroy_workqueue(w->wq);
}

static void kthread_fn(struct kthread_work *kwork)
{
	struct worker *worker = container_of(kwork, struct worker, kwork);

	worker_work(worker);
	worker_done(worker);
}

static int kthread_prepare(struct workers *w)
{
	struct kthread_worker *kthread;
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		kthread_init_work(&w->worker[i].kwork, kthread_fn);
		kthread = kthread_run_worker_on_cpu(w->worker[i].cpu, 0,
						    "omerta-bench/%u");
		if (IS_ERR(kthread))
			return PTR_ERR(kthread);
		w->worker[i].kthread = kthread;
	}
	return 0;
}

static int kthread_start(struct worker *worker)
{
	kthread_queue_work(worker->kthread, &worker->kwork);
	return 0;
}

static void kthread_release(struct workers *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++)
		if (w->worker[i].kthread)
			kthread_destroy_worker(w->worker[i].kthread);
}

#ifdef CONFIG_PADATA
static void padata_parallel(struct padata_priv *padata)
{
	worker_work(container_of(padata, struct worker, padata));
	padata_do_serial(padata);
}

/* padata keeps the order: a worker that finishes early waits here for those before it. */
static void padata_serial(struct padata_priv *padata)
{
	worker_done(container_of(padata, struct worker, padata));
}

static int padata_prepare(struct workers *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++) {
		w->worker[i].padata.parallel = padata_parallel;
		w->worker[i].padata.serial = padata_serial;
	}
	w->pinst = padata_alloc("omerta-bench");
	if (!w->pinst)
		return -ENOMEM;
	w->shell = padata_alloc_shell(w->pinst);
	return w->shell ? 0 : -ENOMEM;
}

static int padata_start(struct worker *worker)
{
	int cpu = worker->cpu;

	/* Fails while a CPU comes or goes. */
	return padata_do_parallel(worker->all->shell, &worker->padata, &cpu);
}

static void padata_release(struct workers *w)
{
	if (w->shell)
		padata_free_shell(w->shell);
	if (w->pinst)
		padata_free(w->pinst);
}
#endif

static int poll(struct napi_struct *napi, int budget)
{
	struct worker *worker = container_of(napi, struct worker, napi);

	worker_work(worker);
	/* First, as worker_done() may start the next round. */
	napi_complete_done(napi, 0);
	worker_done(worker);
	return 0;
}

static void interrupt(void *data)
{
	struct worker *worker = data;

	napi_schedule(&worker->napi);
}

static int napi_prepare(struct workers *w)
{
	unsigned int i;

	w->dev = alloc_netdev_dummy(0);
	if (!w->dev)
		return -ENOMEM;
	for (i = 0; i < w->n; i++) {
		struct worker *worker = &w->worker[i];

		INIT_CSD(&worker->csd, interrupt, worker);
		/* Without a NAPI id, so that busy polling cannot find it */
		netif_napi_add_tx(w->dev, &worker->napi, poll);
		napi_enable(&worker->napi);
	}
	return 0;
}

static int napi_start(struct worker *worker)
{
	int err;

	/* On this CPU it is a plain call: NAPI then runs at local_bh_enable(). */
	local_bh_disable();
	/* Fails if the CPU is offline by now. */
	err = smp_call_function_single_async(worker->cpu, &worker->csd);
	local_bh_enable();
	return err;
}

static void napi_release(struct workers *w)
{
	unsigned int i;

	if (!w->dev)
		return;
	for (i = 0; i < w->n; i++) {
		napi_disable(&w->worker[i].napi);
		netif_napi_del(&w->worker[i].napi);
	}
	synchronize_net();
	free_netdev_dummy(w->dev);
}

static const struct strategy strategies[] = {
	[OMERTA_BENCH_STRATEGY_PERCPU] = {
		percpu_prepare, percpu_start, queue_release, true
	},
	[OMERTA_BENCH_STRATEGY_UNBOUND] = {
		unbound_prepare, unbound_start, queue_release, true
	},
	[OMERTA_BENCH_STRATEGY_KTHREAD] = {
		kthread_prepare, kthread_start, kthread_release, true
	},
#ifdef CONFIG_PADATA
	[OMERTA_BENCH_STRATEGY_PADATA] = {
		padata_prepare, padata_start, padata_release, false
	},
#endif
	[OMERTA_BENCH_STRATEGY_NAPI] = {
		napi_prepare, napi_start, napi_release, false
	},
};

/**
 * strategy_find() - look up a strategy
 * @number: its number; inline has none
 *
 * Return: the strategy, or NULL if this kernel does not support it.
 */
const struct strategy *strategy_find(enum omerta_bench_strategy number)
{
	if (number >= ARRAY_SIZE(strategies) || !strategies[number].start)
		return NULL;
	/* Interrupts from other CPUs may not raise softirqs there. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && number == OMERTA_BENCH_STRATEGY_NAPI)
		return NULL;
	return &strategies[number];
}
