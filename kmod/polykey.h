/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_POLYKEY_H
#define _OMERTA_POLYKEY_H

#include <linux/types.h>

/* As many as callers put into one list of chunks, so that it fits the stack. */
#define OMERTA_CHUNK_LIST		16

#define OMERTA_POLYKEY_WORDS		8

/**
 * struct omerta_polykeys - one-time Poly1305 keys of several chunks of one key
 * @secret: the ChaCha20 key, as words in the CPU's byte order
 * @nonce: low and high words of the chunks' nonces
 * @word: word w of chunk i's key is at [w][i], in the CPU's byte order
 */
struct omerta_polykeys {
	u32 secret[8];
	u32 nonce[2][OMERTA_CHUNK_LIST];
	u32 word[OMERTA_POLYKEY_WORDS][OMERTA_CHUNK_LIST];
};

void omerta_polykey_load(void);
bool omerta_polykey_pays(unsigned int n);
const char *omerta_polykey_engine(void);
void omerta_polykey_make(struct omerta_polykeys *keys, unsigned int n);

/* Between kernel_fpu_begin() and _end(), or what stands for them. */
void omerta_polykey_avx512vl(struct omerta_polykeys *keys, unsigned int first);
void omerta_polykey_avx2(struct omerta_polykeys *keys, unsigned int first);
void omerta_polykey_sse2(struct omerta_polykeys *keys, unsigned int first);
void omerta_polykey_neon(struct omerta_polykeys *keys, unsigned int first);

#endif /* _OMERTA_POLYKEY_H */
