// SPDX-License-Identifier: GPL-2.0
/*
 * IP over InfiniBand: the module, and the net_device of each port.
 *
 * This file owns &struct ipoib_dev, decides for each frame whether it goes to
 * a group or to a neighbour, and hands received frames to the stack. Which ports
 * have an interface is up to ipoib_hca.c. Locking and lifetime are described in
 * ipoib.h.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "ipoib.h"

MODULE_DESCRIPTION("IP over InfiniBand, RFC 4391 and RFC 4755");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK("ipoib");

#define IPOIB_QUEUE_MAX		8192
#define IPOIB_SENDQ_MIN		128
#define IPOIB_RECVQ_MIN		IPOIB_BATCH
#define IPOIB_WATCHDOG		(10 * HZ)

int ipoib_sendq_size = 128;
module_param_named(send_queue_size, ipoib_sendq_size, int, 0444);
MODULE_PARM_DESC(send_queue_size, "Number of descriptors in send queue");

int ipoib_recvq_size = 256;
module_param_named(recv_queue_size, ipoib_recvq_size, int, 0444);
MODULE_PARM_DESC(recv_queue_size, "Number of descriptors in receive queue");

static int ipoib_scope = IPOIB_SCOPE_LINK_LOCAL;
module_param_named(scope, ipoib_scope, int, 0444);
MODULE_PARM_DESC(scope,
		 "Scope of the broadcast group: 1 to 14 (default 2); 0: search 2, 5, 8 and 14");

static int ipoib_open(struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);

	netif_carrier_off(dev);
	return ipoib_dev_up(priv);
}

static int ipoib_stop(struct net_device *dev)
{
	ipoib_dev_down(netdev_priv(dev));
	return 0;
}

/**
 * ipoib_dev_up - start QP, groups and paths
 * @priv: the interface
 *
 * Without a valid P_Key nothing is started: the interface stays without
 * carrier until an event tells that there is one (U21).
 *
 * Context: RTNL held
 * Return: 0, or a negative error with everything stopped
 */
int ipoib_dev_up(struct ipoib_dev *priv)
{
	int err;

	ASSERT_RTNL();
	if (test_bit(IPOIB_FLAG_DEAD, &priv->flags))
		return -ENODEV;
	ipoib_dev_set_address(priv);
	if (!test_bit(IPOIB_FLAG_PKEY, &priv->flags)) {
		netdev_warn(priv->netdev, "waiting for a P_Key\n");
		return 0;
	}
	err = ipoib_ud_start(priv);
	if (err) {
		netdev_warn(priv->netdev, "cannot start QP: %d\n", err);
		return err;
	}
	set_bit(IPOIB_FLAG_UP, &priv->flags);
	/*
	 * Wakes, not starts: the stack does not empty the queueing discipline if it has
	 * not seen that the carrier was off, and only this has what is in it sent.
	 */
	netif_tx_wake_all_queues(priv->netdev);
	if (priv->fabric->start)
		priv->fabric->start(priv);
	ipoib_path_start(priv);
	ipoib_cm_start(priv);
	err = ipoib_mcast_start(priv);
	if (err) {
		netdev_warn(priv->netdev, "cannot start groups: %d\n", err);
		ipoib_dev_down(priv);
	}
	return err;
}

/**
 * ipoib_dev_down - stop what ipoib_dev_up() started
 * @priv: the interface, up or not
 *
 * Context: RTNL held
 */
void ipoib_dev_down(struct ipoib_dev *priv)
{
	ASSERT_RTNL();
	if (!test_and_clear_bit(IPOIB_FLAG_UP, &priv->flags))
		return;
	netif_carrier_off(priv->netdev);
	/* Takes each transmit lock: after this no sender is under way. */
	netif_tx_disable(priv->netdev);
	ipoib_pmtu_stop(priv);
	ipoib_cm_stop(priv);
	ipoib_mcast_stop(priv);
	ipoib_path_stop(priv);
	if (priv->fabric->stop)
		priv->fabric->stop(priv);
	ipoib_ud_stop(priv);
}

