/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ENGINES_H
#define _OMERTA_ENGINES_H

#include "crypto/chunk.h"

struct omerta_mb;

/**
 * struct omerta_engine - a multi-buffer engine, made for one instruction set
 * @name: "mb-" and the instruction set
 * @is_supported: this CPU has the instruction set
 * @keys: make the one-time keys of a list, see mb_simd.h
 * @crypt: encrypt or decrypt a list, see mb_simd.h
 * @tags: make the tags of a list, see mb_simd.h
 * @wipe: zeroize the secrets in a scratch area, see mb_simd.h
 * @alone: longest chunk, in bytes, that is faster than the library if there is no other
 * @at_once: most bytes of a list that are processed with preemption off; longer chunks go to
 *	     the library
 */
struct omerta_engine {
	const char *name;
	bool (*is_supported)(void);
	void (*keys)(struct omerta_mb *mb, const u8 *secret,
		     const struct omerta_chunk *list, unsigned int n, bool open);
	void (*crypt)(struct omerta_mb *mb, const struct omerta_chunk *list,
		      unsigned int n, bool open);
	void (*tags)(struct omerta_mb *mb, const struct omerta_chunk *list,
		     unsigned int n);
	void (*wipe)(struct omerta_mb *mb, unsigned int n);
	u32 alone;
	const u32 *at_once;
};

int omerta_engine_init(void);
void omerta_engine_exit(void);
const struct omerta_engine *omerta_engine_default(void);
int omerta_engine_find(const char *name, const struct omerta_engine **engine);
const char *omerta_engine_name(const struct omerta_engine *engine);

#endif /* _OMERTA_ENGINES_H */
