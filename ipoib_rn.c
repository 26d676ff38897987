// SPDX-License-Identifier: GPL-2.0
/*
 * The HCA's own net device (struct rdma_netdev): some HCAs bring the data path of IPoIB, with
 * several queues and NAPI instances of their own.
 *
 * Its net_device is allocated with the private area of the HCA, and initialised with the operations
 * of verbs in place, which those of the HCA may call. Addresses, groups, paths, connected mode and
 * the carrier stay with this driver, and so do all operations that the stack calls; those of the
 * HCA are called by way of &ipoib_dev.rn_ops, and frames are handed to it with an address handle.
 */
#include <linux/ethtool.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "ipoib.h"

/**
 * struct ipoib_rn - an interface over a net device of the HCA's own
 * @priv: the interface
 * @ethtool_ops: the HCA's, completed with those of this driver
 */
struct ipoib_rn {
	struct ipoib_dev priv;
	struct ethtool_ops ethtool_ops;
};

/*
 * Number, sizes and moderation are of the HCA's queues, and counters of both. Those of connections
 * are not set here: this driver's operations may not be called with the lock of the net_device
 * held, which works of connections take under &ipoib_cm.mutex.
 */
static void ipoib_rn_merge_ethtool(struct ethtool_ops *ops, const struct ethtool_ops *own)
{
	ops->get_strings = own->get_strings;
	ops->get_sset_count = own->get_sset_count;
	ops->get_ethtool_stats = own->get_ethtool_stats;
	ops->get_drvinfo = ops->get_drvinfo ?: own->get_drvinfo;
	ops->get_link = ops->get_link ?: own->get_link;
	ops->get_link_ksettings = ops->get_link_ksettings ?: own->get_link_ksettings;
	ops->get_ts_info = ops->get_ts_info ?: own->get_ts_info;
}

static void ipoib_rn_init_ethtool(struct net_device *dev, const struct ethtool_ops *own)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ipoib_rn *area = container_of(priv, struct ipoib_rn, priv);

	if (dev->ethtool_ops == own)
		return;
	priv->rn_ethtool_ops = dev->ethtool_ops;
	area->ethtool_ops = *dev->ethtool_ops;
	ipoib_rn_merge_ethtool(&area->ethtool_ops, own);
	dev->ethtool_ops = &area->ethtool_ops;
}

/* Make the net_device the HCA's own. It has the operations of this driver afterwards. */
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
	/* The MTU is that of connected mode or of the link. */
	priv->rn_mtu = dev->mtu;
	dev->mtu = 0;
	dev->min_mtu = IPOIB_MTU_MIN;
	dev->max_mtu = IPOIB_MTU_MAX;
	/* Whatever becomes of the registration, it is called once, by ipoib_rn_free(). */
	dev->priv_destructor = NULL;
	dev->needs_free_netdev = false;
	return 0;
}

/**
 * ipoib_rn_alloc - allocate a net_device of the HCA's own
 * @ca: HCA
 * @port: a port
 * @name: name or pattern
 * @name_assign_type: NET_NAME_
 * @setup: the part of an interface that is the same for all, without its private area
 *
 * Context: may sleep
 * Return: the net_device, for ipoib_rn_free(), or ERR_PTR(): -EOPNOTSUPP if the HCA has none
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

/**
 * ipoib_rn_free - free a net_device, the HCA's own or not
 * @priv: its interface, not registered, and taken apart
 *
 * Context: may sleep
 */
void ipoib_rn_free(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;
	bool own = priv->rn;

	if (own && priv->rn_destructor)
		priv->rn_destructor(dev);
	free_netdev(dev);
	/* Else it is in the private area. */
	if (own)
		kvfree(container_of(priv, struct ipoib_rn, priv));
}

/**
 * ipoib_rn_xmit - send a frame by the HCA's own net device
 * @txq: the queue
 * @skb: frame with its &struct ipoib_header; consumed
 * @ah: where to, read under RCU; the HCA copies what it needs of it
 * @qpn: the peer's QPN, or IPOIB_MCAST_QPN
 *
 * The HCA stops the queue when it is full. The works that send frames which have waited do not look
 * at that: their frames are dropped here.
 *
 * Context: transmit lock of the queue held, RCU read side
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
	 * The HCA rings its doorbell when no frame follows, but the last of a bulk may wait for a
	 * path, be dropped or go to a connection, and there is no way to ring afterwards.
	 */
	netdev_xmit_set_more(false);
	priv->rn->send(priv->netdev, skb, ah->ah, qpn);
}

/**
 * ipoib_rn_set_mtu - have the HCA's own net device take frames of the link
 * @priv: the interface
 * @mtu: IP MTU of the link
 *
 * Its queues are opened again for that, and lose what they hold. It has buffers for the largest
 * MTU of the port at first.
 *
 * Context: RTNL held, and the lock of the net_device if that asks for it
 * Return: 0, or a negative error with the MTU as it was
 */
int ipoib_rn_set_mtu(struct ipoib_dev *priv, unsigned int mtu)
{
	struct net_device *dev = priv->netdev;
	unsigned int was = dev->mtu;
	int err;

	if (!priv->rn_ops->ndo_change_mtu || priv->rn_mtu == mtu)
		return 0;
	err = priv->rn_ops->ndo_change_mtu(dev, mtu);
	/* The MTU of the interface is the administrator's, or that of connected mode. */
	WRITE_ONCE(dev->mtu, was);
	if (!err)
		priv->rn_mtu = mtu;
	return err;
}

/**
 * ipoib_rn_stats - add what the HCA's own net device has counted
 * @priv: the interface
 * @stats: zero
 */
void ipoib_rn_stats(const struct ipoib_dev *priv, struct rtnl_link_stats64 *stats)
{
	struct net_device *dev = priv->netdev;

	if (priv->rn_ops->ndo_get_stats64)
		priv->rn_ops->ndo_get_stats64(dev, stats);
	else if (priv->rn && dev->tstats)
		dev_get_tstats64(dev, stats);
}
