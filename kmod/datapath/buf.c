// SPDX-License-Identifier: GPL-2.0
/*
 * Packet buffers whose content lies in few pieces of memory, however long, so
 * that chunks can be sealed and opened in them.
 */
#include "datapath/buf.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/poison.h>
#include <net/net_namespace.h>

#include "compat/compat.h"

/* The largest pages that each CPU has a stock of. */
#define BLOCK_ORDER	PAGE_ALLOC_COSTLY_ORDER
#define BLOCK_BYTES	(PAGE_SIZE << BLOCK_ORDER)
/* Blocks that a CPU keeps for the next bursts. */
#define POOL_SIZE	64

/* How often pools are looked at. An idle one is emptied at the second look. */
#define LOOK_INTERVAL	(5 * HZ)

/* Use of a pool since it was made, and since it was looked at. */
enum { UNUSED, IDLE, USED };

/**
 * struct stock - one CPU's blocks
 * @pool: blocks come back to it, so that they need not be zeroed anew, as many kernels
 *	  do with every page; NULL while there are no devices; used with BH off
 * @use: of the pool; written by its CPU and by the worker, which may miss a use
 */
struct stock {
	struct page_pool *pool;
	int use;
};

static DEFINE_PER_CPU(struct stock, stocks);

/* Taken outside CPU hotplug's lock. */
static DEFINE_MUTEX(pools_lock);
/* Pools exist while there are devices; lock: pools_lock */
static unsigned int n_devices;
/* While there are pools, or 0; lock: pools_lock */
static int hotplug_state;

static void look_at_pools(struct work_struct *work);
static DECLARE_DELAYED_WORK(look_work, look_at_pools);

static struct page *content_pages(unsigned int len)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY;
	unsigned int order = get_order(len);

	if (OMERTA_HAVE_POOLS && order == BLOCK_ORDER) {
		struct stock *stock = this_cpu_ptr(&stocks);

		if (unlikely(READ_ONCE(stock->use) != USED))
			WRITE_ONCE(stock->use, USED);
		return page_pool_alloc_pages(READ_ONCE(stock->pool), gfp);
	}
	return alloc_pages(gfp, order);
}

/**
 * omerta_buf_kept() - what a packet keeps from being freed that refers to some content
 * @data: the content, in fragments of a packet from omerta_buf_alloc()
 *
 * Return: bytes of the block that it lies in.
 */
u32 omerta_buf_kept(const u8 *data)
{
	return page_size(virt_to_head_page(data));
}

/**
 * omerta_buf_refer() - have a packet refer to content of another
 * @skb: the packet; charged with all that it keeps from being freed
 * @data: the content, in fragments of a packet from omerta_buf_alloc()
 * @len: its length, all in one block
 *
 * Context: BH off.
 */
void omerta_buf_refer(struct sk_buff *skb, const u8 *data, u32 len)
{
	struct page *page = virt_to_head_page(data);

	if (OMERTA_HAVE_POOLS && compound_order(page) == BLOCK_ORDER)
		page_pool_ref_page(page);
	else
		get_page(page);
	skb_mark_for_recycle(skb);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page,
			data - (u8 *)page_address(page), len, omerta_buf_kept(data));
}

static int add_blocks(struct sk_buff *skb, struct omerta_buf *buf, u32 total)
{
	u32 size = buf->per_block * buf->len;
	unsigned int i;

	for (i = 0; total; i++) {
		u32 len = min(size, total);
		struct page *page;

		page = content_pages(len);
		if (!page)
			return -ENOMEM;
		skb_mark_for_recycle(skb);
		skb_add_rx_frag(skb, i, page, 0, len, page_size(page));
		buf->block[i] = page_address(page);
		total -= len;
	}
	return 0;
}

/**
 * omerta_buf_new() - allocate memory for something that has a packet
 * @buf: the packet's; gets what omerta_buf_alloc() needs
 * @size: bytes of what has it; with the head no more than a page, as more in one
 *	  piece is not always to be had
 * @headroom: bytes of the packet's headroom
 * @len: bytes that its head should have room for besides; there will not be more
 *	 than OMERTA_BUF_LINEAR_MAX
 *
 * Both lie in one fragment of a page, and each may be freed before the other.
 *
 * Context: BH off.
 * Return: @size bytes, not yet written, to be freed by omerta_buf_free(); or NULL.
 */
void *omerta_buf_new(struct omerta_buf *buf, size_t size, u32 headroom, u32 len)
{
	u32 room = headroom + min(len, OMERTA_BUF_LINEAR_MAX);
	u8 *mem;

	size = SKB_DATA_ALIGN(size);
	mem = napi_alloc_frag(size + SKB_HEAD_ALIGN(room));
	if (!mem)
		return NULL;
	*buf = (struct omerta_buf) {
		.head = mem + size,
		.head_size = SKB_HEAD_ALIGN(room),
	};
	return mem;
}

