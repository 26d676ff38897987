// SPDX-License-Identifier: GPL-2.0
/*
 * Net device of the HCA (struct rdma_netdev): some HCAs bring the data path of IPoIB, with queues
 * and NAPI instances of their own.
 *
 * The net_device is allocated with the private area of the HCA. When the HCA initialises it, it has
 * the operations of verbs, which the HCA may call. Addresses, groups, paths, connected mode and
 * carrier stay with this driver, and so do the operations that the stack calls: they call those of
 * the HCA in &ipoib_dev.rn_ops, and send frames with an address handle.
 */
#include <linux/ethtool.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "ipoib.h"

/* An interface over the net device of an HCA. */
struct ipoib_rn {
	struct ipoib_dev priv;
	struct ethtool_ops ethtool_ops;	/* of the HCA, completed with those of this driver */
};

/*
 * Number, sizes and moderation of queues are of the HCA, counters of both. Queues of connections
 * cannot be set here: the lock of the net_device may be held, and works of connections take it
 * under &ipoib_cm.mutex.
 */
static void ipoib_rn_init_ethtool(struct net_device *dev, const struct ethtool_ops *own)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ethtool_ops *ops = &container_of(priv, struct ipoib_rn, priv)->ethtool_ops;

	if (dev->ethtool_ops == own)
		return;
	priv->rn_ethtool_ops = dev->ethtool_ops;
	*ops = *dev->ethtool_ops;
	ops->get_strings = own->get_strings;
	ops->get_sset_count = own->get_sset_count;
	ops->get_ethtool_stats = own->get_ethtool_stats;
	ops->get_drvinfo = ops->get_drvinfo ?: own->get_drvinfo;
	ops->get_link = ops->get_link ?: own->get_link;
	ops->get_link_ksettings = ops->get_link_ksettings ?: own->get_link_ksettings;
	ops->get_ts_info = ops->get_ts_info ?: own->get_ts_info;
	dev->ethtool_ops = ops;
}

/* Have the HCA initialise the net_device; it has the operations of this driver afterwards. */
static int ipoib_rn_init(struct net_device *dev, struct ib_device *ca, u32 port,
			 void (*setup)(struct net_device *dev))
{
	const struct ethtool_ops *ethtool_ops = dev->ethtool_ops;
	const struct net_device_ops *ops = dev->netdev_ops;
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err;

	dev->netdev_ops = priv->rn_ops;
	err = rdma_init_netdev(ca, port, RDMA_NETDEV_IPOIB, dev->name, dev->name_assign_type,
			       setup, dev);
	if (err)
		return err;
	priv->rn_ops = dev->netdev_ops;
	priv->rn_destructor = dev->priv_destructor;
	dev->netdev_ops = ops;
	ipoib_rn_init_ethtool(dev, ethtool_ops);
	/* From now on the MTU of the net_device is that of connected mode or of the link. */
	priv->rn_mtu = dev->mtu;
	dev->mtu = 0;
	dev->min_mtu = IPOIB_MTU_MIN;
	dev->max_mtu = IPOIB_MTU_MAX;
	/* ipoib_rn_free() calls it once, whatever the result of the registration. */
	dev->priv_destructor = NULL;
	dev->needs_free_netdev = false;
	return 0;
}

/*
 * Allocate the net_device of an HCA. @name is a name or pattern, @name_assign_type NET_NAME_;
 * @setup is the common setup of interfaces, without the private area.
 * Context: may sleep. Return: the net_device, for ipoib_rn_free(), or ERR_PTR(): -EOPNOTSUPP if the
 * HCA has none.
 */