/* Groups are reached over UD only, whatever the mode (RFC 4755 section 2.1). */
static void ipoib_dev_xmit_mcast(struct ipoib_txq *txq, struct sk_buff *skb)
{
	unsigned int mtu = READ_ONCE(txq->priv->mcast_mtu);

	if (unlikely(skb->len > mtu + IPOIB_HARD_LEN))
		ipoib_pmtu_reject(txq->priv, skb, mtu);
	else
		ipoib_mcast_xmit(txq, skb);
}

static void ipoib_dev_xmit(struct ipoib_txq *txq, struct sk_buff *skb)
{
	struct ipoib_dev *priv = txq->priv;

	if (unlikely(!test_bit(IPOIB_FLAG_UP, &priv->flags)))
		ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
	else if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN)))
		ipoib_drop(priv, skb, IPOIB_TX_HEADER);
	else if (ipoib_lladdr_is_mcast((const void *)skb->data))
		ipoib_dev_xmit_mcast(txq, skb);
	else
		ipoib_arp_xmit(txq, skb);
}

static netdev_tx_t ipoib_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	struct ipoib_txq *txq = priv->txq;

	rcu_read_lock();
	ipoib_dev_xmit(txq, skb);
	if (!netdev_xmit_more() || netif_xmit_stopped(txq->nq))
		ipoib_ud_post(txq);
	rcu_read_unlock();
	return NETDEV_TX_OK;
}

/* With the transmit lock held. */
static void ipoib_dev_xmit_all(struct ipoib_txq *txq,
			       struct sk_buff_head *frames)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(frames)))
		ipoib_dev_xmit(txq, skb);
	ipoib_ud_post(txq);
}

/**
 * ipoib_dev_xmit_parked - send frames that have waited, before any that come now
 * @priv: the interface
 * @lock: protects @queue; not held
 * @queue: frames, whole with their &struct ipoib_header; emptied
 *
 * With the transmit lock held no other frame can overtake them, provided that
 * the transmit path looks whether some wait still.
 *
 * Context: process
 * Return: how many there were
 */
unsigned int ipoib_dev_xmit_parked(struct ipoib_dev *priv, spinlock_t *lock,
				   struct sk_buff_head *queue)
{
	struct ipoib_txq *txq = priv->txq;
	struct sk_buff_head frames;
	unsigned int n;

	__skb_queue_head_init(&frames);
	local_bh_disable();
	__netif_tx_lock(txq->nq, smp_processor_id());
	rcu_read_lock();
	spin_lock(lock);
	n = skb_queue_len(queue);
	ipoib_object_unpark(queue, &frames);
	spin_unlock(lock);
	ipoib_dev_xmit_all(txq, &frames);
	rcu_read_unlock();
	__netif_tx_unlock(txq->nq);
	local_bh_enable();
	return n;
}

/**
 * ipoib_dev_xmit_taken - send frames that are taken with the transmit lock held
 * @priv: the interface
 * @take: called once; adds frames, whole with their &struct ipoib_header
 *
 * Context: process
 */
void ipoib_dev_xmit_taken(struct ipoib_dev *priv,
			  void (*take)(struct ipoib_dev *priv,
				       struct sk_buff_head *frames))
{
	struct ipoib_txq *txq = priv->txq;
	struct sk_buff_head frames;

	__skb_queue_head_init(&frames);
	local_bh_disable();
	__netif_tx_lock(txq->nq, smp_processor_id());
	rcu_read_lock();
	take(priv, &frames);
	ipoib_dev_xmit_all(txq, &frames);
	rcu_read_unlock();
	__netif_tx_unlock(txq->nq);
	local_bh_enable();
}

/**
 * ipoib_dev_rx - hand a received frame to the stack
 * @priv: the interface
 * @napi: handler that received it
 * @skb: frame with a filled &struct ipoib_header and packet type
 *
 * The reserved field is not looked at (U24), any EtherType passes (U26).
 *
 * Context: NAPI
 */
void ipoib_dev_rx(struct ipoib_dev *priv, struct napi_struct *napi,
		  struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;

	skb->protocol = header->encap.proto;
	skb->dev = priv->netdev;
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);
	napi_gro_receive(napi, skb);
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

