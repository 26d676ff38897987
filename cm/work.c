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
 *  - all that was in the CQ of receives then has been worked on, and if it has not given back
 *    all, what was in the CQ of sends, too;
 *  - the QP is destroyed: it has no event any more.
 *
 * Memory is freed after a grace period.
 */
#include <linux/module.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* A send that has not completed for so long: the connection is stuck. */
#define IPOIB_CM_STUCK		(3 * HZ)
/* How long a connection is left alone at most: cm_idle_seconds may change meanwhile. */
#define IPOIB_CM_CHECK		(10 * HZ)
/*
 * UC detects no loss: a connection on which nothing arrives for so long is closed, and
 * sooner if the peer has failed before, see &ipoib_peer.failures.
 */
#define IPOIB_UC_SILENCE	(30 * HZ)
#define IPOIB_UC_SILENCE_AGAIN	(6 * HZ)
/* The longest wait for the CM to be done with a connection. */
#define IPOIB_CM_DISCONNECTING	(2 * HZ)
/*
 * How long the HCA may take to give all work requests back: the first while something waits
 * for the end of the connection, else both together.
 */
#define IPOIB_CM_DRAIN		HZ
#define IPOIB_CM_DRAIN_MORE	(30 * HZ)

static unsigned int ipoib_cm_idle = 120;
module_param_named(cm_idle_seconds, ipoib_cm_idle, uint, 0644);
MODULE_PARM_DESC(cm_idle_seconds, "A connection not used for so long is closed");

/* ---- before it is established ---- */

/*
 * Returns how long it may take to become established, or 0 if that is over. Frames too long for
 * UD wait for it less long, see ipoib_peer_release().
 */
static unsigned long ipoib_conn_check_pending(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	long left = conn->deadline - jiffies;
	long wait = peer->until - jiffies;

	lockdep_assert_held(&conn->cm->lock);
	if (left <= 0 && !conn->active &&
	    time_after(READ_ONCE(conn->used), conn->deadline - IPOIB_CM_LATE)) {
		/*
		 * Frames have come for a second, so the peer has sent an RTU: it is lost, and
		 * the CM repeats the REP as late as the peer's REQ says. Until then the
		 * connection serves for one direction.
		 */
		conn->duplex = false;
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
		ipoib_peer_settle(conn->cm, peer);
		return 0;
	}
	if (left <= 0) {
		if (conn->active)
			ipoib_conn_close_for(conn, "unanswered", IPOIB_CM_REFUSED);
		else
			ipoib_conn_close_for(conn, "late", IPOIB_CM_ERRORS);
		return 0;
	}
	if (peer->state != IPOIB_PEER_CONNECTING)
		return left;
	if (wait > 0)
		return min(left, wait);
	ipoib_peer_release(conn->cm, peer, NULL);
	return left;
}

/* ---- while it is ---- */

