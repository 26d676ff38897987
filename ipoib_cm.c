// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode, RFC 4755: which frames go on connections, mode and transport.
 *
 * What is sent to a peer (cm/peer.c) takes its connection if there is one, and
 * else UD, while a connection is being made (cm/connect.c). What there is of peers
 * and connections comes and goes with the interface, up and down; the life of each
 * connection is in cm/conn.c and cm/work.c.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_police.h"
#include "cm/cm.h"

static const struct ipoib_cm_choice ipoib_cm_choices[] = {
	{ "none", 0, IPOIB_LLADDR_RC },
	{ "rc", IPOIB_LLADDR_RC, IPOIB_LLADDR_RC },
	{ "uc", IPOIB_LLADDR_UC, IPOIB_LLADDR_UC },
	{ "rc,uc", IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, IPOIB_LLADDR_RC },
	{ "uc,rc", IPOIB_LLADDR_RC | IPOIB_LLADDR_UC, IPOIB_LLADDR_UC },
};

/* ---- sending ---- */

/*
 * There is no connection, for a reason that may pass: a frame that is too long for UD is dropped.
 * Returns whether it was; else it is left to UD.
 */
static bool ipoib_cm_drop_long(struct ipoib_dev *priv, struct sk_buff *skb)
{
	if (!ipoib_ud_too_long(skb, READ_ONCE(priv->mcast_mtu)))
		return false;
	ipoib_drop(priv, skb, IPOIB_TX_FLUSHED);
	return true;
}

/*
 * There was no connection. The peer hangs on @neigh from now on, and has one made.
 * Returns as ipoib_cm_xmit(). The frame is taken if there is a connection now, or if there may be
 * one soon and the frame is too long for UD.
 */
static unsigned int ipoib_cm_xmit_slow(struct ipoib_cm *cm, struct ipoib_neigh *neigh,
				       struct sk_buff *skb)
{
	unsigned int mtu = READ_ONCE(cm->priv->mcast_mtu);
	bool fits = !ipoib_ud_too_long(skb, mtu);
	struct ipoib_lladdr to = *(const struct ipoib_lladdr *)skb->data;
	u8 offers = ipoib_lladdr_flags(&to);
	struct ipoib_peer *peer = NULL;
	struct ipoib_conn *conn;
	bool taken = false;

	/* The key is an address without flags (C18). */
	to.flags_qpn &= cpu_to_be32(IPOIB_QPN_MASK);
	spin_lock(&cm->lock);
	if (READ_ONCE(cm->up))
		peer = ipoib_peer_get(cm, &to);
	if (!peer) {
		/* The transports are just being changed, or there is no memory. */
		taken = ipoib_cm_drop_long(cm->priv, skb);
		goto unlock;
	}
	if (hlist_unhashed(&peer->neigh_list))
		ipoib_peer_attach(cm, peer, neigh);
	if (peer->state != IPOIB_PEER_CONNECTING && peer->state != IPOIB_PEER_UP &&
	    !ipoib_peer_pauses(peer))
		ipoib_peer_connect(cm, peer, offers, false);
	conn = rcu_dereference_protected(peer->tx, lockdep_is_held(&cm->lock));
	if (conn) {
		taken = ipoib_conn_xmit(conn, skb);
		mtu = max(mtu, conn->mtu);
	} else if (!fits && peer->state == IPOIB_PEER_CONNECTING &&
		   time_before(jiffies, peer->until)) {
		ipoib_neigh_park(cm->priv, IPOIB_WAIT_PATH, &peer->queue, IPOIB_NEIGH_QUEUE, skb);
		taken = true;
	} else if (ipoib_peer_is_passing(peer)) {
		taken = ipoib_cm_drop_long(cm->priv, skb);
	}
	ipoib_peer_put(cm, peer);
unlock:
	spin_unlock(&cm->lock);
	return taken ? 0 : mtu;
}

/*
 * Only IP goes on connections (C22), and of that no Neighbour Discovery: answers
 * to it must use UD (C32), and what asks had better use the same way. A large packet of UDP
 * that was made in datagram mode would arrive as one datagram.
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

/* A neighbour has few of them, mostly one. RCU read side. */
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

/**
 * ipoib_cm_xmit - send a frame on a connection, if it can be
 * @priv: the interface, in connected mode
 * @neigh: its neighbour, whose path is known
 * @skb: frame with its &struct ipoib_header; its data may have moved if it is left to UD
 *
 * Context: transmit lock of the queue held, RCU read side
 * Return: 0 if the frame was taken. Else it is left to UD, and this is the longest packet that the
 * peer takes, over UD or on its connection: the limit for the sender of a packet that is too long
 * for both (C28).
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
	if (!(offers & READ_ONCE(cm->offers)) || !ipoib_cm_carries(skb))
		return mtu;
	peer = ipoib_cm_peer(neigh, to);
	conn = peer ? rcu_dereference(peer->tx) : NULL;
	if (likely(conn)) {
		if (likely(ipoib_conn_xmit(conn, skb)))
			return 0;
		/* What it does not take is for UD, unless it has just been closed. */
		if (!ipoib_conn_is_closing(conn))
			return max(mtu, conn->mtu);
	}
	/* With no connection, and none to come for now, not even the lock is taken. */
	if (peer && ipoib_peer_pauses(peer))
		return ipoib_peer_is_passing(peer) && ipoib_cm_drop_long(priv, skb) ? 0 : mtu;
	return ipoib_cm_xmit_slow(cm, neigh, skb);
}

