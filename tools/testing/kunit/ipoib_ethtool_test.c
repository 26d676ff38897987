// SPDX-License-Identifier: GPL-2.0
/* Tests of ethtool: statistics and their names, queues, moderation, link, driver */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/slab.h>

#include "ipoib_suites.h"

/* Functions and objects of the driver, which other suites define, too */
#define ipoib_ethtool_ops	nic_ethtool_ops
#define ipoib_stat_names	nic_stat_names
#define ipoib_txq_stat_names	nic_txq_stat_names
#define ipoib_stats_read	nic_stats_read
#define ipoib_stats_link	nic_stats_link
#define ipoib_txq_stats_read	nic_txq_stats_read
#define ipoib_rn_stats		nic_rn_stats
#define ipoib_ud_max_txqs	nic_ud_max_txqs
#define ipoib_ud_set_queues	nic_ud_set_queues
#define ipoib_ud_resize		nic_ud_resize
#define ipoib_ud_moderate	nic_ud_moderate
#define ipoib_cm_moderate	nic_cm_moderate

#include "ipoib.h"

/* The HCA */
#define ib_get_device_fw_str(ca, text)	nic_firmware(text)

#define NIC_QUEUES	3
/* Counters of the kernel's driver, counters of this driver, and those of a queue */
#define NIC_OLD		8
#define NIC_MORE	(IPOIB_NR_STATS - IPOIB_RX_SHORT)
#define NIC_COUNTERS	(NIC_OLD + NIC_MORE + NIC_QUEUES * IPOIB_NR_TXQ_STATS)
#define NIC_ROOM	(NIC_COUNTERS + 4)

/**
 * struct nic_fixture - fixture of a case
 * @dev: net_device of @priv
 * @priv: an interface
 * @txq: its transmit queues
 * @rxq: its receive queue
 * @rn: a net device of an HCA
 * @ops: operations of @rn
 * @ca: an HCA
 * @parent: parent of its device
 * @sends: slots that were set
 * @receives: receives that were set
 * @queues: queues that were set
 * @setting: moderation that was set
 * @moderated: times that it was set
 * @cm_moderated: times that it was set for connections
 * @err: result of the driver
 * @data: counters
 * @strings: their names
 */
struct nic_fixture {
	struct net_device *dev;
	struct ipoib_dev *priv;
	struct ipoib_txq txq[NIC_QUEUES];
	struct ipoib_rxq rxq;
	struct rdma_netdev rn;
	struct ethtool_ops ops;
	struct ib_device ca;
	struct device parent;
	unsigned int sends;
	unsigned int receives;
	unsigned int queues;
	struct ipoib_moderation setting;
	unsigned int moderated;
	unsigned int cm_moderated;
	int err;
	u64 data[NIC_ROOM];
	char strings[NIC_ROOM][ETH_GSTRING_LEN];
};

/* The fixture of the running case */
static struct nic_fixture *nic_fix;

static void nic_firmware(char *text)
{
	strscpy(text, "1.2.3", ETHTOOL_FWVERS_LEN);
}

/* ---- functions of the driver ---- */

const char * const ipoib_stat_names[IPOIB_NR_STATS] = {
	[0 ... IPOIB_NR_STATS - 1] = "more",
};

const char * const ipoib_txq_stat_names[IPOIB_NR_TXQ_STATS] = {
	[0 ... IPOIB_NR_TXQ_STATS - 1] = "queue",
};

void ipoib_stats_read(struct ipoib_dev *priv, u64 *sum)
{
	unsigned int i;

	for (i = 0; i < IPOIB_NR_STATS; i++)
		sum[i] = 1000 + i;
}

void ipoib_stats_link(const u64 *sum, struct rtnl_link_stats64 *link)
{
	link->rx_packets += 1;
	link->tx_packets += 2;
	link->rx_bytes += 3;
	link->tx_bytes += 4;
	link->tx_errors += 5;
	link->rx_dropped += 6;
	link->tx_dropped += 7;
	link->multicast += 8;
}