/* Octets that those have room for who ask for the source of a frame. */
#define IPOIB_PARSE_LEN		sizeof(__be64)

/*
 * Source of a frame. A frame on its way out holds its destination instead.
 *
 * Not all of the address: nfnetlink_log and nfnetlink_queue have 8 octets for it,
 * on their stacks, and so has the ring of a packet socket, where the frame itself
 * comes next. The last 8 of the GID tell who sent it: the GUID of the port. Of a
 * frame without GRH that is not known.
 */
static int ipoib_header_parse(const struct sk_buff *skb,
			      const struct net_device *dev,
			      unsigned char *haddr)
{
	const struct ipoib_header *header = (const void *)skb_mac_header(skb);
	const void *lladdr = &header->lladdr;
	const void *guid;

	if (skb->pkt_type == PACKET_OUTGOING)
		lladdr = dev->dev_addr;
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
	struct ipoib_dev *priv = netdev_priv(dev);
	/* the broadcast group may change it meanwhile, and then corrects ours */
	unsigned int link_mtu = READ_ONCE(priv->mcast_mtu);

	if (ipoib_cm_is_on(priv)) {
		priv->admin_mtu = mtu;
		WRITE_ONCE(dev->mtu, mtu);
		return 0;
	}
	if (mtu > priv->max_mtu) {
		netdev_warn(dev, "MTU %d is above the %u the port can do\n",
			    mtu, priv->max_mtu);
		return -EINVAL;
	}
	if ((unsigned int)mtu > link_mtu && netif_carrier_ok(dev))
		netdev_info(dev, "the link takes MTU %u, not %d, from its broadcast group\n",
			    link_mtu, mtu);
	priv->admin_mtu = mtu;
	WRITE_ONCE(dev->mtu, min_t(unsigned int, mtu, link_mtu));
	return 0;
}

/* The administrator's wish, as far as the mode and the link allow. */
static unsigned int ipoib_dev_mtu(const struct ipoib_dev *priv)
{
	if (ipoib_cm_is_on(priv))
		return priv->admin_mtu;
	return min(priv->admin_mtu, READ_ONCE(priv->mcast_mtu));
}

/**
 * ipoib_dev_fit_mtu - have the MTU follow mode and link
 * @priv: the interface
 *
 * The administrator's wish is kept, whatever can be done now: when more is
 * possible again, it is done.
 *
 * Context: RTNL held
 * Return: 0, or the error of someone who did not agree
 */
int ipoib_dev_fit_mtu(struct ipoib_dev *priv)
{
	unsigned int admin = priv->admin_mtu;
	unsigned int mtu = ipoib_dev_mtu(priv);
	int err;

	if (priv->netdev->mtu == mtu)
		return 0;
	err = dev_set_mtu(priv->netdev, mtu);
	priv->admin_mtu = admin;
	return err;
}

static void ipoib_set_rx_mode(struct net_device *dev)
{
	ipoib_mcast_resync(netdev_priv(dev));
}

static void ipoib_tx_timeout(struct net_device *dev, unsigned int queue)
{
	struct ipoib_dev *priv = netdev_priv(dev);
	struct ipoib_txq *txq = priv->txq;

	ipoib_stat_add(priv, IPOIB_TX_TIMEOUT, 1);
	netdev_warn(dev, "transmit timeout: latency %d msecs\n",
		    jiffies_to_msecs(jiffies -
				     READ_ONCE(txq->nq->trans_start)));
	netdev_warn(dev, "queue stopped %d, tx_head %u, tx_tail %u\n",
		    netif_tx_queue_stopped(txq->nq), txq->ring.head,
		    txq->ring.tail);
	ipoib_ctl_post(priv, IPOIB_CTL_RESTART);
}

static void ipoib_get_stats64(struct net_device *dev,
			      struct rtnl_link_stats64 *stats)
{
	u64 sum[IPOIB_NR_STATS];

	ipoib_stats_read(netdev_priv(dev), sum);
	ipoib_stats_link(sum, stats);
}

