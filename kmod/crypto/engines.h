/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_ENGINES_H
#define _OMERTA_ENGINES_H

#include "crypto/chunk.h"

struct omerta_mb;

/* The blocks of half a batch, and four more */
#define OMERTA_NARROW_MIN	8
#define OMERTA_NARROW_MAX	12

/* Room for the name of an engine */
#define OMERTA_ENGINE_NAME_MAX	16

/**
 * struct omerta_engine_limits - what an engine does; measured before its first use
 * @at_once: most bytes of a list that are processed with preemption off; longer chunks go to
 *	     the library
 * @alone: a bit for each kind of length is set if the engine is at least as fast as the library
 *	   with chunks that have no other beside them: bit N for N blocks of 64 bytes, up to 16;
 *	   then bit 12 + N for up to 2^N blocks
 * @narrow: most blocks that an engine of 512 bits leaves to vectors of 256, OMERTA_NARROW_MIN or
 *	    OMERTA_NARROW_MAX
 */
struct omerta_engine_limits {
	u32 at_once;
	u32 alone;
	u32 narrow;
};

/**
 * struct omerta_engine - a multi-buffer engine, made for one instruction set
 * @name: "mb-" and the instruction set
 * @is_supported: this CPU has the instruction set
 * @keys: make the one-time keys of a list, see mb_simd.h
 * @crypt: encrypt or decrypt a list, see mb_simd.h
 * @tags: make the tags of a list, see mb_simd.h
 * @wipe: zeroize the secrets in a scratch area, see mb_simd.h
 * @limits: see struct omerta_engine_limits
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
	const struct omerta_engine_limits *limits;
};

int omerta_engine_init(void);
void omerta_engine_exit(void);
const struct omerta_engine *omerta_engine_default(void);
int omerta_engine_find(const char *name, const struct omerta_engine **engine);
const char *omerta_engine_name(const struct omerta_engine *engine);

#endif /* _OMERTA_ENGINES_H */
