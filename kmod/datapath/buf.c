// SPDX-License-Identifier: GPL-2.0
/*
 * Packet buffers that consist of few large blocks, so that chunks can be sealed and opened
 * in them.
 */
#include "datapath/buf.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/poison.h>
#include <net/net_namespace.h>

#include "compat/compat.h"

/* The largest pages that the page allocator keeps per CPU. */
#define BLOCK_ORDER	PAGE_ALLOC_COSTLY_ORDER
#define BLOCK_BYTES	(PAGE_SIZE << BLOCK_ORDER)
/* Blocks that a CPU keeps for later bursts. */
#define POOL_SIZE	64

/* Interval of the check for idle pools. An idle pool is emptied at the second check. */
#define CHECK_INTERVAL	(5 * HZ)

/* Use of a pool since it was created, and since the last check. */
enum { UNUSED, IDLE, USED };

/**
 * struct stock - blocks of a CPU
 * @bh_lock: held to take a block: with PREEMPT_RT, BH off may not be enough
 * @pool: blocks return to it, so that they need not be zeroed again, as many kernels do
 *	  with every page; NULL while there are no devices; used with BH off
 * @use: use of the pool; written by its CPU, and by the worker, which may miss a use
 */
struct stock {
	local_lock_t bh_lock;
	struct page_pool *pool;
	int use;
};

static DEFINE_PER_CPU(struct stock, stocks) = {
	.bh_lock = INIT_LOCAL_LOCK(bh_lock),
};

/* Taken outside the lock of CPU hotplug. */
static DEFINE_MUTEX(pools_lock);
/* Pools exist while this is not 0; lock: pools_lock */
static unsigned int n_devices;
/* State of CPU hotplug while there are pools, else 0; lock: pools_lock */
static int hotplug_state;

static void check_pools(struct work_struct *work);
static DECLARE_DELAYED_WORK(check_work, check_pools);

/**
 * omerta_buf_pinned() - memory that a reference to a piece pins
 * @data: the piece, in a fragment of an skb from omerta_buf_alloc_skb()
 *
 * Return: bytes of its block.
 */
u32 omerta_buf_pinned(const u8 *data)
{
	return page_size(virt_to_head_page(data));
}

/**
 * omerta_buf_add_frag() - add a piece of another skb as a fragment
 * @skb: gets the fragment; charged for the whole block that it pins
 * @data: the piece, in a fragment of an skb from omerta_buf_alloc_skb()
 * @len: its length, within one block
 *
 * Context: BH off.
 */
void omerta_buf_add_frag(struct sk_buff *skb, const u8 *data, u32 len)
{
	struct page *page = virt_to_head_page(data);

	if (OMERTA_HAVE_POOLS && compound_order(page) == BLOCK_ORDER)
		page_pool_ref_page(page);
	else
		get_page(page);
	skb_mark_for_recycle(skb);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
			data - (u8 *)page_address(page), len, omerta_buf_pinned(data));
}

/**
 * omerta_burst_alloc() - allocate a burst together with the linear head of its skb
 * @size: bytes of the burst; with the head at most a page, since longer contiguous memory
 *	  is not always available
 * @buf: initialised for omerta_buf_alloc_skb()
 * @headroom: bytes of the skb's headroom
 * @len: bytes of content that the head should hold; more than OMERTA_BUF_LINEAR_MAX are
 *	 not held
 *
 * Both lie in one page fragment. Each can be freed before the other.
 *
 * Context: BH off.
 * Return: uninitialised memory, to be freed by omerta_burst_free(), or NULL.
 */
void *omerta_burst_alloc(size_t size, struct omerta_buf *buf, u32 headroom, u32 len)
{
	u32 head_size = SKB_HEAD_ALIGN(headroom + min(len, OMERTA_BUF_LINEAR_MAX));
	u8 *mem;

	size = SKB_DATA_ALIGN(size);
	mem = napi_alloc_frag(size + head_size);
	if (!mem)
		return NULL;
	*buf = (struct omerta_buf) {
		.head = mem + size,
		.head_size = head_size,
	};
	return mem;
}

