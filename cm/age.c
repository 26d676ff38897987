// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode: which connections have to go.
 *
 * They are not used, stuck or silent, or there are too many.
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
 * An RTU that has not come for so long will not come any more. Nor will a REP, unless
 * the peer has asked for patience (MRA): of that it may ask for hours.
 */
#define IPOIB_CM_LATE		(6 * HZ)
/*
 * UC detects no loss: a connection on which nothing arrives for so long is replaced, and
 * sooner if nothing arrived on the one before it either.
 */
#define IPOIB_UC_SILENCE	(30 * HZ)
#define IPOIB_UC_SILENCE_AGAIN	(6 * HZ)
/* A connection not used for so long goes if there is need for room. */
#define IPOIB_CM_EVICT_IDLE	(5 * HZ)
/*
 * A connection on which nothing came for so long may be within a message, and hold a
 * receive; how many of these are closed at a time where receives have run out.
 */
#define IPOIB_CM_HOLDING	(2 * HZ)
#define IPOIB_CM_HOLDERS	32
/* How many connections are scanned for one that may be evicted. */
#define IPOIB_CM_SCAN_MAX	64
/* What connections share is given back after so long without any. */
#define IPOIB_CM_RELEASE	(10 * HZ)

static unsigned int ipoib_cm_idle = 120;
module_param_named(cm_idle_seconds, ipoib_cm_idle, uint, 0644);
MODULE_PARM_DESC(cm_idle_seconds,
		 "A connection not used for so long is closed");

/* ---- how many there may be ---- */

/**
 * ipoib_conn_is_evictable - whether a connection has not been used for a while
 * @conn: the connection
 *
 * Return: true if it may go where there is need for room
 */
bool ipoib_conn_is_evictable(const struct ipoib_conn *conn)
{
	return conn->state == IPOIB_CONN_ESTABLISHED &&
	       time_after(jiffies, READ_ONCE(conn->used) + IPOIB_CM_EVICT_IDLE);
}

/* Nothing confirms that the one who asked for it is the peer. */
static bool ipoib_conn_is_unconfirmed(const struct ipoib_conn *conn)
{
	return !conn->active && !ipoib_conn_is_theirs(conn);
}

/*
 * The spare connection that was used least recently, an unconfirmed one first:
 * ipoib_cm_reap_age_conns() keeps the list in that order. Those in front that it has not
 * seen since are few. Only those of @source, unless that is NULL.
 */
static struct ipoib_conn *
ipoib_cm_find_evictable(struct ipoib_cm *cm, const struct ipoib_source *source)
{
	struct ipoib_conn *conn, *found = NULL;
	unsigned int scan = IPOIB_CM_SCAN_MAX;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry(conn, &cm->conns, list) {
		if ((!source || conn->source == source) &&
		    ipoib_conn_is_evictable(conn)) {
			if (ipoib_conn_is_unconfirmed(conn))
				return conn;
			found = found ?: conn;
		}
		if (!--scan)
			break;
	}
	return found;
}

/*
 * A connection in use of a port that has the most, and at least twice as many as
 * @source: that port alone would otherwise keep others out by using all of its share.
 */
static struct ipoib_conn *
ipoib_cm_find_greedy(struct ipoib_cm *cm, const struct ipoib_source *source)
{
	unsigned int least = ipoib_cm_source_conns_max(cm);
	unsigned int scan = IPOIB_CM_SCAN_MAX;
	struct ipoib_conn *conn;

	lockdep_assert_held(&cm->lock);
	if (least < 2 * (source ? source->nconns : 1))
		return NULL;
	list_for_each_entry(conn, &cm->conns, list) {
		if (conn->state == IPOIB_CONN_ESTABLISHED && conn->source &&
		    conn->source->nconns >= least)
			return conn;
		if (!--scan)
			break;
	}
	return NULL;
}

static bool ipoib_cm_evict(struct ipoib_conn *conn)
{
	if (!conn)
		return false;
	ipoib_stat_add(conn->cm->priv, IPOIB_CM_REAPED, 1);
	__ipoib_conn_close(conn);
	return true;
}

/* Make sure of room for one more connection of @source, or of our own: evict another. */
static bool ipoib_cm_ensure_room(struct ipoib_cm *cm, unsigned int limit,
				 const struct ipoib_source *source)
{
	lockdep_assert_held(&cm->lock);
	if (!cm->up)
		return false;
	if (cm->nconns < limit)
		return true;
	return cm->nconns < ipoib_cm_slack(limit) &&
	       (ipoib_cm_evict(ipoib_cm_find_evictable(cm, NULL)) ||
		ipoib_cm_evict(ipoib_cm_find_greedy(cm, source)));
}

static void ipoib_cm_count(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	lockdep_assert_held(&cm->lock);
	cm->nconns++;
	peer->users++;
}

