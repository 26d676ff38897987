// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: which connections have to go.
 *
 * They are not used, stuck or silent.
 */
#include <linux/module.h>

#include "ipoib.h"
#include "ipoib_trace.h"
#include "cm/cm.h"

/* How often connections are checked. */
#define IPOIB_CM_AGE		(2 * HZ)
/* A send that has not completed for so long: the connection is stuck. */
#define IPOIB_CM_STUCK		(3 * HZ)
/*
 * UC detects no loss: a connection on which nothing arrives for so long is replaced, and
 * sooner if nothing arrived on the one before it either.
 */
#define IPOIB_UC_SILENCE	(30 * HZ)
#define IPOIB_UC_SILENCE_AGAIN	(6 * HZ)
/* What connections share is given back after so long without any. */
#define IPOIB_CM_RELEASE	(10 * HZ)

static unsigned int ipoib_cm_idle = 120;
module_param_named(cm_idle_seconds, ipoib_cm_idle, uint, 0644);
MODULE_PARM_DESC(cm_idle_seconds,
		 "A connection not used for so long is closed");

/**
 * ipoib_cm_reap_peer - a neighbour is no more: close what nobody uses (C20)
 * @cm: connected mode of the interface
 * @addr: its link-layer address, flags zero
 *
 * What is in use stays: several IP addresses may have one link-layer address (C5).
 *
 * Context: RCU read side
 */
void ipoib_cm_reap_peer(struct ipoib_cm *cm, const struct ipoib_lladdr *addr)
{
	struct ipoib_conn *conn, *tmp;
	struct ipoib_peer *peer;

	spin_lock_bh(&cm->lock);
	peer = ipoib_peer_find(cm, addr);
	if (!peer)
		goto unlock;
	list_for_each_entry_safe(conn, tmp, &peer->conns, peer_list)
		if (ipoib_conn_is_evictable(conn))
			ipoib_conn_close_for(conn, IPOIB_CLOSE_IDLE);
unlock:
	spin_unlock_bh(&cm->lock);
}

/* ---- ageing ---- */

