// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool: driver, link speed, interrupt moderation, sizes and number of queues, time stamps,
 * statistics
 */
#include <linux/ethtool.h>

#include "ipoib.h"

/* The eight of the kernel's driver, in its order */
static const char * const ipoib_ethtool_names[] = {
	"rx_packets", "tx_packets", "rx_bytes", "tx_bytes",
	"tx_errors", "rx_dropped", "tx_dropped", "multicast",
};

/* The other counters follow. */
#define IPOIB_ETHTOOL_FIRST	IPOIB_RX_SHORT
#define IPOIB_ETHTOOL_NR	ARRAY_SIZE(ipoib_ethtool_names)
#define IPOIB_ETHTOOL_MORE	(IPOIB_NR_STATS - IPOIB_ETHTOOL_FIRST)

/*
 * Transmit queues with counters: the most that are possible, so that the number does not change
 * between two requests of ethtool. The net device of the HCA has its own counters.
 */
static unsigned int ipoib_ethtool_txqs(const struct ipoib_dev *priv)
{
	return priv->rn ? 0 : ipoib_ud_max_txqs(priv);
}

/* Strings of the net device of the HCA, which come first */
static int ipoib_ethtool_count_rn(struct net_device *dev, int set)
{
	const struct ethtool_ops *ops = ipoib_priv(dev)->rn_ethtool_ops;

	return ops && ops->get_sset_count ? ops->get_sset_count(dev, set) : -EOPNOTSUPP;
}

static int ipoib_ethtool_count(struct net_device *dev, int set)
{
	int n = ipoib_ethtool_count_rn(dev, set);

	if (set != ETH_SS_STATS)
		return n;
	return max(n, 0) + IPOIB_ETHTOOL_NR + IPOIB_ETHTOOL_MORE +
	       ipoib_ethtool_txqs(ipoib_priv(dev)) * IPOIB_NR_TXQ_STATS;
}

static void ipoib_ethtool_strings(struct net_device *dev, u32 set, u8 *data)
{
	int n = ipoib_ethtool_count_rn(dev, set);
	unsigned int i, queue;

	if (n > 0) {
		ipoib_priv(dev)->rn_ethtool_ops->get_strings(dev, set, data);
		data += n * ETH_GSTRING_LEN;
	}
	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < IPOIB_ETHTOOL_NR; i++)
		ethtool_puts(&data, ipoib_ethtool_names[i]);
	for (i = IPOIB_ETHTOOL_FIRST; i < IPOIB_NR_STATS; i++)
		ethtool_puts(&data, ipoib_stat_names[i]);
	for (queue = 0; queue < ipoib_ethtool_txqs(ipoib_priv(dev)); queue++)
		for (i = 0; i < IPOIB_NR_TXQ_STATS; i++)
			ethtool_sprintf(&data, "tx%u_%s", queue, ipoib_txq_stat_names[i]);
}

static void ipoib_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	int n = ipoib_ethtool_count_rn(dev, ETH_SS_STATS);
	const struct ipoib_dev *priv = ipoib_priv(dev);
	struct rtnl_link_stats64 link = {};
	u64 sum[IPOIB_NR_STATS];
	unsigned int queue;

	if (n > 0) {
		priv->rn_ethtool_ops->get_ethtool_stats(dev, stats, data);
		data += n;
	}
	ipoib_rn_stats(priv, &link);
	ipoib_stats_read(ipoib_priv(dev), sum);
	ipoib_stats_link(sum, &link);
	*data++ = link.rx_packets;
	*data++ = link.tx_packets;
	*data++ = link.rx_bytes;
	*data++ = link.tx_bytes;
	*data++ = link.tx_errors;
	*data++ = link.rx_dropped;
	*data++ = link.tx_dropped;
	*data++ = link.multicast;
	memcpy(data, sum + IPOIB_ETHTOOL_FIRST, IPOIB_ETHTOOL_MORE * sizeof(*data));
	data += IPOIB_ETHTOOL_MORE;
	for (queue = 0; queue < ipoib_ethtool_txqs(priv); queue++) {
		u64 txq_sum[IPOIB_NR_TXQ_COUNTERS] = {};

		if (queue < priv->ntxq_made)
			ipoib_txq_stats_read(&priv->txq[queue].sent, &priv->txq[queue].done,
					     txq_sum);
		memcpy(data, txq_sum, IPOIB_NR_TXQ_STATS * sizeof(*data));
		data += IPOIB_NR_TXQ_STATS;
	}
}

static void ipoib_ethtool_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	strscpy(info->driver, "ib_ipoib", sizeof(info->driver));
	ib_get_device_fw_str(priv->ca, info->fw_version);
	/* Software devices may have no parent. */
	strscpy(info->bus_info, dev_name(priv->ca->dev.parent ?: &priv->ca->dev),
		sizeof(info->bus_info));
}