static const struct net_device_ops ipoib_netdev_ops = {
	.ndo_open = ipoib_open,
	.ndo_stop = ipoib_stop,
	.ndo_start_xmit = ipoib_start_xmit,
	.ndo_change_mtu = ipoib_change_mtu,
	.ndo_set_rx_mode = ipoib_set_rx_mode,
	.ndo_tx_timeout = ipoib_tx_timeout,
	.ndo_get_stats64 = ipoib_get_stats64,
};

/**
 * ipoib_dev_is_ours - whether an interface is one of this driver
 * @dev: any interface
 *
 * Return: true if so
 */
bool ipoib_dev_is_ours(const struct net_device *dev)
{
	return dev->netdev_ops == &ipoib_netdev_ops;
}

/**
 * ipoib_dev_set_mode - switch between datagram and connected mode
 * @priv: the interface
 * @mode: one of the two words
 *
 * Without a wish of the administrator's the MTU becomes the largest of the mode:
 * 65520 in connected mode, as it always has under Linux (RFC 4755 would have
 * 2044, C24), that of the broadcast group in datagram mode.
 *
 * All is done when this returns, or nothing. What is left of connections is
 * taken apart later.
 *
 * Context: RTNL held
 * Return: 0; -EINVAL for any other word, -EOPNOTSUPP if there is no connected
 * mode here, or the error of someone who did not agree to the MTU
 */
int ipoib_dev_set_mode(struct ipoib_dev *priv, const char *mode)
{
	bool on = !strcmp(mode, "connected");
	bool was = ipoib_cm_is_on(priv);
	int err;

	ASSERT_RTNL();
	if (!on && strcmp(mode, "datagram"))
		return -EINVAL;
	err = ipoib_cm_set_on(priv, on);
	if (err) {
		netdev_warn(priv->netdev, "no connected mode on this port\n");
		return err;
	}
	if (on == was)
		return 0;
	err = ipoib_dev_fit_mtu(priv);
	if (err) {
		ipoib_cm_set_on(priv, was);
		return err;
	}
	if (on && priv->admin_mtu < IPOIB_MTU_MAX)
		netdev_info(priv->netdev, "MTU stays %u as it was set; connected mode takes up to %u\n",
			    priv->admin_mtu, IPOIB_MTU_MAX);
	return 0;
}

/* RFC 4391 section 9.1.1 (U36, U38). */
static void ipoib_dev_set_lladdr(struct ipoib_dev *priv)
{
	struct ipoib_lladdr addr;

	/* The flags say what connections are offered (RFC 4755 section 3.1, C7). */
	ipoib_lladdr_set(&addr, ipoib_cm_flags(priv), priv->txq->qp->qp_num,
			 &priv->local_gid);
	dev_addr_set(priv->netdev, (const u8 *)&addr);
}

/**
 * ipoib_dev_set_transport - choose the transports of connected mode
 * @priv: the interface
 * @word: one of those of the module's parameter cm_transport
 *
 * Neighbours learn of it from the flags of our address.
 *
 * Context: RTNL held
 * Return: 0 or a negative error, see ipoib_cm_transport_set()
 */
int ipoib_dev_set_transport(struct ipoib_dev *priv, const char *word)
{
	u8 was = ipoib_cm_flags(priv);
	int err;

	err = ipoib_cm_transport_set(priv, word);
	if (err || was == ipoib_cm_flags(priv))
		return err;
	ipoib_dev_set_lladdr(priv);
	call_netdevice_notifiers(NETDEV_CHANGEADDR, priv->netdev);
	return 0;
}

/* Scope of the broadcast address as it stands. */
static u8 ipoib_dev_scope(const struct net_device *dev)
{
	const struct ipoib_lladdr *addr = (const void *)dev->broadcast;
	const struct ipoib_mgid *mgid = (const void *)addr->gid;

	return mgid->flags_scope & 0xf;
}

/**
 * ipoib_dev_next_scope - look for a broadcast group of greater scope
 * @priv: the interface, stopped; ipoib_dev_change_address() is to follow
 *
 * Context: RTNL held
 */
