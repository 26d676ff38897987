// SPDX-License-Identifier: GPL-2.0
/* Tests of the net device of an HCA: its MTU, and operations of ethtool */
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Another suite defines it, too. */
#define ipoib_drop	rn_drop

#include "ipoib_rn.c"

/**
 * struct rn_fixture - fixture of a case
 * @area: an interface over @dev
 * @dev: net device of an HCA
 * @ops: its operations
 * @changes: changes of its MTU
 * @err: their result
 * @sends: frames that it was given
 * @drops: dropped frames, by reason
 */
struct rn_fixture {
	struct ipoib_rn area;
	struct net_device *dev;
	struct net_device_ops ops;
	unsigned int changes;
	int err;
	unsigned int sends;
	unsigned int drops[IPOIB_NR_STATS];
};

void ipoib_drop(struct ipoib_dev *priv, struct sk_buff *skb, enum ipoib_stat why)
{
	container_of(priv, struct rn_fixture, area.priv)->drops[why]++;
	kfree_skb(skb);
}

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

static void rn_own_info(struct net_device *dev, struct ethtool_drvinfo *info)
{
}

static void rn_hca_info(struct net_device *dev, struct ethtool_drvinfo *info)
{
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
		.get_drvinfo = rn_own_info,
	};
	static const struct ethtool_ops bare = {
		.get_msglevel = rn_hca_level,
		.get_sset_count = rn_hca_count,
	};
	static const struct ethtool_ops full = {
		.get_link = rn_hca_link,
		.get_drvinfo = rn_hca_info,
	};
	struct rn_fixture *fix = test->priv;
	const struct ethtool_ops *ops;

	fix->dev->ethtool_ops = &bare;
	ipoib_rn_init_ethtool(fix->dev, &own);
	ops = fix->dev->ethtool_ops;
	KUNIT_EXPECT_TRUE(test, ops->get_link == rn_own_link);
	KUNIT_EXPECT_TRUE(test, ops->get_drvinfo == rn_own_info);
	KUNIT_EXPECT_TRUE(test, ops->get_sset_count == rn_own_count);
	KUNIT_EXPECT_TRUE(test, ops->get_msglevel == rn_hca_level);
	KUNIT_EXPECT_PTR_EQ(test, fix->area.priv.rn_ethtool_ops, &bare);
	fix->dev->ethtool_ops = &full;
	ipoib_rn_init_ethtool(fix->dev, &own);
	ops = fix->dev->ethtool_ops;
	KUNIT_EXPECT_TRUE(test, ops->get_link == rn_hca_link);
	KUNIT_EXPECT_TRUE(test, ops->get_drvinfo == rn_hca_info);
	KUNIT_EXPECT_TRUE(test, ops->get_sset_count == rn_own_count);
	/* An HCA that has set none */
	fix->dev->ethtool_ops = &own;
	ipoib_rn_init_ethtool(fix->dev, &own);
	KUNIT_EXPECT_PTR_EQ(test, fix->dev->ethtool_ops, &own);
}

static const struct net_device_ops rn_own_ops = {};
static const struct net_device_ops rn_hca_ops = {};
static int rn_init_err;
static unsigned int rn_gone;

static void rn_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &rn_own_ops;
	dev->needs_free_netdev = true;
}

static void rn_destroy(struct net_device *dev)
{
	rn_gone++;
}

static int rn_initialize(struct ib_device *ca, u32 port, struct net_device *dev, void *param)
{
	/* The HCA may call the operations of verbs. */
	if (dev->netdev_ops != &ipoib_ud_netdev_ops || ipoib_priv(dev)->netdev != dev)
		return -EINVAL;
	dev->netdev_ops = &rn_hca_ops;
	dev->priv_destructor = rn_destroy;
	dev->mtu = 1234;
	return rn_init_err;
}

static int rn_params(struct ib_device *ca, u32 port, enum rdma_netdev_t type,
		     struct rdma_netdev_alloc_params *params)
{
	if (port != 2 || type != RDMA_NETDEV_IPOIB)
		return -EOPNOTSUPP;
	memset(params, 0, sizeof(*params));
	params->sizeof_priv = sizeof(struct rdma_netdev);
	params->txqs = 3;
	params->rxqs = 1;
	params->initialize_rdma_netdev = rn_initialize;
	return 0;
}

