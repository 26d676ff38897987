// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of how groups, and credits of queries, are shared out.
 */
#include <linux/slab.h>

#include "mcast/mcast.h"
#include "ipoib_suites.h"
/* Compiled into this module, to have its functions. */
#include "ipoib_limit.c"

static void share_groups(struct kunit *test)
{
	struct ipoib_dev *priv = kzalloc(sizeof(*priv), GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, priv);
	if (!priv)
		return;
	while (ipoib_mcast_group_fits(priv, IPOIB_USER_ROUTE)) {
		priv->mcast.ngroups++;
		priv->mcast.nroute++;
	}
	KUNIT_EXPECT_TRUE(test, ipoib_mcast_group_fits(priv, IPOIB_USER_LISTEN));
	while (ipoib_mcast_group_fits(priv, IPOIB_USER_SEND)) {
		priv->mcast.ngroups++;
		priv->mcast.nsend++;
	}
	KUNIT_EXPECT_EQ(test, priv->mcast.nsend, IPOIB_MCAST_SEND_MAX);
	while (ipoib_mcast_group_fits(priv, IPOIB_USER_LISTEN))
		priv->mcast.ngroups++;
	KUNIT_EXPECT_TRUE(test, priv->mcast.ngroups - priv->mcast.nroute -
				priv->mcast.nsend >= 1024);
	kfree(priv);
}

static void share_resumed(struct ipoib_limit_waiter *wait)
{
}

static void share_granted(struct ipoib_credit *credit)
{
}

static void share_credits(struct kunit *test)
{
	struct ipoib_credit groups[IPOIB_QUERIES_MAX + 1];
	struct ipoib_limit_waiter paths;
	struct ipoib_limit limit;
	unsigned int n = 0;

	ipoib_limit_init(&limit, IPOIB_QUERIES_MAX);
	ipoib_limit_waiter_init(&paths, share_resumed);
	while (n <= IPOIB_QUERIES_MAX && ipoib_limit_get(&limit, &paths))
		n++;
	KUNIT_EXPECT_EQ(test, n, IPOIB_QUERIES_MAX - IPOIB_QUERIES_KEPT);
	KUNIT_EXPECT_FALSE(test, list_empty(&paths.list));
	for (; n <= IPOIB_QUERIES_MAX; n++) {
		ipoib_credit_init(&groups[n], share_granted);
		if (!ipoib_credit_get(&limit, &groups[n]))
			break;
	}
	KUNIT_EXPECT_EQ(test, n, IPOIB_QUERIES_MAX);
	/* That of a path goes to the group that waits, the next one wakes the paths. */
	ipoib_limit_put(&limit);
	KUNIT_EXPECT_TRUE(test, groups[n].held);
	KUNIT_EXPECT_FALSE(test, list_empty(&paths.list));
	ipoib_credit_put(&limit, &groups[n]);
	KUNIT_EXPECT_TRUE(test, list_empty(&paths.list));
	KUNIT_EXPECT_TRUE(test, ipoib_limit_get(&limit, &paths));
	KUNIT_EXPECT_FALSE(test, ipoib_limit_get(&limit, &paths));
	KUNIT_EXPECT_FALSE(test, ipoib_credit_get(&limit, &groups[n]));
}

/* Groups wait for credits: paths have what groups leave to them. */
static void share_paths(struct kunit *test)
{
	const unsigned int most = IPOIB_QUERIES_MAX - IPOIB_QUERIES_KEPT;
	struct ipoib_credit groups[2 * IPOIB_QUERIES_MAX];
	struct ipoib_limit_waiter paths;
	struct ipoib_limit limit;
	unsigned int i;

	ipoib_limit_init(&limit, IPOIB_QUERIES_MAX);
	ipoib_limit_waiter_init(&paths, share_resumed);
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		ipoib_credit_init(&groups[i], share_granted);
		KUNIT_EXPECT_EQ(test, ipoib_credit_get(&limit, &groups[i]), i < most);
	}
	for (i = 0; i <= IPOIB_QUERIES_KEPT; i++)
		KUNIT_EXPECT_EQ(test, ipoib_limit_get(&limit, &paths),
				i < IPOIB_QUERIES_KEPT);
	ipoib_credit_put(&limit, &groups[0]);
	KUNIT_EXPECT_TRUE(test, groups[most].held);
	KUNIT_EXPECT_FALSE(test, list_empty(&paths.list));
	ipoib_limit_put(&limit);
	KUNIT_EXPECT_FALSE(test, groups[most + 1].held);
	KUNIT_EXPECT_TRUE(test, list_empty(&paths.list));
}

/* Two hold credits of two, and three wait. */
static void share_turns(struct kunit *test)
{
	struct ipoib_credit credits[5];
	struct ipoib_limit limit;
	unsigned int i;

	ipoib_limit_init(&limit, 2 + IPOIB_QUERIES_KEPT);
	for (i = 0; i < ARRAY_SIZE(credits); i++) {
		ipoib_credit_init(&credits[i], share_granted);
		KUNIT_EXPECT_EQ(test, ipoib_credit_get(&limit, &credits[i]), i < 2);
		/* Once more changes nothing. */
		KUNIT_EXPECT_EQ(test, ipoib_credit_get(&limit, &credits[i]), i < 2);
	}
	/* It does not wait any more. */
	ipoib_credit_put(&limit, &credits[2]);
	ipoib_credit_put(&limit, &credits[0]);
	KUNIT_EXPECT_FALSE(test, credits[0].held || credits[2].held || credits[4].held);
	KUNIT_EXPECT_TRUE(test, credits[3].held);
	/* Nor does it hold one. */
	ipoib_credit_put(&limit, &credits[0]);
	KUNIT_EXPECT_FALSE(test, credits[4].held);
	ipoib_credit_put(&limit, &credits[1]);
	KUNIT_EXPECT_TRUE(test, credits[4].held);
	ipoib_credit_put(&limit, &credits[3]);
	ipoib_credit_put(&limit, &credits[4]);
	KUNIT_EXPECT_EQ(test, limit.busy, 0u);
}

static struct kunit_case ipoib_share_cases[] = {
	KUNIT_CASE(share_groups),
	KUNIT_CASE(share_credits),
	KUNIT_CASE(share_turns),
	KUNIT_CASE(share_paths),
	{}
};

struct kunit_suite ipoib_share_suite = {
	.name = "ipoib_share",
	.test_cases = ipoib_share_cases,
};