/**
 * ipoib_cm_make_room - count one more connection, if there may be one more
 * @cm: connected mode of the interface
 * @peer: its other end
 *
 * At the limit one that is not in use makes room. It takes a moment until that
 * is freed, so there may be a few more for as long.
 *
 * Context: any but hard interrupt
 * Return: whether it has been counted
 */
bool ipoib_cm_make_room(struct ipoib_cm *cm, struct ipoib_peer *peer)
{
	unsigned int limit = ipoib_cm_limit(cm);
	bool room;

	spin_lock_bh(&cm->lock);
	room = ipoib_cm_ensure_room(cm, limit, NULL);
	if (room)
		ipoib_cm_count(cm, peer);
	spin_unlock_bh(&cm->lock);
	return room;
}

/*
 * The share of a port. Of those that it has, the one that was used least recently makes
 * room for the next request.
 */
static struct ipoib_source *
ipoib_cm_get_share(struct ipoib_cm *cm, const struct ipoib_port_addr *port,
		   unsigned int limit)
{
	struct ipoib_source *source = ipoib_cm_source_get(cm, port);
	unsigned int share = ipoib_cm_source_limit(limit);

	lockdep_assert_held(&cm->lock);
	if (!source || source->nconns <= share)
		return source;
	if (source->nconns <= ipoib_cm_slack(share) &&
	    ipoib_cm_evict(ipoib_cm_find_evictable(cm, source)))
		return source;
	ipoib_stat_add(cm->priv, IPOIB_CM_PORT_FULL, 1);
	ipoib_cm_source_put(cm, source);
	return NULL;
}

/**
 * ipoib_cm_make_room_for - count one more connection that a peer asks for
 * @cm: connected mode of the interface
 * @peer: its other end
 * @port: the port of the fabric that it asks from
 * @source: set to that port's share
 *
 * As ipoib_cm_make_room(), and no port has more than its share.
 *
 * Context: any but hard interrupt
 * Return: whether it has been counted
 */
bool ipoib_cm_make_room_for(struct ipoib_cm *cm, struct ipoib_peer *peer,
			    const struct ipoib_port_addr *port,
			    struct ipoib_source **source)
{
	unsigned int limit = ipoib_cm_limit(cm);
	bool room;

	spin_lock_bh(&cm->lock);
	*source = ipoib_cm_get_share(cm, port, limit);
	room = *source && ipoib_cm_ensure_room(cm, limit, *source);
	if (room)
		ipoib_cm_count(cm, peer);
	else
		ipoib_cm_source_put(cm, *source);
	spin_unlock_bh(&cm->lock);
	return room;
}

static bool ipoib_conn_may_hold(const struct ipoib_conn *conn,
				unsigned int least)
{
	unsigned int nconns = conn->source ? conn->source->nconns : 1;

	return conn->state == IPOIB_CONN_ESTABLISHED && nconns >= least &&
	       time_after(jiffies, READ_ONCE(conn->used) + IPOIB_CM_HOLDING);
}

static unsigned int ipoib_cm_reap_holders(struct ipoib_cm *cm, unsigned int least)
{
	struct ipoib_conn *conn, *tmp;
	unsigned int n = 0;

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &cm->conns, list) {
		if (n == IPOIB_CM_HOLDERS)
			break;
		if (!ipoib_conn_may_hold(conn, least))
			continue;
		ipoib_conn_close_for(conn, IPOIB_CLOSE_HOLDING);
		n++;
	}
	return n;
}

/*
 * A connection within a message holds a receive and brings no other one, so those that
 * were used least recently are closed; if peers on one port have more than others,
 * theirs.
 */
static void ipoib_cm_reap_idlest(struct ipoib_cm *cm)
{
	lockdep_assert_held(&cm->lock);
	if (!ipoib_cm_reap_holders(cm, ipoib_cm_source_conns_max(cm) / 2))
		ipoib_cm_reap_holders(cm, 0);
}

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

	/* The one who asked decides, if he is there to. */
	if (!conn->active)
		idle *= 4;
	return time_after(jiffies, READ_ONCE(conn->used) + idle * HZ);
}

