// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: the work of a connection, and the end of it.
 *
 * What happens to a connection is noted in &ipoib_conn.flags, in any context, and treated by
 * its work: so only that and who makes it use its identifier until it closes. After __ipoib_conn_close() two works, without RTNL, send a DREQ for a connection and take
 * it apart. Nothing else frees connections, so whoever holds a pointer need only be known to
 * them: senders by RCU, the completion handlers by their fence, callbacks of the CM by
 * ib_destroy_cm_id().
 */
#include <linux/async.h>
#include <linux/delay.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* The longest wait for the CM to be done with a connection. */
#define IPOIB_CM_DISCONNECTING	(2 * HZ)
/*
 * The longest wait for the HCA to give all work requests back while nothing else can be
 * done, and how long it may take at all.
 */
#define IPOIB_CM_DRAIN		HZ
#define IPOIB_CM_DRAIN_MAX	(30 * HZ)

/* ---- the work ---- */

/* Close it if that has been noted for which it is not used any more. */
static void ipoib_conn_treat_end(struct ipoib_conn *conn)
{
	struct ipoib_dev *priv = conn->cm->priv;
	struct ipoib_cm *cm = conn->cm;
	unsigned long flags;

	spin_lock_bh(&cm->lock);
	flags = READ_ONCE(conn->flags);
	ipoib_conn_prove(conn);
	if (conn->state == IPOIB_CONN_CLOSING)
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
	/* Data is as good as an RTU, which may have been lost. */
	if (test_and_clear_bit(IPOIB_CONN_EV_DATA, &conn->flags) &&
	    READ_ONCE(conn->state) == IPOIB_CONN_ACCEPTING)
		ib_cm_notify(conn->id, IB_EVENT_COMM_EST);
	if (test_and_clear_bit(IPOIB_CONN_EV_READY, &conn->flags))
		ipoib_conn_accepted(conn);
	if (test_and_clear_bit(IPOIB_CONN_EV_REFUSED, &conn->flags))
		ipoib_conn_rejected(conn);
	ipoib_conn_treat_end(conn);
}

/**
 * ipoib_conn_work - treat what has been noted of a connection
 * @work: &ipoib_conn.work
 *
 * Context: process
 */
void ipoib_conn_work(struct work_struct *work)
{
	struct ipoib_conn *conn = container_of(to_delayed_work(work), struct ipoib_conn, work);
	struct ipoib_cm *cm = conn->cm;

	if (READ_ONCE(conn->state) != IPOIB_CONN_CLOSING)
		ipoib_conn_treat(conn);
	else if (test_bit(IPOIB_CONN_EV_EXPIRED, &conn->flags))
		mod_delayed_work(cm->wq, &cm->reap_work, 0);
	kref_put(&conn->ref, ipoib_conn_release);
}

/* ---- the reaper ---- */

/* Send a DREQ to the peer, and stop the QP. */
static void ipoib_conn_disconnect(struct ipoib_conn *conn)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	/* The next run finds that it is closing, and leaves the identifier alone. */
	flush_delayed_work(&conn->work);
	/* One that has been closed is not used: its peer gets no RTU. */
	if (test_bit(IPOIB_CONN_EV_REPLIED, &conn->flags))
		ipoib_conn_reject(conn->id, conn->cm, IB_CM_REJ_CONSUMER_DEFINED);
	/* An identifier that was established goes to timewait. */
	if (ib_send_cm_dreq(conn->id, NULL, 0) &&
	    !(READ_ONCE(conn->flags) & IPOIB_CONN_IN_TIMEWAIT) &&
	    READ_ONCE(conn->reason) != IB_CM_REJ_STALE_CONN)
		set_bit(IPOIB_CONN_EV_EXPIRED, &conn->flags);
	if (ib_modify_qp(conn->qp, &attr, IB_QP_STATE))
		netdev_dbg(conn->cm->priv->netdev, "cannot stop QP %u\n",
			   conn->qp->qp_num);
	else
		ipoib_conn_send_last(conn);
}

