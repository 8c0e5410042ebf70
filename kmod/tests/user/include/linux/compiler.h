/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _OMERTA_USER_COMPILER_H
#define _OMERTA_USER_COMPILER_H

#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#define __read_mostly
#define noinline_for_stack	__attribute__((__noinline__))
#define barrier_data(p)		__asm__ __volatile__("" : : "r" (p) : "memory")
#define OPTIMIZER_HIDE_VAR(v)	__asm__("" : "=r" (v) : "0" (v))
#define __aligned(n)		__attribute__((__aligned__(n)))
#define __packed		__attribute__((__packed__))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define __must_check		__attribute__((__warn_unused_result__))
#define __maybe_unused		__attribute__((__unused__))
#define __noreturn		__attribute__((__noreturn__))
#define __uninitialized		__attribute__((__uninitialized__))
#define __rcu

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))

#endif /* _OMERTA_USER_COMPILER_H */
