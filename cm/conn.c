// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the work of a connection, which owns its life.
 *
 * A connection is published before it has anything, and its work makes what it needs: a QP,
 * and the identifier of a request. What happens to it is noted in &ipoib_conn.flags, in any
 * context, and treated by its work. When it has been closed the work takes it apart, however
 * much of it was made: only the work uses its identifier. It counts, and holds its peer, until
 * the last reference is dropped. The work drops the one of its life when
 *
 *  - no sender posts on it: those that find it under RCU see that it is shut;
 *  - ib_destroy_cm_id() has waited for the callbacks of its identifier, but for such as say
 *    that a message was sent in vain: these get no reference any more;
 *  - the QP is in the error state and has given back what it had, or had time for that;
 *  - both completion handlers have been through all that was in their CQs then;
 *  - the QP is destroyed: it has no event any more.
 *
 * Memory is freed after a grace period.
 */
#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* The longest wait for the CM to be done with a connection. */
#define IPOIB_CM_DISCONNECTING	(2 * HZ)
/*
 * How long the HCA may take to give all work requests back: the first while something waits
 * for the end of the connection, else both together.
 */
#define IPOIB_CM_DRAIN		HZ
#define IPOIB_CM_DRAIN_MORE	(30 * HZ)

/* ---- before it closes ---- */

/* Close it if that has been noted for which it is not used any more. */
static void ipoib_conn_treat_end(struct ipoib_conn *conn)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_cm *cm = conn->cm;
	unsigned long flags;

	spin_lock_bh(&cm->lock);
	flags = READ_ONCE(conn->flags);
	ipoib_conn_prove(conn);
	if (ipoib_conn_is_closing(conn))
		goto unlock;
	if (flags & IPOIB_CONN_IN_TIMEWAIT) {
		trace_ipoib_conn(priv->netdev, conn->peer->addr.gid,
				 flags & BIT(IPOIB_CONN_EV_LEFT) ? "left" : "ended", 0);
		__ipoib_conn_close(conn);
	} else if (flags & BIT(IPOIB_CONN_EV_UNREACHED)) {
		if (conn->active)
			ipoib_stat_add(priv, IPOIB_CM_REFUSED, 1);
		__ipoib_conn_close(conn);
	} else if (flags & BIT(IPOIB_CONN_EV_FAILED)) {
		ipoib_conn_close_for(conn, IPOIB_CLOSE_FAILED);
	}
unlock:
	spin_unlock_bh(&cm->lock);
}

/* What has happened to a connection that is not closing, in the order in which it may have. */
static void ipoib_conn_treat(struct ipoib_conn *conn)
{
	if (test_and_clear_bit(IPOIB_CONN_EV_REPLIED, &conn->flags))
		ipoib_conn_replied(conn);
	if (test_and_clear_bit(IPOIB_CONN_EV_READY, &conn->flags))
		ipoib_conn_accepted(conn);
	if (test_and_clear_bit(IPOIB_CONN_EV_REFUSED, &conn->flags))
		ipoib_conn_rejected(conn);
	ipoib_conn_treat_end(conn);
}

/* ---- the end ---- */

/*
 * Send a DREQ to the peer. Return whether the CM has the identifier in timewait, or will have:
 * until it has not the QPN must not be used again.
 *
 * A request of the peer that has no REP is refused, and so is a REP that is not taken any more.
 * Before a REP has come, and after it was sent, the destruction of the identifier ends it: a REJ
 * would leave the CM sending its REQ or REP, for which the destruction would wait.
 */
static bool ipoib_conn_disconnect(struct ipoib_conn *conn)
{
	if (!ib_send_cm_dreq(conn->id, NULL, 0) ||
	    READ_ONCE(conn->flags) & IPOIB_CONN_IN_TIMEWAIT ||
	    READ_ONCE(conn->reason) == IB_CM_REJ_STALE_CONN)
		return true;
	if (test_bit(IPOIB_CONN_EV_REPLIED, &conn->flags))
		ipoib_conn_reject(conn->id, conn->cm, IB_CM_REJ_CONSUMER_DEFINED);
	else if (!conn->active && !test_bit(IPOIB_CONN_IS_RUN, &conn->flags))
		ipoib_conn_reject(conn->id, conn->cm, IB_CM_REJ_NO_RESOURCES);
	return false;
}

static void ipoib_conn_step_closing(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	bool timewait;

	timewait = conn->id && ipoib_conn_disconnect(conn);
	if (conn->qp)
		ipoib_conn_qp_stop(conn);
	conn->deadline = jiffies + IPOIB_CM_DISCONNECTING;
	spin_lock_bh(&cm->lock);
	ipoib_conn_set_state(conn, timewait ? IPOIB_CONN_TIMEWAIT : IPOIB_CONN_DRAINING);
	spin_unlock_bh(&cm->lock);
}

/* Returns when to look again, or 0. */
static unsigned long ipoib_conn_step_timewait(struct ipoib_conn *conn)
{
	long left = conn->deadline - jiffies;

	if (left > 0 && !test_bit(IPOIB_CONN_EV_EXPIRED, &conn->flags) &&
	    !test_bit(IPOIB_CONN_EV_NOW, &conn->flags))
		return left;
	spin_lock_bh(&conn->cm->lock);
	ipoib_conn_set_state(conn, IPOIB_CONN_DRAINING);
	spin_unlock_bh(&conn->cm->lock);
	return 0;
}