static struct ipoib_conn *ipoib_cm_reap_next_closing(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *found = NULL;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &cm->closing, list) {
		if (!test_bit(IPOIB_CONN_IS_MADE, &conn->flags))
			continue;
		list_del_init(&conn->list);
		found = conn;
		break;
	}
	spin_unlock_bh(&cm->lock);
	return found;
}

/*
 * First step: send the DREQ and stop the QP. This is done soon, because the peer may be
 * asked for another connection at once.
 */
static void ipoib_cm_reap_disconnect_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(work, struct ipoib_cm_disconnect,
					   work)->cm;
	struct ipoib_conn *conn;

	while ((conn = ipoib_cm_reap_next_closing(cm))) {
		conn->die_at = jiffies + IPOIB_CM_DISCONNECTING;
		ipoib_conn_disconnect(conn);
		spin_lock_bh(&cm->lock);
		list_add_tail(&conn->list, &cm->dead);
		ipoib_conn_disconnected(conn);
		spin_unlock_bh(&cm->lock);
		cond_resched();
	}
	mod_delayed_work(cm->wq, &cm->reap_work, 0);
}

static bool ipoib_conn_may_die(const struct ipoib_conn *conn)
{
	return test_bit(IPOIB_CONN_EV_EXPIRED, &conn->flags) || READ_ONCE(conn->cm->hurry) ||
	       !time_after(conn->die_at, READ_ONCE(conn->cm->unbound)) ||
	       time_after(jiffies, conn->die_at);
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
 * The HCA gives back what it had, which takes a moment at most. HCAs that are slow to
 * tell that the last receive has been taken (IB_EVENT_QP_LAST_WQE_REACHED) have more
 * time, but the others are not kept waiting any longer: those go back to @undrained.
 */
static void ipoib_cm_reap_drain(struct ipoib_cm *cm, struct list_head *dying,
				struct list_head *undrained)
{
	struct ipoib_conn *conn, *tmp;

	/* What an HCA that has failed has not flushed it never will. */
	if (test_bit(IPOIB_FLAG_DEAD, &cm->priv->flags))
		return;
	list_for_each_entry_safe(conn, tmp, dying, list) {
		while (!ipoib_conn_is_drained(conn) &&
		       time_before(jiffies, conn->drain_by))
			usleep_range(100, 200);
		if (ipoib_conn_is_drained(conn))
			continue;
		if (!READ_ONCE(cm->hurry) &&
		    time_before(jiffies, conn->drain_by + IPOIB_CM_DRAIN_MAX))
			list_move_tail(&conn->list, undrained);
		else
			ipoib_conn_drain_timeout(conn);
	}
}

static void ipoib_cm_reap_free(void *conn, async_cookie_t cookie)
{
	ipoib_conn_free(conn);
}

/*
 * HCAs take their time to destroy a QP (rdmavt waits for RCU), and thousands may end
 * at once. So that happens side by side.
 */
static void ipoib_cm_reap_free_all(struct list_head *dying)
{
	ASYNC_DOMAIN_EXCLUSIVE(freeing);
	struct ipoib_conn *conn, *tmp;

	list_for_each_entry_safe(conn, tmp, dying, list)
		async_schedule_domain(ipoib_cm_reap_free, conn, &freeing);
	async_synchronize_full_domain(&freeing);
}

/* The CM is done with a connection, or has been. */
static void ipoib_conn_end_id(struct ipoib_conn *conn)
{
	if (!conn->id)
		return;
	ipoib_conn_destroy_id(conn->id);
	conn->id = NULL;
	conn->drain_by = jiffies + IPOIB_CM_DRAIN;
}

/* Second step, when the CM is done with them. What is not drained stays. */
static void ipoib_cm_reap_end(struct ipoib_cm *cm, struct list_head *dying,
			      struct list_head *undrained)
{
	struct ipoib_conn *conn;

	if (list_empty(dying))
		return;
	/* No sender that had found one holds it after this. */
	synchronize_net();
	/* No callback of the CM runs after this. */
	list_for_each_entry(conn, dying, list)
		ipoib_conn_end_id(conn);
	ipoib_cm_reap_drain(cm, dying, undrained);
	/* Nor do the completion handlers use them after this. */
	list_for_each_entry(conn, dying, list)
		set_bit(conn->cq, cm->tx_ready);
	ipoib_cm_poll_fence(&cm->tx_poll);
	ipoib_cm_poll_fence(&cm->rx_poll);
	ipoib_cm_reap_free_all(dying);
}

/* Until the CM is done with a connection its QPN must not be used again. */
static void ipoib_cm_reap_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, reap_work);
	struct ipoib_conn *conn, *tmp;
	LIST_HEAD(dying);
	LIST_HEAD(dead);

	spin_lock_bh(&cm->lock);
	list_splice_init(&cm->dead, &dead);
	spin_unlock_bh(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &dead, list)
		if (ipoib_conn_may_die(conn))
			list_move_tail(&conn->list, &dying);
	ipoib_cm_reap_end(cm, &dying, &dead);
	if (list_empty(&dead))
		return;
	spin_lock_bh(&cm->lock);
	list_splice(&dead, &cm->dead);
	spin_unlock_bh(&cm->lock);
	queue_delayed_work(cm->wq, &cm->reap_work, HZ / 10);
}