void ipoib_dev_next_scope(struct ipoib_dev *priv)
{
	struct ipoib_lladdr *addr = (void *)priv->netdev->broadcast;
	struct ipoib_mgid *mgid = (void *)addr->gid;
	static const u8 scopes[] = { 0x2, 0x5, 0x8, 0xe };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scopes) - 1; i++)
		if (scopes[i] >= ipoib_dev_scope(priv->netdev))
			break;
	mgid->flags_scope = IPOIB_MGID_TRANSIENT |
			    scopes[(i + 1) % ARRAY_SIZE(scopes)];
}

/**
 * ipoib_dev_set_address - derive link-layer and broadcast address
 * @priv: the interface, stopped; GID, QPN and P_Key are known
 *
 * For the latter see RFC 4391 section 4 (U4 to U9). The administrator gives the
 * link another scope by the broadcast address (U15); the rest of that address is
 * not for him to choose. Receiving and the multicast work go by the MGID, so it
 * does not change while they run.
 *
 * Context: RTNL held, or before registration
 */
void ipoib_dev_set_address(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;
	struct ipoib_lladdr addr;

	ipoib_dev_set_lladdr(priv);
	ipoib_mgid_broadcast(&priv->broadcast_mgid,
			     ipoib_dev_scope(dev) ?: ipoib_scope ?:
			     IPOIB_SCOPE_LINK_LOCAL,
			     priv->pkey);
	ipoib_lladdr_set(&addr, 0, IPOIB_MCAST_QPN, &priv->broadcast_mgid);
	memcpy(dev->broadcast, &addr, sizeof(addr));
}

/**
 * ipoib_dev_address_moved - whether someone changed the broadcast address
 * @priv: the interface
 *
 * Context: RTNL held
 * Return: true if it is not the one the driver works with
 */
bool ipoib_dev_address_moved(const struct ipoib_dev *priv)
{
	const struct ipoib_lladdr *addr = (const void *)priv->netdev->broadcast;

	return memcmp(addr->gid, &priv->broadcast_mgid, sizeof(addr->gid));
}

/**
 * ipoib_dev_change_address - GID, P_Key or scope of a registered interface changed
 * @priv: the interface, stopped
 *
 * The stack derives the link-layer addresses of its groups from the broadcast
 * address, so it has to take them back first and make them anew.
 *
 * Context: RTNL held
 */
void ipoib_dev_change_address(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;

	ASSERT_RTNL();
	call_netdevice_notifiers(NETDEV_PRE_TYPE_CHANGE, dev);
	ipoib_dev_set_address(priv);
	call_netdevice_notifiers(NETDEV_POST_TYPE_CHANGE, dev);
	call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
}

static void ipoib_dev_setup(struct ipoib_dev *priv)
{
	struct net_device *dev = priv->netdev;

	dev->netdev_ops = &ipoib_netdev_ops;
	dev->ethtool_ops = &ipoib_ethtool_ops;
	dev->rtnl_link_ops = &ipoib_link_ops;
	dev->sysfs_groups[0] = &ipoib_sysfs_group;
	dev->dev_port = priv->port - 1;
	dev->dev_id = priv->port - 1;
	dev->features |= NETIF_F_SG | NETIF_F_HIGHDMA;
	dev->features |= ipoib_ud_features(priv);
	dev->hw_features |= dev->features;
	dev->features |= NETIF_F_VLAN_CHALLENGED;
	SET_NETDEV_DEV(dev, priv->ca->dev.parent);
}

/**
 * ipoib_netlink_setup - the part of an interface that is the same for all
 * @dev: fresh interface
 */
