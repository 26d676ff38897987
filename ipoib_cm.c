// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, RFC 4755: choice of connection or UD for a frame, mode and transports.
 *
 * A frame takes the connection of its peer (cm/peer.c) or, without one and while one is set up
 * (cm/connect.c), UD. Peers and connections last while the interface is up; cm/conn.c and
 * cm/work.c have the life of a connection.
 */
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_police.h"
#include "cm/cm.h"

static const struct ipoib_cm_choice ipoib_cm_choices[] = {
	{ "none", 0, IPOIB_LLADDR_RC },
	/* the default */
	{ "rc", IPOIB_LLADDR_RC, IPOIB_LLADDR_RC },
	{ "uc", IPOIB_LLADDR_UC, IPOIB_LLADDR_UC },
	{ "rc,uc", IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, IPOIB_LLADDR_RC },
	{ "uc,rc", IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, IPOIB_LLADDR_UC },
};

/* ---- sending ---- */

/*
 * Send a frame to a peer without a connection: attach the peer to @neigh and request a connection.
 * Returns as ipoib_cm_xmit(). Takes the frame if there is a connection by now, or if the frame is
 * too long for UD and a connection may follow.
 */
static unsigned int ipoib_cm_xmit_slow(struct ipoib_cm *cm, struct ipoib_neigh *neigh,
				       struct sk_buff *skb)
{
	unsigned int mtu = READ_ONCE(cm->priv->mcast_mtu);
	struct ipoib_lladdr to = *(const struct ipoib_lladdr *)skb->data;
	u8 offers = ipoib_lladdr_flags(&to);
	unsigned int most = IPOIB_CM_TRANSIENT;
	struct ipoib_peer *peer = NULL;
	struct ipoib_conn *conn;

	/* The key is the address without flags (C18). */
	to.flags_qpn &= cpu_to_be32(IPOIB_QPN_MASK);
	spin_lock(&cm->lock);
	if (READ_ONCE(cm->up))
		peer = ipoib_peer_get(cm, &to);
	/* A change of transports, or no memory: transient */
	if (!peer)
		goto unlock;
	if (hlist_unhashed(&peer->neigh_list))
		ipoib_peer_attach(cm, peer, neigh);
	if (peer->state != IPOIB_PEER_CONNECTING && peer->state != IPOIB_PEER_UP &&
	    !ipoib_peer_pauses(peer))
		ipoib_peer_connect(cm, peer, offers, false);
	conn = rcu_dereference_protected(peer->tx, lockdep_is_held(&cm->lock));
	if (conn) {
		most = ipoib_conn_xmit(conn, skb) ? 0 : max(mtu, conn->mtu);
	} else if (ipoib_ud_too_long(skb, mtu) && peer->state == IPOIB_PEER_CONNECTING &&
		   time_before(jiffies, peer->until)) {
		ipoib_neigh_park(cm->priv, IPOIB_WAIT_PATH, &peer->queue, IPOIB_NEIGH_QUEUE, skb);
		most = 0;
	} else if (!ipoib_peer_is_passing(peer)) {
		most = mtu;
	}
	ipoib_peer_put(cm, peer);
unlock:
	spin_unlock(&cm->lock);
	return most;
}

/*
 * Connections carry IP only (C22), without Neighbour Discovery: answers must use UD (C32), so
 * questions do, too. A UDP GSO frame of datagram mode would arrive as a single datagram.
 */
static bool ipoib_cm_carries(const struct sk_buff *skb)
{
	const struct ipoib_header *header = (const void *)skb->data;
	bool fragment;

	if (unlikely(skb_is_gso(skb) && !skb_is_gso_tcp(skb)))
		return false;
	switch (header->encap.proto) {
	case htons(ETH_P_IP):
		return true;
	case htons(ETH_P_IPV6):
		return !ipoib_nd_options(skb, &fragment);
	default:
		return false;
	}
}

/* A neighbour has few peers, mostly one. RCU read side. */
static struct ipoib_peer *ipoib_cm_peer(const struct ipoib_neigh *neigh,
					const struct ipoib_lladdr *to)
{
	__be32 qpn = to->flags_qpn & cpu_to_be32(IPOIB_QPN_MASK);
	struct ipoib_peer *peer;

	hlist_for_each_entry_rcu(peer, &neigh->peers, neigh_list)
		if (peer->addr.flags_qpn == qpn)
			return peer;
	return NULL;
}

