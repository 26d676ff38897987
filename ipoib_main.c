// SPDX-License-Identifier: GPL-2.0
/*
 * IP over InfiniBand: the module, and the operations of an interface.
 *
 * Frames to groups and to neighbours part here. ipoib_client.c creates the interfaces of ports,
 * ipoib_dev.c their parts. ipoib.h describes locking and lifetime.
 */
#include <linux/crash_dump.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "ipoib.h"

MODULE_DESCRIPTION("IP over InfiniBand, RFC 4391 and RFC 4755");
MODULE_LICENSE("GPL");
/* As in dkms.conf: older DKMS does not install a module of the version of the kernel's own. */
MODULE_VERSION("0.1");
MODULE_ALIAS_RTNL_LINK("ipoib");

#define IPOIB_QUEUE_MAX		8192
#define IPOIB_SENDQ_MIN		128
#define IPOIB_RECVQ_MIN		IPOIB_BATCH
/* Receives in a kernel that saves a crash dump, which has little memory and sends one stream */
#define IPOIB_RECVQ_KDUMP	32
#define IPOIB_WATCHDOG		(10 * HZ)

int ipoib_sendq_size = 128;
module_param_named(send_queue_size, ipoib_sendq_size, int, 0444);
MODULE_PARM_DESC(send_queue_size, "Number of descriptors in send queue");

int ipoib_recvq_size = 256;
module_param_named(recv_queue_size, ipoib_recvq_size, int, 0444);
MODULE_PARM_DESC(recv_queue_size, "Number of descriptors in receive queue");

bool ipoib_enhanced = true;
module_param(ipoib_enhanced, bool, 0644);
MODULE_PARM_DESC(ipoib_enhanced, "Send by the net device of the HCA's own where there is one (1)");

/* Called by register_netdevice(), RTNL held. Over verbs all objects exist by then. */
static int ipoib_dev_ndo_init(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	int err = priv->rn_ops->ndo_init(dev);

	/* The net device of the HCA may have written the QPN there. */
	if (!err)
		priv->qpn = ipoib_lladdr_qpn((const void *)dev->dev_addr);
	return err;
}

static void ipoib_dev_ndo_uninit(struct net_device *dev)
{
	ipoib_priv(dev)->rn_ops->ndo_uninit(dev);
}

static int ipoib_open(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev), *child;
	int err;

	netif_carrier_off(dev);
	err = ipoib_dev_up(priv);
	if (err)
		return err;
	/* Children follow; their failures are logged there. */
	list_for_each_entry(child, &priv->hca->devs, list)
		if (child->parent == priv)
			dev_open(child->netdev, NULL);
	return 0;
}

static int ipoib_stop(struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev), *child;

	list_for_each_entry(child, &priv->hca->devs, list)
		if (child->parent == priv)
			dev_close(child->netdev);
	ipoib_dev_down(priv);
	return 0;
}

/*
 * ifindex of the parent of a child (B41), of the Ethernet port on RoCE, or of the interface.
 * Context: any; also before the registration.
 */
static int ipoib_get_iflink(const struct net_device *dev)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	return READ_ONCE((priv->lower ?: priv->netdev)->ifindex);
}

/*
 * A connection takes packets of any length; TSO would have them segmented for UD. Checksums by the
 * driver gain nothing without TSO.
 */
static netdev_features_t ipoib_fix_features(struct net_device *dev, netdev_features_t features)
{
	const struct ipoib_dev *priv = ipoib_priv(dev);

	if (!ipoib_cm_is_on(priv))
		return features;
	features &= ~(NETIF_F_ALL_TSO | NETIF_F_GSO_UDP_L4 | NETIF_F_HW_CSUM);
	/* No HCA over verbs computes checksums of IPv6. */
	return priv->rn ? features : features & ~NETIF_F_IPV6_CSUM;
}

/* Keep checksums, as segments of the stack may lack them. Groups take no large frames. */
static netdev_features_t ipoib_features_check(struct sk_buff *skb, struct net_device *dev,
					      netdev_features_t features)
{
	if (skb_is_gso(skb) &&
	    (!ipoib_ud_cut_check(ipoib_priv(dev), skb) ||
	     ipoib_lladdr_is_mcast((const void *)skb->data)))
		features &= ~NETIF_F_GSO_MASK;
	return features;
}

static netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	unsigned int mtu = READ_ONCE(priv->mcast_mtu);
	struct ipoib_txq *txq = &priv->txq[skb_get_queue_mapping(skb)];

	rcu_read_lock();
	if (unlikely(!test_bit(IPOIB_FLAG_UP, &priv->flags)))
		ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
	else if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN)))
		ipoib_drop(priv, skb, IPOIB_TX_HEADER);
	else if (!ipoib_lladdr_is_mcast((const void *)skb->data))
		ipoib_arp_xmit(txq, skb);
	/* Groups are reached over UD in every mode (RFC 4755 section 2.1). */
	else if (likely(skb->len <= mtu + IPOIB_HARD_LEN))
		ipoib_mcast_xmit(txq, skb);
	else
		ipoib_pmtu_reject(priv, skb, mtu);
	if (!netdev_xmit_more() || netif_xmit_stopped(txq->nq))
		ipoib_ud_post(txq);
	rcu_read_unlock();
	return NETDEV_TX_OK;
}

/*
 * Groups and ARP use the first queue, which has the QP of the address: its QPN identifies own
 * echoes, and is what an ARP request shows.
 */
static u16 ipoib_select_queue(struct net_device *dev, struct sk_buff *skb,
			      struct net_device *sb_dev)
{
	const struct ipoib_header *header = (const void *)skb->data;

	if (skb_headlen(skb) < IPOIB_HARD_LEN || ipoib_lladdr_is_mcast(&header->lladdr) ||
	    (header->encap.proto != htons(ETH_P_IP) && header->encap.proto != htons(ETH_P_IPV6)))
		return 0;
	return netdev_pick_tx(dev, skb, sb_dev);
}

static int ipoib_header_create(struct sk_buff *skb, struct net_device *dev,
			       unsigned short type, const void *daddr,
			       const void *saddr, unsigned int len)
{
	struct ipoib_header *header = skb_push(skb, IPOIB_HARD_LEN);

	header->encap.proto = htons(type);
	header->encap.reserved = 0;
	if (!daddr) {
		memset(&header->lladdr, 0, sizeof(header->lladdr));
		return -(int)IPOIB_HARD_LEN;
	}
	memcpy(&header->lladdr, daddr, sizeof(header->lladdr));
	return IPOIB_HARD_LEN;
}

/* Room of callers of header_ops->parse() */
#define IPOIB_PARSE_LEN		sizeof(__be64)

/*
 * Source of a received frame; a frame on its way out has its destination there.
 *
 * The last 8 octets of the address, the GUID of the sending port: nfnetlink_log and nfnetlink_queue
 * have 8 on their stacks, and so has the ring of a packet socket, in front of the frame itself. It
 * is unknown without a GRH. The net device of the HCA has it of no frame, and may leave the octets
 * unwritten.
 */
static int ipoib_header_parse(const struct sk_buff *skb, const struct net_device *dev,
			      unsigned char *haddr)
{
	const struct ipoib_header *header = (const void *)skb_mac_header(skb);
	const void *lladdr = &header->lladdr;
	const void *guid;

	if (skb->pkt_type == PACKET_OUTGOING)
		lladdr = dev->dev_addr;
	else if (ipoib_priv(dev)->rn)
		return 0;
	guid = lladdr + IPOIB_LLADDR_LEN - IPOIB_PARSE_LEN;
	if (!memchr_inv(guid, 0, IPOIB_PARSE_LEN))
		return 0;
	memcpy(haddr, guid, IPOIB_PARSE_LEN);
	return IPOIB_PARSE_LEN;
}

IPOIB_HEADER_PARSE(ipoib_header_parse)

static const struct header_ops ipoib_header_ops = {
	.create = ipoib_header_create,
	.parse = ipoib_header_parse_op(ipoib_header_parse),
};

static int ipoib_change_mtu(struct net_device *dev, int mtu)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	/* The broadcast group may change it meanwhile, and then corrects the MTU. */
	unsigned int link_mtu = READ_ONCE(priv->mcast_mtu);

	if (ipoib_cm_is_on(priv)) {
		/* Not for the MTU of the mode. The words are those of the kernel's driver. */
		if ((unsigned int)mtu > link_mtu && (unsigned int)mtu != priv->admin_mtu)
			netdev_warn(dev, "mtu > %u will cause multicast packet drops.\n", link_mtu);
	} else if (mtu > priv->max_mtu) {
		netdev_warn(dev, "MTU %d is above the %u the port can do\n", mtu, priv->max_mtu);
		return -EINVAL;
	} else if ((unsigned int)mtu > link_mtu && netif_carrier_ok(dev)) {
		netdev_info(dev, "the link takes MTU %u, not %d, from its broadcast group\n",
			    link_mtu, mtu);
	}
	priv->admin_mtu = mtu;
	WRITE_ONCE(dev->mtu, ipoib_dev_mtu(priv));
	return 0;
}