/* Operations, MTU and destructor of the net device of an HCA */
static void rn_made(struct kunit *test)
{
	struct ib_device *ca = kvzalloc(sizeof(*ca), GFP_KERNEL | __GFP_NOFAIL);
	struct net_device *dev;
	struct ipoib_dev *priv;

	ca->ops.rdma_netdev_get_params = rn_params;
	rn_init_err = -ENOMEM;
	rn_gone = 0;
	dev = ipoib_rn_alloc(ca, 2, "ipoib_rn%d", NET_NAME_ENUM, rn_setup);
	KUNIT_EXPECT_PTR_EQ(test, dev, ERR_PTR(-ENOMEM));
	dev = ipoib_rn_alloc(ca, 1, "ipoib_rn%d", NET_NAME_ENUM, rn_setup);
	KUNIT_EXPECT_PTR_EQ(test, dev, ERR_PTR(-EOPNOTSUPP));
	rn_init_err = 0;
	dev = ipoib_rn_alloc(ca, 2, "ipoib_rn%d", NET_NAME_ENUM, rn_setup);
	KUNIT_EXPECT_FALSE(test, IS_ERR(dev));
	if (IS_ERR(dev))
		goto free;
	priv = ipoib_priv(dev);
	KUNIT_EXPECT_PTR_EQ(test, priv->netdev, dev);
	KUNIT_EXPECT_PTR_EQ(test, priv->rn, netdev_priv(dev));
	KUNIT_EXPECT_PTR_EQ(test, priv->rn_ops, &rn_hca_ops);
	KUNIT_EXPECT_PTR_EQ(test, dev->netdev_ops, &rn_own_ops);
	KUNIT_EXPECT_EQ(test, dev->num_tx_queues, 3u);
	KUNIT_EXPECT_EQ(test, priv->rn_mtu, 1234u);
	KUNIT_EXPECT_EQ(test, (unsigned int)dev->mtu, 0u);
	KUNIT_EXPECT_EQ(test, (unsigned int)dev->min_mtu, (unsigned int)IPOIB_MTU_MIN);
	KUNIT_EXPECT_EQ(test, (unsigned int)dev->max_mtu, (unsigned int)IPOIB_MTU_MAX);
	KUNIT_EXPECT_TRUE(test, !dev->priv_destructor);
	KUNIT_EXPECT_FALSE(test, dev->needs_free_netdev);
	KUNIT_EXPECT_EQ(test, rn_gone, 0u);
	ipoib_rn_free(priv);
	KUNIT_EXPECT_EQ(test, rn_gone, 1u);
free:
	kvfree(ca);
}

static int rn_send(struct net_device *dev, struct sk_buff *skb, struct ib_ah *ah, u32 qpn)
{
	struct rn_fixture *fix = container_of(ipoib_priv(dev), struct rn_fixture, area.priv);

	fix->sends += ah == (void *)fix && qpn == 0x42 && skb_get_queue_mapping(skb) == 1;
	kfree_skb(skb);
	return 0;
}

/* Frames for the HCA: without the address, while its queue takes them */
static void rn_frames(struct kunit *test)
{
	struct ipoib_txq *txq = kvcalloc(2, sizeof(*txq), GFP_KERNEL | __GFP_NOFAIL);
	struct rn_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->area.priv;
	struct ipoib_ah ah = { .ah = (void *)fix };
	struct sk_buff *skb;
	unsigned int i;

	priv->txq = txq;
	priv->rn->send = rn_send;
	txq[1].priv = priv;
	txq[1].nq = netdev_get_tx_queue(fix->dev, 0);
	netif_tx_stop_queue(txq[1].nq);
	for (i = 0; i < 3; i++) {
		if (i == 1)
			set_bit(IPOIB_FLAG_QP, &priv->flags);
		if (i == 2)
			netif_tx_start_queue(txq[1].nq);
		skb = alloc_skb(100, GFP_KERNEL | __GFP_NOFAIL);
		skb_put_zero(skb, 100);
		skb_get(skb);
		local_bh_disable();
		ipoib_rn_xmit(&txq[1], skb, &ah, 0x42);
		local_bh_enable();
		KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1u);
		KUNIT_EXPECT_EQ(test, skb->len, i == 2 ? 80u : 100u);
		KUNIT_EXPECT_EQ(test, fix->drops[IPOIB_TX_FLUSHED], 1u);
		KUNIT_EXPECT_EQ(test, fix->drops[IPOIB_TX_QUEUE_FULL], min(i, 1u));
		KUNIT_EXPECT_EQ(test, fix->sends, i == 2 ? 1u : 0u);
		kfree_skb(skb);
	}
	kvfree(txq);
}

static void rn_hca_stats(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	stats->rx_packets = 7;
}

/* Counters of the HCA: by its operation, or else by CPU if the net device is its own and has some */
static void rn_counted(struct kunit *test)
{
	struct rn_fixture *fix = test->priv;
	struct ipoib_dev *priv = &fix->area.priv;
	struct rtnl_link_stats64 stats = {};

	ipoib_rn_stats(priv, &stats);
	KUNIT_EXPECT_EQ(test, stats.rx_packets, 0ull);
	fix->dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	KUNIT_EXPECT_TRUE(test, fix->dev->tstats);
	if (!fix->dev->tstats)
		return;
	local_bh_disable();
	dev_sw_netstats_rx_add(fix->dev, 100);
	local_bh_enable();
	ipoib_rn_stats(priv, &stats);
	KUNIT_EXPECT_EQ(test, stats.rx_packets, 1ull);
	KUNIT_EXPECT_EQ(test, stats.rx_bytes, 100ull);
	priv->rn = NULL;
	memset(&stats, 0, sizeof(stats));
	ipoib_rn_stats(priv, &stats);
	KUNIT_EXPECT_EQ(test, stats.rx_packets, 0ull);
	fix->ops.ndo_get_stats64 = rn_hca_stats;
	ipoib_rn_stats(priv, &stats);
	KUNIT_EXPECT_EQ(test, stats.rx_packets, 7ull);
	KUNIT_EXPECT_EQ(test, stats.rx_bytes, 0ull);
	free_percpu(fix->dev->tstats);
	fix->dev->tstats = NULL;
}

static struct kunit_case ipoib_rn_cases[] = {
	KUNIT_CASE(rn_mtu),
	KUNIT_CASE(rn_ethtool),
	KUNIT_CASE(rn_made),
	KUNIT_CASE(rn_frames),
	KUNIT_CASE(rn_counted),
	{}
};

struct kunit_suite ipoib_rn_suite = {
	.name = "ipoib_rn",
	.init = rn_init,
	.exit = rn_exit,
	.test_cases = ipoib_rn_cases,
};