/* Returns how long it may not be used, 0 or less if it was not for so long. */
static long ipoib_conn_idle_left(const struct ipoib_conn *conn)
{
	/* Four times as many jiffies are still a time to come. */
	unsigned long idle = min_t(unsigned long, READ_ONCE(ipoib_cm_idle),
				   MAX_JIFFY_OFFSET / HZ / 4) * HZ;

	/* The active side closes idle connections; the passive side waits longer. */
	if (!conn->active)
		idle *= 4;
	if (test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
		idle = IPOIB_CM_UNUSED;
	/* @used has a resolution of a second. */
	return READ_ONCE(conn->used) + idle + HZ - jiffies;
}

/*
 * Returns how long the send that is to complete next may take, 0 or less if it is stuck. If
 * nothing was sent for so long, the next send has the work run.
 */
static long ipoib_conn_send_left(struct ipoib_conn *conn)
{
	bool done;
	long left;

	spin_lock(&conn->tx_lock);
	done = !conn->ring.slots || ipoib_ring_passed(&conn->ring, conn->signalled);
	/*
	 * Pairs with ipoib_cm_tx_complete(): the time is not of before what was seen of the
	 * ring.
	 */
	smp_rmb();
	left = READ_ONCE(conn->progress) + IPOIB_CM_STUCK - jiffies;
	if (done && left <= 0) {
		set_bit(IPOIB_CONN_IS_LAZY, &conn->flags);
		left = IPOIB_CM_CHECK;
	}
	spin_unlock(&conn->tx_lock);
	return left;
}

/*
 * Whether nothing comes from a peer that has been sent to for a while: sends on UC complete
 * wherever they go. With a connection for each direction it comes by the other one. Both times
 * are those of the last frame with a resolution of a second.
 */
static bool ipoib_conn_is_silent(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	unsigned long last_rx = READ_ONCE(peer->last_rx);

	if (conn->transport != IPOIB_LLADDR_UC)
		return false;
	if (!READ_ONCE(conn->ring.head) ||
	    time_before_eq(READ_ONCE(conn->progress), last_rx + 2 * HZ))
		conn->asked_at = jiffies;
	else if (time_in_range(last_rx, conn->asked_at, jiffies))
		conn->asked_at = last_rx;
	return time_after(jiffies, conn->asked_at + (peer->failures ? IPOIB_UC_SILENCE_AGAIN :
								      IPOIB_UC_SILENCE));
}

/* Returns when to look again if it may stay, or 0. */
static unsigned long ipoib_conn_check(struct ipoib_conn *conn)
{
	long idle = ipoib_conn_idle_left(conn);
	long send = ipoib_conn_send_left(conn);

	lockdep_assert_held(&conn->cm->lock);
	if (!conn->confirmed) {
		/*
		 * The path record may have been read since the connection was made: it may be
		 * the one to send on, in place of one whose other end is gone.
		 */
		ipoib_conn_compare(conn);
		if (ipoib_conn_may_send(conn) && !test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
			ipoib_conn_settle(conn);
	}
	if (send <= 0 || ipoib_conn_is_silent(conn)) {
		set_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
		ipoib_conn_close_for(conn, send <= 0 ? "stuck" : "silent", IPOIB_CM_ERRORS);
		return 0;
	}
	if (idle <= 0) {
		ipoib_conn_close_for(conn, "idle", IPOIB_CM_REAPED);
		return 0;
	}
	return min(idle, send);
}

/* ---- what has happened to it ---- */

/*
 * What has happened to a connection that is not closing, in the order in which it may have. Close
 * it if that has been noted for which it is not used any more, or if its time is over. Returns
 * when to look again if nothing is noted before, or 0.
 */
static unsigned long ipoib_conn_treat(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_dev *priv = cm->priv;
	unsigned long flags, wait = 0;

	if (READ_ONCE(conn->state) == IPOIB_CONN_PENDING &&
	    test_bit_acquire(IPOIB_CONN_EV_REPLIED, &conn->flags))
		ipoib_conn_replied(conn);
	if (test_and_clear_bit(IPOIB_CONN_EV_READY, &conn->flags))
		ipoib_conn_accepted(conn);
	if (test_and_clear_bit(IPOIB_CONN_EV_REFUSED, &conn->flags))
		ipoib_conn_rejected(conn);
	spin_lock_bh(&cm->lock);
	flags = READ_ONCE(conn->flags);
	ipoib_conn_prove(conn);
	if (ipoib_conn_is_closing(conn))
		goto unlock;
	if (flags & IPOIB_CONN_IN_TIMEWAIT) {
		trace_ipoib_conn(priv->netdev, conn->peer->addr.gid,
				 flags & BIT(IPOIB_CONN_EV_LEFT) ? "left" : "ended", 0);
		__ipoib_conn_close(conn);
	} else if (flags & BIT(IPOIB_CONN_EV_UNREACHED) && conn->state != IPOIB_CONN_ESTABLISHED) {
		/* Established without an RTU it serves on when the CM has given up on that. */
		if (conn->active)
			ipoib_stat_add(priv, IPOIB_CM_REFUSED, 1);
		__ipoib_conn_close(conn);
	} else if (flags & BIT(IPOIB_CONN_EV_FAILED)) {
		ipoib_conn_close_for(conn, "failed", IPOIB_CM_ERRORS);
	} else {
		wait = conn->state == IPOIB_CONN_ESTABLISHED ? ipoib_conn_check(conn) :
							       ipoib_conn_check_pending(conn);
	}
unlock:
	spin_unlock_bh(&cm->lock);
	return wait;
}

/* ---- the end ---- */

/*
 * Send a DREQ to the peer. Keep a QP that has run until the CM leaves timewait, whichever message
 * ended the connection: its QPN must not be reused. Without an RTU there is no timewait, and the CM
 * repeats its REP until its identifier is destroyed.
 *
 * A request of the peer that has no REP is refused, and so is a REP that is not taken any more.
 * Before a REP has come, and after it was sent, the destruction of the identifier ends it: a REJ
 * would leave the CM sending its REQ or REP, for which the destruction would wait.
 */
static void ipoib_conn_step_closing(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ipoib_cm *cm = conn->cm;
	bool unready;
	int err = 0;

	/* What closes it holds the lock until nothing is sent. */
	spin_lock_bh(&cm->lock);
	ipoib_conn_set_state(conn, IPOIB_CONN_DRAINING);
	spin_unlock_bh(&cm->lock);
	if (conn->id)
		err = ib_send_cm_dreq(conn->id, NULL, 0);
	unready = !conn->active && err == -EINVAL && !READ_ONCE(conn->reason) &&
		  !(READ_ONCE(conn->flags) & IPOIB_CONN_IN_TIMEWAIT);
	conn->deadline = jiffies;
	if (test_bit(IPOIB_CONN_IS_RUN, &conn->flags) && !unready)
		conn->deadline += IPOIB_CM_DISCONNECTING;
	if (err) {
		if (test_bit(IPOIB_CONN_EV_REPLIED, &conn->flags))
			ipoib_conn_reject(conn->id, cm, IB_CM_REJ_CONSUMER_DEFINED);
		else if (!conn->active && !test_bit(IPOIB_CONN_IS_RUN, &conn->flags))
			ipoib_conn_reject(conn->id, cm, IB_CM_REJ_NO_RESOURCES);
	}
	if (conn->qp && !ib_modify_qp(conn->qp, &attr, IB_QP_STATE))
		ipoib_conn_send_last(conn);
	else if (conn->qp)
		netdev_dbg(cm->priv->netdev, "cannot stop QP %u\n", conn->qp->qp_num);
}

/*
 * Returns how long the HCA may still take to give back what it had, which takes a moment at
 * most, but on HCAs that are slow to report that the last receive has been taken
 * (IB_EVENT_QP_LAST_WQE_REACHED).
 *
 * If it has refused the last send, see ipoib_conn_send_last(), sends without a signal are left.
 * Those that it had not sent when the QP was stopped complete all the same; the others do not.
 */
static unsigned long ipoib_conn_drain_left(struct ipoib_conn *conn)
{
	bool received = ipoib_cm_rx_done(conn);
	bool late = !received || !ipoib_ring_passed(&conn->ring, conn->signalled);
	unsigned int sends = ipoib_ring_used(&conn->ring);
	long left = conn->deadline - jiffies;

	/* What an HCA that has failed has not flushed it never will. */
	if ((received && !sends) || test_bit(IPOIB_FLAG_DEAD, &conn->cm->priv->flags))
		return 0;
	if (test_bit(IPOIB_CONN_EV_NOW, &conn->flags) || !late ||
	    ipoib_cm_srq_has_failed(conn->cm))
		left -= IPOIB_CM_DRAIN_MORE;
	if (left > 0)
		return left;
	if (late && net_ratelimit())
		netdev_warn(conn->cm->priv->netdev,
			    "timing out; %u sends not completed on QP %u\n",
			    sends, conn->qp->qp_num);
	/* One may be among what it has, and nothing brings it back when the QP is gone. */
	if (!received)
		ipoib_cm_rx_lost(conn);
	return 0;
}

/*
 * Destroy a QP that has not given back all that it had. It may complete until then, and what no
 * handler has in hand the HCA takes out of the CQs with it.
 */
static void ipoib_conn_destroy_late(struct ipoib_conn *conn)
{
	struct napi_struct *rx_napi = &conn->rxq->napi;
	struct ipoib_cm *cm = conn->cm;

	mutex_lock(&cm->mutex);
	napi_disable(&cm->tx_napi);
	napi_disable(rx_napi);
	ipoib_cm_tx_flush(conn);
	ib_destroy_qp(conn->qp);
	conn->qp = NULL;
	napi_enable(rx_napi);
	napi_enable(&cm->tx_napi);
	mutex_unlock(&cm->mutex);
	ipoib_ud_schedule(rx_napi);
	ipoib_ud_schedule(&cm->tx_napi);
}

/* Returns when to look again, or 0. */
static unsigned long ipoib_conn_step_draining(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	long left = conn->deadline - jiffies;

	if (conn->id) {
		if (left > 0 && !test_bit(IPOIB_CONN_EV_EXPIRED, &conn->flags) &&
		    !test_bit(IPOIB_CONN_EV_NOW, &conn->flags))
			return left;
		ib_destroy_cm_id(conn->id);
		conn->id = NULL;
		conn->deadline = jiffies + IPOIB_CM_DRAIN + IPOIB_CM_DRAIN_MORE;
	}
	if (conn->qp) {
		left = ipoib_conn_drain_left(conn);
		if (left)
			return left;
		ipoib_cm_rx_fence(conn->rxq);
		if (ipoib_ring_used(&conn->ring) || !ipoib_cm_rx_returned(conn))
			ipoib_conn_destroy_late(conn);
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
	long wait = 0;

	switch (state) {
	case IPOIB_CONN_PENDING:
		if (!conn->qp)
			wait = conn->active ? ipoib_conn_request(conn) : ipoib_conn_grant(conn);
		if (wait < 0)
			ipoib_conn_close(conn);
		return wait > 0 ? wait : ipoib_conn_treat(conn);
	case IPOIB_CONN_ESTABLISHED:
		return ipoib_conn_treat(conn);
	case IPOIB_CONN_CLOSING:
		ipoib_conn_step_closing(conn);
		break;
	case IPOIB_CONN_DRAINING:
		return ipoib_conn_step_draining(conn);
	case IPOIB_CONN_DEAD:
		break;
	}
	return 0;
}

/**
 * ipoib_conn_work - make a connection, treat what has been noted of it and how long it takes,
 * or take it apart
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
 * Context: any but hard interrupt
 */
void ipoib_cm_hurry(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &cm->closing, list)
		ipoib_conn_note(conn, IPOIB_CONN_EV_NOW);
	spin_unlock_bh(&cm->lock);
}

/**
 * ipoib_cm_let_go - wait until nothing is left of any connection
 * @priv: the interface, down
 *
 * A connection holds its entry of the port's GID table for as long as it takes
 * to take it apart.
 *
 * Context: process; RTNL may be held
 */
void ipoib_cm_let_go(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	ipoib_cm_hurry(cm);
	wait_event(cm->gone, !READ_ONCE(cm->nconns));
	/* The last one is released with the lock held. */
	spin_lock_bh(&cm->lock);
	spin_unlock_bh(&cm->lock);
}
