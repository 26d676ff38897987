// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: a connection, from its allocation to its release.
 *
 * ipoib_conn_publish() puts a connection into &ipoib_cm.conns, __ipoib_conn_close() takes it out,
 * in any context but a hard interrupt. Its work (work.c) makes the QP and takes it apart.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* Delay between the release of the last connection and the release of &ipoib_cm.rx */
#define IPOIB_CM_RELEASE	(10 * HZ)

/* ---- making and freeing ---- */

/*
 * Allocate a connection of RC.
 * Context: as @gfp allows. Return: the connection, which the caller may kfree() until
 * ipoib_conn_publish(), or NULL.
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

/*
 * Change the state of a connection, and the counts and lists that follow from it. A wrong
 * transition is warned of.
 * Context: &ipoib_cm.lock held.
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

/*
 * Add a connection, whose port ipoib_cm_admit() has accepted, to the interface, and queue its work.
 * The connection counts, and holds @peer, until ipoib_conn_release(). Its place in the counts of
 * pending connections (@npending) ends with IPOIB_CONN_PENDING.
 * Context: &ipoib_cm.lock held since ipoib_cm_admit().
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

/*
 * Free a connection, whose last reference has gone. It counts until here: waiters may go on now.
 * Context: any but hard interrupt.
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
		/* Checked after the delayed queueing: a later failure finds the work queued. */
		if (READ_ONCE(cm->srq_failed))
			mod_delayed_work(system_unbound_wq, &cm->rx_work, 0);
		wake_up(&cm->gone);
	}
	spin_unlock_bh(&cm->lock);
	/* Senders, and error callbacks of the CM, may still read it under RCU. */
	kfree_rcu(conn, rcu);
}

/* ---- closing ---- */

/*
 * Unpublish a published connection and have its work take it apart; closing already is no error. No
 * sender finds it from now on. Its backlog is sent again, by another way. It leaves the lists of
 * interface and peer, and exists, with its peer, until the release of the lock at least.
 * Context: &ipoib_cm.lock held.
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

/*
 * As __ipoib_conn_close(), only before IPOIB_CONN_CLOSING; trace @why and count @stat.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_conn_close_for(struct ipoib_conn *conn, const char *why, enum ipoib_stat stat)
{
	struct ipoib_dev *priv = conn->cm->priv;

	trace_ipoib_conn(priv->netdev, conn->peer->addr.gid, why, 0);
	ipoib_stat_add(priv, stat, 1);
	__ipoib_conn_close(conn);
}

/* ---- several connections of a peer ---- */

/*
 * Mark the connections that a new, established connection replaces. If it is bidirectional, it
 * replaces older ones if the peer is confirmed at its port, or if the ports are equal. A one-way
 * connection replaces connections of equal port and direction.
 * RFC 4755 allows a second connection (C14), and a peer may use one for IPv4 and one for IPv6: a
 * replaced connection ends only after IPOIB_CM_UNUSED without a frame. So do the connections of a
 * peer before its reboot.
 * A REQ is no reason to replace anything: a user of the peer's host can forge it, and without a
 * path record any host can. The private data of the RTU comes from the peer's driver.
 * Context: &ipoib_cm.lock held.
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

/*
 * Send on an established passive connection if it is usable; its port is compared once more.
 * Context: &ipoib_cm.lock held.
 */
void ipoib_conn_activate(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	struct ipoib_cm *cm = conn->cm;
	bool old = test_bit(IPOIB_CONN_IS_OLD, &conn->flags);

	ipoib_conn_compare(conn);
	/* A replaced connection is older for the peer, too. */
	if (ipoib_conn_may_send(conn) && ipoib_cm_is_on(cm->priv) &&
	    !(old && rcu_access_pointer(peer->tx)) &&
	    !(peer->unverified && ipoib_peer_pauses(peer)))
		ipoib_conn_use(conn);
	else
		ipoib_peer_select(cm, peer);
	if (!test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
		ipoib_conn_supersede(conn);
}
