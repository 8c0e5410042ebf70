/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tests are written for KUnit. Without it (in a kernel without CONFIG_KUNIT, in user
 * space) this header and kunit_compat.c provide the part of its interface that the tests
 * use, with KTAP as output.
 *
 * Without CONFIG_KUNIT, loading omerta_test.ko runs all suites and fails with
 * -EINVAL unless all pass. Each line of KTAP is one line of the kernel log and
 * starts with "omerta_ktap: "; the first is "KTAP version 1", the last
 * "# Totals: pass:N fail:N skip:N total:N". To take them out:
 *
 *	dmesg | sed -n 's/^.*omerta_ktap: //p'
 *
 * The module stays loaded when it succeeds. With CONFIG_KUNIT, KUnit prints the
 * lines, loading always succeeds, and results stand in its debugfs as well.
 * In user space they go to standard output and the exit code is 1 on failure.
 */
#ifndef _OMERTA_KUNIT_COMPAT_H
#define _OMERTA_KUNIT_COMPAT_H

#if defined(CONFIG_KUNIT) || defined(CONFIG_KUNIT_MODULE)

#include <kunit/test.h>

#else

#include <linux/list.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/**
 * struct kunit - a running test case
 * @priv: private data of the test
 * @name: name of the case
 * @failures: number of expectations that did not hold
 * @skipped: the case was skipped
 * @allocs: memory to free when the case ends
 * @abort: jump target of a failed assertion
 */
struct kunit {
	void *priv;
	const char *name;
	unsigned int failures;
	bool skipped;
	struct list_head allocs;
	void *abort;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

extern struct kunit_suite *const kunit_compat_suites[];

__printf(1, 2) void kunit_compat_print(const char *fmt, ...);
__printf(5, 6) void kunit_compat_fail(struct kunit *test, bool fatal,
				      const char *file, int line,
				      const char *fmt, ...);
void __noreturn kunit_compat_abort(struct kunit *test);
void *kunit_kmalloc(struct kunit *test, size_t size, gfp_t gfp);
void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);

#define KUNIT_CASE(func)	{ .run_case = func, .name = #func }

#define kunit_test_suites(...) \
	struct kunit_suite *const kunit_compat_suites[] = { __VA_ARGS__, NULL }

