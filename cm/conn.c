// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: a connection, from its allocation to its release.
 *
 * It belongs to &ipoib_cm.conns from ipoib_conn_publish() to __ipoib_conn_close(), which any
 * context but a hard interrupt may call. Its work (work.c) makes its QP and takes it apart.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* What connections share is given back after so long without any, at the latest. */
#define IPOIB_CM_RELEASE	(10 * HZ)

/* ---- making and freeing ---- */

/**
 * ipoib_conn_alloc - allocate a connection
 * @cm: connected mode of the interface
 * @gfp: how
 *
 * Return: the connection, of RC, which is the caller's to free until ipoib_conn_publish(), or NULL
 */
struct ipoib_conn *ipoib_conn_alloc(struct ipoib_cm *cm, gfp_t gfp)
{
	struct ipoib_conn *conn = kzalloc(sizeof(*conn), gfp);

	if (!conn)
		return NULL;
	conn->cm = cm;
	conn->psn = get_random_u32() & 0xffffff;
	conn->deadline = jiffies + IPOIB_CM_LATE;
	conn->used = jiffies;
	conn->progress = jiffies;
	kref_init(&conn->ref);
	INIT_DELAYED_WORK(&conn->work, ipoib_conn_work);
	spin_lock_init(&conn->tx_lock);
	__skb_queue_head_init(&conn->backlog);
	return conn;
}

/**
 * ipoib_conn_set_state - change the state of a connection
 * @conn: the connection
 * @state: new state; one that does not follow the present one is warned of
 *
 * Keeps the counts and the lists that the state implies.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_set_state(struct ipoib_conn *conn, enum ipoib_conn_state state)
{
	struct ipoib_cm *cm = conn->cm;

	lockdep_assert_held(&cm->lock);
	WARN_ON_ONCE(state != conn->state + 1 &&
		     (state != IPOIB_CONN_CLOSING || conn->state != IPOIB_CONN_PENDING));
	if (conn->state == IPOIB_CONN_PENDING) {
		cm->npending--;
		ipoib_cm_share(cm, conn->port)->npending--;
	}
	if (state == IPOIB_CONN_CLOSING)
		list_move_tail(&conn->list, &cm->closing);
	else if (state == IPOIB_CONN_DEAD)
		list_del(&conn->list);
	WRITE_ONCE(conn->state, state);
}

/**
 * ipoib_conn_publish - let a connection be found, and have its work make it
 * @conn: the connection, with the port by which ipoib_cm_admit() has let it in
 * @peer: its peer
 *
 * Context: &ipoib_cm.lock held since ipoib_cm_admit()
 */
void ipoib_conn_publish(struct ipoib_conn *conn, struct ipoib_peer *peer)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_cm_share *share = ipoib_cm_share(cm, conn->port);

	lockdep_assert_held(&cm->lock);
	peer->users++;
	conn->peer = peer;
	cm->nconns++;
	cm->npending++;
	share->nconns++;
	share->npending++;
	list_add_tail(&conn->list, &cm->conns);
	list_add_tail(&conn->peer_list, &peer->conns);
	ipoib_conn_kick(conn);
}

/**
 * ipoib_conn_release - the last reference to a connection has been dropped
 * @ref: &ipoib_conn.ref
 *
 * It counts until here. What waits for the last one may go on at once.
 *
 * Context: any but hard interrupt
 */
void ipoib_conn_release(struct kref *ref)
{
	struct ipoib_conn *conn = container_of(ref, struct ipoib_conn, ref);
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->lock);
	ipoib_peer_put(cm, conn->peer);
	ipoib_cm_share(cm, conn->port)->nconns--;
	cm->nconns--;
	if (!cm->nconns) {
		queue_delayed_work(system_unbound_wq, &cm->rx_work, IPOIB_CM_RELEASE);
		/* Read after that: where it fails later the work is brought forward, too. */
		if (ipoib_cm_srq_has_failed(cm))
			mod_delayed_work(system_unbound_wq, &cm->rx_work, 0);
		wake_up(&cm->gone);
	}
	spin_unlock_bh(&cm->lock);
	/* Senders may hold it, and callbacks of the CM by which a message was sent in vain. */
	kfree_rcu(conn, rcu);
}

/* ---- closing ---- */

/**
 * __ipoib_conn_close - have a connection taken apart by its work
 * @conn: any that is published
 *
 * It is unpublished here: no sender finds it from now on. What waits for it goes
 * another way.
 *
 * Context: &ipoib_cm.lock held
 */
void __ipoib_conn_close(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	lockdep_assert_held(&cm->lock);
	if (ipoib_conn_is_closing(conn))
		return;
	ipoib_conn_set_state(conn, IPOIB_CONN_CLOSING);
	ipoib_conn_shut(conn);
	list_del(&conn->peer_list);
	ipoib_peer_lost(cm, conn->peer, conn);
	ipoib_conn_kick(conn);
}

/**
 * ipoib_conn_close - have a connection taken apart by its work
 * @conn: any that is published
 *
 * Context: any but hard interrupt
 */
void ipoib_conn_close(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	spin_lock_bh(&cm->lock);
	__ipoib_conn_close(conn);
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_conn_close_for - trace and count a reason, and close a connection
 * @conn: any that is published and not closing
 * @why: the reason, in traces
 * @stat: its counter
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_close_for(struct ipoib_conn *conn, const char *why, enum ipoib_stat stat)
{
	struct ipoib_dev *priv = conn->cm->priv;

	trace_ipoib_conn(priv->netdev, conn->peer->addr.gid, why, 0);
	ipoib_stat_add(priv, stat, 1);
	__ipoib_conn_close(conn);
}

/* ---- several connections of a peer ---- */

/**
 * ipoib_conn_supersede - have the connections whose place another one takes end
 * @conn: the other one, established
 *
 * Of two for both directions the newer takes the place, if it comes from the port that the peer
 * is known to be on, or from that of the other one. For one direction the port has to be the same.
 *
 * RFC 4755 leaves a second connection to the receiver (C14), and a peer may use one for IPv4
 * and one for IPv6. So they end when they are not used for IPOIB_CM_UNUSED, as those of
 * a peer that has been booted anew.
 *
 * A request alone does not do that: it can be forged by a user of the peer's host, and where
 * the path to the peer is not known, by any host. The private data of the RTU proves that the
 * peer's driver has sent it.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_supersede(struct ipoib_conn *conn)
{
	struct ipoib_conn *old;
	bool same;

	lockdep_assert_held(&conn->cm->lock);
	list_for_each_entry(old, &conn->peer->conns, peer_list) {
		if (old == conn || (old->active && old->state == IPOIB_CONN_PENDING))
			continue;
		same = old->port == conn->port;
		if (conn->duplex ? same || conn->confirmed :
				   same && !old->duplex && old->active == conn->active)
			ipoib_conn_note(old, IPOIB_CONN_IS_OLD);
	}
}

/**
 * ipoib_conn_settle - send on a connection that the peer has requested, if it is one for that
 * @conn: the connection, established; its port may have been compared just now
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_conn_settle(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;
	bool old = test_bit(IPOIB_CONN_IS_OLD, &conn->flags);

	ipoib_conn_compare(conn);
	/* For the peer the one that has taken its place meanwhile is the newer, too. */
	if (ipoib_conn_may_send(conn) && ipoib_cm_is_on(cm->priv) &&
	    !(old && rcu_access_pointer(peer->tx)) &&
	    !(peer->unverified && ipoib_peer_pauses(peer)))
		ipoib_conn_use(conn);
	else
		ipoib_peer_settle(cm, peer);
	if (!test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
		ipoib_conn_supersede(conn);
}