void ipoib_txq_stats_read(const struct ipoib_txq_stats *sent, const struct ipoib_txq_stats *done,
			  u64 *sum)
{
	unsigned int i, n;

	for (n = 0; n < NIC_QUEUES; n++)
		for (i = 0; i < IPOIB_NR_TXQ_COUNTERS; i++)
			if (sent == &nic_fix->txq[n].sent && done == &nic_fix->txq[n].done)
				sum[i] = 100 * (n + 1) + i;
}

void ipoib_rn_stats(const struct ipoib_dev *priv, struct rtnl_link_stats64 *stats)
{
	stats->rx_packets = 50;
}

unsigned int ipoib_ud_max_txqs(const struct ipoib_dev *priv)
{
	return NIC_QUEUES;
}

int ipoib_ud_set_queues(struct ipoib_dev *priv, unsigned int n)
{
	nic_fix->queues = n;
	return nic_fix->err;
}

int ipoib_ud_resize(struct ipoib_dev *priv, unsigned int sends, unsigned int receives)
{
	nic_fix->sends = sends;
	nic_fix->receives = receives;
	return nic_fix->err;
}

int ipoib_ud_moderate(struct ipoib_dev *priv, const struct ipoib_moderation *setting)
{
	nic_fix->setting = *setting;
	nic_fix->moderated++;
	return nic_fix->err;
}

void ipoib_cm_moderate(struct ipoib_dev *priv)
{
	nic_fix->cm_moderated++;
}

#include "ipoib_ethtool.c"

static int nic_init(struct kunit *test)
{
	struct nic_fixture *fix = kvzalloc(sizeof(*fix), GFP_KERNEL);
	struct ipoib_netdev *area;

	if (!fix)
		return -ENOMEM;
	fix->dev = alloc_netdev_mqs(sizeof(*area), "ipoib_nic%d", NET_NAME_ENUM, ether_setup, 2, 1);
	if (!fix->dev) {
		kvfree(fix);
		return -ENOMEM;
	}
	area = netdev_priv(fix->dev);
	area->rn.clnt_priv = &area->priv;
	fix->priv = &area->priv;
	fix->priv->netdev = fix->dev;
	fix->priv->ca = &fix->ca;
	fix->priv->txq = fix->txq;
	fix->priv->rxq = &fix->rxq;
	fix->priv->ntxq = 2;
	fix->priv->ntxq_made = 2;
	fix->ca.dev.init_name = "ipoib_hca";
	fix->parent.init_name = "ipoib_bus";
	nic_fix = fix;
	test->priv = fix;
	return 0;
}

static void nic_exit(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;

	free_netdev(fix->dev);
	kvfree(fix);
}

/* ---- operations of the net device of the HCA ---- */

static int nic_rn_count(struct net_device *dev, int set)
{
	return 2;
}

static void nic_rn_strings(struct net_device *dev, u32 set, u8 *data)
{
	memcpy(data, "first", sizeof("first"));
	memcpy(data + ETH_GSTRING_LEN, "second", sizeof("second"));
}

static void nic_rn_data(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	data[0] = 11;
	data[1] = 22;
}

/* ---- statistics ---- */

/* Counters of the kernel's driver come first, those of queues last. */
static void nic_counters(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;
	const u64 *queue = fix->data + NIC_OLD + NIC_MORE;
	unsigned int i;
	bool same = true;

	KUNIT_EXPECT_EQ(test, ipoib_ethtool_count(fix->dev, ETH_SS_STATS), (int)NIC_COUNTERS);
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_count(fix->dev, ETH_SS_TEST), -EOPNOTSUPP);
	memset(fix->data, 0xff, sizeof(fix->data));
	ipoib_ethtool_stats(fix->dev, NULL, fix->data);
	KUNIT_EXPECT_EQ(test, fix->data[0], 51ull);
	for (i = 1; i < NIC_OLD; i++)
		KUNIT_EXPECT_EQ(test, fix->data[i], i + 1ull);
	for (i = 0; i < NIC_MORE; i++)
		same &= fix->data[NIC_OLD + i] == 1000 + IPOIB_RX_SHORT + i;
	KUNIT_EXPECT_TRUE(test, same);
	/* The third queue has not been made. */
	for (i = 0; i < IPOIB_NR_TXQ_STATS; i++) {
		KUNIT_EXPECT_EQ(test, queue[i], 100ull + i);
		KUNIT_EXPECT_EQ(test, queue[IPOIB_NR_TXQ_STATS + i], 200ull + i);
		KUNIT_EXPECT_EQ(test, queue[2 * IPOIB_NR_TXQ_STATS + i], 0ull);
	}
	KUNIT_EXPECT_EQ(test, fix->data[NIC_COUNTERS], ~0ull);
}