static bool ipoib_conn_is_idle(const struct ipoib_conn *conn)
{
	/* Four times as many jiffies are still a time to come. */
	unsigned long idle = min_t(unsigned long, READ_ONCE(ipoib_cm_idle),
				   MAX_JIFFY_OFFSET / HZ / 4);

	if (test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
		return ipoib_conn_is_evictable(conn);
	/* The one who asked decides, if he is there to. */
	if (!conn->active)
		idle *= 4;
	return time_after(jiffies, READ_ONCE(conn->used) + idle * HZ);
}

static bool ipoib_conn_is_stuck(const struct ipoib_conn *conn)
{
	u32 signalled = READ_ONCE(conn->signalled);

	if (!conn->ring.slots || ipoib_ring_passed(&conn->ring, signalled))
		return false;
	/*
	 * Pairs with ipoib_conn_post() and ipoib_ring_complete(): the time is not
	 * of before what was seen of the ring.
	 */
	smp_rmb();
	return time_after(jiffies, READ_ONCE(conn->progress) + IPOIB_CM_STUCK);
}

/*
 * Note whether something has come since the last check, or nothing been sent. With a
 * connection for each direction it comes by the other one.
 */
static bool ipoib_conn_note_answer(struct ipoib_conn *conn)
{
	u32 head = READ_ONCE(conn->ring.head);
	struct ipoib_peer *peer = conn->peer;
	unsigned long last_rx = READ_ONCE(peer->last_rx);

	if (last_rx != conn->aged_rx) {
		conn->aged_rx = last_rx;
		conn->aged_head = head;
		peer->silent = false;
	}
	return head == conn->aged_head;
}

/*
 * Nothing comes from a peer that we send to: is it there? UC would not tell. Once that
 * may be what a flow is like, or a peer that has lost its end. If nothing comes with
 * the next connection either, the connection is taken as unverified.
 */
static bool ipoib_conn_check_silence(struct ipoib_conn *conn)
{
	struct ipoib_peer *peer = conn->peer;
	unsigned long limit;

	if (conn->transport != IPOIB_TRANSPORT_UC || !conn->ring.slots)
		return false;
	if (ipoib_conn_note_answer(conn))
		conn->asked_at = jiffies;
	limit = peer->silent ? IPOIB_UC_SILENCE_AGAIN : IPOIB_UC_SILENCE;
	if (time_before_eq(jiffies, conn->asked_at + limit))
		return false;
	if (peer->silent)
		set_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
	peer->silent = true;
	return true;
}

/* Of one that is being made. */
static enum ipoib_close_reason ipoib_conn_late(const struct ipoib_conn *conn)
{
	if (time_before_eq(jiffies, READ_ONCE(conn->deadline)))
		return IPOIB_CLOSE_NONE;
	return conn->state == IPOIB_CONN_CONNECTING ? IPOIB_CLOSE_UNANSWERED :
						      IPOIB_CLOSE_LATE;
}

static enum ipoib_close_reason
ipoib_conn_check_timeouts(struct ipoib_conn *conn)
{
	if (conn->state != IPOIB_CONN_ESTABLISHED)
		return ipoib_conn_late(conn);
	if (ipoib_conn_is_stuck(conn)) {
		set_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
		return IPOIB_CLOSE_STUCK;
	}
	if (ipoib_conn_check_silence(conn))
		return IPOIB_CLOSE_SILENT;
	return ipoib_conn_is_idle(conn) ? IPOIB_CLOSE_IDLE : IPOIB_CLOSE_NONE;
}

/* Keep the list of the share in order of use, which is that of eviction. */
static void ipoib_conn_note_use(struct ipoib_conn *conn)
{
	unsigned long used = READ_ONCE(conn->used);

	if (conn->state == IPOIB_CONN_ESTABLISHED && conn->aged != used)
		list_move_tail(&conn->share_list,
			       &ipoib_cm_share(conn->cm, conn->node)->conns);
	conn->aged = used;
}

/*
 * The path record has been read since the connection was made: it may be the one to send on,
 * in place of one whose other end is gone.
 */
static void ipoib_conn_compare_again(struct ipoib_conn *conn)
{
	if (conn->state != IPOIB_CONN_ESTABLISHED || conn->confirmed)
		return;
	ipoib_conn_compare(conn);
	if (ipoib_conn_may_send(conn) && !test_bit(IPOIB_CONN_IS_OLD, &conn->flags))
		ipoib_conn_settle(conn);
}

static void ipoib_cm_reap_age_conns(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *tmp;
	enum ipoib_close_reason why;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &cm->conns, list) {
		ipoib_conn_compare_again(conn);
		why = ipoib_conn_check_timeouts(conn);
		if (why != IPOIB_CLOSE_NONE)
			ipoib_conn_close_for(conn, why);
		else
			ipoib_conn_note_use(conn);
	}
}

static void ipoib_cm_reap_age_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, age_work);

	spin_lock_bh(&cm->lock);
	ipoib_cm_reap_age_conns(cm);
	ipoib_peer_age_all(cm);
	spin_unlock_bh(&cm->lock);
	queue_delayed_work(system_unbound_wq, &cm->age_work, IPOIB_CM_AGE);
}

/* ---- what connections share ---- */

/* With its SRQ, which has failed. */
static void ipoib_cm_rx_close_all(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *tmp;

	spin_lock_bh(&cm->lock);
	if (!list_empty(&cm->conns))
		netdev_warn(cm->priv->netdev,
			    "the shared receive queue has failed, closing its connections\n");
	list_for_each_entry_safe(conn, tmp, &cm->conns, list) {
		set_bit(IPOIB_CONN_EV_FAILED, &conn->flags);
		ipoib_conn_close_for(conn, IPOIB_CLOSE_FAILED);
	}
	/* No receive of it is waited for. */
	list_for_each_entry(conn, &cm->closing, list)
		ipoib_conn_kick(conn);
	spin_unlock_bh(&cm->lock);
}