struct net_device *ipoib_rn_alloc(struct ib_device *ca, u32 port, const char *name,
				  unsigned char name_assign_type,
				  void (*setup)(struct net_device *dev))
{
	struct net_device *dev;
	struct ipoib_dev *priv;
	struct rdma_netdev *rn;
	struct ipoib_rn *area;
	int err = -ENOMEM;

	dev = rdma_alloc_netdev(ca, port, RDMA_NETDEV_IPOIB, name, name_assign_type, setup);
	if (IS_ERR(dev))
		return dev;
	area = kvzalloc(sizeof(*area), GFP_KERNEL);
	if (!area)
		goto free_netdev;
	priv = &area->priv;
	rn = netdev_priv(dev);
	rn->clnt_priv = priv;
	priv->netdev = dev;
	priv->rn = rn;
	priv->rn_ops = &ipoib_ud_netdev_ops;
	err = ipoib_rn_init(dev, ca, port, setup);
	if (!err)
		return dev;
	kvfree(area);
free_netdev:
	free_netdev(dev);
	return ERR_PTR(err);
}

/*
 * Free a net_device, of the HCA or not.
 * Context: interface not registered, and taken apart; may sleep.
 */
void ipoib_rn_free(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;
	bool own = priv->rn;

	if (own && priv->rn_destructor)
		priv->rn_destructor(dev);
	free_netdev(dev);
	/* Otherwise it is part of the private area. */
	if (own)
		kvfree(container_of(priv, struct ipoib_rn, priv));
}

/*
 * Send a frame, with its &struct ipoib_header, by the net device of the HCA; the frame is consumed.
 * @ah is read under RCU, and copied by the HCA. @qpn is the QPN of the peer, or IPOIB_MCAST_QPN.
 * The HCA stops a full queue. Works that send waiting frames do not check that, so their frames are
 * dropped here.
 * Context: transmit lock of the queue held, RCU read side.
 */
void ipoib_rn_xmit(struct ipoib_txq *txq, struct sk_buff *skb, struct ipoib_ah *ah, u32 qpn)
{
	struct ipoib_dev *priv = txq->priv;

	if (unlikely(!test_bit(IPOIB_FLAG_QP, &priv->flags))) {
		ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
		return;
	}
	if (unlikely(netif_tx_queue_stopped(txq->nq))) {
		ipoib_drop(priv, skb, IPOIB_TX_QUEUE_FULL);
		return;
	}
	skb_pull(skb, IPOIB_LLADDR_LEN);
	skb_set_queue_mapping(skb, txq - priv->txq);
	if (unlikely(skb_shinfo(skb)->tx_flags))
		skb_tx_timestamp(skb);
	/*
	 * The HCA delays its doorbell while more frames follow, but the last frame of a bulk may
	 * wait for a path, be dropped, or go to a connection, and nothing rings afterwards.
	 */
	netdev_xmit_set_more(false);
	priv->rn->send(priv->netdev, skb, ah->ah, qpn);
}

/*
 * Set the IP MTU of the link in the net device of the HCA. Opens its queues anew, which loses their
 * frames. Its first buffers are for the largest MTU of the port.
 * Context: RTNL held, and the lock of the net_device if it requires that. Return: 0, or a negative
 * error with the old MTU.
 */
int ipoib_rn_set_mtu(struct ipoib_dev *priv, unsigned int mtu)
{
	struct net_device *dev = priv->netdev;
	unsigned int was = dev->mtu;
	int err;

	if (!priv->rn_ops->ndo_change_mtu || priv->rn_mtu == mtu)
		return 0;
	err = priv->rn_ops->ndo_change_mtu(dev, mtu);
	/* Restore the MTU of the interface: the administrator's, or that of connected mode. */
	WRITE_ONCE(dev->mtu, was);
	if (!err)
		priv->rn_mtu = mtu;
	return err;
}

/*
 * Set @stats, which is zero, to the counters of the net device of the HCA.
 * Context: as ndo_get_stats64().
 */
void ipoib_rn_stats(const struct ipoib_dev *priv, struct rtnl_link_stats64 *stats)
{
	struct net_device *dev = priv->netdev;

	if (priv->rn_ops->ndo_get_stats64)
		priv->rn_ops->ndo_get_stats64(dev, stats);
	else if (priv->rn && dev->tstats)
		dev_get_tstats64(dev, stats);
}
