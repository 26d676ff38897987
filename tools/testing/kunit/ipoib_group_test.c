// SPDX-License-Identifier: GPL-2.0
/* Tests of deadlines and states of groups */
#include "mcast/mcast.h"
#include "ipoib_suites.h"

static void group_until(struct kunit *test)
{
	unsigned long left = ipoib_mcast_until(jiffies + 600 * HZ);

	KUNIT_EXPECT_TRUE(test, left <= 600 * HZ);
	KUNIT_EXPECT_TRUE(test, left > 300 * HZ);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies + 660 * HZ), 0ul);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies), 0ul);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies - HZ), 0ul);
	/* time_after() takes these times for the future. */
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies - LONG_MAX - 2), 0ul);
	KUNIT_EXPECT_EQ(test, ipoib_mcast_until(jiffies + LONG_MAX / 2), 0ul);
}

static void group_states(struct kunit *test)
{
	/* Transitions to each state in the order of the enum */
	static const char * const legal[] = {
		[IPOIB_MCAST_IDLE]	= "1100000",
		[IPOIB_MCAST_JOINING]	= "1011011",
		[IPOIB_MCAST_ASKING]	= "1100011",
		[IPOIB_MCAST_MEMBER]	= "1100100",
		[IPOIB_MCAST_CHECKING]	= "1001011",
		[IPOIB_MCAST_BACKOFF]	= "1100000",
		[IPOIB_MCAST_ABSENT]	= "1100000",
	};
	unsigned int from, to;

	for (from = 0; from < IPOIB_NR_MCAST_STATES; from++)
		for (to = 0; to < IPOIB_NR_MCAST_STATES; to++)
			KUNIT_EXPECT_EQ(test, ipoib_mcast_may_enter(from, to),
					legal[from][to] == '1');
}

/* An event does not have frames wait in a state without a request, except for a missing group. */
static void group_pending(struct kunit *test)
{
	/* By IPOIB_MCAST_EV_RECHECK; states in the order of the enum */
	static const char * const pending[] = { "1110100", "1110101" };
	static struct ipoib_mcast mcast;
	unsigned int state, recheck;

	for (recheck = 0; recheck < ARRAY_SIZE(pending); recheck++)
		for (state = 0; state < IPOIB_NR_MCAST_STATES; state++) {
			mcast.state = state;
			mcast.events = recheck ? IPOIB_MCAST_EV_RECHECK : IPOIB_MCAST_EV_LOST;
			KUNIT_EXPECT_EQ(test, ipoib_mcast_group_is_pending(&mcast),
					pending[recheck][state] == '1');
		}
}

static struct kunit_case ipoib_group_cases[] = {
	KUNIT_CASE(group_until),
	KUNIT_CASE(group_states),
	KUNIT_CASE(group_pending),
	{}
};

struct kunit_suite ipoib_group_suite = {
	.name = "ipoib_group",
	.test_cases = ipoib_group_cases,
};
