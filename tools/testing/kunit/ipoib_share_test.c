// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of how groups are shared out.
 */
#include <linux/slab.h>

#include "mcast/mcast.h"
#include "ipoib_suites.h"

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

static struct kunit_case ipoib_share_cases[] = {
	KUNIT_CASE(share_groups),
	{}
};

struct kunit_suite ipoib_share_suite = {
	.name = "ipoib_share",
	.test_cases = ipoib_share_cases,
};
