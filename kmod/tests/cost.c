// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of the cipher alone, without a tunnel: when loaded, the module logs how long it
 * takes to seal and to open packets, in chunks and whole.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "crypto/chunk.h"
#include "crypto/engines.h"

#define REPEAT	1000
/* Size of the buffer, with space for the tags */
#define ROOM	16384

/* Lay out a packet of @len bytes in chunks of @size; return how many there are now. */
static unsigned int add_packet(struct omerta_chunk *list, unsigned int n, u8 *buf,
			       u32 len, u32 size)
{
	for (; len; n++) {
		list[n].plain = n ? list[n - 1].sealed + list[n - 1].len +
				    OMERTA_TAG_LEN : buf;
		list[n].sealed = list[n].plain;
		list[n].len = min(size, len);
		list[n].nonce = n;
		len -= list[n].len;
	}
	return n;
}

/*
 * Nanoseconds for a packet of @len bytes in chunks of @size: as the tunnel does with
 * bursts, many packets at once, or, if they are whole, one by one.
 */
static u64 cost(u8 *buf, u32 len, u32 size)
{
	const struct omerta_engine *engine = omerta_engine_default();
	static const u8 secret[OMERTA_SECRET_LEN] = { 1 };
	struct omerta_chunk list[OMERTA_CHUNK_LIST];
	u32 chunks = DIV_ROUND_UP(len, size);
	u32 packets = chunks > 1 ? OMERTA_CHUNK_LIST / chunks : 1;
	unsigned int n = 0, i;
	u64 start;

	while (n < packets * chunks)
		n = add_packet(list, n, buf, len, size);
	start = ktime_get_ns();
	for (i = 0; i < REPEAT; i++) {
		omerta_chunk_seal(engine, list, n, secret);
		if (omerta_chunk_open(engine, list, n, secret) !=
		    OMERTA_CHUNK_ALL(n))
			return 0;
	}
	return div_u64(ktime_get_ns() - start, REPEAT * packets);
}

static int __init cost_init(void)
{
	static const struct {
		u32 len;
		u32 size;
	} packets[] = { { 1388, 512 }, { 1424, 1424 }, { 96, 512 } };
	u8 *buf = kzalloc(ROOM, GFP_KERNEL);
	int i;

	if (!buf)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(packets); i++)
		pr_info("omerta_cost: %u %u %llu\n", packets[i].len,
			packets[i].size,
			cost(buf, packets[i].len, packets[i].size));
	kfree(buf);
	return 0;
}

static void __exit cost_exit(void)
{
}

module_init(cost_init);
module_exit(cost_exit);

MODULE_DESCRIPTION("What omerta's cipher costs");
MODULE_LICENSE("GPL");