/**
 * omerta_burst_free() - free memory from omerta_burst_alloc()
 * @mem: the memory
 * @size: its size
 *
 * Context: any.
 */
void omerta_burst_free(void *mem, size_t size)
{
	/* KASAN does not track page fragments. Poison by hand to expose a use after free. */
	if (IS_ENABLED(CONFIG_KASAN))
		memset(mem, POISON_FREE, size);
	skb_free_frag(mem);
}

/**
 * omerta_buf_alloc_skb() - allocate an skb for pieces of content
 * @buf: from omerta_burst_alloc(), not used yet; set to where the pieces are
 * @headroom: bytes of headroom in the linear part
 * @n: number of pieces, at least 1
 * @len: length of all pieces but the last; at most 65507 bytes in total, and at most
 *	 BLOCK_BYTES if there are several
 * @last: length of the last piece
 *
 * Context: BH off.
 * Return: an skb with uninitialised content, linear or in fragments of whole pieces; or
 * NULL.
 */
struct sk_buff *omerta_buf_alloc_skb(struct omerta_buf *buf, unsigned int headroom,
				     unsigned int n, u32 len, u32 last)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY;
	u32 total = (n - 1) * len + last;
	struct sk_buff *skb;
	unsigned int i;

	skb = napi_build_skb(buf->head, buf->head_size);
	if (!skb)
		return NULL;
	get_page(virt_to_head_page(buf->head));
	skb_reserve(skb, headroom);
	buf->len = len;
	buf->per_block = max(1U, (u32)BLOCK_BYTES / max(len, 1U));
	if (n == 1 && total <= skb_tailroom(skb)) {
		buf->block[0] = skb_put(skb, total);
		return skb;
	}
	for (i = 0; total; i++) {
		u32 size = min(buf->per_block * len, total);
		unsigned int order = get_order(size);
		struct page *page;

		if (OMERTA_HAVE_POOLS && order == BLOCK_ORDER) {
			struct stock *stock = this_cpu_ptr(&stocks);

			local_lock_nested_bh(&stocks.bh_lock);
			if (unlikely(READ_ONCE(stock->use) != USED))
				WRITE_ONCE(stock->use, USED);
			page = page_pool_alloc_pages(READ_ONCE(stock->pool), gfp);
			local_unlock_nested_bh(&stocks.bh_lock);
		} else {
			page = alloc_pages(gfp, order);
		}
		if (!page) {
			kfree_skb(skb);
			return NULL;
		}
		skb_mark_for_recycle(skb);
		skb_add_rx_frag(skb, i, page, 0, size, page_size(page));
		buf->block[i] = page_address(page);
		total -= size;
	}
	return skb;
}

/**
 * omerta_buf_piece() - address of a piece
 * @buf: from omerta_buf_alloc_skb()
 * @i: number of the piece, from 0
 *
 * Return: its first byte; the piece is contiguous.
 */
u8 *omerta_buf_piece(const struct omerta_buf *buf, unsigned int i)
{
	return buf->block[i / buf->per_block] + i % buf->per_block * buf->len;
}

/**
 * omerta_buf_alloc_linear() - allocate a linear skb for the stack
 * @len: bytes of content
 *
 * The skb may wait in a socket for long. So its head is not a fragment of a shared page,
 * as napi_alloc_skb() would allocate it.
 *
 * Context: BH off.
 * Return: an skb with uninitialised content, or NULL.
 */
struct sk_buff *omerta_buf_alloc_linear(u32 len)
{
	const u32 headroom = NET_SKB_PAD + NET_IP_ALIGN;
	struct sk_buff *skb;

	skb = __alloc_skb(headroom + len, GFP_ATOMIC | __GFP_NOWARN,
			  SKB_ALLOC_RX | SKB_ALLOC_NAPI, NUMA_NO_NODE);
	if (!skb)
		return NULL;
	skb_reserve(skb, headroom);
	skb_put(skb, len);
	return skb;
}

/* Attributed to the loopback device, since all our devices share it. */
static struct page_pool *create_pool(unsigned int cpu)
{
	struct page_pool_params params = {
		.order = BLOCK_ORDER,
		.pool_size = POOL_SIZE,
		.nid = cpu_to_node(cpu),
		OMERTA_POOL_NETDEV(init_net.loopback_dev),
	};