static int ipoib_ethtool_link(struct net_device *dev, struct ethtool_link_ksettings *cmd)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	cmd->base.speed = SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_UNKNOWN;
	cmd->base.port = PORT_OTHER;
	cmd->base.phy_address = 0xff;
	cmd->base.autoneg = AUTONEG_ENABLE;
	if (!netif_carrier_ok(dev))
		return 0;
	cmd->base.speed = READ_ONCE(priv->link_mbps) ?: SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_FULL;
	return 0;
}

static void ipoib_ethtool_rings(struct net_device *dev, struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kernel_ring,
				struct netlink_ext_ack *extack)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	ring->rx_max_pending = priv->recvq_size;
	ring->tx_max_pending = priv->sendq_size;
	ring->rx_pending = priv->rxq->size;
	ring->tx_pending = priv->txq->ring.mask + 1;
}

/* The stack has refused more than the maximum. */
static int ipoib_ethtool_set_rings(struct net_device *dev, struct ethtool_ringparam *ring,
				   struct kernel_ethtool_ringparam *kernel_ring,
				   struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	unsigned int sends = ring->tx_pending, receives = ring->rx_pending;
	int err;

	if (sends < IPOIB_QUEUE_MIN || receives < IPOIB_BATCH) {
		NL_SET_ERR_MSG(extack, "tx is at least 32, rx at least 16");
		return -EINVAL;
	}
	err = ipoib_ud_resize(priv, roundup_pow_of_two(sends), roundup_pow_of_two(receives));
	if (err)
		NL_SET_ERR_MSG(extack, "the HCA has not given back what was posted");
	return err;
}

static void ipoib_ethtool_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	channels->max_rx = 1;
	channels->max_tx = ipoib_ud_max_txqs(priv);
	channels->rx_count = 1;
	channels->tx_count = ipoib_txqs(priv);
}

/* The stack has refused more than the maximum, and 0. */
static int ipoib_ethtool_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	return ipoib_ud_set_queues(ipoib_priv(dev), channels->tx_count);
}

static int ipoib_ethtool_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
				  struct kernel_ethtool_coalesce *kernel_coalesce,
				  struct netlink_ext_ack *extack)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	coalesce->rx_coalesce_usecs = priv->moderation.usecs;
	coalesce->rx_max_coalesced_frames = priv->moderation.frames;
	coalesce->use_adaptive_rx_coalesce = priv->moderation.adaptive;
	return 0;
}

static int ipoib_ethtool_set_coalesce(struct net_device *dev, struct ethtool_coalesce *coalesce,
				      struct kernel_ethtool_coalesce *kernel_coalesce,
				      struct netlink_ext_ack *extack)
{
	const struct ipoib_moderation setting = {
		.usecs = coalesce->rx_coalesce_usecs,
		.frames = coalesce->rx_max_coalesced_frames,
		.adaptive = coalesce->use_adaptive_rx_coalesce,
	};
	struct ipoib_dev *priv = ipoib_priv(dev);
	const struct ipoib_moderation *old = &priv->moderation;
	int err;

	if (coalesce->rx_coalesce_usecs > U16_MAX || coalesce->rx_max_coalesced_frames > U16_MAX) {
		NL_SET_ERR_MSG(extack, "rx-usecs and rx-frames are at most 65535");
		return -EINVAL;
	}
	if (setting.adaptive && (setting.usecs != old->usecs || setting.frames != old->frames))
		NL_SET_ERR_MSG(extack,
			       "rx-usecs and rx-frames have no effect while adaptive-rx is on");
	if (setting.frames != old->frames && !priv->ca->ops.modify_cq)
		NL_SET_ERR_MSG(extack,
			       "the HCA does not moderate completions, so rx-frames has no effect");
	err = ipoib_ud_moderate(priv, &setting);
	if (!err && ipoib_has_cm(priv))
		ipoib_cm_moderate(priv);
	return err;
}

const struct ethtool_ops ipoib_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS |
				     ETHTOOL_COALESCE_RX_MAX_FRAMES |
				     ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.get_drvinfo = ipoib_ethtool_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = ipoib_ethtool_link,
	.get_coalesce = ipoib_ethtool_coalesce,
	.set_coalesce = ipoib_ethtool_set_coalesce,
	.get_ringparam = ipoib_ethtool_rings,
	.set_ringparam = ipoib_ethtool_set_rings,
	.get_channels = ipoib_ethtool_channels,
	.set_channels = ipoib_ethtool_set_channels,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_strings = ipoib_ethtool_strings,
	.get_ethtool_stats = ipoib_ethtool_stats,
	.get_sset_count = ipoib_ethtool_count,
};