/*
 * Send a frame, with its &struct ipoib_header, on a connection to a neighbour with a path, in
 * connected mode. The frame is taken, or left to UD with its data perhaps moved.
 * Context: transmit lock of the queue held, RCU read side. Return: 0 if the frame was taken.
 * Otherwise the longest packet that the peer takes, over UD or on its connection: the MTU to report
 * if the packet is too long for both (C28); or IPOIB_CM_TRANSIENT.
 */
unsigned int ipoib_cm_xmit(struct ipoib_dev *priv, struct ipoib_neigh *neigh, struct sk_buff *skb)
{
	const struct ipoib_lladdr *to = (const void *)skb->data;
	unsigned int mtu = READ_ONCE(priv->mcast_mtu);
	struct ipoib_cm *cm = priv->cm;
	struct ipoib_conn *conn;
	struct ipoib_peer *peer;
	u8 offers;

	offers = ipoib_lladdr_flags(to);
	if (!(offers & READ_ONCE(cm->choice)->offers) || !ipoib_cm_carries(skb))
		return mtu;
	peer = ipoib_cm_peer(neigh, to);
	conn = peer ? rcu_dereference(peer->tx) : NULL;
	if (likely(conn)) {
		if (likely(ipoib_conn_xmit(conn, skb)))
			return 0;
		/* A frame that an open connection refuses is for UD. */
		if (!ipoib_conn_is_closing(conn))
			return max(mtu, conn->mtu);
	}
	/* No connection, and none to request: no lock. */
	if (peer && ipoib_peer_pauses(peer))
		return ipoib_peer_is_passing(peer) ? IPOIB_CM_TRANSIENT : mtu;
	return ipoib_cm_xmit_slow(cm, neigh, skb);
}

/* ---- up and down ---- */

/*
 * Close all connections and reset all peers. The next frames request new connections.
 * Context: any but hard interrupt.
 */
void ipoib_cm_flush(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;
	struct ipoib_conn *conn, *tmp;
	struct sk_buff_head dropped;
	struct ipoib_peer *peer;
	unsigned int i;

	__skb_queue_head_init(&dropped);
	spin_lock_bh(&cm->lock);
	hash_for_each(cm->peers, i, peer, hash) {
		ipoib_neigh_unpark(priv, IPOIB_WAIT_PATH, &peer->queue, &dropped);
		RCU_INIT_POINTER(peer->tx, NULL);
		ipoib_peer_set_state(peer, IPOIB_PEER_IDLE);
		peer->sid = IPOIB_SID_RFC;
		peer->failures = 0;
		peer->unverified = false;
	}
	list_for_each_entry_safe(conn, tmp, &cm->conns, list)
		__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
	ipoib_drop_list(priv, &dropped, IPOIB_TX_FLUSHED);
}

/*
 * Accept requests and, in connected mode, send them. Nothing happens if no transport is offered.
 * Context: RTNL held, UD QP running.
 */
void ipoib_cm_start(struct ipoib_dev *priv)
{
	int err;

	/* Before the listeners: their first request is granted. */
	WRITE_ONCE(priv->cm->up, priv->cm->choice->offers);
	err = ipoib_cm_listen(priv);
	if (err) {
		netdev_warn(priv->netdev, "cannot listen for connections: %d\n", err);
		/* Each run of the control work tries again. */
		ipoib_ctl_post(priv, IPOIB_CTL_LINK);
	}
}

/*
 * Close all connections and accept no more. The works of connections take them apart later, without
 * RTNL.
 * Context: RTNL held, IPOIB_FLAG_UP cleared, transmit queues stopped.
 */
void ipoib_cm_stop(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	/* The flush closes connections that are made until then. */
	WRITE_ONCE(cm->up, false);
	ipoib_cm_unlisten(cm);
	ipoib_cm_flush(priv);
	/* An HCA that has failed returns no work request. */
	if (test_bit(IPOIB_FLAG_DEAD, &priv->flags))
		ipoib_cm_abort(cm);
}

/* ---- mode and transport ---- */

/*
 * Flags of the own link-layer address. They name the transports that are accepted, whatever the
 * mode: RFC 4755 has a node accept unicast on every transport that it supports (C30).
 * Return: IPOIB_LLADDR_RC, IPOIB_LLADDR_UC, both or none.
 */
u8 ipoib_cm_flags(const struct ipoib_dev *priv)
{
	return priv->cm->choice->offers;
}

/*
 * Turn connected mode on or off. Turning off closes connections, and does not wait for their
 * teardown.
 * Context: RTNL held. Return: 0, or -EOPNOTSUPP if no transport is offered.
 */