/* Not on a running interface: groups and connections depend on the address (B27). */
static int ipoib_set_mac_address(struct net_device *dev, void *addr)
{
	const struct sockaddr_storage *ss = addr;
	struct ipoib_lladdr lladdr;

	if (netif_running(dev))
		return -EBUSY;
	memcpy(&lladdr, ss->__data, sizeof(lladdr));
	return ipoib_dev_set_guid(ipoib_priv(dev), &lladdr);
}

static void ipoib_set_rx_mode(struct net_device *dev)
{
	ipoib_mcast_resync(ipoib_priv(dev));
}

IPOIB_RX_MODE(ipoib_set_rx_mode)

static void ipoib_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ipoib_txq *txq = &priv->txq[queue];

	ipoib_stat_add(priv, IPOIB_TX_TIMEOUT, 1);
	if (priv->rn && priv->rn->tx_timeout)
		priv->rn->tx_timeout(dev, queue);
	netdev_warn(dev, "transmit timeout: latency %d msecs\n",
		    jiffies_to_msecs(jiffies -
				     READ_ONCE(txq->nq->trans_start)));
	netdev_warn(dev, "queue stopped %d, tx_head %u, tx_tail %u\n",
		    netif_tx_queue_stopped(txq->nq), txq->ring.head, txq->ring.tail);
	if (queue)
		netdev_warn(dev, "queue %u\n", queue);
	ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
}

static void ipoib_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	u64 sum[IPOIB_NR_STATS];

	ipoib_rn_stats(ipoib_priv(dev), stats);
	ipoib_stats_read(ipoib_priv(dev), sum);
	ipoib_stats_link(sum, stats);
}

static const struct net_device_ops *ipoib_rn_ops(const struct net_device *dev)
{
	return ipoib_priv(dev)->rn_ops;
}

/* Time stamps, and other operations of the net device of the HCA */
static int ipoib_eth_ioctl(struct net_device *dev, struct ifreq *ifr, int cmd)
{
	const struct net_device_ops *ops = ipoib_rn_ops(dev);

	return ops->ndo_eth_ioctl ? ops->ndo_eth_ioctl(dev, ifr, cmd) : -EOPNOTSUPP;
}

IPOIB_HWTSTAMP(ipoib_hwtstamp, ipoib_rn_ops)

/* Interfaces over verbs only. Frames of connections count in the only receive queue, too. */
static void ipoib_get_queue_stats_rx(struct net_device *dev, int queue,
				     struct netdev_queue_stats_rx *stats)
{
	u64 sum[IPOIB_NR_STATS];

	ipoib_stats_read(ipoib_priv(dev), sum);
	stats->packets = sum[IPOIB_RX_PACKETS];
	stats->bytes = sum[IPOIB_RX_BYTES];
	stats->alloc_fail = sum[IPOIB_RX_NOMEM];
	stats->csum_unnecessary = sum[IPOIB_RX_CSUM];
}

static void ipoib_get_queue_stats_tx(struct net_device *dev, int queue,
				     struct netdev_queue_stats_tx *stats)
{
	const struct ipoib_txq *txq = &ipoib_priv(dev)->txq[queue];
	u64 sum[IPOIB_NR_TXQ_COUNTERS];

	ipoib_txq_stats_read(&txq->sent, &txq->done, sum);
	stats->packets = sum[IPOIB_TXQ_PACKETS];
	stats->bytes = sum[IPOIB_TXQ_BYTES];
	stats->stop = sum[IPOIB_TXQ_STOPPED];
	stats->wake = sum[IPOIB_TXQ_WOKEN];
}

/* Queues count on while they are read: their sum may exceed the total a little. */
static u64 ipoib_base_stat(u64 total, u64 queues)
{
	return total - min(total, queues);
}

/*
 * Set the fields that are to be shown. Connections and queues that are off have sent the
 * difference; segments are counted for the interface only.
 */
static void ipoib_get_base_stats(struct net_device *dev, struct netdev_queue_stats_rx *rx,
				 struct netdev_queue_stats_tx *tx)
{
	struct netdev_queue_stats_tx one, queues = {};
	struct ipoib_dev *priv = ipoib_priv(dev);
	u64 sum[IPOIB_NR_STATS];
	unsigned int i;