/**
 * omerta_buf_free() - free memory from omerta_buf_new()
 * @mem: the memory
 * @size: bytes of it
 *
 * Context: any.
 */
void omerta_buf_free(void *mem, size_t size)
{
	/* Nobody else would see who uses it after that. */
	if (IS_ENABLED(CONFIG_KASAN))
		memset(mem, POISON_FREE, size);
	skb_free_frag(mem);
}

static struct sk_buff *make_head(const struct omerta_buf *buf)
{
	struct sk_buff *skb = napi_build_skb(buf->head, buf->head_size);

	if (skb)
		get_page(virt_to_head_page(buf->head));
	return skb;
}

/**
 * omerta_buf_alloc() - make a packet for pieces of content
 * @buf: from omerta_buf_new(), once; gets where they are
 * @headroom: bytes of headroom in the linear part
 * @n: number of pieces, at least 1
 * @len: length of all pieces but the last; all together not above 65507, and
 *	 more than one only of at most BLOCK_BYTES
 * @last: length of the last
 *
 * Context: BH off.
 * Return: an skb with content not yet written, linear or in fragments of whole
 * pieces; or NULL.
 */
struct sk_buff *omerta_buf_alloc(struct omerta_buf *buf, unsigned int headroom,
				 unsigned int n, u32 len, u32 last)
{
	u32 total = (n - 1) * len + last;
	struct sk_buff *skb;

	skb = make_head(buf);
	if (!skb)
		return NULL;
	skb_reserve(skb, headroom);
	buf->len = len;
	buf->per_block = max(1U, (u32)BLOCK_BYTES / max(len, 1U));
	if (n == 1 && total <= skb_tailroom(skb)) {
		buf->block[0] = skb_put(skb, total);
	} else if (add_blocks(skb, buf, total)) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

/**
 * omerta_buf_alloc_up() - make a packet of one piece that will go up the stack
 * @len: length of the piece
 *
 * It may wait in a socket for long, so its head is not a part of a page that others share,
 * as napi_alloc_skb() would make it.
 *
 * Context: BH off.
 * Return: an skb with content not yet written, linear; or NULL.
 */
struct sk_buff *omerta_buf_alloc_up(u32 len)
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

/* The kernel tells of it as the loopback device's, as no other device has it alone. */
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

/* A CPU comes: it runs nothing yet. */
static int pool_prepare(unsigned int cpu)
{
	struct page_pool *pool = create_pool(cpu);

	if (IS_ERR(pool))
		return PTR_ERR(pool);
	per_cpu(stocks, cpu) = (struct stock) { .pool = pool };
	return 0;
}

/* A CPU is gone, or nothing needs its pool any more. Packets keep their blocks. */
static int pool_dead(unsigned int cpu)
{
	page_pool_destroy(per_cpu(stocks, cpu).pool);
	per_cpu(stocks, cpu).pool = NULL;
	return 0;
}

/*
 * Put an empty pool in the place of one that was not used lately; returns the old one. The
 * caller has CPU hotplug's lock.
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
		/* Its CPU may use either, until it has BH on. */
		smp_store_release(&stock->pool, pool);
		break;
	}
	return old;
}

static void look_at_pools(struct work_struct *work)
{
	struct page_pool *old;
	unsigned int cpu;
	bool wanted;

	mutex_lock(&pools_lock);
	wanted = n_devices;
	/* The last device may have gone while this waited for the lock. */
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
		/* BH off is a read-side section. */
		synchronize_rcu();
		page_pool_destroy(old);
	}
	queue_delayed_work(system_dfl_wq, &look_work, LOOK_INTERVAL);
}

/**
 * omerta_buf_get() - make packets possible, for one device more
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
		queue_delayed_work(system_dfl_wq, &look_work, LOOK_INTERVAL);
	}
	mutex_unlock(&pools_lock);
	return min(state, 0);
}

/**
 * omerta_buf_put() - undo omerta_buf_get()
 *
 * With the last device a worker gives back what is kept for further packets. Packets in
 * flight keep their blocks.
 *
 * Context: process context; nothing is sent or received by the device any more.
 */
void omerta_buf_put(void)
{
	if (!OMERTA_HAVE_POOLS)
		return;
	mutex_lock(&pools_lock);
	/* RTNL may be held: do not wait for a grace period that the worker waits for. */
	if (!--n_devices)
		mod_delayed_work(system_dfl_wq, &look_work, 0);
	mutex_unlock(&pools_lock);
}

/**
 * omerta_buf_exit() - wait until nothing is kept for further packets
 *
 * Context: process context; there are no devices.
 */
void omerta_buf_exit(void)
{
	flush_delayed_work(&look_work);
}
