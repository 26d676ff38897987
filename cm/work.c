// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the work of a connection, which owns its life.
 *
 * A connection is published first; its work then creates its QP and, on the active side, its CM
 * identifier. Events are bits of &ipoib_conn.flags, set in any context and handled by the work.
 * Once the connection is closed the work takes apart as much as was made; nothing else uses the
 * identifier. The connection counts, and holds its peer, until its last reference is dropped. The
 * work drops the first reference when
 *
 *  - no sender posts: senders that find the connection under RCU see its state;
 *  - ib_destroy_cm_id() has waited for callbacks, except for errors of sent messages, which get no
 *    reference any more;
 *  - the QP is in the error state and has returned its sends and receives, or had time for that;
 *  - all completions of receives have been handled and, if the QP has not returned everything, all
 *    completions of sends, too;
 *  - the QP is destroyed and raises no event any more.
 *
 * The memory is freed after a grace period.
 */
#include <linux/module.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* Watchdog of sends: longest time without a completion */
#define IPOIB_CM_STUCK		(3 * HZ)
/* Longest interval between checks, as cm_idle_seconds may be lowered */
#define IPOIB_CM_CHECK		(10 * HZ)
/*
 * UC detects no loss: close a connection after this time without a received frame; the shorter time
 * counts if the peer has failed before, see &ipoib_peer.failures.
 */
#define IPOIB_UC_SILENCE	(30 * HZ)
#define IPOIB_UC_SILENCE_AGAIN	(6 * HZ)
/* Longest wait for the end of timewait */
#define IPOIB_CM_DISCONNECTING	(2 * HZ)
/*
 * Time for the HCA to return all work requests: the first one while a caller waits for the end of
 * the connection, else the sum.
 */
#define IPOIB_CM_DRAIN		HZ
#define IPOIB_CM_DRAIN_MORE	(30 * HZ)

static unsigned int ipoib_cm_idle = 120;
module_param_named(cm_idle_seconds, ipoib_cm_idle, uint, 0644);
MODULE_PARM_DESC(cm_idle_seconds, "A connection not used for so long is closed");

/* ---- before it is established ---- */