/* As many names as counters */
static void nic_names(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;

	ipoib_ethtool_strings(fix->dev, ETH_SS_STATS, (u8 *)fix->strings);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[0], "rx_packets"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[7], "multicast"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[8], "more"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[NIC_OLD + NIC_MORE], "tx0_queue"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[NIC_COUNTERS - 1], "tx2_queue"), 0);
	KUNIT_EXPECT_EQ(test, (int)fix->strings[NIC_COUNTERS][0], 0);
	/* No other set has names. */
	memset(fix->strings, 0, sizeof(fix->strings));
	ipoib_ethtool_strings(fix->dev, ETH_SS_TEST, (u8 *)fix->strings);
	KUNIT_EXPECT_EQ(test, (int)fix->strings[0][0], 0);
}

/* Those of the net device of the HCA are in front; it counts queues by itself. */
static void nic_lower(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;
	unsigned int n = 2 + NIC_OLD + NIC_MORE;

	fix->priv->rn = &fix->rn;
	fix->priv->rn_ethtool_ops = &fix->ops;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_count(fix->dev, ETH_SS_STATS), (int)n - 2);
	fix->ops.get_sset_count = nic_rn_count;
	fix->ops.get_strings = nic_rn_strings;
	fix->ops.get_ethtool_stats = nic_rn_data;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_count(fix->dev, ETH_SS_STATS), (int)n);
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_count(fix->dev, ETH_SS_TEST), 2);
	ipoib_ethtool_strings(fix->dev, ETH_SS_STATS, (u8 *)fix->strings);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[1], "second"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(fix->strings[2], "rx_packets"), 0);
	KUNIT_EXPECT_EQ(test, (int)fix->strings[n][0], 0);
	memset(fix->data, 0xff, sizeof(fix->data));
	ipoib_ethtool_stats(fix->dev, NULL, fix->data);
	KUNIT_EXPECT_EQ(test, fix->data[1], 22ull);
	KUNIT_EXPECT_EQ(test, fix->data[2], 51ull);
	KUNIT_EXPECT_EQ(test, fix->data[n], ~0ull);
	fix->priv->rn = NULL;
}

/* ---- settings ---- */

/* Sizes are rounded up to powers of two, 32 sends and 16 receives at least. */
static void nic_rings(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;
	struct ethtool_ringparam ring = {};

	fix->priv->recvq_size = 1024;
	fix->priv->sendq_size = 512;
	fix->rxq.size = 256;
	fix->txq[0].ring.mask = 127;
	ipoib_ethtool_rings(fix->dev, &ring, NULL, NULL);
	KUNIT_EXPECT_EQ(test, ring.rx_max_pending, 1024u);
	KUNIT_EXPECT_EQ(test, ring.tx_max_pending, 512u);
	KUNIT_EXPECT_EQ(test, ring.rx_pending, 256u);
	KUNIT_EXPECT_EQ(test, ring.tx_pending, 128u);
	ring.tx_pending = 31;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_rings(fix->dev, &ring, NULL, NULL), -EINVAL);
	ring.tx_pending = 32;
	ring.rx_pending = 15;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_rings(fix->dev, &ring, NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, fix->sends + fix->receives, 0u);
	ring.rx_pending = 16;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_rings(fix->dev, &ring, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, fix->sends, 32u);
	KUNIT_EXPECT_EQ(test, fix->receives, 16u);
	ring.tx_pending = 33;
	ring.rx_pending = 65;
	fix->err = -EBUSY;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_rings(fix->dev, &ring, NULL, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, fix->sends, 64u);
	KUNIT_EXPECT_EQ(test, fix->receives, 128u);
}