/* ---- up and down ---- */

/**
 * ipoib_cm_flush - close all connections
 * @priv: the interface
 *
 * Those still needed are made anew: nothing is known of peers any more.
 *
 * Context: any but hard interrupt
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

/**
 * ipoib_cm_start - take requests, and make some if the mode is connected
 * @priv: the interface, its UD QP running; there is nothing to do if no transport is offered
 *
 * Context: RTNL held
 */
void ipoib_cm_start(struct ipoib_dev *priv)
{
	int err;

	/* Before there are listeners: a request that comes at once is granted. */
	WRITE_ONCE(priv->cm->up, priv->cm->offers);
	err = ipoib_cm_listen(priv);
	if (err) {
		netdev_warn(priv->netdev, "cannot listen for connections: %d\n", err);
		ipoib_ctl_post(priv, IPOIB_CTL_LINK);
	}
}

/**
 * ipoib_cm_stop - close all connections and take no more
 * @priv: the interface, IPOIB_FLAG_UP cleared and transmit queues stopped
 *
 * Their works take them apart later, without RTNL.
 *
 * Context: RTNL held
 */
void ipoib_cm_stop(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	/* What is made until the flush goes with it. */
	WRITE_ONCE(cm->up, false);
	ipoib_cm_unlisten(cm);
	ipoib_cm_flush(priv);
	/* An HCA that has failed gives nothing back. */
	if (test_bit(IPOIB_FLAG_DEAD, &priv->flags))
		ipoib_cm_hurry(cm);
}

/* ---- mode and transport ---- */

/**
 * ipoib_cm_flags - flags of the interface's own link-layer address
 * @priv: the interface
 *
 * What is accepted is offered, whatever the mode: RFC 4755 has a node take
 * unicast on every transport it supports (C30).
 *
 * Return: IPOIB_LLADDR_RC, IPOIB_LLADDR_UC, both or none
 */
u8 ipoib_cm_flags(const struct ipoib_dev *priv)
{
	return priv->cm ? priv->cm->offers : 0;
}

/**
 * ipoib_cm_set_on - turn connected mode on or off
 * @priv: the interface
 * @on: which
 *
 * Nothing is waited for: connections are closed when it is turned off, and
 * taken apart by their works.
 *
 * Context: RTNL held
 * Return: 0, or -EOPNOTSUPP if there are no connections here
 */
int ipoib_cm_set_on(struct ipoib_dev *priv, bool on)
{
	struct ipoib_cm *cm = priv->cm;

	ASSERT_RTNL();
	if (on && (!cm || !cm->offers))
		return -EOPNOTSUPP;
	if (!cm || ipoib_cm_is_on(priv) == on)
		return 0;
	assign_bit(IPOIB_FLAG_CONNECTED, &priv->flags, on);
	if (!on)
		ipoib_cm_flush(priv);
	return 0;
}

/* No HCA says whether it has UC: see whether it makes such a QP. */
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

static const struct ipoib_cm_choice *ipoib_cm_find_choice(const char *word)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ipoib_cm_choices); i++)
		if (sysfs_streq(word, ipoib_cm_choices[i].word))
			return &ipoib_cm_choices[i];
	return NULL;
}

/**
 * ipoib_cm_transport_show - name of the transports offered
 * @priv: the interface
 * @buf: a page, for the word and a newline
 *
 * Return: its length
 */
ssize_t ipoib_cm_transport_show(const struct ipoib_dev *priv, char *buf)
{
	return sysfs_emit(buf, "%s\n", priv->cm ? priv->cm->choice->word : "none");
}

/**
 * ipoib_cm_transport_set - choose the transports offered
 * @priv: the interface
 * @word: none, rc, uc, rc,uc or uc,rc; the first transport is preferred
 *
 * Connections are closed, and made anew as they are needed.
 *
 * Context: RTNL held
 * Return: 0; -EINVAL for another word, -EOPNOTSUPP if the port has no CM or the HCA no UC,
 * -EBUSY for "none" in connected mode
 */
