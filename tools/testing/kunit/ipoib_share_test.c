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

static void share_credits(struct kunit *test)
{
	struct ipoib_limit_waiter paths, groups;
	struct ipoib_limit limit;
	unsigned int n = 0;

	ipoib_limit_init(&limit, IPOIB_QUERIES_MAX);
	ipoib_limit_waiter_init(&paths, share_resumed);
	ipoib_limit_waiter_init(&groups, share_resumed);
	while (n <= IPOIB_QUERIES_MAX &&
	       ipoib_limit_get(&limit, &paths, IPOIB_QUERIES_KEPT))
		n++;
	KUNIT_EXPECT_EQ(test, n, IPOIB_QUERIES_MAX - IPOIB_QUERIES_KEPT);
	KUNIT_EXPECT_FALSE(test, list_empty(&paths.list));
	while (n <= IPOIB_QUERIES_MAX && ipoib_limit_get(&limit, &groups, 0))
		n++;
	KUNIT_EXPECT_EQ(test, n, IPOIB_QUERIES_MAX);
	KUNIT_EXPECT_FALSE(test, list_empty(&groups.list));
	ipoib_limit_put(&limit);
	KUNIT_EXPECT_TRUE(test, list_empty(&paths.list) &&
				list_empty(&groups.list));
	KUNIT_EXPECT_FALSE(test, ipoib_limit_get(&limit, NULL, IPOIB_QUERIES_KEPT));
	KUNIT_EXPECT_TRUE(test, ipoib_limit_get(&limit, NULL, 0));
}

static struct kunit_case ipoib_share_cases[] = {
	KUNIT_CASE(share_groups),
	KUNIT_CASE(share_credits),
	{}
};

struct kunit_suite ipoib_share_suite = {
	.name = "ipoib_share",
	.test_cases = ipoib_share_cases,
};
