/* SPDX-License-Identifier: GPL-2.0 */
#ifndef OM_BENCH_LENGTHS_H
#define OM_BENCH_LENGTHS_H

/*
 * Chunk lengths of the curves, in the kernel and in user space: powers of two, and those of
 * real packets
 */
static const unsigned int lengths[] = {
	64, 65, 128, 200, 256, 512, 576, 1024, 1280, 1388, 1392, 1420, 1500, 2048, 4096, 5000,
	8192, 8900, 9000, 16384, 32768, 65536,
};

#endif /* OM_BENCH_LENGTHS_H */