/* Returns the time left for the setup, or 0. Long frames wait until &ipoib_peer.until only. */
static unsigned long ipoib_conn_check_pending(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	long left = conn->deadline - jiffies;
	long wait = peer->until - jiffies;

	lockdep_assert_held(&conn->cm->lock);
	if (left <= 0 && !conn->active &&
	    time_after(READ_ONCE(conn->used), conn->deadline - IPOIB_CM_LATE)) {
		/*
		 * Frames have come for a second, so the RTU was sent, and lost: the CM repeats the
		 * REP after the timeout in the peer's REQ. The connection receives only, until
		 * then.
		 */
		conn->duplex = false;
		ipoib_conn_set_state(conn, IPOIB_CONN_ESTABLISHED);
		ipoib_peer_select(conn->cm, peer);
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
	ipoib_peer_end_wait(conn->cm, peer, NULL);
	return left;
}

/* ---- established ---- */

/* Returns the idle time left. */
static long ipoib_conn_idle_left(const struct ipoib_conn *conn)
{
	/* Bounded, so that four times as many jiffies do not wrap. */
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
 * Returns the time left to the next signalled send. Without a signalled send the next post kicks
 * the work. Bottom halves off.
 */
static long ipoib_conn_send_left(struct ipoib_conn *conn)
{
	bool done;
	long left;

	spin_lock(&conn->tx_lock);
	done = !conn->ring.slots || ipoib_ring_passed(&conn->ring, conn->signalled);
	/* Pairs with ipoib_cm_tx_complete(): read @progress after the ring. */
	smp_rmb();
	left = READ_ONCE(conn->progress) + IPOIB_CM_STUCK - jiffies;
	if (done && left <= 0) {
		set_bit(IPOIB_CONN_IS_UNWATCHED, &conn->flags);
		left = IPOIB_CM_CHECK;
	}
	spin_unlock(&conn->tx_lock);
	return left;
}

/*
 * Whether a peer that frames are sent to has sent nothing for too long: sends on UC complete
 * whether they arrive or not. Received frames may come by another connection of the peer. Both
 * times have steps of a second.
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

/* Returns the time until the next check, or 0 if the connection was closed. */
static unsigned long ipoib_conn_check(struct ipoib_conn *conn)
{
	long idle = ipoib_conn_idle_left(conn);
	long send = ipoib_conn_send_left(conn);

	lockdep_assert_held(&conn->cm->lock);
	if (!conn->confirmed) {
		/*
		 * A path record read since then may confirm the port, and replace a dead
		 * connection.
		 */
		ipoib_conn_compare(conn);
		if (ipoib_conn_may_send(conn) && !test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
			ipoib_conn_activate(conn);
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

/* ---- events ---- */

/*
 * Handle events of a connection that is not closing, in the order of the protocol; close it after a
 * failure, a disconnect or a deadline. Returns the time until the next check, or 0.
 */
static unsigned long ipoib_conn_handle_events(struct ipoib_conn *conn)
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
		/* Established without an RTU: the CM's giving up does not matter. */
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

/* ---- teardown ---- */

/*
 * Send a DREQ. Keep a QP that has run until the CM leaves timewait, whichever message ended the
 * connection: its QPN must not be reused. Without an RTU there is no timewait, and the CM repeats
 * its REP until its identifier is destroyed.
 *
 * Reject a REQ without a REP, and a REP that is refused. Otherwise the destruction of the
 * identifier ends a pending REQ or REP: a REJ would leave the CM repeating it, and the destruction
 * would wait.
 */
static void ipoib_conn_step_closing(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ipoib_cm *cm = conn->cm;
	bool unready;
	int err = 0;

	/* __ipoib_conn_close() holds the lock until senders are shut out. */
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
 * Returns the time left for the HCA to return sends and receives. That takes a moment, except on
 * HCAs that raise IB_EVENT_QP_LAST_WQE_REACHED late.
 *
 * If the HCA has refused the last send, see ipoib_conn_send_last(), unsignalled sends that were
 * executed before the stop never complete; sends that were not are flushed.
 */
static unsigned long ipoib_conn_drain_left(struct ipoib_conn *conn)
{
	bool failed = READ_ONCE(conn->cm->srq_failed);
	/* An SRQ that has failed takes its receives along. */
	bool received = ipoib_cm_rx_returned(conn) || (!conn->bufs && failed);
	bool late = !received || !ipoib_ring_passed(&conn->ring, conn->signalled);
	unsigned int sends = ipoib_ring_used(&conn->ring);
	long left = conn->deadline - jiffies;

	/* An HCA that has failed flushes nothing any more. */
	if ((received && !sends) || test_bit(IPOIB_FLAG_DEAD, &conn->cm->priv->flags))
		return 0;
	if (test_bit(IPOIB_CONN_EV_ABORT, &conn->flags) || !late || failed)
		left -= IPOIB_CM_DRAIN_MORE;
	if (left > 0)
		return left;
	if (late && net_ratelimit())
		netdev_warn(conn->cm->priv->netdev,
			    "timing out; %u sends not completed on QP %u\n",
			    sends, conn->qp->qp_num);
	/* The QP may hold a receive, which is lost with it. */
	if (!received)
		ipoib_cm_rx_lost(conn);
	return 0;
}

/*
 * Destroy a QP that has not returned everything. It may complete until then, so both handlers are
 * disabled; the HCA removes the remaining completions from the CQs.
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

/* Returns the time until the next check, or 0 once it has dropped the first reference. */
static unsigned long ipoib_conn_step_draining(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;
	long left = conn->deadline - jiffies;

	if (conn->id) {
		if (left > 0 && !test_bit(IPOIB_CONN_EV_EXPIRED, &conn->flags) &&
		    !test_bit(IPOIB_CONN_EV_ABORT, &conn->flags))
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

/* Returns the time until the next check without an event, or 0. */
static unsigned long ipoib_conn_step(struct ipoib_conn *conn, enum ipoib_conn_state state)
{
	struct ipoib_cm *cm = conn->cm;
	long wait = 0;

	switch (state) {
	case IPOIB_CONN_PENDING:
		if (!conn->qp)
			wait = conn->active ? ipoib_conn_request(conn) : ipoib_conn_grant(conn);
		if (wait < 0) {
			spin_lock_bh(&cm->lock);
			__ipoib_conn_close(conn);
			spin_unlock_bh(&cm->lock);
		}
		return wait > 0 ? wait : ipoib_conn_handle_events(conn);
	case IPOIB_CONN_ESTABLISHED:
		return ipoib_conn_handle_events(conn);
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

/*
 * Create a connection, handle its events and deadlines, or take it apart. The work was queued with
 * a reference.
 * Context: process.
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
	/* A work that is queued already has a reference. */
	if (!wait || !queue_delayed_work(conn->cm->wq, &conn->work, wait))
		kref_put(&conn->ref, ipoib_conn_release);
}

/*
 * Take closing connections apart without waiting for the CM. The CM stops repeating DREQs. The HCA
 * has a second to return work requests.
 * Context: any but hard interrupt.
 */
void ipoib_cm_abort(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &cm->closing, list)
		ipoib_conn_note(conn, IPOIB_CONN_EV_ABORT);
	spin_unlock_bh(&cm->lock);
}

/*
 * Wait until all connections of an interface that is down are freed. A connection holds an entry of
 * the GID table of the port until its teardown is complete.
 * Context: process; RTNL may be held.
 */
void ipoib_cm_abort_wait(struct ipoib_dev *priv)
{
	struct ipoib_cm *cm = priv->cm;

	ipoib_cm_abort(cm);
	wait_event(cm->gone, !READ_ONCE(cm->nconns));
	/* The lock is held where the last connection is freed. */
	spin_lock_bh(&cm->lock);
	spin_unlock_bh(&cm->lock);
}