static void ipoib_cm_reap_flush_disconnects(struct ipoib_cm *cm)
{
	unsigned int i;

	for (i = 0; i < IPOIB_CM_DISCONNECTS; i++)
		flush_work(&cm->disconnect[i].work);
}

static bool ipoib_cm_reap_is_empty(struct ipoib_cm *cm)
{
	bool empty;

	spin_lock_bh(&cm->lock);
	empty = !cm->nconns;
	spin_unlock_bh(&cm->lock);
	return empty;
}

/**
 * ipoib_cm_reap_all - wait until nothing is left of any connection
 * @cm: connected mode of the interface, down
 *
 * That is without the time that the CM waits for who does not answer.
 *
 * Context: process; RTNL may be held
 */
void ipoib_cm_reap_all(struct ipoib_cm *cm)
{
	WRITE_ONCE(cm->hurry, true);
	while (!ipoib_cm_reap_is_empty(cm)) {
		ipoib_cm_reap_flush_disconnects(cm);
		mod_delayed_work(cm->wq, &cm->reap_work, 0);
		flush_delayed_work(&cm->reap_work);
	}
	WRITE_ONCE(cm->hurry, false);
}

/**
 * ipoib_cm_reap_unbind - take apart what closes now without waiting for the CM
 * @cm: connected mode of the interface
 *
 * So the CM does not repeat its DREQs.
 *
 * Context: &ipoib_cm.lock held
 */
void ipoib_cm_reap_unbind(struct ipoib_cm *cm)
{
	lockdep_assert_held(&cm->lock);
	WRITE_ONCE(cm->unbound, jiffies + IPOIB_CM_DISCONNECTING);
	mod_delayed_work(cm->wq, &cm->reap_work, 0);
}

/* ---- interface comes and goes ---- */

/**
 * ipoib_cm_reap_init - prepare for the end of connections
 * @cm: connected mode of the interface
 */
void ipoib_cm_reap_init(struct ipoib_cm *cm)
{
	unsigned int i;

	cm->unbound = jiffies;
	INIT_LIST_HEAD(&cm->closing);
	INIT_LIST_HEAD(&cm->dead);
	INIT_DELAYED_WORK(&cm->reap_work, ipoib_cm_reap_work);
	for (i = 0; i < IPOIB_CM_DISCONNECTS; i++) {
		cm->disconnect[i].cm = cm;
		INIT_WORK(&cm->disconnect[i].work, ipoib_cm_reap_disconnect_work);
	}
}

/**
 * ipoib_cm_reap_exit - end what is left, and ageing
 * @cm: connected mode of the interface, down for good
 *
 * Context: process; RTNL may be held
 */
void ipoib_cm_reap_exit(struct ipoib_cm *cm)
{
	WRITE_ONCE(cm->leaving, true);
	ipoib_cm_reap_all(cm);
	cancel_delayed_work_sync(&cm->age_work);
	ipoib_cm_reap_flush_disconnects(cm);
	cancel_delayed_work_sync(&cm->reap_work);
}