	rx->packets = 0;
	rx->bytes = 0;
	rx->alloc_fail = 0;
	rx->csum_unnecessary = 0;
	for (i = 0; i < ipoib_txqs(priv); i++) {
		ipoib_get_queue_stats_tx(dev, i, &one);
		queues.packets += one.packets;
		queues.bytes += one.bytes;
		queues.stop += one.stop;
		queues.wake += one.wake;
	}
	ipoib_stats_read(priv, sum);
	tx->packets = ipoib_base_stat(sum[IPOIB_TX_PACKETS], queues.packets);
	tx->bytes = ipoib_base_stat(sum[IPOIB_TX_BYTES], queues.bytes);
	tx->stop = ipoib_base_stat(sum[IPOIB_TX_STOPPED], queues.stop);
	tx->wake = ipoib_base_stat(sum[IPOIB_TX_WOKEN], queues.wake);
	tx->hw_gso_packets = sum[IPOIB_TX_GSO];
	tx->hw_gso_bytes = sum[IPOIB_TX_GSO_BYTES];
	tx->hw_gso_wire_packets = sum[IPOIB_TX_GSO_WIRE];
	tx->hw_gso_wire_bytes = sum[IPOIB_TX_GSO_WIRE_BYTES];
}

static const struct netdev_stat_ops ipoib_stat_ops = {
	.get_queue_stats_rx = ipoib_get_queue_stats_rx,
	.get_queue_stats_tx = ipoib_get_queue_stats_tx,
	.get_base_stats = ipoib_get_base_stats,
};

static const struct net_device_ops ipoib_netdev_ops = {
	.ndo_init = ipoib_dev_ndo_init,
	.ndo_uninit = ipoib_dev_ndo_uninit,
	.ndo_open = ipoib_open,
	.ndo_stop = ipoib_stop,
	.ndo_start_xmit = ipoib_start_xmit,
	.ndo_select_queue = ipoib_select_queue,
	.ndo_change_mtu = ipoib_change_mtu,
	.ndo_fix_features = ipoib_fix_features,
	.ndo_features_check = ipoib_features_check,
	.ndo_set_mac_address = ipoib_set_mac_address,
	IPOIB_RX_MODE_OPS(ipoib_set_rx_mode)
	.ndo_tx_timeout = ipoib_tx_timeout,
	.ndo_get_stats64 = ipoib_get_stats64,
	.ndo_eth_ioctl = ipoib_eth_ioctl,
	IPOIB_HWTSTAMP_OPS(ipoib_hwtstamp)
	.ndo_get_iflink = ipoib_get_iflink,
	.ndo_set_vf_link_state = ipoib_vf_set_link_state,
	.ndo_set_vf_guid = ipoib_vf_set_guid,
	.ndo_get_vf_config = ipoib_vf_get_config,
	.ndo_get_vf_stats = ipoib_vf_get_stats,
	.ndo_get_vf_guid = ipoib_vf_get_guid,
};

/* True for an interface of this driver */
bool ipoib_dev_is_ours(const struct net_device *dev)
{
	return dev->netdev_ops == &ipoib_netdev_ops;
}

/* Common setup of interfaces, for a fresh net_device, whose private area may be the HCA's. */
void ipoib_netdev_setup_rn(struct net_device *dev)
{
	dev->netdev_ops = &ipoib_netdev_ops;
	dev->ethtool_ops = &ipoib_ethtool_ops;
	dev->header_ops = &ipoib_header_ops;
	/* Its frames have interrupts off, and no pseudo header. */
	dev->priv_flags |= IFF_DISABLE_NETPOLL;
	dev->type = ARPHRD_INFINIBAND;
	dev->addr_len = INFINIBAND_ALEN;
	dev->hard_header_len = IPOIB_HARD_LEN;
	dev->min_header_len = IPOIB_HARD_LEN;
	dev->flags = IFF_BROADCAST | IFF_MULTICAST;
	dev->tx_queue_len = 2 * ipoib_sendq_size;
	dev->watchdog_timeo = IPOIB_WATCHDOG;
	dev->min_mtu = IPOIB_MTU_MIN;
	dev->max_mtu = IPOIB_MTU_MAX;
	netif_keep_dst(dev);
}