static void nic_channels(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;
	struct ethtool_channels channels = {};

	ipoib_ethtool_channels(fix->dev, &channels);
	KUNIT_EXPECT_EQ(test, channels.max_rx, 1u);
	KUNIT_EXPECT_EQ(test, channels.rx_count, 1u);
	KUNIT_EXPECT_EQ(test, channels.max_tx, 3u);
	KUNIT_EXPECT_EQ(test, channels.tx_count, 2u);
	channels.tx_count = 3;
	fix->err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_channels(fix->dev, &channels), -ENOMEM);
	KUNIT_EXPECT_EQ(test, fix->queues, 3u);
}

/**
 * struct nic_set - new settings of interrupt moderation, of an interface with 10 and 20
 * @usecs: delay
 * @frames: completions
 * @adaptive: the rate decides
 * @moderates: the HCA moderates
 * @err: result
 * @message: there is a message: the setting has no effect, or is too large
 */
struct nic_set {
	u32 usecs;
	u32 frames;
	bool adaptive;
	bool moderates;
	int err;
	bool message;
};

static void nic_coalesce(struct kunit *test)
{
	static const struct nic_set sets[] = {
		{ 11, 20, false, false, 0, false },
		{ 10, 21, false, false, 0, true },
		{ 10, 21, false, true, 0, false },
		{ 10, 20, true, true, 0, false },
		{ 11, 20, true, true, 0, true },
		{ 10, 21, true, true, 0, true },
		{ 65535, 65535, false, true, 0, false },
		{ 65536, 20, false, true, -EINVAL, true },
		{ 10, 65536, false, true, -EINVAL, true },
	};
	struct nic_fixture *fix = test->priv;
	struct ipoib_moderation *old = &fix->priv->moderation;
	struct ethtool_coalesce coalesce = {};
	struct netlink_ext_ack extack;
	unsigned int i, good = 0;

	old->usecs = 10;
	old->frames = 20;
	old->adaptive = true;
	ipoib_ethtool_coalesce(fix->dev, &coalesce, NULL, NULL);
	KUNIT_EXPECT_EQ(test, coalesce.rx_coalesce_usecs, 10u);
	KUNIT_EXPECT_EQ(test, coalesce.rx_max_coalesced_frames, 20u);
	KUNIT_EXPECT_EQ(test, coalesce.use_adaptive_rx_coalesce, 1u);
	fix->priv->cm = (void *)fix;
	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		memset(&extack, 0, sizeof(extack));
		coalesce.rx_coalesce_usecs = sets[i].usecs;
		coalesce.rx_max_coalesced_frames = sets[i].frames;
		coalesce.use_adaptive_rx_coalesce = sets[i].adaptive;
		fix->ca.ops.modify_cq = sets[i].moderates ? (void *)fix : NULL;
		KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_coalesce(fix->dev, &coalesce, NULL,
								 &extack), sets[i].err);
		KUNIT_EXPECT_EQ(test, !!extack._msg, sets[i].message);
		good += !sets[i].err;
		KUNIT_EXPECT_EQ(test, fix->moderated, good);
		if (sets[i].err)
			continue;
		KUNIT_EXPECT_EQ(test, (u32)fix->setting.usecs, sets[i].usecs);
		KUNIT_EXPECT_EQ(test, (u32)fix->setting.frames, sets[i].frames);
		KUNIT_EXPECT_EQ(test, fix->setting.adaptive, sets[i].adaptive);
	}
	KUNIT_EXPECT_EQ(test, fix->cm_moderated, ipoib_has_cm(fix->priv) ? good : 0);
	/* A setting that the HCA refuses is none for connections, either. */
	fix->cm_moderated = 0;
	fix->err = -EIO;
	coalesce.rx_max_coalesced_frames = 20;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_coalesce(fix->dev, &coalesce, NULL, NULL), -EIO);
	fix->err = 0;
	fix->priv->cm = NULL;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_set_coalesce(fix->dev, &coalesce, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, fix->cm_moderated, 0u);
}

/* ---- link and driver ---- */

