// SPDX-License-Identifier: GPL-2.0
/* Tests of limits of groups, and of credits for queries */
#include <linux/slab.h>

#include "mcast/mcast.h"
#include "ipoib_suites.h"
/* Compiled into this module, as it exports no functions */
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

static void share_granted(struct ipoib_inflight *inflight)
{
}

/* Request @n credits of a kind. Return: number of granted credits */
static unsigned int share_ask(struct ipoib_limit *limit, struct ipoib_inflight *credits,
			      enum ipoib_inflight_kind kind, unsigned int n)
{
	unsigned int held = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		ipoib_inflight_init(&credits[i], kind, share_granted);
		held += ipoib_inflight_get(limit, &credits[i]);
	}
	return held;
}

/* Paths leave reserved credits to groups. */
static void share_credits(struct kunit *test)
{
	struct ipoib_inflight groups[IPOIB_QUERIES_KEPT + 1];
	struct ipoib_inflight paths[IPOIB_QUERIES_MAX];
	struct ipoib_limit limit;

	ipoib_limit_init(&limit, IPOIB_QUERIES_MAX);
	KUNIT_EXPECT_EQ(test, share_ask(&limit, paths, IPOIB_INFLIGHT_PATH, ARRAY_SIZE(paths)),
			IPOIB_QUERIES_MAX - IPOIB_QUERIES_KEPT);
	KUNIT_EXPECT_EQ(test, share_ask(&limit, groups, IPOIB_INFLIGHT_GROUP, ARRAY_SIZE(groups)),
			IPOIB_QUERIES_KEPT);
	/* The credit of a path goes to the waiting group. */
	ipoib_inflight_put(&limit, &paths[0]);
	KUNIT_EXPECT_TRUE(test, groups[IPOIB_QUERIES_KEPT].held);
	KUNIT_EXPECT_FALSE(test, paths[IPOIB_QUERIES_MAX - 1].held);
	/* The credit of a group goes to the path that has waited least. */
	ipoib_inflight_put(&limit, &groups[0]);
	KUNIT_EXPECT_TRUE(test, paths[IPOIB_QUERIES_MAX - 1].held);
	KUNIT_EXPECT_FALSE(test, paths[IPOIB_QUERIES_MAX - 2].held);
	KUNIT_EXPECT_TRUE(test, ipoib_inflight_get(NULL, &paths[IPOIB_QUERIES_MAX - 2]));
}

/* Groups leave reserved credits to paths. */
static void share_paths(struct kunit *test)
{
	enum { most = IPOIB_QUERIES_MAX - IPOIB_QUERIES_KEPT };
	struct ipoib_inflight paths[IPOIB_QUERIES_KEPT + 1];
	struct ipoib_inflight groups[most + 2];
	struct ipoib_limit limit;

	ipoib_limit_init(&limit, IPOIB_QUERIES_MAX);
	KUNIT_EXPECT_EQ(test, share_ask(&limit, groups, IPOIB_INFLIGHT_GROUP, ARRAY_SIZE(groups)),
			most);
	KUNIT_EXPECT_EQ(test, share_ask(&limit, paths, IPOIB_INFLIGHT_PATH, ARRAY_SIZE(paths)),
			IPOIB_QUERIES_KEPT);
	ipoib_inflight_put(&limit, &groups[0]);
	KUNIT_EXPECT_TRUE(test, groups[most].held);
	KUNIT_EXPECT_FALSE(test, paths[IPOIB_QUERIES_KEPT].held);
	/* The credit of a path does not go to the waiting group. */
	ipoib_inflight_put(&limit, &paths[0]);
	KUNIT_EXPECT_FALSE(test, groups[most + 1].held);
	KUNIT_EXPECT_TRUE(test, paths[IPOIB_QUERIES_KEPT].held);
}

/* A limit of two: two requests hold credits, and three wait. */
static void share_turns(struct kunit *test)
{
	struct ipoib_inflight credits[5];
	struct ipoib_limit limit;

	ipoib_limit_init(&limit, 2 + IPOIB_QUERIES_KEPT);
	KUNIT_EXPECT_EQ(test, share_ask(&limit, credits, IPOIB_INFLIGHT_GROUP, 5), 2u);
	/* A repeated request has no effect. */
	KUNIT_EXPECT_TRUE(test, ipoib_inflight_get(&limit, &credits[1]));
	KUNIT_EXPECT_TRUE(test, list_empty(&credits[1].list));
	KUNIT_EXPECT_FALSE(test, ipoib_inflight_get(&limit, &credits[2]));
	/* A put of a waiting request ends its wait. */
	ipoib_inflight_put(&limit, &credits[2]);
	ipoib_inflight_put(&limit, &credits[0]);
	KUNIT_EXPECT_FALSE(test, credits[0].held || credits[2].held || credits[4].held);
	KUNIT_EXPECT_TRUE(test, credits[3].held);
	/* A second put has no effect. */
	ipoib_inflight_put(&limit, &credits[0]);
	KUNIT_EXPECT_FALSE(test, credits[4].held);
	ipoib_inflight_put(&limit, &credits[1]);
	KUNIT_EXPECT_TRUE(test, credits[4].held);
	ipoib_inflight_put(&limit, &credits[3]);
	ipoib_inflight_put(&limit, &credits[4]);
	KUNIT_EXPECT_EQ(test, limit.held[IPOIB_INFLIGHT_GROUP], 0u);
}

/* Fill @n queues of @most frames in turn. Return: room that is left */
static int share_fill(unsigned int n, unsigned int most, int room)
{
	unsigned int len;

	while (n--)
		for (len = 0; ipoib_neigh_fits(len, most, room); len++)
			room--;
	return room;
}

static void share_queues(struct kunit *test)
{
	/* A single queue gets its maximum. */
	KUNIT_EXPECT_EQ(test, share_fill(1, 256, 4096), 4096 - 256);
	KUNIT_EXPECT_EQ(test, share_fill(1, 32, 4096), 4096 - 32);
	/*
	 * 20 queues of 256 leave room for 50 in another queue, 100 queues of 32 for a whole queue.
	 */
	KUNIT_EXPECT_TRUE(test, ipoib_neigh_fits(50, 256, share_fill(20, 256, 4096)));
	KUNIT_EXPECT_TRUE(test, ipoib_neigh_fits(31, 32, share_fill(100, 32, 4096)));
	/* Any number of queues stays within the total. */
	KUNIT_EXPECT_TRUE(test, share_fill(1000, 256, 4096) > 0);
	KUNIT_EXPECT_FALSE(test, ipoib_neigh_fits(0, 256, -1));
}

static struct kunit_case ipoib_share_cases[] = {
	KUNIT_CASE(share_queues),
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