#define kunit_info(test, fmt, ...) \
	kunit_compat_print("    # %s: " fmt, (test)->name, ##__VA_ARGS__)

#define kunit_skip(test, fmt, ...)					\
	do {								\
		kunit_info(test, fmt, ##__VA_ARGS__);			\
		(test)->skipped = true;					\
		kunit_compat_abort(test);				\
	} while (0)

#define kunit_compat_check(test, fatal, ok, fmt, ...)			\
	do {								\
		if (!(ok))						\
			kunit_compat_fail(test, fatal, __FILE__,	\
					  __LINE__, fmt, ##__VA_ARGS__); \
	} while (0)

#define kunit_compat_binary(test, fatal, l, op, r, fmt, ...)		\
	do {								\
		const __typeof__(l) left_ = (l);			\
		const __typeof__(r) right_ = (r);			\
									\
		kunit_compat_check(test, fatal, left_ op right_,	\
				   "%s " #op " %s, but %lld and %lld " fmt, \
				   #l, #r, (long long)left_,		\
				   (long long)right_, ##__VA_ARGS__);	\
	} while (0)

#define kunit_compat_ptr(test, fatal, l, op, r, fmt, ...)		\
	kunit_compat_check(test, fatal, (l) op (r), "%s " #op " %s " fmt, \
			   #l, #r, ##__VA_ARGS__)

#define kunit_compat_mem(test, fatal, l, r, n, fmt, ...)		\
	kunit_compat_check(test, fatal, !memcmp(l, r, n),		\
			   "%s and %s are the same " fmt, #l, #r,	\
			   ##__VA_ARGS__)

#define KUNIT_EXPECT_TRUE_MSG(test, x, fmt, ...) \
	kunit_compat_check(test, false, x, "%s " fmt, #x, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, x, fmt, ...) \
	kunit_compat_check(test, false, !(x), "!(%s) " fmt, #x, ##__VA_ARGS__)
#define KUNIT_EXPECT_EQ_MSG(test, l, r, ...) \
	kunit_compat_binary(test, false, l, ==, r, __VA_ARGS__)
#define KUNIT_EXPECT_NE_MSG(test, l, r, ...) \
	kunit_compat_binary(test, false, l, !=, r, __VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(test, l, r, ...) \
	kunit_compat_binary(test, false, l, <=, r, __VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ_MSG(test, l, r, ...) \
	kunit_compat_ptr(test, false, l, ==, r, __VA_ARGS__)
#define KUNIT_EXPECT_MEMEQ_MSG(test, l, r, n, ...) \
	kunit_compat_mem(test, false, l, r, n, __VA_ARGS__)

#define KUNIT_ASSERT_TRUE_MSG(test, x, fmt, ...) \
	kunit_compat_check(test, true, x, "%s " fmt, #x, ##__VA_ARGS__)
#define KUNIT_ASSERT_FALSE_MSG(test, x, fmt, ...) \
	kunit_compat_check(test, true, !(x), "!(%s) " fmt, #x, ##__VA_ARGS__)
#define KUNIT_ASSERT_EQ_MSG(test, l, r, ...) \
	kunit_compat_binary(test, true, l, ==, r, __VA_ARGS__)
#define KUNIT_ASSERT_NE_MSG(test, l, r, ...) \
	kunit_compat_binary(test, true, l, !=, r, __VA_ARGS__)
#define KUNIT_ASSERT_LE_MSG(test, l, r, ...) \
	kunit_compat_binary(test, true, l, <=, r, __VA_ARGS__)
#define KUNIT_ASSERT_PTR_EQ_MSG(test, l, r, ...) \
	kunit_compat_ptr(test, true, l, ==, r, __VA_ARGS__)
#define KUNIT_ASSERT_MEMEQ_MSG(test, l, r, n, ...) \
	kunit_compat_mem(test, true, l, r, n, __VA_ARGS__)

#define KUNIT_EXPECT_TRUE(test, x)	KUNIT_EXPECT_TRUE_MSG(test, x, "")
#define KUNIT_EXPECT_FALSE(test, x)	KUNIT_EXPECT_FALSE_MSG(test, x, "")
#define KUNIT_EXPECT_EQ(test, l, r)	KUNIT_EXPECT_EQ_MSG(test, l, r, "")
#define KUNIT_EXPECT_NE(test, l, r)	KUNIT_EXPECT_NE_MSG(test, l, r, "")
#define KUNIT_EXPECT_LE(test, l, r)	KUNIT_EXPECT_LE_MSG(test, l, r, "")
#define KUNIT_EXPECT_PTR_EQ(test, l, r)	KUNIT_EXPECT_PTR_EQ_MSG(test, l, r, "")
#define KUNIT_EXPECT_MEMEQ(test, l, r, n) \
	KUNIT_EXPECT_MEMEQ_MSG(test, l, r, n, "")
#define KUNIT_ASSERT_TRUE(test, x)	KUNIT_ASSERT_TRUE_MSG(test, x, "")
#define KUNIT_ASSERT_FALSE(test, x)	KUNIT_ASSERT_FALSE_MSG(test, x, "")
#define KUNIT_ASSERT_EQ(test, l, r)	KUNIT_ASSERT_EQ_MSG(test, l, r, "")
#define KUNIT_ASSERT_NE(test, l, r)	KUNIT_ASSERT_NE_MSG(test, l, r, "")
#define KUNIT_ASSERT_LE(test, l, r)	KUNIT_ASSERT_LE_MSG(test, l, r, "")
#define KUNIT_ASSERT_PTR_EQ(test, l, r)	KUNIT_ASSERT_PTR_EQ_MSG(test, l, r, "")
#define KUNIT_ASSERT_MEMEQ(test, l, r, n) \
	KUNIT_ASSERT_MEMEQ_MSG(test, l, r, n, "")
#define KUNIT_EXPECT_NOT_NULL(test, p) \
	KUNIT_EXPECT_TRUE_MSG(test, (p) != NULL, "")
#define KUNIT_ASSERT_NOT_NULL(test, p) \
	KUNIT_ASSERT_TRUE_MSG(test, (p) != NULL, "")

#endif /* CONFIG_KUNIT */

#endif /* _OMERTA_KUNIT_COMPAT_H */