static bool ipoib_conn_is_drained(struct ipoib_conn *conn)
{
	return (!conn->ring.slots || ipoib_ring_passed(&conn->ring, conn->signalled)) &&
	       ipoib_cm_rx_done(conn);
}

/*
 * The HCA has not given back what it had. A receive may be among that, and nothing
 * brings it back when the QP is gone.
 */
static void ipoib_conn_drain_timeout(struct ipoib_conn *conn)
{
	if (net_ratelimit())
		netdev_warn(conn->cm->priv->netdev,
			    "timing out; %u sends not completed on QP %u\n",
			    conn->ring.slots ?
			    ipoib_ring_used(&conn->ring) : 0,
			    conn->qp->qp_num);
	if (!ipoib_cm_rx_done(conn))
		ipoib_cm_rx_lost(conn);
}

/*
 * Returns how long the HCA may still take to give back what it had, which takes a moment at
 * most, but on HCAs that are slow to report that the last receive has been taken
 * (IB_EVENT_QP_LAST_WQE_REACHED).
 */
static unsigned long ipoib_conn_drain_left(struct ipoib_conn *conn)
{
	long left = conn->deadline - jiffies;

	if (ipoib_conn_is_drained(conn))
		return 0;
	/* What an HCA that has failed has not flushed it never will. */
	if (test_bit(IPOIB_FLAG_DEAD, &conn->cm->priv->flags))
		return 0;
	if (test_bit(IPOIB_CONN_EV_NOW, &conn->flags))
		left -= IPOIB_CM_DRAIN_MORE;
	if (left > 0)
		return left;
	ipoib_conn_drain_timeout(conn);
	return 0;
}

/* Returns when to look again, or 0. */
static unsigned long ipoib_conn_step_draining(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	unsigned long left;

	if (conn->id) {
		ipoib_conn_destroy_id(conn->id);
		conn->id = NULL;
		conn->deadline = jiffies + IPOIB_CM_DRAIN + IPOIB_CM_DRAIN_MORE;
	}
	if (conn->qp) {
		left = ipoib_conn_drain_left(conn);
		if (left)
			return left;
		set_bit(conn->cq, cm->tx_ready);
		ipoib_cm_poll_fence(&cm->tx_poll);
		ipoib_cm_poll_fence(&cm->rx_poll);
	}
	ipoib_conn_unmake(conn);
	spin_lock_bh(&cm->lock);
	ipoib_conn_set_state(conn, IPOIB_CONN_DEAD);
	spin_unlock_bh(&cm->lock);
	kref_put(&conn->ref, ipoib_conn_release);
	return 0;
}

/* ---- the work ---- */

/* Returns when to look again if nothing is noted before, or 0. */
static unsigned long ipoib_conn_step(struct ipoib_conn *conn, enum ipoib_conn_state state)
{
	long wait;

	switch (state) {
	case IPOIB_CONN_NEW:
	case IPOIB_CONN_DEAD:
		break;
	case IPOIB_CONN_CONNECTING:
		wait = conn->qp ? 0 : ipoib_conn_request(conn);
		if (wait)
			return wait;
		ipoib_conn_treat(conn);
		break;
	case IPOIB_CONN_ACCEPTING:
		if (!conn->qp)
			ipoib_conn_grant(conn);
		fallthrough;
	case IPOIB_CONN_ESTABLISHED:
		ipoib_conn_treat(conn);
		break;
	case IPOIB_CONN_CLOSING:
		ipoib_conn_step_closing(conn);
		break;
	case IPOIB_CONN_TIMEWAIT:
		return ipoib_conn_step_timewait(conn);
	case IPOIB_CONN_DRAINING:
		return ipoib_conn_step_draining(conn);
	}
	return 0;
}

/**
 * ipoib_conn_work - make a connection, treat what has been noted of it, or take it apart
 * @work: &ipoib_conn.work, queued with a reference
 *
 * Context: process
 */
void ipoib_conn_work(struct work_struct *work)
{
	struct ipoib_conn *conn = container_of(to_delayed_work(work), struct ipoib_conn, work);
	enum ipoib_conn_state state;
	unsigned long wait;

	do {
		state = READ_ONCE(conn->state);
		wait = ipoib_conn_step(conn, state);
	} while (READ_ONCE(conn->state) != state);
	/* If it is queued already, that has a reference of its own. */
	if (!wait || !queue_delayed_work(conn->cm->wq, &conn->work, wait))
		kref_put(&conn->ref, ipoib_conn_release);
}

/**
 * ipoib_cm_hurry - take apart what closes now without waiting for the CM
 * @cm: connected mode of the interface
 *
 * So the CM does not repeat its DREQs. The HCA has a second.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_cm_hurry(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry(conn, &cm->closing, list)
		ipoib_conn_note(conn, IPOIB_CONN_EV_NOW);
}

/**
 * ipoib_cm_wait_gone - wait until nothing is left of any connection
 * @cm: connected mode of the interface, down
 *
 * Context: process; RTNL may be held
 */
void ipoib_cm_wait_gone(struct ipoib_cm *cm)
{
	spin_lock_bh(&cm->lock);
	ipoib_cm_hurry(cm);
	spin_unlock_bh(&cm->lock);
	wait_event(cm->gone, !READ_ONCE(cm->nconns));
	/* The last one is released with the lock held. */
	spin_lock_bh(&cm->lock);
	spin_unlock_bh(&cm->lock);
}
