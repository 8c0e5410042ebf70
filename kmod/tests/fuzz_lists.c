// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of chunks as libFuzzer wants them. Its input: which engine, how the list is
 * opened, then two bytes of length and one of alignment for each chunk.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <sodium.h>
#include <stdlib.h>

#include "crypto/engines.h"
#include "lists.h"

#define HEAD	7

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (sodium_init() < 0 || omerta_engine_init())
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const struct omerta_engine *engine;
	struct lists_spec spec = {};

	if (size < HEAD + 3 ||
	    omerta_engine_find(lists_engines[data[0] % lists_n_engines], &engine))
		return -1;
	spec.in_place = data[1] & 1;
	spec.seed = data[2];
	spec.bad = data[3] | data[4] << 8;
	spec.wrong = data[5] | data[6] << 8;
	for (data += HEAD, size -= HEAD; size >= 3 && spec.n < OMERTA_CHUNK_LIST;
	     data += 3, size -= 3) {
		spec.len[spec.n] = data[0] | data[1] << 8;
		spec.shift[spec.n++] = data[2] % 64;
	}
	lists_check(engine, &spec);
	return 0;
}