/*
 * Setup of an interface over verbs: a fresh net_device with a &struct ipoib_netdev as private area.
 */
void ipoib_netdev_setup(struct net_device *dev)
{
	struct ipoib_netdev *area = netdev_priv(dev);
	struct ipoib_dev *priv = &area->priv;

	area->rn.clnt_priv = priv;
	priv->netdev = dev;
	priv->rn_ops = &ipoib_ud_netdev_ops;
	ipoib_set_stat_ops(dev, &ipoib_stat_ops);
	ipoib_netdev_setup_rn(dev);
}

static int ipoib_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct ipoib_dev *priv;

	if (!ipoib_dev_is_ours(dev))
		return NOTIFY_DONE;
	priv = ipoib_priv(dev);
	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_CHANGENAME:
	case NETDEV_UNREGISTER:
		ipoib_debugfs_event(priv, event);
		break;
	/*
	 * Neighbours send to an old address until their entry of it becomes stale, half a minute
	 * or more. Have ARP and ND announce the new address once the stack has noticed the
	 * carrier, and has the queueing discipline in place.
	 */
	case NETDEV_CHANGE:
		if (netif_carrier_ok(dev) && test_and_clear_bit(IPOIB_FLAG_ANNOUNCE, &priv->flags))
			call_netdevice_notifiers(NETDEV_NOTIFY_PEERS, dev);
		break;
	case NETDEV_CHANGEADDR:
		/* The administrator has chosen the scope. */
		if (ipoib_dev_address_moved(priv))
			ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_netdev_notifier = {
	.notifier_call = ipoib_netdev_event,
};

/*
 * Event of a neighbour of the stack, with a reference to its net_device: the interface exists, up
 * or down.
 * Context: any but hard interrupt; the lock of the neighbour table may be held.
 */
static int ipoib_netevent(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct neighbour *neigh = ptr;

	if (event != NETEVENT_NEIGH_UPDATE)
		return NOTIFY_DONE;
	if (ipoib_dev_is_ours(neigh->dev))
		ipoib_arp_neigh_event(ipoib_priv(neigh->dev), neigh);
	else if (IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE))
		ipoib_roce_neigh_event(neigh);
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_netevent_notifier = {
	.notifier_call = ipoib_netevent,
};

/* Some, or none, may be registered. */
static void ipoib_notifiers_unregister(void)
{
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
	unregister_netevent_notifier(&ipoib_netevent_notifier);
	if (IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE))
		ipoib_roce_unregister();
}

static int __init ipoib_init(void)
{
	int err;

	ipoib_sendq_size = roundup_pow_of_two(clamp(ipoib_sendq_size, IPOIB_SENDQ_MIN,
						    IPOIB_QUEUE_MAX));
	if (is_kdump_kernel()) {
		ipoib_sendq_size = IPOIB_SENDQ_MIN;
		ipoib_recvq_size = min(ipoib_recvq_size, IPOIB_RECVQ_KDUMP);
	}
	ipoib_recvq_size = roundup_pow_of_two(clamp(ipoib_recvq_size, IPOIB_RECVQ_MIN,
						    IPOIB_QUEUE_MAX));
	ipoib_debugfs_init();
	ib_sa_register_client(&ipoib_sa_client);
	err = IS_ENABLED(CONFIG_INFINIBAND_IPOIB_ROCE) ? ipoib_roce_register() : 0;
	if (err)
		goto unregister_sa;
	err = register_netevent_notifier(&ipoib_netevent_notifier);
	if (!err)
		err = register_netdevice_notifier(&ipoib_netdev_notifier);
	if (!err)
		err = ipoib_dev_register();
	if (err)
		goto unregister_notifiers;
	err = rtnl_link_register(&ipoib_link_ops);
	if (err)
		goto unregister_dev;
	err = ib_register_client(&ipoib_client);
	if (err)
		goto unregister_link;
	return 0;

unregister_link:
	rtnl_link_unregister(&ipoib_link_ops);
unregister_dev:
	ipoib_dev_unregister();
unregister_notifiers:
	ipoib_notifiers_unregister();
unregister_sa:
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_debugfs_exit();
	return err;
}

static void __exit ipoib_exit(void)
{
	ib_unregister_client(&ipoib_client);
	rtnl_link_unregister(&ipoib_link_ops);
	ipoib_dev_unregister();
	ipoib_notifiers_unregister();
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_debugfs_exit();
}

module_init(ipoib_init);
module_exit(ipoib_exit);
