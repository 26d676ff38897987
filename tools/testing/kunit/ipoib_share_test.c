// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of ipoib_share.h, and of how groups are shared out.
 */
#include <linux/slab.h>

#include "mcast/mcast.h"
#include "ipoib_share.h"
#include "ipoib_suites.h"

#define EACH	64
#define ALL	1000

static void gid_make(u8 *gid, u32 n)
{
	memset(gid, 0, sizeof(union ib_gid));
	gid[0] = 0xfe;
	gid[1] = 0x80;
	memcpy(gid + 12, &n, sizeof(n));
}

/* Take what there is room for; how many units that is. */
static unsigned int take_all(struct ipoib_share *share, u8 namer)
{
	unsigned int n = 0;

	while (ipoib_share_has_room(share, namer, EACH, ALL)) {
		ipoib_share_take(share, namer);
		n++;
	}
	return n;
}

static void share_each(struct kunit *test)
{
	struct ipoib_share share = {};

	KUNIT_EXPECT_EQ(test, take_all(&share, 7), EACH);
	KUNIT_EXPECT_EQ(test, take_all(&share, 8), EACH);
	ipoib_share_give(&share, 7, EACH);
	KUNIT_EXPECT_EQ(test, share.total, EACH);
	KUNIT_EXPECT_EQ(test, take_all(&share, 8), 0);
	KUNIT_EXPECT_EQ(test, take_all(&share, 7), EACH);
}

static void share_all(struct kunit *test)
{
	struct ipoib_share share = {};
	unsigned int i, n = 0;

	for (i = 1; i < IPOIB_NAMERS; i++)
		n += take_all(&share, i);
	KUNIT_EXPECT_EQ(test, n, ALL / 2);
	KUNIT_EXPECT_EQ(test, take_all(&share, IPOIB_NAMER_OWN), ALL / 2);
	ipoib_share_give(&share, 1, EACH);
	KUNIT_EXPECT_EQ(test, take_all(&share, 1), EACH);
}

static void share_named(struct kunit *test)
{
	struct ipoib_namers *namers = kzalloc(sizeof(*namers), GFP_KERNEL);
	u8 gid[sizeof(union ib_gid)], one, two;

	KUNIT_EXPECT_TRUE(test, namers);
	if (!namers)
		return;
	namers->seed = 0x4391;
	one = ipoib_namer_of(namers, 5);
	two = ipoib_namer_of(namers, 6);
	KUNIT_EXPECT_TRUE(test, one != IPOIB_NAMER_OWN);
	KUNIT_EXPECT_TRUE(test, one != two);
	gid_make(gid, 1);
	KUNIT_EXPECT_EQ(test, ipoib_namer_find(namers, gid), IPOIB_NAMER_OWN);
	ipoib_namer_note(namers, gid, one);
	KUNIT_EXPECT_EQ(test, ipoib_namer_find(namers, gid), one);
	ipoib_namer_note(namers, gid, two);
	KUNIT_EXPECT_EQ(test, ipoib_namer_find(namers, gid), two);
	gid_make(gid, 2);
	KUNIT_EXPECT_EQ(test, ipoib_namer_find(namers, gid), IPOIB_NAMER_OWN);
	kfree(namers);
}

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
	KUNIT_CASE(share_each),
	KUNIT_CASE(share_all),
	KUNIT_CASE(share_named),
	KUNIT_CASE(share_groups),
	{}
};

struct kunit_suite ipoib_share_suite = {
	.name = "ipoib_share",
	.test_cases = ipoib_share_cases,
};