int ipoib_cm_transport_set(struct ipoib_dev *priv, const char *word)
{
	const struct ipoib_cm_choice *choice = ipoib_cm_find_choice(word);
	struct ipoib_cm *cm = priv->cm;
	bool up;

	ASSERT_RTNL();
	if (!choice)
		return -EINVAL;
	if (!cm)
		return choice->offers ? -EOPNOTSUPP : 0;
	if (!choice->offers && ipoib_cm_is_on(priv))
		return -EBUSY;
	if (choice->offers & IPOIB_LLADDR_UC && !ipoib_cm_has_uc(priv))
		return -EOPNOTSUPP;
	up = test_bit(IPOIB_FLAG_UP, &priv->flags);
	ipoib_cm_stop(priv);
	/* A sender that sees &ipoib_cm.up under the lock sees these. */
	spin_lock_bh(&cm->lock);
	WRITE_ONCE(cm->offers, choice->offers);
	cm->choice = choice;
	spin_unlock_bh(&cm->lock);
	if (up)
		ipoib_cm_start(priv);
	return 0;
}

/* ---- debugfs ---- */

/**
 * ipoib_cm_show - receives, peers and their connections, for debugfs
 * @file: where to; its private data is the interface, which does not go before the file
 * @unused: of seq_file
 *
 * Context: may sleep
 * Return: 0, or -EBUSY if a work has held what connections share for 5 s
 */
int ipoib_cm_show(struct seq_file *file, void *unused)
{
	struct ipoib_dev *priv = file->private;
	struct ipoib_cm *cm = priv->cm;
	unsigned int tries = 500;
	struct ipoib_peer *peer;
	unsigned int i;

	/*
	 * The removal of the file waits for its readers, also for a change of the name with the lock
	 * of the net_device held, which works with the mutex may wait for.
	 */
	while (!mutex_trylock(&cm->mutex)) {
		if (!tries--)
			return -EBUSY;
		msleep(10);
	}
	spin_lock_bh(&cm->lock);
	ipoib_cm_rx_show(cm, file);
	seq_printf(file, "connections: %u\npeers: %u\nreceive_mtu: %u\nbytes_per_connection: %zu\n",
		   cm->nconns, cm->npeers, ipoib_cm_rx_mtu(priv),
		   sizeof(struct ipoib_conn) + sizeof(struct ipoib_peer) +
		   IPOIB_CM_RING * (sizeof(struct ipoib_tx_slot) + IPOIB_CM_TX_COPY));
	spin_unlock_bh(&cm->lock);
	mutex_unlock(&cm->mutex);
	for (i = 0; i < HASH_SIZE(cm->peers); i++) {
		spin_lock_bh(&cm->lock);
		hlist_for_each_entry(peer, &cm->peers[i], hash)
			ipoib_peer_show(file, cm, peer);
		spin_unlock_bh(&cm->lock);
		cond_resched();
	}
	return 0;
}

/* ---- interface comes and goes ---- */

/**
 * ipoib_cm_init - connected mode for an interface
 * @priv: the interface, with its UD QP, before registration
 *
 * Only what is small: the rest comes with the first connection.
 *
 * Context: may sleep
 * Return: 0 or -ENOMEM
 */
int ipoib_cm_init(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm;

	if (!rdma_cap_ib_cm(priv->ca, priv->port))
		return 0;
	cm = kvzalloc(sizeof(*cm), GFP_KERNEL);
	if (!cm)
		return -ENOMEM;
	cm->wq = alloc_workqueue("ipoib_cm", WQ_UNBOUND, 0);
	if (!cm->wq) {
		kvfree(cm);
		return -ENOMEM;
	}
	cm->priv = priv;
	cm->choice = ipoib_cm_find_choice("rc");
	cm->offers = cm->choice->offers;
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

/**
 * ipoib_cm_lose_gid - close all connections, as the port has lost their GID
 * @priv: the interface
 *
 * The CM cannot send by that GID any more, but goes on to repeat what it has sent. So
 * nothing is waited for.
 *
 * Context: any but hard interrupt
 */
void ipoib_cm_lose_gid(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;
	struct ipoib_conn *conn, *tmp;

	spin_lock_bh(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &cm->conns, list)
		__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
	ipoib_cm_hurry(cm);
}

/**
 * ipoib_cm_exit - undo ipoib_cm_init()
 * @priv: the interface, down for good
 *
 * Context: process; RTNL may be held
 */
void ipoib_cm_exit(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	ipoib_cm_let_go(priv);
	mutex_lock(&cm->mutex);
	ipoib_cm_rx_release(cm);
	mutex_unlock(&cm->mutex);
	/* There is no SRQ any more whose events start it. */
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
 * Close what is not in use (C20). What is stays: several IP addresses may have one link-layer
 * address (C5), and it ends by its own times. The peer goes with the last, if no frame is sent
 * to it before.
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

/**
 * ipoib_cm_path_read - the path record of a neighbour has been read, or not, or it ends
 * @neigh: the neighbour
 * @gone: it has been unlinked
 *
 * Requests of its peers that have waited for the record go on, and other connections are
 * compared with it. Where it has been unlinked they wait for that of the next one of its GID.
 *
 * Context: process
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

/**
 * ipoib_cm_neigh_gone - the stack gives up a neighbour, or forgets it
 * @cm: connected mode of the interface
 * @addr: link-layer address of the neighbour; connections to it that are not in use end
 *
 * Context: any but hard interrupt, RCU read side; the lock of the neighbour table may be held
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