int ipoib_cm_set_on(struct ipoib_dev *priv, bool on)
{
	ASSERT_RTNL();
	if (on && !priv->cm->choice->offers)
		return -EOPNOTSUPP;
	if (ipoib_cm_is_on(priv) == on)
		return 0;
	assign_bit(IPOIB_FLAG_CONNECTED, &priv->flags, on);
	if (!on)
		ipoib_cm_flush(priv);
	return 0;
}

/* No capability shows UC: try to create a QP. */
static bool ipoib_cm_has_uc(const struct ipoib_dev *priv)
{
	struct ib_cq_init_attr attr = { .cqe = 2 };
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_UC,
	};
	struct ib_qp *qp;
	int err;

	init.send_cq = ib_create_cq(priv->ca, NULL, NULL, NULL, &attr);
	if (IS_ERR(init.send_cq))
		return PTR_ERR(init.send_cq) == -ENOMEM;
	init.recv_cq = init.send_cq;
	qp = ib_create_qp(priv->pd, &init);
	err = PTR_ERR_OR_ZERO(qp);
	if (!err)
		ib_destroy_qp(qp);
	ib_destroy_cq(init.send_cq);
	return !err || err == -ENOMEM;
}

/* Print the value of cm_transport into a page. Returns its length. */
ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf)
{
	return sysfs_emit(buf, "%s\n", priv->cm->choice->word);
}

/*
 * Set cm_transport: none, rc, uc, rc,uc or uc,rc; the first transport is preferred. Closes all
 * connections; the next frames request new ones.
 * Context: RTNL held. Return: 0; -EINVAL for another word, -EOPNOTSUPP if the HCA has no UC, -EBUSY
 * for "none" in connected mode.
 */
int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word)
{
	const struct ipoib_cm_choice *choice = ipoib_cm_choices;
	struct ipoib_cm *cm = priv->cm;
	bool up;

	ASSERT_RTNL();
	while (!sysfs_streq(word, choice->word))
		if (++choice == ipoib_cm_choices + ARRAY_SIZE(ipoib_cm_choices))
			return -EINVAL;
	if (!choice->offers && ipoib_cm_is_on(priv))
		return -EBUSY;
	if (choice->offers & IPOIB_LLADDR_UC && !ipoib_cm_has_uc(priv))
		return -EOPNOTSUPP;
	up = test_bit(IPOIB_FLAG_UP, &priv->flags);
	ipoib_cm_stop(priv);
	/* Senders that see &ipoib_cm.up under the lock see this, too. */
	spin_lock_bh(&cm->lock);
	WRITE_ONCE(cm->choice, choice);
	spin_unlock_bh(&cm->lock);
	if (up)
		ipoib_cm_start(priv);
	return 0;
}

/* ---- debugfs ---- */

/*
 * Print receives, peers and their connections, for debugfs. The private data of @file is the
 * interface, which outlives the file. Does not take &ipoib_cm.mutex: the removal of the file waits
 * for its readers, for a change of the name with the lock of the net device held, and works that
 * hold the mutex may wait for that lock.
 * Context: may sleep. Return: 0.
 */
int ipoib_cm_show(struct seq_file *file, void *unused)
{
	struct ipoib_dev *priv = file->private;
	struct ipoib_cm *cm = priv->cm;
	struct ipoib_peer *peer;
	unsigned int i;

	spin_lock_bh(&cm->lock);
	ipoib_cm_rx_show(cm, file);
	seq_printf(file, "connections: %u\npeers: %u\nreceive_mtu: %u\nbytes_per_connection: %zu\n",
		   cm->nconns, cm->npeers, ipoib_cm_rx_mtu(priv),
		   sizeof(struct ipoib_conn) + sizeof(struct ipoib_peer) +
		   IPOIB_CM_RING * (sizeof(struct ipoib_tx_slot) + IPOIB_CM_TX_COPY));
	spin_unlock_bh(&cm->lock);
	for (i = 0; i < HASH_SIZE(cm->peers); i++) {
		spin_lock_bh(&cm->lock);
		hlist_for_each_entry(peer, &cm->peers[i], hash)
			ipoib_peer_show(file, cm, peer);
		spin_unlock_bh(&cm->lock);
		cond_resched();
	}
	return 0;
}

/* ---- creation and end of an interface ---- */

/*
 * Set up connected mode for an interface with its UD QP, before registration. Little memory is
 * needed before the first connection.
 * Context: may sleep. Return: 0 or -ENOMEM.
 */
