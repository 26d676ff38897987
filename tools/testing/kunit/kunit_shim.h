/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of KUnit that the suites need, for kernels built without KUnit.
 *
 * Names and semantics as in <kunit/test.h>: a suite has cases; a case makes
 * expectations, and continues after a failed expectation. Loading the module runs
 * all suites and writes KTAP to the kernel log, in KUnit's form. The result of
 * loading does not depend on the results of the tests.
 */
#ifndef IPOIB_KUNIT_SHIM_H
#define IPOIB_KUNIT_SHIM_H

#include <linux/init.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/types.h>

/**
 * struct kunit - a running case
 * @priv: private data of the suite
 * @name: name of the case
 * @failed: an expectation has failed
 */
struct kunit {
	void *priv;
	const char *name;
	bool failed;
};

/**
 * struct kunit_case - a case
 * @run_case: function with the expectations
 * @name: name of the case
 */
struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

/**
 * struct kunit_suite - a suite of cases
 * @name: name of the suite
 * @init: called before each case; the case fails if it fails
 * @exit: called after each case
 * @test_cases: array that ends with an empty case
 */
struct kunit_suite {
	const char name[256];
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(func)	{ .run_case = func, .name = #func }

static inline void kunit_shim_check(struct kunit *test, bool holds,
				    const char *file, int line,
				    const char *text, long long left,
				    long long right)
{
	if (holds)
		return;
	test->failed = true;
	pr_err("    # %s: EXPECTATION FAILED at %s:%d\n", test->name, file,
	       line);
	pr_err("    Expected %s, but they are %lld (%#llx) and %lld (%#llx)\n",
	       text, left, left, right, right);
}

#define KUNIT_SHIM_EXPECT(test, left, op, right) do {			\
	const typeof(left) __left = (left);				\
	const typeof(right) __right = (right);				\
									\
	kunit_shim_check(test, __left op __right, __FILE__, __LINE__,	\
			 #left " " #op " " #right, (long long)__left,	\
			 (long long)__right);				\
} while (0)

#define KUNIT_SHIM_EXPECT_PTR(test, left, op, right) do {		\
	const void *__left = (left);					\
	const void *__right = (right);					\
									\
	kunit_shim_check(test, __left op __right, __FILE__, __LINE__,	\
			 #left " " #op " " #right, (long)__left,	\
			 (long)__right);				\
} while (0)

#define KUNIT_EXPECT_EQ(test, left, right)				\
	KUNIT_SHIM_EXPECT(test, left, ==, right)
#define KUNIT_EXPECT_LT(test, left, right)				\
	KUNIT_SHIM_EXPECT(test, left, <, right)
#define KUNIT_EXPECT_PTR_EQ(test, left, right)				\
	KUNIT_SHIM_EXPECT_PTR(test, left, ==, right)
#define KUNIT_EXPECT_PTR_NE(test, left, right)				\
	KUNIT_SHIM_EXPECT_PTR(test, left, !=, right)
#define KUNIT_EXPECT_TRUE(test, condition)				\
	kunit_shim_check(test, condition, __FILE__, __LINE__,		\
			 #condition " to be true", 0, 1)
#define KUNIT_EXPECT_FALSE(test, condition)				\
	kunit_shim_check(test, !(condition), __FILE__, __LINE__,	\
			 #condition " to be false", 1, 0)

static inline bool kunit_shim_run_case(const struct kunit_suite *suite,
				       const struct kunit_case *test_case)
{
	struct kunit test = { .name = test_case->name };

	if (suite->init && suite->init(&test)) {
		pr_err("    # %s: failed to initialize\n", test.name);
		return false;
	}
	test_case->run_case(&test);
	if (suite->exit)
		suite->exit(&test);
	return !test.failed;
}

static inline bool kunit_shim_run_suite(const struct kunit_suite *suite)
{
	const struct kunit_case *test_case;
	unsigned int number = 0;
	bool all = true, good;

	for (test_case = suite->test_cases; test_case->run_case; test_case++)
		number++;
	pr_info("    KTAP version 1\n");
	pr_info("    # Subtest: %s\n", suite->name);
	pr_info("    1..%u\n", number);
	number = 0;
	for (test_case = suite->test_cases; test_case->run_case; test_case++) {
		good = kunit_shim_run_case(suite, test_case);
		pr_info("    %sok %u %s\n", good ? "" : "not ", ++number,
			test_case->name);
		all &= good;
	}
	return all;
}

static inline void kunit_shim_run_suites(struct kunit_suite *const *suites,
					 unsigned int count)
{
	unsigned int i;

	pr_info("KTAP version 1\n");
	pr_info("1..%u\n", count);
	for (i = 0; i < count; i++)
		pr_info("%sok %u %s\n",
			kunit_shim_run_suite(suites[i]) ? "" : "not ", i + 1,
			suites[i]->name);
}

/* KUnit itself finds suites in a section, by hooks in the module loader. */
#define kunit_test_suites(...)						\
	static struct kunit_suite *const kunit_shim_suites[] = {	\
		__VA_ARGS__						\
	};								\
									\
	static int __init kunit_shim_init(void)				\
	{								\
		kunit_shim_run_suites(kunit_shim_suites,		\
				      ARRAY_SIZE(kunit_shim_suites));	\
		return 0;						\
	}								\
	module_init(kunit_shim_init);					\
									\
	static void __exit kunit_shim_exit(void) {}			\
	module_exit(kunit_shim_exit)

#endif /* IPOIB_KUNIT_SHIM_H */