void ipoib_netlink_setup(struct net_device *dev)
{
	dev->header_ops = &ipoib_header_ops;
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

static int ipoib_dev_init_tables(struct ipoib_dev *priv)
{
	int err;

	priv->wq = alloc_ordered_workqueue("ipoib_wq", WQ_MEM_RECLAIM);
	if (!priv->wq)
		return -ENOMEM;
	err = ipoib_stats_init(priv);
	if (err)
		goto destroy_wq;
	err = ipoib_path_init(priv);
	if (err)
		goto exit_stats;
	err = ipoib_mcast_init(priv);
	if (err)
		goto exit_path;
	return 0;

exit_path:
	ipoib_path_exit(priv);
exit_stats:
	ipoib_stats_exit(priv);
destroy_wq:
	destroy_workqueue(priv->wq);
	return err;
}

static void ipoib_dev_exit_tables(struct ipoib_dev *priv)
{
	ipoib_mcast_exit(priv);
	ipoib_path_exit(priv);
	ipoib_stats_exit(priv);
	destroy_workqueue(priv->wq);
}

static void ipoib_dev_init_mtu(struct ipoib_dev *priv)
{
	priv->mcast_mtu = priv->port_mtu;
	priv->admin_mtu = IPOIB_MTU_MAX;
	priv->netdev->mtu = priv->mcast_mtu;
}

static int ipoib_dev_init_fabric(struct ipoib_dev *priv)
{
	int err;

	if (priv->fabric->init) {
		err = priv->fabric->init(priv);
		if (err)
			return err;
	}
	err = ipoib_event_port(priv);
	if (err && priv->fabric->exit)
		priv->fabric->exit(priv);
	return err;
}

static void ipoib_dev_exit_fabric(struct ipoib_dev *priv)
{
	if (priv->fabric->exit)
		priv->fabric->exit(priv);
}

static int ipoib_dev_init(struct ipoib_dev *priv)
{
	int err;

	priv->scope_search = !ipoib_scope;
	spin_lock_init(&priv->ah_lock);
	INIT_LIST_HEAD(&priv->dead_ahs);
	INIT_LIST_HEAD(&priv->attachments);
	INIT_LIST_HEAD(&priv->fenced_ahs);
	INIT_DELAYED_WORK(&priv->ah_work, ipoib_ah_reap);
	INIT_DELAYED_WORK(&priv->ctl_work, ipoib_ctl_work);
	ipoib_pmtu_init(priv);
	err = ipoib_dev_init_tables(priv);
	if (err)
		return err;
	err = ipoib_dev_init_fabric(priv);
	if (err)
		goto exit_tables;
	err = ipoib_ud_init(priv);
	if (err)
		goto exit_fabric;
	err = ipoib_cm_init(priv);
	if (err)
		goto exit_ud;
	ipoib_dev_init_mtu(priv);
	ipoib_dev_set_address(priv);
	return 0;

exit_ud:
	ipoib_ud_exit(priv);
exit_fabric:
	ipoib_dev_exit_fabric(priv);
exit_tables:
	ipoib_dev_exit_tables(priv);
	return err;
}

static void ipoib_dev_exit(struct ipoib_dev *priv)
{
	/* Nobody can start anything now; wait for what others still do. */
	cancel_delayed_work_sync(&priv->ctl_work);
	ipoib_path_wait_answers(priv);
	ipoib_dev_exit_fabric(priv);
	ipoib_cm_exit(priv);
	ipoib_ud_exit(priv);
	/* The QP may have asked for something until it was destroyed. */
	cancel_delayed_work_sync(&priv->ctl_work);
	ipoib_dev_exit_tables(priv);
}

/**
 * ipoib_dev_create - make the interface of a port
 * @ca: the HCA
 * @port: the port, InfiniBand or RoCE
 * @vid: VLAN on a RoCE port, else 0
 *
 * Context: process, without RTNL
 * Return: the interface, which the caller destroys, or an error pointer, with a
 * message why
 */
struct ipoib_dev *ipoib_dev_create(struct ib_device *ca, u32 port, u16 vid)
{
	struct net_device *dev;
	struct ipoib_dev *priv;
	int err;

	dev = alloc_netdev(sizeof(*priv), "ib%d", NET_NAME_UNKNOWN,
			   ipoib_netlink_setup);
	if (!dev) {
		err = -ENOMEM;
		goto tell;
	}
	priv = netdev_priv(dev);
	priv->netdev = dev;
	priv->ca = ca;
	priv->port = port;
	priv->vid = vid;
	priv->fabric = rdma_protocol_ib(ca, port) ? &ipoib_sa_ops :
						    &ipoib_roce_ops;
	err = ipoib_dev_init(priv);
	if (err)
		goto free_dev;
	ipoib_dev_setup(priv);
	err = register_netdev(dev);
	if (err)
		goto exit_dev;
	if (!ca->ops.attach_mcast)
		netdev_warn(dev, "the HCA has no multicast: there will be no carrier\n");
	/* Whoever sees it registered may rename it, which renames the files. */
	rtnl_lock();
	ipoib_debugfs_add(priv);
	rtnl_unlock();
	ipoib_object_made(IPOIB_OBJECT_INTERFACE);
	pr_debug("ipoib: %s created\n", dev->name);
	return priv;

exit_dev:
	ipoib_dev_exit(priv);
free_dev:
	free_netdev(dev);
tell:
	dev_warn(&ca->dev, "cannot make an interface for port %u: %d\n", port,
		 err);
	return ERR_PTR(err);
}

/**
 * ipoib_dev_destroy - take an interface away
 * @priv: the interface; nobody can find it by its HCA any more
 *
 * Context: process, without RTNL
 */
void ipoib_dev_destroy(struct ipoib_dev *priv)
{
	rtnl_lock();
	ipoib_debugfs_remove(priv);
	rtnl_unlock();
	unregister_netdev(priv->netdev);
	ipoib_dev_exit(priv);
	ipoib_object_gone(IPOIB_OBJECT_INTERFACE, 1);
	pr_debug("ipoib: %s destroyed\n", priv->netdev->name);
	free_netdev(priv->netdev);
}

static int ipoib_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	if (!ipoib_dev_is_ours(dev))
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_CHANGENAME:
	case NETDEV_REGISTER:
		/* The latter also when it has moved to another namespace. */
		ipoib_debugfs_rename(netdev_priv(dev));
		break;
	case NETDEV_CHANGEADDR:
		if (!ipoib_dev_address_moved(netdev_priv(dev)))
			break;
		/* By the administrator, who knows the scope. */
		((struct ipoib_dev *)netdev_priv(dev))->scope_search = false;
		ipoib_ctl_post(netdev_priv(dev), IPOIB_CTL_RESTART);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_netdev_notifier = {
	.notifier_call = ipoib_netdev_event,
};

static void ipoib_params_fix(void)
{
	if (ipoib_scope < 0 || ipoib_scope > 14)
		ipoib_scope = IPOIB_SCOPE_LINK_LOCAL;
	ipoib_sendq_size = roundup_pow_of_two(clamp(ipoib_sendq_size,
						    IPOIB_SENDQ_MIN,
						    IPOIB_QUEUE_MAX));
	ipoib_recvq_size = roundup_pow_of_two(clamp(ipoib_recvq_size,
						    IPOIB_RECVQ_MIN,
						    IPOIB_QUEUE_MAX));
}

static int __init ipoib_init(void)
{
	int err;

	err = ipoib_cm_params_check();
	if (err)
		return err;
	ipoib_params_fix();
	ipoib_debugfs_init();
	ipoib_sa_register();
	err = ipoib_roce_register();
	if (err)
		goto unregister_sa;
	err = ipoib_arp_register();
	if (err)
		goto unregister_roce;
	err = ipoib_cm_register();
	if (err)
		goto unregister_arp;
	err = register_netdevice_notifier(&ipoib_netdev_notifier);
	if (err)
		goto unregister_cm;
	err = rtnl_link_register(&ipoib_link_ops);
	if (err)
		goto unregister_notifier;
	err = ipoib_hca_register();
	if (err)
		goto unregister_link;
	return 0;

unregister_link:
	rtnl_link_unregister(&ipoib_link_ops);
unregister_notifier:
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
unregister_cm:
	ipoib_cm_unregister();
unregister_arp:
	ipoib_arp_unregister();
unregister_roce:
	ipoib_roce_unregister();
unregister_sa:
	ipoib_sa_unregister();
	ipoib_debugfs_exit();
	return err;
}

static void __exit ipoib_exit(void)
{
	ipoib_hca_unregister();
	rtnl_link_unregister(&ipoib_link_ops);
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
	ipoib_cm_unregister();
	ipoib_arp_unregister();
	ipoib_roce_unregister();
	ipoib_sa_unregister();
	ipoib_debugfs_exit();
	/* Paths and groups that wait for their grace period. */
	rcu_barrier();
	ipoib_object_audit();
}

module_init(ipoib_init);
module_exit(ipoib_exit);