int ipoib_cm_init(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm;

	cm = kvzalloc(sizeof(*cm), GFP_KERNEL);
	if (!cm)
		return -ENOMEM;
	cm->wq = alloc_workqueue("ipoib_cm", WQ_UNBOUND, 0);
	if (!cm->wq) {
		kvfree(cm);
		return -ENOMEM;
	}
	cm->priv = priv;
	cm->choice = &ipoib_cm_choices[1];
	spin_lock_init(&cm->lock);
	mutex_init(&cm->mutex);
	INIT_LIST_HEAD(&cm->conns);
	INIT_LIST_HEAD(&cm->closing);
	init_waitqueue_head(&cm->gone);
	cm->seed = get_random_u32();
	cm->srq_size = ipoib_cm_srq_size(priv);
	INIT_DELAYED_WORK(&cm->rx_work, ipoib_cm_rx_work);
	ipoib_cm_rx_init(cm);
	netif_napi_add_tx(priv->netdev, &cm->tx_napi, ipoib_cm_tx_poll);
	priv->cm = cm;
	return 0;
}

/*
 * Close all connections after the loss of their GID. The CM cannot send by that GID any more, but
 * goes on repeating its messages: do not wait for it.
 * Context: any but hard interrupt.
 */
void ipoib_cm_gid_lost(struct ipoib_dev *priv)
{
	ipoib_cm_flush(priv);
	ipoib_cm_abort(priv->cm);
}

/*
 * Undo ipoib_cm_init() of an interface that is down for good.
 * Context: process; RTNL may be held.
 */
void ipoib_cm_exit(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	ipoib_cm_abort_wait(priv);
	mutex_lock(&cm->mutex);
	ipoib_cm_rx_release(cm);
	mutex_unlock(&cm->mutex);
	/* No SRQ, so no event that queues it */
	cancel_delayed_work_sync(&cm->rx_work);
	netif_napi_del(&cm->tx_napi);
	ipoib_cm_rx_exit(cm);
	WARN_ON_ONCE(cm->npeers);
	destroy_workqueue(cm->wq);
	priv->cm = NULL;
	kvfree(cm);
}

/* ---- neighbours ---- */

/*
 * Close unused connections (C20), and detach the peer from its neighbour. Other connections stay,
 * as several IP addresses may have one link-layer address (C5), and time out by themselves. The
 * last connection takes the peer along, unless a frame attaches it again.
 */
static void ipoib_peer_end(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	struct ipoib_conn *conn, *tmp;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &peer->conns, peer_list)
		if (ipoib_conn_is_unused(conn))
			ipoib_conn_close_for(conn, "idle", IPOIB_CM_REAPED);
	if (!hlist_unhashed(&peer->neigh_list))
		ipoib_peer_detach(cm, peer);
}

/*
 * Handle a new path record, or the end of a neighbour, which has been unlinked if @gone. Requests
 * that wait for the record go on, and connections are compared with it. Requests of an unlinked
 * neighbour wait for the record of the next neighbour of the GID.
 * Context: process.
 */
void ipoib_cm_path_read(struct ipoib_neigh *neigh, bool gone)
{
	struct ipoib_cm *cm = neigh->priv->cm;
	struct ipoib_conn *conn;
	struct ipoib_peer *peer;
	struct hlist_node *tmp;

	spin_lock_bh(&cm->lock);
	hlist_for_each_entry_safe(peer, tmp, &neigh->peers, neigh_list) {
		if (gone) {
			ipoib_peer_end(cm, peer);
			continue;
		}
		list_for_each_entry(conn, &peer->conns, peer_list)
			if (!conn->confirmed || conn->state != IPOIB_CONN_ESTABLISHED)
				ipoib_conn_kick(conn);
	}
	spin_unlock_bh(&cm->lock);
}

/*
 * The stack has forgotten a neighbour, or finds it unreachable: end its peer, see ipoib_peer_end().
 * @addr: its link-layer address, with any flags.
 * Context: any but hard interrupt; the lock of the stack's neighbour table may be held.
 */
void ipoib_cm_neigh_gone(struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	struct ipoib_lladdr key = *addr;
	struct ipoib_peer *peer;

	key.flags_qpn &= cpu_to_be32(IPOIB_QPN_MASK);
	spin_lock_bh(&cm->lock);
	peer = ipoib_peer_find(cm, &key);
	if (peer)
		ipoib_peer_end(cm, peer);
	spin_unlock_bh(&cm->lock);
}