	return page_pool_create(&params);
}

/* A CPU is about to come online; nothing runs on it yet. */
static int pool_prepare(unsigned int cpu)
{
	struct page_pool *pool = create_pool(cpu);

	if (IS_ERR(pool))
		return PTR_ERR(pool);
	per_cpu(stocks, cpu).pool = pool;
	per_cpu(stocks, cpu).use = UNUSED;
	return 0;
}

/* A CPU is offline, or its pool is not needed any more. Packets keep their blocks. */
static int pool_dead(unsigned int cpu)
{
	page_pool_destroy(per_cpu(stocks, cpu).pool);
	per_cpu(stocks, cpu).pool = NULL;
	return 0;
}

/*
 * Replace a pool that was not used recently by an empty one. Returns the old one, or NULL.
 * The caller holds the lock of CPU hotplug.
 */
static struct page_pool *replace_idle(unsigned int cpu)
{
	struct stock *stock = &per_cpu(stocks, cpu);
	struct page_pool *old = NULL, *pool;

	switch (READ_ONCE(stock->use)) {
	case USED:
		WRITE_ONCE(stock->use, IDLE);
		break;
	case IDLE:
		pool = create_pool(cpu);
		if (IS_ERR(pool))
			break;
		old = stock->pool;
		WRITE_ONCE(stock->use, UNUSED);
		/* Its CPU may use either one until it enables BH. */
		smp_store_release(&stock->pool, pool);
		break;
	}
	return old;
}

static void check_pools(struct work_struct *work)
{
	struct page_pool *old;
	unsigned int cpu;
	bool wanted;

	mutex_lock(&pools_lock);
	wanted = n_devices;
	/* The last device may have been deleted while this waited for the lock. */
	if (!wanted && hotplug_state) {
		cpuhp_remove_state(hotplug_state);
		hotplug_state = 0;
	}
	mutex_unlock(&pools_lock);
	if (!wanted)
		return;

	for_each_possible_cpu(cpu) {
		cpus_read_lock();
		old = cpu_online(cpu) ? replace_idle(cpu) : NULL;
		cpus_read_unlock();
		if (!old)
			continue;
		/* The pool's CPU uses it with BH off, which is an RCU read-side section. */
		synchronize_rcu();
		page_pool_destroy(old);
	}
	queue_delayed_work(system_dfl_wq, &check_work, CHECK_INTERVAL);
}

/**
 * omerta_buf_get() - create the pools for the first device
 *
 * Context: process context.
 * Return: 0, to be undone by omerta_buf_put(), or a negative errno.
 */
int omerta_buf_get(void)
{
	int state = 0;

	if (!OMERTA_HAVE_POOLS)
		return 0;
	mutex_lock(&pools_lock);
	if (!hotplug_state) {
		state = cpuhp_setup_state(CPUHP_BP_PREPARE_DYN, "net/omerta:buf",
					  pool_prepare, pool_dead);
		hotplug_state = max(state, 0);
	}
	if (hotplug_state) {
		n_devices++;
		queue_delayed_work(system_dfl_wq, &check_work, CHECK_INTERVAL);
	}
	mutex_unlock(&pools_lock);
	return min(state, 0);
}

/**
 * omerta_buf_put() - undo omerta_buf_get()
 *
 * After the last device a worker destroys the pools. Packets in flight keep their blocks.
 *
 * Context: process context; the device neither sends nor receives any more.
 */
void omerta_buf_put(void)
{
	if (!OMERTA_HAVE_POOLS)
		return;
	mutex_lock(&pools_lock);
	/* RTNL may be held: do not wait for a grace period that the worker waits for. */
	if (!--n_devices)
		mod_delayed_work(system_dfl_wq, &check_work, 0);
	mutex_unlock(&pools_lock);
}

/**
 * omerta_buf_exit() - wait until the pools are destroyed
 *
 * Context: process context; no device is left.
 */
void omerta_buf_exit(void)
{
	flush_delayed_work(&check_work);
}
