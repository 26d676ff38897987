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
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "ipoib.h"

/* Make the net_device the HCA's own. It has the operations of this driver afterwards. */
static int ipoib_rn_init(struct net_device *dev, struct ib_device *ca, u32 port,
			 void (*setup)(struct net_device *dev))
{
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
	int err = -ENOMEM;

	/* Others have a QP of the address of their own. */
	if (!(ca->attrs.kernel_cap_flags & IBK_RDMA_NETDEV_OPA))
		return ERR_PTR(-EOPNOTSUPP);
	dev = rdma_alloc_netdev(ca, port, RDMA_NETDEV_IPOIB, name, name_assign_type, setup);
	if (IS_ERR(dev))
		return dev;
	priv = kvzalloc(sizeof(*priv), GFP_KERNEL);
	if (!priv)
		goto free_netdev;
	rn = netdev_priv(dev);
	rn->clnt_priv = priv;
	priv->netdev = dev;
	priv->rn = rn;
	priv->rn_ops = &ipoib_ud_netdev_ops;
	err = ipoib_rn_init(dev, ca, port, setup);
	if (!err)
		return dev;
	kvfree(priv);
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
		kvfree(priv);
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
