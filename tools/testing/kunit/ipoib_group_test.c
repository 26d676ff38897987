// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the times of groups.
 */
#include "mcast/mcast.h"
#include "ipoib_suites.h"

static void group_until(struct kunit *test)
{
	unsigned long left = ipoib_mcast_until(jiffies + IPOIB_MCAST_AHEAD);

	KUNIT_EXPECT_TRUE(test, left <= IPOIB_MCAST_AHEAD);
	KUNIT_EXPECT_TRUE(test, left > IPOIB_MCAST_AHEAD / 2);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies), 0ul);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies - HZ), 0ul);
	/* time_after() takes these for times to come. */
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies - LONG_MAX - 2), 0ul);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies + LONG_MAX / 2), 0ul);
}

static struct kunit_case ipoib_group_cases[] = {
	KUNIT_CASE(group_until),
	{}
};

struct kunit_suite ipoib_group_suite = {
	.name = "ipoib_group",
	.test_cases = ipoib_group_cases,
};
