/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_LISTS_H
#define _OMERTA_LISTS_H

#include <linux/types.h>

#include "crypto/chunk.h"

/* The longest chunk that the tunnel has */
#define LISTS_LEN_MAX	65536

/**
 * struct lists_spec - a list of chunks, made of simple numbers
 * @n: number of chunks, 1 to OMERTA_CHUNK_LIST
 * @bad: a bit for each chunk, set if one of its bits is wrong when it is opened
 * @wrong: number of the wrong bit, modulo the number of bits
 * @in_place: plaintext and ciphertext share their memory
 * @seed: seed of secret and plaintexts
 * @len: bytes of each chunk, at most LISTS_LEN_MAX
 * @shift: offset of each chunk's memory from an address aligned to 64 bytes
 */
struct lists_spec {
	unsigned int n;
	u32 bad;
	u32 wrong;
	bool in_place;
	u8 seed;
	u32 len[OMERTA_CHUNK_LIST];
	u8 shift[OMERTA_CHUNK_LIST];
};

extern const char *const lists_engines[];
extern const unsigned int lists_n_engines;

void lists_check(const struct omerta_engine *engine, const struct lists_spec *spec);

#endif /* _OMERTA_LISTS_H */