static bool ipoib_conn_is_stuck(const struct ipoib_conn *conn)
{
	if (!conn->ring.slots || !ipoib_ring_used(&conn->ring))
		return false;
	/*
	 * Pairs with ipoib_ring_fill() and ipoib_ring_complete(): the time is not
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
		WRITE_ONCE(conn->fatal, true);
	peer->silent = true;
	return true;
}

/* Of one that is being made. */
static enum ipoib_close_reason ipoib_conn_late(const struct ipoib_conn *conn)
{
	if (time_before_eq(jiffies, conn->created + IPOIB_CM_LATE))
		return IPOIB_CLOSE_NONE;
	return conn->state == IPOIB_CONN_CONNECTING ? IPOIB_CLOSE_UNANSWERED :
						      IPOIB_CLOSE_LATE;
}

static enum ipoib_close_reason
ipoib_conn_check_timeouts(struct ipoib_conn *conn)
{
	if (READ_ONCE(conn->fatal))
		return IPOIB_CLOSE_FAILED;
	if (conn->state != IPOIB_CONN_ESTABLISHED)
		return ipoib_conn_late(conn);
	if (ipoib_conn_is_stuck(conn)) {
		WRITE_ONCE(conn->fatal, true);
		return IPOIB_CLOSE_STUCK;
	}
	if (ipoib_conn_check_silence(conn))
		return IPOIB_CLOSE_SILENT;
	return ipoib_conn_is_idle(conn) ? IPOIB_CLOSE_IDLE : IPOIB_CLOSE_NONE;
}

/* Note whether it has been used since the last check. One that is being made is in use. */
static bool ipoib_conn_note_use(struct ipoib_conn *conn)
{
	unsigned long used = READ_ONCE(conn->used);
	bool was_used = conn->state != IPOIB_CONN_ESTABLISHED ||
			conn->aged != used;

	conn->aged = used;
	return was_used;
}

/* Those used since the last time go to the end: see ipoib_cm_evict(). */
static void ipoib_cm_reap_age_conns(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *tmp;
	enum ipoib_close_reason why;
	LIST_HEAD(used);

	lockdep_assert_held(&cm->lock);
	list_for_each_entry_safe(conn, tmp, &cm->conns, list) {
		why = ipoib_conn_check_timeouts(conn);
		if (why != IPOIB_CLOSE_NONE)
			ipoib_conn_close_for(conn, why);
		else if (ipoib_conn_note_use(conn))
			list_move_tail(&conn->list, &used);
	}
	list_splice_tail(&used, &cm->conns);
}

/* Give the memory back if there has been no connection for a while, or if it is no good. */
static void ipoib_cm_reap_release(struct ipoib_cm *cm, bool failed)
{
	bool empty;

	mutex_lock(&cm->mutex);
	spin_lock_bh(&cm->lock);
	empty = !cm->nconns;
	if (!empty)
		cm->empty_at = jiffies;
	spin_unlock_bh(&cm->lock);
	/*
	 * One may be counted now, but it has to come by the mutex to use what
	 * is released.
	 */
	if ((failed && empty) ||
	    time_after_eq(jiffies, cm->empty_at + IPOIB_CM_RELEASE))
		ipoib_cm_rx_release(cm);
	mutex_unlock(&cm->mutex);
}

static struct ipoib_conn *ipoib_cm_reap_next_early(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn, *found = NULL;

	spin_lock_bh(&cm->lock);
	list_for_each_entry(conn, &cm->conns, list) {
		if (!READ_ONCE(conn->early) ||
		    conn->state != IPOIB_CONN_ACCEPTING)
			continue;
		WRITE_ONCE(conn->early, false);
		conn->age_busy = true;
		found = conn;
		break;
	}
	spin_unlock_bh(&cm->lock);
	return found;
}

/* Data is as good as an RTU, which may have been lost. */
static void ipoib_cm_reap_notify_early(struct ipoib_cm *cm)
{
	struct ipoib_conn *conn;

	while ((conn = ipoib_cm_reap_next_early(cm))) {
		ib_cm_notify(conn->id, IB_EVENT_COMM_EST);
		/* From here on the reaper may free it. */
		smp_store_release(&conn->age_busy, false);
	}
}

static void ipoib_cm_reap_age_work(struct work_struct *work)
{
	struct ipoib_cm *cm = container_of(to_delayed_work(work),
					   struct ipoib_cm, age_work);
	bool failed = ipoib_cm_rx_check(cm);

	spin_lock_bh(&cm->lock);
	ipoib_cm_reap_age_conns(cm);
	if (xchg(&cm->rx_held, false))
		ipoib_cm_reap_idlest(cm);
	ipoib_peer_age_all(cm);
	spin_unlock_bh(&cm->lock);
	ipoib_cm_reap_notify_early(cm);
	ipoib_cm_reap_release(cm, failed);
	if (!READ_ONCE(cm->leaving))
		queue_delayed_work(cm->wq, &cm->age_work, IPOIB_CM_AGE);
}

/**
 * ipoib_cm_reap_start - start checking connections
 * @cm: connected mode of the interface
 */
void ipoib_cm_reap_start(struct ipoib_cm *cm)
{
	queue_delayed_work(cm->wq, &cm->age_work, IPOIB_CM_AGE);
}

/**
 * ipoib_cm_reap_age_init - prepare to look at connections
 * @cm: connected mode of the interface
 */
void ipoib_cm_reap_age_init(struct ipoib_cm *cm)
{
	cm->empty_at = jiffies;
	INIT_DELAYED_WORK(&cm->age_work, ipoib_cm_reap_age_work);
}