static void nic_link(struct kunit *test)
{
	struct nic_fixture *fix = test->priv;
	struct ethtool_link_ksettings cmd = {};
	struct ethtool_drvinfo info = {};

	fix->priv->link_mbps = 40000;
	set_bit(__LINK_STATE_NOCARRIER, &fix->dev->state);
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_link(fix->dev, &cmd), 0);
	KUNIT_EXPECT_EQ(test, cmd.base.speed, (u32)SPEED_UNKNOWN);
	KUNIT_EXPECT_EQ(test, (int)cmd.base.duplex, DUPLEX_UNKNOWN);
	KUNIT_EXPECT_EQ(test, (int)cmd.base.port, PORT_OTHER);
	KUNIT_EXPECT_EQ(test, (int)cmd.base.phy_address, 0xff);
	clear_bit(__LINK_STATE_NOCARRIER, &fix->dev->state);
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_link(fix->dev, &cmd), 0);
	KUNIT_EXPECT_EQ(test, cmd.base.speed, 40000u);
	KUNIT_EXPECT_EQ(test, (int)cmd.base.duplex, DUPLEX_FULL);
	KUNIT_EXPECT_EQ(test, (int)cmd.base.autoneg, AUTONEG_ENABLE);
	fix->priv->link_mbps = 0;
	KUNIT_EXPECT_EQ(test, ipoib_ethtool_link(fix->dev, &cmd), 0);
	KUNIT_EXPECT_EQ(test, cmd.base.speed, (u32)SPEED_UNKNOWN);

	ipoib_ethtool_drvinfo(fix->dev, &info);
	KUNIT_EXPECT_EQ(test, strcmp(info.driver, "ib_ipoib"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(info.fw_version, "1.2.3"), 0);
	KUNIT_EXPECT_EQ(test, strcmp(info.bus_info, "ipoib_hca"), 0);
	fix->ca.dev.parent = &fix->parent;
	ipoib_ethtool_drvinfo(fix->dev, &info);
	KUNIT_EXPECT_EQ(test, strcmp(info.bus_info, "ipoib_bus"), 0);
}

static void nic_ops(struct kunit *test)
{
	const struct ethtool_ops *ops = &ipoib_ethtool_ops;

	KUNIT_EXPECT_EQ(test, ops->supported_coalesce_params,
			(u32)(ETHTOOL_COALESCE_RX_USECS | ETHTOOL_COALESCE_RX_MAX_FRAMES |
			      ETHTOOL_COALESCE_USE_ADAPTIVE_RX));
	KUNIT_EXPECT_TRUE(test, ops->get_drvinfo == ipoib_ethtool_drvinfo);
	KUNIT_EXPECT_TRUE(test, ops->get_link == ethtool_op_get_link);
	KUNIT_EXPECT_TRUE(test, ops->get_link_ksettings == ipoib_ethtool_link);
	KUNIT_EXPECT_TRUE(test, ops->get_coalesce == ipoib_ethtool_coalesce);
	KUNIT_EXPECT_TRUE(test, ops->set_coalesce == ipoib_ethtool_set_coalesce);
	KUNIT_EXPECT_TRUE(test, ops->get_ringparam == ipoib_ethtool_rings);
	KUNIT_EXPECT_TRUE(test, ops->set_ringparam == ipoib_ethtool_set_rings);
	KUNIT_EXPECT_TRUE(test, ops->get_channels == ipoib_ethtool_channels);
	KUNIT_EXPECT_TRUE(test, ops->set_channels == ipoib_ethtool_set_channels);
	KUNIT_EXPECT_TRUE(test, ops->get_ts_info == ethtool_op_get_ts_info);
	KUNIT_EXPECT_TRUE(test, ops->get_strings == ipoib_ethtool_strings);
	KUNIT_EXPECT_TRUE(test, ops->get_ethtool_stats == ipoib_ethtool_stats);
	KUNIT_EXPECT_TRUE(test, ops->get_sset_count == ipoib_ethtool_count);
}

static struct kunit_case ipoib_ethtool_cases[] = {
	KUNIT_CASE(nic_counters),
	KUNIT_CASE(nic_names),
	KUNIT_CASE(nic_lower),
	KUNIT_CASE(nic_rings),
	KUNIT_CASE(nic_channels),
	KUNIT_CASE(nic_coalesce),
	KUNIT_CASE(nic_link),
	KUNIT_CASE(nic_ops),
	{}
};

struct kunit_suite ipoib_ethtool_suite = {
	.name = "ipoib_ethtool",
	.init = nic_init,
	.exit = nic_exit,
	.test_cases = ipoib_ethtool_cases,
};
