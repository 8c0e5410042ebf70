/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Proofs of the leaves by CBMC, a bounded model checker: each function prove_*() is run with every
 * value that nondet_*() may return. CBMC also checks that there is no access outside an object, no
 * undefined behaviour, and that no loop runs more often than the bound that its comment gives:
 *
 *	unwind: N LOOP:N...	iterations of any loop, and of some, plus one
 */
#ifndef _OMERTA_PROOF_H
#define _OMERTA_PROOF_H

#include <stdlib.h>

#include <linux/types.h>

u8 nondet_u8(void);
u32 nondet_u32(void);
u64 nondet_u64(void);
_Bool nondet_bool(void);

#define assume(condition)	__CPROVER_assume(condition)
#define prove(condition)	__CPROVER_assert(condition, #condition)

/* Bytes of any content, in an object of their own that ends with them */
static inline u8 *any_bytes(u32 len)
{
	u8 *p = malloc(len);

	assume(p);
	return p;
}

#endif /* _OMERTA_PROOF_H */