/*
 * The SRQ has run low, or connections have become many. If the reserve is not complete by now,
 * nothing has been posted since fewer receives than the limit were free, and after
 * IPOIB_CM_RX_RECHECK fewer than the reserve have come back: messages that last longer hold the
 * others. That does not depend on when the event came. What has been flushed has come back,
 * too. Returns when to check again, or 0.
 */
static unsigned long ipoib_cm_rx_recheck(struct ipoib_cm *cm)
{
	/* What has come back is not held. */
	ipoib_cm_poll_fence(&cm->rx_poll);
	if (ipoib_cm_rx_is_dry(cm)) {
		spin_lock_bh(&cm->lock);
		if (ipoib_cm_rx_is_crowded(cm))
			ipoib_cm_share_ban(cm);
		spin_unlock_bh(&cm->lock);
		return IPOIB_CM_RX_RECHECK;
	}
	/* Before connections are counted: ipoib_cm_rx_add() starts the work in this state. */
	cmpxchg(&cm->srq_state, IPOIB_SRQ_LOW, IPOIB_SRQ_RUNS);
	if (!ipoib_cm_rx_is_crowded(cm) || ipoib_cm_rx_probe(cm))
		return 0;
	return IPOIB_CM_RX_RECHECK;
}

/*
 * Give the memory back if there has been no connection for a while, or if it is no good.
 * Returns when to check again, or 0.
 */
static unsigned long ipoib_cm_rx_end(struct ipoib_cm *cm)
{
	unsigned long end;
	bool empty;

	spin_lock_bh(&cm->lock);
	empty = !cm->nconns;
	end = cm->empty_at + IPOIB_CM_RELEASE;
	spin_unlock_bh(&cm->lock);
	/*
	 * One may be counted now, but it has to come by the mutex to use what
	 * is released.
	 */
	if (!empty)
		return 0;
	if (READ_ONCE(cm->srq_state) != IPOIB_SRQ_FAILED &&
	    time_before(jiffies, end))
		return end - jiffies;
	ipoib_cm_rx_release(cm);
	return 0;
}

static unsigned long ipoib_cm_rx_check(struct ipoib_cm *cm)
{
	unsigned long wait = 0, end;

	switch (READ_ONCE(cm->srq_state)) {
	case IPOIB_SRQ_UNKNOWN:
	case IPOIB_SRQ_REFUSED:
	case IPOIB_SRQ_ARMED:
		break;
	case IPOIB_SRQ_RUNS:
	case IPOIB_SRQ_LOW:
		wait = ipoib_cm_rx_recheck(cm);
		break;
	case IPOIB_SRQ_FAILED:
		ipoib_cm_rx_close_all(cm);
		break;
	}
	end = ipoib_cm_rx_end(cm);
	return wait ?: end;
}

static void ipoib_cm_rx_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, rx_work);
	unsigned long wait = 0;

	mutex_lock(&cm->mutex);
	if (cm->rx)
		wait = ipoib_cm_rx_check(cm);
	mutex_unlock(&cm->mutex);
	if (wait)
		queue_delayed_work(system_unbound_wq, &cm->rx_work, wait);
}

/**
 * ipoib_cm_reap_start - start checking connections
 * @cm: connected mode of the interface
 */
void ipoib_cm_reap_start(struct ipoib_cm *cm)
{
	queue_delayed_work(system_unbound_wq, &cm->age_work, IPOIB_CM_AGE);
}

/**
 * ipoib_cm_reap_age_init - prepare to look at connections
 * @cm: connected mode of the interface
 */
void ipoib_cm_reap_age_init(struct ipoib_cm *cm)
{
	INIT_DELAYED_WORK(&cm->age_work, ipoib_cm_reap_age_work);
	INIT_DELAYED_WORK(&cm->rx_work, ipoib_cm_rx_work);
}
