// SPDX-License-Identifier: GPL-2.0
/* Tests of the net device of an HCA: its MTU, and operations of ethtool */
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "ipoib_suites.h"
#include "ipoib_rn.c"

/**
 * struct rn_fixture - fixture of a case
 * @area: an interface over @dev
 * @dev: net device of an HCA
 * @ops: its operations
 * @changes: changes of its MTU
 * @err: their result
 */
struct rn_fixture {
	struct ipoib_rn area;
	struct net_device *dev;
	struct net_device_ops ops;
	unsigned int changes;
	int err;
};

/* ---- a part of the driver that no case reaches ---- */

const struct net_device_ops ipoib_ud_netdev_ops = {};

/* ---- the HCA ---- */

static int rn_change_mtu(struct net_device *dev, int mtu)
{
	struct rn_fixture *fix = container_of(ipoib_priv(dev), struct rn_fixture, area.priv);

	fix->changes++;
	if (!fix->err)
		dev->mtu = mtu;
	return fix->err;
}

static int rn_init(struct kunit *test)
{
	struct rn_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct rdma_netdev *rn;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev(sizeof(*rn), "ipoib_rn%d", NET_NAME_UNKNOWN, ether_setup);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	rn = netdev_priv(fix->dev);
	rn->clnt_priv = &fix->area.priv;
	fix->area.priv.netdev = fix->dev;
	fix->area.priv.rn = rn;
	fix->area.priv.rn_ops = &fix->ops;
	test->priv = fix;
	return 0;
}

static void rn_exit(struct kunit *test)
{
	struct rn_fixture *fix = test->priv;

	free_netdev(fix->dev);
	kvfree(fix);
}

/* The MTU of the interface stays, and buffers of the right size are left alone. */
static void rn_mtu(struct kunit *test)
{
	struct rn_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->area.priv;

	fix->dev->mtu = 1500;
	priv->rn_mtu = 2044;
	/* An HCA without such a change */
	KUNIT_EXPECT_EQ(test, ipoib_rn_set_mtu(priv, 4092), 0);
	KUNIT_EXPECT_EQ(test, priv->rn_mtu, 2044u);
	fix->ops.ndo_change_mtu = rn_change_mtu;
	KUNIT_EXPECT_EQ(test, ipoib_rn_set_mtu(priv, 2044), 0);
	KUNIT_EXPECT_EQ(test, fix->changes, 0u);
	KUNIT_EXPECT_EQ(test, ipoib_rn_set_mtu(priv, 4092), 0);
	KUNIT_EXPECT_EQ(test, fix->changes, 1u);
	KUNIT_EXPECT_EQ(test, priv->rn_mtu, 4092u);
	KUNIT_EXPECT_EQ(test, fix->dev->mtu, 1500u);
	fix->err = -EIO;
	KUNIT_EXPECT_EQ(test, ipoib_rn_set_mtu(priv, 2044), -EIO);
	KUNIT_EXPECT_EQ(test, fix->changes, 2u);
	KUNIT_EXPECT_EQ(test, priv->rn_mtu, 4092u);
	KUNIT_EXPECT_EQ(test, fix->dev->mtu, 1500u);
}

static u32 rn_own_link(struct net_device *dev)
{
	return 1;
}

static u32 rn_hca_link(struct net_device *dev)
{
	return 0;
}

static int rn_own_count(struct net_device *dev, int set)
{
	return 1;
}

static int rn_hca_count(struct net_device *dev, int set)
{
	return 0;
}

static u32 rn_hca_level(struct net_device *dev)
{
	return 0;
}

/* Counters are the driver's, all else is the HCA's if the HCA has it. */
static void rn_ethtool(struct kunit *test)
{
	static const struct ethtool_ops own = {
		.get_link = rn_own_link,
		.get_sset_count = rn_own_count,
	};
	static const struct ethtool_ops bare = {
		.get_msglevel = rn_hca_level,
		.get_sset_count = rn_hca_count,
	};
	static const struct ethtool_ops full = {
		.get_link = rn_hca_link,
	};
	struct rn_fixture *fix = test->priv;
	const struct ethtool_ops *ops;

	fix->dev->ethtool_ops = &bare;
	ipoib_rn_init_ethtool(fix->dev, &own);
	ops = fix->dev->ethtool_ops;
	KUNIT_EXPECT_TRUE(test, ops->get_link == rn_own_link);
	KUNIT_EXPECT_TRUE(test, ops->get_sset_count == rn_own_count);
	KUNIT_EXPECT_TRUE(test, ops->get_msglevel == rn_hca_level);
	KUNIT_EXPECT_PTR_EQ(test, fix->area.priv.rn_ethtool_ops, &bare);
	fix->dev->ethtool_ops = &full;
	ipoib_rn_init_ethtool(fix->dev, &own);
	ops = fix->dev->ethtool_ops;
	KUNIT_EXPECT_TRUE(test, ops->get_link == rn_hca_link);
	KUNIT_EXPECT_TRUE(test, ops->get_sset_count == rn_own_count);
	/* An HCA that has set none */
	fix->dev->ethtool_ops = &own;
	ipoib_rn_init_ethtool(fix->dev, &own);
	KUNIT_EXPECT_PTR_EQ(test, fix->dev->ethtool_ops, &own);
}

static struct kunit_case ipoib_rn_cases[] = {
	KUNIT_CASE(rn_mtu),
	KUNIT_CASE(rn_ethtool),
	{}
};

struct kunit_suite ipoib_rn_suite = {
	.name = "ipoib_rn",
	.init = rn_init,
	.exit = rn_exit,
	.test_cases = ipoib_rn_cases,
};
